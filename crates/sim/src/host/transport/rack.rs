//! Loss detection by time (RACK, RFC 8985): a packet is lost if one that was sent later has arrived, and the reordering window has
//! passed since.
//!
//! The window is min(m SRTT_min / 4, SRTT), where m grows by one in each round trip with a spurious retransmission, and returns to
//! one after 16 recoveries without one (§6.2, step 4). Timestamps show such a retransmission, because each acknowledgement
//! carries the departure time of the packet that it answers (RFC 3522); the RFC uses DSACK. Until reordering is seen, the window is
//! zero in a recovery, and once DupThresh packets have arrived behind a hole.
//!
//! Where the network sprays packets over several paths, reordering is no news, and the paths differ by more than SRTT while queues
//! grow. There a packet is lost if it is still missing after twice the longest round trip of this round and the one before: queues
//! at most double in a round, because windows do. The RFC limits the window to SRTT.
//!
//! Not modelled: tail loss probes (§7).

use std::collections::VecDeque;

use shallows_cc::units::Time;

use crate::host::transport::ledger::{Covered, Ledger, Losses, State};
use crate::host::transport::selective::Arrivals;

/// DupThresh of RFC 8985 §6.2.
const DUP_THRESH: u32 = 3;
/// Recoveries without a spurious retransmission after which the window shrinks (§6.2).
const PERSIST: u32 = 16;

/// How a sender takes packets that others overtake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tolerance {
    /// They are lost at once, and retransmissions are not watched.
    None,
    /// They are lost after the reordering window of the RFC.
    Adaptive,
    /// The network sprays packets: they are lost after twice the longest round trip.
    Sprayed,
}

/// The packets in flight with their times of departure, and what the RFC derives from them.
#[derive(Clone, Debug)]
pub struct Rack {
    /// The packets without a cumulative acknowledgement, and whether each had left before its newest transmission.
    ledger: Ledger<bool>,
    /// Transmissions in the order of departure, also of packets that have arrived or been sent again since.
    order: VecDeque<(Time, u32)>,
    /// When the next packet is lost unless it arrives; [`Time::MAX`] if none is suspected.
    pub deadline: Time,
    /// The newest transmission that has arrived (`RACK.xmit_ts`, `RACK.end_seq`), and its round trip.
    newest: Option<(Time, u32)>,
    rtt: Time,
    min_rtt: Time,
    /// Packets below may have arrived out of order (`RACK.fack`).
    highest: u32,
    tolerance: Tolerance,
    reordering_seen: bool,
    multiplier: u32,
    persist: u32,
    /// End of the round in which the window grew last, and whether a spurious retransmission was seen since the last event.
    grown_until: u32,
    spurious: bool,
    /// Where packets are sprayed: the longest round trips of this round and the one before, and the end of this round.
    longest: [Time; 2],
    round_end: u32,
}

impl Rack {
    /// Creates the state of a flow that has sent nothing.
    pub(crate) fn new(tolerance: Tolerance) -> Self {
        Self {
            ledger: Ledger::new(),
            order: VecDeque::new(),
            deadline: Time::MAX,
            newest: None,
            rtt: Time::ZERO,
            min_rtt: Time::MAX,
            highest: 0,
            tolerance,
            reordering_seen: false,
            multiplier: 1,
            persist: PERSIST,
            grown_until: 0,
            spurious: false,
            longest: [Time::ZERO; 2],
            round_end: 0,
        }
    }

    /// Returns the first lost packet that has not been sent again.
    pub fn first_lost(&self) -> Option<u32> {
        self.ledger.missing().first().copied()
    }

    /// Returns the lost packets that have not been sent again.
    pub(crate) fn lost(&self) -> Vec<u32> {
        self.ledger.missing().iter().copied().collect()
    }

    /// Returns the number after the last lost packet; zero if there is none.
    pub(crate) fn lost_below(&self) -> u32 {
        self.ledger.missing().last().map_or(0, |&seq| seq + 1)
    }

    /// Returns the number of packets that are neither lost nor at the receiver.
    #[inline]
    pub const fn in_flight(&self) -> u32 {
        self.ledger.in_flight()
    }

    /// Returns how many packets have arrived that the cumulative acknowledgement does not cover.
    pub(crate) fn arrived(&self) -> u32 {
        self.ledger.covered()
    }

    /// Records that a packet leaves, for the first time or again.
    pub fn on_sent(&mut self, now: Time, seq: u32) {
        let repeated = seq < self.ledger.next();
        self.ledger.send(now, seq, repeated);
        if !repeated || self.tolerance != Tolerance::None {
            self.order.push_back((now, seq));
        }
    }

