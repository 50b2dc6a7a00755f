//! What leaves a domain: packets on links to another one. They gather at the upstream end, which hands them over when a window
//! closes; the downstream end puts them on its list before any of them arrives.
//!
//! Most go into the parcel at once, while they are at hand. One that may still be marked as it leaves stays until it has left.

use std::collections::VecDeque;

use shallows_cc::event::HopRecord;
use shallows_cc::units::Time;

use crate::arch::prefetch::fetch_all;
use crate::fabric::Fabric;
use crate::observe::Observer;
use crate::packet::header::Header;
use crate::packet::{NIL, Packet, Slab};
use crate::parallel::partition::Share;
use crate::spec::network::Network;

/// Packets that another domain takes in, and in their order the rows of those that hops write records into.
#[derive(Debug, Default)]
pub struct Parcel {
    pub packets: Vec<(Packet, Header)>,
    int_stacks: VecDeque<Vec<HopRecord>>,
}

impl Parcel {
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// The links that lead out of a domain.
#[derive(Debug)]
pub struct Border {
    domain: u32,
    /// By link: the domain at its other end, as far as one is, and that of its port. Empty where there is one domain.
    to: Vec<u32>,
    of: Vec<u32>,
    /// Those on which something stays for now.
    waiting: Vec<u32>,
    /// By domain: what is handed over when the window closes,
    out: Vec<Parcel>,
    /// how much that is,
    count: u64,
    /// and when the first of it arrives.
    first: Time,
}

impl Border {
    /// Of a domain with this share.
    pub fn new(network: &Network, share: &Share) -> Self {
        let domains = share.partition.domains();
        let ports = if domains == 1 { &[] } else { &network.ports[..] };
        Self {
            domain: share.domain,
            to: ports.iter().map(|port| share.partition.at_end(port).unwrap_or(NIL)).collect(),
            of: ports.iter().map(|port| share.partition.of_port(port)).collect(),
            waiting: Vec::new(),
            out: (0..domains).map(|_| Parcel::default()).collect(),
            count: 0,
            first: Time::MAX,
        }
    }

    /// A packet on a link is for another domain.
    #[inline]
    fn take(&mut self, link: u32, at: u32, to: u32, packets: &mut Slab) {
        let parcel = &mut self.out[to as usize];
        if packets.header(at).has_int() {
            parcel.int_stacks.push_back(std::mem::take(packets.int_stack_mut(at)));
        }
        let (packet, header) = packets.hand_over(at);
        self.count += 1;
        self.first = self.first.min(packet.arrives);
        parcel.packets.push((Packet { next: link, ..packet }, header));
    }
}

impl<O: Observer> Fabric<O> {
    /// The only packet on a link that leads out goes, or stays for now.
    #[inline(never)]
    pub(super) fn leave(&mut self, link: u32) {
        if self.ports[link as usize].marks_late() {
            self.border.waiting.push(link);
        } else {
            self.put_into_parcel(link, NIL);
        }
    }

    /// A packet is on its way to a divided switch: it arrives in the domain of the port that it takes there.
    #[inline(never)]
    pub(super) fn go_to_port(&mut self, link: u32, at: u32) {
        let packet = &self.packets[at];
        let next = self.routes.coming(packet).expect("the way of a packet to a divided switch is laid down");
        let (to, arrives) = (self.border.of[next as usize], packet.arrives);
        if to != self.border.domain {
            self.border.take(link, at, to, &mut self.packets);
        } else if let Some(arrives) = self.ports[link as usize].link.append(at, arrives, &mut self.packets) {
            self.events.push(arrives, link);
        }
    }

    /// Everything before `end` has happened here: what stayed goes, as far as it has left. The first time at which a packet
    /// arrives in another domain, or at which one that stays on may be needed there, `lookahead` before it arrives.
    pub fn hand_over(&mut self, end: Time, lookahead: Time) -> Time {
        let mut waiting = std::mem::take(&mut self.border.waiting);
        let mut needed = Time::MAX;
        waiting.retain(|&number| {
            let port = &mut self.ports[number as usize];
            port.close(end, &mut self.packets);
            let stays = port.first_to_leave();
            self.put_into_parcel(number, stays);
            let rest = self.ports[number as usize].link.first_arrival(&self.packets);
            needed = needed.min(rest.map_or(Time::MAX, |arrives| arrives.saturating_sub(lookahead)));
            rest.is_some()
        });
        self.border.waiting = waiting;
        needed.min(self.border.first)
    }

    /// The packets on a link go, up to the one that stays.
    #[inline]
    fn put_into_parcel(&mut self, link: u32, stays: u32) {
        let to = self.border.to[link as usize];
        while let Some(at) = self.ports[link as usize].link.take_off(stays, &self.packets) {
            self.border.take(link, at, to, &mut self.packets);
        }
    }

    /// When the first packet arrives that is to be handed over; [`Time::MAX`] if none is.
    pub fn first_waiting(&self) -> Time {
        let stay = self.border.waiting.iter();
        let arrivals = stay.filter_map(|&link| self.ports[link as usize].link.first_arrival(&self.packets));
        arrivals.min().unwrap_or(Time::MAX).min(self.border.first)
    }

    /// What is for other domains, by domain: it is taken now.
    pub fn parcels(&mut self) -> &mut [Parcel] {
        (self.border.count, self.border.first) = (0, Time::MAX);
        &mut self.border.out
    }

    /// Packets that it has.
    #[inline]
    pub fn live(&self) -> u64 {
        self.packets.live() + self.border.count
    }

    /// The packets that another domain has handed over join their links.
    pub fn adopt(&mut self, parcel: &mut Parcel) {
        // Another core has written them: they come together, not one after the other.
        parcel.packets.iter().for_each(fetch_all);
        for (packet, header) in &parcel.packets {
            self.adopt_one(packet, header, &mut parcel.int_stacks);
        }
        parcel.packets.clear();
    }

    #[inline]
    fn adopt_one(&mut self, packet: &Packet, header: &Header, int_stacks: &mut VecDeque<Vec<HopRecord>>) {
        let number = packet.next;
        let at = self.packets.adopt(packet, header);
        if header.has_int() {
            *self.packets.int_stack_mut(at) =
                int_stacks.pop_front().expect("a row comes with each packet that has one");
        }
        if let Some(arrives) = self.ports[number as usize].link.append(at, packet.arrives, &mut self.packets) {
            self.events.push(arrives, number);
        }
    }
}
