//! Delivery-rate samples, worked by hand.

use std::sync::{Arc, Mutex};

use shallows_cc::event::{Ack, DeliverySample, Loss, LostPacket};
use shallows_cc::sender::{Decision, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

use crate::host::transport::flow::Flow;
use crate::host::transport::selective::Selective;
use crate::host::transport::{PacketSink, Readiness, SenderConfig};
use crate::packet::Slab;
use crate::packet::header::TcpAck;
use crate::spec::network::{HostSpec, LossDetection, Network, Supply};

const MSS: Bytes = Bytes(1000);

const fn us(time: u64) -> Time {
    Time::from_micros(time)
}

/// What an algorithm was told, besides acknowledgements that cover nothing new.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Sample(DeliverySample),
    Lost(LostPacket),
    Spurious,
    Restart,
}

/// Algorithm with a window of six packets that writes down what it is told.
#[derive(Clone, Debug, Default)]
struct Listener(Arc<Mutex<Vec<Told>>>, Arc<Mutex<Vec<Bytes>>>);

impl Listener {
    fn note(&self, told: Told) {
        self.0.lock().expect("no poison").push(told);
    }

    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut self.0.lock().expect("no poison"))
    }

    /// Returns the bytes of all losses so far.
    fn losses(&self) -> Vec<Bytes> {
        self.1.lock().expect("no poison").clone()
    }
}

impl Sender for Listener {
    fn on_ack(&mut self, _now: Time, ack: &Ack) {
        ack.delivery.into_iter().for_each(|sample| self.note(Told::Sample(sample)));
    }
    fn on_loss(&mut self, _now: Time, loss: &Loss) {
        self.1.lock().expect("no poison").push(loss.lost);
    }
    fn samples_delivery(&self) -> bool {
        true
    }
    fn on_packet_lost(&mut self, _now: Time, lost: &LostPacket) {
        self.note(Told::Lost(*lost));
    }
    fn on_spurious_loss(&mut self, _now: Time) {
        self.note(Told::Spurious);
    }
    fn on_restart(&mut self, _now: Time) {
        self.note(Told::Restart);
    }
    fn decision(&self) -> Decision {
        Decision::window(MSS * 6)
    }
}

/// A flow of so many packets over its listener.
struct Script {
    sender: Flow<Selective>,
    listener: Listener,
}

impl Script {
    fn new(packets: u64, loss_detection: LossDetection) -> Self {
        Self::of_bytes(MSS * packets, loss_detection)
    }

    fn of_bytes(bytes: Bytes, loss_detection: LossDetection) -> Self {
        let host = HostSpec { loss_detection, ..Network::bare().host };
        let listener = Listener::default();
        let config = SenderConfig { bytes, ..SenderConfig::sample(&host, (1, MSS), Box::new(listener.clone())) };
        Self { sender: Flow::new(Selective::new(&config, 3), config), listener }
    }

    /// Lets a packet leave, and returns its number.
    fn send(&mut self, at: u64) -> u32 {
        assert_eq!(self.sender.readiness(us(at)), Readiness::Ready, "at {at} us");
        let mut packets = Slab::default();
        let index = self.sender.send(us(at), Bytes(40), &mut PacketSink { packets: &mut packets, flow: 0, path: 0 });
        packets.header(index).numbers().0
    }

    /// Lets the packets leave that may, and returns their numbers.
    fn send_all(&mut self, at: u64) -> Vec<u32> {
        std::iter::from_fn(|| (self.sender.readiness(us(at)) == Readiness::Ready).then(|| self.send(at))).collect()
    }

    /// Delivers an acknowledgement of the packets below `cumulative` and of a block, whose newest packet left at `sent`.
    fn ack(&mut self, at: u64, cumulative: u32, (from, to): (u32, u32), sent: u64) -> Vec<Told> {
        let (block_from, block) = (from, (to - from) as u16);
        let ack = TcpAck { sent: us(sent), cumulative, block_from, block, samples: 1, ..TcpAck::default() };
        self.sender.on_ack(us(at), &ack);
        self.listener.take()
    }
}

