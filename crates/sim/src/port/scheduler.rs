//! Scheduler of a port with classes: strict priority, pauses and shaping per class, and an optional weighted turn.
//!
//! Such a port does not know in advance what it sends next. Its packets wait in classes, in front of the FIFO that is the
//! transmitter and the wire, and the port needs wakes of its own on the event queue. [`state`](super::state) lists its states.
//! The backlog falls by one second a second while the link is busy and stays as it is while the port is stalled.

use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Rate, Time};

use crate::arch::prefetch::prefetch;
use crate::packet::Slab;
use crate::port::arrivals::Arrivals;
use crate::port::class::{Class, Waiting};
use crate::port::clock::Clock;
use crate::port::config::PortConfig;
use crate::port::dual::Dual;
use crate::port::marker::DrainingQueue;
use crate::port::pick::{Pick, Rounds, WeightedTurn, pick};
use crate::port::sharing::Sharing;
use crate::port::stall::StallRecord;
use crate::port::state::State;
use crate::spec::ports::Discipline;

/// Number of classes whose frames may only be counted: a fabric with pauses has three.
const COUNTED: usize = 3;

/// State for a packet that is sent without waiting: one cache line, apart from the rows of the table for class overrides.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct FastPath {
    /// Time to send all that waits.
    pub work: Time,
    /// The link rests until this time because it is slower than its rate; [`Time::MAX`] if it is down.
    pub idle_until: Time,
    /// By class and common length: frames sent without waiting that no other counter contains yet.
    pub idle_frames: [[u16; 2]; COUNTED],
    /// Two bits for each of those classes, one for each common length ([`Self::is_eligible`]).
    pub eligible: u8,
    /// Class of the packet that was sent last.
    pub sending: u8,
    /// Whether the port has classes.
    pub has_classes: bool,
    /// Whether the link is slower than its own rate, or frames arrive at other times than after its own delay. What it does then is in a
    /// cache line that few packets need.
    is_altered: bool,
}

impl FastPath {
    /// Whether a frame of this common length is sent at once and only counted, if nothing waits and the link is free.
    #[inline(always)]
    pub(crate) fn is_eligible(&self, class: usize, length: usize) -> bool {
        class < COUNTED && self.eligible >> (2 * class + length) & 1 > 0
    }

    /// Number of frames that have only been counted.
    pub fn counted(&self) -> u32 {
        self.idle_frames.as_flattened().iter().map(|&times| u32::from(times)).sum()
    }

    /// Whether the packet that was sent last was of this class.
    #[inline]
    pub(crate) fn is_sending(&self, class: usize) -> bool {
        usize::from(self.sending) == class
    }
}

/// The classes of a port and the state of its transmitter; without classes at a port with other extras.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Scheduler {
    pub fast: FastPath,
    /// The earliest time at which a packet may be sent, as far as is known.
    pub next_at: Time,
    /// The class to serve then; `None` if the choice has to be made at that time.
    pub next_class: Option<u8>,
    /// A bit for each class in which a packet waits.
    pub waiting: u16,
    /// The class of the host's pacer.
    paced: Option<u8>,
    /// Whether the port or a class has a marker.
    pub has_markers: bool,
    /// Whether a marker judges packets that are about to leave.
    pub judges_heads: bool,
    /// The earliest wake on the event queue.
    pub wake: Time,
    /// Length of all that waits.
    pub bytes: Bytes,
    pub classes: Box<[Class]>,
    pub stalls: StallRecord,
    pub turn: Option<WeightedTurn>,
    /// Whether markers of classes wake at times of their own.
    pub class_wakes: bool,
    /// How classes share the link; `None` if all classes have strict priority.
    pub sharing: Option<Box<Sharing>>,
    /// The rate of the link while it is slower than its own.
    slower: Option<Box<Clock>>,
    /// The arrivals of frames, once they are other than after the link's own delay.
    arrivals: Option<Box<Arrivals>>,
    /// End of the rest during which the link went down. Its frame is still on the wire, and no later one may overtake it.
    rested_until: Time,
    pub trimming: Trimming,
}

