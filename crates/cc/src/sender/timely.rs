//! TIMELY: changes the rate by the gradient of the round trip, and by two thresholds.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | rate, R | `rate` | sending rate |
//! | rttGradient | `gradient` | smoothed change of the round trip, in units of `D_minRTT` |
//! | `T_low`, `T_high` | `t_low`, `t_high` | round trips outside which the gradient does not matter |
//! | delta, beta | `delta`, `beta` | additive increase, multiplicative decrease |
//!
//! Source: Zhu et al., "ECN or Delay", `CoNEXT` 2016, Algorithm 1, eq. 20 to 24 and footnotes 4 and 5; Mittal et al.,
//! SIGCOMM 2015, Algorithm 1, for hyper-active increase.
//!
//! Algorithm 1, eq. 23 (a sample for each segment, at most one update in `D_minRTT`) and the start at C/(N+1) are as printed;
//! `DEVIATIONS` has the rest.

use crate::deviation::{Deviation, deviation};
use crate::event::{Ack, Loss};
use crate::gradient::{self, Gradient, Sample, Shared};
use crate::parameter::{Parameter, Preset, Values, bytes, number};
use crate::sender::{Decision, Path, Segments, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Rate, Time};

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    gradient::ALPHA,
    number("beta", "beta", 0.8, 1e-9..=1.0).meaning("multiplicative decrease").source("CoNEXT 2016, footnote 4: 0.8"),
    gradient::DELTA,
    gradient::T_LOW,
    gradient::T_HIGH,
    gradient::D_MIN_RTT,
    bytes("seg", "Seg", 64e3, 1.0..=1e9)
        .follows("burst")
        .meaning("payload acknowledged as one")
        .source("CoNEXT 2016 §4: 16 to 64 KB; the authors' fluid model takes 64"),
    number("hai", "N", 1.0, 1.0..=1e3)
        .meaning("steps of delta at once after five updates with a falling round trip (hyper-active increase)")
        .source("1: without, as CoNEXT 2016 §4.1; SIGCOMM 2015 takes 5"),
    number("keep", "-", 0.0, 0.0..=1.0)
        .meaning("no cut leaves less than this share of the rate")
        .source("0: as SIGCOMM 2015 Alg. 1 and CoNEXT 2016 Alg. 1; the authors' snippet has 1/2"),
    gradient::BURST,
    gradient::BURST_RATE,
    gradient::START_RATE,
    gradient::MIN_RATE,
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "sigcomm15",
        values: &[("hai", 5.0), ("burst", 1.0)],
        source: "Mittal et al., SIGCOMM 2015 Alg. 1 and §5, with the values of CoNEXT 2016, footnote 4",
    },
    Preset {
        name: "snippet",
        values: &[("alpha", 0.02), ("t_high", 1e-3), ("hai", 5.0), ("keep", 0.5), ("burst", 1.0)],
        source: "the code snippet that the authors of SIGCOMM 2015 published, with its values for segments of 64 KB",
    },
    Preset { name: "ecn-or-delay", values: &[], source: "CoNEXT 2016 §4: per-packet pacing, no HAI" },
    Preset {
        name: "ecn-or-delay-16KB",
        values: &[("burst", 1.0), ("seg", 16e3)],
        source: "CoNEXT 2016 Fig. 10a: bursts of 16 KB",
    },
    Preset { name: "ecn-or-delay-64KB", values: &[("burst", 1.0)], source: "CoNEXT 2016 Fig. 10b: bursts of 64 KB" },
    Preset {
        name: "ns3-rdma",
        values: &[("seg", 16e3), ("burst", 1.0), ("start_rate", 1e9), ("min_rate", 100e6)],
        source: "github.com/bobzhuyb/ns3-rdma, branch timely, its defaults for 10 Gbps",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits =
    Traits::on_delays().corrected_by("patched-timely").step("delta", "SIGCOMM 2015").reference_gbps(10);

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "Losses: it has no reaction to them; the transport repairs them.",
    "The snippet counts round trips in a row that were shorter, here gradients that were not positive; its updates \
     within D_minRTT of the last one are not made smaller but left out.",
    "ns3-rdma caps the rate at 96 % of the line's.",
];

/// Differences from the print.
pub const DEVIATIONS: &[Deviation] = &[
    deviation(
        "Algorithm 1, lines 1 to 4: gradient",
        "the first sample has a gradient of zero",
        "it has no sample before it",
    ),
    deviation(
        "Algorithm 1, lines 9 and 10: one step",
        "hai steps from the fifth gradient in a row that is not positive on; 1, as printed, by default",
        "SIGCOMM 2015 has hyper-active increase, CoNEXT 2016 omits it",
    ),
    deviation(
        "Algorithm 1, lines 7 and 8: the cut",
        "at most keep; without a bound, as printed, by default",
        "the snippet of the authors of SIGCOMM 2015 has one",
    ),
    deviation(
        "eq. 24: the RTT without the segment's own sending",
        "the time to send the last frame is left out",
        "frames of a segment that is paced leave one by one",
    ),
    deviation(
        "-",
        "the rate stays between min_rate and the rate of the link; delta and min_rate follow the link (preset ecn-or-delay: the printed values)",
        "the paper prints values for 10 Gbps",
    ),
];

/// Updates with a falling round trip before hyper-active increase (SIGCOMM 2015 Alg. 1).
const PATIENCE: u32 = 5;

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let shared = Shared::new(values, path);
    Box::new(Timely {
        hai: values.get("hai"),
        keep: values.get("keep"),
        rate: shared.start_rate,
        gradient: Gradient::new(values.get("alpha"), values.time("d_min_rtt"), path),
        falling: 0,
        last: 0.0,
        shared,
    })
}

/// State of one flow; rates in bits per second.
#[derive(Clone, Copy, Debug)]
struct Timely {
    shared: Shared,
    hai: f64,
    keep: f64,
    rate: f64,
    gradient: Gradient,
    /// Updates in a row in which the gradient was not positive.
    falling: u32,
    /// The last gradient, for [`Sender::probe`].
    last: f64,
}

impl Timely {
    /// Algorithm 1 from line 5 on.
    fn update(&mut self, sample: &Sample) {
        let Sample { rtt, gradient, .. } = *sample;
        let Shared { beta, delta, t_low, t_high, .. } = self.shared;
        let between = rtt >= t_low && rtt <= t_high;
        self.falling = if between && gradient <= 0.0 { self.falling + 1 } else { 0 };
        if rtt < t_low {
            self.rate += delta;
        } else if rtt > t_high {
            self.rate *= (1.0 - beta * (1.0 - t_high / rtt)).max(self.keep);
        } else if gradient <= 0.0 {
            self.rate += if self.falling >= PATIENCE { self.hai * delta } else { delta };
        } else {
            self.rate *= (1.0 - beta * gradient).max(self.keep);
        }
        self.rate = self.shared.clamp(self.rate);
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
        self.shared.segments
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("gradient", self.last);
    }
}
