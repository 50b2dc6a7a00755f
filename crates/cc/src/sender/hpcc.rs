//! Sets the window by what every hop wrote into the packet that is acknowledged: as much in flight as fills the fullest link to
//! the share eta, and no queue.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | eta | `eta` | the share of a link that may be in use |
//! | `maxStage` | `max_stage` | round trips of additive steps before a multiplicative one |
//! | `W_AI` | `w_ai` | additive step, in bytes |
//! | T | `base_rtt` | round trip with all queues empty |
//! | U | `in_flight` | what is in flight on the fullest link, by B T |
//! | L | `last` | the records of the acknowledgement before |
//! | `W_c`, W | `reference`, `window` | window at the last round trip's end, and now, in bytes |
//! | `incStage` | `stage` | additive round trips so far |
//!
//! Source: Li et al., SIGCOMM 2019, Algorithm 1. As in the authors' simulation the first acknowledgement only leaves its
//! records, no window is above B T of the host's link (rdma-hw.cc), and a packet may leave while less than W is in flight
//! (rdma-queue-pair.cc): windows are a few packets, and rounded down they would leave the link idle.
//!
//! Differs: T is by default the round trip of the flow's own empty path, where the paper's operator states one for the whole
//! network; losses change no window, where the paper's network drops nothing.

use crate::event::{Ack, HopRecord, Loss};
use crate::parameter::{Parameter, Preset, Values, bytes, number, time};
use crate::round::Round;
use crate::sender::{Decision, Path, Segments, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Rate, Time};

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    number("eta", "eta", 0.95, 0.01..=1.0)
        .meaning("share of the fullest link to use")
        .source("SIGCOMM 2019 §5.1: 95 %"),
    number("max_stage", "maxStage", 5.0, 0.0..=1e6)
        .meaning("round trips of additive steps before a multiplicative one")
        .source("SIGCOMM 2019 §5.1: 5; the authors' simulations: 0"),
    bytes("w_ai", "W_AI", 80.0, 1.0..=1e9)
        .meaning("additive step a round trip")
        .source("SIGCOMM 2019 §5.1: 80 bytes; §3.3: at most (1 - eta) B T shared by the flows expected"),
    time("base_rtt", "T", 0.0, 0.0..=10.0)
        .meaning("round trip with all queues empty; 0: that of the flow's own path")
        .source("SIGCOMM 2019 §3.2: a constant of the network, slightly above its longest"),
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset { name: "sigcomm2019", values: &[], source: "Li et al., SIGCOMM 2019 §5.1" },
    Preset {
        name: "ns-3",
        values: &[("max_stage", 0.0)],
        source: "the simulations of the paper (run.py: MI_THRESH 0; its authors, issue 24 of their repository)",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_load();

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "The bytes that records add to packets.",
    "As hpcc it runs over selective acknowledgements, as hpcc-roce over go-back-N as in the paper; a loss changes no window.",
    "Paths that change from packet to packet: its packets take one way, and a new one begins new records.",
];

/// Builds the sender of one flow.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let stated = values.get("base_rtt");
    let base_rtt = if stated > 0.0 { stated } else { path.base_rtt.as_secs() };
    let most = (path.line_rate.0 as f64 / 8.0 * base_rtt).max(path.mss.0 as f64);
    Box::new(Hpcc {
        eta: values.get("eta"),
        max_stage: values.get("max_stage"),
        w_ai: values.get("w_ai"),
        base_rtt,
        mss: path.mss,
        line_rate: path.line_rate,
        most,
        window: most,
        reference: most,
        in_flight: 1.0,
        stage: 0.0,
        last: Vec::new(),
        fresh: false,
        round: Round::default(),
    })
}

/// State of one flow: bytes and seconds.
#[derive(Clone, Debug)]
struct Hpcc {
    eta: f64,
    max_stage: f64,
    w_ai: f64,
    base_rtt: f64,
    mss: Bytes,
    line_rate: Rate,
    most: f64,
    window: f64,
    reference: f64,
    in_flight: f64,
    stage: f64,
    last: Vec<HopRecord>,
    /// Whether the newest records changed `in_flight`.
    fresh: bool,
    round: Round,
}

impl Hpcc {
    /// `MeasureInflight`: the fullest hop since the last records, and the time between; none if they are of another path.
    fn fullest(&self, hops: &[HopRecord]) -> Option<(f64, f64)> {
        if hops.len() != self.last.len() {
            return None;
        }
        let mut fullest = (0.0, 0.0);
        for (hop, last) in hops.iter().zip(&self.last) {
            if hop.at <= last.at || hop.sent < last.sent || hop.rate != last.rate {
                return None;
            }
            let (link, span) = (hop.rate.0 as f64 / 8.0, (hop.at - last.at).as_secs());
            let sent = (hop.sent - last.sent).0 as f64 / span;
            let used = hop.queue.min(last.queue).0 as f64 / (link * self.base_rtt) + sent / link;
            if used > fullest.0 {
                fullest = (used, span);
            }
        }
        Some(fullest)
    }

    /// `ComputeWind`.
    fn compute_window(&mut self, round_ends: bool) {
        let multiplies = self.in_flight >= self.eta || self.stage >= self.max_stage;
        let kept = if multiplies { self.reference * self.eta / self.in_flight } else { self.reference };
        self.window = (kept + self.w_ai).min(self.most);
        if round_ends {
            self.stage = if multiplies { 0.0 } else { self.stage + 1.0 };
            self.reference = self.window;
        }
    }
}

impl Sender for Hpcc {
    fn on_records(&mut self, _now: Time, hops: &[HopRecord]) {
        let fullest = self.fullest(hops);
        self.fresh = fullest.is_some();
        if let Some((used, span)) = fullest {
            let weight = span.min(self.base_rtt) / self.base_rtt;
            self.in_flight = (1.0 - weight) * self.in_flight + weight * used;
        }
        self.last.clear();
        self.last.extend_from_slice(hops);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let round_ends = self.round.ends(now, ack);
        if std::mem::take(&mut self.fresh) {
            self.compute_window(round_ends);
        }
    }

    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn decision(&self) -> Decision {
        let pace = Rate((self.window / self.base_rtt * 8.0) as u64).min(self.line_rate).max(Rate(1));
        let window = Bytes(self.window as u64) + self.mss - Bytes(1);
        Decision { window, pace: Some(pace), wake: None }
    }

    /// Every packet is acknowledged (§3.1).
    fn segments(&self) -> Segments {
        Segments { size: self.mss, at_once: false, burst_rate: None }
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("in_flight", self.in_flight);
        record("reference_bytes", self.reference);
    }
}
