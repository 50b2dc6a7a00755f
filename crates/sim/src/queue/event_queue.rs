//! Pending events in a total order of (time, entity).
//!
//! At one instant no entity always comes first: the order of simultaneous events differs from instant to instant. On equal links
//! arrivals fall onto one lattice, and at a full queue the packet that came first by number would win every time: one of ten equal
//! flows took 70 % of the link.
//!
//! An entity is a link, whose first packet arrives; a host, whose NIC becomes idle; or a port with classes, which may send again. A
//! link and a host have at most one event each, so (time, entity) is a key without ties, and the order does not depend on the order
//! of the pushes. A port may push an earlier wake-up; the later one is then stale, and is ignored.

use shallows_cc::units::Time;

use crate::queue::calendar::{BUCKETS, CalendarQueue};
use crate::queue::heap::Key;

/// Bits of a key that hold the entity.
const ENTITY_BITS: u32 = 20;

/// The range of the bits that hold the time since the epoch: 17 s of picoseconds.
const SPAN: u64 = 1 << (64 - ENTITY_BITS);

/// The largest number of entities.
pub const MAX_ENTITIES: usize = 1 << ENTITY_BITS;

/// How far in the future an event may lie.
pub(crate) const HORIZON: Time = Time(SPAN / 4);
// What `Network::check` allows fits.
const _: () =
    assert!(crate::spec::check::MAX_ENTITIES <= MAX_ENTITIES && crate::spec::check::MAX_DELAY.0 <= HORIZON.0 / 2);

/// The number of events from which buckets are used; in debug builds, which run the tests, a few. Wake-ups of ports with classes lie
/// close together within a bucket, so buckets pay for more of them only.
const fn many(wakes: bool) -> usize {
    match wakes {
        _ if cfg!(debug_assertions) => 4,
        true => 128,
        false => 24,
    }
}

/// What the events of a domain depend on.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// The typical time of a full frame over a link.
    pub time: Time,
    /// The number of links.
    pub links: usize,
    /// The number of full frames that these links hold in that time.
    pub frames: u64,
}

impl Crossing {
    /// Buckets in the time of a crossing: a bucket should hold few events, but some.
    const fn buckets(self) -> u64 {
        match self {
            Self { links: ..256, .. } => 32,
            Self { frames: ..2048, .. } => 64,
            _ => MAX_BUCKETS,
        }
    }
}

/// The most buckets in the time of a crossing.
const MAX_BUCKETS: u64 = 256;

/// The logarithm of the longest bucket in picoseconds: a round of all buckets takes at most half the span of a key, so that the epoch
/// can move in time.
const MAX_BUCKET_BITS: u32 = (SPAN / 2 / BUCKETS).ilog2();

const _: () = assert!(BUCKETS >= 2 * MAX_BUCKETS, "an event of the next hop falls into a bucket");

/// Time before entity.
impl Key for u64 {
    const NONE: Self = Self::MAX;

    #[inline]
    fn bucket(self, bits: u32) -> u64 {
        self >> bits
    }

    #[inline]
    fn first_of(bucket: u64, bits: u32) -> Self {
        bucket << bits
    }
}

/// The event queue.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// Time zero of the keys, in picoseconds.
    epoch: u64,
    keys: CalendarQueue<u64>,
    /// The time that all buckets cover, in picoseconds.
    round: u64,
}

impl EventQueue {
    /// An empty queue. It knows `prefetch_depth` events in advance once there are many. `wakes` tells whether ports with classes will
    /// push wake-ups.
    pub fn new(crossing: Crossing, prefetch_depth: usize, wakes: bool) -> Self {
        let bits = (crossing.time.0 / crossing.buckets()).max(1).ilog2().min(MAX_BUCKET_BITS);
        let keys = CalendarQueue::new(ENTITY_BITS + bits, many(wakes), prefetch_depth);
        Self { epoch: 0, keys, round: BUCKETS << bits }
    }

    /// Sets whether the caller looks ahead at the known events, so that [`Self::pop_before`] tells when they have come nearer.
    pub(crate) fn set_lookahead(&mut self, lookahead: bool) {
        self.keys.lookahead = lookahead;
    }

