//! One-way queueing delay from four timestamps of clocks that are not synchronised.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | t1, t2 | `data_sent`, `data_received` | data leaves the sender, reaches the receiver |
//! | t3, t4 | `ack_sent`, `ack_received` | its acknowledgement leaves the receiver, reaches the sender |
//! | RTT | `rtt` | (t4 - t1) - (t3 - t2): without the time in the receiver's host |
//! | OWD | `one_way` | t2 - t1: off by the difference of the two clocks |
//! | base OWD | `Base::delay` | the OWD seen with the smallest RTT |
//!
//! Source: Lee et al., IEEE/ACM ToN 25(1), 2017, §III: host delay removed by t3 - t2; stamps of one batch spaced by the
//! transmission time (Fig. 5); the base delay taken when the RTT is at its minimum, new or seen again, which follows
//! drifting clocks.
//!
//! Differs: "seen again" allows a tolerance. With noise the exact minimum occurs once, and a base that is never renewed
//! drifts with the clocks.

use crate::units::Time;

/// The four timestamps of a data packet and its acknowledgement; t1 and t4 by the sender's clock, t2 and t3 by the
/// receiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// t1.
    pub data_sent: Time,
    /// t2.
    pub data_received: Time,
    /// t3.
    pub ack_sent: Time,
    /// t4.
    pub ack_received: Time,
}

impl Stamps {
    /// Returns the round trip; with `host_delay_removed` without the time that the receiver's host took.
    #[must_use]
    pub fn rtt(&self, host_delay_removed: bool) -> Time {
        let whole = self.ack_received.saturating_sub(self.data_sent);
        if !host_delay_removed {
            return whole;
        }
        whole.saturating_sub(self.ack_sent.saturating_sub(self.data_received))
    }

    /// Returns the one-way delay plus the difference of the clocks; only its changes have a meaning.
    #[must_use]
    pub fn one_way(&self) -> Time {
        Time(self.data_received.0.wrapping_sub(self.data_sent.0))
    }
}

/// Spaces the stamps of a batch (Fig. 5) by at least the time that the link takes to send a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calibration {
    last: Option<Time>,
}

impl Calibration {
    /// Returns the corrected stamp of the next packet, which takes `sending` on the link.
    pub fn correct(&mut self, stamp: Time, sending: Time) -> Time {
        let corrected = self.last.map_or(stamp, |last| stamp.max(last + sending));
        self.last = Some(corrected);
        corrected
    }
}

/// The path when nothing queues: the smallest RTT and the one-way delay that came with it (§III).
#[derive(Clone, Copy, Debug)]
pub struct Base {
    /// Base RTT.
    pub rtt: Time,
    /// Base one-way delay.
    pub delay: Time,
    tolerance: Time,
}

impl Base {
    /// Creates a base without samples. RTTs within `tolerance` of the smallest count as the smallest seen again.
    #[must_use]
    pub const fn new(tolerance: Time) -> Self {
        Self { rtt: Time::MAX, delay: Time::MAX, tolerance }
    }

    /// Returns whether there was a sample.
    #[must_use]
    pub fn known(&self) -> bool {
        self.rtt < Time::MAX
    }

    /// Takes a measured round trip and its one-way delay.
    pub fn observe(&mut self, rtt: Time, one_way: Time) {
        if rtt <= self.rtt || rtt - self.rtt <= self.tolerance {
            self.rtt = self.rtt.min(rtt);
            self.delay = one_way;
        }
    }

    /// Returns how far a one-way delay, or a mean of them, exceeds the base.
    #[must_use]
    pub fn queueing(&self, one_way: Time) -> Time {
        one_way.saturating_sub(self.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Time = Time::from_micros(1);

    fn stamps(t1: u64, t2: u64, t3: u64, t4: u64) -> Stamps {
        Stamps { data_sent: US * t1, data_received: US * t2, ack_sent: US * t3, ack_received: US * t4 }
    }

    #[test]
    fn the_receivers_own_delay_is_not_the_networks() {
        // 100 us there, 30 us in the host, 100 us back; the clocks are 5000 us apart.
        let stamps = stamps(1000, 6100, 6130, 1230);
        assert_eq!(stamps.rtt(true), US * 200);
        assert_eq!(stamps.rtt(false), US * 230);
        assert_eq!(stamps.one_way(), US * 5100);
    }

    #[test]
    fn a_base_is_known_from_its_first_sample() {
        let mut base = Base::new(Time::ZERO);
        assert!(!base.known());
        base.observe(US * 200, US * 100);
        assert!(base.known());
    }

    #[test]
    fn stamps_of_a_batch_are_spaced_and_others_stay() {
        // Fig. 5: three packets polled at once, then one on its own.
        let mut calibration = Calibration::default();
        let sending = Time::from_nanos(1200);
        let out: Vec<_> = [10_000, 10_000, 10_100, 20_000]
            .iter()
            .map(|&ns| calibration.correct(Time::from_nanos(ns), sending).0 / 1000)
            .collect();
        assert_eq!(out, [10_000, 11_200, 12_400, 20_000]);
    }

    /// 40 ns a millisecond either way for two seconds is 80 us of clock; the queue is empty every tenth millisecond.
    #[test]
    fn the_base_follows_drifting_clocks() {
        for drift in [40_i64, -40] {
            let mut base = Base::new(Time::ZERO);
            for ms in 0..2000_u64 {
                let queue = US * (10 * (ms % 10));
                let clock = Time((1_000_000_000_i64 + drift * 1000 * ms.cast_signed()).cast_unsigned());
                let one_way = clock + US * 100 + queue;
                base.observe(US * 200 + queue, one_way);
                let error = base.queueing(one_way).0.abs_diff(queue.0);
                assert!(error <= 400_000, "{drift} at {ms} ms: {error} ps");
            }
        }
    }
}
