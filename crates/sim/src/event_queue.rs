//! What happens next: a heap of (time, entity) with a total order.
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

/// Bits of a key that hold the entity.
const ENTITY_BITS: u32 = 20;
/// Bits that hold the time since the epoch: 17 s of picoseconds.
const SPAN: u64 = 1 << (64 - ENTITY_BITS);
/// How many entities there can be.
pub const MAX_ENTITIES: usize = 1 << ENTITY_BITS;
/// How far ahead of the present an event may lie.
pub const HORIZON: Time = Time(SPAN / 4);

/// How many levels below the first event tell what rises to them.
pub const LEVELS: usize = 4;

/// What stands where there is no event.
const NONE: u64 = u64::MAX;

/// A 4-ary heap of 64-bit keys, time before entity.
#[derive(Debug)]
pub struct EventQueue {
    /// The next event.
    first: u64,
    /// The four below the first, then the four below each of those in turn, and so on.
    fours: Vec<Four>,
    /// How many events there are besides the first.
    others: usize,
    /// Whether the first has been taken out, and its place waits for another.
    vacant: bool,
    epoch: u64,
    /// Whether it is noted what rises.
    foresees: bool,
    /// By level below the first: the event that has just risen there.
    risen: [u64; LEVELS],
}

/// Events below the same one; in any order, those that are not there last.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Four([u64; 4]);

impl Four {
    /// The first of them, and which that is.
    #[inline]
    fn first(&self) -> (usize, u64) {
        let Self([a, b, c, d]) = *self;
        let (ab, a) = if b < a { (1, b) } else { (0, a) };
        let (cd, c) = if d < c { (3, d) } else { (2, c) };
        if c < a { (cd, c) } else { (ab, a) }
    }
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            first: NONE,
            fours: Vec::new(),
            others: 0,
            vacant: false,
            epoch: 0,
            foresees: false,
            risen: [NONE; LEVELS],
        }
    }
}

