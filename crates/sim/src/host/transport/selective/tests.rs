//! Tests of the sender with selective acknowledgements.

use shallows_cc::catalog;
use shallows_cc::parameter::Values;
use shallows_cc::sender::Path;
use shallows_cc::units::{Bytes, Rate, Time};

use super::Selective;
use crate::host::transport::flow::{Flow, Reliability as _};
use crate::host::transport::message::Message;
use crate::host::transport::position::Position;
use crate::host::transport::{PacketSink, Readiness, SenderConfig};
use crate::packet::Slab;
use crate::packet::header::TcpAck;
use crate::spec::network::{HostSpec, Network};

const MSS: Bytes = Bytes(1460);

impl Flow<Selective> {
    pub(in crate::host::transport) fn on_ack(&mut self, now: Time, packet: &TcpAck) {
        self.reliability.on_ack(&mut self.common, now, packet);
    }
}

fn reno(packets: u64) -> Flow<Selective> {
    with_prr(packets, false)
}

/// A Reno flow. The initial timeout is 10 ms, the minimum 1 ms.
fn with_prr(packets: u64, prr: bool) -> Flow<Selective> {
    let host = HostSpec { prr, ..Network::bare().host };
    let row = catalog::find("reno").unwrap();
    let (line_rate, base_rtt) = (Rate::from_gbps(10), Time::from_micros(100));
    let path = Path { mss: MSS, initial_window: MSS * 10, line_rate, base_rtt, seed: 1, ..Path::default() };
    let control = (row.sender)(&Values::defaults(row.parameters), &path);
    let config = SenderConfig::sample(&host, (packets, MSS), control);
    Flow::new(Selective::new(&config, 3), config)
}

/// The last packets of an endless flow that are still allowed (4e9), with losses, in a build that checks overflows.
#[test]
fn sequence_numbers_reach_their_limit() {
    let mut sender = reno(u64::MAX / MSS.0);
    sender.common.position.message = Message::new(Bytes::MAX, MSS);
    sender.common.position = Position { unacked: 3_999_999_000, next: 3_999_999_000, ..sender.common.position };
    sender.common.repairs.retransmits = 1 << 32;
    let now = Time::from_micros(100);
    let first = send_all(&mut sender, now);
    assert_eq!((first[0], first.len()), (3_999_999_000, 10));
    for end in 2..5 {
        sender.on_ack(now, &ack(first[0], (first[1], first[0] + end)));
    }
    assert_eq!(send_all(&mut sender, now)[0], first[0]);
    while sender.common.position.next < 4_000_000_000 {
        sender.on_ack(now, &ack(sender.common.position.next, (0, 0)));
        send_all(&mut sender, now);
    }
    assert_eq!((sender.common.repairs.retransmits, sender.done()), ((1 << 32) + 1, false));
}

#[test]
fn a_segment_waits_until_the_window_has_space_for_all_of_it() {
    let mut sender = reno(200);
    sender.reliability.segment = 3;
    // A window of ten packets has space for three segments, but not for a fourth.
    assert_eq!(send_all(&mut sender, Time::ZERO).len(), 9);
    let now = Time::from_micros(100);
    // With a window of eleven, eight packets are in flight: a segment fits. With twelve, ten are in flight: none fits.
    sender.on_ack(now, &ack(1, (0, 0)));
    assert_eq!(send_all(&mut sender, now), [9, 10, 11]);
    sender.on_ack(now, &ack(2, (0, 0)));
    assert_eq!(send_all(&mut sender, now), Vec::<u32>::new());
}

/// 20 packets a round trip of 1 ms are 20,000 packets a second: 1.2 times that, in 250 us, are six packets, in 2^-10 s 23, and in 10 us
/// the least segment of two.
#[test]
fn a_segment_lasts_a_time_at_the_rate_of_the_flow() {
    let us = Time::from_micros;
    for (time, most, expected) in [(250, 44, 6), (976, 44, 23), (976, 10, 10), (10, 44, 2), (0, 44, 44)] {
        let mut sender = reno(2000);
        (sender.reliability.segment, sender.reliability.segment_time, sender.common.gate.window) =
            (most, us(time), MSS * 20);
        assert_eq!(sender.reliability.segment_size(&sender.common), most, "no round trip is known");
        sender.reliability.timer.sample(us(1000));
        assert_eq!(sender.reliability.segment_size(&sender.common), expected);
        sender.common.gate.pace = Some(Rate(20_000 * 1460 * 8));
        assert_eq!(
            sender.reliability.segment_size(&sender.common),
            if time == 250 { 5 } else { sender.reliability.segment_size(&sender.common) }
        );
    }
}

fn send_all(sender: &mut Flow<Selective>, now: Time) -> Vec<u32> {
    let mut sent = Vec::new();
    while sender.readiness(now) == Readiness::Ready {
        sent.push(send_one(sender, now));
    }
    sent
}

/// Sends a packet and returns its sequence number.
fn send_one(sender: &mut Flow<Selective>, now: Time) -> u32 {
    let mut packets = Slab::default();
    let at = sender.send(now, Bytes(40), &mut PacketSink { packets: &mut packets, flow: 0, path: 0 });
    packets.header(at).numbers().0
}

