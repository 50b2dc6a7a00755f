//! What leaves a domain: packets on links to another one. They gather at the upstream end, which hands them over when a window
//! closes; the downstream end puts them on its list before any of them arrives.
//!
//! Most go into the batch at once, while they are at hand. One that may still be marked as it leaves stays until it has left.

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

/// Packets that another domain takes in, and in their order the rows of those that hops write records into.
#[derive(Debug, Default)]
pub struct Batch {
    pub packets: Vec<(Packet, Header)>,
    int_stacks: VecDeque<Vec<HopRecord>>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// The links that lead out of a domain.
#[derive(Debug)]
pub struct Outbox {
    domain: u32,
    /// By link: the domain at its other end, as far as one is, and that of its port. Empty where there is one domain.
    to: Vec<u32>,
    of: Vec<u32>,
    /// Those on which something stays for now.
    waiting: Vec<u32>,
    /// By domain: what is handed over when the window closes,
    out: Vec<Batch>,
    /// how much that is,
    count: u64,
    /// and when the first of it arrives.
    first: Time,
}

impl Outbox {
    /// Of a domain with this ownership.
    pub fn new(network: &Network, ownership: &Ownership) -> Self {
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

    /// A packet on a link is for another domain.
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
    /// The only packet on a link that leads out goes, or stays for now.
    #[inline(never)]
    pub(super) fn leave(&mut self, link: u32) {
        if self.ports[link as usize].marks_at_dequeue() {
            self.outbox.waiting.push(link);
        } else {
            self.put_into_batch(link, NIL);
        }
    }

    /// A packet is on its way to a split switch: it arrives in the domain of the port that it takes there.
    #[inline(never)]
    pub(super) fn go_to_port(&mut self, link: u32, at: u32) {
        let packet = &self.packets[at];
        let next = self.routes.peek(packet).expect("the way of a packet to a split switch is laid down");
        let (to, arrives) = (self.outbox.of[next as usize], packet.arrives);
        if to != self.outbox.domain {
            self.outbox.add(link, at, to, &mut self.packets);
        } else if let Some(arrives) = self.ports[link as usize].link.append(at, arrives, &mut self.packets) {
            self.events.push(arrives, link);
        }
    }

    /// Everything before `end` has happened here: what stayed goes, as far as it has left. The first time at which a packet
    /// arrives in another domain, or at which one that stays on may be needed there, `lookahead` before it arrives.
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

    /// The packets on a link go, up to the one that stays.
    #[inline]
    fn put_into_batch(&mut self, link: u32, stays: u32) {
        let to = self.outbox.to[link as usize];
        while let Some(at) = self.ports[link as usize].link.take_off(stays, &self.packets) {
            self.outbox.add(link, at, to, &mut self.packets);
        }
    }

    /// When the first packet arrives that is to be handed over; [`Time::MAX`] if none is.
    pub fn first_outgoing_arrival(&self) -> Time {
        let stay = self.outbox.waiting.iter();
        let arrivals = stay.filter_map(|&link| self.ports[link as usize].link.first_arrival(&self.packets));
        arrivals.min().unwrap_or(Time::MAX).min(self.outbox.first)
    }

    /// What is for other domains, by domain: it is taken now.
    pub fn batches(&mut self) -> &mut [Batch] {
        (self.outbox.count, self.outbox.first) = (0, Time::MAX);
        &mut self.outbox.out
    }

    /// Packets that it has.
    #[inline]
    pub fn live(&self) -> u64 {
        self.packets.live() + self.outbox.count
    }

    /// The packets that another domain has handed over join their links.
    pub fn import(&mut self, batch: &mut Batch) {
        // Another core has written them: they come together, not one after the other.
        batch.packets.iter().for_each(prefetch_all);
        for (packet, header) in &batch.packets {
            self.import_one(packet, header, &mut batch.int_stacks);
        }
        batch.packets.clear();
    }

    #[inline]
    fn import_one(&mut self, packet: &Packet, header: &Header, int_stacks: &mut VecDeque<Vec<HopRecord>>) {
        let number = packet.next;
        let at = self.packets.import(packet, header);
        if header.has_int() {
            *self.packets.int_stack_mut(at) =
                int_stacks.pop_front().expect("a row comes with each packet that has one");
        }
        if let Some(arrives) = self.ports[number as usize].link.append(at, packet.arrives, &mut self.packets) {
            self.events.push(arrives, number);
        }
    }
}
