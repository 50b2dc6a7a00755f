//! What a flow has beside its reliability where hops write records: its data has a row for them ([`Slab::int_stack`]), and
//! acknowledgements bring back the row of the newest data.

use shallows_cc::event::HopRecord;

use crate::packet::Slab;
use crate::packet::header::Header;

/// Data leaves, and no hop has written anything.
pub fn begin(at: u32, packets: &mut Slab) {
    if let Header::TcpData(data) = *packets.header(at) {
        *packets.header_mut(at) = Header::IntData(data);
        packets.int_stack_mut(at).clear();
    }
}

/// At the receiver: what hops wrote into the newest data.
#[derive(Debug, Default)]
pub struct IntEcho(Vec<HopRecord>);

impl IntEcho {
    /// Data has come. It lay at this place, where its row still is.
    pub fn take(&mut self, at: u32, packets: &mut Slab) {
        std::mem::swap(&mut self.0, packets.int_stack_mut(at));
    }

    /// An acknowledgement leaves with the row.
    pub fn copy_to(&self, at: u32, packets: &mut Slab) {
        packets.int_stack_mut(at).clone_from(&self.0);
    }
}
