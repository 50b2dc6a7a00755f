//! DCTCP in integers: the twin of `bpf/dctcp_core.h`, and [`crate::sender::dctcp`](crate::catalog) rounded.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | alpha | `alpha` | moving average of the marked share, in 2^20ths |
//! | g | `g` | weight of the newest round in it, in 2^20ths |
//! | M, F | `marked / acked` | marked share of one window of data |
//!
//! Source: RFC 8257 §3.3; Alizadeh et al., SIGCOMM 2010 eq. 1 and 2. Linux has 1024ths, in which alpha cannot
//! follow a gain below 1/1024.

use super::{Ack, Loss, PACKET, Window, fixed, round_ends};
use crate::event::LossKind;
use crate::parameter::Values;

const SHARE_BITS: u32 = 20;

/// Parameters of the catalog, in fixed point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Weight of the newest round.
    pub g: u32,
    /// Of a new flow.
    pub alpha: u32,
    /// No cut goes below it.
    pub min_window: u64,
}

impl Params {
    /// From the values of the catalog's row.
    #[must_use]
    pub fn new(values: &Values) -> Self {
        Self {
            g: fixed(values.get("g"), SHARE_BITS),
            alpha: fixed(values.get("alpha"), SHARE_BITS),
            min_window: (values.get("min_window") * PACKET as f64) as u64,
        }
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dctcp {
    /// Its window.
    pub window: Window,
    /// Start of the round under way.
    pub round_us: u64,
    /// Start of the round that follows a cut, as long as that round lasts.
    pub reduced_us: Option<u64>,
    /// Moving average of the marked share.
    pub alpha: u32,
    /// Packets of this round.
    pub acked: u32,
    /// The marked ones of them.
    pub marked: u32,
}

impl Dctcp {
    /// A new flow.
    #[must_use]
    pub fn new(params: &Params, initial_window: u32) -> Self {
        Self {
            window: Window::initial(initial_window),
            round_us: 0,
            reduced_us: None,
            alpha: params.alpha,
            acked: 0,
            marked: 0,
        }
    }

    fn update_alpha(&mut self, params: &Params) {
        let share = (u64::from(self.marked) << SHARE_BITS).checked_div(u64::from(self.acked)).unwrap_or(0);
        let kept = ((1 << SHARE_BITS) - u64::from(params.g)) * u64::from(self.alpha);
        self.alpha = ((kept + u64::from(params.g) * share) >> SHARE_BITS) as u32;
        self.acked = 0;
        self.marked = 0;
    }

    /// Equation 2 in whole packets.
    fn reduce(&mut self, params: &Params) {
        let packets = self.window.size / PACKET;
        let cut = (packets * u64::from(self.alpha)) >> (SHARE_BITS + 1);
        self.window.cut_to((packets - cut) * PACKET, params.min_window);
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, params: &Params, ack: &Ack) {
        self.acked = self.acked.wrapping_add(ack.acked);
        self.marked = self.marked.wrapping_add(ack.marked);
        if round_ends(&mut self.round_us, ack) {
            self.update_alpha(params);
        }
        if self.reduced_us.is_some_and(|at| ack.sent_us < at) {
            return;
        }
        self.reduced_us = None;
        if ack.marked > 0 {
            self.reduce(params);
            self.reduced_us = Some(ack.now_us);
        } else {
            self.window.grow(ack);
        }
    }

    /// A loss was noticed.
    pub fn on_loss(&mut self, params: &Params, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit => self.window.cut_to(self.window.size / 2, params.min_window),
            LossKind::Timeout => self.window.collapse(loss.in_flight),
        }
        self.reduced_us = Some(loss.now_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::find;

    /// g = 1/16, alpha(0) = 1: a round with a quarter marked gives 15/16 + 1/64 = 0.953125; of 40 packets
    /// floor(40 * 0.953125 / 2) = 19 go.
    #[test]
    fn a_quarter_marked() {
        let params = Params::new(&Values::defaults(find("dctcp").unwrap().parameters));
        let mut flow = Dctcp::new(&params, 40);
        let ack = Ack { now_us: 100, sent_us: 0, acked: 8, marked: 2, window_limited: true, ..Ack::default() };
        flow.on_ack(&params, &ack);
        assert_eq!(f64::from(flow.alpha) / f64::from(1 << SHARE_BITS), 0.953_125);
        assert_eq!(flow.window.packets(), 21);
    }
}
