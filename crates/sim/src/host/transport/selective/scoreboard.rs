//! Scoreboard of RFC 6675: which of the packets sent have arrived, and which are lost. With RACK, packets are lost by time instead.

use shallows_cc::units::Time;

use crate::host::transport::ledger::Losses;
use crate::host::transport::position::Position;
use crate::host::transport::rack::Rack;
use crate::host::transport::selective::ranges::{Arrivals, Ranges};

/// State of the packets of a flow between its [`Position::unacked`] and its [`Position::next`], by sequence number.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    /// DupThresh: number of later packets that must arrive before a hole is lost.
    dup_thresh: u32,
    sacked: Ranges,
    /// All packets below that are not acknowledged are lost.
    lost_below: u32,
    /// Lost packets below have been retransmitted.
    repaired_below: u32,
    /// Losses below belong to a window reduction already made (RecoveryPoint).
    recover: u32,
    /// Packets in flight (the "pipe"): sent, and neither acknowledged nor lost.
    pub in_flight: u32,
    pub recovering: bool,
    /// What the newest acknowledgement or timer has shown to be lost.
    pub losses: Losses,
    /// The first retransmission ignores the window (§5 step 4.3).
    pub repair_at_once: bool,
    /// Value of `unacked` at the last timeout, if there was one.
    timed_out_at: Option<u32>,
    /// Loss detection by time, instead of `dup_thresh`, `sacked` and `repaired_below`.
    rack: Option<Box<Rack>>,
}

impl Scoreboard {
    /// Creates the scoreboard of a flow that has sent nothing.
    pub(crate) fn new(dup_thresh: u32, rack: Option<Box<Rack>>) -> Self {
        Self {
            dup_thresh,
            sacked: Ranges::default(),
            lost_below: 0,
            repaired_below: 0,
            recover: 0,
            in_flight: 0,
            recovering: false,
            losses: Losses::default(),
            repair_at_once: false,
            timed_out_at: None,
            rack,
        }
    }

    /// Counts the packets in flight.
    #[inline]
    fn count(&mut self, position: &Position) {
        self.in_flight = position.outstanding();
        if self.lost_below > position.unacked || !self.sacked.is_empty() {
            self.exclude_sacked_and_lost(position);
        }
    }

    #[inline(never)]
    fn exclude_sacked_and_lost(&mut self, position: &Position) {
        let waiting = self.sacked.holes_in(self.repaired_below.max(position.unacked), self.lost_below);
        self.in_flight -= self.sacked.count() + waiting;
    }

    /// Returns how many of the packets sent are not acknowledged, not even selectively.
    pub(crate) fn outstanding(&self, position: &Position) -> u32 {
        let sacked = self.rack.as_ref().map_or_else(|| self.sacked.count(), |rack| rack.arrived());
        position.outstanding() - sacked
    }

    /// Counts the next new packet as sent, and returns its number.
    #[inline]
    pub(crate) fn sent(&mut self, position: &mut Position, now: Time) -> u32 {
        if let Some(rack) = &mut self.rack {
            rack.on_sent(now, position.next);
        }
        self.in_flight += 1;
        position.advance()
    }

    /// Returns the next lost packet to retransmit.
    #[inline]
    pub(crate) fn next_repair(&self, position: &Position) -> Option<u32> {
        if self.lost_below <= position.unacked { None } else { self.first_lost(position) }
    }

    #[inline(never)]
    fn first_lost(&self, position: &Position) -> Option<u32> {
        if let Some(rack) = &self.rack {
            return rack.first_lost();
        }
        let hole = self.sacked.next_hole(self.repaired_below.max(position.unacked));
        (hole < self.lost_below).then_some(hole)
    }

    /// Returns the lost packets that have not been retransmitted.
    pub(crate) fn lost(&self, position: &Position) -> Vec<u32> {
        if let Some(rack) = &self.rack {
            return rack.lost();
        }
        let from = self.repaired_below.max(position.unacked);
        self.sacked.holes(from, self.lost_below)
    }

    /// Counts a lost packet as retransmitted.
    pub(crate) fn repaired(&mut self, position: &Position, now: Time, seq: u32) {
        if let Some(rack) = &mut self.rack {
            rack.on_sent(now, seq);
            return self.follow_rack();
        }
        self.repaired_below = seq + 1;
        self.count(position);
    }

    /// Copies what RACK has counted.
    fn follow_rack(&mut self) {
        if let Some(rack) = &self.rack {
            (self.in_flight, self.lost_below) = (rack.in_flight(), rack.lost_below());
        }
    }

