//! TCP Inigo at the receiver: takes growing one-way delays for congestion, and either marks as a switch would or shrinks the
//! window that it advertises.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | S, R | `sent`, `received` | difference of the sending times, and of the arrival times, of two packets |
//! | `D_total` | `total` | sum of R - S, never below zero |
//! | `d_thresh` | `threshold` * `rtt_min` | sum from which on packets are late |
//! | `alpha_RFD` | `alpha` | moving average of the share of late bytes |
//! | - | `window` | advertised window, in packets |
//! | `W_sub` | `sub_window` | packets between two answers; 0: one answer a window |
//!
//! Source: Shewmaker et al., TCP Inigo, §3, Algorithms 8 and 9, and Appendix C; what they leave open from the authors' kernel
//! patches (4.2, 4.3).
//!
//! Algorithm 9, RTT_min, S and the total of Algorithm 8 are as printed but for `DEVIATIONS`.
//!
//! The echoed times of the print are those of the receiver's own earlier acknowledgements. Their difference contains the
//! reverse path and not the arrival, so with `tsecr` a growing queue shows late or not at all.
//!
//! The length of a tick decides who gets how much. With fine ticks a flow that joins takes the standing queue for its zero, and
//! the flows before it give way: five Reno flows at 500 Mbps and 4 ms have a Jain index of 0.3 with 1 us. A tick longer than
//! that queue rounds all flows to the same zero: .98 and more for ticks of 0.09 to 0.25 round trips (`scaled-tick`). The
//! paper's 1 ms has .99 there, because 2 ms one way are two whole ticks; at 5 ms half of all packets round up to a
//! tick, which is late, and 7 % of the link is used.

use super::ecn_echo::Accurate;
use super::{Data, Echo, Receiver, Reply};
use crate::deviation::{Deviation, deviation};
use crate::parameter::{Parameter, Preset, Values, flag, number, packets, time};
use crate::units::{Bytes, Time};

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    flag("mark", "RCV_ECN", false)
        .meaning("mark for a sender that reacts to marks, instead of managing the receive window")
        .source("Inigo §3"),
    flag("ce", "CE", false)
        .meaning("with mark: marks are CE in the IP header of the next acknowledgement, which no sender of data reads, instead of ECN-Echo")
        .source("Inigo Algorithm 8 to the letter; off: only ECN-Echo reaches a sender (RFC 3168)"),
    number("threshold", "d_thresh", 0.17, 0.0..=100.0)
        .meaning("growth of the one-way delay that makes packets late, as a share of the smallest RTT")
        .source("Inigo eq. 3: 0.17"),
    number("g", "g", 0.0625, 1e-6..=1.0).meaning("weight of the newest window in alpha").source("the patches: 1/16"),
    packets("sub_window", "W_sub", 10.0, 0.0..=512.0)
        .meaning("packets between two answers; 0: one a window")
        .source("the 4.2 patch, rcv_cc_fairness: 10"),
    packets("initial", "-", 10.0, 2.0..=1e6).meaning("window of a new flow").source("Linux: 10"),
    time("resolution", "-", 1e-3, 0.0..=1.0)
        .meaning("tick of the timestamps; 0: a tenth to a fifth of the smallest RTT")
        .source("Inigo Appendix C and Linux: 1 ms (RFC 7323)"),
    flag("tsecr", "-", false).meaning("take echoed times for arrival times, as printed").source("Inigo Algorithm 8"),
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "scaled-tick",
        values: &[("resolution", 0.0)],
        source: "our choice: ticks of a tenth to a fifth of the smallest RTT, with which flows share fairly at any RTT",
    },
    Preset {
        name: "tsecr",
        values: &[("tsecr", 1.0)],
        source: "Inigo Algorithm 8 to the letter, and the authors' patches: echoed times in place of arrival times",
    },
    Preset {
        name: "ce",
        values: &[("mark", 1.0), ("ce", 1.0)],
        source: "Inigo Algorithm 8 to the letter: CE is marked in the IP header of the next acknowledgement",
    },
];

