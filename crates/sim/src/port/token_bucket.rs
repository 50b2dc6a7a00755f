//! Token bucket of a class: it fills at a fixed rate, or at one that a pacer sets. A bucket with jitter holds back each packet for a
//! random time, which the next tokens do not wait for.

use shallows_cc::pacer::Pacer;
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Rate, Time};

use crate::spec::network::Shaper;

/// Number of silent periods after which the state of a pacer no longer changes.
const MOST_PERIODS: u64 = 64;

/// The tokens of one class.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: Rate,
    burst: Bytes,
    /// Time at which the bucket is full.
    full_at: Time,
    paced: Option<Paced>,
    jitter: Option<Box<Jitter>>,
}

/// Random times for which packets are held back.
#[derive(Clone, Debug)]
struct Jitter {
    longest: Time,
    /// The time of the next packet.
    next: Time,
    draws: Rng,
}

/// The pacer that sets the rate.
#[derive(Clone, Debug)]
struct Paced {
    pacer: Pacer,
    /// Bytes that arrived in this period, and its end.
    arrived: Bytes,
    due: Time,
}

impl Bucket {
    /// Creates a full bucket; `draws` are for this bucket alone.
    pub fn new(shaper: &Shaper, draws: Rng) -> Self {
        let jitter = (shaper.jitter > Time::ZERO).then(|| Box::new(Jitter::new(shaper.jitter, draws)));
        let paced = shaper.pacer.map(|spec| Paced { pacer: Pacer::new(spec), arrived: Bytes::ZERO, due: spec.period });
        Self { rate: shaper.rate, burst: shaper.burst, full_at: Time::ZERO, paced, jitter }
    }

    /// The earliest time at which a packet of this length that waits since `since` may leave: the tokens for it are there, and it has
    /// been held back. A packet longer than the bucket waits until the bucket is full.
    #[inline]
    pub(crate) fn ready_at(&self, since: Time, length: Bytes) -> Time {
        let spare = self.rate.time_to_send(self.burst.saturating_sub(length));
        let tokens = self.full_at.saturating_sub(spare);
        self.jitter.as_ref().map_or(tokens, |jitter| tokens.max(since) + jitter.next)
    }

    /// Whether a packet of this length that arrives now need not wait.
    #[inline]
    pub fn is_ready(&self, now: Time, length: Bytes) -> bool {
        match self.jitter {
            None => self.full_at <= now || self.ready_at(now, length) <= now,
            Some(_) => self.ready_at(now, length) <= now,
        }
    }

    /// When to look again at a packet that is `ready` later: earlier than that if the rate may change.
    #[inline]
    pub(crate) fn retry_at(&self, ready: Time) -> Time {
        self.paced.as_ref().map_or(ready, |paced| ready.min(paced.due))
    }

    #[inline]
    pub fn consume(&mut self, now: Time, length: Bytes) {
        let since = match &mut self.jitter {
            None => now,
            Some(jitter) => now.saturating_sub(jitter.take()),
        };
        self.full_at = self.full_at.max(since) + self.rate.time_to_send(length);
    }

    /// Whether it has drawn random numbers.
    pub(crate) fn has_drawn(&self) -> bool {
        self.jitter.as_ref().is_some_and(|jitter| jitter.draws.has_drawn())
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
    pub(crate) fn catch_up(&mut self, now: Time, waiting: Bytes) {
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

impl Jitter {
    fn new(longest: Time, draws: Rng) -> Self {
        let mut jitter = Self { longest, next: Time::ZERO, draws };
        jitter.take();
        jitter
    }

    /// Returns the time for which the packet that leaves was held back, and draws that of the next one.
    #[cold]
    fn take(&mut self) -> Time {
        std::mem::replace(&mut self.next, self.longest.scale(self.draws.uniform()))
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
        Bucket::new(&Shaper { rate, burst: Bytes(3000), jitter: Time::ZERO, pacer: Some(spec) }, Rng::default())
    }

    /// Two packets of 1500 B at once, then one each 1500 ns.
    #[test]
    fn tokens_are_there_for_a_burst_and_then_at_the_rate() {
        let mut bucket = bucket(0.0, 0.0);
        for ready in [0, 0, 1500, 3000] {
            assert_eq!(bucket.ready_at(Time::ZERO, Bytes(1500)), Time::from_nanos(ready));
            bucket.consume(Time::from_nanos(ready), Bytes(1500));
        }
    }

    /// The slowest pacer is a ten-thousandth of 1 Mbps, the largest bucket 100 MB, which take 8e6 s: 92 days of 213 that 64 bits hold.
    #[test]
    fn the_largest_bucket_refills_within_64_bits_of_picoseconds() {
        let (rate, burst) = (Rate(100), Bytes(100_000_000));
        let mut bucket = Bucket::new(&Shaper { rate, burst, jitter: Time::ZERO, pacer: None }, Rng::default());
        let now = crate::spec::check::MAX_TIME;
        for _ in 0..burst.0 / 50_000 {
            assert!(bucket.is_ready(now, Bytes(50_000)));
            bucket.consume(now, Bytes(50_000));
        }
        assert_eq!(bucket.ready_at(Time::ZERO, Bytes(50_000)), now + rate.time_to_send(Bytes(50_000)));
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
        assert_eq!(bucket.ready_at(Time::ZERO, Bytes(1500)).as_micros().round(), 12.0);
        assert_eq!(bucket.retry_at(US * 30), US * 20);
        // Three silent periods: the least rate.
        bucket.catch_up(US * 45, Bytes::ZERO);
        assert_eq!((bucket.rate, bucket.retry_at(US * 99)), (Rate::from_gbps(1), US * 50));
    }

    /// A credit of 84 B in a gap of 1622 B at 8 Gbps, saturated: the gaps between credits differ by at most the jitter from 1622 ns, a
    /// gap has the triangular distribution of the difference of two uniform draws, whose variance is j^2/6, and the rate stays.
    #[test]
    fn jitter_moves_gaps_and_leaves_the_rate() {
        let (rate, jitter) = (Rate(8_000_000_000 * 84 / 1622), Time::from_nanos(700));
        let shaper = Shaper { rate, burst: Bytes(168), jitter, pacer: None };
        let mut bucket = Bucket::new(&shaper, Rng::new(1, 2));
        let leaves: Vec<_> = (0..20_000)
            .map(|_| {
                let at = bucket.ready_at(Time::ZERO, Bytes(84));
                bucket.consume(at, Bytes(84));
                at.as_micros() * 1e3
            })
            .collect();
        let gaps: Vec<_> = leaves[2..].windows(2).map(|pair| pair[1] - pair[0] - 1622.0).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| gap * gap).sum::<f64>() / gaps.len() as f64;
        assert!(mean.abs() < 0.1 && gaps.iter().all(|gap| gap.abs() < 700.01), "{mean}");
        assert!((variance / (700.0 * 700.0 / 6.0) - 1.0).abs() < 0.03, "{variance}");
        assert!(bucket.has_drawn());
        // A packet that finds tokens is held back as well.
        let now = Time::from_secs(1.0);
        assert!(!bucket.is_ready(now, Bytes(84)) && bucket.ready_at(now, Bytes(84)) < now + jitter);
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
