//! Ownership of nodes and ports by domains, the parts of a network that are simulated in parallel.

use std::sync::Arc;

use shallows_cc::units::Time;

use crate::packet::NIL;
use crate::port::clock::Clock;
use crate::port::link::LinkTarget;
use crate::queue::event_queue::Crossing;
use crate::spec::network::{Network, PortSpec};

/// Stands for the domain of a split switch.
pub(crate) const SPLIT: u32 = NIL - 1;

/// Map from nodes to domains.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    /// By node: its domain, or [`SPLIT`] for a switch each of whose ports belongs to the domain that the port leads to.
    pub(crate) of: Vec<u32>,
    pub(crate) domains: u32,
    /// Lower bound on the time from sending a packet to another domain until it arrives there.
    pub(crate) lookahead: Time,
}

impl Partition {
    /// One domain that owns everything.
    pub(crate) fn whole(network: &Network) -> Self {
        Self { of: vec![0; network.nodes as usize], domains: 1, lookahead: Time::MAX }
    }

    /// The number of domains.
    pub fn domains(&self) -> u32 {
        self.domains
    }

    /// The domain of a host.
    #[inline]
    pub(crate) fn of(&self, host: u32) -> u32 {
        self.of[host as usize]
    }

    /// The domain of a port.
    pub fn of_port(&self, port: &PortSpec) -> u32 {
        let [from, to] = [port.from, port.to].map(|node| self.of[node as usize]);
        debug_assert!(from != SPLIT || to != SPLIT, "two neighbours are split");
        if from == SPLIT { to } else { from }
    }

    /// The domain at the end of a port's link; `None` if a split switch is there, where the next port of each packet decides.
    pub(crate) fn at_end(&self, port: &PortSpec) -> Option<u32> {
        Some(self.of[port.to as usize]).filter(|&to| to != SPLIT)
    }
}

/// Nodes and links that one domain owns.
#[derive(Clone, Debug)]
pub struct Ownership {
    pub partition: Arc<Partition>,
    pub domain: u32,
}

impl Ownership {
    /// Whether this domain owns the host.
    #[inline]
    pub(crate) fn owns(&self, host: u32) -> bool {
        self.partition.of(host) == self.domain
    }

    /// Whether this domain owns the port.
    pub fn owns_port(&self, port: &PortSpec) -> bool {
        self.partition.of_port(port) == self.domain
    }

    /// The median time of a full frame over the links of this domain, and how many links and frames these are.
    pub(crate) fn crossing(&self, network: &Network) -> Crossing {
        let owned = network.ports.iter().filter(|port| self.owns_port(port));
        let sending = |port: &PortSpec| Clock::new(port.rate).time(network.mtu);
        let mut times: Vec<_> = owned.clone().map(|port| port.delay + sending(port)).collect();
        times.sort_unstable();
        let time = times.get(times.len() / 2).copied().unwrap_or(Time::ZERO);
        let frames = owned.map(|port| time.0 / sending(port).0.max(1)).sum();
        Crossing { time, links: times.len(), frames }
    }

    /// The place at which packets on the link of a port arrive, as seen from this domain.
    pub fn link_target(&self, port: &PortSpec) -> LinkTarget {
        match self.partition.at_end(port) {
            _ if !self.owns_port(port) => LinkTarget::Local,
            None => LinkTarget::PerPacket,
            Some(to) if to == self.domain => LinkTarget::Local,
            Some(_) => LinkTarget::Remote,
        }
    }
}
