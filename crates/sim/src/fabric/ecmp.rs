//! Choice of a port for each packet among those on shortest paths (ECMP).

use std::collections::BTreeMap;

use super::shortest_paths::{Search, scramble};
use crate::arch::huge_pages;
use crate::packet::header::Header;
use crate::packet::{NIL, Packet};
use crate::spec::network::Network;

/// The ports on shortest paths, for every switch and rack.
#[derive(Clone, Debug)]
pub(super) struct EcmpTable {
    /// By host: its rack, and the switch from which all links to it come; [`NIL`] if they come from several.
    hosts_at: Vec<(u32, u32)>,
    /// By host: the switches with links to it, and the ports there.
    down: Vec<Vec<(u32, SetAt)>>,
    /// By rack and switch: the ports there.
    sets: Vec<SetAt>,
    hosts: u32,
    switches: u32,
    ports: PortSets,
}

/// Place of a set of ports in [`PortSets`].
type SetAt = u32;

/// Sets of ports, each once: most racks are behind the same ports of a switch, and so all sets stay in the caches.
#[derive(Clone, Debug, Default)]
struct PortSets {
    /// The number of ports of a set, then these ports, for one set after the other.
    all: Vec<u32>,
}

impl PortSets {
    fn add(&mut self, ports: Vec<u32>, known: &mut BTreeMap<Vec<u32>, SetAt>) -> SetAt {
        *known.entry(ports).or_insert_with_key(|ports| {
            let at = self.all.len() as SetAt;
            self.all.push(ports.len() as u32);
            self.all.extend(ports);
            at
        })
    }

    #[inline]
    fn of(&self, at: SetAt) -> &[u32] {
        let (count, ports) = self.all[at as usize..].split_first().expect("a set begins with its length");
        &ports[..*count as usize]
    }
}

impl EcmpTable {
    pub(crate) fn new(network: &Network, search: &Search) -> Self {
        let (mut ports, mut known) = (PortSets::default(), BTreeMap::new());
        let all = network.ports.iter().zip(0_u32..);
        let mut to_hosts: Vec<_> = all.filter(|(port, _)| port.to < network.hosts).collect();
        // The sort is stable, so that ports keep their order.
        to_hosts.sort_by_key(|(port, _)| (port.to, port.from));
        let mut down = vec![Vec::new(); network.hosts as usize];
        for parallel in to_hosts.chunk_by(|(a, _), (b, _)| (a.to, a.from) == (b.to, b.from)) {
            let (port, _) = parallel[0];
            let set = ports.add(parallel.iter().map(|&(_, number)| number).collect(), &mut known);
            down[port.to as usize].push((port.from, set));
        }
        let above = |down: &Vec<(u32, SetAt)>| if let [(switch, _)] = down[..] { switch } else { NIL };
        let mut sets = Vec::new();
        for rack in 0..search.racks.len() as u32 {
            let distance = search.distances(rack);
            for node in network.hosts..network.nodes {
                let here = distance[node as usize];
                let leads = |port: &u32| {
                    let next = network.ports[*port as usize].to;
                    next >= network.hosts && here > 1 && here != NIL && distance[next as usize] == here - 1
                };
                let closer = search.out.of(node).iter().copied().filter(leads).collect();
                huge_pages::push(&mut sets, ports.add(closer, &mut known));
            }
        }
        Self {
            hosts_at: search.rack.iter().zip(&down).map(|(&rack, down)| (rack, above(down))).collect(),
            down,
            sets,
            hosts: network.hosts,
            switches: network.nodes - network.hosts,
            ports,
        }
    }

    /// The ports of `switch` on shortest paths to `host`.
    pub fn of(&self, switch: u32, host: u32) -> &[u32] {
        let (rack, above) = self.hosts_at[host as usize];
        let has_link = above == switch || above == NIL;
        let direct = has_link.then(|| self.down[host as usize].iter().find(|(from, _)| *from == switch)).flatten();
        let set = || self.sets[(rack * self.switches + switch - self.hosts) as usize];
        self.ports.of(direct.map_or_else(set, |&(_, set)| set))
    }
}

/// The entropy of a packet, which switches hash to choose among equal ports. It is derived from the flow and the header, so that
/// packets of a flow, and retransmissions of a packet, differ.
pub(super) fn entropy(flow: u32, header: &Header) -> u32 {
    let (number, ack_number) = header.numbers();
    let sending = scramble(flow ^ header.stamp().0 as u32);
    scramble(number ^ ack_number.rotate_left(16) ^ sending)
}

/// The same for a packet whose host has chosen an entropy value.
pub(super) fn entropy_of_host(packet: &Packet) -> u32 {
    scramble(packet.flow) ^ u32::from(packet.entropy()).wrapping_mul(0x9e37_79b1)
}

/// Picks the port with the least `length`; among equal ones that which `nth` selects of so many.
pub(super) fn pick<L: Ord>(ports: &[u32], length: impl Fn(u32) -> L, nth: impl Fn(usize) -> usize) -> Option<u32> {
    let shortest = ports.iter().map(|&port| length(port)).min()?;
    let equal = || ports.iter().copied().filter(|&port| length(port) == shortest);
    equal().nth(nth(equal().count()))
}
