//! A RoCE-like transport: a rate from the first packet on, and a window where the algorithm has one.
//!
//! Frames leave one by one at the algorithm's pace, or segment by segment with the gap after each. The last
//! frame of a segment asks for an acknowledgement. The receiver takes frames in order only; at the first one
//! out of order it says which it expects (NACK), and the sender goes back to that one (go-back-N). It says so
//! once, until the gap closes or a frame comes that it has had: then the sender has gone back by itself, and what is
//! missing is missing again. The first frame that it has had, after later ones, it acknowledges whether it asks or not, so
//! that a sender that went back too far learns how far (InfiniBand acknowledges duplicates likewise); later ones of that
//! burst may be lost again. When a frame that asks has not been answered for the initial retransmission timeout, doubled each time, the sender goes
//! back; where a repair is lost as well, only that helps.
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
use shallows_cc::sender::{Decision, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

use crate::header::{Header, RoceAnswer, RoceData};
use crate::network::MIN_FRAME;
use crate::transport::alarm::Alarm;
use crate::transport::{Expecting, Opening, Outlet, Replies, Turn, packets_in};

/// One flow at its sender.
#[derive(Debug)]
pub struct Sending {
    control: Box<dyn Sender>,
    /// The algorithm's last word.
    window: Bytes,
    pace: Option<Rate>,
    wake: Option<Time>,
    mss: Bytes,
    last_payload: Bytes,
    ecn: bool,
    /// Packets in a segment, and whether they leave at once.
    segment: u32,
    at_once: bool,
    unacked: u32,
    next: u32,
    /// Everything below has been sent before.
    reached: u32,
    end: u32,
    next_paced: Time,
    timer: Patience,
    pub retransmits: u32,
    pub timeouts: u32,
    last_rtt: Time,
    acked_bytes: u64,
}

/// How long a sender waits to hear something.
#[derive(Clone, Copy, Debug)]
struct Patience {
    initial: Time,
    max: Time,
    /// Timeouts since it last heard of an arrival.
    in_a_row: u32,
    deadline: Time,
    alarm: Alarm,
}

impl Patience {
    fn current(&self) -> Time {
        Time(self.initial.0.saturating_mul(1 << self.in_a_row.min(30))).min(self.max)
    }
}

impl Sending {
    pub fn new(opening: Opening<'_>) -> Self {
        let (end, last_payload) = packets_in(opening.bytes, opening.mss);
        let segments = opening.control.segments();
        let Decision { window, pace, wake } = opening.control.decision();
        let (initial, max) = (opening.first_timeout, opening.host.rto_max);
        Self {
            control: opening.control,
            window,
            pace,
            wake,
            mss: opening.mss,
            last_payload,
            ecn: opening.ecn,
            segment: segments.size.0.div_ceil(opening.mss.0).max(1) as u32,
            at_once: segments.at_once,
            unacked: 0,
            next: 0,
            reached: 0,
            end,
            next_paced: Time::ZERO,
            timer: Patience { initial, max, in_a_row: 0, deadline: Time::MAX, alarm: Alarm::SILENT },
            retransmits: 0,
            timeouts: 0,
            last_rtt: Time::ZERO,
            acked_bytes: 0,
        }
    }

    /// Whether it may send now.
    pub fn turn(&mut self, now: Time) -> Turn {
        if self.next >= self.end || !self.fits_the_window() {
            return Turn::No;
        }
        let inside = self.at_once && !self.next.is_multiple_of(self.segment);
        if self.next_paced > now && !inside { Turn::At(self.next_paced) } else { Turn::Now }
    }

    /// Whether one more frame may be in flight. One may always, and a segment that leaves at once does so whole.
    fn fits_the_window(&self) -> bool {
        let in_flight = u64::from(self.next - self.unacked);
        let inside = self.at_once && !self.next.is_multiple_of(self.segment);
        in_flight == 0 || inside || self.mss.0.saturating_mul(in_flight + 1) <= self.window.0
    }

    /// Sends the packet whose turn it is.
    pub fn send(&mut self, now: Time, header: Bytes, out: &mut Outlet<'_>) -> u32 {
        let seq = self.next;
        self.next += 1;
        self.retransmits += u32::from(seq < self.reached);
        self.reached = self.reached.max(self.next);
        let last = self.next == self.end;
        let payload = if last { self.last_payload } else { self.mss };
        let length = (payload + header).max(MIN_FRAME);
        if let Some(pace) = self.pace {
            let begins = if self.at_once && !seq.is_multiple_of(self.segment) {
                self.next_paced
            } else {
                self.next_paced.max(now)
            };
            self.next_paced = begins + pace.time_to_send(length);
        }
        self.control.on_sent(now, length);
        self.decide();
        let asks = last || self.next.is_multiple_of(self.segment);
        if asks && self.timer.deadline == Time::MAX {
            self.timer.deadline = now + self.timer.current();
        }
        out.put_data(length, self.ecn, Header::RoceData(RoceData { sent: now, seq, asks }))
    }

    /// An acknowledgement, a negative one, or a congestion notification.
    pub fn on_packet(&mut self, now: Time, header: &Header) {
        match header {
            Header::RoceAck(answer) => self.on_ack(now, answer),
            Header::RoceNack(answer) => {
                self.note_arrivals(now, answer.cumulative);
                if answer.cumulative < self.next {
                    self.go_back(now, LossKind::FastRetransmit, false);
                }
            }
            Header::Notification { .. } => self.control.on_notification(now),
            _ => unreachable!("a packet of another transport: {header:?}"),
        }
        self.decide();
    }

    fn on_ack(&mut self, now: Time, answer: &RoceAnswer) {
        let acked = self.note_arrivals(now, answer.cumulative);
        self.last_rtt = now - answer.sent;
        let ack = Ack {
            sent_at: answer.sent,
            rtt: self.last_rtt,
            one_way_delay: answer.delay,
            samples: 1,
            acked,
            marked: Bytes::ZERO,
            in_flight: self.mss * u64::from(self.next - self.unacked),
            window_limited: false,
            recovering: self.next < self.reached,
        };
        self.control.on_ack(now, &ack);
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
        self.timer.in_a_row = 0;
        self.timer.deadline = if self.awaits_answer() { now + self.timer.current() } else { Time::MAX };
        let full = self.mss * u64::from(packets);
        let payload = if self.unacked == self.end { full - self.mss + self.last_payload } else { full };
        self.acked_bytes += payload.0;
        payload
    }

    /// Whether a frame on its way asks for an acknowledgement.
    fn awaits_answer(&self) -> bool {
        self.unacked < self.next && (self.next == self.end || self.next / self.segment > self.unacked / self.segment)
    }

    fn go_back(&mut self, now: Time, kind: LossKind, repeated: bool) {
        let in_flight = self.mss * u64::from(self.next - self.unacked);
        self.next = self.unacked;
        self.timer.deadline = Time::MAX;
        self.control.on_loss(now, &Loss { kind, in_flight, repeated });
    }

    /// The time to look again at the timer, if no timer comes in time.
    pub fn arm_timer(&mut self) -> Option<Time> {
        self.timer.alarm.set(self.timer.deadline)
    }

    /// The world's timer ran out: a timeout, if the deadline has not moved meanwhile.
    pub fn on_timer(&mut self, now: Time) {
        self.timer.alarm.ran_out(now);
        if self.timer.deadline > now {
            return;
        }
        self.timeouts += 1;
        let repeated = self.timer.in_a_row > 0;
        self.timer.in_a_row += 1;
        self.go_back(now, LossKind::Timeout, repeated);
        self.decide();
    }

    /// When the algorithm asked to be called.
    pub fn wake(&self) -> Option<Time> {
        self.wake
    }

    /// That time has come.
    pub fn on_wake(&mut self, now: Time) {
        self.wake = None;
        self.control.on_wake(now);
        self.decide();
    }

    fn decide(&mut self) {
        let Decision { window, pace, wake } = self.control.decision();
        self.window = window;
        self.pace = pace;
        self.wake = wake;
    }

    /// Sends nothing new from now on, except the rest of the segment that it has begun.
    pub fn stop(&mut self) {
        let end = self.reached.next_multiple_of(self.segment);
        if end < self.end {
            self.end = end;
            self.last_payload = self.mss;
        }
    }

    /// Whether everything was acknowledged.
    pub fn done(&self) -> bool {
        self.unacked == self.end
    }

    /// Internals worth plotting; `since` is the span since they were last read.
    pub fn probe(&mut self, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        if let Some(pace) = self.pace {
            record("pace_gbps", pace.as_gbps());
        }
        if self.last_rtt > Time::ZERO {
            record("rtt_us", self.last_rtt.as_micros());
        }
        let acked = std::mem::take(&mut self.acked_bytes);
        if since > Time::ZERO {
            record("rate_gbps", acked as f64 * 8e3 / since.0 as f64);
        }
        self.control.probe(record);
    }
}

/// One flow at its receiver.
#[derive(Debug)]
pub struct Receiving {
    notification: Box<dyn Receiver>,
    mss: Bytes,
    last_payload: Bytes,
    expected: u32,
    end: u32,
    /// The frame that came last.
    newest: u32,
    /// Whether the gap before what arrives has been reported.
    reported: bool,
    /// When a congestion notification is due, and whether the world knows.
    notify_at: Option<Time>,
    timer_armed: bool,
    /// In-order payload.
    pub delivered: u64,
}

impl Receiving {
    pub fn new(expecting: Expecting) -> Self {
        let (end, last_payload) = packets_in(expecting.bytes, expecting.mss);
        Self {
            notification: expecting.notification,
            mss: expecting.mss,
            last_payload,
            expected: 0,
            end,
            newest: 0,
            reported: false,
            notify_at: None,
            timer_armed: false,
            delivered: 0,
        }
    }

    /// A frame arrived.
    pub fn on_data(&mut self, now: Time, frame: &RoceData, marked: bool, out: &mut Outlet<'_>) -> Replies {
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
            self.expected += 1;
            let last = self.expected == self.end;
            self.delivered += if last { self.last_payload.0 } else { self.mss.0 };
        }
        let answer = RoceAnswer { sent: frame.sent, delay: now - frame.sent, cumulative: self.expected };
        let reply = if frame.seq < self.expected {
            self.reported = false;
            let had = !in_order && went_back;
            (frame.asks || had).then_some(Header::RoceAck(answer))
        } else {
            (!std::mem::replace(&mut self.reported, true)).then_some(Header::RoceNack(answer))
        };
        Replies { earlier, now: reply.map(|header| out.put(MIN_FRAME, header)) }
    }

    fn notify(&self, now: Time, out: &mut Outlet<'_>) -> u32 {
        out.put(MIN_FRAME, Header::Notification { left: now, cumulative: self.expected })
    }

    /// When a notification is due, if the world does not know it yet.
    pub fn arm_timer(&mut self, _now: Time) -> Option<Time> {
        let at = self.notify_at.filter(|_| !self.timer_armed)?;
        self.timer_armed = true;
        Some(at)
    }

    /// It is due.
    pub fn on_timer(&mut self, now: Time, out: &mut Outlet<'_>) -> Replies {
        self.timer_armed = false;
        let due = self.notify_at.take();
        Replies { earlier: due.map(|_| self.notify(now, out)), now: None }
    }

    /// Whether a notification is due.
    pub fn owes(&self) -> bool {
        self.notify_at.is_some()
    }

    /// Whether every byte is there.
    pub fn complete(&self) -> bool {
        self.expected == self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::packet::{PacketKind, Slab};
    use shallows_cc::receiver::cnp::Silent;
    use shallows_cc::sender::Segments;

    const MSS: Bytes = Bytes(1000);
    const HEADER: Bytes = Bytes(48);

    /// 1 Gbps, segments of four packets.
    #[derive(Debug)]
    struct Constant {
        at_once: bool,
        window: Bytes,
    }

    impl Sender for Constant {
        fn on_ack(&mut self, _: Time, _: &Ack) {}
        fn on_loss(&mut self, _: Time, _: &Loss) {}
        fn decision(&self) -> Decision {
            Decision { window: self.window, pace: Some(Rate::from_gbps(1)), wake: None }
        }
        fn segments(&self) -> Segments {
            Segments { size: MSS * 4, at_once: self.at_once }
        }
    }

    fn sending(packets: u64, at_once: bool) -> Sending {
        windowed(packets, at_once, Bytes::MAX)
    }

    fn windowed(packets: u64, at_once: bool, window: Bytes) -> Sending {
        // Timeouts of 10 ms at first, of 1 ms at least.
        let host = Network::bare().host;
        let control = Box::new(Constant { at_once, window });
        Sending::new(Opening {
            bytes: MSS * packets,
            mss: MSS,
            ecn: true,
            host: &host,
            first_timeout: host.rto_initial,
            control,
        })
    }

    fn receiving(packets: u64) -> Receiving {
        let values = shallows_cc::parameter::Values::defaults(&[]);
        let notification = Silent::boxed(&values, 1);
        Receiving::new(Expecting {
            bytes: MSS * packets,
            mss: MSS,
            ack_delay: Time::ZERO,
            measure: None,
            credits: None,
            notification,
        })
    }

    fn send_one(sending: &mut Sending, now: Time) -> RoceData {
        let mut packets = Slab::default();
        let at = sending.send(now, HEADER, &mut Outlet { packets: &mut packets, flow: 0, way: 0 });
        let Header::RoceData(frame) = packets[at].header else { panic!("no frame") };
        frame
    }

    /// What it answers to a frame.
    fn answer(receiving: &mut Receiving, frame: RoceData) -> Option<Header> {
        let mut packets = Slab::default();
        let out = &mut Outlet { packets: &mut packets, flow: 0, way: 0 };
        let at = receiving.on_data(Time::ZERO, &frame, false, out).now?;
        Some(packets[at].header)
    }

    fn ack(cumulative: u32) -> Header {
        Header::RoceAck(RoceAnswer { cumulative, ..RoceAnswer::default() })
    }

    /// When each packet leaves.
    fn departures(sending: &mut Sending) -> Vec<(u64, u32, bool)> {
        let (mut now, mut out) = (Time::ZERO, Vec::new());
        loop {
            match sending.turn(now) {
                Turn::No => return out,
                Turn::At(at) => now = at,
                Turn::Now => {
                    let frame = send_one(sending, now);
                    out.push((now.0 / 1000, frame.seq, frame.asks));
                }
            }
        }
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
