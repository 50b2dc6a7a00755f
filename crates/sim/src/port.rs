//! An egress port and the link behind it: finite FIFO, constant rate, marking, delivery in order.
//!
//! A packet's departure is known when it arrives, so a port keeps no queue of its own: the packets that wait
//! in it and those on the wire are one list, and the backlog is a time.
//!
//! The queue counts bytes on the wire; the packet being sent counts by what is left of it. A packet that
//! departs in the same picosecond as another arrives has departed.

use shallows_cc::draws::Draws;
use shallows_cc::port::step::Step;
use shallows_cc::port::{CongestionPoint, MarkAt};
use shallows_cc::units::{Bytes, Rate, Time};

use crate::clock::Clock;
use crate::histogram::{Distribution, Histogram};
use crate::network::{Marking, PortSpec};
use crate::packet::{Flags, NIL, Packet, Slab};

pub mod classes;

use classes::{ClassReport, Classes, Closing};

/// A congestion point that is more than a step compared on joining.
#[derive(Debug)]
struct Congestion {
    point: Box<dyn CongestionPoint>,
    at: MarkAt,
    draws: Draws,
    /// Whether it offers rates.
    offers: bool,
    /// Whether it looks at times of its own.
    wakes: bool,
    /// Which packet leaves next.
    next: u32,
    /// Bytes that have begun to leave, and all that joined.
    departed: Bytes,
    enqueued: Bytes,
}

impl Congestion {
    fn new(point: Box<dyn CongestionPoint>, at: MarkAt, draws: Draws) -> Self {
        let wakes = point.next_wake().is_some();
        let offers = point.offer().is_some();
        Self { point, at, draws, offers, wakes, next: NIL, departed: Bytes::ZERO, enqueued: Bytes::ZERO }
    }

    /// A packet comes, whether or not there is room for it.
    fn meet(&mut self, packet: &Packet) {
        if self.offers {
            let rtt = (asks_rate(packet) && packet.held > Time::ZERO).then_some(packet.held);
            self.point.on_arrival(packet.bytes(), rtt);
        }
    }

    /// The next packet leaves; whether it is marked.
    fn leave(&mut self, now: Time, packets: &mut Slab) -> bool {
        let packet = &mut packets[self.next];
        self.next = packet.next;
        self.departed += packet.bytes();
        let left_behind = self.enqueued - self.departed;
        self.at == MarkAt::Dequeue && self.marks(now, left_behind, packet)
    }

    /// Shows the point a packet; whether the packet bears a new mark.
    fn marks(&mut self, now: Time, queue: Bytes, packet: &mut Packet) -> bool {
        let marked = self.point.on_packet(now, queue, packet.bytes(), &mut || self.draws.uniform());
        let marked = marked && packet.flags.has(Flags::ECT) && !packet.flags.has(Flags::CE);
        packet.flags = packet.flags.with(Flags::CE, marked);
        if self.offers
            && asks_rate(packet)
            && let Some(rate) = self.point.offer()
        {
            packet.set_offered(packet.offered().min(rate));
        }
        marked
    }
}

/// What a port counts. Reset at the end of the warm-up, except what the books need in whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets accepted.
    pub sent: u64,
    /// Their length.
    pub sent_bytes: u64,
    /// Packets marked here.
    pub marked: u64,
    /// Packets that found no room.
    pub dropped: u64,
    /// Sum of the times from arrival to departure, in picoseconds.
    pub sojourn: u128,
    /// Twice the integral of the backlog over time, in square picoseconds, once every segment has ended.
    area: u128,
    /// Time to send everything accepted.
    work: Time,
}

/// An egress port with its link.
#[derive(Debug)]
#[repr(align(64))]
pub struct Port {
    busy_until: Time,
    clock: Clock,
    delay: Time,
    buffer: Bytes,
    marking: Step,
    head: u32,
    tail: u32,
    /// The node at the other end.
    pub to: u32,
    congestion: Option<Box<Congestion>>,
    /// Where packets wait if they do not leave in the order in which they came.
    classes: Option<Box<Classes>>,
    counters: Counters,
    largest: Time,
    histogram: Histogram,
    fingerprint: u64,
    delivered: u64,
    in_warmup: Counters,
    /// Backlog when the warm-up ended.
    from_warmup: Time,
}

