//! A heap with four children per node, whose least key is at hand: few comparisons depend on each other.

use std::fmt::Debug;

/// An integer that begins with a time, followed by what orders simultaneous events. All keys are less than [`Self::NONE`].
pub trait Key: Copy + Ord + Debug {
    /// Stands for no key.
    const NONE: Self;
    /// The number of the key's bucket: its upper bits, without the lowest `bits`.
    fn bucket(self, bits: u32) -> u64;
    /// The least key of a bucket.
    fn first_of(bucket: u64, bits: u32) -> Self;
}

/// The heap. Its root is stored apart from the other keys.
#[derive(Clone, Debug)]
pub(crate) struct Heap4<K> {
    root: K,
    /// The four children of the root, then the four children of each of those, and so on.
    nodes: Vec<Node<K>>,
    /// The number of keys besides the root.
    others: usize,
}

/// The children of one key, in any order; unused places hold [`Key::NONE`] and come last.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Node<K>([K; 4]);

impl<K: Key> Node<K> {
    /// The least child and its index.
    #[inline]
    fn least(&self) -> (usize, K) {
        let Self([a, b, c, d]) = *self;
        let (ab, a) = if b < a { (1, b) } else { (0, a) };
        let (cd, c) = if d < c { (3, d) } else { (2, c) };
        if c < a { (cd, c) } else { (ab, a) }
    }
}

impl<K: Key> Default for Heap4<K> {
    fn default() -> Self {
        Self { root: K::NONE, nodes: Vec::new(), others: 0 }
    }
}

impl<K: Key> Heap4<K> {
    /// The least key; [`Key::NONE`] if the heap is empty.
    #[inline(always)]
    pub fn first(&self) -> K {
        self.root
    }

    /// The number of keys besides the least.
    #[inline(always)]
    pub(crate) fn others(&self) -> usize {
        self.others
    }

    /// Adds a key.
    #[inline]
    pub fn push(&mut self, key: K) {
        if self.root == K::NONE {
            self.root = key;
            return;
        }
        if self.others == self.nodes.len() * 4 {
            self.nodes.push(Node([K::NONE; 4]));
        }
        let mut at = self.others;
        self.others += 1;
        while at >= 4 {
            let parent = at / 4 - 1;
            let earlier = self.nodes[parent / 4].0[parent % 4];
            if earlier <= key {
                self.nodes[at / 4].0[at % 4] = key;
                return;
            }
            self.nodes[at / 4].0[at % 4] = earlier;
            at = parent;
        }
        self.nodes[0].0[at] = self.root.max(key);
        self.root = self.root.min(key);
    }

    /// Replaces the least key by another one.
    #[inline]
    pub(crate) fn replace_top(&mut self, key: K) {
        let nodes = &mut self.nodes[..];
        let (mut node, mut child) = match nodes.first().map(Node::least) {
            Some((child, least)) if least < key => {
                self.root = least;
                (0, child)
            }
            _ => {
                self.root = key;
                return;
            }
        };
        loop {
            let below = 4 * node + child + 1;
            match nodes.get(below).map(Node::least) {
                Some((next, least)) if least < key => {
                    nodes[node].0[child % 4] = least;
                    (node, child) = (below, next);
                }
                _ => {
                    nodes[node].0[child % 4] = key;
                    return;
                }
            }
        }
    }

    /// Removes the least key.
    pub fn remove_top(&mut self) {
        if self.others == 0 {
            self.root = K::NONE;
            return;
        }
        self.others -= 1;
        let (node, child) = (self.others / 4, self.others % 4);
        let last = std::mem::replace(&mut self.nodes[node].0[child], K::NONE);
        if child == 0 {
            self.nodes.pop();
        }
        self.replace_top(last);
    }

    /// All keys in no particular order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = K> {
        self.nodes.iter().flat_map(|node| node.0).chain([self.root]).filter(|key| *key != K::NONE)
    }

    /// Removes all keys and returns them in no particular order.
    pub(crate) fn drain(&mut self) -> Vec<K> {
        let keys = self.keys_mut().map(|key| *key).collect();
        *self = Self::default();
        keys
    }

    /// Changes all keys by a function that keeps their order.
    pub fn change(&mut self, to: impl Fn(K) -> K) {
        self.keys_mut().for_each(|key| *key = to(*key));
    }

    fn keys_mut(&mut self) -> impl Iterator<Item = &mut K> {
        self.nodes.iter_mut().flat_map(|node| &mut node.0).chain([&mut self.root]).filter(|key| **key != K::NONE)
    }
}
