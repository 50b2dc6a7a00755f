//! States of flows: whether a sender may send, and what a receiver wants done after a packet or a timer.

use shallows_cc::units::{Bytes, Time};

use crate::packet::NIL;

/// Whether a flow may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It may send now.
    Ready,
    /// Pacing lets it send at this time.
    At(Time),
    /// Its host is still processing a credit.
    HostBusy {
        /// When the host has processed the credit.
        until: Time,
        /// When the credit arrived.
        arrived: Time,
    },
    /// It must wait for a packet, a timeout or its application.
    Blocked(BlockedBy),
}

/// Condition that a blocked flow waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedBy {
    /// Its congestion window, which is this many bytes too small.
    Window(Bytes),
    /// The window of its receiver, which is this many bytes too small.
    Receiver(Bytes),
    /// Its application, which has written no more data.
    Application,
    /// An acknowledgement, a credit or a pull.
    Answer,
}

/// State of a flow's sender after an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendStatus {
    /// Whether it may send; none while it is in its NIC's run queue, which asks again before it sends.
    pub readiness: Option<Readiness>,
    /// Time for a new timer of kind `Timeout`, if no earlier one is set.
    pub timeout: Option<Time>,
    /// Time for a new timer of kind `Wake`, if its algorithm has asked for one.
    pub wake: Option<Time>,
}

/// State of a flow's sender, for snapshots.
#[derive(Clone, Copy, Debug)]
pub struct SenderState {
    /// Number of the next new packet.
    pub next: u32,
    /// Data packets that the sender counts as in flight; none where credits count them.
    pub in_flight: Option<u32>,
    /// Whether it may send; a sender in its NIC's run queue is ready.
    pub readiness: Readiness,
}

/// Slab indices of up to two packets that a receiver sends after an event, in this order.
#[derive(Clone, Copy, Debug)]
pub struct Responses {
    /// The response to earlier packets, or [`NIL`].
    earlier: u32,
    /// The response to the packet that has just arrived, or [`NIL`].
    now: u32,
}

impl Responses {
    /// No packet.
    pub(crate) const NONE: Self = Self { earlier: NIL, now: NIL };

    #[inline]
    pub fn new(earlier: Option<u32>, now: Option<u32>) -> Self {
        Self { earlier: earlier.unwrap_or(NIL), now: now.unwrap_or(NIL) }
    }

    /// Returns the response to the packet that has just arrived.
    #[inline]
    pub(crate) fn now(self) -> Option<u32> {
        Some(self.now).filter(|&at| at != NIL)
    }

    /// Returns all packets, in the order in which they are sent.
    #[inline]
    pub fn packets(self) -> impl Iterator<Item = u32> {
        [self.earlier, self.now].into_iter().filter(|&at| at != NIL)
    }
}

/// Actions that a receiver requests after a packet or a timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiverEvent {
    pub responses: Responses,
    /// Time for a new timer, if no earlier one is set.
    pub timer: Option<Time>,
    /// Whether every byte of the flow has arrived.
    pub complete: bool,
}
