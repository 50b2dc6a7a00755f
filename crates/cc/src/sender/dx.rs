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
//! | the paper | here |
//! |---|---|
//! | §III, RTT = (t4 - t1) - (t3 - t2), one-way delay, base delay at the smallest RTT | same ([`crate::delay`]) |
//! | eq. 1, Q = 0: W + 1 once a round trip | same, if the window limited the flow in this round |
//! | eq. 1, Q > 0: W (1 - Q/V) | same, as W - (W - 1) Q/R: eq. 8 put in, which has no division by zero at W = 1 |
//! | eq. 2 to 7, derivation of V | not computed; eq. 8 is their result |
//! | eq. 8, W* is the previous window | same: the window of the round whose delays are averaged |
//! | §IV-B, a timeout leaves the window | same, and so does every loss |
//! | §V-B, no decrease while Q < headroom | same; the window grows instead, on which the paper is silent |
//! | §V-B, Q is the average over a round trip | differs: delays that a cut has answered are left out (below) |
//! | - | slow start as in TCP, ended by the first round with Q above the headroom; no window below a packet |
//!
//! The equations take all flows to act at once. They do not, so after a cut the delays of packets sent less than a round
//! trip later show a queue that this cut, and those of the other flows, have already answered. With them ten flows at
//! 10 Gbps and 200 us use .984 of the link, without them .997; the paper says .999. An independent simulation
//! gives .983 and .999 (tests/independent/dx.py).
//!
//! A window of 5.7 packets is 6 in seven rounds of ten and 5 in the others, by a random draw in each round. Truncated
//! instead, the fractions of flows in step add up to an idle link: thirty flows then use .983 of it, and .995 like this. Rounding the
//! window itself freezes it, since small cuts round to none.
//!
//! Flows that join quickly can take a standing queue for their base delay and keep it: docs/windows.md has the condition.

use crate::delay::Base;
use crate::event::{Ack, Loss};
use crate::parameter::{Parameter, Preset, Values, time};
use crate::rng::Rng;
use crate::round::Round;
use crate::sender::{Decision, Path, Sender};
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
];

/// Headrooms that public ns-2 scripts use at 10 Gbps; the paper names none for its simulations.
pub const PRESETS: &[Preset] = &[
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

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "Acknowledgements that ride on data (§VI-C4): each is a frame of its own, and takes the room of one where data goes \
     both ways.",
    "A one-way delay is not corrected for the size of its packet, which the paper does not ask for: the one short packet of a \
     flow is its last, after which the flow decides nothing.",
];

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(Dx {
        headroom: values.time("headroom"),
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
        self.limited |= ack.window_limited;
        if mutated!("dx-answered", ack.sent_at >= self.answered_until, true) {
            self.delay_sum += u128::from(ack.one_way_delay.0) * u128::from(ack.samples);
            self.samples += ack.samples;
        }
    }

    /// Equations 1 and 8.
    fn update_window(&mut self, now: Time) {
        let w = self.window.packets;
        if self.queueing_delay > self.headroom {
            let cut = mutated!("dx-v", w - 1.0, w) * (self.queueing_delay / self.base.rtt);
            let cut = mutated!("dx-cut", cut, cut / 2.0);
            self.window.cut_to(w - cut, 1.0);
            self.answered_until = now + self.base.rtt;
        } else if self.limited && !self.window.slow_start() {
            self.window.packets += mutated!("dx-increase", 1.0, 0.5);
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
    fn on_loss(&mut self, _now: Time, loss: &Loss) {
        mutated!("dx-loss", (), self.window.halve(loss.in_flight));
    }

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
