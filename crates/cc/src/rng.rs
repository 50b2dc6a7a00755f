//! Pseudorandom numbers from a seed, as part of the state of an algorithm.
//!
//! Source: `SplitMix64`, Steele, Lea and Flood, OOPSLA 2014 (the finaliser is Stafford's mix 13).

/// A stream of random numbers. Streams of different keys are independent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rng {
    state: u64,
    /// The state before the first draw.
    first: u64,
}

impl Rng {
    /// Creates stream `key` of a run with this seed.
    #[must_use]
    pub fn new(seed: u64, key: u64) -> Self {
        Self::at(scramble(seed) ^ scramble(key.wrapping_add(GAMMA)))
    }

    const fn at(state: u64) -> Self {
        Self { state, first: state }
    }

    /// Returns true once a value has been drawn or skipped.
    #[must_use]
    pub const fn has_drawn(&self) -> bool {
        self.state != self.first
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        scramble(self.state)
    }

    /// Skips this many values of 64 bits.
    pub fn skip(&mut self, times: u64) {
        self.state = self.state.wrapping_add(GAMMA.wrapping_mul(times));
    }

    /// Returns the next number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        const ULP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.bits() >> 11) as f64 * ULP
    }
}

/// The golden ratio in 64 bits.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_split_mix_64() {
        // The first outputs for the state 1234567, as published with the algorithm's test vectors.
        let mut draws = Rng::at(1_234_567);
        assert!(!draws.has_drawn());
        assert_eq!(draws.bits(), 6_457_827_717_110_365_317);
        let mut another = Rng::at(1_234_567);
        another.skip(1);
        assert_eq!(another, draws);
        assert!(draws.has_drawn());
        assert_eq!(draws.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn draws_are_uniform() {
        let mut draws = Rng::new(1, 7);
        let values: Vec<_> = (0..10_000).map(|_| draws.uniform()).collect();
        let mean = values.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.01 && values.iter().all(|v| (0.0..1.0).contains(v)), "{mean}");
    }
}
