//! Packets and their headers, stored in a slab.
//!
//! A [`Packet`] holds what ports, links and switches read; its [`header::Header`] holds what the transport at the other end
//! reads, in another array. A hop touches half a cache line.

use shallows_cc::port::{Drops, Ecn};
use shallows_cc::units::{Bytes, MIN_FRAME, Time};

use header::Header;
use kind::KIND_OF_BITS;

pub(crate) mod header;
mod kind;
mod pulled;
mod roce;
mod slab;
mod wire;

pub(crate) use kind::KIND_BITS;
pub use kind::{PACKET_KINDS, PacketKind};
pub use slab::Slab;
pub(crate) use slab::{MAX_PACKETS, PACKET_SIZE};

/// Stands for no packet, port or domain; the end of a list.
pub(crate) const NIL: u32 = u32::MAX;

/// The flow of a packet that belongs to no flow, such as a pause.
pub const NO_FLOW: u32 = NIL;

/// Largest number of traffic classes: a frame has three bits of priority (IEEE 802.1Q).
pub(crate) const MAX_CLASSES: usize = 8;

/// Kind, ECN field and traffic class of a packet, where it goes and whether ports may trim it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// The bits that hold the kind.
    const KIND: u16 = KIND_BITS as u16 - 1;
    /// The bits that hold the ECN codepoint, and where they begin.
    const ECN: u16 = 3 << Self::ECN_SHIFT;
    const ECN_SHIFT: u32 = 4;
    /// Set if the packet is for the sender of its flow.
    const FOR_SENDER: Self = Self(64);
    /// Set if the packet is for the node at the other end of the link, which does not forward it.
    const FOR_NEIGHBOUR: Self = Self(128);
    /// Set if a port may trim the packet to its header instead of dropping it.
    pub const TRIMS: Self = Self(256);
    /// The bits that hold the traffic class, and where they begin.
    const CLASS: u16 = (MAX_CLASSES as u16 - 1) << Self::CLASS_SHIFT;
    const CLASS_SHIFT: u32 = 9;
    /// Set if the packet echoes the entropy value of one that it answers.
    pub const ECHOES: Self = Self(4096);
    /// Set if that one was marked as well.
    pub const ECHOES_MARK: Self = Self(8192);
    /// Set if the packet was trimmed at the last hop, or echoes that of one that it answers.
    pub const LAST_HOP: Self = Self(16384);

    /// Flags of a packet of this kind, not ECN-capable.
    #[inline]
    #[must_use]
    pub const fn of(kind: PacketKind) -> Self {
        use PacketKind::{Ack, Credit, Nack, Notification, Pause, Pull, RateAnswer, Resume, Returned};
        let for_sender = matches!(kind, Ack | Nack | Notification | Credit | RateAnswer | Returned | Pull);
        let for_neighbour = matches!(kind, Pause | Resume);
        Self(kind as u16).with(Self::FOR_SENDER, for_sender).with(Self::FOR_NEIGHBOUR, for_neighbour)
    }

    /// The kind of the packet.
    #[inline]
    #[must_use]
    pub const fn kind(self) -> PacketKind {
        KIND_OF_BITS[self.kind_bits()]
    }

    /// The bits of the kind, less than `KIND_BITS`.
    #[inline]
    #[must_use]
    pub const fn kind_bits(self) -> usize {
        (self.0 & Self::KIND) as usize
    }

    /// Whether the packet is of this kind.
    #[inline]
    #[must_use]
    pub const fn is(self, kind: PacketKind) -> bool {
        self.0 & Self::KIND == kind as u16
    }

    /// The ECN field.
    #[inline]
    #[must_use]
    pub const fn ecn(self) -> Ecn {
        Ecn::from_bits((self.0 >> Self::ECN_SHIFT) as u8)
    }

    /// The same flags with this ECN field.
    #[inline]
    #[must_use]
    pub const fn with_ecn(self, ecn: Ecn) -> Self {
        Self(self.0 & !Self::ECN | (ecn as u16) << Self::ECN_SHIFT)
    }

    /// Whether the ECN field says that the packet has met congestion.
    #[inline]
    #[must_use]
    pub const fn is_ce(self) -> bool {
        self.0 & Self::ECN == Self::ECN
    }

    /// The traffic class, less than `MAX_CLASSES`.
    #[inline]
    #[must_use]
    pub const fn class(self) -> u8 {
        ((self.0 & Self::CLASS) >> Self::CLASS_SHIFT) as u8
    }

    /// The same flags with this traffic class.
    #[inline]
    #[must_use]
    pub const fn with_class(self, class: u8) -> Self {
        Self(self.0 & !Self::CLASS | (class as u16) << Self::CLASS_SHIFT)
    }

    /// Whether the packet is for the sender of its flow.
    #[inline]
    #[must_use]
    pub const fn for_sender(self) -> bool {
        self.has(Self::FOR_SENDER)
    }

    /// Whether the packet is for the node at the other end of the link.
    #[inline]
    #[must_use]
    pub const fn for_neighbour(self) -> bool {
        self.has(Self::FOR_NEIGHBOUR)
    }

    /// Whether `flag` is set.
    #[inline]
    #[must_use]
    pub const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    /// The same flags, with `flag` set if `condition` holds.
    #[inline]
    #[must_use]
    pub const fn with(self, flag: Self, condition: bool) -> Self {
        if condition { Self(self.0 | flag.0) } else { self }
    }
}

