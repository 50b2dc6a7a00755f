//! The half that sends what is pulled.

use std::collections::{BTreeSet, VecDeque};

use shallows_cc::event::Ack;
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::gate::Gate;
use crate::host::transport::lazy_timer::{Backoff, LazyTimer};
use crate::host::transport::message::Message;
use crate::host::transport::{BlockedBy, PacketSink, Readiness, SenderConfig};
use crate::packet::header::{Header, PulledAnswer, PulledData};
use crate::spec::network::MIN_FRAME;

/// Where a packet is that has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// On its way, or answered by what is.
    Out,
    /// Known to be missing: it is to be sent again.
    Missing,
    /// At the receiver.
    There,
}

/// One flow at its sender.
#[derive(Debug)]
pub struct Sending {
    pub gate: Gate,
    message: Message,
    /// Everything below has arrived.
    base: u32,
    /// From there on: when it left last, and where it is.
    packets: VecDeque<(Time, State)>,
    missing: BTreeSet<u32>,
    out: u32,
    /// Packets that may leave unsolicited.
    unsolicited: u32,
    /// How many have been pulled, and how many of those calls have been followed.
    pulled: u32,
    followed: u32,
    /// PullPacer that what was sent should earn, less those that have come; what is lost or returned earns none.
    expected_pulls: i64,
    /// What left, in order; what has been heard of since is skipped.
    departures: VecDeque<(Time, u32)>,
    backoff: Backoff,
    /// When it last heard something.
    heard: Time,
    timer: LazyTimer,
    pub retransmits: u32,
    pub timeouts: u32,
}

impl Sending {
    pub fn new(opening: SenderConfig<'_>) -> Self {
        let backoff = Backoff::new(opening.first_timeout, opening.host.rto_max);
        let (gate, message) = (Gate::new(opening.control), Message::new(opening.bytes, opening.mss));
        let first = gate.window.0.div_ceil(opening.mss.0).clamp(1, u64::from(message.end));
        Self {
            gate,
            message,
            base: 0,
            packets: VecDeque::new(),
            missing: BTreeSet::new(),
            out: 0,
            unsolicited: first as u32,
            pulled: 0,
            followed: 0,
            expected_pulls: 0,
            departures: VecDeque::new(),
            backoff,
            heard: Time::ZERO,
            timer: LazyTimer::DISARMED,
            retransmits: 0,
            timeouts: 0,
        }
    }

    /// The number of the new packet that leaves next.
    fn next(&self) -> u32 {
        self.base + self.packets.len() as u32
    }

    /// Whether it may send now.
    pub fn readiness(&mut self, _now: Time) -> Readiness {
        let has_data = !self.missing.is_empty() || self.next() < self.message.end;
        let may = self.pulled > self.followed || self.unsolicited > 0 || self.expected_pulls <= 0;
        if has_data && may { Readiness::Ready } else { Readiness::Blocked(BlockedBy::Answer) }
    }

    /// Sends the packet whose turn it is: what is missing before what is new.
    #[inline(always)]
    pub fn send(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        if self.pulled > self.followed {
            self.followed += 1;
        } else {
            self.unsolicited = self.unsolicited.saturating_sub(1);
        }
        let seq = if let Some(seq) = self.missing.pop_first() {
            self.retransmits += 1;
            self.packets[(seq - self.base) as usize] = (now, State::Out);
            seq
        } else {
            self.packets.push_back((now, State::Out));
            self.next() - 1
        };
        self.out += 1;
        self.expected_pulls += 1;
        self.departures.push_back((now, seq));
        let length = (self.message.payload(seq) + header).max(MIN_FRAME);
        out.put_trimmed(length, Header::PulledData(PulledData { sent: now, seq }))
    }

    /// An answer to a packet, a pull, or a header that comes back.
    pub fn on_packet(&mut self, now: Time, header: &Header) {
        self.heard = now;
        match *header {
            Header::PulledAck(answer) => {
                self.on_ack(now, &answer);
                self.on_pull(answer.pulled);
            }
            Header::PulledNack(answer) => {
                self.miss(answer.sent, answer.seq);
                self.on_pull(answer.pulled);
            }
            Header::PulledData(PulledData { sent, seq }) => {
                if self.miss(sent, seq) {
                    self.expected_pulls -= 1;
                }
            }
            Header::Pull { number, .. } => self.on_pull(number),
            _ => unreachable!("a packet of another transport: {header:?}"),
        }
    }

