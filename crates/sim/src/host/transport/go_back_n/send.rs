//! Go-back-N at the sender.

use shallows_cc::event::{Ack, Loss, LossKind};
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::bursts::Bursts;
use crate::host::transport::config::SenderConfig;
use crate::host::transport::flow::{Common, Reliability};
use crate::host::transport::lazy_timer::{Backoff, LazyTimer};
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::selective::Arrivals;
use crate::host::transport::status::{BlockedBy, Readiness};
use crate::packet::Slab;
use crate::packet::header::{Header, RoceAnswer, RoceData};

/// Reliability of one flow.
#[derive(Clone, Debug)]
pub(crate) struct GoBackN {
    bursts: Bursts,
    pub(super) timer: RetransmissionTimer,
}

/// Timer for a frame that requests an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetransmissionTimer {
    backoff: Backoff,
    /// When the timer expires; [`Time::MAX`] if it is stopped.
    pub(super) deadline: Time,
    timer: LazyTimer,
}

impl GoBackN {
    pub fn new(config: &SenderConfig<'_>) -> Self {
        let backoff = Backoff::new(config.first_timeout, config.host.rto_max);
        Self {
            bursts: Bursts::new(config.control.segments(), config.mss),
            timer: RetransmissionTimer { backoff, deadline: Time::MAX, timer: LazyTimer::DISARMED },
        }
    }

    /// Returns how many bytes the window lacks for one more frame. One frame in flight is always allowed, and a burst is
    /// never divided.
    fn window_deficit(&self, common: &Common) -> Option<Bytes> {
        let in_flight = u64::from(common.position.outstanding());
        let needed = Bytes(common.position.message.mss.0.saturating_mul(in_flight + 1));
        let waits = in_flight > 0 && needed > common.gate.window && !self.bursts.continue_at(common.position.next);
        waits.then(|| needed - common.gate.window)
    }

    /// Handles an acknowledgement, a NACK or a congestion notification.
    pub(super) fn on_header(&mut self, common: &mut Common, now: Time, header: &Header) {
        match header {
            Header::RoceAck(answer) => return self.on_ack(common, now, answer),
            Header::RoceNack(answer) => {
                let acked = self.record_arrivals(common, now, answer.cumulative);
                common.gate.acked += acked;
                common.record_delivery(now, in_order(answer), answer.sent, |_| Vec::new());
                if answer.cumulative < common.position.next {
                    self.go_back(common, now, LossKind::FastRetransmit, false);
                }
            }
            Header::Notification { .. } => common.gate.control.on_notification(now),
            _ => unreachable!("a packet of another transport: {header:?}"),
        }
        common.gate.decide();
    }

    fn on_ack(&mut self, common: &mut Common, now: Time, answer: &RoceAnswer) {
        let acked = self.record_arrivals(common, now, answer.cumulative);
        common.record_delivery(now, in_order(answer), answer.sent, |_| Vec::new());
        let mut ack = Ack {
            sent_at: answer.sent,
            rtt: answer.round_trip(now),
            host_delay: answer.host_delay(),
            one_way_delay: answer.delay,
            samples: 1,
            acked,
            in_flight: common.payload(common.position.outstanding()),
            recovering: common.position.next < common.position.sent_below,
            ..Ack::default()
        };
        common.add_sample(&mut ack);
        common.gate.on_ack(now, &ack);
    }

    /// Records that all frames below `cumulative` have arrived, and returns the newly acknowledged payload.
    fn record_arrivals(&mut self, common: &mut Common, now: Time, cumulative: u32) -> Bytes {
        let position = &mut common.position;
        let packets = cumulative.saturating_sub(position.unacked);
        if packets == 0 {
            return Bytes::ZERO;
        }
        position.unacked = cumulative;
        // The acknowledgement may be for frames that the sender has gone back to and not yet sent again.
        position.next = position.next.max(cumulative);
        self.timer.backoff.reset();
        self.timer.deadline = if self.awaits_answer(common) { now + self.timer.backoff.current() } else { Time::MAX };
        common.position.message.payload_of(packets, cumulative)
    }

    /// Returns true if a frame in flight requests an acknowledgement.
    fn awaits_answer(&self, common: &Common) -> bool {
        let (unacked, next) = (common.position.unacked, common.position.next);
        unacked < next
            && (next == common.position.message.available || next / self.bursts.segment > unacked / self.bursts.segment)
    }

    fn go_back(&mut self, common: &mut Common, now: Time, kind: LossKind, repeated: bool) {
        let (position, packets) = (&common.position, common.position.outstanding());
        let (in_flight, lost) = (common.payload(packets), position.message.payload_of(packets, position.next));
        common.position.next = common.position.unacked;
        self.timer.deadline = Time::MAX;
        common.report_lost_packets(now, |position| (position.next..position.sent_below).collect());
        common.gate.control.on_loss(now, &Loss { kind, in_flight, lost, repeated });
    }
}

/// Returns the frames that an answer covers.
const fn in_order(answer: &RoceAnswer) -> Arrivals {
    Arrivals { cumulative: answer.cumulative, block: None }
}

impl Reliability for GoBackN {
    fn readiness(&mut self, common: &mut Common, now: Time) -> Readiness {
        if !common.position.has_data() {
            return common.has_no_data(common.position.outstanding());
        }
        if let Some(short) = self.window_deficit(common) {
            return Readiness::Blocked(BlockedBy::Window(short));
        }
        let in_burst = self.bursts.continue_at(common.position.next);
        let waits = if in_burst { self.bursts.wait_until(now) } else { common.gate.paced_until(now) };
        waits.map_or(Readiness::Ready, Readiness::At)
    }

    #[inline(always)]
    fn send(&mut self, common: &mut Common, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let (sent_below, in_flight) = (common.position.sent_below, common.position.outstanding());
        let seq = common.position.advance();
        common.repairs.retransmits += u64::from(seq < sent_below);
        common.stamp(now, seq, (in_flight, in_flight + 1));
        let length = common.length(seq, header);
        self.bursts.on_sent(now, length, self.bursts.continue_at(seq), &mut common.gate);
        let next = common.position.next;
        let asks = next == common.position.message.available || next.is_multiple_of(self.bursts.segment);
        if asks && self.timer.deadline == Time::MAX {
            self.timer.deadline = now + self.timer.backoff.current();
        }
        out.put_data(length, common.ecn, Header::RoceData(RoceData { sent: now, seq, asks, has_int: false }))
    }

    #[inline(always)]
    fn on_packet(&mut self, common: &mut Common, now: Time, at: u32, packets: &Slab) {
        self.on_header(common, now, packets.header(at));
    }

    fn arm_timer(&mut self, _common: &Common) -> Option<Time> {
        self.timer.timer.arm(self.timer.deadline)
    }

    fn on_timer(&mut self, common: &mut Common, now: Time) {
        self.timer.timer.expire(now);
        if self.timer.deadline > now {
            return;
        }
        common.repairs.on_timeout(now - self.timer.backoff.current(), now);
        let repeated = self.timer.backoff.fail();
        self.go_back(common, now, LossKind::Timeout, repeated);
        common.gate.decide();
    }

    // The packets in flight are those sent since the sender last went back.
    fn in_flight(&self, common: &Common) -> Option<u32> {
        Some(common.position.next.saturating_sub(common.position.unacked))
    }

    // A segment is always sent to its end.
    fn begun(&self, common: &Common) -> u32 {
        self.bursts.end(common.position.sent_below)
    }
}
