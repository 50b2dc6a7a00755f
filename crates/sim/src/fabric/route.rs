//! Routes: the paths of flows, and the choices of switches that choose a port for each packet.
//!
//! The paths of a flow, in both directions, are computed once. A packet carries its position on its path.

use std::collections::BTreeSet;
use std::sync::Arc;

use shallows_cc::units::Rate;

use super::ecmp::EcmpTable;
use super::port_lists::PortLists;
use super::reverse_links::reverse_links;
pub use super::shortest_paths::FlowPath;
use super::shortest_paths::Search;
use crate::lists::Lists;
use crate::packet::{NIL, Packet};
use crate::spec::network::{Balancing, Control, Network};

/// Set in [`Packet::path`] if switches choose a port for each packet: the other bits are the destination host.
const BY_DESTINATION: u32 = 1 << 31;

/// The next hop of a packet that returns to its sender from a switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReturnHop {
    /// The new position on its path.
    pub path: u32,
    /// The next port; `None` if the switch has to choose.
    pub port: Option<u32>,
}

/// The paths of all flows.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// The choices of switches that choose for each packet.
    choices: Option<EcmpTable>,
    /// The same without the links that are down.
    detours: Option<EcmpTable>,
    /// The ports of all paths.
    hops: PortLists,
    /// By flow and direction: the place in `hops` of the port behind the host's own.
    offsets: Vec<[u32; 2]>,
    /// The number of the first flow that has paths: those before it have been retired.
    first: u32,
    /// The offsets without faults, if links may fail.
    original: Vec<[u32; 2]>,
    /// By flow and direction: beginning and end of the part of `hops` with the ports among which a host chooses for each packet.
    /// Empty if no host chooses.
    spread: Vec<[[u32; 2]; 2]>,
    /// Whether the run depends on paths that were chosen by a hash.
    drawn: bool,
    /// The search in the whole network, if flows may join the run.
    search: Option<Arc<Search>>,
    /// The links that switches avoid now, if there are any.
    detour: Option<Arc<Detour>>,
}

/// A network of which switches avoid some links.
#[derive(Debug)]
struct Detour {
    /// By link: whether they avoid it.
    down: Vec<bool>,
    search: Search,
}

impl Routes {
    /// Computes the paths of all flows.
    ///
    /// # Errors
    /// A sentence that names the first flow without a path in one of the directions.
    pub(crate) fn new(network: &Network) -> Result<Self, String> {
        let search = Search::new(network, &[]);
        let flows: Vec<_> = (0..network.flows.len() as u32).collect();
        let (paths, drawn) = found(network, &search, &flows)?;
        let mut routes = Self {
            choices: (network.balancing != Balancing::Flow).then(|| EcmpTable::new(network, &search)),
            offsets: Vec::with_capacity(network.flows.len()),
            drawn,
            ..Self::default()
        };
        routes.add(network, &paths);
        if !network.links_change() {
            routes.hops.forget();
        }
        Ok(routes)
    }

    /// Adds the paths of the next flows.
    fn add(&mut self, network: &Network, paths: &[[FlowPath; 2]]) {
        let first = self.offsets.len();
        self.offsets.resize(first + paths.len(), [0; 2]);
        if network.hosts_choose_ports() {
            self.spread.resize(self.offsets.len(), [[0; 2]; 2]);
        }
        for (flow, [there, back]) in (first..).zip(paths) {
            self.set(flow, 0, there);
            self.set(flow, 1, back);
        }
        if network.links_change() {
            self.original.extend_from_slice(&self.offsets[first..]);
        }
    }

    /// Adds the paths of the flows behind those that have paths, around the links that switches avoid now.
    ///
    /// # Errors
    /// A sentence that names the first flow without a path in one of the directions; none is added.
    pub(crate) fn join(&mut self, network: &Network) -> Result<(), String> {
        let numbers = network.flow_numbers();
        let flows: Vec<_> = (numbers.start + self.offsets.len() as u32..numbers.end).collect();
        let search = Arc::clone(self.search.get_or_insert_with(|| Arc::new(Search::new(network, &[]))));
        let (paths, drawn) = found(network, &search, &flows)?;
        self.drawn |= drawn;
        self.add(network, &paths);
        if let Some(detour) = self.detour.clone() {
            self.take_detours(network, &detour, &flows);
        }
        Ok(())
    }

    /// Whether the run depends on paths that were chosen by a hash.
    pub const fn has_drawn(&self) -> bool {
        self.drawn
    }

