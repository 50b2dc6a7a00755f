//! Shortest paths, with a choice for each flow among equal ones (ECMP).
//!
//! The ports of a flow are laid down once, both ways, and its packets carry their place in that list. Paths are searched by rack:
//! all hosts below the same switches are as far from any switch.

use std::collections::{BTreeMap, VecDeque};

use super::reverse_links::reverse_links;
use crate::packet::header::Header;
use crate::packet::{NIL, Packet};
use crate::spec::network::{Balancing, Control, Network};

/// Set in the place of a packet that is not bound to a way: the rest is the host that it goes to.
const BY_DESTINATION: u32 = 1 << 31;

/// How a packet goes on that turns round at a switch.
#[derive(Clone, Copy, Debug)]
pub struct ReturnHop {
    /// The place that it goes on with.
    pub path: u32,
    /// The port that takes it; none if the switch has to choose.
    pub port: Option<u32>,
}

/// The ways of all flows.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Where switches choose for each packet, all their choices.
    choices: Option<EcmpTable>,
    /// Those that go round links that are down.
    detours: Option<EcmpTable>,
    /// The only port of each host.
    nics: Vec<u32>,
    /// Ports behind the NIC, way after way.
    hops: Vec<u32>,
    /// By flow: where its way begins there, and back.
    offsets: Vec<[u32; 2]>,
    /// The same as it was laid down first, where links may go down.
    original: Vec<[u32; 2]>,
}

impl Routes {
    /// Lays down the ways of all flows: shortest by number of hops; hosts do not forward.
    ///
    /// # Errors
    /// A sentence that names the first flow that has no way, there or back.
    pub fn new(network: &Network) -> Result<Self, String> {
        let search = Search::new(network, &[]);
        let paths = search.paths(network);
        let mut routes = Self {
            choices: (network.balancing != Balancing::Flow).then(|| EcmpTable::new(network, &search)),
            detours: None,
            nics: search.nics,
            hops: Vec::new(),
            offsets: Vec::with_capacity(network.flows.len()),
            original: Vec::new(),
        };
        let reverse_links = if needs_reverse_links(network) { reverse_links(&network.ports) } else { Vec::new() };
        for ([there, back], (number, flow)) in paths.into_iter().zip(network.flows.iter().enumerate()) {
            let missing = |back, from, to| format!("flow {number}: no path {back}from host {from} to {to}");
            let there = there.ok_or_else(|| missing("", flow.src, flow.dst))?;
            let credits = network.controls[flow.control as usize].waits_for_credits();
            let back = match back {
                _ if credits => same_links(network, &reverse_links, number, &there)?,
                back => back.ok_or_else(|| missing("back ", flow.dst, flow.src))?,
            };
            let offsets = [&there, &back].map(|path| {
                let begin = routes.hops.len() as u32;
                routes.hops.extend_from_slice(&path[1..]);
                begin
            });
            routes.offsets.push(offsets);
        }
        if !network.faults.is_empty() {
            routes.original.clone_from(&routes.offsets);
        }
        Ok(routes)
    }

    /// Lays the ways of flows round links that are `down`, and back to where they were first once that is whole. A flow without
    /// a way round keeps its own. Packets under way keep the one they have.
    pub fn reroute(&mut self, network: &Network, down: &[bool]) {
        let reverse_links = if needs_reverse_links(network) { reverse_links(&network.ports) } else { Vec::new() };
        // What credits call takes the way on which they came: a link is no use to them without the one back.
        let either = |(at, &there): (usize, &bool)| {
            there || reverse_links.get(at).is_some_and(|&twin| down.get(twin as usize).is_some_and(|&back| back))
        };
        let down: Vec<_> = down.iter().enumerate().map(either).collect();
        let search = Search::new(network, &down);
        self.detours = self.choices.is_some().then(|| EcmpTable::new(network, &search));
        self.offsets.clone_from(&self.original);
        for ([there, back], (number, flow)) in search.paths(network).into_iter().zip(network.flows.iter().enumerate()) {
            let credits = network.controls[flow.control as usize].waits_for_credits();
            let back = if credits {
                there.as_ref().and_then(|there| same_links(network, &reverse_links, number, there).ok())
            } else {
                back
            };
            let is_down = |&port: &u32| down[port as usize];
            let broken = self.path(network, number as u32).map(|path| path.iter().any(is_down));
            let detours = [there, back].map(|path| path.filter(|path| !path.iter().any(is_down)));
            let moves = if credits { [broken[0] || broken[1]; 2] } else { broken };
            if credits && detours.iter().any(Option::is_none) {
                continue;
            }
            for (direction, path) in detours.into_iter().enumerate() {
                if let Some(path) = path.filter(|_| moves[direction]) {
                    self.offsets[number][direction] = self.hops.len() as u32;
                    self.hops.extend_from_slice(&path[1..]);
                }
            }
        }
    }

