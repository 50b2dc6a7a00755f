//! The sending half: what may leave, what is lost, when to give up waiting.
//!
//! Numbers count packets. Loss detection and repair follow RFC 6675 ([`crate::host::transport::selective::scoreboard`]): packets that arrived behind a
//! hole make it lost; what is in flight (its "pipe") leaves out what was selectively acknowledged and what is lost and not
//! sent again; one window reduction until everything sent before it is repaired. A retransmission that is lost again is
//! noticed by the timer alone, which follows RFC 6298 ([`crate::host::transport::selective::timeout`]) and starts anew only when the cumulative
//! acknowledgement moves (§5.3); so does the window grow (RFC 5681 §3). After a timeout everything that has not arrived is
//! sent again: what was selectively acknowledged is not, unless the receiver turns out to have dropped it (RFC 6675 §5.1;
//! RFC 2018 §8 forgets it).
//!
//! Not modelled: handshake and teardown (connections are open), more than one SACK block in
//! an acknowledgement (the block with the newest packet), repairs on suspicion where nothing new is left to send (RFC 6675's
//! NextSeg, rules 3 and 4): what fewer than DupThresh packets arrived behind waits for the timer.

use shallows_cc::event::{Ack, Loss, LossKind};
use shallows_cc::units::{Bytes, Time};

use crate::host::stats::RttStats;
use crate::host::transport::gate::Gate;
use crate::host::transport::inband::InbandRequest;
use crate::host::transport::message::Message;
use crate::host::transport::selective::scoreboard::{Arrivals, Scoreboard};
use crate::host::transport::selective::timeout::Timeout;
use crate::host::transport::{BlockedBy, PacketSink, Readiness, SenderConfig};
use crate::packet::Slab;
use crate::packet::header::{Header, TcpAck, TcpData};
use crate::spec::network::{MIN_FRAME, Supply};

/// One flow at its sender.
#[derive(Debug)]
pub struct Sending {
    pub gate: Gate,
    message: Message,
    board: Scoreboard,
    timer: Timeout,
    /// Packets that leave together at most, and those still to come of the present ones.
    segment: u32,
    segment_left: u32,
    /// The window has stopped the flow when everything below had been sent: until that is acknowledged, the flow fills
    /// its window, also while its NIC still ack_pending it packets (Linux's `is_cwnd_limited`).
    limited_below: u32,
    ecn: bool,
    report_reduction: bool,
    /// When the newest acknowledgement left the receiver.
    heard: Time,
    pub retransmits: u32,
    pub timeouts: u32,
}

impl Sending {
    /// A hole is lost once `dup_thresh` packets behind it have arrived.
    pub fn new(opening: SenderConfig<'_>, dup_thresh: u32) -> Self {
        Self {
            gate: Gate::new(opening.control),
            message: Message::new(opening.bytes, opening.mss),
            board: Scoreboard::new(dup_thresh),
            timer: Timeout::new(opening.host, opening.first_timeout),
            segment: opening.host.segment,
            segment_left: 0,
            limited_below: 0,
            ecn: opening.ecn,
            report_reduction: false,
            heard: Time::ZERO,
            retransmits: 0,
            timeouts: 0,
        }
    }

    /// Whether it may send now. The window counts the last, shorter packet as a full one.
    #[inline(always)]
    pub fn readiness(&mut self, now: Time) -> Readiness {
        if self.board.next >= self.message.available && self.board.next_repair().is_none() {
            return Readiness::Blocked(if self.message.pauses() { BlockedBy::Application } else { BlockedBy::Answer });
        }
        let in_flight = u64::from(self.board.in_flight);
        let least = if self.segment > 1 { self.least_segment() } else { 1 };
        let needed = self.message.mss * (in_flight + least);
        if in_flight > 0 && needed > self.gate.window && !self.board.repair_at_once {
            let short = needed - self.gate.window;
            if self.gate.rwnd_limited {
                return Readiness::Blocked(BlockedBy::Receiver(short));
            }
            self.limited_below = self.board.next;
            return Readiness::Blocked(BlockedBy::Window(short));
        }
        self.gate.paced_until(now).map_or(Readiness::Ready, Readiness::At)
    }

    /// The window in packets.
    fn window_packets(&self) -> u64 {
        self.gate.window.0 / self.message.mss.0
    }

