//! What an algorithm may learn.
//!
//! Events are structs with defaults, so that a new signal reaches the algorithms that want it without touching the
//! others: whoever makes one names what it knows and adds `..Ack::default()`.

use crate::units::{Bytes, Rate, Time};

/// An acknowledgement reached the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ack {
    /// When the newest data packet it covers left the host. `sent_at >= round start` is enough to act
    /// once a round trip.
    pub sent_at: Time,
    /// Round-trip time of that packet, without the time the receiver held the acknowledgement.
    pub rtt: Time,
    /// Mean one-way delay of the data packets it covers, between the two NICs.
    pub one_way_delay: Time,
    /// Data packets in that mean.
    pub samples: u32,
    /// Payload acknowledged for the first time, cumulatively or selectively.
    pub acked: Bytes,
    /// The part of `acked` that the receiver reports as marked (ECN echo).
    pub marked: Bytes,
    /// Payload still in flight after it.
    pub in_flight: Bytes,
    /// Whether the window, and nothing else, kept the flow from sending in the window of data that this one belongs to. A
    /// flow that is held back by its application or its NIC learns nothing about the network and must not grow; nor must
    /// it by what arrives behind a hole (RFC 5681 §3.2), which is why this is false then.
    pub window_limited: bool,
    /// Whether lost packets are being repaired; a window does not grow meanwhile.
    pub recovering: bool,
}

/// How a loss was noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossKind {
    /// Three packets behind it arrived; told once for each window of data (RFC 6582, RFC 6675).
    #[default]
    FastRetransmit,
    /// The retransmission timer ran out.
    Timeout,
}

/// A packet was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// How it was noticed.
    pub kind: LossKind,
    /// Payload in flight when it was noticed, the lost packet included (FlightSize of RFC 5681), and never more than the
    /// window was: packets that leave while earlier ones are repaired do not raise what is left of it.
    pub in_flight: Bytes,
    /// A timeout with nothing acknowledged since the one before: the threshold is held (RFC 5681 §3.1).
    pub repeated: bool,
}

/// What a port wrote into a packet as it began to leave (in-band network telemetry).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopRecord {
    /// Rate of its link.
    pub rate: Rate,
    /// What it left behind in the queue.
    pub queue: Bytes,
    /// What had left before it, from the beginning on.
    pub sent: Bytes,
    /// When.
    pub at: Time,
}