    /// The port of a host.
    #[inline]
    pub fn nic(&self, host: u32) -> u32 {
        self.nics[host as usize]
    }

    /// The place that a packet of this flow to `host` begins with: `back` is what its receiver sends.
    #[inline]
    pub fn first_hop(&self, flow: u32, host: u32, back: bool) -> u32 {
        if self.choices.is_some() { BY_DESTINATION | host } else { self.offsets[flow as usize][usize::from(back)] }
    }

    /// The port that [`Self::next`] will give.
    #[inline]
    pub fn peek(&self, packet: &Packet) -> Option<u32> {
        self.hops.get(packet.path as usize).copied()
    }

    /// The port that takes a packet on from the switch where it is; none if that has to choose.
    #[inline]
    pub fn next(&self, packet: &mut Packet) -> Option<u32> {
        let port = *self.hops.get(packet.path as usize)?;
        packet.path += 1;
        Some(port)
    }

    /// How a packet of a flow gets back to its sender from `switch`; none if that does not lie on the way of what answers it.
    pub fn back(&self, network: &Network, packet: &Packet, switch: u32) -> Option<ReturnHop> {
        let host = network.flows[packet.flow as usize].src;
        if self.choices.is_some() {
            return Some(ReturnHop { path: BY_DESTINATION | host, port: None });
        }
        let begin = self.offsets[packet.flow as usize][1];
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

    /// The ports among which `switch` may choose for this packet.
    pub fn choices(&self, switch: u32, packet: &Packet) -> &[u32] {
        let host = packet.path ^ BY_DESTINATION;
        let detours = self.detours.as_ref().map(|choices| choices.of(switch, host)).filter(|ports| !ports.is_empty());
        detours.or_else(|| self.choices.as_ref().map(|choices| choices.of(switch, host))).unwrap_or(&[])
    }

    /// All ports of a flow, from its sender to its receiver and back.
    pub fn path(&self, network: &Network, flow: u32) -> [Vec<u32>; 2] {
        let spec = &network.flows[flow as usize];
        let [there, back] = self.offsets[flow as usize];
        [(spec.src, spec.dst, there), (spec.dst, spec.src, back)].map(|(from, to, hop)| {
            let mut path = vec![self.nic(from)];
            let mut hops = self.hops[hop as usize..].iter();
            while network.ports[path[path.len() - 1] as usize].to != to {
                path.extend(hops.next());
            }
            path
        })
    }
}

/// The ports on the way of each flow there, and on the way back of what answers it, as a run would choose them.
///
/// # Errors
/// A sentence that names a flow without a path.
pub fn paths(network: &Network) -> Result<Vec<[Vec<u32>; 2]>, String> {
    let routes = Routes::new(network)?;
    Ok((0..network.flows.len() as u32).map(|flow| routes.path(network, flow)).collect())
}

/// For every switch and rack, the ports on a shortest path.
#[derive(Clone, Debug)]
struct EcmpTable {
    /// By host: its rack, and the ports that lead to it alone, with their switches.
    rack: Vec<u32>,
    down: Vec<Vec<(u32, u32)>>,
    /// By rack and switch: where its ports begin in `ports`, and where they end.
    sets: Vec<[u32; 2]>,
    hosts: u32,
    switches: u32,
    ports: Vec<u32>,
}

impl EcmpTable {
    fn new(network: &Network, search: &Search) -> Self {
        let mut choices = Self {
            rack: search.rack.clone(),
            down: vec![Vec::new(); network.hosts as usize],
            sets: Vec::with_capacity(search.racks.len() * (network.nodes - network.hosts) as usize),
            hosts: network.hosts,
            switches: network.nodes - network.hosts,
            ports: Vec::new(),
        };
        for (port, number) in network.ports.iter().zip(0..) {
            if port.to < network.hosts {
                choices.down[port.to as usize].push((port.from, number));
            }
        }
        for rack in 0..search.racks.len() as u32 {
            let distance = search.distances(rack);
            for node in network.hosts..network.nodes {
                let begin = choices.ports.len() as u32;
                let here = distance[node as usize];
                let leads = |&&port: &&u32| {
                    let next = network.ports[port as usize].to;
                    next >= network.hosts && here > 1 && here != NIL && distance[next as usize] == here - 1
                };
                choices.ports.extend(search.out.of(node).iter().filter(leads));
                choices.sets.push([begin, choices.ports.len() as u32]);
            }
        }
        choices
    }

