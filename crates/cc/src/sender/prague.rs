//! TCP Prague as udp_prague implements it: cuts in proportion to the share of marked packets, grows as a flow with a round trip of at least
//! a reference would, and paces its packets. The reference is 25 ms in udp_prague and 100 us by default, for data centres.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | `m_srtt`, `m_vrtt` | `srtt`, `vrtt` | smoothed round trip, and the virtual one, which is at least the reference |
//! | `m_alpha` | `alpha` | moving average of the marked share, in units of 2^-20 |
//! | `m_fractional_window` | `window` | window in units of 1e-6 B |
//! | `m_pacing_rate` | `rate` | rate of payload, B/s |
//! | `m_cca_mode` | `mode` | whether `window` or `rate` is what grows and is cut; the other follows from it |
//! | `m_cc_state` | `state` | initial, congestion avoidance, recovery from a loss, or the virtual round trip after a mark |
//! | `m_rtts_to_growth` | `wait` | virtual round trips until growth is by a queue of 1 ms instead of a packet a round trip |
//! | `m_packet_size` | `packet` | payload of a packet: two packets or more leave in each virtual round trip |
//! | `m_packet_window`, `m_packet_burst` | `packets`, `burst` | packets that may be in flight, and that may leave together |
//!
//! Source: L4STeam/udp_prague, `prague_cc.cpp`, e8e3435 (February 2026), in its integers; draft-briscoe-iccrg-prague-congestion-control.
//! Times are in microseconds. Counters and times are signed 32-bit numbers that wrap, as in the source. Divisions round down, towards
//! zero for the share of marks, or to the nearest where the source does.
//!
//! In a steady state with every n-th packet marked, W = 2 (n - 1) packets of a virtual round trip, times 1.2 to 1.35 because the next cut
//! waits for a mark after the round trip. Flows with round trips of up to the reference therefore have equal rates.

use crate::deviation::{Deviation, deviation};
use crate::event::{Ack, Counts, Loss, LossKind};
use crate::parameter::{Parameter, Preset, Values, number, rate, time};
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Rate, Time};

/// Source of the law's constants.
const SOURCE: &str = "udp_prague e8e3435, prague_cc.h";
/// Source of the values for data centres.
const SCALED: &str = "a choice: 1/250 of the time in udp_prague e8e3435, as the reference round trip";

/// In the order of the source.
pub const PARAMETERS: &[Parameter] = &[
    time("reference_rtt", "REF_RTT", 100e-6, 1e-6..=10.0)
        .meaning("least virtual round trip: flows with shorter ones grow, and are cut, as if they had this one")
        .source("a choice: about the longest empty round trip of a data centre; udp_prague has 25 ms"),
    number("growth_wait", "MIN_STEP", 7.0, 0.0..=1e6)
        .meaning("virtual round trips after a cut in which it grows by a packet each; more at higher rates (growth_rate)")
        .source(SOURCE),
    rate("growth_rate", "RATE_STEP", 3.84e9, 1e3..=1e13)
        .meaning("rate for each multiple of which that wait is one virtual round trip longer")
        .source("a choice: 250 times that of udp_prague, 1,920,000 B/s"),
    time("growth_queue", "QUEUE_GROWTH", 4e-6, 0.0..=1.0)
        .meaning("growth a virtual round trip after that wait: what the flow sends in this time, if it is more than a packet")
        .source(SCALED),
    rate("initial_rate", "init_rate", 0.0, 0.0..=1e13)
        .meaning("rate before the first round trip is known; 0: the initial window leaves at once, and sets the rate")
        .source("a choice: as other windows begin; udp_prague has 100 kbps"),
    rate("min_rate", "min_rate", 1e6, 8.0..=1e13).meaning("least rate").source("a choice: udp_prague has 100 kbps"),
    rate("max_rate", "max_rate", 800e9, 8.0..=1e13).meaning("largest rate").source("a choice: udp_prague has 100 Gbps"),
];