/// Random numbers that decide which packet is trimmed, the queued packets that have just been, and whether headers say that it was at the
/// last hop.
#[derive(Clone, Debug, Default)]
pub(super) struct Trimming {
    pub draws: Rng,
    /// Queued packets trimmed because of the last one that arrived, the newest first: one because its class was full, and one because
    /// the marker then refused it.
    pub trimmed: [Option<u32>; 2],
    pub last_hop: bool,
}

/// A stream of random numbers of a class of the port with these draws.
fn stream(mut draws: Rng, class: u64) -> Rng {
    Rng::new(draws.bits(), class)
}

impl Scheduler {
    pub fn new(discipline: &Discipline, draws: Rng) -> Self {
        Self {
            fast: FastPath { has_classes: true, ..FastPath::default() },
            next_at: Time::MAX,
            wake: Time::MAX,
            classes: discipline
                .classes
                .iter()
                .zip(0..)
                .map(|(class, key)| Class::new(class, stream(draws, key)))
                .collect(),
            turn: WeightedTurn::new(&discipline.classes),
            sharing: Sharing::of(discipline),
            paced: discipline.paced,
            trimming: Trimming { draws, ..Trimming::default() },
            ..Self::default()
        }
    }

    /// The law of a port with two queues for scalable and classic flows.
    pub fn dual(&self) -> Option<&Dual> {
        match self.sharing.as_deref() {
            Some(Sharing::Dual(dual)) => Some(dual),
            _ => None,
        }
    }

    /// The same, to change it, and the queues.
    pub fn dual_mut(&mut self) -> Option<(&mut Dual, &mut [Class])> {
        match self.sharing.as_deref_mut() {
            Some(Sharing::Dual(dual)) => Some((dual, &mut self.classes)),
            _ => None,
        }
    }

    /// Prefetches what every packet that waits changes, besides its class.
    pub(crate) fn prefetch(&self) {
        prefetch(&self.fast);
        prefetch(&self.classes);
    }

    /// State of the port, which `busy_until` and the queue determine.
    #[inline]
    pub fn state(&self, now: Time, busy_until: Time) -> State {
        if busy_until > now {
            State::Sending
        } else if self.fast.work == Time::ZERO {
            State::Idle
        } else {
            State::Stalled
        }
    }

    /// Panics if the sums do not agree with the classes.
    pub(crate) fn assert_consistent(&self) {
        let packets: usize = self.classes.iter().map(|class| class.queue.len()).sum();
        let waits = |number: usize| self.waiting >> number & 1 > 0;
        assert!(
            (0..).zip(&self.classes).all(|(number, class)| waits(number) != class.queue.is_empty()),
            "classes that wait"
        );
        assert_eq!(packets == 0, self.fast.work == Time::ZERO, "work without packets, or packets without work");
        assert_eq!(self.bytes, self.classes.iter().map(|class| class.bytes).sum(), "bytes of the classes");
        assert!(packets > 0 || self.next_at == Time::MAX, "a class is to be served and nothing waits");
    }

    /// Sets for each class whether it accepts a full frame, and a shortest one, that finds nothing before it, without a mark.
    pub fn set_accepts(&mut self, accepts: impl Fn(&Class) -> [bool; 2]) {
        for class in &mut self.classes {
            class.accepts = accepts(class);
        }
        self.update_eligible();
    }

    /// Works out which frames are only counted, after a pause or a change of the link.
    pub(crate) fn update_eligible(&mut self) {
        self.fast.eligible = 0;
        for (number, class) in self.classes.iter().enumerate().take(COUNTED) {
            let [full, shortest] = class.accepts.map(u8::from);
            if !self.fast.is_altered && class.is_unrestricted() {
                self.fast.eligible |= (shortest << 1 | full) << (2 * number);
            }
        }
    }

    /// Adds the frames that were only counted to the reports of their classes. Returns their lengths and numbers.
    pub fn flush_counts(&mut self, clock: Clock, lengths: [Bytes; 2]) -> Vec<(Bytes, u32)> {
        let mut all = Vec::new();
        for (class, idle_frames) in self.classes.iter_mut().zip(std::mem::take(&mut self.fast.idle_frames)) {
            let frames = lengths.into_iter().zip(idle_frames.map(u32::from));
            for (length, times) in frames.filter(|&(_, times)| times > 0) {
                class.report.count(length, Time::ZERO, clock.time(length), u64::from(times));
                class.report.largest = class.report.largest.max(length);
                all.push((length, times));
            }
        }
        all
    }

