//! What happens at a set time and is not a packet: few, so a plain heap holds them.
//!
//! At the same picosecond timers go before packets, and among themselves in the order of [`Kind`] and then
//! of their number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shallows_cc::units::Time;

/// What a timer is for, in the order in which they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The run is over.
    End,
    /// Statistics begin.
    Warmup,
    /// Queues are read.
    Queues,
    /// Senders are read.
    Probes,
    /// Paused links are searched for a deadlock.
    Deadlock,
    /// A flow stops.
    Stop,
    /// A retransmission timeout.
    Timeout,
    /// A receiver has something to send.
    Reply,
    /// A paced flow may send again.
    Pace,
    /// An algorithm asked to be called.
    Wake,
    /// A flow starts.
    Start,
}

/// A timer: `number` is a flow, where it is one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    pub at: Time,
    pub kind: Kind,
    pub number: u32,
    /// Where the flow's state is.
    pub slot: u32,
}

/// Timers that are set.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<Timer>>,
}

impl Timers {
    pub fn set(&mut self, timer: Timer) {
        self.heap.push(Reverse(timer));
    }

    /// When the next one runs out.
    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |Reverse(timer)| timer.at)
    }

    pub fn pop(&mut self) -> Option<Timer> {
        self.heap.pop().map(|Reverse(timer)| timer)
    }
}
