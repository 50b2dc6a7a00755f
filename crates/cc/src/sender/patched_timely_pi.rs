//! Patched TIMELY with a PI controller in each host: a queue of fixed length, and no fairness.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | R | `rate` | the rate |
//! | p | `p` | the internal variable that takes the place of the error in eq. 29 |
//! | e | `error` | queue by the round trip, less the reference |
//! | `K_1`, `K_2` | `k1`, `k2` | gains on the change of the error, and on the error |
//!
//! Source: "ECN or Delay" (`CoNEXT` 2016) §5.2, eq. 29 with p for its error, eq. 32. All p see the same queue,
//! so what they differ by at the start stays: Theorem 6 in its plainest form.
//!
//! Differs: the gains are a choice, as the paper prints none. The queue is the delay times the rate of the
//! sender's own link.

use super::patched_timely::{BASE_RTT, BETA, SEG, WEIGHT_SLOPE};
use crate::event::{Ack, Loss};
use crate::gradient::{self, Gradient, Sample, start_rate};
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
    bytes("q_ref", "q_ref", 300e3, 0.0..=1e12)
        .meaning("the queue it settles at")
        .source("CoNEXT 2016 §5.2: 300 KB; its Fig. 19 ends at 343.75 KB"),
    number("k1", "K_1", 2.5e-7, 0.0..=1.0)
        .meaning("gain on the change of the error, per bit")
        .source("a choice: settles in the fluid model"),
    number("k2", "K_2", 5e-6, 0.0..=1e3)
        .meaning("gain on the error, per bit and second")
        .source("a choice: 20 times K_1"),
    number("p", "p(0)", 0.0, -1e3..=1e3)
        .meaning("internal variable of a new flow")
        .source("a choice; the authors' script draws it from 0 to 0.01"),
    BASE_RTT,
    gradient::BURST,
    gradient::BURST_RATE,
    gradient::START_RATE,
    gradient::MIN_RATE,
];

/// One paper, one set.
pub const PRESETS: &[Preset] = &[Preset { name: "ecn-or-delay", values: &[], source: "CoNEXT 2016 §5.2" }];

/// Known differences.
pub const NOT_MODELLED: &[&str] = &["Losses: it has no reaction to them; the transport repairs them."];

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let q_ref = values.get("q_ref") * 8.0;
    Box::new(PatchedTimelyPi {
        beta: values.get("beta"),
        delta: values.get("delta"),
        t_low: values.time("t_low"),
        t_high: values.time("t_high"),
        slope: values.get("weight_slope"),
        q_ref,
        k1: values.get("k1"),
        k2: values.get("k2"),
        segments: gradient::segments(values, path),
        min_rate: values.get("min_rate").min(path.line_rate.0 as f64),
        line_rate: path.line_rate.0 as f64,
        rate: start_rate(values.rate("start_rate"), path),
        gradient: Gradient::new(values.get("alpha"), values.time("d_min_rtt"), path),
        base: if values.get("base_rtt") > 0.0 { values.time("base_rtt") } else { Time::MAX },
        error: -q_ref,
        p: values.get("p"),
    })
}

/// State of one flow; rates in bits per second, queues in bits.
#[derive(Clone, Copy, Debug)]
struct PatchedTimelyPi {
    beta: f64,
    delta: f64,
    t_low: Time,
    t_high: Time,
    slope: f64,
    q_ref: f64,
    k1: f64,
    k2: f64,
    segments: Segments,
    min_rate: f64,
    line_rate: f64,
    rate: f64,
    gradient: Gradient,
    base: Time,
    error: f64,
    p: f64,
}

impl PatchedTimelyPi {
    fn control(&mut self, sample: &Sample) {
        self.base = self.base.min(sample.rtt);
        let error = (sample.rtt - self.base).as_secs() * self.line_rate - self.q_ref;
        self.p += self.k1 * (error - self.error) + self.k2 * error * sample.elapsed.as_secs();
        self.error = error;
    }

    fn update(&mut self, sample: &Sample) {
        if sample.rtt < self.t_low {
            self.rate += self.delta;
        } else if sample.rtt > self.t_high {
            self.rate *= 1.0 - self.beta * (1.0 - self.t_high / sample.rtt);
        } else {
            let weight = (0.5 + self.slope * sample.gradient).clamp(0.0, 1.0);
            self.rate = self.delta * (1.0 - weight) + self.rate * (1.0 - self.beta * weight * self.p);
        }
        self.rate = self.rate.clamp(self.min_rate, self.line_rate);
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
        self.segments
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("p", self.p);
    }
}