impl EventQueue {
    /// The next event.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(Time, u32)> {
        debug_assert!(!self.vacant, "the next event has been taken out");
        self.event(self.first)
    }

    /// When, and whose; none if there is no event.
    #[inline]
    fn event(&self, key: u64) -> Option<(Time, u32)> {
        let at = Time(self.epoch + (key >> ENTITY_BITS));
        (key != NONE).then(|| (at, (key as u32 & (MAX_ENTITIES as u32 - 1)) ^ shuffle(at)))
    }

    /// From now on it notes what rises towards the first.
    pub fn foresee(&mut self) {
        self.foresees = true;
    }

    /// Whether it does.
    #[inline]
    #[must_use]
    pub fn foresees(&self) -> bool {
        self.foresees
    }

    /// By level below the first: the event that has just risen there, in the place of one that rose further. On average it comes
    /// after as many others as there are places above it: 4, 20, 84, 340.
    #[inline]
    #[must_use]
    pub fn risen(&self) -> [Option<(Time, u32)>; LEVELS] {
        self.risen.map(|key| self.event(key))
    }

    /// The place of the next event among all of its time.
    #[must_use]
    pub fn rank(&self) -> u32 {
        if self.first == NONE { u32::MAX } else { self.first as u32 & (MAX_ENTITIES as u32 - 1) }
    }

    /// Takes the next event out. Its place is for the first that is pushed; else call [`Self::close`].
    #[inline]
    pub fn take(&mut self) {
        self.vacant = true;
    }

    /// Nothing more is pushed because of the event that was taken out.
    #[inline]
    pub fn close(&mut self) {
        if self.vacant {
            self.fill();
        }
    }

    /// Adds an event.
    ///
    /// # Panics
    /// If it lies further ahead than [`HORIZON`].
    #[inline]
    pub fn push(&mut self, at: Time, entity: u32) {
        let key = self.key(at, entity);
        if self.vacant { self.settle(key) } else { self.add(key) }
    }

    #[inline]
    fn key(&mut self, at: Time, entity: u32) -> u64 {
        if at.0 - self.epoch >= SPAN / 2 {
            self.move_epoch(at);
        }
        ((at.0 - self.epoch) << ENTITY_BITS) | u64::from(entity ^ shuffle(at))
    }

    /// Moves the epoch up to where nothing can lie before it: no event is further ahead of the present
    /// than the horizon, so the present is at most a horizon before the next event.
    #[cold]
    #[inline(never)]
    fn move_epoch(&mut self, at: Time) {
        let next = if self.first == NONE { at } else { Time(self.epoch + (self.first >> ENTITY_BITS)).min(at) };
        let shift = next.saturating_sub(HORIZON).0 - self.epoch;
        self.epoch += shift;
        assert!(at.0 - self.epoch < SPAN, "an event lies more than {HORIZON} ahead");
        for key in self.fours.iter_mut().flat_map(|four| &mut four.0).chain([&mut self.first]) {
            if *key != NONE {
                *key -= shift << ENTITY_BITS;
            }
        }
    }

    /// Adds an event where all places are taken.
    #[inline(never)]
    fn add(&mut self, key: u64) {
        if self.first == NONE {
            self.first = key;
            return;
        }
        if self.others == self.fours.len() * 4 {
            self.fours.push(Four([NONE; 4]));
        }
        let mut at = self.others;
        self.others += 1;
        while at >= 4 {
            let above = at / 4 - 1;
            let earlier = self.fours[above / 4].0[above % 4];
            if earlier <= key {
                self.fours[at / 4].0[at % 4] = key;
                return;
            }
            self.fours[at / 4].0[at % 4] = earlier;
            at = above;
        }
        self.fours[0].0[at] = self.first.max(key);
        self.first = self.first.min(key);
    }

    /// The last event of all takes the place of the one that was taken out.
    fn fill(&mut self) {
        if self.others == 0 {
            (self.first, self.vacant) = (NONE, false);
            return;
        }
        self.others -= 1;
        let (four, place) = (self.others / 4, self.others % 4);
        let last = std::mem::replace(&mut self.fours[four].0[place], NONE);
        if place == 0 {
            self.fours.pop();
        }
        self.settle(last);
    }

    #[inline]
    fn settle(&mut self, key: u64) {
        if self.foresees { self.settle_foreseeing(key) } else { self.sift_down::<false>(key) }
    }

    #[inline(never)]
    fn settle_foreseeing(&mut self, key: u64) {
        self.sift_down::<true>(key);
    }

    /// Puts an event in the place of the one that was taken out, or, where others go before it, below those.
    fn sift_down<const FORESEES: bool>(&mut self, key: u64) {
        self.vacant = false;
        if FORESEES {
            self.risen = [NONE; LEVELS];
        }
        let fours = &mut self.fours[..];
        let (mut at, mut place) = match fours.first().map(Four::first) {
            Some((place, first)) if first < key => {
                self.first = first;
                (0, place)
            }
            _ => {
                self.first = key;
                return;
            }
        };
        let mut levels = self.risen.iter_mut();
        loop {
            let below = 4 * at + place + 1;
            match fours.get(below).map(Four::first) {
                Some((next, first)) if first < key => {
                    if FORESEES && let Some(risen) = levels.next() {
                        *risen = first;
                    }
                    fours[at].0[place % 4] = first;
                    (at, place) = (below, next);
                }
                _ => {
                    fours[at].0[place % 4] = key;
                    return;
                }
            }
        }
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
    use super::*;

    #[test]
    fn events_come_out_by_time_and_in_one_order_at_the_same_time() {
        let order = |events: &[(u64, u32)]| {
            let mut queue = EventQueue::default();
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

    /// A thousand events, a microsecond apart: all that rise are still to come, the further up the sooner.
    #[test]
    fn what_rises_is_still_to_come() {
        let mut queue = EventQueue::default();
        queue.foresee();
        (0..1000).for_each(|at| queue.push(Time::from_micros(at * 7 % 1000), at as u32));
        let mut rose = 0;
        for round in 0..300 {
            assert_eq!(queue.peek().map(|next| next.0), Some(Time::from_micros(round)));
            queue.take();
            queue.close();
            let times: Vec<_> = queue.risen().iter().flatten().map(|event| event.0).collect();
            assert!(times.is_sorted() && times.iter().all(|&at| at > Time::from_micros(round)), "{times:?}, {round}");
            rose += times.len();
        }
        assert!(rose > 2 * 300, "{rose} of four levels in 300 rounds");
    }

    /// On a lattice of 1.2 us, a full frame at 10 Gbps: 10,000 fair coins stay within 5 deviations of 50 of their mean.
    #[test]
    fn at_the_same_time_each_of_two_is_first_half_the_time() {
        for (a, b) in [(0, 1), (3, 40), (511, 512), (0, MAX_ENTITIES as u32 - 1)] {
            let first = |frame: u64| {
                let mut queue = EventQueue::default();
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
        let mut queue = EventQueue::default();
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
