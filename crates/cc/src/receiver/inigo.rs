//! Sees congestion at the receiver, in one-way delays that grow from packet to packet, and answers for the
//! sender: it marks as a switch would, or shrinks the window it advertises.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | S, R | `sent`, `received` | difference of two packets' sending and of their arrival times |
//! | `D_total` | `total` | sum of R - S, never below zero |
//! | `d_thresh` | `threshold` * `rtt_min` | sum from which packets are late |
//! | `alpha_RFD` | `alpha` | moving average of the late bytes' share |
//! | `rcv_cwnd` | `window` | advertised window in bytes |
//! | `W_sub` | `sub_window` | packets between two answers; 0: one a window |
//!
//! Source: TCP Inigo §3, Algorithms 8 and 9; what they leave open from the authors' kernel patches (4.2, 4.3).
//!
//! Differs where the print is wrong: arrival times are the receiver's own clock; the print and the patches take the difference
//! of the times that the sender *echoes*, which are those of the receiver's earlier acknowledgements (`tsecr` brings that
//! back). Bytes are summed over a window (the print assigns). Like DCTCP, it answers only windows in which something was late.

use super::ecn_echo::Accurate;
use super::{Data, Echo, Receiver, Reply};
use crate::parameter::{Parameter, Unit, Values};
use crate::units::{Bytes, Time};

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "mark",
        symbol: "RCV_ECN",
        unit: Unit::Flag,
        default: 0.0,
        min: 0.0,
        max: 1.0,
        meaning: "mark for a sender that takes marks, instead of managing the receive window",
        source: "Inigo §3",
    },
    Parameter {
        name: "threshold",
        symbol: "d_thresh",
        unit: Unit::One,
        default: 0.17,
        min: 0.0,
        max: 100.0,
        meaning: "growth of the one-way delay that makes packets late, as a share of the smallest RTT",
        source: "Inigo eq. 3: 0.17",
    },
    Parameter {
        name: "g",
        symbol: "g",
        unit: Unit::One,
        default: 0.0625,
        min: 1e-6,
        max: 1.0,
        meaning: "weight of the newest window in alpha",
        source: "the patches: 1/16",
    },
    Parameter {
        name: "sub_window",
        symbol: "W_sub",
        unit: Unit::Packets,
        default: 10.0,
        min: 0.0,
        max: 512.0,
        meaning: "packets between two answers; 0: one a window",
        source: "the 4.2 patch, rcv_cc_fairness: 10",
    },
    Parameter {
        name: "initial",
        symbol: "-",
        unit: Unit::Packets,
        default: 10.0,
        min: 2.0,
        max: 1e6,
        meaning: "window before anything arrived",
        source: "Linux: 10",
    },
    Parameter {
        name: "resolution",
        symbol: "-",
        unit: Unit::Time,
        default: 1e-6,
        min: 1e-12,
        max: 1.0,
        meaning: "tick of the timestamps",
        source: "our choice; the patches live with Linux's 1 ms (RFC 7323)",
    },
    Parameter {
        name: "tsecr",
        symbol: "-",
        unit: Unit::Flag,
        default: 0.0,
        min: 0.0,
        max: 1.0,
        meaning: "take echoed times for arrival times, as printed",
        source: "Inigo Alg. 8",
    },
];

/// Windows do not go below two packets.
const FLOOR: f64 = 2.0;

