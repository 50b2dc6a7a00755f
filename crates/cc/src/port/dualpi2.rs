//! `DualPI2`: two queues behind one link, of which L (packets of L4S, with low delay) and C (all others) are coupled by one controller.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | p' | `p` | base probability, in units of 1/(2^32 - 1) |
//! | `p_CL` = k p' | `p_l` | probability with which L marks; above one it is an overload |
//! | `p_C` = p'^2 | two draws | probability with which C marks or drops |
//! | alpha, beta | `alpha`, `beta` | gains of the controller, scaled to units of p for each ns |
//! | target, Tupdate | `target`, `update` | delay that the controller holds, and the time between two steps of it |
//! | k | `coupling` | coupling factor |
//! | `c_protection_credit` | `credit` | credit of C in bytes times percent: L is served while it is 0 or less |
//! | `step_thresh` | `step`, `step_packets` | delay, or length, of L above which it marks every packet |
//!
//! Source: RFC 9332, appendix A; the order of operations and the integers are those of Linux `sch_dualpi2` (2026), in whose scheduler the
//! credit replaces the time-shifted FIFO. The port owns the queues, the clock and the random numbers.

use super::{CongestionPoint, Ecn, HeadAction};
use crate::parameter::{Parameter, Values, flag, number, packets, time};
use crate::units::{Bytes, Rate, Time};

/// Source of the defaults.
const LINUX: &str = "Linux sch_dualpi2 (2026); RFC 9332 §2.5 and appendix A";

/// In the order of tc-dualpi2(8).
pub const PARAMETERS: &[Parameter] = &[
    time("target", "target", 15e-3, 1e-6..=10.0)
        .meaning("delay of the longer wait that the controller holds")
        .source(LINUX),
    time("update", "Tupdate", 16e-3, 1e-6..=10.0).meaning("time between two steps of the controller").source(LINUX),
    number("alpha", "alpha", 41.0 / 256.0, 0.0..=1e5)
        .meaning("gain on the delay above the target, 1/s; rounded to 256ths")
        .source(LINUX),
    number("beta", "beta", 819.0 / 256.0, 0.0..=1e5)
        .meaning("gain on the growth of the delay, 1/s; rounded to 256ths")
        .source(LINUX),
    number("coupling", "k", 2.0, 1.0..=255.0)
        .meaning("multiple of the base probability with which L marks; C uses its square")
        .source(LINUX),
    time("step", "step_thresh", 1e-3, 0.0..=10.0).meaning("wait in L above which a packet is marked").source(LINUX),
    packets("step_packets", "step_thresh", 0.0, 0.0..=1e6)
        .meaning("packets left behind in L above which a packet is marked, in place of step; 0: step decides")
        .source("Linux sch_dualpi2 (2026), step_packets: off"),
    number("c_share", "classic_protection", 10.0, 1.0..=99.0)
        .meaning("share of the link in percent that C has at least while both wait")
        .source(LINUX),
    packets("limit", "limit", 10_000.0, 1.0..=1e6).meaning("packets that wait in both queues together").source(LINUX),
    flag("drop_early", "drop_early", false)
        .meaning("packets are judged as they arrive, with the queue before them, and not as they leave")
        .source(LINUX)
        .fixed(),
    flag("drop_overload", "drop_overload", true)
        .meaning(
            "in an overload packets are dropped; off: the base probability stays at most 1/k, and full queues drop",
        )
        .source(LINUX),
    flag("any_ect", "ecn_mask", false).meaning("packets with ECT(0) go to L too").source(LINUX).fixed(),
];

/// Largest probability.
const ONE: u32 = u32::MAX;
/// Frames behind a packet below which nothing is marked or dropped but by the step.
const LEAST_FRAMES: u64 = 2;

/// The queues behind a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Low delay.
    L = 0,
    /// Classic.
    C = 1,
}

/// A packet that the law judges.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// Its queue.
    pub queue: Queue,
    /// Time in the queue.
    pub waited: Time,
    /// Bytes in both queues without it, and packets in L.
    pub behind: (Bytes, u64),
    /// Its code point.
    pub ecn: Ecn,
}