    fn of(&self, switch: u32, host: u32) -> &[u32] {
        if let Some((_, port)) = self.down[host as usize].iter().find(|(from, _)| *from == switch) {
            return std::slice::from_ref(port);
        }
        let [begin, end] = self.sets[(self.rack[host as usize] * self.switches + switch - self.hosts) as usize];
        &self.ports[begin as usize..end as usize]
    }
}

/// One of `ports` for a packet of this flow with this header: the shortest by `length`, and at random among equal ones;
/// which, depends on the packet and on the switch alone.
pub fn pick<L: Ord>(
    switch: u32,
    (flow, header): (u32, &Header),
    ports: &[u32],
    length: impl Fn(u32) -> L,
) -> Option<u32> {
    let shortest = ports.iter().map(|&port| length(port)).min()?;
    let equal = || ports.iter().copied().filter(|&port| length(port) == shortest);
    let (number, ack_number) = header.numbers();
    let sending = scramble(flow ^ header.stamp().0 as u32);
    let number = scramble(number ^ ack_number.rotate_left(16) ^ sending);
    let hash = scramble(number ^ switch.wrapping_mul(0x85eb_ca6b));
    equal().nth(((u64::from(hash) * equal().count() as u64) >> 32) as usize)
}

/// The ports of a flow that lead there, and those that lead back, where there are any.
type Paths = [Option<Vec<u32>>; 2];

/// What paths are searched in.
struct Search {
    nics: Vec<u32>,
    hosts: u32,
    salt: u32,
    /// By node: its ports, and the switches with a link to it, as many times as they have one.
    out: Lists,
    into: Lists,
    /// By host: the number of its rack, which is the switches with a link to it.
    rack: Vec<u32>,
    racks: Vec<Vec<u32>>,
}

impl Search {
    /// Among links that are not `down`, which none is where that is empty.
    fn new(network: &Network, down: &[bool]) -> Self {
        let all = || network.ports.iter().zip(0_u32..);
        let works = |at: u32| !down.get(at as usize).is_some_and(|&down| down);
        let out = Lists::new(network.nodes, all().filter(|&(_, at)| works(at)).map(|(port, at)| (port.from, at)));
        let switches = all().filter(|&(port, at)| port.from >= network.hosts && works(at));
        let into = Lists::new(network.nodes, switches.map(|(port, _)| (port.to, port.from)));
        let mut nics = vec![NIL; network.hosts as usize];
        all().filter(|(port, _)| port.from < network.hosts).for_each(|(port, at)| nics[port.from as usize] = at);
        let mut known = BTreeMap::new();
        let mut racks = Vec::new();
        let rack = (0..network.hosts).map(|host| {
            let mut above = into.of(host).to_vec();
            above.sort_unstable();
            above.dedup();
            *known.entry(above).or_insert_with_key(|above: &Vec<u32>| {
                racks.push(above.clone());
                racks.len() as u32 - 1
            })
        });
        Self {
            rack: rack.collect(),
            racks,
            nics,
            hosts: network.hosts,
            salt: scramble(network.seed as u32 ^ (network.seed >> 32) as u32),
            out,
            into,
        }
    }