/// Differences from the print.
pub const DEVIATIONS: &[Deviation] = &[
    deviation(
        "Algorithm 8: R = tsecr_j - tsecr_i",
        "the receiver's own clock; tsecr as printed",
        "Fig. 1 and the text of §3.1 say so: the echoed times of the print are those of the receiver's own acknowledgements, which do not show a growing queue",
    ),
    deviation(
        "Algorithm 8: return where S = 0 and R = 0",
        "the packet counts as late or not by the total of before",
        "as the authors' patches",
    ),
    deviation("Algorithm 8: late where total >= d_thresh", "and total > 0", "with d_thresh = 0 all would be late"),
    deviation(
        "Algorithm 8: bytes_total <- bytes_pkt, bytes_late <- bytes_pkt",
        "summed over the window",
        "Algorithm 9 divides the sums and resets them",
    ),
    deviation(
        "Algorithm 8: CE in the IP header of the next ACK",
        "with mark, ECN-Echo in the TCP header; ce as printed",
        "a sender takes CE on an acknowledgement without data for nothing (RFC 3168 §6.1.5), so the letter marks to no effect, which \
         is what the paper measured: \"it is having little to no effect on any sender\" (§4.1)",
    ),
    deviation("Algorithm 9: g", "1/16", "the paper prints no value; the patches'"),
    deviation(
        "§3.1: as Algorithms 4 and 5 in bytes",
        "like DCTCP it answers only windows in which a packet was late",
        "as the patches",
    ),
    deviation("-", "sub-windows of ten packets, and no window below two packets", "as the 4.2 patch has by default"),
];

/// The least window, in packets.
const FLOOR: f64 = 2.0;

/// Builds the receiver.
#[must_use]
pub fn boxed(values: &Values, acks_every: u32) -> Box<dyn Receiver> {
    Box::new(Inigo::new(values, acks_every))
}

/// Constants of a flow.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    marks: bool,
    /// Whether marks are CE on acknowledgements.
    ce: bool,
    threshold: f64,
    g: f64,
    sub_window: f64,
    initial: f64,
    resolution: Time,
    tsecr: bool,
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
struct Inigo {
    parameters: Parameters,
    echo: Accurate,
    /// The largest payload seen.
    mss: Bytes,
    rtt_min: Time,
    /// The sending and the arrival time of the packet before.
    before: Option<(Time, Time)>,
    /// In picoseconds; 0 until the first round trip if it follows the round trip.
    tick: u64,
    total: Time,
    bytes: Bytes,
    late: Bytes,
    late_since_answer: bool,
    /// Whether a packet was late since the last acknowledgement.
    ce_due: bool,
    alpha: f64,
    /// In packets.
    window: f64,
    slow_start: bool,
    /// Whether at least half of the window came in the last round.
    used: bool,
    since_answer: f64,
    round_start: Time,
}

impl Inigo {
    fn new(values: &Values, acks_every: u32) -> Self {
        let parameters = Parameters {
            marks: values.flag("mark"),
            ce: values.flag("ce") && values.flag("mark"),
            threshold: values.get("threshold"),
            g: values.get("g"),
            sub_window: values.get("sub_window"),
            initial: values.get("initial"),
            resolution: values.time("resolution"),
            tsecr: values.flag("tsecr"),
        };
        Self {
            echo: Accurate::new(acks_every),
            mss: Bytes::ZERO,
            rtt_min: Time::MAX,
            before: None,
            tick: parameters.resolution.0,
            total: Time::ZERO,
            bytes: Bytes::ZERO,
            late: Bytes::ZERO,
            late_since_answer: false,
            ce_due: false,
            alpha: 0.0,
            window: 0.0,
            slow_start: true,
            used: true,
            since_answer: 0.0,
            round_start: Time::ZERO,
            parameters,
        }
    }

    /// Algorithm 8: returns whether this packet is late.
    fn observe(&mut self, now: Time, data: &Data) -> bool {
        if let Some(answered) = data.answers {
            self.rtt_min = self.rtt_min.min(now - answered);
            self.set_tick();
        }
        if let Some(arrival) = if self.parameters.tsecr { data.answers } else { Some(now) } {
            self.add(data.sent_at, arrival);
        }
        self.rtt_min < Time::MAX && self.total > Time::ZERO && self.total / self.rtt_min >= self.parameters.threshold
    }

    /// Sets a tick that follows the round trip: the power of two between a tenth and a fifth of the smallest one. A new tick
    /// starts the sum again.
    fn set_tick(&mut self) {
        let fits = 1 << (self.rtt_min.0 / 5).max(1).ilog2();
        if self.parameters.resolution == Time::ZERO && self.tick != fits {
            self.tick = fits;
            self.before = None;
            self.total = Time::ZERO;
        }
    }

    /// Adds the relative forward delay since the packet before, in whole ticks.
    fn add(&mut self, sent: Time, received: Time) {
        let tick = self.tick.max(1);
        let before = self.before.get_or_insert((sent, received));
        let ticks = |from: Time, to: Time| (to.0 / tick).cast_signed() - (from.0 / tick).cast_signed();
        let (s, r) = (ticks(before.0, sent), ticks(before.1, received));
        // If neither clock has ticked, the next packet is compared with the same one.
        if s != 0 || r != 0 {
            *before = (sent, received);
            self.total = Time(self.total.0.saturating_add_signed((r - s) * tick.cast_signed()));
        }
    }

