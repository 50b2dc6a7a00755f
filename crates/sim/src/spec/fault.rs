//! What happens to wires: they are cut and mended, slow down, lose packets at random.
//!
//! A link that is down loses what is on its wire and what waits for it, and its port lets nothing in; a host's NIC that takes
//! packets in turn knows and takes none. A slower link sends each frame as fast as it did and rests after it. Both need a port
//! with classes, since departures are not known in advance. A loss is of the wire alone: any port has it.
//!
//! Pauses and their ends are never lost: a real switch repeats them before they run out, here they are said once.
//!
//! A switch does not know at once: until the network's convergence time has passed, what goes over a link that is down is lost;
//! then flows, and the choices for each packet, are laid round it ([`crate::fabric::route`]). Only a switch that chooses for each packet
//! sees at once which of its own links work.

use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Rate, Time};

use crate::port::clock::Clock;
use crate::spec::network::PortSpec;

/// What happens to a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// It is cut.
    Down,
    /// It works again.
    Up,
    /// It sends at this rate, which is at most its own.
    Rate(Rate),
    /// It loses this share of all packets, at random.
    Loss(f64),
}

/// A change of a link at a set time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// Of which link.
    pub link: u32,
    /// What.
    pub change: Change,
}

/// A wire to which something happens, at its downstream end.
#[derive(Clone, Debug)]
pub struct LossModel {
    delay: Time,
    clock: Clock,
    loss: f64,
    /// When it was cut last.
    cut_at: Time,
    draws: Rng,
    lost: u64,
}

/// Keys of the draws of wires; ports have those below.
const WIRES: u64 = 1 << 32;

impl LossModel {
    /// The wire of link `number`, whole so far.
    #[must_use]
    pub fn new(spec: &PortSpec, seed: u64, number: u32) -> Self {
        Self {
            delay: spec.delay,
            clock: Clock::new(spec.rate),
            loss: 0.0,
            cut_at: Time::ZERO,
            draws: Rng::new(seed, WIRES + u64::from(number)),
            lost: 0,
        }
    }

    /// Something happens to it.
    pub fn change(&mut self, now: Time, change: Change) {
        match change {
            Change::Down => self.cut_at = now,
            Change::Up => {}
            Change::Rate(rate) => self.clock = Clock::new(rate),
            Change::Loss(share) => self.loss = share,
        }
    }

    /// Whether a packet of this length, which would arrive now, is lost on it: at random, or cut off.
    pub fn loses(&mut self, now: Time, length: Bytes) -> bool {
        let begun = now.saturating_sub(self.delay + self.clock.time(length));
        let lost = begun < self.cut_at || (self.loss > 0.0 && self.draws.uniform() < self.loss);
        self.lost += u64::from(lost);
        lost
    }

    /// Packets lost on it so far.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss_model() -> LossModel {
        let (rate, delay) = (Rate::from_gbps(10), Time::from_micros(5));
        let spec = PortSpec { from: 0, to: 1, rate, delay, buffer: Bytes::MAX, marking: None, discipline: None };
        LossModel::new(&spec, 1, 0)
    }

    /// A frame of 1.2 us that arrives at 20 us began to be sent at 13.8 us.
    #[test]
    fn what_was_on_the_wire_when_it_was_cut_is_lost() {
        let loses_if_cut_at = |at| {
            let mut loss_model = loss_model();
            loss_model.change(Time::from_nanos(at), Change::Down);
            loss_model.change(Time::from_nanos(at + 1), Change::Up);
            loss_model.loses(Time::from_micros(20), Bytes(1500))
        };
        assert!(!loses_if_cut_at(13_800));
        assert!(loses_if_cut_at(13_801));
    }

    /// 100,000 packets at 1 %: 1000, within five deviations of 31.5.
    #[test]
    fn a_share_is_lost_at_random() {
        let mut loss_model = loss_model();
        loss_model.change(Time::ZERO, Change::Loss(0.01));
        let lost = (0..100_000).filter(|_| loss_model.loses(Time::from_micros(20), Bytes(1500))).count();
        assert!(lost.abs_diff(1000) < 158, "{lost}");
        assert_eq!(loss_model.lost(), lost as u64);
    }
}
