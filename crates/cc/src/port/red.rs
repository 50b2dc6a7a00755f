//! Marks packets at random, with a probability that grows with the queue.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | `K_min` | `kmin` | queue at which marking begins |
//! | `K_max` | `kmax` | queue at which the ramp ends |
//! | `P_max` | `pmax` | probability there; above it every packet is marked |
//! | `w_q` | `weight` | weight of the newest queue in the average; 1 is the instantaneous queue |
//! | `avg` | `average` | average queue |
//! | `count` | `count` | packets since the last mark or drop |
//!
//! Source: "ECN or Delay" (`CoNEXT` 2016) eq. 3, whose third line must read q > `K_max`; Zhu et al., SIGCOMM 2015 §3.1: the
//! instantaneous queue decides. The average, its decay while the port is idle and the uniform distances are those of Floyd and
//! Jacobson, IEEE/ACM `ToN` 1(4), 1993, Fig. 2 and §7; the gentle ramp is Floyd's note of 2000, as in tc-red and ns-3.
//!
//! Differs: while the port is idle, the average decays as if packets of the length of the next one had come.
//!
//! With `extended` the ramp continues beyond `K_max` instead of the step to 1. Fig. 2 to 5 and 17 of the paper need it: 15
//! flows and more at 40 Gbps have no fixed point below the step.

use super::{Arrival, CongestionPoint, ECN, NODROP};
use crate::parameter::{Parameter, Values, bytes, flag, number};
use crate::units::{Bytes, Rate, Time};

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    bytes("kmin", "K_min", 5e3, 0.0..=1e12)
        .meaning("queue at which marking begins")
        .source("SIGCOMM 2015, by the comments of the authors' fluid model: 5 KB")
        .follows("ramp_kmin")
        .threshold(),
    bytes("kmax", "K_max", 200e3, 1.0..=1e12)
        .meaning("queue at which the ramp ends")
        .source("SIGCOMM 2015, by the comments of the authors' fluid model: 200 KB")
        .follows("ramp_kmax")
        .threshold(),
    number("pmax", "P_max", 0.01, 1e-9..=1.0)
        .meaning("marking probability at the end of the ramp")
        .source("SIGCOMM 2015, by the comments of the authors' fluid model: 1 %"),
    flag("extended", "-", false)
        .meaning("the ramp rises on beyond its end, instead of marking everything there")
        .source("off, as eq. 3 says; the authors' scripts get it from K_max = 2000 KB, P_max = 10 %"),
    number("weight", "w_q", 1.0, 1e-9..=1.0)
        .meaning("weight of the queue that a packet meets in the average that decides")
        .source("1, the instantaneous queue, as SIGCOMM 2015 §3.1; Floyd and Jacobson take 0.002")
        .fixed(),
    flag("gentle", "-", false)
        .meaning("from kmax to twice kmax the probability rises from pmax to 1")
        .source("off, as eq. 3 says; Floyd, \"Recommendation on using the gentle variant of RED\", 2000"),
    flag("uniform", "-", false)
        .meaning("distances between marks are uniform, up to 1/p packets, instead of geometric")
        .source("off: switches mark each packet for itself; Floyd and Jacobson 1993 §7, method 2"),
    ECN,
    NODROP,
];

/// Builds the congestion point.
#[must_use]
pub fn build(values: &Values, rate: Rate) -> Box<dyn CongestionPoint> {
    Box::new(Red {
        ramp: Ramp::new(values),
        weight: values.get("weight"),
        uniform: values.flag("uniform"),
        rate,
        average: 0.0,
        empty_at: Time::ZERO,
        count: None,
    })
}

/// A ramp.
#[derive(Clone, Copy, Debug)]
struct Ramp {
    kmin: f64,
    kmax: f64,
    pmax: f64,
    slope: f64,
    extended: bool,
    gentle: bool,
}

/// State of one port.
#[derive(Clone, Copy, Debug)]
struct Red {
    ramp: Ramp,
    weight: f64,
    uniform: bool,
    rate: Rate,
    average: f64,
    /// When the queue is empty unless another packet comes.
    empty_at: Time,
    /// `None` while the queue is below the ramp.
    count: Option<u32>,
}

impl Ramp {
    fn new(values: &Values) -> Self {
        let (kmin, kmax, pmax) = (values.get("kmin"), values.get("kmax"), values.get("pmax"));
        Self {
            kmin,
            kmax,
            pmax,
            slope: pmax / (kmax - kmin).max(1.0),
            extended: values.flag("extended"),
            gentle: values.flag("gentle"),
        }
    }

    fn probability(&self, queue: f64) -> f64 {
        if queue <= self.kmin {
            0.0
        } else if queue > self.kmax && !self.extended {
            let beyond = (queue - self.kmax) / self.kmax;
            if self.gentle { (self.pmax + (1.0 - self.pmax) * beyond).min(1.0) } else { 1.0 }
        } else {
            (queue - self.kmin) * self.slope
        }
    }
}