/// The law of one port.
#[derive(Clone, Copy, Debug)]
pub struct DualPi2 {
    target: i128,
    update: Time,
    alpha: i128,
    beta: i128,
    coupling: u64,
    step: Time,
    step_packets: Option<u64>,
    c_share: i64,
    limit: u64,
    /// Whether packets are judged as they arrive.
    pub drops_early: bool,
    drops_on_overload: bool,
    any_ect: bool,
    frame: Bytes,
    /// When the controller looks next.
    next: Time,
    /// Delay when it looked last, ns.
    last: i128,
    /// Base probability, in units of 1/(2^32 - 1).
    pub p: u32,
    /// Credit of C, in bytes times percent.
    pub credit: i64,
}

/// Builds the congestion point.
#[must_use]
pub fn build(values: &Values, _rate: Rate) -> Box<dyn CongestionPoint> {
    Box::new(DualPi2::new(values))
}

/// A gain in 256ths of 1/s as units of p for each ns and 64 (`dualpi2_scale_alpha_beta`).
fn scaled(gain: f64) -> i128 {
    i128::from((gain * 256.0 + 0.5) as u64) * i128::from(ONE) / 4 / 1_000_000_000
}

impl DualPi2 {
    /// Creates the law with these parameters; [`Self::with_frame`] sets the length of a frame.
    #[must_use]
    pub fn new(values: &Values) -> Self {
        let (update, step_packets) = (values.time("update"), values.get("step_packets") as u64);
        let mut law = Self {
            target: nanos(values.time("target")),
            update,
            alpha: scaled(values.get("alpha")),
            beta: scaled(values.get("beta")),
            coupling: values.get("coupling") as u64,
            step: values.time("step"),
            step_packets: (step_packets > 0).then_some(step_packets),
            c_share: values.get("c_share") as i64,
            limit: values.get("limit") as u64,
            drops_early: values.flag("drop_early"),
            drops_on_overload: values.flag("drop_overload"),
            any_ect: values.flag("any_ect"),
            frame: Bytes(1514),
            next: update,
            last: 0,
            p: 0,
            credit: 0,
        };
        law.reset_credit();
        law
    }

    /// The same for full frames of this length.
    #[must_use]
    pub fn with_frame(mut self, frame: Bytes) -> Self {
        self.frame = frame;
        self.reset_credit();
        self
    }

    /// Goes on with these values, and keeps its state.
    pub fn retune(&mut self, values: &Values) {
        let &mut Self { frame, next, last, p, credit, .. } = self;
        *self = Self { frame, next, last, p, credit, ..Self::new(values) };
    }

    /// The queue of a packet with this code point.
    #[inline]
    #[must_use]
    pub fn queue_of(&self, ecn: Ecn) -> Queue {
        match ecn {
            Ecn::Ect1 | Ecn::Ce => Queue::L,
            Ecn::Ect0 if self.any_ect => Queue::L,
            Ecn::Ect0 | Ecn::NotEct => Queue::C,
        }
    }

    /// Whether one more packet fits where so many wait in both queues.
    #[must_use]
    pub const fn has_room(&self, waiting: u64) -> bool {
        waiting < self.limit
    }

    /// Steps the controller up to `now`. The first packet of each queue has waited since these times, and no packet has come or gone
    /// since the last call.
    pub fn catch_up(&mut self, now: Time, heads: [Option<Time>; 2]) {
        while self.next <= now {
            let at = self.next;
            let waited = |since: &Option<Time>| since.map_or(0, |since| nanos(at.saturating_sub(since)));
            self.step_controller(heads.iter().map(waited).max().unwrap_or(0));
            self.next = at + self.update;
            if self.p == 0 && self.last == 0 && heads == [None; 2] {
                // Nothing changes until a packet comes.
                self.next = super::skip_to(self.next, self.update, now);
            }
        }
    }

    /// Steps the controller by the longer of the two delays, ns (RFC 9332 fig. 6).
    pub fn step_controller(&mut self, delay: i128) {
        let change = (delay - self.target) * self.alpha + (delay - self.last) * self.beta;
        let most = if self.drops_on_overload { u64::from(ONE) } else { u64::from(ONE) / self.coupling };
        self.p = (i128::from(self.p) + change / 64).clamp(0, i128::from(most)) as u32;
        self.last = delay;
    }