    /// Records arrivals that the acknowledgement of a packet reports, which left at `answered`. Returns how many packets are
    /// acknowledged for the first time.
    pub(crate) fn record_arrivals(&mut self, now: Time, arrivals: Arrivals, answered: Time) -> u32 {
        let (mut newly_acked, mut covered) = (0, Covered::by(arrivals));
        while let Some(seq) = covered.next(&mut self.ledger) {
            newly_acked += self.record_arrival(now, seq, answered);
        }
        newly_acked
    }

    /// Steps 1 to 3 of §6.2 for one packet. Returns how many packets this acknowledges: zero or one.
    fn record_arrival(&mut self, now: Time, seq: u32, answered: Time) -> u32 {
        if self.ledger.arrive(seq) == State::Arrived {
            return 0;
        }
        let packet = self.ledger.known(seq);
        let (left, repeated) = (packet.left, packet.note);
        if repeated && answered < left {
            self.spurious = true;
            return 1;
        }
        if !repeated {
            self.min_rtt = self.min_rtt.min(now - left);
            self.longest[0] = self.longest[0].max(now - left);
            self.reordering_seen |= seq < self.highest;
        }
        self.highest = self.highest.max(seq);
        if Some((left, seq)) > self.newest {
            (self.newest, self.rtt) = (Some((left, seq)), now - left);
        }
        1
    }