/// Where it runs.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "udp_prague",
        values: &[
            ("reference_rtt", 25e-3),
            ("growth_rate", 15.36e6),
            ("growth_queue", 1e-3),
            ("initial_rate", 100e3),
            ("min_rate", 100e3),
            ("max_rate", 100e9),
        ],
        source: SOURCE,
    },
    Preset {
        name: "datacenter",
        values: &[],
        source: "the defaults: times 1/250 of udp_prague's; set reference_rtt to about the longest empty round trip",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_delays().ect1();

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "Packets smaller than a frame: the transport divides data into full packets, so that the least window is two of them.",
    "Bursts of up to 250 us: each packet leaves at its own time. The key `segment` of [hosts] lets several leave together.",
    "The fallback to Not-ECT: no switch rewrites ECT(1), so that no receiver reports another code point.",
    "Frame mode, for video: every flow sends as fast as it may.",
];

/// Lines of the source that it reads in its own way.
pub const DEVIATIONS: &[Deviation] = &[
    deviation(
        "ACKReceived: the share of marks divides by the packets received since the last update",
        "without a received packet alpha stays as it is",
        "the source would divide by zero when a window of packets is lost",
    ),
    deviation(
        "init_window: 10 packets, which the rate of 100 kbps overrules at the first acknowledgement",
        "the initial window of the host leaves at once and sets the rate, unless `initial_rate` is given",
        "packets of 150 B, with which 100 kbps begin there, do not exist here: the second full packet would leave 0.12 s after the first",
    ),
    deviation(
        "packets of UDP have numbers of their own, and nothing is sent again",
        "each transmission has a number, and the transport repairs losses",
        "flows carry data that has to arrive",
    ),
];

/// alpha of one, and the logarithm of that.
const ONE: i64 = 1 << ONE_BITS;
const ONE_BITS: u32 = 20;
/// `ALPHA_SHIFT`: weight of the newest share in alpha.
const ALPHA_GAIN: i64 = 16;
/// `BURST_TIME`, us.
const BURST_TIME: i64 = 250;
/// `MIN_PKT`, and `MIN_PKT_WIN`: least payload of a packet, and least window in packets.
pub const LEAST_PACKET: i64 = 150;
const LEAST_PACKETS: i64 = 2;
/// Round trips of up to this time, us, make it hold a rate, not a window.
const RATE_MODE_RTT: i64 = 2_000;
/// Microseconds in a second, and units of the window in a byte.
const MILLION: i64 = 1_000_000;

/// Whether the window or the rate is what grows and is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The rate (`cca_prague_rate`).
    Rate,
    /// The window (`cca_prague_win`).
    Window,
}

/// State of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing has been acknowledged (`cs_init`).
    Initial = 0,
    /// It grows (`cs_cong_avoid`).
    Avoidance = 1,
    /// The virtual round trip after a cut for a loss (`cs_in_loss`).
    InLoss = 2,
    /// The virtual round trip after a cut for marks (`cs_in_cwr`).
    InReduction = 3,
}

/// Constants of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// Payload of a full packet, B.
    pub mtu: i64,
    /// Least payload of a packet.
    pub least_packet: i64,
    /// Initial, least and largest rate, B/s.
    pub rates: [i64; 3],
    /// Reference round trip, us.
    pub reference_rtt: i64,
    /// Time whose data is the growth after the wait, us.
    pub growth_queue: i64,
    /// Shortest wait, in virtual round trips, and the rate, B/s, for which it is one longer.
    pub wait: (i64, i64),
}

impl Constants {
    /// Constants of udp_prague for packets of this payload and an initial rate in B/s.
    #[must_use]
    pub const fn udp_prague(mtu: i64, initial_rate: i64, max_rate: i64) -> Self {
        Self {
            mtu,
            least_packet: LEAST_PACKET,
            rates: [initial_rate, 12_500, max_rate],
            reference_rtt: 25_000,
            growth_queue: 1_000,
            wait: (7, 1_920_000),
        }
    }

    /// Wait until faster growth at this rate, in virtual round trips.
    const fn wait_at(&self, rate: i64) -> i64 {
        rate / self.wait.1 + self.wait.0
    }
}