    /// So many have been pulled in all.
    fn on_pull(&mut self, number: u32) {
        self.expected_pulls -= i64::from(number.saturating_sub(self.pulled));
        self.pulled = self.pulled.max(number);
    }

    fn on_ack(&mut self, now: Time, answer: &PulledAnswer) {
        self.backoff.reset();
        let Some(place) = answer.seq.checked_sub(self.base) else { return };
        let before = std::mem::replace(&mut self.packets[place as usize].1, State::There);
        match before {
            State::There => return,
            State::Out => self.out -= 1,
            State::Missing => {
                self.missing.remove(&answer.seq);
            }
        }
        while let Some((_, State::There)) = self.packets.front() {
            self.packets.pop_front();
            self.base += 1;
        }
        let ack = Ack {
            sent_at: answer.sent,
            rtt: (now - answer.sent).max(Time(1)),
            one_way_delay: answer.delay,
            samples: 1,
            acked: self.message.payload(answer.seq),
            in_flight: self.message.mss * u64::from(self.out),
            recovering: !self.missing.is_empty(),
            ..Ack::default()
        };
        self.gate.on_ack(now, &ack);
    }

    /// The packet that left then is missing; whether that is news.
    fn miss(&mut self, sent: Time, seq: u32) -> bool {
        self.backoff.reset();
        self.is_out(sent, seq) && {
            self.set_missing(seq);
            true
        }
    }

    /// Whether nothing has been heard of this packet since it left then.
    fn is_out(&self, sent: Time, seq: u32) -> bool {
        let place = seq.checked_sub(self.base).map(|place| place as usize);
        place.and_then(|place| self.packets.get(place)) == Some(&(sent, State::Out))
    }

    fn set_missing(&mut self, seq: u32) {
        self.packets[(seq - self.base) as usize].1 = State::Missing;
        self.missing.insert(seq);
        self.out -= 1;
    }

    /// What left first, of what nothing has been heard of.
    fn oldest(&mut self) -> Option<(Time, u32)> {
        while let Some(&(sent, seq)) = self.departures.front() {
            if self.is_out(sent, seq) {
                return Some((sent, seq));
            }
            self.departures.pop_front();
        }
        None
    }

    fn deadline(&mut self) -> Time {
        // What was heard may have made it less patient.
        self.oldest().map_or(Time::MAX, |(sent, _)| (sent + self.backoff.current()).max(self.heard))
    }

    /// The time to look again at the timer, if no timer comes in time.
    pub fn arm_timer(&mut self) -> Option<Time> {
        let deadline = self.deadline();
        self.timer.set(deadline)
    }

    /// When its algorithm has newly asked to be pulled.
    #[inline]
    pub fn newly_asked(&mut self) -> Option<Time> {
        self.gate.newly_asked()
    }

    /// The world's timer ran out: everything that has been out for so long is sent again.
    pub fn on_timer(&mut self, now: Time) {
        self.timer.ran_out(now);
        let patience = self.backoff.current();
        let mut lost = 0;
        while let Some((_, seq)) = self.oldest().filter(|&(sent, _)| sent + patience <= now) {
            self.set_missing(seq);
            lost += 1;
        }
        if lost > 0 {
            self.timeouts += 1;
            self.backoff.fail();
            self.unsolicited += lost;
            self.expected_pulls -= i64::from(lost);
        }
    }

    /// Sends nothing new from now on.
    pub fn stop(&mut self) {
        self.message.cut(self.next());
    }

    /// What it sends next of what is new, and what is in flight.
    pub fn reached(&self) -> (u32, Option<u32>) {
        (self.next(), Some(self.out))
    }

