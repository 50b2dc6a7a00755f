//! A port that schedules: classes with strict priority, each of which can be paused or shaped. One of them may have turns:
//! what waits there goes after so many packets of the classes above it.
//!
//! What such a port will send next is not known before the link is free, so its packets wait here, in front
//! of the FIFO that is its transmitter and its wire, and it needs a wake of its own on the event queue.
//!
//! | state | the link | waits | a packet comes | the wake comes | a pause or its end comes |
//! |---|---|---|---|---|---|
//! | idle | free | nothing | sent at once: sending; or, where its class may not send: held | | idle |
//! | sending | busy | nothing | joins, a wake at the end of the frame: sending | | sending |
//! | sending | busy | something | joins: sending | the next one is sent, a wake when another may go: sending or idle | sending |
//! | held | free | something | joins; sent at once if its class may: sending | tokens have come: sending | it may be sent: sending |
//!
//! A port is woken when something may go, not because its link is free: one that sends becomes held without a wake.
//! While it is held (paused, short of tokens, or its link is down) the backlog stays as it is; otherwise it falls by one second a
//! second, as in any port. Whoever calls [`Port::dispatch`] asks [`Port::next_wake`] after it.

use std::collections::VecDeque;

use shallows_cc::port::MarkAt;
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};

use crate::packet::{Flags, KIND_BITS, PacketKind, Slab};
use crate::port::admission::Enqueued;
use crate::port::clock::Clock;
use crate::port::histogram::Histogram;
use crate::port::marker::{Look, Marker};
use crate::port::token_bucket::Bucket;
use crate::port::{FULL, Port, PortExtras};
use crate::spec::fault::Change;
use crate::spec::network::{ClassSpec, Discipline, Limit};

mod trimming;

/// What a class counts after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassReport {
    /// Packets sent.
    pub sent: u64,
    /// Packets that found no room.
    pub dropped: u64,
    /// The most that it held, the packet being sent included.
    pub largest: Bytes,
    /// Times it was paused.
    pub pauses: u64,
    /// How long it was.
    pub paused: Time,
}

/// Scheduler whose frames may only be counted: a fabric with pauses has three.
const COUNTED: usize = 3;

/// Stands where there is none.
const NO_CLASS: u8 = u8::MAX;

/// No frame is longer.
const LONGEST: Bytes = Bytes(u16::MAX as u64);

/// A packet that waits: where it came from, and since when.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: u32,
    /// The link that brought it; none if its host made it.
    from: u32,
    since: Time,
}

/// A class whose packets go before the classes above it from time to time.
#[derive(Clone, Copy, Debug)]
struct WeightedTurn {
    class: usize,
    /// Packets of others that go before one of it.
    every: u32,
    /// How many of them have gone while something waits in it.
    since: u32,
}

impl WeightedTurn {
    fn new(classes: &[ClassSpec]) -> Option<Self> {
        classes.iter().enumerate().find_map(|(class, spec)| Some(Self { class, every: spec.turn?, since: 0 }))
    }
}

/// A class. In this order, whether something of it may go lies in one cache line, and what a packet counts in another.
#[derive(Debug)]
#[repr(C, align(64))]
struct Class {
    queue: VecDeque<Waiting>,
    paused_since: Option<Time>,
    bucket: Option<Box<Bucket>>,
    bytes: Bytes,
    limit: Limit,
    report: ClassReport,
    trims: bool,
}

impl Class {
    fn new(spec: &ClassSpec) -> Self {
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

    /// Whether nothing holds back a frame of any length that comes while nothing waits, but for the tokens that it may need.
    fn holds_any(&self) -> bool {
        let holds_all = match self.limit {
            Limit::Bytes(limit) => limit >= LONGEST,
            Limit::Packets(limit) => limit > 0,
        };
        holds_all && self.paused_since.is_none()
    }

    /// Whether a packet of this length that comes now has its tokens.
    #[inline]
    fn is_ready(&mut self, now: Time, length: Bytes) -> bool {
        let waiting = self.bytes;
        self.bucket.as_mut().is_none_or(|bucket| {
            bucket.catch_up(now, waiting);
            bucket.is_ready(now, length)
        })
    }

    /// Whether there is room for one more packet, with which it would hold `held`; `being_sent` of its packets are.
    #[inline]
    fn has_room(&self, held: Bytes, being_sent: usize) -> bool {
        match self.limit {
            Limit::Bytes(limit) => held <= limit,
            Limit::Packets(limit) => self.queue.len() + being_sent < limit as usize,
        }
    }

    /// When to ask for its first packet, which may go if that is now; none if nothing waits, or it is paused.
    #[inline]
    fn eligible_at(&self, now: Time, packets: &Slab) -> Option<Time> {
        if self.queue.is_empty() || self.paused_since.is_some() {
            return None;
        }
        let Some(bucket) = &self.bucket else { return Some(now) };
        let ready = bucket.ready_at(packets[self.queue.front()?.packet].bytes());
        Some(if ready <= now { now } else { bucket.retry_at(ready) })
    }

    /// A packet comes and is sent at once.
    #[inline(always)]
    fn send_directly(&mut self, now: Time, length: Bytes) {
        self.report.largest = self.report.largest.max(length);
        self.report.sent += 1;
        if let Some(bucket) = &mut self.bucket {
            bucket.arrive(length);
            bucket.consume(now, length);
        }
    }

    #[inline]
    fn arrive(&mut self, length: Bytes) {
        if let Some(bucket) = &mut self.bucket {
            bucket.arrive(length);
        }
    }

    #[inline(always)]
    fn consume_tokens(&mut self, now: Time, length: Bytes) {
        if let Some(bucket) = &mut self.bucket {
            bucket.consume(now, length);
        }
    }
}

/// The waiting room of a port with classes. In this order, what a packet needs that is sent at once lies in one cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Scheduler {
    /// Time to send all that waits.
    work: Time,
    /// Nothing of it may be sent before, as far as is known; [`Time::MAX`] if nothing waits, or nothing that is not paused.
    next: Time,
    /// Nothing is sent before: its link is down, for ever so far, or rests because it is slower than it was.
    idle_until: Time,
    /// By class, of the first ones, and by common length: frames that have passed and are in nothing else yet.
    idle_frames: [[u16; 2]; COUNTED],
    /// Two bits for each of those classes, one for each common length ([`Self::is_open`]).
    eligible: u8,
    /// The class of the packet being sent.
    sending: u8,
    /// The one that goes at `next` if nothing else happens; [`NO_CLASS`] if that has to be looked at then.
    cached_next: u8,
    /// Whether there are any.
    there: bool,
    /// By lane and the bits of a packet's kind.
    class_of: [[u8; KIND_BITS]; 3],
    /// Whether a full frame, and a shortest one, that finds nothing before it is never marked.
    below_threshold: [bool; 2],
    classes: Box<[Class]>,
    /// The rate of the link, where it is slower.
    slower: Option<Box<Clock>>,
    paced: Option<u8>,
    /// The length of all that waits.
    bytes: Bytes,
    /// The earliest wake on the event queue.
    wake: Time,
    /// Since when the backlog stays as it is; none if it falls, which it does until the link is free.
    stalled_since: Option<Time>,
    /// How long it did.
    stalled: Time,
    measured_from: Time,
    turn: Option<WeightedTurn>,
    /// Packets lost or refused because the link was down.
    lost: u64,
    /// Which packet is cut, where one has to be; and one that has just been while it waited.
    draws: Rng,
    trimmed_now: Option<u32>,
}

