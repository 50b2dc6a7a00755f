//! Reliability by going back, as RoCE has it: a rate from the first packet on, and a window where the algorithm has one.
//!
//! Frames leave one by one at the algorithm's pace, or segment by segment with the gap after each. The last frame of a
//! segment asks for an acknowledgement. The receiver takes frames in order only; at the first one out of order it says which
//! it expects (NACK), and the sender goes back to that one (go-back-N). It says so once, until the gap closes or a frame
//! comes that it has had: then the sender has gone back by itself, and what is missing is missing again. The first frame
//! that it has had, after later ones, it acknowledges whether it asks or not, so that a sender that went back too far learns
//! how far (InfiniBand acknowledges duplicates likewise); later ones of that burst may be lost again. When a frame that asks
//! has not been answered for the initial retransmission timeout, doubled each time, the sender goes back; where a repair is
//! lost as well, only that helps.
//!
//! Nothing slows a sender down whose frames are lost, unless its algorithm does: where buffers drop, a queue
//! that stays full keeps the link busy with frames that nobody takes.
//!
//! A window counts frames from the first that is not known to have arrived; since only the last frame of a segment is
//! answered, an algorithm with a window below two segments waits for timeouts (HPCC's has an answer a frame).
//!
//! Not modelled: queue pairs (each flow is one message of its own), end-to-end credits, read requests.

use shallows_cc::event::{Ack, Loss, LossKind};
use shallows_cc::receiver::{Data, Receiver};
use shallows_cc::units::{Bytes, Rate, Time};

use crate::host::timestamps::TimestampModel;
use crate::host::transport::gate::Gate;
use crate::host::transport::lazy_timer::{Backoff, LazyTimer};
use crate::host::transport::message::Message;
use crate::host::transport::{BlockedBy, PacketSink, Readiness, ReceiverConfig, Responses, SenderConfig};
use crate::packet::header::{Header, RoceAnswer, RoceData};
use crate::spec::network::{MIN_FRAME, Supply};

/// One flow at its sender.
#[derive(Debug)]
pub struct Sending {
    pub gate: Gate,
    message: Message,
    ecn: bool,
    /// Packets in a segment, and whether they leave at once.
    segment: u32,
    at_once: bool,
    /// How fast they do, and when the next of them may leave.
    burst_rate: Option<Rate>,
    inside_until: Time,
    unacked: u32,
    next: u32,
    /// Everything below has been sent before.
    reached: u32,
    timer: RetransmissionTimer,
    pub retransmits: u32,
    pub timeouts: u32,
}

/// How long a sender waits to hear something.
#[derive(Clone, Copy, Debug)]
struct RetransmissionTimer {
    backoff: Backoff,
    deadline: Time,
    lazy: LazyTimer,
}

impl Sending {
    pub fn new(opening: SenderConfig<'_>) -> Self {
        let segments = opening.control.segments();
        let backoff = Backoff::new(opening.first_timeout, opening.host.rto_max);
        Self {
            gate: Gate::new(opening.control),
            message: Message::new(opening.bytes, opening.mss),
            ecn: opening.ecn,
            segment: segments.size.0.div_ceil(opening.mss.0).max(1) as u32,
            at_once: segments.at_once,
            burst_rate: segments.burst_rate,
            inside_until: Time::ZERO,
            unacked: 0,
            next: 0,
            reached: 0,
            timer: RetransmissionTimer { backoff, deadline: Time::MAX, lazy: LazyTimer::DISARMED },
            retransmits: 0,
            timeouts: 0,
        }
    }

    /// Whether it may send now.
    pub fn readiness(&mut self, now: Time) -> Readiness {
        if self.next >= self.message.available {
            return Readiness::Blocked(if self.message.pauses() { BlockedBy::Application } else { BlockedBy::Answer });
        }
        if let Some(short) = self.short() {
            return Readiness::Blocked(BlockedBy::Window(short));
        }
        let inside = || (self.inside_until > now).then_some(self.inside_until);
        let waits = if self.is_inside(self.next) { inside() } else { self.gate.paced_until(now) };
        waits.map_or(Readiness::Ready, Readiness::At)
    }

    /// Whether this frame leaves in the burst of the one before it.
    fn is_inside(&self, seq: u32) -> bool {
        self.at_once && !seq.is_multiple_of(self.segment)
    }

