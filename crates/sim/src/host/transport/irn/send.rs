//! IRN sender.

use shallows_cc::event::{Ack, Loss, LossKind};
use shallows_cc::port::Ecn;
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::bursts::Bursts;
use crate::host::transport::config::SenderConfig;
use crate::host::transport::gate::Gate;
use crate::host::transport::irn::timer::RetransmissionTimer;
use crate::host::transport::message::Message;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::rack::{Rack, Tolerance};
use crate::host::transport::selective::Arrivals;
use crate::host::transport::status::{BlockedBy, Readiness};
use crate::host::transport::traits::TransportSender;
use crate::host::waits::{TotalWait, Waits};
use crate::packet::header::{Header, RoceAnswer, RoceData};
use crate::spec::network::{MIN_FRAME, Supply};

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct IrnSender {
    gate: Gate,
    message: Message,
    ecn: Ecn,
    bursts: Bursts,
    unacked: u32,
    next: u32,
    sprayed: bool,
    /// Largest number of frames between the cumulative acknowledgement and the next new frame, or in flight if frames are sprayed.
    cap: u32,
    rack: Rack,
    /// Losses below belong to a recovery that has begun.
    recover: u32,
    /// Payload acknowledged since the algorithm was told last.
    unreported: Bytes,
    timer: RetransmissionTimer,
    pub(super) retransmits: u64,
    pub(super) timeouts: u64,
    waits: Waits,
}

impl IrnSender {
    pub(crate) fn new(config: SenderConfig<'_>) -> Self {
        let timer = RetransmissionTimer::new(&config);
        let tolerance = if config.sprayed { Tolerance::Sprayed } else { Tolerance::None };
        Self {
            bursts: Bursts::new(config.control.segments(), config.mss),
            gate: Gate::new(config.control),
            message: Message::new(config.bytes, config.mss),
            ecn: config.ecn,
            unacked: 0,
            next: 0,
            sprayed: config.sprayed,
            cap: config.in_flight_limit.max(1),
            rack: Rack::new(tolerance),
            recover: 0,
            unreported: Bytes::ZERO,
            timer,
            retransmits: 0,
            timeouts: 0,
            waits: Waits::default(),
        }
    }

    /// Returns true if this frame leaves in the burst of the previous one.
    fn in_burst(&self, seq: u32) -> bool {
        seq == self.next && self.bursts.continue_at(seq)
    }

    /// Returns how many bytes the window or the limit lacks for one more new frame. One frame in flight is always allowed.
    fn deficit(&self) -> Option<Bytes> {
        let mss = self.message.mss;
        let behind = if self.sprayed { self.rack.in_flight } else { self.next - self.unacked };
        if behind >= self.cap {
            return Some(mss * u64::from(behind + 1 - self.cap));
        }
        let needed = Bytes(mss.0.saturating_mul(u64::from(self.rack.in_flight) + 1));
        let waits = self.rack.in_flight > 0 && needed > self.gate.window && !self.bursts.continue_at(self.next);
        waits.then(|| needed - self.gate.window)
    }

    /// Handles an acknowledgement, a NACK or a congestion notification.
    pub fn on_packet(&mut self, now: Time, header: &Header) {
        match header {
            Header::SelectiveAck { answer, seq } | Header::SelectiveNack { answer, seq } => {
                self.on_answer(now, answer, *seq);
            }
            // The receiver has closed, because everything has arrived.
            Header::RoceAck(answer) => self.on_answer(now, answer, answer.cumulative - 1),
            Header::Notification { .. } => {
                self.gate.control.on_notification(now);
                self.gate.decide();
            }
            _ => unreachable!("a packet of another transport: {header:?}"),
        }
    }

