//! Entry into a port, and the queue of a port without classes: packets leave in the order of arrival, so that the departure of
//! each is known when it arrives.

use shallows_cc::units::{Bytes, Time};

use super::Port;
use crate::packet::{Packet, Slab};
use crate::port::admission::{ClassOverride, DropReason, Enqueued, Incoming, Outcome};
use crate::port::counters::Late;
use crate::port::marker::Look;

impl Port {
    /// Sends a packet that finds the link free and nothing waiting: the fast path. Returns `None` if the packet has to be
    /// enqueued.
    #[inline(always)]
    pub fn send_if_idle(&mut self, now: Time, incoming: Incoming, packets: &mut Slab) -> Option<Enqueued> {
        if self.busy_until > now {
            return None;
        }
        let packet = &packets[incoming.packet];
        let common = self.config.common(packet.bytes());
        let sending = match self.extras.as_deref_mut() {
            None => {
                let (length, sending) = common?;
                self.count_idle(length);
                sending
            }
            Some(extras) => {
                let scheduler = &mut extras.scheduler;
                let fast = &mut scheduler.fast;
                if !fast.has_classes || fast.work > Time::ZERO || fast.idle_until > now {
                    return None;
                }
                let class = self.config.table.class(packet.flags, incoming.class);
                let Some((length, sending)) = common.filter(|&(length, _)| fast.is_eligible(class, length)) else {
                    return self.send_uncounted(now, incoming, packets);
                };
                fast.sending = class as u8;
                fast.idle_frames[class][length] += 1;
                if fast.idle_frames[class][length] == u16::MAX {
                    self.flush_counts();
                }
                sending
            }
        };
        Some(Enqueued::queued(false, self.transmit(now + sending, incoming.packet, packets)))
    }