    /// What the window lacks for one more frame in flight. One may always be, and a segment that leaves at once is so whole.
    fn short(&self) -> Option<Bytes> {
        let in_flight = u64::from(self.next - self.unacked);
        let needed = Bytes(self.message.mss.0.saturating_mul(in_flight + 1));
        let waits = in_flight > 0 && needed > self.gate.window && !self.is_inside(self.next);
        waits.then(|| needed - self.gate.window)
    }

    /// Sends the packet whose turn it is.
    #[inline(always)]
    pub fn send(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let seq = self.next;
        self.next += 1;
        self.retransmits += u32::from(seq < self.reached);
        self.reached = self.reached.max(self.next);
        let length = (self.message.payload(seq) + header).max(MIN_FRAME);
        let paced = self.gate.next_paced;
        self.gate.advance_pacing(if self.is_inside(seq) { paced } else { paced.max(now) }, length);
        if let Some(rate) = self.burst_rate {
            self.inside_until = (now + rate.time_to_send(length)).min(self.gate.next_paced);
        }
        self.gate.on_sent(now, length);
        let asks = self.next == self.message.available || self.next.is_multiple_of(self.segment);
        if asks && self.timer.deadline == Time::MAX {
            self.timer.deadline = now + self.timer.backoff.current();
        }
        out.put_data(length, self.ecn, Header::RoceData(RoceData { sent: now, seq, asks }))
    }

    /// An acknowledgement, a negative one, or a congestion notification.
    pub fn on_packet(&mut self, now: Time, header: &Header) {
        match header {
            Header::RoceAck(answer) => return self.on_ack(now, answer),
            Header::RoceNack(answer) => {
                let acked = self.note_arrivals(now, answer.cumulative);
                self.gate.acked += acked;
                if answer.cumulative < self.next {
                    self.go_back(now, LossKind::FastRetransmit, false);
                }
            }
            Header::Notification { .. } => self.gate.control.on_notification(now),
            _ => unreachable!("a packet of another transport: {header:?}"),
        }
        self.gate.decide();
    }

    fn on_ack(&mut self, now: Time, answer: &RoceAnswer) {
        let acked = self.note_arrivals(now, answer.cumulative);
        let ack = Ack {
            sent_at: answer.sent,
            rtt: answer.round_trip(now),
            one_way_delay: answer.delay,
            samples: 1,
            acked,
            in_flight: self.message.mss * u64::from(self.next - self.unacked),
            recovering: self.next < self.reached,
            ..Ack::default()
        };
        self.gate.on_ack(now, &ack);
    }

    /// Everything below `cumulative` has arrived; gives the payload that is new.
    fn note_arrivals(&mut self, now: Time, cumulative: u32) -> Bytes {
        let packets = cumulative.saturating_sub(self.unacked);
        if packets == 0 {
            return Bytes::ZERO;
        }
        self.unacked = cumulative;
        // What was sent twice may be acknowledged before it has been sent again.
        self.next = self.next.max(cumulative);
        self.timer.backoff.reset();
        self.timer.deadline = if self.awaits_answer() { now + self.timer.backoff.current() } else { Time::MAX };
        self.message.payload_of(packets, self.unacked)
    }

    /// Whether a frame on its way asks for an acknowledgement.
    fn awaits_answer(&self) -> bool {
        self.unacked < self.next
            && (self.next == self.message.available || self.next / self.segment > self.unacked / self.segment)
    }

    fn go_back(&mut self, now: Time, kind: LossKind, repeated: bool) {
        let in_flight = self.message.mss * u64::from(self.next - self.unacked);
        self.next = self.unacked;
        self.timer.deadline = Time::MAX;
        self.gate.control.on_loss(now, &Loss { kind, in_flight, repeated });
    }

    /// The time to look again at the timer, if no timer comes in time.
    pub fn arm_timer(&mut self) -> Option<Time> {
        self.timer.lazy.set(self.timer.deadline)
    }

    /// When its algorithm has newly asked to be called.
    #[inline]
    pub fn newly_asked(&mut self) -> Option<Time> {
        self.gate.newly_asked()
    }

    /// The world's timer ran out: a timeout, if the deadline has not moved meanwhile.
    pub fn on_timer(&mut self, now: Time) {
        self.timer.lazy.ran_out(now);
        if self.timer.deadline > now {
            return;
        }
        self.timeouts += 1;
        let repeated = self.timer.backoff.fail();
        self.go_back(now, LossKind::Timeout, repeated);
        self.gate.decide();
    }

    /// Its application pauses, or goes on; the segment that it has begun is written whole.
    pub fn supply(&mut self, supply: Supply) {
        self.message.supply(supply, self.reached.next_multiple_of(self.segment));
    }