/// A sample in thousands of bytes and microseconds.
fn sample(prior: (u64, u64), delivered: u64, interval: u64, (in_flight, lost): (u64, u64), app_limited: bool) -> Told {
    Told::Sample(DeliverySample {
        prior_delivered: MSS * prior.0,
        prior_time: us(prior.1),
        delivered: MSS * delivered,
        interval: us(interval),
        implausible: false,
        app_limited,
        in_flight: MSS * in_flight,
        lost: MSS * lost,
    })
}

fn lost(in_flight: u64, lost: u64, delivered: u64) -> Told {
    let (bytes, in_flight, lost, delivered) = (MSS, MSS * in_flight, MSS * lost, MSS * delivered);
    Told::Lost(LostPacket { bytes, in_flight, lost, app_limited: false, delivered })
}

const NO_BLOCK: (u32, u32) = (0, 0);
const BULK: bool = false;
const LIMITED: bool = true;

/// Thirty packets of 1,000 B with a window of six, by the algorithm of draft-ietf-ccwg-bbr §4.1.2 on paper. Each expected row is that
/// of the newest packet P that the acknowledgement covers: (C.delivered, C.delivered_time) when P left, what was delivered since,
/// max(P.send_time - P.first_send_time, C.delivered_time - P.delivered_time), P.tx_in_flight and C.lost - P.lost.
#[test]
fn thirty_packets_agree_with_the_draft() {
    let mut flow = Script::new(30, LossDetection::DuplicateAcks);
    flow.sender.write(Supply::First(MSS * 19));
    assert_eq!([0, 10, 20, 30, 40, 50].map(|at| flow.send(at)), [0, 1, 2, 3, 4, 5]);
    // The first flight begins at 0, when nothing was in flight.
    assert_eq!(flow.ack(100, 1, NO_BLOCK, 0), [sample((0, 0), 1, 100, (1, 0), BULK)]);
    assert_eq!(flow.send_all(100), [6]);
    assert_eq!(flow.ack(110, 2, NO_BLOCK, 10), [sample((0, 0), 2, 110, (2, 0), BULK)]);
    assert_eq!(flow.send_all(110), [7]);
    losses_and_reordering(&mut flow);
    aggregation(&mut flow);
    application_limits(&mut flow);
    idle_time(&mut flow);
    assert!(flow.sender.done());
}

/// Packet 2 is lost, which the third one behind it shows; 7 arrives before 6.
fn losses_and_reordering(flow: &mut Script) {
    assert_eq!(flow.ack(130, 2, (3, 4), 30), [sample((0, 0), 3, 130, (4, 0), BULK)]);
    assert_eq!(flow.send_all(130), [8]);
    assert_eq!(flow.ack(140, 2, (3, 5), 40), [sample((0, 0), 4, 140, (5, 0), BULK)]);
    assert_eq!(flow.send_all(140), [9]);
    assert_eq!(flow.ack(150, 2, (3, 6), 50), [lost(3, 1, 5), sample((0, 0), 5, 150, (6, 1), BULK)]);
    assert_eq!(flow.send_all(150), [2, 10]);
    // 7 left at 110 in a flight that began at 10, with 2 delivered; the loss was found since.
    assert_eq!(flow.ack(210, 2, (7, 8), 110), [sample((2, 110), 4, 100, (6, 1), BULK)]);
    assert_eq!(flow.send_all(210), [11]);
    assert_eq!(flow.ack(215, 2, (3, 8), 100), [sample((1, 100), 6, 115, (6, 1), BULK)]);
    assert_eq!(flow.send_all(215), [12]);
}

/// One acknowledgement covers 2, 8, 9 and 10, of which 10 left last; the next covers 11 and 12, whose flight took 115 us to send, while
/// its acknowledgements took 105.
fn aggregation(flow: &mut Script) {
    assert_eq!(flow.ack(300, 11, NO_BLOCK, 150), [sample((5, 150), 6, 150, (6, 0), BULK)]);
    assert_eq!(flow.send_all(300), [13, 14, 15, 16]);
    assert_eq!(flow.ack(320, 13, NO_BLOCK, 215), [sample((7, 215), 6, 115, (6, 0), BULK)]);
    assert_eq!(flow.send_all(320), [17, 18]);
}

