//! Which domain owns which node, and how far domains may run apart.
//!
//! Hosts stay with their rack, and racks with their pod, as long as that leaves as many groups as there are to be domains: a
//! group is what switches of one more level connect. Groups go to the domain with the least to do, the heaviest first.
//!
//! A switch above several domains is split: each of its ports belongs to the domain that it link_target to, so a packet changes domains
//! once, on its way to that port, and between nodes of one domain not at all. A switch that has something in common for its ports
//! (memory, choices, classes) cannot be: it goes to where most of its links lead, and where that is undecided to the domain
//! with the least to do.
//!
//! A packet that is sent over a link to another domain arrives there after the link's delay and the time to send the smallest
//! frame. The least of these is how far one domain may go before it hears from the others.

use std::cmp::Reverse;
use std::sync::Arc;

use shallows_cc::units::Time;

use crate::fabric::route::Routes;
use crate::packet::NIL;
use crate::port::clock::Clock;
use crate::port::link::LinkTarget;
use crate::spec::network::{Balancing, FlowSpec, MIN_FRAME, Network, PortSpec};

/// Threads go through windows of half the time that a packet needs to another domain: it has to have a half.
const SHORTEST: Time = Time(2);

/// A run longer than this is taken to be as long.
const LONGEST: Time = Time::from_secs_whole(100);

/// In place of a switch's domain: it is split.
const SPLIT: u32 = NIL - 1;

/// Who owns what.
#[derive(Clone, Debug)]
pub struct Partition {
    /// By node: its domain, or [`SPLIT`].
    of: Vec<u32>,
    domains: u32,
    /// What is sent to another domain now arrives there this much later, or more.
    pub lookahead: Time,
}

impl Partition {
    /// At most so many domains, each with a host: fewer where the network has fewer hosts that can be apart.
    pub fn new(network: &Network, routes: &Routes, domains: usize) -> Self {
        let wanted = domains.clamp(1, network.hosts.max(1) as usize);
        if wanted == 1 {
            return Self::whole(network);
        }
        let loads = loads(network, routes);
        let weights = weights(network, &loads);
        let mut shares = Shares::new(wanted);
        let mut of = vec![NIL; network.nodes as usize];
        let mut groups = groups(network, wanted);
        let weight = |group: &Vec<u32>| group.iter().map(|&host| weights[host as usize]).sum::<u64>();
        groups.sort_by_cached_key(|group| Reverse(weight(group)));
        for group in groups {
            let domain = shares.lightest();
            group.iter().for_each(|&host| of[host as usize] = domain);
            shares.add(domain, weight(&group));
        }
        let plain = plain(network);
        place_switches(network, &plain, (&weights, &loads), &mut shares, &mut of);
        let crosses =
            |port: &&PortSpec| of[port.from as usize] != SPLIT && of[port.from as usize] != of[port.to as usize];
        let ahead = |port: &PortSpec| port.delay + Clock::new(port.rate).time(MIN_FRAME);
        let lookahead = network.ports.iter().filter(crosses).map(ahead).min().unwrap_or(Time::MAX);
        if lookahead < SHORTEST {
            return Self::whole(network);
        }
        let domains = of.iter().filter(|&&domain| domain != SPLIT).max().map_or(1, |&last| last + 1);
        Self { of, domains, lookahead }
    }

    /// One domain.
    fn whole(network: &Network) -> Self {
        Self { of: vec![0; network.nodes as usize], domains: 1, lookahead: Time::MAX }
    }

    /// How many domains there are.
    pub fn domains(&self) -> u32 {
        self.domains
    }

    /// The domain of a host.
    #[inline]
    pub fn of(&self, host: u32) -> u32 {
        self.of[host as usize]
    }

    /// The domain of a port.
    pub fn of_port(&self, port: &PortSpec) -> u32 {
        let [from, to] = [port.from, port.to].map(|node| self.of[node as usize]);
        debug_assert!(from != SPLIT || to != SPLIT, "of two neighbours one is whole");
        if from == SPLIT { to } else { from }
    }

    /// The domain at the end of a port's link; none where it is the next port of each packet that decides.
    pub fn at_end(&self, port: &PortSpec) -> Option<u32> {
        Some(self.of[port.to as usize]).filter(|&to| to != SPLIT)
    }
}

/// How much each domain has to do.
struct Shares(Vec<u64>);

impl Shares {
    fn new(domains: usize) -> Self {
        Self(vec![0; domains])
    }