    /// Whether its application will write more.
    pub fn pauses(&self) -> bool {
        self.message.pauses()
    }

    /// Sends nothing new from now on, except the rest of the segment that it has begun.
    pub fn stop(&mut self) {
        self.message.cut(self.reached.next_multiple_of(self.segment));
    }

    /// What it sends next of what is new, and what is in flight since it last went back.
    pub fn reached(&self) -> (u32, Option<u32>) {
        (self.reached, Some(self.next.saturating_sub(self.unacked)))
    }

    /// Whether everything was acknowledged.
    pub fn done(&self) -> bool {
        self.unacked == self.message.end
    }
}

/// One flow at its receiver.
#[derive(Debug)]
pub struct Receiving {
    notification: Box<dyn Receiver>,
    message: Message,
    expected: u32,
    /// The frame that came last.
    newest: u32,
    /// Whether the gap before what arrives has been reported.
    reported: bool,
    /// When a congestion notification is due, and whether the world knows.
    notify_at: Option<Time>,
    timer_armed: bool,
    measure: Option<Box<TimestampModel>>,
    /// In-order payload.
    pub delivered: u64,
}

impl Receiving {
    pub fn new(expecting: ReceiverConfig) -> Self {
        Self {
            notification: expecting.notification,
            message: Message::new(expecting.bytes, expecting.mss),
            expected: 0,
            newest: 0,
            reported: false,
            notify_at: None,
            timer_armed: false,
            measure: expecting.measure,
            delivered: 0,
        }
    }

    /// A frame arrived.
    #[inline(always)]
    pub fn on_data(&mut self, now: Time, frame: &RoceData, marked: bool, out: &mut PacketSink<'_>) -> Responses {
        let in_order = frame.seq == self.expected;
        let went_back = frame.seq <= std::mem::replace(&mut self.newest, frame.seq);
        let data = Data { marked, in_order, sent_at: frame.sent, ..Data::default() };
        let due = self.notification.notification(now, &data);
        let at_once = due == Some(now) && self.notify_at.is_none();
        let earlier = at_once.then(|| self.notify(now, out));
        if !at_once {
            self.notify_at = self.notify_at.or(due);
        }
        if in_order {
            self.delivered += self.message.payload(self.expected).0;
            self.expected += 1;
        }
        let (delay, held) = match &mut self.measure {
            None => (now - frame.sent, 0),
            Some(measure) => (measure.data(frame.sent, now), measure.held(frame.sent, now)),
        };
        let answer = RoceAnswer { sent: frame.sent, delay, held, cumulative: self.expected };
        let reply = if frame.seq < self.expected {
            self.reported = false;
            let had = !in_order && went_back;
            (frame.asks || had).then_some(Header::RoceAck(answer))
        } else {
            (!std::mem::replace(&mut self.reported, true)).then_some(Header::RoceNack(answer))
        };
        Responses::new(earlier, reply.map(|header| out.put(MIN_FRAME, header)))
    }

    fn notify(&self, now: Time, out: &mut PacketSink<'_>) -> u32 {
        out.put(MIN_FRAME, Header::Notification { left: now, cumulative: self.expected })
    }

    /// When a notification is due, if the world does not know it yet.
    pub fn arm_timer(&mut self, _now: Time) -> Option<Time> {
        let at = self.notify_at.filter(|_| !self.timer_armed)?;
        self.timer_armed = true;
        Some(at)
    }

    /// It is due.
    #[inline(always)]
    pub fn on_timer(&mut self, now: Time, out: &mut PacketSink<'_>) -> Responses {
        self.timer_armed = false;
        let due = self.notify_at.take();
        Responses::new(due.map(|_| self.notify(now, out)), None)
    }

    /// Whether a notification is due.
    pub fn ack_pending(&self) -> bool {
        self.notify_at.is_some()
    }