    /// The paths of all flows, rack by rack.
    fn paths(&self, network: &Network) -> Vec<Paths> {
        let mut paths = vec![[None, None]; network.flows.len()];
        let both = network.flows.iter().zip(0_u32..).flat_map(|(flow, number)| {
            [(self.rack[flow.dst as usize], number, 0), (self.rack[flow.src as usize], number, 1)]
        });
        let mut wanted: Vec<_> = both.collect();
        wanted.sort_unstable();
        for same_rack in wanted.chunk_by(|a, b| a.0 == b.0) {
            let distance = self.distances(same_rack[0].0);
            for &(_, number, direction) in same_rack {
                let flow = &network.flows[number as usize];
                let ends = if direction == 0 { (flow.src, flow.dst) } else { (flow.dst, flow.src) };
                paths[number as usize][direction] = self.walk(network, ends, number, &distance);
            }
        }
        paths
    }

    /// Hops from every switch to the hosts of a rack; [`NIL`] where there is no way.
    fn distances(&self, rack: u32) -> Vec<u32> {
        let mut distance = vec![NIL; self.out.len()];
        let mut frontier: VecDeque<_> = self.racks[rack as usize].iter().copied().collect();
        frontier.iter().for_each(|&switch| distance[switch as usize] = 1);
        while let Some(node) = frontier.pop_front() {
            for &before in self.into.of(node) {
                if distance[before as usize] == NIL {
                    distance[before as usize] = distance[node as usize] + 1;
                    frontier.push_back(before);
                }
            }
        }
        distance
    }

    /// The ports from one host to the other; none if there is no way.
    fn walk(&self, network: &Network, (from, to): (u32, u32), flow: u32, distance: &[u32]) -> Option<Vec<u32>> {
        let mut path = vec![self.nics[from as usize]];
        loop {
            let node = network.ports[path[path.len() - 1] as usize].to;
            if node == to {
                return Some(path);
            }
            if node < self.hosts {
                return None;
            }
            let here = distance[node as usize];
            let leads = |&&port: &&u32| {
                let next = network.ports[port as usize].to;
                next == to || (here != 1 && here != NIL && next >= self.hosts && distance[next as usize] == here - 1)
            };
            path.push(self.choose(node, flow, self.out.of(node).iter().filter(leads).copied())?);
        }
    }

    /// One of the ports of a switch that lead there, by flow; none if there is none.
    fn choose(&self, switch: u32, flow: u32, mut ports: impl Iterator<Item = u32> + Clone) -> Option<u32> {
        let count = ports.clone().count();
        let hash = scramble(flow ^ self.salt ^ switch.wrapping_mul(0x85eb_ca6b));
        ports.nth(((u64::from(hash) * count as u64) >> 32) as usize)
    }
}

/// The links of a path backwards: what credits call takes the way on which they came.
fn same_links(network: &Network, reverse_links: &[u32], flow: usize, path: &[u32]) -> Result<Vec<u32>, String> {
    let back = |&port: &u32| {
        let (from, to) = (network.ports[port as usize].from, network.ports[port as usize].to);
        let missing = || format!("flow {flow} needs the same way back: expected a link from node {to} to {from}");
        Some(reverse_links[port as usize]).filter(|&twin| twin != NIL).ok_or_else(missing)
    };
    path.iter().rev().map(back).collect()
}

/// Whether data of some flow takes the path of its credits backwards.
fn needs_reverse_links(network: &Network) -> bool {
    network.controls.iter().any(Control::waits_for_credits)
}

/// Spreads the bits of a number.
fn scramble(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// A list of numbers for each node, one behind the other.
#[derive(Debug)]
struct Lists {
    /// Where each begins, and where the last one ends.
    offsets: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Of pairs of a node and what belongs into its list, in this order.
    fn new(nodes: u32, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut offsets = vec![0; nodes as usize + 1];
        pairs.clone().for_each(|(node, _)| offsets[node as usize + 1] += 1);
        for node in 1..offsets.len() {
            offsets[node] += offsets[node - 1];
        }
        let mut next = offsets.clone();
        let mut items = vec![0; offsets[nodes as usize] as usize];
        for (node, item) in pairs {
            items[next[node as usize] as usize] = item;
            next[node as usize] += 1;
        }
        Self { offsets, items }
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.items[self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize]
    }

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }
}
