//! Packets, and the slab they live in: what ports, links and switches need of each apart from what its transport says, so that
//! a hop touches half a cache line of it, and none that only hosts read.

use shallows_cc::event::HopRecord;
use shallows_cc::port::Ecn;
use shallows_cc::units::{Bytes, Time};

use crate::arch::huge_pages;
use crate::packet::header::Header;
use crate::spec::network::MIN_FRAME;

pub mod header;

/// The end of a list.
pub const NIL: u32 = u32::MAX;

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketKind {
    /// Payload.
    Data,
    /// What has arrived.
    Ack,
    /// What should have arrived and has not (RoCE-like).
    Nack,
    /// Congestion notification: a marked packet arrived (RoCE-like).
    Notification,
    /// A switch asks the other end of a link to stop sending (PFC).
    Pause,
    /// And to go on.
    Resume,
    /// A sender asks its receiver for credits.
    CreditRequest,
    /// Calls one data frame.
    Credit,
    /// The sender has nothing left.
    CreditStop,
    /// Asks the ports on its way for a rate, without payload.
    RateRequest,
    /// Brings that back.
    RateAnswer,
    /// What is left of data that a port has cut: its header.
    Trimmed,
    /// The same, which found no room either and goes back to its sender.
    Returned,
    /// Calls packets of a flow that has sent what it may uncalled.
    Pull,
}

impl PacketKind {
    /// What a request calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Ack => "ack",
            Self::Nack => "nack",
            Self::Notification => "notification",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::CreditRequest => "credit_request",
            Self::Credit => "credit",
            Self::CreditStop => "credit_stop",
            Self::RateRequest => "rate_request",
            Self::RateAnswer => "rate_answer",
            Self::Trimmed => "trimmed",
            Self::Returned => "returned",
            Self::Pull => "pull",
        }
    }
}

/// Every kind, in the order of their numbers.
pub const PACKET_KINDS: [PacketKind; 14] = [
    PacketKind::Data,
    PacketKind::Ack,
    PacketKind::Nack,
    PacketKind::Notification,
    PacketKind::Pause,
    PacketKind::Resume,
    PacketKind::CreditRequest,
    PacketKind::Credit,
    PacketKind::CreditStop,
    PacketKind::RateRequest,
    PacketKind::RateAnswer,
    PacketKind::Trimmed,
    PacketKind::Returned,
    PacketKind::Pull,
];

/// So many numbers have a kind's bits.
pub const KIND_BITS: usize = 16;

/// The same by all that the bits of a kind can hold, so that a look-up need not ask whether there is such a kind.
const KIND_OF_BITS: [PacketKind; KIND_BITS] = {
    let mut kinds = [PacketKind::Data; KIND_BITS];
    let (known, _) = kinds.split_at_mut(PACKET_KINDS.len());
    known.copy_from_slice(&PACKET_KINDS);
    kinds
};

/// What a packet is for, and what ports may do to it and have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// The bits that hold the kind.
    const KIND: u16 = KIND_BITS as u16 - 1;
    /// The bits that hold the ECN codepoint, and where they begin.
    const ECN: u16 = 3 << Self::ECN_SHIFT;
    const ECN_SHIFT: u32 = 4;
    /// For the sending half of its flow.
    const FOR_SENDER: Self = Self(64);
    /// For the node at the other end of the link: it goes no further.
    const FOR_NEIGHBOUR: Self = Self(128);
    /// A port may cut it to its header rather than drop it.
    pub const TRIMS: Self = Self(256);

    /// This kind, and what that says of where the packet goes.
    #[inline]
    #[must_use]
    pub const fn of(kind: PacketKind) -> Self {
        use PacketKind::{Ack, Credit, Nack, Notification, Pause, Pull, RateAnswer, Resume, Returned};
        let for_sender = matches!(kind, Ack | Nack | Notification | Credit | RateAnswer | Returned | Pull);
        let for_neighbour = matches!(kind, Pause | Resume);
        Self(kind as u16).with(Self::FOR_SENDER, for_sender).with(Self::FOR_NEIGHBOUR, for_neighbour)
    }

    /// What the packet is for.
    #[inline]
    #[must_use]
    pub const fn kind(self) -> PacketKind {
        KIND_OF_BITS[self.kind_bits()]
    }

    /// The same as a number less than [`KIND_BITS`].
    #[inline]
    #[must_use]
    pub const fn kind_bits(self) -> usize {
        (self.0 & Self::KIND) as usize
    }

    /// Whether that is `kind`.
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

    /// Whether it is the sending half of its flow that it is for.
    #[inline]
    #[must_use]
    pub const fn for_sender(self) -> bool {
        self.has(Self::FOR_SENDER)
    }

    /// Whether it is for the node at the other end of the link and goes no further.
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

    /// With `flag` set where `condition` holds.
    #[inline]
    #[must_use]
    pub const fn with(self, flag: Self, condition: bool) -> Self {
        if condition { Self(self.0 | flag.0) } else { self }
    }
}

