//! Choice of a port for each packet among those on shortest paths (ECMP).

use super::shortest_paths::{Search, scramble};
use crate::packet::header::Header;
use crate::packet::{NIL, Packet};
use crate::spec::network::Network;

/// The ports on shortest paths, for every switch and rack.
#[derive(Clone, Debug)]
pub(super) struct EcmpTable {
    /// By host: its rack, and the switch from which all links to it come; [`NIL`] if they come from several.
    hosts_at: Vec<(u32, u32)>,
    /// By host: the switches with links to it, and beginning and end of their part of `ports`.
    down: Vec<Vec<(u32, [u32; 2])>>,
    /// By rack and switch: beginning and end of its part of `ports`.
    sets: Vec<[u32; 2]>,
    hosts: u32,
    switches: u32,
    ports: Vec<u32>,
}

impl EcmpTable {
    pub fn new(network: &Network, search: &Search) -> Self {
        let mut table = Self {
            hosts_at: Vec::with_capacity(network.hosts as usize),
            down: vec![Vec::new(); network.hosts as usize],
            sets: Vec::with_capacity(search.racks.len() * (network.nodes - network.hosts) as usize),
            hosts: network.hosts,
            switches: network.nodes - network.hosts,
            ports: Vec::new(),
        };
        let all = network.ports.iter().zip(0_u32..);
        let mut to_hosts: Vec<_> = all.filter(|(port, _)| port.to < network.hosts).collect();
        // The sort is stable, so that ports keep their order.
        to_hosts.sort_by_key(|(port, _)| (port.to, port.from));
        for parallel in to_hosts.chunk_by(|(a, _), (b, _)| (a.to, a.from) == (b.to, b.from)) {
            let begin = table.ports.len() as u32;
            table.ports.extend(parallel.iter().map(|(_, number)| number));
            let (port, _) = parallel[0];
            table.down[port.to as usize].push((port.from, [begin, table.ports.len() as u32]));
        }
        let above = |down: &[(u32, [u32; 2])]| if let [(switch, _)] = down { *switch } else { NIL };
        table.hosts_at.extend(search.rack.iter().zip(&table.down).map(|(&rack, down)| (rack, above(down))));
        for rack in 0..search.racks.len() as u32 {
            let distance = search.distances(rack);
            for node in network.hosts..network.nodes {
                let begin = table.ports.len() as u32;
                let here = distance[node as usize];
                let leads = |&&port: &&u32| {
                    let next = network.ports[port as usize].to;
                    next >= network.hosts && here > 1 && here != NIL && distance[next as usize] == here - 1
                };
                table.ports.extend(search.out.of(node).iter().filter(leads));
                table.sets.push([begin, table.ports.len() as u32]);
            }
        }
        table
    }

    /// The ports of `switch` on shortest paths to `host`.
    pub fn of(&self, switch: u32, host: u32) -> &[u32] {
        let (rack, above) = self.hosts_at[host as usize];
        let has_link = above == switch || above == NIL;
        let direct = has_link.then(|| self.down[host as usize].iter().find(|(from, _)| *from == switch)).flatten();
        let set = || self.sets[(rack * self.switches + switch - self.hosts) as usize];
        let [begin, end] = direct.map_or_else(set, |&(_, set)| set);
        &self.ports[begin as usize..end as usize]
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

/// The hash of a packet at a switch. It depends on the switch and on the entropy of the packet alone.
pub(super) fn hash(switch: u32, entropy: u32) -> u32 {
    scramble(entropy ^ switch.wrapping_mul(0x85eb_ca6b))
}

/// The number below `count` that a hash stands for.
pub(super) fn below(count: usize, hash: u32) -> usize {
    ((u64::from(hash) * count as u64) >> 32) as usize
}

/// Picks the port with the least `length`; among equal ones that which `nth` selects of so many.
pub(super) fn pick<L: Ord>(ports: &[u32], length: impl Fn(u32) -> L, nth: impl Fn(usize) -> usize) -> Option<u32> {
    let shortest = ports.iter().map(|&port| length(port)).min()?;
    let equal = || ports.iter().copied().filter(|&port| length(port) == shortest);
    equal().nth(nth(equal().count()))
}
