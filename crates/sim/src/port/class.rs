//! A class of a port: its queue, limit, token bucket and pause state.

use std::collections::VecDeque;

use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};

use crate::arch::prefetch::prefetch;
use crate::packet::{Flags, KIND_BITS, MAX_CLASSES, PacketKind, Slab};
use crate::port::admission::ClassOverride;
use crate::port::marker::Marker;
use crate::port::policer::Policer;
use crate::port::token_bucket::Bucket;
use crate::spec::ports::{ClassOf, ClassSpec, Discipline, Limit};

/// Counters of a class after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ClassReport {
    /// Sum of the times from the arrival of each sent packet until its last bit was sent, in picoseconds.
    pub sojourn: u128,
    /// Integral of the backlog over time, in byte-picoseconds.
    pub area: u128,
    /// Packets sent.
    pub sent: u64,
    /// Their bytes on the wire.
    pub sent_bytes: Bytes,
    /// The largest backlog, including the packet being sent.
    pub largest: Bytes,
    /// Packets dropped because the class was full.
    pub dropped: u64,
    /// Packets that the port marked.
    pub marked: u64,
    /// Number of pauses.
    pub pauses: u64,
    /// Total time of the pauses.
    pub paused: Time,
}

impl ClassReport {
    /// Counts so many packets of this length that took `sending` each, of which the port counts the wait `waited`.
    #[inline(always)]
    pub fn count(&mut self, length: Bytes, waited: Time, sending: Time, times: u64) {
        self.sent += times;
        self.sent_bytes += length * times;
        self.sojourn += u128::from((waited + sending).0) * u128::from(times);
        self.area += u128::from(length.0 * times) * u128::from(waited.0 + sending.0 / 2);
    }
}

/// A queued packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub packet: u32,
    /// The link that brought the packet, or [`crate::packet::NIL`].
    pub from: u32,
    pub since: Time,
}

/// A class. What every packet needs lies in two cache lines: the queue and its limits, and the first counters.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Class {
    pub queue: VecDeque<Waiting>,
    /// Length of the queue.
    pub bytes: Bytes,
    /// The limit of `spec`, beside what every packet needs.
    limit: Limit,
    /// What may hold back its packets; `None` as long as nothing does.
    pub restriction: Option<Box<Restriction>>,
    pub report: ClassReport,
    /// Marks by the queue of the class, if the class has a marking of its own.
    pub marker: Option<Box<Marker>>,
    /// Whether a full frame, and a shortest one, that finds nothing before it has room and is never marked.
    pub accepts: [bool; 2],
    /// Whether a policer is its restriction.
    pub is_policed: bool,
    /// What the request says of the class, elsewhere: a packet that is sent at once needs nothing of it.
    pub spec: Box<ClassSpec>,
}

/// A pause, a token bucket or a policer of a class.
#[derive(Clone, Debug, Default)]
pub(super) struct Restriction {
    pub paused_since: Option<Time>,
    /// When the last pause ended.
    pub resumed: Time,
    /// Whether the watchdog drops what the class would hold: a pause took too long, and the class has not been restored yet.
    pub storm: bool,
    bucket: Option<Bucket>,
    policer: Option<Policer>,
}

impl Restriction {
    /// As [`Class::eligible_at`], for the first packet of the queue.
    #[inline(never)]
    fn eligible_at(&self, now: Time, first: &Waiting, packets: &Slab) -> Option<Time> {
        if self.paused_since.is_some() {
            return None;
        }
        let Some(bucket) = &self.bucket else { return Some(now) };
        let ready = bucket.ready_at(first.since, packets[first.packet].bytes());
        Some(if ready <= now { now } else { bucket.retry_at(ready) })
    }
}

impl Class {
    /// Creates an empty class; `draws` are for its token bucket.
    pub fn new(spec: &ClassSpec, draws: Rng) -> Self {
        let bucket = spec.shaper.as_ref().map(|shaper| Bucket::new(shaper, draws));
        let policer = spec.policer.map(Policer::new);
        let is_restricted = bucket.is_some() || policer.is_some();
        Self {
            queue: VecDeque::new(),
            restriction: is_restricted.then(|| Box::new(Restriction { bucket, policer, ..Restriction::default() })),
            bytes: Bytes::ZERO,
            limit: spec.limit,
            report: ClassReport::default(),
            marker: None,
            accepts: [true; 2],
            is_policed: spec.policer.is_some(),
            spec: Box::new(*spec),
        }
    }

    /// Prefetches what every packet changes.
    pub(crate) fn prefetch(&self) {
        prefetch(&self.queue);
        prefetch(&self.report);
    }

    /// The beginning of the pause, if the class is paused.
    #[inline]
    pub fn paused_since(&self) -> Option<Time> {
        self.restriction.as_ref().and_then(|restriction| restriction.paused_since)
    }

    #[inline]
    pub(crate) fn is_paused(&self) -> bool {
        self.paused_since().is_some()
    }

    /// Whether the watchdog drops the packets of the class.
    #[inline]
    pub fn is_storm(&self) -> bool {
        self.restriction.as_ref().is_some_and(|restriction| restriction.storm)
    }

    /// Whether neither a pause, the watchdog, a token bucket nor a policer holds back the packets of the class.
    pub(crate) fn is_unrestricted(&self) -> bool {
        let free = |held: &Restriction| {
            held.paused_since.is_none() && !held.storm && held.bucket.is_none() && held.policer.is_none()
        };
        self.restriction.as_deref().is_none_or(free)
    }

    /// Its policer, if it has one.
    #[inline]
    pub fn policer(&mut self) -> Option<&mut Policer> {
        self.restriction.as_mut().and_then(|restriction| restriction.policer.as_mut())
    }