    /// The first of those with the least.
    fn lightest(&self) -> u32 {
        let least = (0_u32..).zip(&self.0).min_by_key(|&(_, &weight)| weight);
        least.map_or(0, |(domain, _)| domain)
    }

    fn add(&mut self, domain: u32, weight: u64) {
        // Nobody weighs nothing: what is idle is spread too.
        self.0[domain as usize] += weight + 1;
    }
}

/// By link: about how many packets will cross it. Where it would be more than the link can carry in the whole run, all flows
/// over it get less in proportion.
fn loads(network: &Network, routes: &Routes) -> Vec<f64> {
    let paths = || (0..network.flows.len() as u32).map(|flow| routes.path(network, flow));
    let demand = |flow: &FlowSpec| {
        let rate = network.ports[routes.nic(flow.src) as usize].rate;
        let span = network.duration.min(LONGEST).min(flow.stop).saturating_sub(flow.start);
        let bytes = if network.duration < Time::MAX { flow.bytes.min(rate.sent_in(span)) } else { flow.bytes };
        bytes.0 as f64 / network.mss().0 as f64
    };
    let demands: Vec<f64> = network.flows.iter().map(demand).collect();
    let mut wanted = vec![0.0; network.ports.len()];
    for (path, demand) in paths().zip(&demands) {
        path.iter().flatten().for_each(|&port| wanted[port as usize] += demand);
    }
    let most = |port: &PortSpec| port.rate.sent_in(network.duration.min(LONGEST)).0 as f64 / network.mtu.0 as f64;
    let share = |(port, wanted): (&PortSpec, f64)| if network.duration < Time::MAX { most(port) / wanted } else { 1.0 };
    let shares: Vec<f64> = network.ports.iter().zip(wanted).map(share).collect();
    let mut loads = vec![0.0; network.ports.len()];
    for (path, demand) in paths().zip(&demands) {
        let least = path.iter().flatten().map(|&port| shares[port as usize]).fold(1.0, f64::min);
        path.iter().flatten().for_each(|&port| loads[port as usize] += demand * least);
    }
    loads
}

/// About how many packets will be received over one link in the whole run: a first guess, before anything is known.
pub fn expected_hops(network: &Network, routes: &Routes) -> f64 {
    loads(network, routes).iter().sum()
}

/// By node: about how many packets come to it. Only their proportions matter.
fn weights(network: &Network, loads: &[f64]) -> Vec<u64> {
    let mut weights = vec![0; network.nodes as usize];
    for (port, &load) in network.ports.iter().zip(loads) {
        weights[port.to as usize] += load as u64;
    }
    weights
}

/// By node: whether it is a switch whose ports have nothing in common, and each packet that comes has its next one laid down.
fn plain(network: &Network) -> Vec<bool> {
    let alike = network.balancing == Balancing::Flow && network.shared.is_none() && network.pause.is_none();
    let mut plain = vec![alike && network.faults.is_empty(); network.nodes as usize];
    plain[..network.hosts as usize].fill(false);
    for port in &network.ports {
        // What may still be marked on its way there stays in the domain from which it comes until it leaves.
        let marks_at_dequeue =
            port.marking.is_some_and(|at| network.markings[at as usize].on_joining(port.rate).is_none());
        plain[port.from as usize] &= port.discipline.is_none();
        plain[port.to as usize] &= port.discipline.is_none() && !marks_at_dequeue;
    }
    plain
}

/// Hosts that stay together: as large as there can be where `wanted` groups are to be left.
fn groups(network: &Network, wanted: usize) -> Vec<Vec<u32>> {
    let mut best = Groups::of_hosts(network);
    let levels = levels(network);
    for level in 1..=levels.iter().copied().filter(|&level| level != NIL).max().unwrap_or(0) {
        let mut larger = best.clone();
        for port in &network.ports {
            let (below, above) = (levels[port.from as usize], levels[port.to as usize]);
            if above == level && below != NIL && below < level {
                larger.join(port.from, port.to);
            }
        }
        if larger.hosts(network.hosts).len() < wanted {
            break;
        }
        best = larger;
    }
    best.hosts(network.hosts)
}

/// By node: hops to the nearest host; [`NIL`] where there is none.
fn levels(network: &Network) -> Vec<u32> {
    let mut levels = vec![NIL; network.nodes as usize];
    levels[..network.hosts as usize].fill(0);
    let mut level = 0;
    loop {
        let mut found = false;
        for port in &network.ports {
            if levels[port.from as usize] == level && levels[port.to as usize] == NIL {
                levels[port.to as usize] = level + 1;
                found = true;
            }
        }
        if !found {
            return levels;
        }
        level += 1;
    }
}

