//! A connection over one path: the sender and the receiver of a flow with selective acknowledgements, between them a policer, a link with
//! a queue, and a way back. A test changes each of them at a time or in a state of the algorithm.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use shallows_cc::event::{Ack, Loss, LostPacket};
use shallows_cc::parameter::Values;
use shallows_cc::sender::bbr3::law::{Law, State};
use shallows_cc::sender::bbr3::{Bbr3, PARAMETERS};
use shallows_cc::sender::{Decision, Path, Sender};
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::flow::Flow;
use crate::host::transport::inflow::Inflow;
use crate::host::transport::selective::{Selective, SelectiveFeedback};
use crate::host::transport::{PacketSink, Readiness, ReceiverConfig, SenderConfig};
use crate::packet::header::{Header, TcpAck, TcpData};
use crate::packet::{Flags, Slab};
use crate::spec::network::{HostSpec, LossDetection, Network, Supply};

/// A packet, without headers: `C.SMSS`.
pub const PACKET: f64 = 1500.0;
const SMSS: Bytes = Bytes(1500);

/// The algorithm, at which the test looks, and how often losses were taken back.
#[derive(Clone, Debug)]
struct Watched(Arc<Mutex<(Bbr3, u64)>>);

impl Watched {
    fn with<T>(&self, act: impl FnOnce(&mut Bbr3) -> T) -> T {
        act(&mut self.0.lock().expect("no poison").0)
    }
}

impl Sender for Watched {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.with(|bbr| bbr.on_ack(now, ack));
    }
    fn on_loss(&mut self, now: Time, loss: &Loss) {
        self.with(|bbr| bbr.on_loss(now, loss));
    }
    fn samples_delivery(&self) -> bool {
        self.with(|bbr| bbr.samples_delivery())
    }
    fn on_packet_lost(&mut self, now: Time, lost: &LostPacket) {
        self.with(|bbr| bbr.on_packet_lost(now, lost));
    }
    fn on_spurious_loss(&mut self, now: Time) {
        self.0.lock().expect("no poison").1 += 1;
        self.with(|bbr| bbr.on_spurious_loss(now));
    }
    fn on_restart(&mut self, now: Time) {
        self.with(|bbr| bbr.on_restart(now));
    }
    fn decision(&self) -> Decision {
        self.with(|bbr| bbr.decision())
    }
}

/// Set-up of a case.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Rate of the link, Mb/s.
    pub mbps: f64,
    /// Round trip without the time of a packet at the link, s.
    pub rtt: f64,
    /// Space behind the packet in transmission, in packets.
    pub buffer: f64,
    /// Quanta in the offload budget.
    pub quanta: f64,
}

impl Setup {
    /// 100 Mb/s and 40 ms, with a queue of so many bandwidth-delay products.
    pub const fn with_buffer(bdps: f64) -> Self {
        Self { mbps: 100.0, rtt: 0.04, buffer: bdps * 100e6 * 0.04 / 8.0 / PACKET, quanta: 1.0 }
    }

    /// Bandwidth-delay product, in packets.
    pub fn bdp(&self) -> f64 {
        self.mbps * 1e6 * self.rtt / 8.0 / PACKET
    }
}

/// What happens at a time.
enum Event {
    /// The link has sent a packet.
    Served,
    /// A packet arrives.
    Data(TcpData),
    /// An acknowledgement arrives.
    Ack(TcpAck),
    /// The pace lets a packet leave.
    Pace,
    /// A timer of the sender.
    Timer,
    /// The application writes a packet.
    Write,
}

/// A change of the state with an acknowledgement.
#[derive(Clone, Debug)]
pub struct Transition {
    /// When, s.
    pub at: f64,
    /// From which state.
    pub from: State,
    /// The algorithm afterwards.
    pub law: Law,
    /// Packets in flight afterwards.
    pub in_flight: f64,
}

/// A token bucket that drops what does not conform.
#[derive(Clone, Copy, Debug)]
pub struct Policer {
    /// Rate, B/s.
    pub rate: f64,
    /// Size of the bucket, B.
    pub bucket: f64,
    tokens: f64,
    at: f64,
}

impl Policer {
    /// A policer with a full bucket.
    pub const fn new(mbps: f64, bucket: f64) -> Self {
        Self { rate: mbps * 1e6 / 8.0, bucket, tokens: bucket, at: 0.0 }
    }

    fn passes(&mut self, now: f64) -> bool {
        self.tokens = (self.tokens + self.rate * (now - self.at)).min(self.bucket);
        self.at = now;
        let passes = self.tokens >= PACKET;
        self.tokens -= if passes { PACKET } else { 0.0 };
        passes
    }
}

