//! Shortest paths by number of hops, with a choice by flow among equal ones (ECMP), and the routes of flows that have one. Hosts do
//! not forward.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::reverse_links::reverse_links;
use crate::lists::Lists;
use crate::packet::NIL;
use crate::spec::network::{Balancing, Network};

/// One direction of a flow.
#[derive(Clone, Debug)]
pub struct FlowPath {
    /// The ports of one of the shortest paths, the host's own included.
    pub ports: Vec<u32>,
    /// All ports of the host where shortest paths begin. Empty if each host has one port.
    pub first: Vec<u32>,
}

/// The path of a flow, and the path of the packets that answer it, if there are any.
type Paths = [Option<FlowPath>; 2];

/// A network whose shortest paths are searched. It remembers the distances that a search has needed.
#[derive(Debug)]
pub(super) struct Search {
    hosts: u32,
    /// Whether some host has several ports.
    several: bool,
    salt: u32,
    /// By node: its ports.
    pub out: Lists,
    /// By node: the switches at the other end of each link to it.
    into: Lists,
    /// By host: the ports that lead to it.
    last: Lists,
    /// By host: the number of its rack. Hosts with links from the same switches share a rack.
    pub rack: Vec<u32>,
    /// By rack: its switches.
    pub racks: Vec<Vec<u32>>,
    /// The distances to each [`RACKS`] racks, once they were needed.
    distances: Vec<OnceLock<Distances>>,
}

/// The common part of the paths to the hosts of a rack.
struct ToRack<'a> {
    distances: &'a Distances,
    rack: u32,
    /// By switch: its ports on shortest paths, once a path has needed them.
    closer: BTreeMap<u32, Vec<u32>>,
    /// Whether a hash has chosen among several ports.
    drawn: bool,
}

/// Racks whose distances are searched at once.
pub(super) const RACKS: u32 = u64::BITS;

/// Hops from every switch to the hosts of up to [`RACKS`] neighbouring racks. A bit of a mask stands for a rack.
#[derive(Debug)]
pub(super) struct Distances {
    /// The number of the first switch.
    hosts: u32,
    /// The first rack.
    first: u32,
    /// By switch: distances in increasing order, each with the racks that are as far away.
    racks_at: Vec<Vec<(u32, u64)>>,
}

impl Distances {
    /// Hops from a switch to the hosts of a rack; [`NIL`] if there is no path.
    fn of(&self, switch: u32, rack: u32) -> u32 {
        let bit = 1 << (rack - self.first);
        self.racks_at(switch).iter().find(|(_, racks)| racks & bit > 0).map_or(NIL, |&(distance, _)| distance)
    }

    fn racks_at(&self, switch: u32) -> &[(u32, u64)] {
        &self.racks_at[(switch - self.hosts) as usize]
    }

    /// The racks to which the switch `next` is closer than the switch `here`, whose own racks do not count.
    pub fn closer(&self, here: u32, next: u32) -> u64 {
        let mut nearer = self.racks_at(next).iter().peekable();
        let racks = self.racks_at(here).iter().map(|&(distance, racks)| {
            while nearer.next_if(|(other, _)| other + 1 < distance).is_some() {}
            nearer.peek().filter(|(other, _)| other + 1 == distance).map_or(0, |(_, others)| racks & others)
        });
        racks.fold(0, |all, racks| all | racks)
    }
}

impl FlowPath {
    /// The port at whose end the path ends.
    fn last(&self) -> u32 {
        self.ports[self.ports.len() - 1]
    }
}

impl Search {
    /// The network without the links that are `down`; an empty slice means that none is.
    pub(crate) fn new(network: &Network, down: &[bool]) -> Self {
        let all = || network.ports.iter().zip(0_u32..);
        let works = |at: u32| !down.get(at as usize).is_some_and(|&down| down);
        let out = Lists::new(network.nodes, all().filter(|&(_, at)| works(at)).map(|(port, at)| (port.from, at)));
        let switches = all().filter(|&(port, at)| port.from >= network.hosts && works(at));
        let into = Lists::new(network.nodes, switches.clone().map(|(port, _)| (port.to, port.from)));
        let to_hosts = switches.filter(|(port, _)| port.to < network.hosts).map(|(port, at)| (port.to, at));
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
        let rack = rack.collect();
        Self {
            rack,
            distances: racks.chunks(RACKS as usize).map(|_| OnceLock::new()).collect(),
            racks,
            hosts: network.hosts,
            several: network.has_multiport_hosts(),
            salt: salt(network.seed),
            out,
            into,
            last: Lists::new(network.hosts, to_hosts),
        }
    }