/// Nodes that stay together: each points to another one of its group, one of them to itself.
#[derive(Clone)]
struct Groups(Vec<u32>);

impl Groups {
    /// Every node by itself, but for flows that begin where a third host sees another end: nothing tells it in time.
    fn of_hosts(network: &Network) -> Self {
        let mut groups = Self((0..network.nodes).collect());
        for flow in &network.flows {
            if let Some(first) = flow.after.map(|first| &network.flows[first as usize])
                && flow.src != first.src
            {
                groups.join(flow.src, first.dst);
            }
        }
        groups
    }

    fn first(&mut self, node: u32) -> u32 {
        let mut at = node;
        while self.0[at as usize] != at {
            self.0[at as usize] = self.0[self.0[at as usize] as usize];
            at = self.0[at as usize];
        }
        at
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.first(a), self.first(b));
        self.0[a.max(b) as usize] = a.min(b);
    }

    /// The hosts of each group.
    fn hosts(&mut self, hosts: u32) -> Vec<Vec<u32>> {
        let mut groups = vec![Vec::new(); self.0.len()];
        for host in 0..hosts {
            groups[self.first(host) as usize].push(host);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }
}

/// Each switch, those next to hosts first.
fn place_switches(
    network: &Network,
    plain: &[bool],
    (weights, loads): (&[u64], &[f64]),
    shares: &mut Shares,
    of: &mut [u32],
) {
    let levels = levels(network);
    let mut switches: Vec<_> = (network.hosts..network.nodes).collect();
    switches.sort_by_key(|&switch| levels[switch as usize]);
    let mut below = vec![Vec::new(); network.nodes as usize];
    let mut ports = vec![Vec::new(); network.nodes as usize];
    for (number, port) in network.ports.iter().enumerate() {
        if levels[port.from as usize] < levels[port.to as usize] {
            below[port.to as usize].push(port.from);
        }
        ports[port.from as usize].push(number);
        ports[port.to as usize].push(number);
    }
    for switch in switches {
        let mut links = vec![0; shares.0.len()];
        for &node in &below[switch as usize] {
            if let Some(count) = links.get_mut(of[node as usize] as usize) {
                *count += 1;
            }
        }
        let several = links.iter().filter(|&&count| count > 0).count() > 1;
        let ends = |&at: &usize| [network.ports[at].from, network.ports[at].to].map(|node| of[node as usize]);
        // Of two neighbours one has to say where the port between them belongs.
        let alone = || ports[switch as usize].iter().all(|at| !ends(at).contains(&SPLIT));
        if several && plain[switch as usize] && alone() {
            let placed = ports[switch as usize].iter().filter(|at| ends(at)[1] != NIL);
            placed.for_each(|at| shares.add(ends(at)[1], loads[*at] as u64));
            of[switch as usize] = SPLIT;
            continue;
        }
        let best = (0_u32..).zip(&links).min_by_key(|&(domain, &count)| (Reverse(count), shares.0[domain as usize]));
        let domain = best.map_or(0, |(domain, _)| domain);
        of[switch as usize] = domain;
        shares.add(domain, weights[switch as usize]);
    }
}

/// One domain's part.
#[derive(Clone, Debug)]
pub struct Ownership {
    /// Who owns what.
    pub partition: Arc<Partition>,
    /// Which domain it is.
    pub domain: u32,
}

impl Ownership {
    /// Whether this domain owns the host.
    #[inline]
    pub fn owns(&self, host: u32) -> bool {
        self.partition.of(host) == self.domain
    }

    /// Whether this domain owns the port.
    pub fn owns_port(&self, port: &PortSpec) -> bool {
        self.partition.of_port(port) == self.domain
    }

    /// How long a full frame takes over a link, the middle of those that this domain owns, and how many these are.
    pub fn crossing(&self, network: &Network) -> (Time, usize) {
        let owned = network.ports.iter().filter(|port| self.owns_port(port));
        let mut times: Vec<_> = owned.map(|port| port.delay + Clock::new(port.rate).time(network.mtu)).collect();
        times.sort_unstable();
        (times.get(times.len() / 2).copied().unwrap_or(Time::ZERO), times.len())
    }

    /// Where a link link_target that begins in this domain.
    pub fn link_target(&self, port: &PortSpec) -> LinkTarget {
        match self.partition.at_end(port) {
            _ if !self.owns_port(port) => LinkTarget::Local,
            None => LinkTarget::PerPacket,
            Some(to) if to == self.domain => LinkTarget::Local,
            Some(_) => LinkTarget::Remote,
        }
    }
}