fn ack(cumulative: u32, block: (u32, u32)) -> TcpAck {
    let (block_from, block) = (block.0, (block.1 - block.0) as u16);
    TcpAck { cumulative, block_from, block, samples: 1, ..TcpAck::default() }
}

/// RFC 6937 is about recoveries: after a timeout the window of the algorithm counts, here one packet (RFC 5681 §3.1).
#[test]
fn a_timeout_ends_a_reduction() {
    let mut sender = with_prr(50, true);
    send_all(&mut sender, Time::ZERO);
    for end in 2..8 {
        sender.on_ack(Time::from_micros(100), &ack(0, (1, end)));
    }
    let repairs = send_all(&mut sender, Time::from_micros(100));
    assert_eq!(repairs.first(), Some(&0));
    let timeout = sender.arm_timer().unwrap();
    sender.on_timer(timeout);
    assert_eq!((send_all(&mut sender, timeout), sender.common.repairs.timeouts), (vec![0], 1));
}

/// RFC 5681 §3.2: packets that arrive after a hole, here 2 and 3 of ten, must not change the window, but each lets a new packet
/// leave (RFC 3042). The next acknowledgement counts packet 0 alone, and the one that covers the hole counts the hole.
#[test]
fn packets_after_a_hole_do_not_grow_the_window() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    let now = Time::from_micros(100);
    let mut after = |heard| {
        sender.on_ack(now, &heard);
        let sent = send_all(&mut sender, now).len();
        (sender.common.gate.window / MSS, sent)
    };
    assert_eq!(after(ack(0, (2, 3))), (10.0, 1));
    assert_eq!(after(ack(0, (2, 4))), (10.0, 1));
    assert_eq!(after(ack(1, (2, 4))), (11.0, 2));
    assert_eq!(after(ack(4, (0, 0))), (12.0, 2));
}

#[test]
fn the_initial_window_leaves_at_once() {
    assert_eq!(send_all(&mut reno(50), Time::ZERO), (0..10).collect::<Vec<_>>());
}

/// The NIC has sent the first window and still holds the next one: acknowledgements of the first window grow the window, those
/// of the next one do not.
#[test]
fn a_full_window_grows_while_the_nic_is_slow() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    let now = Time::from_micros(100);
    for packet in 1..=10 {
        sender.on_ack(now, &ack(packet, (0, 0)));
        send_one(&mut sender, now);
    }
    assert_eq!(sender.common.gate.window, MSS * 20);
    sender.on_ack(now, &ack(11, (0, 0)));
    assert_eq!(sender.common.gate.window, MSS * 20);
}

#[test]
fn three_packets_after_a_hole_repair_it_once() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    let now = Time::from_micros(100);
    for end in 2..5 {
        sender.on_ack(now, &ack(0, (1, end)));
    }
    // Ten packets were in flight, so the window becomes five. Three arrived and one is lost: six are in flight, but the
    // retransmission leaves at once. Nothing else leaves until three more have arrived.
    assert_eq!(sender.common.gate.window, MSS * 5);
    assert_eq!(send_all(&mut sender, now), [0]);
    sender.on_ack(now, &ack(0, (1, 6)));
    assert_eq!(send_all(&mut sender, now), Vec::<u32>::new());
    sender.on_ack(now, &ack(0, (1, 7)));
    assert_eq!(send_all(&mut sender, now), [10]);
    assert_eq!((sender.common.gate.window, sender.common.repairs.retransmits), (MSS * 5, 1));
    sender.on_ack(now, &ack(7, (0, 0)));
    assert_eq!(send_all(&mut sender, now), [11]);
}

#[test]
fn a_timeout_retransmits_everything_in_slow_start() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    assert_eq!(sender.arm_timer(), Some(Time::from_millis(10)));
    sender.on_timer(Time::from_millis(10));
    assert_eq!(send_all(&mut sender, Time::from_millis(10)), [0]);
    sender.on_ack(Time::from_millis(11), &ack(1, (0, 0)));
    assert_eq!(send_all(&mut sender, Time::from_millis(11)), [1, 2]);
    assert_eq!((sender.common.repairs.timeouts, sender.common.repairs.retransmits), (1, 3));
}

/// RFC 6298 §5.3: only a cumulative acknowledgement restarts the timer. After samples of 2 and 3 ms SRTT is 2.125 ms and RTTVAR
/// 1 ms, but the deadline of 2 + 6 ms stands.
#[test]
fn selective_acknowledgements_do_not_restart_the_timer() {
    let (mut sender, ms) = (reno(50), Time::from_millis);
    send_all(&mut sender, Time::ZERO);
    sender.on_ack(ms(2), &ack(1, (0, 0)));
    sender.on_ack(ms(3), &ack(1, (2, 3)));
    assert_eq!(sender.reliability.timer.deadline, ms(8));
    sender.on_ack(ms(4), &ack(3, (0, 0)));
    assert!(sender.reliability.timer.deadline > ms(8));
}

