//! TIMELY with one fixed point: the round trip itself decides how much the rate falls, its gradient how soon.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | R | `rate` | the rate |
//! | w(g) | `weight` | share of decrease in an update, by the gradient g |
//! | `RTT_ref` | `t_low` | queueing delay at which increase and decrease meet |
//! | delta, beta | `delta`, `beta` | additive increase, multiplicative decrease |
//!
//! Source: "ECN or Delay" (`CoNEXT` 2016) Alg. 2, eq. 29 to 31. Queue at the fixed point:
//! q' (1 + N delta / (beta C)), q' = C `T_low`.
//!
//! Choices: the error is that of the queueing delay (eq. 29), the round trip without the shortest one seen or
//! `base_rtt`; Alg. 2 takes the whole round trip, 5 to 10 % less queue. The rate stays between `min_rate` and
//! the line's.

use crate::event::{Ack, Loss};
use crate::gradient::{self, Gradient, Sample, start_rate};
use crate::parameter::{Parameter, Preset, Values, bytes, number, time};
use crate::sender::{Decision, Path, Segments, Sender};
use crate::units::{Bytes, Rate, Time};

/// `beta`.
pub const BETA: Parameter =
    number("beta", "beta", 0.008, 1e-9..=1.0).meaning("multiplicative decrease").source("CoNEXT 2016 §4.3: 0.008");

/// `Seg`.
pub const SEG: Parameter =
    bytes("seg", "Seg", 16e3, 1.0..=1e9).meaning("payload acknowledged as one").source("CoNEXT 2016 §4.3: 16 KB");

/// `dw/dg`.
pub const WEIGHT_SLOPE: Parameter = number("weight_slope", "dw/dg", 2.0, 1e-6..=1e6)
    .meaning("how steeply the weight rises with the gradient, around 1/2")
    .source("CoNEXT 2016 eq. 30: 2; Fig. 11 was computed with 0.5");

/// `D_prop`.
pub const BASE_RTT: Parameter = time("base_rtt", "D_prop", 0.0, 0.0..=1.0)
    .meaning("round trip of an empty path; 0 is the shortest that the flow has seen")
    .source("a choice: the paper does not say");

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    gradient::ALPHA,
    BETA,
    gradient::DELTA,
    gradient::T_LOW,
    gradient::T_HIGH,
    gradient::D_MIN_RTT,
    SEG,
    WEIGHT_SLOPE,
    BASE_RTT,
    gradient::BURST,
    gradient::BURST_RATE,
    gradient::START_RATE,
    gradient::MIN_RATE,
];

/// One paper, one set.
pub const PRESETS: &[Preset] = &[
    Preset { name: "ecn-or-delay", values: &[], source: "CoNEXT 2016 §4.3" },
    Preset {
        name: "ecn-or-delay-fig11",
        values: &[("weight_slope", 0.5)],
        source: "CoNEXT 2016 Fig. 11, which eq. 30 does not give",
    },
];

/// Known differences.
pub const NOT_MODELLED: &[&str] = &["Losses: it has no reaction to them; the transport repairs them."];

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(PatchedTimely {
        beta: values.get("beta"),
        delta: values.get("delta"),
        t_low: values.time("t_low"),
        t_high: values.time("t_high"),
        slope: values.get("weight_slope"),
        segments: gradient::segments(values, path),
        min_rate: values.get("min_rate").min(path.line_rate.0 as f64),
        line_rate: path.line_rate.0 as f64,
        rate: start_rate(values.rate("start_rate"), path),
        gradient: Gradient::new(values.get("alpha"), values.time("d_min_rtt"), path),
        base: if values.get("base_rtt") > 0.0 { values.time("base_rtt") } else { Time::MAX },
        weight: 0.5,
    })
}

/// State of one flow; rates in bits per second.
#[derive(Clone, Copy, Debug)]
struct PatchedTimely {
    beta: f64,
    delta: f64,
    t_low: Time,
    t_high: Time,
    slope: f64,
    segments: Segments,
    min_rate: f64,
    line_rate: f64,
    rate: f64,
    gradient: Gradient,
    base: Time,
    weight: f64,
}

impl PatchedTimely {
    fn update(&mut self, sample: &Sample) {
        self.base = self.base.min(sample.rtt);
        self.weight = (0.5 + self.slope * sample.gradient).clamp(0.0, 1.0);
        if sample.rtt < self.t_low {
            self.rate += self.delta;
        } else if sample.rtt > self.t_high {
            self.rate *= 1.0 - self.beta * (1.0 - self.t_high / sample.rtt);
        } else {
            let error = (sample.rtt - self.base) / self.t_low - 1.0;
            self.rate = self.delta * (1.0 - self.weight) + self.rate * (1.0 - self.beta * self.weight * error);
        }
        self.rate = self.rate.clamp(self.min_rate, self.line_rate);
    }
}

impl Sender for PatchedTimely {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if let Some(sample) = self.gradient.sample(now, ack) {
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
        record("weight", self.weight);
    }
}
