//! A 4-ary heap of 64-bit keys, the least of which is at hand.

/// What stands where there is no key.
pub const NONE: u64 = u64::MAX;

/// Keys, all less than [`NONE`].
#[derive(Debug)]
pub struct Heap {
    /// The least.
    first: u64,
    /// The four below the first, then the four below each of those in turn, and so on.
    fours: Vec<Four>,
    /// How many there are besides the first.
    others: usize,
    /// Whether the first has been taken out, and its place waits for another.
    vacant: bool,
}

/// Keys below the same one; in any order, those that are not there last.
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

impl Default for Heap {
    fn default() -> Self {
        Self { first: NONE, fours: Vec::new(), others: 0, vacant: false }
    }
}

impl Heap {
    /// The least; [`NONE`] if there is none.
    #[inline]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// How many there are besides the least.
    #[inline]
    pub fn others(&self) -> usize {
        self.others
    }

    /// Whether the least has been taken out: then the next key is for [`Self::settle`].
    #[inline]
    pub fn is_vacant(&self) -> bool {
        self.vacant
    }

    /// Takes the least out. Its place is for the next key; if there is none, call [`Self::close`].
    #[inline]
    pub fn take(&mut self) {
        self.vacant = true;
    }

    /// No key is for the place of the one that was taken out.
    #[inline]
    pub fn close(&mut self) {
        if self.vacant {
            self.fill();
        }
    }

    /// Takes all out, in no order.
    pub fn drain(&mut self) -> Vec<u64> {
        let keys = self.keys_mut().map(|key| *key).collect();
        *self = Self::default();
        keys
    }

    /// All of them, to be changed alike.
    pub fn keys_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        self.fours.iter_mut().flat_map(|four| &mut four.0).chain([&mut self.first]).filter(|key| **key != NONE)
    }

    /// Adds a key where all places are taken.
    #[inline]
    pub fn add(&mut self, key: u64) {
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

    /// The last of all takes the place of the one that was taken out.
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

    /// Puts a key in the place of the one that was taken out, or, where others go before it, below those.
    #[inline]
    pub fn settle(&mut self, key: u64) {
        self.vacant = false;
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
        loop {
            let below = 4 * at + place + 1;
            match fours.get(below).map(Four::first) {
                Some((next, first)) if first < key => {
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
