//! The two halves of a flow: what its sender puts on the wire, and what its receiver answers.
//!
//! A catalog row names the transport that its algorithm runs over, and that its parts: a reliability ([`selective`],
//! [`go_back_n`]), and what lets a packet leave: window and pace of the algorithm ([`gate`]), rates that ports tell besides
//! ([`rated`]), or credits of the receiver ([`credit`]); and, by its marking, whether hops write records ([`has_int`]). A
//! reliability is a folder or a file with a `Sending` and a `Receiving`; to add one, write it, name it in
//! [`shallows_cc::catalog::Reliability`] and give it a line in the two enums below. The simulation knows only what they
//! share: when a flow may send and what, which packets came, which timers are wanted.

use shallows_cc::catalog::{Reliability, SendControl, Transport};
use shallows_cc::port::Ecn;
use shallows_cc::receiver::{Credits, Receiver};
use shallows_cc::rng::Rng;
use shallows_cc::sender::Sender;
use shallows_cc::units::{Bytes, Time};

use crate::host::stats::RttStats;
use crate::host::timestamps::TimestampModel;
use crate::packet::header::{Header, PulledAnswer, RoceAnswer, RoceData, TcpAck};
use crate::packet::{Flags, NIL, Packet, PacketKind, Slab};
use crate::spec::network::Supply;
use crate::spec::network::{HostSpec, MIN_FRAME};

mod credit;
mod gate;
mod go_back_n;
mod inband;
mod int;
mod lazy_timer;
mod message;
mod pulled;
mod rated;
mod selective;

use gate::Gate;
use inband::{InbandEcho, InbandRequest};
use message::Message;

/// Whether a flow may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Not before it hears something.
    Blocked(BlockedBy),
    /// Now.
    Ready,
    /// Its pace lets it at this time.
    At(Time),
    /// Its host takes its time over a credit.
    HostBusy {
        /// When it is done with it,
        until: Time,
        /// and when the credit came.
        arrived: Time,
    },
}

/// What a flow lacks that may not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedBy {
    /// Room in the window of its algorithm: so much.
    Window(Bytes),
    /// In that of its receiver.
    Receiver(Bytes),
    /// Data: its application pauses.
    Application,
    /// An answer: a credit, a rate, or word of what it has sent.
    Answer,
}

/// Which flow, and between whom; and where the packets of one of its halves go.
#[derive(Clone, Copy, Debug)]
pub struct FlowEndpoint {
    pub flow: u32,
    pub src: u32,
    pub dst: u32,
    /// The port of the half's own host.
    pub port: u32,
    /// What its packets begin their way with ([`crate::fabric::route::Routes::first_hop`]).
    pub path: u32,
}

/// What a sending half is made from.
#[derive(Debug)]
pub struct SenderConfig<'a> {
    pub bytes: Bytes,
    pub mss: Bytes,
    pub ecn: bool,
    /// Whether hops write records into its data.
    pub has_int: bool,
    pub host: &'a HostSpec,
    /// How long it waits for an answer before it has a sample of its own.
    pub first_timeout: Time,
    pub control: Box<dyn Sender>,
}

/// What a receiving half is made from.
#[derive(Debug)]
pub struct ReceiverConfig {
    pub bytes: Bytes,
    pub mss: Bytes,
    pub ack_delay: Time,
    /// How long it hears nothing before it says something again, and the most of that.
    pub patience: (Time, Time),
    pub notification: Box<dyn Receiver>,
    /// Whether hops write records into its data.
    pub has_int: bool,
    /// What stamps show, where they are not ideal.
    pub measure: Option<Box<TimestampModel>>,
    /// What hands out credits, where those are what the flow waits for, and its draws.
    pub credits: Option<(Box<dyn Credits>, Rng)>,
}

/// Where a half of a flow puts the packets that it sends: here they get their flow, the way to the other half, and a place.
#[derive(Debug)]
pub struct PacketSink<'a> {
    pub packets: &'a mut Slab,
    pub flow: u32,
    pub path: u32,
}

impl<'a> PacketSink<'a> {
    /// Of the half of a flow that has these ends.
    #[inline]
    fn of(ends: FlowEndpoint, packets: &'a mut Slab) -> Self {
        Self { packets, flow: ends.flow, path: ends.path }
    }