    /// The place of a flow in the tables by flow.
    #[inline]
    fn place(&self, flow: u32) -> usize {
        (flow - self.first) as usize
    }

    /// Forgets the paths of flows before `first`.
    pub(crate) fn retire(&mut self, first: u32) {
        let count = self.place(first);
        self.offsets.drain(..count);
        self.original.drain(..count.min(self.original.len()));
        self.spread.drain(..count.min(self.spread.len()));
        self.first = first;
    }

    /// Sets the path of the flow at a place in one direction.
    fn set(&mut self, flow: usize, direction: usize, path: &FlowPath) {
        self.offsets[flow][direction] = self.hops.add(&path.ports) + 1;
        if let Some(spread) = self.spread.get_mut(flow) {
            let begin = self.hops.add(&path.first);
            spread[direction] = [begin, begin + path.first.len() as u32];
        }
    }

    /// Reroutes flows around the links that are `down`, and back to their original paths when these work again. A flow without a
    /// detour keeps its path. Packets on their way keep theirs.
    pub(crate) fn reroute(&mut self, network: &Network, down: &[bool]) {
        let reverse_links = if needs_reverse_links(network) { reverse_links(&network.ports) } else { Vec::new() };
        // Data takes the path of its credits backwards: to such flows a link is of no use without its reverse link.
        let either = |(at, &there): (usize, &bool)| {
            there || reverse_links.get(at).is_some_and(|&reverse| down.get(reverse as usize).is_some_and(|&back| back))
        };
        let down: Vec<_> = down.iter().enumerate().map(either).collect();
        let search = Search::new(network, &down);
        self.detours = self.choices.is_some().then(|| EcmpTable::new(network, &search));
        self.offsets.clone_from(&self.original);
        let flows: Vec<_> = network.flow_numbers().collect();
        let detour = Detour { down, search };
        self.take_detours(network, &detour, &flows);
        self.detour = detour.down.contains(&true).then(|| Arc::new(detour));
    }

    /// Reroutes some flows, which have their original paths, around the links that switches avoid.
    fn take_detours(&mut self, network: &Network, Detour { down, search }: &Detour, flows: &[u32]) {
        let reverse_links = if needs_reverse_links(network) { reverse_links(&network.ports) } else { Vec::new() };
        let (paths, drawn) = search.paths(network, flows);
        self.drawn |= drawn;
        for ([there, back], &number) in paths.into_iter().zip(flows) {
            let (place, flow) = (self.place(number), network.flow(number));
            let credits = network.controls[flow.control as usize].waits_for_credits();
            let back = if credits {
                there.as_ref().and_then(|there| same_links(network, &reverse_links, number, &there.ports).ok())
            } else {
                back
            };
            let is_down = |&port: &u32| down[port as usize];
            let broken = self.path(network, number).map(|path| path.iter().any(is_down));
            let detours = [there, back].map(|path| path.filter(|path| !path.ports.iter().any(is_down)));
            // A host that chooses for each packet no longer chooses ports whose paths are broken, and chooses those that work again.
            let chooses = !self.spread.is_empty();
            let moves = if chooses {
                [true; 2]
            } else if credits {
                [broken[0] || broken[1]; 2]
            } else {
                broken
            };
            if credits && detours.iter().any(Option::is_none) {
                continue;
            }
            for (direction, path) in detours.into_iter().enumerate() {
                if let Some(path) = path.filter(|_| moves[direction]) {
                    self.set(place, direction, &path);
                }
            }
        }
    }

    /// The first port of a flow's path, which belongs to the sender's host, or to the receiver's if `back`.
    #[inline]
    pub fn first_port(&self, flow: u32, back: bool) -> u32 {
        self.hops[self.offsets[self.place(flow)][usize::from(back)] as usize - 1]
    }

    /// The ports among which the sender's host, or the receiver's if `back`, chooses for each packet: one unless hosts choose.
    pub(crate) fn first_ports(&self, flow: u32, back: bool) -> &[u32] {
        let Some(spread) = self.spread.get(self.place(flow)) else {
            let begin = self.offsets[self.place(flow)][usize::from(back)] as usize;
            return &self.hops[begin - 1..begin];
        };
        let [begin, end] = spread[usize::from(back)];
        &self.hops[begin as usize..end as usize]
    }

    /// The sum of the rates of these ports.
    pub fn first_rate(&self, network: &Network, flow: u32, back: bool) -> Rate {
        Rate(self.first_ports(flow, back).iter().map(|&port| network.ports[port as usize].rate.0).sum())
    }

