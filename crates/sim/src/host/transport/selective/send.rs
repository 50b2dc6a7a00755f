//! Selective acknowledgements at the sender, as in TCP. Sequence numbers count packets.
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

use shallows_cc::event::{Ack, Loss, LossKind};
use shallows_cc::units::{Bytes, Time};

use crate::host::stats::RttStats;
use crate::host::transport::config::SenderConfig;
use crate::host::transport::flow::{Common, Reliability};
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::rack::{Rack, Tolerance};
use crate::host::transport::selective::ranges::Arrivals;
use crate::host::transport::selective::reduction::{Progress, Reduction};
use crate::host::transport::selective::scoreboard::Scoreboard;
use crate::host::transport::selective::timeout::Timeout;
use crate::host::transport::status::{BlockedBy, Readiness};
use crate::packet::Slab;
use crate::packet::header::{Header, TcpAck, TcpData};
use crate::spec::network::LossDetection;

/// Reliability of one flow.
#[derive(Clone, Debug)]
pub struct Selective {
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
    report_reduction: bool,
    /// Spreads cuts of the window, if the host does so.
    reduction: Option<Box<Reduction>>,
    /// When the newest acknowledgement left the receiver.
    heard: Time,
}

impl Selective {
    /// Creates the reliability of a flow that treats a hole as lost once `dup_thresh` later packets have arrived.
    pub(crate) fn new(config: &SenderConfig<'_>, dup_thresh: u32) -> Self {
        let by_time = config.host.loss_detection == LossDetection::Rack;
        let tolerance = if config.sprayed { Tolerance::Sprayed } else { Tolerance::Adaptive };
        let rack = by_time.then(|| Box::new(Rack::new(tolerance)));
        Self {
            board: Scoreboard::new(dup_thresh, rack),
            timer: Timeout::new(config.host, config.first_timeout),
            segment: config.host.segment,
            segment_time: config.host.segment_time,
            segment_left: 0,
            limited_below: 0,
            report_reduction: false,
            reduction: config.host.prr.then(Box::default),
            heard: Time::ZERO,
        }
    }

    /// Returns the window in whole packets.
    fn whole_window(&self, common: &Common) -> u64 {
        self.window(common).0 / common.position.message.mss.0
    }

    /// Returns the payload that may be in flight: the window, or what a reduction has left of a larger one.
    #[inline]
    fn window(&self, common: &Common) -> Bytes {
        let window = common.gate.window;
        self.reduction.as_ref().map_or(window, |reduction| reduction.window(window, common.position.message.mss))
    }

    /// Returns the number of packets of the next segment: what the flow sends in `segment_time` at its pace, or at 1.2 windows a round
    /// trip, two packets at least (Linux's `tcp_tso_autosize`, whose time is 2^-10 s, and `tcp_pacing_ca_ratio`; not its ratio of slow
    /// start).
    pub(super) fn segment_size(&self, common: &Common) -> u32 {
        let srtt = self.timer.srtt();
        if self.segment_time == Time::ZERO || srtt == Time::ZERO {
            return self.segment;
        }
        let by_window = || 1.2 * 8.0 * self.window(common).0 as f64 / srtt.as_secs();
        let per_second = common.gate.pace.map_or_else(by_window, |pace| pace.0 as f64);
        let packets = per_second * self.segment_time.as_secs() / (8.0 * common.position.message.mss.0 as f64);
        (packets as u32).max(2).min(self.segment)
    }

    /// Returns the number of packets for which the window needs space. The packets of a segment start together: a segment
    /// waits for space for all of it, or for a third of the window if that is less (Linux's `tcp_tso_win_divisor`).
    #[inline(never)]
    fn required_packets(&self, common: &Common) -> u64 {
        if self.segment_left > 0 {
            return 1;
        }
        let third = self.whole_window(common) / 3;
        let position = &common.position;
        u64::from(self.segment_size(common).min(position.message.available - position.next)).min(third).max(1)
    }

