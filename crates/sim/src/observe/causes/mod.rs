//! Causes of departures: what made each packet of some flows leave when it did, and which frames were sent before it at every
//! port. This is enough to follow a flow's completion back to its start, exact to the picosecond (docs/why.md has the tables).
//!
//! A packet leaves because of one event of its flow: the flow started, a packet arrived, a timer expired, or its previous packet
//! left. A [`Cause`] records the event and refers to what led to it: a packet, or an earlier cause. A flow that may send waits
//! for its NIC. A flow that may not send is blocked, or held by its pace or its host, since a time and a cause.

use shallows_cc::units::{Bytes, Time};

use crate::observe::BlockedBy;
use crate::observe::links::Frame;
use crate::packet::{NIL, PacketKind};
use crate::port::admission::Outcome;

mod recorder;
mod spans;

pub use recorder::Causes;

/// Reason why a flow could send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CauseKind {
    /// The flow started.
    Began,
    /// `packet` arrived.
    Heard,
    /// `packet` left, and the flow had more to send.
    Followed,
    /// Its pace let it send.
    Paced,
    /// Its retransmission timer expired.
    TimedOut,
    /// Its algorithm had asked for a wake, or the flow was stopped.
    Woken,
    /// Its application, which had paused, wrote more data.
    Written,
    /// Its host had processed a credit.
    HostBusy,
    /// Its receiver had delayed the answer to `packet`.
    Delayed,
    /// Its receiver sends credits or pulls one after the other: `packet` is the previous one, or the request for the first.
    Granted,
}

impl Causes {
    /// Names of all `CauseKind`s, in the order of their numbers.
    pub const KINDS: [&str; 10] =
        ["began", "heard", "followed", "paced", "timed_out", "woken", "written", "answering", "delayed", "granted"];

    /// Names of what a flow may have been blocked by, in the order of `Cause::blocked_by_number`.
    pub const BLOCKED_BY: [&str; 5] = ["nothing", "window", "receiver", "application", "answer"];
}

/// Event that let a packet leave.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// Kind of event.
    pub why: CauseKind,
    /// Time of the event: from then on the flow could send.
    pub at: Time,
    /// Start of the wait that ended with the event.
    pub since: Time,
    /// Packet that arrived or left, or `NIL`.
    pub packet: u32,
    /// Cause with which the wait began, or `NIL`.
    pub before: u32,
    /// The condition that blocked the flow until then.
    pub blocked_by: Option<BlockedBy>,
    /// Window of the flow at that time; zero if it has none.
    pub window: Bytes,
}

impl Cause {
    /// Cause that is a packet, which arrived or left at `since`.
    const fn by_packet(why: CauseKind, at: Time, since: Time, packet: u32) -> Self {
        Self { why, at, since, packet, before: NIL, blocked_by: None, window: Bytes::ZERO }
    }

    /// Returns the index of [`Self::blocked_by`] in [`Causes::BLOCKED_BY`].
    #[must_use]
    pub const fn blocked_by_number(&self) -> u8 {
        match self.blocked_by {
            None => 0,
            Some(BlockedBy::Window(_)) => 1,
            Some(BlockedBy::Receiver(_)) => 2,
            Some(BlockedBy::Application) => 3,
            Some(BlockedBy::Answer) => 4,
        }
    }

    /// Returns by how much a window was too small.
    #[must_use]
    pub const fn short(&self) -> Bytes {
        match self.blocked_by {
            Some(BlockedBy::Window(short) | BlockedBy::Receiver(short)) => short,
            _ => Bytes::ZERO,
        }
    }
}

/// Packet of a watched flow. Its number is its index in the table.
#[derive(Clone, Copy, Debug)]
pub struct PacketRow {
    /// Number of its flow.
    pub flow: u32,
    /// Kind of packet.
    pub kind: PacketKind,
    /// Sequence number; of an acknowledgement, that of its SACK block.
    pub seq: u32,
    /// Of an acknowledgement: the next expected sequence number.
    pub cumulative: u32,
    /// First packet that an acknowledgement covers, if that is not the one that caused it; otherwise [`NIL`].
    pub first: u32,
    /// Length on the wire in bytes; zero of an acknowledgement that rides on data.
    pub length: u16,
    /// When its host offered it to the first port.
    pub left: Time,
    /// Index of its [`Cause`].
    pub cause: u32,
}

/// Packet of a watched flow at a port.
#[derive(Clone, Copy, Debug)]
pub struct HopRow {
    /// Number of the packet.
    pub packet: u32,
    /// Number of the port's link.
    pub link: u32,
    /// When it was offered to the port.
    pub offered: Time,
    /// When its first bit was sent; [`Time::MAX`] if it never was.
    pub begun: Time,
    /// When its last bit was sent.
    pub ended: Time,
    /// When it arrived at the end of the link.
    pub arrived: Time,
    /// What the port did with it.
    pub outcome: Outcome,
}

/// Frame of any flow that was sent over a watched link.
#[derive(Clone, Copy, Debug)]
pub struct FrameRow {
    /// The frame.
    pub frame: Frame,
    /// Number of the packet; `NIL` if its flow is not watched.
    pub packet: u32,
}

/// Flows and links to record.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// Flows whose packets are recorded.
    pub flows: Vec<u32>,
    /// Link, start and end of each span in which all frames are recorded; spans of one link are in order and disjoint.
    pub spans: Vec<(u32, Time, Time)>,
}
