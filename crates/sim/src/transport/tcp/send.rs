//! The sending half of a TCP-like transport: what may leave, what is lost, when to give up waiting.
//!
//! Numbers count packets. Loss detection and repair follow RFC 6675: three packets that arrived behind a hole make it
//! lost; what is in flight (its "pipe") leaves out what was selectively acknowledged and what is lost and not sent again;
//! one window reduction until everything sent before it is repaired. A retransmission that is lost again is noticed by
//! the timer alone, which follows RFC 6298 with the scenario's floor and ceiling and starts anew only when the
//! cumulative acknowledgement moves (§5.3). After a timeout everything that has not arrived is sent again: what was
//! selectively acknowledged is not, unless the receiver turns out to have dropped it (RFC 6675 §5.1; RFC 2018 §8
//! forgets it).
//!
//! Not modelled: handshake and teardown (connections are open), more than one SACK block in
//! an acknowledgement (the block with the newest packet).

use shallows_cc::event::{Ack, Loss, LossKind};
use shallows_cc::sender::{Decision, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

use super::ranges::Ranges;
use crate::header::{Header, TcpAck, TcpData};
use crate::network::{HostSpec, MIN_FRAME};
use crate::transport::alarm::Alarm;
use crate::transport::{Opening, Outlet, Turn, packets_in};

/// Packets that must arrive behind a hole before it counts as lost.
const DUPLICATES: u32 = 3;

/// One flow at its sender.
#[derive(Debug)]
pub struct Sending {
    control: Box<dyn Sender>,
    /// The algorithm's last word.
    window: Bytes,
    /// What the receiver allows.
    advertised: Bytes,
    /// Whether that is the less.
    peer_limited: bool,
    /// When the newest acknowledgement left the receiver.
    heard: Time,
    pace: Option<Rate>,
    wake: Option<Time>,
    mss: Bytes,
    /// Payload of the last packet.
    last_payload: Bytes,
    /// Packets that leave together at most, and those still to come of the present ones.
    segment: u32,
    segment_left: u32,
    unacked: u32,
    next: u32,
    end: u32,
    sacked: Ranges,
    /// Everything below that is not acknowledged is lost.
    lost_below: u32,
    /// Lost packets below have been sent again.
    repaired_below: u32,
    /// Losses below belong to a reduction already made.
    recover: u32,
    recovering: bool,
    /// What was unacknowledged at the last timeout, and whether there was one.
    timed_out_at: Option<u32>,
    /// The first repair leaves whatever the window says (RFC 6675 §5 step 4.3).
    repair_at_once: bool,
    /// The window has stopped the flow when everything below had been sent: until that is acknowledged, the flow fills
    /// its window, also while its NIC still owes it packets (Linux's `is_cwnd_limited`).
    limited_below: u32,
    ecn: bool,
    report_reduction: bool,
    next_paced: Time,
    timer: Retransmission,
    pub retransmits: u32,
    pub timeouts: u32,
    last_rtt: Time,
    acked_bytes: u64,
}

/// Smoothed round trip and the timeout that follows from it (RFC 6298).
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    srtt: Option<Time>,
    variation: Time,
    timeout: Time,
    backoff: u32,
    min: Time,
    max: Time,
    /// When it runs out.
    deadline: Time,
    alarm: Alarm,
}

impl Retransmission {
    fn new(host: &HostSpec, first: Time) -> Self {
        Self {
            srtt: None,
            variation: Time::ZERO,
            timeout: first,
            backoff: 0,
            min: host.rto_min,
            max: host.rto_max,
            deadline: Time::MAX,
            alarm: Alarm::SILENT,
        }
    }

    #[inline]
    fn sample(&mut self, rtt: Time) {
        let srtt = match self.srtt {
            None => {
                self.variation = rtt / 2;
                rtt
            }
            Some(srtt) => {
                self.variation = Time((self.variation.0 * 3 + srtt.0.abs_diff(rtt.0)) / 4);
                Time((srtt.0 * 7 + rtt.0) / 8)
            }
        };
        self.srtt = Some(srtt);
        self.timeout = srtt + self.variation * 4;
        self.backoff = 0;
    }

