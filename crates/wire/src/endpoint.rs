//! One end of a flow over a real network: its domain owns one of the two hosts of a network without switches.
//!
//! Both domains run on the time of the sender. A handshake of some probes measures the base round trip and the offset between the
//! clocks: the receiver's clock is set so that the fastest probe took as long there as back. A packet leaves when its frame begins to
//! leave the NIC port of its domain, and arrives at the kernel's receive stamp.

use std::io;
use std::net::SocketAddrV4;
use std::sync::atomic::Ordering;

use shallows_cc::port::Ecn;
use shallows_cc::units::Time;
use shallows_sim::{FlowReport, Network, PacketKind, RealTimeDomain, Transit};

use crate::check::{Rejections, check, check_algorithms};
use crate::control::{Control, MAX_ROUND_TRIP_NS, Totals};
use crate::emulation::Progress;
use crate::header::{decode, encode};
use crate::mac::Key;
use crate::sys::{BATCH, Inbox, Outbox, Socket, now_ns, prioritise_thread, stamp_offset_ns};

/// Probes of the handshake, and the time between two.
const PROBES: u64 = 16;
const PROBE_NS: u64 = 5_000_000;
/// A peer that is silent for so long is gone.
const SILENCE_NS: u64 = 2_500_000_000;
/// A peer that is silent for so long in the handshake, or has not begun to send after so long, is dropped. Senders that wait for their
/// turn ask for two seconds.
const SILENCE_BEFORE_NS: u64 = 1_500_000_000;
const HANDSHAKE_NS: u64 = 5_000_000_000;
/// Time between two signs of life.
const ALIVE_NS: u64 = 500_000_000;
/// The longest wait, so that a stop is noticed.
const NAP_NS: u64 = 1_000_000;
/// Time from the start to the first packet.
const PAUSE_NS: u64 = 20_000_000;
/// How often, and how far apart, an end is announced until the other end answers; less often where the user has ended the run.
const ENDINGS: u32 = 20;
const HURRIED_ENDINGS: u32 = 8;
const ENDING_NS: u64 = 50_000_000;
/// Time between two rows of the receiver's series.
pub const INTERVAL: Time = Time::from_millis(100);
/// The most rows: an hour.
const MAX_ROWS: usize = 36_000;
/// Length of IPv4 and UDP headers.
const IP_UDP: usize = 28;
/// The largest error of the alignment of the clocks.
const CLOCK_ERROR: Time = Time::from_millis(1);
/// DSCP of credits: expedited forwarding (RFC 3246), which a switch can meter.
const CREDIT_DSCP: u8 = 46;

/// The peer, and what both ends know.
#[derive(Debug)]
pub struct Session {
    /// A bound socket.
    pub socket: Socket,
    /// The address of the other end.
    pub peer: SocketAddrV4,
    /// The key of all datagrams.
    pub key: Key,
}

/// An interval of the receiver's series.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    /// End of the interval.
    pub time: Time,
    /// Payload, bytes.
    pub bytes: u64,
    /// Data packets.
    pub packets: u64,
    /// Those of them that were marked.
    pub marked: u64,
    /// Mean one-way delay of the packets.
    pub delay: Time,
}

/// What an end has seen.
#[derive(Debug)]
pub struct Seen {
    /// The flow, as this end knows it.
    pub flow: FlowReport,
    /// Duration of the run.
    pub ended: Time,
    /// The round trip of the handshake.
    pub base_rtt: Time,
    /// The receiver's totals; at the sender none if the receiver has not answered.
    pub totals: Option<Totals>,
    /// The receiver's series.
    pub rows: Vec<Row>,
    /// Datagrams sent and received.
    pub datagrams: (u64, u64),
    /// Datagrams that changed nothing.
    pub rejections: Rejections,
    /// Datagrams that the kernel refused to send.
    pub dropped: u64,
    /// Whether the other end fell silent.
    pub lost_peer: bool,
}