    /// Packets that the window must have room for: those of a segment begin together. A segment waits for
    /// room for all of itself, or for a third of the window if that is less (Linux's `tcp_tso_win_divisor`).
    #[inline(never)]
    fn least_segment(&self) -> u64 {
        if self.segment_left > 0 {
            return 1;
        }
        let third = self.window_packets() / 3;
        u64::from(self.segment.min(self.message.available - self.board.next)).min(third).max(1)
    }

    /// A packet of new data leaves: one of the segment under way, or the first of the next.
    #[inline(never)]
    fn count_segment(&mut self) {
        if self.segment_left == 0 {
            let room = self.window_packets().saturating_sub(u64::from(self.board.in_flight));
            self.segment_left = u64::from(self.segment).min(room).max(1) as u32;
        }
        self.segment_left -= 1;
    }

    /// Sends the packet whose turn it is.
    #[inline(always)]
    pub fn send(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let seq = match self.board.next_repair() {
            Some(seq) => {
                self.board.repaired(seq);
                self.retransmits += 1;
                seq
            }
            None => {
                if self.segment > 1 {
                    self.count_segment();
                }
                self.board.sent()
            }
        };
        let length = (self.message.payload(seq) + header).max(MIN_FRAME);
        self.gate.advance_pacing(self.gate.next_paced.max(now), length);
        self.timer.start(now);
        let data = TcpData { sent: now, heard: self.heard, seq, window_reduced: self.report_reduction };
        self.report_reduction = false;
        self.board.repair_at_once = false;
        out.put_data(length, self.ecn, Header::TcpData(data))
    }

    /// An answer arrived to what its data asks of the ports on its way. It lay `at` this place.
    #[inline(never)]
    pub fn on_answer(&mut self, now: Time, (at, packets): (u32, &Slab), request: &mut InbandRequest) {
        let header = packets.header(at);
        request.on_answer(now, header, (at, packets), &mut self.gate);
        if let Some(ack) = header.tcp_ack() {
            self.on_ack(now, ack);
        }
    }

