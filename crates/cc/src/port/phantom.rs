//! Marks by a virtual queue that drains slower than the link: a counter, no packets.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | gamma | `gamma` | share of the link's rate at which the counter drains |
//! | - | `threshold` | counter above which packets are marked |
//! | - | `counter` | bytes in the virtual queue |
//!
//! Source: Alizadeh et al., NSDI 2012 §3.1. Looked at on leaving it stands behind the link and sees what
//! the link sends; on joining, beside the queue, and sees what arrives.
//!
//! Differs: the counter drains as a fluid, worked out when a packet comes. It counts every packet and marks
//! those that can be.

use super::{Arrival, CongestionPoint};
use crate::parameter::{Parameter, Values, bytes, number};
use crate::units::{Rate, Time};

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    number("gamma", "gamma", 0.95, 0.01..=1.0)
        .meaning("share of the link's rate at which the virtual queue drains")
        .source("NSDI 2012 §6: 0.95"),
    bytes("threshold", "-", 15_000.0, 0.0..=1e12)
        .meaning("virtual queue above which packets are marked")
        .source("NSDI 2012, 10 Gbps simulations: 15 KB (testbed, 1 Gbps: 1 KB or 6 KB)")
        .follows("phantom_threshold"),
];

/// Builds the congestion point.
#[must_use]
pub fn build(values: &Values, rate: Rate) -> Box<dyn CongestionPoint> {
    Box::new(Phantom::new(values, rate))
}

/// The virtual queue of one port.
#[derive(Clone, Copy, Debug)]
struct Phantom {
    bytes_per_ps: f64,
    threshold: f64,
    counter: f64,
    updated: Time,
}

impl Phantom {
    fn new(values: &Values, rate: Rate) -> Self {
        Self {
            bytes_per_ps: values.get("gamma") * rate.0 as f64 / 8e12,
            threshold: values.get("threshold"),
            counter: 0.0,
            updated: Time::ZERO,
        }
    }

    fn drain(&mut self, now: Time) {
        let drained = (now - self.updated).0 as f64 * self.bytes_per_ps;
        self.counter = (self.counter - drained).max(0.0);
        self.updated = now;
    }
}

impl CongestionPoint for Phantom {
    fn retune(&mut self, now: Time, values: &Values, rate: Rate) {
        self.drain(now);
        *self = Self { counter: self.counter, updated: self.updated, ..Self::new(values, rate) };
    }

    fn mark_probability(&mut self, arrival: &Arrival) -> f64 {
        self.drain(arrival.now);
        self.counter += arrival.length.0 as f64;
        f64::from(u8::from(self.counter > self.threshold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    /// At 10 Gbps a full frame takes 1.2 us; at 95 % of it the counter drains 1425 B meanwhile: 75 B remain of
    /// each. It starts at 1500 B and exceeds 3000 B with the 22nd: 1500 + 21 * 75 = 3075.
    #[test]
    fn a_full_link_is_marked_once_the_remainders_reach_the_threshold() {
        let mut values = Values::defaults(PARAMETERS);
        values.set("threshold", 3000.0).unwrap();
        let mut phantom = build(&values, Rate::from_gbps(10));
        let mut marks =
            (0..30).map(|n| phantom.mark_probability(&Arrival::frame(Time::from_nanos(1200 * n), Bytes::ZERO)));
        assert_eq!(marks.position(|probability| probability >= 1.0), Some(21));
    }

    #[test]
    fn a_link_used_below_its_share_is_never_marked() {
        let mut phantom = build(&Values::defaults(PARAMETERS), Rate::from_gbps(10));
        for n in 0..10_000 {
            assert!(phantom.mark_probability(&Arrival::frame(Time::from_nanos(1300 * n), Bytes::ZERO)) <= 0.0);
        }
    }

    /// Two frames at once are 3000 B. At 10 Gbps 750 B drain in 600 ns, and at half of it 375 B in the next 600 ns: with a frame then 3375 B.
    #[test]
    fn another_share_drains_the_counter_from_then_on() {
        let with = |gamma, threshold| {
            let mut values = Values::defaults(PARAMETERS);
            values.set("gamma", gamma).unwrap();
            values.set("threshold", threshold).unwrap();
            values
        };
        for (threshold, marks) in [(3374.0, true), (3376.0, false)] {
            let rate = Rate::from_gbps(10);
            let mut phantom = build(&with(1.0, 15_000.0), rate);
            (0..2).for_each(|_| assert!(phantom.mark_probability(&Arrival::frame(Time::ZERO, Bytes::ZERO)) <= 0.0));
            phantom.retune(Time::from_nanos(600), &with(0.5, threshold), rate);
            let probability = phantom.mark_probability(&Arrival::frame(Time::from_nanos(1200), Bytes::ZERO));
            assert_eq!(probability > 0.5, marks, "{threshold}");
        }
    }
}
