//! The reliabilities that exist, which of them a transport of the catalog has at each end, which packets its flows exchange, and what a
//! receiver answers that has closed. Each is a variant of both enums here.

use shallows_cc::catalog::{Reliability, SendControl, Transport};
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::config::{ReceiverConfig, SenderConfig};
use crate::host::transport::credit::{CONTROL_FRAME, CreditFeedback, Credited};
use crate::host::transport::flow::Flow;
use crate::host::transport::go_back_n::{GoBackN, RoceFeedback};
use crate::host::transport::inflow::Inflow;
use crate::host::transport::irn::Irn;
use crate::host::transport::message::Message;
use crate::host::transport::pulled::{PerPacket, PerPacketFeedback};
use crate::host::transport::selective::{Selective, SelectiveFeedback};
use crate::packet::header::{Header, PulledAnswer, RoceAnswer, RoceData, Sack, TcpAck};
use crate::spec::network::{Control, HostSpec, MIN_FRAME, Retransmission};

/// Sender of any transport.
#[derive(Clone, Debug)]
// With a separate tag one comparison tells the variants apart; otherwise the tag would be stored in unused values of a field.
#[repr(u8)]
pub(super) enum AnySender {
    Selective(Flow<Selective>),
    GoBackN(Flow<GoBackN>),
    Irn(Box<Flow<Irn>>),
    Credit(Flow<Credited>),
    PerPacket(Flow<PerPacket>),
}

impl AnySender {
    /// Creates the sender of a transport.
    pub(super) fn new(transport: &Transport, now: Time, config: SenderConfig<'_>) -> Self {
        // Pairs that do not exist do not compile in the catalog.
        match (transport.reliability, transport.leave) {
            (Reliability::Unordered, leave) => Self::PerPacket(Flow::new(PerPacket::new(&config, leave), config)),
            (Reliability::Selective { dup_thresh }, _) => {
                Self::Selective(Flow::new(Selective::new(&config, dup_thresh), config))
            }
            (Reliability::GoBackN, SendControl::OnCredits) => {
                Self::Credit(Flow::new(Credited::new(&config, now), config))
            }
            (Reliability::GoBackN, _) if config.host.retransmission == Retransmission::Selective => {
                Self::Irn(Box::new(Flow::new(Irn::new(&config), config)))
            }
            (Reliability::GoBackN, _) => Self::GoBackN(Flow::new(GoBackN::new(&config), config)),
        }
    }
}

/// Evaluates an expression for the [`Flow`] of an [`AnySender`], whatever its reliability.
macro_rules! of_any_sender {
    ($sender:expr, $flow:ident => $value:expr) => {
        match $sender {
            AnySender::Selective($flow) => $value,
            AnySender::GoBackN($flow) => $value,
            AnySender::Irn($flow) => $value,
            AnySender::Credit($flow) => $value,
            AnySender::PerPacket($flow) => $value,
        }
    };
}

/// Receiver of any transport.
#[derive(Clone, Debug)]
// A separate tag, as above.
#[repr(u8)]
pub(super) enum AnyReceiver {
    Selective(Inflow<SelectiveFeedback>),
    Roce(Inflow<RoceFeedback>),
    Credit(Inflow<CreditFeedback>),
    PerPacket(Inflow<PerPacketFeedback>),
}

impl AnyReceiver {
    /// Creates the receiver of a transport.
    pub(super) fn new(transport: &Transport, config: ReceiverConfig) -> Self {
        match (transport.reliability, transport.leave) {
            (Reliability::Unordered, leave) => {
                Self::PerPacket(Inflow::new(config, |config| PerPacketFeedback::new(config, leave)))
            }
            (Reliability::Selective { .. }, _) => Self::Selective(Inflow::new(config, SelectiveFeedback::new)),
            (Reliability::GoBackN, SendControl::OnCredits) => Self::Credit(Inflow::new(config, CreditFeedback::new)),
            (Reliability::GoBackN, _) => Self::Roce(Inflow::new(config, RoceFeedback::new)),
        }
    }
}

