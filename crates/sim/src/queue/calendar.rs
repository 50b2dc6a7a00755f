//! A calendar queue: keys in increasing order, for pending events and timers.
//!
//! A few keys wait in a heap. Many are divided by time into buckets, and nearly everything that an event causes falls into a later
//! bucket, where it is only appended. A bucket is sorted as a whole shortly before its time comes, which costs less per key than the
//! way through a large heap, and shows the next events in advance. Keys that fall into a bucket that is already sorted, or that lie
//! beyond the last bucket, wait in the heap.

use crate::queue::heap::{Heap4, Key};

/// Keys up to which [`sort`] does not call the library, which uses other algorithms for so few.
const SMALL: usize = 20;

/// The number of buckets.
pub(crate) const BUCKETS: u64 = 512;

/// The queue: a heap, a ring of buckets, and the sorted keys of the current buckets.
#[derive(Clone, Debug)]
pub struct CalendarQueue<K: Key> {
    /// Keys that are in no bucket.
    heap: Heap4<K>,
    /// Whether the top of the heap was popped and left as a hole. The next push fills it, which saves a sift: what an event causes is
    /// often due soon.
    hole: bool,
    /// The number of the first bucket that is not sorted.
    next_bucket: u64,
    /// The first key of that bucket; [`Key::NONE`] while there are no buckets and all keys are in the heap.
    from: K,
    /// Lower bits that a key loses to become the number of its bucket.
    bits: u32,
    /// Unsorted keys, by bucket number modulo [`BUCKETS`].
    buckets: Box<[Vec<K>; BUCKETS as usize]>,
    /// Keys of the last buckets in order, then [`Key::NONE`].
    sorted: Vec<K>,
    /// The number of sorted keys that have been popped.
    at: usize,
    /// The next sorted key.
    next: K,
    /// The value of `at` from which the next bucket is sorted.
    refill_at: usize,
    /// The number of keys that should be known in advance.
    prefetch_depth: usize,
    /// Whether the caller looks ahead at the known keys, so that [`Self::pop`] tells when they have come nearer.
    pub lookahead: bool,
    /// The number of keys in the heap from which they are divided into buckets: at least, and now.
    least_many: usize,
    many: usize,
}

impl<K: Key> CalendarQueue<K> {
    /// An empty queue that uses buckets from `many` keys on and knows `prefetch_depth` keys in advance. The number of a bucket is a
    /// key without its lowest `bits`.
    pub(crate) fn new(bits: u32, many: usize, prefetch_depth: usize) -> Self {
        Self {
            heap: Heap4::default(),
            hole: false,
            next_bucket: 0,
            from: K::NONE,
            bits,
            buckets: Box::new(std::array::from_fn(|_| Vec::new())),
            sorted: vec![K::NONE],
            at: 0,
            next: K::NONE,
            refill_at: 0,
            prefetch_depth,
            lookahead: prefetch_depth > 0,
            least_many: many,
            many,
        }
    }

    /// All keys in no particular order, while none is popped.
    pub(crate) fn keys(&self) -> impl Iterator<Item = K> {
        let others = self.buckets.iter().flatten().chain(&self.sorted[self.at..]).copied();
        self.heap.keys().chain(others.filter(|key| *key != K::NONE))
    }

    /// The least key, also after it was popped from the heap and before [`Self::finish`]; [`Key::NONE`] if the queue is empty.
    #[inline(always)]
    pub fn first(&self) -> K {
        self.heap.first().min(self.next)
    }

    /// The key that `before` other known keys precede; `None` if it is not known yet.
    #[inline]
    pub(crate) fn peek_nth(&self, before: usize) -> Option<K> {
        self.sorted.get(self.at + before).copied()
    }

    /// Pops the least key; call [`Self::finish`] once everything that it causes has been pushed. True if the keys of
    /// [`Self::peek_nth`] have come one nearer, and the caller looks ahead.
    #[inline(always)]
    pub fn pop(&mut self) -> bool {
        if self.next >= self.heap.first() {
            self.hole = true;
            return false;
        }
        self.at += 1;
        self.next = self.sorted[self.at];
        if self.at >= self.refill_at {
            self.open_bucket();
        }
        self.lookahead
    }

