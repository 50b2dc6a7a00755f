//! Counters of a port.

use std::ops::AddAssign;

use shallows_cc::units::Time;

/// Counters of a port, reset at the end of the warm-up.
///
/// Fields that grow with every packet do not lie side by side: adding two of them in one vector instruction takes longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counters {
    /// The largest backlog.
    pub(super) largest: Time,
    /// Packets trimmed to their header.
    pub trimmed: u64,
    /// Sum of the times from arrival to departure, in picoseconds.
    pub sojourn: u128,
    /// Twice the integral of the backlog over time, in square picoseconds, once every segment has ended.
    pub(super) area: u128,
    /// Packets sent.
    pub sent: u64,
    /// Packets newly marked.
    pub marked: u64,
    /// Length of the packets sent.
    pub sent_bytes: u64,
    /// Packets dropped because the queue or the shared memory was full.
    pub dropped: u64,
}

/// What the counters of a FIFO contain of packets that begin to be sent later: their departure is known when they join the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Late {
    pub sent: u64,
    pub sent_bytes: u64,
    pub sojourn: u128,
    pub marked: u64,
}

impl AddAssign for Late {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.sojourn += other.sojourn;
        self.marked += other.marked;
    }
}

/// Counters of the warm-up that the audit needs, and of packets that leave after it or after the run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Warmup {
    /// Packets accepted.
    pub sent: u64,
    pub dropped: u64,
    pub lost: u64,
    /// Unsent part of the frame in transmission and of those behind it, at the end of the warm-up.
    pub backlog: Time,
    /// Packets accepted in the warm-up that leave after it, and those that leave after the run.
    pub late: [Late; 2],
}