impl Scheduler {
    fn new(discipline: &Discipline, draws: Rng) -> Self {
        let own = std::array::from_fn(|bits| discipline.class_of.get(bits).copied().unwrap_or(0));
        let all = |class: Option<u8>| class.map_or(own, |class| [class; KIND_BITS]);
        Self {
            next: Time::MAX,
            cached_next: NO_CLASS,
            there: true,
            classes: discipline.classes.iter().map(Class::new).collect(),
            class_of: [own, all(discipline.priority), all(discipline.paced)],
            paced: discipline.paced,
            wake: Time::MAX,
            turn: WeightedTurn::new(&discipline.classes),
            draws,
            ..Self::default()
        }
    }

    /// Whether packets wait in classes here.
    #[inline]
    pub(super) fn are_there(&self) -> bool {
        self.there
    }

    /// Whether neither the port nor its marker marks a full frame, and a shortest one, that finds nothing before it.
    pub(super) fn set_below_threshold(&mut self, below_threshold: [bool; 2]) {
        self.below_threshold = below_threshold;
        self.update_eligible();
    }

    /// A class is paused or goes on, or the link is slower than it was, or no longer.
    fn update_eligible(&mut self) {
        let [full, shortest] = self.below_threshold.map(u8::from);
        self.eligible = 0;
        for (number, class) in self.classes.iter().enumerate().take(COUNTED) {
            if self.slower.is_none() && class.bucket.is_none() && class.holds_any() {
                self.eligible |= (shortest << 1 | full) << (2 * number);
            }
        }
    }

    /// Whether a frame of this common length passes where nothing waits and the link is free, and is only counted.
    #[inline(always)]
    fn eligible(&self, class: usize, length: usize) -> bool {
        class < COUNTED && self.eligible >> (2 * class + length) & 1 > 0
    }

    /// How many frames have only been counted.
    pub(super) fn counted(&self) -> u32 {
        self.idle_frames.as_flattened().iter().map(|&times| u32::from(times)).sum()
    }

    /// Works out what the frames that have only been counted add up to: their lengths, and how many of each, which the port adds
    /// up as well.
    pub(super) fn flush_counts(&mut self, lengths: [Bytes; 2]) -> Vec<(Bytes, u32)> {
        let mut all = Vec::new();
        let idle_frames = std::mem::take(&mut self.idle_frames).into_iter().chain(std::iter::repeat([0; 2]));
        for (class, idle_frames) in self.classes.iter_mut().zip(idle_frames) {
            let frames = lengths.into_iter().zip(idle_frames.map(u32::from));
            for (length, times) in frames.filter(|&(_, times)| times > 0) {
                class.report.sent += u64::from(times);
                class.report.largest = class.report.largest.max(length);
                all.push((length, times));
            }
        }
        all
    }

    /// The class of a packet.
    #[inline]
    fn class_for(&self, flags: Flags, class: ClassOverride) -> usize {
        usize::from(self.class_of[class as usize][flags.kind_bits()])
    }

    /// Whether the last packet sent was of this class.
    #[inline]
    fn is_sending(&self, class: usize) -> bool {
        usize::from(self.sending) == class
    }

    /// The class that pauses stop.
    fn data(&self) -> &Class {
        &self.classes[self.data_class()]
    }

    fn data_class(&self) -> usize {
        self.class_for(Flags::of(PacketKind::Data), ClassOverride::None)
    }

    /// Lets the pacer, if there is one, set its rate.
    #[inline]
    fn catch_up_pacer(&mut self, now: Time) {
        let class = self.paced.map(|paced| &mut self.classes[usize::from(paced)]);
        if let Some(Class { bucket: Some(bucket), bytes, .. }) = class {
            bucket.catch_up(now, *bytes);
        }
    }