    /// The same, for a while.
    #[inline]
    fn again(&mut self) -> PacketSink<'_> {
        PacketSink { packets: self.packets, flow: self.flow, path: self.path }
    }

    /// A frame without payload, or one that may not be marked; its place.
    #[inline]
    pub fn put(&mut self, length: Bytes, header: Header) -> u32 {
        debug_assert!(length >= MIN_FRAME, "domains run apart by the time of the smallest frame");
        self.put_data(length, false, header)
    }

    /// A frame of data that ports may cut to its header; its place.
    pub fn put_trimmed(&mut self, length: Bytes, header: Header) -> u32 {
        let at = self.put_data(length, false, header);
        let packet = &mut self.packets[at];
        packet.flags = packet.flags.with(Flags::TRIMS, true);
        at
    }

    /// A frame of data, marked rather than dropped where it is `ecn`-capable; its place.
    #[inline]
    pub fn put_data(&mut self, length: Bytes, ecn: bool, header: Header) -> u32 {
        self.packets.insert(
            Packet {
                path: self.path,
                ..Packet::new(self.flow, length, if ecn { Ecn::Ect0 } else { Ecn::NotEct }, &header)
            },
            header,
        )
    }
}

/// How a flow stands at its sender after something has happened to it.
#[derive(Clone, Copy, Debug)]
pub struct SendStatus {
    /// Whether it may send; none while it has a place in its NIC's turn, which will ask.
    pub readiness: Option<Readiness>,
    /// When to look again at its retransmission timer, if no timer is set that comes in time.
    pub timeout: Option<Time>,
    /// When its algorithm has newly asked to be called.
    pub wake: Option<Time>,
}

/// The places of what a receiver sends because of a packet or a timer, in this order.
#[derive(Clone, Copy, Debug)]
pub struct Responses {
    /// About what came before, [`NIL`] where there is none.
    earlier: u32,
    /// About what came now.
    now: u32,
}

impl Responses {
    /// It sends nothing.
    pub const NONE: Self = Self { earlier: NIL, now: NIL };

    /// What it sends about what came before, and about what came now.
    #[inline]
    pub fn new(earlier: Option<u32>, now: Option<u32>) -> Self {
        Self { earlier: earlier.unwrap_or(NIL), now: now.unwrap_or(NIL) }
    }

    /// The second of these.
    #[inline]
    pub fn now(self) -> Option<u32> {
        Some(self.now).filter(|&place| place != NIL)
    }

    /// All places.
    #[inline]
    pub fn places(self) -> impl Iterator<Item = u32> {
        [self.earlier, self.now].into_iter().filter(|&place| place != NIL)
    }
}

/// What follows from a packet or a timer at a receiver.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverEvent {
    pub responses: Responses,
    /// When to call [`Receiving::on_timer`], if the world does not know it yet.
    pub timer: Option<Time>,
    /// Whether every byte is there.
    pub complete: bool,
}

/// One flow at its sender.
#[derive(Debug)]
pub struct Sending {
    pub ends: FlowEndpoint,
    /// Whether it has a place in its NIC's turn.
    pub queued: bool,
    /// Whether it goes before other flows.
    pub priority: bool,
    /// When the world will look at its pace again; [`Time::MAX`] is never.
    pub pace_timer: Time,
    request: Option<Box<InbandRequest>>,
    half: SendingHalf,
}

#[derive(Debug)]
// A tag of its own, not the spare values of a field, tells halves apart in one comparison; below as well.
#[repr(u8)]
enum SendingHalf {
    Selective(selective::Sending),
    GoBackN(go_back_n::Sending),
    Credit(credit::Sending),
    Pulled(pulled::Sending),
}

/// One flow at its receiver.
#[derive(Debug)]
pub struct Receiving {
    pub ends: FlowEndpoint,
    echo: Option<Box<InbandEcho>>,
    half: ReceivingHalf,
}

#[derive(Debug)]
#[repr(u8)]
enum ReceivingHalf {
    Selective(selective::Receiving),
    GoBackN(go_back_n::Receiving),
    Credit(credit::Receiving),
    Pulled(pulled::Receiving),
}

