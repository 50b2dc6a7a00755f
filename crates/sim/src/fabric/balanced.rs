//! What switches remember of the ports that they chose.

use std::collections::BTreeMap;

use shallows_cc::units::Time;

use crate::spec::network::{Balancing, Network};

/// A flow on one of its paths, at a switch: switch, flow and path.
type Passing = (u32, u32, u32);

/// Earlier choices of switches.
#[derive(Debug, Default)]
pub(super) struct Balanced {
    /// By the first of a set of equal ports: how many packets it has had, if switches take ports in turn.
    turns: Vec<u32>,
    /// When the newest packet of a flowlet passed, and its port.
    flowlets: BTreeMap<Passing, (Time, u32)>,
}

impl Balanced {
    pub fn new(network: &Network) -> Self {
        let sets = if network.balancing == Balancing::RoundRobin { network.ports.len() } else { 0 };
        Self { turns: vec![0; sets], flowlets: BTreeMap::new() }
    }

    /// The number of the next turn of a set of equal ports; `None` if there are no ports.
    pub fn turn(&mut self, ports: &[u32]) -> Option<u32> {
        let turn = &mut self.turns[*ports.first()? as usize];
        *turn = turn.wrapping_add(1);
        Some(*turn)
    }

    /// The port of the flowlet that a packet continues; `None` if the last packet passed more than `gap` before.
    pub fn flowlet(&self, passing: Passing, now: Time, gap: Time) -> Option<u32> {
        self.flowlets.get(&passing).filter(|&&(last, _)| now - last <= gap).map(|&(_, port)| port)
    }

    /// A packet of a flowlet passes through a port.
    pub fn remember(&mut self, passing: Passing, now: Time, port: u32) {
        self.flowlets.insert(passing, (now, port));
    }
}
