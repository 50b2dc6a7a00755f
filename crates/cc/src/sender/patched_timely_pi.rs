//! Patched TIMELY with a PI controller in each host, which holds a fixed queue and gives up fairness.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | R | `rate` | sending rate |
//! | p | `p` | internal variable that takes the place of the error in eq. 29 |
//! | e | `error` | queue by the round trip, less the reference |
//! | `K_1`, `K_2` | `k1`, `k2` | gains on the change of the error, and on the error |
//!
//! Source: Zhu et al., "ECN or Delay", `CoNEXT` 2016, §5.2: eq. 29 with p for its error, and eq. 32. All p integrate the
//! same signal, so the differences that they start with stay: Theorem 6 in its plainest form.
//!
//! Same as the paper: the branches of eq. 29, the weight of eq. 30, eq. 32, and the error, which is "the difference between
//! the measured delay and some desired delay": the absolute round trip, as in Algorithm 2. `DEVIATIONS` has the rest.

pub use super::patched_timely::TRAITS;
use super::patched_timely::{BASE_RTT, BETA, BaseRtt, SEG, SUBTRACT_MIN_RTT, WEIGHT_SLOPE, weight};
use crate::deviation::{Deviation, deviation};
use crate::event::{Ack, Loss};
use crate::gradient::{self, Gradient, Sample, Shared};
use crate::parameter::{Parameter, Preset, Values, bytes, number};
use crate::sender::{Decision, Path, Segments, Sender};
use crate::units::{Bytes, Rate, Time};

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
    bytes("q_ref", "q_ref", 300e3, 0.0..=1e15)
        .follows("delay_as_queue")
        .meaning("the queue it settles at")
        .source("CoNEXT 2016 §5.2: 300 KB; its Fig. 19 ends at 343.75 KB"),
    number("k1", "K_1", 2.5e-7, 0.0..=1.0)
        .follows("gain")
        .meaning("gain on the change of the error, per bit")
        .source("a choice: settles in the fluid model"),
    number("k2", "K_2", 5e-6, 0.0..=1e3)
        .follows("gain_per_second")
        .meaning("gain on the error, per bit and second")
        .source("a choice: 20 times K_1"),
    number("p", "p(0)", 0.0, -1e3..=1e3)
        .meaning("internal variable of a new flow")
        .source("a choice; the authors' script draws it from 0 to 0.01"),
    BASE_RTT,
    SUBTRACT_MIN_RTT,
    gradient::BURST,
    gradient::BURST_RATE,
    gradient::START_RATE,
    gradient::MIN_RATE,
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset { name: "ecn-or-delay", values: &[], source: "CoNEXT 2016 §5.2" },
    Preset {
        name: "queue-error",
        values: &[("subtract_min_rtt", 1.0)],
        source: "CoNEXT 2016 eq. 32 of the queue; that each flow's smallest round trip stands for the empty path is our choice",
    },
];

/// Known differences.
pub const NOT_MODELLED: &[&str] = &["Losses: it has no reaction to them; the transport repairs them."];

/// Differences from the print.
pub const DEVIATIONS: &[Deviation] = &[
    deviation("eq. 32: K_1, K_2", "a choice", "the paper prints no gains"),
    deviation(
        "eq. 32: q_ref",
        "given as a queue, which the rate of the sender's own link makes a delay",
        "hosts do not know the rate of the bottleneck",
    ),
    deviation(
        "-",
        "the rate stays between min_rate and the rate of the link; delta and min_rate follow the link (preset ecn-or-delay: the printed values)",
        "the paper prints values for 10 Gbps",
    ),
];

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let (shared, q_ref) = (Shared::new(values, path), values.get("q_ref") * 8.0);
    Box::new(PatchedTimelyPi {
        slope: values.get("weight_slope"),
        q_ref,
        k1: values.get("k1"),
        k2: values.get("k2"),
        rate: shared.start_rate,
        gradient: Gradient::new(values.get("alpha"), values.time("d_min_rtt"), path),
        base: BaseRtt::new(values),
        error: -q_ref,
        p: values.get("p"),
        shared,
    })
}

/// State of one flow; rates in bits per second, queues in bits.
#[derive(Clone, Copy, Debug)]
struct PatchedTimelyPi {
    shared: Shared,
    slope: f64,
    q_ref: f64,
    k1: f64,
    k2: f64,
    rate: f64,
    gradient: Gradient,
    base: BaseRtt,
    error: f64,
    p: f64,
}

impl PatchedTimelyPi {
    /// Eq. 32 over the time since the last sample.
    fn control(&mut self, sample: &Sample) {
        let delay = self.base.without(sample.rtt);
        let error = delay.as_secs() * self.shared.line_rate - self.q_ref;
        self.p += self.k1 * (error - self.error) + self.k2 * error * sample.elapsed.as_secs();
        self.error = error;
    }

    /// Eq. 29 with p for its error.
    fn update(&mut self, sample: &Sample) {
        let rate = self.shared.outside(self.rate, sample.rtt).unwrap_or_else(|| {
            let Shared { delta, beta, .. } = self.shared;
            let weight = weight(self.slope, sample.gradient);
            delta * (1.0 - weight) + self.rate * (1.0 - beta * weight * self.p)
        });
        self.rate = self.shared.clamp(rate);
    }
}

impl Sender for PatchedTimelyPi {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if let Some(sample) = self.gradient.sample(now, ack) {
            self.control(&sample);
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
        record("p", self.p);
    }
}
