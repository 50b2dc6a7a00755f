//! Rate-based delay control: sets the time between two packets, longer while the queueing delay is above a target and
//! shorter below it, also beyond a round trip.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | G | 1 / `rate` | time between packets; the rate is in packets a second |
//! | base RTT | `base_rtt` | smallest RTT of the flow |
//! | q | `queueing_delay` | mean RTT of a round less the base RTT |
//! | T | `target` | queueing delay at which the gap stays |
//! | kappa | `gain` | change of the rate a round, for an error of a base RTT |
//! | beta | `damping` | change of the pace with the error itself |
//! | phi | `fairness` | how much the target grows as the rate falls |
//!
//! Source: Lee, Jang and Moon, "Reviving Delay-based TCP for Data Centers", SIGCOMM 2012 (poster), §3.
//!
//! The formula follows from the two aims of the poster. A queue that does not grow with the number of flows rules out
//! adding a fixed rate a round, since n flows add n times as much. So the rate changes in proportion, R <- R (1 + kappa e)
//! with e = (T' - q)/base RTT, and the flow sends at R (1 + beta e), which damps the loop. Proportional changes keep shares as they
//! are, and noise makes them drift apart (ten flows: Jain's index 0.11). So the target falls with the rate,
//! T' = T (1 + phi/(1 + w)) with w packets a base RTT: at one common delay all rates must be equal.

use crate::deviation::{Deviation, deviation};
use crate::event::{Ack, Loss, LossKind};
use crate::parameter::{Parameter, Preset, Values, flag, number, time};
use crate::round::Round;
use crate::sender::{Decision, Path, Sender};
use crate::traits::{LeastRtt, Traits};
use crate::units::{Bytes, Rate, Time};

/// None of them is the poster's.
pub const PARAMETERS: &[Parameter] = &[
    time("target", "T", 4e-6, 1e-9..=1.0).follows("slow_host_time")
        .meaning("queueing delay at which the gap stays as it is")
        .source("our choice: three packets at 10 Gbps"),
    number("gain", "kappa", 0.1, 1e-6..=10.0)
        .meaning("change of the rate a round, for a base RTT of error")
        .source("our choice"),
    number("damping", "beta", 0.4, 0.0..=10.0).meaning("change of the pace with the error itself").source("our choice"),
    number("fairness", "phi", 2.0, 0.0..=100.0)
        .meaning("share of the target that goes with the rate")
        .source("our choice"),
    time("largest_gap", "G_max", 0.1, 1e-6..=1e3).meaning("no gap is larger").source("our choice"),
    flag("channel", "-", false)
        .meaning("a channel of high priority measures the base RTT: frames of the length of its data, before which no data waits")
        .source("the poster §3, as an idea; off: the minimum since the flow began, as it has"),
    time("probe_interval", "-", 10e-3, 0.0..=10.0)
        .meaning("time between two probes of this channel; 0: none, the base RTT is that of the empty path, exact")
        .source("our choice: fifty flows take 0.6 % of 10 Gbps"),
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "high-priority-channel",
        values: &[("channel", 1.0)],
        source: "the poster §3: a high priority channel only for base RTT measurement",
    },
    Preset {
        name: "exact-base-rtt",
        values: &[("channel", 1.0), ("probe_interval", 0.0)],
        source: "ours: what a channel without errors would measure",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits =
    Traits::on_delays().least_rtt(LeastRtt::Unless("channel")).probes("channel", "probe_interval").reference_gbps(10);

/// Known differences.
pub const NOT_MODELLED: &[&str] = &["Errors of time stamps (hosts.timestamps) in the round trips of probes."];

/// Differences from the print.
pub const DEVIATIONS: &[Deviation] = &[
    deviation(
        "§3: an inter-packet gap instead of a window",
        "a window of twice the rate bounds what is in flight",
        "a burst of losses would otherwise be unbounded",
    ),
    deviation(
        "§3: the gap may exceed the round trip",
        "up to largest_gap",
        "a flow has to hear from the network again",
    ),
    deviation("-", "the formula and all its parameters", "the poster has neither"),
];

/// Packets in flight beyond those that the rate and the base RTT explain.
const SLACK: f64 = 4.0;

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let interval = values.time("probe_interval");
    let probes = values.flag("channel") && interval > Time::ZERO;
    let fastest = path.line_rate.0 as f64 / (path.mss.0 as f64 * 8.0);
    Box::new(Gap {
        target: values.time("target").as_secs(),
        gain: values.get("gain"),
        damping: values.get("damping"),
        fairness: values.get("fairness"),
        slowest: (1.0 / values.time("largest_gap").as_secs()).min(fastest),
        fastest,
        mss: path.mss,
        rate: 0.0,
        error: 0.0,
        starting: true,
        base_rtt: if values.flag("channel") && !probes { path.base_rtt } else { Time::MAX },
        probe_interval: probes.then_some(interval),
        rtt_sum: 0.0,
        samples: 0,
        queueing_delay: 0.0,
        round: Round::default(),
    })
}

