//! Token bucket of a class: it fills at a fixed rate, or at one that a pacer sets.

use shallows_cc::pacer::Pacer;
use shallows_cc::units::{Bytes, Rate, Time};

use crate::spec::network::Shaper;

/// Number of silent periods after which the state of a pacer no longer changes.
const MOST_PERIODS: u64 = 64;

/// The tokens of one class.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Rate,
    burst: Bytes,
    /// Time at which the bucket is full.
    full_at: Time,
    paced: Option<Paced>,
}

/// The pacer that sets the rate.
#[derive(Debug)]
struct Paced {
    pacer: Pacer,
    /// Bytes that arrived in this period, and its end.
    arrived: Bytes,
    due: Time,
}

impl Bucket {
    pub fn new(shaper: &Shaper) -> Self {
        let paced = shaper.pacer.map(|spec| Paced { pacer: Pacer::new(spec), arrived: Bytes::ZERO, due: spec.period });
        Self { rate: shaper.rate, burst: shaper.burst, full_at: Time::ZERO, paced }
    }

    /// The earliest time at which the tokens for a packet of this length are there. A packet longer than the bucket waits until the
    /// bucket is full.
    #[inline]
    pub fn ready_at(&self, length: Bytes) -> Time {
        let spare = self.rate.time_to_send(self.burst.saturating_sub(length));
        self.full_at.saturating_sub(spare)
    }

    /// Whether the tokens for a packet of this length are there now.
    #[inline]
    pub fn is_ready(&self, now: Time, length: Bytes) -> bool {
        self.full_at <= now || self.ready_at(length) <= now
    }

    /// When to look again at a packet that is `ready` later: earlier than that if the rate may change.
    #[inline]
    pub fn retry_at(&self, ready: Time) -> Time {
        self.paced.as_ref().map_or(ready, |paced| ready.min(paced.due))
    }

    #[inline]
    pub fn consume(&mut self, now: Time, length: Bytes) {
        self.full_at = self.full_at.max(now) + self.rate.time_to_send(length);
    }

    /// Tells the pacer of a packet that arrives.
    #[inline]
    pub fn arrive(&mut self, length: Bytes) {
        if let Some(paced) = &mut self.paced {
            paced.arrived += length;
        }
    }

    /// Updates the rate for the periods that have ended; `waiting` is the backlog of the class.
    #[inline]
    pub fn catch_up(&mut self, now: Time, waiting: Bytes) {
        if self.paced.as_ref().is_some_and(|paced| paced.due <= now) {
            self.update(now, waiting);
        }
    }

    #[cold]
    fn update(&mut self, now: Time, waiting: Bytes) {
        let Some(paced) = &mut self.paced else { return };
        let period = paced.pacer.period();
        let over = 1 + (now - paced.due).0 / period.0;
        let backlog = waiting.0 as f64 * 8.0;
        let arriving = paced.arrived.0 as f64 * 8.0 / period.as_secs();
        paced.pacer.update(arriving, backlog);
        (1..over.min(MOST_PERIODS)).for_each(|_| paced.pacer.update(0.0, backlog));
        paced.arrived = Bytes::ZERO;
        paced.due += period * over;
        let rate = paced.pacer.rate();
        // The missing tokens come at the new rate.
        self.full_at = now + self.full_at.saturating_sub(now).scale(self.rate / rate);
        self.rate = rate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallows_cc::pacer::PacerSpec;

    const US: Time = Time::from_micros(1);

    /// 8 Gbps are a byte a nanosecond; 3000 B at once, periods of 10 us.
    fn bucket(eta: f64, beta: f64) -> Bucket {
        let rate = Rate::from_gbps(8);
        let spec = PacerSpec { eta, beta, period: US * 10, least: Rate::from_gbps(1), most: rate };
        Bucket::new(&Shaper { rate, burst: Bytes(3000), pacer: Some(spec) })
    }

    /// Two packets of 1500 B at once, then one each 1500 ns.
    #[test]
    fn tokens_are_there_for_a_burst_and_then_at_the_rate() {
        let mut bucket = bucket(0.0, 0.0);
        for ready in [0, 0, 1500, 3000] {
            assert_eq!(bucket.ready_at(Bytes(1500)), Time::from_nanos(ready));
            bucket.consume(Time::from_nanos(ready), Bytes(1500));
        }
    }

    /// The slowest pacer is a ten-thousandth of 1 Mbps, the largest bucket 100 MB, which take 8e6 s: 92 days of 213 that 64 bits hold.
    #[test]
    fn the_largest_bucket_refills_within_64_bits_of_picoseconds() {
        let (rate, burst) = (Rate(100), Bytes(100_000_000));
        let mut bucket = Bucket::new(&Shaper { rate, burst, pacer: None });
        let now = crate::spec::check::MAX_TIME;
        for _ in 0..burst.0 / 50_000 {
            assert!(bucket.is_ready(now, Bytes(50_000)));
            bucket.consume(now, Bytes(50_000));
        }
        assert_eq!(bucket.ready_at(Bytes(50_000)), now + rate.time_to_send(Bytes(50_000)));
    }

    /// eta 1: what came in the last period is the rate, 2500 B in 10 us are 2 Gbps. Of the 3000 B of tokens 1000 are left: 500
    /// more take 2 us.
    #[test]
    fn a_rate_that_falls_brings_what_is_missing_more_slowly() {
        let mut bucket = bucket(1.0, 0.0);
        bucket.arrive(Bytes(2500));
        bucket.consume(Time::from_nanos(10_000), Bytes(2000));
        bucket.catch_up(US * 10, Bytes::ZERO);
        assert_eq!(bucket.rate.as_gbps().round(), 2.0);
        assert_eq!(bucket.ready_at(Bytes(1500)).as_micros().round(), 12.0);
        assert_eq!(bucket.retry_at(US * 30), US * 20);
        // Three silent periods: the least rate.
        bucket.catch_up(US * 45, Bytes::ZERO);
        assert_eq!((bucket.rate, bucket.retry_at(US * 99)), (Rate::from_gbps(1), US * 50));
    }

    /// beta: 1000 B wait, 8000 bits of 125,000 bit/s each are 1 Gbps more.
    #[test]
    fn what_waits_makes_it_faster() {
        let mut bucket = bucket(1.0, 125_000.0);
        bucket.arrive(Bytes(2500));
        bucket.catch_up(US * 10, Bytes(1000));
        assert_eq!(bucket.rate.as_gbps().round(), 3.0);
    }
}