    fn on_answer(&mut self, now: Time, answer: &RoceAnswer, seq: u32) {
        let block = (seq >= answer.cumulative).then_some((seq, seq + 1));
        let arrivals = Arrivals { cumulative: answer.cumulative, block };
        let newly_acked = self.rack.record_arrivals(now, arrivals, answer.sent);
        if answer.cumulative > self.unacked {
            self.unacked = answer.cumulative;
            self.timer.restart(now, self.unacked < self.next);
        }
        let acked = self.message.payload_of(newly_acked, self.unacked);
        self.unreported += acked;
        if self.ends_segment(seq) {
            let ack = Ack {
                sent_at: answer.sent,
                rtt: answer.round_trip(now),
                host_delay: answer.host_delay(),
                one_way_delay: answer.delay,
                samples: 1,
                acked: std::mem::take(&mut self.unreported),
                in_flight: self.message.mss * u64::from(self.rack.in_flight),
                recovering: self.unacked < self.recover,
                ..Ack::default()
            };
            self.gate.on_ack(now, &ack);
        }
        self.find_losses(now);
    }

    fn ends_segment(&self, seq: u32) -> bool {
        (seq + 1).is_multiple_of(self.bursts.segment) || seq + 1 == self.message.available
    }

    /// Detects losses, and tells the algorithm once in each recovery.
    fn find_losses(&mut self, now: Time) {
        self.rack.adapt(false);
        if self.rack.detect_losses(now, Time::ZERO, false) && self.unacked >= self.recover {
            self.report_loss(now, LossKind::FastRetransmit, false);
        }
    }

    fn report_loss(&mut self, now: Time, kind: LossKind, repeated: bool) {
        self.recover = self.next;
        let in_flight = self.message.mss * u64::from(self.next - self.unacked);
        self.gate.control.on_loss(now, &Loss { kind, in_flight, repeated, ..Loss::default() });
        self.gate.decide();
    }
}

impl TransportSender for IrnSender {
    fn readiness(&mut self, now: Time) -> Readiness {
        if self.rack.first_lost().is_none() {
            if self.next >= self.message.available {
                return Readiness::Blocked(self.message.blocked_by());
            }
            if let Some(short) = self.deficit() {
                return Readiness::Blocked(BlockedBy::Window(short));
            }
            if self.bursts.continue_at(self.next) {
                return self.bursts.wait_until(now).map_or(Readiness::Ready, Readiness::At);
            }
        }
        self.gate.paced_until(now).map_or(Readiness::Ready, Readiness::At)
    }

    fn send(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let seq = self.rack.first_lost().unwrap_or(self.next);
        let length = (self.message.payload(seq) + header).max(MIN_FRAME);
        self.bursts.on_sent(now, length, self.in_burst(seq), &mut self.gate);
        self.rack.on_sent(now, seq);
        if seq == self.next {
            self.next += 1;
        } else {
            self.retransmits += 1;
        }
        self.timer.start(now);
        out.put_data(length, self.ecn, Header::RoceData(RoceData { sent: now, seq, asks: true, has_int: false }))
    }

    fn arm_timer(&mut self) -> Option<Time> {
        self.timer.arm(self.rack.in_flight, self.rack.deadline)
    }

    fn on_timer(&mut self, now: Time) {
        self.timer.expire(now);
        if self.rack.deadline <= now {
            self.find_losses(now);
        }
        if self.timer.deadline(self.rack.in_flight) <= now {
            self.timeouts += 1;
            self.waits.add(self.timer.since(), now);
            let repeated = self.timer.fail();
            self.rack.on_timeout(now, Time::ZERO);
            self.report_loss(now, LossKind::Timeout, repeated);
        }
    }

    fn stop(&mut self, _now: Time) {
        self.message.truncate(self.bursts.end(self.next));
    }

    fn done(&self) -> bool {
        self.unacked == self.message.end
    }

    fn progress(&self) -> (u32, Option<u32>) {
        (self.next, Some(self.rack.in_flight))
    }

    fn repairs(&self) -> (u64, u64) {
        (self.retransmits, self.timeouts)
    }

    fn timeout_wait(&self) -> TotalWait {
        self.waits.total()
    }

    fn gate(&self) -> Option<&Gate> {
        Some(&self.gate)
    }

    fn gate_mut(&mut self) -> Option<&mut Gate> {
        Some(&mut self.gate)
    }

    fn write(&mut self, supply: Supply) {
        self.message.write(supply, self.bursts.end(self.next));
    }

    fn app_limited(&self) -> bool {
        self.message.app_limited()
    }
}
