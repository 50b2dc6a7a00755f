//! What happens next, in a total order of (time, entity).
//!
//! Few events wait in a heap. Many are parted by time into windows, each a fraction of what a packet takes over a link, so that
//! nearly all that an event causes lies in a later window. There it is only noted. A window is sorted as a whole shortly before
//! its time comes, which costs an event much less than its way through a large heap, and tells what comes next. What comes late,
//! into a window that is sorted, or lies far ahead waits in the heap.
//!
//! Of events at the same picosecond no entity is always first: their order differs from one instant to the next. On equal
//! links arrivals fall onto one lattice, and at a full queue whoever came first by number would win every time: one of ten
//! equal flows took 70 % of the link.
//!
//! An entity is a link, whose head packet arrives, a host, whose NIC becomes free, or a port with classes, which
//! may send again. The first two have at most one entry each, so (time, entity) is a key without a tie, and the
//! order does not depend on who pushed first. A port may have several, of which only the earliest counts: it
//! passes over the others.

use shallows_cc::units::Time;

use crate::heap::{Heap, NONE};

/// Bits of a key that hold the entity.
const ENTITY_BITS: u32 = 20;
/// Bits that hold the time since the epoch: 17 s of picoseconds.
const SPAN: u64 = 1 << (64 - ENTITY_BITS);
/// How many entities there can be.
pub const MAX_ENTITIES: usize = 1 << ENTITY_BITS;
/// How far ahead of the present an event may lie.
pub const HORIZON: Time = Time(SPAN / 4);

/// From how many events on they are parted into windows; in debug builds, those of tests, from a few. Wakes of ports with classes
/// lie close, within a window, which then is worth it for more only.
const fn many(wakes: bool) -> usize {
    match wakes {
        _ if cfg!(debug_assertions) => 4,
        true => 128,
        false => 24,
    }
}

/// Windows in the time that a packet takes over a link, of few links and of many: what is sorted at once should be few, but some.
const fn parts(links: usize) -> u64 {
    if links < 256 { 32 } else { 64 }
}

/// Up to so many keys are sorted by [`sort`] itself; libraries take other ways from there on.
const FEW: usize = 20;
/// Windows that are at hand.
const WINDOWS: u64 = 2 * parts(usize::MAX);

/// Events as 64-bit keys, time before entity.
#[derive(Debug)]
pub struct EventQueue {
    epoch: u64,
    /// What does not wait in a window.
    heap: Heap,
    /// The first window that is not sorted.
    soonest: u64,
    /// Its first key; [`NONE`] while all wait in the heap.
    windows_from: u64,
    /// A key without so many bits is the number of its window.
    width: u32,
    /// Windows by their number, round and round: what is in them, in no order.
    windows: Box<[Vec<u64>; WINDOWS as usize]>,
    /// What was in the last windows as they were sorted, then [`NONE`].
    sorted: Vec<u64>,
    /// How many of those are behind.
    at: usize,
    /// The next of those.
    next: u64,
    /// With how many behind the next window is sorted.
    enough: usize,
    /// How many are to be known ahead.
    ahead: usize,
    /// From how many in the heap on they are parted at the earliest, and now.
    least: usize,
    many: usize,
}

impl EventQueue {
    /// Without events. A packet takes about `crossing` over each of so many links, so many events `ahead` are to be known, if
    /// there are many, and some may be `wakes` of ports with classes.
    pub fn new((crossing, links): (Time, usize), ahead: usize, wakes: bool) -> Self {
        Self {
            epoch: 0,
            heap: Heap::default(),
            soonest: 0,
            windows_from: NONE,
            width: ENTITY_BITS + (crossing.0 / parts(links)).max(1).ilog2(),
            windows: Box::new(std::array::from_fn(|_| Vec::new())),
            sorted: vec![NONE],
            at: 0,
            next: NONE,
            enough: 0,
            ahead,
            least: many(wakes),
            many: many(wakes),
        }
    }