    /// Time to send what waits.
    #[inline]
    pub(super) fn waiting(&self) -> Time {
        self.work
    }

    /// When a class may send, which is now or later, and the first of those that may then; [`NO_CLASS`] if none may.
    #[inline(always)]
    fn choose(&self, now: Time, packets: &Slab) -> (Time, u8) {
        if self.idle_until > now {
            return (self.idle_until, NO_CLASS);
        }
        if let Some(turn) = self.turn
            && turn.since >= turn.every
            && self.classes[turn.class].eligible_at(now, packets) == Some(now)
        {
            return (now, turn.class as u8);
        }
        let mut first = (Time::MAX, NO_CLASS);
        for (number, class) in (0..).zip(&self.classes) {
            match class.eligible_at(now, packets) {
                Some(ready) if ready <= now => return (now, number),
                Some(ready) if ready < first.0 => first = (ready, number),
                _ => {}
            }
        }
        first
    }

    /// The class that goes now, if one may.
    #[inline(always)]
    fn chosen(&mut self, now: Time, packets: &Slab) -> Option<usize> {
        if self.next == now && self.cached_next != NO_CLASS {
            debug_assert_eq!(self.choose(now, packets), (now, self.cached_next), "something has happened since");
            return Some(self.cached_next.into());
        }
        let (at, class) = self.choose(now, packets);
        if at > now {
            self.cache_next(at, class);
        }
        (at <= now).then_some(class.into())
    }

    /// This class goes then if nothing else happens, but for those that take turns or are paced: time itself happens to them.
    #[inline(always)]
    fn cache_next(&mut self, at: Time, class: u8) {
        self.next = at;
        self.cached_next = if self.turn.is_none() && self.paced.is_none() { class } else { NO_CLASS };
    }

    /// Looks when something may be sent once the link is free, which it is then.
    #[inline]
    fn reschedule(&mut self, free: Time, packets: &Slab) {
        let (at, class) = if self.work > Time::ZERO { self.choose(free, packets) } else { (Time::MAX, NO_CLASS) };
        self.cache_next(at, class);
    }

    /// What waits, or what it waits for, has changed: it is not known when something may be sent.
    fn invalidate_next(&mut self) {
        self.cached_next = NO_CLASS;
        self.next = if self.work > Time::ZERO { Time::ZERO } else { Time::MAX };
    }

    /// The backlog has fallen, or stood still, to what it is now.
    #[inline]
    fn close_segment(&mut self, now: Time, busy_until: Time, histogram: &mut Histogram) {
        let backlog = self.work + busy_until.saturating_sub(now);
        let stands_since = self.stalled_since.take().unwrap_or_else(|| {
            histogram.end(backlog);
            busy_until
        });
        if self.work > Time::ZERO && stands_since < now {
            self.stalled += now - stands_since;
            histogram.hold(backlog, now - stands_since);
        }
    }

    /// From now on it falls, or stands still.
    #[inline]
    fn open_segment(&mut self, now: Time, busy_until: Time, histogram: &mut Histogram) {
        if busy_until > now {
            histogram.begin(self.work + (busy_until - now));
        } else if self.work > Time::ZERO {
            self.stalled_since = Some(now);
        }
    }

    /// A packet of this class is sent: one more goes before what waits for its turn, or the turn has come.
    #[inline]
    fn take_turn(&mut self, chosen: usize) {
        if let Some(turn) = &mut self.turn {
            let waits = chosen != turn.class && !self.classes[turn.class].queue.is_empty();
            turn.since = if waits { turn.since.saturating_add(1) } else { 0 };
        }
    }

    /// How long the link rests after a frame that took `sending`, because it is slower than that.
    #[inline]
    fn rest(&mut self, busy_until: Time, sending: Time, length: Bytes) -> Time {
        let Some(slower) = &self.slower else { return Time::ZERO };
        let rest = slower.time(length) - sending;
        self.idle_until = busy_until + rest;
        rest
    }

    /// What waits weighs in square picoseconds, twice, for as long as it has waited until now.
    fn area(&self, now: Time, clock: Clock, packets: &Slab) -> u128 {
        let waiting = self.classes.iter().flat_map(|class| &class.queue);
        let weight = |w: &Waiting| {
            let sending = clock.time(packets[w.packet].bytes());
            2 * u128::from(sending.0) * u128::from((now - w.since.max(self.measured_from)).0)
        };
        waiting.map(weight).sum()
    }
}

/// A packet that comes to a port.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Which.
    pub packet: u32,
    /// The link that brought it, or [`crate::packet::NIL`].
    pub from: u32,
    /// Which way through the port.
    pub class: ClassOverride,
}

/// Which class a packet joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassOverride {
    /// That of its kind.
    None,
    /// That of flows that go before others, where there is one.
    Priority,
    /// That of the host's pacer, where there is one.
    Paced,
}

/// A packet that waits in a port, or has just begun to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The link that brought the packet, or [`crate::packet::NIL`].
    pub from: u32,
    /// Its length.
    pub length: Bytes,
    /// What it is.
    pub kind: PacketKind,
    /// Its arrival at the other end, if it is being sent and the link was empty.
    pub arrives: Option<Time>,
}

impl Port {
    /// The same port with classes; `draws` are for this port alone.
    #[must_use]
    pub fn scheduled(mut self, discipline: &Discipline, draws: Rng) -> Self {
        self.extras().scheduler = Scheduler::new(discipline, draws);
        self.with_fast_path()
    }

