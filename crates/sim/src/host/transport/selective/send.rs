//! Sender with selective acknowledgements, as in TCP. Sequence numbers count packets.
//!
//! Loss detection and repair follow RFC 6675 ([`crate::host::transport::selective::scoreboard`]): a hole is lost once
//! DupThresh later packets have arrived. The packets in flight (the RFC's "pipe") exclude those that were selectively
//! acknowledged, and lost ones that have not been retransmitted. The window is reduced once until everything sent before the
//! reduction is repaired. The loss of a retransmission is detected only by the timer, which follows RFC 6298
//! ([`crate::host::transport::selective::timeout`]) and restarts when the cumulative acknowledgement advances (§5.3) and when the
//! packet that it waits for is retransmitted, which leaves that one a whole timeout (RFC 6675 §6 permits it, Linux's
//! `tcp_xmit_retransmit_queue` does it). The window grows only when the cumulative acknowledgement advances (RFC 5681 §3). A timeout
//! retransmits everything that has not arrived. Packets that were selectively acknowledged are not retransmitted, unless the
//! receiver turns out to have dropped them (RFC 6675 §5.1, unlike RFC 2018 §8).
//!
//! Not modelled: handshake and teardown (connections are open); more than one SACK block in an acknowledgement (it reports the
//! block of the newest packet); NextSeg rules 3 and 4 of RFC 6675 (speculative retransmissions when no new data is left), so a
//! hole with fewer than DupThresh later packets waits for the timer.
//!
//! With [`LossDetection::Rack`] packets are lost by time ([`crate::host::transport::rack`]), retransmissions included, and a timeout
//! retransmits only what is due.

use shallows_cc::event::{Ack, DeliverySample, Loss, LossKind};
use shallows_cc::port::Ecn;
use shallows_cc::units::{Bytes, Time};

use crate::host::stats::RttStats;
use crate::host::transport::config::SenderConfig;
use crate::host::transport::delivery::Delivery;
use crate::host::transport::gate::Gate;
use crate::host::transport::inband::InbandRequest;
use crate::host::transport::message::Message;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::rack::{Rack, Tolerance};
use crate::host::transport::selective::ranges::Arrivals;
use crate::host::transport::selective::reduction::{Progress, Reduction};
use crate::host::transport::selective::scoreboard::Scoreboard;
use crate::host::transport::selective::timeout::Timeout;
use crate::host::transport::status::{BlockedBy, Readiness};
use crate::host::transport::traits::TransportSender;
use crate::host::waits::{TotalWait, Waits};
use crate::packet::Slab;
use crate::packet::header::{Header, TcpAck, TcpData};
use crate::spec::network::{LossDetection, MIN_FRAME, Supply};

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct SelectiveSender {
    pub(super) gate: Gate,
    pub(super) message: Message,
    pub(super) board: Scoreboard,
    pub(super) timer: Timeout,
    /// Maximum number of packets sent together (TSO), and those still to send of the current segment.
    pub(super) segment: u32,
    /// Time whose data at the rate of the flow is a segment (TSO autosizing); zero if all segments are as large as possible.
    pub(super) segment_time: Time,
    segment_left: u32,
    /// Next sequence number when the window last blocked the flow. Until it is acknowledged, the flow counts as limited by its
    /// window, even while packets wait in the NIC (Linux's `is_cwnd_limited`).
    limited_below: u32,
    ecn: Ecn,
    report_reduction: bool,
    /// Spreads cuts of the window, if the host does so.
    reduction: Option<Box<Reduction>>,
    /// When the newest acknowledgement left the receiver.
    heard: Time,
    /// Delivery-rate samples, if the algorithm asks for them.
    delivery: Option<Box<Delivery>>,
    pub(super) retransmits: u64,
    pub(super) timeouts: u64,
    waits: Waits,
}

