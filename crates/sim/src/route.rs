//! Shortest paths, with a choice for each flow among equal ones (ECMP).

use std::collections::BTreeMap;

use crate::network::{Network, PortSpec};
use crate::packet::NIL;

/// For every switch and host: the ports on a shortest path.
#[derive(Debug)]
pub struct Routes {
    hosts: u32,
    /// By switch and destination: which entry of `choices`.
    table: Vec<u32>,
    /// Ports to choose from: where they begin in `ports`, and how many.
    choices: Vec<(u32, u32)>,
    ports: Vec<u32>,
    /// The only port of each host.
    nics: Vec<u32>,
    salt: u32,
    /// Present once a flow has asked to be answered along its own way.
    returns: Option<Returns>,
}

/// Ways back along the ways there.
#[derive(Debug)]
struct Returns {
    /// By link: the one back.
    twins: Vec<u32>,
    flows: Vec<Back>,
}

/// The way back of one flow, where switches have a choice.
#[derive(Clone, Debug)]
struct Back {
    /// Packets to this host take it; [`NIL`] where the flow has not asked.
    to: u32,
    /// Switch and its port.
    ports: Vec<(u32, u32)>,
}

impl Routes {
    /// Shortest paths by number of hops; hosts do not forward.
    pub fn new(network: &Network) -> Self {
        let mut routes = Self {
            hosts: network.hosts,
            table: vec![0; ((network.nodes - network.hosts) * network.hosts) as usize],
            choices: vec![(0, 0)],
            ports: Vec::new(),
            nics: vec![0; network.hosts as usize],
            salt: scramble(network.seed as u32 ^ (network.seed >> 32) as u32),
            returns: None,
        };
        let mut known = BTreeMap::from([(Vec::new(), 0)]);
        let (mut out, mut into) = (vec![Vec::new(); network.nodes as usize], vec![Vec::new(); network.nodes as usize]);
        for (at, port) in network.ports.iter().enumerate() {
            out[port.from as usize].push(at as u32);
            into[port.to as usize].push(port.from);
        }
        for host in 0..network.hosts {
            routes.nics[host as usize] = out[host as usize][0];
            let distance = distances(host, network, &into);
            for switch in network.hosts..network.nodes {
                let towards = |&&port: &&u32| {
                    let to = network.ports[port as usize].to;
                    let to_is_way = to == host || to >= network.hosts;
                    let here = distance[switch as usize];
                    to_is_way && here != u32::MAX && distance[to as usize] == here - 1
                };
                let ports: Vec<u32> = out[switch as usize].iter().filter(towards).copied().collect();
                let choice = *known.entry(ports).or_insert_with_key(|ports| routes.add(ports));
                routes.table[((switch - network.hosts) * network.hosts + host) as usize] = choice;
            }
        }
        routes
    }

    fn add(&mut self, ports: &[u32]) -> u32 {
        self.choices.push((self.ports.len() as u32, ports.len() as u32));
        self.ports.extend_from_slice(ports);
        self.choices.len() as u32 - 1
    }

    /// The port of a host.
    pub fn nic(&self, host: u32) -> u32 {
        self.nics[host as usize]
    }

    /// The port that takes a packet of `flow` from `switch` towards host `to`.
    #[inline]
    pub fn next(&self, switch: u32, to: u32, flow: u32) -> Option<u32> {
        let choice = self.table[((switch - self.hosts) * self.hosts + to) as usize];
        let (begin, count) = self.choices[choice as usize];
        if count <= 1 {
            return (count == 1).then(|| self.ports[begin as usize]);
        }
        if let Some(port) = self.back(switch, to, flow) {
            return Some(port);
        }
        let hash = scramble(flow ^ self.salt ^ switch.wrapping_mul(0x85eb_ca6b));
        let pick = (u64::from(hash) * u64::from(count)) >> 32;
        Some(self.ports[begin as usize + pick as usize])
    }

    /// Where a flow goes back along its own way: the port that leads there.
    #[inline]
    fn back(&self, switch: u32, to: u32, flow: u32) -> Option<u32> {
        let back = &self.returns.as_ref()?.flows[flow as usize];
        let port = || back.ports.iter().find(|(at, _)| *at == switch).map(|(_, port)| *port);
        if back.to == to { port() } else { None }
    }

