//! What happens to a flow at a set time and is not a packet: few, so a plain heap holds them.
//!
//! At the same picosecond timers go before packets, and among themselves in the order of [`Kind`] and then of their flow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shallows_cc::units::Time;

/// What a timer is for, in the order in which they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
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

/// A timer of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// When it runs out.
    pub at: Time,
    /// What for.
    pub kind: Kind,
    /// Whose it is.
    pub flow: u32,
}

/// Timers that are set.
#[derive(Debug)]
pub struct Timers {
    heap: BinaryHeap<Reverse<Timer>>,
    /// When the next one runs out; [`Time::MAX`] if there is none.
    next: Time,
    /// How many of them begin a flow.
    starts: usize,
}

impl Default for Timers {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), next: Time::MAX, starts: 0 }
    }
}

impl Timers {
    pub fn set(&mut self, timer: Timer) {
        self.starts += usize::from(timer.kind == Kind::Start);
        self.next = self.next.min(timer.at);
        self.heap.push(Reverse(timer));
    }

    /// When the next one runs out; [`Time::MAX`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// The next one.
    pub fn peek(&self) -> Option<Timer> {
        self.heap.peek().map(|&Reverse(timer)| timer)
    }

    #[inline(always)]
    pub fn pop(&mut self) -> Option<Timer> {
        let Reverse(timer) = self.heap.pop()?;
        self.next = self.heap.peek().map_or(Time::MAX, |Reverse(timer)| timer.at);
        self.starts -= usize::from(timer.kind == Kind::Start);
        Some(timer)
    }

    /// Whether a flow is still to begin at a time that is known.
    pub fn has_starts(&self) -> bool {
        self.starts > 0
    }
}