    fn current(&self) -> Time {
        let doubled = self.timeout.max(self.min).0.saturating_mul(1 << self.backoff.min(30));
        Time(doubled).min(self.max)
    }
}

impl Sending {
    pub fn new(opening: Opening<'_>) -> Self {
        let mss = opening.mss;
        let (end, last_payload) = packets_in(opening.bytes, mss);
        let Decision { window, pace, wake } = opening.control.decision();
        Self {
            control: opening.control,
            window,
            advertised: Bytes::MAX,
            peer_limited: false,
            heard: Time::ZERO,
            pace,
            wake,
            mss,
            last_payload,
            segment: opening.host.segment,
            segment_left: 0,
            unacked: 0,
            next: 0,
            end,
            sacked: Ranges::default(),
            lost_below: 0,
            repaired_below: 0,
            recover: 0,
            recovering: false,
            timed_out_at: None,
            repair_at_once: false,
            limited_below: 0,
            ecn: opening.ecn,
            report_reduction: false,
            next_paced: Time::ZERO,
            timer: Retransmission::new(opening.host, opening.first_timeout),
            retransmits: 0,
            timeouts: 0,
            last_rtt: Time::ZERO,
            acked_bytes: 0,
        }
    }

    /// Packets in flight (RFC 6675's pipe): sent, neither acknowledged nor known to be lost.
    #[inline]
    fn in_flight(&self) -> u32 {
        let outstanding = self.next - self.unacked;
        if self.lost_below <= self.unacked && self.sacked.is_empty() {
            return outstanding;
        }
        let waiting = self.sacked.holes_in(self.repaired_below.max(self.unacked), self.lost_below);
        outstanding - self.sacked.count() - waiting
    }

    /// The next lost packet to send again.
    fn next_repair(&self) -> Option<u32> {
        if self.lost_below <= self.unacked {
            return None;
        }
        let hole = self.sacked.next_hole(self.repaired_below.max(self.unacked));
        (hole < self.lost_below).then_some(hole)
    }

    fn has_something_to_send(&self) -> bool {
        self.next < self.end || self.next_repair().is_some()
    }

    /// Whether it may send now. The window counts the last, shorter packet as a full one.
    #[inline]
    pub fn turn(&mut self, now: Time) -> Turn {
        if !self.has_something_to_send() {
            return Turn::No;
        }
        let in_flight = u64::from(self.in_flight());
        let least = if self.segment > 1 { self.least_segment() } else { 1 };
        if in_flight > 0 && self.mss * (in_flight + least) > self.window && !self.repair_at_once {
            if !self.peer_limited {
                self.limited_below = self.next;
            }
            return Turn::No;
        }
        if self.pace.is_some() && self.next_paced > now {
            return Turn::At(self.next_paced);
        }
        Turn::Now
    }

    /// Packets that the window must have room for: those of a segment begin together. A segment waits for
    /// room for all of itself, or for a third of the window if that is less (Linux's `tcp_tso_win_divisor`).
    fn least_segment(&self) -> u64 {
        if self.segment_left > 0 {
            return 1;
        }
        let third = self.window.0 / self.mss.0 / 3;
        u64::from(self.segment.min(self.end - self.next)).min(third).max(1)
    }

    /// A packet of new data leaves: one of the segment under way, or the first of the next.
    fn count_segment(&mut self) {
        if self.segment_left == 0 {
            let room = (self.window.0 / self.mss.0).saturating_sub(u64::from(self.in_flight()));
            self.segment_left = u64::from(self.segment).min(room).max(1) as u32;
        }
        self.segment_left -= 1;
    }