/// A packet on its way, as ports, links and switches see it; what it says to the other half of its flow has the same place in
/// another array ([`Slab::header`]). Two packets lie in a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub struct Packet {
    /// When it reaches the far end of the link it is on.
    pub arrives: Time,
    /// What tells it from others of its flow, made of its header's numbers.
    pub identity: u64,
    /// The packet behind it on its link, or the next free place.
    pub next: u32,
    /// The flow it belongs to.
    pub flow: u32,
    /// What its network's routes find the next port by ([`crate::fabric::route::Routes::first_hop`]).
    pub path: u32,
    /// Length of the frame on the wire.
    pub length: u16,
    /// Its flags.
    pub flags: Flags,
}

const _: () = assert!(size_of::<Packet>() == 32);

/// A header by itself in a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct HeaderLine(Header);

const _: () = assert!(size_of::<HeaderLine>() == 64);

/// What a packet takes in memory.
pub const PACKET_SIZE: usize = size_of::<Packet>() + size_of::<HeaderLine>();

/// Packets in flight at which a run stops: 2 GiB of memory. As full frames they are 34 GB on the wire, 340 for each host of a fat
/// tree with k = 64.
pub const MAX_PACKETS: u64 = (2 << 30) / PACKET_SIZE as u64;

impl Packet {
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

    /// Marks the packet if it is ECN-capable; returns whether it is newly marked.
    // Not inlined, so that the condition is computed without a branch: it is hard to predict.
    #[inline(never)]
    pub fn mark(&mut self) -> bool {
        let marked = matches!(self.flags.ecn(), Ecn::Ect0 | Ecn::Ect1);
        self.flags = Flags(self.flags.0 | (u16::from(marked) * Flags::ECN));
        marked
    }

    /// Its payload is cut off: what is left goes on as this kind. What it has been told on its way it keeps.
    pub fn trim(&mut self, kind: PacketKind) {
        self.length = MIN_FRAME.0 as u16;
        self.flags = Flags::of(kind).with_ecn(self.flags.ecn());
    }
}

/// All packets of a run; a freed place is the next one used.
#[derive(Debug)]
pub struct Slab {
    packets: Vec<Packet>,
    /// By place: what its packet says.
    headers: Vec<HeaderLine>,
    /// By place: what hops wrote into its packet, where [`Header::has_int`]; of no packet where none is.
    int_stacks: Vec<Vec<HopRecord>>,
    free: u32,
    /// Packets stored here, made here or imported from another slab.
    inserted: u64,
    imported: u64,
    /// And those that went.
    removed: u64,
}

impl Default for Slab {
    fn default() -> Self {
        Self {
            packets: Vec::new(),
            headers: Vec::new(),
            int_stacks: Vec::new(),
            free: NIL,
            inserted: 0,
            imported: 0,
            removed: 0,
        }
    }
}

impl Slab {
    /// Stores a packet that another slab has made.
    #[inline(always)]
    pub fn import(&mut self, packet: &Packet, header: &Header) -> u32 {
        self.imported += 1;
        self.insert(*packet, *header)
    }

