//! An egress port: finite queue, constant rate, marking; with the link behind it ([`crate::port::link`]).
//!
//! A packet's departure is known when it comes, so a port keeps no queue of its own (`fifo.rs`): the packets that wait and
//! those on the wire are one list, and the backlog is a time. Ports that cannot know (priorities, pauses, shaping) keep
//! classes in front of that ([`scheduled`]), and only they pay for it.
//!
//! The queue counts bytes on the wire; the packet being sent counts by what is left of it. A packet that
//! departs in the same picosecond as another arrives has departed.

use std::collections::BTreeSet;
use std::sync::Arc;

use shallows_cc::port::step::Step;
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, MIN_FRAME, Rate, Time};

use crate::packet::{NIL, Packet, Slab};
use crate::port::clock::Clock;
use crate::port::histogram::{Distribution, Histogram};
use crate::port::link::{Link, LinkTarget};
use crate::port::loss_model::LossModel;
use crate::spec::network::{Marking, PortSpec};

pub mod admission;
pub mod clock;
mod fifo;
pub mod histogram;
pub mod link;
pub mod loss_model;
mod marker;
pub mod scheduler;
mod token_bucket;

use marker::{DrainingQueue, Marker};
use scheduler::{ClassReport, Closing, Scheduler};

/// What a port counts. Reset at the end of the warm-up, except what the books need in whole.
///
/// What grows with every packet does not lie side by side: a compiler that adds two at once takes longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counters {
    /// Sum of the times from arrival to departure, in picoseconds.
    pub sojourn: u128,
    /// Twice the integral of the backlog over time, in square picoseconds, once every segment has ended.
    area: u128,
    /// Packets accepted.
    pub sent: u64,
    /// Packets marked here.
    pub marked: u64,
    /// Length of those accepted.
    pub sent_bytes: u64,
    /// The largest backlog.
    largest: Time,
    /// Packets that found no room.
    pub dropped: u64,
    /// Packets cut to their header here.
    pub trimmed: u64,
}

/// How a port is built. Ports built alike share it, so that it is at hand for all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortConfig {
    clock: Clock,
    delay: Time,
    buffer: Bytes,
    marking: Step,
    /// The lengths that most frames have, and the time that each takes: full ones and the shortest. No length where the port
    /// refuses or marks such a frame even if it is idle.
    common: [(Bytes, Time); 2],
}

/// The place of a full frame's length among the common ones.
const FULL: usize = 0;

impl PortConfig {
    fn new(&PortSpec { rate, delay, buffer, .. }: &PortSpec, mtu: Bytes) -> Self {
        let clock = Clock::new(rate);
        let common = [mtu, MIN_FRAME].map(|length| (length, clock.time(length)));
        let mut config = Self { clock, delay, buffer, marking: Step::NEVER, common };
        config.pass_only(|length| length <= buffer);
        config
    }

    /// The same with a step compared on joining.
    fn mark(&mut self, step: Step) {
        self.marking = step;
        self.pass_only(|length| !step.marks(length));
    }

    fn pass_only(&mut self, passes: impl Fn(Bytes) -> bool) {
        for common in self.common.iter_mut().filter(|common| !passes(common.0)) {
            *common = (Bytes::ZERO, Time::ZERO);
        }
    }

    /// Which of the common lengths this is, and the time that it takes; none if another.
    #[inline(always)]
    fn common(&self, length: Bytes) -> Option<(usize, Time)> {
        let place = usize::from(length == MIN_FRAME);
        let (common, sending) = self.common[place];
        (length == common).then_some((place, sending))
    }
}

/// An egress port and its link. A packet that finds the port idle is only counted, and needs no more than the first cache line,
/// nor does its arrival; one that finds a queue needs the others.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Port {
    busy_until: Time,
    config: Arc<PortConfig>,
    /// What few ports have.
    extras: Option<Box<PortExtras>>,
    /// Frames of the common lengths that have found it idle, and are in nothing below yet.
    idle_frames: [u32; 2],
    /// What its packets go over.
    pub link: Link,
    counters: Counters,
    histogram: Histogram,
    /// Time to send those accepted since the statistics began.
    work: Time,
    /// What was before they did; nothing where they began with the run.
    warmup: Option<Box<Warmup>>,
    /// The node that it belongs to.
    pub from: u32,
}