/// Sends the one flow of a network of two hosts; its ports get half of the measured round trip as delay.
///
/// # Errors
/// An invalid network, an error of the socket, or a peer that does not answer.
pub fn send(session: Session, network: Network, progress: &Progress) -> Result<Seen, String> {
    prioritise_thread();
    let mut line = Line::new(session, progress).map_err(text)?;
    let (round_trip, offset) = line.measure_path().map_err(text)?;
    let origin = now_ns() + PAUSE_NS;
    let start = Control::Start(round_trip, origin.wrapping_add_signed(offset));
    line.ask(&start, |answer| (answer == Control::Ready).then_some(())).map_err(text)?;
    Endpoint::new(line, network, 0, Time::from_nanos(round_trip), origin)?.run().map_err(text)
}

/// Receives the one flow of a network of two hosts.
///
/// # Errors
/// See [`send`].
pub fn receive(session: Session, network: Network, progress: &Progress) -> Result<Seen, String> {
    prioritise_thread();
    let mut line = Line::new(session, progress).map_err(text)?;
    let (round_trip, origin) = line.answer_probes().map_err(text)?;
    Endpoint::new(line, network, 1, Time::from_nanos(round_trip), origin)?.run().map_err(text)
}

fn text(error: io::Error) -> String {
    format!("the other end: {error}")
}

/// A socket with its buffers, and when the peer was last heard.
struct Line<'a> {
    session: Session,
    progress: &'a Progress,
    inbox: Inbox,
    outbox: Outbox,
    /// The type of service of datagrams in the outbox.
    type_of_service: u8,
    stamp_offset: i64,
    heard: u64,
    sent: u64,
    received: u64,
    /// Datagrams that the kernel refused to send.
    dropped: u64,
}

impl<'a> Line<'a> {
    fn new(session: Session, progress: &'a Progress) -> io::Result<Self> {
        session.socket.ask_for_stamps()?;
        session.socket.set_type_of_service(0)?;
        Ok(Self {
            session,
            progress,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            type_of_service: 0,
            stamp_offset: stamp_offset_ns(),
            heard: now_ns(),
            sent: 0,
            received: 0,
            dropped: 0,
        })
    }

    /// The buffer of one more datagram of this type of service.
    fn add(&mut self, type_of_service: u8) -> io::Result<&mut Vec<u8>> {
        if type_of_service != self.type_of_service {
            self.flush();
            self.session.socket.set_type_of_service(type_of_service)?;
            self.type_of_service = type_of_service;
        }
        self.sent += 1;
        Ok(self.outbox.add(Some(self.session.peer)))
    }

    /// Sends what waits. What the kernel refuses is lost, as on the way: a peer that hears nothing falls silent.
    fn flush(&mut self) {
        self.dropped += self.outbox.send_or_drop(&self.session.socket).1;
    }

    fn tell(&mut self, control: Control) -> io::Result<()> {
        let key = self.session.key;
        control.encode(&key, self.add(0)?);
        self.flush();
        Ok(())
    }

    /// True if the user has ended the run.
    fn stops(&self) -> bool {
        self.progress.stop.load(Ordering::Relaxed)
    }

    /// An error if the user has ended the run before its start.
    fn goes_on(&self) -> io::Result<()> {
        if self.stops() { Err(io::Error::new(io::ErrorKind::Interrupted, "ended before the start")) } else { Ok(()) }
    }

    /// Reads what has come: control datagrams of the peer, with their arrival by this machine's clock; others are passed to `data` with
    /// their arrival and ECN field.
    fn read(&mut self, mut data: impl FnMut(&mut [u8], u64, Ecn)) -> io::Result<Vec<(Control, u64)>> {
        let mut controls = Vec::new();
        loop {
            let count = self.inbox.read(&self.session.socket)?;
            let now = now_ns();
            for datagram in self.inbox.datagrams().filter(|datagram| datagram.from == self.session.peer) {
                let stamp =
                    datagram.stamp_ns.map_or(now, |stamp| stamp.wrapping_add_signed(-self.stamp_offset).min(now));
                self.received += 1;
                match Control::decode(&self.session.key, datagram.bytes) {
                    Some(control) => {
                        self.heard = now;
                        controls.push((control, stamp));
                    }
                    None => data(datagram.bytes, stamp, Ecn::from_bits(datagram.type_of_service)),
                }
            }
            if count < BATCH {
                return Ok(controls);
            }
        }
    }