/// Evaluates an expression for the [`Inflow`] of an [`AnyReceiver`], whatever its feedback.
macro_rules! of_any_receiver {
    ($receiver:expr, $inflow:ident => $value:expr) => {
        match $receiver {
            AnyReceiver::Selective($inflow) => $value,
            AnyReceiver::Roce($inflow) => $value,
            AnyReceiver::Credit($inflow) => $value,
            AnyReceiver::PerPacket($inflow) => $value,
        }
    };
}

/// Returns whether the flows of an algorithm exchange packets with this header.
#[must_use]
pub fn exchanges(control: &Control, host: &HostSpec, header: &Header) -> bool {
    use Header as H;
    let (transport, has_int) = (control.algorithm.transport, control.asks_for_records());
    let has_counts = control.counts_packets();
    match (transport.leave, transport.reliability) {
        (SendControl::OnCredits, _) => matches!(
            header,
            H::CreditRequest { .. }
                | H::CreditStop { .. }
                | H::Credit(_)
                | H::CreditData(_)
                | H::CreditAck { .. }
                | H::CreditNack { .. }
        ),
        (SendControl::OnPulls, _) | (_, Reliability::Unordered) => {
            matches!(header, H::PulledData(_) | H::PulledAck(_) | H::PulledNack(_) | H::Pull { .. })
        }
        (SendControl::AtRates, _) => {
            matches!(header, H::RatedData(..) | H::RatedAck(..) | H::RateRequest { .. } | H::RateAnswer { .. })
        }
        // An answer after the receiver has closed has no records.
        (_, Reliability::Selective { .. }) if has_int => matches!(header, H::IntData(_) | H::IntAck(_) | H::TcpAck(_)),
        (_, Reliability::Selective { .. }) if has_counts => {
            matches!(header, H::CountedData(..) | H::CountedAck(..) | H::TcpAck(_))
        }
        (_, Reliability::Selective { .. }) => matches!(header, H::TcpData(_) | H::TcpAck(_)),
        (_, Reliability::GoBackN) => match header {
            H::RoceData(data) => data.has_int == has_int,
            H::RoceAck(_) | H::Notification { .. } => true,
            H::RoceNack(_) => host.retransmission == Retransmission::GoBackN,
            H::SelectiveAck { .. } | H::SelectiveNack { .. } => host.retransmission == Retransmission::Selective,
            _ => false,
        },
    }
}

/// Returns the answer to a packet of a flow whose receiver has closed because all `bytes` have arrived; none if the packet
/// needs no answer. The answer of a transport whose answers to each packet carry marks says whether this one was `marked`.
pub fn reply_after_close(
    now: Time,
    (header, marked): (&Header, bool),
    (bytes, mss): (Bytes, Bytes),
) -> Option<(Bytes, Header)> {
    let cumulative = Message::new(bytes, mss).end;
    let tcp = |sent| TcpAck { sent, left: now, delay: now - sent, samples: 1, cumulative, ..TcpAck::default() };
    let header = match *header {
        Header::TcpData(data) | Header::IntData(data) | Header::CountedData(_, data) => Header::TcpAck(tcp(data.sent)),
        Header::RatedData(data, query) => Header::RatedAck(tcp(data.sent), query.offered),
        Header::RateRequest { sent, query } => Header::RateAnswer { sent, offered: query.offered },
        Header::PulledData(data) => {
            let sack = Sack { cumulative, ..Sack::default() };
            Header::PulledAck(PulledAnswer { sack, ..PulledAnswer::to(&data, now, marked, 0) })
        }
        Header::Probe { sent } => Header::ProbeAck { sent, sack: Sack { cumulative, ..Sack::default() } },
        Header::RoceData(RoceData { sent, asks: true, .. }) => {
            Header::RoceAck(RoceAnswer { sent, delay: now - sent, held: 0, cumulative, has_int: false })
        }
        // A credit request may be late: the data that it is for has arrived.
        Header::CreditStop { .. } | Header::CreditRequest { .. } => {
            return Some((CONTROL_FRAME, Header::CreditAck { cumulative }));
        }
        _ => return None,
    };
    Some((MIN_FRAME, header))
}

pub(super) use {of_any_receiver, of_any_sender};
