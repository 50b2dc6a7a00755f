//! TCP Inigo's sender in integers: the twin of `bpf/inigo_core.h`, and [`crate::sender::inigo`](crate::catalog) rounded.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | `RTT_min` | `base_rtt_us` | smallest RTT, raised while dilated |
//! | `RTT_late/observed` | `late`, `observed` | round trips of this window |
//! | `alpha_RTT`, `alpha_DCTCP` | `alpha`, `marked_alpha` | moving averages, in 2^20ths |
//! | `W_sub` | `sub_window` | packets between two answers |
//!
//! Source: TCP Inigo, Algorithms 1 to 7.

use super::{Ack, Loss, PACKET, WINDOW_MOST, Window, fixed, round_ends};
use crate::event::LossKind;
use crate::parameter::Values;

const SHARE_BITS: u32 = 20;
const FLOOR: u64 = 2 * PACKET;
/// 0.9.
const MAJOR: u32 = 943_718;
const DILATE_AFTER: u32 = 3;
const DILATE_UNTIL: u32 = 7;
/// None has been seen.
pub const NO_RTT: u32 = u32::MAX;

/// Parameters of the catalog, in fixed point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// An RTT is late that exceeds the smallest by this share of it, in 65536ths.
    pub threshold: u32,
    /// Weight of the newest window.
    pub g: u32,
    /// Of a new flow.
    pub alpha: u32,
    /// Eq. 5: below it an answer would be less than a packet.
    pub least_alpha: u32,
    /// Packets between two answers; 0: one a window.
    pub sub_window: u32,
    /// Growth a window, in 65536ths of a packet.
    pub increase: u32,
    /// Round trips observed before slow start may end.
    pub samples: u32,
    /// Whether the smallest RTT may be raised.
    pub dilation: bool,
}

impl Params {
    /// From the values of the catalog's row.
    ///
    /// # Errors
    /// A sentence where they ask for what the integers do not have.
    pub fn new(values: &Values) -> Result<Self, String> {
        if let Some(flag) = ["published", "ecn"].iter().find(|flag| values.flag(flag)) {
            return Err(format!("inigo in integers has no {flag}"));
        }
        let sub_window = values.get("sub_window") as u32;
        let least = 2048_u32.div_ceil(sub_window.max(1));
        Ok(Self {
            threshold: fixed(values.get("threshold"), 16),
            g: fixed(values.get("g"), SHARE_BITS),
            alpha: fixed(values.get("alpha"), SHARE_BITS),
            least_alpha: if sub_window > 1 { (least + least % 2) << (SHARE_BITS - 10) } else { 0 },
            sub_window,
            increase: fixed(values.get("increase"), 16),
            samples: values.get("samples") as u32,
            dilation: values.flag("dilation"),
        })
    }

    /// That much, and the threshold's share of `base`.
    fn above(&self, more: u32, base: u32) -> u32 {
        let sum = u64::from(more) + ((u64::from(base) * u64::from(self.threshold)) >> 16);
        u32::try_from(sum).unwrap_or(NO_RTT)
    }