    fn is_silent(&self) -> bool {
        self.silent_ns() > SILENCE_NS
    }

    /// Time since the peer was heard, ns.
    fn silent_ns(&self) -> u64 {
        now_ns() - self.heard
    }

    /// Sends a control datagram until an answer is accepted.
    fn ask<T>(&mut self, control: &Control, accept: impl Fn(Control) -> Option<T>) -> io::Result<T> {
        self.heard = now_ns();
        while !self.is_silent() {
            self.goes_on()?;
            self.tell(*control)?;
            let until = now_ns() + ENDING_NS;
            while now_ns() < until {
                self.session.socket.wait(until - now_ns().min(until));
                let answers = self.read(|_, _, _| {})?;
                if let Some(answer) = answers.into_iter().find_map(|(answer, _)| accept(answer)) {
                    return Ok(answer);
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "no answer"))
    }

    /// The shortest round trip, ns, and the peer's clock minus this one's, if that probe took as long there as back.
    fn measure_path(&mut self) -> io::Result<(u64, i64)> {
        let mut best: Option<(u64, i64)> = None;
        let mut left = Vec::new();
        self.heard = now_ns();
        for number in 0..PROBES {
            self.goes_on()?;
            left.push(now_ns());
            self.tell(Control::Probe(number, left[number as usize]))?;
            let until = now_ns() + PROBE_NS;
            while now_ns() < until {
                self.session.socket.wait(until - now_ns().min(until));
                for (control, back) in self.read(|_, _, _| {})? {
                    let Control::Echo(number, _, arrived, answered) = control else { continue };
                    let Some(left) = usize::try_from(number).ok().and_then(|number| left.get(number)) else { continue };
                    // RFC 5905 §8: the time at the receiver is no part of the round trip.
                    let round_trip = back.saturating_sub(*left).saturating_sub(answered.saturating_sub(arrived)).max(1);
                    let there = arrived.wrapping_sub(*left).cast_signed();
                    let offset = there.wrapping_sub((round_trip / 2).cast_signed());
                    if round_trip <= MAX_ROUND_TRIP_NS && best.is_none_or(|(shortest, _)| round_trip < shortest) {
                        best = Some((round_trip, offset));
                    }
                }
            }
        }
        best.ok_or_else(|| io::Error::new(io::ErrorKind::TimedOut, "no answer to any probe"))
    }

    /// Answers probes until the start, whose numbers it returns.
    fn answer_probes(&mut self) -> io::Result<(u64, u64)> {
        let until = now_ns() + HANDSHAKE_NS;
        while self.silent_ns() < SILENCE_BEFORE_NS && now_ns() < until {
            self.goes_on()?;
            self.session.socket.wait(NAP_NS);
            for (control, stamp) in self.read(|_, _, _| {})? {
                if let Control::Probe(number, left) = control {
                    self.tell(Control::Echo(number, left, stamp, now_ns()))?;
                }
                if let Some(start) = control.start(now_ns()) {
                    self.tell(Control::Ready)?;
                    return Ok(start);
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "silent before the start"))
    }
}

/// A running end.
struct Endpoint<'a> {
    line: Line<'a>,
    domain: RealTimeDomain,
    number: u32,
    base_rtt: Time,
    /// Time zero by this machine's clock, ns.
    origin: u64,
    rejections: Rejections,
    totals: Totals,
    delay_sum: u128,
    rows: Vec<Row>,
    /// The present interval, with the sum of its delays.
    row: Row,
    told: u64,
    peer_totals: Option<Totals>,
    peer_ended: bool,
}

impl<'a> Endpoint<'a> {
    fn new(line: Line<'a>, mut network: Network, number: u32, base_rtt: Time, origin: u64) -> Result<Self, String> {
        check_algorithms(&network)?;
        network.ports.iter_mut().for_each(|port| port.delay = Time(base_rtt.0 / 2));
        let parts = RealTimeDomain::divide(network, &[0, 1])?;
        let domain = parts.into_iter().nth(number as usize).ok_or("topology: expected two hosts")?;
        Ok(Self {
            line,
            domain,
            number,
            base_rtt,
            origin,
            rejections: Rejections::default(),
            totals: Totals { delay_min: u64::MAX, ..Totals::default() },
            delay_sum: 0,
            rows: Vec::new(),
            row: Row { time: INTERVAL, ..Row::default() },
            told: 0,
            peer_totals: None,
            peer_ended: false,
        })
    }