    /// The position at which a packet of this flow to `host` begins; `back` says that the receiver sends it.
    #[inline]
    pub(crate) fn first_hop(&self, flow: u32, host: u32, back: bool) -> u32 {
        if self.choices.is_some() { BY_DESTINATION | host } else { self.offsets[self.place(flow)][usize::from(back)] }
    }

    /// The port that [`Self::next`] returns.
    #[inline]
    pub fn peek(&self, packet: &Packet) -> Option<u32> {
        self.hops.get(packet.path as usize).copied()
    }

    /// The next port of a packet, whose position moves on; `None` if the switch has to choose.
    #[inline]
    pub(crate) fn next(&self, packet: &mut Packet) -> Option<u32> {
        let port = *self.hops.get(packet.path as usize)?;
        packet.path += 1;
        Some(port)
    }

    /// The next hop of a packet that returns to its sender from `switch`; `None` if the switch is not on the path back.
    pub fn back(&self, network: &Network, packet: &Packet, switch: u32) -> Option<ReturnHop> {
        let host = network.flow(packet.flow).src;
        if self.choices.is_some() {
            return Some(ReturnHop { path: BY_DESTINATION | host, port: None });
        }
        let begin = self.offsets[self.place(packet.flow)][1];
        for (&port, hop) in self.hops.get(begin as usize..)?.iter().zip(begin..) {
            let link = &network.ports[port as usize];
            if link.from == switch {
                return Some(ReturnHop { path: hop + 1, port: Some(port) });
            }
            if link.to == host {
                break;
            }
        }
        None
    }

    /// The ports among which `switch` chooses for this packet.
    pub(crate) fn choices(&self, switch: u32, packet: &Packet) -> &[u32] {
        self.toward(switch, packet.path ^ BY_DESTINATION)
    }

    /// The ports among which `switch` chooses for packets to `host`.
    fn toward(&self, switch: u32, host: u32) -> &[u32] {
        let detours = self.detours.as_ref().map(|choices| choices.of(switch, host)).filter(|ports| !ports.is_empty());
        detours.or_else(|| self.choices.as_ref().map(|choices| choices.of(switch, host))).unwrap_or(&[])
    }

    /// All ports that packets of a flow may take: those of its path, then others among which hosts and switches choose.
    pub fn all_ports(&self, network: &Network, flow: u32) -> Vec<u32> {
        let mut ports = self.path(network, flow).concat();
        if self.choices.is_none() {
            return ports;
        }
        let spec = network.flow(flow);
        let mut seen = BTreeSet::new();
        for (host, back) in [(spec.dst, false), (spec.src, true)] {
            let mut open = self.first_ports(flow, back).to_vec();
            while let Some(port) = open.pop() {
                let node = network.ports[port as usize].to;
                if seen.insert(port) && node >= network.hosts {
                    open.extend(self.toward(node, host));
                }
            }
        }
        ports.extend(seen);
        ports
    }

    /// All ports of a flow's path, from its sender to its receiver and in the other direction.
    pub(crate) fn path(&self, network: &Network, flow: u32) -> [Vec<u32>; 2] {
        let spec = network.flow(flow);
        let [there, back] = self.offsets[self.place(flow)];
        [(spec.dst, there), (spec.src, back)].map(|(to, hop)| {
            let hops = &self.hops[hop as usize - 1..];
            let last = hops.iter().position(|&port| network.ports[port as usize].to == to);
            hops[..=last.expect("a path ends at its host")].to_vec()
        })
    }
}

/// The paths of these flows in both directions, as a run would choose them.
///
/// # Errors
/// A sentence that names a flow without a path, or one that the network does not have.
pub fn paths(network: &Network, flows: &[u32]) -> Result<Vec<[FlowPath; 2]>, String> {
    let count = network.flows.len();
    if let Some(flow) = flows.iter().find(|&&flow| flow as usize >= count) {
        return Err(format!("flow {flow}: expected one of {count}"));
    }
    Ok(found(network, &Search::new(network, &[]), flows)?.0)
}

/// For each set of links, the flows whose data or answers take one of them, as a run would choose their paths.
///
/// # Errors
/// A sentence that names a flow without a path, or a link that the network does not have.
pub fn flows_over(network: &Network, sets: &[Vec<u32>]) -> Result<Vec<Vec<u32>>, String> {
    let count = network.ports.len() as u32;
    if let Some(link) = sets.iter().flatten().find(|&&link| link >= count) {
        return Err(format!("link {link}: expected one of {count}"));
    }
    let sets_of =
        Lists::new(count, (0..).zip(sets).flat_map(|(set, links)| links.iter().map(move |&link| (link, set))));
    let all: Vec<_> = (0..network.flows.len() as u32).collect();
    let mut flows = vec![Vec::new(); sets.len()];
    for (both, flow) in paths(network, &all)?.iter().zip(all) {
        for &set in both.iter().flat_map(|path| &path.ports).flat_map(|&link| sets_of.of(link)) {
            let flows: &mut Vec<u32> = &mut flows[set as usize];
            if flows.last() != Some(&flow) {
                flows.push(flow);
            }
        }
    }
    Ok(flows)
}

