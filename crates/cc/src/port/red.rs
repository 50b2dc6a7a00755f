//! Marks packets at random, with a probability that grows with the queue.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | `K_min` | `kmin` | queue at which marking begins |
//! | `K_max` | `kmax` | queue at which the ramp ends |
//! | `P_max` | `pmax` | probability there; above it every packet is marked |
//!
//! Source: "ECN or Delay" (`CoNEXT` 2016) eq. 3, whose third line must read q > `K_max`; Zhu et al.,
//! SIGCOMM 2015 §3.1. The instantaneous queue decides, not RED's average.
//!
//! With `extended` the ramp continues beyond `K_max` instead of the step to 1. Fig. 2 to 5 and 17 of the paper need it: 15
//! flows and more at 40 Gbps have no fixed point below the step.

use super::{Arrival, CongestionPoint, NODROP};
use crate::parameter::{Parameter, Values, bytes, flag, number};
use crate::units::{Bytes, Rate};

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    bytes("kmin", "K_min", 5e3, 0.0..=1e12)
        .meaning("queue at which marking begins")
        .source("SIGCOMM 2015, by the comments of the authors' fluid model: 5 KB"),
    bytes("kmax", "K_max", 200e3, 1.0..=1e12)
        .meaning("queue at which the ramp ends")
        .source("SIGCOMM 2015, by the comments of the authors' fluid model: 200 KB"),
    number("pmax", "P_max", 0.01, 1e-9..=1.0)
        .meaning("marking probability at the end of the ramp")
        .source("SIGCOMM 2015, by the comments of the authors' fluid model: 1 %"),
    flag("extended", "-", false)
        .meaning("the ramp rises on beyond its end, instead of marking everything there")
        .source("off, as eq. 3 says; the authors' scripts get it from K_max = 2000 KB, P_max = 10 %"),
    NODROP,
];

/// Builds the congestion point.
#[must_use]
pub fn build(values: &Values, _rate: Rate) -> Box<dyn CongestionPoint> {
    let (kmin, kmax) = (values.get("kmin"), values.get("kmax"));
    Box::new(Red { kmin, kmax, slope: values.get("pmax") / (kmax - kmin).max(1.0), extended: values.flag("extended") })
}

/// A ramp.
#[derive(Clone, Copy, Debug)]
struct Red {
    kmin: f64,
    kmax: f64,
    slope: f64,
    extended: bool,
}

impl Red {
    fn probability(&self, queue: Bytes) -> f64 {
        let queue = queue.0 as f64;
        if queue <= self.kmin {
            0.0
        } else if queue > self.kmax && !self.extended {
            1.0
        } else {
            (queue - self.kmin) * self.slope
        }
    }
}

impl CongestionPoint for Red {
    fn mark_probability(&mut self, arrival: &Arrival) -> f64 {
        self.probability(arrival.queue)
    }

    fn never_marks_up_to(&self) -> Option<Bytes> {
        Some(Bytes(self.kmin as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;

    fn probability(extended: bool, queue: u64) -> f64 {
        let mut values = Values::defaults(PARAMETERS);
        values.set("extended", f64::from(u8::from(extended))).unwrap();
        build(&values, Rate::from_gbps(40)).mark_probability(&Arrival::frame(Time::ZERO, Bytes(queue)))
    }

    /// 102.5 KB is half way up: 0.5 %.
    #[test]
    fn half_way_up_the_ramp_half_of_pmax_is_marked() {
        assert!((0.004_99..0.005_01).contains(&probability(false, 102_500)));
        assert!(probability(false, 5_000) <= 0.0);
    }

    /// 395 KB is twice as far as the end of the ramp: 2 % where it goes on.
    #[test]
    fn beyond_the_ramp_lies_a_cliff_unless_it_is_extended() {
        assert!(probability(false, 200_001) >= 1.0);
        assert!((0.019_99..0.020_01).contains(&probability(true, 395_000)));
    }
}
