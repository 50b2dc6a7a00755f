//! Statistics of a port at the end of a run.

use shallows_cc::units::Time;

use super::Port;
use super::dispatch::extras;
use crate::packet::Slab;
use crate::port::class::{Class, ClassReport};
use crate::port::clock::Clock;
use crate::port::counters::{Counters, Recorder};
use crate::port::histogram::Distribution;

/// Traffic that a link has carried in a run, or the part of it that arrived in one domain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// Packets taken from the link, including the lost ones.
    delivered: u64,
    /// Packets lost on the link.
    pub lost: u64,
    /// Sum over all deliveries of a hash of time and packet.
    fingerprint: u64,
}

impl Carried {
    /// Packets that have arrived at the end of the link.
    pub(crate) const fn arrived(&self) -> u64 {
        self.delivered - self.lost
    }
}

impl std::iter::Sum for Carried {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            delivered: sum.delivered + one.delivered,
            lost: sum.lost + one.lost,
            fingerprint: sum.fingerprint.wrapping_add(one.fingerprint),
        })
    }
}

/// Statistics of a port: columns of the results, and terms of the audit.
#[derive(Clone, Debug)]
pub struct PortReport {
    /// Counters after the warm-up.
    pub counters: Counters,
    /// Counters of the warm-up.
    pub in_warmup: Counters,
    /// Time spent sending after the warm-up.
    pub busy: Time,
    /// Integral of the backlog over time after the warm-up, in square picoseconds.
    pub area: u128,
    /// The largest backlog after the warm-up.
    pub largest: Time,
    /// Time spent at each backlog after the warm-up.
    pub backlogs: Distribution,
    /// Converts backlogs to bytes.
    pub clock: Clock,
    /// Packets queued or on the wire when the run ended.
    pub in_flight: u64,
    /// Packets taken from the link in the whole run, including the lost ones.
    pub delivered: u64,
    /// Sum over all deliveries of a hash of time and packet.
    pub fingerprint: u64,
    /// The classes, if the port has any.
    pub classes: Vec<ClassReport>,
}

impl PortReport {
    /// Packets dropped in the whole run.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.in_warmup.dropped + self.counters.dropped
    }

    /// Packets lost in the whole run because of faults of the link.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.in_warmup.lost + self.counters.lost
    }
}

/// Contribution of queued packets and classes to the statistics of a port.
#[derive(Clone, Debug, Default)]
struct Queued {
    stalled: Time,
    area: u128,
    packets: u64,
    classes: Vec<ClassReport>,
}

impl Port {
    /// What the link has carried so far, as far as the downstream end knows.
    #[must_use]
    pub fn carried(&self) -> Carried {
        let loss_model = self.extras.as_ref().and_then(|extras| extras.loss_model.as_ref());
        let lost = loss_model.map_or(0, |loss_model| loss_model.lost());
        Carried { delivered: self.link.delivered(), lost, fingerprint: self.link.fingerprint() }
    }

    /// Ends the warm-up, in which `lost` packets were lost on the wire.
    pub fn end_warmup(&mut self, now: Time, lost: u64) {
        let scheduled = self.is_scheduled();
        self.flush_counts();
        if scheduled {
            self.end_class_warmup(now);
        }
        let sending = self.busy_until.saturating_sub(now);
        self.recorder.end_warmup(lost, sending);
        self.recorder.area = square(sending);
        self.recorder.largest = self.backlog(now);
        self.histogram.clear();
        if scheduled {
            let (_, scheduler) = extras(&mut self.extras);
            scheduler.stalls.open(now, scheduler.fast.work, self.busy_until, &mut self.histogram);
        } else {
            self.histogram.begin(sending);
        }
    }

    /// Packets dropped so far, and packets lost at the port because of faults of its link.
    pub(crate) fn lost_here(&self) -> (u64, u64) {
        let (before, after) = (self.recorder.warmup().counters, self.recorder.counters());
        (before.dropped + after.dropped, before.lost + after.lost)
    }

    /// Reports the statistics of the `span` that ends now, in which the link carried `carried`.
    #[must_use]
    pub fn report(&mut self, now: Time, span: Time, carried: Carried, packets: &Slab) -> PortReport {
        self.flush_counts();
        let warmup = self.recorder.warmup();
        let sending = self.busy_until.saturating_sub(now);
        let queued = if self.is_scheduled() {
            self.report_queued(now, packets)
        } else {
            self.histogram.end(sending);
            Queued::default()
        };
        let Recorder { work, largest, area, .. } = self.recorder;
        let busy = warmup.backlog + work - sending;
        let backlogs = self.histogram.finish(span.saturating_sub(busy + queued.stalled), largest);
        let counters = self.recorder.measured();
        PortReport {
            in_flight: warmup.counters.sent + self.recorder.counters().sent - carried.delivered + queued.packets,
            counters: Counters { lost: counters.lost + carried.lost - warmup.lost_on_wire, ..counters },
            in_warmup: Counters { lost: warmup.counters.lost + warmup.lost_on_wire, ..warmup.counters },
            busy,
            area: (area + queued.area - square(sending)) / 2,
            largest,
            backlogs,
            clock: self.config.clock,
            delivered: carried.delivered,
            fingerprint: carried.fingerprint,
            classes: queued.classes,
        }
    }

    fn end_class_warmup(&mut self, now: Time) {
        let (_, scheduler) = extras(&mut self.extras);
        scheduler.stalls.close(now, scheduler.fast.work, self.busy_until, &mut self.histogram);
        scheduler.stalls.measured_from = now;
        scheduler.stalls.total = Time::ZERO;
        for class in &mut scheduler.classes {
            class.report = ClassReport { largest: class.bytes, ..ClassReport::default() };
        }
    }

    fn report_queued(&mut self, now: Time, packets: &Slab) -> Queued {
        let (_, scheduler) = extras(&mut self.extras);
        scheduler.stalls.close(now, scheduler.fast.work, self.busy_until, &mut self.histogram);
        let of_class = |class: &Class| {
            let pausing = class.paused_since().map_or(Time::ZERO, |since| scheduler.stalls.waited(now, since));
            let mut report = ClassReport { paused: class.report.paused + pausing, ..class.report };
            for waiting in &class.queue {
                let held = scheduler.stalls.waited(now, waiting.since);
                report.area += u128::from(packets[waiting.packet].bytes().0) * u128::from(held.0);
            }
            report
        };
        Queued {
            stalled: scheduler.stalls.total,
            area: scheduler.area(now, self.config.clock, packets),
            packets: scheduler.classes.iter().map(|class| class.queue.len() as u64).sum(),
            // Collected, so that millions of ports have no more space than they need.
            classes: scheduler.classes.iter().map(of_class).collect(),
        }
    }
}

fn square(time: Time) -> u128 {
    u128::from(time.0) * u128::from(time.0)
}