    /// Sends the packet whose turn it is.
    #[inline]
    pub fn send(&mut self, now: Time, header: Bytes, out: &mut Outlet<'_>) -> u32 {
        let seq = match self.next_repair() {
            Some(seq) => {
                self.repaired_below = seq + 1;
                self.retransmits += 1;
                seq
            }
            None => {
                if self.segment > 1 {
                    self.count_segment();
                }
                self.next += 1;
                self.next - 1
            }
        };
        let payload = if seq + 1 == self.end { self.last_payload } else { self.mss };
        let length = (payload + header).max(MIN_FRAME);
        if let Some(pace) = self.pace {
            self.next_paced = self.next_paced.max(now) + pace.time_to_send(length);
        }
        if self.timer.deadline == Time::MAX {
            self.timer.deadline = now + self.timer.current();
        }
        let data = TcpData { sent: now, heard: self.heard, seq, window_reduced: self.report_reduction };
        self.report_reduction = false;
        self.repair_at_once = false;
        out.put_data(length, self.ecn, Header::TcpData(data))
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, now: Time, packet: &TcpAck) {
        let unacked = self.unacked;
        let newly_acked = self.note_arrivals(packet);
        let rtt = packet.round_trip(now);
        self.heard = packet.left;
        if packet.window > 0 {
            self.advertised = Bytes(self.mss.0 * u64::from(packet.window) / 16);
        }
        self.last_rtt = rtt;
        self.timer.sample(now - packet.sent);
        if self.unacked > unacked {
            self.timer.deadline = if self.unacked == self.next { Time::MAX } else { now + self.timer.current() };
        }
        let marked = packet.marked;
        self.find_losses(now);
        let acked = self.payload_of(newly_acked);
        self.acked_bytes += acked.0;
        let ack = Ack {
            sent_at: packet.sent,
            rtt,
            one_way_delay: packet.delay,
            samples: u32::from(packet.samples),
            acked,
            marked: if marked { acked } else { Bytes::ZERO },
            in_flight: self.mss * u64::from(self.in_flight()),
            window_limited: unacked < self.limited_below,
            recovering: self.recovering,
        };
        self.control.on_ack(now, &ack);
        let before = self.window;
        self.decide();
        self.report_reduction |= marked && self.window < before;
    }

    /// What the ports on its way offer came back.
    pub fn on_offer(&mut self, now: Time, rate: Rate) {
        self.control.on_offer(now, rate);
        self.decide();
    }

    /// The pace has changed since a packet of this length left: the next one follows it by the new one.
    pub fn move_pace(&mut self, left: Time, length: Bytes) {
        if let Some(pace) = self.pace {
            self.next_paced = left + pace.time_to_send(length);
        }
    }

    /// Advances over what arrived, in order or not; gives the packets acknowledged for the first time.
    #[inline]
    fn note_arrivals(&mut self, packet: &TcpAck) -> u32 {
        let mut newly_acked = 0;
        if packet.cumulative > self.unacked {
            newly_acked = packet.cumulative - self.unacked;
            self.unacked = packet.cumulative;
            if !self.sacked.is_empty() {
                newly_acked -= self.sacked.remove_below(self.unacked);
            }
        }
        let block_end = packet.block_from + u32::from(packet.block);
        if packet.block > 0 && block_end > self.unacked {
            newly_acked += self.sacked.insert(packet.block_from.max(self.unacked), block_end);
        }
        newly_acked
    }

    fn payload_of(&self, packets: u32) -> Bytes {
        let full = self.mss * u64::from(packets);
        if self.unacked == self.end && packets > 0 { full - self.mss + self.last_payload } else { full }
    }

