//! Entry into a port, and the queue of a port without classes: packets leave in the order of arrival, so that the departure of
//! each is known when it arrives.

use shallows_cc::units::{Bytes, Time};

use super::Port;
use crate::packet::{Packet, Slab};
use crate::port::admission::{DropReason, Enqueued, Incoming, Outcome};
use crate::port::counters::Accepted;
use crate::port::judge::Judge;
use crate::port::marker::Look;

impl Port {
    /// Sends a packet that finds the link free and nothing waiting: the fast path of a port with classes. Returns `None` if the packet
    /// has to be enqueued.
    #[inline(always)]
    pub fn send_if_idle(&mut self, now: Time, incoming: Incoming, packets: &mut Slab) -> Option<Enqueued> {
        if self.busy_until > now {
            return None;
        }
        let packet = &packets[incoming.packet];
        let common = self.config.common(packet.bytes());
        let scheduler = &mut self.extras.as_deref_mut()?.scheduler;
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
        self.busy_until = now + sending;
        Some(self.put_onto_link(Outcome::Queued, incoming.packet, packets))
    }

    /// Puts a packet into the port. A dropped packet is the caller's to free.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, incoming: Incoming, packets: &mut Slab) -> Enqueued {
        let at = incoming.packet;
        if self.is_plain() {
            // Each way puts it onto the link by itself: what the fast path knows of the packet stays in registers.
            if let Some(sending) = self.sending_if_idle(now, &packets[at]) {
                self.busy_until = now + sending;
                return self.put_onto_link(Outcome::Queued, at, packets);
            }
            let outcome = self.enqueue_fifo::<false>(now, at, packets);
            self.put_onto_link(outcome, at, packets)
        } else if self.is_scheduled() {
            self.enqueue_class(now, incoming, packets)
        } else {
            self.enqueue_observed(now, at, packets)
        }
    }

    /// Counts a frame of a common length that finds a plain port idle. Returns the time to send it.
    #[inline(always)]
    fn sending_if_idle(&mut self, now: Time, packet: &Packet) -> Option<Time> {
        if self.busy_until > now {
            return None;
        }
        let (length, sending) = self.config.common(packet.bytes())?;
        self.count_idle(length);
        Some(sending)
    }

    /// Puts a packet into the queue and shows it to the marker.
    #[inline(never)]
    fn enqueue_observed(&mut self, now: Time, at: u32, packets: &mut Slab) -> Enqueued {
        self.observe_arrival(now, at, packets);
        let outcome = self.enqueue_fifo::<true>(now, at, packets);
        self.put_onto_link(outcome, at, packets)
    }

    /// Puts a packet into the queue, which a marker observes or not, or drops it. The backlog then ends with the packet.
    // The outcome alone is returned, in a register: a larger value would be in memory on the fast path as well.
    #[inline(never)]
    fn enqueue_fifo<const OBSERVED: bool>(&mut self, now: Time, at: u32, packets: &mut Slab) -> Outcome {
        let length = packets[at].bytes();
        let backlog = self.busy_until.saturating_sub(now);
        let queue = self.config.clock.bytes(backlog) + length;
        let has_room = queue <= self.config.buffer;
        let extras = if OBSERVED { self.extras.as_mut() } else { None };
        let marker = extras.and_then(|extras| extras.marker.as_mut());
        let mut judge = Judge { config: &self.config, marker, fast: None };
        let marked = match judge.judge(Look { now, queue, class: 0 }, has_room, (at, packets)) {
            Ok(marked) => marked,
            Err(reason) => {
                self.recorder.record(None, Outcome::Dropped(reason), &packets[at]);
                return Outcome::Dropped(reason);
            }
        };
        if let Some(marker) = judge.marker {
            marker.join(at, length);
        }
        let sending = self.config.clock.time(length);
        self.busy_until = now + backlog + sending;
        self.recorder.accept(self.config.measured, Accepted { now, length, sending, backlog, marked });
        self.histogram.end(backlog);
        self.histogram.begin(backlog + sending);
        Outcome::accepted(marked)
    }

    /// Puts a packet, unless it is dropped, onto the wire, after all others of the backlog.
    #[inline(always)]
    fn put_onto_link(&mut self, outcome: Outcome, at: u32, packets: &mut [Packet]) -> Enqueued {
        if let Outcome::Dropped(reason) = outcome {
            return Enqueued::dropped(reason);
        }
        Enqueued { outcome, arrives: self.link.carry(at, self.busy_until + self.config.delay, packets) }
    }

    /// Drops a packet that its switch does not let into the port. The markers of classes observe one that the shared memory has no room
    /// for, as they observe one that finds its class full.
    pub fn drop_unadmitted(
        &mut self,
        now: Time,
        incoming: Incoming,
        reason: DropReason,
        packets: &mut Slab,
    ) -> Enqueued {
        let Incoming { packet: at, class, .. } = incoming;
        let class = self.class_for(packets[at].flags, class);
        if reason == DropReason::BufferFull {
            self.observe_class_arrival(now, class, at, packets);
        }
        self.record(class, Outcome::Dropped(reason), &packets[at]);
        Enqueued::dropped(reason)
    }

    /// Records a header that returns to its sender because it found no room.
    pub fn record_returned(&mut self, packet: &Packet) {
        self.record(0, Outcome::Returned, packet);
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
            self.recorder.send_idle(length, sending, times);
            self.histogram.begin_times(sending, times);
        }
    }

    /// Counts a packet of an unusual length that finds the port idle.
    pub(super) fn count_unqueued(&mut self, length: Bytes, sending: Time) {
        self.recorder.send(length, sending, Time::ZERO, sending);
        self.recorder.largest = self.recorder.largest.max(sending);
        self.histogram.begin(sending);
    }
}
