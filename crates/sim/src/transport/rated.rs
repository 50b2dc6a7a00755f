//! What a flow over the TCP-like transport has beside it where ports tell rates: its data asks for one and says how long
//! the flow's round trip is, and acknowledgements bring back what the newest data was offered. A new rate moves the
//! packet that waits for its turn. While packets are more than a round trip apart, requests without payload go on
//! asking once a round trip, or as often as half of the flow's rate allows: on a slow link with a short round trip the
//! requests of many flows alone would fill it.

use shallows_cc::units::{Bytes, Rate, Time};

use super::{Ends, Replies, tcp};
use crate::network::MIN_FRAME;
use crate::packet::{Flags, Packet, PacketKind};

/// The flow's rate is at least so many times that of its requests.
const TIMES_ITS_REQUESTS: f64 = 2.0;

/// Beside the sending half.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
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

impl Default for Asking {
    fn default() -> Self {
        Self { rtt: Time::ZERO, least_wait: Time::MAX, asked: Time::ZERO, left: Time::ZERO, length: Bytes::ZERO }
    }
}

impl Asking {
    /// When the next request is due, if data does not leave before.
    pub fn due(&self, data: Time) -> Option<Time> {
        let of_data = data.saturating_sub(self.left).0 as f64;
        let spaced =
            if self.length > Bytes::ZERO { of_data * (TIMES_ITS_REQUESTS * (MIN_FRAME / self.length)) } else { 0.0 };
        let due = Time(self.asked.0.saturating_add(self.least_wait.0.max(spaced as u64)));
        (due < data).then_some(due)
    }

    /// The request.
    pub fn request(&mut self, now: Time, ends: &Ends) -> Packet {
        let mut packet = word(now, PacketKind::RateRequest, ends, ends.dst);
        self.ask(now, &mut packet);
        packet
    }

    /// Data leaves, and asks.
    pub fn on_data(&mut self, now: Time, packet: &mut Packet) {
        (self.left, self.length) = (now, packet.bytes());
        self.ask(now, packet);
    }

    fn ask(&mut self, now: Time, packet: &mut Packet) {
        self.asked = now;
        packet.flags = packet.flags.with(Flags::ASKS, true);
        packet.held = self.rtt;
        packet.set_offered(Rate::MAX);
    }

    /// The answer comes.
    pub fn hear(&mut self, now: Time, packet: &Packet, half: &mut tcp::Sending) {
        self.rtt = packet.round_trip(now);
        self.least_wait = self.least_wait.min(now - packet.sent);
        half.on_offer(now, packet.offered());
        half.move_pace(self.left, self.length);
    }
}

/// Beside the receiving half: what the newest data was offered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answering {
    offered: Rate,
}

impl Answering {
    /// Data came, or a request, which is answered at once.
    pub fn hear(&mut self, packet: &Packet, ends: &Ends) -> Option<Replies> {
        self.offered = packet.offered();
        let requested = packet.flags.is(PacketKind::RateRequest);
        requested.then(|| {
            let answer = word(packet.sent, PacketKind::RateAnswer, ends, ends.src);
            let mut replies = Replies { earlier: None, now: Some(answer) };
            self.answer(&mut replies);
            replies
        })
    }

    /// What leaves brings the rate.
    pub fn answer(&self, replies: &mut Replies) {
        for packet in replies.earlier.iter_mut().chain(&mut replies.now) {
            packet.set_offered(self.offered);
        }
    }
}

/// What comes after all has been acknowledged brings back what it was offered.
pub fn late_answer(packet: &Packet, mut answer: Packet) -> Packet {
    if packet.flags.is(PacketKind::RateRequest) {
        answer.flags = Flags::of(PacketKind::RateAnswer);
    }
    answer.set_offered(packet.offered());
    answer
}

fn word(sent: Time, kind: PacketKind, ends: &Ends, to: u32) -> Packet {
    let flow = ends.flow;
    Packet { sent, flow, to, length: MIN_FRAME.0 as u16, flags: Flags::of(kind), ..Packet::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: Ends = Ends { flow: 0, src: 0, dst: 1 };

    #[test]
    fn a_request_goes_once_a_round_trip_where_data_waits_longer() {
        let us = Time::from_micros;
        let mut asking = Asking { least_wait: us(100), ..Asking::default() };
        asking.on_data(us(10), &mut Packet::default());
        assert_eq!(asking.due(us(110)), None);
        assert_eq!(asking.due(us(500)), Some(us(110)));
        let request = asking.request(us(110), &ENDS);
        assert_eq!((request.flags.kind(), request.to, request.offered()), (PacketKind::RateRequest, 1, Rate::MAX));
        assert_eq!(asking.due(us(500)), Some(us(210)));
    }

    /// Data of 1500 B every 12 ms is 1 Mbps: a request of 64 B takes 512 us of that, and leaves every 1.024 ms.
    #[test]
    fn requests_take_half_of_the_flows_rate_at_most() {
        let us = Time::from_micros;
        let mut asking = Asking { least_wait: us(100), ..Asking::default() };
        asking.on_data(us(0), &mut Packet { length: 1500, ..Packet::default() });
        assert_eq!(asking.due(us(12_000)), Some(us(1024)));
        asking.request(us(1024), &ENDS);
        assert_eq!(asking.due(us(12_000)), Some(us(2048)));
    }

    #[test]
    fn the_answer_brings_the_least_offer_to_the_newest_data() {
        let mut answering = Answering::default();
        let mut data = Packet::default();
        data.set_offered(Rate::from_gbps(3));
        assert!(answering.hear(&data, &ENDS).is_none());
        let mut replies = Replies { earlier: None, now: Some(Packet::default()) };
        answering.answer(&mut replies);
        assert_eq!(replies.now.unwrap().offered(), Rate::from_gbps(3));
        let mut request = Packet { flags: Flags::of(PacketKind::RateRequest), sent: Time(7), ..Packet::default() };
        request.set_offered(Rate::from_gbps(1));
        let answer = answering.hear(&request, &ENDS).unwrap().now.unwrap();
        assert_eq!((answer.to, answer.sent, answer.offered()), (0, Time(7), Rate::from_gbps(1)));
    }
}
