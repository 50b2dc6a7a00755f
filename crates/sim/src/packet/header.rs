//! What a packet says to the other half of its flow: a type for each kind of packet of each transport, so that no field
//! means two things. Ports and switches look at none of it, but where ports tell rates.

use shallows_cc::units::{Rate, Time};

use crate::packet::kind::PacketKind;

/// Data of a TCP-like flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpData {
    /// When it left its host.
    pub sent: Time,
    /// When the newest acknowledgement that its sender has heard left the receiver; zero before the first.
    pub heard: Time,
    /// Its number in the flow.
    pub seq: u32,
    /// The sender has made its window smaller for a mark (CWR of RFC 3168).
    pub window_reduced: bool,
}

/// An acknowledgement of a TCP-like flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpAck {
    /// When the newest data that it covers left its host.
    pub sent: Time,
    /// When the acknowledgement itself left the receiver.
    pub left: Time,
    /// Mean one-way delay of the data that it covers.
    pub delay: Time,
    /// Data packets in that mean.
    pub samples: u8,
    /// How long the receiver held it after the newest data, in picoseconds; stamps that are not ideal may show less than
    /// nothing.
    pub held: i64,
    /// The number expected next.
    pub cumulative: u32,
    /// The first number of a block that arrived out of order.
    pub block_from: u32,
    /// Its length; zero is no block.
    pub block: u16,
    /// The advertised window in 16ths of a full payload; zero advertises none.
    pub window: u16,
    /// What it covers was marked (ECN-Echo).
    pub marked: bool,
}

impl TcpAck {
    /// The round trip of an acknowledgement that comes `now`, without the time that it was held. Stamps that are not
    /// ideal may show none at all; a picosecond is the least.
    #[must_use]
    pub fn round_trip(&self, now: Time) -> Time {
        round_trip(now, self.sent, self.held)
    }
}

fn round_trip(now: Time, sent: Time, held: i64) -> Time {
    Time(((now - sent).0.cast_signed() - held).max(1).cast_unsigned())
}

/// What a packet asks of the ports on its way.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateQuery {
    /// The round trip of its flow; zero before the first.
    pub rtt: Time,
    /// The least rate that they have offered so far.
    pub offered: Rate,
}

/// A frame of a RoCE-like flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoceData {
    /// When it left its host.
    pub sent: Time,
    /// Its number in the flow.
    pub seq: u32,
    /// Whether it asks for an acknowledgement.
    pub asks: bool,
}

/// What the receiver of a RoCE-like flow answers to a frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoceAnswer {
    /// When that frame left its host.
    pub sent: Time,
    /// Its one-way delay.
    pub delay: Time,
    /// What stamps that are not ideal show besides, in picoseconds: by so much the round trip is shorter, or longer.
    pub held: i64,
    /// The number expected next.
    pub cumulative: u32,
}

impl RoceAnswer {
    /// The round trip of an answer that comes `now`, as [`TcpAck::round_trip`].
    #[must_use]
    pub fn round_trip(&self, now: Time) -> Time {
        round_trip(now, self.sent, self.held)
    }
}

/// A frame that a credit has called.
#[derive(Clone, Copy, Debug, Default)]
pub struct CreditData {
    /// Its number in the flow.
    pub seq: u32,
    /// The number of the credit.
    pub credit: u32,
    /// When that left the receiver.
    pub granted_at: Time,
}

/// A credit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credit {
    /// Its number in the flow.
    pub number: u32,
    /// When it left the receiver.
    pub granted_at: Time,
    /// The number of the data expected next.
    pub cumulative: u32,
}

/// Data of which each packet is answered by itself; whole, cut to its header, or on its way back.
#[derive(Clone, Copy, Debug, Default)]
pub struct PulledData {
    /// When it left its host.
    pub sent: Time,
    /// Its number in the flow.
    pub seq: u32,
}

/// The answer to one such packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct PulledAnswer {
    /// When the packet left its host.
    pub sent: Time,
    /// Its one-way delay.
    pub delay: Time,
    /// Its number.
    pub seq: u32,
    /// How many packets have been called in all.
    pub pulled: u32,
    /// Whether the last of these is called by this answer.
    pub is_pull: bool,
}

