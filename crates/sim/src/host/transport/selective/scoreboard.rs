//! What of the packets sent has arrived, and what is lost (RFC 6675).

use crate::host::transport::selective::ranges::Ranges;

/// What an acknowledgement says of packets.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals {
    /// Everything below has arrived.
    pub cumulative: u32,
    /// And this block, from its first number to the one after its last.
    pub block: Option<(u32, u32)>,
}

/// By number: acknowledged, selectively acknowledged, lost, in flight.
#[derive(Debug)]
pub struct Scoreboard {
    /// DupThresh: packets that must arrive behind a hole before it counts as lost.
    dup_thresh: u32,
    pub unacked: u32,
    pub next: u32,
    sacked: Ranges,
    /// Everything below that is not acknowledged is lost.
    lost_below: u32,
    /// Lost packets below have been sent again.
    repaired_below: u32,
    /// Losses below belong to a reduction already made.
    recover: u32,
    /// Packets in flight (its "pipe"): sent, neither acknowledged nor known to be lost.
    pub in_flight: u32,
    pub recovering: bool,
    /// The first repair leaves whatever the window says (§5 step 4.3).
    pub repair_at_once: bool,
    /// What was unacknowledged at the last timeout, and whether there was one.
    timed_out_at: Option<u32>,
}

impl Scoreboard {
    /// Of a flow that has sent nothing.
    pub fn new(dup_thresh: u32) -> Self {
        Self {
            dup_thresh,
            unacked: 0,
            next: 0,
            sacked: Ranges::default(),
            lost_below: 0,
            repaired_below: 0,
            recover: 0,
            in_flight: 0,
            recovering: false,
            repair_at_once: false,
            timed_out_at: None,
        }
    }

    /// Counts what is in flight anew.
    #[inline]
    fn count(&mut self) {
        self.in_flight = self.next - self.unacked;
        if self.lost_below > self.unacked || !self.sacked.is_empty() {
            self.leave_out();
        }
    }

    /// Some packets have arrived, or are lost and not sent again.
    #[inline(never)]
    fn leave_out(&mut self) {
        let waiting = self.sacked.holes_in(self.repaired_below.max(self.unacked), self.lost_below);
        self.in_flight -= self.sacked.count() + waiting;
    }

    /// The next new packet leaves.
    #[inline]
    pub fn sent(&mut self) -> u32 {
        self.next += 1;
        self.in_flight += 1;
        self.next - 1
    }

    /// The next lost packet to send again.
    #[inline]
    pub fn next_repair(&self) -> Option<u32> {
        if self.lost_below <= self.unacked { None } else { self.first_lost() }
    }

    #[inline(never)]
    fn first_lost(&self) -> Option<u32> {
        let hole = self.sacked.next_hole(self.repaired_below.max(self.unacked));
        (hole < self.lost_below).then_some(hole)
    }

    /// That one leaves.
    pub fn repaired(&mut self, seq: u32) {
        self.repaired_below = seq + 1;
        self.count();
    }

    /// Advances over what arrived, in order or not; gives the packets acknowledged for the first time.
    #[inline]
    pub fn note_arrivals(&mut self, arrivals: Arrivals) -> u32 {
        let mut newly_acked = 0;
        if arrivals.cumulative > self.unacked {
            newly_acked = arrivals.cumulative - self.unacked;
            self.unacked = arrivals.cumulative;
            if !self.sacked.is_empty() {
                newly_acked -= self.sacked.remove_below(self.unacked);
            }
        }
        if let Some((from, to)) = arrivals.block
            && to > self.unacked
        {
            newly_acked += self.sacked.insert(from.max(self.unacked), to);
        }
        newly_acked
    }

    /// Leaves recovery once all of it has arrived, looks for new losses, and counts what is in flight after them; whether there
    /// are such, that call for a reduction of their own.
    #[inline]
    pub fn find_losses(&mut self) -> bool {
        if self.unacked >= self.recover {
            self.recovering = false;
        }
        let found = !self.sacked.is_empty() && self.find_holes();
        self.count();
        found
    }

    /// The same where packets arrived behind a hole.
    #[inline(never)]
    fn find_holes(&mut self) -> bool {
        if let Some(hole_below) = self.sacked.nth_from_top(self.dup_thresh) {
            self.lost_below = self.lost_below.max(hole_below);
        }
        let new = self.lost_below > self.unacked && self.unacked >= self.recover;
        if new {
            self.recovering = true;
            self.repair_at_once = true;
            self.recover = self.next;
            self.repaired_below = self.unacked;
        }
        new
    }

    /// Everything that has not arrived is lost; whether nothing had been acknowledged since the timeout before. What was
    /// selectively acknowledged has arrived, unless it should by now be acknowledged cumulatively: then the receiver has
    /// dropped it.
    pub fn on_timeout(&mut self) -> bool {
        if self.sacked.next_hole(self.unacked) > self.unacked {
            self.sacked.clear();
        }
        self.lost_below = self.next;
        self.repaired_below = self.unacked;
        self.recover = self.next;
        self.recovering = false;
        self.count();
        self.timed_out_at.replace(self.unacked) == Some(self.unacked)
    }
}
