//! Tests of the sender with selective acknowledgements.

use shallows_cc::catalog;
use shallows_cc::parameter::Values;
use shallows_cc::sender::Path;
use shallows_cc::units::{Bytes, Rate, Time};

use super::SelectiveSender;
use crate::host::transport::traits::TransportSender;
use crate::host::transport::{PacketSink, Readiness, SenderConfig};
use crate::packet::Slab;
use crate::packet::header::TcpAck;
use crate::spec::network::Network;

const MSS: Bytes = Bytes(1460);

fn reno(packets: u64) -> SelectiveSender {
    // Timeouts of 10 ms at first, of 1 ms at least.
    let host = Network::bare().host;
    let row = catalog::find("reno").unwrap();
    let (line_rate, base_rtt) = (Rate::from_gbps(10), Time::from_micros(100));
    let path = Path { mss: MSS, initial_window: MSS * 10, line_rate, base_rtt, seed: 1, ..Path::default() };
    let control = (row.sender)(&Values::defaults(row.parameters), &path);
    let config = SenderConfig {
        bytes: MSS * packets,
        mss: MSS,
        ecn: false,
        has_int: false,
        host: &host,
        first_timeout: host.rto_initial,
        control,
    };
    SelectiveSender::new(config, 3)
}

#[test]
fn a_segment_waits_until_all_of_it_fits() {
    let mut sender = reno(200);
    sender.segment = 3;
    // Three segments of a window of ten: there is no room for a fourth.
    assert_eq!(send_all(&mut sender, Time::ZERO).len(), 9);
    let now = Time::from_micros(100);
    // Eight of eleven in flight: room for all of it. Ten of twelve: not.
    sender.on_ack(now, &ack(1, (0, 0)));
    assert_eq!(send_all(&mut sender, now), [9, 10, 11]);
    sender.on_ack(now, &ack(2, (0, 0)));
    assert_eq!(send_all(&mut sender, now), Vec::<u32>::new());
}

fn send_all(sender: &mut SelectiveSender, now: Time) -> Vec<u32> {
    let mut sent = Vec::new();
    while sender.readiness(now) == Readiness::Ready {
        sent.push(send_one(sender, now));
    }
    sent
}

/// The number of the packet that leaves.
fn send_one(sender: &mut SelectiveSender, now: Time) -> u32 {
    let mut packets = Slab::default();
    let at = sender.send(now, Bytes(40), &mut PacketSink { packets: &mut packets, flow: 0, path: 0 });
    packets.header(at).numbers().0
}

fn ack(cumulative: u32, block: (u32, u32)) -> TcpAck {
    let (block_from, block) = (block.0, (block.1 - block.0) as u16);
    TcpAck { cumulative, block_from, block, samples: 1, ..TcpAck::default() }
}

/// RFC 5681 §3.2: what arrives behind a hole, here 2 and 3 of ten, does not change the window (a MUST NOT), but lets as
/// many new packets go (RFC 3042). The acknowledgement of the first packet after that counts that packet alone, and the
/// one that covers the hole the hole.
#[test]
fn what_arrives_behind_a_hole_does_not_let_the_window_grow() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    let now = Time::from_micros(100);
    let mut after = |heard| {
        sender.on_ack(now, &heard);
        let sent = send_all(&mut sender, now).len();
        (sender.gate.window / MSS, sent)
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

/// Its NIC has sent the first window and ack_pending it the next: every acknowledgement of that window counts, those of the
/// next do not.
#[test]
fn a_window_that_was_filled_grows_while_the_nic_is_slow() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    let now = Time::from_micros(100);
    for packet in 1..=10 {
        sender.on_ack(now, &ack(packet, (0, 0)));
        send_one(&mut sender, now);
    }
    assert_eq!(sender.gate.window, MSS * 20);
    sender.on_ack(now, &ack(11, (0, 0)));
    assert_eq!(sender.gate.window, MSS * 20);
}

#[test]
fn three_packets_behind_a_hole_repair_it_once() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    let now = Time::from_micros(100);
    for end in 2..5 {
        sender.on_ack(now, &ack(0, (1, end)));
    }
    // Ten in flight: the window becomes five. Three arrived, one is lost: six are in flight, yet the
    // repair leaves at once; then nothing before three more have arrived.
    assert_eq!(sender.gate.window, MSS * 5);
    assert_eq!(send_all(&mut sender, now), [0]);
    sender.on_ack(now, &ack(0, (1, 6)));
    assert_eq!(send_all(&mut sender, now), Vec::<u32>::new());
    sender.on_ack(now, &ack(0, (1, 7)));
    assert_eq!(send_all(&mut sender, now), [10]);
    assert_eq!((sender.gate.window, sender.retransmits), (MSS * 5, 1));
    sender.on_ack(now, &ack(7, (0, 0)));
    assert_eq!(send_all(&mut sender, now), [11]);
}

#[test]
fn after_a_timeout_everything_goes_again_one_by_one() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    assert_eq!(sender.arm_timer(), Some(Time::from_millis(10)));
    sender.on_timer(Time::from_millis(10));
    assert_eq!(send_all(&mut sender, Time::from_millis(10)), [0]);
    sender.on_ack(Time::from_millis(11), &ack(1, (0, 0)));
    assert_eq!(send_all(&mut sender, Time::from_millis(11)), [1, 2]);
    assert_eq!((sender.timeouts, sender.retransmits), (1, 3));
}

