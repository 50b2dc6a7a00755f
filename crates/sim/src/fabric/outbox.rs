//! Outbox of a domain: packets on links to other domains. The upstream domain collects them in batches and flushes these when a
//! window closes; the downstream domain puts them onto its links before any of them arrives.
//!
//! Most packets go into a batch at once. A packet that may still be marked at dequeue stays until it begins to be sent.

use std::collections::VecDeque;

use shallows_cc::event::HopRecord;
use shallows_cc::units::Time;

use crate::arch::prefetch::prefetch_all;
use crate::fabric::Fabric;
use crate::fabric::ownership::Ownership;
use crate::observe::Observer;
use crate::packet::header::Header;
use crate::packet::{NIL, Packet, Slab};
use crate::spec::network::Network;

/// A packet on its way from one domain to another.
#[derive(Clone, Debug)]
pub struct Transit {
    /// The link that carries it.
    pub link: u32,
    /// The packet, with its arrival at the end of the link.
    pub packet: Packet,
    /// Its header.
    pub header: Header,
    /// The records of its hops, if [`Header::has_int`]; else empty.
    pub int_stack: Vec<HopRecord>,
}

/// Packets for another domain, and the INT stacks of those that have one, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub packets: Vec<(Packet, Header)>,
    int_stacks: VecDeque<Vec<HopRecord>>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Removes all packets, in their order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Transit> {
        let Self { packets, int_stacks } = self;
        packets.drain(..).map(|(packet, header)| {
            let stack = if header.has_int() { int_stacks.pop_front() } else { None };
            Transit { link: packet.next, packet, header, int_stack: stack.unwrap_or_default() }
        })
    }
}

/// The links that lead to other domains, and the packets collected for these.
#[derive(Clone, Debug)]
pub struct Outbox {
    domain: u32,
    /// By link: the domain at its end, if it is one, and the domain of its port. Empty if there is one domain.
    to: Vec<u32>,
    of: Vec<u32>,
    /// Links on which packets stay for now.
    waiting: Vec<u32>,
    /// By domain: its batch.
    out: Vec<Batch>,
    /// Number of packets in all batches.
    count: u64,
    /// The first arrival of a packet in a batch.
    first: Time,
}

impl Outbox {
    /// The empty outbox of the domain with this ownership.
    pub(crate) fn new(network: &Network, ownership: &Ownership) -> Self {
        let domains = ownership.partition.domains();
        let ports = if domains == 1 { &[] } else { &network.ports[..] };
        Self {
            domain: ownership.domain,
            to: ports.iter().map(|port| ownership.partition.at_end(port).unwrap_or(NIL)).collect(),
            of: ports.iter().map(|port| ownership.partition.of_port(port)).collect(),
            waiting: Vec::new(),
            out: (0..domains).map(|_| Batch::default()).collect(),
            count: 0,
            first: Time::MAX,
        }
    }

    /// Moves a packet on a link into the batch of another domain.
    #[inline]
    fn add(&mut self, link: u32, at: u32, to: u32, packets: &mut Slab) {
        let batch = &mut self.out[to as usize];
        if packets.header(at).has_int() {
            batch.int_stacks.push_back(std::mem::take(packets.int_stack_mut(at)));
        }
        let (packet, header) = packets.export(at);
        self.count += 1;
        self.first = self.first.min(packet.arrives);
        batch.packets.push((Packet { next: link, ..packet }, header));
    }
}

impl<O: Observer> Fabric<O> {
    /// Moves the only packet on a link to another domain into the batch, or lets it stay for now.
    #[inline(never)]
    pub(super) fn leave(&mut self, link: u32) {
        if self.ports[link as usize].marks_at_dequeue() {
            self.outbox.waiting.push(link);
        } else {
            self.put_into_batch(link, NIL);
        }
    }