/// The same call on whichever half it is.
macro_rules! on {
    ($halves:ident, $half:expr, $it:ident => $call:expr) => {
        match $half {
            $halves::Selective($it) => $call,
            $halves::GoBackN($it) => $call,
            $halves::Credit($it) => $call,
            $halves::Pulled($it) => $call,
        }
    };
}

/// How the flow of a sending half stands, `queued` in its NIC's turn or not: all that is asked of it at once.
macro_rules! status {
    ($half:ident, $now:expr, queued: $queued:expr, unless done) => {
        if $half.done() { None } else { Some(status!($half, $now, queued: $queued)) }
    };
    ($half:ident, $now:expr, queued: $queued:expr) => {
        SendStatus {
            readiness: if $queued { None } else { Some($half.readiness($now)) },
            timeout: $half.arm_timer(),
            wake: $half.newly_asked(),
        }
    };
}

impl Sending {
    pub fn new(transport: &Transport, now: Time, ends: FlowEndpoint, opening: SenderConfig<'_>) -> Self {
        let request = InbandRequest::of(transport, opening.has_int);
        let half = match (transport.leave, transport.reliability) {
            (SendControl::OnCredits, _) => SendingHalf::Credit(credit::Sending::new(opening, now)),
            (SendControl::OnPulls, _) | (_, Reliability::Unordered) => {
                SendingHalf::Pulled(pulled::Sending::new(opening))
            }
            (_, Reliability::Selective { dup_thresh }) => {
                SendingHalf::Selective(selective::Sending::new(opening, dup_thresh))
            }
            (_, Reliability::GoBackN) => SendingHalf::GoBackN(go_back_n::Sending::new(opening)),
        };
        Self { ends, queued: false, priority: false, pace_timer: Time::MAX, request, half }
    }

    /// Whether it may send now.
    #[inline]
    pub fn readiness(&mut self, now: Time) -> Readiness {
        on!(SendingHalf, &mut self.half, half => half.readiness(now))
    }

    /// When it is to ask for a rate by a request, where its next data leaves later than that.
    pub fn request_due(&self, data: Time) -> Option<Time> {
        if let Some(InbandRequest::Rates(request)) = self.request.as_deref() { request.due(data) } else { None }
    }

    /// Sends that request.
    pub fn request(&mut self, now: Time, packets: &mut Slab) -> Option<u32> {
        let out = &mut PacketSink::of(self.ends, packets);
        if let Some(InbandRequest::Rates(request)) = self.request.as_deref_mut() {
            Some(request.request(now, out))
        } else {
            None
        }
    }

    /// Sends the packet whose turn it is: its place, and how the flow stands then; `header` is the length of what is not payload.
    #[inline(always)]
    pub fn send(&mut self, now: Time, header: Bytes, packets: &mut Slab) -> (u32, SendStatus) {
        let ends = self.ends;
        let (at, status) = on!(SendingHalf, &mut self.half, half => {
            let at = half.send(now, header, &mut PacketSink::of(ends, packets));
            (at, status!(half, now, queued: false))
        });
        if let Some(request) = &mut self.request {
            request.on_data(now, at, packets);
        }
        (at, status)
    }

