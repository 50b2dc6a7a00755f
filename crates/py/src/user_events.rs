//! Events that an algorithm written in Python receives. Times are in seconds, amounts of payload in full packets.

use pyo3::prelude::*;
use shallows_cc::event::{Ack, DeliverySample, Loss, LossKind, LostPacket};
use shallows_cc::units::Bytes;

/// An acknowledgement, or the answer to a packet that a port trimmed.
#[pyclass(frozen, get_all, name = "Ack")]
#[derive(Debug)]
pub struct PyAck {
    /// Seconds: when the newest data packet that it covers left the host.
    sent_at: f64,
    /// Seconds: round trip of that packet, without `host_delay`; 0 if its own answer was lost.
    rtt: f64,
    /// Seconds: time for which the receiver held the acknowledgement, where `rtt` does not include it.
    host_delay: f64,
    /// Seconds: mean over the data packets that it covers, between the two NICs.
    one_way_delay: f64,
    /// Number of data packets in that mean.
    samples: u32,
    /// Packets: payload that is acknowledged for the first time.
    acked: f64,
    /// Packets: the part of `acked` and of `trimmed` that ports marked (ECN).
    marked: f64,
    /// Packets: payload that a port trimmed, so that only its header arrived; not part of `acked`.
    trimmed: f64,
    /// Packets: payload that waits at the receiver for packets before it, over selective acknowledgements.
    buffered: f64,
    /// Packets: payload still in flight after it.
    in_flight: f64,
    /// Whether only the window limited the flow.
    window_limited: bool,
    /// Whether lost packets are being sent again; a window does not grow meanwhile.
    recovering: bool,
    /// Entropy value of the newest data packet, where hosts choose paths; else 0.
    entropy: u16,
    /// Delivery-rate sample, for a class that asks for it; None if it covers no packet for the first time.
    delivery: Option<PyDelivery>,
}

/// A delivery-rate sample (draft-ietf-ccwg-bbr §4.1), of the packet that left last among those that an acknowledgement covers for the
/// first time.
#[pyclass(frozen, get_all, name = "Delivery")]
#[derive(Clone, Debug)]
pub struct PyDelivery {
    /// Bits per second of payload: `delivered` over `interval`; None if the sample is implausible.
    rate: Option<f64>,
    /// Packets: payload delivered between `prior_time` and now.
    delivered: f64,
    /// Seconds: the longer one of the times that sending it and acknowledging it took.
    interval: f64,
    /// Packets: payload that had been delivered since the start of the flow when the packet left.
    prior_delivered: f64,
    /// Seconds: when that had been delivered, or when the packet left if nothing was in flight before it.
    prior_time: f64,
    /// Packets: payload delivered since the start of the flow.
    total: f64,
    /// Packets: payload in flight just after the packet had left, itself included.
    in_flight: f64,
    /// Packets: payload found lost since the packet left.
    lost: f64,
    /// Whether the application had no data to send during some of the interval.
    app_limited: bool,
    /// Whether the interval is shorter than the shortest round trip, so that no rate follows from it.
    implausible: bool,
}

/// Losses of a window of data, or a timeout.
#[pyclass(frozen, get_all, name = "Loss")]
#[derive(Debug)]
pub struct PyLoss {
    /// Whether the timer expired, instead of a fast retransmit.
    timeout: bool,
    /// Whether nothing was acknowledged since the timeout before.
    repeated: bool,
    /// Packets: payload in flight when it was detected.
    in_flight: f64,
    /// Packets: payload that it has newly shown to be lost.
    lost: f64,
}

/// A packet that is newly known to be lost.
#[pyclass(frozen, get_all, name = "LostPacket")]
#[derive(Debug)]
pub struct PyLostPacket {
    /// Packets: its payload, 1 unless it is the last of its flow.
    size: f64,
    /// Packets: payload in flight just after it had left, itself included.
    in_flight: f64,
    /// Packets: payload found lost since it left, itself included.
    lost: f64,
    /// Packets: payload delivered since the start of the flow.
    delivered: f64,
    /// Whether the flow was limited by its application when it left.
    app_limited: bool,
}

impl PyAck {
    /// An acknowledgement for Python, of packets with a payload of `mss`.
    pub fn of(ack: &Ack, mss: Bytes) -> Self {
        Self {
            sent_at: ack.sent_at.as_secs(),
            rtt: ack.rtt.as_secs(),
            host_delay: ack.host_delay.as_secs(),
            one_way_delay: ack.one_way_delay.as_secs(),
            samples: ack.samples,
            acked: ack.acked / mss,
            marked: ack.marked / mss,
            trimmed: ack.trimmed / mss,
            buffered: ack.buffered / mss,
            in_flight: ack.in_flight / mss,
            window_limited: ack.window_limited,
            recovering: ack.recovering,
            entropy: ack.entropy,
            delivery: ack.delivery.as_ref().map(|sample| PyDelivery::of(sample, mss)),
        }
    }
}

impl PyDelivery {
    fn of(sample: &DeliverySample, mss: Bytes) -> Self {
        Self {
            rate: sample.rate().map(|rate| rate.0 as f64),
            delivered: sample.delivered / mss,
            interval: sample.interval.as_secs(),
            prior_delivered: sample.prior_delivered / mss,
            prior_time: sample.prior_time.as_secs(),
            total: sample.total() / mss,
            in_flight: sample.in_flight / mss,
            lost: sample.lost / mss,
            app_limited: sample.app_limited,
            implausible: sample.implausible,
        }
    }
}

impl PyLoss {
    /// A loss for Python, of packets with a payload of `mss`.
    pub fn of(loss: &Loss, mss: Bytes) -> Self {
        let (timeout, repeated) = (loss.kind == LossKind::Timeout, loss.repeated);
        Self { timeout, repeated, in_flight: loss.in_flight / mss, lost: loss.lost / mss }
    }
}

impl PyLostPacket {
    /// A lost packet for Python, of a flow whose packets have a payload of `mss`.
    pub fn of(packet: &LostPacket, mss: Bytes) -> Self {
        Self {
            size: packet.bytes / mss,
            in_flight: packet.in_flight / mss,
            lost: packet.lost / mss,
            delivered: packet.delivered / mss,
            app_limited: packet.app_limited,
        }
    }
}