/// RFC 6298 §5.3: only what is acknowledged cumulatively starts the timer anew. SRTT and RTTVAR after samples of 2
/// and 3 ms: 2.125 and 1 ms; but the deadline of 2 + 6 ms stands.
#[test]
fn selective_acknowledgements_do_not_put_the_timeout_off() {
    let (mut sender, ms) = (reno(50), Time::from_millis);
    send_all(&mut sender, Time::ZERO);
    sender.on_ack(ms(2), &ack(1, (0, 0)));
    sender.on_ack(ms(3), &ack(1, (2, 3)));
    assert_eq!(sender.timer.deadline, ms(8));
    sender.on_ack(ms(4), &ack(3, (0, 0)));
    assert!(sender.timer.deadline > ms(8));
}

/// RFC 6298 §2: samples of 2 and 10 ms are smoothed to 2 and (7 * 2 + 10)/8 = 3 ms.
#[test]
fn smoothed_round_trips_are_kept_in_mean_and_most() {
    let (mut sender, ms) = (reno(50), Time::from_millis);
    assert_eq!((sender.rtt().mean(), sender.rtt().max), (Time::ZERO, Time::ZERO));
    send_all(&mut sender, Time::ZERO);
    sender.on_ack(ms(2), &ack(1, (0, 0)));
    sender.on_ack(ms(10), &ack(2, (0, 0)));
    assert_eq!((sender.rtt().mean(), sender.rtt().max), (Time::from_micros(2500), ms(3)));
}

/// RFC 6675 §4: ten sent; 3, 4, 5, 7 arrived. 0, 1, 2 have three behind them and are lost, 6 has one; so 6, 8 and 9
/// are in flight, and what is sent again from then on.
#[test]
fn what_arrived_and_what_is_lost_is_not_in_flight() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    let now = Time::from_micros(100);
    sender.on_ack(now, &ack(0, (3, 4)));
    assert_eq!(sender.board.in_flight, 9);
    sender.on_ack(now, &ack(0, (3, 5)));
    assert_eq!(sender.board.in_flight, 8);
    sender.on_ack(now, &ack(0, (3, 6)));
    assert_eq!(sender.board.in_flight, 4);
    sender.on_ack(now, &ack(0, (7, 8)));
    assert_eq!(sender.board.in_flight, 3);
    // The window is five: two of the three repairs.
    assert_eq!(send_all(&mut sender, now), [0, 1]);
    assert_eq!(sender.board.in_flight, 5);
}

/// Ten in flight, the first is lost, and so is its repair. Two that arrive behind it let two more go and leave the window
/// at 10 (RFC 5681 §3.2), the third makes it 5. From the eighth on every packet that arrives lets a new one go: by the time
/// the timer runs out FlightSize of RFC 5681 is 13 that arrived and 5 in flight; half of 5 is left.
#[test]
fn a_cut_never_raises_the_window() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    let now = Time::from_micros(100);
    for end in 2..15 {
        sender.on_ack(now, &ack(0, (1, end)));
        send_all(&mut sender, now);
    }
    assert_eq!(
        (sender.board.next - sender.board.unacked, sender.board.in_flight, sender.gate.window),
        (18, 5, MSS * 5)
    );
    let deadline = sender.timer.deadline;
    sender.on_timer(deadline);
    assert_eq!((probed(&mut sender, "threshold_pkt"), sender.gate.window), (2.5, MSS));
    // And again: the threshold is held, and the wait doubled.
    assert_eq!(send_all(&mut sender, deadline), [0]);
    let again = sender.timer.deadline;
    sender.on_timer(again);
    assert_eq!((probed(&mut sender, "threshold_pkt"), sender.gate.window), (2.5, MSS));
    send_all(&mut sender, again);
    assert_eq!(sender.timer.deadline - again, (again - deadline) * 2);
}

/// 1 to 4 arrived, and the timer runs out twice over 0: they are not sent again. Then 0 is acknowledged and 1 is not:
/// the receiver has dropped them.
#[test]
fn a_timeout_repeats_only_what_has_not_arrived_unless_the_receiver_dropped_it() {
    let mut sender = reno(6);
    send_all(&mut sender, Time::ZERO);
    for end in 2..6 {
        sender.on_ack(Time::from_micros(100), &ack(0, (1, end)));
    }
    send_all(&mut sender, Time::from_micros(100));
    let mut now = sender.timer.deadline;
    sender.on_timer(now);
    assert_eq!(send_all(&mut sender, now), [0]);
    sender.on_ack(now, &ack(1, (0, 0)));
    assert_eq!(send_all(&mut sender, now), [5]);
    now = sender.timer.deadline;
    sender.on_timer(now);
    assert_eq!(send_all(&mut sender, now), [1]);
    sender.on_ack(now, &ack(5, (0, 0)));
    assert_eq!(send_all(&mut sender, now), [5]);
}

fn probed(sender: &mut SelectiveSender, name: &str) -> f64 {
    let mut found = f64::NAN;
    sender.gate.control.probe(&mut |probe, value| {
        if probe == name {
            found = value;
        }
    });
    found
}

#[test]
fn the_timeout_is_srtt_and_four_variations_but_not_below_its_floor() {
    let mut sender = reno(50);
    send_all(&mut sender, Time::ZERO);
    assert_eq!(sender.arm_timer(), Some(Time::from_millis(10)));
    sender.on_ack(Time::from_millis(2), &ack(1, (0, 0)));
    // RFC 6298: SRTT = 2 ms, RTTVAR = 1 ms, RTO = 6 ms: before the initial one, which is set, runs out.
    assert_eq!(sender.arm_timer(), Some(Time::from_millis(8)));
    sender.on_timer(Time::from_millis(8));
    assert_eq!(sender.timeouts, 1);
}