    /// Something came back: an acknowledgement, a notification. It lay `at` this place, where it can still be read. How the flow
    /// stands then; none if its receiver has everything and it knows.
    ///
    /// # Panics
    /// If it is a packet of another transport.
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, at: u32, packets: &Slab) -> Option<SendStatus> {
        let (header, queued) = (packets.header(at), self.queued);
        match &mut self.half {
            SendingHalf::Selective(half) => {
                if let Header::TcpAck(ack) = header {
                    half.on_ack(now, ack);
                } else {
                    let request = self.request.as_mut().expect("only a flow that asks ports hears of them");
                    half.on_answer(now, (at, packets), request);
                }
                status!(half, now, queued: queued, unless done)
            }
            SendingHalf::GoBackN(half) => {
                half.on_packet(now, header);
                status!(half, now, queued: queued, unless done)
            }
            SendingHalf::Credit(half) => {
                half.on_packet(now, header);
                status!(half, now, queued: queued, unless done)
            }
            SendingHalf::Pulled(half) => {
                half.on_packet(now, header);
                status!(half, now, queued: queued, unless done)
            }
        }
    }

    /// How the flow stands now.
    pub fn status(&mut self, now: Time) -> SendStatus {
        on!(SendingHalf, &mut self.half, half => status!(half, now, queued: self.queued))
    }

    /// The gate of a flow that has an algorithm at its sender.
    #[inline]
    fn gate(&self) -> Option<&Gate> {
        match &self.half {
            SendingHalf::Selective(half) => Some(&half.gate),
            SendingHalf::GoBackN(half) => Some(&half.gate),
            SendingHalf::Pulled(half) => Some(&half.gate),
            SendingHalf::Credit(_) => None,
        }
    }

    fn gate_mut(&mut self) -> Option<&mut Gate> {
        match &mut self.half {
            SendingHalf::Selective(half) => Some(&mut half.gate),
            SendingHalf::GoBackN(half) => Some(&mut half.gate),
            SendingHalf::Pulled(half) => Some(&mut half.gate),
            SendingHalf::Credit(_) => None,
        }
    }

    /// What its window allows in flight, where it has one.
    #[inline]
    pub fn window(&self) -> Option<Bytes> {
        self.gate().map(|gate| gate.window)
    }

    /// Whether what it sends goes through the pacer of its host.
    pub fn goes_through_pacer(&self, now: Time) -> bool {
        self.gate().is_some_and(|gate| gate.control.goes_through_pacer(now))
    }

    /// Whether its algorithm has asked to be called at this time.
    pub fn wakes_at(&self, now: Time) -> bool {
        self.gate().is_some_and(|gate| gate.wake == now)
    }

    /// That time has come.
    pub fn on_wake(&mut self, now: Time) {
        if let Some(gate) = self.gate_mut() {
            gate.on_wake(now);
        }
    }

    /// The time to look again at the retransmission timer has come.
    pub fn on_timer(&mut self, now: Time) {
        on!(SendingHalf, &mut self.half, half => half.on_timer(now));
    }

    /// Its application pauses, or goes on.
    ///
    /// # Panics
    /// If it waits for credits or pulls, which [`crate::spec::network::Network::check`] refuses.
    pub fn supply(&mut self, supply: Supply) {
        match &mut self.half {
            SendingHalf::Selective(half) => half.supply(supply),
            SendingHalf::GoBackN(half) => half.supply(supply),
            SendingHalf::Credit(_) | SendingHalf::Pulled(_) => unreachable!("a flow that is called does not pause"),
        }
    }

    /// Whether its application will write more.
    pub fn pauses(&self) -> bool {
        match &self.half {
            SendingHalf::Selective(half) => half.pauses(),
            SendingHalf::GoBackN(half) => half.pauses(),
            SendingHalf::Credit(_) | SendingHalf::Pulled(_) => false,
        }
    }

    /// Sends nothing new from now on.
    pub fn stop(&mut self, now: Time) {
        match &mut self.half {
            SendingHalf::Selective(half) => half.stop(),
            SendingHalf::GoBackN(half) => half.stop(),
            SendingHalf::Credit(half) => half.stop(now),
            SendingHalf::Pulled(half) => half.stop(),
        }
    }

    /// Whether its receiver has everything and it knows.
    #[inline]
    pub fn done(&self) -> bool {
        on!(SendingHalf, &self.half, half => half.done())
    }

    /// Packets sent again, and how often it gave up waiting.
    pub fn repairs(&self) -> (u32, u32) {
        on!(SendingHalf, &self.half, half => (half.retransmits, half.timeouts))
    }

    /// The number of the new data that it sends next, and the packets that it takes to be in flight, where it counts them.
    pub fn reached(&self) -> (u32, Option<u32>) {
        on!(SendingHalf, &self.half, half => half.reached())
    }

    /// Credits that came and found nothing to send.
    pub fn wasted(&self) -> u64 {
        if let SendingHalf::Credit(half) = &self.half { half.wasted } else { 0 }
    }

    /// Its smoothed round trips, where its transport has them.
    pub fn smoothed(&self) -> RttStats {
        if let SendingHalf::Selective(half) = &self.half { half.smoothed() } else { RttStats::NOTHING }
    }

    /// Internals worth plotting; `since` is the span since they were last read.
    pub fn probe(&mut self, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        match &mut self.half {
            SendingHalf::Selective(half) => {
                // The window of a flow that asks for rates only says whether it has heard one.
                if !matches!(self.request.as_deref(), Some(InbandRequest::Rates(_))) {
                    record("window_pkt", half.window());
                }
                half.gate.probe(since, record);
            }
            SendingHalf::GoBackN(half) => half.gate.probe(since, record),
            SendingHalf::Pulled(half) => half.gate.probe(since, record),
            SendingHalf::Credit(half) => half.probe(since, record),
        }
    }
}

