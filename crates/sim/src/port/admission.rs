//! The one door into a port: what becomes of a packet that is offered to it.

use shallows_cc::units::Time;

/// Why a packet was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// The port, or its class there, holds as much as it may.
    QueueFull,
    /// The memory of its switch has no room for it.
    BufferFull,
    /// Something happened to its link.
    LinkFault,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It waits, or is sent at once.
    Queued,
    /// The same, and it bears a new mark.
    Marked,
    /// It was cut to its header, which waits, or is sent at once.
    Trimmed,
    /// There was no room for its header either: that goes back to its sender.
    Returned,
    /// There was no room for it: it is gone.
    Dropped(DropReason),
}

/// What became of a packet, and what to wait for because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// What became of it.
    pub outcome: Outcome,
    /// Its arrival at the other end, if nothing is on its way before it: the link has to be put on the event queue.
    pub arrives: Option<Time>,
}

impl Enqueued {
    /// It was let in.
    #[inline]
    #[must_use]
    pub const fn queued(marked: bool, arrives: Option<Time>) -> Self {
        Self { outcome: if marked { Outcome::Marked } else { Outcome::Queued }, arrives }
    }

    /// There was no room for its header.
    #[must_use]
    pub const fn returned() -> Self {
        Self { outcome: Outcome::Returned, arrives: None }
    }

    /// It was not.
    #[inline]
    #[must_use]
    pub const fn dropped(reason: DropReason) -> Self {
        Self { outcome: Outcome::Dropped(reason), arrives: None }
    }
}
