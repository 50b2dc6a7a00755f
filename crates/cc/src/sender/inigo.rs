//! TCP Inigo at the sender: takes the share of late round trips for DCTCP's share of marks, and answers it several times
//! a window.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | `RTT_min` | `base_rtt` | smallest RTT, raised while dilated |
//! | `d_thresh` | `threshold` * `base_rtt` | an RTT that exceeds the smallest by this is late |
//! | `RTT_late`, `RTT_observed` | `late`, `observed` | round trips of this window |
//! | `alpha_RTT` | `alpha` | moving average of the late share |
//! | `alpha_DCTCP` | `marked_alpha` | moving average of the marked share |
//! | g | `g` | weight of the newest window |
//! | `W_sub` | `sub_window` | packets between two answers; 0: one a window, 1: every packet |
//! | `alpha_min` | `least_alpha` | eq. 5: below it an answer would be less than a packet |
//! | dilate | `dilation` | windows of heavy congestion counted (Algorithm 3) |
//! | `pkts_acked` | `packets` | packets behind one RTT (Algorithm 10) |
//!
//! Source: Shewmaker et al., TCP Inigo, §2, Algorithms 1 to 7 and 10; the module of github.com/systemslab/tcp_inigo for what
//! they leave open.
//!
//! Algorithms 1, 2, 5, 6 (`sub_window` = 1), 7, 10 (`by_packets`) and eq. 1 to 3 and 5 are as printed but for `DEVIATIONS`.
//!
//! `published` brings the faults of Algorithms 3 and 4 back, and forgets the observed round trips at every answer as the
//! module does. The algorithm leaves 6 to 14 % of the link unused with one to five flows; an independent simulation
//! (tests/independent/inigo.py) gives the same (docs/windows.md).

