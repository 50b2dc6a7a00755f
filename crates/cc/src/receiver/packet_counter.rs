//! Counts the packets of a flow that arrive, are marked, and are missing.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | `m_r_packets_received` | `received` | packets that have arrived |
//! | `m_r_packets_CE` | `ce` | those with the code point CE |
//! | `m_r_packets_lost` | `lost` | packets skipped, less those that came late |
//! | `m_r_error_L4S` | `error` | whether a packet came with another code point than ECT(1) or CE |
//!
//! Source: L4STeam/udp_prague, `prague_cc.cpp`, e8e3435, `PacketReceived` and `DataReceivedSequence`. Each transmission has a number of its
//! own, so that a gap is a loss at once. A packet that fills a gap later was only late.

use crate::port::Ecn;

/// Counters of one flow, which wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounter {
    /// Packets that have arrived.
    pub received: u32,
    /// Those of them that were marked.
    pub ce: u32,
    /// Packets that are missing.
    pub lost: u32,
    /// Whether a packet had a code point that no L4S sender and no L4S port sets, so that its sender has to send Not-ECT.
    pub error: bool,
}

impl PacketCounter {
    /// Counts the packet of this number; the first one has 1.
    pub fn count(&mut self, number: u32, ecn: Ecn) {
        self.received = self.received.wrapping_add(1);
        self.ce = self.ce.wrapping_add(u32::from(ecn == Ecn::Ce));
        self.error |= matches!(ecn, Ecn::NotEct | Ecn::Ect0);
        let skipped = number.wrapping_sub(self.received).wrapping_sub(self.lost);
        if skipped.cast_signed() >= 0 {
            self.lost = self.lost.wrapping_add(skipped);
        } else if self.lost > 0 {
            self.lost -= 1;
        }
    }
}