/// The connection.
pub struct Connection {
    sender: Flow<Selective>,
    receiver: Inflow<SelectiveFeedback>,
    watched: Watched,
    events: BTreeMap<(Time, u64), Event>,
    number: u64,
    now: Time,
    queue: VecDeque<TcpData>,
    /// Rate of the link, Mb/s.
    pub mbps: f64,
    /// Space in the queue, in packets.
    pub buffer: f64,
    /// Round trip without the time of a packet, s.
    pub rtt: f64,
    /// A policer before the link.
    pub policer: Option<Policer>,
    /// Each n-th packet is lost when it is sent for the first time.
    pub loses: Option<u64>,
    /// Each third of so many packets comes late by a time, s.
    pub late: (u64, f64),
    /// Nothing arrives before this time, s.
    pub closed_until: f64,
    /// Acknowledgements arrive together each time, s.
    pub together: Option<f64>,
    /// Rate of the application, Mb/s; none if it has all data, 0 if it pauses.
    application: Option<f64>,
    written: u64,
    /// The number after the newest packet.
    newest: u32,
    /// Packets that entered the path, and those lost on it.
    pub entered: u64,
    pub lost: u64,
    /// Changes of the state.
    pub transitions: Vec<Transition>,
    /// The event with which the pace lets the next packet leave.
    paced: (Time, u64),
}

impl Connection {
    /// A connection that begins now.
    pub fn new(setup: Setup) -> Self {
        let host = HostSpec {
            rto_min: Time::from_millis(200),
            rto_initial: Time::from_secs_whole(1),
            rto_max: Time::from_secs_whole(60),
            loss_detection: LossDetection::Rack,
            ..Network::bare().host
        };
        let path = Path { mss: SMSS, frame: SMSS, initial_window: SMSS * 10, seed: 1, ..Path::default() };
        let mut values = Values::defaults(PARAMETERS);
        values.set("offload_quanta", setup.quanta).expect("a parameter");
        let watched = Watched(Arc::new(Mutex::new((Bbr3::new(&values, &path), 0))));
        let packets = u64::from(u32::MAX) / 2;
        let config = SenderConfig::sample(&host, (packets, SMSS), Box::new(watched.clone()));
        let receiver = ReceiverConfig::sample(SMSS * packets, SMSS);
        let mut connection = Self {
            sender: Flow::new(Selective::new(&config, 3), config),
            receiver: Inflow::new(receiver, SelectiveFeedback::new),
            watched,
            events: BTreeMap::new(),
            number: 0,
            now: Time::ZERO,
            queue: VecDeque::new(),
            mbps: setup.mbps,
            buffer: setup.buffer,
            rtt: setup.rtt,
            policer: None,
            loses: None,
            late: (0, 0.0),
            closed_until: 0.0,
            together: None,
            application: None,
            written: 0,
            newest: 0,
            entered: 0,
            lost: 0,
            transitions: Vec::new(),
            paced: (Time::ZERO, 0),
        };
        connection.plan(Time::ZERO, Event::Pace);
        connection
    }

    /// The time, s.
    pub fn now(&self) -> f64 {
        self.now.as_secs()
    }

    /// The algorithm.
    pub fn law(&self) -> Law {
        self.watched.with(|bbr| bbr.law.clone())
    }

    /// Changes the algorithm.
    pub fn change(&self, act: impl FnOnce(&mut Law)) {
        self.watched.with(|bbr| act(&mut bbr.law));
    }

    fn state(&self) -> State {
        self.watched.with(|bbr| bbr.law.state)
    }

    /// Packets in flight.
    pub fn in_flight(&self) -> f64 {
        f64::from(self.sender.progress().1.expect("a count"))
    }

    /// Bytes that have arrived.
    pub fn delivered(&self) -> f64 {
        self.receiver.intake.reassembly.delivered as f64
    }

    /// How often losses were taken back.
    pub fn undone(&self) -> u64 {
        self.watched.0.lock().expect("no poison").1
    }

    /// Timeouts of the sender.
    pub fn timeouts(&self) -> u64 {
        self.sender.common.repairs.timeouts
    }

    /// Gives the application another rate, Mb/s: none is all data, 0 a pause.
    pub fn write_at(&mut self, mbps: Option<f64>) {
        self.application = mbps;
        self.written = u64::from(self.sender.progress().0);
        self.sender.write(if mbps.is_none() { Supply::Everything } else { Supply::Nothing });
        self.events.retain(|_, event| !matches!(event, Event::Write));
        match mbps {
            None => self.plan(self.now, Event::Pace),
            Some(mbps) if mbps > 0.0 => self.plan_write(mbps),
            Some(_) => {}
        }
    }

    fn plan_write(&mut self, mbps: f64) {
        let gap = Time::from_secs(PACKET * 8.0 / (mbps * 1e6));
        self.plan(self.now + gap, Event::Write);
    }

    fn plan(&mut self, at: Time, event: Event) {
        self.number += 1;
        self.events.insert((at, self.number), event);
    }

    /// Advances to a time, s.
    pub fn advance_to(&mut self, until: f64) {
        let until = Time::from_secs(until);
        while self.events.first_key_value().is_some_and(|(&(at, _), _)| at <= until) {
            self.step();
        }
        self.now = until;
    }

