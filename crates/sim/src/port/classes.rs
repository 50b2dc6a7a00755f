//! A port that schedules: classes with strict priority, each of which can be paused or shaped.
//!
//! What such a port will send next is not known before the link is free, so its packets wait here, in front
//! of the FIFO that is its transmitter and its wire, and it needs a wake of its own on the agenda. Only the
//! ports that have classes pay for them.
//!
//! While something waits and nothing may be sent (paused, or short of tokens) the backlog stays as it is;
//! otherwise it falls by one second a second, as in any port.

use std::collections::VecDeque;

use shallows_cc::port::MarkAt;
use shallows_cc::units::{Bytes, Time};

use super::{Full, Port};
use crate::clock::Clock;
use crate::network::{ClassSpec, Discipline, Limit};
use crate::packet::{Flags, NIL, PACKET_KINDS, PacketKind, Slab};

/// What a class counts after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassReport {
    /// Packets sent.
    pub sent: u64,
    /// Packets that found no room.
    pub dropped: u64,
    /// The most that it held, the packet being sent included.
    pub largest: Bytes,
    /// Times it was paused.
    pub pauses: u64,
    /// How long it was.
    pub paused: Time,
}

/// A packet that waits: where it came from, and since when.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: u32,
    /// The link that brought it; none if its host made it.
    from: u32,
    since: Time,
}

#[derive(Debug)]
struct Class {
    spec: ClassSpec,
    queue: VecDeque<Waiting>,
    bytes: Bytes,
    paused_since: Option<Time>,
    /// When the bucket will be full.
    full_at: Time,
    report: ClassReport,
}

impl Class {
    fn new(spec: ClassSpec) -> Self {
        let report = ClassReport::default();
        Self { spec, queue: VecDeque::new(), bytes: Bytes::ZERO, paused_since: None, full_at: Time::ZERO, report }
    }

    /// The earliest time at which a packet of this length has its tokens.
    fn ready_at(&self, length: Bytes) -> Time {
        self.spec.shaper.map_or(Time::ZERO, |shaper| {
            let spare = shaper.rate.time_to_send(shaper.burst.saturating_sub(length));
            self.full_at.saturating_sub(spare)
        })
    }

    fn take_tokens(&mut self, now: Time, length: Bytes) {
        if let Some(shaper) = self.spec.shaper {
            self.full_at = self.full_at.max(now) + shaper.rate.time_to_send(length);
        }
    }
}

/// The waiting room of a port with classes.
#[derive(Debug)]
pub(super) struct Classes {
    classes: Vec<Class>,
    class_of: [u8; PACKET_KINDS.len()],
    urgent: Option<u8>,
    /// Time to send all that waits, and its length.
    work: Time,
    bytes: Bytes,
    /// Since when the backlog stays as it is, if it does.
    flat_since: Option<Time>,
    /// How long it did.
    flat: Time,
    /// The class of the packet being sent.
    sending: usize,
    /// The earliest wake on the agenda.
    wake: Time,
    measured_from: Time,
}

impl Classes {
    fn new(discipline: &Discipline) -> Self {
        Self {
            classes: discipline.classes.iter().copied().map(Class::new).collect(),
            class_of: discipline.class_of,
            urgent: discipline.urgent,
            work: Time::ZERO,
            bytes: Bytes::ZERO,
            flat_since: None,
            flat: Time::ZERO,
            sending: 0,
            wake: Time::MAX,
            measured_from: Time::ZERO,
        }
    }

    /// The class of a packet.
    fn class_for(&self, kind: PacketKind, urgent: bool) -> usize {
        let own = self.class_of[kind as usize];
        usize::from(self.urgent.filter(|_| urgent).unwrap_or(own))
    }

    /// Time to send what waits.
    #[inline]
    pub(super) fn waiting(&self) -> Time {
        self.work
    }

