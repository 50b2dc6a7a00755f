//! Headers of transports: a type for each kind of packet of each transport, so that no field has two meanings. Ports and switches
//! read none of them, except ports that offer rates.

use shallows_cc::units::{Rate, Time};

use crate::packet::kind::PacketKind;
pub use crate::packet::pulled::{PulledAnswer, PulledData, Sack};
pub use crate::packet::roce::{RoceAnswer, RoceData};

/// Data of a TCP-like flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpData {
    /// Departure from the sending host.
    pub sent: Time,
    /// Departure of the newest acknowledgement that the sender has received, echoed to the receiver; zero before the first.
    pub heard: Time,
    /// Sequence number in the flow.
    pub seq: u32,
    /// Whether the sender has reduced its window because of a mark (CWR of RFC 3168).
    pub window_reduced: bool,
}

/// An acknowledgement of a TCP-like flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpAck {
    /// Departure of the newest data that it covers from its host.
    pub sent: Time,
    /// Departure of the acknowledgement from the receiver.
    pub left: Time,
    /// Mean one-way delay of the data that it covers.
    pub delay: Time,
    /// Number of data packets in that mean.
    pub samples: u8,
    /// Time for which the receiver delayed the acknowledgement after the newest data, in picoseconds; negative if the timestamps have
    /// errors.
    pub held: i64,
    /// Cumulative acknowledgement: the sequence number expected next.
    pub cumulative: u32,
    /// First sequence number of a block that arrived out of order (SACK).
    pub block_from: u32,
    /// Length of the block; zero if there is none.
    pub block: u16,
    /// Advertised window in sixteenths of a full payload; zero if none is advertised.
    pub window: u16,
    /// Number of packets in the receiver's buffer that arrived out of order.
    pub buffered: u16,
    /// Whether data that it covers was marked (ECN-Echo).
    pub marked: bool,
}

impl TcpAck {
    /// The round-trip time of an acknowledgement that arrives `now`, without the time for which it was delayed. Errors of timestamps may
    /// make it zero or less; the result is at least one picosecond.
    #[must_use]
    pub fn round_trip(&self, now: Time) -> Time {
        round_trip(now, self.sent, self.held)
    }

    /// The part of that time which the round trip leaves out.
    #[must_use]
    pub const fn host_delay(&self) -> Time {
        host_delay(self.held)
    }
}

pub(super) const fn host_delay(held: i64) -> Time {
    Time(if held > 0 { held.cast_unsigned() } else { 0 })
}

pub(super) fn round_trip(now: Time, sent: Time, held: i64) -> Time {
    Time(((now - sent).0.cast_signed() - held).max(1).cast_unsigned())
}

/// Request for a rate to the ports of a path.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateQuery {
    /// Round-trip time of the flow; zero before the first sample.
    pub rtt: Time,
    /// The lowest rate that ports have offered so far.
    pub offered: Rate,
}

/// Counters of a receiver, which wrap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Packets that have arrived.
    pub received: u32,
    /// Those of them that were marked.
    pub ce: u32,
    /// Packets that are missing.
    pub lost: u32,
}

/// Data sent for a credit.
#[derive(Clone, Copy, Debug, Default)]
pub struct CreditData {
    /// Sequence number in the flow.
    pub seq: u32,
    /// Number of the credit.
    pub credit: u64,
    /// Departure of the credit from the receiver.
    pub granted_at: Time,
}

/// A credit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credit {
    /// Number in the flow. A flow may have more credits than packets.
    pub number: u64,
    /// Departure from the receiver.
    pub granted_at: Time,
    /// Cumulative acknowledgement: the sequence number expected next.
    pub cumulative: u32,
}

