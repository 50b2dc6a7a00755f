//! BBRv3 by the draft of the IETF: models the path by its bandwidth, its least round trip and what it loses, and sends at a rate and
//! with a window that follow from the model.
//!
//! The steps have the names of the pseudo-code and its order, in a file for each part: [`law`] (state, order), [`bandwidth`],
//! [`aggregation`], [`startup`], [`probe_bw`], [`probe_rtt`], [`loss`], [`ecn`] and `control`. Symbols with a field of the same name are not
//! listed here.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | `BBR.max_bw`, `BBR.cycle_count` | `bandwidth` | largest delivery rate of this cycle of probes and the one before, B/s |
//! | `BBR.bw`, `BBR.bdp` | `bw`, `bdp()` | bandwidth that it uses, and that times the least round trip |
//! | `BBR.min_rtt`, `BBR.probe_rtt_*` | `round_trips` | least round trip of 10 s and of 5 s, and the probe for it |
//! | `BBR.extra_acked*` | `aggregation` | what the path acknowledges at once, B |
//! | `BBR.full_bw*` | `full_pipe` | whether the delivery rate has stopped to grow |
//! | `BBR.bw_probe_*`, `BBR.ack_phase` | `probe` | the cycle of probes for bandwidth |
//! | `BBR.inflight_longterm` | `inflight_longterm` | what may be in flight by the losses of probes, B |
//! | `BBR.bw_shortterm`, `BBR.inflight_shortterm`, `BBR.*_latest` | `signals` | bounds by the losses since the last probe |
//! | `BBR.undo_*`, `BBR.prior_cwnd` | `undo` | the state before a loss recovery |
//! | `RS` | [`law::RateSample`] | what an acknowledgement tells |
//!
//! Source: draft-ietf-ccwg-bbr, ietf-wg-ccwg/draft-ietf-ccwg-bbr 4ce5e87 (August 2026); sections are those of that text. Delivery-rate
//! samples (§4.1) and the detection of losses are the transport's. Times are seconds, volumes bytes and rates bytes per second.

pub mod aggregation;
pub mod bandwidth;
mod control;
pub mod ecn;
pub mod law;
pub mod loss;
pub mod probe_bw;
pub mod probe_rtt;
pub mod startup;

use crate::deviation::{Deviation, deviation};
use crate::event::{Ack, Loss, LossKind, LostPacket};
use crate::parameter::{Parameter, Preset, Values, flag, number, packets, time};
use crate::rng::Rng;
use crate::sender::bbr3::ecn::EcnConstants;
use crate::sender::bbr3::law::{Constants, Law, RateSample};
use crate::sender::{Decision, Path, Sender};
use crate::traits::{LeastRtt, Traits};
use crate::units::{Bytes, Rate, Time};

/// Source of the constants.
const SOURCE: &str = "draft-ietf-ccwg-bbr 4ce5e87";

/// Source of the constants of Linux.
const LINUX: &str = "google/bbr, branch v3, tcp_bbr.c";
/// Why marks are not looked at by default.
const DRAFT_ECN: &str = "draft-ietf-ccwg-bbr 4ce5e87 §3.7 specifies no response";

