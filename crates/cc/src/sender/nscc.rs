//! NSCC, the network-signal congestion control of Ultra Ethernet: grows below a target delay and cuts above it where packets are also
//! marked; falls to what has been acknowledged if that is little and packets were trimmed (quick adapt).
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | cwnd | `cwnd` | window |
//! | inflight | `in_flight` | bytes in flight, which the transport counts |
//! | `base_rtt` | `base_rtt` | least round trip; the delay of a packet is what its round trip exceeds it by |
//! | avg | `average` | mean delay of about a round trip |
//! | inc | `inc` | increase that the next adjustment adds, times cwnd |
//! | received | `received` | bytes acknowledged since the last adjustment |
//! | `fi_count`, increase | `idle_bytes`, `increases` | bytes acknowledged without delay, and whether they were a window |
//! | achieved, `qa_end` | `achieved`, `qa_end` | bytes acknowledged in the present window of quick adapt, and its end |
//! | `trigger_qa` | `trimmed` | whether a packet has been trimmed since quick adapt last acted |
//! | `to_ignore`, ignored | `to_ignore`, `ignored` | bytes whose marks are ignored after quick adapt, and those that have been answered |
//! | `scaling_a`, `scaling_b` | `a`, `b` | the path relative to 150 KB in flight, and its target delay relative to 12 us |
//!
//! Source: Ultra Ethernet Specification 1.0 §3.6.13, 1.0.3 table 3-82; where it leaves a choice, ultraethernet/uet-htsim 40ccb05 (`uec.cpp`) and
//! Radonux/asteria-ns3 (`nscc-window.cc`).
//!
//! | the specification | here |
//! |---|---|
//! | table 3-82 | the defaults of the parameters, as multiples of what they follow |
//! | reaction to an acknowledgement by delay and mark, adjustment by bytes and time, decrease once a round trip | same |
//! | fast increase while the delay is about zero | same; below `idle_delay`, 1 us in both implementations |
//! | quick adapt | same |
//! | reaction to a trimmed packet and to a timeout | same |
//! | the round trip of a trimmed packet may lower `base_rtt` | only with `trims_lower_base`: it lacks the time of the payload |
//! | a sample of the round trip only of packets that were sent once, or whose second answer is told apart | every answer carries the departure of its packet, so that all are samples |
//! | `MaxWnd` falls with `base_rtt` | same; cwnd is cut to it at once, as in uet-htsim |
//! | "average delay of the last `base_rtt`" | `average_gain`: both implementations' means |
//! | sizes include 40 B for headers | sizes are those of frames on the wire |
//!
//! Growth per window of acknowledged bytes is 4ab MTU at no delay and 5a MTU above the target, so that the mean delay of many flows
//! exceeds the target by what N flows add.

use crate::event::{Ack, Loss};
use crate::parameter::{Parameter, Preset, Values, bytes, flag, number, packets, time};
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Time};

/// Source of most defaults.
const UE: &str = "UE 1.0.3, table 3-82";

/// Bytes in flight and target delay for which the specification has its gains.
const REFERENCE_BDP: f64 = 150_000.0;
const REFERENCE_TARGET_S: f64 = 12e-6;

