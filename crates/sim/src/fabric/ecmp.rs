//! Choice of a port for each packet among those on shortest paths (ECMP).

use std::collections::BTreeMap;

use super::shortest_paths::{Distances, RACKS, Search, scramble};
use crate::packet::header::Header;
use crate::packet::{NIL, Packet};
use crate::spec::network::Network;

/// The ports on shortest paths, for every switch and rack.
#[derive(Clone, Debug)]
pub(super) struct EcmpTable {
    hosts_at: Vec<HostAt>,
    /// By host with links from several switches: these switches, and the ports there. Empty for all others.
    down: Vec<Vec<(u32, SetAt)>>,
    /// By switch: the ports on the way to all racks.
    rows: Vec<Row>,
    /// The sets that [`Row`] does not hold itself, for one switch after the other.
    others: Vec<SetAt>,
    hosts: u32,
    ports: PortSets,
}

/// Place of a host.
#[derive(Clone, Copy, Debug)]
struct HostAt {
    rack: u32,
    /// The switch from which all links to the host come, or [`NIL`] if they come from several, and the ports there.
    switch: u32,
    set: SetAt,
}

/// Ports of a switch on shortest paths to all racks. In a regular network they are the same but for the racks below the switch, which
/// have neighbouring numbers: the rows of all its switches stay in the caches.
#[derive(Clone, Copy, Debug)]
struct Row {
    usual: SetAt,
    /// The racks with sets of their own, and the place of the first one in [`EcmpTable::others`].
    begin: u32,
    count: u32,
    others: u32,
}

impl Row {
    /// Compresses the sets towards all racks, and adds those of racks with sets of their own to `others`.
    fn new(column: &[SetAt], others: &mut Vec<SetAt>) -> Self {
        // More than half of a sorted list is also in its middle.
        let mut sorted = column.to_vec();
        sorted.sort_unstable();
        let usual = sorted.get(column.len() / 2).copied().unwrap_or(0);
        let differs = |&set: &SetAt| set != usual;
        let begin = column.iter().position(differs).unwrap_or(column.len());
        let end = column.iter().rposition(differs).map_or(begin, |last| last + 1);
        let row = Self { usual, begin: begin as u32, count: (end - begin) as u32, others: others.len() as u32 };
        others.extend(&column[begin..end]);
        row
    }

    #[inline]
    fn set(self, rack: u32, others: &[SetAt]) -> SetAt {
        let place = rack.wrapping_sub(self.begin);
        if place < self.count { others[(self.others + place) as usize] } else { self.usual }
    }
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
        let host_at = |(&rack, down): (&u32, &mut Vec<(u32, SetAt)>)| match down[..] {
            [(switch, set)] => {
                *down = Vec::new();
                HostAt { rack, switch, set }
            }
            _ => HostAt { rack, switch: NIL, set: 0 },
        };
        let hosts_at = search.rack.iter().zip(&mut down).map(host_at).collect();
        let switches = (network.nodes - network.hosts) as usize;
        let mut columns = vec![Vec::new(); switches];
        for first in (0..search.racks.len() as u32).step_by(RACKS as usize) {
            let distances = search.distances(first);
            let count = RACKS.min(search.racks.len() as u32 - first);
            for (switch, column) in (network.hosts..network.nodes).zip(&mut columns) {
                let begin = column.len();
                column.resize(begin + count as usize, 0);
                for (racks, closer) in closer_ports(network, search, distances, switch) {
                    let set = ports.add(closer, &mut known);
                    let of = |bit: &u32| racks >> bit & 1 > 0;
                    (0..count).filter(of).for_each(|bit| column[begin + bit as usize] = set);
                }
            }
        }
        let mut others = Vec::new();
        let rows = columns.iter().map(|column| Row::new(column, &mut others)).collect();
        Self { hosts_at, down, rows, others, hosts: network.hosts, ports }
    }

    /// The ports of `switch` on shortest paths to `host`.
    pub fn of(&self, switch: u32, host: u32) -> &[u32] {
        let at = self.hosts_at[host as usize];
        let several = || self.down[host as usize].iter().find(|(from, _)| *from == switch).map(|&(_, set)| set);
        let direct = if at.switch == NIL { several() } else { (at.switch == switch).then_some(at.set) };
        let behind = || self.rows[(switch - self.hosts) as usize].set(at.rack, &self.others);
        self.ports.of(direct.unwrap_or_else(behind))
    }
}

/// The ports of a switch on shortest paths to each of the racks of `distances`: sets of racks, and the ports towards all of a set.
fn closer_ports(network: &Network, search: &Search, distances: &Distances, switch: u32) -> Vec<(u64, Vec<u32>)> {
    // The first set is kept large, so that most ports look at few sets.
    let mut sets = vec![(u64::MAX, Vec::new())];
    for &port in search.out.of(switch) {
        let next = network.ports[port as usize].to;
        let mut racks = if next < network.hosts { 0 } else { distances.closer(switch, next) };
        let mut at = 0;
        while racks > 0 {
            let (set, ports): &mut (u64, Vec<u32>) = &mut sets[at];
            let (both, rest) = (*set & racks, *set & !racks);
            if both > 0 && rest > 0 {
                let (mut with, without) = (ports.clone(), std::mem::take(ports));
                with.push(port);
                let larger_with = both.count_ones() > rest.count_ones();
                let (kept, split) =
                    if larger_with { ((both, with), (rest, without)) } else { ((rest, without), (both, with)) };
                sets[at] = kept;
                sets.push(split);
            } else if both > 0 {
                ports.push(port);
            }
            racks &= !both;
            at += 1;
        }
    }
    sets
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Racks 2 to 4 have sets of their own, or lie between such racks.
    #[test]
    fn a_row_keeps_the_sets_that_are_not_usual() {
        let (column, mut others) = ([7, 7, 3, 7, 4, 7, 7], vec![9]);
        let row = Row::new(&column, &mut others);
        assert_eq!(others, [9, 3, 7, 4]);
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|rack| row.set(rack, &others)), column);
        let (all_alike, all_different) = (Row::new(&[5; 3], &mut others), Row::new(&[1, 2, 3], &mut others));
        assert_eq!(others, [9, 3, 7, 4, 1, 2, 3]);
        let sets = |row: Row| [0, 1, 2].map(|rack| row.set(rack, &others));
        assert_eq!((sets(all_alike), sets(all_different)), ([5; 3], [1, 2, 3]));
    }
}
