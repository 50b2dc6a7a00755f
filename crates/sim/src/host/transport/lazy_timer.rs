//! Timer for a deadline that moves often.
//!
//! Simulation timers cannot be cancelled, and most deadlines move before they expire. A sender or receiver therefore sets a
//! new simulation timer only if no earlier one is pending, and compares its deadline with the time when that one expires.

use shallows_cc::units::Time;

/// Time of the earliest pending simulation timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LazyTimer {
    next: Time,
}

impl LazyTimer {
    /// No simulation timer is pending.
    pub const DISARMED: Self = Self { next: Time::MAX };

    /// Returns `deadline` if a new simulation timer is needed for it.
    #[inline]
    pub(crate) fn arm(&mut self, deadline: Time) -> Option<Time> {
        let needed = deadline < self.next;
        if needed {
            self.next = deadline;
        }
        needed.then_some(deadline)
    }

    /// Returns the time for one new simulation timer that serves both deadlines, if one of them needs it.
    pub fn arm_first([(first, deadline), (second, other)]: [(&mut Self, Time); 2]) -> Option<Time> {
        match (first.arm(deadline), second.arm(other)) {
            (Some(one), Some(another)) => {
                (first.next, second.next) = (one.min(another), one.min(another));
                Some(first.next)
            }
            (one, another) => one.or(another),
        }
    }

    /// Notes that a simulation timer has expired.
    pub(crate) fn expire(&mut self, now: Time) {
        if self.next <= now {
            self.next = Time::MAX;
        }
    }
}

/// Timeout that doubles with each failure, up to a maximum.
#[derive(Clone, Copy, Debug)]
pub struct Timeout {
    pub initial: Time,
    pub max: Time,
}

impl Timeout {
    /// Returns the timeout after so many failures.
    pub fn after(&self, failures: u32) -> Time {
        Time(self.initial.0.saturating_mul(1 << failures.min(30))).min(self.max)
    }
}

/// Timeout of a flow, and its failures in a row.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    timeout: Timeout,
    failures: u32,
}

impl Backoff {
    pub(crate) const fn new(initial: Time, max: Time) -> Self {
        Self { timeout: Timeout { initial, max }, failures: 0 }
    }

    /// Returns the current timeout.
    pub fn current(&self) -> Time {
        self.timeout.after(self.failures)
    }

    /// Doubles the timeout. Returns true if this is not the first failure in a row.
    pub(crate) fn fail(&mut self) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.failures > 1
    }

    /// Returns the number of failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Restores the initial timeout.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_earlier_deadline_needs_a_new_timer() {
        let ms = Time::from_millis;
        let mut timer = LazyTimer::DISARMED;
        assert_eq!(timer.arm(Time::MAX), None);
        assert_eq!(timer.arm(ms(10)), Some(ms(10)));
        assert_eq!(timer.arm(ms(12)), None);
        assert_eq!(timer.arm(ms(2)), Some(ms(2)));
        timer.expire(ms(2));
        assert_eq!(timer.arm(ms(20)), Some(ms(20)));
        // The timer of 10 ms expires; that of 20 ms is still pending.
        timer.expire(ms(10));
        assert_eq!(timer.arm(ms(20)), None);
    }
}
