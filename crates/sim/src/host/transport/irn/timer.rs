//! The two retransmission timeouts of IRN.

use shallows_cc::units::Time;

use crate::host::transport::config::SenderConfig;
use crate::host::transport::lazy_timer::{Backoff, LazyTimer};

/// Largest number of frames in flight for which the low timeout holds (N in §4.1).
const FEW: u32 = 3;

/// Timer for the first frame that is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetransmissionTimer {
    low: Backoff,
    high: Backoff,
    /// When it was started; none if it is stopped.
    since: Option<Time>,
    timer: LazyTimer,
    loss_timer: LazyTimer,
}

impl RetransmissionTimer {
    pub fn new(config: &SenderConfig<'_>) -> Self {
        let (high, max) = (config.first_timeout, config.host.rto_max);
        let low = (high * 5 / 16).max(config.base_rtt * 3).min(high);
        let (low, high) = (Backoff::new(low, max), Backoff::new(high, max));
        Self { low, high, since: None, timer: LazyTimer::DISARMED, loss_timer: LazyTimer::DISARMED }
    }

    /// Starts the timer, unless it is running.
    pub(crate) fn start(&mut self, now: Time) {
        self.since = self.since.or(Some(now));
    }

    /// Restarts the timer after progress, or stops it if nothing is in flight.
    pub fn restart(&mut self, now: Time, waits: bool) {
        self.low.reset();
        self.high.reset();
        self.since = waits.then_some(now);
    }

    /// Returns when the timer expires with so many frames in flight; [`Time::MAX`] if it is stopped.
    pub(crate) fn deadline(&self, in_flight: u32) -> Time {
        let timeout = if in_flight <= FEW { self.low } else { self.high };
        self.since.map_or(Time::MAX, |since| since + timeout.current())
    }

    /// Returns the time for a new simulation timer, if no earlier one is pending for the timeout or for the next loss by time.
    pub fn arm(&mut self, in_flight: u32, loss: Time) -> Option<Time> {
        let deadline = self.deadline(in_flight);
        LazyTimer::arm_first([(&mut self.timer, deadline), (&mut self.loss_timer, loss)])
    }

    /// Notes that a simulation timer has expired.
    pub(crate) fn expire(&mut self, now: Time) {
        self.timer.expire(now);
        self.loss_timer.expire(now);
    }

    /// Returns when the timer was started; [`Time::MAX`] if it is stopped.
    pub fn since(&self) -> Time {
        self.since.unwrap_or(Time::MAX)
    }

    /// Stops the timer at a timeout and doubles the next one. Returns true if this is not the first in a row.
    pub fn fail(&mut self) -> bool {
        self.since = None;
        self.low.fail();
        self.high.fail()
    }
}
