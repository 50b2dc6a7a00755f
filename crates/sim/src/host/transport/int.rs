//! In-band network telemetry (INT): every hop adds a record to the INT stack of a data packet ([`Slab::int_stack`]), and
//! acknowledgements return the stack of the newest data.

use shallows_cc::event::HopRecord;

use crate::packet::Slab;
use crate::packet::header::Header;

/// Gives a data packet that is about to leave an empty INT stack.
pub(crate) fn start(at: u32, packets: &mut Slab) {
    match packets.header_mut(at) {
        Header::RoceData(data) => data.has_int = true,
        header => {
            let Header::TcpData(data) = *header else { return };
            *header = Header::IntData(data);
        }
    }
    packets.int_stack_mut(at).clear();
}

/// INT stack of the newest data packet at a receiver.
#[derive(Clone, Debug, Default)]
pub struct IntEcho(Vec<HopRecord>);

impl IntEcho {
    /// Takes the stack of a data packet, whose slot is free but still valid.
    pub(crate) fn record(&mut self, at: u32, packets: &mut Slab) {
        std::mem::swap(&mut self.0, packets.int_stack_mut(at));
    }

    /// Copies the stack to an acknowledgement.
    pub fn attach(&self, at: u32, packets: &mut Slab) {
        packets.int_stack_mut(at).clone_from(&self.0);
    }
}