impl CongestionPoint for Red {
    fn retune(&mut self, _now: Time, values: &Values, _rate: Rate) {
        (self.ramp, self.uniform) = (Ramp::new(values), values.flag("uniform"));
    }

    fn mark_probability(&mut self, arrival: &Arrival) -> f64 {
        let queue = if self.averages() { self.average } else { arrival.queue.0 as f64 };
        let probability = self.ramp.probability(queue);
        if !self.uniform {
            return probability;
        }
        if probability <= 0.0 {
            self.count = None;
            return 0.0;
        }
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        self.count = Some(count);
        let left = 1.0 - f64::from(count) * probability;
        if left > probability { probability / left } else { 1.0 }
    }

    fn on_signal(&mut self) {
        self.count = self.count.map(|_| 0);
    }

    fn averages(&self) -> bool {
        self.weight < 1.0
    }

    fn on_queue(&mut self, now: Time, queue: Bytes, length: Bytes) {
        let took = self.rate.time_to_send(length);
        if queue <= length && took > Time::ZERO {
            let missed = now.saturating_sub(self.empty_at).0 as f64 / took.0 as f64;
            self.average *= (1.0 - self.weight).powf(missed);
        }
        self.average += self.weight * (queue.0 as f64 - self.average);
        self.empty_at = now + self.rate.time_to_send(queue);
    }

    fn never_marks_up_to(&self) -> Option<Bytes> {
        (!self.averages() && !self.uniform).then_some(Bytes(self.ramp.kmin as u64))
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

    fn red(changes: &[(&str, f64)]) -> Box<dyn CongestionPoint> {
        let mut values = Values::defaults(PARAMETERS);
        changes.iter().for_each(|&(name, value)| values.set(name, value).unwrap());
        build(&values, Rate::from_gbps(1))
    }

    fn at(red: &mut dyn CongestionPoint, queue: u64) -> f64 {
        red.mark_probability(&Arrival::frame(Time::ZERO, Bytes(queue)))
    }

    /// Half way from 200 to 400 KB: half way from 1 % to 100 %.
    #[test]
    fn a_gentle_ramp_ends_at_twice_its_end() {
        let mut red = red(&[("gentle", 1.0)]);
        assert!((at(&mut *red, 300_000) - 0.505).abs() < 1e-9);
        assert!(at(&mut *red, 400_001) >= 1.0);
    }

    /// With p = 1/4 the packets after a mark are marked with 1/4 / (1 - 1/4) = 1/3, 1/2 and 1: each of the distances 1 to 4 from the
    /// first packet of a busy queue has probability 1/4.
    #[test]
    fn distances_between_marks_are_uniform() {
        let mut red = red(&[("uniform", 1.0), ("kmin", 0.0), ("kmax", 1e5), ("pmax", 0.5)]);
        let seen: Vec<f64> = (0..4).map(|_| at(&mut *red, 50_000)).collect();
        for (seen, expected) in seen.iter().zip([0.25, 1.0 / 3.0, 0.5, 1.0]) {
            assert!((seen - expected).abs() < 1e-9, "{seen} instead of {expected}");
        }
        red.on_signal();
        assert!((at(&mut *red, 50_000) - 1.0 / 3.0).abs() < 1e-9);
    }

    /// A queue of 100 KB for one packet, w = 0.1: 10 KB; after 10 frame times without packets 10 KB * 0.9^10 = 3.487 KB, and a packet
    /// that meets nothing brings 0.9 * 3.487 + 0.1 * 1.5 = 3.288 KB.
    #[test]
    fn the_average_decays_while_the_port_is_idle() {
        let mut red = red(&[("weight", 0.1), ("kmin", 0.0), ("kmax", 1e5), ("pmax", 1.0)]);
        let frame = Rate::from_gbps(1).time_to_send(Bytes(1500));
        red.on_queue(Time::ZERO, Bytes(100_000), Bytes(1500));
        assert!((at(&mut *red, 1) - 0.1).abs() < 1e-9);
        let empty = Rate::from_gbps(1).time_to_send(Bytes(100_000));
        red.on_queue(empty + frame * 10, Bytes(1500), Bytes(1500));
        assert!((at(&mut *red, 1) - 0.032_88).abs() < 1e-5);
    }

    /// One packet meets 100 KB, w = 0.1: the average is 10 KB, below one ramp and in the middle of another.
    #[test]
    fn another_ramp_judges_by_the_average_of_before() {
        let before = [("weight", 0.1), ("kmin", 2e4), ("kmax", 1e5), ("pmax", 0.5)];
        let mut red = red(&before);
        red.on_queue(Time::ZERO, Bytes(100_000), Bytes(1500));
        assert!(at(&mut *red, 100_000) <= 0.0);
        let mut values = Values::defaults(PARAMETERS);
        let after = [("weight", 0.1), ("kmin", 5e3), ("kmax", 15e3), ("pmax", 0.5)];
        after.iter().for_each(|&(name, value)| values.set(name, value).unwrap());
        red.retune(Time::ZERO, &values, Rate::from_gbps(1));
        assert!((at(&mut *red, 100_000) - 0.25).abs() < 1e-9);
    }
}
