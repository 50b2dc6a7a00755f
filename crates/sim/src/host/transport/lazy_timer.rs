//! The world's timer for a deadline that moves.
//!
//! A timer cannot be taken back, and most deadlines move away before they come. So a half of a flow sets one only if
//! none will run out in time, and looks at its deadline when one does.

use shallows_cc::units::Time;

/// When the next of a half's timers runs out.
#[derive(Clone, Copy, Debug)]
pub struct LazyTimer {
    next: Time,
}

impl LazyTimer {
    /// No timer is set.
    pub const DISARMED: Self = Self { next: Time::MAX };

    /// The time to set a timer to, if none runs out by this deadline.
    #[inline]
    pub fn set(&mut self, deadline: Time) -> Option<Time> {
        let needed = deadline < self.next;
        if needed {
            self.next = deadline;
        }
        needed.then_some(deadline)
    }

    /// A timer ran out.
    pub fn ran_out(&mut self, now: Time) {
        if self.next <= now {
            self.next = Time::MAX;
        }
    }
}

/// How long a half waits for an answer: twice as long after each wait in vain.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    initial: Time,
    max: Time,
    /// Waits in vain since it last heard something.
    in_a_row: u32,
}

impl Backoff {
    pub const fn new(initial: Time, max: Time) -> Self {
        Self { initial, max, in_a_row: 0 }
    }

    /// How long it waits now.
    pub fn current(&self) -> Time {
        Time(self.initial.0.saturating_mul(1 << self.in_a_row.min(30))).min(self.max)
    }

    /// It has waited in vain; whether not for the first time in a row.
    pub fn fail(&mut self) -> bool {
        self.in_a_row += 1;
        self.in_a_row > 1
    }

    /// How often it has in a row.
    pub fn failures(&self) -> u32 {
        self.in_a_row
    }

    /// It has heard something.
    pub fn reset(&mut self) {
        self.in_a_row = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_that_comes_nearer_gets_a_timer_of_its_own() {
        let ms = Time::from_millis;
        let mut timer = LazyTimer::DISARMED;
        assert_eq!(timer.set(Time::MAX), None);
        assert_eq!(timer.set(ms(10)), Some(ms(10)));
        assert_eq!(timer.set(ms(12)), None);
        assert_eq!(timer.set(ms(2)), Some(ms(2)));
        timer.ran_out(ms(2));
        assert_eq!(timer.set(ms(20)), Some(ms(20)));
        // That of 10 ms: the one of 20 ms is still to come.
        timer.ran_out(ms(10));
        assert_eq!(timer.set(ms(20)), None);
    }
}
