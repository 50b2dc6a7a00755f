//! DX: once a round trip adds a packet if there was no queueing delay, and otherwise takes out the packets that
//! the delay shows.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | CWND, W | `window.packets` | window in packets |
//! | Q | `queueing_delay` | mean one-way queueing delay of the round |
//! | R | `base.rtt` | round trip without queueing ([`crate::delay`]) |
//! | V | R W / (W - 1) | eq. 8: the coefficient that accounts for the number of flows |
//! | headroom | `headroom` | queueing delay that does not count as congestion |
//!
//! Source: Lee et al., IEEE/ACM ToN 25(1), 2017, §III, §IV-B (eq. 1 to 8) and §V-B.
//!
//! Equations 1 to 8 are as printed: eq. 1 with Q > 0 stands here as W - (W - 1) Q/R, which is W (1 - Q/V) with V of eq. 8, without a
//! division by zero at W = 1. `DEVIATIONS` has what differs.
//!
//! Flows that join quickly can take a standing queue for their base delay and keep it: docs/windows.md has the condition.

use crate::delay::Base;
use crate::deviation::{Deviation, deviation};
use crate::event::{Ack, Loss};
use crate::parameter::{Parameter, Preset, Values, flag, time};
use crate::rng::Rng;
use crate::round::Round;
use crate::sender::{Decision, Path, Sender};
use crate::traits::{LeastRtt, Traits};
use crate::units::{Bytes, Time};
use crate::window::Window;

/// The first is the paper's.
pub const PARAMETERS: &[Parameter] = &[
    time("headroom", "headroom", 0.0, 0.0..=1.0)
        .meaning("queueing delay that does not count as congestion")
        .source("ToN 2017 §V-B; 0 with ideal timestamps"),
    time("tolerance", "-", 0.0, 0.0..=1.0)
        .meaning("RTTs this close to the smallest count as the smallest seen again, which renews the base delay")
        .source("ours: 0 with ideal timestamps; a standard deviation or two with noisy ones"),
    flag("as_printed", "-", false)
        .meaning("the average of a round has all its delays, and a window grows whether or not it limited its flow")
        .source("ToN 2017 §V-B and eq. 1; off: the paper's figures have a utilisation that it does not reach"),
];