    /// The first class that may send now, or else when one may.
    fn choose(&self, now: Time, packets: &Slab) -> Result<usize, Time> {
        let mut later = Time::MAX;
        for (at, class) in self.classes.iter().enumerate() {
            let Some(first) = class.queue.front() else { continue };
            if class.paused_since.is_some() {
                continue;
            }
            match class.ready_at(packets[first.packet].bytes()) {
                ready if ready <= now => return Ok(at),
                ready => later = later.min(ready),
            }
        }
        Err(later)
    }

    /// What waits weighs in square picoseconds, twice, for as long as it has waited until now.
    fn area(&self, now: Time, clock: Clock, packets: &Slab) -> u128 {
        let waiting = self.classes.iter().flat_map(|class| &class.queue);
        let weight = |w: &Waiting| {
            let sending = clock.time(packets[w.packet].bytes());
            2 * u128::from(sending.0) * u128::from((now - w.since.max(self.measured_from)).0)
        };
        waiting.map(weight).sum()
    }
}

/// A packet that comes to a port.
#[derive(Clone, Copy, Debug)]
pub struct Joining {
    /// Which.
    pub packet: u32,
    /// The link that brought it, or [`NIL`].
    pub from: u32,
    /// Whether its flow goes before others.
    pub urgent: bool,
}

/// A packet that waits in a port, or has just begun to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The link that brought the packet, or [`NIL`].
    pub from: u32,
    /// Its length.
    pub length: Bytes,
    /// What it is.
    pub kind: PacketKind,
    /// Its arrival at the other end, if it is being sent and the link was empty.
    pub arrives: Option<Time>,
}

impl Port {
    /// The same port with classes.
    #[must_use]
    pub fn scheduled(mut self, discipline: &Discipline) -> Self {
        self.classes = Some(Box::new(Classes::new(discipline)));
        self
    }