    /// Tells the markers of classes of their wakes up to `now`.
    #[inline(never)]
    pub(crate) fn catch_up_classes(&mut self, now: Time, busy_until: Time, config: &PortConfig, packets: &mut Slab) {
        let PortConfig { delay, clock, .. } = *config;
        // The marker of a class marks a packet when it joins its class or leaves it, never between.
        for (number, class) in self.classes.iter_mut().enumerate() {
            let Some(marker) = class.marker.as_mut().filter(|marker| marker.is_behind()) else { continue };
            let busy_until = if self.fast.is_sending(number) { busy_until } else { Time::ZERO };
            let queue = DrainingQueue { busy_until, waiting: clock.time(class.bytes), delay, clock };
            marker.catch_up(now, &queue, packets, |_| unreachable!("a class shows its packets when they leave"));
        }
    }

    /// Lets the pacer, if there is one, set its rate.
    #[inline]
    pub fn catch_up_pacer(&mut self, now: Time) {
        let class = self.paced.map(|paced| &mut self.classes[usize::from(paced)]);
        if let Some(class) = class {
            class.catch_up_pacer(now);
        }
    }

    /// The class to serve at `now`, or the first one that may be served later.
    #[inline(always)]
    fn pick(&self, now: Time, packets: &Slab) -> Pick {
        if self.fast.idle_until > now {
            return Pick { at: self.fast.idle_until, class: None };
        }
        let first = pick(now, self.turn, self.waiting, |class| self.classes[class].eligible_at(now, packets));
        match &self.sharing {
            Some(sharing) => self.pick_shared(sharing, first, (now, packets)),
            None => first,
        }
    }

    /// Picks again among the classes that share the link with the one that strict priority would serve.
    #[cold]
    #[inline(never)]
    fn pick_shared(&self, sharing: &Sharing, first: Pick, at: (Time, &Slab)) -> Pick {
        match sharing {
            Sharing::Weights(rounds) => self.pick_by_weight(rounds, first, at),
            Sharing::Dual(dual) => Pick { class: dual.pick(self.waiting), ..first },
        }
    }

    /// Picks again among the neighbours with weights.
    fn pick_by_weight(&self, rounds: &Rounds, first: Pick, (now, packets): (Time, &Slab)) -> Pick {
        match first.class {
            Some(class) if first.at <= now => {
                let classes = &self.classes;
                let length = |class: usize| {
                    (classes[class].eligible_at(now, packets)? <= now).then(|| classes[class].first_length(packets))
                };
                Pick { class: Some(rounds.next(class.into(), length) as u8), ..first }
            }
            // The choice between classes that may be served at the same time is made then.
            _ => Pick { class: None, ..first },
        }
    }

    /// The class to serve now; `None` if no packet may be sent yet.
    #[inline(always)]
    pub(crate) fn pick_now(&mut self, now: Time, packets: &Slab) -> Option<usize> {
        if self.next_at == now && self.next_class.is_some() {
            let cached = Pick { at: self.next_at, class: self.next_class };
            debug_assert_eq!(self.pick(now, packets), cached, "the cached choice is out of date");
            return self.next_class.map(usize::from);
        }
        let pick = self.pick(now, packets);
        if pick.at > now {
            self.cache(now, pick);
            return None;
        }
        pick.class.map(usize::from)
    }

    /// Stores the next choice, made for the time `made_for`. With a pacer, or with a turn and a choice for a later time, the class
    /// depends on what happens until then.
    #[inline(always)]
    fn cache(&mut self, made_for: Time, pick: Pick) {
        let is_final = self.paced.is_none() && (self.turn.is_none() || pick.at == made_for);
        let class = pick.class.filter(|_| is_final);
        (self.next_at, self.next_class) = (pick.at, class);
    }

