//! The marker of a port: shows packets to a congestion point, and marks them with the probability that it returns.

use shallows_cc::parameter::Values;
use shallows_cc::port::{Arrival, CongestionPoint, Drops, Ecn, Head, HeadAction, MarkAt};
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Rate, Time};

use crate::packet::header::{Header, RoceData};
use crate::packet::{NIL, Packet, PacketKind, Slab};
use crate::port::clock::Clock;

/// A congestion point other than a step at enqueue, with the state of its port. The flags say what the point does, so that it is
/// called only if necessary; hence the number of fields.
#[derive(Clone, Debug)]
pub(super) struct Marker {
    pub point: Box<dyn CongestionPoint>,
    pub at: MarkAt,
    /// The data that the point drops where it would mark other data.
    pub drops: Drops,
    draws: Rng,
    /// Whether chance has decided about a packet.
    pub drawn: bool,
    /// Draws skipped so far for frames that the port only counts, since it last flushed its counts.
    pub counted: u32,
    /// Whether the point offers rates, and whether it writes rates or records into headers.
    offers: bool,
    writes: bool,
    /// Whether the point wakes at times of its own.
    wakes: bool,
    /// Whether the point follows the queue that each packet meets, and whether it judges packets that are about to leave.
    averages: bool,
    pub judges_heads: bool,
    /// Queues shorter than this are never marked, and not shown to the point.
    threshold: Bytes,
    /// The packet that begins to be sent next.
    next: u32,
    /// Bytes that have joined the queue and not begun to be sent.
    waiting: Bytes,
}

impl Marker {
    pub fn new(point: Box<dyn CongestionPoint>, at: MarkAt, draws: Rng) -> Self {
        let wakes = point.next_wake().is_some();
        let offers = point.offered_rate().is_some();
        let writes = offers || point.record(Time::ZERO, Bytes::ZERO).is_some();
        let (averages, judges_heads) = (point.averages(), point.judges_heads());
        let threshold = first_marked(&*point);
        Self {
            point,
            at,
            drops: Drops::Nothing,
            draws,
            drawn: false,
            counted: 0,
            offers,
            writes,
            wakes,
            averages,
            judges_heads,
            threshold,
            next: NIL,
            waiting: Bytes::ZERO,
        }
    }

    /// Judges with these values of the parameters of its point from `now` on.
    pub fn retune(&mut self, now: Time, values: &Values, rate: Rate) {
        self.point.retune(now, values, rate);
        self.threshold = first_marked(&*self.point);
    }

    /// Tells the point of a packet that arrives, whether or not it is accepted; `queue` is the length of the queue with it.
    #[inline(always)]
    pub(crate) fn observe_arrival(&mut self, now: Time, at: u32, queue: Bytes, packets: &Slab) {
        if self.offers {
            self.count(at, packets);
        }
        if self.averages {
            self.point.on_queue(now, queue, packets[at].bytes());
        }
    }

    /// Asks the point about the first packet of a class, which has waited for `waited` and belongs to the `held` bytes of the
    /// class. Only data is marked or dropped.
    pub fn judge_head(
        &mut self,
        (now, waited): (Time, Time),
        (class, held): (usize, Bytes),
        packet: &Packet,
    ) -> HeadAction {
        let dropped = packet.is_dropped_by(self.drops);
        let markable = self.drops != Drops::All && matches!(packet.flags.ecn(), Ecn::Ect0 | Ecn::Ect1);
        if packet.flags.kind() != PacketKind::Data || !dropped && !markable {
            return HeadAction::Send;
        }
        let length = packet.bytes();
        let head = Head { now, waited, behind: held - length, class: class as u8, length, markable };
        self.point.on_head(&head)
    }

    #[inline(never)]
    fn count(&mut self, at: u32, packets: &Slab) {
        let rtt = packets.header(at).query().map(|query| query.rtt).filter(|&rtt| rtt > Time::ZERO);
        self.point.on_arrival(packets[at].bytes(), rtt);
    }

    /// Tells the point of a packet of this length that begins to be sent and that the marker of its class judges.
    pub(crate) fn observe_departure(&mut self, length: Bytes) {
        if self.writes {
            self.point.on_departure(length);
        }
    }

    /// Begins to send the next packet. Returns whether it is newly marked.
    fn leave(&mut self, now: Time, packets: &mut Slab) -> bool {
        let at = self.next;
        self.next = packets[at].next;
        self.waiting -= packets[at].bytes();
        let look = Look { now, queue: self.waiting, class: 0 };
        self.at == MarkAt::Dequeue && self.marks(look, (at, packets), || 0)
    }

