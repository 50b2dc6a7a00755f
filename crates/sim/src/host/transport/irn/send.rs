//! IRN at the sender.

use shallows_cc::event::{Ack, Loss, LossKind};
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::bursts::Bursts;
use crate::host::transport::config::SenderConfig;
use crate::host::transport::flow::{Common, Reliability};
use crate::host::transport::irn::timer::RetransmissionTimer;
use crate::host::transport::ledger::Losses;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::rack::{Rack, Tolerance};
use crate::host::transport::selective::Arrivals;
use crate::host::transport::status::{BlockedBy, Readiness};
use crate::packet::Slab;
use crate::packet::header::{Header, RoceAnswer, RoceData};

/// Reliability of one flow.
#[derive(Clone, Debug)]
pub struct Irn {
    bursts: Bursts,
    sprayed: bool,
    /// Largest number of frames between the cumulative acknowledgement and the next new frame, or in flight if frames are sprayed.
    cap: u32,
    rack: Rack,
    /// Losses below belong to a recovery that has begun.
    recover: u32,
    /// Payload acknowledged since the algorithm was told last.
    unreported: Bytes,
    timer: RetransmissionTimer,
}

impl Irn {
    pub(crate) fn new(config: &SenderConfig<'_>) -> Self {
        let tolerance = if config.sprayed { Tolerance::Sprayed } else { Tolerance::None };
        Self {
            bursts: Bursts::new(config.control.segments(), config.mss),
            sprayed: config.sprayed,
            cap: config.in_flight_limit.max(1),
            rack: Rack::new(tolerance),
            recover: 0,
            unreported: Bytes::ZERO,
            timer: RetransmissionTimer::new(config),
        }
    }

    /// Returns how many bytes the window or the limit lacks for one more new frame. One frame in flight is always allowed.
    fn deficit(&self, common: &Common) -> Option<Bytes> {
        let (position, window) = (&common.position, common.gate.window);
        let mss = position.message.mss;
        let behind = if self.sprayed { self.rack.in_flight() } else { position.outstanding() };
        if behind >= self.cap {
            return Some(mss * u64::from(behind + 1 - self.cap));
        }
        let needed = Bytes(mss.0.saturating_mul(u64::from(self.rack.in_flight()) + 1));
        let waits = self.rack.in_flight() > 0 && needed > window && !self.bursts.continue_at(position.next);
        waits.then(|| needed - window)
    }

    /// Handles an acknowledgement, a NACK or a congestion notification.
    pub(super) fn on_header(&mut self, common: &mut Common, now: Time, header: &Header) {
        match header {
            Header::SelectiveAck { answer, seq } | Header::SelectiveNack { answer, seq } => {
                self.on_answer(common, now, answer, *seq);
            }
            // The receiver has closed, because everything has arrived.
            Header::RoceAck(answer) => self.on_answer(common, now, answer, answer.cumulative - 1),
            Header::Notification { .. } => {
                common.gate.control.on_notification(now);
                common.gate.decide();
            }
            _ => unreachable!("a packet of another transport: {header:?}"),
        }
    }

    fn on_answer(&mut self, common: &mut Common, now: Time, answer: &RoceAnswer, seq: u32) {
        let block = (seq >= answer.cumulative).then_some((seq, seq + 1));
        let arrivals = Arrivals { cumulative: answer.cumulative, block };
        let newly_acked = self.rack.record_arrivals(now, arrivals, answer.sent);
        if answer.cumulative > common.position.unacked {
            common.position.unacked = answer.cumulative;
            self.timer.restart(now, common.position.outstanding() > 0);
        }
        common.record_delivery(now, arrivals, answer.sent, |_| Vec::new());
        let acked = common.position.message.payload_of(newly_acked, common.position.unacked);
        self.unreported += acked;
        if self.ends_segment(common, seq) {
            let mut ack = Ack {
                sent_at: answer.sent,
                rtt: answer.round_trip(now),
                host_delay: answer.host_delay(),
                one_way_delay: answer.delay,
                samples: 1,
                acked: std::mem::take(&mut self.unreported),
                in_flight: common.payload(self.rack.in_flight()),
                recovering: common.position.unacked < self.recover,
                ..Ack::default()
            };
            common.add_sample(&mut ack);
            common.gate.on_ack(now, &ack);
        }
        self.find_losses(common, now);
    }