    /// Whether it has classes: then packets [`Self::enqueue_class`], and are not [`Self::enqueue`]d.
    #[inline]
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.scheduler().is_some()
    }

    fn scheduler_mut(&mut self) -> &mut Scheduler {
        parts(&mut self.extras).1
    }

    /// Whether a packet of this kind would begin to be sent at once.
    #[must_use]
    pub fn can_send(&self, now: Time, kind: PacketKind) -> bool {
        let Some(scheduler) = self.scheduler() else { return self.busy_until <= now };
        if self.busy_until > now || scheduler.idle_until > now {
            return false;
        }
        let number = scheduler.class_for(Flags::of(kind), ClassOverride::None);
        if scheduler.work == Time::ZERO && scheduler.eligible(number, FULL) {
            return true;
        }
        let class = &scheduler.classes[number];
        class.queue.is_empty() && class.paused_since.is_none()
    }

    /// When its link, which is slower than it was, has rested; none if something else holds the port.
    #[must_use]
    pub fn idle_until(&self, now: Time) -> Option<Time> {
        let until = self.scheduler()?.idle_until;
        (until > now && until < Time::MAX).then_some(until)
    }

    /// Length of what waits in the class of such a packet, and of the packet being sent if it is one of it.
    #[must_use]
    pub fn held(&self, now: Time, flags: Flags, class: ClassOverride) -> Bytes {
        let Some(scheduler) = self.scheduler() else { return self.queue(now) };
        let class = scheduler.class_for(flags, class);
        let sending = if scheduler.is_sending(class) { self.busy_until.saturating_sub(now) } else { Time::ZERO };
        scheduler.classes[class].bytes + self.config.clock.bytes(sending)
    }

    /// A packet comes while nothing waits and the link is free: it is sent at once, if its class may send and holds it.
    #[inline(always)]
    pub fn send_if_idle(&mut self, now: Time, incoming: Incoming, packets: &mut Slab) -> Option<Enqueued> {
        let scheduler = &mut self.extras.as_deref_mut()?.scheduler;
        if self.busy_until > now || scheduler.work > Time::ZERO || scheduler.idle_until > now {
            return None;
        }
        let packet = &packets[incoming.packet];
        let class = scheduler.class_for(packet.flags, incoming.class);
        let common = self.config.common(packet.bytes()).filter(|&(length, _)| scheduler.eligible(class, length));
        let Some((length, sending)) = common else { return self.send_uncounted(now, incoming, packets) };
        scheduler.sending = class as u8;
        scheduler.idle_frames[class][length] += 1;
        if scheduler.idle_frames[class][length] == u16::MAX {
            self.flush_counts();
        }
        Some(Enqueued::queued(false, self.put_on(now + sending, incoming.packet, packets)))
    }

    /// The same for what may not only be counted.
    #[inline(never)]
    fn send_uncounted(&mut self, now: Time, incoming: Incoming, packets: &mut Slab) -> Option<Enqueued> {
        let (marker, scheduler) = parts(&mut self.extras);
        let packet = &packets[incoming.packet];
        let length = packet.bytes();
        let chosen = scheduler.class_for(packet.flags, incoming.class);
        let class = &mut scheduler.classes[chosen];
        // A congestion point with times of its own may have to look first.
        let behind = marker.as_ref().is_some_and(Marker::is_behind);
        if class.paused_since.is_some() || !class.is_ready(now, length) || !class.has_room(length, 0) || behind {
            return None;
        }
        class.send_directly(now, length);
        scheduler.sending = chosen as u8;
        let sending = self.config.clock.time(length);
        let marked = match marker {
            Some(marker) => {
                marker.observe_arrival(incoming.packet, packets);
                let enqueue = marker.at == MarkAt::Enqueue;
                let queue = if enqueue { self.config.clock.bytes(sending) } else { Bytes::ZERO };
                marker
                    .marks(Look { now, queue, class: chosen as u8 }, (incoming.packet, packets), || scheduler.counted())
            }
            None => self.config.marking.marks(self.config.clock.bytes(sending)) && packets[incoming.packet].mark(),
        };
        self.counters.marked += u64::from(marked);
        self.busy_until = now + sending;
        let sent = self.busy_until + scheduler.rest(self.busy_until, sending, length);
        let arrives = self.link.append(incoming.packet, sent + self.config.delay, packets);
        match self.config.common(length) {
            Some((kind, _)) => self.count_idle(kind),
            None => self.count(length, sending, Time::ZERO, sending),
        }
        Some(Enqueued::queued(marked, arrives))
    }

    /// A packet joins its class, unless that is full.
    #[inline(always)]
    pub fn enqueue_class(&mut self, now: Time, incoming: Incoming, packets: &mut Slab) -> Enqueued {
        let Incoming { packet: at, from, class } = incoming;
        self.observe_arrival(now, at, packets);
        let packet = &packets[at];
        let (length, flags) = (packet.bytes(), packet.flags);
        let held = self.held(now, flags, class) + length;
        let Self { busy_until, config, extras, histogram, counters, .. } = self;
        let (marker, scheduler) = parts(extras);
        let number = scheduler.class_for(flags, class);
        let being_sent = usize::from(*busy_until > now && scheduler.is_sending(number));
        let class = &mut scheduler.classes[number];
        if !class.has_room(held, being_sent) {
            return self.overflow(now, incoming, packets);
        }
        class.report.largest = class.report.largest.max(held);
        class.arrive(length);
        class.queue.push_back(Waiting { packet: at, from, since: now });
        class.bytes += length;
        if class.queue.len() == 1 {
            let goes = class.eligible_at(now.max(*busy_until), packets);
            scheduler.cached_next = NO_CLASS;
            scheduler.next = scheduler.next.min(goes.unwrap_or(Time::MAX));
        }
        scheduler.close_segment(now, *busy_until, histogram);
        scheduler.work += config.clock.time(length);
        scheduler.bytes += length;
        scheduler.open_segment(now, *busy_until, histogram);
        let backlog = scheduler.work + busy_until.saturating_sub(now);
        counters.largest = counters.largest.max(backlog);
        let queue = config.clock.bytes(backlog);
        let marked = match marker {
            Some(marker) => {
                marker.at == MarkAt::Enqueue
                    && marker.marks(Look { now, queue, class: number as u8 }, (at, packets), || scheduler.counted())
            }
            None => config.marking.marks(queue) && packets[at].mark(),
        };
        counters.marked += u64::from(marked);
        Enqueued::queued(marked, None)
    }

    /// A packet found no room in the switch.
    pub fn drop_unadmitted(&mut self, now: Time, at: u32, packets: &mut Slab) {
        self.observe_arrival(now, at, packets);
        self.counters.dropped += 1;
    }

    /// Whether the link is free, and something waits that may be sent, as far as is known.
    #[inline]
    #[must_use]
    pub fn is_due(&self, now: Time) -> bool {
        self.busy_until <= now && self.scheduler().is_some_and(|scheduler| scheduler.next <= now)
    }

    /// Begins to send the packet whose turn it is, if the link is free and one may go.
    #[inline(always)]
    pub fn dispatch(&mut self, now: Time, packets: &mut Slab) -> Option<Departure> {
        if !self.is_due(now) {
            return None;
        }
        let scheduler = self.scheduler_mut();
        scheduler.catch_up_pacer(now);
        let chosen = scheduler.chosen(now, packets)?;
        self.catch_up(now, packets);
        Some(self.send(now, chosen, packets))
    }

    #[inline(always)]
    fn send(&mut self, now: Time, chosen: usize, packets: &mut Slab) -> Departure {
        let Self { busy_until, config, extras, work, histogram, counters, link, .. } = self;
        let (marker, scheduler) = parts(extras);
        // What waited is now being sent: the backlog is the same, and one that was falling goes on.
        let stood = scheduler.stalled_since.is_some() || *busy_until < now;
        if stood {
            scheduler.close_segment(now, *busy_until, histogram);
        }
        let class = &mut scheduler.classes[chosen];
        let waiting = class.queue.pop_front().expect("a class is chosen for its first packet");
        let packet = &packets[waiting.packet];
        let (length, kind) = (packet.bytes(), packet.flags.kind());
        let sending = config.clock.time(length);
        class.bytes -= length;
        class.report.sent += 1;
        class.consume_tokens(now, length);
        scheduler.work -= sending;
        scheduler.bytes -= length;
        scheduler.sending = chosen as u8;
        scheduler.take_turn(chosen);
        *busy_until = now + sending;
        if stood {
            scheduler.open_segment(now, *busy_until, histogram);
        }
        if let Some(marker) = marker.as_mut().filter(|marker| marker.at == MarkAt::Dequeue) {
            let marked = marker.marks(
                Look { now, queue: scheduler.bytes, class: chosen as u8 },
                (waiting.packet, packets),
                || scheduler.counted(),
            );
            counters.marked += u64::from(marked);
        }
        let waited = now - waiting.since.max(scheduler.measured_from);
        counters.sent += 1;
        counters.sent_bytes += length.0;
        counters.sojourn += u128::from((now - waiting.since + sending).0);
        counters.area += u128::from(sending.0) * u128::from(2 * waited.0 + sending.0);
        *work += sending;
        let sent = *busy_until + scheduler.rest(*busy_until, sending, length);
        scheduler.reschedule(*busy_until, packets);
        let arrives = link.append(waiting.packet, sent + config.delay, packets);
        Departure { from: waiting.from, length, kind, arrives }
    }

    /// When the port, which has just been dispatched, wants that next, if the event queue does not know it yet.
    #[inline]
    pub fn next_wake(&mut self) -> Option<Time> {
        let busy_until = self.busy_until;
        let scheduler = self.scheduler_mut();
        let wanted = scheduler.next.max(busy_until);
        (wanted < scheduler.wake).then(|| {
            scheduler.wake = wanted;
            wanted
        })
    }

    /// A wake came up; false if an earlier one has taken its place.
    pub fn on_wake(&mut self, now: Time) -> bool {
        let scheduler = self.scheduler_mut();
        let due = scheduler.wake == now;
        if due {
            scheduler.wake = Time::MAX;
        }
        due
    }

    /// Something happens to its link.
    pub fn change(&mut self, now: Time, change: Change) {
        // A backlog that stands still or falls from here on begins a segment.
        let Self { busy_until, config, extras, histogram, .. } = self;
        let (_, scheduler) = parts(extras);
        scheduler.close_segment(now, *busy_until, histogram);
        match change {
            Change::Down => scheduler.idle_until = Time::MAX,
            Change::Up => scheduler.idle_until = Time::ZERO,
            Change::Rate(rate) => {
                scheduler.slower = Some(Box::new(Clock::new(rate))).filter(|slower| slower.is_slower(config.clock))
            }
            Change::Loss(_) => {}
        }
        scheduler.update_eligible();
        scheduler.invalidate_next();
        scheduler.open_segment(now, *busy_until, histogram);
    }

    /// Takes out a packet that waits for a link that is down, and that is lost with it; none if there is no other.
    pub fn lose_one(&mut self, now: Time, packets: &mut Slab) -> Option<(u32, Departure)> {
        let goes = |waiting: &Waiting| !packets[waiting.packet].flags.for_neighbour();
        let position = |class: &Class| class.queue.iter().position(goes);
        let place = self
            .scheduler_mut()
            .classes
            .iter()
            .enumerate()
            .find_map(|(number, class)| Some((number, position(class)?)))?;
        let Waiting { packet, from, .. } = self.take_out(now, place, packets);
        self.scheduler_mut().lost += 1;
        let (length, kind) = (packets[packet].bytes(), packets[packet].flags.kind());
        Some((packet, Departure { from, length, kind, arrives: None }))
    }

    /// Takes out what waits at this place of this class: the backlog falls by as much at once.
    fn take_out(&mut self, now: Time, (number, place): (usize, usize), packets: &mut Slab) -> Waiting {
        self.catch_up(now, packets);
        let Self { busy_until, config, extras, histogram, counters, .. } = self;
        let (_, scheduler) = parts(extras);
        scheduler.close_segment(now, *busy_until, histogram);
        let class = &mut scheduler.classes[number];
        let waiting = class.queue.remove(place).expect("something waits there");
        let length = packets[waiting.packet].bytes();
        let (sending, waited) = (config.clock.time(length), now - waiting.since.max(scheduler.measured_from));
        class.bytes -= length;
        scheduler.work -= sending;
        scheduler.bytes -= length;
        counters.area += u128::from(sending.0) * u128::from(2 * waited.0);
        scheduler.invalidate_next();
        scheduler.open_segment(now, *busy_until, histogram);
        waiting
    }

    /// A packet comes while its link is down.
    pub fn drop_link_down(&mut self) {
        self.scheduler_mut().lost += 1;
    }

    /// Packets lost or refused so far because its link was down.
    pub(super) fn lost_waiting(&self) -> u64 {
        self.scheduler().map_or(0, |scheduler| scheduler.lost)
    }

    /// Whether its link is down.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.scheduler().is_some_and(|scheduler| scheduler.idle_until == Time::MAX)
    }

    /// Stops the class of data, or lets it go on.
    pub fn pause(&mut self, now: Time, pause: bool) {
        let scheduler = self.scheduler_mut();
        let from = scheduler.measured_from;
        let data = scheduler.data_class();
        let class = &mut scheduler.classes[data];
        if pause && class.paused_since.is_none() {
            class.paused_since = Some(now);
            class.report.pauses += 1;
            scheduler.cached_next = NO_CLASS;
        } else if !pause && let Some(since) = class.paused_since.take() {
            class.report.paused += now - since.max(from);
            scheduler.invalidate_next();
        }
        scheduler.update_eligible();
    }

    /// Whether data is stopped.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.scheduler().is_some_and(|scheduler| scheduler.data().paused_since.is_some())
    }

    fn queued(&self) -> impl Iterator<Item = &Waiting> {
        self.scheduler().into_iter().flat_map(|scheduler| &scheduler.classes).flat_map(|class| &class.queue)
    }

    /// Every packet that waits.
    pub fn waiting<'a>(&'a self, packets: &'a Slab) -> impl Iterator<Item = Departure> + 'a {
        self.queued().map(|waiting| {
            let packet = &packets[waiting.packet];
            Departure { from: waiting.from, length: packet.bytes(), kind: packet.flags.kind(), arrives: None }
        })
    }

    /// The place of every packet that waits.
    pub fn in_classes(&self) -> impl Iterator<Item = u32> {
        self.queued().map(|waiting| waiting.packet)
    }

    /// Statistics of the classes start now.
    pub(super) fn end_classes_warmup(&mut self, now: Time) {
        let (_, scheduler) = parts(&mut self.extras);
        scheduler.close_segment(now, self.busy_until, &mut self.histogram);
        scheduler.measured_from = now;
        scheduler.stalled = Time::ZERO;
        for class in &mut scheduler.classes {
            class.report = ClassReport { largest: class.bytes, ..ClassReport::default() };
        }
    }

    /// Opens a segment in a histogram that was cleared.
    pub(super) fn reopen(&mut self, now: Time) {
        let (_, scheduler) = parts(&mut self.extras);
        scheduler.open_segment(now, self.busy_until, &mut self.histogram);
    }

    /// Closes the statistics of the classes: how long the backlog stood still, what waits weighs, how many
    /// packets that is, and each class.
    pub(super) fn close_classes(&mut self, now: Time, packets: &Slab) -> Closing {
        let (_, scheduler) = parts(&mut self.extras);
        scheduler.close_segment(now, self.busy_until, &mut self.histogram);
        let mut reports = Vec::new();
        for class in &scheduler.classes {
            let pausing = class.paused_since.map_or(Time::ZERO, |since| now - since.max(scheduler.measured_from));
            reports.push(ClassReport { paused: class.report.paused + pausing, ..class.report });
        }
        Closing {
            stalled: scheduler.stalled,
            area: scheduler.area(now, self.config.clock, packets),
            packets: scheduler.classes.iter().map(|class| class.queue.len() as u64).sum(),
            reports,
        }
    }
}