    /// Counts a new packet, either of the current segment or the first of the next one.
    #[inline(never)]
    fn count_segment(&mut self, common: &Common) {
        if self.segment_left == 0 {
            let space = self.whole_window(common).saturating_sub(u64::from(self.board.in_flight));
            self.segment_left = u64::from(self.segment_size(common)).min(space).max(1) as u32;
        }
        self.segment_left -= 1;
    }

    #[inline(always)]
    pub(super) fn on_ack(&mut self, common: &mut Common, now: Time, packet: &TcpAck) {
        let unacked = common.position.unacked;
        let block = (packet.block > 0).then(|| (packet.block_from, packet.block_from + u32::from(packet.block)));
        let arrivals = Arrivals { cumulative: packet.cumulative, block };
        let newly_acked = self.board.record_arrivals(&mut common.position, now, arrivals, packet.sent);
        self.heard = packet.left;
        if packet.window > 0 {
            let window = common.position.message.mss.0 * u64::from(packet.window) / 16;
            common.gate.set_receive_window(Bytes(window));
        }
        self.timer.sample(now - packet.sent);
        if common.position.unacked > unacked {
            self.restart_timer(common, now);
        }
        let lost = self.board.find_losses(&common.position, now, self.timer.srtt());
        common.record_delivery(now, arrivals, packet.sent, |position| self.board.lost(position));
        if lost {
            self.report_loss(common, now, LossKind::FastRetransmit, false);
        }
        let acked = common.position.message.payload_of(newly_acked, common.position.unacked);
        let mut ack = Ack {
            sent_at: packet.sent,
            rtt: packet.round_trip(now),
            host_delay: packet.host_delay(),
            one_way_delay: packet.delay,
            samples: u32::from(packet.samples),
            acked,
            marked: if packet.marked { acked } else { Bytes::ZERO },
            buffered: common.payload(u32::from(packet.buffered)),
            in_flight: common.payload(self.board.in_flight),
            window_limited: unacked < self.limited_below.min(common.position.unacked),
            recovering: self.board.recovering,
            ..Ack::default()
        };
        common.add_sample(&mut ack);
        let before = common.gate.window;
        common.gate.on_ack(now, &ack);
        let answered = packet.marked && common.gate.window < before;
        self.report_reduction |= answered;
        if self.reduction.is_some() {
            let safe = common.position.unacked > unacked && !self.board.losses.any();
            self.spread(common, newly_acked, safe, lost || answered);
        }
    }

    /// Handles a packet that answers an in-band request.
    #[inline(never)]
    fn on_inband_answer(&mut self, common: &mut Common, now: Time, header: &Header) {
        if let Some(ack) = header.tcp_ack() {
            self.on_ack(common, now, ack);
        }
    }

    /// Tells the reduction of an acknowledgement, after which the window has been `cut` or not.
    #[inline(never)]
    fn spread(&mut self, common: &Common, newly_acked: u32, safe: bool, cut: bool) {
        let target = common.gate.window / common.position.message.mss;
        let Some(reduction) = &mut self.reduction else { return };
        if cut {
            reduction.begin(self.board.outstanding(&common.position) + newly_acked, common.position.next);
        }
        let (unacked, in_flight) = (common.position.unacked, self.board.in_flight);
        reduction.on_ack(Progress { unacked, newly_acked, in_flight, target, safe });
    }

    /// Restarts the timer after the cumulative acknowledgement has advanced; stops it if nothing is in flight.
    #[inline]
    fn restart_timer(&mut self, common: &Common, now: Time) {
        if common.position.outstanding() == 0 {
            self.timer.deadline = Time::MAX;
        } else {
            self.timer.restart(now);
        }
    }

    /// Handles the end of the reordering window.
    fn on_reordering_timer(&mut self, common: &mut Common, now: Time) {
        let cut = self.board.find_losses_by_time(&common.position, now, self.timer.srtt(), false);
        common.report_lost_packets(now, |position| self.board.lost(position));
        if cut {
            self.report_loss(common, now, LossKind::FastRetransmit, false);
            common.gate.decide();
            if let Some(reduction) = &mut self.reduction {
                reduction.begin(self.board.outstanding(&common.position), common.position.next);
            }
        } else {
            common.decide_after_lost_packets();
        }
    }

