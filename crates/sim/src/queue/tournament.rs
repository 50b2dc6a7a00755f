//! The least of keys that have places: the lesser of two neighbours goes a level up, and so on to the top.
//!
//! On a key's way up nothing branches on other keys, which a processor would guess wrong; but the way is as long as the places are
//! many, however few keys there are.

/// So many places at most.
pub const PLACES: usize = 1 << 9;

/// No place.
const NOWHERE: u32 = u32::MAX;

/// At most one key in each place.
#[derive(Debug)]
pub struct Tournament {
    /// The least.
    first: u64,
    /// From where the least has been taken out while nothing else is there.
    vacant: u32,
    /// Puts a key in a place where there are so many levels below the top.
    put: fn(&mut Self, u32, u64),
    /// The top has number 1. Below n are 2 n and 2 n + 1, and below all of them the places.
    keys: Box<[u64; 2 * PLACES]>,
}

impl Tournament {
    /// Stands where there is no key.
    const NONE: u64 = u64::MAX;

    /// Without keys.
    ///
    /// # Panics
    /// If there are to be more than [`PLACES`].
    pub fn new(places: usize) -> Self {
        assert!(places <= PLACES, "{places} places");
        let put = match places.next_power_of_two().ilog2() {
            ..=5 => Self::put_under::<5>,
            6 => Self::put_under::<6>,
            7 => Self::put_under::<7>,
            8 => Self::put_under::<8>,
            _ => Self::put_under::<9>,
        };
        Self { first: Self::NONE, vacant: NOWHERE, put, keys: Box::new([Self::NONE; 2 * PLACES]) }
    }

    /// The least, also while it has been taken out and not closed; [`u64::MAX`] if there is none.
    #[inline(always)]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Takes the least out, which is in this place; call [`Self::close`] once all that it causes has been put in.
    #[inline(always)]
    pub fn take(&mut self, place: u32) {
        self.vacant = place;
    }

    /// Nothing more is put in because of what was taken out.
    #[inline(always)]
    pub fn close(&mut self) {
        if self.vacant != NOWHERE {
            self.put(self.vacant, Self::NONE);
        }
    }

    /// Puts a key in a place, instead of what was there.
    #[inline(always)]
    pub fn put(&mut self, place: u32, key: u64) {
        (self.put)(self, place, key);
    }

    // With levels that the compiler knows, which then repeats nothing and checks no bounds.
    fn put_under<const LEVELS: u32>(&mut self, place: u32, key: u64) {
        if self.vacant == place {
            self.vacant = NOWHERE;
        }
        let places = 1_usize << LEVELS;
        let (mut at, mut first) = (places + (place as usize & (places - 1)), key);
        for _ in 0..LEVELS {
            self.keys[at] = first;
            first = first.min(self.keys[at ^ 1]);
            at /= 2;
        }
        self.first = first;
    }

    /// Changes all keys alike, which leaves them in their order.
    pub fn change(&mut self, to: impl Fn(u64) -> u64) {
        let keys = self.keys.iter_mut().chain([&mut self.first]);
        keys.filter(|key| **key != Self::NONE).for_each(|key| *key = to(*key));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use shallows_cc::rng::Rng;

    use super::*;

    /// Against a sorted map: keys come and go in all places, now and then all of them change.
    #[test]
    fn the_first_is_the_least_of_all_places() {
        for places in [1, 2, 3, 32, 33, 44, 100, 224, 300, PLACES] {
            let (mut keys, mut all, mut draws) = (Tournament::new(places), BTreeMap::new(), Rng::new(3, 0));
            let mut draw = |below: usize| (draws.bits() % below as u64) as u32;
            for round in 0..20_000_u64 {
                let least = all.iter().map(|(&place, &key): (&u32, &u64)| (key, place)).min();
                assert_eq!(keys.first(), least.map_or(u64::MAX, |(key, _)| key), "{places} places, round {round}");
                let taken = least.filter(|_| draw(3) > 0);
                if let Some((_, place)) = taken {
                    keys.take(place);
                    all.remove(&place);
                }
                for _ in 0..draw(4) {
                    // Often to where one was taken out.
                    let place = taken.filter(|_| draw(2) > 0).map_or_else(|| draw(places), |(_, place)| place);
                    let key = (round + u64::from(draw(50))) << 20 | u64::from(place);
                    keys.put(place, key);
                    all.insert(place, key);
                }
                keys.close();
                if draw(100) == 0 {
                    keys.change(|key| key + (1 << 40));
                    all.values_mut().for_each(|key| *key += 1 << 40);
                }
            }
        }
    }
}