    /// Probability with which L marks, in units of 1/(2^32 - 1), and whether it exceeds one.
    #[must_use]
    pub const fn coupled(&self) -> (u64, bool) {
        let coupled = self.coupling * self.p as u64;
        (coupled, coupled > ONE as u64)
    }

    /// The queue to serve, of those in which packets wait; none if none does, which resets the credit.
    pub fn pick(&self, waits: [bool; 2]) -> Option<Queue> {
        match waits {
            [true, c] if !c || self.credit <= 0 => Some(Queue::L),
            [_, true] => Some(Queue::C),
            _ => None,
        }
    }

    /// The link asks for a packet, and both queues are empty.
    pub const fn reset_credit(&mut self) {
        self.credit = self.frame.0 as i64 * (2 * self.c_share - 100);
    }

    /// A packet of this length leaves a queue, while packets wait in the other one or not.
    pub const fn charge(&mut self, queue: Queue, length: Bytes, other_waits: bool) {
        if other_waits {
            let length = length.0 as i64;
            self.credit += match queue {
                Queue::L => self.c_share * length,
                Queue::C => -(100 - self.c_share) * length,
            };
        }
    }

    /// Judges a packet by the controller alone; `draw` returns 32 random bits.
    pub fn judge_by_probability(&self, packet: &Judged, draw: &mut dyn FnMut() -> u32) -> HeadAction {
        if packet.behind.0 < self.frame * LEAST_FRAMES {
            return HeadAction::Send;
        }
        let (coupled, overload) = self.coupled();
        let p = self.p;
        let mut hits_twice = || draw() <= p && draw() <= p;
        let markable = packet.ecn != Ecn::NotEct;
        match packet.queue {
            Queue::C if !hits_twice() => HeadAction::Send,
            Queue::C if overload || !markable => HeadAction::Drop,
            Queue::C => HeadAction::Mark,
            Queue::L if overload && hits_twice() => HeadAction::Drop,
            Queue::L if !overload && u64::from(draw()) > coupled => HeadAction::Send,
            Queue::L if !markable => HeadAction::Drop,
            Queue::L => HeadAction::Mark,
        }
    }

    /// Whether L is above the step when a packet leaves it.
    #[must_use]
    pub fn is_above_step(&self, packet: &Judged) -> bool {
        let long = match self.step_packets {
            Some(most) => packet.behind.1 > most,
            None => packet.waited > self.step,
        };
        packet.queue == Queue::L && long
    }

    /// Judges a packet that leaves its queue.
    pub fn judge(&self, packet: &Judged, draw: &mut dyn FnMut() -> u32) -> HeadAction {
        let action = if self.drops_early { HeadAction::Send } else { self.judge_by_probability(packet, draw) };
        match action {
            HeadAction::Drop => HeadAction::Drop,
            _ if !self.is_above_step(packet) => action,
            _ if packet.ecn == Ecn::NotEct => HeadAction::Drop,
            _ => HeadAction::Mark,
        }
    }
}

fn nanos(time: Time) -> i128 {
    i128::from(time.0 / 1_000)
}

impl CongestionPoint for DualPi2 {
    fn retune(&mut self, _now: Time, values: &Values, _rate: Rate) {
        Self::retune(self, values);
    }

    fn as_dual_queue(&self) -> Option<DualPi2> {
        Some(*self)
    }

    fn judges_heads(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The base probability and the credit stay, and count by another factor and another share: 1500 B of L are 1500 * 60.
    #[test]
    fn other_parameters_go_on_from_the_probability_and_the_credit() {
        let mut values = Values::defaults(PARAMETERS);
        let mut law = DualPi2::new(&values);
        law.step_controller(20_000_000);
        law.charge(Queue::L, Bytes(1500), true);
        let (p, credit) = (law.p, law.credit);
        assert!(p > 0);
        values.set("coupling", 4.0).unwrap();
        values.set("c_share", 60.0).unwrap();
        law.retune(&values);
        assert_eq!((law.p, law.credit, law.coupled()), (p, credit, (4 * u64::from(p), false)));
        law.charge(Queue::L, Bytes(1500), true);
        assert_eq!(law.credit, credit + 90_000);
    }
}
