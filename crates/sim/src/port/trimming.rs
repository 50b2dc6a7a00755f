//! Trimming: a port that cuts packets to their headers instead of dropping them (NDP).
//!
//! A packet that finds its class full is trimmed, or with probability one half the last packet of that class is, and the new
//! packet takes its place; otherwise the packets of one flow could always come just too late. The same holds for a packet that a
//! marker would drop because it is not ECN-capable, and a packet that a marker would drop at the head of its queue is trimmed
//! there: trimming takes the place of loss. The header joins the class of
//! headers, which has priority over data, with a weighted turn for data: otherwise no data would pass where headers alone fill a
//! link. If the class of headers is full too, the header of the new packet returns to its sender.
//!
//! Source: Handley et al., SIGCOMM 2017 §3.1; the authors' simulator (compositequeue.cpp). Differs: where the class of headers is
//! full, it is always the new packet that returns.

use shallows_cc::units::{MIN_FRAME, Time};

use super::Port;
use super::dispatch::extras;
use crate::packet::{Flags, PacketKind, Slab};
use crate::port::admission::{ClassOverride, DropReason, Enqueued, Incoming, Outcome};
use crate::port::class::Waiting;
use crate::port::judge::Judge;
use crate::port::marker::Look;

impl Port {
    /// Trims or drops a packet that its class, `number`, does not accept for this reason.
    #[cold]
    pub(super) fn refuse(
        &mut self,
        now: Time,
        (number, incoming): (usize, Incoming),
        reason: DropReason,
        packets: &mut Slab,
    ) -> Enqueued {
        let flags = packets[incoming.packet].flags;
        if flags.is(PacketKind::Trimmed) {
            return Enqueued::returned();
        }
        if self.may_trim(number, flags) {
            return self.trim(now, (number, incoming), reason, packets);
        }
        self.record(number, Outcome::Dropped(reason), &packets[incoming.packet]);
        Enqueued::dropped(reason)
    }

    /// The same port, which tells receivers that it trims at the last hop.
    #[must_use]
    pub fn at_last_hop(mut self) -> Self {
        self.scheduler_mut().trimming.last_hop = true;
        self
    }

    /// Whether a packet of class `number` is trimmed instead of dropped.
    pub(super) fn may_trim(&mut self, number: usize, flags: Flags) -> bool {
        self.scheduler_mut().classes[number].spec.trims && flags.has(Flags::TRIMS)
    }

    /// Trims a packet of class `number`: the incoming one, or the last one that waits.
    fn trim(
        &mut self,
        now: Time,
        (number, incoming): (usize, Incoming),
        reason: DropReason,
        packets: &mut Slab,
    ) -> Enqueued {
        if !self.has_room_for_header(now, packets[incoming.packet].flags) {
            return Enqueued::returned();
        }
        let scheduler = self.scheduler_mut();
        let queue = &scheduler.classes[number].queue;
        let last = queue.len().checked_sub(1).filter(|_| scheduler.trimming.draws.uniform() < 0.5);
        // A packet of a transport that does not know trimming stays whole: its receiver would take the header for the data.
        let Some(last) = last.filter(|&last| packets[queue[last].packet].flags.has(Flags::TRIMS)) else {
            packets[incoming.packet].trim_at(scheduler.trimming.last_hop);
            self.record(number, Outcome::Trimmed, &packets[incoming.packet]);
            let enqueued = self.enqueue_class(now, incoming, packets);
            return Enqueued { outcome: Outcome::Trimmed, ..enqueued };
        };
        let trimmed = self.trim_queued(now, (number, last), packets);
        let all = &mut self.scheduler_mut().trimming.trimmed;
        *all = [Some(trimmed), all[0]];
        if reason == DropReason::QueueFull {
            return self.enqueue_class(now, incoming, packets);
        }
        // The marker has judged this queue; it would refuse the new packet as well.
        let length = packets[incoming.packet].bytes();
        let held = self.held(now, packets[incoming.packet].flags, incoming.class) + length;
        let own = self.scheduler_mut().classes[number].marker.is_some();
        let queue = if own { held } else { self.queue(now) + length };
        let look = Look { now, queue, class: number as u8 };
        let (of_port, scheduler) = extras(&mut self.extras);
        let mut judge = Judge::of_class(number, &self.config, of_port, scheduler);
        let marked = judge.marks(look, (incoming.packet, packets));
        self.join(now, (number, held), (incoming, marked), packets)
    }