/// What a port tells of the time before its statistics began.
#[derive(Clone, Copy, Debug, Default)]
struct Warmup {
    sent: u64,
    dropped: u64,
    lost: u64,
    /// Backlog as it ended.
    backlog: Time,
}

/// What only some ports have, and pay for: each in cache lines of its own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct PortExtras {
    /// Where packets wait if they do not leave in the order in which they came.
    scheduler: Scheduler,
    marker: Option<Marker>,
    /// The wire, at its downstream end, where something happens to it.
    loss_model: Option<Box<LossModel>>,
}

impl Port {
    /// An idle port that does not mark; `mtu` sets how finely its queue is recorded.
    #[must_use]
    pub fn new(spec: &PortSpec, mtu: Bytes) -> Self {
        Self {
            busy_until: Time::ZERO,
            config: Arc::new(PortConfig::new(spec, mtu)),
            extras: None,
            idle_frames: [0; 2],
            link: Link::new(spec.to),
            counters: Counters::default(),
            histogram: Histogram::new(Clock::new(spec.rate).time(mtu)),
            work: Time::ZERO,
            warmup: None,
            from: spec.from,
        }
    }

    /// The same port with a congestion point; `draws` are for this port alone.
    #[must_use]
    pub fn marking(mut self, rate: Rate, marking: &Marking, draws: Rng) -> Self {
        match marking.on_joining(rate) {
            Some(step) => Arc::make_mut(&mut self.config).mark(step),
            None => self.extras().marker = Some(Marker::new(marking.point(rate), marking.at, draws)),
        }
        self.with_fast_path()
    }

    /// The same port over a wire to which something happens.
    #[must_use]
    pub fn with_loss_model(mut self, loss_model: LossModel) -> Self {
        self.extras().loss_model = Some(Box::new(loss_model));
        self.with_fast_path()
    }

    /// The same port, whose link knows whether a delivery is more than that, and whose classes know which frames its congestion
    /// point takes no notice of.
    fn with_fast_path(mut self) -> Self {
        let marks_at_dequeue = self.marks_at_dequeue();
        let Some(PortExtras { scheduler, marker, loss_model }) = self.extras.as_deref_mut() else { return self };
        self.link.has_checks = marks_at_dequeue || loss_model.is_some();
        let PortConfig { clock, marking, common: [(full, _), _], .. } = *self.config;
        scheduler.set_below_threshold([full, MIN_FRAME].map(|length| {
            let queue = clock.bytes(clock.time(length));
            !marking.marks(queue) && marker.as_ref().is_none_or(|marker| marker.is_below_threshold(queue))
        }));
        self
    }

    /// The same port, which shares how it is built with those in `known` that are built alike.
    #[must_use]
    pub fn with_shared_config(mut self, known: &mut BTreeSet<Arc<PortConfig>>) -> Self {
        match known.get(&self.config) {
            Some(config) => self.config = Arc::clone(config),
            None => _ = known.insert(Arc::clone(&self.config)),
        }
        self
    }

    fn extras(&mut self) -> &mut PortExtras {
        self.extras.get_or_insert_default()
    }

    fn marker(&mut self) -> Option<&mut Marker> {
        self.extras.as_mut()?.marker.as_mut()
    }

    fn scheduler(&self) -> Option<&Scheduler> {
        self.extras.as_ref().map(|extras| &extras.scheduler).filter(|classes| classes.are_there())
    }

    /// The wire behind it, where something happens to that.
    pub(crate) fn loss_model(&mut self) -> Option<&mut LossModel> {
        self.extras.as_mut()?.loss_model.as_deref_mut()
    }

    /// The same port, whose link leads there.
    #[must_use]
    pub(crate) fn with_target(mut self, target: LinkTarget) -> Self {
        self.link.target = target;
        self
    }

    /// What has been carried over its link, as far as the downstream end knows.
    #[must_use]
    pub fn carried(&self) -> Carried {
        let loss_model = self.extras.as_ref().and_then(|extras| extras.loss_model.as_ref());
        let (delivered, fingerprint) = (self.link.delivered(), self.link.fingerprint());
        Carried { delivered, lost: loss_model.map_or(0, |loss_model| loss_model.lost()), fingerprint }
    }