    /// Whether everything was acknowledged.
    pub fn done(&self) -> bool {
        self.base == self.message.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Slab;
    use crate::spec::network::Network;
    use shallows_cc::catalog;
    use shallows_cc::parameter::Values;
    use shallows_cc::sender::Path;
    use shallows_cc::units::Rate;

    const MSS: Bytes = Bytes(1460);
    const US: fn(u64) -> Time = Time::from_micros;

    /// A first window of two packets, timeouts of 10 ms at first.
    fn sending(packets: u64) -> Sending {
        let (host, row) = (Network::bare().host, catalog::find("ndp").expect("a row"));
        let mut values = Values::defaults(row.parameters);
        values.set("window", 2.0).expect("a parameter");
        let (line_rate, base_rtt) = (Rate::from_gbps(10), US(10));
        let path = Path { mss: MSS, initial_window: MSS, line_rate, base_rtt, seed: 1, ..Path::default() };
        Sending::new(SenderConfig {
            bytes: MSS * packets,
            mss: MSS,
            ecn: false,
            has_int: false,
            host: &host,
            first_timeout: host.rto_initial,
            control: (row.sender)(&values, &path),
        })
    }

    /// The numbers of all that it sends now.
    fn sends(sending: &mut Sending, now: Time) -> Vec<u32> {
        let mut packets = Slab::default();
        let mut sent = Vec::new();
        while sending.readiness(now) == Readiness::Ready {
            let at = sending.send(now, Bytes(40), &mut PacketSink { packets: &mut packets, flow: 0, path: 0 });
            let Header::PulledData(data) = *packets.header(at) else { panic!("no data") };
            sent.push(data.seq);
        }
        sent
    }

    fn answer(seq: u32, sent: Time, pulled: u32) -> PulledAnswer {
        PulledAnswer { sent, seq, pulled, ..PulledAnswer::default() }
    }

    #[test]
    fn a_first_window_leaves_uncalled_then_a_packet_a_pull_what_is_missing_first() {
        let mut flow = sending(6);
        assert_eq!(sends(&mut flow, US(0)), [0, 1]);
        flow.on_packet(US(10), &Header::PulledNack(answer(0, US(0), 0)));
        assert_eq!(sends(&mut flow, US(10)), []);
        flow.on_packet(US(11), &Header::Pull { left: US(5), number: 1 });
        assert_eq!(sends(&mut flow, US(11)), [0]);
        flow.on_packet(US(12), &Header::PulledAck(answer(1, US(0), 1)));
        // The second was lost: the third says that three were pulled in all.
        flow.on_packet(US(20), &Header::Pull { left: US(14), number: 3 });
        assert_eq!(sends(&mut flow, US(20)), [2, 3]);
        assert_eq!((flow.retransmits, flow.reached()), (1, (4, Some(3))));
    }

    #[test]
    fn what_comes_back_waits_for_a_pull_unless_none_is_to_be_expected() {
        let mut flow = sending(2);
        sends(&mut flow, US(0));
        let back = |seq| Header::PulledData(PulledData { sent: US(0), seq });
        flow.on_packet(US(10), &back(1));
        assert_eq!(sends(&mut flow, US(10)), []);
        flow.on_packet(US(11), &back(0));
        // One leaves at once, and is to earn a pull for the other.
        assert_eq!(sends(&mut flow, US(11)), [0]);
        // It is no news that comes a second time.
        flow.on_packet(US(12), &back(0));
        assert_eq!(sends(&mut flow, US(12)), []);
    }

    #[test]
    fn what_nobody_answers_leaves_again_uncalled() {
        let mut flow = sending(2);
        sends(&mut flow, US(0));
        assert_eq!(flow.arm_timer(), Some(Time::from_millis(10)));
        flow.on_timer(Time::from_millis(10));
        assert_eq!(sends(&mut flow, Time::from_millis(10)), [0, 1]);
        assert_eq!((flow.timeouts, flow.retransmits), (1, 2));
        assert_eq!(flow.arm_timer(), Some(Time::from_millis(30)));
        flow.on_packet(Time::from_millis(11), &Header::PulledAck(answer(1, Time::from_millis(10), 0)));
        assert!(!flow.done());
        flow.on_packet(Time::from_millis(11), &Header::PulledAck(answer(0, Time::from_millis(10), 0)));
        assert!(flow.done());
    }
}