    /// Whether it has classes: then packets [`Self::enter`] rather than [`Self::enqueue`].
    #[inline]
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.classes.is_some()
    }

    fn room(&mut self) -> &mut Classes {
        self.classes.as_mut().expect("only a port with classes is asked to schedule")
    }

    /// Whether a packet of this kind would begin to be sent at once.
    #[must_use]
    pub fn is_open(&self, now: Time, kind: PacketKind) -> bool {
        let Some(room) = &self.classes else { return self.busy_until <= now };
        let class = &room.classes[usize::from(room.class_of[kind as usize])];
        self.busy_until <= now && class.queue.is_empty() && class.paused_since.is_none()
    }

    /// Length of what waits in the class of such a packet, and of the packet being sent if it is one of it.
    #[must_use]
    pub fn held(&self, now: Time, kind: PacketKind, urgent: bool) -> Bytes {
        let Some(room) = &self.classes else { return self.queue(now) };
        let class = room.class_for(kind, urgent);
        let sending = if room.sending == class { self.busy_until.saturating_sub(now) } else { Time::ZERO };
        room.classes[class].bytes + self.clock.bytes(sending)
    }

    /// A packet joins its class.
    ///
    /// # Errors
    /// [`Full`] if there is no room; the packet is the caller's to free.
    pub fn enter(&mut self, now: Time, joining: Joining, packets: &mut Slab) -> Result<(), Full> {
        let Joining { packet: at, from, urgent } = joining;
        self.meet(now, at, packets);
        let (length, kind) = (packets[at].bytes(), packets[at].flags.kind());
        let held = self.held(now, kind, urgent) + length;
        self.touch(now);
        let sending = self.clock.time(length);
        let busy = self.busy_until > now;
        let room = self.room();
        let class = room.class_for(kind, urgent);
        let being_sent = usize::from(busy && room.sending == class);
        let class = &mut room.classes[class];
        let fits = match class.spec.limit {
            Limit::Bytes(limit) => held <= limit,
            Limit::Packets(limit) => class.queue.len() + being_sent < limit as usize,
        };
        if fits {
            class.report.largest = class.report.largest.max(held);
            class.queue.push_back(Waiting { packet: at, from, since: now });
            class.bytes += length;
            room.work += sending;
            room.bytes += length;
            let queue = self.queue(now);
            self.mark_joining(now, queue, at, packets);
        } else {
            class.report.dropped += 1;
            self.counters.dropped += 1;
        }
        self.largest = self.largest.max(self.backlog(now));
        self.settle(now);
        if fits { Ok(()) } else { Err(Full) }
    }

    /// A packet found no room in the switch.
    pub fn refuse(&mut self, now: Time, at: u32, packets: &mut Slab) {
        self.meet(now, at, packets);
        self.counters.dropped += 1;
    }

    fn mark_joining(&mut self, now: Time, queue: Bytes, at: u32, packets: &mut Slab) {
        let packet = &mut packets[at];
        let unmarked = packet.flags.has(Flags::ECT) && !packet.flags.has(Flags::CE);
        let marked = match &mut self.congestion {
            Some(congestion) => congestion.at == MarkAt::Enqueue && congestion.marks(now, queue, packet),
            None => self.marking.marks(queue) && unmarked,
        };
        packet.flags = packet.flags.with(Flags::CE, marked);
        self.counters.marked += u64::from(marked);
    }

    /// Whether something waits and the link is free.
    #[inline]
    #[must_use]
    pub fn is_due(&self, now: Time) -> bool {
        self.busy_until <= now && self.classes.as_ref().is_some_and(|room| room.work > Time::ZERO)
    }

    /// Whether the link is not free, and the agenda knows when it will be.
    #[inline]
    #[must_use]
    pub fn will_wake(&self, now: Time) -> bool {
        self.busy_until > now && self.classes.as_ref().is_some_and(|room| room.wake <= self.busy_until)
    }

    /// Begins to send the packet whose turn it is, if the link is free and one may go.
    pub fn dispatch(&mut self, now: Time, packets: &mut Slab) -> Option<Sent> {
        if self.busy_until > now {
            return None;
        }
        let room = self.room();
        if room.work == Time::ZERO {
            return None;
        }
        let Ok(chosen) = room.choose(now, packets) else {
            if room.flat_since.is_none() {
                self.touch(now);
                self.settle(now);
            }
            return None;
        };
        self.catch_up(now, packets);
        self.touch(now);
        let sent = self.send(now, chosen, packets);
        self.settle(now);
        Some(sent)
    }

    fn send(&mut self, now: Time, chosen: usize, packets: &mut Slab) -> Sent {
        let clock = self.clock;
        let room = self.room();
        let class = &mut room.classes[chosen];
        let waiting = class.queue.pop_front().expect("a class is chosen for its first packet");
        let packet = &mut packets[waiting.packet];
        let (length, kind) = (packet.bytes(), packet.flags.kind());
        let sending = clock.time(length);
        class.bytes -= length;
        class.report.sent += 1;
        class.take_tokens(now, length);
        room.work -= sending;
        room.bytes -= length;
        room.sending = chosen;
        let (left_behind, waited) = (room.bytes, now - waiting.since.max(room.measured_from));
        if let Some(congestion) = &mut self.congestion
            && congestion.at == MarkAt::Dequeue
            && congestion.marks(now, left_behind, packet)
        {
            self.counters.marked += 1;
        }
        self.busy_until = now + sending;
        packet.arrives = self.busy_until + self.delay;
        packet.next = NIL;
        let arrives = packet.arrives;
        self.counters.sent += 1;
        self.counters.sent_bytes += length.0;
        self.counters.sojourn += u128::from((now - waiting.since + sending).0);
        self.counters.area += u128::from(sending.0) * u128::from(2 * waited.0 + sending.0);
        self.counters.work += sending;
        let arrives = self.append(waiting.packet, packets).then_some(arrives);
        Sent { from: waiting.from, length, kind, arrives }
    }

    /// When the port wants to be dispatched next, if the agenda does not know it yet.
    pub fn next_wake(&mut self, now: Time, packets: &Slab) -> Option<Time> {
        let busy_until = self.busy_until;
        let room = self.room();
        if room.work == Time::ZERO {
            return None;
        }
        let wanted = if busy_until > now { busy_until } else { room.choose(now, packets).err()? };
        (wanted < room.wake).then(|| {
            room.wake = wanted;
            wanted
        })
    }

    /// A wake came up on the agenda; false if an earlier one has taken its place.
    pub fn on_wake(&mut self, now: Time) -> bool {
        let room = self.room();
        let due = room.wake == now;
        if due {
            room.wake = Time::MAX;
        }
        due
    }

    /// Stops the class of data, or lets it go on.
    pub fn pause(&mut self, now: Time, pause: bool) {
        let room = self.room();
        let from = room.measured_from;
        let class = &mut room.classes[usize::from(room.class_of[PacketKind::Data as usize])];
        if pause && class.paused_since.is_none() {
            class.paused_since = Some(now);
            class.report.pauses += 1;
        } else if !pause && let Some(since) = class.paused_since.take() {
            class.report.paused += now - since.max(from);
        }
    }

    /// Whether data is stopped.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.classes.as_ref().is_some_and(|room| {
            room.classes[usize::from(room.class_of[PacketKind::Data as usize])].paused_since.is_some()
        })
    }

    /// Every packet that waits.
    pub fn waiting<'a>(&'a self, packets: &'a Slab) -> impl Iterator<Item = Sent> + 'a {
        let queues = self.classes.iter().flat_map(|room| room.classes.iter().map(|class| &class.queue));
        queues.flatten().map(|waiting| {
            let packet = &packets[waiting.packet];
            Sent { from: waiting.from, length: packet.bytes(), kind: packet.flags.kind(), arrives: None }
        })
    }

    /// Closes the segment of the backlog that ends now.
    fn touch(&mut self, now: Time) {
        let backlog = self.backlog(now);
        let room = self.classes.as_mut().expect("only a port with classes has flat segments");
        match room.flat_since.take() {
            Some(since) => {
                self.histogram.hold(backlog, now - since);
                room.flat += now - since;
            }
            None => self.histogram.end(backlog),
        }
    }

    /// Opens the segment that begins now.
    fn settle(&mut self, now: Time) {
        let backlog = self.backlog(now);
        let busy = self.busy_until > now;
        let room = self.classes.as_mut().expect("only a port with classes has flat segments");
        if !busy && backlog > Time::ZERO {
            room.flat_since = Some(now);
        } else {
            self.histogram.begin(backlog);
        }
    }

    /// Statistics of the classes start now.
    pub(super) fn end_classes_warmup(&mut self, now: Time) {
        self.touch(now);
        let room = self.room();
        room.measured_from = now;
        room.flat = Time::ZERO;
        for class in &mut room.classes {
            class.report = ClassReport { largest: class.bytes, ..ClassReport::default() };
        }
    }

    /// Opens a segment in a histogram that was cleared.
    pub(super) fn reopen(&mut self, now: Time) {
        self.settle(now);
    }

    /// Closes the statistics of the classes: how long the backlog stood still, what waits weighs, how many
    /// packets that is, and each class.
    pub(super) fn close_classes(&mut self, now: Time, packets: &Slab) -> Closing {
        self.touch(now);
        let clock = self.clock;
        let room = self.room();
        let mut reports = Vec::new();
        for class in &room.classes {
            let pausing = class.paused_since.map_or(Time::ZERO, |since| now - since.max(room.measured_from));
            reports.push(ClassReport { paused: class.report.paused + pausing, ..class.report });
        }
        Closing {
            flat: room.flat,
            area: room.area(now, clock, packets),
            packets: room.classes.iter().map(|class| class.queue.len() as u64).sum(),
            reports,
        }
    }
}