    /// Puts a packet into the port. A dropped packet is the caller's to free.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, incoming: Incoming, packets: &mut Slab) -> Enqueued {
        if self.is_plain() {
            let enqueued = self.send_if_idle(now, incoming, packets);
            enqueued.unwrap_or_else(|| self.enqueue_fifo(now, incoming.packet, packets).0)
        } else if self.is_scheduled() {
            self.enqueue_class(now, incoming, packets)
        } else {
            self.enqueue_observed(now, incoming.packet, packets)
        }
    }

    /// Puts a packet into the queue and shows it to the marker.
    #[inline(never)]
    fn enqueue_observed(&mut self, now: Time, at: u32, packets: &mut Slab) -> Enqueued {
        self.observe_arrival(now, at, packets);
        let queue = self.queue(now) + packets[at].bytes();
        let look = Look { now, queue, class: 0 };
        if self.marker().is_some_and(|marker| marker.rejects(look, &packets[at], || 0)) {
            self.counters.dropped += 1;
            return Enqueued::dropped(DropReason::NotEcnCapable);
        }
        let (enqueued, queue) = self.enqueue_fifo(now, at, packets);
        let accepted = !matches!(enqueued.outcome, Outcome::Dropped(_));
        if accepted
            && let Some(marker) = self.marker()
            && marker.enqueue(now, at, queue, packets)
        {
            self.counters.marked += 1;
            let (begins, _) = self.sending_of(&packets[at]);
            self.count_late([now, begins], || Late { marked: 1, ..Late::default() });
            return Enqueued::queued(true, enqueued.arrives);
        }
        enqueued
    }

    /// Puts a packet into the queue, or drops it. Returns the length of the queue with the packet as well.
    #[inline]
    fn enqueue_fifo(&mut self, now: Time, at: u32, packets: &mut [Packet]) -> (Enqueued, Bytes) {
        let packet = &mut packets[at as usize];
        let length = packet.bytes();
        let backlog = self.busy_until.saturating_sub(now);
        let queue = self.config.clock.bytes(backlog) + length;
        if queue > self.config.buffer {
            self.counters.dropped += 1;
            return (Enqueued::dropped(DropReason::QueueFull), queue);
        }
        let mut marked = false;
        if self.config.marking.marks(queue) {
            if packet.is_dropped_by(self.config.drops) {
                self.counters.dropped += 1;
                return (Enqueued::dropped(DropReason::NotEcnCapable), queue);
            }
            marked = packet.mark();
            self.counters.marked += u64::from(marked);
        }
        let sending = self.config.clock.time(length);
        let after = backlog + sending;
        self.count_late([now, now + backlog], || Late {
            sent: 1,
            sent_bytes: length.0,
            sojourn: after.0.into(),
            marked: marked.into(),
        });
        let arrives = self.transmit(now + after, at, packets);
        self.count(length, sending, backlog, after);
        (Enqueued::queued(marked, arrives), queue)
    }

    /// Counts apart what a packet adds to the counters, if it joins the queue and begins to be sent at times of which only the second is
    /// after the warm-up, or after the run.
    #[inline(always)]
    fn count_late(&mut self, [joins, begins]: [Time; 2], late: impl FnOnce() -> Late) {
        let [from, to] = self.config.measured;
        if begins >= to || joins < from && begins >= from {
            self.add_late([joins, begins], late());
        }
    }

    #[cold]
    fn add_late(&mut self, [joins, begins]: [Time; 2], late: Late) {
        let [from, to] = self.config.measured;
        let is_late = [joins < from && begins >= from, begins >= to];
        let all = &mut self.warmup.get_or_insert_default().late;
        all.iter_mut().zip(is_late).filter(|&(_, is_late)| is_late).for_each(|(sum, _)| *sum += late);
    }

    /// Puts a packet that has been sent at `end` onto the wire. Returns its arrival if the link was empty.
    #[inline(always)]
    fn transmit(&mut self, end: Time, at: u32, packets: &mut [Packet]) -> Option<Time> {
        self.busy_until = end;
        self.link.carry(at, end + self.config.delay, packets)
    }

    /// Counts a packet that is dropped before it reaches the queue, which the marker observes.
    pub fn drop_unadmitted(&mut self, now: Time, at: u32, packets: &mut Slab) {
        if self.is_scheduled() {
            let number = self.class_for(packets[at].flags, ClassOverride::None);
            self.observe_class_arrival(now, number, at, packets);
            self.scheduler_mut().classes[number].report.dropped += 1;
        } else {
            self.observe_arrival(now, at, packets);
        }
        self.counters.dropped += 1;
    }

    /// Counts a header that finds no room and cannot return to its sender.
    pub fn drop_header(&mut self) {
        self.counters.dropped += 1;
    }

    /// Whether the port is a FIFO that marks at most by a step, over a wire without faults.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.extras.is_none()
    }

    /// Counts a frame of a common length that finds the port idle.
    #[inline(always)]
    pub(super) fn count_idle(&mut self, length: usize) {
        self.idle_frames[length] += 1;
        if self.idle_frames[length] == u32::MAX {
            self.flush_counts();
        }
    }

    /// Adds the frames that were only counted to the other counters.
    #[cold]
    pub(super) fn flush_counts(&mut self) {
        let lengths = self.config.common_lengths();
        lengths.into_iter().zip(std::mem::take(&mut self.idle_frames)).for_each(|frames| self.add_idle_frames(frames));
        if let Some(extras) = self.extras.as_deref_mut() {
            if let Some(marker) = &mut extras.marker {
                marker.skip_draws(extras.scheduler.fast.counted());
                marker.counted = 0;
            }
            extras
                .scheduler
                .flush_counts(self.config.clock, lengths)
                .into_iter()
                .for_each(|frames| self.add_idle_frames(frames));
        }
    }

    /// Adds so many frames of this length that found the port idle.
    fn add_idle_frames(&mut self, (length, times): (Bytes, u32)) {
        if times > 0 {
            let sending = self.config.clock.time(length);
            let all = sending * u64::from(times);
            self.counters.sent += u64::from(times);
            self.counters.sent_bytes += length.0 * u64::from(times);
            self.counters.sojourn += u128::from(all.0);
            self.counters.area += u128::from(all.0) * u128::from(sending.0);
            self.counters.largest = self.counters.largest.max(sending);
            self.work += all;
            self.histogram.begin_times(sending, times);
        }
    }

    /// Counts a packet that takes `sending` and raises the backlog from `backlog` to `after`.
    #[inline(always)]
    pub(super) fn count(&mut self, length: Bytes, sending: Time, backlog: Time, after: Time) {
        self.counters.sent += 1;
        self.counters.sent_bytes += length.0;
        self.counters.sojourn += u128::from(after.0);
        self.counters.area += u128::from(sending.0) * u128::from(backlog.0 + after.0);
        self.work += sending;
        if after > self.counters.largest {
            self.counters.largest = after;
        }
        self.histogram.end(backlog);
        self.histogram.begin(after);
    }
}