    /// Whether a run depends on the choices of a hash. Where each packet finds its own way, a path only says which delays and rates to
    /// expect, and where the links between switches, and those of hosts with several ports, are alike, all paths say the same.
    fn depends_on_choices(&self, network: &Network) -> bool {
        let alike = |from_host: bool| {
            let mut of = network.ports.iter().filter(|port| (port.from.min(port.to) < network.hosts) == from_host);
            let first = of.next();
            of.all(|port| first.is_some_and(|first| (first.rate, first.delay) == (port.rate, port.delay)))
        };
        let by_flow = network.balancing == Balancing::Flow;
        by_flow || !alike(false) || self.several && !alike(true)
    }

    /// The paths of these flows in their order, searched rack by rack, and whether a run depends on a hash that chose among several.
    pub(crate) fn paths(&self, network: &Network, flows: &[u32]) -> (Vec<Paths>, bool) {
        let mut drawn = false;
        let mut paths: Vec<Paths> = flows.iter().map(|_| [None, None]).collect();
        if self.several {
            // Packets that answer leave by the port at which data arrives, which must be known before.
            let reverse = reverse_links(&network.ports);
            drawn |= self.search(network, (flows, &[0]), &mut paths, |_| NIL);
            let arrivals: Vec<_> = paths.iter().map(|[there, _]| there.as_ref().map_or(NIL, FlowPath::last)).collect();
            let answers_by = |place: u32| reverse.get(arrivals[place as usize] as usize).copied().unwrap_or(NIL);
            drawn |= self.search(network, (flows, &[1]), &mut paths, answers_by);
        } else {
            drawn |= self.search(network, (flows, &[0, 1]), &mut paths, |_| NIL);
        }
        (paths, drawn && self.depends_on_choices(network))
    }

    /// Searches the paths of some flows in some directions. `preferred` is the first port that a flow, given by its index in `flows`,
    /// takes if shortest paths begin there. Returns whether a hash has chosen among several ports.
    fn search(
        &self,
        network: &Network,
        (flows, directions): (&[u32], &[usize]),
        paths: &mut [Paths],
        preferred: impl Fn(u32) -> u32,
    ) -> bool {
        let mut drawn = false;
        let all = flows.iter().zip(0_u32..).flat_map(|(&number, place)| {
            let flow = network.flow(number);
            let rack = move |direction| self.rack[[flow.dst, flow.src][direction] as usize];
            directions.iter().map(move |&direction| (rack(direction), place, direction))
        });
        let mut wanted: Vec<_> = all.collect();
        wanted.sort_unstable();
        for batch in wanted.chunk_by(|a, b| a.0 / RACKS == b.0 / RACKS) {
            let distances = self.distances(batch[0].0 / RACKS * RACKS);
            for same_rack in batch.chunk_by(|a, b| a.0 == b.0) {
                let mut to_rack = ToRack { distances, rack: same_rack[0].0, closer: BTreeMap::new(), drawn: false };
                for &(_, place, direction) in same_rack {
                    let number = flows[place as usize];
                    let flow = network.flow(number);
                    let ends = if direction == 0 { (flow.src, flow.dst) } else { (flow.dst, flow.src) };
                    let hashed = (network.path_hash(number), preferred(place));
                    let path = || self.walk(network, ends, hashed, &mut to_rack);
                    paths[place as usize][direction] = self.route(network, number, direction).or_else(path);
                }
                drawn |= to_rack.drawn;
            }
        }
        drawn
    }

    /// Hops from every switch to the hosts of the racks from `first` on, a multiple of [`RACKS`].
    pub fn distances(&self, first: u32) -> &Distances {
        self.distances[(first / RACKS) as usize].get_or_init(|| self.search_distances(first))
    }