/// What the classes of a port add to its report.
#[derive(Debug, Default)]
pub(super) struct Closing {
    pub flat: Time,
    pub area: u128,
    pub packets: u64,
    pub reports: Vec<ClassReport>,
}

#[cfg(test)]
mod tests {
    use super::PacketKind::{Ack, Data};
    use super::*;
    use crate::network::{PortSpec, Shaper};
    use crate::packet::Packet;
    use shallows_cc::units::Rate;

    const RATE: Rate = Rate::from_gbps(10);

    /// A shaped class of acknowledgements before an open one of data.
    fn port(shaper: Shaper) -> Port {
        let (rate, delay) = (RATE, Time::ZERO);
        let spec = PortSpec { from: 0, to: 1, rate, delay, buffer: Bytes::MAX, marking: None, discipline: Some(0) };
        let class_of = PACKET_KINDS.map(|kind| u8::from(kind == Data));
        let shaped = ClassSpec { limit: Limit::Packets(8), shaper: Some(shaper) };
        let open = ClassSpec { limit: Limit::Bytes(Bytes::MAX), shaper: None };
        Port::new(&spec, Bytes(1538)).scheduled(&Discipline { classes: vec![shaped, open], class_of, urgent: None })
    }

    fn enter(port: &mut Port, packets: &mut Slab, kind: PacketKind, length: u16) -> Result<(), Full> {
        let at = packets.insert(Packet { length, flags: Flags::of(kind), ..Packet::default() });
        port.enter(Time::ZERO, Joining { packet: at, from: NIL, urgent: false }, packets)
    }

