//! Moves its rate by the gradient of the round trip, and by two thresholds.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | R | `rate` | the rate |
//! | rttDiff / `D_minRTT` | `gradient` | smoothed growth of the round trip |
//! | `T_low`, `T_high` | `t_low`, `t_high` | outside them the gradient does not matter |
//! | delta, beta | `delta`, `beta` | additive increase, multiplicative decrease |
//!
//! Source: "ECN or Delay" (`CoNEXT` 2016) Alg. 1, eq. 23 and footnotes 4 and 5; Mittal et al., SIGCOMM 2015,
//! Alg. 1 for hyper-active increase. One sample a segment, no more than one update in `D_minRTT`.
//!
//! Choices: the first sample has no gradient; the rate stays between `min_rate` and the line's.

use super::{Parameter, Preset, Values};
use crate::event::{Ack, Loss};
use crate::gradient::{Gradient, Sample, start_rate};
use crate::parameter::Unit;
use crate::sender::{Decision, Path, Segments, Sender};
use crate::units::{Bytes, Rate, Time};

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "alpha",
        symbol: "alpha",
        unit: Unit::One,
        default: 0.875,
        min: 1e-6,
        max: 1.0,
        meaning: "weight of a new difference of round trips",
        source: "CoNEXT 2016, footnote 4: 0.875",
    },
    Parameter {
        name: "beta",
        symbol: "beta",
        unit: Unit::One,
        default: 0.8,
        min: 1e-9,
        max: 1.0,
        meaning: "multiplicative decrease",
        source: "CoNEXT 2016, footnote 4: 0.8",
    },
    Parameter {
        name: "delta",
        symbol: "delta",
        unit: Unit::Rate,
        default: 10e6,
        min: 1.0,
        max: 1e12,
        meaning: "additive increase",
        source: "CoNEXT 2016 §4.2: 10 Mbps",
    },
    Parameter {
        name: "t_low",
        symbol: "T_low",
        unit: Unit::Time,
        default: 50e-6,
        min: 0.0,
        max: 1.0,
        meaning: "below this round trip the rate only grows",
        source: "CoNEXT 2016, footnote 4: 50 us",
    },
    Parameter {
        name: "t_high",
        symbol: "T_high",
        unit: Unit::Time,
        default: 500e-6,
        min: 1e-9,
        max: 1e3,
        meaning: "above it the rate only falls",
        source: "CoNEXT 2016, footnote 4: 500 us",
    },
    Parameter {
        name: "d_min_rtt",
        symbol: "D_minRTT",
        unit: Unit::Time,
        default: 20e-6,
        min: 1e-9,
        max: 1.0,
        meaning: "what the gradient is divided by, and the least time between updates",
        source: "CoNEXT 2016, footnote 4: 20 us",
    },
    Parameter {
        name: "seg",
        symbol: "Seg",
        unit: Unit::Bytes,
        default: 64e3,
        min: 1.0,
        max: 1e9,
        meaning: "payload acknowledged as one",
        source: "CoNEXT 2016 §4: 16 to 64 KB; the authors' fluid model takes 64",
    },
    Parameter {
        name: "hai",
        symbol: "N",
        unit: Unit::One,
        default: 1.0,
        min: 1.0,
        max: 1e3,
        meaning: "steps of delta at once after five updates with a falling round trip (hyper-active increase)",
        source: "1: without, as CoNEXT 2016 §4.1; SIGCOMM 2015 takes 5",
    },
    Parameter {
        name: "burst",
        symbol: "-",
        unit: Unit::Flag,
        default: 0.0,
        min: 0.0,
        max: 1.0,
        meaning: "a segment leaves at line rate and the gap follows, instead of frame by frame",
        source: "off, as CoNEXT 2016 Figs. 8, 9 and 12; SIGCOMM 2015 §5 does it",
    },
    Parameter {
        name: "start_rate",
        symbol: "R(0)",
        unit: Unit::Rate,
        default: 0.0,
        min: 0.0,
        max: 1e13,
        meaning: "rate of a new flow; 0 is the line shared with the N flows that its sender already has, C/(N+1)",
        source: "SIGCOMM 2015 §4: C/(N+1)",
    },
    Parameter {
        name: "min_rate",
        symbol: "-",
        unit: Unit::Rate,
        default: 10e6,
        min: 1e3,
        max: 1e12,
        meaning: "no cut goes below it",
        source: "a choice: 0.1 % of 10 Gbps",
    },
];