    #[inline]
    fn bucket(&mut self) -> Option<&mut Bucket> {
        self.restriction.as_mut().and_then(|restriction| restriction.bucket.as_mut())
    }

    /// Whether its token bucket has drawn random numbers.
    pub fn bucket_has_drawn(&self) -> bool {
        self.restriction.as_ref().and_then(|restriction| restriction.bucket.as_ref()).is_some_and(Bucket::has_drawn)
    }

    /// Lets the pacer, if the bucket is one, set its rate.
    pub(crate) fn catch_up_pacer(&mut self, now: Time) {
        let waiting = self.bytes;
        if let Some(bucket) = self.bucket() {
            bucket.catch_up(now, waiting);
        }
    }

    /// Whether the tokens for a packet of this length are there now.
    #[inline]
    pub fn has_tokens(&mut self, now: Time, length: Bytes) -> bool {
        let waiting = self.bytes;
        self.bucket().is_none_or(|bucket| {
            bucket.catch_up(now, waiting);
            bucket.is_ready(now, length)
        })
    }

    /// Whether one more packet fits, with which the class would hold `held`; `being_sent` of its packets are being sent.
    #[inline]
    pub(crate) fn has_room(&self, held: Bytes, being_sent: usize) -> bool {
        match self.limit {
            Limit::Bytes(limit) => held <= limit,
            Limit::Packets(limit) => self.queue.len() + being_sent < limit as usize,
        }
    }

    /// The time at which the first packet may be sent, or at which to look again; `now` if it may be sent now, `None` if the
    /// queue is empty or paused.
    #[inline(always)]
    pub fn eligible_at(&self, now: Time, packets: &Slab) -> Option<Time> {
        let first = self.queue.front()?;
        self.restriction.as_ref().map_or(Some(now), |restriction| restriction.eligible_at(now, first, packets))
    }

    /// Length of the first packet.
    #[inline]
    pub(crate) fn first_length(&self, packets: &Slab) -> Bytes {
        self.queue.front().map_or(Bytes::ZERO, |waiting| packets[waiting.packet].bytes())
    }

    /// Counts a packet that is sent without waiting.
    #[inline(always)]
    pub fn send_directly(&mut self, now: Time, length: Bytes, sending: Time) {
        self.report.largest = self.report.largest.max(length);
        self.report.count(length, Time::ZERO, sending, 1);
        self.observe_arrival(length);
        self.consume_tokens(now, length);
    }

    /// Tells the pacer, if there is one, of a packet that arrives.
    #[inline]
    pub(crate) fn observe_arrival(&mut self, length: Bytes) {
        if let Some(bucket) = self.bucket() {
            bucket.arrive(length);
        }
    }

    #[inline(always)]
    pub fn consume_tokens(&mut self, now: Time, length: Bytes) {
        if let Some(bucket) = self.bucket() {
            bucket.consume(now, length);
        }
    }
}

/// The class of a packet by class override, traffic class and kind. Each word holds the classes of all kinds, four bits each, so
/// that the part without override fills a cache line, and its first half those of four traffic classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClassTable([[u64; MAX_CLASSES]; 2]);

impl ClassTable {
    pub(crate) fn new(discipline: &Discipline) -> Self {
        let pack = |class_of: &dyn Fn(usize) -> u8| {
            (0..KIND_BITS).fold(0, |all, kind| all | u64::from(class_of(kind)) << (4 * kind))
        };
        let mut by_class = [0; MAX_CLASSES];
        for (class, word) in by_class.iter_mut().enumerate() {
            let ClassOf(by_kind) = discipline.class_of(class);
            *word = pack(&|kind| by_kind.get(kind).copied().unwrap_or(0));
        }
        let paced = discipline.paced.map_or(by_class, |class| [pack(&|_| class); MAX_CLASSES]);
        Self([by_class, paced])
    }

    #[inline]
    pub fn class(&self, flags: Flags, class: ClassOverride) -> usize {
        let kinds = self.0[class as usize][usize::from(flags.class())];
        (kinds >> (4 * flags.kind_bits())) as usize & 15
    }

    /// The class that pauses of a traffic class stop.
    pub(crate) fn data_class(&self, traffic_class: u8) -> usize {
        self.class(Flags::of(PacketKind::Data).with_class(traffic_class), ClassOverride::None)
    }
}

#[cfg(test)]
mod tests {
    use shallows_cc::port::Ecn;

    use super::*;
    use crate::packet::PACKET_KINDS;

    /// Twelve classes: kinds in turn, from another one for each traffic class up to the third, the pacer without a class of its own.
    #[test]
    fn a_class_follows_from_kind_traffic_class_and_override() {
        let class = ClassSpec { limit: Limit::Packets(1), ..ClassSpec::OPEN };
        let class_of = (0..3).map(|class| ClassOf(PACKET_KINDS.map(|kind| class + kind as u8 % 7))).collect();
        let table = ClassTable::new(&Discipline::new(vec![class; 12], class_of));
        for (kind, class) in PACKET_KINDS.into_iter().flat_map(|kind| (0..8).map(move |class| (kind, class))) {
            for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
                let flags = Flags::of(kind).with_ecn(ecn).with(Flags::TRIMS, true).with_class(class);
                let found = [ClassOverride::None, ClassOverride::Paced].map(|class| table.class(flags, class));
                assert_eq!(found, [usize::from(class.min(2)) + kind as usize % 7; 2]);
            }
        }
        assert_eq!([0, 1, 7].map(|class| table.data_class(class)), [0, 1, 2]);
    }
}