/// A packet as ports, links and switches see it. Its header has the same index in another array ([`Slab::header`]). Two packets
/// lie in a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub struct Packet {
    /// Time of arrival at the end of the present link.
    pub arrives: Time,
    /// Identity within the flow, made of the numbers in the header (33 bits), and in the highest 16 bits the entropy value, which is
    /// zero unless hosts choose paths.
    pub identity: u64,
    /// The next packet on the same link, or the next free slot of the slab.
    pub next: u32,
    /// The flow of the packet, or `NO_FLOW`.
    pub flow: u32,
    /// Position on its path (`Routes::first_hop`).
    pub path: u32,
    /// Length of the frame on the wire.
    pub length: u16,
    /// Kind, ECN field, traffic class and destination.
    pub flags: Flags,
}

const _: () = assert!(size_of::<Packet>() == 32);

impl Packet {
    const ENTROPY_SHIFT: u32 = 48;

    /// A packet with this header and ECN field that is not on its way yet.
    #[inline(always)]
    #[must_use]
    pub const fn new(flow: u32, length: Bytes, ecn: Ecn, header: &Header) -> Self {
        let (number, ack_number) = header.numbers();
        Self {
            arrives: Time::ZERO,
            identity: ((number as u64) << 1) ^ ack_number as u64,
            next: NIL,
            flow,
            path: 0,
            length: length.0 as u16,
            flags: Flags::of(header.kind()).with_ecn(ecn),
        }
    }

    /// Length of the frame on the wire.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes(u64::from(self.length))
    }

    /// The entropy value, which switches hash.
    #[inline]
    #[must_use]
    pub const fn entropy(&self) -> u16 {
        (self.identity >> Self::ENTROPY_SHIFT) as u16
    }

    /// Sets the entropy value.
    #[inline]
    pub const fn set_entropy(&mut self, value: u16) {
        self.identity = self.identity & ((1 << Self::ENTROPY_SHIFT) - 1) | (value as u64) << Self::ENTROPY_SHIFT;
    }

    /// Marks the packet if it is ECN-capable; returns whether it is newly marked.
    // Not inlined, so that the condition is computed without a branch: it is hard to predict.
    #[inline(never)]
    pub fn mark(&mut self) -> bool {
        let marked = matches!(self.flags.ecn(), Ecn::Ect0 | Ecn::Ect1);
        self.flags = Flags(self.flags.0 | (u16::from(marked) * Flags::ECN));
        marked
    }

    /// Returns whether it is data that a port with these drops does not mark.
    #[inline]
    #[must_use]
    pub fn is_dropped_by(&self, drops: Drops) -> bool {
        self.flags.kind() == PacketKind::Data && drops.includes(self.flags.ecn())
    }

    /// Trims the payload, so that a header of this kind is left, with the same ECN field and traffic class.
    pub fn trim(&mut self, kind: PacketKind) {
        self.length = MIN_FRAME.0 as u16;
        self.flags = Flags::of(kind).with_ecn(self.flags.ecn()).with_class(self.flags.class());
    }

    /// Trims the payload at a port that may be the last hop.
    pub fn trim_at(&mut self, last_hop: bool) {
        self.trim(PacketKind::Trimmed);
        self.flags = self.flags.with(Flags::LAST_HOP, last_hop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_its_number() {
        for (number, kind) in PACKET_KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            assert_eq!(Flags::of(kind).with_ecn(Ecn::Ce).kind(), kind);
        }
    }

    /// RFC 3168 section 5: only ECT(0) and ECT(1) can become CE.
    #[test]
    fn only_an_unmarked_ecn_capable_packet_can_be_marked() {
        for (before, marked, after) in [
            (Ecn::NotEct, false, Ecn::NotEct),
            (Ecn::Ect0, true, Ecn::Ce),
            (Ecn::Ect1, true, Ecn::Ce),
            (Ecn::Ce, false, Ecn::Ce),
        ] {
            let mut packet = Packet::new(0, Bytes(1500), before, &Header::Bare);
            assert_eq!(packet.flags.ecn(), before);
            assert_eq!((packet.mark(), packet.flags.ecn(), packet.flags.is_ce()), (marked, after, after == Ecn::Ce));
            packet.trim(PacketKind::Trimmed);
            assert_eq!(packet.flags.ecn(), after);
        }
    }

    /// A class stays with a packet that is marked and trimmed.
    #[test]
    fn a_packet_keeps_its_class() {
        for class in 0..MAX_CLASSES as u8 {
            let mut packet = Packet::new(0, Bytes(1500), Ecn::Ect0, &Header::Bare);
            packet.flags = packet.flags.with_class(7).with_class(class);
            packet.mark();
            packet.trim(PacketKind::Trimmed);
            assert_eq!((packet.flags.class(), packet.flags.ecn()), (class, Ecn::Ce));
        }
    }

    #[test]
    fn no_flag_means_two_things() {
        let class = [1, 2, 4].map(|class| Flags(0).with_class(class));
        let ecn = [Flags(16), Flags(32)];
        let others =
            [Flags::FOR_SENDER, Flags::FOR_NEIGHBOUR, Flags::TRIMS, Flags::ECHOES, Flags::ECHOES_MARK, Flags::LAST_HOP];
        let flags: Vec<_> = ecn.into_iter().chain(others).chain(class).collect();
        for (at, flag) in flags.iter().copied().enumerate() {
            let others = flags.iter().copied().enumerate().filter(|other| other.0 != at).map(|other| other.1);
            assert!(!others.fold(Flags::of(PacketKind::Data), |set, other| set.with(other, true)).has(flag));
        }
    }
}
