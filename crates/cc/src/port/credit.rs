//! Limits credits to the share of a link that leaves room for the data that they call.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | - | `credit` | a credit on the wire: the smallest frame, preamble and gap included |
//! | - | `frame` | the data frame that a credit calls |
//! | - | `burst` | credits that may pass back to back: the depth of the token bucket |
//! | - | `queue` | credits that wait; one more is dropped, which is the signal |
//!
//! Source: Cho, Jang and Han, SIGCOMM 2017: credits take 84 / (84 + 1538) = 5.18 % of every link, "burst size as
//! 2 credits and the queue occupancy as 8 credit packets" (§5).

use crate::parameter::Values;
use crate::units::{Bytes, Rate};

/// Shaping of credits at every egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditShaper {
    /// Length of a credit on the wire; the mean if sizes vary.
    pub credit: Bytes,
    /// A full data frame on the wire.
    pub frame: Bytes,
    /// Credits that may pass back to back.
    pub burst: u32,
    /// Credits that may wait.
    pub queue: u32,
}

impl CreditShaper {
    /// Reads the parameters of an algorithm, for data frames of this length.
    #[must_use]
    pub fn new(values: &Values, frame: Bytes) -> Self {
        Self {
            credit: Bytes(values.get("credit") as u64),
            frame,
            burst: values.get("credit_burst") as u32,
            queue: values.get("credit_queue") as u32,
        }
    }

    /// Returns the rate of credits on a link, in bits of credit a second: while each is answered by a full frame,
    /// credits and data together fill a link of this rate in both directions.
    #[must_use]
    pub fn rate(&self, link: Rate) -> Rate {
        let both = u128::from((self.credit + self.frame).0);
        Rate((u128::from(link.0) * u128::from(self.credit.0) / both) as u64)
    }

    /// Returns the share of a link that data can have.
    #[must_use]
    pub fn data_share(&self) -> f64 {
        self.frame / (self.credit + self.frame)
    }

    /// Returns the depth of the token bucket.
    #[must_use]
    pub fn burst_bytes(&self) -> Bytes {
        self.credit * u64::from(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "burst size as 2 credits and the queue occupancy as 8 credit packets" (§5).
    #[test]
    fn a_shaper_of_the_defaults_is_the_papers() {
        let values = Values::defaults(crate::sender::expresspass::PARAMETERS);
        assert_eq!(CreditShaper::new(&values, Bytes(1538)), SIGCOMM17);
    }

    const SIGCOMM17: CreditShaper = CreditShaper { credit: Bytes(84), frame: Bytes(1538), burst: 2, queue: 8 };

    #[test]
    fn ten_gigabits_carry_64_734_895_bytes_of_credit_a_second() {
        // 1.25e9 B/s * 84 / 1622 = 64 734 895.19 B/s, 770 653.5 credits a second.
        let rate = SIGCOMM17.rate(Rate::from_gbps(10));
        assert_eq!(rate.0 / 8, 64_734_895);
        assert_eq!(rate.0 / 8 / 84, 770_653);
    }

    #[test]
    fn data_may_have_94_82_percent() {
        assert!((SIGCOMM17.data_share() - 0.9482).abs() < 5e-5);
    }

    #[test]
    fn two_credits_may_pass_back_to_back() {
        assert_eq!(SIGCOMM17.burst_bytes(), Bytes(168));
    }
}