impl PulledAnswer {
    /// Of a packet that has come now; it calls none.
    #[must_use]
    pub fn to(data: &PulledData, now: Time, pulled: u32) -> Self {
        Self { sent: data.sent, delay: now - data.sent, seq: data.seq, pulled, is_pull: false }
    }
}

/// What a packet says, and what it is for.
#[derive(Clone, Copy, Debug, Default)]
// A tag of its own, not the spare values of a field, tells kinds apart in one comparison.
#[repr(u8)]
pub enum Header {
    /// Nothing that anybody here reads: data.
    #[default]
    Bare,
    /// A switch asks the other end of a link to stop sending (PFC).
    Pause,
    /// And to go on.
    Resume,
    /// TCP-like: payload.
    TcpData(TcpData),
    /// And what has arrived of it.
    TcpAck(TcpAck),
    /// The same where ports tell rates: data asks for one.
    RatedData(TcpData, RateQuery),
    /// And what the newest data was offered.
    RatedAck(TcpAck, Rate),
    /// The same where hops write records into data ([`crate::packet::Slab::int_stack`]).
    IntData(TcpData),
    /// And bring back those of the newest data.
    IntAck(TcpAck),
    /// Asks the ports on its way for a rate, without payload.
    RateRequest {
        /// When it left its host.
        sent: Time,
        /// What it asks.
        query: RateQuery,
    },
    /// Brings that back.
    RateAnswer {
        /// When the request left its host.
        sent: Time,
        /// What it was offered.
        offered: Rate,
    },
    /// RoCE-like: payload.
    RoceData(RoceData),
    /// What has arrived of it.
    RoceAck(RoceAnswer),
    /// What should have arrived and has not.
    RoceNack(RoceAnswer),
    /// Congestion notification: a marked frame arrived.
    Notification {
        /// When it left the receiver.
        left: Time,
        /// The number expected next.
        cumulative: u32,
    },
    /// A sender asks its receiver for credits.
    CreditRequest {
        /// The number of the frame that it will send.
        next: u32,
    },
    /// The sender has nothing left.
    CreditStop {
        /// The number of the frame that it would send.
        next: u32,
    },
    /// Calls one frame.
    Credit(Credit),
    /// A frame that it called.
    CreditData(CreditData),
    /// Answers a stop.
    CreditAck {
        /// The number expected next.
        cumulative: u32,
    },
    /// Says that frames are missing.
    CreditNack {
        /// From which number on.
        cumulative: u32,
    },
    /// Called and uncalled alike: payload, or what is left of it.
    PulledData(PulledData),
    /// It has come.
    PulledAck(PulledAnswer),
    /// Only its header has.
    PulledNack(PulledAnswer),
    /// Calls data.
    Pull {
        /// When it left the receiver.
        left: Time,
        /// How many packets have been called in all.
        number: u32,
    },
}