    fn average(&self, alpha: u32, part: u32, whole: u32) -> u32 {
        let share = (u64::from(part) << SHARE_BITS) / u64::from(whole);
        let kept = ((1 << SHARE_BITS) - u64::from(self.g)) * u64::from(alpha);
        ((kept + u64::from(self.g) * share) >> SHARE_BITS) as u32
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inigo {
    /// Its window.
    pub window: Window,
    /// Start of the round under way.
    pub round_us: u64,
    /// Acknowledged since the last answer, in 65536ths of a packet.
    pub since_answer: u64,
    /// Smallest RTT, raised while dilated.
    pub base_rtt_us: u32,
    /// Moving average; [`NO_RTT`] before the first.
    pub smoothed_rtt_us: u32,
    /// Round trips of this window.
    pub observed: u32,
    /// The late ones of them.
    pub late: u32,
    /// Moving average of the late share.
    pub alpha: u32,
    /// Packets of this window.
    pub acked: u32,
    /// The marked ones of them.
    pub marked: u32,
    /// Moving average of the marked share.
    pub marked_alpha: u32,
    /// Windows of heavy congestion counted.
    pub dilated: u32,
    /// Smallest RTT from before the dilation.
    pub undilated_us: u32,
}

impl Inigo {
    /// A new flow.
    #[must_use]
    pub fn new(params: &Params, initial_window: u32) -> Self {
        Self {
            window: Window::initial(initial_window),
            round_us: 0,
            since_answer: 0,
            base_rtt_us: NO_RTT,
            smoothed_rtt_us: NO_RTT,
            observed: 0,
            late: 0,
            alpha: params.alpha,
            acked: 0,
            marked: 0,
            marked_alpha: 0,
            dilated: 0,
            undilated_us: 0,
        }
    }

    fn congestion(&self) -> u32 {
        self.alpha.max(self.marked_alpha)
    }

    /// Algorithm 1.
    fn observe(&mut self, params: &Params, ack: &Ack) {
        let rtt = ack.round_trip_us;
        self.acked = self.acked.wrapping_add(ack.acked);
        self.marked = self.marked.wrapping_add(ack.marked);
        if rtt == 0 {
            return;
        }
        self.base_rtt_us = self.base_rtt_us.min(rtt);
        self.smoothed_rtt_us = match self.smoothed_rtt_us {
            NO_RTT => rtt,
            smoothed => ((u64::from(smoothed) * 7 + u64::from(rtt)) / 8) as u32,
        };
        self.observed += 1;
        if rtt >= params.above(self.base_rtt_us, self.base_rtt_us) && rtt > self.base_rtt_us {
            self.late += 1;
        }
    }

    /// Algorithms 5 to 7: alpha/2 of `size` less. In sub-windows of more than one, whole packets.
    fn answer(&mut self, params: &Params, size: u64) {
        let alpha = self.congestion();
        if alpha == 0 || alpha < params.least_alpha {
            return;
        }
        let less = (size * u64::from(alpha)) >> (SHARE_BITS + 1);
        let less = if params.sub_window > 1 { less / PACKET * PACKET } else { less };
        // After a timeout the window can be less than a sub-window.
        self.window.cut_to(self.window.size.saturating_sub(less), FLOOR);
    }

    /// Algorithm 4.
    fn look_for_the_end_of_slow_start(&mut self, params: &Params) {
        if self.observed < params.samples || self.observed == 0 {
            return;
        }
        self.alpha = params.average(self.alpha, self.late, self.observed);
        if self.congestion() > 0 {
            let less = (self.window.size * u64::from(self.congestion())) >> (SHARE_BITS + 1);
            self.window.cut_to(self.window.size - less, FLOOR);
        }
    }

    /// Algorithm 3.
    fn dilate(&mut self, params: &Params) {
        if self.alpha > MAJOR || self.dilated > DILATE_AFTER {
            self.dilated += 1;
        }
        if self.dilated > DILATE_AFTER && self.dilated < DILATE_UNTIL {
            if self.dilated == DILATE_AFTER + 1 {
                self.undilated_us = self.base_rtt_us;
            }
            self.base_rtt_us = params.above(self.smoothed_rtt_us, self.base_rtt_us);
            self.alpha = 0;
            self.window.threshold = u64::MAX;
        }
        if self.dilated > DILATE_UNTIL {
            self.base_rtt_us = params.above(self.undilated_us, self.undilated_us);
            self.dilated = 0;
        }
    }

    /// Algorithm 2, and DCTCP's share of marks beside it.
    fn end_window(&mut self, params: &Params) {
        if self.observed > 0 {
            self.alpha = params.average(self.alpha, self.late, self.observed);
        }
        if self.acked > 0 {
            self.marked_alpha = params.average(self.marked_alpha, self.marked, self.acked);
        }
        self.observed = 0;
        self.late = 0;
        self.acked = 0;
        self.marked = 0;
        if params.dilation {
            self.dilate(params);
        }
        if params.sub_window == 0 && !self.window.slow_start() {
            self.answer(params, self.window.size);
        }
    }

    fn avoid_congestion(&mut self, params: &Params, ack: &Ack) {
        let acked = u64::from(ack.acked) * PACKET;
        let sub_window = u64::from(params.sub_window) * PACKET;
        if sub_window > 0 {
            self.since_answer += acked;
            if self.since_answer >= sub_window.min(self.window.size) {
                self.answer(params, self.since_answer.min(sub_window));
                self.since_answer = 0;
            }
        }
        if ack.window_limited && !ack.recovering {
            let step = u64::from(params.increase) * acked / self.window.size;
            self.window.size = (self.window.size + step).min(WINDOW_MOST);
            self.window.threshold = self.window.size;
        }
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, params: &Params, ack: &Ack) {
        self.observe(params, ack);
        if round_ends(&mut self.round_us, ack) {
            self.end_window(params);
        }
        if self.window.slow_start() {
            self.window.grow(ack);
            self.look_for_the_end_of_slow_start(params);
        } else {
            self.avoid_congestion(params, ack);
        }
    }

    /// A loss was noticed.
    pub fn on_loss(&mut self, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit => self.window.halve(loss.in_flight),
            LossKind::Timeout => self.window.collapse(loss.in_flight),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::find;

    /// Eq. 5: in sub-windows of 10 an answer takes a packet from alpha = 206/1024 on: 10 * 0.201/2 = 1.006.
    #[test]
    fn an_answer_takes_a_packet_or_none() {
        let params = Params::new(&Values::defaults(find("inigo").unwrap().parameters)).unwrap();
        for (alpha, packets) in [(205, 40), (206, 39)] {
            let mut flow = Inigo { alpha: alpha << 10, ..Inigo::new(&params, 40) };
            flow.answer(&params, 10 * PACKET);
            assert_eq!(flow.window.packets(), packets);
        }
    }
}
