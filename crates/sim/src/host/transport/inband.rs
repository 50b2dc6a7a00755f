//! In-band requests: data that asks the ports on its path for a rate ([`rated`]) or for a record of every hop ([`int`]), or its
//! receiver for counts of packets ([`counted`]), and acknowledgements that return the answer; and probes beside the data ([`channel`]). Only
//! flows whose algorithm needs this have the state below.

use shallows_cc::catalog::{SendControl, Transport};
use shallows_cc::units::Time;

use crate::host::transport::config::{ReceiverConfig, SenderConfig};
use crate::host::transport::gate::Gate;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::status::Responses;
use crate::host::transport::{channel, counted, int, rated};
use crate::packet::Slab;
use crate::packet::header::Header;

/// Request in the data of a sender.
#[derive(Clone, Debug)]
pub enum InbandRequest {
    Rates(rated::RateRequester),
    Int,
    Counts(counted::Numbering),
    Channel(channel::Channel),
}

impl InbandRequest {
    pub(crate) fn new(transport: &Transport, config: &SenderConfig<'_>) -> Option<Box<Self>> {
        match transport.leave {
            SendControl::AtRates => Some(Box::new(Self::Rates(rated::RateRequester::default()))),
            _ if config.has_int => Some(Box::new(Self::Int)),
            _ if config.has_counts => Some(Box::new(Self::Counts(counted::Numbering::default()))),
            _ => Some(Box::new(Self::Channel(channel::Channel::new(config.control.probe_interval()?)))),
        }
    }

    /// Adds the request to a data packet that is about to leave.
    pub fn on_data(&mut self, now: Time, at: u32, packets: &mut Slab) {
        match self {
            Self::Rates(request) => request.on_data(now, packets[at].bytes(), packets.header_mut(at)),
            Self::Int => int::start(at, packets),
            Self::Counts(numbering) => numbering.on_data(packets.header_mut(at)),
            Self::Channel(channel) => channel.on_data(packets[at].bytes()),
        }
    }

    /// Returns the time of the next packet without data that it sends, if it is before the next `data`.
    pub(crate) fn due(&self, data: Time) -> Option<Time> {
        match self {
            Self::Rates(request) => request.due(data),
            Self::Channel(channel) => channel.due(data),
            Self::Int | Self::Counts(_) => None,
        }
    }

    /// Creates a packet without data, and returns its index; none if it sends none.
    pub(crate) fn request(&mut self, now: Time, out: &mut PacketSink<'_>) -> Option<u32> {
        match self {
            Self::Rates(request) => Some(request.request(now, out)),
            Self::Channel(channel) => Some(channel.probe(now, out)),
            Self::Int | Self::Counts(_) => None,
        }
    }

    /// Handles the answer in an acknowledgement. Slot `at` is already free, but valid until the next insertion.
    ///
    /// # Panics
    /// If the packet answers another kind of request.
    #[inline(never)]
    pub(crate) fn on_ack(&mut self, now: Time, header: &Header, (at, packets): (u32, &Slab), gate: &mut Gate) {
        match (self, header) {
            (Self::Int, _) if header.has_int() => gate.control.on_records(now, packets.int_stack(at)),
            (Self::Rates(request), _) => request.on_answer(now, header, gate),
            (Self::Counts(numbering), Header::CountedAck(counters, _)) => numbering.on_answer(now, counters, gate),
            (Self::Channel(_), &Header::ProbeAck { sent, .. }) => channel::Channel::on_answer(now, sent, gate),
            (Self::Int | Self::Counts(_) | Self::Channel(_), _) => {
                unreachable!("a packet of another transport: {header:?}")
            }
        }
    }
}

/// Answer in the acknowledgements of a receiver.
#[derive(Clone, Debug)]
pub enum InbandEcho {
    Rates(rated::RateEcho),
    Int(int::IntEcho),
    Counts(counted::CountEcho),
}

impl InbandEcho {
    pub(crate) fn new(transport: &Transport, config: &ReceiverConfig) -> Option<Box<Self>> {
        match transport.leave {
            SendControl::AtRates => Some(Box::new(Self::Rates(rated::RateEcho::default()))),
            _ if config.has_int => Some(Box::new(Self::Int(int::IntEcho::default()))),
            _ => config.has_counts.then(|| Box::new(Self::Counts(counted::CountEcho::default()))),
        }
    }

    /// Records what a packet has collected. Returns the answer if it is a request without data. Slot `at` is already free, but valid until
    /// the next insertion.
    ///
    /// # Panics
    /// If the packet carries another kind of request.
    pub fn record(&mut self, at: u32, out: &mut PacketSink<'_>) -> Option<Responses> {
        match self {
            Self::Rates(echo) => {
                let header = *out.packets.header(at);
                echo.record(&header, out).err()
            }
            Self::Int(echo) => {
                echo.record(at, out.packets);
                None
            }
            Self::Counts(echo) => {
                if let Header::CountedData(number, _) = *out.packets.header(at) {
                    echo.record(number, out.packets[at].flags.ecn());
                }
                None
            }
        }
    }

    /// Adds the answer to acknowledgements that are about to leave.
    #[inline(never)]
    pub fn attach(&self, responses: Responses, packets: &mut Slab) {
        for at in responses.packets() {
            let header = packets.header_mut(at);
            match (self, *header) {
                (Self::Rates(echo), Header::TcpAck(ack)) => *header = Header::RatedAck(ack, echo.offered),
                (Self::Int(_), Header::TcpAck(ack)) => *header = Header::IntAck(ack),
                (Self::Int(_), _) => header.set_int(),
                (Self::Counts(echo), _) => echo.attach(header),
                (Self::Rates(_), _) => {}
            }
            if let Self::Int(echo) = self
                && packets.header(at).has_int()
            {
                echo.attach(at, packets);
            }
        }
    }
}
