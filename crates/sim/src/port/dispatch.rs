//! Ports with classes: enqueueing into a class, and dispatching from the class that the scheduler picks.
//!
//! A caller of [`Port::dispatch`] calls [`Port::next_wake`] after it.

use std::sync::Arc;

use shallows_cc::port::{HeadAction, MarkAt};
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};

use super::config::FULL;
use super::{Port, PortExtras};
use crate::packet::{Flags, Packet, Slab};
use crate::port::admission::{ClassOverride, Departure, DropReason, Enqueued, Incoming, Outcome, Removed};
use crate::port::class::{ClassTable, Waiting};
use crate::port::judge::Judge;
use crate::port::marker::{Look, Marker};
use crate::port::scheduler::Scheduler;
use crate::port::state::{Event, State};
use crate::spec::ports::Discipline;

impl Port {
    /// The same port with classes; `draws` are for this port alone.
    #[must_use]
    pub fn scheduled(mut self, discipline: &Discipline, draws: Rng) -> Self {
        self.extras().scheduler = Scheduler::new(discipline, draws);
        Arc::make_mut(&mut self.config).table = ClassTable::new(discipline);
        self.with_fast_path()
    }

    /// Whether the port has classes.
    #[inline]
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.scheduler().is_some()
    }

    /// The class of a packet, at a port with classes.
    #[inline]
    pub(super) fn class_for(&self, flags: Flags, class: ClassOverride) -> usize {
        self.config.table.class(flags, class)
    }

    #[inline]
    pub(super) fn scheduler_mut(&mut self) -> &mut Scheduler {
        extras(&mut self.extras).1
    }

    /// Whether a packet with these flags would be sent at once.
    #[must_use]
    pub fn can_send(&self, now: Time, flags: Flags) -> bool {
        let Some(scheduler) = self.scheduler() else { return self.busy_until <= now };
        let fast = &scheduler.fast;
        if self.busy_until > now || fast.idle_until > now {
            return false;
        }
        let number = self.class_for(flags, ClassOverride::None);
        if fast.work == Time::ZERO && fast.is_eligible(number, FULL) {
            return true;
        }
        let class = &scheduler.classes[number];
        class.queue.is_empty() && !class.is_paused()
    }

    /// Backlog of the packet's class in bytes: queued frames plus the unsent part of the frame in transmission.
    #[must_use]
    pub fn held(&self, now: Time, flags: Flags, class: ClassOverride) -> Bytes {
        if self.is_scheduled() { self.held_in(now, self.class_for(flags, class)) } else { self.queue(now) }
    }

    /// Backlog of a class in bytes.
    #[inline]
    fn held_in(&self, now: Time, class: usize) -> Bytes {
        let Some(scheduler) = self.scheduler() else { return Bytes::ZERO };
        let sending = if scheduler.fast.is_sending(class) { self.busy_until.saturating_sub(now) } else { Time::ZERO };
        scheduler.classes[class].bytes + self.config.clock.bytes(sending)
    }

    /// State of a port with classes, for assertions.
    #[inline(always)]
    pub(super) fn state(&mut self, now: Time) -> State {
        let busy_until = self.busy_until;
        self.scheduler_mut().state(now, busy_until)
    }

    /// In debug builds, panics if an event must not lead from the state `before` to the present one.
    #[inline(always)]
    pub(super) fn assert_transition(&mut self, now: Time, before: State, event: Event) {
        if cfg!(debug_assertions) {
            let next = self.state(now);
            assert!(before.allows(event, next), "{event:?} leads from {before:?} to {next:?}");
            self.scheduler_mut().assert_consistent();
        }
    }

    /// Sends a packet that finds the link free and nothing waiting, for which the port needs more than counters: one that may be
    /// marked, paused or short of tokens, or has an unusual length.
    #[inline(never)]
    pub(super) fn send_uncounted(&mut self, now: Time, incoming: Incoming, packets: &mut Slab) -> Option<Enqueued> {
        let before = self.state(now);
        let (of_port, scheduler) = extras(&mut self.extras);
        if scheduler.dual().is_some() {
            return None;
        }
        let Scheduler { fast, classes, .. } = scheduler;
        let packet = &packets[incoming.packet];
        let length = packet.bytes();
        let sending = self.config.clock.time(length);
        let chosen = self.config.table.class(packet.flags, incoming.class);
        let class = &mut classes[chosen];
        if class.is_policed {
            return None;
        }
        let marker = class.marker.as_deref_mut().or(of_port.as_mut());
        let queue = self.config.clock.bytes(sending);
        let may_reject = match &marker {
            Some(marker) => marker.may_reject(queue, packet),
            None => self.config.marking.marks(queue) && packet.is_dropped_by(self.config.drops),
        };
        if may_reject {
            return None;
        }
        // A marker with times of its own may have to look first.
        let behind = marker.as_ref().is_some_and(|marker| marker.is_behind())
            || of_port.as_ref().is_some_and(|marker| marker.is_behind());
        let held_back = class.is_paused() || class.is_storm();
        if behind || held_back || !class.has_tokens(now, length) || !class.has_room(length, 0) {
            return None;
        }
        class.send_directly(now, length, sending);
        fast.sending = chosen as u8;
        let marked = match class.marker.as_deref_mut().or(of_port.as_mut()) {
            Some(marker) => {
                marker.observe_arrival(now, incoming.packet, queue, packets);
                if marker.judges_heads {
                    marker.point.on_idle();
                }
                let queue = if marker.at == MarkAt::Enqueue { queue } else { Bytes::ZERO };
                let look = Look { now, queue, class: chosen as u8 };
                marker.marks(look, (incoming.packet, packets), || fast.counted())
            }
            None => self.config.marking.marks(queue) && packets[incoming.packet].mark(),
        };
        if class.marker.is_some()
            && let Some(of_port) = of_port
        {
            of_port.observe_arrival(now, incoming.packet, queue, packets);
            of_port.observe_departure(length);
        }
        self.recorder.record(Some(&mut class.report), Outcome::accepted(marked), &packets[incoming.packet]);
        self.busy_until = now + sending;
        let arrives = scheduler.arrives(self.busy_until, sending, length, self.config.delay);
        let arrives = self.link.append(incoming.packet, arrives, packets);
        match self.config.common(length) {
            Some((kind, _)) => self.count_idle(kind),
            None => self.count_unqueued(length, sending),
        }
        self.assert_transition(now, before, Event::SendDirectly);
        Some(Enqueued::queued(marked, arrives))
    }

    /// Puts a packet into its class. If the class is full, or its marker drops data that is not ECN-capable, a packet is trimmed or
    /// dropped.
    #[inline(always)]
    pub(super) fn enqueue_class(&mut self, now: Time, incoming: Incoming, packets: &mut Slab) -> Enqueued {
        let Incoming { packet: at, class, .. } = incoming;
        let (length, flags) = (packets[at].bytes(), packets[at].flags);
        let number = self.class_for(flags, class);
        if self.scheduler_mut().classes[number].is_policed
            && let Some(dropped) = self.police(now, number, &packets[at])
        {
            return dropped;
        }
        if self.scheduler_mut().has_markers {
            if self.scheduler_mut().dual().is_some() {
                return self.enqueue_dual(now, incoming, packets);
            }
            self.observe_class_arrival(now, number, at, packets);
        }
        let held = self.held_in(now, number) + length;
        let Self { busy_until, config, extras: all, .. } = self;
        let (of_port, scheduler) = extras(all);
        let class = &scheduler.classes[number];
        let has_room = class.has_room(held, usize::from(*busy_until > now && scheduler.fast.is_sending(number)));
        let own = scheduler.has_markers && class.marker.is_some();
        let backlog = scheduler.fast.work + config.clock.time(length) + busy_until.saturating_sub(now);
        let look = Look { now, queue: if own { held } else { config.clock.bytes(backlog) }, class: number as u8 };
        match Judge::of_class(number, config, of_port, scheduler).judge(look, has_room, (at, packets)) {
            Ok(marked) => self.join(now, (number, held), (incoming, marked), packets),
            Err(reason) => self.refuse(now, (number, incoming), reason, packets),
        }
    }

    /// Drops a packet that arrives for class `number`, if the class has a policer without tokens for it.
    #[cold]
    fn police(&mut self, now: Time, number: usize, packet: &Packet) -> Option<Enqueued> {
        let policer = self.scheduler_mut().classes[number].policer()?;
        if policer.admits(now, packet.bytes()) {
            return None;
        }
        self.record(number, Outcome::Dropped(DropReason::Policed), packet);
        Some(Enqueued::dropped(DropReason::Policed))
    }

    /// Puts a packet, newly marked or not, into a class that accepts it and then holds `held` bytes.
    #[inline(always)]
    pub(super) fn join(
        &mut self,
        now: Time,
        (number, held): (usize, Bytes),
        (incoming, marked): (Incoming, bool),
        packets: &mut Slab,
    ) -> Enqueued {
        let before = self.state(now);
        let Incoming { packet: at, from, .. } = incoming;
        let packet = &packets[at];
        let length = packet.bytes();
        let Self { busy_until, config, extras: all, histogram, recorder, .. } = self;
        let (_, scheduler) = extras(all);
        let Scheduler { fast, classes, next_at, next_class, waiting, stalls, bytes, .. } = scheduler;
        let class = &mut classes[number];
        class.report.largest = class.report.largest.max(held);
        class.observe_arrival(length);
        class.queue.push_back(Waiting { packet: at, from, since: now });
        *waiting |= 1 << number;
        class.bytes += length;
        if class.queue.len() == 1 {
            let eligible = class.eligible_at(now.max(*busy_until), packets);
            *next_class = None;
            *next_at = (*next_at).min(eligible.unwrap_or(Time::MAX));
        }
        stalls.close(now, fast.work, *busy_until, histogram);
        fast.work += config.clock.time(length);
        *bytes += length;
        stalls.open(now, fast.work, *busy_until, histogram);
        recorder.largest = recorder.largest.max(fast.work + busy_until.saturating_sub(now));
        let enqueued = Enqueued::queued(marked, None);
        recorder.record(Some(&mut class.report), enqueued.outcome, packet);
        self.assert_transition(now, before, Event::Enqueue);
        enqueued
    }

    /// Tells the marker of a packet that arrives, whether or not it is accepted.
    #[inline(always)]
    pub(super) fn observe_class_arrival(&mut self, now: Time, number: usize, at: u32, packets: &mut Slab) {
        if self.marker().is_some() {
            self.observe_arrival(now, at, packets);
        } else {
            self.catch_up(now, packets);
        }
        let queue = self.held_in(now, number) + packets[at].bytes();
        if let Some(marker) = &mut self.scheduler_mut().classes[number].marker {
            marker.observe_arrival(now, at, queue, packets);
        }
    }

    /// Whether the link is free and, as far as is known, a packet may be sent.
    #[inline]
    #[must_use]
    pub fn is_due(&self, now: Time) -> bool {
        self.busy_until <= now && self.scheduler().is_some_and(|scheduler| scheduler.next_at <= now)
    }

    /// Removes data that is about to be sent, if the congestion point drops it; trims it, if it may be trimmed. Marks it, if the point
    /// does so.
    #[inline(always)]
    pub fn remove_head(&mut self, now: Time, packets: &mut Slab) -> Option<(u32, Removed)> {
        if self.scheduler()?.judges_heads && self.is_due(now) { self.judge_head(now, packets) } else { None }
    }

    #[inline(never)]
    fn judge_head(&mut self, now: Time, packets: &mut Slab) -> Option<(u32, Removed)> {
        if self.scheduler_mut().dual().is_some() {
            return self.judge_dual(now, packets);
        }
        self.scheduler_mut().catch_up_pacer(now);
        let chosen = self.scheduler_mut().pick_now(now, packets)?;
        let (of_port, scheduler) = extras(&mut self.extras);
        let class = &mut scheduler.classes[chosen];
        let Waiting { packet, since, .. } = *class.queue.front()?;
        let marker = class.marker.as_deref_mut().or(of_port.as_mut()).filter(|marker| marker.judges_heads)?;
        match marker.judge_head((now, now - since), (chosen, class.bytes), &packets[packet]) {
            HeadAction::Send => return None,
            HeadAction::Mark => {
                self.mark_queued(chosen, &mut packets[packet]);
                return None;
            }
            HeadAction::Drop => {}
        }
        let flags = packets[packet].flags;
        if self.may_trim(chosen, flags) && self.has_room_for_header(now, flags) {
            self.trim_queued(now, (chosen, 0), packets);
            return Some((packet, Removed::Trimmed));
        }
        let (packet, dropped) = self.drop_queued(now, (chosen, 0), DropReason::StandingQueue, packets);
        Some((packet, Removed::Dropped(dropped)))
    }

    /// Marks a packet that waits in a class.
    pub(super) fn mark_queued(&mut self, class: usize, packet: &mut Packet) {
        if packet.mark() {
            self.record(class, Outcome::Marked, packet);
        }
    }

    /// Begins to send a packet, if the link is free and one may be sent.
    #[inline(always)]
    pub fn dispatch(&mut self, now: Time, packets: &mut Slab) -> Option<Departure> {
        if !self.is_due(now) {
            return None;
        }
        let scheduler = self.scheduler_mut();
        scheduler.catch_up_pacer(now);
        let chosen = scheduler.pick_now(now, packets)?;
        self.catch_up_markers(now, packets);
        Some(self.send(now, chosen, packets))
    }

    /// Tells the markers of a port with classes of all departures up to `now`. Markers are in cache lines that a port without any does
    /// not need.
    #[inline(always)]
    pub(super) fn catch_up_markers(&mut self, now: Time, packets: &mut Slab) {
        if self.scheduler_mut().has_markers {
            self.catch_up(now, packets);
        }
    }

    #[inline(always)]
    fn send(&mut self, now: Time, chosen: usize, packets: &mut Slab) -> Departure {
        let before = self.state(now);
        let Self { busy_until, config, extras: all, histogram, recorder, link, .. } = self;
        let (of_port, scheduler) = extras(all);
        // The backlog stays the same when a queued packet begins to be sent; if it was falling, it goes on falling.
        let stalled = scheduler.stalls.is_stalled() || *busy_until < now;
        if stalled {
            scheduler.stalls.close(now, scheduler.fast.work, *busy_until, histogram);
        }
        let class = &mut scheduler.classes[chosen];
        let waiting = class.queue.pop_front().expect("a class is picked for its first packet");
        if class.queue.is_empty() {
            scheduler.waiting &= !(1 << chosen);
        }
        let packet = &packets[waiting.packet];
        let (length, kind, traffic_class) = (packet.bytes(), packet.flags.kind(), packet.flags.class());
        let sending = config.clock.time(length);
        class.bytes -= length;
        class.consume_tokens(now, length);
        scheduler.fast.work -= sending;
        scheduler.bytes -= length;
        scheduler.fast.sending = chosen as u8;
        scheduler.count_turn(chosen, length);
        *busy_until = now + sending;
        if stalled {
            scheduler.stalls.open(now, scheduler.fast.work, *busy_until, histogram);
        }
        let Scheduler { fast, classes, bytes, stalls, has_markers, .. } = scheduler;
        let class = &mut classes[chosen];
        if *has_markers {
            let left_behind = if class.marker.is_some() { class.bytes } else { *bytes };
            if class.marker.is_some()
                && let Some(of_port) = of_port
            {
                of_port.observe_departure(length);
            }
            let marker = class.marker.as_deref_mut().or(of_port.as_mut());
            if let Some(marker) = marker.filter(|marker| marker.at == MarkAt::Dequeue) {
                let look = Look { now, queue: left_behind, class: chosen as u8 };
                if marker.marks(look, (waiting.packet, packets), || fast.counted()) {
                    recorder.record(Some(&mut class.report), Outcome::Marked, &packets[waiting.packet]);
                }
            }
        }
        let waited = stalls.waited(now, waiting.since);
        class.report.count(length, waited, sending, 1);
        recorder.send(length, sending, waited, now - waiting.since + sending);
        let arrives = scheduler.arrives(*busy_until, sending, length, config.delay);
        scheduler.reschedule(*busy_until, packets);
        let arrives = link.append(waiting.packet, arrives, packets);
        self.assert_transition(now, before, Event::Dispatch);
        Departure { from: waiting.from, length, kind, class: traffic_class, arrives }
    }

    /// The time at which the port, which has just been dispatched, wants to be dispatched again; `None` if the event queue
    /// already holds a wake for that time or an earlier one.
    #[inline]
    pub fn next_wake(&mut self) -> Option<Time> {
        let busy_until = self.busy_until;
        let scheduler = self.scheduler_mut();
        let wanted = scheduler.next_at.max(busy_until);
        (wanted < scheduler.wake).then(|| {
            scheduler.wake = wanted;
            wanted
        })
    }

    /// Takes note of a wake. Returns false for a stale one, which an earlier wake has replaced.
    pub fn on_wake(&mut self, now: Time) -> bool {
        let scheduler = self.scheduler_mut();
        let due = scheduler.wake == now;
        if due {
            scheduler.wake = Time::MAX;
        }
        due
    }
}

/// The marker and the scheduler of a port with classes.
#[inline]
pub(super) fn extras(extras: &mut Option<Box<PortExtras>>) -> (&mut Option<Marker>, &mut Scheduler) {
    match extras.as_deref_mut() {
        Some(PortExtras { marker, scheduler, .. }) => (marker, scheduler),
        None => unreachable!("only a port with classes has a scheduler"),
    }
}