    /// The next event.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(Time, u32)> {
        self.event(self.first())
    }

    #[inline]
    fn first(&self) -> u64 {
        debug_assert!(!self.heap.is_vacant(), "the next event has been taken out");
        self.heap.first().min(self.next)
    }

    /// When, and whose; none if there is no event.
    #[inline]
    fn event(&self, key: u64) -> Option<(Time, u32)> {
        let at = Time(self.epoch + (key >> ENTITY_BITS));
        (key != NONE).then(|| (at, (key as u32 & (MAX_ENTITIES as u32 - 1)) ^ shuffle(at)))
    }

    /// The event that comes when so many others, and those that were not known yet, have come before it; none if that is not known.
    #[inline]
    #[must_use]
    pub fn coming(&self, before: usize) -> Option<(Time, u32)> {
        self.event(*self.sorted.get(self.at + before)?)
    }

    /// The place of the next event among all of its time.
    #[must_use]
    pub fn rank(&self) -> u32 {
        let first = self.first();
        if first == NONE { u32::MAX } else { first as u32 & (MAX_ENTITIES as u32 - 1) }
    }

    /// Takes the next event out; call [`Self::close`] once all that it causes has been pushed. Whether others are known ahead, and
    /// have come one nearer ([`Self::coming`]).
    #[inline]
    pub fn take(&mut self) -> bool {
        if self.next >= self.heap.first() {
            self.heap.take();
            return false;
        }
        self.at += 1;
        self.next = self.sorted[self.at];
        if self.at >= self.enough {
            self.sort_next();
        }
        self.ahead > 0
    }

    /// Nothing more is pushed because of the event that was taken out.
    #[inline]
    pub fn close(&mut self) {
        self.heap.close();
    }

    /// Adds an event.
    ///
    /// # Panics
    /// If it lies further ahead than [`HORIZON`].
    #[inline]
    pub fn push(&mut self, at: Time, entity: u32) {
        let key = self.key(at, entity);
        if key >= self.windows_from {
            self.note(key);
        } else if self.heap.is_vacant() {
            self.heap.settle(key);
        } else {
            self.add(key);
        }
    }

    /// Adds what is not for the present, while there are windows: to one of them, or to the heap if it lies behind all.
    #[inline(never)]
    fn note(&mut self, key: u64) {
        let number = key >> self.width;
        if number - self.soonest < WINDOWS {
            self.windows[(number % WINDOWS) as usize].push(key);
        } else if self.heap.is_vacant() {
            self.heap.settle(key);
        } else {
            self.heap.add(key);
        }
    }

    /// Adds an event to the heap, whose events are parted if there are many now.
    #[inline(never)]
    fn add(&mut self, key: u64) {
        self.heap.add(key);
        if self.windows_from == NONE && self.heap.others() >= self.many {
            self.part();
        }
    }

    /// Parts what waits in the heap into windows.
    #[cold]
    fn part(&mut self) {
        self.soonest = self.heap.first() >> self.width;
        self.heap.drain().into_iter().for_each(|key| self.note(key));
        self.sort_next();
    }

    /// Sorts the next window in which there is anything.
    #[inline(never)]
    fn sort_next(&mut self) {
        let mut numbers = self.soonest..self.soonest + WINDOWS;
        let next = numbers.find(|number| !self.windows[(number % WINDOWS) as usize].is_empty());
        let known = self.sorted.len() - 1 - self.at;
        if known == 0 {
            self.sorted.clear();
        } else {
            self.sorted.pop();
            self.sorted.drain(..self.at);
        }
        self.at = 0;
        if let Some(number) = next {
            let window = &mut self.windows[(number % WINDOWS) as usize];
            if known == 0 {
                // Each takes the other's place: nothing is copied.
                std::mem::swap(&mut self.sorted, window);
            } else {
                self.sorted.append(window);
            }
            sort(&mut self.sorted[known..]);
            self.soonest = number + 1;
            self.windows_from = self.soonest << self.width;
            self.enough = self.sorted.len().saturating_sub(self.ahead).max(1);
        } else if self.sorted.is_empty() {
            self.windows_from = NONE;
            // What lies behind all windows is not to be parted again and again.
            self.many = self.least.max(2 * self.heap.others());
        } else {
            self.enough = self.sorted.len();
        }
        self.sorted.push(NONE);
        self.next = self.sorted[0];
    }

    #[inline]
    fn key(&mut self, at: Time, entity: u32) -> u64 {
        if at.0 - self.epoch >= SPAN / 2 {
            self.move_epoch(at);
        }
        ((at.0 - self.epoch) << ENTITY_BITS) | u64::from(entity ^ shuffle(at))
    }

    /// Moves the epoch up to where nothing can lie before it: no event is further ahead of the present
    /// than the horizon, so the present is at most a horizon before the next event. Windows keep their places.
    #[cold]
    #[inline(never)]
    fn move_epoch(&mut self, at: Time) {
        let first = self.heap.first().min(self.next);
        let next = if first == NONE { at } else { Time(self.epoch + (first >> ENTITY_BITS)).min(at) };
        let round = WINDOWS << (self.width - ENTITY_BITS);
        let shift = (next.saturating_sub(HORIZON).0 - self.epoch) / round * round;
        self.epoch += shift;
        assert!(at.0 - self.epoch < SPAN, "an event lies more than {HORIZON} ahead");
        let windows = self.windows.iter_mut().flatten().chain(&mut self.sorted[self.at..]).filter(|key| **key != NONE);
        self.heap.keys_mut().chain(windows).for_each(|key| *key -= shift << ENTITY_BITS);
        self.next = self.sorted[self.at];
        if self.windows_from != NONE {
            self.soonest -= (shift << ENTITY_BITS) >> self.width;
            self.windows_from -= shift << ENTITY_BITS;
        }
    }
}

/// Puts keys in order. Few are led past each other without a branch that hangs on them, which a processor would guess wrong
/// every other time.
fn sort(keys: &mut [u64]) {
    if keys.len() > FEW {
        return keys.sort_unstable();
    }
    for at in 1..keys.len() {
        let (before, rest) = keys.split_at_mut(at);
        let last = before.iter_mut().fold(rest[0], |key, other| {
            let (first, second) = (key.min(*other), key.max(*other));
            *other = first;
            second
        });
        rest[0] = last;
    }
}