use crate::deviation::{Deviation, deviation};
use crate::event::{Ack, Loss, LossKind};
use crate::parameter::{Parameter, Preset, Values, flag, number, packets};
use crate::round::Round;
use crate::sender::{Decision, Path, Sender};
use crate::traits::{LeastRtt, Traits};
use crate::units::{Bytes, Time};
use crate::window::Window;

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    number("threshold", "d_thresh", 0.17, 0.0..=100.0)
        .meaning("an RTT is late that exceeds the smallest by this share of it")
        .source("eq. 3: 0.17 RTT_min (the module: 174/1024)"),
    number("g", "g", 0.0625, 1e-6..=1.0).meaning("weight of the newest window in alpha").source("the module: 1/16"),
    number("alpha", "alpha(0)", 0.0, 0.0..=1.0).meaning("alpha of a new flow").source("the module: 0"),
    packets("sub_window", "W_sub", 10.0, 0.0..=512.0)
        .meaning("packets between two answers; 0: one a window (Alg. 5), 1: fractions at every packet (Alg. 6)")
        .source("the module, rtt_fairness: 10"),
    packets("increase", "-", 2.0, 0.0..=1e3).meaning("growth a window").source("Alg. 7: 2 (Alg. 5: 1)"),
    number("samples", "-", 10.0, 1.0..=1e6)
        .meaning("round trips observed before slow start may end")
        .source("Alg. 4: 10"),
    flag("dilation", "-", true)
        .meaning("raise RTT_min for three windows where congestion does not end")
        .source("Alg. 3"),
    flag("ecn", "-", false).meaning("take the larger of the late and the marked share").source("Alg. 5"),
    flag("by_packets", "-", false)
        .meaning("an acknowledgement of several packets counts as so many RTTs, late as far as its delay reaches")
        .source("Alg. 10; off: §2.2 says that it did worse"),
    flag("published", "-", false)
        .meaning("with the faults of the print and of the module")
        .source("see the file's header"),
    flag("as_printed", "-", false)
        .meaning("windows grow by whole packets at their end, after congestion (Alg. 5) or always (Alg. 7), which answers none of W_sub or less")
        .source("Alg. 5 and 7; off: the paper's figures come from the module (published)"),
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "published",
        values: &[("threshold", 174.0 / 1024.0), ("samples", 8.0), ("dilation", 0.0), ("published", 1.0)],
        source: "github.com/systemslab/tcp_inigo, whose commits have no dilation",
    },
    Preset {
        name: "algorithm-5",
        values: &[("sub_window", 0.0), ("increase", 1.0), ("as_printed", 1.0)],
        source: "Algorithm 5 to the letter: one answer a window, and one packet more if alpha > 0",
    },
    Preset {
        name: "algorithm-7",
        values: &[("as_printed", 1.0)],
        source: "Algorithm 7 to the letter: two packets more a window, and no answer in a window of W_sub packets or less",
    },
    Preset {
        name: "window",
        values: &[("sub_window", 0.0), ("increase", 1.0)],
        source: "Algorithm 5: one answer a window, one packet more a window",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_delays().least_rtt(LeastRtt::Unless("dilation"));

/// Known differences.
pub const NOT_MODELLED: &[&str] = &["The cut is made at once, not packet by packet (Linux's CWR state)."];

/// Differences from the print.
pub const DEVIATIONS: &[Deviation] = &[
    deviation(
        "Algorithm 1: a round trip of RTT_min + d_thresh or more is late",
        "and only above RTT_min",
        "with d_thresh = 0 all would be late",
    ),
    deviation("Algorithm 2: g", "1/16", "the paper prints no value; the module's"),
    deviation(
        "Algorithm 3: RTT_predilate <- RTT_min in each dilated window",
        "only in the first of them; published as printed",
        "the print overwrites it in the second window with a dilated value",
    ),
    deviation(
        "Algorithm 4: ssthresh <- cwnd - cwnd_cnt alpha/2",
        "W (1 - alpha/2); published as printed",
        "cwnd_cnt counts the fractions of a packet; the text says that cwnd falls by the congestion ratio",
    ),
    deviation(
        "Algorithm 5: one packet more if alpha > 0",
        "growth for each acknowledgement, whatever alpha is, if the window limited the flow; as_printed as printed",
        "a flow that a loss has taken out of slow start, and that sees no late round trip, would never grow. The paper's figures come from the module, the preset published",
    ),
    deviation(
        "Algorithm 7: every W_sub ACKs, where 1 < W_sub < W",
        "every min(W_sub, W) packets; as_printed leaves windows of W_sub packets or less without an answer",
        "flows with fewer than ten packets would never fall, and would fill the queue until packets are lost",
    ),
    deviation(
        "Algorithm 7: cwnd + 2 for every window",
        "two packets in parts, with each acknowledgement, if the window limited the flow; as_printed at the end of a window",
        "as Linux's counter of fractions (§2.5)",
    ),
    deviation(
        "Algorithm 10: pacing",
        "not asked",
        "where delay/pkts_acked > d_thresh both branches of the print give pkts_acked",
    ),
    deviation(
        "-",
        "a loss is answered as in Reno, and no cut goes below two packets",
        "the paper does not say; the module is a Linux TCP",
    ),
];

/// The least window, in packets.
const FLOOR: f64 = 2.0;
/// Resolution of alpha in the module.
const ALPHA_MAX: f64 = 1024.0;
/// Algorithm 3: alpha above `MAJOR` for `DILATE_AFTER` windows starts the dilation; it ends after window `DILATE_UNTIL`.
const MAJOR: f64 = 0.9;
const DILATE_AFTER: u32 = 3;
const DILATE_UNTIL: u32 = 7;

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let sub_window = values.get("sub_window");
    let parameters = Parameters {
        threshold: values.get("threshold"),
        g: values.get("g"),
        sub_window,
        least_alpha: least_alpha(sub_window) / ALPHA_MAX,
        increase: values.get("increase"),
        samples: values.get("samples"),
        may_dilate: values.flag("dilation"),
        by_packets: values.flag("by_packets"),
        published: values.flag("published"),
        as_printed: values.flag("as_printed"),
    };
    Box::new(Inigo {
        parameters,
        window: Window::initial(path),
        base_rtt: Time::MAX,
        smoothed_rtt: None,
        observed: 0.0,
        late: 0.0,
        alpha: values.get("alpha"),
        acked: Bytes::ZERO,
        marked: Bytes::ZERO,
        marked_alpha: 0.0,
        since_answer: 0.0,
        dilation: 0,
        undilated: Time::ZERO,
        round: Round::default(),
    })
}

