//! What a flow has beside its reliability where ports tell rates: its data asks for one and says how long
//! the flow's round trip is, and acknowledgements attach back what the newest data was offered. A new rate moves the
//! packet that waits for its turn. While packets are more than a round trip apart, requests without payload go on
//! asking once a round trip, as rcp-host.cc has it, but no faster than the rate that the flow was offered: like all else it
//! sends, they keep to it. In rcp-host.cc they do not, and on a slow link with a short round trip those of many flows fill it.

use shallows_cc::units::{Bytes, Rate, Time};

use crate::host::transport::gate::Gate;
use crate::host::transport::{PacketSink, Responses};
use crate::packet::header::{Header, RateQuery, TcpData};
use crate::spec::network::MIN_FRAME;

/// Beside the sending half.
#[derive(Clone, Copy, Debug)]
pub struct RateRequester {
    /// The newest round trip, as stamps show it; zero before the first.
    rtt: Time,
    /// The shortest time between data and its answer: it is the sender's own, whatever stamps say.
    least_wait: Time,
    /// When something last asked.
    asked: Time,
    /// When data last left, and its length.
    left: Time,
    length: Bytes,
}

impl Default for RateRequester {
    fn default() -> Self {
        Self { rtt: Time::ZERO, least_wait: Time::MAX, asked: Time::ZERO, left: Time::ZERO, length: Bytes::ZERO }
    }
}

impl RateRequester {
    /// When the next request is due, if data does not leave before.
    pub fn due(&self, data: Time) -> Option<Time> {
        let of_data = data.saturating_sub(self.left).0 as f64;
        let spaced = if self.length > Bytes::ZERO { of_data * (MIN_FRAME / self.length) } else { 0.0 };
        let due = Time(self.asked.0.saturating_add(self.least_wait.0.max(spaced as u64)));
        (due < data).then_some(due)
    }

    /// Sends the request.
    pub fn request(&mut self, now: Time, out: &mut PacketSink<'_>) -> u32 {
        let query = self.ask(now);
        out.put(MIN_FRAME, Header::RateRequest { sent: now, query })
    }

    /// Data leaves, and asks.
    pub fn on_data(&mut self, now: Time, length: Bytes, header: &mut Header) {
        (self.left, self.length) = (now, length);
        if let Header::TcpData(data) = *header {
            *header = Header::RatedData(data, self.ask(now));
        }
    }

    fn ask(&mut self, now: Time) -> RateQuery {
        self.asked = now;
        RateQuery { rtt: self.rtt, offered: Rate::MAX }
    }

    /// The answer comes, to data or to a request.
    pub fn on_answer(&mut self, now: Time, header: &Header, gate: &mut Gate) {
        let (rtt, sent, offered) = match *header {
            Header::RatedAck(ack, offered) => (ack.round_trip(now), ack.sent, offered),
            Header::RateAnswer { sent, offered } => (now - sent, sent, offered),
            _ => unreachable!("a packet of another transport: {header:?}"),
        };
        self.rtt = rtt;
        self.least_wait = self.least_wait.min(now - sent);
        gate.control.on_offer(now, offered);
        gate.decide();
        gate.advance_pacing(self.left, self.length);
    }
}

/// Beside the receiving half: what the newest data was offered.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateEcho {
    pub offered: Rate,
}

impl RateEcho {
    /// Data came, or a request, which is answered at once.
    ///
    /// # Panics
    /// If it is a packet of another transport.
    pub fn record<'a>(&mut self, header: &'a Header, out: &mut PacketSink<'_>) -> Result<&'a TcpData, Responses> {
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
    fn a_request_goes_once_a_round_trip_where_data_waits_longer() {
        let us = Time::from_micros;
        let mut asking = RateRequester { least_wait: us(100), ..RateRequester::default() };
        asking.on_data(us(10), MTU, &mut DATA.clone());
        assert_eq!(asking.due(us(110)), None);
        assert_eq!(asking.due(us(500)), Some(us(110)));
        let mut packets = Slab::default();
        let at = asking.request(us(110), &mut PacketSink { packets: &mut packets, flow: 0, path: 1 });
        assert_eq!((packets[at].flags.kind(), packets[at].path), (PacketKind::RateRequest, 1));
        assert_eq!(packets.header(at).query().map(|query| query.offered), Some(Rate::MAX));
        assert_eq!(asking.due(us(500)), Some(us(210)));
    }

    /// Data of 1500 B every 12 ms is 1 Mbps: a request of 64 B takes 512 us of that, and leaves as often.
    #[test]
    fn requests_keep_to_the_flows_rate() {
        let us = Time::from_micros;
        let mut asking = RateRequester { least_wait: us(100), ..RateRequester::default() };
        asking.on_data(us(0), MTU, &mut DATA.clone());
        assert_eq!(asking.due(us(12_000)), Some(us(512)));
        asking.request(us(512), &mut PacketSink { packets: &mut Slab::default(), flow: 0, path: 0 });
        assert_eq!(asking.due(us(12_000)), Some(us(1024)));
    }

    #[test]
    fn the_answer_brings_the_least_offer_to_the_newest_data() {
        let (mut answering, mut packets) = (RateEcho::default(), Slab::default());
        let query = |gbps| RateQuery { rtt: Time::ZERO, offered: Rate::from_gbps(gbps) };
        let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
        let data = Header::RatedData(TcpData::default(), query(3));
        assert!(answering.record(&data, out).is_ok());
        assert_eq!(answering.offered, Rate::from_gbps(3));
        let request = Header::RateRequest { sent: Time(7), query: query(1) };
        let at = answering.record(&request, out).expect_err("it has no data").now().expect("it is answered");
        let Header::RateAnswer { sent, offered } = *packets.header(at) else { panic!("not answered") };
        assert_eq!((sent, offered, answering.offered), (Time(7), Rate::from_gbps(1), Rate::from_gbps(1)));
    }
}
