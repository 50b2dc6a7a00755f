//! Timers of flows: everything that happens to a flow at a set time and is not a packet.
//!
//! At one picosecond timers come before packets, and among themselves in the order of [`Kind`] and then of flows.

use shallows_cc::units::Time;

use crate::queue::calendar::CalendarQueue;
use crate::queue::heap::{self, Key as _};

/// Purposes of timers, in the order of simultaneous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A flow stops.
    Stop,
    /// A retransmission timeout.
    Timeout,
    /// A receiver sends a delayed acknowledgement or a credit.
    AckTimer,
    /// A host may send the next pull of a flow that waits for its turn.
    Pull,
    /// A paced flow may send again.
    Pace,
    /// A wake-up that an algorithm requested.
    Wake,
    /// A flow starts, or a computation is ready.
    Start,
    /// The application of a flow pauses or resumes.
    AppWrite,
    /// A computation ends.
    Computed,
    /// A response that was held back leaves.
    Response,
}

impl Kind {
    /// Whether tasks may start because of it that would not start otherwise.
    fn starts(self) -> bool {
        matches!(self, Self::Start | Self::Computed)
    }
}

/// A timer of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// When it expires.
    pub at: Time,
    /// Its purpose.
    pub kind: Kind,
    /// Its flow; of a computation its number as a task ([`crate::spec::task::Numbering`]).
    pub flow: u32,
}

/// All kinds in their order.
const KINDS: [Kind; 10] = [
    Kind::Stop,
    Kind::Timeout,
    Kind::AckTimer,
    Kind::Pull,
    Kind::Pace,
    Kind::Wake,
    Kind::Start,
    Kind::AppWrite,
    Kind::Computed,
    Kind::Response,
];

/// A timer as one integer, in the order of timers.
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

impl heap::Key for Key {
    const NONE: Self = Self(u128::MAX);

    fn bucket(self, bits: u32) -> u64 {
        self.at().0 >> bits
    }

    fn first_of(bucket: u64, bits: u32) -> Self {
        bucket.checked_mul(1 << bits).map_or(Self::NONE, |at| Self(u128::from(at) << 64))
    }
}

/// The number of timers from which buckets are used; in debug builds, which run the tests, a few.
const MANY: usize = if cfg!(debug_assertions) { 4 } else { 64 };

/// The timers that are set.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    keys: CalendarQueue<Key>,
    /// Timers that are known from the start, the next one last. They are kept apart from those that are due soon.
    presorted: Vec<Key>,
    /// The next of them.
    presorted_next: Key,
    /// The next of all timers.
    next: Key,
    /// The number of timers that start a task or end a computation.
    starts: usize,
}

impl Timers {
    /// No timers, in a network in which a packet takes about `crossing` over a link.
    pub fn new(crossing: Time) -> Self {
        Self {
            keys: CalendarQueue::new((crossing.0 / 4).max(1).ilog2(), MANY, 0),
            presorted: Vec::new(),
            presorted_next: Key::NONE,
            next: Key::NONE,
            starts: 0,
        }
    }

    /// Sets the timers that are known from the start.
    pub(crate) fn begin_with(&mut self, known: &[Timer]) {
        self.starts += known.iter().filter(|timer| timer.kind.starts()).count();
        self.presorted = known.iter().copied().map(Key::of).collect();
        self.presorted.sort_unstable_by(|a, b| b.cmp(a));
        self.presorted_next = self.presorted.pop().unwrap_or(Key::NONE);
        self.update_next();
    }

    /// Sets a timer.
    pub fn set(&mut self, timer: Timer) {
        self.starts += usize::from(timer.kind.starts());
        self.keys.push(Key::of(timer));
        self.next = self.next.min(Key::of(timer));
    }

    fn update_next(&mut self) {
        self.next = self.keys.first().min(self.presorted_next);
    }

    /// When the next timer expires; [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next.at()
    }

    /// The next timer.
    pub fn peek(&self) -> Option<Timer> {
        (self.next != Key::NONE).then(|| self.next.timer())
    }

    /// Pops the next timer; call [`Self::finish`] once everything that it causes has been set.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Timer> {
        let timer = self.peek()?;
        if self.next == self.presorted_next {
            self.presorted_next = self.presorted.pop().unwrap_or(Key::NONE);
        } else {
            self.keys.pop();
        }
        self.starts -= usize::from(timer.kind.starts());
        Some(timer)
    }

    /// Ends the handling of the popped timer: nothing more is set because of it.
    #[inline(always)]
    pub fn finish(&mut self) {
        self.keys.finish();
        self.update_next();
    }

    /// The flows of the timers of these kinds that were set during the run.
    pub(crate) fn flows(&self, kinds: &'static [Kind]) -> impl Iterator<Item = u32> {
        let timers = self.keys.keys().map(Key::timer);
        timers.filter(|timer| kinds.contains(&timer.kind)).map(|timer| timer.flow)
    }

    /// Whether a task is still to start at a known time, or a computation to end.
    pub(crate) fn has_starts(&self) -> bool {
        self.starts > 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use shallows_cc::rng::Rng;

    use super::*;

    #[test]
    fn timers_expire_by_time_then_kind_then_flow() {
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

    /// Compares with a sorted set. Each timer sets none, one or two others; some are known from the start.
    #[test]
    fn timers_expire_in_the_order_of_a_sorted_set() {
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
            assert_eq!(set.has_starts(), all.iter().any(|timer| timer.kind.starts()));
        }
    }
}