impl SelectiveSender {
    /// Creates a sender that treats a hole as lost once `dup_thresh` later packets have arrived.
    pub(crate) fn new(config: SenderConfig<'_>, dup_thresh: u32) -> Self {
        let by_time = config.host.loss_detection == LossDetection::Rack;
        let tolerance = if config.sprayed { Tolerance::Sprayed } else { Tolerance::Adaptive };
        let rack = by_time.then(|| Box::new(Rack::new(tolerance)));
        Self {
            delivery: config.control.samples_delivery().then(Delivery::new),
            gate: Gate::new(config.control),
            message: Message::new(config.bytes, config.mss),
            board: Scoreboard::new(dup_thresh, rack),
            timer: Timeout::new(config.host, config.first_timeout),
            segment: config.host.segment,
            segment_time: config.host.segment_time,
            segment_left: 0,
            limited_below: 0,
            ecn: config.ecn,
            report_reduction: false,
            reduction: config.host.prr.then(Box::default),
            heard: Time::ZERO,
            retransmits: 0,
            timeouts: 0,
            waits: Waits::default(),
        }
    }

    /// Returns the window in whole packets.
    fn whole_window(&self) -> u64 {
        self.window().0 / self.message.mss.0
    }

    /// Returns the payload that may be in flight: the window, or what a reduction has left of a larger one.
    #[inline]
    fn window(&self) -> Bytes {
        let window = self.gate.window;
        self.reduction.as_ref().map_or(window, |reduction| reduction.window(window, self.message.mss))
    }

    /// Returns the number of packets of the next segment: what the flow sends in `segment_time` at its pace, or at 1.2 windows a round
    /// trip, two packets at least (Linux's `tcp_tso_autosize`, whose time is 2^-10 s, and `tcp_pacing_ca_ratio`; not its ratio of slow
    /// start).
    pub(super) fn segment_size(&self) -> u32 {
        let srtt = self.timer.srtt();
        if self.segment_time == Time::ZERO || srtt == Time::ZERO {
            return self.segment;
        }
        let per_second =
            self.gate.pace.map_or(1.2 * 8.0 * self.window().0 as f64 / srtt.as_secs(), |pace| pace.0 as f64);
        let packets = per_second * self.segment_time.as_secs() / (8.0 * self.message.mss.0 as f64);
        (packets as u32).max(2).min(self.segment)
    }

    /// Returns the number of packets for which the window needs space. The packets of a segment start together: a segment
    /// waits for space for all of it, or for a third of the window if that is less (Linux's `tcp_tso_win_divisor`).
    #[inline(never)]
    fn required_packets(&self) -> u64 {
        if self.segment_left > 0 {
            return 1;
        }
        let third = self.whole_window() / 3;
        u64::from(self.segment_size().min(self.message.available - self.board.next)).min(third).max(1)
    }

    /// Counts a new packet, either of the current segment or the first of the next one.
    #[inline(never)]
    fn count_segment(&mut self) {
        if self.segment_left == 0 {
            let space = self.whole_window().saturating_sub(u64::from(self.board.in_flight));
            self.segment_left = u64::from(self.segment_size()).min(space).max(1) as u32;
        }
        self.segment_left -= 1;
    }

    /// Handles an acknowledgement that answers an in-band request. Slot `at` is already free, but valid until the next
    /// insertion.
    #[inline(never)]
    pub fn on_inband_ack(&mut self, now: Time, (at, packets): (u32, &Slab), request: &mut InbandRequest) {
        let header = packets.header(at);
        request.on_ack(now, header, (at, packets), &mut self.gate);
        if let Some(ack) = header.tcp_ack() {
            self.on_ack(now, ack);
        }
    }

