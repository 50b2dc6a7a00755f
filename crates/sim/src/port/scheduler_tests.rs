//! Tests of ports with classes.

use std::mem::offset_of;

use shallows_cc::port::MarkAt;
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};

use super::admission::{Enqueued, Incoming};
use super::class::{Class, ClassReport, ClassTable};
use super::marker::Marker;
use super::scheduler::{FastPath, Scheduler};
use super::stall::StallRecord;
use super::{Port, PortExtras};
use crate::packet::PacketKind::{Ack, Data};
use crate::packet::header::{Header, TcpAck};
use crate::packet::{NIL, PACKET_KINDS, Packet, PacketKind, Slab};
use crate::port::PortReport;
use crate::port::admission::Outcome;
use crate::spec::fault::Change;
use crate::spec::ports::{ClassOf, ClassSpec, Discipline, Limit, Marking, PortSpec, Shaper};
use shallows_cc::pacer::PacerSpec;
use shallows_cc::parameter::Values;
use shallows_cc::port;
use shallows_cc::port::Ecn;
use shallows_cc::units::Rate;

const RATE: Rate = Rate::from_gbps(10);

#[test]
fn a_packet_that_is_sent_at_once_needs_one_line_besides_its_ports() {
    assert_eq!(offset_of!(Scheduler, fast), 0);
    assert_eq!((size_of::<FastPath>(), size_of::<ClassTable>()), (32, 2 * 64));
    assert_eq!(offset_of!(PortExtras, scheduler), 0);
    // A packet that is shown to a marker or to its class needs up to three more.
    assert!(size_of::<Option<Marker>>() <= 64);
    assert_eq!(offset_of!(PortExtras, marker) % 64, 0);
    assert_eq!(size_of::<Class>(), 192);
}

/// Two lines of the port and two of its class, besides those of the port itself, hold what it changes.
#[test]
fn a_packet_that_waits_needs_two_lines_of_the_scheduler_and_two_of_its_class() {
    assert_eq!(offset_of!(Scheduler, classes), 64);
    let last = offset_of!(Scheduler, stalls) + offset_of!(StallRecord, total);
    assert!(last <= 128, "{last}");
    assert_eq!(offset_of!(Class, report), 64);
    let hot = [offset_of!(ClassReport, sojourn), offset_of!(ClassReport, area), offset_of!(ClassReport, largest)];
    assert!(hot.iter().all(|&at| at < 64), "{hot:?}");
}

/// A shaped class of acknowledgements before an open one of data.
fn port(shaper: Shaper) -> Port {
    let (rate, delay) = (RATE, Time::ZERO);
    let spec = PortSpec { from: 0, to: 1, rate, delay, buffer: Bytes::MAX, marking: None, discipline: Some(0) };
    let class_of = PACKET_KINDS.map(|kind| u8::from(kind == Data));
    let shaped = ClassSpec { limit: Limit::Packets(8), shaper: Some(shaper), ..ClassSpec::OPEN };
    let open = ClassSpec::OPEN;
    let discipline = Discipline::new(vec![shaped, open], vec![ClassOf(class_of)]);
    Port::new(&spec, Bytes(1538)).scheduled(&discipline, Rng::new(1, 0))
}

fn enqueue(port: &mut Port, packets: &mut Slab, kind: PacketKind, length: u16) -> bool {
    let header = if kind == Ack { Header::TcpAck(TcpAck::default()) } else { Header::Bare };
    let at = packets.insert(Packet::new(0, Bytes(length.into()), Ecn::NotEct, &header), header);
    port.enqueue(Time::ZERO, Incoming::local(at), packets).outcome == Outcome::Queued
}