    /// An acknowledgement arrived.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, packet: &TcpAck) {
        let unacked = self.board.unacked;
        let block = (packet.block > 0).then(|| (packet.block_from, packet.block_from + u32::from(packet.block)));
        let newly_acked = self.board.note_arrivals(Arrivals { cumulative: packet.cumulative, block });
        self.heard = packet.left;
        if packet.window > 0 {
            self.gate.advertise(Bytes(self.message.mss.0 * u64::from(packet.window) / 16));
        }
        self.timer.sample(now - packet.sent);
        if self.board.unacked > unacked {
            self.await_the_rest(now);
        }
        if self.board.find_losses() {
            self.report_loss(now, LossKind::FastRetransmit, false);
        }
        let acked = self.message.payload_of(newly_acked, self.board.unacked);
        let ack = Ack {
            sent_at: packet.sent,
            rtt: packet.round_trip(now),
            one_way_delay: packet.delay,
            samples: u32::from(packet.samples),
            acked,
            marked: if packet.marked { acked } else { Bytes::ZERO },
            in_flight: self.message.mss * u64::from(self.board.in_flight),
            window_limited: unacked < self.limited_below.min(self.board.unacked),
            recovering: self.board.recovering,
        };
        let before = self.gate.window;
        self.gate.on_ack(now, &ack);
        self.report_reduction |= packet.marked && self.gate.window < before;
    }

    /// The cumulative acknowledgement has moved: the timer starts anew, if anything is in flight.
    #[inline]
    fn await_the_rest(&mut self, now: Time) {
        if self.board.unacked == self.board.next {
            self.timer.deadline = Time::MAX;
        } else {
            self.timer.restart(now);
        }
    }

    /// FlightSize is all that is not acknowledged cumulatively (RFC 5681 §2). While earlier losses are repaired it runs
    /// past the window, and half of it would be no reduction.
    #[inline(never)]
    fn report_loss(&mut self, now: Time, kind: LossKind, repeated: bool) {
        let mss = self.message.mss;
        let flight_size = mss * u64::from(self.board.next - self.board.unacked);
        let in_flight = flight_size.min(self.gate.window.max(mss));
        self.gate.control.on_loss(now, &Loss { kind, in_flight, repeated });
    }

    /// The time to look again at the retransmission timer, if none is set that comes in time.
    #[inline]
    pub fn arm_timer(&mut self) -> Option<Time> {
        self.timer.arm()
    }

    /// When its algorithm has newly asked to be called.
    #[inline]
    pub fn newly_asked(&mut self) -> Option<Time> {
        self.gate.newly_asked()
    }

    /// The world's timer ran out: a timeout, if the deadline has not moved meanwhile. Everything that is
    /// not acknowledged is sent again, as the window allows (RFC 5681 §3.1).
    pub fn on_timer(&mut self, now: Time) {
        if self.timer.has_run_out(now) {
            self.timeouts += 1;
            let repeated = self.board.on_timeout();
            self.report_loss(now, LossKind::Timeout, repeated);
            self.gate.decide();
        }
    }

    /// Its application pauses, or goes on.
    pub fn supply(&mut self, supply: Supply) {
        self.message.supply(supply, self.board.next);
    }

    /// Whether its application will write more.
    pub fn pauses(&self) -> bool {
        self.message.pauses()
    }

    /// Sends nothing new from now on.
    pub fn stop(&mut self) {
        self.message.cut(self.board.next);
    }

    /// Whether everything was acknowledged.
    #[inline]
    pub fn done(&self) -> bool {
        self.board.unacked == self.message.end
    }

    /// What it sends next of what is new, and what is in flight.
    pub fn reached(&self) -> (u32, Option<u32>) {
        (self.board.next, Some(self.board.in_flight))
    }

    /// Its smoothed round trips.
    pub fn smoothed(&self) -> RttStats {
        self.timer.smoothed
    }

    /// Its window in full packets.
    pub fn window(&self) -> f64 {
        self.gate.window / self.message.mss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::network::Network;
    use shallows_cc::catalog;
    use shallows_cc::parameter::Values;
    use shallows_cc::sender::Path;
    use shallows_cc::units::Rate;

    const MSS: Bytes = Bytes(1460);

    fn reno(packets: u64) -> Sending {
        // Timeouts of 10 ms at first, of 1 ms at least.
        let host = Network::bare().host;
        let row = catalog::find("reno").unwrap();
        let (line_rate, base_rtt) = (Rate::from_gbps(10), Time::from_micros(100));
        let path = Path { mss: MSS, initial_window: MSS * 10, line_rate, base_rtt, seed: 1, ..Path::default() };
        let control = (row.sender)(&Values::defaults(row.parameters), &path);
        let opening = SenderConfig {
            bytes: MSS * packets,
            mss: MSS,
            ecn: false,
            has_int: false,
            host: &host,
            first_timeout: host.rto_initial,
            control,
        };
        Sending::new(opening, 3)
    }

    #[test]
    fn a_segment_waits_until_all_of_it_fits() {
        let mut sending = reno(200);
        sending.segment = 3;
        // Three segments of a window of ten: there is no room for a fourth.
        assert_eq!(send_all(&mut sending, Time::ZERO).len(), 9);
        let now = Time::from_micros(100);
        // Eight of eleven in flight: room for all of it. Ten of twelve: not.
        sending.on_ack(now, &ack(1, (0, 0)));
        assert_eq!(send_all(&mut sending, now), [9, 10, 11]);
        sending.on_ack(now, &ack(2, (0, 0)));
        assert_eq!(send_all(&mut sending, now), Vec::<u32>::new());
    }

    fn send_all(sending: &mut Sending, now: Time) -> Vec<u32> {
        let mut sent = Vec::new();
        while sending.readiness(now) == Readiness::Ready {
            sent.push(send_one(sending, now));
        }
        sent
    }

    /// The number of the packet that leaves.
    fn send_one(sending: &mut Sending, now: Time) -> u32 {
        let mut packets = Slab::default();
        let at = sending.send(now, Bytes(40), &mut PacketSink { packets: &mut packets, flow: 0, path: 0 });
        packets.header(at).numbers().0
    }

    fn ack(cumulative: u32, block: (u32, u32)) -> TcpAck {
        let (block_from, block) = (block.0, (block.1 - block.0) as u16);
        TcpAck { cumulative, block_from, block, samples: 1, ..TcpAck::default() }
    }

    /// RFC 5681 §3.2: what arrives behind a hole, here 2 and 3 of ten, does not change the window (a MUST NOT), but lets as
    /// many new packets go (RFC 3042). The acknowledgement of the first packet after that counts that packet alone, and the
    /// one that covers the hole the hole.
    #[test]
    fn what_arrives_behind_a_hole_does_not_let_the_window_grow() {
        let mut sending = reno(50);
        send_all(&mut sending, Time::ZERO);
        let now = Time::from_micros(100);
        let mut after = |heard| {
            sending.on_ack(now, &heard);
            let sent = send_all(&mut sending, now).len();
            (sending.gate.window / MSS, sent)
        };
        assert_eq!(after(ack(0, (2, 3))), (10.0, 1));
        assert_eq!(after(ack(0, (2, 4))), (10.0, 1));
        assert_eq!(after(ack(1, (2, 4))), (11.0, 2));
        assert_eq!(after(ack(4, (0, 0))), (12.0, 2));
    }

    #[test]
    fn the_initial_window_leaves_at_once() {
        assert_eq!(send_all(&mut reno(50), Time::ZERO), (0..10).collect::<Vec<_>>());
    }

    /// Its NIC has sent the first window and ack_pending it the next: every acknowledgement of that window counts, those of the
    /// next do not.
    #[test]
    fn a_window_that_was_filled_grows_while_the_nic_is_slow() {
        let mut sending = reno(50);
        send_all(&mut sending, Time::ZERO);
        let now = Time::from_micros(100);
        for packet in 1..=10 {
            sending.on_ack(now, &ack(packet, (0, 0)));
            send_one(&mut sending, now);
        }
        assert_eq!(sending.gate.window, MSS * 20);
        sending.on_ack(now, &ack(11, (0, 0)));
        assert_eq!(sending.gate.window, MSS * 20);
    }

    #[test]
    fn three_packets_behind_a_hole_repair_it_once() {
        let mut sending = reno(50);
        send_all(&mut sending, Time::ZERO);
        let now = Time::from_micros(100);
        for end in 2..5 {
            sending.on_ack(now, &ack(0, (1, end)));
        }
        // Ten in flight: the window becomes five. Three arrived, one is lost: six are in flight, yet the
        // repair leaves at once; then nothing before three more have arrived.
        assert_eq!(sending.gate.window, MSS * 5);
        assert_eq!(send_all(&mut sending, now), [0]);
        sending.on_ack(now, &ack(0, (1, 6)));
        assert_eq!(send_all(&mut sending, now), Vec::<u32>::new());
        sending.on_ack(now, &ack(0, (1, 7)));
        assert_eq!(send_all(&mut sending, now), [10]);
        assert_eq!((sending.gate.window, sending.retransmits), (MSS * 5, 1));
        sending.on_ack(now, &ack(7, (0, 0)));
        assert_eq!(send_all(&mut sending, now), [11]);
    }

    #[test]
    fn after_a_timeout_everything_goes_again_one_by_one() {
        let mut sending = reno(50);
        send_all(&mut sending, Time::ZERO);
        assert_eq!(sending.arm_timer(), Some(Time::from_millis(10)));
        sending.on_timer(Time::from_millis(10));
        assert_eq!(send_all(&mut sending, Time::from_millis(10)), [0]);
        sending.on_ack(Time::from_millis(11), &ack(1, (0, 0)));
        assert_eq!(send_all(&mut sending, Time::from_millis(11)), [1, 2]);
        assert_eq!((sending.timeouts, sending.retransmits), (1, 3));
    }

    /// RFC 6298 §5.3: only what is acknowledged cumulatively starts the timer anew. SRTT and RTTVAR after samples of 2
    /// and 3 ms: 2.125 and 1 ms; but the deadline of 2 + 6 ms stands.
    #[test]
    fn selective_acknowledgements_do_not_put_the_timeout_off() {
        let (mut sending, ms) = (reno(50), Time::from_millis);
        send_all(&mut sending, Time::ZERO);
        sending.on_ack(ms(2), &ack(1, (0, 0)));
        sending.on_ack(ms(3), &ack(1, (2, 3)));
        assert_eq!(sending.timer.deadline, ms(8));
        sending.on_ack(ms(4), &ack(3, (0, 0)));
        assert!(sending.timer.deadline > ms(8));
    }

    /// RFC 6298 §2: samples of 2 and 10 ms are smoothed to 2 and (7 * 2 + 10)/8 = 3 ms.
    #[test]
    fn smoothed_round_trips_are_kept_in_mean_and_most() {
        let (mut sending, ms) = (reno(50), Time::from_millis);
        assert_eq!((sending.smoothed().mean(), sending.smoothed().most), (Time::ZERO, Time::ZERO));
        send_all(&mut sending, Time::ZERO);
        sending.on_ack(ms(2), &ack(1, (0, 0)));
        sending.on_ack(ms(10), &ack(2, (0, 0)));
        assert_eq!((sending.smoothed().mean(), sending.smoothed().most), (Time::from_micros(2500), ms(3)));
    }

    /// RFC 6675 §4: ten sent; 3, 4, 5, 7 arrived. 0, 1, 2 have three behind them and are lost, 6 has one; so 6, 8 and 9
    /// are in flight, and what is sent again from then on.
    #[test]
    fn what_arrived_and_what_is_lost_is_not_in_flight() {
        let mut sending = reno(50);
        send_all(&mut sending, Time::ZERO);
        let now = Time::from_micros(100);
        sending.on_ack(now, &ack(0, (3, 4)));
        assert_eq!(sending.board.in_flight, 9);
        sending.on_ack(now, &ack(0, (3, 5)));
        assert_eq!(sending.board.in_flight, 8);
        sending.on_ack(now, &ack(0, (3, 6)));
        assert_eq!(sending.board.in_flight, 4);
        sending.on_ack(now, &ack(0, (7, 8)));
        assert_eq!(sending.board.in_flight, 3);
        // The window is five: two of the three repairs.
        assert_eq!(send_all(&mut sending, now), [0, 1]);
        assert_eq!(sending.board.in_flight, 5);
    }

    /// Ten in flight, the first is lost, and so is its repair. Two that arrive behind it let two more go and leave the window
    /// at 10 (RFC 5681 §3.2), the third makes it 5. From the eighth on every packet that arrives lets a new one go: by the time
    /// the timer runs out FlightSize of RFC 5681 is 13 that arrived and 5 in flight; half of 5 is left.
    #[test]
    fn a_cut_never_raises_the_window() {
        let mut sending = reno(50);
        send_all(&mut sending, Time::ZERO);
        let now = Time::from_micros(100);
        for end in 2..15 {
            sending.on_ack(now, &ack(0, (1, end)));
            send_all(&mut sending, now);
        }
        assert_eq!(
            (sending.board.next - sending.board.unacked, sending.board.in_flight, sending.gate.window),
            (18, 5, MSS * 5)
        );
        let deadline = sending.timer.deadline;
        sending.on_timer(deadline);
        assert_eq!((probed(&mut sending, "threshold_pkt"), sending.gate.window), (2.5, MSS));
        // And again: the threshold is held, and the wait doubled.
        assert_eq!(send_all(&mut sending, deadline), [0]);
        let again = sending.timer.deadline;
        sending.on_timer(again);
        assert_eq!((probed(&mut sending, "threshold_pkt"), sending.gate.window), (2.5, MSS));
        send_all(&mut sending, again);
        assert_eq!(sending.timer.deadline - again, (again - deadline) * 2);
    }

    /// 1 to 4 arrived, and the timer runs out twice over 0: they are not sent again. Then 0 is acknowledged and 1 is not:
    /// the receiver has dropped them.
    #[test]
    fn a_timeout_repeats_only_what_has_not_arrived_unless_the_receiver_dropped_it() {
        let mut sending = reno(6);
        send_all(&mut sending, Time::ZERO);
        for end in 2..6 {
            sending.on_ack(Time::from_micros(100), &ack(0, (1, end)));
        }
        send_all(&mut sending, Time::from_micros(100));
        let mut now = sending.timer.deadline;
        sending.on_timer(now);
        assert_eq!(send_all(&mut sending, now), [0]);
        sending.on_ack(now, &ack(1, (0, 0)));
        assert_eq!(send_all(&mut sending, now), [5]);
        now = sending.timer.deadline;
        sending.on_timer(now);
        assert_eq!(send_all(&mut sending, now), [1]);
        sending.on_ack(now, &ack(5, (0, 0)));
        assert_eq!(send_all(&mut sending, now), [5]);
    }

    fn probed(sending: &mut Sending, name: &str) -> f64 {
        let mut found = f64::NAN;
        sending.gate.control.probe(&mut |probe, value| {
            if probe == name {
                found = value;
            }
        });
        found
    }

    #[test]
    fn the_timeout_is_srtt_and_four_variations_but_not_below_its_floor() {
        let mut sending = reno(50);
        send_all(&mut sending, Time::ZERO);
        assert_eq!(sending.arm_timer(), Some(Time::from_millis(10)));
        sending.on_ack(Time::from_millis(2), &ack(1, (0, 0)));
        // RFC 6298: SRTT = 2 ms, RTTVAR = 1 ms, RTO = 6 ms: before the initial one, which is set, runs out.
        assert_eq!(sending.arm_timer(), Some(Time::from_millis(8)));
        sending.on_timer(Time::from_millis(8));
        assert_eq!(sending.timeouts, 1);
    }
}