    /// Reports a loss to the algorithm. FlightSize is everything without a cumulative acknowledgement (RFC 5681 §2). It exceeds
    /// the window while earlier losses are repaired; half of it would then be no reduction, so it is limited to the window.
    #[inline(never)]
    fn report_loss(&self, common: &mut Common, now: Time, kind: LossKind, repeated: bool) {
        let flight_size = common.payload(common.position.outstanding());
        let in_flight = flight_size.min(common.gate.window.max(common.position.message.mss));
        let lost = self.board.losses.payload(&common.position.message);
        common.gate.control.on_loss(now, &Loss { kind, in_flight, lost, repeated });
    }
}

impl Reliability for Selective {
    // The window counts the last, shorter packet as a full one.
    #[inline(always)]
    fn readiness(&mut self, common: &mut Common, now: Time) -> Readiness {
        if !common.position.has_data() && self.board.next_repair(&common.position).is_none() {
            return common.has_no_data(self.board.in_flight);
        }
        let in_flight = u64::from(self.board.in_flight);
        let packets = if self.segment > 1 { self.required_packets(common) } else { 1 };
        let needed = common.position.message.mss * (in_flight + packets);
        let window = self.window(common);
        if in_flight > 0 && needed > window && !self.board.repair_at_once {
            let short = needed - window;
            if common.gate.rwnd_limited {
                return Readiness::Blocked(BlockedBy::Receiver(short));
            }
            self.limited_below = common.position.next;
            return Readiness::Blocked(BlockedBy::Window(short));
        }
        common.gate.paced_until(now).map_or(Readiness::Ready, Readiness::At)
    }

    #[inline(always)]
    fn send(&mut self, common: &mut Common, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let in_flight = self.board.in_flight;
        let seq = match self.board.next_repair(&common.position) {
            Some(seq) => {
                self.board.repaired(&common.position, now, seq);
                common.repairs.retransmits += 1;
                if seq == common.position.unacked {
                    self.timer.restart(now);
                }
                seq
            }
            None => {
                if self.segment > 1 {
                    self.count_segment(common);
                }
                self.board.sent(&mut common.position, now)
            }
        };
        common.stamp(now, seq, (in_flight, self.board.in_flight));
        let length = common.length(seq, header);
        common.gate.advance_pacing(common.gate.next_paced.max(now), length);
        self.timer.start(now);
        let data = TcpData { sent: now, heard: self.heard, seq, window_reduced: self.report_reduction };
        self.report_reduction = false;
        if let Some(reduction) = &mut self.reduction {
            reduction.on_sent();
        }
        self.board.repair_at_once = false;
        out.put_data(length, common.ecn, Header::TcpData(data))
    }

    #[inline(always)]
    fn on_packet(&mut self, common: &mut Common, now: Time, at: u32, packets: &Slab) {
        if let Header::TcpAck(ack) = packets.header(at) {
            self.on_ack(common, now, ack);
        } else {
            self.on_inband_answer(common, now, packets.header(at));
        }
    }

    #[inline]
    fn arm_timer(&mut self, _common: &Common) -> Option<Time> {
        self.timer.arm(self.board.reordering_deadline())
    }

    // A timeout retransmits everything that has not arrived, as the window allows (RFC 5681 §3.1).
    fn on_timer(&mut self, common: &mut Common, now: Time) {
        if self.board.reordering_deadline() <= now {
            self.on_reordering_timer(common, now);
        }
        if self.timer.expire(now) {
            common.repairs.on_timeout(self.timer.since, now);
            let repeated = self.board.on_timeout(&common.position, now, self.timer.srtt());
            if let Some(reduction) = &mut self.reduction {
                reduction.stop();
            }
            common.report_lost_packets(now, |position| self.board.lost(position));
            self.report_loss(common, now, LossKind::Timeout, repeated);
            common.gate.decide();
        }
    }

    fn in_flight(&self, _common: &Common) -> Option<u32> {
        Some(self.board.in_flight)
    }

    fn rtt(&self) -> RttStats {
        self.timer.rtt
    }

    fn shows_window(&self) -> bool {
        true
    }
}
