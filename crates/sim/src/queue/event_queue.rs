//! Pending events in a total order of (time, entity).
//!
//! At one instant no entity always comes first: the order of simultaneous events differs from instant to instant. On equal links
//! arrivals fall onto one lattice, and at a full queue the packet that came first by number would win every time: one of ten equal
//! flows took 70 % of the link.
//!
//! An entity is a link, whose first packet arrives; a host, whose NIC becomes idle; or a port with classes, which may send again. A
//! link and a host have at most one event each, so (time, entity) is a key without ties, and the order does not depend on the order
//! of the pushes. A port may push an earlier wake-up; the later one is then stale, and is ignored.

use std::marker::PhantomData;

use shallows_cc::units::Time;

use crate::observe::{FEW_BITS, Observer};
use crate::queue::calendar::{BUCKETS, CalendarQueue};
use crate::queue::heap::Key;
use crate::spec::check::{MANY_DELAY, MAX_DELAY, MAX_ENTITIES};
use crate::spec::network::FEW_ENTITIES;

/// Bits of a key that hold the entity in a network with many entities. The others hold the time since the epoch: up to 1.1 s.
const MANY_BITS: u32 = 24;

/// The range of the bits that hold the time since the epoch, in picoseconds.
const fn span(bits: u32) -> u64 {
    1 << (64 - bits)
}

/// How far in the future an event may lie.
const fn horizon(bits: u32) -> Time {
    Time(span(bits) / 4)
}

// What `Network::check` allows fits.
const _: () = assert!(FEW_ENTITIES <= 1 << FEW_BITS && MAX_DELAY.0 <= horizon(FEW_BITS).0 / 2);
const _: () = assert!(MAX_ENTITIES <= 1 << MANY_BITS && MANY_DELAY.0 <= horizon(MANY_BITS).0 / 2);

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
const fn max_bucket_bits(bits: u32) -> u32 {
    (span(bits) / 2 / BUCKETS).ilog2()
}

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

/// The event queue of a run with the observer `O`.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue<O> {
    /// Time zero of the keys, in picoseconds.
    epoch: u64,
    keys: CalendarQueue<u64>,
    /// The time that all buckets cover, in picoseconds.
    round: u64,
    /// Bits of a key that hold the entity ([`Self::bits`]).
    bits: u32,
    observer: PhantomData<O>,
}

impl<O: Observer> EventQueue<O> {
    /// An empty queue for so many entities. It knows `prefetch_depth` events in advance once there are many. `wakes` tells whether
    /// ports with classes will push wake-ups.
    ///
    /// # Errors
    /// A sentence if the main loop was compiled for fewer entities.
    pub fn new(entities: usize, crossing: Crossing, prefetch_depth: usize, wakes: bool) -> Result<Self, String> {
        let bits = if entities > FEW_ENTITIES { MANY_BITS } else { FEW_BITS };
        if O::PLACE_BITS.is_some_and(|known| known != bits) {
            return Err(format!("expected at most {FEW_ENTITIES} links, hosts and ports with classes, not {entities}"));
        }
        let bucket = (crossing.time.0 / crossing.buckets()).max(1).ilog2().min(max_bucket_bits(bits));
        let keys = CalendarQueue::new(bits + bucket, many(wakes), prefetch_depth);
        Ok(Self { epoch: 0, keys, round: BUCKETS << bucket, bits, observer: PhantomData })
    }

    /// Bits of a key that hold the entity.
    #[inline(always)]
    fn bits(&self) -> u32 {
        O::PLACE_BITS.unwrap_or(self.bits)
    }

    /// How far in the future an event may lie.
    pub(crate) fn horizon(&self) -> Time {
        horizon(self.bits())
    }

    /// Sets whether the caller looks ahead at the known events, so that [`Self::pop_before`] tells when they have come nearer.
    pub(crate) fn set_lookahead(&mut self, lookahead: bool) {
        self.keys.lookahead = lookahead;
    }