    /// Algorithm 9, at the first packet that was sent after the sender had heard of the start of this window.
    fn end_window(&mut self, now: Time) {
        self.update_alpha();
        self.used = 2 * self.bytes.0 >= self.mss.scale(self.window).0;
        if self.parameters.sub_window == 0.0 && !self.slow_start {
            self.answer(self.window);
        }
        self.bytes = Bytes::ZERO;
        self.late = Bytes::ZERO;
        self.round_start = now;
    }

    fn update_alpha(&mut self) {
        self.alpha = (1.0 - self.parameters.g) * self.alpha + self.parameters.g * (self.late / self.bytes);
    }

    /// Takes alpha/2 of `packets` out of the window if a packet was late since the last answer.
    fn answer(&mut self, packets: f64) {
        if self.late_since_answer {
            self.window = (self.window - packets * self.alpha / 2.0).max(FLOOR);
        }
        self.late_since_answer = false;
        self.since_answer = 0.0;
    }

    /// Algorithms 4, 5 and 7 on the receive window.
    fn steer(&mut self, data: &Data, late: bool) {
        let packets = data.payload / self.mss;
        if self.slow_start {
            if late {
                self.update_alpha();
                self.window = (self.window * (1.0 - self.alpha / 2.0)).max(FLOOR);
                self.slow_start = false;
            } else if self.used {
                self.window += packets;
            }
            return;
        }
        self.since_answer += packets;
        if self.parameters.sub_window > 0.0 && self.since_answer >= self.parameters.sub_window.min(self.window) {
            self.answer(self.since_answer);
        }
        if self.used {
            self.window += packets / self.window;
        }
    }
}

impl Receiver for Inigo {
    fn on_data(&mut self, now: Time, data: &Data) -> Reply {
        self.mss = self.mss.max(data.payload);
        let late = self.observe(now, data);
        self.bytes += data.payload;
        if late {
            self.late += data.payload;
            self.late_since_answer = true;
        }
        if self.parameters.marks {
            self.ce_due |= late;
            let echoed = data.marked || late && !self.parameters.ce;
            return self.echo.on_data(now, &Data { marked: echoed, ..*data });
        }
        if self.window == 0.0 {
            self.window = self.parameters.initial;
            self.round_start = now;
        }
        let before = self.window;
        self.steer(data, late);
        if data.answers.is_some_and(|answered| answered >= self.round_start) {
            self.end_window(now);
        }
        let mut reply = self.echo.on_data(now, data);
        if self.window < before && reply.now.is_none() {
            reply.now = Some(self.echo.on_timer(now));
        }
        reply
    }

    fn on_timer(&mut self, now: Time) -> Echo {
        self.echo.on_timer(now)
    }

    fn take_ce(&mut self) -> Option<bool> {
        self.parameters.ce.then(|| std::mem::take(&mut self.ce_due))
    }