    /// RFC 6675: leaves recovery, finds new losses, enters it again.
    #[inline]
    fn find_losses(&mut self, now: Time) {
        if self.unacked >= self.recover {
            self.recovering = false;
        }
        if self.sacked.is_empty() {
            return;
        }
        if let Some(third) = self.sacked.nth_from_top(DUPLICATES) {
            self.lost_below = self.lost_below.max(third);
        }
        if self.lost_below > self.unacked && self.unacked >= self.recover {
            self.recovering = true;
            self.repair_at_once = true;
            self.recover = self.next;
            self.repaired_below = self.unacked;
            self.report_loss(now, LossKind::FastRetransmit, false);
        }
    }

    /// FlightSize is all that is not acknowledged cumulatively (RFC 5681 §2). While earlier losses are repaired it runs
    /// past the window, and half of it would be no reduction.
    fn report_loss(&mut self, now: Time, kind: LossKind, repeated: bool) {
        let flight_size = self.mss * u64::from(self.next - self.unacked);
        let in_flight = flight_size.min(self.window.max(self.mss));
        self.control.on_loss(now, &Loss { kind, in_flight, repeated });
    }

    /// The time to look again at the retransmission timer, if none is set that comes in time.
    pub fn arm_timer(&mut self) -> Option<Time> {
        self.timer.alarm.set(self.timer.deadline)
    }

    /// The world's timer ran out: a timeout, if the deadline has not moved meanwhile. Everything that is
    /// not acknowledged is sent again, as the window allows (RFC 5681 §3.1).
    pub fn on_timer(&mut self, now: Time) {
        self.timer.alarm.ran_out(now);
        if self.timer.deadline > now {
            return;
        }
        self.timeouts += 1;
        self.timer.backoff += 1;
        let repeated = self.timed_out_at.replace(self.unacked) == Some(self.unacked);
        if self.sacked.next_hole(self.unacked) > self.unacked {
            // What was selectively acknowledged should have been acknowledged cumulatively: it was dropped.
            self.sacked.clear();
        }
        self.lost_below = self.next;
        self.repaired_below = self.unacked;
        self.recover = self.next;
        self.recovering = false;
        self.timer.deadline = Time::MAX;
        self.report_loss(now, LossKind::Timeout, repeated);
        self.decide();
    }

    /// The time that the algorithm asked for has come.
    pub fn on_wake(&mut self, now: Time) {
        self.wake = None;
        self.control.on_wake(now);
        self.decide();
    }

    #[inline]
    fn decide(&mut self) {
        let Decision { window, pace, wake } = self.control.decision();
        self.peer_limited = self.advertised < window;
        self.window = window.min(self.advertised);
        self.pace = pace;
        self.wake = wake;
    }

    /// Sends nothing new from now on.
    pub fn stop(&mut self) {
        self.end = self.next;
        self.last_payload = self.mss;
    }

    /// When the algorithm asked to be called.
    #[inline]
    pub fn wake(&self) -> Option<Time> {
        self.wake
    }

    /// Whether everything was acknowledged.
    #[inline]
    pub fn done(&self) -> bool {
        self.unacked == self.end
    }