/// Builds the receiver.
#[must_use]
pub fn boxed(values: &Values, acks_every: u32) -> Box<dyn Receiver> {
    Box::new(Inigo {
        echo: Accurate::new(acks_every),
        marks: values.flag("mark"),
        threshold: values.get("threshold"),
        g: values.get("g"),
        sub_window: values.get("sub_window"),
        initial: values.get("initial"),
        resolution: values.time("resolution").max(Time(1)),
        tsecr: values.flag("tsecr"),
        mss: Bytes::ZERO,
        rtt_min: Time::MAX,
        before: None,
        total: 0,
        bytes: Bytes::ZERO,
        late: Bytes::ZERO,
        late_since_answer: false,
        alpha: 0.0,
        window: 0.0,
        slow_start: true,
        used: true,
        since_answer: 0.0,
        round_start: Time::ZERO,
    })
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
struct Inigo {
    echo: Accurate,
    marks: bool,
    threshold: f64,
    g: f64,
    sub_window: f64,
    initial: f64,
    resolution: Time,
    tsecr: bool,
    /// The largest payload seen.
    mss: Bytes,
    rtt_min: Time,
    /// Ticks of the sending and the arrival time of the packet before.
    before: Option<(u64, u64)>,
    /// In ticks.
    total: u64,
    bytes: Bytes,
    late: Bytes,
    late_since_answer: bool,
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
    /// Algorithm 8; whether this packet is late.
    fn observe(&mut self, now: Time, data: &Data) -> bool {
        if let Some(answered) = data.answers {
            self.rtt_min = self.rtt_min.min(now - answered);
        }
        let tick = |time: Time| time.0 / self.resolution.0;
        if let Some(arrival) = if self.tsecr { data.answers } else { Some(now) } {
            self.add(tick(data.sent_at), tick(arrival));
        }
        self.rtt_min < Time::MAX && self.total > 0 && (self.resolution * self.total) / self.rtt_min >= self.threshold
    }

    /// The relative forward delay from the packet before, in ticks.
    fn add(&mut self, sent: u64, received: u64) {
        let before = self.before.get_or_insert((sent, received));
        let (s, r) = (sent.cast_signed() - before.0.cast_signed(), received.cast_signed() - before.1.cast_signed());
        // Where neither clock has ticked, the next packet is compared with the same one.
        if s != 0 || r != 0 {
            *before = (sent, received);
            self.total = self.total.saturating_add_signed(r - s);
        }
    }

    /// Algorithm 9, when the sender has heard of this window's beginning.
    fn end_window(&mut self, now: Time) {
        self.update_alpha();
        self.used = 2 * self.bytes.0 >= self.mss.scale(self.window).0;
        if self.sub_window == 0.0 && !self.slow_start {
            self.answer(self.window);
        }
        self.bytes = Bytes::ZERO;
        self.late = Bytes::ZERO;
        self.round_start = now;
    }

    fn update_alpha(&mut self) {
        self.alpha = (1.0 - self.g) * self.alpha + self.g * (self.late / self.bytes);
    }

    fn answer(&mut self, packets: f64) {
        if self.late_since_answer {
            self.window = (self.window - packets * self.alpha / 2.0).max(FLOOR);
        }
        self.late_since_answer = false;
        self.since_answer = 0.0;
    }

    /// Algorithms 4, 5 and 7 in the receive window.
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
        if self.sub_window > 0.0 && self.since_answer >= self.sub_window.min(self.window) {
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
        if self.marks {
            return self.echo.on_data(now, &Data { marked: data.marked || late, ..*data });
        }
        if self.window == 0.0 {
            self.window = self.initial;
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

    fn window(&self) -> Option<Bytes> {
        (!self.marks).then(|| self.mss.scale(self.window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes(1460);

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
        let mut values = Values::defaults(PARAMETERS);
        values.set("mark", 1.0).unwrap();
        // The smallest RTT is 200 us, the threshold 34 us.
        let (marks, _) = run(&values, &[0, 0, 20, 33, 34, 60, 33, 0]);
        let marked: Vec<_> = marks.iter().map(|m| m.unwrap()).collect();
        assert_eq!(marked, [false, false, false, false, true, true, false, false]);
    }

    #[test]
    fn a_delay_that_was_there_from_the_start_is_none() {
        let mut values = Values::defaults(PARAMETERS);
        values.set("mark", 1.0).unwrap();
        let (marks, _) = run(&values, &[500, 500, 100, 130, 140]);
        // The first lull is the new zero: 100 us. 40 us more is late, 30 is not (0.17 * 300 us = 51: neither).
        assert!(marks.iter().all(|m| *m == Some(false)));
    }

    #[test]
    fn the_window_doubles_until_something_is_late() {
        let values = Values::defaults(PARAMETERS);
        let (_, grown) = run(&values, &[0; 10]);
        assert!((grown - 20.0).abs() < 0.01, "{grown}");
        let mut delays = [0; 11];
        delays[10] = 50;
        let (_, cut) = run(&values, &delays);
        assert!(cut < 20.0 && cut > 19.0, "{cut}");
    }

    #[test]
    fn echoed_times_do_not_show_the_forward_delay() {
        let mut values = Values::defaults(PARAMETERS);
        values.set("mark", 1.0).unwrap();
        values.set("tsecr", 1.0).unwrap();
        let (marks, _) = run(&values, &[0, 0, 20, 33, 34, 60, 90, 200]);
        assert!(marks[2..].iter().all(|m| *m == Some(false)), "{marks:?}");
    }
}