/// Returns the least alpha, in 1024ths, that takes a whole packet out of a sub-window (eq. 5); it is even. Zero if answers
/// are not in whole packets.
fn least_alpha(sub_window: f64) -> f64 {
    if sub_window <= 1.0 {
        return 0.0;
    }
    let least = (2.0 * ALPHA_MAX / sub_window).ceil();
    least + least % 2.0
}

/// Constants of a flow.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    threshold: f64,
    g: f64,
    sub_window: f64,
    least_alpha: f64,
    increase: f64,
    samples: f64,
    may_dilate: bool,
    by_packets: bool,
    published: bool,
    as_printed: bool,
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
struct Inigo {
    parameters: Parameters,
    window: Window,
    base_rtt: Time,
    smoothed_rtt: Option<Time>,
    observed: f64,
    late: f64,
    alpha: f64,
    acked: Bytes,
    marked: Bytes,
    marked_alpha: f64,
    /// Packets acknowledged since the last answer.
    since_answer: f64,
    dilation: u32,
    /// `RTT_min` from before the dilation.
    undilated: Time,
    round: Round,
}

impl Inigo {
    /// Algorithm 1.
    fn observe(&mut self, ack: &Ack) {
        self.base_rtt = self.base_rtt.min(ack.rtt);
        self.smoothed_rtt = Some(self.smoothed_rtt.map_or(ack.rtt, |srtt| Time((srtt.0 * 7 + ack.rtt.0) / 8)));
        let threshold = self.base_rtt.scale(self.parameters.threshold);
        let packets = if self.parameters.by_packets { self.window.packets_in(ack.acked) } else { 1.0 };
        self.observed += packets;
        if ack.rtt >= self.base_rtt + threshold && ack.rtt > self.base_rtt {
            // Algorithm 10; a single packet is late as a whole, which is Algorithm 1.
            self.late += packets.min(((ack.rtt - self.base_rtt) / threshold.max(Time(1))).floor());
        }
        self.acked += ack.acked;
        self.marked += ack.marked;
    }

    fn average(&self, alpha: f64, share: f64) -> f64 {
        let g = self.parameters.g;
        (1.0 - g) * alpha + g * share
    }

    fn congestion(&self) -> f64 {
        self.alpha.max(self.marked_alpha)
    }

    /// Algorithm 4.
    fn look_for_the_end_of_slow_start(&mut self) {
        if self.observed < self.parameters.samples {
            return;
        }
        self.alpha = self.average(self.alpha, self.late / self.observed);
        if self.congestion() > 0.0 {
            let share = if self.parameters.published { 0.0 } else { self.congestion() / 2.0 };
            self.window.cut_to(self.window.packets * (1.0 - share), FLOOR);
        }
    }

    /// Algorithm 2, and DCTCP's share of marks beside it.
    fn end_window(&mut self) {
        if self.observed > 0.0 {
            self.alpha = self.average(self.alpha, self.late / self.observed);
        }
        if self.acked.0 > 0 {
            self.marked_alpha = self.average(self.marked_alpha, self.marked / self.acked);
        }
        self.forget_observations();
        if self.parameters.may_dilate {
            self.dilate();
        }
        if self.parameters.sub_window == 0.0 && !self.window.slow_start() {
            self.answer(self.window.packets);
        }
        if self.parameters.as_printed && !self.window.slow_start() {
            self.grow_at_end();
        }
    }

