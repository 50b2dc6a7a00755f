//! Egress ports: a finite queue of constant rate that marks packets, and the link behind it ([`link`]).
//!
//! A port without classes (`fifo`) knows the departure of a packet when it arrives. It keeps no queue of its own: the packets
//! that wait and those on the wire are one list, and the backlog is a time. Ports that do not know it, because of priorities,
//! pauses or shaping, keep classes in front of that list (`dispatch`), and only they pay for them.
//!
//! The queue counts bytes on the wire, and of the packet in transmission the unsent part. A packet that departs in the picosecond
//! in which another arrives has departed.

use std::collections::BTreeSet;
use std::sync::Arc;

use shallows_cc::port::Drops;
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, MIN_FRAME, Rate, Time};

use crate::packet::{NIL, Packet, Slab};
use crate::port::admission::Outcome;
use crate::randomness::Randomness;
use crate::spec::ports::{Marking, PortSpec};

pub mod admission;
mod arrivals;
mod class;
pub(crate) mod clock;
mod config;
mod counters;
mod dispatch;
mod dual;
#[cfg(test)]
mod dual_tests;
mod fifo;
pub mod histogram;
mod judge;
pub(crate) mod link;
mod link_state;
pub mod loss_model;
mod marker;
pub(crate) mod pick;
mod policer;
mod prefetch;
mod report;
mod scheduler;
#[cfg(test)]
mod scheduler_tests;
mod sharing;
mod stall;
mod state;
#[cfg(test)]
mod tests;
mod token_bucket;
mod trimming;
mod two_queues;

pub use class::ClassReport;
pub(crate) use config::PortConfig;
pub use report::{Carried, PortReport};

use class::Class;
use clock::Clock;
use config::FULL;
use counters::Recorder;
use histogram::Histogram;
use link::{Link, LinkTarget};
use loss_model::LossModel;
use marker::{DrainingQueue, Marker};
use scheduler::Scheduler;

/// An egress port and its link. A packet that finds the port idle needs no more than the first cache line, nor does its arrival;
/// one that finds a queue needs all three.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Port {
    busy_until: Time,
    config: Arc<PortConfig>,
    /// Parts that few ports have; `None` at a FIFO without faults whose packets are marked by a step at most.
    extras: Option<Box<PortExtras>>,
    /// By common length: frames that found the port idle and that no other counter contains yet.
    idle_frames: [u32; 2],
    /// The link.
    pub link: Link,
    histogram: Histogram,
    /// The node of the port.
    pub from: u32,
    recorder: Recorder,
}

/// The longest possible frame.
const LONGEST: Bytes = Bytes(u16::MAX as u64);

/// Parts that few ports have, each in cache lines of its own.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
struct PortExtras {
    scheduler: Scheduler,
    marker: Option<Marker>,
    /// Faults of the wire, kept at its downstream end.
    loss_model: Option<Box<LossModel>>,
}

impl Port {
    /// An idle port that does not mark. The resolution of the histogram follows from `mtu`.
    #[must_use]
    pub fn new(spec: &PortSpec, mtu: Bytes) -> Self {
        Self {
            busy_until: Time::ZERO,
            config: Arc::new(PortConfig::new(spec, mtu)),
            extras: None,
            idle_frames: [0; 2],
            link: Link::new(spec.to),
            recorder: Recorder::default(),
            histogram: Histogram::new(Clock::new(spec.rate).time(mtu)),
            from: spec.from,
        }
    }

    /// The same port with a marker; `draws` are for this port alone.
    #[must_use]
    pub fn marking(mut self, rate: Rate, marking: &Marking, draws: Rng) -> Self {
        if let Some(law) = marking.dual_queue(rate) {
            return self.with_dual_queue(law, draws);
        }
        match marking.on_joining(rate) {
            Some(step) => Arc::make_mut(&mut self.config).set_marking(step, marking.drops()),
            None => {
                let mut marker = Marker::new(marking.point(rate), marking.at, draws);
                marker.drops = marking.drops();
                self.extras().scheduler.judges_heads = marker.judges_heads;
                self.extras().marker = Some(marker);
            }
        }
        self.with_fast_path()
    }

    /// The same port with a marker of the class `number`, which observes the queue of this class and has these `drops`; `draws` are
    /// for it alone. A marker of the port then judges the other classes; it observes the arrivals and departures of all.
    #[must_use]
    pub fn class_marking(mut self, number: usize, rate: Rate, (marking, drops): (&Marking, Drops), draws: Rng) -> Self {
        let mut marker = Marker::new(marking.point(rate), marking.at, draws);
        marker.drops = drops;
        let scheduler = &mut self.extras().scheduler;
        scheduler.judges_heads |= marker.judges_heads;
        scheduler.class_wakes |= marker.is_behind();
        scheduler.classes[number].marker = Some(Box::new(marker));
        self.with_fast_path()
    }

