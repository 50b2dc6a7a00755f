//! Asks for what the next events will need while the present one is worked on.
//!
//! On a large network nearly all that an event touches has left the processor's caches since it was touched last, and of
//! each thing only the one before tells where it is: a link, the packet at its head, the port that takes that on, the bins
//! of its queue. But the event queue knows a few that are to come. As one comes nearer, each step asks for the next of
//! these, so that it is there when the step after reads it. What has changed until the event comes was asked for in vain,
//! no more. In a small network all is at hand, and asking takes longer than it saves.

use shallows_cc::units::Time;

use crate::engine::domain::Domain;
use crate::fabric::Fabric;
use crate::host::flow_table::FlowTable;
use crate::host::hosts::Hosts;
use crate::host::nics::Nic;
use crate::observe::Observer;
use crate::packet::Packet;
use crate::parallel::partition::Ownership;
use crate::port::link::Link;
use crate::spec::network::Network;

/// What events touch of so many links, ports and packets included, stays in a processor's caches: with 6,144 links asking costs a
/// seventh of the time, with 49,152 it saves a third (bench/README.md). Debug builds, those of tests, always ask.
const LINKS_AT_HAND: usize = if cfg!(debug_assertions) { 0 } else { 8192 };

/// How many events, besides those that are pushed meanwhile, come before the four that are asked for.
const BEFORE: [usize; 4] = [2, 4, 7, 10];

/// Bytes that come together.
const LINE: usize = 64;

/// How many events have to be known ahead for what a ownership of the network holds; none if all is at hand.
pub fn prefetch_depth(network: &Network, ownership: &Ownership) -> usize {
    let links = network.ports.iter().filter(|port| ownership.owns_port(port)).count();
    if links > LINKS_AT_HAND { BEFORE[BEFORE.len() - 1] + 1 } else { 0 }
}

impl<O: Observer> Domain<O> {
    /// Asks for one thing more of each event that has just come nearer.
    #[inline(never)]
    pub fn prefetch_next(&self) {
        let (fabric, hosts) = (&self.fabric, &self.hosts);
        let [near, soon, later, far] = BEFORE.map(|before| fabric.events.peek_nth(before));
        if let Some(port) = far.and_then(|(_, number)| fabric.ports.get(number as usize)) {
            port.fetch();
        }
        if let Some((link, packet)) = later.and_then(|(_, number)| fabric.head(number)) {
            fetch(packet);
            if link.to < fabric.network.hosts {
                fetch(fabric.packets.header(link.head()));
            }
        }
        if let Some((_, number)) = soon {
            match fabric.head(number) {
                Some((link, packet)) => {
                    if let Some(behind) = fabric.packets.get(packet.next as usize) {
                        fetch(behind);
                    }
                    fabric.fetch_port(fabric.goes_on(link, packet));
                    hosts.fetch(link.to, packet);
                }
                None => fabric.fetch_port(fabric.nic_of(number)),
            }
        }
        if let Some((at, number)) = near {
            match fabric.head(number) {
                Some((link, packet)) => fabric.fetch_queue(fabric.goes_on(link, packet), at, packet),
                None => hosts.fetch_turn(number.wrapping_sub(fabric.ports.len() as u32)),
            }
        }
    }
}

impl<O> Fabric<O> {
    /// A link, and the packet that arrives over it next.
    fn head(&self, number: u32) -> Option<(&Link, &Packet)> {
        let link = &self.ports.get(number as usize)?.link;
        Some((link, self.packets.get(link.head() as usize)?))
    }

    /// The port that takes a packet on from the end of a link, or sends what a host answers to it.
    fn goes_on(&self, link: &Link, packet: &Packet) -> Option<u32> {
        if link.to < self.network.hosts { Some(self.routes.nic(link.to)) } else { self.routes.peek(packet) }
    }

    /// The NIC that becomes free by an event of this number.
    fn nic_of(&self, number: u32) -> Option<u32> {
        let host = number.checked_sub(self.ports.len() as u32).filter(|&host| host < self.network.hosts)?;
        Some(self.routes.nic(host))
    }

    fn fetch_port(&self, number: Option<u32>) {
        if let Some(number) = number {
            self.ports[number as usize].fetch();
        }
    }

    /// What a packet that joins a port at some time changes behind it.
    fn fetch_queue(&self, number: Option<u32>, at: Time, packet: &Packet) {
        let Some(number) = number else { return };
        let port = &self.ports[number as usize];
        port.fetch_queue(at, packet.bytes());
        if let Some(last) = self.packets.get(port.link.tail() as usize) {
            fetch(last);
        }
    }
}

impl Hosts {
    /// The half of a flow that a packet is for, where it has come to its host; a pause is for none.
    fn fetch(&self, node: u32, packet: &Packet) {
        let Some(nic) = self.nics.get(node) else { return };
        fetch(nic);
        if packet.flags.for_neighbour() {
            return;
        }
        if packet.flags.for_sender() { self.sending.fetch(packet.flow) } else { self.receiving.fetch(packet.flow) }
    }

    /// The half of the flow whose turn it is.
    fn fetch_turn(&self, host: u32) {
        if let Some(flow) = self.nics.get(host).and_then(Nic::first) {
            self.sending.fetch(flow);
        }
    }
}

impl<T> FlowTable<T> {
    fn fetch(&self, flow: u32) {
        if let Some(half) = self.get(flow) {
            fetch_all(half);
        }
    }
}

/// The line in which a value begins will be needed.
#[inline]
pub fn fetch<T>(value: &T) {
    fetch_line(std::ptr::from_ref(value).cast());
}

/// All lines of a value will be.
#[inline]
pub fn fetch_all<T>(value: &T) {
    let begin = std::ptr::from_ref(value).cast::<u8>();
    (0..size_of::<T>()).step_by(LINE).for_each(|at| fetch_line(begin.wrapping_add(at)));
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code, reason = "a hint to the processor, for which there is no safe call")]
fn fetch_line(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch has no effect but on time, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
}

/// Other processors find out by themselves, or not.
#[cfg(not(target_arch = "x86_64"))]
fn fetch_line(_at: *const u8) {}
