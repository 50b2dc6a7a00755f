//! Ports with classes: enqueueing into a class, and dispatching from the class that the scheduler picks.
//!
//! Whoever calls [`Port::dispatch`] asks [`Port::next_wake`] after it.

use shallows_cc::port::{HeadAction, MarkAt};
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};

use super::config::FULL;
use super::{Port, PortExtras};
use crate::packet::{Flags, PacketKind, Slab};
use crate::port::admission::{ClassOverride, Departure, DropReason, Enqueued, Incoming};
use crate::port::class::Waiting;
use crate::port::marker::{Look, Marker};
use crate::port::scheduler::Scheduler;
use crate::port::state::{Event, State};
use crate::spec::ports::Discipline;

impl Port {
    /// The same port with classes; `draws` are for this port alone.
    #[must_use]
    pub fn scheduled(mut self, discipline: &Discipline, draws: Rng) -> Self {
        self.extras().scheduler = Scheduler::new(discipline, draws);
        self.with_fast_path()
    }

    /// Whether the port has classes.
    #[inline]
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.scheduler().is_some()
    }

    pub(super) fn scheduler_mut(&mut self) -> &mut Scheduler {
        extras(&mut self.extras).1
    }

    /// Whether a packet of this kind would be sent at once.
    #[must_use]
    pub fn can_send(&self, now: Time, kind: PacketKind) -> bool {
        let Some(scheduler) = self.scheduler() else { return self.busy_until <= now };
        let fast = &scheduler.fast;
        if self.busy_until > now || fast.idle_until > now {
            return false;
        }
        let number = scheduler.class_for(Flags::of(kind), ClassOverride::None);
        if fast.work == Time::ZERO && fast.is_eligible(number, FULL) {
            return true;
        }
        let class = &scheduler.classes[number];
        class.queue.is_empty() && class.paused_since.is_none()
    }

    /// Backlog of the packet's class in bytes: queued frames plus the unsent part of the frame in transmission.
    #[must_use]
    pub fn held(&self, now: Time, flags: Flags, class: ClassOverride) -> Bytes {
        let Some(scheduler) = self.scheduler() else { return self.queue(now) };
        let class = scheduler.class_for(flags, class);
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
        #[cfg(debug_assertions)]
        {
            let next = self.state(now);
            assert!(before.allows(event, next), "{event:?} leads from {before:?} to {next:?}");
            self.scheduler_mut().assert_consistent();
        }
        _ = (now, before, event);
    }

    /// Sends a packet that finds the link free and nothing waiting, for which the port needs more than counters: one that may be
    /// marked, paused or short of tokens, or has an unusual length.
    #[inline(never)]
    pub(super) fn send_uncounted(&mut self, now: Time, incoming: Incoming, packets: &mut Slab) -> Option<Enqueued> {
        let before = self.state(now);
        let (marker, scheduler) = extras(&mut self.extras);
        let packet = &packets[incoming.packet];
        let length = packet.bytes();
        let chosen = scheduler.class_for(packet.flags, incoming.class);
        let queue = self.config.clock.bytes(self.config.clock.time(length));
        let may_reject = match marker {
            Some(marker) => marker.may_reject(queue, packet),
            None => self.config.marking.marks(queue) && packet.is_dropped_by(self.config.drops),
        };
        if may_reject {
            return None;
        }
        let class = &mut scheduler.classes[chosen];
        // A marker with times of its own may have to look first.
        let behind = marker.as_ref().is_some_and(Marker::is_behind);
        if class.paused_since.is_some() || !class.has_tokens(now, length) || !class.has_room(length, 0) || behind {
            return None;
        }
        class.send_directly(now, length);
        scheduler.fast.sending = chosen as u8;
        let sending = self.config.clock.time(length);
        let marked = match marker {
            Some(marker) => {
                marker.observe_arrival(now, incoming.packet, queue, packets);
                if marker.judges_heads {
                    marker.point.on_idle();
                }
                let joins = marker.at == MarkAt::Enqueue;
                let queue = if joins { self.config.clock.bytes(sending) } else { Bytes::ZERO };
                let look = Look { now, queue, class: chosen as u8 };
                marker.marks(look, (incoming.packet, packets), || scheduler.counted())
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
        self.assert_transition(now, before, Event::SendDirectly);
        Some(Enqueued::queued(marked, arrives))
    }

    /// Puts a packet into its class. If the class is full, a packet is trimmed or dropped.
    #[inline(always)]
    pub(super) fn enqueue_class(&mut self, now: Time, incoming: Incoming, packets: &mut Slab) -> Enqueued {
        let before = self.state(now);
        let Incoming { packet: at, from, class } = incoming;
        self.observe_arrival(now, at, packets);
        let (length, flags) = (packets[at].bytes(), packets[at].flags);
        let held = self.held(now, flags, class) + length;
        let Self { busy_until, config, extras: all, histogram, counters, .. } = self;
        let (marker, scheduler) = extras(all);
        let number = scheduler.class_for(flags, class);
        let being_sent = usize::from(*busy_until > now && scheduler.fast.is_sending(number));
        let class = &mut scheduler.classes[number];
        if !class.has_room(held, being_sent) {
            return self.overflow(now, incoming, packets);
        }
        let backlog = scheduler.fast.work + config.clock.time(length) + busy_until.saturating_sub(now);
        let look = Look { now, queue: config.clock.bytes(backlog), class: number as u8 };
        let rejected = match marker {
            Some(marker) => marker.rejects(look, &packets[at], || scheduler.counted()),
            None => config.marking.marks(look.queue) && packets[at].is_dropped_by(config.drops),
        };
        if rejected {
            scheduler.classes[number].report.dropped += 1;
            counters.dropped += 1;
            return Enqueued::dropped(DropReason::NotEcnCapable);
        }
        let class = &mut scheduler.classes[number];
        class.report.largest = class.report.largest.max(held);
        class.observe_arrival(length);
        class.queue.push_back(Waiting { packet: at, from, since: now });
        class.bytes += length;
        if class.queue.len() == 1 {
            let eligible = class.eligible_at(now.max(*busy_until), packets);
            scheduler.next.class = None;
            scheduler.next.at = scheduler.next.at.min(eligible.unwrap_or(Time::MAX));
        }
        scheduler.stalls.close(now, scheduler.fast.work, *busy_until, histogram);
        scheduler.fast.work += config.clock.time(length);
        scheduler.bytes += length;
        scheduler.stalls.open(now, scheduler.fast.work, *busy_until, histogram);
        let backlog = scheduler.fast.work + busy_until.saturating_sub(now);
        counters.largest = counters.largest.max(backlog);
        let queue = config.clock.bytes(backlog);
        let marked = match marker {
            Some(marker) => {
                let look = Look { now, queue, class: number as u8 };
                marker.at == MarkAt::Enqueue && marker.marks(look, (at, packets), || scheduler.counted())
            }
            None => config.marking.marks(queue) && packets[at].mark(),
        };
        counters.marked += u64::from(marked);
        self.assert_transition(now, before, Event::Enqueue);
        Enqueued::queued(marked, None)
    }

    /// Whether the link is free and, as far as is known, a packet may be sent.
    #[inline]
    #[must_use]
    pub fn is_due(&self, now: Time) -> bool {
        self.busy_until <= now && self.scheduler().is_some_and(|scheduler| scheduler.next.at <= now)
    }

    /// Removes data that is about to be sent, if the congestion point drops it. Marks it, if the point does so.
    pub fn drop_head(&mut self, now: Time, packets: &mut Slab) -> Option<(u32, Departure)> {
        if !self.scheduler()?.fast.judges_heads || !self.is_due(now) {
            return None;
        }
        self.scheduler_mut().catch_up_pacer(now);
        let chosen = self.scheduler_mut().pick_now(now, packets)?;
        let (marker, scheduler) = extras(&mut self.extras);
        let (marker, class) = (marker.as_mut()?, &mut scheduler.classes[chosen]);
        let Waiting { packet, since, .. } = *class.queue.front()?;
        match marker.judge_head((now, now - since), (chosen, class.bytes), &packets[packet]) {
            HeadAction::Send => return None,
            HeadAction::Mark => {
                self.counters.marked += u64::from(packets[packet].mark());
                return None;
            }
            HeadAction::Drop => class.report.dropped += 1,
        }
        self.counters.dropped += 1;
        let Waiting { packet, from, .. } = self.remove(now, (chosen, 0), packets);
        let (length, kind) = (packets[packet].bytes(), packets[packet].flags.kind());
        Some((packet, Departure { from, length, kind, arrives: None }))
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
        self.catch_up(now, packets);
        Some(self.send(now, chosen, packets))
    }

    #[inline(always)]
    fn send(&mut self, now: Time, chosen: usize, packets: &mut Slab) -> Departure {
        let before = self.state(now);
        let Self { busy_until, config, extras: all, work, histogram, counters, link, .. } = self;
        let (marker, scheduler) = extras(all);
        // The backlog stays the same when a queued packet begins to be sent; if it was falling, it goes on falling.
        let stalled = scheduler.stalls.is_stalled() || *busy_until < now;
        if stalled {
            scheduler.stalls.close(now, scheduler.fast.work, *busy_until, histogram);
        }
        let class = &mut scheduler.classes[chosen];
        let waiting = class.queue.pop_front().expect("a class is picked for its first packet");
        let packet = &packets[waiting.packet];
        let (length, kind) = (packet.bytes(), packet.flags.kind());
        let sending = config.clock.time(length);
        class.bytes -= length;
        class.report.sent += 1;
        class.consume_tokens(now, length);
        scheduler.fast.work -= sending;
        scheduler.bytes -= length;
        scheduler.fast.sending = chosen as u8;
        scheduler.count_turn(chosen);
        *busy_until = now + sending;
        if stalled {
            scheduler.stalls.open(now, scheduler.fast.work, *busy_until, histogram);
        }
        if let Some(marker) = marker.as_mut().filter(|marker| marker.at == MarkAt::Dequeue) {
            let look = Look { now, queue: scheduler.bytes, class: chosen as u8 };
            let marked = marker.marks(look, (waiting.packet, packets), || scheduler.counted());
            counters.marked += u64::from(marked);
        }
        let waited = scheduler.stalls.waited(now, waiting.since);
        counters.sent += 1;
        counters.sent_bytes += length.0;
        counters.sojourn += u128::from((now - waiting.since + sending).0);
        counters.area += u128::from(sending.0) * u128::from(2 * waited.0 + sending.0);
        *work += sending;
        let sent = *busy_until + scheduler.rest(*busy_until, sending, length);
        scheduler.reschedule(*busy_until, packets);
        let arrives = link.append(waiting.packet, sent + config.delay, packets);
        self.assert_transition(now, before, Event::Dispatch);
        Departure { from: waiting.from, length, kind, arrives }
    }

    /// The time at which the port, which has just been dispatched, wants to be dispatched again; `None` if the event queue
    /// already holds a wake for that time or an earlier one.
    #[inline]
    pub fn next_wake(&mut self) -> Option<Time> {
        let busy_until = self.busy_until;
        let scheduler = self.scheduler_mut();
        let wanted = scheduler.next.at.max(busy_until);
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
