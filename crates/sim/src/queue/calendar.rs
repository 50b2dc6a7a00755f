//! Numbers that come out in order, the least first: what happens next, and which timer runs out next.
//!
//! Few wait in a heap. Many are parted by time into windows, so that nearly all that is caused lies in a later window. There it is
//! only noted. A window is sorted as a whole shortly before its time comes, which costs each much less than its way through a large
//! heap, and tells what comes next. What comes late, into a window that is sorted, or lies far ahead waits in the heap.

use std::fmt::Debug;

use crate::queue::heap::Heap;

/// A number that begins with a time, all less than [`Self::NONE`].
pub trait Key: Copy + Ord + Debug {
    /// What those wait in that are in no window.
    type Heap: Heap<Self> + Debug;
    /// Stands where there is none.
    const NONE: Self;
    /// The number of its window: itself, or its time, without so many bits.
    fn window(self, bits: u32) -> u64;
    /// The least key of a window.
    fn first_of(window: u64, bits: u32) -> Self;
}

/// Up to so many keys are sorted by [`sort`] itself; libraries take other ways from there on.
const FEW: usize = 20;
/// CalendarQueue that are at hand.
pub const WINDOWS: u64 = 128;

/// Keys, in a heap and in windows.
#[derive(Debug)]
pub struct CalendarQueue<K: Key> {
    /// What does not wait in a window.
    heap: K::Heap,
    /// Whether the least of that has been taken out, and its place waits for another: what is caused by it is often due soon, and
    /// does not go far down from there.
    hole: bool,
    /// The first window that is not sorted.
    soonest: u64,
    /// Its first key; [`Key::NONE`] while all wait in the heap.
    from: K,
    /// A key without so many bits is the number of its window ([`Key::window`]).
    bits: u32,
    /// CalendarQueue by their number, round and round: what is in them, in no order.
    windows: Box<[Vec<K>; WINDOWS as usize]>,
    /// What was in the last windows as they were sorted, then [`Key::NONE`].
    sorted: Vec<K>,
    /// How many of those are behind.
    at: usize,
    /// The next of those.
    next: K,
    /// With how many behind the next window is sorted.
    enough: usize,
    /// How many are to be known ahead.
    prefetch_depth: usize,
    /// From how many in the heap on they are parted at the earliest, and now.
    least: usize,
    many: usize,
}

impl<K: Key> CalendarQueue<K> {
    /// Without keys. From so `many` on they are parted into windows, whose number has so many bits less, so that so many `ahead`
    /// are known.
    pub fn new(bits: u32, many: usize, prefetch_depth: usize) -> Self {
        Self {
            heap: K::Heap::default(),
            hole: false,
            soonest: 0,
            from: K::NONE,
            bits,
            windows: Box::new(std::array::from_fn(|_| Vec::new())),
            sorted: vec![K::NONE],
            at: 0,
            next: K::NONE,
            enough: 0,
            prefetch_depth,
            least: many,
            many,
        }
    }

    /// The least, also while it has been taken out of the heap and not closed; [`Key::NONE`] if there is none.
    #[inline(always)]
    pub fn first(&self) -> K {
        self.heap.first().min(self.next)
    }

    /// The one before which so many others come, and those that were not known yet; none if that is not known.
    #[inline]
    pub fn peek_nth(&self, before: usize) -> Option<K> {
        self.sorted.get(self.at + before).copied()
    }

    /// Takes the first out; call [`Self::finish`] once all that it causes has been pushed. Whether others are known ahead, and have
    /// come one nearer ([`Self::peek_nth`]).
    #[inline(always)]
    pub fn pop(&mut self) -> bool {
        if self.next >= self.heap.first() {
            self.hole = true;
            return false;
        }
        self.at += 1;
        self.next = self.sorted[self.at];
        if self.at >= self.enough {
            self.open_bucket();
        }
        self.prefetch_depth > 0
    }

    /// Nothing more is pushed because of what was taken out.
    #[inline(always)]
    pub fn finish(&mut self) {
        if self.hole {
            self.hole = false;
            self.heap.remove_first();
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
            self.add(key);
        }
    }

    /// Adds what is not for the present, while there are windows: to one of them, or to the heap if it lies behind all.
    #[inline(never)]
    fn insert(&mut self, key: K) {
        let number = key.window(self.bits);
        if number - self.soonest < WINDOWS {
            self.windows[(number % WINDOWS) as usize].push(key);
        } else if self.hole {
            self.replace_top(key);
        } else {
            self.heap.add(key);
        }
    }

    /// Puts a key in the hole place.
    #[inline(never)]
    fn replace_top(&mut self, key: K) {
        self.hole = false;
        self.heap.replace_top(key);
    }

    /// Adds a key to the heap, which is parted if there are many now.
    #[inline(never)]
    fn add(&mut self, key: K) {
        self.heap.add(key);
        if self.from == K::NONE && self.next == K::NONE && self.heap.others() >= self.many {
            self.spill();
        }
    }

    /// Parts what waits in the heap into windows.
    #[cold]
    fn spill(&mut self) {
        self.soonest = self.heap.first().window(self.bits);
        self.heap.drain().into_iter().for_each(|key| self.insert(key));
        self.open_bucket();
    }

    /// Sorts the next window in which there is anything.
    #[inline(never)]
    fn open_bucket(&mut self) {
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
            self.from = K::first_of(self.soonest, self.bits);
            self.enough = self.sorted.len().saturating_sub(self.prefetch_depth).max(1);
        } else if self.sorted.is_empty() {
            self.from = K::NONE;
            // What lies behind all windows is not to be parted again and again.
            self.many = self.least.max(2 * self.heap.others());
        } else {
            self.enough = self.sorted.len();
        }
        self.sorted.push(K::NONE);
        self.next = self.sorted[0];
    }

    /// Makes all times `earlier`, by so many rounds of all windows: none changes its place.
    pub fn shift(&mut self, rounds: u64, earlier: impl Fn(K) -> K) {
        let windows =
            self.windows.iter_mut().flatten().chain(&mut self.sorted[self.at..]).filter(|key| **key != K::NONE);
        windows.for_each(|key| *key = earlier(*key));
        self.heap.change(&earlier);
        self.next = self.sorted[self.at];
        if self.from != K::NONE {
            self.soonest -= rounds * WINDOWS;
            self.from = earlier(self.from);
        }
    }

    /// Whether there are windows.
    #[cfg(test)]
    pub fn are_many(&self) -> bool {
        self.from < K::NONE
    }
}

/// Puts keys in order. Few are led past each other without a branch that hangs on them, which a processor would guess wrong
/// every other time.
fn sort<K: Key>(keys: &mut [K]) {
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
