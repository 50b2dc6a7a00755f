//! Retransmission timer of RFC 6298, with the minimum and maximum of the scenario.

use shallows_cc::units::Time;

use crate::host::stats::RttStats;
use crate::host::transport::lazy_timer::LazyTimer;
use crate::spec::network::HostSpec;

/// Smoothed round-trip time, and the retransmission timer that follows from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeout {
    srtt: Option<Time>,
    pub rtt: RttStats,
    variation: Time,
    timeout: Time,
    backoff: u32,
    min: Time,
    max: Time,
    /// When the timer expires; [`Time::MAX`] if it is stopped.
    pub deadline: Time,
    /// When it was started last.
    pub since: Time,
    timer: LazyTimer,
    /// Timer for the end of the reordering window of RACK.
    reordering: LazyTimer,
}

impl Timeout {
    /// Creates a stopped timer whose timeout is `first` until there is a round-trip sample.
    pub fn new(host: &HostSpec, first: Time) -> Self {
        Self {
            srtt: None,
            rtt: RttStats::NONE,
            variation: Time::ZERO,
            timeout: first,
            backoff: 0,
            min: host.rto_min,
            max: host.rto_max,
            deadline: Time::MAX,
            since: Time::ZERO,
            timer: LazyTimer::DISARMED,
            reordering: LazyTimer::DISARMED,
        }
    }

    /// Takes a round-trip sample.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Time) {
        let srtt = match self.srtt {
            None => {
                self.variation = rtt / 2;
                rtt
            }
            Some(srtt) => {
                self.variation = Time((self.variation.0 * 3 + srtt.0.abs_diff(rtt.0)) / 4);
                Time((srtt.0 * 7 + rtt.0) / 8)
            }
        };
        self.srtt = Some(srtt);
        self.rtt.record(srtt);
        self.timeout = srtt + self.variation * 4;
        self.backoff = 0;
    }

    /// Starts the timer, unless it is running.
    #[inline]
    pub fn start(&mut self, now: Time) {
        if self.deadline == Time::MAX {
            self.restart(now);
        }
    }

    /// Restarts the timer.
    #[inline]
    pub(crate) fn restart(&mut self, now: Time) {
        let doubled = self.timeout.max(self.min).0.saturating_mul(1 << self.backoff.min(30));
        (self.since, self.deadline) = (now, now + Time(doubled).min(self.max));
    }

    /// Returns the smoothed round-trip time; zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Time {
        self.srtt.unwrap_or(Time::ZERO)
    }

    /// Returns the time for a new simulation timer, if no earlier one is pending for the retransmission timeout or for the end of the
    /// reordering window.
    #[inline]
    pub(crate) fn arm(&mut self, reordering_deadline: Time) -> Option<Time> {
        if reordering_deadline == Time::MAX {
            return self.timer.arm(self.deadline);
        }
        LazyTimer::arm_first([(&mut self.timer, self.deadline), (&mut self.reordering, reordering_deadline)])
    }

    /// Handles a simulation timer. Returns true if the deadline has passed; the timer is then stopped and its timeout doubled.
    pub fn expire(&mut self, now: Time) -> bool {
        self.timer.expire(now);
        self.reordering.expire(now);
        let expired = self.deadline <= now;
        if expired {
            self.backoff = self.backoff.saturating_add(1);
            self.deadline = Time::MAX;
        }
        expired
    }
}
