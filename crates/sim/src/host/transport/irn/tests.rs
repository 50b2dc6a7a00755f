//! Tests of selective retransmission over RoCE.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use shallows_cc::catalog;
use shallows_cc::event::{Ack, Loss};
use shallows_cc::parameter::Values;
use shallows_cc::sender::{Decision, Path, Segments, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

use super::Irn;
use crate::host::transport::flow::Flow;
use crate::host::transport::{PacketSink, Readiness, SenderConfig};
use crate::packet::Slab;
use crate::packet::header::{Header, RoceAnswer};
use crate::spec::network::Network;

const MSS: Bytes = Bytes(1460);

const fn us(time: u64) -> Time {
    Time::from_micros(time)
}

/// A DCQCN flow at 12 Gbps, one frame of 1500 B a microsecond, whose bandwidth-delay product is eight frames. The high timeout is
/// 10 ms, so the low one is 3125 us.
fn dcqcn(packets: u64, sprayed: bool) -> Flow<Irn> {
    let row = catalog::find("dcqcn").unwrap();
    let (line_rate, base_rtt) = (Rate::from_gbps(12), us(8));
    let path = Path { mss: MSS, initial_window: MSS * 10, line_rate, base_rtt, seed: 1, ..Path::default() };
    with_control(packets, sprayed, (row.sender)(&Values::defaults(row.parameters), &path))
}

fn with_control(packets: u64, sprayed: bool, control: Box<dyn Sender>) -> Flow<Irn> {
    let host = Network::bare().host;
    let config = SenderConfig {
        sprayed,
        base_rtt: us(8),
        in_flight_limit: if sprayed { 16 } else { 8 },
        ..SenderConfig::sample(&host, (packets, MSS), control)
    };
    Flow::new(Irn::new(&config), config)
}

impl Flow<Irn> {
    fn hear(&mut self, now: Time, header: &Header) {
        self.reliability.on_header(&mut self.common, now, header);
    }
}

/// Algorithm at 12 Gbps that counts the losses of which it is told, and notes whether the last acknowledgement came in a recovery.
#[derive(Clone, Debug)]
struct Counting(Arc<AtomicU32>, Arc<AtomicBool>);

impl Sender for Counting {
    fn on_ack(&mut self, _: Time, ack: &Ack) {
        self.1.store(ack.recovering, Ordering::Relaxed);
    }
    fn on_loss(&mut self, _: Time, _: &Loss) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn decision(&self) -> Decision {
        Decision { window: Bytes::MAX, pace: Some(Rate::from_gbps(12)), wake: None }
    }
    fn segments(&self) -> Segments {
        Segments { size: MSS, at_once: false, burst_rate: None }
    }
}

/// Sends all that may leave from `begin` until `end`, in microseconds.
fn send_until(sender: &mut Flow<Irn>, begin: u64, end: u64) -> Vec<u32> {
    let mut sent = Vec::new();
    let mut now = us(begin);
    while now < us(end) {
        match sender.readiness(now) {
            Readiness::Ready => {
                let mut packets = Slab::default();
                let at = sender.send(now, Bytes(40), &mut PacketSink { packets: &mut packets, flow: 0, path: 0 });
                sent.push(packets.header(at).numbers().0);
            }
            Readiness::At(later) => now = later,
            _ => break,
        }
    }
    sent
}

/// The answer to frame `seq`, which left `seq` microseconds after the start or at `left`.
fn answer(sender: &mut Flow<Irn>, now: u64, cumulative: u32, seq: u32, left: Option<u64>) {
    let answer = RoceAnswer { sent: us(left.unwrap_or(u64::from(seq))), cumulative, ..RoceAnswer::default() };
    let header =
        if seq < cumulative { Header::SelectiveAck { answer, seq } } else { Header::SelectiveNack { answer, seq } };
    sender.hear(us(now), &header);
}

/// BDP-FC (section 3.2): no more than eight frames between the cumulative acknowledgement and the next new frame.
#[test]
fn a_bandwidth_delay_product_is_in_flight() {
    let mut sender = dcqcn(100, false);
    assert_eq!(send_until(&mut sender, 0, 50), (0..8).collect::<Vec<_>>());
    answer(&mut sender, 50, 1, 0, None);
    assert_eq!(send_until(&mut sender, 50, 60), [8]);
    // A frame behind a hole does not move the cumulative acknowledgement: only the repair leaves.
    answer(&mut sender, 60, 1, 2, None);
    assert_eq!(send_until(&mut sender, 60, 70), [1]);
}

/// Section 3.1: holes below the highest frame that has arrived are lost, and each is sent again once.
#[test]
fn only_holes_are_sent_again() {
    let mut sender = dcqcn(8, false);
    send_until(&mut sender, 0, 20);
    answer(&mut sender, 20, 1, 0, None);
    answer(&mut sender, 21, 1, 3, None);
    answer(&mut sender, 22, 1, 6, None);
    assert_eq!(send_until(&mut sender, 22, 40), [1, 2, 4, 5]);
    answer(&mut sender, 41, 1, 7, None);
    assert_eq!(send_until(&mut sender, 41, 50), Vec::<u32>::new());
    assert_eq!((sender.common.repairs.retransmits, sender.common.repairs.timeouts), (4, 0));
}

/// Frames 1 and 4 of the first eight are lost, and of the next ones 9: the algorithm hears of two recoveries. The first ends when all
/// that had been sent at its start, frames 0 to 8, is acknowledged (section 3.1).
#[test]
fn an_algorithm_is_told_once_in_each_recovery() {
    let (losses, recovering) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let mut sender = with_control(100, false, Box::new(Counting(losses.clone(), recovering.clone())));
    send_until(&mut sender, 0, 20);
    for (cumulative, seq, told) in [(1, 0, 0), (1, 2, 1), (1, 3, 1), (1, 5, 1), (4, 1, 1)] {
        answer(&mut sender, 21 + u64::from(seq), cumulative, seq, None);
        assert_eq!(losses.load(Ordering::Relaxed), told);
        send_until(&mut sender, 30, 40);
    }
    assert!(recovering.load(Ordering::Relaxed));
    answer(&mut sender, 50, 9, 4, None);
    assert!(!recovering.load(Ordering::Relaxed));
    answer(&mut sender, 51, 9, 10, Some(40));
    assert_eq!(losses.load(Ordering::Relaxed), 2);
}

/// The loss of a retransmission waits for the timer: with two frames in flight the low one, 3125 us after the last progress.
#[test]
fn the_low_timeout_holds_for_few_frames_in_flight() {
    let mut sender = dcqcn(4, false);
    send_until(&mut sender, 0, 20);
    answer(&mut sender, 20, 1, 0, None);
    answer(&mut sender, 21, 1, 3, None);
    assert_eq!(send_until(&mut sender, 21, 40), [1, 2]);
    sender.on_timer(us(3144));
    assert_eq!((send_until(&mut sender, 3144, 3145), sender.common.repairs.timeouts), (vec![], 0));
    sender.on_timer(us(3145));
    assert_eq!((send_until(&mut sender, 3145, 3200), sender.common.repairs.timeouts), (vec![1, 2], 1));
}

/// Eight frames are in flight, of which answers to six arrive 4 ms later: the low timeout of the two that are left has passed, so that it
/// expires at once, and not in the past.
#[test]
fn a_low_timeout_that_has_passed_expires_at_once() {
    let mut sender = dcqcn(8, false);
    send_until(&mut sender, 0, 20);
    for seq in 1..7 {
        answer(&mut sender, 4000, 0, seq, None);
    }
    assert_eq!(sender.status(us(4000), true).timeout, Some(us(4000)));
    sender.on_timer(us(4000));
    assert_eq!(sender.common.repairs.timeouts, 1);
}

/// With eight frames in flight the high timeout holds, 10 ms after the first left.
#[test]
fn the_high_timeout_holds_for_many_frames_in_flight() {
    let mut sender = dcqcn(100, false);
    send_until(&mut sender, 0, 20);
    sender.on_timer(us(9999));
    assert_eq!(sender.common.repairs.timeouts, 0);
    sender.on_timer(us(10_000));
    assert_eq!((send_until(&mut sender, 10_000, 10_100), sender.common.repairs.timeouts), ((0..8).collect(), 1));
}

/// Sprayed frames that others overtake are in flight until twice the round trip has passed, and do not hold back new ones.
#[test]
fn sprayed_frames_wait_for_late_ones() {
    let mut sender = dcqcn(100, true);
    assert_eq!(send_until(&mut sender, 0, 50).len(), 16);
    answer(&mut sender, 50, 0, 5, None);
    answer(&mut sender, 51, 0, 6, None);
    assert_eq!(send_until(&mut sender, 51, 60), [16, 17]);
    // The round trip of frames 5 and 6 was 45 us, so frame 0 has until 90 us.
    assert_eq!(sender.arm_timer(), Some(us(90)));
    answer(&mut sender, 62, 1, 0, None);
    assert_eq!((send_until(&mut sender, 62, 70), sender.common.repairs.retransmits), (vec![18], 0));
}
