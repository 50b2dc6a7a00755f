//! Tests of go-back-N.

use std::sync::{Arc, Mutex};

use shallows_cc::event::{Ack, Loss};
use shallows_cc::parameter::Values;
use shallows_cc::receiver::cnp::Silent;
use shallows_cc::rng::Rng;
use shallows_cc::sender::{Decision, Segments, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

use super::{GoBackN, RoceFeedback};
use crate::host::timestamps::TimestampModel;
use crate::host::transport::flow::Flow;
use crate::host::transport::inflow::Inflow;
use crate::host::transport::message::Message;
use crate::host::transport::{PacketSink, Readiness, ReceiverConfig, SenderConfig};
use crate::packet::header::{Header, RoceAnswer, RoceData};
use crate::packet::{PacketKind, Slab};
use crate::spec::host::Timestamps;
use crate::spec::network::Network;

const MSS: Bytes = Bytes(1000);
const HEADER: Bytes = Bytes(48);

/// Algorithm with a constant rate of 1 Gbps and segments of four packets.
#[derive(Clone, Debug)]
struct Constant {
    at_once: bool,
    burst_rate: Option<Rate>,
    window: Bytes,
}

impl Sender for Constant {
    fn on_ack(&mut self, _: Time, _: &Ack) {}
    fn on_loss(&mut self, _: Time, _: &Loss) {}
    fn decision(&self) -> Decision {
        Decision { window: self.window, pace: Some(Rate::from_gbps(1)), wake: None }
    }
    fn segments(&self) -> Segments {
        Segments { size: MSS * 4, at_once: self.at_once, burst_rate: self.burst_rate }
    }
}

/// Algorithm without limits that notes the bytes of each loss.
#[derive(Clone, Debug, Default)]
struct Losses(Arc<Mutex<Vec<Bytes>>>);

impl Sender for Losses {
    fn on_ack(&mut self, _: Time, _: &Ack) {}
    fn on_loss(&mut self, _: Time, loss: &Loss) {
        self.0.lock().expect("no poison").push(loss.lost);
    }
    fn decision(&self) -> Decision {
        Decision::window(Bytes::MAX)
    }
}

/// Eight frames, of which the last has 500 B. The receiver misses the third one: 6 frames are lost, 5,500 B. Then it misses the fourth,
/// when three have left again: two of those.
#[test]
fn what_has_left_since_the_sender_went_back_is_lost() {
    let (host, told) = (Network::bare().host, Losses::default());
    let config = SenderConfig::sample(&host, (8, MSS), Box::new(told.clone()));
    let config = SenderConfig { bytes: MSS * 7 + Bytes(500), ..config };
    let mut sender = Flow::new(GoBackN::new(&config), config);
    let nack = |cumulative| Header::RoceNack(RoceAnswer { cumulative, ..RoceAnswer::default() });
    (0..8).for_each(|_| _ = send_one(&mut sender, Time::ZERO));
    sender.hear(Time::ZERO, &nack(2));
    (0..3).for_each(|_| _ = send_one(&mut sender, Time::ZERO));
    sender.hear(Time::ZERO, &nack(3));
    assert_eq!(*told.0.lock().expect("no poison"), [Bytes(5500), MSS * 2]);
}

fn new_sender(packets: u64, at_once: bool) -> Flow<GoBackN> {
    windowed(packets, at_once, Bytes::MAX)
}

fn windowed(packets: u64, at_once: bool, window: Bytes) -> Flow<GoBackN> {
    with_control(packets, Constant { at_once, burst_rate: None, window })
}

fn with_control(packets: u64, control: Constant) -> Flow<GoBackN> {
    // The initial timeout is 10 ms.
    let host = Network::bare().host;
    let config = SenderConfig::sample(&host, (packets, MSS), Box::new(control));
    Flow::new(GoBackN::new(&config), config)
}

impl Flow<GoBackN> {
    fn hear(&mut self, now: Time, header: &Header) {
        self.reliability.on_header(&mut self.common, now, header);
    }
}

fn new_receiver(packets: u64) -> Inflow<RoceFeedback> {
    let notification = Silent::boxed(&Values::defaults(&[]), 1);
    let config = ReceiverConfig { notification, ..ReceiverConfig::sample(MSS * packets, MSS) };
    Inflow::new(config, RoceFeedback::new)
}

fn send_one(sender: &mut Flow<GoBackN>, now: Time) -> RoceData {
    let mut packets = Slab::default();
    let at = sender.send(now, HEADER, &mut PacketSink { packets: &mut packets, flow: 0, path: 0 });
    let Header::RoceData(frame) = *packets.header(at) else { panic!("no frame") };
    frame
}

/// Returns the answer to a frame.
fn answer(receiver: &mut Inflow<RoceFeedback>, frame: RoceData) -> Option<Header> {
    let mut packets = Slab::default();
    let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
    let at = receiver.feedback.on_data(&mut receiver.intake, Time::ZERO, (&frame, false), out).now()?;
    Some(*packets.header(at))
}

fn ack(cumulative: u32) -> Header {
    Header::RoceAck(RoceAnswer { cumulative, ..RoceAnswer::default() })
}

/// Returns the departure time in ns, the number and the acknowledgement request of each frame.
fn departures(sender: &mut Flow<GoBackN>) -> Vec<(u64, u32, bool)> {
    let (mut now, mut out) = (Time::ZERO, Vec::new());
    loop {
        match sender.readiness(now) {
            Readiness::Blocked(_) | Readiness::HostBusy { .. } => return out,
            Readiness::At(at) => now = at,
            Readiness::Ready => {
                let frame = send_one(sender, now);
                out.push((now.0 / 1000, frame.seq, frame.asks));
            }
        }
    }
}

/// The stack takes up to 100 us, with a mean of 50 us and a standard deviation of 29 us: the mean of a thousand frames is within
/// three standard errors, 2.7 us. With t3 - t2 removed the stack's time does not show.
#[test]
fn round_trips_have_the_errors_of_their_timestamps() {
    let us = Time::from_micros;
    let stamps = |host_delay_removed| Timestamps {
        burst: 1,
        bucket: 1,
        poll: Time::ZERO,
        stack: us(100),
        noise: Time::ZERO,
        drift: 0.0,
        host_delay_removed,
        burst_reduced: true,
        calibrated: true,
    };
    let seen = |host_delay_removed| -> Vec<f64> {
        let model = TimestampModel::new(stamps(host_delay_removed), us(1), Rng::new(1, 1));
        let mut receiver = new_receiver(1000);
        receiver.intake.timestamps = Some(Box::new(model));
        let round_trip = |seq| {
            let now = us(100 * u64::from(seq) + 20);
            let frame = RoceData { sent: now - us(20), seq, asks: true, has_int: false };
            let mut packets = Slab::default();
            let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
            let at = receiver.feedback.on_data(&mut receiver.intake, now, (&frame, false), out).now().unwrap();
            let Header::RoceAck(answer) = *packets.header(at) else { panic!("no answer") };
            answer.round_trip(now + us(30)).as_micros()
        };
        (0..1000).map(round_trip).collect()
    };
    assert!(seen(true).iter().all(|&rtt| (rtt - 50.0).abs() < 1e-6));
    let late: Vec<_> = seen(false).iter().map(|rtt| rtt - 50.0).collect();
    assert!(late.iter().all(|late| (0.0..=100.0).contains(late)));
    let mean = late.iter().sum::<f64>() / 1000.0;
    assert!((mean - 50.0).abs() < 2.7, "{mean}");
}

/// A frame takes 4192 ns at twice the flow's rate of 1 Gbps.
#[test]
fn a_burst_has_its_own_rate_but_is_not_slower_than_the_flow() {
    let times = |burst| {
        let control = Constant { at_once: true, burst_rate: Some(Rate(burst)), window: Bytes::MAX };
        departures(&mut with_control(6, control)).iter().map(|p| p.0).collect::<Vec<_>>()
    };
    assert_eq!(times(2_000_000_000), [0, 4192, 8384, 12_576, 4 * 8384, 4 * 8384 + 4192]);
    assert_eq!(times(500_000_000), [0, 8384, 2 * 8384, 3 * 8384, 4 * 8384, 5 * 8384]);
}

/// A frame of 1048 B takes 8384 ns at 1 Gbps.
#[test]
fn frames_leave_one_by_one_or_in_bursts() {
    let paced = departures(&mut new_sender(6, false));
    let times: Vec<_> = paced.iter().map(|p| p.0).collect();
    assert_eq!(times, [0, 8384, 2 * 8384, 3 * 8384, 4 * 8384, 5 * 8384]);
    let at_once: Vec<_> = departures(&mut new_sender(6, true)).iter().map(|p| p.0).collect();
    assert_eq!(at_once, [0, 0, 0, 0, 4 * 8384, 4 * 8384]);
    let asks: Vec<_> = paced.iter().map(|p| p.2).collect();
    assert_eq!(asks, [false, false, false, true, false, true]);
}

#[test]
fn a_gap_is_reported_once_and_repaired_from_its_start() {
    let (mut sender, mut receiver) = (new_sender(6, false), new_receiver(6));
    let frames: Vec<_> = (0..5).map(|_| send_one(&mut sender, Time::ZERO)).collect();
    let [none, Some(nack), None, None] = [0, 2, 3, 4].map(|at: usize| answer(&mut receiver, frames[at])) else {
        panic!("reported not at all, or again")
    };
    assert!(none.is_none() && matches!(nack, Header::RoceNack(RoceAnswer { cumulative: 1, .. })));
    sender.hear(Time::ZERO, &nack);
    let again: Vec<_> = departures(&mut sender).iter().map(|p| p.1).collect();
    assert_eq!(again, [1, 2, 3, 4, 5]);
    assert_eq!((sender.common.repairs.retransmits, sender.common.repairs.timeouts), (4, 0));
}

/// Frames 0, 1 and 2 arrived without an acknowledgement; 3 is lost twice. The second time, 0 to 2 are duplicates: the receiver
/// acknowledges at once and reports 3 again. The third time, 2 is lost as well.
#[test]
fn a_sender_that_went_back_too_far_learns_how_far() {
    let mut receiver = new_receiver(6);
    let mut arrive = |numbers: &[u32]| {
        let answer = |&seq: &u32| answer(&mut receiver, RoceData { seq, ..RoceData::default() });
        let answers: Vec<_> = numbers.iter().map(answer).collect();
        answers.into_iter().map(|it| it.map(|reply| (reply.kind(), reply.numbers().1))).collect::<Vec<_>>()
    };
    assert_eq!(arrive(&[0, 1, 2, 4, 5]), [None, None, None, Some((PacketKind::Nack, 3)), None]);
    let again = [Some((PacketKind::Ack, 3)), None, None, Some((PacketKind::Nack, 3)), None];
    assert_eq!(arrive(&[0, 1, 2, 4, 5]), again);
    assert_eq!(arrive(&[0, 1]), [Some((PacketKind::Ack, 3)), None]);
    let mut sender = new_sender(6, false);
    departures(&mut sender);
    let at = sender.arm_timer().unwrap();
    sender.on_timer(at);
    sender.hear(at, &ack(3));
    assert_eq!(departures(&mut sender).first().map(|frame| frame.1), Some(3));
}

/// The last frames of an endless flow that are still allowed (4e9), sent a second time, in a build that checks overflows.
#[test]
fn sequence_numbers_reach_their_limit() {
    let mut sender = new_sender(1, false);
    sender.common.position.message = Message::new(Bytes::MAX, MSS);
    let from = 3_999_999_996;
    (
        sender.common.position.unacked,
        sender.common.position.next,
        sender.common.position.sent_below,
        sender.common.repairs.retransmits,
    ) = (from, from, from, u64::from(u32::MAX));
    let frames = |sender: &mut Flow<GoBackN>| (0..4).map(|_| send_one(sender, Time::ZERO).seq).collect::<Vec<_>>();
    let first = frames(&mut sender);
    sender.hear(Time::ZERO, &Header::RoceNack(RoceAnswer { cumulative: from, ..RoceAnswer::default() }));
    assert_eq!((first[3], frames(&mut sender)), (3_999_999_999, first));
    sender.hear(Time::ZERO, &ack(4_000_000_000));
    sender.stop(Time::ZERO);
    assert_eq!((sender.common.repairs.retransmits, sender.done()), (u64::from(u32::MAX) + 4, true));
}

/// Window and pace together: a window of ten frames leaves at the pace, and an acknowledgement of four lets four more leave. A
/// burst is not divided.
#[test]
fn a_window_limits_paced_frames() {
    let mut sender = windowed(100, false, MSS * 10);
    let sent = departures(&mut sender);
    assert_eq!((sent.len(), sent[9].0), (10, 9 * 8384));
    sender.hear(Time::from_micros(100), &ack(4));
    assert_eq!(departures(&mut sender).last().map(|frame| frame.1), Some(13));
    assert_eq!(departures(&mut windowed(100, true, MSS * 10)).len(), 12);
    assert_eq!(departures(&mut windowed(100, false, Bytes::ZERO)).len(), 1);
}

#[test]
fn a_timeout_sends_everything_again() {
    let mut sender = new_sender(2, false);
    departures(&mut sender);
    let at = sender.arm_timer().unwrap();
    sender.on_timer(at);
    let again = departures(&mut sender);
    assert_eq!((again.len(), sender.common.repairs.timeouts, sender.common.repairs.retransmits), (2, 1, 2));
}

/// The first frame that requests an acknowledgement is the fourth, 3 frame times after the first. The timeout of 10 ms starts
/// with it, and later frames do not restart it.
#[test]
fn a_timeout_starts_with_the_frame_that_requests_an_acknowledgement() {
    let mut sender = new_sender(100, false);
    for frame in 0..20 {
        send_one(&mut sender, Time::from_nanos(8384 * frame));
        assert_eq!(sender.reliability.timer.deadline < Time::MAX, frame >= 3);
    }
    assert_eq!(sender.arm_timer(), Some(Time::from_nanos(10_000_000 + 3 * 8384)));
}

#[test]
fn a_stopped_flow_ends_with_its_segment() {
    let mut sender = new_sender(100, false);
    for _ in 0..5 {
        send_one(&mut sender, Time::ZERO);
    }
    sender.stop(Time::ZERO);
    assert_eq!(departures(&mut sender).last().map(|p| (p.1, p.2)), Some((7, true)));
}
