//! Record of the times at which the backlog of a port with classes does not fall.

use shallows_cc::units::Time;

use crate::port::histogram::Histogram;

/// The backlog falls while the link is busy and stays as it is while the port is stalled; every event ends one such segment and
/// begins another.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct StallRecord {
    /// End of the warm-up.
    pub measured_from: Time,
    /// Beginning of the stall if it began with an event, else [`Time::MAX`]; a stall that follows a transmission begins without one.
    since: Time,
    /// Total time of the stalls after the warm-up.
    pub total: Time,
}

impl Default for StallRecord {
    fn default() -> Self {
        Self { measured_from: Time::ZERO, since: Time::MAX, total: Time::ZERO }
    }
}

impl StallRecord {
    /// Whether the port has been stalled since an event.
    #[inline]
    pub(crate) fn is_stalled(&self) -> bool {
        self.since < Time::MAX
    }

    /// Ends a segment at `now`, where packets that take `work` wait and the link is busy until `busy_until`.
    #[inline(always)]
    pub fn close(&mut self, now: Time, work: Time, busy_until: Time, histogram: &mut Histogram) {
        let backlog = work + busy_until.saturating_sub(now);
        let since = match std::mem::replace(&mut self.since, Time::MAX) {
            Time::MAX => {
                histogram.end(backlog);
                busy_until
            }
            since => since,
        };
        if work > Time::ZERO && since < now {
            self.total += now - since;
            histogram.hold(backlog, now - since);
        }
    }

    /// Begins a segment at `now`.
    #[inline(always)]
    pub(crate) fn open(&mut self, now: Time, work: Time, busy_until: Time, histogram: &mut Histogram) {
        if busy_until > now {
            histogram.begin(work + (busy_until - now));
        } else if work > Time::ZERO {
            self.since = now;
        }
    }

    /// How much of the time since `since` lies after the warm-up.
    #[inline]
    pub fn waited(&self, now: Time, since: Time) -> Time {
        now - since.max(self.measured_from)
    }
}
