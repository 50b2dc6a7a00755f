//! What happens next, in a total order of (time, entity).
//!
//! Of events at the same picosecond no entity is always first: their order differs from one instant to the next. On equal
//! links arrivals fall onto one lattice, and at a full queue whoever came first by number would win every time: one of ten
//! equal flows took 70 % of the link.
//!
//! An entity is a link, whose head packet arrives, a host, whose NIC becomes free, or a port with classes, which
//! may send again. The first two have at most one event each, so (time, entity) is a key without a tie, and the
//! order does not depend on who pushed first. A port only adds events before the one that it awaits, and passes over that
//! one then. So each entity has one place, if they are few; the events of many wait in windows of time.

use shallows_cc::units::Time;

use crate::queue::calendar::{CalendarQueue, Key, WINDOWS};
use crate::queue::heap::Heap4;

/// Bits of a key that hold the entity.
const ENTITY_BITS: u32 = 20;
/// Bits that hold the time since the epoch: 17 s of picoseconds.
const SPAN: u64 = 1 << (64 - ENTITY_BITS);
/// How many entities there can be.
pub const MAX_ENTITIES: usize = 1 << ENTITY_BITS;
/// How far ahead of the present an event may lie.
pub const HORIZON: Time = Time(SPAN / 4);

/// From how many events on they are parted into windows; in debug builds, those of tests, from a few. Wakes of ports with classes
/// lie finish, within a window, which then is worth it for more only.
const fn many(wakes: bool) -> usize {
    match wakes {
        _ if cfg!(debug_assertions) => 4,
        true => 128,
        false => 24,
    }
}

/// CalendarQueue in the time that a packet takes over a link, of few links and of many: what is sorted at once should be few, but some.
const fn parts(links: usize) -> u64 {
    if links < 256 { 32 } else { 64 }
}

const _: () = assert!(WINDOWS >= 2 * parts(usize::MAX), "what a packet's hop causes lies in a window");

/// Time before entity.
impl Key for u64 {
    type Heap = Heap4<Self>;
    const NONE: Self = Self::MAX;

    #[inline]
    fn window(self, bits: u32) -> u64 {
        self >> bits
    }

    #[inline]
    fn first_of(window: u64, bits: u32) -> Self {
        window << bits
    }
}

/// Events as 64-bit keys.
#[derive(Debug)]
pub struct EventQueue {
    epoch: u64,
    keys: CalendarQueue<u64>,
    /// Picoseconds that 128 windows last.
    round: u64,
}

impl EventQueue {
    /// Without events of so many entities. A packet takes about `crossing` over each of so many links, so many events `ahead` are
    /// to be presorted, if there are many, and some may be `wakes` of ports with classes.
    pub fn new((crossing, links): (Time, usize), prefetch_depth: usize, wakes: bool) -> Self {
        let bits = (crossing.0 / parts(links)).max(1).ilog2();
        let keys = CalendarQueue::new(ENTITY_BITS + bits, many(wakes), prefetch_depth);
        Self { epoch: 0, keys, round: WINDOWS << bits }
    }

