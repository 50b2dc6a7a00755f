//! DX in integers: the twin of `bpf/dx_core.h`, and [`crate::sender::dx`](crate::catalog) rounded.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | CWND, W | `window` | window in 65536ths of a packet |
//! | Q | `queueing_ns` | mean one-way queueing delay of the round |
//! | R | `base_rtt_ns` | round trip without queueing |
//! | headroom | `headroom_ns` | delay taken as none |
//!
//! Source: Lee et al., IEEE/ACM ToN 25(1), 2017, eq. 1 and 8, §III, §V-B.
//!
//! Differs: a peer without stamps is common on a real network. Until the first stamp comes the window is Reno's.

use super::{Ack, Loss, PACKET, WINDOW_MOST, Window, round_ends};
use crate::draws::Draws;
use crate::event::LossKind;
use crate::parameter::Values;

/// No stamp has come yet.
pub const NO_RTT: u32 = u32::MAX;

/// Parameters of the catalog, in fixed point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Queueing delay that does not count as congestion.
    pub headroom_ns: u32,
}

impl Params {
    /// From the values of the catalog's row.
    #[must_use]
    pub fn new(values: &Values) -> Self {
        Self { headroom_ns: (values.get("headroom") * 1e9 + 0.5) as u32 }
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dx {
    /// Its window.
    pub window: Window,
    /// Start of the round under way.
    pub round_us: u64,
    /// The delays of packets sent before this have been answered.
    pub answered_us: u64,
    /// Sum of the round's one-way delays over `reference`.
    pub delay_sum: i64,
    /// The round's first one-way delay.
    pub reference: u32,
    /// Packets in that sum.
    pub samples: u32,
    /// Round trip without queueing; [`NO_RTT`] before the first stamp.
    pub base_rtt_ns: u32,
    /// One-way delay at that time.
    pub base_one_way_ns: u32,
    /// Of the last whole round.
    pub queueing_ns: u32,
    /// Whether the window held the flow back in this round.
    pub limited: bool,
    /// What the fraction of the window must reach this round to count as a packet, taken from one.
    pub dither: u32,
    draws: Draws,
}

impl Dx {
    /// A new flow.
    #[must_use]
    pub fn new(initial_window: u32, seed: u64) -> Self {
        Self {
            window: Window::initial(initial_window),
            round_us: 0,
            answered_us: 0,
            delay_sum: 0,
            reference: 0,
            samples: 0,
            base_rtt_ns: NO_RTT,
            base_one_way_ns: 0,
            queueing_ns: 0,
            limited: false,
            dither: 0,
            draws: Draws::new(seed, 0),
        }
    }

    /// Whole packets that may be in flight.
    #[must_use]
    pub fn packets(&self) -> u32 {
        ((self.window.size + u64::from(self.dither)) / PACKET).max(1) as u32
    }

    fn stamped(&self) -> bool {
        self.base_rtt_ns != NO_RTT
    }

    fn observe(&mut self, ack: &Ack) {
        self.limited |= ack.window_limited;
        if ack.samples == 0 {
            return;
        }
        if ack.rtt_ns <= self.base_rtt_ns {
            self.base_rtt_ns = ack.rtt_ns;
            self.base_one_way_ns = ack.one_way_ns;
        }
        if ack.sent_us < self.answered_us {
            return;
        }
        if self.samples == 0 {
            self.reference = ack.one_way_ns;
        }
        self.delay_sum += difference(ack.one_way_ns, self.reference) * i64::from(ack.samples);
        self.samples += ack.samples;
    }

    /// Equations 1 and 8.
    fn update_window(&mut self, params: &Params, now_us: u64) {
        if self.queueing_ns > params.headroom_ns {
            let excess = self.window.size - PACKET;
            let cut = if self.queueing_ns < self.base_rtt_ns {
                excess * u64::from(self.queueing_ns) / u64::from(self.base_rtt_ns)
            } else {
                excess
            };
            self.window.cut_to(self.window.size - cut, PACKET);
            self.answered_us = now_us + u64::from(self.base_rtt_ns / 1000);
        } else if self.limited && !self.window.slow_start() {
            self.window.size = (self.window.size + PACKET).min(WINDOW_MOST);
        }
    }

    fn end_round(&mut self, params: &Params, now_us: u64) {
        if self.samples == 0 {
            return;
        }
        let samples = i64::from(self.samples);
        let over = difference(self.reference, self.base_one_way_ns) * samples + self.delay_sum;
        self.queueing_ns = u32::try_from(over.max(0) / samples).unwrap_or(u32::MAX);
        self.update_window(params, now_us);
        self.delay_sum = 0;
        self.samples = 0;
        self.limited = false;
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, params: &Params, ack: &Ack) {
        if self.window.slow_start() || !self.stamped() {
            self.window.grow(ack);
        }
        self.observe(ack);
        if round_ends(&mut self.round_us, ack) {
            self.end_round(params, ack.now_us);
            self.dither = (self.draws.bits() >> 48) as u32;
        }
    }

    /// A loss without queueing delay is not congestion (§IV-B); without stamps it is all there is to go by.
    pub fn on_loss(&mut self, loss: &Loss) {
        match loss.kind {
            _ if self.stamped() => {}
            LossKind::FastRetransmit => self.window.halve(loss.in_flight),
            LossKind::Timeout => self.window.collapse(loss.in_flight),
        }
    }
}

/// How much later `a` is than `b`, both modulo 2^32.
fn difference(a: u32, b: u32) -> i64 {
    i64::from(a.wrapping_sub(b).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of `tests/scripts/dx.txt`, with a clock at the receiver that wraps in between:
    /// 40 - 39 * 20/200 = 36.1 packets.
    #[test]
    fn the_clocks_need_not_agree() {
        let params = Params { headroom_ns: 0 };
        let mut flow = Dx::new(10, 1);
        let empty = 0_u32.wrapping_sub(5_000);
        let ack = |now_us, sent_us, late: u32, acked| Ack {
            now_us,
            sent_us,
            acked,
            rtt_ns: 200_000 + late,
            one_way_ns: empty.wrapping_add(late),
            samples: 1,
            window_limited: true,
            ..Ack::default()
        };
        flow.on_ack(&params, &ack(200, 0, 0, 10));
        assert_eq!(flow.window.packets(), 20);
        flow.on_ack(&params, &ack(420, 200, 20_000, 20));
        assert_eq!(flow.queueing_ns, 20_000);
        assert_eq!(flow.window.size, 40 * PACKET - 39 * PACKET / 10);
    }
}