    fn window(&self) -> Option<Bytes> {
        (!self.parameters.marks).then(|| self.mss.scale(self.window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes(1460);

    fn in_microseconds() -> Values {
        let mut values = Values::defaults(PARAMETERS);
        values.set("resolution", 1e-6).unwrap();
        values
    }

    /// One packet every 12 us, each taking `delays` more than 100 us; the sender has always heard all.
    fn run(values: &Values, delays: &[u64]) -> (Vec<Option<bool>>, f64) {
        let mut receiver = boxed(values, 1);
        let mut now = Time::ZERO;
        let marks = (0_u64..).zip(delays).map(|(n, &delay)| {
            let sent_at = Time::from_micros(1000 + 12 * n);
            let answers = Some(sent_at - Time::from_micros(100)).filter(|_| n > 0);
            now = sent_at + Time::from_micros(100 + delay);
            let data = Data { sent_at, answers, payload: MSS, in_order: true, ..Data::default() };
            receiver.on_data(now, &data).now.map(|echo| echo.marked)
        });
        let marks = marks.collect();
        (marks, receiver.window().map_or(0.0, |window| window / MSS))
    }

    #[test]
    fn growth_of_the_delay_by_a_share_of_the_round_trip_is_late() {
        let mut values = in_microseconds();
        values.set("mark", 1.0).unwrap();
        // The smallest RTT is 200 us, the threshold 34 us.
        let (marks, _) = run(&values, &[0, 0, 20, 33, 34, 60, 33, 0]);
        let marked: Vec<_> = marks.iter().map(|m| m.unwrap()).collect();
        assert_eq!(marked, [false, false, false, false, true, true, false, false]);
    }

    /// Algorithm 8 to the letter, with an acknowledgement for two packets: the fifth is late by 34 us, the seventh by 60 us.
    #[test]
    fn ce_is_on_the_next_acknowledgement_and_nothing_is_echoed() {
        let mut values = in_microseconds();
        ["mark", "ce"].iter().for_each(|flag| values.set(flag, 1.0).unwrap());
        let mut receiver = boxed(&values, 2);
        let packets = (0_u64..).zip([0, 0, 20, 33, 34, 20, 60, 0, 0, 0]);
        let seen = packets.filter_map(|(n, delay)| {
            let sent_at = Time::from_micros(1000 + 12 * n);
            let answers = Some(sent_at - Time::from_micros(100)).filter(|_| n > 0);
            let data = Data { sent_at, answers, payload: MSS, in_order: true, ..Data::default() };
            let reply = receiver.on_data(sent_at + Time::from_micros(100 + delay), &data);
            reply.now.map(|echo| (echo.marked, receiver.take_ce()))
        });
        assert_eq!(seen.collect::<Vec<_>>(), [false, false, true, true, false].map(|ce| (false, Some(ce))));
        assert_eq!(boxed(&in_microseconds(), 2).take_ce(), None);
    }

    #[test]
    fn a_delay_that_was_there_from_the_start_is_none() {
        let mut values = in_microseconds();
        values.set("mark", 1.0).unwrap();
        let (marks, _) = run(&values, &[500, 500, 100, 130, 140]);
        // The first lull is the new zero: 100 us. 40 us more is late, 30 is not (0.17 * 300 us = 51: neither).
        assert!(marks.iter().all(|m| *m == Some(false)));
    }

    #[test]
    fn the_window_doubles_until_something_is_late() {
        let values = in_microseconds();
        let (_, grown) = run(&values, &[0; 10]);
        assert!((grown - 20.0).abs() < 0.01, "{grown}");
        let mut delays = [0; 11];
        delays[10] = 50;
        let (_, cut) = run(&values, &delays);
        assert!(cut < 20.0 && cut > 19.0, "{cut}");
    }

    /// Algorithms 7 and 9 with g = 1/16: alpha/2 of ten packets are taken if one was late since the last answer; alpha moves by 1/16 of the
    /// way to a late share of 1/2; and a packet adds 1/W.
    #[test]
    fn a_window_falls_by_half_of_alpha_and_grows_by_a_packet() {
        let mut receiver =
            Inigo { slow_start: false, window: 20.0, mss: MSS, alpha: 0.5, ..Inigo::new(&in_microseconds(), 1) };
        receiver.late_since_answer = true;
        receiver.answer(10.0);
        assert_eq!(receiver.window, 20.0 - 10.0 * 0.25);
        receiver.answer(10.0);
        assert_eq!(receiver.window, 17.5);
        (receiver.bytes, receiver.late) = (MSS * 8, MSS * 4);
        receiver.alpha = 0.25;
        receiver.update_alpha();
        assert_eq!(receiver.alpha, 0.25 * 15.0 / 16.0 + 0.5 / 16.0);
        receiver.steer(&Data { payload: MSS, ..Data::default() }, false);
        assert_eq!(receiver.window, 17.5 + 1.0 / 17.5);
    }

    /// Algorithm 8, max(0, `D_total`): a delay that falls by 200 us and grows by 40 is late by 40, not early by 160.
    #[test]
    fn the_total_is_never_below_zero() {
        let mut values = in_microseconds();
        values.set("mark", 1.0).unwrap();
        let (marks, _) = run(&values, &[200, 200, 0, 40]);
        // The smallest RTT of the last packet is 200 us: 40 of it are more than 0.17.
        assert_eq!(marks, [Some(false), Some(false), Some(false), Some(true)]);
    }

    #[test]
    fn echoed_times_do_not_show_the_forward_delay() {
        let mut values = in_microseconds();
        values.set("mark", 1.0).unwrap();
        values.set("tsecr", 1.0).unwrap();
        let (marks, _) = run(&values, &[0, 0, 20, 33, 34, 60, 90, 200]);
        assert!(marks[2..].iter().all(|m| *m == Some(false)), "{marks:?}");
    }

    #[test]
    fn a_scaled_tick_is_between_a_tenth_and_a_fifth_of_the_smallest_round_trip() {
        let mut values = Values::defaults(PARAMETERS);
        values.set("mark", 1.0).unwrap();
        values.set("resolution", 0.0).unwrap();
        // 200 us / 5 is 40 us, 2^25 ps are 33.55 us. The first RTT comes with the second packet, which leaves in tick 30 and arrives
        // in tick 33 (1012 and 1112 us). Then 1024 and 1158 us are ticks 30 and 34, 1036 and 1183 us 30 and 35: growth of one tick
        // and of two, where 0.17 of 200 us, 34 us, are late.
        let (marks, _) = run(&values, &[0, 0, 34, 47]);
        assert_eq!(marks, [Some(false), Some(false), Some(false), Some(true)]);
    }
}
