//! Tests of ports without classes.

use super::*;
use crate::packet::Packet;
use crate::packet::header::{Header, RateQuery, TcpData};
use crate::port::admission::{Incoming, Outcome};
use crate::port::report::PortReport;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use shallows_cc::parameter::Values;
use shallows_cc::port::{self, Arrival, CongestionPoint, Ecn, MarkAt};

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
        Some(marking) => port.marking(spec.rate, marking, Rng::new(1, 0)),
        None => port,
    }
}

fn frame() -> (Packet, Header) {
    (Packet::new(0, Bytes(1500), Ecn::Ect0, &Header::Bare), Header::Bare)
}

/// Five frames at once into a port: each leaves 1.2 us after the one before.
fn five_at_once(port: &mut Port, packets: &mut Slab) -> Vec<Packet> {
    for _ in 0..5 {
        let (packet, header) = frame();
        let at = packets.insert(packet, header);
        if let Outcome::Dropped(_) = port.enqueue(Time::ZERO, Incoming::local(at), packets).outcome {
            packets.remove(at);
        }
    }
    let mut out = Vec::new();
    let mut next = Some(FRAME + Time::from_micros(1));
    while let Some(now) = next {
        port.before_delivery(now, packets);
        let at = port.link.deliver(now, packets);
        out.push(packets[at]);
        packets.remove(at);
        next = port.link.first_arrival(packets);
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
    assert_eq!(port.report(FRAME * 10, FRAME * 10, port.carried(), &packets).dropped(), 2);
}

#[test]
fn at_enqueue_the_packets_behind_the_threshold_are_marked() {
    let mut packets = Slab::default();
    let step = marking(3, MarkAt::Enqueue);
    let out = five_at_once(&mut port(10, Some(&step)), &mut packets);
    let marks: Vec<_> = out.iter().map(|p| p.flags.is_ce()).collect();
    assert_eq!(marks, [false, false, false, true, true]);
}

#[test]
fn at_dequeue_the_packets_before_the_threshold_are_marked() {
    let mut packets = Slab::default();
    let step = marking(2, MarkAt::Dequeue);
    let out = five_at_once(&mut port(10, Some(&step)), &mut packets);
    // They leave 4, 3, 2, 1 and 0 packets behind. The first left as it came, before the others joined.
    let marks: Vec<_> = out.iter().map(|p| p.flags.is_ce()).collect();
    assert_eq!(marks, [false, true, false, false, false]);
}

/// Wakes every 1.5 us and marks what leaves while the queue it then saw was above two frames.
#[derive(Clone, Debug)]
struct Periodic {
    next: Time,
    seen: Bytes,
}

impl CongestionPoint for Periodic {
    fn retune(&mut self, _now: Time, _values: &Values, _rate: Rate) {}

    fn mark_probability(&mut self, _: &Arrival) -> f64 {
        f64::from(u8::from(self.seen > MTU * 2))
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
    port.extras().marker = Some(Marker::new(periodic, MarkAt::Dequeue, Rng::new(1, 0)));
    let out = five_at_once(&mut port, &mut packets);
    // It wakes with 3.75 and 2.5 frames left; they leave at 0, 1.2, 2.4, 3.6 and 4.8 us.
    let marks: Vec<_> = out.iter().map(|p| p.flags.is_ce()).collect();
    assert_eq!(marks, [false, false, true, true, false]);
}

/// Offers 2 Gbps and counts what comes.
#[derive(Clone, Debug)]
struct Offering(Arc<AtomicU64>);

impl CongestionPoint for Offering {
    fn retune(&mut self, _now: Time, _values: &Values, _rate: Rate) {}

    fn mark_probability(&mut self, _: &Arrival) -> f64 {
        0.0
    }

    fn on_arrival(&mut self, packet: Bytes, rtt: Option<Time>) {
        assert_eq!(rtt, Some(Time::from_micros(90)).filter(|_| packet == Bytes(700)));
        self.0.fetch_add(packet.0, Ordering::Relaxed);
    }

    fn offered_rate(&self) -> Option<Rate> {
        Some(Rate::from_gbps(2))
    }
}

#[test]
fn a_point_that_offers_rates_lowers_what_asks_and_counts_what_is_refused() {
    let (mut packets, mut port) = (Slab::default(), port(2, None));
    let seen = Arc::new(AtomicU64::new(0));
    let point = Box::new(Offering(Arc::clone(&seen)));
    port.extras().marker = Some(Marker::new(point, MarkAt::Dequeue, Rng::new(1, 0)));
    let asking = |offered| {
        let query = RateQuery { rtt: Time::from_micros(90), offered };
        let header = Header::RatedData(TcpData::default(), query);
        (Packet::new(0, Bytes(700), Ecn::NotEct, &header), header)
    };
    let offers = [asking(Rate::MAX), asking(Rate::from_gbps(1)), frame(), frame()];
    let at = offers.map(|(packet, header)| packets.insert(packet, header));
    let fits = at.map(|at| port.enqueue(Time::ZERO, Incoming::local(at), &mut packets).outcome == Outcome::Queued);
    assert_eq!(fits, [true, true, true, false]);
    assert_eq!(seen.load(Ordering::Relaxed), 2 * 700 + 2 * 1500);
    port.catch_up(FRAME * 5, &mut packets);
    let offered = at.map(|at| packets.header(at).query().map(|query| query.offered));
    assert_eq!(offered, [Some(Rate::from_gbps(2)), Some(Rate::from_gbps(1)), None, None]);
}

#[test]
fn the_mean_queue_of_five_at_once_is_a_triangle() {
    let mut packets = Slab::default();
    let mut port = port(10, None);
    five_at_once(&mut port, &mut packets);
    let report = port.report(FRAME * 10, FRAME * 10, port.carried(), &packets);
    // Five frame times of backlog draining in five frame times: 12.5 square frame times.
    assert_eq!(report.area, u128::from(FRAME.0) * u128::from(FRAME.0) * 25 / 2);
    assert_eq!(report.busy, FRAME * 5);
    assert_eq!(report.counters.sojourn, u128::from(FRAME.0) * 15);
    let (low, high) = report.backlogs.area_bounds();
    assert!(low <= report.area && report.area <= high);
}

/// At 10 Gbps frames of 1500, 700 and 64 B take 1200, 560 and 51.2 ns. Each finds the port idle: three, one and two of them
/// after the warm-up, which five came before.
#[test]
fn frames_that_find_the_port_idle_add_up() {
    let (mut packets, mut port) = (Slab::default(), port(10, None));
    let mut now = Time::ZERO;
    let mut send = |port: &mut Port, lengths: &[u64]| {
        for &length in lengths {
            let at = packets.insert(Packet::new(0, Bytes(length), Ecn::NotEct, &Header::Bare), Header::Bare);
            port.enqueue(now, Incoming::local(at), &mut packets);
            now += FRAME * 2;
        }
        now
    };
    let warm = send(&mut port, &[1500, 64, 64, 700, 1500]);
    port.end_warmup(warm, 0);
    let end = send(&mut port, &[1500, 64, 1500, 700, 64, 1500]);
    let report = port.report(end, end - warm, port.carried(), &packets);
    let PortReport { counters, busy, area, largest, in_flight, ref backlogs, .. } = report;
    assert_eq!((counters.sent, counters.sent_bytes, in_flight), (6, 3 * 1500 + 700 + 2 * 64, 5 + 6));
    let sending = [1_200_000, 1_200_000, 1_200_000, 560_000, 51_200, 51_200];
    assert_eq!((busy, largest), (Time(sending.iter().sum()), FRAME));
    assert_eq!(counters.sojourn, sending.iter().map(|&time| u128::from(time)).sum());
    assert_eq!(area, sending.iter().map(|&time| u128::from(time * time)).sum::<u128>() / 2);
    assert_eq!((backlogs.total(), backlogs.idle), (end - warm, end - warm - busy));
}

/// Five frames that arrive at once begin to leave after 0 to 4 frame times. After a warm-up of 1.5, those are counted that begin to leave
/// until the run ends after 3.5: the third and the fourth, which take 3 and 4 frame times. The step marks the last two.
#[test]
fn counters_are_of_what_leaves() {
    let mut packets = Slab::default();
    let step = marking(3, MarkAt::Enqueue);
    let mut observed = port(10, None);
    observed.extras().marker = Some(Marker::new(step.point(Rate::from_gbps(10)), MarkAt::Enqueue, Rng::new(1, 0)));
    for port in [port(10, Some(&step)), observed] {
        let (from, to) = (FRAME * 3 / 2, FRAME * 7 / 2);
        let mut port = port.measured(from, to);
        for (packet, header) in [frame(); 5] {
            let at = packets.insert(packet, header);
            port.enqueue(Time::ZERO, Incoming::local(at), &mut packets);
        }
        port.close(from, &mut packets);
        port.end_warmup(from, 0);
        port.close(to, &mut packets);
        let PortReport { counters, in_flight, .. } = port.report(to, to - from, port.carried(), &packets);
        assert_eq!((counters.sent, counters.sent_bytes, counters.marked, in_flight), (2, 3000, 1, 5));
        assert_eq!(counters.sojourn, u128::from(FRAME.0) * 7);
    }
}

#[test]
fn a_packet_that_finds_the_port_idle_needs_one_line_and_one_that_arrives_too() {
    assert_eq!(std::mem::offset_of!(Port, histogram), 64);
    assert_eq!(size_of::<Port>(), 192);
}

#[test]
fn ports_built_alike_share_how() {
    let known = &mut BTreeSet::new();
    let step = marking(3, MarkAt::Enqueue);
    let ports = [port(10, None), port(10, None), port(10, Some(&step)), port(9, None)];
    let ports = ports.map(|port| port.with_shared_config(known));
    assert!(Arc::ptr_eq(&ports[0].config, &ports[1].config));
    assert_eq!(known.len(), 3);
}