    /// Sends a packet to a split switch: it arrives in the domain of its next port.
    #[inline(never)]
    pub(super) fn go_to_port(&mut self, link: u32, at: u32) {
        let packet = &self.packets[at];
        let next = self.routes.peek(packet).expect("a packet to a split switch has a fixed path");
        let (to, arrives) = (self.outbox.of[next as usize], packet.arrives);
        if to != self.outbox.domain {
            self.outbox.add(link, at, to, &mut self.packets);
        } else if let Some(arrives) = self.ports[link as usize].link.append(at, arrives, &mut self.packets) {
            self.events.push(arrives, link);
        }
    }

    /// Moves the packets that have begun to be sent before `end` into the batches. Returns the first time at which a packet arrives in
    /// another domain, or at which a packet that stays may be needed there, `lookahead` before its arrival.
    pub fn flush(&mut self, end: Time, lookahead: Time) -> Time {
        let mut waiting = std::mem::take(&mut self.outbox.waiting);
        let mut needed = Time::MAX;
        waiting.retain(|&number| {
            let port = &mut self.ports[number as usize];
            port.close(end, &mut self.packets);
            let stays = port.first_to_leave();
            self.put_into_batch(number, stays);
            let rest = self.ports[number as usize].link.first_arrival(&self.packets);
            needed = needed.min(rest.map_or(Time::MAX, |arrives| arrives.saturating_sub(lookahead)));
            rest.is_some()
        });
        self.outbox.waiting = waiting;
        needed.min(self.outbox.first)
    }

    /// Moves the packets on a link into the batch, up to the one that stays.
    #[inline]
    fn put_into_batch(&mut self, link: u32, stays: u32) {
        let to = self.outbox.to[link as usize];
        while let Some(at) = self.ports[link as usize].link.take_off(stays, &self.packets) {
            self.outbox.add(link, at, to, &mut self.packets);
        }
    }

    /// Whether packets stay until they begin to be sent.
    pub(crate) fn marks_in_outbox(&self) -> bool {
        !self.outbox.waiting.is_empty()
    }

    /// The first arrival in another domain of a packet that is still here, or [`Time::MAX`].
    pub fn first_outgoing_arrival(&self) -> Time {
        let stay = self.outbox.waiting.iter();
        let arrivals = stay.filter_map(|&link| self.ports[link as usize].link.first_arrival(&self.packets));
        arrivals.min().unwrap_or(Time::MAX).min(self.outbox.first)
    }

    /// The batches, by domain, which are flushed now.
    pub(crate) fn batches(&mut self) -> &mut [Batch] {
        (self.outbox.count, self.outbox.first) = (0, Time::MAX);
        &mut self.outbox.out
    }

    /// Number of packets in the domain, including those in batches.
    #[inline]
    pub fn live(&self) -> u64 {
        self.packets.live() + self.outbox.count
    }

    /// Puts the packets of another domain's batch onto their links.
    pub(crate) fn import(&mut self, batch: &mut Batch) {
        // Another core wrote the packets: prefetching lets the transfers overlap.
        batch.packets.iter().for_each(prefetch_all);
        for (packet, header) in &batch.packets {
            self.import_one(packet, header, &mut batch.int_stacks);
        }
        batch.packets.clear();
    }

    #[inline]
    fn import_one(&mut self, packet: &Packet, header: &Header, int_stacks: &mut VecDeque<Vec<HopRecord>>) {
        let stack = || int_stacks.pop_front().expect("each packet with INT brings its stack");
        self.put_onto_link(packet.next, packet, header, stack);
    }

    /// Puts a packet that has come from another domain onto its link.
    pub fn import_transit(&mut self, transit: Transit) {
        self.put_onto_link(transit.link, &transit.packet, &transit.header, || transit.int_stack);
    }

    #[inline(always)]
    fn put_onto_link(&mut self, link: u32, packet: &Packet, header: &Header, stack: impl FnOnce() -> Vec<HopRecord>) {
        let at = self.packets.import(packet, header);
        if header.has_int() {
            *self.packets.int_stack_mut(at) = stack();
        }
        if let Some(arrives) = self.ports[link as usize].link.append(at, packet.arrives, &mut self.packets) {
            self.events.push(arrives, link);
        }
    }
}
