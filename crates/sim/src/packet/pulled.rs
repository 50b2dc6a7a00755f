//! Headers of transports that acknowledge each packet, with or without pulls.

use shallows_cc::units::Time;

use crate::packet::wire::fields;

fields! {
    /// Data of a flow of which each packet is acknowledged; whole, trimmed, or returning to its sender.
    pub struct PulledData {
        /// Departure from the sending host.
        pub sent: Time,
        /// Sequence number in the flow.
        pub seq: u32,
        /// The credit that its sender asks for, in bytes since the start; zero where receivers grant none.
        pub target: u64,
    }

    /// Acknowledgement, positive or negative, of one packet.
    pub struct PulledAnswer {
        /// Departure of the packet from its host.
        pub sent: Time,
        /// One-way delay of the acknowledged frame.
        pub delay: Time,
        /// Sequence number of the packet.
        pub seq: u32,
        /// What has been pulled so far, trimmed packets and retransmissions included: packets, or bytes of credit; zero without pulls.
        pub pulled: u64,
        /// Whether this acknowledgement pulls the last of these packets.
        pub is_pull: bool,
        /// Whether the packet was marked (ECN echo).
        pub marked: bool,
        /// Packets that have arrived, over connections that find losses by it.
        pub sack: Sack,
    }

    /// Selective acknowledgement: the packets below a number, and of the 64 from there on those whose bit is set.
    #[derive(PartialEq, Eq)]
    pub struct Sack {
        /// All packets below have arrived.
        pub cumulative: u32,
        /// Bit `n` is set if the packet `cumulative + n` has arrived.
        pub bitmap: u64,
    }
}

impl Sack {
    /// Returns whether it says that a packet has arrived.
    #[must_use]
    pub const fn covers(self, seq: u32) -> bool {
        match seq.checked_sub(self.cumulative) {
            None => true,
            Some(place) => place < u64::BITS && self.bitmap >> place & 1 > 0,
        }
    }

    /// Adds a later one, or one that an answer has overtaken.
    pub const fn add(&mut self, other: Self) {
        if other.cumulative > self.cumulative {
            *self = other;
        } else if other.cumulative == self.cumulative {
            self.bitmap |= other.bitmap;
        }
    }
}

impl PulledAnswer {
    /// The acknowledgement of a packet that has arrived now, `marked` or not. It pulls no packet.
    #[must_use]
    pub fn to(data: &PulledData, now: Time, marked: bool, pulled: u64) -> Self {
        Self { sent: data.sent, delay: now - data.sent, seq: data.seq, pulled, marked, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selective_acknowledgement_covers_64_packets_beyond_its_number() {
        let mut sack = Sack { cumulative: 10, bitmap: 1 << 63 | 0b10 };
        let covered = |sack: Sack| [9, 10, 11, 12, 73, 74].map(|seq| sack.covers(seq));
        assert_eq!(covered(sack), [true, false, true, false, true, false]);
        sack.add(Sack { cumulative: 9, bitmap: u64::MAX });
        sack.add(Sack { cumulative: 10, bitmap: 0b100 });
        assert_eq!(covered(sack), [true, false, true, true, true, false]);
        sack.add(Sack { cumulative: 12, bitmap: 0 });
        assert_eq!(covered(sack), [true, true, true, false, false, false]);
    }
}