    /// Trims the packet at this place of a class, and moves its header to the class of headers, which has room. Returns the packet.
    pub(super) fn trim_queued(&mut self, now: Time, place: (usize, usize), packets: &mut Slab) -> u32 {
        let Waiting { packet, from, .. } = self.remove(now, place, packets);
        packets[packet].trim_at(self.scheduler_mut().trimming.last_hop);
        self.record(place.0, Outcome::Trimmed, &packets[packet]);
        self.enqueue_class(now, Incoming { packet, from, class: ClassOverride::None }, packets);
        packet
    }

    /// Whether the class of headers has room for that of a packet with these flags.
    pub(super) fn has_room_for_header(&mut self, now: Time, flags: Flags) -> bool {
        let header = Flags::of(PacketKind::Trimmed).with_class(flags.class());
        let held = self.held(now, header, ClassOverride::None) + MIN_FRAME;
        let busy = self.busy_until > now;
        let headers = self.class_for(header, ClassOverride::None);
        let scheduler = self.scheduler_mut();
        scheduler.classes[headers].has_room(held, usize::from(busy && scheduler.fast.is_sending(headers)))
    }

    /// Takes the queued packets that have just been trimmed, in order.
    pub fn trimmed_now(&mut self) -> impl Iterator<Item = u32> + use<> {
        std::mem::take(&mut self.scheduler_mut().trimming.trimmed).into_iter().rev().flatten()
    }
}

#[cfg(test)]
mod tests {
    use shallows_cc::rng::Rng;
    use shallows_cc::units::{Bytes, Rate};

    use super::*;
    use crate::packet::header::{Header, PulledData};
    use crate::packet::{PACKET_KINDS, Packet};
    use crate::spec::ports::{ClassOf, ClassSpec, Discipline, Limit, Marking, PortSpec};
    use shallows_cc::parameter::Values;
    use shallows_cc::port::{Ecn, MarkAt};

    /// Eight packets of data behind headers without end.
    fn port() -> Port {
        let (rate, delay) = (Rate::from_gbps(10), Time::ZERO);
        let spec = PortSpec { from: 0, to: 1, rate, delay, buffer: Bytes::MAX, marking: None, discipline: Some(0) };
        let class_of = PACKET_KINDS.map(|kind| u8::from(kind == PacketKind::Data));
        let headers = ClassSpec { turn: Some(10), ..ClassSpec::OPEN };
        let data = ClassSpec { limit: Limit::Packets(8), trims: true, ..ClassSpec::OPEN };
        let discipline = Discipline::new(vec![headers, data], vec![ClassOf(class_of)]);
        Port::new(&spec, Bytes(1500)).scheduled(&discipline, Rng::new(1, 0))
    }

    /// §3.1: the packet that comes and the last one in the queue are cut with equal probability. 1,000 fair coins stay within
    /// five deviations of 16 of 500; whichever is cut, eight stay whole.
    #[test]
    fn half_of_the_time_the_last_one_is_cut_for_the_one_that_comes() {
        let (mut port, mut packets) = (port(), Slab::default());
        let mut offer = || {
            let header = Header::PulledData(PulledData::default());
            let packet = Packet::new(0, Bytes(1500), Ecn::NotEct, &header);
            let at = packets.insert(Packet { flags: packet.flags.with(Flags::TRIMS, true), ..packet }, header);
            port.enqueue(Time::ZERO, Incoming::local(at), &mut packets).outcome
        };
        assert!((0..8).all(|_| offer() == Outcome::Queued));
        let itself = (0..1000).filter(|_| offer() == Outcome::Trimmed).count();
        assert!(itself.abs_diff(500) <= 80, "{itself} of 1000");
        let counters = port.recorder.counters();
        assert_eq!((counters.trimmed, counters.dropped), (1000, 0));
        let whole = |class: usize| port.scheduler_mut().classes[class].queue.len();
        assert_eq!([1, 0].map(whole), [8, 1000]);
    }