/// The header of a packet.
#[derive(Clone, Copy, Debug, Default)]
// An explicit tag, instead of the spare values of a field, distinguishes kinds in one comparison.
#[repr(u8)]
pub enum Header {
    /// Data whose header nobody reads.
    #[default]
    Bare,
    /// A switch pauses the other end of a link (PFC).
    Pause,
    /// A switch ends a pause.
    Resume,
    /// Data of a TCP-like flow.
    TcpData(TcpData),
    /// Acknowledgement of a TCP-like flow.
    TcpAck(TcpAck),
    /// Data of a flow whose ports offer rates, with a request for one.
    RatedData(TcpData, RateQuery),
    /// Acknowledgement with the rate offered to the newest data.
    RatedAck(TcpAck, Rate),
    /// Data into which hops write records ([`crate::packet::Slab::int_stack`]).
    IntData(TcpData),
    /// Acknowledgement with the records of the newest data.
    IntAck(TcpAck),
    /// Data with the number of this transmission. The short part comes first, so that the header of an acknowledgement fills a cache line.
    CountedData(u32, TcpData),
    /// Acknowledgement with the counters of the receiver.
    CountedAck(Counters, TcpAck),
    /// Request for a rate without payload.
    RateRequest {
        /// Departure from the sending host.
        sent: Time,
        /// The request.
        query: RateQuery,
    },
    /// Answer to a request for a rate.
    RateAnswer {
        /// Departure of the request from its host.
        sent: Time,
        /// The offered rate.
        offered: Rate,
    },
    /// Data of a RoCE-like flow.
    RoceData(RoceData),
    /// Acknowledgement of a RoCE-like flow.
    RoceAck(RoceAnswer),
    /// Negative acknowledgement of a RoCE-like flow.
    RoceNack(RoceAnswer),
    /// Acknowledgement of one frame of a RoCE-like flow with selective retransmission, all before which have arrived.
    SelectiveAck {
        /// Cumulative acknowledgement and times.
        answer: RoceAnswer,
        /// Sequence number of the frame.
        seq: u32,
    },
    /// The same, while earlier frames are missing.
    SelectiveNack {
        /// Cumulative acknowledgement and times.
        answer: RoceAnswer,
        /// Sequence number of the frame.
        seq: u32,
    },
    /// Congestion notification: a marked frame arrived.
    Notification {
        /// Departure from the receiver.
        left: Time,
        /// Cumulative acknowledgement: the sequence number expected next.
        cumulative: u32,
    },
    /// The sender requests credits.
    CreditRequest {
        /// Sequence number of the next frame.
        next: u32,
    },
    /// The sender needs no more credits.
    CreditStop {
        /// Sequence number that the next frame would have.
        next: u32,
    },
    /// Permission to send one frame.
    Credit(Credit),
    /// A frame sent for a credit.
    CreditData(CreditData),
    /// Acknowledgement of a stop.
    CreditAck {
        /// Cumulative acknowledgement: the sequence number expected next.
        cumulative: u32,
    },
    /// Negative acknowledgement: frames are missing.
    CreditNack {
        /// The first missing sequence number.
        cumulative: u32,
    },
    /// Data of a flow of which each packet is acknowledged, whole or trimmed.
    PulledData(PulledData),
    /// Acknowledgement of such a packet.
    PulledAck(PulledAnswer),
    /// Negative acknowledgement: only the header has arrived.
    PulledNack(PulledAnswer),
    /// Permission to send packets.
    Pull {
        /// Departure from the receiver.
        left: Time,
        /// What has been pulled so far: packets, or bytes of credit.
        number: u64,
    },
    /// Probe of a path or of a connection, without payload.
    Probe {
        /// Departure from the sending host.
        sent: Time,
    },
    /// Answer to a probe.
    ProbeAck {
        /// Departure of the probe from its host.
        sent: Time,
        /// Packets that have arrived.
        sack: Sack,
    },
    /// State of the ports of a host, for a peer.
    PortStatus {
        /// Departure from the host.
        sent: Time,
        /// Bit `n` is set if port `n` of the host is down.
        down: u64,
        /// Whether the receiver of the flow sends it to the sender.
        back: bool,
    },
}