/// What follows from what a receiving half has just answered.
macro_rules! reaction {
    ($half:ident, $now:ident, $responses:ident) => {
        ReceiverEvent { responses: $responses, timer: $half.arm_timer($now), complete: $half.complete() }
    };
}

impl Receiving {
    pub fn new(transport: &Transport, ends: FlowEndpoint, expecting: ReceiverConfig) -> Self {
        let echo = InbandEcho::of(transport, expecting.has_int);
        let half = match (transport.leave, transport.reliability) {
            (SendControl::OnCredits, _) => ReceivingHalf::Credit(credit::Receiving::new(expecting)),
            (SendControl::OnPulls, _) | (_, Reliability::Unordered) => {
                ReceivingHalf::Pulled(pulled::Receiving::new(expecting))
            }
            (_, Reliability::Selective { .. }) => ReceivingHalf::Selective(selective::Receiving::new(expecting)),
            (_, Reliability::GoBackN) => ReceivingHalf::GoBackN(go_back_n::Receiving::new(expecting)),
        };
        Self { ends, echo, half }
    }

    /// A packet with these flags came from the sender. It lay `at` this place, where it can still be read.
    ///
    /// # Panics
    /// If it is one of another transport.
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, at: u32, flags: Flags, packets: &mut Slab) -> ReceiverEvent {
        let (ends, marked) = (self.ends, flags.is_ce());
        match (&mut self.half, packets.header(at)) {
            (ReceivingHalf::Selective(half), header) => {
                let responses = match *header {
                    Header::TcpData(data) => half.on_data(now, &data, marked, &mut PacketSink::of(ends, packets)),
                    _ => {
                        let echo = self.echo.as_mut().expect("only a flow that asks ports sends for them");
                        half.on_asking_data(now, (at, echo), marked, &mut PacketSink::of(ends, packets))
                    }
                };
                reaction!(half, now, responses)
            }
            (ReceivingHalf::GoBackN(half), &Header::RoceData(data)) => {
                let responses = half.on_data(now, &data, marked, &mut PacketSink::of(ends, packets));
                reaction!(half, now, responses)
            }
            (ReceivingHalf::Credit(half), &header) => {
                let responses = half.on_packet(now, &header, &mut PacketSink::of(ends, packets));
                reaction!(half, now, responses)
            }
            (ReceivingHalf::Pulled(half), &Header::PulledData(data)) => {
                let whole = flags.is(PacketKind::Data);
                let responses = half.on_data(now, &data, whole, &mut PacketSink::of(ends, packets));
                reaction!(half, now, responses)
            }
            (_, header) => unreachable!("a packet of another transport: {header:?}"),
        }
    }

    /// The time of [`ReceiverEvent::timer`] has come.
    #[inline(always)]
    pub fn on_timer(&mut self, now: Time, packets: &mut Slab) -> ReceiverEvent {
        let ends = self.ends;
        let reaction = on!(ReceivingHalf, &mut self.half, half => {
            let responses = half.on_timer(now, &mut PacketSink::of(ends, packets));
            reaction!(half, now, responses)
        });
        if let Some(echo) = &self.echo {
            echo.attach(reaction.responses, packets);
        }
        reaction
    }

    /// Whether every byte is there.
    fn complete(&self) -> bool {
        on!(ReceivingHalf, &self.half, half => half.complete())
    }

    /// Whether every byte is there and it ack_pending the sender nothing: what still comes is answered without it.
    pub fn may_close(&self) -> bool {
        self.complete() && !on!(ReceivingHalf, &self.half, half => half.ack_pending())
    }

    /// Whether it newly ack_pending pulls: its host gives it a turn.
    #[inline]
    pub fn takes_turn(&mut self) -> bool {
        if let ReceivingHalf::Pulled(half) = &mut self.half { half.takes_turn() } else { false }
    }

    /// It may call now, by the answer at this place.
    pub fn pull_with(&mut self, answer: u32, packets: &mut Slab) {
        if let ReceivingHalf::Pulled(half) = &mut self.half {
            half.pull_with(packets.header_mut(answer));
        }
    }

    /// Its turn has come: the pull, and whether it takes another turn. None if it ack_pending none any more.
    pub fn pull(&mut self, now: Time, packets: &mut Slab) -> Option<(u32, bool)> {
        let out = &mut PacketSink::of(self.ends, packets);
        if let ReceivingHalf::Pulled(half) = &mut self.half { half.pull(now, out) } else { None }
    }

    /// Credits handed out.
    pub fn granted(&self) -> u64 {
        if let ReceivingHalf::Credit(half) = &self.half { half.granted } else { 0 }
    }

    /// Internals worth plotting, where it is the receiver that decides.
    pub fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        if let ReceivingHalf::Credit(half) = &self.half {
            half.probe(record);
        }
    }

    /// Payload that is there, in whatever order it came.
    pub fn delivered(&self) -> u64 {
        on!(ReceivingHalf, &self.half, half => half.delivered)
    }
}