/// A time and the packets sent until then, after which a virtual round trip is over.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: i32,
    sent: u32,
}

/// What a cut for a loss took, for the case that the lost packets arrive after all.
#[derive(Clone, Copy, Debug)]
struct Cut {
    mode: Mode,
    /// Part of the window or the rate that was cut; zero if the cut cannot be undone.
    amount: i64,
    /// Part of the wait that the cut added.
    wait: i64,
    /// Packets lost before it.
    lost: u32,
}

/// The law of one flow, in integers of the source.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    constants: Constants,
    /// Smoothed round trip and virtual round trip, us.
    pub srtt: i64,
    /// Virtual round trip, us.
    pub vrtt: i64,
    /// What it does.
    pub state: State,
    /// What it holds.
    pub mode: Mode,
    /// Marked share in units of 2^-20.
    pub alpha: i64,
    /// Virtual round trips until faster growth.
    pub wait: i64,
    /// Rate of payload, B/s.
    pub rate: i64,
    /// Window, 1e-6 B.
    pub window: i64,
    /// Packets that may be in flight.
    pub packets: i64,
    /// Packets that may leave together.
    pub burst: i64,
    /// Payload of a packet, B.
    pub packet: i64,
    /// Counters of the newest acknowledgement, and of that with which alpha was updated last.
    seen: Counts,
    alpha_seen: Counts,
    /// When alpha, a cut for a loss and a cut for marks happened last.
    alpha_mark: Mark,
    loss_mark: Mark,
    reduction_mark: Mark,
    cut: Cut,
}

/// a / b to the nearest, for positive numbers.
const fn nearest(a: i128, b: i128) -> i128 {
    (a + b / 2) / b
}

