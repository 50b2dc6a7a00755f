//! Headers of transports: a type for each kind of packet of each transport, so that no field has two meanings. Ports and switches
//! read none of them, except ports that offer rates.

use shallows_cc::units::{Rate, Time};

use crate::packet::kind::PacketKind;
pub use crate::packet::pulled::{PulledAnswer, PulledData, Sack};
pub use crate::packet::roce::{RoceAnswer, RoceData};
use crate::packet::wire::{Wire, fields, headers};

fields! {
    /// Data of a TCP-like flow.
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
}

impl TcpAck {
    /// The number of the block, and the cumulative acknowledgement.
    #[inline]
    const fn numbers(&self) -> (u32, u32) {
        (self.block_from, self.cumulative)
    }

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

fields! {
    /// Request for a rate to the ports of a path.
    pub struct RateQuery {
        /// Round-trip time of the flow; zero before the first sample.
        pub rtt: Time,
        /// The lowest rate that ports have offered so far.
        pub offered: Rate,
    }

    /// Counters of a receiver, which wrap.
    pub struct Counters {
        /// Packets that have arrived.
        pub received: u32,
        /// Those of them that were marked.
        pub ce: u32,
        /// Packets that are missing.
        pub lost: u32,
    }

    /// Data sent for a credit.
    pub struct CreditData {
        /// Sequence number in the flow.
        pub seq: u32,
        /// Number of the credit.
        pub credit: u64,
        /// Departure of the credit from the receiver.
        pub granted_at: Time,
    }

    /// A credit.
    pub struct Credit {
        /// Number in the flow. A flow may have more credits than packets.
        pub number: u64,
        /// Departure from the receiver.
        pub granted_at: Time,
        /// Cumulative acknowledgement: the sequence number expected next.
        pub cumulative: u32,
    }
}

headers! {
    /// Data whose header nobody reads.
    #[default]
    0 Bare => Data, (0, 0), Time::ZERO;
    /// A switch pauses the other end of a link (PFC).
    27 Pause => Pause, (0, 0), Time::ZERO;
    /// A switch ends a pause.
    28 Resume => Resume, (0, 0), Time::ZERO;
    /// Data of a TCP-like flow.
    1 TcpData(data: TcpData) => Data, (data.seq, 0), data.sent;
    /// Acknowledgement of a TCP-like flow.
    2 TcpAck(ack: TcpAck) => Ack, ack.numbers(), ack.sent;
    /// Data of a flow whose ports offer rates, with a request for one.
    3 RatedData(data: TcpData, query: RateQuery) => Data, (data.seq, 0), data.sent;
    /// Acknowledgement with the rate offered to the newest data.
    4 RatedAck(ack: TcpAck, offered: Rate) => Ack, ack.numbers(), ack.sent;
    /// Data into which hops write records ([`crate::packet::Slab::int_stack`]).
    5 IntData(data: TcpData) => Data, (data.seq, 0), data.sent;
    /// Acknowledgement with the records of the newest data.
    6 IntAck(ack: TcpAck) => Ack, ack.numbers(), ack.sent;
    /// Data with the number of this transmission. The short part comes first, so that the header of an acknowledgement fills a cache line.
    25 CountedData(number: u32, data: TcpData) => Data, (data.seq, 0), data.sent;
    /// Acknowledgement with the counters of the receiver.
    26 CountedAck(counters: Counters, ack: TcpAck) => Ack, ack.numbers(), ack.sent;
    /// Request for a rate without payload.
    7 RateRequest {
        /// Departure from the sending host.
        sent: Time,
        /// The request.
        query: RateQuery,
    } => RateRequest, (0, 0), sent;
    /// Answer to a request for a rate.
    8 RateAnswer {
        /// Departure of the request from its host.
        sent: Time,
        /// The offered rate.
        offered: Rate,
    } => RateAnswer, (0, 0), sent;
    /// Data of a RoCE-like flow.
    9 RoceData(data: RoceData) => Data, (data.seq, 0), data.sent;
    /// Acknowledgement of a RoCE-like flow.
    10 RoceAck(answer: RoceAnswer) => Ack, (0, answer.cumulative), answer.sent;
    /// Negative acknowledgement of a RoCE-like flow.
    11 RoceNack(answer: RoceAnswer) => Nack, (0, answer.cumulative), answer.sent;
    /// Acknowledgement of one frame of a RoCE-like flow with selective retransmission, all before which have arrived.
    12 SelectiveAck {
        /// Cumulative acknowledgement and times.
        answer: RoceAnswer,
        /// Sequence number of the frame.
        seq: u32,
    } => Ack, (seq, answer.cumulative), answer.sent;
    /// The same, while earlier frames are missing.
    13 SelectiveNack {
        /// Cumulative acknowledgement and times.
        answer: RoceAnswer,
        /// Sequence number of the frame.
        seq: u32,
    } => Nack, (seq, answer.cumulative), answer.sent;
    /// Congestion notification: a marked frame arrived.
    14 Notification {
        /// Departure from the receiver.
        left: Time,
        /// Cumulative acknowledgement: the sequence number expected next.
        cumulative: u32,
    } => Notification, (0, cumulative), left;
    /// The sender requests credits.
    15 CreditRequest {
        /// Sequence number of the next frame.
        next: u32,
    } => CreditRequest, (next, 0), Time::ZERO;
    /// The sender needs no more credits.
    16 CreditStop {
        /// Sequence number that the next frame would have.
        next: u32,
    } => CreditStop, (next, 0), Time::ZERO;
    /// Permission to send one frame.
    17 Credit(credit: Credit) => Credit, (credit.number as u32, credit.cumulative), credit.granted_at;
    /// A frame sent for a credit.
    18 CreditData(data: CreditData) => Data, (data.seq, data.credit as u32), data.granted_at;
    /// Acknowledgement of a stop.
    19 CreditAck {
        /// Cumulative acknowledgement: the sequence number expected next.
        cumulative: u32,
    } => Ack, (0, cumulative), Time::ZERO;
    /// Negative acknowledgement: frames are missing.
    20 CreditNack {
        /// The first missing sequence number.
        cumulative: u32,
    } => Nack, (0, cumulative), Time::ZERO;
    /// Data of a flow of which each packet is acknowledged, whole or trimmed.
    21 PulledData(data: PulledData) => Data, (data.seq, 0), data.sent;
    /// Acknowledgement of such a packet.
    22 PulledAck(answer: PulledAnswer) => Ack, (answer.seq, answer.pulled as u32), answer.sent;
    /// Negative acknowledgement: only the header has arrived.
    23 PulledNack(answer: PulledAnswer) => Nack, (answer.seq, answer.pulled as u32), answer.sent;
    /// Permission to send packets.
    24 Pull {
        /// Departure from the receiver.
        left: Time,
        /// What has been pulled so far: packets, or bytes of credit.
        number: u64,
    } => Pull, (0, number as u32), left;
    /// Probe of a path or of a connection, without payload.
    29 Probe {
        /// Departure from the sending host.
        sent: Time,
    } => Probe, (0, 0), sent;
    /// Answer to a probe.
    30 ProbeAck {
        /// Departure of the probe from its host.
        sent: Time,
        /// Packets that have arrived.
        sack: Sack,
    } => Ack, (0, sack.cumulative), sent;
    /// State of the ports of a host, for a peer.
    31 PortStatus {
        /// Departure from the host.
        sent: Time,
        /// Bit `n` is set if port `n` of the host is down.
        down: u64,
        /// Whether the receiver of the flow sends it to the sender.
        back: bool,
    } => PortStatus, (back as u32, down as u32), sent;
}

impl Header {
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

    /// The answer of a RoCE-like receiver in the header, if there is one.
    #[inline]
    #[must_use]
    pub const fn roce_answer(&self) -> Option<&RoceAnswer> {
        match self {
            Self::RoceAck(answer)
            | Self::RoceNack(answer)
            | Self::SelectiveAck { answer, .. }
            | Self::SelectiveNack { answer, .. } => Some(answer),
            _ => None,
        }
    }

    /// The answer to one packet in the header, if there is one.
    #[must_use]
    pub const fn pulled_answer(&self) -> Option<&PulledAnswer> {
        match self {
            Self::PulledAck(answer) | Self::PulledNack(answer) => Some(answer),
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
        matches!(self.pulled_answer(), Some(answer) if answer.is_pull)
    }

    /// Whether hops write records into the packet, or it carries them back.
    #[inline]
    #[must_use]
    pub const fn has_int(&self) -> bool {
        match self {
            Self::IntData(_) | Self::IntAck(_) => true,
            Self::RoceData(data) => data.has_int,
            _ => matches!(self.roce_answer(), Some(answer) if answer.has_int),
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
