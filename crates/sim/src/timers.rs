//! What happens to a flow at a set time and is not a packet: few, so a plain heap holds them.
//!
//! At the same picosecond timers go before packets, and among themselves in the order of [`Kind`] and then of their flow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shallows_cc::units::Time;

/// What a timer is for, in the order in which they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A flow stops.
    Stop,
    /// A retransmission timeout.
    Timeout,
    /// A receiver has something to send.
    Reply,
    /// A host may call the next packet, for a flow that waits for its turn.
    Pull,
    /// A paced flow may send again.
    Pace,
    /// An algorithm asked to be called.
    Wake,
    /// A flow starts.
    Start,
    /// The application of a flow pauses, or goes on.
    Supply,
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

/// Every kind, in this order.
const KINDS: [Kind; 8] =
    [Kind::Stop, Kind::Timeout, Kind::Reply, Kind::Pull, Kind::Pace, Kind::Wake, Kind::Start, Kind::Supply];

/// A timer as one number, which is the less the earlier it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    fn of(timer: Timer) -> Self {
        Self(u128::from(timer.at.0) << 64 | u128::from(timer.kind as u8) << 32 | u128::from(timer.flow))
    }

    fn at(self) -> Time {
        Time((self.0 >> 64) as u64)
    }

    fn timer(self) -> Timer {
        Timer { at: self.at(), kind: KINDS[(self.0 >> 32) as u32 as usize], flow: self.0 as u32 }
    }
}

/// Timers that are set.
#[derive(Debug)]
pub struct Timers {
    heap: BinaryHeap<Reverse<Key>>,
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
        self.heap.push(Reverse(Key::of(timer)));
    }

    /// When the next one runs out; [`Time::MAX`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// The next one.
    pub fn peek(&self) -> Option<Timer> {
        self.heap.peek().map(|Reverse(key)| key.timer())
    }

    #[inline(always)]
    pub fn pop(&mut self) -> Option<Timer> {
        let timer = self.heap.pop()?.0.timer();
        self.next = self.heap.peek().map_or(Time::MAX, |Reverse(key)| key.at());
        self.starts -= usize::from(timer.kind == Kind::Start);
        Some(timer)
    }

    /// Whether a flow is still to begin at a time that is known.
    pub fn has_starts(&self) -> bool {
        self.starts > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_go_by_time_then_kind_then_flow() {
        let timers = |at, flow| KINDS.map(|kind| Timer { at: Time(at), kind, flow });
        let mut all = [timers(7, 3), timers(7, u32::MAX), timers(u64::MAX, 0)].concat();
        let mut set = Timers::default();
        all.iter().rev().for_each(|&timer| set.set(timer));
        all.sort();
        assert_eq!(std::iter::from_fn(|| set.pop()).collect::<Vec<_>>(), all);
    }
}