    /// Whether every byte is there.
    pub fn complete(&self) -> bool {
        self.expected == self.message.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::timestamps::Timestamps;
    use crate::packet::{PacketKind, Slab};
    use crate::spec::network::Network;
    use shallows_cc::receiver::cnp::Silent;
    use shallows_cc::rng::Rng;
    use shallows_cc::sender::{Decision, Segments, Sender};
    use shallows_cc::units::Rate;

    const MSS: Bytes = Bytes(1000);
    const HEADER: Bytes = Bytes(48);

    /// 1 Gbps, segments of four packets.
    #[derive(Debug)]
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

    fn sending(packets: u64, at_once: bool) -> Sending {
        windowed(packets, at_once, Bytes::MAX)
    }

    fn windowed(packets: u64, at_once: bool, window: Bytes) -> Sending {
        under(packets, Constant { at_once, burst_rate: None, window })
    }

    fn under(packets: u64, control: Constant) -> Sending {
        // Timeouts of 10 ms at first, of 1 ms at least.
        let host = Network::bare().host;
        let control = Box::new(control);
        Sending::new(SenderConfig {
            bytes: MSS * packets,
            mss: MSS,
            has_int: false,
            ecn: true,
            host: &host,
            first_timeout: host.rto_initial,
            control,
        })
    }

    fn receiving(packets: u64) -> Receiving {
        let values = shallows_cc::parameter::Values::defaults(&[]);
        let notification = Silent::boxed(&values, 1);
        Receiving::new(ReceiverConfig {
            bytes: MSS * packets,
            mss: MSS,
            ack_delay: Time::ZERO,
            patience: (Time::ZERO, Time::ZERO),
            has_int: false,
            measure: None,
            credits: None,
            notification,
        })
    }

    fn send_one(sending: &mut Sending, now: Time) -> RoceData {
        let mut packets = Slab::default();
        let at = sending.send(now, HEADER, &mut PacketSink { packets: &mut packets, flow: 0, path: 0 });
        let Header::RoceData(frame) = *packets.header(at) else { panic!("no frame") };
        frame
    }

    /// What it answers to a frame.
    fn answer(receiving: &mut Receiving, frame: RoceData) -> Option<Header> {
        let mut packets = Slab::default();
        let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
        let at = receiving.on_data(Time::ZERO, &frame, false, out).now()?;
        Some(*packets.header(at))
    }

    fn ack(cumulative: u32) -> Header {
        Header::RoceAck(RoceAnswer { cumulative, ..RoceAnswer::default() })
    }

    /// When each packet leaves.
    fn departures(sending: &mut Sending) -> Vec<(u64, u32, bool)> {
        let (mut now, mut out) = (Time::ZERO, Vec::new());
        loop {
            match sending.readiness(now) {
                Readiness::Blocked(_) | Readiness::HostBusy { .. } => return out,
                Readiness::At(at) => now = at,
                Readiness::Ready => {
                    let frame = send_one(sending, now);
                    out.push((now.0 / 1000, frame.seq, frame.asks));
                }
            }
        }
    }

    /// A stack that takes up to 100 us, and nothing else: 50 us in the mean, of a standard deviation of 29; of a thousand
    /// frames within three standard errors, 2.7 us. Left out by t3 - t2 it does not show.
    #[test]
    fn round_trips_have_the_errors_of_their_stamps() {
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
            let measure = TimestampModel::new(stamps(host_delay_removed), us(1), Rng::new(1, 1));
            let mut receiving = Receiving { measure: Some(Box::new(measure)), ..receiving(1000) };
            let round_trip = |seq| {
                let now = us(100 * u64::from(seq) + 20);
                let frame = RoceData { sent: now - us(20), seq, asks: true };
                let mut packets = Slab::default();
                let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
                let at = receiving.on_data(now, &frame, false, out).now().unwrap();
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

    /// 4192 ns at twice the flow's rate of 1 Gbps.
    #[test]
    fn a_burst_is_as_fast_as_it_may_be_and_no_slower_than_the_flow() {
        let times = |burst| {
            let control = Constant { at_once: true, burst_rate: Some(Rate(burst)), window: Bytes::MAX };
            departures(&mut under(6, control)).iter().map(|p| p.0).collect::<Vec<_>>()
        };
        assert_eq!(times(2_000_000_000), [0, 4192, 8384, 12_576, 4 * 8384, 4 * 8384 + 4192]);
        assert_eq!(times(500_000_000), [0, 8384, 2 * 8384, 3 * 8384, 4 * 8384, 5 * 8384]);
    }

    /// A frame of 1048 B takes 8384 ns at 1 Gbps.
    #[test]
    fn frames_leave_one_by_one_or_segment_by_segment() {
        let paced = departures(&mut sending(6, false));
        let times: Vec<_> = paced.iter().map(|p| p.0).collect();
        assert_eq!(times, [0, 8384, 2 * 8384, 3 * 8384, 4 * 8384, 5 * 8384]);
        let at_once: Vec<_> = departures(&mut sending(6, true)).iter().map(|p| p.0).collect();
        assert_eq!(at_once, [0, 0, 0, 0, 4 * 8384, 4 * 8384]);
        let asks: Vec<_> = paced.iter().map(|p| p.2).collect();
        assert_eq!(asks, [false, false, false, true, false, true]);
    }

    #[test]
    fn a_gap_is_reported_once_and_repaired_from_there() {
        let (mut sending, mut receiving) = (sending(6, false), receiving(6));
        let frames: Vec<_> = (0..5).map(|_| send_one(&mut sending, Time::ZERO)).collect();
        let [none, Some(nack), None, None] = [0, 2, 3, 4].map(|at: usize| answer(&mut receiving, frames[at])) else {
            panic!("reported not at all, or again")
        };
        assert!(none.is_none() && matches!(nack, Header::RoceNack(RoceAnswer { cumulative: 1, .. })));
        sending.on_packet(Time::ZERO, &nack);
        let again: Vec<_> = departures(&mut sending).iter().map(|p| p.1).collect();
        assert_eq!(again, [1, 2, 3, 4, 5]);
        assert_eq!((sending.retransmits, sending.timeouts), (4, 0));
    }

    /// 0, 1 and 2 arrived and nothing told the sender; 3 is lost, twice. The second time the receiver has had 0 to 2: it
    /// says so at once and reports 3 again. The third time 2 is lost as well.
    #[test]
    fn a_sender_that_went_back_too_far_learns_how_far() {
        let mut receiving = receiving(6);
        let mut arrive = |numbers: &[u32]| {
            let answer = |&seq: &u32| answer(&mut receiving, RoceData { seq, ..RoceData::default() });
            let answers: Vec<_> = numbers.iter().map(answer).collect();
            answers.into_iter().map(|it| it.map(|reply| (reply.kind(), reply.numbers().1))).collect::<Vec<_>>()
        };
        assert_eq!(arrive(&[0, 1, 2, 4, 5]), [None, None, None, Some((PacketKind::Nack, 3)), None]);
        let again = [Some((PacketKind::Ack, 3)), None, None, Some((PacketKind::Nack, 3)), None];
        assert_eq!(arrive(&[0, 1, 2, 4, 5]), again);
        assert_eq!(arrive(&[0, 1]), [Some((PacketKind::Ack, 3)), None]);
        let mut sending = sending(6, false);
        departures(&mut sending);
        let at = sending.arm_timer().unwrap();
        sending.on_timer(at);
        sending.on_packet(at, &ack(3));
        assert_eq!(departures(&mut sending).first().map(|frame| frame.1), Some(3));
    }

    /// Window and pace together (HPCC sends both): ten frames of window leave at the pace, and an answer to four lets
    /// four more go. A segment that leaves at once is not cut in two.
    #[test]
    fn a_window_holds_frames_back_at_whatever_pace() {
        let mut sending = windowed(100, false, MSS * 10);
        let sent = departures(&mut sending);
        assert_eq!((sent.len(), sent[9].0), (10, 9 * 8384));
        sending.on_packet(Time::from_micros(100), &ack(4));
        assert_eq!(departures(&mut sending).last().map(|frame| frame.1), Some(13));
        assert_eq!(departures(&mut windowed(100, true, MSS * 10)).len(), 12);
        assert_eq!(departures(&mut windowed(100, false, Bytes::ZERO)).len(), 1);
    }

    #[test]
    fn silence_sends_everything_again() {
        let mut sending = sending(2, false);
        departures(&mut sending);
        let at = sending.arm_timer().unwrap();
        sending.on_timer(at);
        let again = departures(&mut sending);
        assert_eq!((again.len(), sending.timeouts, sending.retransmits), (2, 1, 2));
    }

    /// The first frame that asks is the fourth, 3 frame times after the first; frames that follow it do not
    /// put the timeout of 10 ms off, nor is one due before any frame asks.
    #[test]
    fn a_timeout_counts_from_the_frame_that_asked() {
        let mut sending = sending(100, false);
        for frame in 0..20 {
            send_one(&mut sending, Time::from_nanos(8384 * frame));
            assert_eq!(sending.timer.deadline < Time::MAX, frame >= 3);
        }
        assert_eq!(sending.arm_timer(), Some(Time::from_nanos(10_000_000 + 3 * 8384)));
    }

    #[test]
    fn a_stopped_flow_ends_with_its_segment() {
        let mut sending = sending(100, false);
        for _ in 0..5 {
            send_one(&mut sending, Time::ZERO);
        }
        sending.stop();
        assert_eq!(departures(&mut sending).last().map(|p| (p.1, p.2)), Some((7, true)));
    }
}
