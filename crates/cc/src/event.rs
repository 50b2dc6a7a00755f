//! Events that an algorithm receives.
//!
//! They are structs with defaults, so a new signal does not change algorithms that do not use it.

use crate::units::{Bytes, Rate, Time};

/// An acknowledgement reached the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ack {
    /// When the newest data packet it covers left the host. `sent_at >= round start` is enough to act
    /// once a round trip.
    pub sent_at: Time,
    /// Round-trip time of that packet, without the time the receiver held the acknowledgement. Zero if its own answer was lost, and a later
    /// one over per-packet reliability covers it.
    pub rtt: Time,
    /// Time for which the receiver's host held the acknowledgement, which `rtt` does not include. Zero if `rtt` includes it.
    pub host_delay: Time,
    /// Mean one-way delay of the data packets it covers, between the two NICs.
    pub one_way_delay: Time,
    /// Data packets in that mean.
    pub samples: u32,
    /// Payload acknowledged for the first time, cumulatively or selectively.
    pub acked: Bytes,
    /// The part of `acked` and of `trimmed` that the receiver reports as marked (ECN echo).
    pub marked: Bytes,
    /// Payload that a port trimmed, so that only its header arrived: it is to be sent again, and is not part of `acked`.
    pub trimmed: Bytes,
    /// Payload that waits in the receiver's buffer for packets before it. Reported with selective acknowledgements only.
    pub buffered: Bytes,
    /// Payload still in flight after it.
    pub in_flight: Bytes,
    /// Whether only the window limited the flow in the window of data to which this packet belongs. A flow that its
    /// application or its NIC limits learns nothing about the network and must not grow. False behind a hole too
    /// (RFC 5681 §3.2).
    pub window_limited: bool,
    /// Whether lost packets are being retransmitted; the window does not grow meanwhile.
    pub recovering: bool,
    /// Entropy value of the newest data packet it covers; zero unless hosts choose paths, and over transports that acknowledge
    /// several packets at once.
    pub entropy: u16,
    /// Rate at which data was delivered, for an algorithm that asks for it ([`crate::sender::Sender::samples_delivery`]); none if it covers
    /// no packet for the first time, and over credits.
    pub delivery: Option<DeliverySample>,
}

/// Delivery-rate sample of an acknowledgement (draft-ietf-ccwg-bbr §4.1), taken of the packet that left last among those that it covers
/// for the first time. The names of the draft are in brackets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliverySample {
    /// Payload delivered since the start of the flow when that packet left (`RS.prior_delivered`).
    pub prior_delivered: Bytes,
    /// When that had been delivered, or when the packet left if nothing was in flight before it (`RS.prior_time`).
    pub prior_time: Time,
    /// Payload delivered since then (`RS.delivered`).
    pub delivered: Bytes,
    /// Time that this took: the longer one of sending it and of its acknowledgements (`RS.interval`).
    pub interval: Time,
    /// Whether `interval` is shorter than the shortest round trip, so that no rate follows from it: an acknowledgement of an earlier copy
    /// of a packet looks so.
    pub implausible: bool,
    /// Whether the application had no data to send during some of this time (`RS.is_app_limited`).
    pub app_limited: bool,
    /// Payload in flight just after the packet had left, itself included (`RS.tx_in_flight`).
    pub in_flight: Bytes,
    /// Payload found lost since the packet left (`RS.lost`).
    pub lost: Bytes,
}

impl DeliverySample {
    /// Payload delivered since the start of the flow (`C.delivered`).
    #[must_use]
    pub fn total(&self) -> Bytes {
        self.prior_delivered + self.delivered
    }

    /// The rate of payload (`RS.delivery_rate`), if the sample gives one.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        // 8e12: bits in a byte, and picoseconds in a second.
        let bits = u128::from(self.delivered.0) * 8_000_000_000_000;
        let rate = bits.checked_div(u128::from(self.interval.0)).filter(|_| !self.implausible)?;
        Some(Rate(u64::try_from(rate).unwrap_or(u64::MAX)))
    }
}

/// A packet that is newly known to be lost. The names of draft-ietf-ccwg-bbr are in brackets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostPacket {
    /// Its payload.
    pub bytes: Bytes,
    /// Payload in flight just after it had left, itself included (`P.tx_in_flight`).
    pub in_flight: Bytes,
    /// Payload found lost since it left, itself included (`C.lost - P.lost`).
    pub lost: Bytes,
    /// Whether the flow was limited by its application when it left (`P.is_app_limited`).
    pub app_limited: bool,
    /// Payload delivered since the start of the flow (`C.delivered`), with that of the acknowledgement that shows the loss.
    pub delivered: Bytes,
}

/// How a loss was detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossKind {
    /// Three packets behind it arrived; reported once for each window of data (RFC 6582, RFC 6675).
    #[default]
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
}

/// A packet was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// How it was detected.
    pub kind: LossKind,
    /// Payload in flight when it was detected, the lost packet included (FlightSize of RFC 5681), at most the window of
    /// then: packets that leave during recovery do not raise it.
    pub in_flight: Bytes,
    /// Payload that this event has newly shown to be lost. Later losses of the same window of data are not reported here;
    /// [`crate::sender::Sender::on_packet_lost`] tells of each packet. Over credits no loss is reported at all.
    pub lost: Bytes,
    /// A timeout with nothing acknowledged since the one before: the threshold is held (RFC 5681 §3.1).
    pub repeated: bool,
}

/// Packets of a flow since its start, each transmission counted by itself. The counters wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that have arrived.
    pub received: u32,
    /// Those of them that were marked.
    pub ce: u32,
    /// Packets that the receiver misses. It falls when one of them arrives after all.
    pub lost: u32,
    /// Packets that the sender has sent.
    pub sent: u32,
}

/// Record that a port wrote into a packet as it began to leave (in-band network telemetry).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopRecord {
    /// Rate of its link.
    pub rate: Rate,
    /// Queue behind the packet.
    pub queue: Bytes,
    /// Bytes that left before it since the start.
    pub sent: Bytes,
    /// Time at which it began to leave.
    pub at: Time,
}