impl Port {
    /// An idle port that does not mark; `mtu` sets how finely its queue is recorded.
    #[must_use]
    pub fn new(spec: &PortSpec, mtu: Bytes) -> Self {
        let clock = Clock::new(spec.rate);
        let largest = if spec.buffer == Bytes::MAX { Time::ZERO } else { clock.time(spec.buffer) };
        let mut histogram = Histogram::new(clock.time(mtu), largest);
        histogram.begin(Time::ZERO);
        Self {
            busy_until: Time::ZERO,
            clock,
            delay: spec.delay,
            buffer: spec.buffer,
            marking: Step::NEVER,
            head: NIL,
            tail: NIL,
            to: spec.to,
            congestion: None,
            classes: None,
            counters: Counters::default(),
            largest: Time::ZERO,
            histogram,
            fingerprint: 0,
            delivered: 0,
            in_warmup: Counters::default(),
            from_warmup: Time::ZERO,
        }
    }

    /// The same port with a congestion point; `draws` are for this port alone.
    #[must_use]
    pub fn marking(mut self, rate: Rate, marking: &Marking, draws: Draws) -> Self {
        let point = (marking.mechanism.build)(&marking.values, rate);
        match point.as_step() {
            Some(step) if marking.at == MarkAt::Enqueue => self.marking = step,
            _ => self.congestion = Some(Box::new(Congestion::new(point, marking.at, draws))),
        }
        self
    }

    /// When the last packet that it holds has been sent.
    #[inline]
    #[must_use]
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// What waits to be sent now.
    #[inline]
    #[must_use]
    pub fn queue(&self, now: Time) -> Bytes {
        self.clock.bytes(self.backlog(now))
    }

    /// The time to send it.
    #[inline]
    fn backlog(&self, now: Time) -> Time {
        let waiting = self.classes.as_ref().map_or(Time::ZERO, |room| room.waiting());
        waiting + self.busy_until.saturating_sub(now)
    }

    /// A packet joins the queue. Gives its arrival at the other end if the link was empty, so that the
    /// caller puts the link on its agenda.
    ///
    /// # Errors
    /// [`Full`] if there is no room; the packet is the caller's to free.
    #[inline]
    pub fn enqueue(&mut self, now: Time, at: u32, packets: &mut Slab) -> Result<Option<Time>, Full> {
        if self.congestion.is_some() {
            self.meet(now, at, packets);
        }
        let packet = &mut packets[at];
        let length = packet.bytes();
        let backlog = self.busy_until.saturating_sub(now);
        let queue = self.clock.bytes(backlog) + length;
        if queue > self.buffer {
            self.counters.dropped += 1;
            return Err(Full);
        }
        if self.marking.marks(queue) && packet.flags.has(Flags::ECT) && !packet.flags.has(Flags::CE) {
            packet.flags = packet.flags.with(Flags::CE, true);
            self.counters.marked += 1;
        }
        let sending = self.clock.time(length);
        let after = backlog + sending;
        self.busy_until = now + after;
        self.count(length, sending, backlog, after);
        packet.arrives = self.busy_until + self.delay;
        packet.next = NIL;
        let arrives = packet.arrives;
        if self.congestion.is_some() {
            self.join(now, at, queue, packets);
        }
        Ok(self.append(at, packets).then_some(arrives))
    }

    /// Puts a packet at the end of the list; tells whether it is the only one.
    #[inline]
    fn append(&mut self, at: u32, packets: &mut Slab) -> bool {
        let first = self.head == NIL;
        if first {
            self.head = at;
        } else {
            packets[self.tail].next = at;
        }
        self.tail = at;
        first
    }

    #[inline]
    fn count(&mut self, length: Bytes, sending: Time, backlog: Time, after: Time) {
        self.counters.sent += 1;
        self.counters.sent_bytes += length.0;
        self.counters.sojourn += u128::from(after.0);
        self.counters.area += u128::from(sending.0) * u128::from(backlog.0 + after.0);
        self.counters.work += sending;
        self.largest = self.largest.max(after);
        self.histogram.end(backlog);
        self.histogram.begin(after);
    }