    /// Ends the handling of the popped key: nothing more is pushed because of it.
    #[inline(always)]
    pub(crate) fn finish(&mut self) {
        if self.hole {
            self.hole = false;
            self.heap.remove_top();
        }
    }

    /// Adds a key.
    #[inline]
    pub fn push(&mut self, key: K) {
        if key >= self.from {
            self.insert(key);
        } else if self.hole {
            self.replace_top(key);
        } else {
            self.push_to_heap(key);
        }
    }

    /// Adds a key that is later than the sorted buckets: to its bucket, or to the heap if it lies beyond the last one.
    #[inline(never)]
    fn insert(&mut self, key: K) {
        let number = key.bucket(self.bits);
        if number - self.next_bucket < BUCKETS {
            self.buckets[(number % BUCKETS) as usize].push(key);
        } else if self.hole {
            self.replace_top(key);
        } else {
            self.heap.push(key);
        }
    }

    #[inline(never)]
    fn replace_top(&mut self, key: K) {
        self.hole = false;
        self.heap.replace_top(key);
    }

    #[inline(never)]
    fn push_to_heap(&mut self, key: K) {
        self.heap.push(key);
        if self.from == K::NONE && self.next == K::NONE && self.heap.others() >= self.many {
            self.spill();
        }
    }

    /// Divides the keys of the heap into buckets.
    #[cold]
    fn spill(&mut self) {
        self.next_bucket = self.heap.first().bucket(self.bits);
        self.heap.drain().into_iter().for_each(|key| self.insert(key));
        self.open_bucket();
    }

    /// Sorts the next bucket that is not empty.
    #[inline(never)]
    fn open_bucket(&mut self) {
        let mut numbers = self.next_bucket..self.next_bucket + BUCKETS;
        let next = numbers.find(|number| !self.buckets[(number % BUCKETS) as usize].is_empty());
        let left = self.sorted.len() - 1 - self.at;
        if left == 0 {
            self.sorted.clear();
        } else {
            self.sorted.pop();
            self.sorted.drain(..self.at);
        }
        self.at = 0;
        if let Some(number) = next {
            let bucket = &mut self.buckets[(number % BUCKETS) as usize];
            if left == 0 {
                // Swapping the vectors copies nothing.
                std::mem::swap(&mut self.sorted, bucket);
            } else {
                self.sorted.append(bucket);
            }
            sort(&mut self.sorted[left..]);
            self.next_bucket = number + 1;
            self.from = K::first_of(self.next_bucket, self.bits);
            self.refill_at = self.sorted.len().saturating_sub(self.prefetch_depth).max(1);
        } else if self.sorted.is_empty() {
            self.from = K::NONE;
            // Keys beyond the last bucket must not be divided again and again.
            self.many = self.least_many.max(2 * self.heap.others());
        } else {
            self.refill_at = self.sorted.len();
        }
        self.sorted.push(K::NONE);
        self.next = self.sorted[0];
    }

    /// Makes all keys `earlier` by a number of rounds of all buckets, so that each key keeps its place.
    pub(crate) fn shift(&mut self, rounds: u64, earlier: impl Fn(K) -> K) {
        let keys = self.buckets.iter_mut().flatten().chain(&mut self.sorted[self.at..]);
        keys.filter(|key| **key != K::NONE).for_each(|key| *key = earlier(*key));
        self.heap.change(&earlier);
        self.next = self.sorted[self.at];
        if self.from != K::NONE {
            self.next_bucket -= rounds * BUCKETS;
            self.from = earlier(self.from);
        }
    }

    /// Whether keys are divided into buckets now.
    #[cfg(test)]
    pub fn uses_buckets(&self) -> bool {
        self.from < K::NONE
    }
}

/// Sorts keys. A few are sorted by insertion with minima and maxima: comparing and branching instead would be mispredicted every other
/// time.
fn sort<K: Key>(keys: &mut [K]) {
    if keys.len() > SMALL {
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