/// What a port with classes has besides a queue: its congestion point, if there is one that is shown packets, and the classes.
#[inline]
fn parts(extras: &mut Option<Box<PortExtras>>) -> (&mut Option<Marker>, &mut Scheduler) {
    match extras.as_deref_mut() {
        Some(PortExtras { marker, scheduler, .. }) => (marker, scheduler),
        None => unreachable!("only a port with classes is asked to schedule"),
    }
}

/// What the classes of a port add to its report.
#[derive(Debug, Default)]
pub(super) struct Closing {
    pub stalled: Time,
    pub area: u128,
    pub packets: u64,
    pub reports: Vec<ClassReport>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::header::{Header, TcpAck};
    use crate::packet::{NIL, PACKET_KINDS, Packet};
    use crate::port::PortReport;
    use crate::port::admission::Outcome;
    use crate::port::scheduler::PacketKind::{Ack, Data};
    use crate::spec::network::{Marking, PortSpec, Shaper};
    use shallows_cc::pacer::PacerSpec;
    use shallows_cc::parameter::Values;
    use shallows_cc::port;
    use shallows_cc::port::Ecn;
    use shallows_cc::units::Rate;

    const RATE: Rate = Rate::from_gbps(10);

    #[test]
    fn a_packet_that_is_sent_at_once_needs_one_line_besides_its_ports() {
        let own_classes = std::mem::offset_of!(Scheduler, class_of) + KIND_BITS;
        assert!(own_classes <= 64, "{own_classes}");
        assert_eq!(std::mem::offset_of!(PortExtras, scheduler), 0);
        // Where it is shown to a congestion point or its class, two more.
        assert!(size_of::<Option<Marker>>() <= 64);
        assert_eq!(std::mem::offset_of!(PortExtras, marker) % 64, 0);
        assert_eq!(std::mem::offset_of!(Class, limit), 64);
        assert_eq!(size_of::<Class>(), 128);
    }

