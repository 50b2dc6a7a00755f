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
    /// Whether the first of them has run out, and its place waits for another.
    vacant: bool,
    /// When the next one runs out; [`Time::MAX`] if there is none.
    next: Time,
    /// How many of them begin a flow.
    starts: usize,
}

impl Default for Timers {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), vacant: false, next: Time::MAX, starts: 0 }
    }
}

impl Timers {
    pub fn set(&mut self, timer: Timer) {
        self.starts += usize::from(timer.kind == Kind::Start);
        if self.vacant {
            self.settle(Key::of(timer));
        } else {
            self.next = self.next.min(timer.at);
            self.heap.push(Reverse(Key::of(timer)));
        }
    }

    /// Puts a timer in the place of the one that has run out: one that is due soon, as the next frame of a paced flow is, does
    /// not go far down from there.
    fn settle(&mut self, key: Key) {
        self.vacant = false;
        if let Some(mut first) = self.heap.peek_mut() {
            *first = Reverse(key);
        }
        self.tell_next();
    }

    fn tell_next(&mut self) {
        self.next = self.heap.peek().map_or(Time::MAX, |Reverse(key)| key.at());
    }

    /// When the next one runs out; [`Time::MAX`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// The next one.
    pub fn peek(&self) -> Option<Timer> {
        debug_assert!(!self.vacant, "the next timer has been taken out");
        self.heap.peek().map(|Reverse(key)| key.timer())
    }

    /// Takes the next one out; call [`Self::close`] once all that it causes has been set.
    #[inline(always)]
    pub fn take(&mut self) -> Option<Timer> {
        let timer = self.peek()?;
        self.vacant = true;
        self.starts -= usize::from(timer.kind == Kind::Start);
        Some(timer)
    }

    /// Nothing more is set because of the timer that was taken out.
    #[inline(always)]
    pub fn close(&mut self) {
        if self.vacant {
            self.vacant = false;
            self.heap.pop();
            self.tell_next();
        }
    }

    /// Whether a flow is still to begin at a time that is known.
    pub fn has_starts(&self) -> bool {
        self.starts > 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use shallows_cc::draws::Draws;

    use super::*;

    #[test]
    fn timers_go_by_time_then_kind_then_flow() {
        let timers = |at, flow| KINDS.map(|kind| Timer { at: Time(at), kind, flow });
        let mut all = [timers(7, 3), timers(7, u32::MAX), timers(u64::MAX, 0)].concat();
        let mut set = Timers::default();
        all.iter().rev().for_each(|&timer| set.set(timer));
        all.sort();
        let taken = std::iter::from_fn(|| {
            let next = set.take();
            set.close();
            next
        });
        assert_eq!(taken.collect::<Vec<_>>(), all);
    }

    /// Against a sorted set: a timer causes none, one or two others, which go before those that were set or after them.
    #[test]
    fn what_a_timer_causes_takes_its_turn() {
        let (mut set, mut all, mut draws) = (Timers::default(), BTreeSet::new(), Draws::new(3, 0));
        for flow in 0..20_000 {
            let next = all.pop_first();
            assert_eq!(set.next(), next.map_or(Time::MAX, |timer: Timer| timer.at));
            assert_eq!(set.take(), next);
            let most = if flow / 1000 % 2 == 0 { 3 } else { 2 };
            for _ in 0..draws.bits() % most {
                let after = Time(1 + draws.bits() % 1000 * (draws.bits() % 1000));
                let at = next.map_or(Time::ZERO, |timer| timer.at) + after;
                let timer = Timer { at, kind: KINDS[draws.bits() as usize % KINDS.len()], flow };
                all.insert(timer);
                set.set(timer);
            }
            set.close();
            assert_eq!(set.peek(), all.first().copied());
            assert_eq!(set.has_starts(), all.iter().any(|timer| timer.kind == Kind::Start));
        }
    }
}