    /// Advances until something holds, which it does before a time, s.
    pub fn advance_until(&mut self, limit: f64, holds: impl Fn(&Self) -> bool) {
        while !holds(self) {
            assert!(self.now() < limit, "at {limit} s it still does not hold, in {:?}", self.law());
            self.step();
        }
    }

    /// Advances until the algorithm is in a state, or in it again; returns the transition.
    pub fn advance_into(&mut self, state: State, limit: f64) -> Transition {
        let before = self.transitions.len();
        self.advance_until(limit, |connection| {
            connection.transitions[before..].iter().any(|transition| transition.law.state == state)
        });
        self.transitions.last().cloned().expect("a transition")
    }

    /// Advances until the algorithm leaves its state; returns the transition.
    pub fn advance_out(&mut self, limit: f64) -> Transition {
        let before = self.transitions.len();
        self.advance_until(limit, |connection| connection.transitions.len() > before);
        self.transitions.last().cloned().expect("a transition")
    }

    fn step(&mut self) {
        let ((at, _), event) = self.events.pop_first().expect("an event");
        self.now = at;
        match event {
            Event::Served => self.on_served(),
            Event::Data(data) => self.on_data(&data),
            Event::Ack(ack) => self.on_ack(&ack),
            Event::Pace => {}
            Event::Timer => _ = self.sender.on_timer(at),
            Event::Write => {
                self.written += 1;
                self.sender.write(Supply::First(SMSS * self.written));
                self.application.into_iter().for_each(|mbps| self.plan_write(mbps));
            }
        }
        // Acknowledgements that arrive together are one to the sender.
        let goes_on = matches!(self.events.first_key_value(), Some((&(next, _), Event::Ack(_))) if next == at);
        if !goes_on {
            self.send();
        }
    }

    /// Lets leave what may, and sets the timers.
    fn send(&mut self) {
        loop {
            match self.sender.readiness(self.now) {
                Readiness::Ready => {
                    let mut packets = Slab::default();
                    let at = self.sender.send(
                        self.now,
                        Bytes::ZERO,
                        &mut PacketSink { packets: &mut packets, flow: 0, path: 0 },
                    );
                    let Header::TcpData(data) = *packets.header(at) else { panic!("no data") };
                    self.enter(data);
                }
                Readiness::At(time) => {
                    self.events.remove(&self.paced);
                    self.plan(time, Event::Pace);
                    self.paced = (time, self.number);
                    break;
                }
                _ => break,
            }
        }
        if let Some(at) = self.sender.arm_timer() {
            self.plan(at.max(self.now), Event::Timer);
        }
    }

    /// A packet enters the path.
    fn enter(&mut self, data: TcpData) {
        self.entered += 1;
        let (now, is_new) = (self.now(), data.seq >= self.newest);
        self.newest = self.newest.max(data.seq + 1);
        let is_lost = self.loses.is_some_and(|each| is_new && u64::from(data.seq).is_multiple_of(each))
            || self.policer.as_mut().is_some_and(|policer| !policer.passes(now))
            || self.queue.len() as f64 > self.buffer;
        if is_lost {
            self.lost += 1;
            return;
        }
        self.queue.push_back(data);
        if self.queue.len() == 1 {
            self.serve();
        }
    }

    fn serve(&mut self) {
        let took = Time::from_secs(PACKET * 8.0 / (self.mbps * 1e6));
        self.plan(self.now + took, Event::Served);
    }

    fn on_served(&mut self) {
        let data = self.queue.pop_front().expect("a packet in transmission");
        if !self.queue.is_empty() {
            self.serve();
        }
        let mut at = self.now() + self.rtt / 2.0;
        if self.late.0 > 0 {
            self.late.0 -= 1;
            at += if self.late.0.is_multiple_of(3) { self.late.1 } else { 0.0 };
        }
        self.plan(Time::from_secs(at.max(self.closed_until)), Event::Data(data));
    }

    fn on_data(&mut self, data: &TcpData) {
        let mut packets = Slab::default();
        let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
        let at = out.put_data(SMSS, shallows_cc::port::Ecn::NotEct, Header::TcpData(*data));
        let responses = self.receiver.on_packet(self.now, (at, Flags::default()), None, out);
        let Some(answer) = responses.now() else { return };
        let Header::TcpAck(ack) = *packets.header(answer) else { panic!("no acknowledgement") };
        let arrival = self.now() + self.rtt / 2.0;
        let arrival = self.together.map_or(arrival, |each| (arrival / each).ceil() * each);
        self.plan(Time::from_secs(arrival), Event::Ack(ack));
    }

    fn on_ack(&mut self, ack: &TcpAck) {
        let from = self.state();
        self.sender.on_ack(self.now, ack);
        if self.state() != from {
            let (at, law, in_flight) = (self.now(), self.law(), self.in_flight());
            self.transitions.push(Transition { at, from, law, in_flight });
        }
    }
}
