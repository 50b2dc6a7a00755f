//! DCQCN at the sender: cuts its rate on a congestion notification and returns by timer and byte counter.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | `R_C`, `R_T` | `current`, `target` | sending rate, and the rate to which recovery leads |
//! | alpha, g | `alpha`, `g` | how far a notification cuts, and the gain of alpha |
//! | tau' | `tau_prime` | alpha decays each time this passes without a notification |
//! | T, B | `t`, `b` | time, and bytes, between two increases |
//! | F | `f` | increases of fast recovery |
//! | `R_AI`, `R_HAI` | `r_ai`, `r_hai` | steps of the target in additive and in hyper increase |
//! | `m_win`, w | `win`, `window` | bytes in flight that the HPCC simulator allows, and allows at the present rate |
//!
//! Source: Zhu et al., "ECN or Delay", `CoNEXT` 2016, §3, eq. 1 to 3 and the events behind eq. 5 to 19; Zhu et al., SIGCOMM
//! 2015, §3.1 and Fig. 7. The receiver's part is [`crate::receiver::cnp`], the port's [`crate::port::red`].
//!
//! Eq. 1 and 2, the resets by a notification and the stages are as printed; a cut uses the old alpha. `DEVIATIONS` has the rest. The
//! fluid model (eq. 4 to 12, 32 to 34) is python/shallows/fluid/dcqcn.py, the discrete model (eq. 13 to 19, 39 to 46) dcqcn_cycles.py
//! beside it.
//!
//! The papers have no window. That of the HPCC simulator (rdma-queue-pair.cc, `GetWin` and `IsWinBound`; third.cc for its size;
//! rdma-hw.cc, `ReceiverCheckSeq`, for acknowledgements) is off by default. A packet may leave while less than w is in flight.

use crate::deviation::{Deviation, deviation};
use crate::event::{Ack, Loss};
use crate::parameter::{Parameter, Preset, Values, bytes, flag, number, rate, time};
use crate::sender::{Decision, Path, Segments, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Rate, Time};

