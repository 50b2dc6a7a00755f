//! Shortest paths, with a choice for each flow among equal ones (ECMP).

use std::collections::BTreeMap;

use crate::network::Network;

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
        let hash = scramble(flow ^ self.salt ^ switch.wrapping_mul(0x85eb_ca6b));
        let pick = (u64::from(hash) * u64::from(count)) >> 32;
        Some(self.ports[begin as usize + pick as usize])
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