    /// Takes the packet that arrives at the other end now, with the arrival of the one behind it.
    #[inline]
    pub fn deliver(&mut self, now: Time, packets: &mut Slab) -> (u32, Option<Time>) {
        self.catch_up(now - self.delay, packets);
        let at = self.head;
        let packet = &packets[at];
        debug_assert_eq!(packet.arrives, now);
        self.delivered += 1;
        let identity = (u64::from(packet.flow) << 32) ^ (u64::from(packet.seq) << 1) ^ u64::from(packet.cumulative);
        self.fingerprint = mix(self.fingerprint ^ now.0, identity);
        self.head = packet.next;
        let next = (self.head != NIL).then(|| packets[self.head].arrives);
        (at, next)
    }

    /// Tells the congestion point of a packet that comes.
    fn meet(&mut self, now: Time, at: u32, packets: &mut Slab) {
        self.catch_up(now, packets);
        if let Some(congestion) = &mut self.congestion {
            congestion.meet(&packets[at]);
        }
    }

    /// Tells the congestion point of a packet that joins.
    fn join(&mut self, now: Time, at: u32, queue: Bytes, packets: &mut Slab) {
        let Some(congestion) = &mut self.congestion else { return };
        let packet = &mut packets[at];
        congestion.enqueued += packet.bytes();
        if congestion.next == NIL {
            congestion.next = at;
        }
        if congestion.at == MarkAt::Enqueue && congestion.marks(now, queue, packet) {
            self.counters.marked += 1;
        }
    }

    /// Tells the congestion point, in order, of all that has happened up to `now`: packets that began to
    /// leave, times at which it wanted to look. Nothing has joined since the last call, so the queue at any
    /// time follows from the end of the backlog.
    #[inline]
    fn catch_up(&mut self, now: Time, packets: &mut Slab) {
        if self.congestion.as_ref().is_some_and(|congestion| congestion.next != NIL || congestion.wakes) {
            self.tell_congestion(now, packets);
        }
    }

    #[inline(never)]
    fn tell_congestion(&mut self, now: Time, packets: &mut Slab) {
        let Some(congestion) = &mut self.congestion else { return };
        loop {
            let begins = match congestion.next {
                NIL => Time::MAX,
                next => packets[next].arrives - self.delay - self.clock.time(packets[next].bytes()),
            };
            let wake = congestion.point.next_wake().unwrap_or(Time::MAX);
            if wake.min(begins) > now {
                return;
            }
            if wake <= begins {
                let waiting = self.classes.as_ref().map_or(Time::ZERO, |room| room.waiting());
                let backlog = waiting + self.busy_until.saturating_sub(wake);
                congestion.point.on_wake(wake, self.clock.bytes(backlog));
            } else if congestion.leave(begins, packets) {
                self.counters.marked += 1;
            }
        }
    }

    /// Statistics start now.
    pub fn end_warmup(&mut self, now: Time) {
        if self.classes.is_some() {
            self.end_classes_warmup(now);
        }
        let sending = self.busy_until.saturating_sub(now);
        self.in_warmup = std::mem::take(&mut self.counters);
        self.from_warmup = sending;
        self.counters.area = square(sending);
        self.largest = self.backlog(now);
        self.histogram.clear();
        if self.classes.is_some() {
            self.reopen(now);
        } else {
            self.histogram.begin(sending);
        }
    }

    /// Closes the statistics of the `span` that ends now.
    #[must_use]
    pub fn report(&mut self, now: Time, span: Time, packets: &Slab) -> PortReport {
        let sending = self.busy_until.saturating_sub(now);
        let waiting = if self.classes.is_some() {
            self.close_classes(now, packets)
        } else {
            self.histogram.end(sending);
            Closing::default()
        };
        let busy = self.from_warmup + self.counters.work - sending;
        let backlogs = self.histogram.finish(span.saturating_sub(busy + waiting.flat), self.largest);
        PortReport {
            counters: self.counters,
            dropped_in_warmup: self.in_warmup.dropped,
            busy,
            area: (self.counters.area + waiting.area - square(sending)) / 2,
            largest: self.largest,
            backlogs,
            clock: self.clock,
            in_flight: self.in_warmup.sent + self.counters.sent - self.delivered + waiting.packets,
            dropped: self.in_warmup.dropped + self.counters.dropped,
            delivered: self.delivered,
            fingerprint: self.fingerprint,
            classes: waiting.reports,
        }
    }
}

