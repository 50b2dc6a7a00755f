//! Keeps between alpha and beta packets of its own in the queue, judged by how much the RTT exceeds the
//! smallest one seen.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | alpha, beta | `alpha`, `beta` | packets in the queue: fewer, grow; more, shrink |
//! | gamma | `gamma` | packets in the queue that end slow start |
//! | BaseRTT | `base_rtt` | smallest RTT seen |
//! | Diff | `extra` | (Expected - Actual) * BaseRTT, packets in the queue |
//! | W | `window.packets` | window in packets |
//!
//! Source: Brakmo and Peterson, IEEE JSAC 13(8), 1995, §IV, as ns-2's tcp-vegas.cc does it, or with the flag
//! `linux` as Linux's tcp_vegas.c. They differ in more than constants: ns-2 takes the mean RTT of a round and
//! Linux the smallest; ns-2 grows in every other round of slow start and Linux in each; ns-2 raises the base RTT
//! to whatever it measures with one packet in flight. `DEVIATIONS` has what differs from both.

use crate::deviation::{Deviation, deviation};
use crate::event::{Ack, Loss, LossKind};
use crate::parameter::{Parameter, Preset, Values, flag, packets, time};
use crate::round::Round;
use crate::sender::{Decision, Path, Sender};
use crate::traits::{LeastRtt, Traits};
use crate::units::Time;
use crate::window::Window;

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    packets("alpha", "alpha", 1.0, 0.0..=1e4)
        .meaning("grow while fewer of its packets are queued")
        .source("ns-2 v_alpha_: 1"),
    packets("beta", "beta", 3.0, 0.0..=1e4)
        .meaning("shrink while more of its packets are queued")
        .source("ns-2 v_beta_: 3"),
    packets("gamma", "gamma", 1.0, 0.0..=1e4)
        .meaning("leave slow start when more of its packets are queued")
        .source("ns-2 v_gamma_: 1"),
    flag("linux", "-", false).meaning("Linux's reading of the algorithm instead of ns-2's").source("Linux tcp_vegas.c"),
    time("base_rtt", "baseRTT", 0.0, 0.0..=10.0)
        .meaning("round trip that an earlier exchange over the idle path has shown; 0: none")
        .source("the poster's script (SIGCOMM 2012) has every pair exchange 10 KB first"),
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset { name: "ns-2", values: &[], source: "ns-2 tcp-vegas.cc, ns-default.tcl: 1, 3, 1" },
    Preset {
        name: "linux",
        values: &[("alpha", 2.0), ("beta", 4.0), ("gamma", 1.0), ("linux", 1.0)],
        source: "Linux tcp_vegas.c: 2, 4, 1",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_delays().least_rtt(LeastRtt::Always);

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "The fine-grained timer that repairs after one duplicate: repair is the transport's.",
    "Linux turns itself off and forgets the base RTT around losses and idle times.",
];

/// Differences from the print.
pub const DEVIATIONS: &[Deviation] = &[deviation(
    "ns-2: the packets sent in a round",
    "those in flight when it ends",
    "the same for a flow that always has data",
)];

/// The least window, in packets.
const FLOOR: f64 = 2.0;

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(Vegas {
        alpha: values.get("alpha"),
        beta: values.get("beta"),
        gamma: values.get("gamma"),
        linux: values.flag("linux"),
        window: Window::initial(path),
        base_rtt: Some(values.time("base_rtt")).filter(|&known| known > Time::ZERO).unwrap_or(Time::MAX),
        rtt_sum: Time::ZERO,
        rtt_min: Time::MAX,
        samples: 0,
        round: Round::default(),
        grows: true,
        extra: 0.0,
    })
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    linux: bool,
    window: Window,
    base_rtt: Time,
    rtt_sum: Time,
    rtt_min: Time,
    samples: u32,
    round: Round,
    /// Whether acknowledgements of this round grow the window.
    grows: bool,
    extra: f64,
}

impl Vegas {
    fn observe(&mut self, ack: &Ack) {
        self.base_rtt = self.base_rtt.min(ack.rtt);
        self.rtt_min = self.rtt_min.min(ack.rtt);
        self.rtt_sum += ack.rtt;
        self.samples += 1;
    }

    fn end_round(&mut self, ack: &Ack) {
        if self.linux && self.samples <= 2 {
            // Too few samples to tell: Linux falls back on Reno for the round.
            self.grows = true;
        } else {
            self.judge(ack);
        }
        self.rtt_sum = Time::ZERO;
        self.rtt_min = Time::MAX;
        self.samples = 0;
    }

    fn judge(&mut self, ack: &Ack) {
        if self.linux {
            let over = self.rtt_min.saturating_sub(self.base_rtt);
            self.extra = self.window.packets * (over / self.base_rtt);
        } else {
            let rtt = self.rtt_sum / u64::from(self.samples);
            let sent = self.window.packets_in(ack.in_flight + ack.acked);
            if sent <= 1.0 {
                self.base_rtt = rtt;
            }
            let share = self.base_rtt / rtt;
            self.extra = (sent * (1.0 - share) + 0.5).floor();
        }
        if self.window.slow_start() { self.end_slow_start() } else { self.steer() }
    }

    fn end_slow_start(&mut self) {
        self.grows = self.linux || !self.grows;
        if self.extra <= self.gamma {
            return;
        }
        let w = self.window.packets;
        if self.linux {
            let target = w * (1.0 - self.extra / (w + self.extra));
            self.window.cut_to(w.min(target + 1.0), FLOOR);
        } else {
            self.window.cut_to(w - w / 8.0, FLOOR);
            self.window.threshold = FLOOR;
        }
        self.grows = false;
    }

    fn steer(&mut self) {
        self.grows = false;
        if self.extra > self.beta {
            self.window.packets = (self.window.packets - 1.0).max(FLOOR);
            if self.linux {
                self.window.threshold = self.window.threshold.min(self.window.packets);
            }
        } else if self.extra < self.alpha {
            self.grows = true;
        }
    }
}

impl Sender for Vegas {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.observe(ack);
        if self.round.ends(now, ack) {
            self.end_round(ack);
        }
        if self.grows {
            self.window.grow(ack);
        }
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit if self.linux => self.window.halve(loss.in_flight),
            LossKind::FastRetransmit => self.window.cut_to(self.window.packets * 0.75, FLOOR),
            LossKind::Timeout => {
                self.window.collapse(loss);
                self.window.packets = FLOOR;
            }
        }
        self.round.restart(now);
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window.bytes())
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        if self.base_rtt < Time::MAX {
            record("base_rtt_us", self.base_rtt.as_micros());
            record("extra_pkt", self.extra);
        }
    }
}
