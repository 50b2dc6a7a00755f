//! The fast path: packets leave in the order in which they come, so each knows at once when.

use shallows_cc::units::{Bytes, Time};

use super::admission::{DropReason, Enqueued, Outcome};
use super::{Port, PortExtras};
use crate::arch::prefetch::prefetch;
use crate::packet::{Packet, Slab};

impl Port {
    /// A packet is offered to a port without classes. One that is dropped is the caller's to free.
    #[inline]
    pub fn enqueue(&mut self, now: Time, at: u32, packets: &mut Slab) -> Enqueued {
        if self.extras.is_some() { self.enqueue_marked(now, at, packets) } else { self.send_fifo(now, at, packets) }
    }

    /// The same where a congestion point is shown the packet.
    #[inline(never)]
    fn enqueue_marked(&mut self, now: Time, at: u32, packets: &mut Slab) -> Enqueued {
        self.observe_arrival(now, at, packets);
        let (enqueued, queue) = self.enqueue_fifo(now, at, packets);
        let joined = !matches!(enqueued.outcome, Outcome::Dropped(_));
        if joined
            && let Some(marker) = self.marker()
            && marker.enqueue(now, at, queue, packets)
        {
            self.counters.marked += 1;
            return Enqueued::queued(true, enqueued.arrives);
        }
        enqueued
    }

    /// A packet joins the queue, or is sent at once.
    #[inline(always)]
    pub(crate) fn send_fifo(&mut self, now: Time, at: u32, packets: &mut [Packet]) -> Enqueued {
        if self.busy_until <= now
            && let Some((kind, sending)) = self.config.common(packets[at as usize].bytes())
        {
            self.count_idle(kind);
            return Enqueued::queued(false, self.put_on(now + sending, at, packets));
        }
        self.enqueue_fifo(now, at, packets).0
    }

    /// A packet joins the queue, which it then makes this long.
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
            marked = packet.mark();
            self.counters.marked += u64::from(marked);
        }
        let sending = self.config.clock.time(length);
        let after = backlog + sending;
        let arrives = self.put_on(now + after, at, packets);
        self.count(length, sending, backlog, after);
        (Enqueued::queued(marked, arrives), queue)
    }

    /// Puts a packet that has been sent at `end` onto the wire; its arrival, if it is alone there.
    #[inline(always)]
    pub(super) fn put_on(&mut self, end: Time, at: u32, packets: &mut [Packet]) -> Option<Time> {
        self.busy_until = end;
        self.link.carry(at, end + self.config.delay, packets)
    }

    /// A packet will join.
    pub(crate) fn prefetch(&self) {
        prefetch(&self.busy_until);
    }

    /// One of this length will join then: where it finds a queue, it needs what is behind the first line.
    pub(crate) fn prefetch_queue(&self, then: Time, length: Bytes) {
        if self.busy_until > then {
            let backlog = self.busy_until - then;
            prefetch(&self.counters);
            self.histogram.prefetch(backlog);
            self.histogram.prefetch(backlog + self.config.clock.time(length));
        }
    }

    /// Whether it is nothing but a queue of constant rate, whose packets may [`Self::send_fifo`] unseen.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.extras.is_none()
    }

    /// A packet of a common length finds the port idle.
    #[inline(always)]
    pub(super) fn count_idle(&mut self, kind: usize) {
        self.idle_frames[kind] += 1;
        if self.idle_frames[kind] == u32::MAX {
            self.flush_counts();
        }
    }

    /// Works out what the frames that have only been counted add up to.
    #[cold]
    pub(super) fn flush_counts(&mut self) {
        let lengths = self.config.common.map(|common| common.0);
        lengths
            .into_iter()
            .zip(std::mem::take(&mut self.idle_frames))
            .for_each(|idle_frames| self.add_idle_frames(idle_frames));
        if let Some(PortExtras { scheduler, marker, .. }) = self.extras.as_deref_mut() {
            if let Some(marker) = marker {
                marker.skip_draws(scheduler.counted());
                marker.counted = 0;
            }
            scheduler.flush_counts(lengths).into_iter().for_each(|idle_frames| self.add_idle_frames(idle_frames));
        }
    }

    /// So many frames of this length have found it idle.
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

    /// A packet that takes `sending` raises the backlog from `backlog` to `after`.
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