/// In the order of the papers.
pub const PARAMETERS: &[Parameter] = &[
    number("g", "g", 1.0 / 256.0, 1e-6..=1.0).meaning("gain of alpha").source("SIGCOMM 2015 §5: 1/256"),
    number("alpha", "alpha(0)", 1.0, 0.0..=1.0).meaning("alpha of a new flow").source("CoNEXT 2016, Appendix B: 1"),
    time("tau", "tau", 50e-6, 1e-6..=1.0).follows("slow_host_time")
        .meaning("least time between two notifications of a flow, at its receiver")
        .source("SIGCOMM 2015 §5: 50 us"),
    flag("sampled", "-", false)
        .meaning("the receiver looks every tau whether there was a mark, instead of answering one at once")
        .source("off, as SIGCOMM 2015 §3.1 says; the fluid model and ns3-rdma have it on"),
    time("tau_prime", "tau'", 55e-6, 1e-6..=1.0).follows("slow_host_time")
        .meaning("alpha decays each time this passes without a notification")
        .source("SIGCOMM 2015 §5: 55 us"),
    time("t", "T", 55e-6, 1e-6..=1.0).follows("slow_host_time").meaning("timer of rate increases").source("SIGCOMM 2015 §5: 55 us"),
    bytes("b", "B", 10e6, 1e3..=1e15).follows("fast_host").meaning("byte counter of rate increases").source("SIGCOMM 2015 §5: 10 MB"),
    number("f", "F", 5.0, 0.0..=1e6)
        .meaning("increases, of the timer or of the byte counter, that end fast recovery")
        .source("SIGCOMM 2015 §3.1: 5"),
    rate("r_ai", "R_AI", 40e6, 1.0..=1e12).follows("host_rate").meaning("additive step of the target").source("SIGCOMM 2015 §5: 40 Mbps"),
    rate("r_hai", "R_HAI", 200e6, 1.0..=1e12).follows("host_rate")
        .meaning("step of the target in hyper increase, for each stage beyond F")
        .source("github.com/bobzhuyb/ns3-rdma: 200 Mbps"),
    flag("clamp", "-", true)
        .meaning("every notification moves the target, instead of the first after an increase alone")
        .source("on, as SIGCOMM 2015 Fig. 7; NICs (clamp_tgt_rate) and the HPCC simulator have it off"),
    rate("min_rate", "R_min", 10e6, 1e3..=1e12).follows("host_rate")
        .meaning("least rate")
        .source("a choice: the papers say nothing, ns3-rdma takes 100 Mbps"),
    flag("has_win", "HAS_WIN", false)
        .meaning("a window of the line rate times the base round trip limits what is in flight")
        .source("off, as in the papers; the HPCC simulator's dcqcn_vwin has it on"),
    flag("var_win", "VAR_WIN", false).needs("has_win")
        .meaning("with has_win: the window follows the rate, as its share of the line rate")
        .source("off, as in the papers; the HPCC simulator's dcqcn_vwin has it on"),
    time("base_rtt", "GLOBAL_T", 0.0, 0.0..=10.0).needs("has_win")
        .meaning("with has_win: base round trip; 0: that of the flow's own path")
        .source("the flow's own; the HPCC simulator with GLOBAL_T takes the longest of the network"),
    bytes("ack_interval", "L2_ACK_INTERVAL", 16e3, 0.0..=1e9)
        .meaning("payload that an acknowledgement covers, in whole packets; the last packet of a flow is always acknowledged")
        .source("a choice, as for other rates over RoCE; the HPCC simulator has 1 (every packet)"),
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset { name: "sigcomm15", values: &[], source: "Zhu et al., SIGCOMM 2015 §5" },
    Preset {
        name: "ecn-or-delay",
        values: &[("r_hai", 40e6), ("sampled", 1.0)],
        source: "CoNEXT 2016 §3, its fluid model and simulator: notifications sampled; no hyper increase, so its step \
                 is the additive one",
    },
    Preset {
        name: "ns3-rdma",
        values: &[("b", 300e6), ("t", 60e-6), ("min_rate", 100e6), ("sampled", 1.0)],
        source: "github.com/bobzhuyb/ns3-rdma, the configuration it ships",
    },
    Preset {
        name: "hpcc-vwin",
        values: &[
            ("tau", 4e-6),
            ("tau_prime", 1e-6),
            ("t", 300e-6),
            ("b", 1e15),
            ("f", 1.0),
            ("r_ai", 20e6),
            ("r_hai", 200e6),
            ("clamp", 0.0),
            ("min_rate", 1e9),
            ("has_win", 1.0),
            ("var_win", 1.0),
            ("ack_interval", 1.0),
        ],
        source: "github.com/alibaba-edu/High-Precision-Congestion-Control, run.py --cc dcqcn_vwin for NICs of 100 Gbps: DCQCN+win \
                 of Li et al., SIGCOMM 2019 §5.1; it has no byte counter",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_queues().returns_by_timer().step("r_ai", "SIGCOMM 2015").reference_gbps(40);

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "Losses: it has no reaction to them, since it is made for networks without; the transport repairs them.",
    "Flows of one queue pair sharing a rate: each flow has its own.",
];

/// Differences from the print.
pub const DEVIATIONS: &[Deviation] = &[
    deviation("eq. 3, marking: the third line", "q > K_max", "the print repeats the condition of the second line"),
    deviation(
        "§3.1, footnote 3: no hyper increase",
        "the stages beyond F times R_HAI; the preset ecn-or-delay takes R_AI",
        "Fig. 7 of SIGCOMM 2015; the figures of CoNEXT 2016 have the preset's step",
    ),
    deviation(
        "eq. 5 to 7: notifications at the rate of a sampler",
        "one at once, at most one in tau; sampled as in the equations",
        "SIGCOMM 2015 §3.1; the figures of CoNEXT 2016 come from ns3-rdma, which samples",
    ),
    deviation(
        "SIGCOMM 2015 §5: values for 40 Gbps",
        "R_AI and R_HAI follow the link above 40 Gbps; the preset sigcomm15 has the printed values",
        "a step of 40 Mbps recovers too slowly on faster links",
    ),
    deviation(
        "-",
        "B counts frames with headers, and no rate is below min_rate",
        "the papers do not say; ns3-rdma has a least rate too",
    ),
    deviation(
        "HPCC simulator, L2_ACK_INTERVAL: any number of bytes",
        "whole packets, and with has_win no window is below them",
        "a smaller window would end before the packet that is acknowledged, and the flow would wait forever",
    ),
];

/// Builds the sender, at line rate.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let line_rate = path.line_rate.0 as f64;
    let base_rtt = if values.get("base_rtt") > 0.0 { values.get("base_rtt") } else { path.base_rtt.as_secs() };
    let parameters = Parameters {
        g: values.get("g"),
        tau_prime: values.time("tau_prime"),
        t: values.time("t"),
        b: values.bytes("b"),
        f: values.get("f") as u32,
        r_ai: values.get("r_ai"),
        r_hai: values.get("r_hai"),
        clamp: values.flag("clamp"),
        min_rate: values.get("min_rate"),
        line_rate,
        win: values.flag("has_win").then_some(line_rate / 8.0 * base_rtt),
        var_win: values.flag("var_win"),
        mss: path.mss,
        ack_interval: Bytes(values.bytes("ack_interval").0.next_multiple_of(path.mss.0.max(1))),
    };
    Box::new(Dcqcn {
        alpha: values.get("alpha"),
        current: parameters.line_rate,
        target: parameters.line_rate,
        decay_at: parameters.tau_prime,
        increase_at: parameters.t,
        sent: Bytes::ZERO,
        timer_stage: 0,
        byte_stage: 0,
        begun: false,
        parameters,
    })
}