    fn now(&self) -> Time {
        Time::from_nanos(now_ns().saturating_sub(self.origin))
    }

    fn run(mut self) -> io::Result<Seen> {
        let progress = self.line.progress;
        while !self.domain.is_over() && !self.has_ended() && !self.line.stops() && !self.line.is_silent() {
            self.turn()?;
            let (hops, finished) = self.domain.progress();
            progress.now_ps.store(self.domain.now().0, Ordering::Relaxed);
            progress.hops.store(hops, Ordering::Relaxed);
            progress.finished.store(finished, Ordering::Relaxed);
            self.wait();
        }
        let ended = self.now();
        if self.number == 0 {
            self.end()?;
        }
        let totals = if self.number == 0 { self.peer_totals } else { Some(self.tell_totals()?) };
        Ok(Seen {
            flow: self.domain.report(0),
            ended,
            base_rtt: self.base_rtt,
            totals,
            rows: std::mem::take(&mut self.rows),
            datagrams: (self.line.sent, self.line.received),
            rejections: self.rejections,
            dropped: self.line.dropped,
            lost_peer: self.line.is_silent(),
        })
    }

    /// Whether the sender knows that everything has arrived, or has told that it ends.
    fn has_ended(&self) -> bool {
        if self.number == 0 { self.domain.now() > Time::ZERO && self.domain.sent(0).is_none() } else { self.peer_ended }
    }

    fn turn(&mut self) -> io::Result<()> {
        let mut data = Vec::new();
        let controls = self.line.read(|bytes, stamp, ecn| data.push((bytes.to_vec(), stamp, ecn)))?;
        for (bytes, stamp, ecn) in data {
            self.take(bytes, stamp, ecn);
        }
        for (control, _) in controls {
            self.on_control(control)?;
        }
        let now = self.now();
        self.domain.advance(now);
        let mut leaving = Vec::new();
        self.domain.depart(|_, transit| leaving.push(transit));
        for transit in leaving {
            self.transmit(&transit)?;
        }
        self.line.flush();
        if now_ns() - self.told > ALIVE_NS {
            self.told = now_ns();
            self.line.tell(Control::Alive)?;
        }
        self.close_rows(now);
        Ok(())
    }

    /// Gives a packet to the domain, unless the checks reject it. It arrives at its stamp.
    fn take(&mut self, mut bytes: Vec<u8>, stamp: u64, ecn: Ecn) {
        let arrives = Time::from_nanos(stamp.saturating_sub(self.origin));
        let now = self.now();
        let checked = decode(&self.line.session.key, &mut bytes).and_then(|mut datagram| {
            // Clocks are aligned to within some microseconds, so a fast packet may seem to arrive before it left.
            let latest = datagram.header.tcp_ack().map_or(Time::ZERO, |ack| ack.left).max(datagram.header.stamp());
            datagram.packet.arrives = arrives.max(latest.min(arrives + CLOCK_ERROR));
            datagram.packet.flags = datagram.packet.flags.with_ecn(ecn);
            check(datagram, now + CLOCK_ERROR, &self.domain)
        });
        match checked {
            Err(why) => self.rejections.count(why),
            Ok(transit) => {
                self.line.heard = now_ns();
                self.count(&transit);
                self.domain.arrive(transit);
            }
        }
    }