    #[inline(always)]
    pub(crate) fn on_ack(&mut self, now: Time, packet: &TcpAck) {
        let unacked = self.board.unacked;
        let block = (packet.block > 0).then(|| (packet.block_from, packet.block_from + u32::from(packet.block)));
        let arrivals = Arrivals { cumulative: packet.cumulative, block };
        let newly_acked = self.board.record_arrivals(now, arrivals, packet.sent);
        self.heard = packet.left;
        if packet.window > 0 {
            self.gate.set_receive_window(Bytes(self.message.mss.0 * u64::from(packet.window) / 16));
        }
        self.timer.sample(now - packet.sent);
        if self.board.unacked > unacked {
            self.restart_timer(now);
        }
        let lost = self.board.find_losses(now, self.timer.srtt());
        let delivery = self.delivery.is_some().then(|| self.sample_delivery(now, arrivals, packet.sent)).flatten();
        if lost {
            self.report_loss(now, LossKind::FastRetransmit, false);
        }
        let acked = self.message.payload_of(newly_acked, self.board.unacked);
        let ack = Ack {
            sent_at: packet.sent,
            rtt: packet.round_trip(now),
            host_delay: packet.host_delay(),
            one_way_delay: packet.delay,
            samples: u32::from(packet.samples),
            acked,
            marked: if packet.marked { acked } else { Bytes::ZERO },
            buffered: self.message.mss * u64::from(packet.buffered),
            in_flight: self.message.mss * u64::from(self.board.in_flight),
            window_limited: unacked < self.limited_below.min(self.board.unacked),
            recovering: self.board.recovering,
            delivery,
            ..Ack::default()
        };
        let before = self.gate.window;
        self.gate.on_ack(now, &ack);
        let answered = packet.marked && self.gate.window < before;
        self.report_reduction |= answered;
        if self.reduction.is_some() {
            let safe = self.board.unacked > unacked && !self.board.found_losses;
            self.spread(newly_acked, safe, lost || answered);
        }
    }

    /// Tells the algorithm of lost packets, and of losses that were none. Returns the delivery-rate sample of an acknowledgement whose newest
    /// packet left at `answered`.
    #[inline(never)]
    fn sample_delivery(&mut self, now: Time, arrivals: Arrivals, answered: Time) -> Option<DeliverySample> {
        self.delivery.as_mut()?.record_arrivals(now, arrivals, answered, &self.message);
        self.report_lost_packets(now);
        let delivery = self.delivery.as_mut()?;
        if delivery.takes_back_losses() {
            self.gate.control.on_spurious_loss(now);
        }
        delivery.sample()
    }

    /// Tells the algorithm of the packets that are newly known to be lost.
    #[inline(never)]
    fn report_lost_packets(&mut self, now: Time) {
        let Some(delivery) = &mut self.delivery else { return };
        for seq in self.board.lost() {
            if let Some(lost) = delivery.on_lost(seq, self.board.next, &self.message) {
                self.gate.control.on_packet_lost(now, &lost);
            }
        }
    }

    /// Notes that the application has no data, unless the window has no space.
    #[inline(never)]
    fn note_app_limited(&mut self) {
        let in_flight = self.message.mss * u64::from(self.board.in_flight);
        if let Some(delivery) = &mut self.delivery
            && in_flight < self.gate.window
        {
            delivery.on_app_limited(in_flight);
        }
    }

    /// Stamps a packet that leaves, while `before` packets are in flight; tells the algorithm if it ends an idle time.
    #[inline(never)]
    fn stamp(&mut self, now: Time, seq: u32, before: u32) {
        let in_flight = self.message.mss * u64::from(self.board.in_flight);
        if let Some(delivery) = &mut self.delivery {
            if before == 0 && delivery.is_idle() {
                self.gate.control.on_restart(now);
                self.gate.decide();
            }
            delivery.on_sent(now, seq, (in_flight, before == 0));
        }
    }

    /// Tells the reduction of an acknowledgement, after which the window has been `cut` or not.
    #[inline(never)]
    fn spread(&mut self, newly_acked: u32, safe: bool, cut: bool) {
        let target = self.window_packets();
        let Some(reduction) = &mut self.reduction else { return };
        if cut {
            reduction.begin(self.board.outstanding() + newly_acked, self.board.next);
        }
        let (unacked, in_flight) = (self.board.unacked, self.board.in_flight);
        reduction.on_ack(Progress { unacked, newly_acked, in_flight, target, safe });
    }

    /// Restarts the timer after the cumulative acknowledgement has advanced; stops it if nothing is in flight.
    #[inline]
    fn restart_timer(&mut self, now: Time) {
        if self.board.unacked == self.board.next {
            self.timer.deadline = Time::MAX;
        } else {
            self.timer.restart(now);
        }
    }

