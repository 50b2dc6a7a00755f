//! Policer of a class: drops packets that arrive faster than a token bucket fills.

use shallows_cc::units::{Bytes, Rate, Time};

use crate::spec::ports::Policer as PolicerSpec;

/// The tokens of one class, which no packet waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policer {
    rate: Rate,
    burst: Bytes,
    /// Time at which the bucket is full.
    full_at: Time,
}

impl Policer {
    /// A full bucket.
    pub const fn new(spec: PolicerSpec) -> Self {
        Self { rate: spec.rate, burst: spec.burst, full_at: Time::ZERO }
    }

    /// Takes the tokens for a packet of this length that arrives now, if they are there. Returns whether they are.
    pub fn admits(&mut self, now: Time, length: Bytes) -> bool {
        let spare = self.rate.time_to_send(self.burst.saturating_sub(length));
        let admits = length <= self.burst && self.full_at.saturating_sub(now) <= spare;
        if admits {
            self.full_at = self.full_at.max(now) + self.rate.time_to_send(length);
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mbps are a byte a microsecond. Of 3000 B two frames pass at once; the third one passes when 1500 us have gone by, to the
    /// picosecond, and a shorter one earlier. After a long pause the bucket holds no more than 3000 B.
    #[test]
    fn a_policer_lets_a_burst_pass_and_then_its_rate() {
        let mut policer = Policer::new(PolicerSpec { rate: Rate(8_000_000), burst: Bytes(3000) });
        let us = Time::from_micros;
        let mut at = |now: Time, length: u64| policer.admits(now, Bytes(length));
        assert_eq!([1500, 1500, 64].map(|length| at(us(10), length)), [true, true, false]);
        assert!(!at(us(1510) - Time(1), 1500));
        assert!(at(us(1510), 1500));
        assert!(at(us(1574), 64) && !at(us(1575), 64));
        assert_eq!([1500, 1500, 1500].map(|length| at(us(90_000), length)), [true, true, false]);
        assert!(!at(us(990_000), 3001), "longer than the bucket");
    }
}
