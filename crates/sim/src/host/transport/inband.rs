//! What a flow's data asks of the ports on its way, beside what all data does: a rate ([`rated`]), or records of every hop
//! ([`has_int`]). Few flows ask, and only they pay for it.

use shallows_cc::catalog::{SendControl, Transport};
use shallows_cc::units::Time;

use crate::host::transport::gate::Gate;
use crate::host::transport::{PacketSink, Responses, int, rated};
use crate::packet::Slab;
use crate::packet::header::{Header, TcpData};

/// At the sender.
#[derive(Debug)]
pub enum InbandRequest {
    Rates(rated::RateRequester),
    Records,
}

impl InbandRequest {
    /// Of a flow over this transport, into whose data hops write records or not.
    pub fn of(transport: &Transport, has_int: bool) -> Option<Box<Self>> {
        match transport.leave {
            SendControl::AtRates => Some(Box::new(Self::Rates(rated::RateRequester::default()))),
            _ => has_int.then(|| Box::new(Self::Records)),
        }
    }

    /// Data leaves.
    pub fn on_data(&mut self, now: Time, at: u32, packets: &mut Slab) {
        match self {
            Self::Rates(request) => request.on_data(now, packets[at].bytes(), packets.header_mut(at)),
            Self::Records => int::begin(at, packets),
        }
    }

    /// The answer comes. It lay `at` this place.
    ///
    /// # Panics
    /// If it answers something else.
    #[inline(never)]
    pub fn on_answer(&mut self, now: Time, header: &Header, (at, packets): (u32, &Slab), gate: &mut Gate) {
        match (self, header) {
            (Self::Records, Header::IntAck(_)) => gate.control.on_records(now, packets.int_stack(at)),
            (Self::Rates(request), _) => request.on_answer(now, header, gate),
            (Self::Records, _) => unreachable!("a packet of another transport: {header:?}"),
        }
    }
}

/// At the receiver.
#[derive(Debug)]
pub enum InbandEcho {
    Rates(rated::RateEcho),
    Records(int::IntEcho),
}

impl InbandEcho {
    /// Of a flow over this transport, into whose data hops write records or not.
    pub fn of(transport: &Transport, has_int: bool) -> Option<Box<Self>> {
        match transport.leave {
            SendControl::AtRates => Some(Box::new(Self::Rates(rated::RateEcho::default()))),
            _ => has_int.then(|| Box::new(Self::Records(int::IntEcho::default()))),
        }
    }

    /// Something comes that lay `at` this place: the data in it, or else what is answered at once.
    ///
    /// # Panics
    /// If it asks for something else.
    #[inline(never)]
    pub fn record<'a>(
        &mut self,
        at: u32,
        header: &'a Header,
        out: &mut PacketSink<'_>,
    ) -> Result<&'a TcpData, Responses> {
        match (self, header) {
            (Self::Records(newest), Header::IntData(data)) => {
                newest.take(at, out.packets);
                Ok(data)
            }
            (Self::Rates(echo), _) => echo.record(header, out),
            (Self::Records(_), _) => unreachable!("a packet of another transport: {header:?}"),
        }
    }

    /// Acknowledgements that leave bring the answer.
    #[inline(never)]
    pub fn attach(&self, responses: Responses, packets: &mut Slab) {
        for at in responses.places() {
            let Header::TcpAck(ack) = *packets.header(at) else { continue };
            match self {
                Self::Rates(echo) => *packets.header_mut(at) = Header::RatedAck(ack, echo.offered),
                Self::Records(newest) => {
                    *packets.header_mut(at) = Header::IntAck(ack);
                    newest.copy_to(at, packets);
                }
            }
        }
    }
}
