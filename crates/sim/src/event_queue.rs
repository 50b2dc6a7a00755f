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

/// A 4-ary heap of 64-bit keys, time before entity.
#[derive(Debug, Default)]
pub struct EventQueue {
    keys: Vec<u64>,
    epoch: u64,
}

impl EventQueue {
    /// The next event.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(Time, u32)> {
        let key = *self.keys.first()?;
        let at = Time(self.epoch + (key >> ENTITY_BITS));
        Some((at, (key as u32 & (MAX_ENTITIES as u32 - 1)) ^ shuffle(at)))
    }

    /// The place of the next event among all of its time.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.keys.first().map_or(u32::MAX, |&key| key as u32 & (MAX_ENTITIES as u32 - 1))
    }

    /// Adds an event.
    ///
    /// # Panics
    /// If it lies further ahead than [`HORIZON`].
    #[inline]
    pub fn push(&mut self, at: Time, entity: u32) {
        let key = self.key(at, entity);
        self.keys.push(key);
        self.sift_up(self.keys.len() - 1, key);
    }

    /// Takes the next event out.
    #[inline]
    pub fn pop(&mut self) {
        if let Some(last) = self.keys.pop()
            && !self.keys.is_empty()
        {
            self.sift_down(last);
        }
    }

    /// Puts another event in the place of the next one.
    #[inline]
    pub fn replace_top(&mut self, at: Time, entity: u32) {
        let key = self.key(at, entity);
        self.sift_down(key);
    }

    #[inline]
    fn key(&mut self, at: Time, entity: u32) -> u64 {
        let mut since = at.0 - self.epoch;
        if since >= SPAN / 2 {
            self.move_epoch(at);
            since = at.0 - self.epoch;
            assert!(since < SPAN, "an event lies more than {HORIZON} ahead");
        }
        (since << ENTITY_BITS) | u64::from(entity ^ shuffle(at))
    }

    /// Moves the epoch up to where nothing can lie before it: no event is further ahead of the present
    /// than the horizon, so the present is at most a horizon before the next event.
    #[cold]
    fn move_epoch(&mut self, at: Time) {
        let next = self.peek().map_or(at, |(next, _)| next.min(at));
        let shift = next.saturating_sub(HORIZON).0 - self.epoch;
        self.epoch += shift;
        for key in &mut self.keys {
            *key -= shift << ENTITY_BITS;
        }
    }

    #[inline]
    fn sift_up(&mut self, mut at: usize, key: u64) {
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[at] = self.keys[parent];
            at = parent;
        }
        self.keys[at] = key;
    }

    #[inline]
    fn sift_down(&mut self, key: u64) {
        let keys = &mut self.keys[..];
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let (child, smallest) = match keys.get(first..first + 4) {
                Some(four) => {
                    let (a, b) = if four[1] < four[0] { (1, four[1]) } else { (0, four[0]) };
                    let (c, d) = if four[3] < four[2] { (3, four[3]) } else { (2, four[2]) };
                    if d < b { (first + c, d) } else { (first + a, b) }
                }
                None => match keys[first.min(keys.len())..].iter().enumerate().min_by_key(|(_, key)| **key) {
                    Some((offset, &smallest)) => (first + offset, smallest),
                    None => break,
                },
            };
            if smallest >= key {
                break;
            }
            keys[at] = smallest;
            at = child;
        }
        keys[at] = key;
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
                queue.pop();
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
            queue.replace_top(step * round, 4);
            assert_eq!(queue.peek(), Some((Time(step.0 * (round - 1) + 1), 9)));
            queue.replace_top(Time(step.0 * round + 1), 9);
        }
    }
}