    /// Whether it has to `catch_up` before a packet is delivered over its link. Where packets wait in classes, they are marked
    /// as they leave those, and no later.
    #[must_use]
    pub fn marks_at_dequeue(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.marker.is_some() && !extras.scheduler.are_there())
    }

    /// When the last packet that it holds has been sent.
    #[inline]
    #[must_use]
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// What waits to be sent now.
    #[inline]
    #[must_use]
    pub fn queue(&self, now: Time) -> Bytes {
        self.config.clock.bytes(self.backlog(now))
    }

    /// When the first and the last bit of a packet leave whose arrival at the other end of the link is known.
    #[must_use]
    pub fn sending_of(&self, packet: &Packet) -> (Time, Time) {
        let ended = packet.arrives - self.config.delay;
        (ended - self.config.clock.time(packet.bytes()), ended)
    }

    /// The time to send it.
    #[inline]
    fn backlog(&self, now: Time) -> Time {
        let waiting = self.scheduler().map_or(Time::ZERO, Scheduler::waiting);
        waiting + self.busy_until.saturating_sub(now)
    }

    /// Feedback the congestion point of a packet that comes.
    #[inline(always)]
    fn observe_arrival(&mut self, now: Time, at: u32, packets: &mut Slab) {
        self.catch_up(now, packets);
        if let Some(marker) = self.marker() {
            marker.observe_arrival(at, packets);
        }
    }

    /// Something is about to be delivered over its link, where it [`Self::marks_at_dequeue`]: it left a link's delay ago.
    pub fn before_delivery(&mut self, now: Time, packets: &mut Slab) {
        self.catch_up(now - self.config.delay, packets);
    }

    /// All that comes before `end` has come: what left before it has left.
    pub fn close(&mut self, end: Time, packets: &mut Slab) {
        if end > Time::ZERO {
            self.catch_up(Time(end.0 - 1), packets);
        }
    }

    /// The first packet that has not begun to leave and may still be marked as it does, [`NIL`] if there is none.
    pub fn first_to_leave(&mut self) -> u32 {
        self.marker().map_or(NIL, |marker| marker.first_to_leave())
    }

    /// Feedback the congestion point of all that has happened up to `now`.
    #[inline]
    fn catch_up(&mut self, now: Time, packets: &mut Slab) {
        let Some(extras) = &mut self.extras else { return };
        let waiting = extras.scheduler.waiting();
        if let Some(marker) = extras.marker.as_mut().filter(|marker| marker.is_behind()) {
            let queue = DrainingQueue {
                busy_until: self.busy_until,
                waiting,
                delay: self.config.delay,
                clock: self.config.clock,
            };
            self.counters.marked += marker.catch_up(now, &queue, packets);
        }
    }

    /// Statistics start now; so many packets have been lost on the wire.
    pub fn end_warmup(&mut self, now: Time, lost: u64) {
        let scheduled = self.is_scheduled();
        self.flush_counts();
        if scheduled {
            self.end_classes_warmup(now);
        }
        let sending = self.busy_until.saturating_sub(now);
        let Counters { sent, dropped, .. } = std::mem::take(&mut self.counters);
        self.warmup = Some(Box::new(Warmup { sent, dropped, lost: self.lost_waiting() + lost, backlog: sending }));
        self.counters.area = square(sending);
        self.counters.largest = self.backlog(now);
        self.work = Time::ZERO;
        self.histogram.clear();
        if scheduled {
            self.reopen(now);
        } else {
            self.histogram.begin(sending);
        }
    }

    /// Closes the statistics of the `span` that ends now, while so much has been carried over the link.
    #[must_use]
    pub fn report(&mut self, now: Time, span: Time, carried: Carried, packets: &Slab) -> PortReport {
        self.flush_counts();
        let warmup = self.warmup.as_deref().copied().unwrap_or_default();
        let sending = self.busy_until.saturating_sub(now);
        let waiting = if self.is_scheduled() {
            self.close_classes(now, packets)
        } else {
            self.histogram.end(sending);
            Closing::default()
        };
        let busy = warmup.backlog + self.work - sending;
        let backlogs = self.histogram.finish(span.saturating_sub(busy + waiting.stalled), self.counters.largest);
        PortReport {
            counters: self.counters,
            dropped_in_warmup: warmup.dropped,
            busy,
            area: (self.counters.area + waiting.area - square(sending)) / 2,
            largest: self.counters.largest,
            backlogs,
            clock: self.config.clock,
            in_flight: warmup.sent + self.counters.sent - carried.delivered + waiting.packets,
            dropped: warmup.dropped + self.counters.dropped,
            lost: self.lost_waiting() + carried.lost,
            lost_in_warmup: warmup.lost,
            delivered: carried.delivered,
            fingerprint: carried.fingerprint,
            classes: waiting.reports,
        }
    }
}