/// In the order of the specification, those of the implementations last.
pub const PARAMETERS: &[Parameter] = &[
    time("base_rtt", "config_base_rtt", 0.0, 0.0..=10.0).follows("longest_round_trip")
        .meaning("round trip of a full packet over the longest empty path; 0: over the flow's own path")
        .source(UE),
    flag("trimming", "-", true)
        .meaning("ports trim packets: the target delay is shorter, and delay alone starts no quick adapt")
        .source(UE),
    time("target", "target_qdelay", 0.0, 0.0..=10.0)
        .meaning("target of the queueing delay; 0: 3/4 of base_rtt with trimming, base_rtt without")
        .source(UE),
    number("max_window_bdp", "MaxWnd", 1.5, 0.01..=100.0)
        .meaning("first and largest window, in products of the link's rate and the round trip")
        .source(UE),
    number("alpha", "alpha", 4.0, 0.0..=1000.0)
        .meaning("increase for a window of bytes acknowledged without delay, in packets times scaling_a and scaling_b")
        .source(UE),
    number("fi", "fi", 5.0, 0.0..=1000.0)
        .meaning("increase for a window of unmarked bytes above the target, in packets times scaling_a")
        .source(UE),
    number("fi_scale", "fi_scale", 0.25, 0.0..=1000.0)
        .meaning("fast increase for each byte acknowledged, times scaling_a")
        .source(UE),
    number("eta", "eta", 0.15, 0.0..=1000.0)
        .meaning("increase a round trip whatever the signals, in packets times scaling_a")
        .source(UE),
    number("gamma", "gamma", 0.8, 0.0..=1.0).meaning("decrease, as a share of the excess over the target").source(UE),
    number("max_md_jump", "max_md_jump", 0.5, 0.01..=1.0).meaning("least factor of one decrease").source(UE),
    number("qa_gate", "qa_gate", 3.0, 0.0..=16.0)
        .meaning("quick adapt acts if less than the largest window halved so often was acknowledged")
        .source(UE),
    number("qa_threshold", "qa_threshold", 0.0, 0.0..=1e6)
        .meaning("delay at which quick adapt acts without a loss, in targets; 0: never with trimming, 4 without")
        .source("UE 1.0.3, table 3-82: (drop threshold/BDP - 1) base_rtt, of which the longest is 5 BDP"),
    packets("adjust_bytes", "adjust_bytes", 8.0, 0.0..=1e6)
        .meaning("bytes acknowledged after which the window is adjusted before a round trip is over")
        .source(UE),
    bytes("unit", "-", 256.0, 1.0..=65536.0)
        .meaning("unit to which receivers round the length of a packet up")
        .source("UE 1.0 §3.6.12: Rcvd_Bytes in units of 256 B"),
    number("average_gain", "-", 0.0125, 0.0..=1.0)
        .meaning(
            "weight of a sample in the average delay, where unmarked late packets count as a quarter of base_rtt; 0: the time \
             since the last sample over base_rtt, and all count as they are",
        )
        .source("left open by the specification; 0.0125: uet-htsim, 0: asteria-ns3"),
    time("idle_delay", "-", 1e-6, 0.0..=1.0)
        .meaning("delay below which a path counts as empty")
        .source("not quantified by the specification; 1 us: uet-htsim and asteria-ns3"),
    flag("trims_lower_base", "-", false)
        .meaning("the round trip of a trimmed packet, which its payload does not lengthen, may lower base_rtt")
        .source("ours: UE 1.0 §3.6.13 lets it fall, and trimmed senders then stay below others; uet-htsim has both"),
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "uet-1.0",
        values: &[("trims_lower_base", 1.0)],
        source: "Ultra Ethernet Specification 1.0 to 1.0.3",
    },
    Preset {
        name: "htsim",
        values: &[("trims_lower_base", 1.0), ("qa_threshold", 4.0), ("unit", 1.0)],
        source: "uet-htsim 40ccb05, uec.cpp",
    },
    Preset {
        name: "asteria-ns3",
        values: &[("trims_lower_base", 1.0), ("average_gain", 0.0)],
        source: "Radonux/asteria-ns3, nscc-window.cc",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_delays();

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "Answers to several packets at once, and requests for answers: each packet is answered by itself.",
    "The probe of base_rtt by the first connection to a peer: it begins at that of the empty path.",
    "The receiver's penalty (Rcv_Cwnd_Pend): the specification does not say when receivers ask for it.",
    "The rate of the receiver in the product of rate and round trip: it is that of the sender's link.",
    "RCCC beside NSCC, and losses inferred from packets out of order (SLEEK of uet-htsim): losses are trims and timeouts.",
];

/// Builds the sender of one flow.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(Nscc::new(Rules::new(values, path), path.now))
}

/// Constants of a flow: bytes, seconds and bytes a second.
#[derive(Clone, Copy, Debug)]
struct Rules {
    mss: Bytes,
    mtu: f64,
    config_base_rtt: Time,
    target: Time,
    alpha: f64,
    fi: f64,
    fi_scale: f64,
    eta: f64,
    gamma: f64,
    max_md_jump: f64,
    /// `MaxWnd` for a second of `base_rtt`.
    max_window_per_s: f64,
    /// Part of `MaxWnd` below which quick adapt acts.
    gate: f64,
    qa_threshold: f64,
    adjust_bytes: f64,
    unit: f64,
    average_gain: f64,
    idle_delay: Time,
    trims_lower_base: bool,
}