    /// Stores a packet.
    #[inline(always)]
    pub fn insert(&mut self, packet: Packet, header: Header) -> u32 {
        self.inserted += 1;
        if self.free == NIL {
            self.add_place();
        }
        let at = self.free;
        let place = &mut self.packets[at as usize];
        self.free = place.next;
        *place = packet;
        self.headers[at as usize].0 = header;
        at
    }

    #[cold]
    fn add_place(&mut self) {
        self.free = self.packets.len() as u32;
        huge_pages::push(&mut self.packets, Packet { next: NIL, ..Packet::default() });
        huge_pages::push(&mut self.headers, HeaderLine(Header::Bare));
    }

    /// Frees a packet's place.
    #[inline]
    pub fn remove(&mut self, at: u32) {
        self.removed += 1;
        self.packets[at as usize].next = self.free;
        self.free = at;
    }

    /// Takes out a packet that goes on in another slab.
    #[inline]
    pub fn export(&mut self, at: u32) -> (Packet, Header) {
        let taken = (self[at], *self.header(at));
        self.remove(at);
        taken
    }

    /// What a packet says to the other half of its flow.
    #[inline]
    #[must_use]
    pub fn header(&self, at: u32) -> &Header {
        &self.headers[at as usize].0
    }

    /// The same, to write into.
    #[inline]
    pub fn header_mut(&mut self, at: u32) -> &mut Header {
        &mut self.headers[at as usize].0
    }

    /// What hops wrote into a packet that is traced.
    #[must_use]
    pub fn int_stack(&self, at: u32) -> &[HopRecord] {
        &self.int_stacks[at as usize]
    }

    /// The same, to write into or to take along. One that is newly traced begins by clearing it.
    pub fn int_stack_mut(&mut self, at: u32) -> &mut Vec<HopRecord> {
        if self.int_stacks.len() <= at as usize {
            self.int_stacks.resize(self.packets.len(), Vec::new());
        }
        &mut self.int_stacks[at as usize]
    }

    /// Packets that exist now.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.inserted - self.removed
    }

    /// Packets that another slab had made.
    #[must_use]
    pub fn imported(&self) -> u64 {
        self.imported
    }

    /// Packets that were ever made here.
    #[must_use]
    pub fn created(&self) -> u64 {
        self.inserted - self.imported
    }
}

/// All places, whether or not there is a packet in them.
impl std::ops::Deref for Slab {
    type Target = [Packet];
    #[inline]
    fn deref(&self) -> &[Packet] {
        &self.packets
    }
}

impl std::ops::DerefMut for Slab {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Packet] {
        &mut self.packets
    }
}

impl std::ops::Index<u32> for Slab {
    type Output = Packet;
    #[inline]
    fn index(&self, at: u32) -> &Packet {
        &self.packets[at as usize]
    }
}

impl std::ops::IndexMut<u32> for Slab {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut Packet {
        &mut self.packets[at as usize]
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

    #[test]
    fn no_flag_means_two_things() {
        let flags = [Flags(16), Flags(32), Flags::FOR_SENDER, Flags::FOR_NEIGHBOUR, Flags::TRIMS];
        for (at, flag) in flags.into_iter().enumerate() {
            let others = flags.into_iter().enumerate().filter(|other| other.0 != at).map(|other| other.1);
            assert!(!others.fold(Flags::of(PacketKind::Data), |set, other| set.with(other, true)).has(flag));
        }
    }

    #[test]
    fn a_freed_place_is_used_again() {
        let mut slab = Slab::default();
        let first = slab.insert(Packet::default(), Header::Bare);
        let second = slab.insert(Packet::default(), Header::Pause);
        slab.remove(first);
        assert_eq!(slab.insert(Packet { flow: 7, ..Packet::default() }, Header::Resume), first);
        assert_eq!((slab[first].flow, slab[second].flow, slab.live(), slab.created()), (7, 0, 2, 3));
        assert_eq!([first, second].map(|at| slab.header(at).kind()), [PacketKind::Resume, PacketKind::Pause]);
    }
}