    /// A shaped class of acknowledgements before an open one of data.
    fn port(shaper: Shaper) -> Port {
        let (rate, delay) = (RATE, Time::ZERO);
        let spec = PortSpec { from: 0, to: 1, rate, delay, buffer: Bytes::MAX, marking: None, discipline: Some(0) };
        let class_of = PACKET_KINDS.map(|kind| u8::from(kind == Data));
        let shaped = ClassSpec { limit: Limit::Packets(8), shaper: Some(shaper), trims: false, turn: None };
        let open = ClassSpec { limit: Limit::Bytes(Bytes::MAX), shaper: None, trims: false, turn: None };
        let discipline = Discipline { classes: vec![shaped, open], class_of, priority: None, paced: None };
        Port::new(&spec, Bytes(1538)).scheduled(&discipline, Rng::new(1, 0))
    }

    fn enqueue(port: &mut Port, packets: &mut Slab, kind: PacketKind, length: u16) -> bool {
        let header = if kind == Ack { Header::TcpAck(TcpAck::default()) } else { Header::Bare };
        let at = packets.insert(Packet::new(0, Bytes(length.into()), Ecn::NotEct, &header), header);
        port.enqueue_class(Time::ZERO, Incoming { packet: at, from: NIL, class: ClassOverride::None }, packets).outcome
            == Outcome::Queued
    }

