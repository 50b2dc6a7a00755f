//! Heaps whose least key is at hand: what keys wait in that are in no window ([`crate::queue::calendar`]).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::queue::calendar::Key;

/// Keys, all less than [`Key::NONE`].
pub trait Heap<K>: Default {
    /// The least; [`Key::NONE`] if there is none.
    fn first(&self) -> K;
    /// How many there are besides the least.
    fn others(&self) -> usize;
    /// Adds a key.
    fn add(&mut self, key: K);
    /// Puts a key in the place of the least, or, where others go before it, below those.
    fn replace_top(&mut self, key: K);
    /// Takes the least out.
    fn remove_first(&mut self);
    /// Takes all out, in no order.
    fn drain(&mut self) -> Vec<K>;
    /// Changes all of them alike, which leaves them in their order.
    fn change(&mut self, to: impl Fn(K) -> K);
}

/// Node below each: few comparisons one after the other, for keys that take one instruction to compare.
#[derive(Debug)]
pub struct Heap4<K> {
    /// The least.
    first: K,
    /// The four below the first, then the four below each of those in turn, and so on.
    nodes: Vec<Node<K>>,
    /// How many there are besides the first.
    others: usize,
}

/// Keys below the same one; in any order, those that are not there last.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Node<K>([K; 4]);

impl<K: Key> Node<K> {
    /// The first of them, and which that is.
    #[inline]
    fn first(&self) -> (usize, K) {
        let Self([a, b, c, d]) = *self;
        let (ab, a) = if b < a { (1, b) } else { (0, a) };
        let (cd, c) = if d < c { (3, d) } else { (2, c) };
        if c < a { (cd, c) } else { (ab, a) }
    }
}

impl<K: Key> Default for Heap4<K> {
    fn default() -> Self {
        Self { first: K::NONE, nodes: Vec::new(), others: 0 }
    }
}

impl<K: Key> Heap<K> for Heap4<K> {
    #[inline(always)]
    fn first(&self) -> K {
        self.first
    }

    #[inline(always)]
    fn others(&self) -> usize {
        self.others
    }

    #[inline]
    fn add(&mut self, key: K) {
        if self.first == K::NONE {
            self.first = key;
            return;
        }
        if self.others == self.nodes.len() * 4 {
            self.nodes.push(Node([K::NONE; 4]));
        }
        let mut at = self.others;
        self.others += 1;
        while at >= 4 {
            let above = at / 4 - 1;
            let earlier = self.nodes[above / 4].0[above % 4];
            if earlier <= key {
                self.nodes[at / 4].0[at % 4] = key;
                return;
            }
            self.nodes[at / 4].0[at % 4] = earlier;
            at = above;
        }
        self.nodes[0].0[at] = self.first.max(key);
        self.first = self.first.min(key);
    }

    #[inline]
    fn replace_top(&mut self, key: K) {
        let nodes = &mut self.nodes[..];
        let (mut at, mut place) = match nodes.first().map(Node::first) {
            Some((place, first)) if first < key => {
                self.first = first;
                (0, place)
            }
            _ => {
                self.first = key;
                return;
            }
        };
        loop {
            let below = 4 * at + place + 1;
            match nodes.get(below).map(Node::first) {
                Some((next, first)) if first < key => {
                    nodes[at].0[place % 4] = first;
                    (at, place) = (below, next);
                }
                _ => {
                    nodes[at].0[place % 4] = key;
                    return;
                }
            }
        }
    }

    fn drain(&mut self) -> Vec<K> {
        let keys = self.keys_mut().map(|key| *key).collect();
        *self = Self::default();
        keys
    }

    fn remove_first(&mut self) {
        if self.others == 0 {
            self.first = K::NONE;
            return;
        }
        self.others -= 1;
        let (four, place) = (self.others / 4, self.others % 4);
        let last = std::mem::replace(&mut self.nodes[four].0[place], K::NONE);
        if place == 0 {
            self.nodes.pop();
        }
        // The last of all takes its place.
        self.replace_top(last);
    }

    fn change(&mut self, to: impl Fn(K) -> K) {
        self.keys_mut().for_each(|key| *key = to(*key));
    }
}

impl<K: Key> Heap4<K> {
    /// All of them.
    fn keys_mut(&mut self) -> impl Iterator<Item = &mut K> {
        self.nodes.iter_mut().flat_map(|four| &mut four.0).chain([&mut self.first]).filter(|key| **key != K::NONE)
    }
}

/// Two below each, for keys that take longer to compare.
#[derive(Debug)]
pub struct Binary<K: Ord> {
    heap: BinaryHeap<Reverse<K>>,
    first: K,
}

impl<K: Key> Default for Binary<K> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), first: K::NONE }
    }
}

impl<K: Key> Binary<K> {
    fn look(&mut self) {
        self.first = self.heap.peek().map_or(K::NONE, |&Reverse(first)| first);
    }
}

impl<K: Key> Heap<K> for Binary<K> {
    #[inline(always)]
    fn first(&self) -> K {
        self.first
    }

    #[inline(always)]
    fn others(&self) -> usize {
        self.heap.len().saturating_sub(1)
    }

    fn add(&mut self, key: K) {
        self.heap.push(Reverse(key));
        self.first = self.first.min(key);
    }

    fn replace_top(&mut self, key: K) {
        if let Some(mut first) = self.heap.peek_mut() {
            *first = Reverse(key);
        }
        self.look();
    }

    fn remove_first(&mut self) {
        self.heap.pop();
        self.look();
    }

    fn drain(&mut self) -> Vec<K> {
        std::mem::take(self).heap.into_iter().map(|Reverse(key)| key).collect()
    }

    fn change(&mut self, to: impl Fn(K) -> K) {
        self.heap = self.drain().into_iter().map(|key| Reverse(to(key))).collect();
        self.look();
    }
}
