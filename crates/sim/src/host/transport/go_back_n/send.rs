//! Go-back-N sender.

use shallows_cc::event::{Ack, Loss, LossKind};
use shallows_cc::port::Ecn;
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::bursts::Bursts;
use crate::host::transport::config::SenderConfig;
use crate::host::transport::gate::Gate;
use crate::host::transport::lazy_timer::{Backoff, LazyTimer};
use crate::host::transport::message::Message;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::status::{BlockedBy, Readiness};
use crate::host::transport::traits::TransportSender;
use crate::host::waits::{TotalWait, Waits};
use crate::packet::header::{Header, RoceAnswer, RoceData};
use crate::spec::network::{MIN_FRAME, Supply};

/// Sender of one flow.
#[derive(Clone, Debug)]
pub(crate) struct GoBackNSender {
    gate: Gate,
    pub(super) message: Message,
    ecn: Ecn,
    bursts: Bursts,
    pub(super) unacked: u32,
    pub(super) next: u32,
    /// Frames below have been sent before.
    pub(super) highest_sent: u32,
    pub(super) timer: RetransmissionTimer,
    pub(super) retransmits: u64,
    pub(super) timeouts: u64,
    waits: Waits,
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
        let backoff = Backoff::new(config.first_timeout, config.host.rto_max);
        Self {
            bursts: Bursts::new(config.control.segments(), config.mss),
            gate: Gate::new(config.control),
            message: Message::new(config.bytes, config.mss),
            ecn: config.ecn,
            unacked: 0,
            next: 0,
            highest_sent: 0,
            timer: RetransmissionTimer { backoff, deadline: Time::MAX, timer: LazyTimer::DISARMED },
            retransmits: 0,
            timeouts: 0,
            waits: Waits::default(),
        }
    }

    /// Returns how many bytes the window lacks for one more frame. One frame in flight is always allowed, and a burst is
    /// never divided.
    fn window_deficit(&self) -> Option<Bytes> {
        let in_flight = u64::from(self.next - self.unacked);
        let needed = Bytes(self.message.mss.0.saturating_mul(in_flight + 1));
        let waits = in_flight > 0 && needed > self.gate.window && !self.bursts.continue_at(self.next);
        waits.then(|| needed - self.gate.window)
    }

    /// Handles an acknowledgement, a NACK or a congestion notification.
    pub(crate) fn on_packet(&mut self, now: Time, header: &Header) {
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
            host_delay: answer.host_delay(),
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
            && (self.next == self.message.available
                || self.next / self.bursts.segment > self.unacked / self.bursts.segment)
    }

    fn go_back(&mut self, now: Time, kind: LossKind, repeated: bool) {
        let in_flight = self.message.mss * u64::from(self.next - self.unacked);
        self.next = self.unacked;
        self.timer.deadline = Time::MAX;
        self.gate.control.on_loss(now, &Loss { kind, in_flight, repeated, ..Loss::default() });
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
        let in_burst = self.bursts.continue_at(self.next);
        let waits = if in_burst { self.bursts.wait_until(now) } else { self.gate.paced_until(now) };
        waits.map_or(Readiness::Ready, Readiness::At)
    }

    #[inline(always)]
    fn send(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let seq = self.next;
        self.next += 1;
        self.retransmits += u64::from(seq < self.highest_sent);
        self.highest_sent = self.highest_sent.max(self.next);
        let length = (self.message.payload(seq) + header).max(MIN_FRAME);
        self.bursts.on_sent(now, length, self.bursts.continue_at(seq), &mut self.gate);
        let asks = self.next == self.message.available || self.next.is_multiple_of(self.bursts.segment);
        if asks && self.timer.deadline == Time::MAX {
            self.timer.deadline = now + self.timer.backoff.current();
        }
        out.put_data(length, self.ecn, Header::RoceData(RoceData { sent: now, seq, asks, has_int: false }))
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
        self.waits.add(now - self.timer.backoff.current(), now);
        let repeated = self.timer.backoff.fail();
        self.go_back(now, LossKind::Timeout, repeated);
        self.gate.decide();
    }

    fn stop(&mut self, _now: Time) {
        self.message.truncate(self.bursts.end(self.highest_sent));
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

    fn timeout_wait(&self) -> TotalWait {
        self.waits.total()
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
        self.message.write(supply, self.bursts.end(self.highest_sent));
    }

    fn app_limited(&self) -> bool {
        self.message.app_limited()
    }
}
