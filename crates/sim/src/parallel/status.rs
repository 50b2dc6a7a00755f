//! What threads tell each other at the end of a step: one line of memory that its reader waits for, and then has.

use shallows_cc::units::Time;

use crate::parallel::sync::atomic::{AtomicU64, Ordering};
use crate::parallel::sync::publish;

/// How some domains stand at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainStatus {
    /// When something happens next in them.
    pub next: Time,
    /// When something arrives elsewhere of what they have handed over.
    pub sent: Time,
    /// When a link was paused first.
    pub paused: Time,
    /// What has happened in them so far.
    pub events: u64,
    /// Packets that they have.
    pub live: u64,
}

impl DomainStatus {
    /// Of no domain.
    pub const NONE: Self = Self { next: Time::MAX, sent: Time::MAX, paused: Time::MAX, events: 0, live: 0 };

    /// Of those and of others.
    #[must_use]
    pub fn with(self, others: Self) -> Self {
        Self {
            next: self.next.min(others.next),
            sent: self.sent.min(others.sent),
            paused: self.paused.min(others.paused),
            events: self.events + others.events,
            live: self.live + others.live,
        }
    }

    /// When something happens next, as far as they know.
    #[must_use]
    pub fn first(&self) -> Time {
        self.next.min(self.sent)
    }
}

/// A report where others see it.
#[derive(Debug, Default)]
pub struct AtomicStatus {
    /// The steps that are done with it; it changes last.
    steps: AtomicU64,
    next: AtomicU64,
    sent: AtomicU64,
    paused: AtomicU64,
    events: AtomicU64,
    live: AtomicU64,
}

impl AtomicStatus {
    /// Says how things stand after so many steps. What happened until then has happened for all who see it here.
    pub fn publish(&self, steps: u64, report: &DomainStatus) {
        self.next.store(report.next.0, Ordering::Relaxed);
        self.sent.store(report.sent.0, Ordering::Relaxed);
        self.paused.store(report.paused.0, Ordering::Relaxed);
        self.events.store(report.events, Ordering::Relaxed);
        self.live.store(report.live, Ordering::Relaxed);
        publish(&self.steps, steps);
    }

    /// Whether so many steps are done.
    pub fn is_after(&self, steps: u64) -> bool {
        self.steps.load(Ordering::Acquire) >= steps
    }

    /// What it says, to who has seen that it is there.
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