impl Header {
    /// The kind of a packet with this header.
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> PacketKind {
        match self {
            Self::Bare
            | Self::TcpData(_)
            | Self::RatedData(..)
            | Self::IntData(_)
            | Self::CountedData(..)
            | Self::RoceData(_)
            | Self::CreditData(_)
            | Self::PulledData(_) => PacketKind::Data,
            Self::TcpAck(_)
            | Self::RatedAck(..)
            | Self::IntAck(_)
            | Self::CountedAck(..)
            | Self::RoceAck(_)
            | Self::SelectiveAck { .. }
            | Self::CreditAck { .. }
            | Self::PulledAck(_)
            | Self::ProbeAck { .. } => PacketKind::Ack,
            Self::RoceNack(_) | Self::SelectiveNack { .. } | Self::CreditNack { .. } | Self::PulledNack(_) => {
                PacketKind::Nack
            }
            Self::Pull { .. } => PacketKind::Pull,
            Self::Probe { .. } => PacketKind::Probe,
            Self::PortStatus { .. } => PacketKind::PortStatus,
            Self::Notification { .. } => PacketKind::Notification,
            Self::Pause => PacketKind::Pause,
            Self::Resume => PacketKind::Resume,
            Self::CreditRequest { .. } => PacketKind::CreditRequest,
            Self::Credit(_) => PacketKind::Credit,
            Self::CreditStop { .. } => PacketKind::CreditStop,
            Self::RateRequest { .. } => PacketKind::RateRequest,
            Self::RateAnswer { .. } => PacketKind::RateAnswer,
        }
    }

    /// Sequence and acknowledgement number; zero if the header has none. For data sent for a credit the second is the number of the
    /// credit; for an acknowledgement the first is that of the block. Of credits and pulls these are the low 32 bits.
    #[inline]
    #[must_use]
    pub const fn numbers(&self) -> (u32, u32) {
        match *self {
            Self::TcpData(TcpData { seq, .. })
            | Self::RatedData(TcpData { seq, .. }, _)
            | Self::IntData(TcpData { seq, .. })
            | Self::CountedData(_, TcpData { seq, .. })
            | Self::RoceData(RoceData { seq, .. })
            | Self::PulledData(PulledData { seq, .. }) => (seq, 0),
            Self::PulledAck(answer) | Self::PulledNack(answer) => (answer.seq, answer.pulled as u32),
            Self::TcpAck(ack) | Self::RatedAck(ack, _) | Self::IntAck(ack) | Self::CountedAck(_, ack) => {
                (ack.block_from, ack.cumulative)
            }
            Self::SelectiveAck { answer, seq } | Self::SelectiveNack { answer, seq } => (seq, answer.cumulative),
            Self::RoceAck(RoceAnswer { cumulative, .. })
            | Self::RoceNack(RoceAnswer { cumulative, .. })
            | Self::Notification { cumulative, .. }
            | Self::CreditAck { cumulative }
            | Self::CreditNack { cumulative } => (0, cumulative),
            Self::CreditRequest { next } | Self::CreditStop { next } => (next, 0),
            Self::Credit(Credit { number, cumulative, .. }) => (number as u32, cumulative),
            Self::Pull { number, .. } => (0, number as u32),
            Self::CreditData(CreditData { seq, credit, .. }) => (seq, credit as u32),
            Self::ProbeAck { sack, .. } => (0, sack.cumulative),
            Self::PortStatus { down, back, .. } => (back as u32, down as u32),
            Self::Bare
            | Self::Pause
            | Self::Resume
            | Self::RateRequest { .. }
            | Self::RateAnswer { .. }
            | Self::Probe { .. } => (0, 0),
        }
    }

