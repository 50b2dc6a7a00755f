//! Congestion notifications of a RoCE receiver, which are sent with the data that causes them or when a timer expires.

use shallows_cc::receiver::{Data, Receiver};
use shallows_cc::units::Time;

/// Notifications of one flow.
#[derive(Clone, Debug)]
pub struct Notifications {
    receiver: Box<dyn Receiver>,
    /// When one is due, and whether a timer is set for it.
    due: Option<Time>,
    timer_armed: bool,
}

impl Notifications {
    pub(crate) fn new(receiver: Box<dyn Receiver>) -> Self {
        Self { receiver, due: None, timer_armed: false }
    }

    /// Handles data. Returns true if a notification is due at once.
    #[inline]
    pub fn on_data(&mut self, now: Time, data: &Data) -> bool {
        let due = self.receiver.notification(now, data);
        if due == Some(now) && self.due.is_none() {
            return true;
        }
        self.due = self.due.or(due);
        false
    }

    /// Returns the time for a timer, if a notification is due and none is set.
    #[inline]
    pub(crate) fn arm_timer(&mut self) -> Option<Time> {
        let at = self.due.filter(|_| !self.timer_armed)?;
        self.timer_armed = true;
        Some(at)
    }

    /// Notes that the timer has expired. Returns true if a notification is due.
    #[inline]
    pub fn on_timer(&mut self) -> bool {
        self.timer_armed = false;
        self.due.take().is_some()
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.due.is_some()
    }
}

#[cfg(test)]
mod tests {
    use shallows_cc::receiver::{Echo, Reply};

    use super::*;

    /// A receiver that looks every 50 microseconds whether a packet was marked, as DCQCN's does with `sampled`.
    #[derive(Clone, Debug)]
    struct Looks;

    impl Receiver for Looks {
        fn notification(&mut self, now: Time, data: &Data) -> Option<Time> {
            let tau = Time::from_micros(50);
            data.marked.then(|| Time((now.0 / tau.0 + 1) * tau.0))
        }

        fn on_data(&mut self, _now: Time, _data: &Data) -> Reply {
            Reply::default()
        }

        fn on_timer(&mut self, _now: Time) -> Echo {
            Echo { marked: false }
        }
    }

    #[test]
    fn marks_are_answered_once_by_a_timer_and_then_again() {
        let mut notifications = Notifications::new(Box::new(Looks));
        let (plain, marked) = (Data::default(), Data { marked: true, ..Data::default() });
        for (packets, look) in [([7, 8, 9], 50), ([51, 52, 99], 100), ([200, 220, 249], 250)] {
            let mut timers = Vec::new();
            for (at, data) in packets.into_iter().zip([&plain, &marked, &marked]) {
                assert!(!notifications.on_data(Time::from_micros(at), data), "at once");
                timers.extend(notifications.arm_timer());
            }
            assert_eq!(timers, [Time::from_micros(look)]);
            assert!(notifications.is_pending());
            assert!(notifications.on_timer());
            assert!(!notifications.is_pending());
        }
        assert!(!notifications.on_timer(), "nothing is due");
    }
}
