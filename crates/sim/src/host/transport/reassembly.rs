//! Data of a flow that has arrived, in order or not.

use shallows_cc::units::Bytes;

use crate::host::transport::config::ReceiverConfig;
use crate::host::transport::message::Message;
use crate::host::transport::selective::Ranges;
use crate::packet::header::Sack;

/// Packets of one flow that have arrived. A receiver that accepts packets in order alone calls [`Self::append`] only.
#[derive(Clone, Debug)]
pub(crate) struct Reassembly {
    pub(crate) message: Message,
    /// All packets below have arrived, and those in `out_of_order`.
    pub(crate) expected: u32,
    out_of_order: Ranges,
    /// Payload that has arrived, each packet counted once.
    pub(crate) delivered: u64,
}

impl Reassembly {
    pub(crate) fn new(config: &ReceiverConfig) -> Self {
        let message = Message::new(config.bytes, config.mss);
        Self { message, expected: 0, out_of_order: Ranges::default(), delivered: 0 }
    }

    /// Returns true if no packet behind a missing one has arrived.
    #[inline]
    pub(crate) fn has_no_holes(&self) -> bool {
        self.out_of_order.is_empty()
    }

    /// Records the packet that is expected, with its payload, while there are no holes.
    #[inline]
    pub(crate) fn append(&mut self, payload: Bytes) {
        self.expected += 1;
        self.delivered += payload.0;
    }

    /// Records a packet, unless it has arrived before.
    pub(crate) fn accept(&mut self, seq: u32) {
        if seq == self.expected {
            self.expected = self.out_of_order.take_run_at(seq + 1).unwrap_or(seq + 1);
        } else if seq < self.expected || self.out_of_order.insert(seq, seq + 1) == 0 {
            return;
        }
        self.delivered += self.message.payload(seq).0;
    }

    /// Returns whether a packet has arrived.
    pub(crate) fn has(&self, seq: u32) -> bool {
        seq < self.expected || self.out_of_order.holes_in(seq, seq + 1) == 0
    }

    /// Returns true if every packet has arrived.
    #[inline]
    pub(crate) fn complete(&self) -> bool {
        self.expected == self.message.end
    }

    /// Returns the SACK block of the newest packet, or else the first one, as its first number and its length, and the number of packets
    /// that arrived out of order.
    #[inline(never)]
    pub(crate) fn block(&self, newest: u32) -> (u32, u16, u16) {
        let (from, end) = self.out_of_order.run_around(newest).unwrap_or((0, 0));
        let limited = |packets: u32| packets.min(u32::from(u16::MAX)) as u16;
        (from, limited(end - from), limited(self.out_of_order.count()))
    }

    /// Returns a selective acknowledgement: the packets below the expected one, and those of the 64 from there on that have arrived.
    pub(crate) fn sack(&self) -> Sack {
        Sack { cumulative: self.expected, bitmap: self.out_of_order.bitmap(self.expected) }
    }
}
