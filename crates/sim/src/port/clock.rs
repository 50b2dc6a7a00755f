//! Serialisation times in integer arithmetic: the time to send a frame, and the bytes of a backlog.

use shallows_cc::units::{Bytes, Rate, Time};

/// Fraction bits of picoseconds a byte, and of bytes a picosecond.
const TIME_BITS: u32 = 16;
const SIZE_BITS: u32 = 40;

/// Converts between bytes and time at the rate of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clock {
    ps_per_byte: u64,
    bytes_per_ps: u64,
}

impl Clock {
    /// The clock of a link of this rate.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        let second = u128::from(8_000_000_000_000_u64);
        let rate = u128::from(rate.0);
        Self {
            ps_per_byte: (((second << TIME_BITS) + rate / 2) / rate) as u64,
            // Rounded up, so that whole packets of backlog are whole packets in bytes.
            bytes_per_ps: (rate << SIZE_BITS).div_ceil(second) as u64,
        }
    }

    /// Whether this link takes longer for a frame than the other one.
    #[must_use]
    pub fn is_slower(self, than: Self) -> bool {
        self.ps_per_byte > than.ps_per_byte
    }

    /// Time to send a frame of this size.
    #[inline]
    #[must_use]
    pub fn time(self, size: Bytes) -> Time {
        Time((size.0 * self.ps_per_byte + (1 << (TIME_BITS - 1))) >> TIME_BITS)
    }

    /// Bytes sent in this time.
    #[inline]
    #[must_use]
    pub fn bytes(self, time: Time) -> Bytes {
        Bytes(((u128::from(time.0) * u128::from(self.bytes_per_ps)) >> SIZE_BITS) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_packets_of_backlog_are_whole_packets_in_bytes() {
        for gbps in [1, 3, 10, 25, 40, 100, 400, 800] {
            let clock = Clock::new(Rate::from_gbps(gbps));
            for packets in [1, 7, 35, 250, 6000] {
                let bytes = clock.bytes(clock.time(Bytes(1500)) * packets);
                assert!(bytes.0.abs_diff(1500 * packets) <= packets / 100 + 1, "{gbps} {packets} {bytes:?}");
            }
        }
        assert_eq!(Clock::new(Rate::from_gbps(10)).bytes(Time::from_nanos(1200) * 35), Bytes(1500) * 35);
    }
}