    /// Whether a frame that is sent at once and makes up all of this queue is never marked. It need not be shown to the point, but one
    /// random draw is consumed for it ([`Self::skip_draws`]).
    pub fn is_below_threshold(&self, queue: Bytes) -> bool {
        let left = match self.at {
            MarkAt::Enqueue => queue,
            MarkAt::Dequeue => Bytes::ZERO,
        };
        let every = self.writes || self.wakes || self.averages || self.judges_heads;
        !every && left < self.threshold
    }

    /// Consumes the draws of frames that the port only counted, `counted` so far.
    #[inline]
    pub(crate) fn skip_draws(&mut self, counted: u32) {
        self.draws.skip(u64::from(counted - self.counted));
        self.counted = counted;
    }

    /// Shows a packet to the point and marks it with the probability that the point returns. Returns whether it is newly marked.
    /// `counted` is the number of frames that the port only counted.
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
        // One draw for each packet, so that the draws of a packet do not depend on the queues that others met.
        if queue < self.threshold || packets[at].is_dropped_by(self.drops) {
            self.draws.skip(1);
            return false;
        }
        self.skip_draws(counted());
        let packet = &mut packets[at];
        let arrival = Arrival { now, queue, class, length: packet.bytes(), ecn: packet.flags.ecn() };
        let marked = self.decides(&arrival) && packet.mark();
        if marked {
            self.point.on_signal();
        }
        marked
    }

    /// Draws whether a packet is to be marked, with the probability that the point returns.
    #[inline(always)]
    fn decides(&mut self, arrival: &Arrival) -> bool {
        let probability = self.point.mark_probability(arrival);
        self.drawn |= probability > 0.0 && probability < 1.0;
        self.draws.uniform() < probability
    }

    /// Returns whether [`Self::rejects`] may be true.
    #[inline]
    pub(crate) fn may_reject(&self, queue: Bytes, packet: &Packet) -> bool {
        queue >= self.threshold && packet.is_dropped_by(self.drops)
    }

    /// Returns whether a packet that would join a queue is dropped because it cannot be marked. What cannot be marked is
    /// dropped on arrival, whichever queue the point observes: a packet that leaves has taken its place in the queue already.
    #[inline]
    pub fn rejects(
        &mut self,
        Look { now, queue, class }: Look,
        packet: &Packet,
        counted: impl FnOnce() -> u32,
    ) -> bool {
        if !self.may_reject(queue, packet) {
            return false;
        }
        self.skip_draws(counted());
        let arrival = Arrival { now, queue, class, length: packet.bytes(), ecn: packet.flags.ecn() };
        let rejected = self.decides(&arrival);
        if rejected {
            self.point.on_signal();
        }
        rejected
    }

    /// Writes a record, or the offered rate, into the header of a packet that asks for it.
    #[inline(never)]
    fn write(&self, now: Time, queue: Bytes, at: u32, packets: &mut Slab) {
        if let Header::IntData(_) | Header::RoceData(RoceData { has_int: true, .. }) = packets.header(at)
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

    /// Tells the marker of a packet that joins a FIFO queue.
    pub(crate) fn join(&mut self, at: u32, length: Bytes) {
        self.waiting += length;
        if self.next == NIL {
            self.next = at;
        }
    }

    /// The packet that begins to be sent next.
    pub fn first_to_leave(&self) -> u32 {
        self.next
    }

    /// Whether departures or wakes may have happened since the last call of [`Self::catch_up`].
    #[inline]
    pub(crate) fn is_behind(&self) -> bool {
        self.next != NIL || self.wakes
    }

    /// Tells the point, in order, of all departures and wakes up to `now`. No packet has joined since the last call, so that the queue
    /// at any time follows from the end of the backlog. Packets that are newly marked are shown to `record`.
    #[inline(never)]
    pub fn catch_up(&mut self, now: Time, queue: &DrainingQueue, packets: &mut Slab, mut record: impl FnMut(&Packet)) {
        loop {
            let begins = match self.next {
                NIL => Time::MAX,
                next => packets[next].arrives - queue.delay - queue.clock.time(packets[next].bytes()),
            };
            let wake = self.point.next_wake().unwrap_or(Time::MAX);
            if wake.min(begins) > now {
                return;
            }
            if wake > begins {
                let leaving = self.next;
                if self.leave(begins, packets) {
                    record(&packets[leaving]);
                }
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

/// The shortest queue of which a point takes notice.
fn first_marked(point: &dyn CongestionPoint) -> Bytes {
    point.never_marks_up_to().map_or(Bytes::ZERO, |longest| Bytes(longest.0.saturating_add(1)))
}

/// The queue that a packet meets or leaves behind, of a class of the port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub now: Time,
    pub queue: Bytes,
    pub class: u8,
}

/// A queue that no packet joins.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrainingQueue {
    pub busy_until: Time,
    /// Time to send the packets in classes, which do not drain.
    pub waiting: Time,
    pub delay: Time,
    pub clock: Clock,
}