/// What a receiver that has closed answers to a packet of its flow, if anything: all `bytes` are there.
pub fn reply_after_close(now: Time, header: &Header, (bytes, mss): (Bytes, Bytes)) -> Option<(Bytes, Header)> {
    let cumulative = Message::new(bytes, mss).end;
    let tcp = |sent| TcpAck { sent, left: now, delay: now - sent, samples: 1, cumulative, ..TcpAck::default() };
    let header = match *header {
        Header::TcpData(data) | Header::IntData(data) => Header::TcpAck(tcp(data.sent)),
        Header::RatedData(data, query) => Header::RatedAck(tcp(data.sent), query.offered),
        Header::RateRequest { sent, query } => Header::RateAnswer { sent, offered: query.offered },
        Header::PulledData(data) => Header::PulledAck(PulledAnswer::to(&data, now, 0)),
        Header::RoceData(RoceData { sent, asks: true, .. }) => {
            Header::RoceAck(RoceAnswer { sent, delay: now - sent, held: 0, cumulative })
        }
        // A request too: what it is for has come meanwhile.
        Header::CreditStop { .. } | Header::CreditRequest { .. } => {
            return Some((credit::CONTROL_FRAME, Header::CreditAck { cumulative }));
        }
        _ => return None,
    };
    Some((MIN_FRAME, header))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::network::Network;
    use shallows_cc::catalog;
    use shallows_cc::parameter::Values;
    use shallows_cc::sender::Path;

    /// What comes again after the receiver has closed is answered from the packet alone, without what hops wrote.
    #[test]
    fn a_flow_whose_hops_write_records_hears_answers_without() {
        let (row, mss) = (catalog::find("hpcc").expect("a row"), Bytes(1460));
        let (host, ends) = (Network::bare().host, FlowEndpoint { flow: 0, src: 0, dst: 1, port: 0, path: 0 });
        let path = Path { mss, initial_window: mss * 10, base_rtt: Time::from_micros(10), ..Path::default() };
        let opening = SenderConfig {
            bytes: mss,
            mss,
            ecn: false,
            has_int: true,
            host: &host,
            first_timeout: host.rto_initial,
            control: (row.sender)(&Values::defaults(row.parameters), &path),
        };
        let mut sending = Sending::new(row.transport, Time::ZERO, ends, opening);
        let mut packets = Slab::default();
        let now = Time::from_micros(100);
        let (sent, _) = sending.send(now, Bytes(40), &mut packets);
        assert!(packets.header(sent).has_int());
        let (_, answer) = reply_after_close(now, packets.header(sent), (mss, mss)).expect("it is answered");
        let at = PacketSink::of(ends, &mut packets).put(MIN_FRAME, answer);
        assert!(sending.on_packet(now, at, &packets).is_none(), "all has come");
    }
}