    /// The next event.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(Time, u32)> {
        event(self.epoch, self.bits(), self.keys.first())
    }

    /// The event that `before` other known events precede; `None` if it is not known yet.
    #[inline]
    #[must_use]
    pub(crate) fn peek_nth(&self, before: usize) -> Option<(Time, u32)> {
        event(self.epoch, self.bits(), self.keys.peek_nth(before)?)
    }

    /// The rank of the next event among simultaneous ones.
    #[must_use]
    pub fn tie_rank(&self) -> u32 {
        let first = self.keys.first();
        if first == u64::NONE { u32::MAX } else { entity_of(self.bits(), first) }
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
    /// If it lies further in the future than [`Self::horizon`].
    #[inline(never)]
    pub(crate) fn push(&mut self, at: Time, entity: u32) {
        if at.0 - self.epoch >= span(self.bits()) / 2 {
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
        let bits = self.bits();
        self.keys.push(((at.0 - self.epoch) << bits) | u64::from(entity ^ tie_break(at, bits)));
    }

    /// Moves the epoch up to the present minus a horizon at most. No event is further ahead of the present than the horizon, so the
    /// present is at most a horizon before the next event. The epoch moves by whole rounds, so that keys keep their buckets.
    fn move_epoch(&mut self, at: Time) {
        let next = self.peek().map_or(at, |(next, _)| next.min(at));
        let (bits, horizon) = (self.bits(), self.horizon());
        let rounds = (next.saturating_sub(horizon).0 - self.epoch) / self.round;
        let shift = rounds * self.round;
        self.epoch += shift;
        assert!(at.0 - self.epoch < span(bits), "an event lies more than {horizon} in the future");
        self.keys.shift(rounds, |key| key - (shift << bits));
    }
}

/// The time and entity of a key; `None` if it stands for no event.
#[inline(always)]
fn event(epoch: u64, bits: u32, key: u64) -> Option<(Time, u32)> {
    let at = Time(epoch + (key >> bits));
    (key != u64::NONE).then(|| (at, entity_of(bits, key) ^ tie_break(at, bits)))
}

/// The lowest bits of a key.
#[inline(always)]
const fn entity_of(bits: u32, key: u64) -> u32 {
    key as u32 & ((1 << bits) - 1)
}

/// A mask that changes the order of entities at an instant. Applied twice it cancels, and of any two entities either comes first half
/// the time.
#[inline]
fn tie_break(at: Time, bits: u32) -> u32 {
    // Fibonacci hashing: the upper bits of a product with 2^64 over the golden ratio.
    (at.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use shallows_cc::rng::Rng;

    use super::*;
    use crate::observe::OfManyPlaces;

    /// Numbers of entities with 20 and with 24 bits.
    const WIDTHS: [usize; 2] = [FEW_ENTITIES, FEW_ENTITIES + 1];

    /// An empty queue for so many entities, between which a frame takes this time.
    fn queue_of<O: Observer>(entities: usize, time: Time, depth: usize) -> EventQueue<O> {
        let crossing = Crossing { time, links: 1000, frames: 1000 };
        EventQueue::new(entities, crossing, depth, false).expect("not too many entities")
    }

    fn queue(entities: usize) -> EventQueue<OfManyPlaces> {
        queue_of(entities, Time::from_micros(2), 0)
    }

    /// The events in the order in which they come out.
    fn order<O: Observer>(mut queue: EventQueue<O>, events: &[(u64, u32)]) -> Vec<(Time, u32)> {
        events.iter().for_each(|&(at, entity)| queue.push(Time(at), entity));
        let next = || {
            let (at, entity, _) = queue.pop_before(Time::MAX)?;
            queue.finish();
            Some((at, entity))
        };
        std::iter::from_fn(next).collect()
    }

    /// 4.4 s and 0.27 s.
    #[test]
    fn the_horizon_follows_from_the_number_of_entities() {
        assert_eq!(WIDTHS.map(|entities| queue(entities).horizon()), [Time(1 << 42), Time(1 << 38)]);
        let crossing = Crossing { time: Time(1), links: 1, frames: 1 };
        let refused = EventQueue::<()>::new(1_048_577, crossing, 0, false).expect_err("too many entities");
        assert_eq!(refused, "expected at most 1048576 links, hosts and ports with classes, not 1048577");
    }

    #[test]
    fn events_come_out_by_time_and_in_one_order_at_the_same_time() {
        for (entities, last) in WIDTHS.into_iter().zip([(1 << 20) - 1, (1 << 24) - 1]) {
            let events = [(50, 1), (10, 7), (10, last), (90, 0), (20, 2), (10, 5)];
            let forth = order(queue(entities), &events);
            let times: Vec<_> = forth.iter().map(|(at, _)| at.0).collect();
            assert_eq!(times, [10, 10, 10, 20, 50, 90]);
            let mut at_ten: Vec<_> = forth[..3].iter().map(|&(_, entity)| entity).collect();
            at_ten.sort_unstable();
            assert_eq!(at_ten, [5, 7, last]);
            let back: Vec<_> = events.into_iter().rev().collect();
            assert_eq!(order(queue(entities), &back), forth);
        }
    }

    /// 3,000 events of 1,000 entities at 50 instants.
    #[test]
    fn bits_that_the_compiler_knows_give_the_same_order() {
        let mut draws = Rng::new(3, 0);
        let events: BTreeSet<_> = (0..3000).map(|_| (draws.bits() % 50, (draws.bits() % 1000) as u32)).collect();
        let (events, time): (Vec<_>, _) = (events.into_iter().collect(), Time::from_micros(2));
        assert_eq!(order(queue_of::<()>(1000, time, 0), &events), order(queue(1000), &events));
    }

    /// Compares with a sorted set. Most pushes are what a packet's hop causes, some are immediate or far in the future. The number of
    /// events grows to a thousand and shrinks again, and time passes the span of a key.
    #[test]
    fn events_come_out_in_the_order_of_a_sorted_set() {
        for (entities, depth) in WIDTHS.into_iter().flat_map(|entities| [0, 11].map(|depth| (entities, depth))) {
            let mut queue: EventQueue<OfManyPlaces> = queue_of(entities, Time::from_nanos(2200), depth);
            let (bits, farthest) = (queue.bits(), queue.horizon().0 / 5);
            let tie_break = |at: Time| tie_break(at, bits);
            let (mut all, mut draws) = (BTreeSet::new(), Rng::new(7, 0));
            let (mut now, mut in_buckets, mut known) = (Time::ZERO, 0, 0);
            for round in 0..400_000_u32 {
                let most = [3, 1000, 0, 300, 20][round as usize / 20_000 % 5];
                let step = match draws.bits() % 2000 {
                    0 => Time(draws.bits() % farthest),
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
            assert!(now > Time(span(bits)), "expected to pass the span of a key, but it is only {now}");
        }
    }

    /// At multiples of 1.2 us, a full frame at 10 Gbps: the number of heads of 10,000 fair coins is within five standard deviations (of
    /// 50) of its mean.
    #[test]
    fn at_the_same_time_each_of_two_is_first_half_the_time() {
        for (entities, last) in WIDTHS.into_iter().zip([(1 << 20) - 1, (1 << 24) - 1]) {
            for (a, b) in [(0, 1), (3, 40), (511, 512), (0, last)] {
                let first = |frame: u64| {
                    let both = [(frame * 1_200_000, a), (frame * 1_200_000, b)];
                    order(queue(entities), &both)[0].1 == a
                };
                let wins = (100_000..110_000).filter(|&frame| first(frame)).count();
                assert!((4750..=5250).contains(&wins), "{a} before {b}: {wins} of 10000");
            }
        }
    }

    /// Steps of nearly a sixth of the horizon.
    #[test]
    fn time_passes_the_span_of_a_key() {
        for (entities, step) in WIDTHS.into_iter().zip([700, 44].map(Time::from_millis)) {
            let mut queue = queue(entities);
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
}
