//! How far packets of a flow overtake each other.

use shallows_cc::units::Time;

/// Reordering depth: by how many packets the latest packet arrived behind one that left its host later (RFC 4737 §3). A
/// retransmission counts only if a packet that left later overtakes it. Receivers report only packets that follow a hole or fill
/// one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReorderingDepth {
    /// The highest sequence number out of order, and when it left its host.
    highest: u32,
    highest_left: Time,
    pub depth: u32,
}

impl ReorderingDepth {
    /// Records the arrival of a packet that left its host at `left`.
    pub fn record(&mut self, seq: u32, left: Time) {
        if seq > self.highest {
            (self.highest, self.highest_left) = (seq, left);
        } else if left < self.highest_left {
            self.depth = self.depth.max(self.highest - seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets 1 to 5 leave at 1 to 5 us and arrive as 2, 5, 4, 3; 1 is lost, and sent again at 9 us. Packet 3 is two behind 5.
    #[test]
    fn a_retransmission_is_not_reordered() {
        let mut reordering = ReorderingDepth::default();
        let mut depth_after = |seq, left| {
            reordering.record(seq, Time::from_micros(left));
            reordering.depth
        };
        assert_eq!([(2, 2), (5, 5), (4, 4), (3, 3), (1, 9)].map(|(seq, left)| depth_after(seq, left)), [0, 0, 1, 2, 2]);
    }
}
