//! The wire behind a port: what waits to be sent and what is on its way, in one list, delivered in order.
//!
//! The backlog belongs to the port, at the upstream end; the list to the downstream end, which takes packets out of it.

use shallows_cc::units::Time;

use crate::fault::Wire;
use crate::packet::{NIL, Packet, Slab};

/// A directed link: all that a delivery touches, in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Link {
    head: u32,
    tail: u32,
    /// The node that sends.
    pub from: u32,
    /// The node at the other end.
    pub to: u32,
    /// Whether the port has to catch up before a packet is delivered: it may be marked as it leaves.
    pub marks_late: bool,
    /// That, or something happens to the wire.
    is_special: bool,
    wire: Option<Box<Wire>>,
    delivered: u64,
    fingerprint: u64,
}

impl Link {
    /// An empty one between two nodes.
    #[must_use]
    pub fn new(from: u32, to: u32, marks_late: bool) -> Self {
        let (is_special, wire) = (marks_late, None);
        Self { head: NIL, tail: NIL, from, to, marks_late, is_special, wire, delivered: 0, fingerprint: 0 }
    }

    /// The same where something happens to the wire.
    #[must_use]
    pub fn over(mut self, wire: Wire) -> Self {
        (self.is_special, self.wire) = (true, Some(Box::new(wire)));
        self
    }

    /// Whether a delivery is more than that: marks that are due, or a wire to which something happens.
    #[inline]
    pub(crate) fn is_special(&self) -> bool {
        self.is_special
    }

    /// The wire, where something happens to it.
    pub(crate) fn wire(&mut self) -> Option<&mut Wire> {
        self.wire.as_deref_mut()
    }

    /// Packets lost on the wire so far.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.wire.as_ref().map_or(0, |wire| wire.lost())
    }

    /// The packet that arrives next.
    pub(crate) fn head(&self) -> u32 {
        self.head
    }

    /// The packet behind which the next one joins, which may be gone.
    pub(crate) fn tail(&self) -> u32 {
        self.tail
    }

    /// Puts a packet, whose `next` is none, at the end of the list; its arrival, if it is the only one: then nobody waits
    /// for it yet.
    #[inline]
    pub(crate) fn append(&mut self, at: u32, arrives: Time, packets: &mut [Packet]) -> Option<Time> {
        let first = self.head == NIL;
        if first {
            self.head = at;
        } else {
            packets[self.tail as usize].next = at;
        }
        self.tail = at;
        first.then_some(arrives)
    }

    /// Takes the packet that arrives at the other end now.
    #[inline]
    pub fn deliver(&mut self, now: Time, packets: &[Packet]) -> u32 {
        let at = self.head;
        let packet = &packets[at as usize];
        debug_assert_eq!(packet.arrives, now);
        self.delivered += 1;
        self.fingerprint = mix(self.fingerprint ^ now.0, (u64::from(packet.flow) << 32) ^ packet.identity);
        self.head = packet.next;
        at
    }

    /// Takes the first packet off without a delivery, for the other end to have; none from `until` on.
    pub(crate) fn take_off(&mut self, until: u32, packets: &Slab) -> Option<u32> {
        let at = Some(self.head).filter(|&at| at != NIL && at != until)?;
        self.head = packets[at].next;
        Some(at)
    }

    /// When the first packet on the list arrives.
    #[inline]
    #[must_use]
    pub fn first_arrival(&self, packets: &[Packet]) -> Option<Time> {
        packets.get(self.head as usize).map(|packet| packet.arrives)
    }

    /// Packets taken from it so far, those that were lost on it too.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Hash of every delivery: time and packet, in order.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The places of what is on the list, in order.
    pub(crate) fn places<'a>(&self, packets: &'a Slab) -> impl Iterator<Item = u32> + 'a {
        let first = (self.head != NIL).then_some(self.head);
        std::iter::successors(first, |&at| Some(packets[at].next).filter(|&next| next != NIL))
    }
}

/// Mixes a value into a hash.
#[inline]
#[must_use]
pub fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_touches_one_line() {
        assert_eq!(size_of::<Link>(), 64);
    }
}
