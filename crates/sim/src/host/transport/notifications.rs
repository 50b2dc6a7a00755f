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