    /// The same port, whose counters are of what begins to be sent between these times.
    #[must_use]
    pub fn measured(mut self, from: Time, to: Time) -> Self {
        Arc::make_mut(&mut self.config).measured = [from, to];
        self
    }

    /// The same port, which drops nothing where it would mark.
    #[must_use]
    pub fn without_early_drops(mut self) -> Self {
        Arc::make_mut(&mut self.config).drops = Drops::Nothing;
        if let Some(marker) = self.marker() {
            marker.drops = Drops::Nothing;
        }
        self
    }

    /// The same port over a wire with faults.
    #[must_use]
    pub fn with_loss_model(mut self, loss_model: LossModel) -> Self {
        self.extras().loss_model = Some(Box::new(loss_model));
        self.with_fast_path()
    }

    /// Marks by other values of the parameters of its mechanism from `now` on. `mtu` is that of the network.
    pub fn remark(&mut self, (now, mtu): (Time, Bytes), rate: Rate, marking: &Marking, packets: &mut Slab) {
        self.close(now, packets);
        self.flush_counts();
        if self.retune_dual_queue(now, &marking.values) {
            return;
        }
        match self.marker() {
            Some(marker) => marker.retune(now, &marking.values, rate),
            None => {
                let step = marking.on_joining(rate).expect("a port without a marker has a step");
                Arc::make_mut(&mut self.config).change_marking(step, mtu);
            }
        }
        self.update_fast_path();
    }

    /// The same port, after a change of its parts.
    fn with_fast_path(mut self) -> Self {
        self.update_fast_path();
        self
    }

    /// Works out whether deliveries need checks, and which frames are only counted.
    fn update_fast_path(&mut self) {
        let marks_at_dequeue = self.marks_at_dequeue();
        let Some(PortExtras { scheduler, marker, loss_model }) = self.extras.as_deref_mut() else { return };
        self.link.has_checks = marks_at_dequeue || loss_model.is_some();
        let dual = scheduler.dual().is_some();
        scheduler.has_markers =
            marker.is_some() || dual || scheduler.classes.iter().any(|class| class.marker.is_some());
        let PortConfig { clock, marking, .. } = *self.config;
        let lengths = [self.config.common_lengths()[FULL], MIN_FRAME];
        // The marker of a class consumes a draw for each frame that the port only counts. With such markers only classes with room for
        // any frame count, so that draws stay the same.
        let own_markers = scheduler.classes.iter().any(|class| class.marker.is_some());
        scheduler.set_accepts(|class| {
            let own = class.marker.as_deref();
            let markers = [own, marker.as_ref()];
            lengths.map(|length| {
                let queue = clock.bytes(clock.time(length));
                let unmarked = own.is_some() || !marking.marks(queue);
                let has_room = class.has_room(if own_markers { LONGEST } else { length }, 0);
                !dual && has_room && unmarked && markers.iter().flatten().all(|marker| marker.is_below_threshold(queue))
            })
        });
    }

    /// The same port, which shares its fixed properties with a port in `known` that has equal ones.
    #[must_use]
    pub fn with_shared_config(mut self, known: &mut BTreeSet<Arc<PortConfig>>) -> Self {
        match known.get(&self.config) {
            Some(config) => self.config = Arc::clone(config),
            None => _ = known.insert(Arc::clone(&self.config)),
        }
        self
    }

    /// The same port with this target of its link.
    #[must_use]
    pub(crate) fn with_target(mut self, target: LinkTarget) -> Self {
        self.link.target = target;
        self
    }

    fn extras(&mut self) -> &mut PortExtras {
        self.extras.get_or_insert_default()
    }

    fn marker(&mut self) -> Option<&mut Marker> {
        self.extras.as_mut()?.marker.as_mut()
    }

    #[inline]
    fn scheduler(&self) -> Option<&Scheduler> {
        self.extras.as_ref().map(|extras| &extras.scheduler).filter(|scheduler| scheduler.fast.has_classes)
    }

    /// The faults of the wire, if it has any.
    pub(crate) fn loss_model(&mut self) -> Option<&mut LossModel> {
        self.extras.as_mut()?.loss_model.as_deref_mut()
    }

    /// The slots of the packets that arrive later than their place on the link.
    pub(crate) fn late(&self) -> impl Iterator<Item = u32> {
        self.extras.iter().flat_map(|extras| &extras.loss_model).flat_map(|model| model.late())
    }

    /// Whether the wire loses every packet at random.
    #[must_use]
    pub fn loses_all(&self) -> bool {
        self.extras.as_ref().and_then(|extras| extras.loss_model.as_ref()).is_some_and(|model| model.loses_all())
    }