/// The paths of these flows, and whether a run depends on a hash that chose among several; those of the packets that answer data that waits for credits are its links in reverse.
fn found(network: &Network, search: &Search, flows: &[u32]) -> Result<(Vec<[FlowPath; 2]>, bool), String> {
    let reverse_links = if needs_reverse_links(network) { reverse_links(&network.ports) } else { Vec::new() };
    let path = |([there, back], &number): ([Option<FlowPath>; 2], &u32)| {
        let flow = network.flow(number);
        let missing = |back, from, to| format!("flow {number}: no path {back}from host {from} to {to}");
        let there = there.ok_or_else(|| missing("", flow.src, flow.dst))?;
        let credits = network.controls[flow.control as usize].waits_for_credits();
        let back = match back {
            _ if credits => same_links(network, &reverse_links, number, &there.ports)?,
            back => back.ok_or_else(|| missing("back ", flow.dst, flow.src))?,
        };
        Ok([there, back])
    };
    let (paths, drawn) = search.paths(network, flows);
    Ok((paths.into_iter().zip(flows).map(path).collect::<Result<_, String>>()?, drawn))
}

/// The reverse links of a path, which data takes if it waits for credits.
fn same_links(network: &Network, reverse_links: &[u32], flow: u32, path: &[u32]) -> Result<FlowPath, String> {
    let back = |&port: &u32| {
        let (from, to) = (network.ports[port as usize].from, network.ports[port as usize].to);
        let missing = || format!("flow {flow} needs the same way back: expected a link from node {to} to {from}");
        Some(reverse_links[port as usize]).filter(|&link| link != NIL).ok_or_else(missing)
    };
    Ok(FlowPath { ports: path.iter().rev().map(back).collect::<Result<_, _>>()?, first: Vec::new() })
}

/// Whether data of some flow takes the path of its credits backwards.
fn needs_reverse_links(network: &Network) -> bool {
    network.controls.iter().any(Control::waits_for_credits)
}

#[cfg(test)]
mod tests {
    use shallows_cc::catalog;
    use shallows_cc::parameter::Values;
    use shallows_cc::units::{Bytes, Time};

    use super::*;
    use crate::spec::fault::{Change, Fault};
    use crate::spec::network::{FlowSpec, PortSpec};

    /// Hosts 0 and 1 behind switches 2 and 5, between which there are two paths. One of them fails again and again.
    #[test]
    fn a_link_that_fails_often_takes_no_more_memory() {
        let cables = [(0, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 1)];
        let link = |(from, to)| PortSpec {
            from,
            to,
            rate: Rate::from_gbps(10),
            delay: Time::ZERO,
            buffer: Bytes::MAX,
            marking: None,
            discipline: None,
        };
        let flow = FlowSpec::new(0, 1, Bytes(1), Time::ZERO);
        let fault = Fault { at: Time::ZERO, link: 0, change: Change::Drain };
        let mut network = Network {
            hosts: 2,
            nodes: 6,
            ports: cables.iter().flat_map(|&(from, to)| [(from, to), (to, from)]).map(link).collect(),
            flows: vec![flow; 3],
            faults: vec![fault],
            ..Network::bare()
        };
        let algorithm = catalog::find("dctcp").expect("a row of the catalog");
        let values = Values::defaults(algorithm.parameters);
        network.controls = vec![Control { algorithm, values, receiver: None, acks_every: 1, user_algorithm: None }];
        let mut routes = Routes::new(&network).expect("there are paths");
        let mut lengths = Vec::new();
        for _ in 0..10 {
            for broken in [2, 4] {
                let down: Vec<_> = (0..12).map(|port| port / 2 * 2 == broken).collect();
                routes.reroute(&network, &down);
                assert!((0..3).all(|flow| !routes.path(&network, flow)[0].contains(&broken)));
                lengths.push(routes.hops.len());
            }
        }
        assert!(lengths[1..].iter().all(|&length| length == lengths[1]), "{lengths:?}");
    }
}