/// What changes the order of entities at this instant: its own inverse, and of any two either is first half the time.
#[inline]
fn shuffle(at: Time) -> u32 {
    // Fibonacci hashing: the upper bits of a product with 2^64 over the golden ratio.
    (at.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ENTITY_BITS)) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use shallows_cc::draws::Draws;

    use super::*;

    #[test]
    fn events_come_out_by_time_and_in_one_order_at_the_same_time() {
        let order = |events: &[(u64, u32)]| {
            let mut queue = EventQueue::new((Time::from_micros(2), 1000), 0, false);
            events.iter().for_each(|&(at, entity)| queue.push(Time(at), entity));
            std::iter::from_fn(|| {
                let next = queue.peek();
                queue.take();
                queue.close();
                next
            })
            .collect::<Vec<_>>()
        };
        let events = [(50, 1), (10, 7), (10, 3), (90, 0), (20, 2), (10, 5)];
        let forth = order(&events);
        let times: Vec<_> = forth.iter().map(|(at, _)| at.0).collect();
        assert_eq!(times, [10, 10, 10, 20, 50, 90]);
        let mut entities: Vec<_> = forth[..3].iter().map(|&(_, entity)| entity).collect();
        entities.sort_unstable();
        assert_eq!(entities, [3, 5, 7]);
        let back: Vec<_> = events.into_iter().rev().collect();
        assert_eq!(order(&back), forth);
    }

    /// Against a sorted set: mostly what a packet's hop causes, now and then something at once or far ahead; few events, a thousand
    /// and few again, past the span of a key.
    #[test]
    fn many_events_come_out_in_the_order_of_few() {
        for ahead in [0, 11] {
            let mut queue = EventQueue::new((Time::from_nanos(2200), 1000), ahead, false);
            let (mut all, mut draws) = (BTreeSet::new(), Draws::new(7, 0));
            let (mut now, mut in_windows, mut known) = (Time::ZERO, 0, 0);
            for round in 0..400_000_u32 {
                let most = [3, 1000, 0, 300, 20][round as usize / 20_000 % 5];
                let step = match draws.bits() % 2000 {
                    0 => Time::from_millis(draws.bits() % 900),
                    1 => Time(draws.bits() % 3),
                    2..400 => Time::from_nanos(51),
                    400..500 => Time::from_nanos(draws.bits() % 8000),
                    _ => Time::from_nanos(1051 + 10 * (draws.bits() % 116)),
                };
                let next = all.first().map(|&(at, place): &(Time, u32)| (at, place ^ shuffle(at)));
                assert_eq!(queue.peek(), next);
                let coming: Vec<_> = (0..ahead).map_while(|before| queue.coming(before)).collect();
                assert!(coming.iter().all(|&(at, entity)| all.contains(&(at, entity ^ shuffle(at)))), "{coming:?}");
                assert!(coming.is_sorted_by_key(|event| event.0), "{coming:?}");
                known += coming.len();
                in_windows += u32::from(queue.windows_from < NONE);
                let pops = all.len() >= most && !all.is_empty();
                if pops {
                    now = next.map_or(now, |event| event.0);
                    all.pop_first();
                    queue.take();
                }
                if !pops || (most > 0 && round % 8 > 0) {
                    all.insert((now + step, round ^ shuffle(now + step)));
                    queue.push(now + step, round);
                }
                if pops {
                    queue.close();
                }
            }
            assert!(in_windows > 100_000, "in windows in {in_windows} rounds");
            assert_eq!(known > 1_000_000, ahead > 0, "{known} known ahead");
            assert!(now > Time(SPAN), "the end of a key's span is not passed: {now}");
        }
    }

    /// On a lattice of 1.2 us, a full frame at 10 Gbps: 10,000 fair coins stay within 5 deviations of 50 of their mean.
    #[test]
    fn at_the_same_time_each_of_two_is_first_half_the_time() {
        for (a, b) in [(0, 1), (3, 40), (511, 512), (0, MAX_ENTITIES as u32 - 1)] {
            let first = |frame: u64| {
                let mut queue = EventQueue::new((Time::from_micros(2), 1000), 0, false);
                queue.push(Time(frame * 1_200_000), a);
                queue.push(Time(frame * 1_200_000), b);
                queue.peek().map(|next| next.1) == Some(a)
            };
            let wins = (100_000..110_000).filter(|&frame| first(frame)).count();
            assert!((4750..=5250).contains(&wins), "{a} before {b}: {wins} of 10000");
        }
    }

    #[test]
    fn time_goes_on_past_the_span_of_a_key() {
        let mut queue = EventQueue::new((Time::from_micros(2), 1000), 0, false);
        let step = Time::from_millis(700);
        queue.push(step, 4);
        queue.push(Time(step.0 + 1), 9);
        for round in 2..200 {
            assert_eq!(queue.peek(), Some((step * (round - 1), 4)));
            queue.take();
            queue.push(step * round, 4);
            assert_eq!(queue.peek(), Some((Time(step.0 * (round - 1) + 1), 9)));
            queue.take();
            queue.push(Time(step.0 * round + 1), 9);
        }
    }
}