/// In the order of the draft.
pub const PARAMETERS: &[Parameter] = &[
    number("startup_gain", "StartupPacingGain", 2.77, 1.0..=10.0)
        .meaning("pace in Startup, in bandwidths: doubles the rate each round")
        .source(SOURCE),
    number("drain_gain", "DrainPacingGain", 0.5, 0.01..=1.0).meaning("pace in Drain, in bandwidths").source(SOURCE),
    number("down_gain", "ProbeDownPacingGain", 0.9, 0.01..=1.0)
        .meaning("pace after a probe for bandwidth, in bandwidths")
        .source(SOURCE),
    number("up_gain", "pacing gain of ProbeBW_UP", 1.25, 1.0..=10.0)
        .meaning("pace of a probe for bandwidth, in bandwidths")
        .source(SOURCE),
    number("pacing_margin", "PacingMarginPercent", 0.01, 0.0..=0.5)
        .meaning("share of the bandwidth by which the pace is lower")
        .source(SOURCE),
    number("cwnd_gain", "DefaultCwndGain", 2.0, 1.0..=10.0)
        .meaning("window in bandwidth-delay products")
        .source(SOURCE),
    number("up_cwnd_gain", "cwnd gain of ProbeBW_UP", 2.25, 1.0..=10.0)
        .meaning("the same during a probe for bandwidth")
        .source(SOURCE),
    number("loss_threshold", "LossThresh", 0.02, 0.0..=0.9)
        .meaning("share of lost data in a round trip above which a probe for bandwidth was too high")
        .source(SOURCE),
    number("beta", "Beta", 0.7, 0.0..=1.0)
        .meaning("least factor by which a round trip with losses lowers a bound")
        .source(SOURCE),
    number("headroom", "Headroom", 0.15, 0.0..=0.9)
        .meaning("share of the long-term bound that it leaves to others between probes")
        .source(SOURCE),
    packets("min_window", "MinPipeCwnd", 4.0, 1.0..=1e6).meaning("least window").source(SOURCE),
    number("extra_acked_rounds", "ExtraAckedFilterLen", 10.0, 1.0..=1e6)
        .meaning("round trips for which it remembers what the path acknowledged at once")
        .source(SOURCE),
    number("startup_losses", "BBRStartupFullLossCnt", 6.0, 1.0..=1e6)
        .meaning("ranges lost in a round trip, with more than `loss_threshold`, that end Startup")
        .source(SOURCE),
    time("min_rtt_window", "MinRTTFilterLen", 10.0, 1e-3..=1e5)
        .meaning("time for which it remembers the least round trip")
        .source(SOURCE),
    time("probe_rtt_interval", "ProbeRTTInterval", 5.0, 1e-3..=1e5)
        .meaning("time without a lower round trip after which it probes for one")
        .source(SOURCE),
    time("probe_rtt_time", "ProbeRTTDuration", 0.2, 0.0..=1e3)
        .meaning("least duration of a probe for the least round trip, and at least a round trip")
        .source(SOURCE),
    number("probe_rtt_gain", "ProbeRTTCwndGain", 0.5, 0.0..=1.0)
        .meaning("window of that probe in bandwidth-delay products")
        .source(SOURCE),
    time("probe_wait", "bw_probe_wait", 2.0, 1e-3..=1e5)
        .meaning("least time between probes for bandwidth, unless rounds end it")
        .source(SOURCE),
    time("probe_wait_random", "random_float_between(0.0, 1.0)", 1.0, 0.0..=1e5)
        .meaning("most time that chance adds to that")
        .source(SOURCE),
    number("probe_rounds", "63", 63.0, 1.0..=1e6)
        .meaning(
            "most round trips between probes for bandwidth; fewer if the bandwidth-delay product has fewer packets",
        )
        .source(SOURCE),
    number("offload_quanta", "offload_budget", 1.0, 0.0..=100.0)
        .meaning("quanta, each 1 ms at the pace, for which the window has space at least")
        .source("draft-ietf-ccwg-bbr 4ce5e87 §5.5.8, as for QUIC"),
    flag("ecn", "ecn_enable", false).meaning("respond to marks as Linux does").source(DRAFT_ECN),
    number("ecn_gain", "bbr_ecn_alpha_gain", 1.0 / 16.0, 0.0..=1.0)
        .meaning("weight of the newest round in the average share of marks")
        .source(LINUX),
    number("ecn_factor", "bbr_ecn_factor", 1.0 / 3.0, 0.0..=1.0)
        .meaning("part of that average by which a round with marks lowers the window")
        .source(LINUX),
    number("ecn_threshold", "bbr_ecn_thresh", 0.5, 0.0..=1.0)
        .meaning("share of marks in a round above which a probe was too high")
        .source(LINUX),
    number("ecn_rounds", "bbr_full_ecn_cnt", 2.0, 1.0..=1e6)
        .meaning("rounds in succession with that share that end Startup")
        .source(LINUX),
    time("ecn_max_rtt", "bbr_ecn_max_rtt_us", 5e-3, 0.0..=1e3)
        .meaning("longest least round trip of a flow that looks at marks")
        .source(LINUX),
];