    /// The next event.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(Time, u32)> {
        event(self.epoch, self.keys.first())
    }

    /// The event that `before` other known events precede; `None` if it is not known yet.
    #[inline]
    #[must_use]
    pub(crate) fn peek_nth(&self, before: usize) -> Option<(Time, u32)> {
        event(self.epoch, self.keys.peek_nth(before)?)
    }

    /// The rank of the next event among simultaneous ones.
    #[must_use]
    pub fn tie_rank(&self) -> u32 {
        let first = self.keys.first();
        if first == u64::NONE { u32::MAX } else { first as u32 & (MAX_ENTITIES as u32 - 1) }
    }

    /// Pops the next event if it is before `limit`; call [`Self::finish`] once everything that it causes has been pushed. The last
    /// value is true if the events of [`Self::peek_nth`] have come one nearer, and the caller looks ahead.
    #[inline(always)]
    pub(crate) fn pop_before(&mut self, limit: Time) -> Option<(Time, u32, bool)> {
        let (at, entity) = self.peek().filter(|&(at, _)| at < limit)?;
        Some((at, entity, self.keys.pop()))
    }

    /// Ends the handling of the popped event: nothing more is pushed because of it.
    #[inline(always)]
    pub fn finish(&mut self) {
        self.keys.finish();
    }

    /// Adds an event.
    ///
    /// # Panics
    /// If it lies further in the future than [`HORIZON`].
    #[inline(never)]
    pub(crate) fn push(&mut self, at: Time, entity: u32) {
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
        self.keys.push(((at.0 - self.epoch) << ENTITY_BITS) | u64::from(entity ^ tie_break(at)));
    }

    /// Moves the epoch up to the present minus a horizon at most. No event is further ahead of the present than the horizon, so the
    /// present is at most a horizon before the next event. The epoch moves by whole rounds, so that keys keep their buckets.
    fn move_epoch(&mut self, at: Time) {
        let next = self.peek().map_or(at, |(next, _)| next.min(at));
        let rounds = (next.saturating_sub(HORIZON).0 - self.epoch) / self.round;
        let shift = rounds * self.round;
        self.epoch += shift;
        assert!(at.0 - self.epoch < SPAN, "an event lies more than {HORIZON} in the future");
        self.keys.shift(rounds, |key| key - (shift << ENTITY_BITS));
    }
}

/// The time and entity of a key; `None` if it stands for no event.
#[inline(always)]
fn event(epoch: u64, key: u64) -> Option<(Time, u32)> {
    let at = Time(epoch + (key >> ENTITY_BITS));
    (key != u64::NONE).then(|| (at, (key as u32 & (MAX_ENTITIES as u32 - 1)) ^ tie_break(at)))
}

/// A mask that changes the order of entities at an instant. Applied twice it cancels, and of any two entities either comes first half
/// the time.
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

    fn crossing(time: Time) -> Crossing {
        Crossing { time, links: 1000, frames: 1000 }
    }

    #[test]
    fn events_come_out_by_time_and_in_one_order_at_the_same_time() {
        let order = |events: &[(u64, u32)]| {
            let mut queue = EventQueue::new(crossing(Time::from_micros(2)), 0, false);
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

    /// Compares with a sorted set. Most pushes are what a packet's hop causes, some are immediate or far in the future. The number of
    /// events grows to a thousand and shrinks again, and time passes the span of a key.
    #[test]
    fn events_come_out_in_the_order_of_a_sorted_set() {
        for depth in [0, 11] {
            let mut queue = EventQueue::new(crossing(Time::from_nanos(2200)), depth, false);
            let (mut all, mut draws) = (BTreeSet::new(), Rng::new(7, 0));
            let (mut now, mut in_buckets, mut known) = (Time::ZERO, 0, 0);
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
                let ahead: Vec<_> = (0..depth).map_while(|before| queue.peek_nth(before)).collect();
                assert!(ahead.iter().all(|&(at, entity)| all.contains(&(at, entity ^ tie_break(at)))), "{ahead:?}");
                assert!(ahead.is_sorted_by_key(|event| event.0), "{ahead:?}");
                known += ahead.len();
                in_buckets += u32::from(queue.keys.uses_buckets());
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
            assert!(in_buckets > 100_000, "buckets were used in {in_buckets} rounds");
            assert_eq!(known > 1_000_000, depth > 0, "{known} events were known in advance");
            assert!(now > Time(SPAN), "expected to pass the span of a key, but it is only {now}");
        }
    }

    /// At multiples of 1.2 us, a full frame at 10 Gbps: the number of heads of 10,000 fair coins is within five standard deviations (of
    /// 50) of its mean.
    #[test]
    fn at_the_same_time_each_of_two_is_first_half_the_time() {
        for (a, b) in [(0, 1), (3, 40), (511, 512), (0, MAX_ENTITIES as u32 - 1)] {
            let first = |frame: u64| {
                let mut queue = EventQueue::new(crossing(Time::from_micros(2)), 0, false);
                queue.push(Time(frame * 1_200_000), a);
                queue.push(Time(frame * 1_200_000), b);
                queue.peek().map(|next| next.1) == Some(a)
            };
            let wins = (100_000..110_000).filter(|&frame| first(frame)).count();
            assert!((4750..=5250).contains(&wins), "{a} before {b}: {wins} of 10000");
        }
    }

    #[test]
    fn time_passes_the_span_of_a_key() {
        let mut queue = EventQueue::new(crossing(Time::from_micros(2)), 0, false);
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