    /// Works out the next choice, for the time `free` at which the link becomes free.
    #[inline(always)]
    pub fn reschedule(&mut self, free: Time, packets: &Slab) {
        let pick = if self.fast.work > Time::ZERO { self.pick(free, packets) } else { Pick::NONE };
        self.cache(free, pick);
    }

    /// Forgets the next choice, because the queue or what stalls it has changed.
    pub(crate) fn invalidate_next(&mut self) {
        self.next_at = if self.fast.work > Time::ZERO { Time::ZERO } else { Time::MAX };
        self.next_class = None;
    }

    /// Counts a packet of this class for its own turn, and for that of the classes after it.
    #[inline(always)]
    pub fn count_turn(&mut self, sent: usize, length: Bytes) {
        if let Some(sharing) = &mut self.sharing {
            sharing.charge(sent, length, self.waiting);
        }
        if let Some(turn) = &mut self.turn {
            turn.count(sent, self.waiting);
        }
    }

    /// Returns when a frame arrives that took `sending` until `busy_until`, over a link with this delay of its own. If the link is slower than
    /// its rate, it rests after the frame.
    #[inline]
    pub(crate) fn arrives(&mut self, busy_until: Time, sending: Time, length: Bytes, delay: Time) -> Time {
        if self.fast.is_altered { self.arrives_altered(busy_until, sending, length, delay) } else { busy_until + delay }
    }

    #[inline(never)]
    fn arrives_altered(&mut self, busy_until: Time, sending: Time, length: Bytes, delay: Time) -> Time {
        let mut sent = busy_until;
        if let Some(slower) = &self.slower {
            sent += slower.time(length) - sending;
            self.fast.idle_until = sent;
        }
        match &mut self.arrivals {
            Some(arrivals) => arrivals.next(sent, delay),
            None => sent + delay,
        }
    }

    /// The link has this rate from now on, of at most its `own`.
    pub fn change_rate(&mut self, rate: Rate, own: Clock) {
        self.slower = Some(Box::new(Clock::new(rate))).filter(|slower| slower.is_slower(own));
        self.fast.is_altered = self.slower.is_some() || self.arrivals.is_some();
    }

    /// The arrivals of frames, to change them. The last frame sent before the first change arrives at `last`.
    pub fn arrivals_mut(&mut self, last: Time) -> &mut Arrivals {
        self.fast.is_altered = true;
        self.arrivals.get_or_insert_with(|| Box::new(Arrivals::after(last)))
    }

    /// The arrivals of frames, if they are other than after the link's own delay, or have been.
    pub fn arrivals(&mut self) -> Option<&mut Arrivals> {
        self.arrivals.as_deref_mut()
    }

    /// When the newest of these frames arrives.
    pub fn last_arrival(&self) -> Option<Time> {
        self.arrivals.as_ref().map(|arrivals| arrivals.last())
    }

    /// When the last frame that the port has begun to send has left, at a port whose link is busy until then and is not down.
    pub fn sent_by(&self, busy_until: Time) -> Time {
        if self.fast.idle_until < Time::MAX { busy_until.max(self.fast.idle_until) } else { busy_until }
    }

    /// The link is down from now on.
    pub fn take_down(&mut self) {
        if self.fast.idle_until < Time::MAX {
            self.rested_until = std::mem::replace(&mut self.fast.idle_until, Time::MAX);
        }
    }

    /// The link is up again, and goes on with its rest. Nothing happens if it was up.
    pub(crate) fn bring_up(&mut self) {
        if self.fast.idle_until == Time::MAX {
            self.fast.idle_until = self.rested_until;
        }
    }

    /// Twice the integral of the backlog over time that the queued packets have contributed so far, in square picoseconds.
    pub fn area(&self, now: Time, clock: Clock, packets: &Slab) -> u128 {
        let waiting = self.classes.iter().flat_map(|class| &class.queue);
        let area = |waiting: &Waiting| {
            let sending = clock.time(packets[waiting.packet].bytes());
            2 * u128::from(sending.0) * u128::from(self.stalls.waited(now, waiting.since).0)
        };
        waiting.map(area).sum()
    }
}