/// Whose TIMELY.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "sigcomm15",
        values: &[("hai", 5.0), ("burst", 1.0)],
        source: "Mittal et al., SIGCOMM 2015 Alg. 1 and §5, with the values of CoNEXT 2016, footnote 4",
    },
    Preset { name: "ecn-or-delay", values: &[], source: "CoNEXT 2016 §4: per-packet pacing, no HAI" },
    Preset {
        name: "ecn-or-delay-16KB",
        values: &[("burst", 1.0), ("seg", 16e3)],
        source: "CoNEXT 2016 Fig. 10a: bursts of 16 KB",
    },
    Preset { name: "ecn-or-delay-64KB", values: &[("burst", 1.0)], source: "CoNEXT 2016 Fig. 10b: bursts of 64 KB" },
];

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "Losses: it has no reaction to them; the transport repairs them.",
    "Bursts at less than line rate (SIGCOMM 2015 §5).",
];

/// Updates with a falling round trip before hyper-active increase (SIGCOMM 2015 Alg. 1).
const PATIENCE: u32 = 5;

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(Timely {
        beta: values.get("beta"),
        delta: values.get("delta"),
        t_low: values.time("t_low"),
        t_high: values.time("t_high"),
        hai: values.get("hai"),
        segments: Segments { size: values.bytes("seg"), at_once: values.flag("burst") },
        min_rate: values.get("min_rate"),
        line_rate: path.line_rate.0 as f64,
        rate: start_rate(values.rate("start_rate"), path),
        gradient: Gradient::new(values.get("alpha"), values.time("d_min_rtt"), path),
        falling: 0,
        last: 0.0,
    })
}

/// State of one flow; rates in bits per second.
#[derive(Clone, Copy, Debug)]
struct Timely {
    beta: f64,
    delta: f64,
    t_low: Time,
    t_high: Time,
    hai: f64,
    segments: Segments,
    min_rate: f64,
    line_rate: f64,
    rate: f64,
    gradient: Gradient,
    /// Updates in a row in which the gradient was not positive.
    falling: u32,
    /// The last gradient, to look at.
    last: f64,
}

impl Timely {
    fn update(&mut self, sample: &Sample) {
        let between = sample.rtt >= self.t_low && sample.rtt <= self.t_high;
        self.falling = if between && sample.gradient <= 0.0 { self.falling + 1 } else { 0 };
        if sample.rtt < self.t_low {
            self.rate += self.delta;
        } else if sample.rtt > self.t_high {
            self.rate *= 1.0 - self.beta * (1.0 - self.t_high / sample.rtt);
        } else if sample.gradient <= 0.0 {
            self.rate += if self.falling >= PATIENCE { self.hai * self.delta } else { self.delta };
        } else {
            self.rate *= (1.0 - self.beta * sample.gradient).max(0.0);
        }
        self.rate = self.rate.clamp(self.min_rate, self.line_rate);
    }
}

impl Sender for Timely {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if let Some(sample) = self.gradient.sample(now, ack) {
            self.last = sample.gradient;
            self.update(&sample);
        }
    }

    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn decision(&self) -> Decision {
        Decision { window: Bytes::MAX, pace: Some(Rate(self.rate as u64)), wake: None }
    }

    fn segments(&self) -> Segments {
        self.segments
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("gradient", self.last);
    }
}
