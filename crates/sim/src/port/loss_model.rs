//! Loss on the wire of a link: at random, and while the link is down.

use std::collections::{BTreeSet, VecDeque};

use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};

use crate::packet::Slab;
use crate::port::clock::Clock;
use crate::spec::fault::Change;
use crate::spec::ports::PortSpec;

/// State of a wire with faults, kept at the downstream end.
#[derive(Clone, Debug)]
pub struct LossModel {
    delay: Time,
    clock: Clock,
    loss: f64,
    /// Share of bits that are changed.
    bit_errors: f64,
    /// Time at which the link last went down.
    cut_at: Time,
    /// The number of the fault that set the loss, and those by which chance has decided about packets.
    fault: u32,
    /// The share of packets that arrive later, and the number of the fault that says so.
    late_share: (f64, u32),
    late_by: Time,
    /// Slots of the packets that arrive later than their place on the link.
    late: VecDeque<u32>,
    drawn: BTreeSet<u32>,
    draws: Rng,
    lost: u64,
}

/// First key of the random streams of wires; those of ports are smaller.
const WIRES: u64 = 1 << 32;

impl LossModel {
    /// The wire of link `number`, without faults so far.
    #[must_use]
    pub fn new(spec: &PortSpec, seed: u64, number: u32) -> Self {
        Self {
            delay: spec.delay,
            clock: Clock::new(spec.rate),
            loss: 0.0,
            bit_errors: 0.0,
            cut_at: Time::ZERO,
            fault: 0,
            late_share: (0.0, 0),
            late_by: Time::ZERO,
            late: VecDeque::new(),
            drawn: BTreeSet::new(),
            draws: Rng::new(seed, WIRES + u64::from(number)),
            lost: 0,
        }
    }

    /// Applies fault `number`.
    pub fn change(&mut self, now: Time, number: u32, change: Change) {
        if matches!(change, Change::Loss(_) | Change::BitErrors(_)) {
            self.fault = number;
        }
        match change {
            Change::Down => self.cut_at = now,
            Change::Up | Change::Drain | Change::Undrain | Change::Pause | Change::Resume => {}
            // A link whose arrivals change does not go down.
            Change::Delay(_) | Change::Hold(_) | Change::Marking(_) | Change::Turn { .. } => {}
            Change::Late(share) => self.late_share = (share, number),
            Change::LateBy(time) => self.late_by = time,
            Change::Rate(rate) => self.clock = Clock::new(rate),
            Change::Loss(share) => (self.loss, self.bit_errors) = (share, 0.0),
            Change::BitErrors(share) => (self.loss, self.bit_errors) = (0.0, share),
        }
    }

    /// Whether a packet of this length that would arrive now is lost: at random, or because the link went down while the packet
    /// was being sent or on the wire.
    pub fn loses(&mut self, now: Time, length: Bytes) -> bool {
        let begun = now.saturating_sub(self.delay + self.clock.time(length));
        let loss = if self.bit_errors > 0.0 { any_of(self.bit_errors, 8 * length.0) } else { self.loss };
        let lost = begun < self.cut_at || (loss > 0.0 && self.decides(loss, self.fault));
        self.lost += u64::from(lost);
        lost
    }

    /// Draws whether a packet is lost or late, with this probability, by this fault.
    fn decides(&mut self, probability: f64, fault: u32) -> bool {
        if probability < 1.0 {
            self.drawn.insert(fault);
        }
        self.draws.uniform() < probability
    }

    /// How much later a packet arrives that would arrive now; `None` if it arrives now.
    pub fn lateness(&mut self) -> Option<Time> {
        let (share, fault) = self.late_share;
        (share > 0.0 && self.decides(share, fault)).then_some(self.late_by)
    }

    /// Takes a packet off the link that arrives later. Its arrival says when.
    pub fn delay(&mut self, at: u32) {
        self.late.push_back(at);
    }

