//! The fast path: packets leave in the order in which they come, so each knows at once when.

use shallows_cc::units::{Bytes, Time};

use super::Port;
use super::admission::{Offered, Outcome, Reason};
use crate::ahead::fetch;
use crate::link::Link;
use crate::packet::{NIL, Packet, Slab};

impl Port {
    /// A packet is offered to a port without classes. One that is dropped is the caller's to free.
    #[inline]
    pub fn offer(&mut self, now: Time, at: u32, link: &mut Link, packets: &mut Slab) -> Offered {
        if self.special.is_some() {
            self.offer_shown(now, at, link, packets)
        } else {
            self.join(now, at, link, packets).0
        }
    }

    /// The same where a congestion point is shown the packet.
    #[inline(never)]
    fn offer_shown(&mut self, now: Time, at: u32, link: &mut Link, packets: &mut Slab) -> Offered {
        self.meet(now, at, packets);
        let (offered, queue) = self.join(now, at, link, packets);
        let joined = !matches!(offered.outcome, Outcome::Dropped(_));
        if joined
            && let Some(congestion) = self.congestion()
            && congestion.join(now, at, queue, packets)
        {
            self.counters.marked += 1;
            return Offered::queued(true, offered.arrives);
        }
        offered
    }

    /// A packet joins the queue, which it then makes this long.
    #[inline(always)]
    pub(crate) fn join(&mut self, now: Time, at: u32, link: &mut Link, packets: &mut [Packet]) -> (Offered, Bytes) {
        let packet = &mut packets[at as usize];
        let length = packet.bytes();
        let backlog = self.busy_until.saturating_sub(now);
        let queue = self.built.clock.bytes(backlog) + length;
        if queue > self.built.buffer {
            self.counters.dropped += 1;
            return (Offered::dropped(Reason::Full), queue);
        }
        let mut marked = false;
        if self.built.marking.marks(queue) {
            marked = packet.mark();
            self.counters.marked += u64::from(marked);
        }
        let sending = self.built.clock.time(length);
        let after = backlog + sending;
        self.busy_until = now + after;
        let arrives = self.busy_until + self.built.delay;
        (packet.arrives, packet.next) = (arrives, NIL);
        let arrives = link.append(at, arrives, packets);
        self.count(length, sending, backlog, after);
        (Offered::queued(marked, arrives), queue)
    }

    /// A packet will join.
    pub(crate) fn fetch(&self) {
        fetch(&self.busy_until);
        fetch(&self.counters);
    }

    /// One of this length will join then.
    pub(crate) fn fetch_bins(&self, then: Time, length: Bytes) {
        let backlog = self.busy_until.saturating_sub(then);
        self.histogram.fetch(backlog);
        self.histogram.fetch(backlog + self.built.clock.time(length));
    }

    /// Whether it is nothing but a queue of constant rate, whose packets may [`Self::join`] unseen.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.special.is_none()
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
