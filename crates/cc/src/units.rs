//! Time, sizes and rates as types, so that a gain is never compared with a window.
//!
//! Integers underneath: picoseconds (range 213 days; one byte at 800 Gbps takes 10), bytes, bits per
//! second. Arithmetic that would leave the range panics in debug builds and tests; in release, in this crate's own code, and
//! not where it is inlined into another.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(transparent))]
        pub struct $name(pub u64);

        impl $name {
            /// Nothing of it.
            pub const ZERO: Self = Self(0);
            /// More than any real value: "never", "unlimited".
            pub const MAX: Self = Self(u64::MAX);

            /// The difference, or zero where `other` is larger.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// The quantity times a factor, rounded to the nearest unit.
            ///
            /// # Panics
            /// If the factor is negative or not a number.
            #[must_use]
            pub fn scale(self, factor: f64) -> Self {
                Self::nearest(self.0 as f64 * factor)
            }

            /// So much, rounded to the nearest unit.
            ///
            /// # Panics
            /// If it is negative or not a number.
            #[must_use]
            pub fn nearest(units: f64) -> Self {
                assert!(units >= 0.0, "a quantity is never {units}");
                // Half the range is enough, and a processor converts to that in one step.
                Self((units + 0.5) as i64 as u64)
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, times: u64) -> Self {
                Self(self.0 * times)
            }
        }

        impl Div<u64> for $name {
            type Output = Self;
            fn div(self, parts: u64) -> Self {
                Self(self.0 / parts)
            }
        }

        /// Like over like is a ratio.
        impl Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 as f64 / other.0 as f64
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
                values.fold(Self::ZERO, Add::add)
            }
        }
    };
}

quantity! {
    /// A point in simulated time, or a span of it, in picoseconds.
    Time
}

quantity! {
    /// A size in bytes.
    Bytes
}

/// The smallest frame of Ethernet, and the length of an acknowledgement on the wire.
pub const MIN_FRAME: Bytes = Bytes(64);

quantity! {
    /// A rate in bits per second.
    Rate
}

impl Time {
    /// Whole nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos * 1_000)
    }

    /// Whole microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000_000)
    }

    /// Whole milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000_000)
    }

    /// Whole seconds.
    #[must_use]
    pub const fn from_secs_whole(seconds: u64) -> Self {
        Self(seconds * 1_000_000_000_000)
    }

    /// Seconds, rounded to the nearest picosecond.
    #[must_use]
    pub fn from_secs(seconds: f64) -> Self {
        Self((seconds * 1e12 + 0.5) as u64)
    }

    /// The span in seconds.
    #[must_use]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The span in microseconds.
    #[must_use]
    pub fn as_micros(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Rate {
    /// Whole gigabits per second.
    #[must_use]
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }

    /// The rate in gigabits per second.
    #[must_use]
    pub fn as_gbps(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// How long `size` takes to send, rounded to the nearest picosecond.
    #[must_use]
    pub fn time_to_send(self, size: Bytes) -> Time {
        const PS_BITS: u64 = 8_000_000_000_000;
        // Half the precision divides several times as fast, and is enough for 2 MB.
        let small = size.0.checked_mul(PS_BITS).and_then(|scaled| scaled.checked_add(self.0 / 2));
        let time = small.map(|numerator| numerator / self.0);
        Time(time.unwrap_or_else(|| {
            ((u128::from(size.0) * u128::from(PS_BITS) + u128::from(self.0 / 2)) / u128::from(self.0)) as u64
        }))
    }

    /// How much is sent in `span`, rounded down.
    #[must_use]
    pub fn sent_in(self, span: Time) -> Bytes {
        Bytes((u128::from(self.0) * u128::from(span.0) / 8_000_000_000_000) as u64)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}us", self.as_micros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_at_ten_gigabits_takes_1200_ns() {
        assert_eq!(Rate::from_gbps(10).time_to_send(Bytes(1500)), Time::from_nanos(1200));
    }

    #[test]
    fn one_byte_at_800_gigabits_takes_ten_picoseconds() {
        assert_eq!(Rate::from_gbps(800).time_to_send(Bytes(1)), Time(10));
    }

    #[test]
    fn bandwidth_delay_product_of_200_us_at_ten_gigabits_is_250_kilobytes() {
        assert_eq!(Rate::from_gbps(10).sent_in(Time::from_micros(200)), Bytes(250_000));
    }

    #[test]
    #[should_panic(expected = "subtract with overflow")]
    fn time_below_zero_panics() {
        let _ = Time(1) - Time(2);
    }
}