    /// Sends everything; when each packet began, and its kind.
    fn drain(port: &mut Port, packets: &mut Slab) -> Vec<(Time, PacketKind)> {
        let (mut sent, mut now) = (Vec::new(), Time::ZERO);
        loop {
            if let Some(packet) = port.dispatch(now, packets) {
                sent.push((now, packet.kind));
            }
            match port.next_wake() {
                Some(at) => now = at,
                None => return sent,
            }
            assert!(port.on_wake(now));
        }
    }

    /// A credit of 84 B for each frame of 1538 B: two at once from the bucket, then one every 1622 B times.
    #[test]
    fn tokens_space_out_what_is_shaped() {
        let mut packets = Slab::default();
        let rate = Rate(RATE.0 * 84 / 1622);
        let mut port = port(Shaper { rate, burst: Bytes(168), pacer: None });
        let fits = (0..10).filter(|_| enqueue(&mut port, &mut packets, Ack, 84)).count();
        assert_eq!(fits, 8);
        let begun: Vec<_> = drain(&mut port, &mut packets).iter().map(|(at, _)| at.0).collect();
        let (wire, spacing) = (67_200, 1_297_600);
        // The bucket is full again one spacing after each credit: the third waits for two of them, less the
        // one credit that the bucket may still owe.
        let expected: Vec<u64> = (0..8).map(|n: u64| if n < 2 { n * wire } else { (n - 1) * spacing }).collect();
        for (at, wanted) in begun.iter().zip(&expected) {
            assert!(at.abs_diff(*wanted) < 1000, "{begun:?} {expected:?}");
        }
    }

    #[test]
    fn the_first_class_goes_first_and_data_fills_the_gaps() {
        let mut packets = Slab::default();
        let mut port = port(Shaper { rate: Rate(RATE.0 * 84 / 1622), burst: Bytes(84), pacer: None });
        for _ in 0..3 {
            assert!(enqueue(&mut port, &mut packets, Data, 1538));
            assert!(enqueue(&mut port, &mut packets, Ack, 84));
        }
        let kinds: Vec<_> = drain(&mut port, &mut packets).iter().map(|(_, kind)| *kind).collect();
        assert_eq!(kinds, [Ack, Data, Ack, Data, Ack, Data]);
    }

    /// Feedback before data, which needs tokens if it is shaped, and a ramp from `kmin` on if it marks; where it does not count,
    /// every frame is shown to all of it.
    fn lossless(shaper: Option<Shaper>, marking: Option<(f64, MarkAt)>) -> Port {
        let (rate, delay) = (RATE, Time::from_micros(1));
        let spec = PortSpec { from: 0, to: 1, rate, delay, buffer: Bytes::MAX, marking: None, discipline: Some(0) };
        let class_of = PACKET_KINDS.map(|kind| 1 + u8::from(kind == Data));
        let class = ClassSpec { limit: Limit::Bytes(Bytes::MAX), shaper: None, trims: false, turn: None };
        let feedback = ClassSpec { shaper, ..class };
        let discipline = Discipline { classes: vec![class, feedback, class], class_of, priority: None, paced: None };
        let port = Port::new(&spec, Bytes(1538)).scheduled(&discipline, Rng::new(1, 0));
        let Some((kmin, at)) = marking else { return port };
        let mechanism = port::find("red").expect("a row");
        let mut values = Values::defaults(mechanism.parameters);
        for (name, value) in [("kmin", kmin), ("kmax", 10e3), ("pmax", 1.0)] {
            values.set(name, value).expect("a parameter");
        }
        port.marking(rate, &Marking { mechanism, values, at }, Rng::new(1, 1))
    }