impl Rules {
    fn new(values: &Values, path: &Path) -> Self {
        let stated = |name, otherwise| Some(values.time(name)).filter(|&time| time > Time::ZERO).unwrap_or(otherwise);
        let trimming = values.flag("trimming");
        let config_base_rtt = stated("base_rtt", path.base_rtt).max(Time(1));
        let share = if trimming { 0.75 } else { 1.0 };
        let target = stated("target", config_base_rtt.scale(share)).max(Time(1));
        let rate = path.line_rate.0 as f64 / 8.0;
        let mtu = path.frame.max(path.mss).0 as f64;
        let (a, b) = (rate * config_base_rtt.as_secs() / REFERENCE_BDP, target.as_secs() / REFERENCE_TARGET_S);
        let threshold = match values.get("qa_threshold") {
            0.0 if trimming => f64::INFINITY,
            0.0 => 4.0,
            targets => targets,
        };
        Self {
            mss: path.mss,
            mtu,
            config_base_rtt,
            target,
            alpha: values.get("alpha") * a * b * mtu / target.as_secs(),
            fi: values.get("fi") * mtu * a,
            fi_scale: values.get("fi_scale") * a,
            eta: values.get("eta") * mtu * a,
            gamma: values.get("gamma"),
            max_md_jump: values.get("max_md_jump"),
            max_window_per_s: values.get("max_window_bdp") * rate,
            gate: 1.0 / f64::from(1_u32 << values.get("qa_gate") as u32),
            qa_threshold: threshold * target.as_secs(),
            adjust_bytes: values.get("adjust_bytes") * mtu,
            unit: values.get("unit"),
            average_gain: values.get("average_gain"),
            idle_delay: values.time("idle_delay"),
            trims_lower_base: values.flag("trims_lower_base"),
        }
    }

    /// Returns the bytes on the wire of so much payload.
    fn on_wire(&self, payload: Bytes) -> f64 {
        payload / self.mss * self.mtu
    }

    /// Returns the bytes that a receiver counts of so much payload.
    fn counted(&self, payload: Bytes) -> f64 {
        (self.on_wire(payload) / self.unit).ceil() * self.unit
    }
}

/// State of one flow, in bytes and seconds.
// One field per symbol of the specification.
#[derive(Clone, Copy, Debug)]
struct Nscc {
    rules: Rules,
    cwnd: f64,
    in_flight: f64,
    base_rtt: Time,
    average: f64,
    last_sample: Time,
    inc: f64,
    received: f64,
    last_adjust: Time,
    last_decrease: Time,
    idle_bytes: f64,
    increases: bool,
    achieved: f64,
    /// None before the first window.
    qa_end: Option<Time>,
    trimmed: bool,
    to_ignore: f64,
    ignored: f64,
}

impl Nscc {
    fn new(rules: Rules, now: Time) -> Self {
        let mut nscc = Self {
            rules,
            cwnd: 0.0,
            in_flight: 0.0,
            base_rtt: rules.config_base_rtt,
            average: 0.0,
            last_sample: now,
            inc: 0.0,
            received: 0.0,
            last_adjust: now,
            last_decrease: now,
            idle_bytes: 0.0,
            increases: false,
            achieved: 0.0,
            qa_end: None,
            trimmed: false,
            to_ignore: 0.0,
            ignored: 0.0,
        };
        nscc.cwnd = nscc.max_window();
        nscc
    }

    /// `MaxWnd`.
    fn max_window(&self) -> f64 {
        (self.rules.max_window_per_s * self.base_rtt.as_secs()).max(self.rules.mtu)
    }

    fn set_window(&mut self, cwnd: f64) {
        self.cwnd = cwnd.clamp(self.rules.mtu, self.max_window());
    }

    /// Lowers `base_rtt` to a shorter round trip, and `MaxWnd` with it.
    fn lower_base(&mut self, rtt: Time) {
        if rtt < self.base_rtt {
            self.base_rtt = rtt;
            self.set_window(self.cwnd);
        }
    }

    fn average_in(&mut self, now: Time, sample: f64) {
        let gain = self.rules.average_gain;
        let since = (now - self.last_sample).as_secs() / self.base_rtt.as_secs();
        let weight = if gain > 0.0 { gain } else { since.min(1.0) };
        self.average += weight * (sample - self.average);
        self.last_sample = now;
    }

    /// Returns the delay that an answer adds to the average.
    fn sample(&self, marked: bool, delay: Time) -> f64 {
        let discounts = self.rules.average_gain > 0.0 && !marked && delay > self.rules.target;
        if discounts { self.base_rtt.as_secs() / 4.0 } else { delay.as_secs() }
    }

    /// Quick adapt; returns whether it acted.
    fn adapts_quickly(&mut self, now: Time, lost: bool, marked: bool, delay: Time) -> bool {
        let mut acts = self.ignored < self.to_ignore && marked;
        if !acts && self.qa_end.is_none_or(|end| now >= end) {
            let congested = self.trimmed || lost || delay.as_secs() > self.rules.qa_threshold;
            acts = self.qa_end.is_some() && congested && self.achieved < self.max_window() * self.rules.gate;
            if acts {
                self.set_window(self.achieved);
                (self.to_ignore, self.ignored, self.trimmed) = (self.in_flight, 0.0, false);
            }
            self.achieved = 0.0;
            self.qa_end = Some(now + self.base_rtt + self.rules.target);
        }
        if acts {
            (self.inc, self.received) = (0.0, 0.0);
        }
        acts
    }