    /// Removes a late packet that arrives now.
    pub fn take_late(&mut self, now: Time, packets: &Slab) -> Option<u32> {
        let place = self.late.iter().position(|&at| packets[at].arrives == now)?;
        self.late.remove(place)
    }

    /// The slots of the late packets.
    pub fn late(&self) -> impl Iterator<Item = u32> {
        self.late.iter().copied()
    }

    /// The numbers of the faults by which chance has decided about packets.
    #[must_use]
    pub const fn drawn(&self) -> &BTreeSet<u32> {
        &self.drawn
    }

    /// Whether every packet is lost at random.
    #[must_use]
    pub fn loses_all(&self) -> bool {
        self.loss >= 1.0 || self.bit_errors >= 1.0
    }

    /// Packets lost on the wire so far.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// The probability 1 - (1 - p)^n that at least one of `n` independent events of probability `p` happens.
///
/// From p(a + b) = p(a) + p(b) - p(a) p(b), which loses no digits of a small `p`, as 1 - p would.
fn any_of(p: f64, n: u64) -> f64 {
    let either = |a: f64, b: f64| a + b - a * b;
    let (mut any, mut of_power, mut left) = (0.0, p, n);
    while left > 0 {
        if left & 1 == 1 {
            any = either(any, of_power);
        }
        of_power = either(of_power, of_power);
        left >>= 1;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallows_cc::units::Rate;

    fn loss_model() -> LossModel {
        let (rate, delay) = (Rate::from_gbps(10), Time::from_micros(5));
        let spec = PortSpec { from: 0, to: 1, rate, delay, buffer: Bytes::MAX, marking: None, discipline: None };
        LossModel::new(&spec, 1, 0)
    }

    /// A frame of 1.2 us that arrives at 20 us over 5 us was sent from 13.8 us on.
    #[test]
    fn what_was_on_the_wire_when_it_was_cut_is_lost() {
        let loses_if_cut_at = |at| {
            let mut loss_model = loss_model();
            loss_model.change(Time::from_nanos(at), 0, Change::Down);
            loss_model.change(Time::from_nanos(at + 1), 1, Change::Up);
            loss_model.loses(Time::from_micros(20), Bytes(1500))
        };
        assert!(!loses_if_cut_at(13_800));
        assert!(loses_if_cut_at(13_801));
    }

    /// 1 - (1 - 1e-6)^12000 = 1 - exp(12000 ln(1 - 1e-6)) = 0.0119282931 for 1500 B, and 64 B at 1e-15: 512e-15, where 1 - 1e-15 has
    /// one digit left.
    #[test]
    fn a_frame_with_a_changed_bit_is_lost() {
        assert!((any_of(1e-6, 12_000) / 0.011_928_293_1 - 1.0).abs() < 1e-8, "{}", any_of(1e-6, 12_000));
        assert!((any_of(1e-15, 512) / 512e-15 - 1.0).abs() < 1e-9);
        assert_eq!(any_of(1.0, 512), 1.0);
        let mut loss_model = loss_model();
        loss_model.change(Time::ZERO, 0, Change::BitErrors(1e-6));
        let mut lost = |length| (0..100_000).filter(|_| loss_model.loses(Time::from_micros(20), Bytes(length))).count();
        // 1193 and 51 of 100,000, within five deviations.
        let (frames, acks) = (lost(1500), lost(64));
        assert!(frames.abs_diff(1193) < 172 && acks.abs_diff(51) < 36, "{frames} {acks}");
    }

    /// 100,000 packets at 1 %: 1000, within five deviations of 31.5.
    #[test]
    fn a_share_is_lost_at_random() {
        let mut loss_model = loss_model();
        loss_model.change(Time::ZERO, 0, Change::Loss(0.01));
        let lost = (0..100_000).filter(|_| loss_model.loses(Time::from_micros(20), Bytes(1500))).count();
        assert!(lost.abs_diff(1000) < 158, "{lost}");
        assert_eq!(loss_model.lost(), lost as u64);
    }
}