    /// Adds the sources of random numbers from which the port has drawn, but for the markings of its classes.
    pub fn note_draws(&self, all: &mut Randomness) {
        let Some(extras) = &self.extras else { return };
        all.marking |= extras.marker.as_ref().is_some_and(|marker| marker.drawn);
        all.marking |= extras.scheduler.dual().is_some_and(|dual| dual.drawn);
        all.trimming |= extras.scheduler.trimming.draws.has_drawn();
        all.shaping |= extras.scheduler.classes.iter().any(Class::bucket_has_drawn);
        all.faults.extend(extras.loss_model.iter().flat_map(|model| model.drawn()));
    }

    /// Whether the marking of a class has drawn random numbers.
    #[must_use]
    pub fn class_has_drawn(&self, class: u8) -> bool {
        let class = self.scheduler().map(|scheduler| &scheduler.classes[usize::from(class)]);
        class.and_then(|class| class.marker.as_ref()).is_some_and(|marker| marker.drawn)
    }

    /// Whether marks depend on what happens after a packet was enqueued, so that the port has to catch up before a delivery. Ports
    /// with classes mark packets no later than they begin to be sent.
    #[must_use]
    pub fn marks_at_dequeue(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.marker.is_some() && !extras.scheduler.fast.has_classes)
    }

    /// The end of the transmission of all packets that are not in a class.
    #[inline]
    #[must_use]
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Time to send a frame of this length.
    #[inline]
    pub(crate) fn time_to_send(&self, length: Bytes) -> Time {
        self.config.clock.time(length)
    }

    /// Backlog in bytes: queued frames plus the unsent part of the frame in transmission.
    #[inline]
    #[must_use]
    pub fn queue(&self, now: Time) -> Bytes {
        self.config.clock.bytes(self.backlog(now))
    }

    /// When the first and the last bit of a packet are sent whose arrival at the other end of the link is known.
    #[must_use]
    pub fn sending_of(&self, packet: &Packet) -> (Time, Time) {
        self.sending_until(packet.arrives - self.config.delay, packet)
    }

    /// When the newest packet of the link has left and arrives, if departures do not follow from arrivals.
    #[must_use]
    pub fn newest(&self) -> Option<[Time; 2]> {
        let scheduler = self.scheduler()?;
        Some([scheduler.sent_by(self.busy_until), scheduler.last_arrival()?])
    }

    /// When the first and the last bit of a packet are sent whose last bit leaves at `ended`.
    #[must_use]
    pub fn sending_until(&self, ended: Time, packet: &Packet) -> (Time, Time) {
        (ended - self.config.clock.time(packet.bytes()), ended)
    }

    /// Time to send the backlog.
    #[inline]
    #[must_use]
    pub fn backlog(&self, now: Time) -> Time {
        let waiting = self.scheduler().map_or(Time::ZERO, |scheduler| scheduler.fast.work);
        waiting + self.busy_until.saturating_sub(now)
    }

    /// Records what became of a packet, of this class if the port has classes.
    pub(super) fn record(&mut self, class: usize, outcome: Outcome, packet: &Packet) {
        let class = self.extras.as_mut().and_then(|extras| extras.scheduler.classes.get_mut(class));
        self.recorder.record(class.map(|class| &mut class.report), outcome, packet);
    }

    /// Tells the marker of a packet that arrives, whether or not it is accepted.
    #[inline(always)]
    fn observe_arrival(&mut self, now: Time, at: u32, packets: &mut Slab) {
        self.catch_up(now, packets);
        let queue = self.queue(now) + packets[at].bytes();
        if let Some(marker) = self.marker() {
            marker.observe_arrival(now, at, queue, packets);
        }
    }

    /// Catches up before a delivery of a packet, which was sent a link delay ago, if the port [`Self::marks_at_dequeue`].
    pub fn before_delivery(&mut self, now: Time, packets: &mut Slab) {
        self.catch_up(now - self.config.delay, packets);
    }

    /// Catches up with all departures before `end`, before which nothing more arrives.
    pub fn close(&mut self, end: Time, packets: &mut Slab) {
        if end > Time::ZERO {
            self.catch_up(Time(end.0 - 1), packets);
        }
    }

    /// The first packet whose transmission has not begun and that may still be marked, or `NIL`.
    pub fn first_to_leave(&mut self) -> u32 {
        self.marker().map_or(NIL, |marker| marker.first_to_leave())
    }

    /// Tells the marker of all departures up to `now`.
    #[inline]
    fn catch_up(&mut self, now: Time, packets: &mut Slab) {
        let Some(extras) = &mut self.extras else { return };
        let waiting = extras.scheduler.fast.work;
        if let Some(marker) = extras.marker.as_mut().filter(|marker| marker.is_behind()) {
            let PortConfig { delay, clock, .. } = *self.config;
            let queue = DrainingQueue { busy_until: self.busy_until, waiting, delay, clock };
            marker.catch_up(now, &queue, packets, |packet| self.recorder.record(None, Outcome::Marked, packet));
        }
        if extras.scheduler.class_wakes {
            extras.scheduler.catch_up_classes(now, self.busy_until, &self.config, packets);
        }
    }
}