    /// Records arrivals, and returns how many packets are acknowledged for the first time. The acknowledgement answers a packet that
    /// left at `answered`.
    #[inline]
    pub(crate) fn record_arrivals(
        &mut self,
        position: &mut Position,
        now: Time,
        arrivals: Arrivals,
        answered: Time,
    ) -> u32 {
        let mut newly_acked = 0;
        if let Some(rack) = &mut self.rack {
            newly_acked = rack.record_arrivals(now, arrivals, answered);
            position.unacked = position.unacked.max(arrivals.cumulative);
            return newly_acked;
        }
        if arrivals.cumulative > position.unacked {
            newly_acked = arrivals.cumulative - position.unacked;
            position.unacked = arrivals.cumulative;
            if !self.sacked.is_empty() {
                newly_acked -= self.sacked.remove_below(position.unacked);
            }
        }
        if let Some((from, to)) = arrivals.block
            && to > position.unacked
        {
            newly_acked += self.sacked.insert(from.max(position.unacked), to);
        }
        newly_acked
    }

    /// Ends recovery if it is complete, detects new losses, and counts the packets in flight. Returns true if there are losses
    /// that require a new window reduction.
    #[inline]
    pub(crate) fn find_losses(&mut self, position: &Position, now: Time, srtt: Time) -> bool {
        if self.rack.is_some() {
            return self.find_losses_by_time(position, now, srtt, true);
        }
        if position.unacked >= self.recover {
            self.recovering = false;
        }
        self.losses = Losses::default();
        let new = !self.sacked.is_empty() && self.find_holes(position);
        self.count(position);
        new
    }

    /// Detects losses by time, after an acknowledgement if `heard`, or else when the reordering window has passed. Returns true if
    /// there are losses that require a new window reduction.
    #[inline(never)]
    pub(crate) fn find_losses_by_time(&mut self, position: &Position, now: Time, srtt: Time, heard: bool) -> bool {
        let recovered = self.recovering && position.unacked >= self.recover;
        self.recovering &= !recovered;
        let Some(rack) = &mut self.rack else { return false };
        if heard {
            rack.adapt(recovered);
        }
        self.losses = rack.detect_losses(now, srtt, self.recovering);
        self.follow_rack();
        let new = self.losses.any() && position.unacked >= self.recover;
        if new {
            self.recovering = true;
            self.repair_at_once = true;
            self.recover = position.next;
        }
        new
    }

    /// Returns when the next packet is lost by time unless it arrives; [`Time::MAX`] if none is suspected.
    #[inline]
    pub fn reordering_deadline(&self) -> Time {
        self.rack.as_ref().map_or(Time::MAX, |rack| rack.deadline)
    }

    #[inline(never)]
    fn find_holes(&mut self, position: &Position) -> bool {
        if let Some(hole_below) = self.sacked.nth_from_top(self.dup_thresh) {
            let packets = self.sacked.holes_in(self.lost_below.max(position.unacked), hole_below);
            self.losses = Losses { packets, below: hole_below };
            self.lost_below = self.lost_below.max(hole_below);
        }
        let new = self.lost_below > position.unacked && position.unacked >= self.recover;
        if new {
            self.recovering = true;
            self.repair_at_once = true;
            self.recover = position.next;
            self.repaired_below = position.unacked;
        }
        new
    }

    /// Declares everything lost that has not arrived. Returns true if nothing was acknowledged since the previous timeout.
    /// Selectively acknowledged packets count as arrived, unless the cumulative acknowledgement should cover them by now: then
    /// the receiver has dropped them.
    pub(crate) fn on_timeout(&mut self, position: &Position, now: Time, srtt: Time) -> bool {
        let unacked = position.unacked;
        (self.recover, self.recovering) = (position.next, false);
        if let Some(rack) = &mut self.rack {
            self.losses = rack.on_timeout(now, srtt);
            // The first packet leaves at once (RFC 8985 §6.3), although others may still be in flight.
            self.repair_at_once = true;
            self.follow_rack();
            return self.timed_out_at.replace(unacked) == Some(unacked);
        }
        let mut lost = self.in_flight;
        if self.sacked.next_hole(unacked) > unacked {
            lost += self.sacked.count();
            self.sacked.clear();
        }
        // The last packet is among them if neither it nor its loss is known.
        let last = self.lost_below < position.next && self.sacked.next_hole(position.next - 1) < position.next;
        self.losses = Losses { packets: lost, below: if last { position.next } else { 0 } };
        self.lost_below = position.next;
        self.repaired_below = unacked;
        self.count(position);
        self.timed_out_at.replace(unacked) == Some(unacked)
    }
}