    /// Sends what `flow` gets back along the way it goes, which must be `path`. Without this the two directions
    /// choose among equal paths each for itself.
    ///
    /// # Errors
    /// A sentence if a link of the path has none back.
    pub fn return_along(&mut self, network: &Network, flow: u32, path: &[u32]) -> Result<(), String> {
        let returns = self.returns.get_or_insert_with(|| Returns {
            twins: twins(network),
            flows: vec![Back { to: NIL, ports: Vec::new() }; network.flows.len()],
        });
        let mut ports = Vec::with_capacity(path.len());
        for &port in &path[..path.len() - 1] {
            let (from, to) = (network.ports[port as usize].from, network.ports[port as usize].to);
            let twin = returns.twins[port as usize];
            if twin == NIL {
                return Err(format!("flow {flow} needs the same way back: expected a link from node {to} to {from}"));
            }
            ports.push((to, twin));
        }
        returns.flows[flow as usize] = Back { to: network.flows[flow as usize].src, ports };
        Ok(())
    }

    /// The ports of a flow from one host to another; none if there is no way.
    pub fn path(&self, network: &Network, from: u32, to: u32, flow: u32) -> Option<Vec<u32>> {
        let mut path = vec![self.nic(from)];
        loop {
            let node = network.ports[*path.last()? as usize].to;
            if node == to {
                return Some(path);
            }
            if node < self.hosts {
                return None;
            }
            path.push(self.next(node, to, flow)?);
        }
    }
}

/// By link: the one back, [`NIL`] where there is none; of several between two nodes, the one in the same place.
fn twins(network: &Network) -> Vec<u32> {
    let mut between: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
    for (at, port) in network.ports.iter().enumerate() {
        between.entry((port.from, port.to)).or_default().push(at as u32);
    }
    let twin = |(at, port): (usize, &PortSpec)| {
        let place = between[&(port.from, port.to)].iter().position(|&other| other == at as u32)?;
        between.get(&(port.to, port.from))?.get(place).copied()
    };
    network.ports.iter().enumerate().map(|port| twin(port).unwrap_or(NIL)).collect()
}

/// Hops from every node to `host`.
fn distances(host: u32, network: &Network, into: &[Vec<u32>]) -> Vec<u32> {
    let mut distance = vec![u32::MAX; network.nodes as usize];
    distance[host as usize] = 0;
    let mut frontier = vec![host];
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for node in frontier {
            for &before in &into[node as usize] {
                if distance[before as usize] == u32::MAX {
                    distance[before as usize] = distance[node as usize] + 1;
                    if before >= network.hosts {
                        next.push(before);
                    }
                }
            }
        }
        frontier = next;
    }
    distance
}

/// Spreads the bits of a number.
fn scramble(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::FlowSpec;
    use shallows_cc::units::{Bytes, Rate, Time};

    fn cable(from: u32, to: u32) -> [PortSpec; 2] {
        let spec = PortSpec {
            from,
            to,
            rate: Rate::from_gbps(10),
            delay: Time::from_micros(1),
            buffer: Bytes::MAX,
            marking: None,
            discipline: None,
        };
        [spec, PortSpec { from: to, to: from, ..spec }]
    }

    /// Hosts 0 and 1 below the leaves 2 and 3, which four spines connect, each by two cables.
    fn leaf_spine(flows: u32) -> Network {
        let mut ports = [cable(0, 2), cable(1, 3)].concat();
        for spine in 4..8 {
            for leaf in [2, 3] {
                ports.extend([cable(leaf, spine), cable(leaf, spine)].concat());
            }
        }
        let flow = FlowSpec {
            src: 0,
            dst: 1,
            bytes: Bytes::MAX,
            start: Time::ZERO,
            stop: Time::MAX,
            control: 0,
            after: None,
            urgent: false,
        };
        Network { hosts: 2, nodes: 8, ports, flows: vec![flow; flows as usize], ..Network::bare() }
    }

    #[test]
    fn a_flow_that_asks_is_answered_over_its_own_links() {
        let network = leaf_spine(64);
        let mut routes = Routes::new(&network);
        let mut differ = 0;
        for flow in 0..64 {
            let there = routes.path(&network, 0, 1, flow).unwrap();
            let ways = |routes: &Routes| {
                let mut back = routes.path(&network, 1, 0, flow).unwrap();
                back.reverse();
                back
            };
            // A cable is two links, one after the other: a link and its twin differ in the last bit.
            let same_cables: Vec<u32> = there.iter().map(|port| port ^ 1).collect();
            differ += u32::from(ways(&routes) != same_cables);
            routes.return_along(&network, flow, &there).unwrap();
            assert_eq!(ways(&routes), same_cables);
            assert_eq!(routes.path(&network, 0, 1, flow).unwrap(), there);
        }
        // By themselves the two directions agree on one of eight ways, on average.
        assert!(differ > 40, "{differ}");
    }
}