/// Rates in bits per second, the window in bytes.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    g: f64,
    tau_prime: Time,
    t: Time,
    b: Bytes,
    f: u32,
    r_ai: f64,
    r_hai: f64,
    clamp: bool,
    min_rate: f64,
    line_rate: f64,
    win: Option<f64>,
    var_win: bool,
    mss: Bytes,
    ack_interval: Bytes,
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
struct Dcqcn {
    parameters: Parameters,
    alpha: f64,
    current: f64,
    target: f64,
    /// When alpha decays next.
    decay_at: Time,
    /// When the timer increases the rate next.
    increase_at: Time,
    /// Since the byte counter last increased it.
    sent: Bytes,
    timer_stage: u32,
    byte_stage: u32,
    /// Whether the first packet has left, from which the timers run.
    begun: bool,
}

impl Dcqcn {
    /// Increases the rate at the end of a stage of the timer or the byte counter.
    fn increase(&mut self) {
        let Parameters { f, r_ai, r_hai, line_rate, .. } = self.parameters;
        let (most, least) = (self.timer_stage.max(self.byte_stage), self.timer_stage.min(self.byte_stage));
        if least > f {
            self.target += f64::from(least - f) * r_hai;
        } else if most > f {
            self.target += r_ai;
        }
        self.target = self.target.min(line_rate);
        self.current = (self.current + self.target) / 2.0;
    }

    /// `GetWin`, and room for the packet that passes it.
    fn window(&self) -> Bytes {
        let Parameters { win, var_win, line_rate, mss, ack_interval, .. } = self.parameters;
        let Some(win) = win else { return Bytes::MAX };
        let bytes = if var_win { win * self.current / line_rate } else { win };
        (Bytes(bytes as u64).max(Bytes(1)) + mss - Bytes(1)).max(ack_interval)
    }
}

impl Sender for Dcqcn {
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn hears_departures(&self) -> bool {
        true
    }

    fn on_sent(&mut self, now: Time, sent: Bytes) -> bool {
        let begins = !self.begun;
        if begins {
            self.begun = true;
            self.decay_at = now + self.parameters.tau_prime;
            self.increase_at = now + self.parameters.t;
        }
        self.sent += sent;
        let increases = self.sent >= self.parameters.b;
        if increases {
            self.sent -= self.parameters.b;
            self.byte_stage += 1;
            self.increase();
        }
        begins || increases
    }

    fn on_notification(&mut self, now: Time) {
        let Parameters { g, tau_prime, t, clamp, min_rate, .. } = self.parameters;
        if clamp || (self.timer_stage, self.byte_stage) != (0, 0) {
            self.target = self.current;
        }
        self.current = (self.current * (1.0 - self.alpha / 2.0)).max(min_rate);
        self.alpha = (1.0 - g) * self.alpha + g;
        self.decay_at = now + tau_prime;
        self.increase_at = now + t;
        self.sent = Bytes::ZERO;
        (self.timer_stage, self.byte_stage) = (0, 0);
    }

    fn on_wake(&mut self, now: Time) {
        if now >= self.decay_at {
            self.alpha *= 1.0 - self.parameters.g;
            self.decay_at = now + self.parameters.tau_prime;
        }
        if now >= self.increase_at {
            self.timer_stage += 1;
            self.increase();
            self.increase_at = now + self.parameters.t;
        }
    }

    fn decision(&self) -> Decision {
        let wake = self.begun.then(|| self.decay_at.min(self.increase_at));
        Decision { window: self.window(), pace: Some(Rate(self.current as u64)), wake }
    }

    fn segments(&self) -> Segments {
        Segments { size: self.parameters.ack_interval, at_once: false, burst_rate: None }
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha", self.alpha);
        record("target_gbps", self.target / 1e9);
    }
}
