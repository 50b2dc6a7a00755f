//! What happens to a flow at a set time and is not a packet.
//!
//! At the same picosecond timers go before packets, and among themselves in the order of [`Kind`] and then of their flow.

use shallows_cc::units::Time;

use crate::queue::calendar::{self, CalendarQueue, Key as _};
use crate::queue::heap::Binary;

/// What a timer is for, in the order in which they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A flow stops.
    Stop,
    /// A retransmission timeout.
    Timeout,
    /// A receiver has something to send.
    AckTimer,
    /// A host may call the next packet, for a flow that waits for its turn.
    Pull,
    /// A paced flow may send again.
    Pace,
    /// An algorithm asked to be called.
    Wake,
    /// A flow starts.
    Start,
    /// The application of a flow pauses, or goes on.
    AppWrite,
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
    [Kind::Stop, Kind::Timeout, Kind::AckTimer, Kind::Pull, Kind::Pace, Kind::Wake, Kind::Start, Kind::AppWrite];

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

impl calendar::Key for Key {
    type Heap = Binary<Self>;

    const NONE: Self = Self(u128::MAX);

    fn window(self, bits: u32) -> u64 {
        self.at().0 >> bits
    }

    fn first_of(window: u64, bits: u32) -> Self {
        window.checked_mul(1 << bits).map_or(Self::NONE, |at| Self(u128::from(at) << 64))
    }
}

/// From how many timers on they are parted into windows; in debug builds, those of tests, from a few.
const MANY: usize = if cfg!(debug_assertions) { 4 } else { 64 };

/// Timers that are set.
#[derive(Debug)]
pub struct Timers {
    keys: CalendarQueue<Key>,
    /// Those that are known from the start, the next one last; they would only be in the way of what is due soon.
    presorted: Vec<Key>,
    /// The next of those.
    presorted_next: Key,
    /// The next one of all.
    next: Key,
    /// How many of them begin a flow.
    starts: usize,
}

impl Timers {
    /// None, where a packet takes about so long over a link.
    pub fn new(crossing: Time) -> Self {
        Self {
            keys: CalendarQueue::new((crossing.0 / 4).max(1).ilog2(), MANY, 0),
            presorted: Vec::new(),
            presorted_next: Key::NONE,
            next: Key::NONE,
            starts: 0,
        }
    }

    /// Sets those that are known from the start.
    pub fn begin_with(&mut self, presorted: &[Timer]) {
        self.starts += presorted.iter().filter(|timer| timer.kind == Kind::Start).count();
        self.presorted = presorted.iter().copied().map(Key::of).collect();
        self.presorted.sort_unstable_by(|a, b| b.cmp(a));
        self.presorted_next = self.presorted.pop().unwrap_or(Key::NONE);
        self.tell_next();
    }

    pub fn set(&mut self, timer: Timer) {
        self.starts += usize::from(timer.kind == Kind::Start);
        self.keys.push(Key::of(timer));
        self.next = self.next.min(Key::of(timer));
    }

    fn tell_next(&mut self) {
        self.next = self.keys.first().min(self.presorted_next);
    }

    /// When the next one runs out; [`Time::MAX`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        self.next.at()
    }

    /// The next one.
    pub fn peek(&self) -> Option<Timer> {
        (self.next != Key::NONE).then(|| self.next.timer())
    }

    /// Takes the next one out; call [`Self::finish`] once all that it causes has been set.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Timer> {
        let timer = self.peek()?;
        if self.next == self.presorted_next {
            self.presorted_next = self.presorted.pop().unwrap_or(Key::NONE);
        } else {
            self.keys.pop();
        }
        self.starts -= usize::from(timer.kind == Kind::Start);
        Some(timer)
    }

    /// Nothing more is set because of the timer that was taken out.
    #[inline(always)]
    pub fn finish(&mut self) {
        self.keys.finish();
        self.tell_next();
    }

    /// Whether a flow is still to begin at a time that is known.
    pub fn has_starts(&self) -> bool {
        self.starts > 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use shallows_cc::rng::Rng;

    use super::*;

    #[test]
    fn timers_go_by_time_then_kind_then_flow() {
        let timers = |at, flow| KINDS.map(|kind| Timer { at: Time(at), kind, flow });
        let mut all = [timers(7, 3), timers(7, u32::MAX), timers(u64::MAX, 0)].concat();
        let mut set = Timers::new(Time(100));
        let (presorted, later) = all.split_at(all.len() / 2);
        set.begin_with(presorted);
        later.iter().rev().for_each(|&timer| set.set(timer));
        all.sort();
        let taken = std::iter::from_fn(|| {
            let next = set.pop();
            set.finish();
            next
        });
        assert_eq!(taken.collect::<Vec<_>>(), all);
    }

    /// Against a sorted set: a timer causes none, one or two others, which go before those that were set or after them; some are
    /// known from the start.
    #[test]
    fn what_a_timer_causes_takes_its_turn() {
        let (mut set, mut all, mut draws) = (Timers::new(Time(4096)), BTreeSet::new(), Rng::new(3, 0));
        for flow in 0..500 {
            all.insert(Timer { at: Time(draws.bits() % 50_000_000), kind: KINDS[flow as usize % KINDS.len()], flow });
        }
        set.begin_with(&all.iter().copied().collect::<Vec<_>>());
        for flow in 500..20_000 {
            let next = all.pop_first();
            assert_eq!(set.next(), next.map_or(Time::MAX, |timer: Timer| timer.at));
            assert_eq!(set.pop(), next);
            let most = if flow / 1000 % 2 == 0 { 3 } else { 2 };
            for _ in 0..draws.bits() % most {
                let after = Time(1 + draws.bits() % 1000 * (draws.bits() % 1000));
                let at = next.map_or(Time::ZERO, |timer| timer.at) + after;
                let timer = Timer { at, kind: KINDS[draws.bits() as usize % KINDS.len()], flow };
                all.insert(timer);
                set.set(timer);
            }
            set.finish();
            assert_eq!(set.peek(), all.first().copied());
            assert_eq!(set.has_starts(), all.iter().any(|timer| timer.kind == Kind::Start));
        }
    }
}