    /// Fast increase by an answer to `n` bytes; returns whether the window grew.
    fn increases_fast(&mut self, n: f64, delay: Time) -> bool {
        let idle = delay < self.rules.idle_delay;
        self.idle_bytes = if idle { self.idle_bytes + n } else { 0.0 };
        self.increases = idle && (self.increases || self.idle_bytes > self.cwnd);
        if self.increases {
            self.set_window(self.cwnd + n * self.rules.fi_scale);
        }
        self.increases
    }

    /// Decreases by the average delay, once in a round trip.
    fn decrease(&mut self, now: Time) {
        (self.increases, self.idle_bytes) = (false, 0.0);
        let target = self.rules.target.as_secs();
        if self.average > target && now - self.last_decrease > self.base_rtt {
            let factor = 1.0 - self.rules.gamma * (self.average - target) / self.average;
            self.set_window(self.cwnd * factor.max(self.rules.max_md_jump));
            self.last_decrease = now;
        }
    }

    /// Adds the increase that has accumulated, at the end of a period or after enough bytes.
    fn adjust(&mut self, now: Time) {
        let over = now - self.last_adjust >= self.rules.config_base_rtt;
        if over || self.received > self.rules.adjust_bytes {
            let eta = if over { self.rules.eta } else { 0.0 };
            self.set_window(self.cwnd + self.inc / self.cwnd + eta);
            (self.inc, self.received) = (0.0, 0.0);
            if over {
                self.last_adjust = now;
            }
        }
    }

    fn on_trimmed(&mut self, now: Time, ack: &Ack) {
        if self.rules.trims_lower_base {
            self.lower_base(ack.rtt);
        }
        self.average_in(now, self.rules.config_base_rtt.as_secs());
        let size = self.rules.on_wire(ack.trimmed);
        self.ignored += size;
        self.trimmed = true;
        if !self.adapts_quickly(now, true, ack.marked > Bytes::ZERO, Time::ZERO) {
            self.set_window(self.cwnd - size);
        }
    }
}

