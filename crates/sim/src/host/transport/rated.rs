//! Explicit rates: data asks the ports on its path for a rate and announces the round-trip time of its flow; acknowledgements
//! return the rate that the newest data was offered. A new rate also moves the departure of the next packet.
//!
//! If data packets are more than a round trip apart, the sender adds one request without payload per round trip, as
//! rcp-host.cc does. Unlike there, requests do not exceed the flow's rate: otherwise the requests of many flows fill a slow
//! link with a short round trip.

use shallows_cc::units::{Bytes, Rate, Time};

use crate::host::transport::gate::Gate;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::status::Responses;
use crate::packet::header::{Header, RateQuery, TcpData};
use crate::spec::network::MIN_FRAME;

/// Rate requests of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateRequester {
    /// Newest round-trip time, as timestamps show it; zero before the first sample.
    rtt: Time,
    /// Shortest time between a packet and its answer, by the sender's own clock.
    min_rtt: Time,
    /// When the newest request left.
    requested: Time,
    /// Departure time and length of the newest data packet.
    left: Time,
    length: Bytes,
}

impl Default for RateRequester {
    fn default() -> Self {
        Self { rtt: Time::ZERO, min_rtt: Time::MAX, requested: Time::ZERO, left: Time::ZERO, length: Bytes::ZERO }
    }
}

impl RateRequester {
    /// Returns the time of the next separate request, if it is before the next `data`.
    pub fn due(&self, data: Time) -> Option<Time> {
        let gap = data.saturating_sub(self.left).0 as f64;
        let spaced = if self.length > Bytes::ZERO { gap * (MIN_FRAME / self.length) } else { 0.0 };
        let due = Time(self.requested.0.saturating_add(self.min_rtt.0.max(spaced as u64)));
        (due < data).then_some(due)
    }

    /// Creates a request without data, and returns its index.
    pub(crate) fn request(&mut self, now: Time, out: &mut PacketSink<'_>) -> u32 {
        let query = self.query(now);
        out.put(MIN_FRAME, Header::RateRequest { sent: now, query })
    }

    /// Adds a request to a data packet.
    pub fn on_data(&mut self, now: Time, length: Bytes, header: &mut Header) {
        (self.left, self.length) = (now, length);
        if let Header::TcpData(data) = *header {
            *header = Header::RatedData(data, self.query(now));
        }
    }

    fn query(&mut self, now: Time) -> RateQuery {
        self.requested = now;
        RateQuery { rtt: self.rtt, offered: Rate::MAX }
    }

    /// Handles the answer to data or to a separate request.
    pub(crate) fn on_answer(&mut self, now: Time, header: &Header, gate: &mut Gate) {
        let (rtt, sent, offered) = match *header {
            Header::RatedAck(ack, offered) => (ack.round_trip(now), ack.sent, offered),
            Header::RateAnswer { sent, offered } => (now - sent, sent, offered),
            _ => unreachable!("a packet of another transport: {header:?}"),
        };
        self.rtt = rtt;
        self.min_rtt = self.min_rtt.min(now - sent);
        gate.control.on_offer(now, offered);
        gate.decide();
        gate.advance_pacing(self.left, self.length);
    }
}

/// Rate that the newest packet at a receiver was offered.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateEcho {
    pub offered: Rate,
}

impl RateEcho {
    /// Records the offered rate, and returns the data. A request without data is answered at once.
    ///
    /// # Panics
    /// If the packet belongs to another transport.
    pub(crate) fn record<'a>(
        &mut self,
        header: &'a Header,
        out: &mut PacketSink<'_>,
    ) -> Result<&'a TcpData, Responses> {
        match header {
            Header::RatedData(data, query) => {
                self.offered = query.offered;
                Ok(data)
            }
            &Header::RateRequest { sent, query } => {
                self.offered = query.offered;
                let answer = Header::RateAnswer { sent, offered: query.offered };
                Err(Responses::new(None, Some(out.put(MIN_FRAME, answer))))
            }
            header => unreachable!("a packet of another transport: {header:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{PacketKind, Slab};

    const MTU: Bytes = Bytes(1500);
    const DATA: Header =
        Header::TcpData(TcpData { sent: Time::ZERO, heard: Time::ZERO, seq: 0, window_reduced: false });

    #[test]
    fn a_request_leaves_once_a_round_trip_if_data_waits_longer() {
        let us = Time::from_micros;
        let mut requester = RateRequester { min_rtt: us(100), ..RateRequester::default() };
        requester.on_data(us(10), MTU, &mut DATA.clone());
        assert_eq!(requester.due(us(110)), None);
        assert_eq!(requester.due(us(500)), Some(us(110)));
        let mut packets = Slab::default();
        let at = requester.request(us(110), &mut PacketSink { packets: &mut packets, flow: 0, path: 1 });
        assert_eq!((packets[at].flags.kind(), packets[at].path), (PacketKind::RateRequest, 1));
        assert_eq!(packets.header(at).query().map(|query| query.offered), Some(Rate::MAX));
        assert_eq!(requester.due(us(500)), Some(us(210)));
    }

    /// Data packets of 1500 B every 12 ms are 1 Mbps, at which a request of 64 B takes 512 us.
    #[test]
    fn requests_do_not_exceed_the_rate_of_the_flow() {
        let us = Time::from_micros;
        let mut requester = RateRequester { min_rtt: us(100), ..RateRequester::default() };
        requester.on_data(us(0), MTU, &mut DATA.clone());
        assert_eq!(requester.due(us(12_000)), Some(us(512)));
        requester.request(us(512), &mut PacketSink { packets: &mut Slab::default(), flow: 0, path: 0 });
        assert_eq!(requester.due(us(12_000)), Some(us(1024)));
    }

    #[test]
    fn the_answer_carries_the_offer_to_the_newest_data() {
        let (mut echo, mut packets) = (RateEcho::default(), Slab::default());
        let query = |gbps| RateQuery { rtt: Time::ZERO, offered: Rate::from_gbps(gbps) };
        let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
        let data = Header::RatedData(TcpData::default(), query(3));
        assert!(echo.record(&data, out).is_ok());
        assert_eq!(echo.offered, Rate::from_gbps(3));
        let request = Header::RateRequest { sent: Time(7), query: query(1) };
        let at = echo.record(&request, out).expect_err("a request has no data").now().expect("an answer");
        let Header::RateAnswer { sent, offered } = *packets.header(at) else { panic!("no answer") };
        assert_eq!((sent, offered, echo.offered), (Time(7), Rate::from_gbps(1), Rate::from_gbps(1)));
    }
}
