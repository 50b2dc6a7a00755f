//! A congestion point at work: what it is shown, and when.

use shallows_cc::port::{Arrival, CongestionPoint, MarkAt};
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};

use crate::packet::header::Header;
use crate::packet::{NIL, Slab};
use crate::port::clock::Clock;

/// A congestion point that is more than a step compared on joining.
#[derive(Debug)]
pub(super) struct Marker {
    pub point: Box<dyn CongestionPoint>,
    pub at: MarkAt,
    draws: Rng,
    /// How many draws have been for frames that a port only counts, since it counted anew.
    pub counted: u32,
    /// Whether it offers rates, and whether it writes those or records into headers.
    offers: bool,
    writes: bool,
    /// Whether it looks at times of its own.
    wakes: bool,
    /// What queue is too short to be shown to it.
    threshold: Bytes,
    /// Which packet leaves next.
    next: u32,
    /// Bytes that have begun to leave, and all that joined.
    departed: Bytes,
    joined: Bytes,
}

impl Marker {
    pub fn new(point: Box<dyn CongestionPoint>, at: MarkAt, draws: Rng) -> Self {
        let wakes = point.next_wake().is_some();
        let offers = point.offered_rate().is_some();
        let writes = offers || point.record(Time::ZERO, Bytes::ZERO).is_some();
        let threshold = point.never_marks_up_to().map_or(Bytes::ZERO, |longest| Bytes(longest.0.saturating_add(1)));
        Self {
            point,
            at,
            draws,
            counted: 0,
            offers,
            writes,
            wakes,
            threshold,
            next: NIL,
            departed: Bytes::ZERO,
            joined: Bytes::ZERO,
        }
    }

    /// A packet comes, whether or not there is room for it.
    #[inline(always)]
    pub fn observe_arrival(&mut self, at: u32, packets: &Slab) {
        if self.offers {
            self.count(at, packets);
        }
    }

    #[inline(never)]
    fn count(&mut self, at: u32, packets: &Slab) {
        let rtt = packets.header(at).query().map(|query| query.rtt).filter(|&rtt| rtt > Time::ZERO);
        self.point.on_arrival(packets[at].bytes(), rtt);
    }

    /// The next packet leaves; whether it is marked.
    fn leave(&mut self, now: Time, packets: &mut Slab) -> bool {
        let at = self.next;
        self.next = packets[at].next;
        self.departed += packets[at].bytes();
        let left_behind = self.joined - self.departed;
        self.at == MarkAt::Dequeue && self.marks(Look { now, queue: left_behind, class: 0 }, (at, packets), || 0)
    }

    /// Whether the point takes no notice of a frame that is sent at once and makes up all of this queue: it need not be shown
    /// that, but there is a draw for it ([`Self::skip_draws`]).
    pub fn is_below_threshold(&self, queue: Bytes) -> bool {
        let left = match self.at {
            MarkAt::Enqueue => queue,
            MarkAt::Dequeue => Bytes::ZERO,
        };
        !self.writes && !self.wakes && left < self.threshold
    }

    /// The port has counted so many frames that the point takes no notice of.
    #[inline]
    pub fn skip_draws(&mut self, counted: u32) {
        self.draws.skip(u64::from(counted - self.counted));
        self.counted = counted;
    }

    /// Shows the point a packet, where its port has `counted` so many that it took no notice of; whether the packet bears a new
    /// mark.
    #[inline(always)]
    pub fn marks(
        &mut self,
        Look { now, queue, class }: Look,
        (at, packets): (u32, &mut Slab),
        counted: impl Fn() -> u32,
    ) -> bool {
        if self.writes {
            self.write(now, queue, at, packets);
        }
        // One draw a packet, whatever the probability, so that nobody's draw depends on the queue that others met.
        if queue < self.threshold {
            self.draws.skip(1);
            return false;
        }
        self.skip_draws(counted());
        let packet = &mut packets[at];
        let arrival = Arrival { now, queue, class, length: packet.bytes(), ecn: packet.flags.ecn() };
        let marked = self.draws.uniform() < self.point.mark_probability(&arrival);
        marked && packet.mark()
    }

    /// Writes a record into the header of a packet, or the rate that is offered, where it asks for one.
    #[inline(never)]
    fn write(&self, now: Time, queue: Bytes, at: u32, packets: &mut Slab) {
        if let Header::IntData(_) = packets.header(at)
            && let Some(record) = self.point.record(now, queue)
        {
            packets.int_stack_mut(at).push(record);
        }
        if let Some(query) = packets.header_mut(at).query_mut()
            && let Some(rate) = self.point.offered_rate()
        {
            query.offered = query.offered.min(rate);
        }
    }

    /// A packet joins a queue that leaves in the order in which it came; whether it bears a new mark.
    pub fn enqueue(&mut self, now: Time, at: u32, queue: Bytes, packets: &mut Slab) -> bool {
        self.joined += packets[at].bytes();
        if self.next == NIL {
            self.next = at;
        }
        self.at == MarkAt::Enqueue && self.marks(Look { now, queue, class: 0 }, (at, packets), || 0)
    }

    /// The packet that leaves next.
    pub fn first_to_leave(&self) -> u32 {
        self.next
    }

    /// Whether anything may have happened that it has not been told.
    #[inline]
    pub fn is_behind(&self) -> bool {
        self.next != NIL || self.wakes
    }

    /// Feedback the point, in order, of all that has happened up to `now`: packets that began to leave, times at which it
    /// wanted to look. Nothing has joined since the last call, so the queue at any time follows from the end of the
    /// backlog. The number of packets that bear a new mark.
    #[inline(never)]
    pub fn catch_up(&mut self, now: Time, queue: &DrainingQueue, packets: &mut Slab) -> u64 {
        let mut marked = 0;
        loop {
            let begins = match self.next {
                NIL => Time::MAX,
                next => packets[next].arrives - queue.delay - queue.clock.time(packets[next].bytes()),
            };
            let wake = self.point.next_wake().unwrap_or(Time::MAX);
            if wake.min(begins) > now {
                return marked;
            }
            if wake > begins {
                marked += u64::from(self.leave(begins, packets));
                continue;
            }
            let backlog = queue.waiting + queue.busy_until.saturating_sub(wake);
            if backlog == Time::ZERO {
                self.point.skip_idle(now.min(begins));
            }
            let wake = self.point.next_wake().unwrap_or(wake);
            self.point.on_wake(wake, queue.clock.bytes(backlog));
        }
    }
}

/// The queue that a packet meets or leaves behind, of a class of the port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub now: Time,
    pub queue: Bytes,
    pub class: u8,
}

/// A queue into which nothing comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrainingQueue {
    pub busy_until: Time,
    /// What waits besides and does not drain.
    pub waiting: Time,
    pub delay: Time,
    pub clock: Clock,
}