/// What has been carried over a link in the whole run, or of that what arrived in one domain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// Packets taken from it, those that were lost on it too.
    delivered: u64,
    /// Those that were.
    pub lost: u64,
    /// Sum over all deliveries of a hash of time and packet.
    fingerprint: u64,
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

/// What a port has to tell at the end of a run.
#[derive(Clone, Debug)]
pub struct PortReport {
    /// After the warm-up.
    pub counters: Counters,
    /// Packets that found no room before its end.
    pub dropped_in_warmup: u64,
    /// Time spent sending after the warm-up.
    pub busy: Time,
    /// Integral of the backlog over time after the warm-up, in square picoseconds.
    pub area: u128,
    /// The largest backlog after the warm-up.
    pub largest: Time,
    /// How long it spent at each backlog after the warm-up.
    pub backlogs: Distribution,
    /// Turns backlogs into bytes.
    pub clock: Clock,
    /// Packets queued or on the wire when the run ended.
    pub in_flight: u64,
    /// Packets dropped in the whole run.
    pub dropped: u64,
    /// Packets lost in the whole run because something happened to the link.
    pub lost: u64,
    /// Those before the statistics began.
    pub lost_in_warmup: u64,
    /// Packets taken from the link in the whole run, those that were lost on it too.
    pub delivered: u64,
    /// Sum over all deliveries of a hash of time and packet.
    pub fingerprint: u64,
    /// Its classes, if it has any.
    pub classes: Vec<ClassReport>,
}

