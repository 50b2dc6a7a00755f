//! The retransmission timer of RFC 6298, with the scenario's floor and ceiling.

use shallows_cc::units::Time;

use crate::host::stats::RttStats;
use crate::host::transport::lazy_timer::LazyTimer;
use crate::spec::network::HostSpec;

/// RttStats round trip, and the timeout that follows from it.
#[derive(Clone, Copy, Debug)]
pub struct Timeout {
    srtt: Option<Time>,
    /// Of all samples.
    pub smoothed: RttStats,
    variation: Time,
    timeout: Time,
    backoff: u32,
    min: Time,
    max: Time,
    /// When it runs out; [`Time::MAX`] is never.
    pub deadline: Time,
    timer: LazyTimer,
}

impl Timeout {
    /// `first` is how long it waits before there is a sample.
    pub fn new(host: &HostSpec, first: Time) -> Self {
        Self {
            srtt: None,
            smoothed: RttStats::NOTHING,
            variation: Time::ZERO,
            timeout: first,
            backoff: 0,
            min: host.rto_min,
            max: host.rto_max,
            deadline: Time::MAX,
            timer: LazyTimer::DISARMED,
        }
    }

    /// A round trip was measured.
    #[inline]
    pub fn sample(&mut self, rtt: Time) {
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
        self.smoothed.record(srtt);
        self.timeout = srtt + self.variation * 4;
        self.backoff = 0;
    }

    /// Something is in flight: the timer runs from now on, if it does not already.
    #[inline]
    pub fn start(&mut self, now: Time) {
        if self.deadline == Time::MAX {
            self.restart(now);
        }
    }

    /// It runs from now on.
    #[inline]
    pub fn restart(&mut self, now: Time) {
        let doubled = self.timeout.max(self.min).0.saturating_mul(1 << self.backoff.min(30));
        self.deadline = now + Time(doubled).min(self.max);
    }

    /// The time to look again at it, if no timer of the world comes in time.
    pub fn arm(&mut self) -> Option<Time> {
        self.timer.set(self.deadline)
    }

    /// A timer of the world came; whether this one has run out. It then stands still, and waits twice as long next time.
    pub fn has_run_out(&mut self, now: Time) -> bool {
        self.timer.ran_out(now);
        let run_out = self.deadline <= now;
        if run_out {
            self.backoff += 1;
            self.deadline = Time::MAX;
        }
        run_out
    }
}
