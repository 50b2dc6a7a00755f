//! Packets, and the slab they live in.

use shallows_cc::units::{Bytes, Rate, Time};

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
        }
    }
}

/// Every kind, in the order of their numbers.
pub const PACKET_KINDS: [PacketKind; 11] = [
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
];

/// What a packet is for, and what it carries besides numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// The bits that hold the kind.
    const KIND: u16 = 15;
    /// ECN-capable: may be marked.
    pub const ECT: Self = Self(16);
    /// Congestion experienced: was marked.
    pub const CE: Self = Self(32);
    /// ECN-Echo, on an acknowledgement.
    pub const ECE: Self = Self(64);
    /// Asks the ports on its way for a rate, on what goes to a receiver.
    pub const ASKS: Self = Self(128);
    /// Congestion window reduced, on data of a TCP-like flow.
    pub const CWR: Self = Self(256);
    /// Asks for an acknowledgement, on data of a RoCE-like flow.
    pub const LAST: Self = Self(512);

    /// No flag, and this kind.
    #[inline]
    #[must_use]
    pub const fn of(kind: PacketKind) -> Self {
        Self(kind as u16)
    }

    /// What the packet is for.
    #[inline]
    #[must_use]
    pub const fn kind(self) -> PacketKind {
        PACKET_KINDS[(self.0 & Self::KIND) as usize]
    }

    /// Whether that is `kind`.
    #[inline]
    #[must_use]
    pub const fn is(self, kind: PacketKind) -> bool {
        self.0 & Self::KIND == kind as u16
    }

    /// Whether it is the sending half of its flow that it is for.
    #[inline]
    #[must_use]
    pub const fn for_sender(self) -> bool {
        const KINDS: u32 = 1 << PacketKind::Ack as u32
            | 1 << PacketKind::Nack as u32
            | 1 << PacketKind::Notification as u32
            | 1 << PacketKind::Credit as u32
            | 1 << PacketKind::RateAnswer as u32;
        (KINDS >> (self.0 & Self::KIND)) & 1 == 1
    }

    /// Whether it is for the node at the other end of the link and goes no further.
    #[inline]
    #[must_use]
    pub const fn for_neighbour(self) -> bool {
        const KINDS: u32 = 1 << PacketKind::Pause as u32 | 1 << PacketKind::Resume as u32;
        (KINDS >> (self.0 & Self::KIND)) & 1 == 1
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

/// A packet on its way: one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Packet {
    /// When it reaches the far end of the link it is on.
    pub arrives: Time,
    /// When the packet left its host; an acknowledgement carries that of the newest data packet.
    pub sent: Time,
    /// Acknowledgement: mean one-way delay of the data packets it covers. Data of a TCP-like flow: when the
    /// newest acknowledgement that its sender has heard left the receiver; zero before the first. Data that asks for
    /// a rate, and its acknowledgement: see [`Packet::offered`].
    pub delay: Time,
    /// Acknowledgement: how long the receiver held it after the newest data packet. Data that a credit called:
    /// when that left the receiver. Data that asks for a rate: its flow's round trip; zero before the first.
    pub held: Time,
    /// The packet behind it on its link, or the next free place.
    pub next: u32,
    /// The flow it belongs to.
    pub flow: u32,
    /// The host it goes to.
    pub to: u32,
    /// Data, credit: its number in the flow. Acknowledgement: first number of a block that arrived out of order.
    pub seq: u32,
    /// Acknowledgement: the number expected next. Data that a credit called: the credit's number.
    pub cumulative: u32,
    /// Acknowledgement: length of that block.
    pub block: u16,
    /// Acknowledgement: the advertised window in 16ths of a full payload; zero advertises none.
    pub window: u16,
    /// Length of the frame on the wire.
    pub length: u16,
    /// Acknowledgement: data packets in `delay`.
    pub samples: u8,
    /// Its flags.
    pub flags: Flags,
}

impl Packet {
    /// Length of the frame on the wire.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes(u64::from(self.length))
    }

    /// Of an acknowledgement that comes `now`: the round trip without the time that it was held. Stamps that are not
    /// ideal may make that time negative, when it wraps, or longer than all; a picosecond is the least.
    #[must_use]
    pub fn round_trip(&self, now: Time) -> Time {
        Time((now - self.sent).0.wrapping_sub(self.held.0).cast_signed().max(1).cast_unsigned())
    }

    /// The least rate that was offered on its way to data that asks for one; its acknowledgement brings it back. It has
    /// the place of `delay`.
    #[must_use]
    pub fn offered(&self) -> Rate {
        Rate(self.delay.0)
    }

    /// Puts a rate there.
    pub fn set_offered(&mut self, rate: Rate) {
        self.delay = Time(rate.0);
    }
}

/// All packets of a run; a freed place is the next one used.
#[derive(Debug)]
pub struct Slab {
    packets: Vec<Packet>,
    free: u32,
    live: u64,
    created: u64,
}

impl Default for Slab {
    fn default() -> Self {
        Self { packets: Vec::new(), free: NIL, live: 0, created: 0 }
    }
}

impl Slab {
    /// Stores a packet.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> u32 {
        self.live += 1;
        self.created += 1;
        if self.free == NIL {
            self.packets.push(packet);
            return self.packets.len() as u32 - 1;
        }
        let at = self.free;
        self.free = self.packets[at as usize].next;
        self.packets[at as usize] = packet;
        at
    }

    /// Frees a packet's place.
    #[inline]
    pub fn remove(&mut self, at: u32) {
        self.live -= 1;
        self.packets[at as usize].next = self.free;
        self.free = at;
    }

    /// Packets that exist now.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Packets that ever existed.
    #[must_use]
    pub fn created(&self) -> u64 {
        self.created
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
            assert_eq!(Flags::of(kind).with(Flags::CE, true).kind(), kind);
        }
    }

    #[test]
    fn no_flag_means_two_things() {
        let flags = [Flags::ECT, Flags::CE, Flags::ECE, Flags::ASKS, Flags::CWR, Flags::LAST];
        for (at, flag) in flags.into_iter().enumerate() {
            let others = flags.into_iter().enumerate().filter(|other| other.0 != at).map(|other| other.1);
            assert!(!others.fold(Flags::of(PacketKind::Data), |set, other| set.with(other, true)).has(flag));
        }
    }

    #[test]
    fn a_packet_is_one_cache_line() {
        assert_eq!(size_of::<Packet>(), 64);
    }

    #[test]
    fn a_freed_place_is_used_again() {
        let mut slab = Slab::default();
        let first = slab.insert(Packet::default());
        let second = slab.insert(Packet::default());
        slab.remove(first);
        assert_eq!(slab.insert(Packet { seq: 7, ..Packet::default() }), first);
        assert_eq!((slab[first].seq, slab[second].seq, slab.live(), slab.created()), (7, 0, 2, 3));
    }
}