impl Header {
    /// What a packet with this header is for.
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> PacketKind {
        match self {
            Self::Bare
            | Self::TcpData(_)
            | Self::RatedData(..)
            | Self::IntData(_)
            | Self::RoceData(_)
            | Self::CreditData(_)
            | Self::PulledData(_) => PacketKind::Data,
            Self::TcpAck(_)
            | Self::RatedAck(..)
            | Self::IntAck(_)
            | Self::RoceAck(_)
            | Self::CreditAck { .. }
            | Self::PulledAck(_) => PacketKind::Ack,
            Self::RoceNack(_) | Self::CreditNack { .. } | Self::PulledNack(_) => PacketKind::Nack,
            Self::Pull { .. } => PacketKind::Pull,
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

    /// The number of what it carries, and the number that it speaks of: of data its own and none (or its credit's), of an
    /// acknowledgement the block's and the one expected next, or the one that it is for.
    #[inline]
    #[must_use]
    pub const fn numbers(&self) -> (u32, u32) {
        match *self {
            Self::TcpData(TcpData { seq, .. })
            | Self::RatedData(TcpData { seq, .. }, _)
            | Self::IntData(TcpData { seq, .. })
            | Self::RoceData(RoceData { seq, .. })
            | Self::PulledData(PulledData { seq, .. }) => (seq, 0),
            Self::PulledAck(answer) | Self::PulledNack(answer) => (answer.seq, answer.pulled),
            Self::TcpAck(ack) | Self::RatedAck(ack, _) | Self::IntAck(ack) => (ack.block_from, ack.cumulative),
            Self::RoceAck(RoceAnswer { cumulative, .. })
            | Self::RoceNack(RoceAnswer { cumulative, .. })
            | Self::Notification { cumulative, .. }
            | Self::CreditAck { cumulative }
            | Self::CreditNack { cumulative } => (0, cumulative),
            Self::CreditRequest { next } | Self::CreditStop { next } => (next, 0),
            Self::Credit(Credit { number, cumulative, .. }) => (number, cumulative),
            Self::Pull { number, .. } => (0, number),
            Self::CreditData(CreditData { seq, credit, .. }) => (seq, credit),
            Self::Bare | Self::Pause | Self::Resume | Self::RateRequest { .. } | Self::RateAnswer { .. } => (0, 0),
        }
    }

    /// What tells one sending of the same number from another: when it left, or when that left which it answers. Zero
    /// where it bears no time.
    #[must_use]
    pub const fn stamp(&self) -> Time {
        match *self {
            Self::TcpData(TcpData { sent, .. })
            | Self::RatedData(TcpData { sent, .. }, _)
            | Self::IntData(TcpData { sent, .. })
            | Self::TcpAck(TcpAck { sent, .. })
            | Self::IntAck(TcpAck { sent, .. })
            | Self::RatedAck(TcpAck { sent, .. }, _)
            | Self::RateRequest { sent, .. }
            | Self::RateAnswer { sent, .. }
            | Self::RoceData(RoceData { sent, .. })
            | Self::RoceAck(RoceAnswer { sent, .. })
            | Self::RoceNack(RoceAnswer { sent, .. })
            | Self::PulledData(PulledData { sent, .. })
            | Self::PulledAck(PulledAnswer { sent, .. })
            | Self::PulledNack(PulledAnswer { sent, .. })
            | Self::Pull { left: sent, .. }
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

    /// What TCP-like data says, whatever else it asks on its way.
    #[must_use]
    pub const fn tcp_data(&self) -> Option<&TcpData> {
        match self {
            Self::TcpData(data) | Self::RatedData(data, _) | Self::IntData(data) => Some(data),
            _ => None,
        }
    }

    /// What a TCP-like acknowledgement says, whatever else it brings back.
    #[must_use]
    pub const fn tcp_ack(&self) -> Option<&TcpAck> {
        match self {
            Self::TcpAck(ack) | Self::RatedAck(ack, _) | Self::IntAck(ack) => Some(ack),
            _ => None,
        }
    }

    /// Whether it is an answer that calls a packet besides.
    #[must_use]
    pub const fn is_pull(&self) -> bool {
        matches!(self, Self::PulledAck(answer) | Self::PulledNack(answer) if answer.is_pull)
    }

    /// Whether a row of hops' records belongs to it.
    #[inline]
    #[must_use]
    pub const fn has_int(&self) -> bool {
        matches!(self, Self::IntData(_) | Self::IntAck(_))
    }

    /// What it asks of the ports on its way, if it asks them for a rate.
    #[must_use]
    pub const fn query(&self) -> Option<&RateQuery> {
        match self {
            Self::RatedData(_, query) | Self::RateRequest { query, .. } => Some(query),
            _ => None,
        }
    }

    /// The same, for a port that offers one.
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

    /// 5 us of round trip, 2 of them at the receiver; and stamps that show more than there was.
    #[test]
    fn a_round_trip_leaves_out_what_the_receiver_held_it() {
        let us = Time::from_micros;
        let ack = |held| TcpAck { sent: us(10), held, ..TcpAck::default() };
        assert_eq!(ack(2_000_000).round_trip(us(15)), us(3));
        assert_eq!(ack(-1_000_000).round_trip(us(15)), us(6));
        assert_eq!(ack(9_000_000).round_trip(us(15)), Time(1));
    }
}
