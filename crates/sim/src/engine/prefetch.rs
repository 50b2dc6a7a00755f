//! Prefetching of the memory that the next events will touch.
//!
//! In a large network nearly everything that an event touches has left the processor's caches since it was last used. The addresses
//! form a chain: the link names its first packet, the packet the port that forwards it, the port the bins of its histogram. The
//! event queue knows some events in advance. As an event comes nearer, each step prefetches the next element of its chain, so that
//! the step after it can read that element. If the state changes before the event, a prefetch is wasted, and nothing else happens.
//! In a small network everything is cached, and prefetching costs more time than it saves.

use shallows_cc::units::Time;

use crate::arch::prefetch::{prefetch, prefetch_all};
use crate::fabric::Fabric;
use crate::fabric::ownership::Ownership;
use crate::host::hosts::Hosts;
use crate::host::nics::Nic;
use crate::observe::Observer;
use crate::packet::{PACKET_SIZE, Packet};
use crate::spec::network::Network;

/// Links of a domain up to which prefetching does not pay, because what their events touch stays in the caches: with 6,144 links it
/// costs a seventh of the time, with 49,152 it saves a third (bench/README.md). Debug builds, which run the tests, always prefetch.
const CACHED_LINKS: usize = if cfg!(debug_assertions) { 0 } else { 8192 };

/// Links with classes from which prefetching pays while more than [`CACHED_PACKETS`] are in flight: each packet that waits in a class
/// touches about ten cache lines.
const CACHED_CLASSES: usize = CACHED_LINKS / 8;

/// Packets in flight up to which they stay in the caches: 1.5 MiB.
const CACHED_PACKETS: u64 = if cfg!(debug_assertions) { 0 } else { (3 << 19) / PACKET_SIZE as u64 };

/// Numbers of events that come before the event for which a step prefetches something, from the first step to the last.
const BEFORE: [usize; 6] = [14, 11, 8, 5, 3, 1];

/// The known events, and how far their chains have been followed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookahead {
    /// By the number of known events so far, modulo the size.
    chains: [Chain; 16],
    now: usize,
    /// The number of packets in flight from which something is prefetched.
    from_packets: u64,
    active: bool,
}

const _: () = assert!(BEFORE[0] + 1 < 16);

/// What is known of an event that comes soon.
#[derive(Clone, Copy, Debug, Default)]
enum Chain {
    /// Nothing.
    #[default]
    Unknown,
    /// A packet arrives over a link.
    Link { at: Time, link: u32 },
    /// The packet is known as well.
    Packet { at: Time, link: u32, packet: u32 },
    /// And the port that forwards it, or through which its host may send a response.
    Forwarded { at: Time, packet: u32, port: u32 },
    /// A NIC becomes idle.
    Nic(u32),
    /// A port with classes may send.
    Wake(u32),
}

impl Lookahead {
    /// What a domain of a network needs.
    pub fn new(network: &Network, ownership: &Ownership) -> Self {
        let owned = network.ports.iter().filter(|port| ownership.owns_port(port));
        let classes = owned.clone().filter(|port| port.discipline.is_some()).count();
        let from_packets = match owned.count() {
            links if links > CACHED_LINKS => 0,
            _ if classes > CACHED_CLASSES => CACHED_PACKETS,
            _ => u64::MAX,
        };
        Self { from_packets, ..Self::default() }
    }

    /// The number of events that the event queue has to know in advance; 0 if nothing is ever prefetched.
    pub(crate) const fn depth(&self) -> usize {
        if self.from_packets == u64::MAX { 0 } else { BEFORE[0] + 1 }
    }

    /// Returns whether prefetching pays with so many packets in flight. Events that came while it did not are forgotten.
    pub fn pays(&mut self, packets: u64) -> bool {
        let was = std::mem::replace(&mut self.active, packets >= self.from_packets);
        if self.active && !was {
            self.chains = Default::default();
        }
        self.active
    }

    /// Prefetches one more element of the chain of each event that has just come nearer. Call it before each event that was known.
    #[inline(never)]
    pub(crate) fn advance<O: Observer>(&mut self, fabric: &mut Fabric<O>, hosts: &Hosts) {
        self.now = self.now.wrapping_add(1);
        let [begin, packet, port, queue, class, end] = BEFORE.map(|before| (self.now + before + 1) % 16);
        self.chains[begin] = first(fabric, hosts);
        self.chains[packet] = second(fabric, self.chains[packet]);
        self.chains[port] = third(fabric, hosts, self.chains[port]);
        fourth(fabric, self.chains[queue]);
        fifth(fabric, hosts, self.chains[class]);
        sixth(fabric, self.chains[end]);
        if fabric.network.chooses_by_packet()
            && let Chain::Forwarded { packet, port, .. } = self.chains[self.now % 16]
            && fabric.ports[port as usize].from >= fabric.network.hosts
        {
            fabric.foreseen = (packet, port);
        }
    }
}