/// State of one flow; times in seconds, rates in packets a second.
#[derive(Clone, Copy, Debug)]
struct Gap {
    target: f64,
    gain: f64,
    damping: f64,
    fairness: f64,
    slowest: f64,
    fastest: f64,
    mss: Bytes,
    /// Zero until the first RTT.
    rate: f64,
    error: f64,
    /// Still doubling every round.
    starting: bool,
    base_rtt: Time,
    /// None unless it has a channel for probes.
    probe_interval: Option<Time>,
    rtt_sum: f64,
    samples: u32,
    queueing_delay: f64,
    round: Round,
}

impl Gap {
    /// Packets a base RTT.
    fn packets(&self) -> f64 {
        self.rate * self.base_rtt.as_secs()
    }

    fn end_round(&mut self) {
        let base = self.base_rtt.as_secs();
        self.queueing_delay = self.rtt_sum / f64::from(self.samples) - base;
        self.rtt_sum = 0.0;
        self.samples = 0;
        if self.rate == 0.0 {
            self.rate = 1.0 / base;
            return;
        }
        let target = self.target * (1.0 + self.fairness / (1.0 + self.packets()));
        self.starting &= self.queueing_delay < target;
        self.error = ((target - self.queueing_delay) / base).clamp(-1.0, 1.0);
        let factor = if self.starting { 2.0 } else { 1.0 + self.gain * self.error };
        self.rate = (self.rate * factor).clamp(self.slowest, self.fastest);
    }
}

impl Sender for Gap {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.base_rtt = self.base_rtt.min(ack.rtt);
        self.rtt_sum += ack.rtt.as_secs();
        self.samples += 1;
        if self.round.ends(now, ack) {
            self.end_round();
        }
    }

    /// A loss shows a queue that the delay did not: half the rate.
    fn on_loss(&mut self, now: Time, loss: &Loss) {
        let factor = if loss.kind == LossKind::Timeout { 0.25 } else { 0.5 };
        self.rate = (self.rate * factor).max(self.slowest.min(self.rate));
        self.starting = false;
        self.round.restart(now);
    }

    fn probe_interval(&self) -> Option<Time> {
        self.probe_interval
    }

    fn on_probed(&mut self, _now: Time, rtt: Time) {
        self.base_rtt = self.base_rtt.min(rtt);
    }

    fn decision(&self) -> Decision {
        if self.rate == 0.0 {
            return Decision::window(self.mss);
        }
        let pace = (self.rate * (1.0 + self.damping * self.error)).clamp(self.slowest, self.fastest);
        Decision {
            window: self.mss.scale(2.0 * self.packets() + SLACK),
            pace: Some(Rate((pace * self.mss.0 as f64 * 8.0) as u64).max(Rate(1))),
            wake: None,
        }
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        if self.rate > 0.0 {
            record("gap_us", 1e6 / self.rate);
            record("base_rtt_us", self.base_rtt.as_micros());
            record("packets_per_rtt", self.packets());
            record("queueing_delay_us", self.queueing_delay * 1e6);
        }
    }
}