/// What it is of.
pub const PRESETS: &[Preset] = &[
    Preset { name: "draft", values: &[], source: "draft-ietf-ccwg-bbr 4ce5e87: the defaults" },
    Preset {
        name: "linux",
        values: &[("drain_gain", 0.347), ("down_gain", 0.91), ("extra_acked_rounds", 5.0), ("offload_quanta", 3.0)],
        source: "google/bbr, branch v3, tcp_bbr.c: its constants; `ecn = true` adds its response to marks",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_delays().least_rtt(LeastRtt::Always);

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "Quanta of several packets: each packet leaves at its own time. The key `segment` of [hosts] lets several leave together.",
    "Connections without selective acknowledgements (`C.has_selective_acks`): all have them.",
];

/// Lines of the source that it reads in its own way: what the text leaves open, and what it does so that the draft's test cases hold.
pub const DEVIATIONS: &[Deviation] = &[
    deviation(
        "§5.6.1: the gains of the states of ProbeBW are in the table, and the pseudo-code sets none",
        "a state sets its gains when it is entered",
        "nothing else sets them",
    ),
    deviation(
        "§5.5.10.2, HandleLostPacket: writes RS.tx_in_flight, RS.lost and RS.is_app_limited",
        "a lost packet has a sample of its own",
        "otherwise the sample of the acknowledgement that shows the loss would be overwritten",
    ),
    deviation(
        "§5.5.10.2, NoteLoss: saves the undo state at the first loss of each round",
        "it is saved once a recovery",
        "a second round with losses would save what the first has changed: case 18 does not return to ProbeBW_UP",
    ),
    deviation(
        "§5.3.1.3: in fast recovery for at least a full round trip",
        "the recovery before the acknowledgement counts",
        "the acknowledgement that ends the round also ends the recovery, so that Startup would never end by losses",
    ),
    deviation(
        "§5.6.4.4: when a loss recovery ends is the transport's",
        "with the first acknowledgement of a packet that left after its begin (RFC 9002)",
        "the transport here repairs with sequence numbers, as TCP, or answers each packet",
    ),
    deviation(
        "§5.3.1.3: six discontiguous ranges lost in the round",
        "acknowledgements that show losses, once each",
        "a range is found by one acknowledgement; Linux counts so too",
    ),
    deviation(
        "§5.3.1.3: losses that end Startup set BBR.full_bw_reached",
        "BBR.full_bw_now too",
        "test case 2 of the draft wants both",
    ),
    deviation(
        "§5.3.3.9, IsRenoCoexistenceProbeTime: min(TargetInflight(), 63), where the text has 62 to 63",
        "packets of C.SMSS, and a first round of 0 or 1",
        "rounds are compared with packets",
    ),
    deviation(
        "§5.3.2 and §5.3.3.9: Inflight(1.0) and Inflight(BBR.max_bw, 1.0)",
        "BBR.bw in Drain, BBR.max_bw in ProbeBW_DOWN",
        "§5.6.4.2 defines Inflight(gain) only",
    ),
    deviation(
        "§5.5.8: an offload budget of three quanta for TCP, one for QUIC",
        "`offload_quanta`, 1",
        "three are six packets at low rates, more than the floor of four",
    ),
    deviation(
        "§5.3.3.9, case 6: losses update BBR.inflight_longterm whether the application limits the flow or not",
        "not if it does",
        "HandleInflightTooHigh of the pseudo-code",
    ),
    deviation(
        "case 18: returns to ProbeBW_UP",
        "by a round of ProbeBW_REFILL",
        "HandleSpuriousLossDetection of the pseudo-code",
    ),
    deviation(
        "§5.5.3: a filter over two cycles, for instance by Nichols' algorithm",
        "two slots: this cycle and the one before",
        "that algorithm keeps a sample of a third cycle",
    ),
    deviation(
        "§5.5.9: a filter over rounds, likewise",
        "the exact maximum of the last rounds, this one included",
        "that algorithm keeps three samples and may forget the largest",
    ),
    deviation(
        "§5.6.2, SetPacingRate: C.pacing_gain; §5.6.4.5: a window of BBR.MinPipeCwnd in ProbeRTT",
        "BBR.pacing_gain; half of the bandwidth-delay product",
        "slips of the text",
    ),
    deviation(
        "§5.3.4.3, UpdateMinRTT: RS.rtt < BBR.probe_rtt_min_delay",
        "lower by more than a nanosecond",
        "equal round trips, which must not refresh it, differ by rounding",
    ),
    deviation(
        "§5.3.4.3, CheckProbeRTT: EnterProbeRTT(), then SaveCwnd()",
        "the window is saved before",
        "afterwards SaveCwnd would keep an older, larger one, which §5.6.4.4 does not mean",
    ),
    deviation(
        "§5.6.2, InitPacingRate: C.srtt at the first round trip",
        "the time from the departure of the first packet to its acknowledgement",
        "the smoothed round trip of the transport is that of the packet that left first",
    ),
    deviation(
        "§5.6.4.4, OnEnterRTO: saves the state; C.cwnd = C.inflight + 1",
        "after the losses of the packets in flight; one packet",
        "they count as lost before, so that nothing is in flight",
    ),
    deviation(
        "§5.3.4.3, MarkConnectionAppLimited in ProbeRTT",
        "the algorithm notes which packets left then, and takes their samples as limited",
        "samples are the transport's",
    ),
    deviation(
        "Linux, tcp_bbr.c: RS.delivered_ce, the marks since the packet of the sample left",
        "the marks of a round, at its end",
        "the transport does not count marks for each packet in flight",
    ),
];

/// Reads the constants of a flow.
#[must_use]
pub fn constants(values: &Values, path: &Path) -> Constants {
    let smss = path.mss.0.max(1) as f64;
    Constants {
        smss,
        initial_cwnd: path.initial_window.max(path.mss).0 as f64,
        startup_gain: values.get("startup_gain"),
        drain_gain: values.get("drain_gain"),
        down_gain: values.get("down_gain"),
        up_gain: values.get("up_gain"),
        cwnd_gain: values.get("cwnd_gain"),
        up_cwnd_gain: values.get("up_cwnd_gain"),
        pacing_margin: values.get("pacing_margin"),
        loss_threshold: values.get("loss_threshold"),
        beta: values.get("beta"),
        headroom: values.get("headroom"),
        least_cwnd: values.get("min_window") * smss,
        plateau_growth: 1.25,
        plateau_rounds: 3,
        startup_losses: values.get("startup_losses") as u32,
        extra_acked_rounds: values.get("extra_acked_rounds") as u64,
        min_rtt_window: values.get("min_rtt_window"),
        probe_rtt_interval: values.get("probe_rtt_interval"),
        probe_rtt_duration: values.get("probe_rtt_time"),
        probe_rtt_gain: values.get("probe_rtt_gain"),
        probe_wait: values.get("probe_wait"),
        probe_wait_random: values.get("probe_wait_random"),
        probe_rounds: values.get("probe_rounds"),
        offload_quanta: values.get("offload_quanta"),
        ecn: values.flag("ecn").then(|| EcnConstants {
            gain: values.get("ecn_gain"),
            factor: values.get("ecn_factor"),
            threshold: values.get("ecn_threshold"),
            rounds: values.get("ecn_rounds") as u32,
            max_rtt: values.get("ecn_max_rtt"),
        }),
    }
}

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(Bbr3::new(values, path))
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    /// Its law.
    pub law: Law,
    /// Length of a full frame in payloads.
    on_wire: f64,
}