    /// Packets that may not be cut fill the queue: it is always the one that comes.
    #[test]
    fn what_knows_nothing_of_cuts_stays_whole() {
        let (mut port, mut packets) = (port(), Slab::default());
        let mut offer = |trims: bool| {
            let header = Header::PulledData(PulledData::default());
            let packet = Packet::new(0, Bytes(1500), Ecn::NotEct, &header);
            let at = packets.insert(Packet { flags: packet.flags.with(Flags::TRIMS, trims), ..packet }, header);
            port.enqueue(Time::ZERO, Incoming::local(at), &mut packets).outcome
        };
        assert!((0..8).all(|_| offer(false) == Outcome::Queued));
        assert!((0..100).all(|_| offer(true) == Outcome::Trimmed));
        assert_eq!(offer(false), Outcome::Dropped(DropReason::QueueFull));
    }

    /// RFC 3168 lets the step of four packets drop what is not ECN-capable, and trimming takes the place of loss: the packet that
    /// comes or the last one in the queue is cut, so that four stay whole. Others are dropped or marked as ever.
    #[test]
    fn what_a_marker_would_drop_is_cut() {
        let mechanism = shallows_cc::port::find("step").expect("a row");
        let mut values = Values::defaults(mechanism.parameters);
        values.set("threshold", 6000.0).expect("a parameter");
        let step = Marking { mechanism, values, at: MarkAt::Enqueue };
        let (mut port, mut packets) = (port().marking(Rate::from_gbps(10), &step, Rng::new(1, 1)), Slab::default());
        let mut offer = |trims: bool, ecn: Ecn| {
            let header = Header::PulledData(PulledData::default());
            let packet = Packet::new(0, Bytes(1500), ecn, &header);
            let at = packets.insert(Packet { flags: packet.flags.with(Flags::TRIMS, trims), ..packet }, header);
            port.enqueue(Time::ZERO, Incoming::local(at), &mut packets).outcome
        };
        assert!((0..4).all(|_| offer(true, Ecn::NotEct) == Outcome::Queued));
        let itself = (0..1000).filter(|_| offer(true, Ecn::NotEct) == Outcome::Trimmed).count();
        assert!(itself.abs_diff(500) <= 80, "{itself} of 1000");
        assert_eq!(offer(false, Ecn::NotEct), Outcome::Dropped(DropReason::NotEcnCapable));
        assert_eq!(offer(true, Ecn::Ect0), Outcome::Marked);
        let counters = port.recorder.counters();
        assert_eq!((counters.trimmed, counters.dropped, counters.marked), (1000, 1, 1));
        let whole = |class: usize| port.scheduler_mut().classes[class].queue.len();
        assert_eq!([1, 0].map(whole), [5, 1000]);
    }

    /// §3.1: ten headers to a packet, while both wait; then what is left.
    #[test]
    fn a_data_packet_goes_for_every_ten_headers() {
        let (mut port, mut packets) = (port(), Slab::default());
        let mut enqueue = |kind: PacketKind, port: &mut Port| {
            let header = Header::PulledData(PulledData::default());
            let mut packet = Packet::new(0, Bytes(1500), Ecn::NotEct, &header);
            if kind == PacketKind::Trimmed {
                packet.trim(kind);
            }
            let at = packets.insert(packet, header);
            port.enqueue(Time::ZERO, Incoming::local(at), &mut packets)
        };
        for kind in [PacketKind::Data; 3].into_iter().chain([PacketKind::Trimmed; 35]) {
            assert_eq!(enqueue(kind, &mut port).outcome, Outcome::Queued);
        }
        let mut places = Vec::new();
        for number in 0.. {
            let Some(sent) = port.dispatch(port.busy_until, &mut packets) else { break };
            if sent.kind == PacketKind::Data {
                places.push(number);
            }
        }
        assert_eq!(places, [10, 21, 32]);
    }
}
