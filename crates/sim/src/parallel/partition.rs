//! Division of a network into domains.
//!
//! Hosts stay with their rack, and racks with their pod, as long as that leaves as many groups as there are to be domains: a group is
//! what the switches up to one level connect. Groups go to the domain with the smallest load, the heaviest group first.
//!
//! A switch above several domains is split: each of its ports belongs to the domain that it leads to, so a packet changes domains once,
//! on its way to that port, and not at all between nodes of one domain. A switch whose ports share something (memory, path choices,
//! classes) cannot be split. It goes to the domain to which most of its links lead, and among equals to the one with the smallest load.
//!
//! The lookahead ([`crate::parallel::window`]) is the least delay of a link between domains plus the time to send the smallest frame.

use std::cmp::Reverse;

use shallows_cc::units::Time;

use crate::fabric::ownership::{Partition, SPLIT};
use crate::fabric::route::Routes;
use crate::packet::NIL;
use crate::port::clock::Clock;
use crate::spec::network::{Balancing, FlowSpec, MIN_FRAME, Network, PortSpec};

/// Upper bound on the duration in estimates of the load.
const MAX_DURATION: Time = Time::from_secs_whole(100);

/// Divides a network into at most `domains` domains, each with a host; fewer where fewer hosts can be separated.
pub fn partition(network: &Network, routes: &Routes, domains: usize) -> Partition {
    // A task that learns in no time of what ends at another host needs both hosts in one domain, and so do acknowledgements on data,
    // which are beside the packets.
    let wanted = if network.has_global_tasks() || network.host.piggyback {
        1
    } else {
        domains.clamp(1, network.hosts.max(1) as usize)
    };
    if wanted == 1 {
        return Partition::whole(network);
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
    let splittable = splittable(network);
    place_switches(network, &splittable, (&weights, &loads), &mut shares, &mut of);
    by_node(network, of)
}

/// The division in which each node belongs to the domain with its number in `of`, or is split.
pub(crate) fn by_node(network: &Network, of: Vec<u32>) -> Partition {
    let crosses = |port: &&PortSpec| of[port.from as usize] != SPLIT && of[port.from as usize] != of[port.to as usize];
    let bound = |port: &PortSpec| port.delay + Clock::new(port.rate).time(MIN_FRAME);
    let lookahead = network.ports.iter().filter(crosses).map(bound).min().unwrap_or(Time::MAX);
    let domains = of.iter().filter(|&&domain| domain != SPLIT).max().map_or(1, |&last| last + 1);
    Partition { of, domains, lookahead }
}

/// The load of each domain.
struct Shares(Vec<u64>);

impl Shares {
    fn new(domains: usize) -> Self {
        Self(vec![0; domains])
    }

    /// The first domain with the smallest load.
    fn lightest(&self) -> u32 {
        let least = (0_u32..).zip(&self.0).min_by_key(|&(_, &weight)| weight);
        least.map_or(0, |(domain, _)| domain)
    }

    fn add(&mut self, domain: u32, weight: u64) {
        // Idle nodes have a weight too, so that they are spread.
        self.0[domain as usize] += weight + 1;
    }
}

/// By link: an estimate of the packets that will cross it. If they are more than the link can carry in the run, all flows over it get
/// proportionally less.
fn loads(network: &Network, routes: &Routes) -> Vec<f64> {
    let paths = || (0..network.flows.len() as u32).map(|flow| routes.path(network, flow));
    let demand = |(flow, number): (&FlowSpec, u32)| {
        let rate = routes.first_rate(network, number, false);
        let span = network.duration.min(MAX_DURATION).min(flow.stop).saturating_sub(flow.start);
        let bytes = if network.duration < Time::MAX { flow.bytes.min(rate.sent_in(span)) } else { flow.bytes };
        bytes.0 as f64 / network.mss().0 as f64
    };
    let demands: Vec<f64> = network.flows.iter().zip(0..).map(demand).collect();
    let mut wanted = vec![0.0; network.ports.len()];
    for (path, demand) in paths().zip(&demands) {
        path.iter().flatten().for_each(|&port| wanted[port as usize] += demand);
    }
    let most = |port: &PortSpec| port.rate.sent_in(network.duration.min(MAX_DURATION)).0 as f64 / network.mtu.0 as f64;
    let share = |(port, wanted): (&PortSpec, f64)| if network.duration < Time::MAX { most(port) / wanted } else { 1.0 };
    let shares: Vec<f64> = network.ports.iter().zip(wanted).map(share).collect();
    let mut loads = vec![0.0; network.ports.len()];
    for (path, demand) in paths().zip(&demands) {
        let least = path.iter().flatten().map(|&port| shares[port as usize]).fold(1.0, f64::min);
        path.iter().flatten().for_each(|&port| loads[port as usize] += demand * least);
    }
    loads
}

/// An estimate of the packet-hops of the whole run.
pub fn expected_hops(network: &Network, routes: &Routes) -> f64 {
    loads(network, routes).iter().sum()
}

/// By node: an estimate of the packets that arrive there. Only the proportions matter.
fn weights(network: &Network, loads: &[f64]) -> Vec<u64> {
    let mut weights = vec![0; network.nodes as usize];
    for (port, &load) in network.ports.iter().zip(loads) {
        weights[port.to as usize] += load as u64;
    }
    weights
}

/// By node: whether it is a switch that can be split, because its ports share nothing and the next port of each packet is fixed.
fn splittable(network: &Network) -> Vec<bool> {
    let alike = network.balancing == Balancing::Flow && !network.shares_memory() && !network.pauses();
    let mut splittable = vec![alike && !network.links_change(); network.nodes as usize];
    splittable[..network.hosts as usize].fill(false);
    for port in &network.ports {
        // A packet that may be marked when it is dequeued stays in the domain of that port until it leaves.
        let marks_at_dequeue =
            port.marking.is_some_and(|at| network.markings[at as usize].on_joining(port.rate).is_none());
        splittable[port.from as usize] &= port.discipline.is_none();
        splittable[port.to as usize] &= port.discipline.is_none() && !marks_at_dequeue;
    }
    splittable
}

/// Groups of hosts that stay together, as large as possible so that at least `wanted` groups are left.
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

/// By node: hops to the nearest host; [`NIL`] if it is unreachable.
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

/// Groups of nodes as a union-find structure: each node points to another one of its group, and the root to itself.
#[derive(Clone)]
struct Groups(Vec<u32>);

impl Groups {
    /// Every node alone.
    fn of_hosts(network: &Network) -> Self {
        Self((0..network.nodes).collect())
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

/// Assigns each switch to a domain or splits it, those next to hosts first.
fn place_switches(
    network: &Network,
    splittable: &[bool],
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
        // Of two neighbours one must not be split, so that the port between them has a domain.
        let neighbours_whole = || ports[switch as usize].iter().all(|at| !ends(at).contains(&SPLIT));
        if several && splittable[switch as usize] && neighbours_whole() {
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
