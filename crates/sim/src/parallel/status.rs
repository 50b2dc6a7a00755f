//! The status that threads publish at the end of a step: one cache line that readers wait for, and then have.

use shallows_cc::units::Time;

use crate::parallel::sync::atomic::{AtomicU64, Ordering};
use crate::parallel::sync::publish;

/// Status of some domains at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DomainStatus {
    /// The time of their next event.
    pub next: Time,
    /// The first arrival in another domain of a packet that they sent.
    pub sent: Time,
    /// When a link was first paused.
    pub paused: Time,
    /// Events so far.
    pub events: u64,
    /// Packets in flight.
    pub live: u64,
}

impl DomainStatus {
    /// The status of no domain.
    pub const NONE: Self = Self { next: Time::MAX, sent: Time::MAX, paused: Time::MAX, events: 0, live: 0 };

    /// The status of these and other domains together.
    #[must_use]
    pub(crate) fn with(self, others: Self) -> Self {
        Self {
            next: self.next.min(others.next),
            sent: self.sent.min(others.sent),
            paused: self.paused.min(others.paused),
            events: self.events + others.events,
            live: self.live + others.live,
        }
    }

    /// The time of the next event, arrivals in other domains included.
    #[must_use]
    pub fn first(&self) -> Time {
        self.next.min(self.sent)
    }
}

/// A status that other threads read.
#[derive(Debug, Default)]
pub(crate) struct AtomicStatus {
    /// The number of steps after which this is the status. It is written last.
    steps: AtomicU64,
    next: AtomicU64,
    sent: AtomicU64,
    paused: AtomicU64,
    events: AtomicU64,
    live: AtomicU64,
}

impl AtomicStatus {
    /// Publishes the status after this number of steps, and with it all that the thread has written before.
    pub fn publish(&self, steps: u64, status: &DomainStatus) {
        self.next.store(status.next.0, Ordering::Relaxed);
        self.sent.store(status.sent.0, Ordering::Relaxed);
        self.paused.store(status.paused.0, Ordering::Relaxed);
        self.events.store(status.events, Ordering::Relaxed);
        self.live.store(status.live, Ordering::Relaxed);
        publish(&self.steps, steps);
    }

    /// Whether this number of steps is finished.
    pub(crate) fn is_after(&self, steps: u64) -> bool {
        self.steps.load(Ordering::Acquire) >= steps
    }

    /// The status, for a thread that has seen with [`Self::is_after`] that it is there.
    pub fn read(&self) -> DomainStatus {
        DomainStatus {
            next: Time(self.next.load(Ordering::Relaxed)),
            sent: Time(self.sent.load(Ordering::Relaxed)),
            paused: Time(self.paused.load(Ordering::Relaxed)),
            events: self.events.load(Ordering::Relaxed),
            live: self.live.load(Ordering::Relaxed),
        }
    }
}