/// The application has written 19 packets. It has none when 5 are in flight, so that packets count as limited until 19 are delivered; and
/// again after 21, with 5 in flight and 17 delivered.
fn application_limits(flow: &mut Script) {
    assert_eq!(flow.ack(400, 14, NO_BLOCK, 300), [sample((11, 300), 3, 150, (3, 0), BULK)]);
    assert_eq!(flow.send_all(400), []);
    flow.sender.write(Supply::First(MSS * 22));
    assert_eq!(flow.send_all(410), [19]);
    assert_eq!(flow.ack(420, 17, NO_BLOCK, 300), [sample((11, 300), 6, 150, (6, 0), BULK)]);
    assert_eq!(flow.send_all(420), [20, 21]);
    assert_eq!(flow.ack(500, 20, NO_BLOCK, 410), [sample((14, 400), 6, 110, (6, 0), LIMITED)]);
    assert_eq!(flow.send_all(500), []);
    assert_eq!(flow.ack(520, 22, NO_BLOCK, 420), [sample((17, 420), 5, 120, (5, 0), LIMITED)]);
    assert_eq!(flow.send_all(520), []);
}

/// The rest leaves after an idle time. It counts as limited until 23 are delivered; 28 and 29 leave after that.
fn idle_time(flow: &mut Script) {
    flow.sender.write(Supply::Everything);
    assert_eq!([1000, 1010, 1020, 1030, 1040, 1050].map(|at| flow.send(at)), [22, 23, 24, 25, 26, 27]);
    assert_eq!(flow.listener.take(), [Told::Restart]);
    assert_eq!(flow.ack(1100, 23, NO_BLOCK, 1000), [sample((22, 1000), 1, 100, (1, 0), LIMITED)]);
    assert_eq!(flow.send_all(1100), [28]);
    assert_eq!(flow.ack(1150, 28, NO_BLOCK, 1050), [sample((22, 1000), 6, 150, (6, 0), LIMITED)]);
    assert_eq!(flow.send_all(1150), [29]);
    assert_eq!(flow.ack(1200, 29, NO_BLOCK, 1100), [sample((23, 1100), 6, 100, (6, 0), BULK)]);
    assert_eq!(flow.ack(1250, 30, NO_BLOCK, 1150), [sample((28, 1150), 2, 100, (2, 0), BULK)]);
}

/// Returns the flow after its first six packets, of which 0 counts as lost at 103 us because of three that arrived behind it. Its
/// retransmission leaves then, with a new packet, 6.
fn hole(detection: LossDetection) -> Script {
    let mut flow = Script::new(50, detection);
    assert_eq!(flow.send_all(0).len(), 6);
    flow.ack(101, 0, (1, 2), 0);
    flow.ack(102, 0, (1, 3), 0);
    assert_eq!(flow.ack(103, 0, (1, 4), 0)[0], lost(1, 1, 3));
    let repair = flow.send(103);
    assert_eq!(repair, 0);
    flow
}

fn is_spurious(told: &[Told]) -> bool {
    told.contains(&Told::Spurious)
}

/// The acknowledgement echoes when the packet left that has arrived: 0 us is that of the first transmission (RFC 3522 §3.2).
#[test]
fn losses_are_taken_back_if_the_first_transmission_arrives() {
    for detection in [LossDetection::DuplicateAcks, LossDetection::Rack] {
        for (sent, spurious) in [(0, true), (103, false)] {
            let mut flow = hole(detection);
            let told = flow.ack(210, 4, NO_BLOCK, sent);
            assert_eq!(is_spurious(&told), spurious, "{detection:?}");
            // Once for all losses; and none afterwards.
            assert!(!is_spurious(&flow.ack(220, 6, NO_BLOCK, 0)));
        }
    }
}