    /// What it does with packets of all lengths that come one by one or many at once, while it is paused, slower, and after its
    /// warm-up.
    fn busy_for(rounds: u32, mut port: Port, counts: bool) -> (Vec<(Time, Option<Enqueued>)>, PortReport) {
        let (mut packets, mut draws, mut seen) = (Slab::default(), Rng::new(5, 0), Vec::new());
        let (mut now, mut wake) = (Time::ZERO, Time::MAX);
        for round in 0..rounds {
            let until = now + Time::from_nanos(draws.bits() % 3000);
            while wake <= until {
                now = std::mem::replace(&mut wake, Time::MAX);
                if port.on_wake(now) {
                    seen.extend(port.dispatch(now, &mut packets).map(|_| (now, None)));
                    wake = port.next_wake().unwrap_or(wake);
                }
            }
            now = until;
            match round {
                1000 | 5000 => port.pause(now, true),
                1500 | 5100 => port.pause(now, false),
                2000 => port.change(now, Change::Rate(Rate::from_gbps(5))),
                3000 => port.change(now, Change::Rate(RATE)),
                4000 => port.end_warmup(now, 0),
                _ => {}
            }
            if !counts {
                port.scheduler_mut().eligible = 0;
            }
            let feedback = 64 + draws.bits() % 80;
            let frames = [(Data, 1538), (Ack, 64), (Data, 64), (Data, 700), (Ack, feedback)];
            let (kind, length) = frames[draws.bits() as usize % 5];
            let header = if kind == Ack { Header::TcpAck(TcpAck::default()) } else { Header::Bare };
            let packet = packets.insert(Packet::new(0, Bytes(length), Ecn::Ect0, &header), header);
            let incoming = Incoming { packet, from: NIL, class: ClassOverride::None };
            let passed = port.send_if_idle(now, incoming, &mut packets);
            seen.push((now, passed));
            if passed.is_none() {
                seen.push((now, Some(port.enqueue_class(now, incoming, &mut packets))));
                seen.extend(port.dispatch(now, &mut packets).map(|_| (now, None)));
                wake = port.next_wake().unwrap_or(wake);
            }
        }
        let carried = port.carried();
        (seen, port.report(now, now, carried, &packets))
    }

    #[test]
    fn what_is_only_counted_adds_up_to_the_same() {
        let markings = [None, Some((1000.0, MarkAt::Enqueue)), Some((1000.0, MarkAt::Dequeue))];
        let runs = markings.iter().flat_map(|marking| [(1, *marking), (6000, *marking)]);
        let rate = Rate(RATE.0 / 20);
        let pacer = PacerSpec { eta: 0.5, beta: 1e5, period: Time::from_micros(10), least: rate, most: RATE };
        let shapers = [None, Some(pacer)].map(|pacer| Some(Shaper { rate, burst: Bytes(168), pacer }));
        for (shaper, (rounds, marking)) in
            runs.flat_map(|run| [None, shapers[0], shapers[1]].map(|shaper| (shaper, run)))
        {
            let (seen, report) = busy_for(rounds, lossless(shaper, marking), true);
            let (all_seen, all) = busy_for(rounds, lossless(shaper, marking), false);
            assert_eq!(seen, all_seen);
            assert_eq!(format!("{report:?}"), format!("{all:?}"));
            let passed = seen.iter().filter(|seen| seen.1.is_some()).count();
            assert!(rounds == 1 || passed > 3000, "{passed} passed");
            assert!(rounds == 1 || marking.is_none() || report.counters.marked > 10, "{report:?}");
        }
    }

    #[test]
    fn counts_of_16_bits_hold_any_number_of_frames() {
        let (mut port, mut packets) = (lossless(None, None), Slab::default());
        let at = packets.insert(Packet::new(0, Bytes(1538), Ecn::NotEct, &Header::Bare), Header::Bare);
        let times = 3 * u64::from(u16::MAX);
        for time in 0..times {
            port.send_if_idle(
                Time::from_micros(2 * time),
                Incoming { packet: at, from: NIL, class: ClassOverride::None },
                &mut packets,
            );
            port.link.take_off(NIL, &packets);
        }
        let end = Time::from_micros(2 * times);
        let report = port.report(end, end, port.carried(), &packets);
        assert_eq!((report.counters.sent, report.busy), (times, RATE.time_to_send(Bytes(1538)) * times));
    }

    #[test]
    fn a_paused_class_waits_and_its_backlog_stands_still() {
        let mut packets = Slab::default();
        let mut port = port(Shaper { rate: RATE, burst: Bytes(168), pacer: None });
        port.pause(Time::ZERO, true);
        assert!(enqueue(&mut port, &mut packets, Data, 1538));
        assert_eq!(port.dispatch(Time::ZERO, &mut packets), None);
        let later = Time::from_micros(10);
        assert_eq!(port.queue(later), Bytes(1538));
        port.pause(later, false);
        assert!(port.dispatch(later, &mut packets).is_some());
        let end = Time::from_micros(20);
        let report = port.report(end, end, port.carried(), &packets);
        let (paused, sending) = (later.0, RATE.time_to_send(Bytes(1538)).0);
        assert_eq!(report.classes[1].paused, later);
        assert_eq!(report.area, u128::from(sending) * u128::from(2 * paused + sending) / 2);
        assert_eq!(report.backlogs.total(), end);
    }
}