fn narrow(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Law {
    /// Creates the law of a flow that starts at `now`, us, with a window of so many bytes.
    #[must_use]
    pub fn new(constants: Constants, now: i32, initial_window: i64) -> Self {
        let Constants { mtu, rates: [rate, ..], reference_rtt, .. } = constants;
        let mut law = Self {
            constants,
            srtt: 0,
            vrtt: reference_rtt,
            state: State::Initial,
            mode: Mode::Window,
            alpha: 0,
            wait: constants.wait_at(rate),
            rate,
            window: initial_window.saturating_mul(MILLION),
            packets: LEAST_PACKETS,
            burst: 1,
            packet: mtu,
            seen: Counts::default(),
            alpha_seen: Counts::default(),
            alpha_mark: Mark { at: now, sent: 0 },
            loss_mark: Mark::default(),
            reduction_mark: Mark::default(),
            cut: Cut { mode: Mode::Window, amount: 0, wait: 0, lost: 0 },
        };
        law.size_packets();
        law
    }

    /// Handles the round trip of a packet, us.
    pub fn on_rtt(&mut self, rtt: i64) {
        self.srtt = if self.srtt == 0 { rtt } else { self.srtt + ((rtt - self.srtt) >> 3) }.max(1);
        self.vrtt = self.srtt.max(self.constants.reference_rtt);
    }

    /// Sets the initial rate, B/s, before anything is acknowledged.
    pub fn begin_at(&mut self, rate: i64) {
        let [initial, least, most] = &mut self.constants.rates;
        *initial = rate.min(*most).max(*least);
        self.rate = *initial;
        self.wait = self.constants.wait_at(self.rate);
    }

    /// Handles the counters of an acknowledgement. Returns false, and ignores it, if it is older than the last one.
    pub fn on_counts(&mut self, now: i32, counts: &Counts) -> bool {
        let fell = |new: u32, old: u32| new.wrapping_sub(old).cast_signed() < 0;
        if fell(counts.received, self.seen.received) || fell(counts.ce, self.seen.ce) {
            return false;
        }
        self.choose_mode();
        self.update_alpha(now, counts);
        self.undo_cut(counts);
        self.end(State::InLoss, self.loss_mark, now, counts);
        if self.state != State::InLoss && self.seen.lost.wrapping_sub(counts.lost).cast_signed() < 0 {
            self.cut_for_loss(now, counts);
        }
        self.grow(counts);
        self.end(State::InReduction, self.reduction_mark, now, counts);
        if self.state == State::Avoidance && counts.ce != self.seen.ce {
            self.cut_for_marks(now, counts);
        }
        self.settle();
        self.seen = *counts;
        true
    }

    /// The first acknowledgement sets the window. Short round trips, and those of less than a packet, make it hold a rate.
    fn choose_mode(&mut self) {
        let by_rate = self.rate.saturating_mul(self.srtt);
        if self.state == State::Initial {
            self.window = by_rate;
            self.state = State::Avoidance;
        }
        let spacing = self.packet * MILLION / self.rate;
        if self.srtt <= RATE_MODE_RTT || self.srtt <= spacing {
            self.mode = Mode::Rate;
        } else {
            if self.mode == Mode::Rate {
                self.window = by_rate;
            }
            self.mode = Mode::Window;
        }
    }

    /// Whether a virtual round trip has passed since then, and the packets sent until then are acknowledged or lost.
    fn has_passed(&self, mark: Mark, now: i32, counts: &Counts) -> bool {
        let ahead = counts.received.wrapping_add(counts.lost).wrapping_sub(mark.sent).cast_signed() > 0;
        ahead && i64::from(now.wrapping_sub(mark.at)) >= self.vrtt
    }

    fn update_alpha(&mut self, now: i32, counts: &Counts) {
        if !self.has_passed(self.alpha_mark, now, counts) {
            return;
        }
        let since = |new: u32, old: u32| i64::from(new.wrapping_sub(old).cast_signed());
        let received = since(counts.received, self.alpha_seen.received);
        if received > 0 {
            let share = (since(counts.ce, self.alpha_seen.ce) << ONE_BITS) / received;
            self.alpha = (self.alpha + (share - self.alpha) / ALPHA_GAIN).clamp(0, ONE);
        }
        (self.alpha_seen, self.alpha_mark) = (*counts, Mark { at: now, sent: counts.sent });
        self.wait = (self.wait - 1).max(0);
    }

    /// Takes a cut back when the packets for which it was made have arrived: they were late.
    fn undo_cut(&mut self, counts: &Counts) {
        if self.cut.amount == 0 || self.cut.lost.wrapping_sub(counts.lost).cast_signed() < 0 {
            return;
        }
        self.mode = self.cut.mode;
        *self.held() = self.held().saturating_add(self.cut.amount);
        self.wait = (self.wait - self.cut.wait).max(0);
        (self.cut.amount, self.cut.wait) = (0, 0);
        self.state = State::Avoidance;
    }

    /// What the mode holds: the window or the rate.
    fn held(&mut self) -> &mut i64 {
        match self.mode {
            Mode::Rate => &mut self.rate,
            Mode::Window => &mut self.window,
        }
    }

    /// Ends `state` if it is the present one and a virtual round trip has passed since its cut.
    fn end(&mut self, state: State, mark: Mark, now: i32, counts: &Counts) {
        if self.state == state && self.has_passed(mark, now, counts) {
            self.state = State::Avoidance;
        }
    }

    fn cut_for_loss(&mut self, now: i32, counts: &Counts) {
        let Constants { mtu, reference_rtt, .. } = self.constants;
        let wait = self.rate / 2 / mtu * reference_rtt / self.vrtt * reference_rtt / MILLION;
        self.cut.wait = (self.cut.wait + wait - self.wait).min(wait);
        self.wait = wait;
        let held = self.held();
        let amount = *held / 2;
        *held -= amount;
        self.cut = Cut { mode: self.mode, amount, lost: self.seen.lost, ..self.cut };
        self.state = State::InLoss;
        self.loss_mark = Mark { at: now, sent: counts.sent };
    }

    /// Grows by a packet, or by a queue of a fixed delay, a virtual round trip: for each packet without a mark its part of that.
    fn grow(&mut self, counts: &Counts) {
        let since = |new: u32, old: u32| i128::from(new.wrapping_sub(old).cast_signed());
        let unmarked = since(counts.received, self.seen.received) - since(counts.ce, self.seen.ce);
        if self.state == State::InLoss || unmarked <= 0 {
            return;
        }
        let mtu = self.constants.mtu;
        let queue = self.rate.saturating_mul(self.constants.growth_queue) / MILLION;
        let step = i128::from(if self.wait > 0 { mtu } else { queue.max(mtu) });
        let (packet, million) = (i128::from(self.packet), i128::from(MILLION));
        let (srtt, vrtt, rate) = (i128::from(self.srtt), i128::from(self.vrtt), i128::from(self.rate));
        match self.mode {
            Mode::Window => {
                let shortened = nearest(srtt * srtt * million, vrtt * vrtt);
                let share = nearest(unmarked * packet * shortened * million, i128::from(self.window));
                self.window = self.window.saturating_add(narrow(share * step));
            }
            Mode::Rate => {
                let packets = nearest(rate * vrtt, packet * million).max(1);
                let growth = nearest(nearest(unmarked * step * million, vrtt), packets);
                self.rate = self.rate.saturating_add(narrow(growth));
            }
        }
    }

    fn cut_for_marks(&mut self, now: i32, counts: &Counts) {
        self.wait = self.constants.wait_at(self.rate);
        let alpha = i128::from(self.alpha);
        let held = self.held();
        *held -= narrow(i128::from(*held) * alpha >> (ONE_BITS + 1));
        self.state = State::InReduction;
        self.reduction_mark = Mark { at: now, sent: counts.sent };
    }

    /// Bounds the rate, and works out what follows from it.
    fn settle(&mut self) {
        let [_, least, most] = self.constants.rates;
        if self.mode == Mode::Window {
            self.rate = self.window / self.srtt;
        }
        self.rate = self.rate.min(most).max(least);
        self.window = self.rate.saturating_mul(self.srtt).max(1);
        self.size_packets();
    }

    fn size_packets(&mut self) {
        let Constants { mtu, least_packet, .. } = self.constants;
        self.packet = (self.rate.saturating_mul(self.vrtt) / MILLION / LEAST_PACKETS).min(mtu).max(least_packet);
        self.burst = (self.rate.saturating_mul(BURST_TIME) / MILLION / self.packet).max(1);
        // Three in a hundred more than the window, for the pace.
        let window = narrow(i128::from(self.window) * 103 / (100 * i128::from(MILLION)));
        self.packets = (window / self.packet + 1).max(LEAST_PACKETS);
    }

    /// Handles a timeout: everything but the round trip and the counters begins anew.
    pub fn on_timeout(&mut self, now: i32) {
        let Constants { mtu, rates: [rate, ..], .. } = self.constants;
        (self.state, self.mode, self.alpha) = (State::Initial, Mode::Window, 0);
        (self.rate, self.window) = (rate, mtu * MILLION);
        (self.packets, self.burst, self.packet) = (LEAST_PACKETS, 1, mtu);
        self.wait = self.constants.wait_at(rate);
        self.cut.wait = 0;
        self.alpha_mark.at = now;
    }

    /// Whether this is in the first half of a virtual round trip.
    fn is_early(&self, now: i32) -> bool {
        i64::from(now.wrapping_sub(self.alpha_mark.at)) < self.vrtt >> 1
    }

    /// The pace at `now`, B/s: 3 % above the rate in the first half of a virtual round trip and below it in the second.
    #[must_use]
    pub fn pace(&self, now: i32) -> i64 {
        if self.is_early(now) { self.rate.saturating_mul(103) / 100 } else { self.rate.saturating_mul(100) / 103 }
    }
}

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let micros = |name| (values.time(name).as_micros() as i64).max(0);
    let per_second = |name| values.rate(name).0 as i64 / 8;
    let mtu = path.mss.0 as i64;
    let constants = Constants {
        mtu,
        least_packet: mtu,
        rates: [per_second("initial_rate").max(per_second("min_rate")), per_second("min_rate"), per_second("max_rate")],
        reference_rtt: micros("reference_rtt"),
        growth_queue: micros("growth_queue"),
        wait: (values.get("growth_wait") as i64, per_second("growth_rate")),
    };
    let law = Law::new(constants, clock(path.now), path.initial_window.0 as i64);
    let begins_at_once = values.rate("initial_rate") == Rate::ZERO;
    let decision = Decision::window(path.initial_window.max(path.mss));
    let on_wire = path.frame.0.max(mtu as u64) as f64 / mtu.max(1) as f64;
    let counts = Counts::default();
    let mut sender = Prague { law, counts, counted: false, begins_at_once, mss: path.mss, on_wire, decision };
    if !begins_at_once {
        sender.set_pace(path.now);
    }
    Box::new(sender)
}