    /// Sends everything; when each packet began, and its kind.
    fn drain(port: &mut Port, packets: &mut Slab) -> Vec<(Time, PacketKind)> {
        let (mut sent, mut now) = (Vec::new(), Time::ZERO);
        loop {
            if let Some(packet) = port.dispatch(now, packets) {
                sent.push((now, packet.kind));
            }
            match port.next_wake(now, packets) {
                Some(at) => now = at,
                None => return sent,
            }
            assert!(port.on_wake(now));
        }
    }

    /// A credit of 84 B for each frame of 1538 B: two at once from the bucket, then one every 1622 B times.
    #[test]
    fn tokens_space_out_what_is_shaped() {
        let mut packets = Slab::default();
        let rate = Rate(RATE.0 * 84 / 1622);
        let mut port = port(Shaper { rate, burst: Bytes(168) });
        let fits = (0..10).filter(|_| enter(&mut port, &mut packets, Ack, 84).is_ok()).count();
        assert_eq!(fits, 8);
        let begun: Vec<_> = drain(&mut port, &mut packets).iter().map(|(at, _)| at.0).collect();
        let (wire, spacing) = (67_200, 1_297_600);
        // The bucket is full again one spacing after each credit: the third waits for two of them, less the
        // one credit that the bucket may still owe.
        let expected: Vec<u64> = (0..8).map(|n: u64| if n < 2 { n * wire } else { (n - 1) * spacing }).collect();
        for (at, wanted) in begun.iter().zip(&expected) {
            assert!(at.abs_diff(*wanted) < 1000, "{begun:?} {expected:?}");
        }
    }

    #[test]
    fn the_first_class_goes_first_and_data_fills_the_gaps() {
        let mut packets = Slab::default();
        let mut port = port(Shaper { rate: Rate(RATE.0 * 84 / 1622), burst: Bytes(84) });
        for _ in 0..3 {
            enter(&mut port, &mut packets, Data, 1538).unwrap();
            enter(&mut port, &mut packets, Ack, 84).unwrap();
        }
        let kinds: Vec<_> = drain(&mut port, &mut packets).iter().map(|(_, kind)| *kind).collect();
        assert_eq!(kinds, [Ack, Data, Ack, Data, Ack, Data]);
    }

    #[test]
    fn a_paused_class_waits_and_its_backlog_stands_still() {
        let mut packets = Slab::default();
        let mut port = port(Shaper { rate: RATE, burst: Bytes(168) });
        port.pause(Time::ZERO, true);
        enter(&mut port, &mut packets, Data, 1538).unwrap();
        assert_eq!(port.dispatch(Time::ZERO, &mut packets), None);
        let later = Time::from_micros(10);
        assert_eq!(port.queue(later), Bytes(1538));
        port.pause(later, false);
        assert!(port.dispatch(later, &mut packets).is_some());
        let end = Time::from_micros(20);
        let report = port.report(end, end, &packets);
        let (paused, sending) = (later.0, RATE.time_to_send(Bytes(1538)).0);
        assert_eq!(report.classes[1].paused, later);
        assert_eq!(report.area, u128::from(sending) * u128::from(2 * paused + sending) / 2);
        assert_eq!(report.backlogs.total(), end);
    }
}