    fn ends_segment(&self, common: &Common, seq: u32) -> bool {
        (seq + 1).is_multiple_of(self.bursts.segment) || seq + 1 == common.position.message.available
    }

    /// Detects losses, and tells the algorithm once in each recovery.
    fn find_losses(&mut self, common: &mut Common, now: Time) {
        self.rack.adapt(false);
        let lost = self.rack.detect_losses(now, Time::ZERO, false);
        if lost.any() {
            common.report_lost_packets(now, |_| self.rack.lost());
            if common.position.unacked >= self.recover {
                self.report_loss(common, now, (LossKind::FastRetransmit, lost), false);
            } else {
                common.decide_after_lost_packets();
            }
        }
    }

    fn report_loss(&mut self, common: &mut Common, now: Time, (kind, lost): (LossKind, Losses), repeated: bool) {
        self.recover = common.position.next;
        let in_flight = common.payload(common.position.outstanding());
        let lost = lost.payload(&common.position.message);
        common.gate.control.on_loss(now, &Loss { kind, in_flight, lost, repeated });
        common.gate.decide();
    }
}

impl Reliability for Irn {
    fn readiness(&mut self, common: &mut Common, now: Time) -> Readiness {
        if self.rack.first_lost().is_none() {
            if !common.position.has_data() {
                return common.has_no_data(self.rack.in_flight());
            }
            if let Some(short) = self.deficit(common) {
                return Readiness::Blocked(BlockedBy::Window(short));
            }
            if self.bursts.continue_at(common.position.next) {
                return self.bursts.wait_until(now).map_or(Readiness::Ready, Readiness::At);
            }
        }
        common.gate.paced_until(now).map_or(Readiness::Ready, Readiness::At)
    }

    fn send(&mut self, common: &mut Common, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let repair = self.rack.first_lost();
        let seq = repair.unwrap_or(common.position.next);
        let length = common.length(seq, header);
        let in_burst = repair.is_none() && self.bursts.continue_at(seq);
        common.stamp(now, seq, (self.rack.in_flight(), self.rack.in_flight() + 1));
        self.bursts.on_sent(now, length, in_burst, &mut common.gate);
        self.rack.on_sent(now, seq);
        if repair.is_none() {
            common.position.advance();
        } else {
            common.repairs.retransmits += 1;
        }
        self.timer.start(now);
        out.put_data(length, common.ecn, Header::RoceData(RoceData { sent: now, seq, asks: true, has_int: false }))
    }

    #[inline(always)]
    fn on_packet(&mut self, common: &mut Common, now: Time, at: u32, packets: &Slab) {
        self.on_header(common, now, packets.header(at));
    }

    fn arm_timer(&mut self, _common: &Common) -> Option<Time> {
        self.timer.arm(self.rack.in_flight(), self.rack.deadline)
    }

    fn on_timer(&mut self, common: &mut Common, now: Time) {
        self.timer.expire(now);
        if self.rack.deadline <= now {
            self.find_losses(common, now);
        }
        if self.timer.deadline(self.rack.in_flight()) <= now {
            common.repairs.on_timeout(self.timer.since(), now);
            let repeated = self.timer.fail();
            let lost = self.rack.on_timeout(now, Time::ZERO);
            common.report_lost_packets(now, |_| self.rack.lost());
            self.report_loss(common, now, (LossKind::Timeout, lost), repeated);
        }
    }

    fn in_flight(&self, _common: &Common) -> Option<u32> {
        Some(self.rack.in_flight())
    }

    // A segment is always sent to its end.
    fn begun(&self, common: &Common) -> u32 {
        self.bursts.end(common.position.next)
    }
}