    /// Counts a data packet.
    fn count(&mut self, transit: &Transit) {
        let kind = transit.packet.flags.kind();
        if kind != PacketKind::Data {
            return;
        }
        let delay = (transit.packet.arrives - transit.header.stamp()).0 / 1000;
        let marked = u64::from(transit.packet.flags.is_ce());
        self.delay_sum += u128::from(delay);
        let totals = &mut self.totals;
        (totals.packets, totals.marked) = (totals.packets + 1, totals.marked + marked);
        (totals.delay_min, totals.delay_max) = (totals.delay_min.min(delay), totals.delay_max.max(delay));
        (self.row.packets, self.row.marked) = (self.row.packets + 1, self.row.marked + marked);
        self.row.delay += Time::from_nanos(delay);
    }

    fn on_control(&mut self, control: Control) -> io::Result<()> {
        match control {
            // The answer to the start was lost.
            Control::Start(..) if self.number == 1 => self.line.tell(Control::Ready),
            Control::End if self.number == 1 => {
                self.peer_ended = true;
                Ok(())
            }
            Control::Totals(totals) if self.number == 0 && totals.is_possible(self.line.sent) => {
                self.peer_totals = Some(totals);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Sends a packet as a datagram of the length of its frame.
    fn transmit(&mut self, transit: &Transit) -> io::Result<()> {
        let Transit { packet, header, int_stack, .. } = transit;
        let dscp = if packet.flags.is(PacketKind::Credit) { CREDIT_DSCP } else { 0 };
        let key = self.line.session.key;
        let out = self.line.add(dscp << 2 | packet.flags.ecn() as u8)?;
        encode(&key, packet, header, int_stack, out);
        let length = usize::from(packet.length).saturating_sub(IP_UDP).max(out.len());
        out.resize(length, 0);
        Ok(())
    }

    /// Ends the rows of the series up to now.
    fn close_rows(&mut self, now: Time) {
        while self.number == 1 && now >= self.row.time {
            let (delivered, _) = self.domain.received(0);
            let next = Row { time: self.row.time + INTERVAL, ..Row::default() };
            let mut row = std::mem::replace(&mut self.row, next);
            row.bytes = delivered - self.totals.delivered;
            self.totals.delivered = delivered;
            row.delay = Time(row.delay.0 / row.packets.max(1));
            if self.rows.len() < MAX_ROWS {
                self.rows.push(row);
            }
        }
    }

    fn totals(&mut self) -> Totals {
        let report = self.domain.report(0);
        let mean = (self.delay_sum / u128::from(self.totals.packets.max(1))) as u64;
        Totals {
            delivered: self.domain.received(0).0,
            delay_min: if self.totals.packets > 0 { self.totals.delay_min } else { 0 },
            delay_mean: mean,
            reordering: report.reordering.into(),
            rejected: self.rejections.total(),
            ..self.totals
        }
    }

    /// Tells the sender the totals, also if it asks once more because they were lost.
    fn tell_totals(&mut self) -> io::Result<Totals> {
        let totals = self.totals();
        self.line.tell(Control::Totals(totals))?;
        let until = now_ns() + 3 * ENDING_NS;
        while now_ns() < until {
            self.line.session.socket.wait(until - now_ns().min(until));
            if self.line.read(|_, _, _| {})?.iter().any(|(control, _)| *control == Control::End) {
                self.line.tell(Control::Totals(totals))?;
            }
        }
        Ok(totals)
    }

    /// Announces the end until the receiver has told its totals.
    fn end(&mut self) -> io::Result<()> {
        for _ in 0..if self.line.stops() { HURRIED_ENDINGS } else { ENDINGS } {
            if self.peer_totals.is_some() || self.line.is_silent() {
                break;
            }
            self.line.tell(Control::End)?;
            let until = now_ns() + ENDING_NS;
            while now_ns() < until && self.peer_totals.is_none() {
                self.line.session.socket.wait(until - now_ns().min(until));
                for (control, _) in self.line.read(|_, _, _| {})? {
                    self.on_control(control)?;
                }
            }
        }
        Ok(())
    }

    /// Waits for a datagram or the next event.
    fn wait(&self) {
        let next = (self.domain.next().0 / 1000).saturating_add(self.origin);
        let wait = next.saturating_sub(now_ns()).min(NAP_NS);
        if wait > 0 {
            self.line.session.socket.wait(wait);
        }
    }
}