    /// The last lines of Algorithms 5 and 7 as printed.
    fn grow_at_end(&mut self) {
        if self.parameters.sub_window > 0.0 || self.congestion() > 0.0 {
            self.window.packets += self.parameters.increase;
            self.window.threshold = self.window.packets;
        }
    }

    fn forget_observations(&mut self) {
        self.observed = 0.0;
        self.late = 0.0;
        self.acked = Bytes::ZERO;
        self.marked = Bytes::ZERO;
    }

    /// Algorithm 3.
    fn dilate(&mut self) {
        if self.alpha > MAJOR || self.dilation > DILATE_AFTER {
            self.dilation += 1;
        }
        if self.dilation > DILATE_AFTER && self.dilation < DILATE_UNTIL {
            if self.dilation == DILATE_AFTER + 1 || self.parameters.published {
                self.undilated = self.base_rtt;
            }
            let srtt = self.smoothed_rtt.unwrap_or(self.base_rtt);
            self.base_rtt = srtt + self.base_rtt.scale(self.parameters.threshold);
            self.alpha = 0.0;
            self.window.threshold = f64::INFINITY;
        }
        if self.dilation > DILATE_UNTIL {
            self.base_rtt = self.undilated + self.undilated.scale(self.parameters.threshold);
            self.dilation = 0;
        }
    }

    /// Algorithms 5 to 7: takes alpha/2 of `packets` out of the window, whole packets for sub-windows of more than one.
    fn answer(&mut self, packets: f64) {
        let alpha = self.congestion();
        if alpha <= 0.0 || alpha < self.parameters.least_alpha {
            return;
        }
        let less = packets * alpha / 2.0;
        let less = if self.parameters.sub_window > 1.0 { less.floor() } else { less };
        self.window.cut_to(self.window.packets - less, FLOOR);
        if self.parameters.published {
            self.forget_observations();
        }
    }

    fn avoid_congestion(&mut self, ack: &Ack) {
        let acked = self.window.packets_in(ack.acked);
        if self.parameters.sub_window > 0.0 {
            self.since_answer += acked;
            let Parameters { sub_window, as_printed, .. } = self.parameters;
            if self.since_answer >= sub_window.min(self.window.packets) {
                if !as_printed || sub_window < self.window.packets {
                    self.answer(self.since_answer.min(sub_window));
                }
                self.since_answer = 0.0;
            }
        }
        if ack.window_limited && !ack.recovering && !self.parameters.as_printed {
            self.window.packets += self.parameters.increase * acked / self.window.packets;
            self.window.threshold = self.window.packets;
        }
    }
}

impl Sender for Inigo {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.observe(ack);
        if self.round.ends(now, ack) {
            self.end_window();
        }
        if self.window.slow_start() {
            self.window.grow(ack);
            self.look_for_the_end_of_slow_start();
        } else {
            self.avoid_congestion(ack);
        }
    }

    fn on_loss(&mut self, _now: Time, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit => self.window.halve(loss.in_flight),
            LossKind::Timeout => self.window.collapse(loss),
        }
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window.bytes())
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha", self.congestion());
        record("dilation", f64::from(self.dilation));
        if self.base_rtt < Time::MAX {
            record("base_rtt_us", self.base_rtt.as_micros());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table that follows from eq. 5; 3 and 20 are the paper's own.
    #[test]
    fn an_answer_takes_a_packet_or_none() {
        let least: Vec<_> = [3.0, 5.0, 10.0, 20.0, 64.0].iter().map(|&w| least_alpha(w)).collect();
        assert_eq!(least, [684.0, 410.0, 206.0, 104.0, 32.0]);
    }

    /// 0.17 * 4 ms at 500 Mbps are 28 packets of 1500 B.
    #[test]
    fn the_threshold_at_500_mbps_and_4_ms_is_28_packets() {
        let late = Time::from_millis(4).scale(PARAMETERS[0].default);
        let queue = crate::units::Rate(500_000_000).sent_in(late);
        assert_eq!((queue.0 as f64 / 1500.0).round(), 28.0);
    }
}
