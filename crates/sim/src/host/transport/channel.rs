//! A channel of high priority that measures the base round trip of a flow: frames as long as those of its data, of which the first
//! leaves with the first pace and the others an interval apart. They are control packets, which ports send before data where the request
//! gives these a queue, and the answer is as long as an acknowledgement.

use shallows_cc::units::{Bytes, Time};

use crate::host::transport::gate::Gate;
use crate::host::transport::packet_sink::PacketSink;
use crate::packet::header::Header;

/// Probes of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channel {
    interval: Time,
    /// When the next probe is due.
    due: Time,
    /// Length of the longest data packet so far.
    length: Bytes,
}

impl Channel {
    pub(crate) fn new(interval: Time) -> Self {
        Self { interval, due: Time::ZERO, length: Bytes::ZERO }
    }

    /// Returns the time of the next probe, if it is before the next `data`.
    pub(crate) fn due(&self, data: Time) -> Option<Time> {
        (self.length > Bytes::ZERO && self.due < data).then_some(self.due)
    }

    /// Creates a probe, and returns its index.
    pub(crate) fn probe(&mut self, now: Time, out: &mut PacketSink<'_>) -> u32 {
        self.due = now + self.interval;
        out.put(self.length, Header::Probe { sent: now })
    }

    /// Learns how long a data packet is.
    pub(crate) fn on_data(&mut self, length: Bytes) {
        self.length = self.length.max(length);
    }

    /// Handles the answer to the probe that left at `sent`.
    pub(crate) fn on_answer(now: Time, sent: Time, gate: &mut Gate) {
        gate.control.on_probed(now, now - sent);
        gate.decide();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{PacketKind, Slab};

    #[test]
    fn probes_leave_an_interval_apart_and_are_as_long_as_data() {
        let us = Time::from_micros;
        let (mut channel, mut packets) = (Channel::new(us(100)), Slab::default());
        assert_eq!(channel.due(us(5)), None, "no data has left");
        channel.on_data(Bytes(1500));
        channel.on_data(Bytes(700));
        assert_eq!(channel.due(us(5)), Some(Time::ZERO));
        let at = channel.probe(us(3), &mut PacketSink { packets: &mut packets, flow: 4, path: 1 });
        assert_eq!(
            (packets[at].flags.kind(), packets[at].bytes(), packets[at].flow),
            (PacketKind::Probe, Bytes(1500), 4)
        );
        assert_eq!([us(103), us(104)].map(|data| channel.due(data)), [None, Some(us(103))]);
    }
}
