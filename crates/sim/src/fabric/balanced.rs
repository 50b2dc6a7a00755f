//! State of switches that choose ports: the salt of their hashes, the turn of each set of equal ports, and the ports of flowlets.

use std::cell::Cell;
use std::collections::BTreeMap;

use shallows_cc::units::Time;

use super::shortest_paths::{salt, scramble};
use crate::spec::network::{Balancing, Network};

/// A flow on one of its paths, at a switch: switch, flow and path.
type Passing = (u32, u32, u32);

/// Salt of the choices of switches, and earlier choices.
#[derive(Clone, Debug, Default)]
pub(super) struct Balanced {
    salt: u32,
    /// Whether a hash has chosen among several ports.
    drawn: Cell<bool>,
    /// By the first of a set of equal ports: how many packets it has had, if switches take ports in turn.
    turns: Vec<u32>,
    /// When the newest packet of a flowlet passed, and its port.
    flowlets: BTreeMap<Passing, (Time, u32)>,
}

impl Balanced {
    pub(crate) fn new(network: &Network) -> Self {
        let sets = if network.balancing == Balancing::RoundRobin { network.ports.len() } else { 0 };
        Self { salt: salt(network.seed), turns: vec![0; sets], ..Self::default() }
    }

    /// The hash of a packet with this entropy at a switch.
    #[inline]
    pub fn hash(&self, switch: u32, entropy: u32) -> u32 {
        scramble(entropy ^ self.salt ^ switch.wrapping_mul(0x85eb_ca6b))
    }

    /// The number below `count` that a hash stands for.
    #[inline]
    pub(crate) fn draw(&self, count: usize, hash: u32) -> usize {
        if count > 1 {
            self.drawn.set(true);
        }
        ((u64::from(hash) * count as u64) >> 32) as usize
    }

    /// Whether a hash has chosen among several ports.
    pub fn has_drawn(&self) -> bool {
        self.drawn.get()
    }

    /// The number of the next turn of a set of equal ports; `None` if there are no ports.
    pub(crate) fn turn(&mut self, ports: &[u32]) -> Option<u32> {
        let turn = &mut self.turns[*ports.first()? as usize];
        *turn = turn.wrapping_add(1);
        Some(*turn)
    }

    /// The port of the flowlet that a packet continues; `None` if the last packet passed more than `gap` before.
    pub fn flowlet(&self, passing: Passing, now: Time, gap: Time) -> Option<u32> {
        self.flowlets.get(&passing).filter(|&&(last, _)| now - last <= gap).map(|&(_, port)| port)
    }

    /// A packet of a flowlet passes through a port.
    pub(crate) fn remember(&mut self, passing: Passing, now: Time, port: u32) {
        self.flowlets.insert(passing, (now, port));
    }
}

#[cfg(test)]
mod tests {
    use shallows_cc::port::Ecn;
    use shallows_cc::units::Bytes;

    use super::*;
    use crate::fabric::ecmp::entropy_of_host;
    use crate::packet::Packet;
    use crate::packet::header::Header;

    /// The longest of `paths` lists into which a switch divides 64 entropy values of a flow, as a mean over 200 seeds.
    fn fullest(paths: usize, flow: u32) -> f64 {
        let with_seed = |seed| {
            let balanced = Balanced { salt: salt(seed), ..Balanced::default() };
            let mut counts = vec![0; paths];
            for value in 0..64 {
                let mut packet = Packet::new(flow, Bytes(1500), Ecn::NotEct, &Header::Pause);
                packet.set_entropy(value);
                counts[balanced.draw(paths, balanced.hash(7, entropy_of_host(&packet)))] += 1;
            }
            counts.into_iter().max().unwrap_or(0)
        };
        (1..=200).map(with_seed).sum::<i32>() as f64 / 200.0
    }

    /// A multinomial of 64 draws has 7.88 in the fullest of 16 cells and 3.95 of 64, with deviations of 1.2 and 0.7 (simulated
    /// apart, 20,000 times): within five deviations of a mean of 200.
    #[test]
    fn seeds_give_the_values_of_a_flow_independent_paths() {
        for flow in [0, 1, 1000] {
            let (of_16, of_64) = (fullest(16, flow), fullest(64, flow));
            assert!((of_16 - 7.88).abs() < 0.42 && (of_64 - 3.95).abs() < 0.25, "{of_16} {of_64} of flow {flow}");
        }
    }

    #[test]
    fn turns_of_a_set_follow_each_other() {
        let mut balanced = Balanced { turns: vec![0; 6], ..Balanced::default() };
        let turns: Vec<_> = (0..5).map(|_| balanced.turn(&[2, 3, 5]).expect("ports") % 3).collect();
        assert_eq!(turns, [1, 2, 0, 1, 2]);
        assert_eq!(balanced.turn(&[4, 5]), Some(1), "another set");
        assert_eq!(balanced.turn(&[]), None);
    }

    #[test]
    fn a_flowlet_ends_with_a_longer_gap() {
        let (mut balanced, us) = (Balanced::default(), Time::from_micros);
        let passing = (7, 1, 0);
        assert_eq!(balanced.flowlet(passing, us(10), us(5)), None);
        balanced.remember(passing, us(10), 3);
        assert_eq!([11, 15, 16].map(|now| balanced.flowlet(passing, us(now), us(5))), [Some(3), Some(3), None]);
        assert_eq!(balanced.flowlet((8, 1, 0), us(11), us(5)), None, "another switch");
    }
}