/// The clock of the law: microseconds in 32 bits.
const fn clock(now: Time) -> i32 {
    (now.0 / 1_000_000) as u32 as i32
}

/// A flow.
#[derive(Clone, Copy, Debug)]
struct Prague {
    law: Law,
    counts: Counts,
    /// Whether acknowledgements carry counters; otherwise they follow from payloads.
    counted: bool,
    /// Whether the initial window leaves at once, and sets the rate with the first round trip.
    begins_at_once: bool,
    mss: Bytes,
    /// Length of a full frame in payloads.
    on_wire: f64,
    decision: Decision,
}

impl Prague {
    fn decide(&mut self, now: Time) {
        self.decision.window = Bytes((self.law.packets * self.law.packet) as u64);
        self.set_pace(now);
    }

    /// Sets the pace, and the time in the middle of the virtual round trip at which it falls.
    fn set_pace(&mut self, now: Time) {
        let micros = clock(now);
        let begun = i64::from(micros.wrapping_sub(self.law.alpha_mark.at));
        let left = (self.law.vrtt >> 1) - begun;
        let whole = Time(now.0 / 1_000_000 * 1_000_000);
        self.decision.wake = (left > 0).then(|| whole + Time::from_micros(left as u64));
        self.decision.pace = Some(Rate((self.law.pace(micros) as f64 * 8.0 * self.on_wire) as u64));
    }

