//! The link behind a port: the packets that wait to be sent and those on the wire, in one list, delivered in order.
//!
//! The backlog belongs to the port at the upstream end, the list to the downstream end, which removes packets from it.

use shallows_cc::units::Time;

use crate::packet::{NIL, Packet, Slab};

/// Place of the downstream end of a link, for the domain that has its port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum LinkTarget {
    /// In this domain.
    #[default]
    Local,
    /// In another one.
    Remote,
    /// In the domain of each packet's next port: the switch is split.
    PerPacket,
}

/// A directed link: the data that a delivery touches. It lies in the first cache line of its port.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    head: u32,
    tail: u32,
    /// The node at the other end.
    pub to: u32,
    /// Whether a delivery needs checks: the port has to catch up, or the wire has faults.
    pub(crate) has_checks: bool,
    /// The place at which its packets arrive.
    pub(crate) target: LinkTarget,
    delivered: u64,
    fingerprint: u64,
}

impl Link {
    /// An empty link to a node.
    #[must_use]
    pub fn new(to: u32) -> Self {
        Self { head: NIL, tail: NIL, to, has_checks: false, target: LinkTarget::Local, delivered: 0, fingerprint: 0 }
    }

    /// The packet that arrives next.
    pub(crate) fn head(&self) -> u32 {
        self.head
    }

    /// The last packet of the list; the packet may have been removed if the list is empty.
    pub(crate) fn tail(&self) -> u32 {
        self.tail
    }

    /// Sends a packet that arrives then. It joins the list ([`Self::append`]), unless its domain depends on its next port.
    #[inline(always)]
    pub(crate) fn carry(&mut self, at: u32, arrives: Time, packets: &mut [Packet]) -> Option<Time> {
        if self.target == LinkTarget::PerPacket {
            packets[at as usize].arrives = arrives;
            return Some(arrives);
        }
        self.append(at, arrives, packets)
    }

    /// Appends a packet that arrives then. Returns its arrival if the list was empty: then the arrival has to be scheduled.
    #[inline(always)]
    pub(crate) fn append(&mut self, at: u32, arrives: Time, packets: &mut [Packet]) -> Option<Time> {
        let packet = &mut packets[at as usize];
        (packet.arrives, packet.next) = (arrives, NIL);
        let first = self.head == NIL;
        if first {
            self.head = at;
        } else {
            packets[self.tail as usize].next = at;
        }
        self.tail = at;
        first.then_some(arrives)
    }

    /// Removes the first packet, which arrives now, and adds it to the fingerprint.
    #[inline]
    pub fn deliver(&mut self, now: Time, packets: &[Packet]) -> u32 {
        let at = self.head;
        let packet = &packets[at as usize];
        debug_assert_eq!(packet.arrives, now);
        self.delivered += 1;
        self.fingerprint = self.fingerprint.wrapping_add(digest(now, packet));
        self.head = packet.next;
        at
    }

    /// Counts a packet that arrives now, later than its place on the link, and adds it to the fingerprint.
    pub(crate) fn deliver_late(&mut self, now: Time, packet: &Packet) {
        self.delivered += 1;
        self.fingerprint = self.fingerprint.wrapping_add(digest(now, packet));
    }

    /// Removes the first packet, which arrives later.
    pub(crate) fn postpone(&mut self, packets: &Slab) -> u32 {
        let at = self.head;
        self.head = packets[at].next;
        at
    }

    /// Removes the first packet without a delivery, for another domain; `None` from the packet `until` on.
    pub(crate) fn take_off(&mut self, until: u32, packets: &Slab) -> Option<u32> {
        let at = Some(self.head).filter(|&at| at != NIL && at != until)?;
        self.head = packets[at].next;
        Some(at)
    }

    /// Arrival of the first packet.
    #[inline]
    #[must_use]
    pub fn first_arrival(&self, packets: &[Packet]) -> Option<Time> {
        packets.get(self.head as usize).map(|packet| packet.arrives)
    }

    /// Packets taken from the link so far, including the lost ones.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Sum over all deliveries of a hash of time and packet.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The slots of the packets on the list, in order.
    pub(crate) fn places<'a>(&self, packets: &'a Slab) -> impl Iterator<Item = u32> + 'a {
        let first = (self.head != NIL).then_some(self.head);
        std::iter::successors(first, |&at| Some(packets[at].next).filter(|&next| next != NIL))
    }
}

/// Hash of a delivery. No two deliveries have the same time and packet. A sum of hashes does not depend on the domains that counted
/// them.
#[inline]
fn digest(now: Time, packet: &Packet) -> u64 {
    // Neither factor is linear in the sum: two packets that change places change it.
    let who = (u64::from(packet.flow) << 32) ^ packet.identity;
    let product = u128::from(now.0 ^ 0x9e37_79b9_7f4a_7c15) * u128::from(who ^ 0xd6e8_feb8_6659_fd93);
    (product >> 64) as u64 ^ product as u64
}

/// Combines a hash with a value.
#[inline]
#[must_use]
pub(crate) fn hash(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum depends on which packet arrived at which time, even if times, flows and numbers differ in single bits.
    #[test]
    fn two_packets_that_change_places_change_the_sum() {
        let packet = |flow, identity| Packet { flow, identity, ..Packet::default() };
        let sum = |first, second| {
            let (soon, late) = (Time(1 << 40), Time((1 << 40) + (1 << 20)));
            digest(soon, &first).wrapping_add(digest(late, &second))
        };
        for bit in 0..31 {
            for (a, b) in [(packet(0, 0), packet(1 << bit, 0)), (packet(7, 4), packet(7, 4 ^ 1 << (bit + 3)))] {
                assert_ne!(sum(a, b), sum(b, a), "{a:?} {b:?}");
            }
        }
    }
}