/// RFC 6298 §2: samples of 2 and 10 ms give smoothed values of 2 and (7 * 2 + 10)/8 = 3 ms.
#[test]
fn smoothed_round_trips_have_a_mean_and_a_maximum() {
    let (mut sender, ms) = (reno(50), Time::from_millis);
    assert_eq!((sender.reliability.rtt().mean(), sender.reliability.rtt().max), (Time::ZERO, Time::ZERO));
    send_all(&mut sender, Time::ZERO);
    sender.on_ack(ms(2), &ack(1, (0, 0)));
    sender.on_ack(ms(10), &ack(2, (0, 0)));
    assert_eq!((sender.reliability.rtt().mean(), sender.reliability.rtt().max), (Time::from_micros(2500), ms(3)));
}

/// RFC 6675 §4: of ten packets 3, 4, 5 and 7 arrived. Three packets after 0, 1 and 2 arrived, so these are lost; one after 6
/// arrived. Therefore 6, 8 and 9 are in flight, and retransmissions that follow.
#[test]
fn arrived_and_lost_packets_are_not_in_flight() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    let now = Time::from_micros(100);
    sender.on_ack(now, &ack(0, (3, 4)));
    assert_eq!(sender.reliability.board.in_flight, 9);
    sender.on_ack(now, &ack(0, (3, 5)));
    assert_eq!(sender.reliability.board.in_flight, 8);
    sender.on_ack(now, &ack(0, (3, 6)));
    assert_eq!(sender.reliability.board.in_flight, 4);
    sender.on_ack(now, &ack(0, (7, 8)));
    assert_eq!(sender.reliability.board.in_flight, 3);
    // The window is five: two of the three retransmissions leave.
    assert_eq!(send_all(&mut sender, now), [0, 1]);
    assert_eq!(sender.reliability.board.in_flight, 5);
}

/// Of ten packets in flight the first is lost, and so is its retransmission. Two that arrive after it let two more leave and
/// keep the window at 10 (RFC 5681 §3.2); the third makes it 5. From the eighth on every arrival lets a new packet leave. When
/// the timer expires, FlightSize of RFC 5681 is 18: 13 that arrived and 5 in flight. The threshold becomes half of 5.
#[test]
fn a_reduction_never_raises_the_window() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    let now = Time::from_micros(100);
    for end in 2..15 {
        sender.on_ack(now, &ack(0, (1, end)));
        send_all(&mut sender, now);
    }
    assert_eq!(
        (
            sender.common.position.next - sender.common.position.unacked,
            sender.reliability.board.in_flight,
            sender.common.gate.window
        ),
        (18, 5, MSS * 5)
    );
    let deadline = sender.reliability.timer.deadline;
    sender.on_timer(deadline);
    assert_eq!((probed(&mut sender, "threshold_pkt"), sender.common.gate.window), (2.5, MSS));
    // A second timeout keeps the threshold and doubles the timeout.
    assert_eq!(send_all(&mut sender, deadline), [0]);
    let again = sender.reliability.timer.deadline;
    sender.on_timer(again);
    assert_eq!((probed(&mut sender, "threshold_pkt"), sender.common.gate.window), (2.5, MSS));
    send_all(&mut sender, again);
    assert_eq!(sender.reliability.timer.deadline - again, (again - deadline) * 2);
}

/// Packets 1 to 4 arrived; the timer expires for 0, and they are not retransmitted. Then 0 is acknowledged and 1 is not: the
/// receiver has dropped them.
#[test]
fn a_timeout_retransmits_arrived_packets_only_if_the_receiver_dropped_them() {
    let mut sender = reno(6);
    send_all(&mut sender, Time::ZERO);
    for end in 2..6 {
        sender.on_ack(Time::from_micros(100), &ack(0, (1, end)));
    }
    send_all(&mut sender, Time::from_micros(100));
    let mut now = sender.reliability.timer.deadline;
    sender.on_timer(now);
    assert_eq!(send_all(&mut sender, now), [0]);
    sender.on_ack(now, &ack(1, (0, 0)));
    assert_eq!(send_all(&mut sender, now), [5]);
    now = sender.reliability.timer.deadline;
    sender.on_timer(now);
    assert_eq!(send_all(&mut sender, now), [1]);
    sender.on_ack(now, &ack(5, (0, 0)));
    assert_eq!(send_all(&mut sender, now), [5]);
}

fn probed(sender: &mut Flow<Selective>, name: &str) -> f64 {
    let mut found = f64::NAN;
    sender.common.gate.control.probe(&mut |probe, value| {
        if probe == name {
            found = value;
        }
    });
    found
}

#[test]
fn the_timeout_is_srtt_and_four_variations_and_at_least_the_minimum() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    assert_eq!(sender.arm_timer(), Some(Time::from_millis(10)));
    sender.on_ack(Time::from_millis(2), &ack(1, (0, 0)));
    // RFC 6298: SRTT = 2 ms, RTTVAR = 1 ms, RTO = 6 ms, which is before the pending timer of the initial timeout.
    assert_eq!(sender.arm_timer(), Some(Time::from_millis(8)));
    sender.on_timer(Time::from_millis(8));
    assert_eq!(sender.common.repairs.timeouts, 1);
}