/// Sends everything; when each packet began, and its kind.
fn drain(port: &mut Port, packets: &mut Slab) -> Vec<(Time, PacketKind)> {
    let (mut sent, mut now) = (Vec::new(), Time::ZERO);
    loop {
        if let Some(packet) = port.dispatch(now, packets) {
            sent.push((now, packet.kind));
        }
        match port.next_wake() {
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
    let mut port = port(Shaper { rate, burst: Bytes(168), jitter: Time::ZERO, pacer: None });
    let fits = (0..10).filter(|_| enqueue(&mut port, &mut packets, Ack, 84)).count();
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
    let mut port = port(Shaper { rate: Rate(RATE.0 * 84 / 1622), burst: Bytes(84), jitter: Time::ZERO, pacer: None });
    for _ in 0..3 {
        assert!(enqueue(&mut port, &mut packets, Data, 1538));
        assert!(enqueue(&mut port, &mut packets, Ack, 84));
    }
    let kinds: Vec<_> = drain(&mut port, &mut packets).iter().map(|(_, kind)| *kind).collect();
    assert_eq!(kinds, [Ack, Data, Ack, Data, Ack, Data]);
}

/// Frames of 1250 B take 1 us at 10 Gbps, and after each of them a link at 2.5 Gbps rests for 3 us.
#[test]
fn a_slower_link_rests_after_each_frame_until_it_has_its_rate_again() {
    let us = Time::from_micros;
    let mut packets = Slab::default();
    let mut port = port(Shaper { rate: RATE, burst: Bytes(84), jitter: Time::ZERO, pacer: None });
    port.change(us(0), Change::Rate(Rate(2_500_000_000)));
    for _ in 0..5 {
        assert!(enqueue(&mut port, &mut packets, Data, 1250));
    }
    let (mut begun, mut now) = (Vec::new(), us(0));
    loop {
        begun.extend(port.dispatch(now, &mut packets).map(|_| now));
        let Some(next) = port.next_wake() else { break };
        assert!(port.on_wake(next));
        now = next;
        if now == us(8) {
            port.change(now, Change::Rate(RATE));
        }
    }
    assert_eq!(begun, [0, 4, 8, 9, 10].map(us));
    // What finds it idle leaves by the same rules.
    port.change(us(11), Change::Rate(Rate(2_500_000_000)));
    let frame = packets.insert(Packet::new(0, Bytes(1250), Ecn::NotEct, &Header::Bare), Header::Bare);
    assert!(port.send_if_idle(us(11), Incoming::local(frame), &mut packets).is_some());
    assert_eq!(port.idle_until(us(12)), Some(us(15)));
}

/// Feedback before data, which needs tokens if it is shaped, and a ramp from `kmin` on if it marks; where it does not count,
/// every frame is shown to all of it.
fn lossless(shaper: Option<Shaper>, marking: Option<(f64, MarkAt)>) -> Port {
    let (rate, delay) = (RATE, Time::from_micros(1));
    let spec = PortSpec { from: 0, to: 1, rate, delay, buffer: Bytes::MAX, marking: None, discipline: Some(0) };
    let class_of = PACKET_KINDS.map(|kind| 1 + u8::from(kind == Data));
    let class = ClassSpec::OPEN;
    let feedback = ClassSpec { shaper, ..class };
    let discipline = Discipline::new(vec![class, feedback, class], vec![ClassOf(class_of)]);
    let port = Port::new(&spec, Bytes(1538)).scheduled(&discipline, Rng::new(1, 0));
    let Some((kmin, at)) = marking else { return port };
    let mechanism = port::find("red").expect("a row");
    let mut values = Values::defaults(mechanism.parameters);
    for (name, value) in [("kmin", kmin), ("kmax", 10e3), ("pmax", 1.0)] {
        values.set(name, value).expect("a parameter");
    }
    port.marking(rate, &Marking { mechanism, values, at }, Rng::new(1, 1))
}

/// What it does with packets of all lengths that come one by one or many at once, while it is paused, slower, and after its
/// warm-up.
fn busy_for(rounds: u32, mut port: Port, counts: bool) -> (Vec<(Time, Option<Enqueued>)>, PortReport) {
    let (mut packets, mut draws, mut seen) = (Slab::default(), Rng::new(5, 0), Vec::new());
    let (mut now, mut wake) = (Time::ZERO, Time::MAX);
    for round in 0..rounds {
        let until = now + Time::from_nanos(draws.bits() % 3000);
        while wake <= until {
            now = std::mem::replace(&mut wake, Time::MAX);
            if port.on_wake(now) {
                seen.extend(port.dispatch(now, &mut packets).map(|_| (now, None)));
                wake = port.next_wake().unwrap_or(wake);
            }
        }
        now = until;
        match round {
            1000 | 5000 => port.pause(now, 0, true),
            1500 | 5100 => port.pause(now, 0, false),
            2000 => port.change(now, Change::Rate(Rate::from_gbps(5))),
            3000 => port.change(now, Change::Rate(RATE)),
            4000 => port.end_warmup(now, 0),
            _ => {}
        }
        if !counts {
            port.scheduler_mut().fast.eligible = 0;
        }
        let feedback = 64 + draws.bits() % 80;
        let frames = [(Data, 1538), (Ack, 64), (Data, 64), (Data, 700), (Ack, feedback)];
        let (kind, length) = frames[draws.bits() as usize % 5];
        let header = if kind == Ack { Header::TcpAck(TcpAck::default()) } else { Header::Bare };
        let packet = packets.insert(Packet::new(0, Bytes(length), Ecn::Ect0, &header), header);
        let incoming = Incoming::local(packet);
        let passed = port.send_if_idle(now, incoming, &mut packets);
        seen.push((now, passed));
        if passed.is_none() {
            seen.push((now, Some(port.enqueue(now, incoming, &mut packets))));
            seen.extend(port.dispatch(now, &mut packets).map(|_| (now, None)));
            wake = port.next_wake().unwrap_or(wake);
        }
    }
    let carried = port.carried();
    (seen, port.report(now, now, carried, &packets))
}

#[test]
fn what_is_only_counted_adds_up_to_the_same() {
    let markings = [None, Some((1000.0, MarkAt::Enqueue)), Some((1000.0, MarkAt::Dequeue))];
    let runs = markings.iter().flat_map(|marking| [(1, *marking), (6000, *marking)]);
    let rate = Rate(RATE.0 / 20);
    let pacer = PacerSpec { eta: 0.5, beta: 1e5, period: Time::from_micros(10), least: rate, most: RATE };
    let shapers = [None, Some(pacer)].map(|pacer| Some(Shaper { rate, burst: Bytes(168), jitter: Time::ZERO, pacer }));
    for (shaper, (rounds, marking)) in runs.flat_map(|run| [None, shapers[0], shapers[1]].map(|shaper| (shaper, run))) {
        let (seen, report) = busy_for(rounds, lossless(shaper, marking), true);
        let (all_seen, all) = busy_for(rounds, lossless(shaper, marking), false);
        assert_eq!(seen, all_seen);
        assert_eq!(format!("{report:?}"), format!("{all:?}"));
        let passed = seen.iter().filter(|seen| seen.1.is_some()).count();
        assert!(rounds == 1 || passed > 3000, "{passed} passed");
        assert!(rounds == 1 || marking.is_none() || report.counters.marked > 10, "{report:?}");
    }
}

/// A class of 100 B: a shortest frame is sent at once and only counted, a full one finds no room, idle port or not.
#[test]
fn a_class_counts_the_frames_that_it_has_room_for() {
    let (rate, delay) = (RATE, Time::ZERO);
    let spec = PortSpec { from: 0, to: 1, rate, delay, buffer: Bytes::MAX, marking: None, discipline: Some(0) };
    let small = ClassSpec { limit: Limit::Bytes(Bytes(100)), ..ClassSpec::OPEN };
    let discipline = Discipline::new(vec![small], vec![ClassOf(PACKET_KINDS.map(|_| 0))]);
    let (mut port, mut packets) =
        (Port::new(&spec, Bytes(1538)).scheduled(&discipline, Rng::new(1, 0)), Slab::default());
    let mut send = |length: u64, at: u64| {
        let packet = packets.insert(Packet::new(0, Bytes(length), Ecn::NotEct, &Header::Bare), Header::Bare);
        port.send_if_idle(Time::from_micros(at), Incoming::local(packet), &mut packets).is_some()
    };
    assert_eq!(
        [(1538, 0), (64, 0), (64, 1), (1538, 2)].map(|(length, at)| send(length, at)),
        [false, true, true, false]
    );
    assert_eq!(port.scheduler_mut().fast.counted(), 2);
}

#[test]
fn counts_of_16_bits_hold_any_number_of_frames() {
    let (mut port, mut packets) = (lossless(None, None), Slab::default());
    let at = packets.insert(Packet::new(0, Bytes(1538), Ecn::NotEct, &Header::Bare), Header::Bare);
    let times = 3 * u64::from(u16::MAX);
    for time in 0..times {
        port.send_if_idle(Time::from_micros(2 * time), Incoming::local(at), &mut packets);
        port.link.take_off(NIL, &packets);
    }
    let end = Time::from_micros(2 * times);
    let report = port.report(end, end, port.carried(), &packets);
    assert_eq!((report.counters.sent, report.busy), (times, RATE.time_to_send(Bytes(1538)) * times));
}

#[test]
fn a_paused_class_waits_and_its_backlog_stands_still() {
    let mut packets = Slab::default();
    let mut port = port(Shaper { rate: RATE, burst: Bytes(168), jitter: Time::ZERO, pacer: None });
    port.pause(Time::ZERO, 0, true);
    assert!(enqueue(&mut port, &mut packets, Data, 1538));
    assert_eq!(port.dispatch(Time::ZERO, &mut packets), None);
    let later = Time::from_micros(10);
    assert_eq!(port.queue(later), Bytes(1538));
    port.pause(later, 0, false);
    assert!(port.dispatch(later, &mut packets).is_some());
    let end = Time::from_micros(20);
    let report = port.report(end, end, port.carried(), &packets);
    let (paused, sending) = (later.0, RATE.time_to_send(Bytes(1538)).0);
    assert_eq!(report.classes[1].paused, later);
    assert_eq!(report.area, u128::from(sending) * u128::from(2 * paused + sending) / 2);
    assert_eq!(report.backlogs.total(), end);
}
