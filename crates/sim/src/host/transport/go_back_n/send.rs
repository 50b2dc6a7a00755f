//! Go-back-N sender.

use shallows_cc::event::{Ack, Loss, LossKind};
use shallows_cc::units::{Bytes, Rate, Time};

use crate::host::transport::config::SenderConfig;
use crate::host::transport::gate::Gate;
use crate::host::transport::lazy_timer::{Backoff, LazyTimer};
use crate::host::transport::message::Message;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::status::{BlockedBy, Readiness};
use crate::host::transport::traits::TransportSender;
use crate::packet::header::{Header, RoceAnswer, RoceData};
use crate::spec::network::{MIN_FRAME, Supply};

/// Sender of one flow.
// All 13 fields are read or written for every frame, so they are not grouped further.
#[derive(Debug)]
pub struct GoBackNSender {
    gate: Gate,
    pub(super) message: Message,
    ecn: bool,
    /// Packets of a segment, and whether they leave in a burst.
    segment: u32,
    at_once: bool,
    /// Rate within a burst, and when its next frame may leave.
    burst_rate: Option<Rate>,
    burst_until: Time,
    pub(super) unacked: u32,
    pub(super) next: u32,
    /// Frames below have been sent before.
    pub(super) highest_sent: u32,
    pub(super) timer: RetransmissionTimer,
    pub(super) retransmits: u64,
    pub(super) timeouts: u64,
}

/// Timer for a frame that requests an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetransmissionTimer {
    backoff: Backoff,
    /// When the timer expires; [`Time::MAX`] if it is stopped.
    pub(super) deadline: Time,
    timer: LazyTimer,
}

impl GoBackNSender {
    pub fn new(config: SenderConfig<'_>) -> Self {
        let segments = config.control.segments();
        let backoff = Backoff::new(config.first_timeout, config.host.rto_max);
        Self {
            gate: Gate::new(config.control),
            message: Message::new(config.bytes, config.mss),
            ecn: config.ecn,
            segment: segments.size.0.div_ceil(config.mss.0).max(1) as u32,
            at_once: segments.at_once,
            burst_rate: segments.burst_rate,
            burst_until: Time::ZERO,
            unacked: 0,
            next: 0,
            highest_sent: 0,
            timer: RetransmissionTimer { backoff, deadline: Time::MAX, timer: LazyTimer::DISARMED },
            retransmits: 0,
            timeouts: 0,
        }
    }

    /// Returns true if this frame leaves in the burst of the previous one.
    fn in_burst(&self, seq: u32) -> bool {
        self.at_once && !seq.is_multiple_of(self.segment)
    }

    /// Returns how many bytes the window lacks for one more frame. One frame in flight is always allowed, and a burst is
    /// never divided.
    fn window_deficit(&self) -> Option<Bytes> {
        let in_flight = u64::from(self.next - self.unacked);
        let needed = Bytes(self.message.mss.0.saturating_mul(in_flight + 1));
        let waits = in_flight > 0 && needed > self.gate.window && !self.in_burst(self.next);
        waits.then(|| needed - self.gate.window)
    }

    /// Handles an acknowledgement, a NACK or a congestion notification.
    pub fn on_packet(&mut self, now: Time, header: &Header) {
        match header {
            Header::RoceAck(answer) => return self.on_ack(now, answer),
            Header::RoceNack(answer) => {
                let acked = self.record_arrivals(now, answer.cumulative);
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
        let acked = self.record_arrivals(now, answer.cumulative);
        let ack = Ack {
            sent_at: answer.sent,
            rtt: answer.round_trip(now),
            one_way_delay: answer.delay,
            samples: 1,
            acked,
            in_flight: self.message.mss * u64::from(self.next - self.unacked),
            recovering: self.next < self.highest_sent,
            ..Ack::default()
        };
        self.gate.on_ack(now, &ack);
    }

    /// Records that all frames below `cumulative` have arrived, and returns the newly acknowledged payload.
    fn record_arrivals(&mut self, now: Time, cumulative: u32) -> Bytes {
        let packets = cumulative.saturating_sub(self.unacked);
        if packets == 0 {
            return Bytes::ZERO;
        }
        self.unacked = cumulative;
        // The acknowledgement may be for frames that the sender has gone back to and not yet sent again.
        self.next = self.next.max(cumulative);
        self.timer.backoff.reset();
        self.timer.deadline = if self.awaits_answer() { now + self.timer.backoff.current() } else { Time::MAX };
        self.message.payload_of(packets, self.unacked)
    }

    /// Returns true if a frame in flight requests an acknowledgement.
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

    /// Returns the end of the current segment, which is always sent to its end.
    fn segment_end(&self) -> u32 {
        self.highest_sent.next_multiple_of(self.segment)
    }
}

impl TransportSender for GoBackNSender {
    fn readiness(&mut self, now: Time) -> Readiness {
        if self.next >= self.message.available {
            return Readiness::Blocked(self.message.blocked_by());
        }
        if let Some(short) = self.window_deficit() {
            return Readiness::Blocked(BlockedBy::Window(short));
        }
        let burst_until = || (self.burst_until > now).then_some(self.burst_until);
        let waits = if self.in_burst(self.next) { burst_until() } else { self.gate.paced_until(now) };
        waits.map_or(Readiness::Ready, Readiness::At)
    }

    #[inline(always)]
    fn send(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let seq = self.next;
        self.next += 1;
        self.retransmits += u64::from(seq < self.highest_sent);
        self.highest_sent = self.highest_sent.max(self.next);
        let length = (self.message.payload(seq) + header).max(MIN_FRAME);
        let paced = self.gate.next_paced;
        self.gate.advance_pacing(if self.in_burst(seq) { paced } else { paced.max(now) }, length);
        if let Some(rate) = self.burst_rate {
            self.burst_until = (now + rate.time_to_send(length)).min(self.gate.next_paced);
        }
        self.gate.on_sent(now, length);
        let asks = self.next == self.message.available || self.next.is_multiple_of(self.segment);
        if asks && self.timer.deadline == Time::MAX {
            self.timer.deadline = now + self.timer.backoff.current();
        }
        out.put_data(length, self.ecn, Header::RoceData(RoceData { sent: now, seq, asks }))
    }

    fn arm_timer(&mut self) -> Option<Time> {
        self.timer.timer.arm(self.timer.deadline)
    }

    fn on_timer(&mut self, now: Time) {
        self.timer.timer.expire(now);
        if self.timer.deadline > now {
            return;
        }
        self.timeouts += 1;
        let repeated = self.timer.backoff.fail();
        self.go_back(now, LossKind::Timeout, repeated);
        self.gate.decide();
    }

    fn stop(&mut self, _now: Time) {
        self.message.truncate(self.segment_end());
    }

    fn done(&self) -> bool {
        self.unacked == self.message.end
    }

    // The packets in flight are those sent since the sender last went back.
    fn progress(&self) -> (u32, Option<u32>) {
        (self.highest_sent, Some(self.next.saturating_sub(self.unacked)))
    }

    fn repairs(&self) -> (u64, u64) {
        (self.retransmits, self.timeouts)
    }

    #[inline]
    fn gate(&self) -> Option<&Gate> {
        Some(&self.gate)
    }

    #[inline]
    fn gate_mut(&mut self) -> Option<&mut Gate> {
        Some(&mut self.gate)
    }

    fn write(&mut self, supply: Supply) {
        self.message.write(supply, self.segment_end());
    }

    fn app_limited(&self) -> bool {
        self.message.app_limited()
    }
}