impl Bbr3 {
    /// Creates the sender of a flow.
    #[must_use]
    pub fn new(values: &Values, path: &Path) -> Self {
        let law = Law::new(constants(values, path), path.now.as_secs(), Rng::new(path.seed, 0));
        let on_wire = path.frame.0.max(path.mss.0) as f64 / law.constants.smss;
        Self { law, on_wire }
    }
}

impl Sender for Bbr3 {
    fn samples_delivery(&self) -> bool {
        true
    }

    fn on_packet_lost(&mut self, now: Time, lost: &LostPacket) {
        self.law.on_packet_lost(now.as_secs(), lost);
    }

    fn on_spurious_loss(&mut self, _now: Time) {
        self.law.on_spurious_loss();
    }

    fn on_restart(&mut self, now: Time) {
        self.law.on_restart(now.as_secs());
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if let Some(rs) = RateSample::of(now, ack) {
            self.law.on_ack(&rs);
        }
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        if loss.kind == LossKind::Timeout {
            self.law.on_timeout(now.as_secs());
        }
    }

    fn decision(&self) -> Decision {
        let bits = self.law.pacing_rate * 8.0 * self.on_wire;
        Decision {
            window: Bytes((self.law.cwnd as u64).max(1)),
            pace: Some(Rate((bits.min(MOST_BITS) as u64).max(1))),
            wake: None,
        }
    }

    fn has_drawn(&self) -> bool {
        self.law.has_drawn()
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let law = &self.law;
        record("state", f64::from(law.state as u8));
        record("max_bw_gbps", law.bandwidth.max_bw * 8e-9);
        if law.round_trips.min_rtt < f64::INFINITY {
            record("min_rtt_us", law.round_trips.min_rtt * 1e6);
        }
        if law.constants.ecn.is_some() {
            record("ecn_alpha", law.marks.alpha);
        }
        for (name, bytes) in [
            ("inflight_longterm_pkt", law.inflight_longterm),
            ("inflight_shortterm_pkt", law.signals.inflight_shortterm),
            ("extra_acked_pkt", law.aggregation.extra_acked),
        ] {
            if bytes < f64::INFINITY {
                record(name, bytes / law.constants.smss);
            }
        }
    }
}

/// Largest pace, bit/s.
const MOST_BITS: f64 = 1e15;