    /// The next event.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(Time, u32)> {
        event(self.epoch, self.first())
    }

    #[inline(always)]
    fn first(&self) -> u64 {
        self.keys.first()
    }

    /// The event that comes when so many others, and those that were not known yet, have come before it; none if that is not presorted.
    #[inline]
    #[must_use]
    pub fn peek_nth(&self, before: usize) -> Option<(Time, u32)> {
        event(self.epoch, self.keys.peek_nth(before)?)
    }

    /// The place of the next event among all of its time.
    #[must_use]
    pub fn tie_rank(&self) -> u32 {
        let first = self.first();
        if first == u64::NONE { u32::MAX } else { first as u32 & (MAX_ENTITIES as u32 - 1) }
    }

    /// Takes the next event out if it is due before `limit`; call [`Self::finish`] once all that it causes has been pushed. The last
    /// tells whether others are known ahead, and have come one nearer ([`Self::peek_nth`]).
    #[inline(always)]
    pub fn pop_before(&mut self, limit: Time) -> Option<(Time, u32, bool)> {
        let (at, entity) = event(self.epoch, self.keys.first()).filter(|&(at, _)| at < limit)?;
        Some((at, entity, self.keys.pop()))
    }

    /// Nothing more is pushed because of the event that was taken out.
    #[inline(always)]
    pub fn finish(&mut self) {
        self.keys.finish();
    }

    /// Adds an event.
    ///
    /// # Panics
    /// If it lies further ahead than [`HORIZON`].
    #[inline(never)]
    pub fn push(&mut self, at: Time, entity: u32) {
        if at.0 - self.epoch >= SPAN / 2 {
            return self.push_late(at, entity);
        }
        self.add(at, entity);
    }

    #[cold]
    #[inline(never)]
    fn push_late(&mut self, at: Time, entity: u32) {
        self.move_epoch(at);
        self.add(at, entity);
    }

    #[inline(always)]
    fn add(&mut self, at: Time, entity: u32) {
        let key = ((at.0 - self.epoch) << ENTITY_BITS) | u64::from(entity ^ tie_break(at));
        self.keys.push(key);
    }

    /// Moves the epoch up to where nothing can lie before it: no event is further ahead of the present
    /// than the horizon, so the present is at most a horizon before the next event. CalendarQueue keep their places.
    fn move_epoch(&mut self, at: Time) {
        let first = self.first();
        let next = if first == u64::NONE { at } else { Time(self.epoch + (first >> ENTITY_BITS)).min(at) };
        let rounds = (next.saturating_sub(HORIZON).0 - self.epoch) / self.round;
        let shift = rounds * self.round;
        self.epoch += shift;
        assert!(at.0 - self.epoch < SPAN, "an event lies more than {HORIZON} ahead");
        let earlier = |key| key - (shift << ENTITY_BITS);
        self.keys.shift(rounds, earlier);
    }
}

/// When, and whose; none if there is no event.
#[inline(always)]
fn event(epoch: u64, key: u64) -> Option<(Time, u32)> {
    let at = Time(epoch + (key >> ENTITY_BITS));
    (key != u64::NONE).then(|| (at, (key as u32 & (MAX_ENTITIES as u32 - 1)) ^ tie_break(at)))
}

/// What changes the order of entities at this instant: its own inverse, and of any two either is first half the time.
#[inline]
fn tie_break(at: Time) -> u32 {
    // Fibonacci hashing: the upper bits of a product with 2^64 over the golden ratio.
    (at.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ENTITY_BITS)) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use shallows_cc::rng::Rng;

    use super::*;

    #[test]
    fn events_come_out_by_time_and_in_one_order_at_the_same_time() {
        let order = |events: &[(u64, u32)]| {
            let mut queue = EventQueue::new((Time::from_micros(2), 1000), 0, false);
            events.iter().for_each(|&(at, entity)| queue.push(Time(at), entity));
            std::iter::from_fn(|| {
                let (at, entity, _) = queue.pop_before(Time::MAX)?;
                queue.finish();
                Some((at, entity))
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
            let (mut all, mut draws) = (BTreeSet::new(), Rng::new(7, 0));
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
                let next = all.first().map(|&(at, place): &(Time, u32)| (at, place ^ tie_break(at)));
                assert_eq!(queue.peek(), next);
                let peek_nth: Vec<_> = (0..ahead).map_while(|before| queue.peek_nth(before)).collect();
                assert!(
                    peek_nth.iter().all(|&(at, entity)| all.contains(&(at, entity ^ tie_break(at)))),
                    "{peek_nth:?}"
                );
                assert!(peek_nth.is_sorted_by_key(|event| event.0), "{peek_nth:?}");
                known += peek_nth.len();
                in_windows += u32::from(queue.keys.are_many());
                let pops = all.len() >= most && !all.is_empty();
                if pops {
                    now = next.map_or(now, |event| event.0);
                    all.pop_first();
                    queue.pop_before(Time::MAX);
                }
                if !pops || (most > 0 && round % 8 > 0) {
                    all.insert((now + step, round ^ tie_break(now + step)));
                    queue.push(now + step, round);
                }
                if pops {
                    queue.finish();
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
            assert_eq!(queue.pop_before(Time::MAX), Some((step * (round - 1), 4, false)));
            queue.push(step * round, 4);
            queue.finish();
            assert_eq!(queue.pop_before(Time(step.0 * (round - 1) + 1)), None);
            assert_eq!(queue.pop_before(Time::MAX), Some((Time(step.0 * (round - 1) + 1), 9, false)));
            queue.push(Time(step.0 * round + 1), 9);
            queue.finish();
        }
    }
}