/// There was no room for the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// What a port has to tell at the end of a run.
#[derive(Clone, Debug)]
pub struct PortReport {
    /// After the warm-up.
    pub counters: Counters,
    /// Packets that found no room before its end.
    pub dropped_in_warmup: u64,
    /// Time spent sending after the warm-up.
    pub busy: Time,
    /// Integral of the backlog over time after the warm-up, in square picoseconds.
    pub area: u128,
    /// The largest backlog after the warm-up.
    pub largest: Time,
    /// How long it spent at each backlog after the warm-up.
    pub backlogs: Distribution,
    /// Turns backlogs into bytes.
    pub clock: Clock,
    /// Packets queued or on the wire when the run ended.
    pub in_flight: u64,
    /// Packets dropped in the whole run.
    pub dropped: u64,
    /// Packets delivered in the whole run.
    pub delivered: u64,
    /// Hash of every delivery: time and packet, in order.
    pub fingerprint: u64,
    /// Its classes, if it has any.
    pub classes: Vec<ClassReport>,
}

fn asks_rate(packet: &Packet) -> bool {
    packet.flags.has(Flags::ASKS) && !packet.flags.for_sender()
}

fn square(time: Time) -> u128 {
    u128::from(time.0) * u128::from(time.0)
}

/// Mixes a value into a hash.
#[inline]
#[must_use]
pub fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use shallows_cc::parameter::Values;
    use shallows_cc::port;

    const MTU: Bytes = Bytes(1500);
    const FRAME: Time = Time::from_nanos(1200);

    fn marking(threshold: u64, at: MarkAt) -> Marking {
        let mechanism = port::find("step").unwrap();
        let mut values = Values::defaults(mechanism.parameters);
        values.set("threshold", (MTU * threshold).0 as f64).unwrap();
        Marking { mechanism, values, at }
    }

    fn port(buffer: u64, marking: Option<&Marking>) -> Port {
        let spec = PortSpec {
            from: 0,
            to: 1,
            rate: Rate::from_gbps(10),
            delay: Time::from_micros(1),
            buffer: MTU * buffer,
            marking: None,
            discipline: None,
        };
        let port = Port::new(&spec, MTU);
        match marking {
            Some(marking) => port.marking(spec.rate, marking, Draws::new(1, 0)),
            None => port,
        }
    }

    fn frame() -> Packet {
        Packet { length: 1500, flags: Flags::default().with(Flags::ECT, true), ..Packet::default() }
    }

    /// Five frames at once into a port: each leaves 1.2 us after the one before.
    fn five_at_once(port: &mut Port, packets: &mut Slab) -> Vec<Packet> {
        for _ in 0..5 {
            let at = packets.insert(frame());
            if port.enqueue(Time::ZERO, at, packets) == Err(Full) {
                packets.remove(at);
            }
        }
        let mut out = Vec::new();
        let mut next = Some(FRAME + Time::from_micros(1));
        while let Some(now) = next {
            let (at, then) = port.deliver(now, packets);
            out.push(packets[at]);
            packets.remove(at);
            next = then;
        }
        out
    }

    #[test]
    fn packets_leave_one_frame_time_apart() {
        let mut packets = Slab::default();
        let out = five_at_once(&mut port(10, None), &mut packets);
        let arrivals: Vec<_> = out.iter().map(|p| p.arrives).collect();
        assert_eq!(arrivals, (1..=5).map(|n| FRAME * n + Time::from_micros(1)).collect::<Vec<_>>());
    }

    #[test]
    fn a_buffer_of_three_packets_holds_three() {
        let mut packets = Slab::default();
        let mut port = port(3, None);
        assert_eq!(five_at_once(&mut port, &mut packets).len(), 3);
        assert_eq!(port.report(FRAME * 10, FRAME * 10, &packets).dropped, 2);
    }

    #[test]
    fn at_enqueue_the_packets_behind_the_threshold_are_marked() {
        let mut packets = Slab::default();
        let step = marking(3, MarkAt::Enqueue);
        let out = five_at_once(&mut port(10, Some(&step)), &mut packets);
        let marks: Vec<_> = out.iter().map(|p| p.flags.has(Flags::CE)).collect();
        assert_eq!(marks, [false, false, false, true, true]);
    }

    #[test]
    fn at_dequeue_the_packets_before_the_threshold_are_marked() {
        let mut packets = Slab::default();
        let step = marking(2, MarkAt::Dequeue);
        let out = five_at_once(&mut port(10, Some(&step)), &mut packets);
        // They leave 4, 3, 2, 1 and 0 packets behind. The first left as it came, before the others joined.
        let marks: Vec<_> = out.iter().map(|p| p.flags.has(Flags::CE)).collect();
        assert_eq!(marks, [false, true, false, false, false]);
    }

    /// Wakes every 1.5 us and marks what leaves while the queue it then saw was above two frames.
    #[derive(Debug)]
    struct Periodic {
        next: Time,
        seen: Bytes,
    }

    impl CongestionPoint for Periodic {
        fn on_packet(&mut self, _: Time, _: Bytes, _: Bytes, _: &mut dyn FnMut() -> f64) -> bool {
            self.seen > MTU * 2
        }

        fn next_wake(&self) -> Option<Time> {
            Some(self.next)
        }

        fn on_wake(&mut self, now: Time, queue: Bytes) {
            assert_eq!(now, self.next);
            self.next += Time::from_nanos(1500);
            self.seen = queue;
        }
    }

    #[test]
    fn a_point_that_wakes_sees_the_queue_of_that_time() {
        let mut packets = Slab::default();
        let mut port = port(10, None);
        let periodic = Box::new(Periodic { next: Time::from_nanos(1500), seen: Bytes::ZERO });
        port.congestion = Some(Box::new(Congestion::new(periodic, MarkAt::Dequeue, Draws::new(1, 0))));
        let out = five_at_once(&mut port, &mut packets);
        // It wakes with 3.75 and 2.5 frames left; they leave at 0, 1.2, 2.4, 3.6 and 4.8 us.
        let marks: Vec<_> = out.iter().map(|p| p.flags.has(Flags::CE)).collect();
        assert_eq!(marks, [false, false, true, true, false]);
    }

    /// Offers 2 Gbps and counts what comes.
    #[derive(Debug)]
    struct Offering(Arc<AtomicU64>);

    impl CongestionPoint for Offering {
        fn on_packet(&mut self, _: Time, _: Bytes, _: Bytes, _: &mut dyn FnMut() -> f64) -> bool {
            false
        }

        fn on_arrival(&mut self, packet: Bytes, rtt: Option<Time>) {
            assert_eq!(rtt, Some(Time::from_micros(90)).filter(|_| packet == Bytes(700)));
            self.0.fetch_add(packet.0, Ordering::Relaxed);
        }

        fn offer(&self) -> Option<Rate> {
            Some(Rate::from_gbps(2))
        }
    }

    #[test]
    fn a_point_that_offers_rates_lowers_what_asks_and_counts_what_is_refused() {
        let (mut packets, mut port, seen) = (Slab::default(), port(2, None), Arc::new(AtomicU64::new(0)));
        let point = Box::new(Offering(Arc::clone(&seen)));
        port.congestion = Some(Box::new(Congestion::new(point, MarkAt::Dequeue, Draws::new(1, 0))));
        let flags = Flags::default().with(Flags::ASKS, true);
        let mut asking = Packet { length: 700, held: Time::from_micros(90), flags, ..Packet::default() };
        asking.set_offered(Rate::MAX);
        let mut offered_less = asking;
        offered_less.set_offered(Rate::from_gbps(1));
        let at = [asking, offered_less, frame(), frame()].map(|packet| packets.insert(packet));
        let fits = at.map(|at| port.enqueue(Time::ZERO, at, &mut packets).is_ok());
        assert_eq!(fits, [true, true, true, false]);
        assert_eq!(seen.load(Ordering::Relaxed), 2 * 700 + 2 * 1500);
        port.catch_up(FRAME * 5, &mut packets);
        let offered = [0, 1].map(|n: usize| packets[at[n]].offered());
        assert_eq!(offered, [Rate::from_gbps(2), Rate::from_gbps(1)]);
        assert_eq!(packets[at[2]].delay, Time::ZERO);
    }

    #[test]
    fn the_mean_queue_of_five_at_once_is_a_triangle() {
        let mut packets = Slab::default();
        let mut port = port(10, None);
        five_at_once(&mut port, &mut packets);
        let report = port.report(FRAME * 10, FRAME * 10, &packets);
        // Five frame times of backlog draining in five frame times: 12.5 square frame times.
        assert_eq!(report.area, u128::from(FRAME.0) * u128::from(FRAME.0) * 25 / 2);
        assert_eq!(report.busy, FRAME * 5);
        assert_eq!(report.counters.sojourn, u128::from(FRAME.0) * 15);
        let (low, high) = report.backlogs.area_bounds();
        assert!(low <= report.area && report.area <= high);
    }
}