impl Sender for Nscc {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.in_flight = self.rules.on_wire(ack.in_flight);
        if ack.trimmed > Bytes::ZERO {
            return self.on_trimmed(now, ack);
        }
        let n = self.rules.counted(ack.acked);
        self.ignored += n;
        self.received += n;
        self.achieved += n;
        if ack.rtt == Time::ZERO {
            return;
        }
        self.lower_base(ack.rtt);
        let (delay, marked) = (ack.rtt.saturating_sub(self.base_rtt), ack.marked > Bytes::ZERO);
        self.average_in(now, self.sample(marked, delay));
        if self.adapts_quickly(now, false, marked, delay) {
            return;
        }
        match (marked, delay >= self.rules.target) {
            (false, true) => self.inc += self.rules.fi * n,
            (false, false) => {
                if !self.increases_fast(n, delay) {
                    self.inc += self.rules.alpha * n * (self.rules.target - delay).as_secs();
                }
            }
            (true, true) => self.decrease(now),
            (true, false) => {}
        }
        self.adjust(now);
    }

    fn on_loss(&mut self, _now: Time, loss: &Loss) {
        let size = self.rules.on_wire(loss.lost);
        self.ignored += size;
        self.in_flight -= size;
        self.set_window(self.cwnd - size);
    }

    /// Sizes of the window are those of frames, of which the payload may be in flight.
    fn decision(&self) -> Decision {
        Decision::window(self.rules.mss.scale(self.cwnd / self.rules.mtu))
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("cwnd_bytes", self.cwnd);
        record("average_delay_us", self.average * 1e6);
        record("base_rtt_us", self.base_rtt.as_micros());
        record("target_us", self.rules.target.as_micros());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    /// A path of so many Gbps and microseconds, with frames of 4096 B.
    fn rules(gbps: u64, micros: u64, trimming: f64) -> Rules {
        let (line_rate, base_rtt) = (Rate::from_gbps(gbps), Time::from_micros(micros));
        let path = Path { mss: Bytes(4096), frame: Bytes(4096), line_rate, base_rtt, ..Path::default() };
        let mut values = Values::defaults(PARAMETERS);
        values.set("trimming", trimming).expect("a parameter");
        Rules::new(&values, &path)
    }

    fn assert_near(got: f64, expected: f64) {
        assert!((got - expected).abs() <= 1e-6 * expected, "{got}, expected {expected}");
    }

    /// Worked by hand from table 3-82: target in us, alpha in B/us, the rest in bytes.
    #[test]
    fn constants_follow_rate_round_trip_and_packet() {
        for (path, target, alpha, [fi, fi_scale, eta, max_window, gate]) in [
            ((400, 8, 1.0), 6.0, 3640.8889, [54_613.333, 0.666_666_7, 1638.4, 600_000.0, 75_000.0]),
            ((800, 10, 1.0), 7.5, 9102.2222, [136_533.333, 1.666_666_7, 4096.0, 1_500_000.0, 187_500.0]),
            ((200, 10, 0.0), 10.0, 2275.5556, [34_133.333, 0.416_666_7, 1024.0, 375_000.0, 46_875.0]),
        ] {
            let rules = rules(path.0, path.1, path.2);
            let full = Nscc::new(rules, Time::ZERO).max_window();
            assert_near(rules.target.as_micros(), target);
            assert_near(rules.alpha * 1e-6, alpha);
            assert_near(rules.fi, fi);
            assert_near(rules.fi_scale, fi_scale);
            assert_near(rules.eta, eta);
            assert_near(full, max_window);
            assert_near(full * rules.gate, gate);
        }
    }

    /// 400 Gbps, 8 us: 54,613 B above the target and 4ab MTU = 21,845 B without delay.
    #[test]
    fn growth_a_window_of_acknowledged_bytes() {
        let rules = rules(400, 8, 1.0);
        assert_near(rules.alpha * rules.target.as_secs(), 21_845.333);
        assert_near(rules.fi, 54_613.333);
        assert_near(rules.adjust_bytes, 32_768.0);
    }

    /// Target 6 us: averages of 7.5, 9, 12, 16 and 100 us. Once a round trip.
    #[test]
    fn a_decrease_follows_the_average_delay() {
        let now = Time::from_micros(9);
        for (average, factor) in [(7.5, 0.84), (9.0, 11.0 / 15.0), (12.0, 0.6), (16.0, 0.5), (100.0, 0.5), (6.0, 1.0)] {
            let start = Nscc::new(rules(400, 8, 1.0), Time::ZERO);
            let mut nscc = Nscc { average: average * 1e-6, cwnd: 400_000.0, ..start };
            nscc.decrease(now);
            nscc.decrease(now + Time::from_micros(8));
            assert_near(nscc.cwnd, 400_000.0 * factor);
        }
    }

    /// 4096 + 40 B are 16.2 units of 256 B.
    #[test]
    fn receivers_count_units() {
        let rules = Rules { mtu: 4136.0, ..rules(400, 8, 1.0) };
        assert_near(rules.counted(Bytes(4096)), 17.0 * 256.0);
    }

    /// In a window of quick adapt in which a packet was trimmed, N senders get 1.75 BDP/N in equal answers, or 2 BDP/N without
    /// trimming; the gate is 0.1875 BDP. 8 us at 1 Gbps are 1000 B.
    #[test]
    fn quick_adapt_acts_from_ten_senders_on_or_from_eleven_without_trimming() {
        for (trimming, share, senders, acts) in
            [(1.0, 1.75, 9, false), (1.0, 1.75, 10, true), (0.0, 2.0, 10, false), (0.0, 2.0, 11, true)]
        {
            for gbps in [100, 200, 400, 800] {
                let rules = Rules { alpha: 0.0, fi: 0.0, eta: 0.0, unit: 1.0, ..rules(gbps, 8, trimming) };
                let mut nscc = Nscc::new(rules, Time::ZERO);
                let (start, length) = (Time::from_micros(8), Time::from_micros(8) + rules.target);
                let rtt = Time::from_micros(8) + rules.target;
                nscc.on_ack(start, &Ack { rtt, ..Ack::default() });
                nscc.on_ack(start, &Ack { rtt, trimmed: Bytes(4096), ..Ack::default() });
                let before = nscc.cwnd;
                let acked = Bytes::nearest(gbps as f64 * 1000.0 * share / f64::from(senders) / 8.0);
                for answer in 1..=8 {
                    nscc.on_ack(start + length * answer / 8, &Ack { rtt, acked, ..Ack::default() });
                }
                let expected = if acts { acked.0 as f64 * 8.0 } else { before };
                assert_near(nscc.cwnd, expected);
            }
        }
    }
}