    /// Internals worth plotting; `since` is the span since they were last read.
    pub fn probe(&mut self, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        record("window_pkt", self.window / self.mss);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::packet::Slab;
    use shallows_cc::catalog;
    use shallows_cc::parameter::Values;
    use shallows_cc::sender::Path;

    const MSS: Bytes = Bytes(1460);

    fn reno(packets: u64) -> Sending {
        // Timeouts of 10 ms at first, of 1 ms at least.
        let host = Network::bare().host;
        let row = catalog::find("reno").unwrap();
        let path = Path { mss: MSS, initial_window: MSS * 10, line_rate: Rate::from_gbps(10), seed: 1, active: 0 };
        let control = (row.sender)(&Values::defaults(row.parameters), &path);
        let opening = Opening {
            bytes: MSS * packets,
            mss: MSS,
            ecn: false,
            host: &host,
            first_timeout: host.rto_initial,
            control,
        };
        Sending::new(opening)
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
        while sending.turn(now) == Turn::Now {
            sent.push(send_one(sending, now));
        }
        sent
    }

    /// The number of the packet that leaves.
    fn send_one(sending: &mut Sending, now: Time) -> u32 {
        let mut packets = Slab::default();
        let at = sending.send(now, Bytes(40), &mut Outlet { packets: &mut packets, flow: 0, way: 0 });
        packets[at].header.numbers().0
    }

    fn ack(cumulative: u32, block: (u32, u32)) -> TcpAck {
        let (block_from, block) = (block.0, (block.1 - block.0) as u16);
        TcpAck { cumulative, block_from, block, samples: 1, ..TcpAck::default() }
    }

    #[test]
    fn the_initial_window_leaves_at_once() {
        assert_eq!(send_all(&mut reno(50), Time::ZERO), (0..10).collect::<Vec<_>>());
    }

    /// Its NIC has sent the first window and owes it the next: every acknowledgement of that window counts, those of the
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
        assert_eq!(sending.window, MSS * 20);
        sending.on_ack(now, &ack(11, (0, 0)));
        assert_eq!(sending.window, MSS * 20);
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
        assert_eq!(sending.window, MSS * 5);
        assert_eq!(send_all(&mut sending, now), [0]);
        sending.on_ack(now, &ack(0, (1, 6)));
        assert_eq!(send_all(&mut sending, now), Vec::<u32>::new());
        sending.on_ack(now, &ack(0, (1, 7)));
        assert_eq!(send_all(&mut sending, now), [10]);
        assert_eq!((sending.window, sending.retransmits), (MSS * 5, 1));
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

    /// RFC 6675 §4: ten sent; 3, 4, 5, 7 arrived. 0, 1, 2 have three behind them and are lost, 6 has one; so 6, 8 and 9
    /// are in flight, and what is sent again from then on.
    #[test]
    fn what_arrived_and_what_is_lost_is_not_in_flight() {
        let mut sending = reno(50);
        send_all(&mut sending, Time::ZERO);
        let now = Time::from_micros(100);
        sending.on_ack(now, &ack(0, (3, 4)));
        assert_eq!(sending.in_flight(), 9);
        sending.on_ack(now, &ack(0, (3, 5)));
        assert_eq!(sending.in_flight(), 8);
        sending.on_ack(now, &ack(0, (3, 6)));
        assert_eq!(sending.in_flight(), 4);
        sending.on_ack(now, &ack(0, (7, 8)));
        assert_eq!(sending.in_flight(), 3);
        // The window is five: two of the three repairs.
        assert_eq!(send_all(&mut sending, now), [0, 1]);
        assert_eq!(sending.in_flight(), 5);
    }

    /// Ten in flight, the first is lost, and so is its repair. Two arrive before the loss shows, in slow start: the window
    /// is 12, and becomes 6. Every packet that arrives then lets a new one go: by the time the timer runs out FlightSize
    /// of RFC 5681 is 13 that arrived and 6 in flight; half of 6 is left.
    #[test]
    fn a_cut_never_raises_the_window() {
        let mut sending = reno(50);
        send_all(&mut sending, Time::ZERO);
        let now = Time::from_micros(100);
        for end in 2..15 {
            sending.on_ack(now, &ack(0, (1, end)));
            send_all(&mut sending, now);
        }
        assert_eq!((sending.next - sending.unacked, sending.in_flight(), sending.window), (19, 6, MSS * 6));
        let deadline = sending.timer.deadline;
        sending.on_timer(deadline);
        assert_eq!((probed(&mut sending, "threshold_pkt"), sending.window), (3.0, MSS));
        // And again: the threshold is held, and the wait doubled.
        assert_eq!(send_all(&mut sending, deadline), [0]);
        let again = sending.timer.deadline;
        sending.on_timer(again);
        assert_eq!((probed(&mut sending, "threshold_pkt"), sending.window), (3.0, MSS));
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
        sending.probe(Time::ZERO, &mut |probe, value| {
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
