//! Kinds of packets.

/// The purpose of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketKind {
    /// Payload.
    Data,
    /// Acknowledgement of data that has arrived.
    Ack,
    /// Negative acknowledgement: a packet was expected and is missing.
    Nack,
    /// Congestion notification packet: a marked frame has arrived (RoCE).
    Notification,
    /// A switch asks the other end of a link to stop sending data (PFC).
    Pause,
    /// A switch ends a pause.
    Resume,
    /// A sender asks its receiver for credits.
    CreditRequest,
    /// Permission for the sender to send one data frame.
    Credit,
    /// The sender has no more data and needs no more credits.
    CreditStop,
    /// Request for a rate from the ports of its path, without payload.
    RateRequest,
    /// Answer that carries the offered rate back.
    RateAnswer,
    /// Header of a data packet that a port has trimmed.
    Trimmed,
    /// Trimmed header that found its queue full and returns to its sender.
    Returned,
    /// Permission for the sender to send one more packet (NDP).
    Pull,
    /// A sender probes a path or a connection (MRC), or its round trip.
    Probe,
    /// A host tells a peer which of its ports are down (MRC).
    PortStatus,
}

impl PacketKind {
    /// The name of the kind in requests and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Ack => "ack",
            Self::Nack => "nack",
            Self::Notification => "notification",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::CreditRequest => "credit_request",
            Self::Credit => "credit",
            Self::CreditStop => "credit_stop",
            Self::RateRequest => "rate_request",
            Self::RateAnswer => "rate_answer",
            Self::Trimmed => "trimmed",
            Self::Returned => "returned",
            Self::Pull => "pull",
            Self::Probe => "probe",
            Self::PortStatus => "port_status",
        }
    }
}

/// Every kind, in the order of their discriminants.
pub const PACKET_KINDS: [PacketKind; 16] = [
    PacketKind::Data,
    PacketKind::Ack,
    PacketKind::Nack,
    PacketKind::Notification,
    PacketKind::Pause,
    PacketKind::Resume,
    PacketKind::CreditRequest,
    PacketKind::Credit,
    PacketKind::CreditStop,
    PacketKind::RateRequest,
    PacketKind::RateAnswer,
    PacketKind::Trimmed,
    PacketKind::Returned,
    PacketKind::Pull,
    PacketKind::Probe,
    PacketKind::PortStatus,
];

/// Number of values of the bits that hold a kind.
pub(crate) const KIND_BITS: usize = 16;

/// Kinds by the bits that hold one. The table covers every value of the bits, so that a lookup needs no bounds check.
pub(super) const KIND_OF_BITS: [PacketKind; KIND_BITS] = {
    let mut kinds = [PacketKind::Data; KIND_BITS];
    let (known, _) = kinds.split_at_mut(PACKET_KINDS.len());
    known.copy_from_slice(&PACKET_KINDS);
    kinds
};