    /// Searches the distances to some racks, and follows all of them at once.
    fn search_distances(&self, first: u32) -> Distances {
        let switches = self.out.len() - self.hosts as usize;
        let at = |switch: u32| (switch - self.hosts) as usize;
        let mut racks_at = vec![Vec::new(); switches];
        // The racks that a switch has reached before, and those that it reaches at this distance.
        let (mut before, mut now) = (vec![0_u64; switches], vec![0_u64; switches]);
        let mut frontier = Vec::new();
        let reach = |switch: u32, racks: u64, now: &mut [u64], frontier: &mut Vec<u32>| {
            let all = &mut now[at(switch)];
            if *all == 0 && racks > 0 {
                frontier.push(switch);
            }
            *all |= racks;
        };
        for (bit, rack) in self.racks.iter().skip(first as usize).take(RACKS as usize).enumerate() {
            rack.iter().for_each(|&switch| reach(switch, 1 << bit, &mut now, &mut frontier));
        }
        for distance in 1.. {
            if frontier.is_empty() {
                break;
            }
            let reached: Vec<_> =
                frontier.drain(..).map(|switch| (switch, std::mem::take(&mut now[at(switch)]))).collect();
            for &(switch, racks) in &reached {
                before[at(switch)] |= racks;
                racks_at[at(switch)].push((distance, racks));
            }
            for (switch, racks) in reached {
                for &behind in self.into.of(switch) {
                    reach(behind, racks & !before[at(behind)], &mut now, &mut frontier);
                }
            }
        }
        Distances { hosts: self.hosts, first, racks_at }
    }

    /// The route of the data of a flow, if it has one.
    fn route(&self, network: &Network, flow: u32, direction: usize) -> Option<FlowPath> {
        let ports: Vec<_> = if direction == 0 { network.route(flow).collect() } else { Vec::new() };
        let &begin = ports.first()?;
        Some(FlowPath { first: if self.several { vec![begin] } else { Vec::new() }, ports })
    }

    /// The path from one host to the other; `None` if there is no path. It begins at the `preferred` port if that is possible.
    fn walk(
        &self,
        network: &Network,
        (from, to): (u32, u32),
        (hash, preferred): (u32, u32),
        ToRack { distances, rack, closer, drawn }: &mut ToRack<'_>,
    ) -> Option<FlowPath> {
        let hops = |port: u32| match network.ports[port as usize].to {
            next if next == to => 0,
            next if next < self.hosts => NIL,
            next => distances.of(next, *rack),
        };
        let least = self.out.of(from).iter().map(|&port| hops(port)).min().filter(|&least| least != NIL)?;
        let first = self.out.of(from).iter().copied().filter(|&port| hops(port) == least);
        let begin =
            first.clone().find(|&port| port == preferred).or_else(|| self.choose(from, hash, first.clone(), drawn))?;
        let mut ports = vec![begin];
        loop {
            let node = network.ports[ports[ports.len() - 1] as usize].to;
            if node == to {
                return Some(FlowPath { ports, first: if self.several { first.collect() } else { Vec::new() } });
            }
            let next = match distances.of(node, *rack) {
                // A switch may have many thousand hosts.
                1 => {
                    let there = self.last.of(to).iter().filter(|&&port| network.ports[port as usize].from == node);
                    self.choose(node, hash, there.copied(), drawn)
                }
                here => {
                    let leads_closer = |&&port: &&u32| {
                        let next = network.ports[port as usize].to;
                        next >= self.hosts && distances.of(next, *rack) == here - 1
                    };
                    let all = || self.out.of(node).iter().filter(leads_closer).copied().collect();
                    self.choose(node, hash, closer.entry(node).or_insert_with(all).iter().copied(), drawn)
                }
            };
            ports.push(next?);
        }
    }

    /// Chooses one of the ports of a node by a hash of the flow's number; `None` if there are no ports.
    fn choose(
        &self,
        node: u32,
        number: u32,
        mut ports: impl Iterator<Item = u32> + Clone,
        drawn: &mut bool,
    ) -> Option<u32> {
        let count = ports.clone().count();
        *drawn |= count > 1;
        let hash = scramble(number ^ self.salt ^ node.wrapping_mul(0x85eb_ca6b));
        ports.nth(((u64::from(hash) * count as u64) >> 32) as usize)
    }
}

/// The part of all hashes by which the choices of switches depend on the seed.
pub(super) fn salt(seed: u64) -> u32 {
    scramble(seed as u32 ^ (seed >> 32) as u32)
}

/// Hashes a number (the finalizer of MurmurHash3).
pub(super) fn scramble(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}