fn square(time: Time) -> u128 {
    u128::from(time.0) * u128::from(time.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::packet::header::{Header, RateQuery, TcpData};
    use crate::port::admission::Outcome;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use shallows_cc::parameter::Values;
    use shallows_cc::port::{self, Arrival, CongestionPoint, Ecn, MarkAt};

    const MTU: Bytes = Bytes(1500);
    const FRAME: Time = Time::from_nanos(1200);

    fn marking(threshold: u64, at: MarkAt) -> Marking {
        let mechanism = port::find("step").unwrap();
        let mut values = Values::defaults(mechanism.parameters);
        values.set("threshold", (MTU * threshold).0 as f64).unwrap();
        Marking { mechanism, values, at }
    }

    fn port(buffer: u64, marking: Option<&Marking>) -> Port {
        let spec = PortSpec {
            from: 0,
            to: 1,
            rate: Rate::from_gbps(10),
            delay: Time::from_micros(1),
            buffer: MTU * buffer,
            marking: None,
            discipline: None,
        };
        let port = Port::new(&spec, MTU);
        match marking {
            Some(marking) => port.marking(spec.rate, marking, Rng::new(1, 0)),
            None => port,
        }
    }

    fn frame() -> (Packet, Header) {
        (Packet::new(0, Bytes(1500), Ecn::Ect0, &Header::Bare), Header::Bare)
    }

    /// Five frames at once into a port: each leaves 1.2 us after the one before.
    fn five_at_once(port: &mut Port, packets: &mut Slab) -> Vec<Packet> {
        for _ in 0..5 {
            let (packet, header) = frame();
            let at = packets.insert(packet, header);
            if let Outcome::Dropped(_) = port.enqueue(Time::ZERO, at, packets).outcome {
                packets.remove(at);
            }
        }
        let mut out = Vec::new();
        let mut next = Some(FRAME + Time::from_micros(1));
        while let Some(now) = next {
            port.before_delivery(now, packets);
            let at = port.link.deliver(now, packets);
            out.push(packets[at]);
            packets.remove(at);
            next = port.link.first_arrival(packets);
        }
        out
    }

    #[test]
    fn packets_leave_one_frame_time_apart() {
        let mut packets = Slab::default();
        let out = five_at_once(&mut port(10, None), &mut packets);
        let arrivals: Vec<_> = out.iter().map(|p| p.arrives).collect();
        assert_eq!(arrivals, (1..=5).map(|n| FRAME * n + Time::from_micros(1)).collect::<Vec<_>>());
    }

    #[test]
    fn a_buffer_of_three_packets_holds_three() {
        let mut packets = Slab::default();
        let mut port = port(3, None);
        assert_eq!(five_at_once(&mut port, &mut packets).len(), 3);
        assert_eq!(port.report(FRAME * 10, FRAME * 10, port.carried(), &packets).dropped, 2);
    }

    #[test]
    fn at_enqueue_the_packets_behind_the_threshold_are_marked() {
        let mut packets = Slab::default();
        let step = marking(3, MarkAt::Enqueue);
        let out = five_at_once(&mut port(10, Some(&step)), &mut packets);
        let marks: Vec<_> = out.iter().map(|p| p.flags.is_ce()).collect();
        assert_eq!(marks, [false, false, false, true, true]);
    }

    #[test]
    fn at_dequeue_the_packets_before_the_threshold_are_marked() {
        let mut packets = Slab::default();
        let step = marking(2, MarkAt::Dequeue);
        let out = five_at_once(&mut port(10, Some(&step)), &mut packets);
        // They leave 4, 3, 2, 1 and 0 packets behind. The first left as it came, before the others joined.
        let marks: Vec<_> = out.iter().map(|p| p.flags.is_ce()).collect();
        assert_eq!(marks, [false, true, false, false, false]);
    }

    /// Wakes every 1.5 us and marks what leaves while the queue it then saw was above two frames.
    #[derive(Debug)]
    struct Periodic {
        next: Time,
        seen: Bytes,
    }

    impl CongestionPoint for Periodic {
        fn mark_probability(&mut self, _: &Arrival) -> f64 {
            f64::from(u8::from(self.seen > MTU * 2))
        }

        fn next_wake(&self) -> Option<Time> {
            Some(self.next)
        }

        fn on_wake(&mut self, now: Time, queue: Bytes) {
            assert_eq!(now, self.next);
            self.next += Time::from_nanos(1500);
            self.seen = queue;
        }
    }

    #[test]
    fn a_point_that_wakes_sees_the_queue_of_that_time() {
        let mut packets = Slab::default();
        let mut port = port(10, None);
        let periodic = Box::new(Periodic { next: Time::from_nanos(1500), seen: Bytes::ZERO });
        port.extras().marker = Some(Marker::new(periodic, MarkAt::Dequeue, Rng::new(1, 0)));
        let out = five_at_once(&mut port, &mut packets);
        // It wakes with 3.75 and 2.5 frames left; they leave at 0, 1.2, 2.4, 3.6 and 4.8 us.
        let marks: Vec<_> = out.iter().map(|p| p.flags.is_ce()).collect();
        assert_eq!(marks, [false, false, true, true, false]);
    }

    /// Offers 2 Gbps and counts what comes.
    #[derive(Debug)]
    struct Offering(Arc<AtomicU64>);

    impl CongestionPoint for Offering {
        fn mark_probability(&mut self, _: &Arrival) -> f64 {
            0.0
        }

        fn on_arrival(&mut self, packet: Bytes, rtt: Option<Time>) {
            assert_eq!(rtt, Some(Time::from_micros(90)).filter(|_| packet == Bytes(700)));
            self.0.fetch_add(packet.0, Ordering::Relaxed);
        }

        fn offered_rate(&self) -> Option<Rate> {
            Some(Rate::from_gbps(2))
        }
    }

    #[test]
    fn a_point_that_offers_rates_lowers_what_asks_and_counts_what_is_refused() {
        let (mut packets, mut port) = (Slab::default(), port(2, None));
        let seen = Arc::new(AtomicU64::new(0));
        let point = Box::new(Offering(Arc::clone(&seen)));
        port.extras().marker = Some(Marker::new(point, MarkAt::Dequeue, Rng::new(1, 0)));
        let asking = |offered| {
            let query = RateQuery { rtt: Time::from_micros(90), offered };
            let header = Header::RatedData(TcpData::default(), query);
            (Packet::new(0, Bytes(700), Ecn::NotEct, &header), header)
        };
        let offers = [asking(Rate::MAX), asking(Rate::from_gbps(1)), frame(), frame()];
        let at = offers.map(|(packet, header)| packets.insert(packet, header));
        let fits = at.map(|at| port.enqueue(Time::ZERO, at, &mut packets).outcome == Outcome::Queued);
        assert_eq!(fits, [true, true, true, false]);
        assert_eq!(seen.load(Ordering::Relaxed), 2 * 700 + 2 * 1500);
        port.catch_up(FRAME * 5, &mut packets);
        let offered = at.map(|at| packets.header(at).query().map(|query| query.offered));
        assert_eq!(offered, [Some(Rate::from_gbps(2)), Some(Rate::from_gbps(1)), None, None]);
    }

    #[test]
    fn the_mean_queue_of_five_at_once_is_a_triangle() {
        let mut packets = Slab::default();
        let mut port = port(10, None);
        five_at_once(&mut port, &mut packets);
        let report = port.report(FRAME * 10, FRAME * 10, port.carried(), &packets);
        // Five frame times of backlog draining in five frame times: 12.5 square frame times.
        assert_eq!(report.area, u128::from(FRAME.0) * u128::from(FRAME.0) * 25 / 2);
        assert_eq!(report.busy, FRAME * 5);
        assert_eq!(report.counters.sojourn, u128::from(FRAME.0) * 15);
        let (low, high) = report.backlogs.area_bounds();
        assert!(low <= report.area && report.area <= high);
    }

    /// At 10 Gbps frames of 1500, 700 and 64 B take 1200, 560 and 51.2 ns. Each finds the port idle: three, one and two of them
    /// after the warm-up, which five came before.
    #[test]
    fn frames_that_find_the_port_idle_add_up() {
        let (mut packets, mut port) = (Slab::default(), port(10, None));
        let mut now = Time::ZERO;
        let mut send = |port: &mut Port, lengths: &[u64]| {
            for &length in lengths {
                let at = packets.insert(Packet::new(0, Bytes(length), Ecn::NotEct, &Header::Bare), Header::Bare);
                port.enqueue(now, at, &mut packets);
                now += FRAME * 2;
            }
            now
        };
        let warm = send(&mut port, &[1500, 64, 64, 700, 1500]);
        port.end_warmup(warm, 0);
        let end = send(&mut port, &[1500, 64, 1500, 700, 64, 1500]);
        let report = port.report(end, end - warm, port.carried(), &packets);
        let PortReport { counters, busy, area, largest, in_flight, ref backlogs, .. } = report;
        assert_eq!((counters.sent, counters.sent_bytes, in_flight), (6, 3 * 1500 + 700 + 2 * 64, 5 + 6));
        let sending = [1_200_000, 1_200_000, 1_200_000, 560_000, 51_200, 51_200];
        assert_eq!((busy, largest), (Time(sending.iter().sum()), FRAME));
        assert_eq!(counters.sojourn, sending.iter().map(|&time| u128::from(time)).sum());
        assert_eq!(area, sending.iter().map(|&time| u128::from(time * time)).sum::<u128>() / 2);
        assert_eq!((backlogs.total(), backlogs.idle), (end - warm, end - warm - busy));
    }

    #[test]
    fn a_packet_that_finds_the_port_idle_needs_one_line_and_one_that_arrives_too() {
        assert_eq!(std::mem::offset_of!(Port, counters), 64);
        assert_eq!(size_of::<Port>(), 192);
    }

    #[test]
    fn ports_built_alike_share_how() {
        let known = &mut BTreeSet::new();
        let step = marking(3, MarkAt::Enqueue);
        let ports = [port(10, None), port(10, None), port(10, Some(&step)), port(9, None)];
        let ports = ports.map(|port| port.with_shared_config(known));
        assert!(Arc::ptr_eq(&ports[0].config, &ports[1].config));
        assert_eq!(known.len(), 3);
    }
}
