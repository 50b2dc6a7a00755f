//! Headers of transports that acknowledge each packet, with or without pulls.

use shallows_cc::units::Time;

/// Data of a flow of which each packet is acknowledged; whole, trimmed, or returning to its sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct PulledData {
    /// Departure from the sending host.
    pub sent: Time,
    /// Sequence number in the flow.
    pub seq: u32,
    /// The credit that its sender asks for, in bytes since the start; zero where receivers grant none.
    pub target: u64,
}

/// Acknowledgement, positive or negative, of one packet.
#[derive(Clone, Copy, Debug, Default)]
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
}

impl PulledAnswer {
    /// The acknowledgement of a packet that has arrived now, `marked` or not. It pulls no packet.
    #[must_use]
    pub fn to(data: &PulledData, now: Time, marked: bool, pulled: u64) -> Self {
        Self { sent: data.sent, delay: now - data.sent, seq: data.seq, pulled, is_pull: false, marked }
    }
}
