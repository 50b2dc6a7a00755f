//! TIMELY with a single fixed point: the round trip itself decides how far the rate falls, and the gradient of the round
//! trip weighs increase against decrease.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | rate, R | `rate` | sending rate |
//! | weight, w(g) | `weight` | weight of the decrease, from the gradient g |
//! | `RTT_ref` | `t_low` | round trip at which the error is zero |
//! | error | `error` | (RTT - base) / `RTT_ref` - 1 |
//! | - | `base` | round trip that the error leaves out: none in Algorithm 2 |
//! | delta, beta | `delta`, `beta` | additive increase, multiplicative decrease |
//!
//! Source: Zhu et al., "ECN or Delay", `CoNEXT` 2016, §4.3, Algorithm 2 and eq. 29 to 31.
//!
//! Algorithm 2, eq. 23 and eq. 30 are as printed but for `DEVIATIONS`.
//!
//! Algorithm 2 and eq. 29 differ in the print: the algorithm compares round trips, the equation queues. With `base` = 0
//! flows settle at the round trip `T_low` (1 + N delta / (beta C)), which is the queue of eq. 31 less C times the
//! propagation delay. The absolute round trip is what makes the flows equal: each must see the same error. A flow that
//! takes its own smallest round trip for the empty path (`subtract_min_rtt`) and joins late hides the standing queue from
//! itself, and takes more than its share for good.

use crate::deviation::{Deviation, deviation};
use crate::event::{Ack, Loss};
use crate::gradient::{self, Gradient, Sample, Shared};
use crate::parameter::{Parameter, Preset, Values, bytes, flag, number, time};
use crate::sender::{Decision, Path, Segments, Sender};
use crate::traits::{LeastRtt, Traits};
use crate::units::{Bytes, Rate, Time};

/// `beta`.
pub const BETA: Parameter =
    number("beta", "beta", 0.008, 1e-9..=1.0).meaning("multiplicative decrease").source("CoNEXT 2016 §4.3: 0.008");

/// `Seg`.
pub const SEG: Parameter = bytes("seg", "Seg", 16e3, 1.0..=1e9)
    .follows("burst")
    .meaning("payload acknowledged as one")
    .source("CoNEXT 2016 §4.3: 16 KB");

/// `dw/dg`.
pub const WEIGHT_SLOPE: Parameter = number("weight_slope", "dw/dg", 2.0, 1e-6..=1e6)
    .meaning("how steeply the weight rises with the gradient, around 1/2")
    .source("CoNEXT 2016 eq. 30: 2; Fig. 11 was computed with 0.5");

/// Part of the round trip that the error leaves out.
pub const BASE_RTT: Parameter = time("base_rtt", "-", 0.0, 0.0..=1.0)
    .meaning("round trip that the error leaves out")
    .source("CoNEXT 2016 Algorithm 2, line 11: 0, the absolute round trip");

/// The same, measured by each flow.
pub const SUBTRACT_MIN_RTT: Parameter = flag("subtract_min_rtt", "-", false)
    .meaning("the error leaves out the smallest round trip that the flow has seen, instead of base_rtt")
    .source("off, as CoNEXT 2016 Algorithm 2; flows that join late become unfair with it");

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
    SUBTRACT_MIN_RTT,
    gradient::BURST,
    gradient::BURST_RATE,
    gradient::START_RATE,
    gradient::MIN_RATE,
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset { name: "ecn-or-delay", values: &[], source: "CoNEXT 2016 §4.3, Algorithm 2" },
    Preset {
        name: "ecn-or-delay-fig11",
        values: &[("weight_slope", 0.5)],
        source: "CoNEXT 2016 Fig. 11, which was computed with another slope than eq. 30 prints",
    },
    Preset {
        name: "queue-error",
        values: &[("subtract_min_rtt", 1.0)],
        source: "CoNEXT 2016 eq. 29, whose error is that of the queue; that each flow's smallest round trip stands for the \
                 empty path is our choice",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits =
    Traits::on_delays().least_rtt(LeastRtt::If("subtract_min_rtt")).step("delta", "CoNEXT 2016").reference_gbps(10);

/// Known differences.
pub const NOT_MODELLED: &[&str] = &["Losses: it has no reaction to them; the transport repairs them."];

/// Differences from the print.
pub const DEVIATIONS: &[Deviation] = &[
    deviation(
        "Algorithm 2, lines 1 to 4: gradient",
        "the first sample has a gradient of zero",
        "it has no sample before it",
    ),
    deviation(
        "eq. 29: the error compares queues",
        "the absolute round trip against RTT_ref = T_low, as in Algorithm 2; subtract_min_rtt compares queues",
        "the print has both; only the absolute round trip is the same for all flows, and makes them equal. The text sets q' = C T_low",
    ),
    deviation("eq. 30: slope 2", "a parameter", "Fig. 11 was computed with 0.5"),
    deviation(
        "-",
        "the rate stays between min_rate and the rate of the link; delta and min_rate follow the link (preset ecn-or-delay: the printed values)",
        "the paper prints values for 10 Gbps",
    ),
];

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let shared = Shared::new(values, path);
    Box::new(PatchedTimely {
        slope: values.get("weight_slope"),
        rate: shared.start_rate,
        gradient: Gradient::new(values.get("alpha"), values.time("d_min_rtt"), path),
        base: BaseRtt::new(values),
        weight: 0.5,
        shared,
    })
}

/// The round trip that an error leaves out.
#[derive(Clone, Copy, Debug)]
pub struct BaseRtt {
    rtt: Time,
    measured: bool,
}

impl BaseRtt {
    /// From `base_rtt` and `subtract_min_rtt`.
    #[must_use]
    pub fn new(values: &Values) -> Self {
        let measured = values.flag("subtract_min_rtt");
        Self { rtt: if measured { Time::MAX } else { values.time("base_rtt") }, measured }
    }

    /// Returns the rest of a round trip.
    pub fn without(&mut self, rtt: Time) -> Time {
        if self.measured {
            self.rtt = self.rtt.min(rtt);
        }
        rtt.saturating_sub(self.rtt)
    }
}

/// State of one flow; rates in bits per second.
#[derive(Clone, Copy, Debug)]
struct PatchedTimely {
    shared: Shared,
    slope: f64,
    rate: f64,
    gradient: Gradient,
    base: BaseRtt,
    weight: f64,
}

impl PatchedTimely {
    /// Algorithm 2 from line 5 on.
    fn update(&mut self, sample: &Sample) {
        let delay = self.base.without(sample.rtt);
        self.weight = weight(self.slope, sample.gradient);
        let rate = self.shared.outside(self.rate, sample.rtt).unwrap_or_else(|| {
            let Shared { delta, beta, t_low, .. } = self.shared;
            let error = delay / t_low - 1.0;
            delta * (1.0 - self.weight) + self.rate * (1.0 - beta * self.weight * error)
        });
        self.rate = self.shared.clamp(rate);
    }
}

/// w(g), eq. 30.
#[must_use]
pub fn weight(slope: f64, gradient: f64) -> f64 {
    (0.5 + slope * gradient).clamp(0.0, 1.0)
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
        self.shared.segments
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("weight", self.weight);
    }
}
