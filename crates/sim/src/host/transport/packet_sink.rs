//! Creation of the packets that one end of a flow sends.

use shallows_cc::port::Ecn;
use shallows_cc::units::Bytes;

use crate::host::transport::config::FlowEndpoint;
use crate::packet::header::Header;
use crate::packet::{Flags, Packet, Slab};
use crate::spec::network::MIN_FRAME;

/// Destination of the packets that one end of a flow creates: each gets the flow's number, its path and a slot of the slab.
#[derive(Debug)]
pub struct PacketSink<'a> {
    pub packets: &'a mut Slab,
    pub flow: u32,
    pub path: u32,
}

impl<'a> PacketSink<'a> {
    #[inline]
    pub(crate) fn new(endpoint: FlowEndpoint, packets: &'a mut Slab) -> Self {
        Self { packets, flow: endpoint.flow, path: endpoint.path }
    }

    #[inline]
    pub fn reborrow(&mut self) -> PacketSink<'_> {
        PacketSink { packets: self.packets, flow: self.flow, path: self.path }
    }

    /// Creates a packet that ports drop rather than mark, and returns its index.
    #[inline]
    pub(crate) fn put(&mut self, length: Bytes, header: Header) -> u32 {
        debug_assert!(length >= MIN_FRAME, "the lookahead between domains assumes that no frame is shorter");
        self.put_data(length, Ecn::NotEct, header)
    }

    /// Creates a data packet with this ECN field that ports may trim to its header, and returns its index.
    pub fn put_trimmable(&mut self, length: Bytes, ecn: Ecn, header: Header) -> u32 {
        let at = self.put_data(length, ecn, header);
        let packet = &mut self.packets[at];
        packet.flags = packet.flags.with(Flags::TRIMS, true);
        at
    }

    /// Creates a data packet with this ECN field, and returns its index.
    #[inline]
    pub(crate) fn put_data(&mut self, length: Bytes, ecn: Ecn, header: Header) -> u32 {
        self.packets.insert(Packet { path: self.path, ..Packet::new(self.flow, length, ecn, &header) }, header)
    }
}
