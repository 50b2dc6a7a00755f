//! What a flow's data asks of the ports on its way, beside what all data does: a rate ([`rated`]), or records of every hop
//! ([`traced`]). Few flows ask, and only they pay for it.

use shallows_cc::catalog::{SendControl, Transport};
use shallows_cc::units::Time;

use crate::host::transport::gate::Gate;
use crate::host::transport::{Outlet, Replies, rated, traced};
use crate::packet::Slab;
use crate::packet::header::{Header, TcpData};

/// At the sender.
#[derive(Debug)]
pub enum Asking {
    Rates(rated::Asking),
    Records,
}

impl Asking {
    /// Of a flow over this transport, into whose data hops write records or not.
    pub fn of(transport: &Transport, traced: bool) -> Option<Box<Self>> {
        match transport.leave {
            SendControl::AtRates => Some(Box::new(Self::Rates(rated::Asking::default()))),
            _ => traced.then(|| Box::new(Self::Records)),
        }
    }

    /// Data leaves.
    pub fn on_data(&mut self, now: Time, at: u32, packets: &mut Slab) {
        match self {
            Self::Rates(asking) => asking.on_data(now, packets[at].bytes(), packets.header_mut(at)),
            Self::Records => traced::begin(at, packets),
        }
    }

    /// The answer comes. It lay `at` this place.
    ///
    /// # Panics
    /// If it answers something else.
    #[inline(never)]
    pub fn on_answer(&mut self, now: Time, header: &Header, (at, packets): (u32, &Slab), gate: &mut Gate) {
        match (self, header) {
            (Self::Records, Header::TracedAck(_)) => gate.control.on_records(now, packets.trail(at)),
            (Self::Rates(asking), _) => asking.on_answer(now, header, gate),
            (Self::Records, _) => unreachable!("a packet of another transport: {header:?}"),
        }
    }
}

/// At the receiver.
#[derive(Debug)]
pub enum Answering {
    Rates(rated::Answering),
    Records(traced::Newest),
}

impl Answering {
    /// Of a flow over this transport, into whose data hops write records or not.
    pub fn of(transport: &Transport, traced: bool) -> Option<Box<Self>> {
        match transport.leave {
            SendControl::AtRates => Some(Box::new(Self::Rates(rated::Answering::default()))),
            _ => traced.then(|| Box::new(Self::Records(traced::Newest::default()))),
        }
    }

    /// Something comes that lay `at` this place: the data in it, or else what is answered at once.
    ///
    /// # Panics
    /// If it asks for something else.
    #[inline(never)]
    pub fn note<'a>(&mut self, at: u32, header: &'a Header, out: &mut Outlet<'_>) -> Result<&'a TcpData, Replies> {
        match (self, header) {
            (Self::Records(newest), Header::TracedData(data)) => {
                newest.take(at, out.packets);
                Ok(data)
            }
            (Self::Rates(answering), _) => answering.note(header, out),
            (Self::Records(_), _) => unreachable!("a packet of another transport: {header:?}"),
        }
    }

    /// Acknowledgements that leave bring the answer.
    #[inline(never)]
    pub fn bring(&self, replies: Replies, packets: &mut Slab) {
        for at in replies.places() {
            let Header::TcpAck(ack) = *packets.header(at) else { continue };
            match self {
                Self::Rates(answering) => *packets.header_mut(at) = Header::RatedAck(ack, answering.offered),
                Self::Records(newest) => {
                    *packets.header_mut(at) = Header::TracedAck(ack);
                    newest.copy_to(at, packets);
                }
            }
        }
    }
}