/// Nothing arrives for ten milliseconds: all six packets count as lost, each with those before it lost since it left, and the first one
/// leaves again, alone. Then all arrive, 10 us later, in less than any round trip: the sample gives no rate (§4.1.2.3). The timeout
/// was spurious when the last packet has arrived.
#[test]
fn a_timeout_is_taken_back_if_everything_arrives() {
    let mut flow = Script::new(50, LossDetection::DuplicateAcks);
    flow.send_all(0);
    flow.sender.on_timer(us(10_000));
    let losses: Vec<_> = (1..=6).map(|count| lost(count, count, 0)).collect();
    assert_eq!(flow.listener.take(), losses);
    assert_eq!(flow.send(10_000), 0);
    let Told::Sample(first) = sample((0, 10_000), 1, 10, (1, 0), BULK) else { panic!("a sample") };
    let first = DeliverySample { implausible: true, ..first };
    assert_eq!((flow.ack(10_010, 1, NO_BLOCK, 0), first.rate()), (vec![Told::Sample(first)], None));
    for arrived in 2..=5 {
        assert!(!is_spurious(&flow.ack(10_010, arrived, NO_BLOCK, 0)));
    }
    assert!(is_spurious(&flow.ack(10_060, 6, NO_BLOCK, 0)));
}

/// Three packets behind the first show that it is lost, 1,000 B. At the timeout the other packets of 5,500 B are lost, but for those that
/// have arrived: 1, 2 and 3, or the last one, of 500 B. RACK finds those before the last one when the reordering window has passed, so that
/// the timeout shows nothing new.
#[test]
fn a_loss_says_how_much_it_has_shown_to_be_lost() {
    for detection in [LossDetection::DuplicateAcks, LossDetection::Rack] {
        for (arrived, timeout) in [((1, 1), 5500), ((1, 4), 1500), ((5, 6), 5000)] {
            let mut flow = Script::of_bytes(Bytes(5500), detection);
            assert_eq!(flow.send_all(0).len(), 6);
            (arrived.0..arrived.1).for_each(|last| _ = flow.ack(101, 0, (arrived.0, last + 1), 0));
            flow.sender.on_timer(us(10_000));
            let expected = match (arrived, detection) {
                ((1, 4), _) => vec![MSS, Bytes(timeout)],
                ((5, 6), LossDetection::Rack) => vec![Bytes(timeout), Bytes::ZERO],
                _ => vec![Bytes(timeout)],
            };
            assert_eq!(flow.listener.losses(), expected, "{detection:?}, {arrived:?}");
        }
    }
}

/// Packet 0 is lost, and in its recovery packet 6, which has left since. When the recovery ends, packet 6 is a loss of the next window:
/// the sender has known of it since three later packets arrived.
#[test]
fn a_loss_counts_no_packet_that_was_known_to_be_lost() {
    let mut flow = Script::new(50, LossDetection::DuplicateAcks);
    flow.send_all(0);
    flow.ack(101, 0, (1, 4), 0);
    assert_eq!(flow.send_all(102), [0, 6, 7, 8]);
    flow.ack(103, 0, (1, 6), 0);
    assert_eq!(flow.send_all(104), [9, 10]);
    let told = flow.ack(203, 0, (7, 10), 102);
    assert_eq!(told.iter().filter(|one| matches!(one, Told::Lost(_))).count(), 1);
    assert_eq!(flow.listener.losses(), [MSS]);
    flow.ack(204, 6, (7, 10), 102);
    assert_eq!(flow.listener.losses(), [MSS, Bytes::ZERO]);
}

/// 6,000 B in 150 us are 320 Mbps.
#[test]
fn a_rate_is_that_of_the_payload() {
    let sample = DeliverySample { delivered: MSS * 6, interval: us(150), ..DeliverySample::default() };
    assert_eq!((sample.rate(), DeliverySample::default().rate()), (Some(Rate(320_000_000)), None));
}