    /// Departure of the packet, or of the packet that it answers, which distinguishes transmissions of the same number; zero if the
    /// header has no time.
    #[must_use]
    pub const fn stamp(&self) -> Time {
        match *self {
            Self::TcpData(TcpData { sent, .. })
            | Self::RatedData(TcpData { sent, .. }, _)
            | Self::IntData(TcpData { sent, .. })
            | Self::CountedData(_, TcpData { sent, .. })
            | Self::CountedAck(_, TcpAck { sent, .. })
            | Self::TcpAck(TcpAck { sent, .. })
            | Self::IntAck(TcpAck { sent, .. })
            | Self::RatedAck(TcpAck { sent, .. }, _)
            | Self::RateRequest { sent, .. }
            | Self::RateAnswer { sent, .. }
            | Self::RoceData(RoceData { sent, .. })
            | Self::RoceAck(RoceAnswer { sent, .. })
            | Self::RoceNack(RoceAnswer { sent, .. })
            | Self::SelectiveAck { answer: RoceAnswer { sent, .. }, .. }
            | Self::SelectiveNack { answer: RoceAnswer { sent, .. }, .. }
            | Self::PulledData(PulledData { sent, .. })
            | Self::PulledAck(PulledAnswer { sent, .. })
            | Self::PulledNack(PulledAnswer { sent, .. })
            | Self::Pull { left: sent, .. }
            | Self::Probe { sent }
            | Self::ProbeAck { sent, .. }
            | Self::PortStatus { sent, .. }
            | Self::Notification { left: sent, .. } => sent,
            Self::Credit(Credit { granted_at, .. }) | Self::CreditData(CreditData { granted_at, .. }) => granted_at,
            Self::Bare
            | Self::Pause
            | Self::Resume
            | Self::CreditRequest { .. }
            | Self::CreditStop { .. }
            | Self::CreditAck { .. }
            | Self::CreditNack { .. } => Time::ZERO,
        }
    }

    /// The TCP-like data header, if there is one.
    #[must_use]
    pub const fn tcp_data(&self) -> Option<&TcpData> {
        match self {
            Self::TcpData(data) | Self::RatedData(data, _) | Self::IntData(data) | Self::CountedData(_, data) => {
                Some(data)
            }
            _ => None,
        }
    }

    /// The TCP-like acknowledgement in the header, if there is one.
    #[must_use]
    pub const fn tcp_ack(&self) -> Option<&TcpAck> {
        match self {
            Self::TcpAck(ack) | Self::RatedAck(ack, _) | Self::IntAck(ack) | Self::CountedAck(_, ack) => Some(ack),
            _ => None,
        }
    }

    /// Whether it answers an in-band request: for a rate, for a record of every hop, or for counts of packets.
    #[must_use]
    pub const fn answers_request(&self) -> bool {
        matches!(self, Self::RatedAck(..) | Self::RateAnswer { .. } | Self::CountedAck(..) | Self::ProbeAck { .. })
            || self.has_int()
    }

    /// Whether it is an acknowledgement that also pulls a packet.
    #[must_use]
    pub const fn is_pull(&self) -> bool {
        matches!(self, Self::PulledAck(answer) | Self::PulledNack(answer) if answer.is_pull)
    }

    /// Whether hops write records into the packet, or it carries them back.
    #[inline]
    #[must_use]
    pub const fn has_int(&self) -> bool {
        match self {
            Self::IntData(_) | Self::IntAck(_) => true,
            Self::RoceData(data) => data.has_int,
            Self::RoceAck(answer)
            | Self::RoceNack(answer)
            | Self::SelectiveAck { answer, .. }
            | Self::SelectiveNack { answer, .. } => answer.has_int,
            _ => false,
        }
    }

    /// Makes an answer of a RoCE receiver carry records.
    pub const fn set_int(&mut self) {
        if let Self::RoceAck(answer)
        | Self::RoceNack(answer)
        | Self::SelectiveAck { answer, .. }
        | Self::SelectiveNack { answer, .. } = self
        {
            answer.has_int = true;
        }
    }

    /// The request for a rate, if there is one.
    #[must_use]
    pub const fn query(&self) -> Option<&RateQuery> {
        match self {
            Self::RatedData(_, query) | Self::RateRequest { query, .. } => Some(query),
            _ => None,
        }
    }

    /// The request for a rate, for a port that offers one.
    pub const fn query_mut(&mut self) -> Option<&mut RateQuery> {
        match self {
            Self::RatedData(_, query) | Self::RateRequest { query, .. } => Some(query),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round trip of 5 us, 2 us of them at the receiver; and timestamps with errors.
    #[test]
    fn a_round_trip_leaves_out_what_the_receiver_held_it() {
        let us = Time::from_micros;
        let ack = |held| TcpAck { sent: us(10), held, ..TcpAck::default() };
        assert_eq!(ack(2_000_000).round_trip(us(15)), us(3));
        assert_eq!(ack(-1_000_000).round_trip(us(15)), us(6));
        assert_eq!(ack(9_000_000).round_trip(us(15)), Time(1));
    }
}