/// The letter of the paper, and headrooms that public ns-2 scripts use at 10 Gbps; the paper names none for its simulations.
pub const PRESETS: &[Preset] = &[
    Preset { name: "as-printed", values: &[("as_printed", 1.0)], source: "ToN 2017 eq. 1 and §V-B to the letter" },
    Preset {
        name: "ns-2",
        values: &[("headroom", 2.401e-6)],
        source: "ExpressPass's public ns-2 scripts (kaist-ina/ns2-xpass), one hop: two packets",
    },
    Preset {
        name: "ns-2-multi-hop",
        values: &[("headroom", 7.201e-6)],
        source: "the same scripts, several hops: two packets at each of three",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_delays().least_rtt(LeastRtt::Always);

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "A one-way delay is not corrected for the size of its packet, which the paper does not ask for: the one short packet of a \
     flow is its last, after which the flow decides nothing.",
];

/// Differences from the print.
pub const DEVIATIONS: &[Deviation] = &[
    deviation(
        "§V-B: Q is the average queueing delay of a round trip",
        "delays of packets that left before a cut, or less than a base round trip after it, are left out; as_printed takes them all",
        "the equations take all flows to act at once, but they do not: such delays show a queue that this cut, and those of the other flows, \
         have already answered. Ten flows at 10 Gbps and 200 us use .984 of the link with them and .997 without; an independent \
         simulation gives .983 and .999. The figures of the paper have .999, which as_printed does not reach",
    ),
    deviation(
        "eq. 1, Q = 0: W + 1",
        "only if the window limited the flow in this round; as_printed always",
        "the window of a flow that its application limits would grow without bound; the long flows of the figures are always limited",
    ),
    deviation(
        "§V-B: no decrease while Q < headroom",
        "the window grows while Q is at most the headroom",
        "the paper does not say whether it grows or stays",
    ),
    deviation(
        "§IV-B: a timeout leaves the window",
        "every loss leaves it",
        "the reason of the paper, a loss without queueing delay is no congestion, holds for any loss",
    ),
    deviation(
        "§III: the base delay is that of the smallest RTT, new or seen again",
        "RTTs within `tolerance` of the smallest count as the smallest",
        "with noise the exact minimum occurs once; 0, as printed, by default",
    ),
    deviation(
        "§III: a token bucket drains at most ten packets a poll",
        "data leaves as soon as the link is free; hosts.poll polls",
        "hosts are ideal unless a scenario says otherwise; the simulations of the paper have no polls",
    ),
    deviation(
        "§V-B: a TCP option of 14 B",
        "headers of network.header; hosts.option = \"14B\" takes the room, also in acknowledgements",
        "the same: ns-2 has no options",
    ),
    deviation(
        "§VI-C4: acknowledgements are often piggybacked on data",
        "each is a frame of its own; hosts.piggyback lets them ride",
        "the flows of its figures go one way",
    ),
    deviation(
        "-",
        "slow start as in TCP, which the first round with Q above the headroom ends; no window below a packet",
        "the paper does not say how a window begins",
    ),
    deviation(
        "-",
        "a window of 5.7 packets is 6 in seven rounds of ten and 5 in the others, by a random draw in each round",
        "truncated, the fractions of flows in step add up to an idle link: thirty flows use .983 of it, and .995 like this. Rounding the \
         window itself freezes it, since small cuts round to none",
    ),
];

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(Dx {
        headroom: values.time("headroom"),
        as_printed: values.flag("as_printed"),
        window: Window::initial(path),
        base: Base::new(values.time("tolerance")),
        delay_sum: 0,
        samples: 0,
        limited: false,
        queueing_delay: Time::ZERO,
        round: Round::default(),
        answered_until: Time::ZERO,
        mss: path.mss,
        dither: 0.0,
        draws: Rng::new(path.seed, 0),
    })
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
struct Dx {
    headroom: Time,
    as_printed: bool,
    window: Window,
    base: Base,
    /// Sum of the round's one-way delays, in picoseconds.
    delay_sum: u128,
    samples: u32,
    /// Whether the window limited the flow at any time in this round.
    limited: bool,
    /// Of the last whole round, for [`Sender::probe`].
    queueing_delay: Time,
    round: Round,
    /// The delays of packets sent before this have been answered.
    answered_until: Time,
    mss: Bytes,
    /// Added to the window of this round before it is truncated: uniform in [0, 1).
    dither: f64,
    draws: Rng,
}

impl Dx {
    fn observe(&mut self, ack: &Ack) {
        self.base.observe(ack.rtt, ack.one_way_delay);
        self.limited |= ack.window_limited || self.as_printed;
        if ack.sent_at >= self.answered_until || self.as_printed {
            self.delay_sum += u128::from(ack.one_way_delay.0) * u128::from(ack.samples);
            self.samples += ack.samples;
        }
    }

    /// Equations 1 and 8.
    fn update_window(&mut self, now: Time) {
        let w = self.window.packets;
        if self.queueing_delay > self.headroom {
            self.window.cut_to(w - (w - 1.0) * (self.queueing_delay / self.base.rtt), 1.0);
            self.answered_until = now + self.base.rtt;
        } else if self.limited && !self.window.slow_start() {
            self.window.packets += 1.0;
        }
    }

    fn end_round(&mut self, now: Time) {
        if self.samples == 0 {
            return;
        }
        let mean = Time((self.delay_sum / u128::from(self.samples)) as u64);
        self.queueing_delay = self.base.queueing(mean);
        self.update_window(now);
        self.delay_sum = 0;
        self.samples = 0;
        self.limited = false;
    }
}

impl Sender for Dx {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if self.window.slow_start() {
            self.window.grow(ack);
        }
        self.observe(ack);
        if self.round.ends(now, ack) {
            self.end_round(now);
            self.dither = self.draws.uniform();
        }
    }

    /// A loss without queueing delay is not congestion (§IV-B): the window stays.
    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn decision(&self) -> Decision {
        Decision::window(self.mss.scale((self.window.packets + self.dither).floor()))
    }

    fn has_drawn(&self) -> bool {
        self.draws.has_drawn()
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("exact_window_pkt", self.window.packets);
        if self.base.known() {
            record("queueing_delay_us", self.queueing_delay.as_micros());
            record("base_rtt_us", self.base.rtt.as_micros());
        }
    }
}
