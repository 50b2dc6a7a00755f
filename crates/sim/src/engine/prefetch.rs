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
use crate::packet::Packet;
use crate::port::link::Link;
use crate::spec::network::Network;

/// Links of a domain up to which prefetching does not pay, because what their events touch stays in the caches: with 6,144 links it
/// costs a seventh of the time, with 49,152 it saves a third (bench/README.md). Debug builds, which run the tests, always prefetch.
const CACHED_LINKS: usize = if cfg!(debug_assertions) { 0 } else { 8192 };

/// Numbers of events that come before each of the four events for which something is prefetched.
const BEFORE: [usize; 4] = [2, 4, 7, 10];

/// The number of events that the queue of a domain has to know in advance; 0 if nothing is prefetched.
pub fn prefetch_depth(network: &Network, ownership: &Ownership) -> usize {
    let links = network.ports.iter().filter(|port| ownership.owns_port(port)).count();
    if links > CACHED_LINKS { BEFORE[BEFORE.len() - 1] + 1 } else { 0 }
}

/// Prefetches one more element of the chain of each event that has just come nearer.
#[inline(never)]
pub fn prefetch_next<O>(fabric: &Fabric<O>, hosts: &Hosts) {
    let [near, soon, later, far] = BEFORE.map(|before| fabric.events.peek_nth(before));
    if let Some(port) = far.and_then(|(_, entity)| fabric.ports.get(entity as usize)) {
        port.prefetch();
    }
    if let Some((link, packet)) = later.and_then(|(_, entity)| head(fabric, entity)) {
        prefetch(packet);
        if link.to < fabric.network.hosts {
            prefetch(fabric.packets.header(link.head()));
        }
    }
    if let Some((_, entity)) = soon {
        let port = match head(fabric, entity) {
            Some((link, packet)) => {
                if let Some(behind) = fabric.packets.get(packet.next as usize) {
                    prefetch(behind);
                }
                prefetch_endpoint(hosts, link.to, packet);
                next_port(fabric, hosts, link, packet)
            }
            None => hosts.nics.get(entity.wrapping_sub(fabric.ports.len() as u32)).map(Nic::port),
        };
        if let Some(port) = port {
            fabric.ports[port as usize].prefetch();
        }
    }
    if let Some((at, entity)) = near {
        match head(fabric, entity) {
            Some((link, packet)) => prefetch_queue(fabric, next_port(fabric, hosts, link, packet), at, packet),
            None => prefetch_sender(hosts, entity.wrapping_sub(fabric.ports.len() as u32)),
        }
    }
}

/// The link with this number, and the packet that arrives over it next.
fn head<O>(fabric: &Fabric<O>, entity: u32) -> Option<(&Link, &Packet)> {
    let link = &fabric.ports.get(entity as usize)?.link;
    Some((link, fabric.packets.get(link.head() as usize)?))
}

/// The port that forwards a packet at the end of a link, or the first port of the host there, which may send the response.
fn next_port<O>(fabric: &Fabric<O>, hosts: &Hosts, link: &Link, packet: &Packet) -> Option<u32> {
    let is_host = link.to < fabric.network.hosts;
    if is_host { hosts.nics.first_of(link.to).map(Nic::port) } else { fabric.routes.peek(packet) }
}

/// Prefetches what a packet that enters a port at a given time changes besides the port itself.
fn prefetch_queue<O>(fabric: &Fabric<O>, port: Option<u32>, at: Time, packet: &Packet) {
    let Some(port) = port else { return };
    let port = &fabric.ports[port as usize];
    port.prefetch_queue(at, packet.bytes());
    if let Some(last) = fabric.packets.get(port.link.tail() as usize) {
        prefetch(last);
    }
}

/// Prefetches the sender or receiver that a packet is for, if `node` is a host. A PFC frame is for neither.
fn prefetch_endpoint(hosts: &Hosts, node: u32, packet: &Packet) {
    let Some(nic) = hosts.nics.first_of(node) else { return };
    prefetch(nic);
    if packet.flags.for_neighbour() {
        return;
    }
    if packet.flags.for_sender() {
        hosts.senders.get(packet.flow).map(prefetch_all);
    } else {
        hosts.receivers.get(packet.flow).map(prefetch_all);
    }
}

/// Prefetches the sender that a host serves next.
fn prefetch_sender(hosts: &Hosts, host: u32) {
    if let Some(sender) = hosts.nics.get(host).and_then(Nic::first).and_then(|flow| hosts.senders.get(flow)) {
        prefetch_all(sender);
    }
}