    /// Adapts the window after an acknowledgement (step 4).
    pub fn adapt(&mut self, recovered: bool) {
        let (unacked, next) = (self.ledger.first(), self.ledger.next());
        if unacked >= self.round_end {
            (self.longest, self.round_end) = ([Time::ZERO, self.longest[0]], next);
        }
        if std::mem::take(&mut self.spurious) {
            self.reordering_seen = true;
            if unacked >= self.grown_until {
                (self.grown_until, self.persist) = (next, PERSIST);
                self.multiplier += 1;
            }
        } else if recovered {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.multiplier = 1;
            }
        }
    }

    /// Returns how long after its departure a packet is lost, if one that left later has arrived.
    fn patience(&self, srtt: Time, recovering: bool) -> Time {
        match self.tolerance {
            Tolerance::None => self.rtt,
            Tolerance::Adaptive => self.rtt + self.reordering_window(srtt, recovering),
            Tolerance::Sprayed => self.longest[0].max(self.longest[1]) * 2,
        }
    }

    fn reordering_window(&self, srtt: Time, recovering: bool) -> Time {
        if !self.reordering_seen && (recovering || self.arrived() >= DUP_THRESH) {
            return Time::ZERO;
        }
        (self.min_rtt / 4 * u64::from(self.multiplier)).min(srtt)
    }

    /// Detects losses (step 5) and sets [`Self::deadline`] to the time of the next one. Returns the new ones.
    ///
    /// The RFC waits until all suspected packets are due; here each is lost when it is due.
    pub(crate) fn detect_losses(&mut self, now: Time, srtt: Time, recovering: bool) -> Losses {
        let (patience, mut lost) = (self.patience(srtt, recovering), Losses::default());
        self.deadline = Time::MAX;
        while let Some(&(left, seq)) = self.order.front() {
            if self.ledger.is_in_flight(left, seq) {
                if Some((left, seq)) >= self.newest {
                    break;
                }
                if left + patience > now {
                    self.deadline = left + patience;
                    break;
                }
                self.ledger.lose(seq);
                lost.add(seq);
            }
            self.order.pop_front();
        }
        lost
    }

    /// Marks the losses at a timeout (§6.3): the first packet that has not arrived, and those that are due. Returns them.
    pub(crate) fn on_timeout(&mut self, now: Time, srtt: Time) -> Losses {
        let (patience, mut lost) = (self.patience(srtt, true), Losses::default());
        for seq in self.ledger.first()..self.ledger.next() {
            let packet = self.ledger.known(seq);
            let due = seq == self.ledger.first() || packet.left + patience <= now;
            if due && packet.state == State::InFlight {
                self.ledger.lose(seq);
                lost.add(seq);
            }
        }
        self.deadline = Time::MAX;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(time: u64) -> Time {
        Time::from_micros(time)
    }

    /// Ten packets that leave at 0, 1, ... 9 us; the round trip is 100 us.
    fn ten(tolerance: Tolerance) -> Rack {
        let mut rack = Rack::new(tolerance);
        (0..10).for_each(|seq| rack.on_sent(us(u64::from(seq)), seq));
        rack
    }

    fn arrive(rack: &mut Rack, at: u64, cumulative: u32, block: (u32, u32), answered: u64) -> bool {
        let block = (block.1 > block.0).then_some(block);
        rack.record_arrivals(us(at), Arrivals { cumulative, block }, us(answered));
        rack.adapt(false);
        rack.detect_losses(us(at), us(100), false).any()
    }

    /// RFC 8985 §3.3 and §6.2: before any reordering was seen, two packets behind a hole leave it a quarter of the round trip, and
    /// the third ends the wait.
    #[test]
    fn the_third_packet_behind_a_hole_ends_the_wait() {
        let mut rack = ten(Tolerance::Adaptive);
        assert!(!arrive(&mut rack, 101, 0, (1, 2), 1));
        assert_eq!(rack.deadline, us(125));
        assert!(!arrive(&mut rack, 102, 0, (1, 3), 2));
        assert_eq!(rack.deadline, us(125));
        assert!(arrive(&mut rack, 103, 0, (1, 4), 3));
        assert_eq!((rack.first_lost(), rack.in_flight()), (Some(0), 6));
    }

    /// Packet 0 arrives after packet 1 and was sent once: from now on holes wait for a quarter of the shortest round trip.
    #[test]
    fn reordering_makes_holes_wait() {
        let mut rack = ten(Tolerance::Adaptive);
        arrive(&mut rack, 101, 0, (1, 2), 1);
        arrive(&mut rack, 102, 2, (0, 0), 0);
        for end in 4..10 {
            assert!(!arrive(&mut rack, 100 + u64::from(end) - 1, 2, (3, end), u64::from(end) - 1));
        }
        assert_eq!(rack.deadline, us(2 + 100 + 25));
        assert!(!rack.detect_losses(us(126), us(100), false).any());
        assert!(rack.detect_losses(us(127), us(100), false).any());
        assert_eq!((rack.first_lost(), rack.lost_below()), (Some(2), 3));
    }

    /// A retransmission that was not needed, because the first transmission arrives after all, widens the window by a quarter of the
    /// round trip, once a round.
    #[test]
    fn a_spurious_retransmission_widens_the_window() {
        let mut rack = ten(Tolerance::Adaptive);
        assert!(arrive(&mut rack, 104, 0, (2, 5), 4));
        assert_eq!((rack.first_lost(), rack.lost_below()), (Some(0), 2));
        rack.on_sent(us(104), 0);
        rack.on_sent(us(105), 1);
        arrive(&mut rack, 110, 1, (2, 5), 0);
        arrive(&mut rack, 111, 5, (0, 0), 1);
        assert_eq!(rack.reordering_window(us(100), true), us(50));
        assert_eq!(rack.reordering_window(us(40), true), us(40));
    }

    /// §3.1: a packet that was sent after a lost retransmission and arrives shows the loss, without a timeout.
    #[test]
    fn a_lost_retransmission_is_detected() {
        let mut rack = ten(Tolerance::Adaptive);
        assert!(arrive(&mut rack, 103, 0, (1, 4), 3));
        rack.on_sent(us(103), 0);
        rack.on_sent(us(104), 10);
        assert!(!arrive(&mut rack, 109, 0, (1, 10), 9));
        assert!(arrive(&mut rack, 204, 0, (1, 11), 104));
        assert_eq!((rack.first_lost(), rack.in_flight()), (Some(0), 0));
    }

    /// Where packets are sprayed, a hole waits for two round trips in all, however many packets arrive behind it. The
    /// acknowledgement at 109 us is the first that covers packet 1, so the longest round trip is 108 us.
    #[test]
    fn a_sprayed_hole_waits_for_two_round_trips() {
        let mut rack = ten(Tolerance::Sprayed);
        assert!(!arrive(&mut rack, 109, 0, (1, 10), 9));
        assert_eq!(rack.deadline, us(216));
        assert!(rack.detect_losses(us(216), us(100), false).any());
    }

    /// §6.3: at a timeout the first packet is lost, and those that are due; others are still in flight.
    #[test]
    fn a_timeout_spares_what_left_just_before() {
        let mut rack = ten(Tolerance::Adaptive);
        arrive(&mut rack, 101, 1, (0, 0), 0);
        rack.on_timeout(us(108), us(100));
        assert_eq!((rack.first_lost(), rack.lost_below(), rack.in_flight()), (Some(1), 8, 2));
    }
}