    /// Reports a loss to the algorithm. FlightSize is everything without a cumulative acknowledgement (RFC 5681 §2). It exceeds
    /// the window while earlier losses are repaired; half of it would then be no reduction, so it is limited to the window.
    #[inline(never)]
    fn report_loss(&mut self, now: Time, kind: LossKind, repeated: bool) {
        let mss = self.message.mss;
        let flight_size = mss * u64::from(self.board.next - self.board.unacked);
        let in_flight = flight_size.min(self.gate.window.max(mss));
        self.gate.control.on_loss(now, &Loss { kind, in_flight, repeated, ..Loss::default() });
    }

    /// Returns the window in packets.
    pub fn window_packets(&self) -> f64 {
        self.gate.window / self.message.mss
    }
}

impl TransportSender for SelectiveSender {
    // The window counts the last, shorter packet as a full one.
    #[inline(always)]
    fn readiness(&mut self, now: Time) -> Readiness {
        if self.board.next >= self.message.available && self.board.next_repair().is_none() {
            if self.delivery.is_some() {
                self.note_app_limited();
            }
            return Readiness::Blocked(self.message.blocked_by());
        }
        let in_flight = u64::from(self.board.in_flight);
        let packets = if self.segment > 1 { self.required_packets() } else { 1 };
        let needed = self.message.mss * (in_flight + packets);
        let window = self.window();
        if in_flight > 0 && needed > window && !self.board.repair_at_once {
            let short = needed - window;
            if self.gate.rwnd_limited {
                return Readiness::Blocked(BlockedBy::Receiver(short));
            }
            self.limited_below = self.board.next;
            return Readiness::Blocked(BlockedBy::Window(short));
        }
        self.gate.paced_until(now).map_or(Readiness::Ready, Readiness::At)
    }

    #[inline(always)]
    fn send(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let in_flight = self.board.in_flight;
        let seq = match self.board.next_repair() {
            Some(seq) => {
                self.board.repaired(now, seq);
                self.retransmits += 1;
                if seq == self.board.unacked {
                    self.timer.restart(now);
                }
                seq
            }
            None => {
                if self.segment > 1 {
                    self.count_segment();
                }
                self.board.sent(now)
            }
        };
        if self.delivery.is_some() {
            self.stamp(now, seq, in_flight);
        }
        let length = (self.message.payload(seq) + header).max(MIN_FRAME);
        self.gate.advance_pacing(self.gate.next_paced.max(now), length);
        self.timer.start(now);
        let data = TcpData { sent: now, heard: self.heard, seq, window_reduced: self.report_reduction };
        self.report_reduction = false;
        if let Some(reduction) = &mut self.reduction {
            reduction.on_sent();
        }
        self.board.repair_at_once = false;
        out.put_data(length, self.ecn, Header::TcpData(data))
    }

    #[inline]
    fn arm_timer(&mut self) -> Option<Time> {
        self.timer.arm(self.board.reordering_deadline())
    }

    // A timeout retransmits everything that has not arrived, as the window allows (RFC 5681 §3.1).
    fn on_timer(&mut self, now: Time) {
        if self.board.reordering_deadline() <= now {
            let reduces = self.board.find_losses_by_time(now, self.timer.srtt(), false);
            self.report_lost_packets(now);
            if reduces {
                self.report_loss(now, LossKind::FastRetransmit, false);
                self.gate.decide();
                if let Some(reduction) = &mut self.reduction {
                    reduction.begin(self.board.outstanding(), self.board.next);
                }
            }
        }
        if self.timer.expire(now) {
            self.timeouts += 1;
            self.waits.add(self.timer.since, now);
            let repeated = self.board.on_timeout(now, self.timer.srtt());
            if let Some(reduction) = &mut self.reduction {
                reduction.stop();
            }
            self.report_lost_packets(now);
            self.report_loss(now, LossKind::Timeout, repeated);
            self.gate.decide();
        }
    }

    fn stop(&mut self, _now: Time) {
        self.message.truncate(self.board.next);
    }

    #[inline]
    fn done(&self) -> bool {
        self.board.unacked == self.message.end
    }

    fn progress(&self) -> (u32, Option<u32>) {
        (self.board.next, Some(self.board.in_flight))
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
        self.message.write(supply, self.board.next);
    }

    fn app_limited(&self) -> bool {
        self.message.app_limited()
    }

    fn rtt(&self) -> RttStats {
        self.timer.rtt
    }
}
