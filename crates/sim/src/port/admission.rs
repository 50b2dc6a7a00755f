//! Packets that enter a port, and their outcome.

use shallows_cc::units::{Bytes, Time};

use crate::packet::{NIL, Packet, PacketKind};

/// A packet that enters a port.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Slot of the packet.
    pub packet: u32,
    /// The link that brought it, or `NIL` if its own node sends it.
    pub from: u32,
    /// Whether its class is not that of its kind and traffic class.
    pub class: ClassOverride,
}

impl Incoming {
    /// A packet that the port's own node sends.
    #[inline(always)]
    #[must_use]
    pub const fn local(packet: u32) -> Self {
        Self { packet, from: NIL, class: ClassOverride::None }
    }

    /// The same for a packet that goes through the pacer of a host.
    #[inline(always)]
    #[must_use]
    pub const fn paced(packet: u32) -> Self {
        Self { packet, from: NIL, class: ClassOverride::Paced }
    }
}

/// Choice of a class that does not follow from the packet's kind and traffic class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassOverride {
    /// The class of the packet's kind and traffic class.
    None,
    /// The class of the host's pacer, if the port has one.
    Paced,
}

/// Why a port dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// The queue of the port or of the packet's class is full.
    QueueFull,
    /// The packet would have been marked if it were ECN-capable (RFC 3168).
    NotEcnCapable,
    /// The queue of the packet has a delay that stays too long.
    StandingQueue,
    /// The shared memory of the switch has no room.
    BufferFull,
    /// The packet came faster than the policer of its class allows.
    Policed,
    /// The class has been paused for so long that the watchdog drops its data.
    PauseStorm,
    /// The link is down or lost the packet.
    LinkFault,
}

/// Outcome for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet is in the queue or is being sent.
    Queued,
    /// The same, and the packet is newly marked.
    Marked,
    /// The packet was trimmed; its header is in the queue or is being sent.
    Trimmed,
    /// The header of the trimmed packet found no room and returns to its sender.
    Returned,
    /// The packet was dropped.
    Dropped(DropReason),
}

/// Outcome for a packet, and the arrival to schedule because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// Outcome for the packet.
    pub outcome: Outcome,
    /// Arrival of the packet at the end of the link, if the link was empty: its arrival has to be scheduled.
    pub arrives: Option<Time>,
}

impl Outcome {
    /// The packet was accepted.
    #[inline]
    #[must_use]
    pub const fn accepted(marked: bool) -> Self {
        if marked { Self::Marked } else { Self::Queued }
    }
}

impl Enqueued {
    /// The packet was accepted.
    #[inline]
    #[must_use]
    pub const fn queued(marked: bool, arrives: Option<Time>) -> Self {
        Self { outcome: Outcome::accepted(marked), arrives }
    }

    /// The header of the packet returns to its sender.
    #[must_use]
    pub const fn returned() -> Self {
        Self { outcome: Outcome::Returned, arrives: None }
    }

    /// The packet was dropped.
    #[inline]
    #[must_use]
    pub const fn dropped(reason: DropReason) -> Self {
        Self { outcome: Outcome::Dropped(reason), arrives: None }
    }
}

impl Departure {
    /// A packet that `from` brought and that waits in a queue, or has been removed from one.
    #[inline]
    #[must_use]
    pub fn of(packet: &Packet, from: u32) -> Self {
        let Packet { flags, .. } = packet;
        Self { from, length: packet.bytes(), kind: flags.kind(), class: flags.class(), arrives: None }
    }
}

/// A packet that has left the queue of a port, or waits in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The link that brought the packet, or [`NIL`].
    pub from: u32,
    /// Length on the wire.
    pub length: Bytes,
    /// Kind of the packet.
    pub kind: PacketKind,
    /// Its traffic class.
    pub class: u8,
    /// Arrival at the end of the link, if the packet is being sent and the link was empty.
    pub arrives: Option<Time>,
}

/// What became of a packet that a congestion point removed from the head of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It was trimmed; its header is in the queue of headers.
    Trimmed,
    /// It was dropped, and is the caller's to free.
    Dropped(Departure),
}
