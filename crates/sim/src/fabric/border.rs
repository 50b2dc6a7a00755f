//! What leaves a domain: packets on links to another one. They gather at the upstream end, which hands them over when a window
//! closes; the downstream end puts them on its list before any of them arrives.

use std::collections::VecDeque;

use shallows_cc::event::HopRecord;
use shallows_cc::units::Time;

use super::Fabric;
use crate::header::Header;
use crate::network::Network;
use crate::observe::Observer;
use crate::packet::{NIL, Packet};
use crate::partition::Share;

/// Packets that another domain takes in, and in their order the rows of those that hops write records into.
#[derive(Debug, Default)]
pub struct Parcel {
    pub packets: Vec<(Packet, Header)>,
    trails: VecDeque<Vec<HopRecord>>,
}

impl Parcel {
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// The links that lead out of a domain.
#[derive(Debug, Default)]
pub struct Border {
    /// By link: the domain at its other end, [`NIL`] where it does not lead out; empty where none does.
    to: Vec<u32>,
    /// Those on which something waits to be handed over.
    waiting: Vec<u32>,
    /// By domain: what has been.
    out: Vec<Parcel>,
}

impl Border {
    /// Of a domain with this share.
    pub fn new(network: &Network, share: &Share) -> Self {
        if share.partition.domains() == 1 {
            return Self::default();
        }
        let to = network.ports.iter().map(|port| share.leads_to(port).unwrap_or(NIL));
        Self {
            to: to.collect(),
            waiting: Vec::new(),
            out: (0..share.partition.domains()).map(|_| Parcel::default()).collect(),
        }
    }

    /// Whether a link that was empty leads out: then what is on it now will be handed over.
    #[inline]
    pub(super) fn takes(&mut self, link: u32) -> bool {
        let out = self.to.get(link as usize).is_some_and(|&to| to != NIL);
        if out {
            self.waiting.push(link);
        }
        out
    }
}

impl<O: Observer> Fabric<O> {
    /// Everything before `end` has happened here: takes out the packets for other domains. The first time at which one of
    /// them arrives, or at which one that stays here may be needed there, `lookahead` before it arrives.
    ///
    /// A packet that may still be marked as it leaves stays until it has left.
    pub fn hand_over(&mut self, end: Time, lookahead: Time) -> Time {
        let mut next = Time::MAX;
        let mut waiting = std::mem::take(&mut self.border.waiting);
        waiting.retain(|&number| {
            let (port, link) = (&mut self.ports[number as usize], &mut self.links[number as usize]);
            port.close(end, &mut self.packets);
            let stays = port.first_to_leave();
            while let Some(at) = link.take_off(stays, &self.packets) {
                let parcel = &mut self.border.out[self.border.to[number as usize] as usize];
                if self.packets.header(at).is_traced() {
                    parcel.trails.push_back(std::mem::take(self.packets.trail_mut(at)));
                }
                let (packet, header) = self.packets.hand_over(at);
                next = next.min(packet.arrives);
                parcel.packets.push((Packet { next: number, ..packet }, header));
            }
            let rest = link.first_arrival(&self.packets);
            next = next.min(rest.map_or(Time::MAX, |arrives| arrives.saturating_sub(lookahead)));
            rest.is_some()
        });
        self.border.waiting = waiting;
        next
    }

    /// When the first packet arrives that waits to be handed over; [`Time::MAX`] if none does.
    pub fn first_waiting(&self) -> Time {
        let arrivals =
            self.border.waiting.iter().filter_map(|&link| self.links[link as usize].first_arrival(&self.packets));
        arrivals.min().unwrap_or(Time::MAX)
    }

    /// What has been taken out for other domains, by domain.
    pub fn handed_over(&mut self) -> &mut [Parcel] {
        &mut self.border.out
    }

    /// The packets that another domain has handed over join their links.
    pub fn adopt(&mut self, parcel: &mut Parcel) {
        for (packet, header) in parcel.packets.drain(..) {
            self.adopt_one(packet, header, &mut parcel.trails);
        }
    }

    #[inline]
    fn adopt_one(&mut self, packet: Packet, header: Header, trails: &mut VecDeque<Vec<HopRecord>>) {
        let number = packet.next;
        let at = self.packets.adopt(Packet { next: NIL, ..packet }, header);
        if header.is_traced() {
            *self.packets.trail_mut(at) = trails.pop_front().expect("a row comes with each packet that has one");
        }
        if let Some(arrives) = self.links[number as usize].append(at, packet.arrives, &mut self.packets) {
            self.events.push(arrives, number);
        }
    }
}
