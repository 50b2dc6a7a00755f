//! A class of a port: its queue, limit, token bucket and pause state.

use std::collections::VecDeque;

use shallows_cc::units::{Bytes, Time};

use crate::packet::{Flags, KIND_BITS, PacketKind, Slab};
use crate::port::admission::ClassOverride;
use crate::port::token_bucket::Bucket;
use crate::spec::ports::{ClassSpec, Discipline, Limit};

/// The longest possible frame.
const LONGEST: Bytes = Bytes(u16::MAX as u64);

/// What a class counts after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassReport {
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped because the class was full.
    pub dropped: u64,
    /// The largest backlog, including the packet being sent.
    pub largest: Bytes,
    /// Number of pauses.
    pub pauses: u64,
    /// Total time of the pauses.
    pub paused: Time,
}

/// A queued packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub packet: u32,
    /// The link that brought the packet, or [`crate::packet::NIL`].
    pub from: u32,
    pub since: Time,
}

/// A class. The fields that decide whether its first packet may be sent lie in one cache line, the counters in another.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Class {
    pub queue: VecDeque<Waiting>,
    pub paused_since: Option<Time>,
    pub bucket: Option<Box<Bucket>>,
    /// Length of the queue.
    pub bytes: Bytes,
    pub limit: Limit,
    pub report: ClassReport,
    /// Whether a packet that finds the class full is trimmed, if it may be, instead of dropped.
    pub trims: bool,
}

impl Class {
    pub fn new(spec: &ClassSpec) -> Self {
        Self {
            queue: VecDeque::new(),
            paused_since: None,
            bucket: spec.shaper.as_ref().map(|shaper| Box::new(Bucket::new(shaper))),
            bytes: Bytes::ZERO,
            limit: spec.limit,
            report: ClassReport::default(),
            trims: spec.trims,
        }
    }

    /// Whether the class, if empty, sends a frame of any length at once.
    pub fn is_unrestricted(&self) -> bool {
        let holds_any = match self.limit {
            Limit::Bytes(limit) => limit >= LONGEST,
            Limit::Packets(limit) => limit > 0,
        };
        holds_any && self.paused_since.is_none() && self.bucket.is_none()
    }

    /// Whether the tokens for a packet of this length are there now.
    #[inline]
    pub fn has_tokens(&mut self, now: Time, length: Bytes) -> bool {
        let waiting = self.bytes;
        self.bucket.as_mut().is_none_or(|bucket| {
            bucket.catch_up(now, waiting);
            bucket.is_ready(now, length)
        })
    }

    /// Whether one more packet fits, with which the class would hold `held`; `being_sent` of its packets are being sent.
    #[inline]
    pub fn has_room(&self, held: Bytes, being_sent: usize) -> bool {
        match self.limit {
            Limit::Bytes(limit) => held <= limit,
            Limit::Packets(limit) => self.queue.len() + being_sent < limit as usize,
        }
    }

    /// The time at which the first packet may be sent, or at which to look again; `now` if it may be sent now, `None` if the
    /// queue is empty or paused.
    #[inline]
    pub fn eligible_at(&self, now: Time, packets: &Slab) -> Option<Time> {
        if self.queue.is_empty() || self.paused_since.is_some() {
            return None;
        }
        let Some(bucket) = &self.bucket else { return Some(now) };
        let ready = bucket.ready_at(packets[self.queue.front()?.packet].bytes());
        Some(if ready <= now { now } else { bucket.retry_at(ready) })
    }

    /// Counts a packet that is sent without waiting.
    #[inline(always)]
    pub fn send_directly(&mut self, now: Time, length: Bytes) {
        self.report.largest = self.report.largest.max(length);
        self.report.sent += 1;
        self.observe_arrival(length);
        self.consume_tokens(now, length);
    }

    /// Tells the pacer, if there is one, of a packet that arrives.
    #[inline]
    pub fn observe_arrival(&mut self, length: Bytes) {
        if let Some(bucket) = &mut self.bucket {
            bucket.arrive(length);
        }
    }

    #[inline(always)]
    pub fn consume_tokens(&mut self, now: Time, length: Bytes) {
        if let Some(bucket) = &mut self.bucket {
            bucket.consume(now, length);
        }
    }
}

/// The class of a packet by class override, ECN codepoint and kind. Each word holds the classes of all kinds, four bits each, so
/// that the part without override fills half a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClassTable([[u64; 4]; 3]);

impl ClassTable {
    pub fn new(discipline: &Discipline) -> Self {
        let pack = |class_of: &dyn Fn(usize) -> u8| {
            (0..KIND_BITS).fold(0, |all, kind| all | u64::from(class_of(kind)) << (4 * kind))
        };
        let by_kind = [pack(&|kind| discipline.class_of.get(kind).copied().unwrap_or(0)); 4];
        let all = |class: Option<u8>| class.map_or(by_kind, |class| [pack(&|_| class); 4]);
        Self([by_kind, all(discipline.priority), all(discipline.paced)])
    }

    #[inline]
    pub fn class(&self, flags: Flags, class: ClassOverride) -> usize {
        let kinds = self.0[class as usize][flags.ecn() as usize];
        (kinds >> (4 * flags.kind_bits())) as usize & 15
    }

    /// The class that pauses stop.
    pub fn data_class(&self) -> usize {
        self.class(Flags::of(PacketKind::Data), ClassOverride::None)
    }
}

#[cfg(test)]
mod tests {
    use shallows_cc::port::Ecn;

    use super::*;
    use crate::packet::PACKET_KINDS;

    /// Eight classes: kinds in turn, flows with priority in class 7, the pacer without a class of its own.
    #[test]
    fn a_class_follows_from_kind_codepoint_and_override() {
        let class = ClassSpec { limit: Limit::Packets(1), shaper: None, trims: false, turn: None };
        let class_of = PACKET_KINDS.map(|kind| kind as u8 % 7);
        let table = ClassTable::new(&Discipline { classes: vec![class; 8], class_of, priority: Some(7), paced: None });
        for kind in PACKET_KINDS {
            for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
                let flags = Flags::of(kind).with_ecn(ecn).with(Flags::TRIMS, true);
                let found = [ClassOverride::None, ClassOverride::Priority, ClassOverride::Paced]
                    .map(|class| table.class(flags, class));
                assert_eq!(found, [kind as usize % 7, 7, kind as usize % 7]);
            }
        }
        assert_eq!(table.data_class(), 0);
    }
}