/// The link over which a packet arrives, or the port that may send.
#[inline(always)]
fn first<O: Observer>(fabric: &Fabric<O>, hosts: &Hosts) -> Chain {
    let Some((at, entity)) = fabric.events.peek_nth(BEFORE[0]) else { return Chain::Unknown };
    let (links, nics) = (fabric.ports.len() as u32, hosts.nics.count());
    let (port, chain) = if entity < links {
        (entity, Chain::Link { at, link: entity })
    } else if entity - links < nics {
        return Chain::Nic(entity - links);
    } else {
        (entity - links - nics, Chain::Wake(entity - links - nics))
    };
    fabric.ports[port as usize].prefetch();
    chain
}

/// The packet, or the scheduler of the port.
#[inline(always)]
fn second<O>(fabric: &Fabric<O>, chain: Chain) -> Chain {
    match chain {
        Chain::Link { at, link } => {
            let link_state = &fabric.ports[link as usize].link;
            let (packet, to) = (link_state.head(), link_state.to);
            let Some(head) = fabric.packets.get(packet as usize) else { return Chain::Unknown };
            prefetch(head);
            if to < fabric.network.hosts || fabric.network.chooses_by_packet() {
                prefetch(fabric.packets.header(packet));
            }
            return Chain::Packet { at, link, packet };
        }
        Chain::Wake(port) => fabric.ports[port as usize].prefetch_scheduler(),
        _ => {}
    }
    chain
}

/// The port that forwards the packet, or the flow that receives it, and the packet behind it; or the class that waits.
#[inline(always)]
fn third<O>(fabric: &Fabric<O>, hosts: &Hosts, chain: Chain) -> Chain {
    match chain {
        Chain::Packet { at, link, packet } => {
            let node = fabric.ports[link as usize].link.to;
            let Some(head) = fabric.packets.get(packet as usize) else { return Chain::Unknown };
            if let Some(behind) = fabric.packets.get(head.next as usize) {
                prefetch(behind);
            }
            // A pause or its end goes no further.
            let port = if head.flags.for_neighbour() {
                None
            } else if node < fabric.network.hosts {
                prefetch_endpoint(hosts, node, head);
                hosts.nics.first_of(node).map(Nic::port)
            } else {
                fabric.foresee(node, packet)
            };
            let Some(port) = port else { return Chain::Unknown };
            fabric.ports[port as usize].prefetch();
            return Chain::Forwarded { at, packet, port };
        }
        Chain::Nic(nic) => _ = hosts.nics.get(nic).map(|nic| fabric.ports[nic.port() as usize].prefetch()),
        Chain::Wake(port) => fabric.ports[port as usize].prefetch_waiting_class(),
        _ => {}
    }
    chain
}

/// The queue that the packet finds, or the place of the first packet that waits.
#[inline(always)]
fn fourth<O>(fabric: &Fabric<O>, chain: Chain) {
    match chain {
        Chain::Forwarded { at, packet, port } => {
            let port = &fabric.ports[port as usize];
            port.prefetch_queue(at, &fabric.packets[packet]);
            if let Some(last) = fabric.packets.get(port.link.tail() as usize) {
                prefetch(last);
            }
        }
        Chain::Wake(port) => _ = fabric.ports[port as usize].first_waiting().map(prefetch),
        _ => {}
    }
}

/// The class that the packet joins, or the first packet that waits and the last one on the link.
#[inline(always)]
fn fifth<O>(fabric: &Fabric<O>, hosts: &Hosts, chain: Chain) {
    match chain {
        Chain::Forwarded { at, packet, port } => {
            fabric.ports[port as usize].prefetch_class(at, &fabric.packets[packet]);
        }
        Chain::Nic(nic) => {
            let first = hosts.nics.get(nic).and_then(Nic::first);
            first.and_then(|flow| hosts.senders.get(flow)).map(prefetch_all);
        }
        Chain::Wake(port) => {
            let port = &fabric.ports[port as usize];
            let first = port.first_waiting().map(|waiting| waiting.packet);
            for packet in [first, Some(port.link.tail())].into_iter().flatten() {
                fabric.packets.get(packet as usize).map(prefetch);
            }
        }
        _ => {}
    }
}

/// The end of that class.
#[inline(always)]
fn sixth<O>(fabric: &Fabric<O>, chain: Chain) {
    if let Chain::Forwarded { at, packet, port } = chain {
        fabric.ports[port as usize].prefetch_end_of_class(at, &fabric.packets[packet]);
    }
}

/// Prefetches the NIC of a host, and the sender or receiver that a packet is for.
fn prefetch_endpoint(hosts: &Hosts, host: u32, packet: &Packet) {
    hosts.nics.first_of(host).map(prefetch);
    if packet.flags.for_sender() {
        hosts.senders.get(packet.flow).map(prefetch_all);
    } else {
        hosts.receivers.get(packet.flow).map(prefetch_all);
    }
}