    /// Counters by the payload that an acknowledgement covers.
    fn count_payload(&mut self, ack: &Ack) {
        let packets = |payload: Bytes| payload.0.div_ceil(self.mss.0.max(1)) as u32;
        let Counts { received, ce, lost, .. } = self.counts;
        let (received, ce) = (received.wrapping_add(packets(ack.acked)), ce.wrapping_add(packets(ack.marked)));
        let sent = received.wrapping_add(lost).wrapping_add(packets(ack.in_flight));
        self.counts = Counts { received, ce, lost, sent };
    }
}

impl Sender for Prague {
    fn on_counts(&mut self, _now: Time, counts: &Counts) {
        (self.counts, self.counted) = (*counts, true);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if !self.counted {
            self.count_payload(ack);
        }
        if ack.rtt > Time::ZERO {
            self.law.on_rtt((ack.rtt.0 / 1_000_000).clamp(1, i32::MAX as u64) as i64);
            if std::mem::take(&mut self.begins_at_once) {
                let window = self.decision.window.0 as i64;
                self.law.begin_at(window.saturating_mul(MILLION) / self.law.vrtt);
            }
        }
        if self.law.srtt > 0 {
            self.law.on_counts(clock(now), &self.counts);
            self.decide(now);
        }
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        match loss.kind {
            LossKind::Timeout => {
                self.law.on_timeout(clock(now));
                self.decide(now);
            }
            LossKind::FastRetransmit if !self.counted => self.counts.lost = self.counts.lost.wrapping_add(1),
            // The counters say it, and take it back if the packet was only late.
            LossKind::FastRetransmit => {}
        }
    }

    fn on_wake(&mut self, now: Time) {
        self.set_pace(now);
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha", self.law.alpha as f64 / ONE as f64);
        record("vrtt_us", self.law.vrtt as f64);
        record("rate_mode", f64::from(u8::from(self.law.mode == Mode::Rate)));
        record("wait_rtt", self.law.wait as f64);
    }
}
