//! Writes down what made each packet of some flows leave when it did, and what was sent before it at every port: enough to
//! follow a flow's completion back to its start, picosecond by picosecond (docs/why.md has the tables).
//!
//! A packet leaves because of one thing that happened to its flow: the flow began, something was heard, a timer ran out, or
//! its own packet before it had left. What happened is a [`Cause`], and names what it goes back to: a packet, or the cause
//! before it. A flow that may send waits for its NIC; one that may not is blocked or paced, from a time and a cause on.

use shallows_cc::units::Time;

use super::{Hop, Kind, Observer, Timer, Turn};
use crate::clock::Clock;
use crate::fault::Change;
use crate::header::Header;
use crate::network::Network;
use crate::packet::{NIL, Packet, PacketKind};
use crate::port::admission::{Outcome, Reason};

/// Why a flow could send something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Why {
    /// The flow began.
    Began,
    /// `packet` came.
    Heard,
    /// `packet` left, and the flow had more.
    Followed,
    /// Its pace held it.
    Paced,
    /// It heard nothing.
    TimedOut,
    /// Its algorithm had asked to be called, or its end was set.
    Woken,
    /// Its receiver had held the answer to `packet` back.
    Delayed,
    /// Its receiver hands out credits one after the other: `packet` is the one before, or what asked for them.
    Granted,
}

/// Every reason by name, in the order of their numbers.
pub const WHYS: [&str; 8] = ["began", "heard", "followed", "paced", "timed_out", "woken", "delayed", "granted"];

/// Why something could be sent.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// What it was.
    pub why: Why,
    /// From when on it let the flow send.
    pub at: Time,
    /// Since when that had been waited for.
    pub since: Time,
    /// The packet that came or left then, or [`NIL`].
    pub packet: u32,
    /// The cause that the waiting began with, or [`NIL`].
    pub before: u32,
}

/// A packet of a flow that is watched; its number is its place in the list.
#[derive(Clone, Copy, Debug)]
pub struct PacketRow {
    /// Its flow.
    pub flow: u32,
    /// What it is for.
    pub kind: PacketKind,
    /// Its number in the flow; of an acknowledgement, that of a block that came early.
    pub seq: u32,
    /// Of an acknowledgement: the number expected next.
    pub cumulative: u32,
    /// What its receiver allows, in 16ths of a full payload; zero is no limit.
    pub window: u16,
    /// Length of the frame on the wire.
    pub length: u16,
    /// When its host offered it to the first port.
    pub left: Time,
    /// The place of its [`Cause`].
    pub cause: u32,
}

/// Such a packet at a port.
#[derive(Clone, Copy, Debug)]
pub struct HopRow {
    /// Its number.
    pub packet: u32,
    /// The link behind the port.
    pub link: u32,
    /// When it came to the port.
    pub offered: Time,
    /// When its first bit was sent; [`Time::MAX`] is never.
    pub begun: Time,
    /// When its last bit was.
    pub ended: Time,
    /// What became of it.
    pub outcome: Outcome,
}

/// A frame that was sent over a link that is watched, whosever it is.
#[derive(Clone, Copy, Debug)]
pub struct FrameRow {
    /// The link.
    pub link: u32,
    /// Its flow; that of a pause is [`NIL`].
    pub flow: u32,
    /// [`NIL`] if its flow is not watched.
    pub packet: u32,
    /// What it is for.
    pub kind: PacketKind,
    /// Its length on the wire.
    pub length: u16,
    /// When it came to the port.
    pub offered: Time,
    /// When its first bit was sent.
    pub begun: Time,
    /// When its last bit was.
    pub ended: Time,
}

/// What happened to a link besides frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LinkEvent {
    /// The switch at its end wants it to stop.
    PauseAsked,
    /// And to go on.
    ResumeAsked,
    /// Its port has heard the one.
    Paused,
    /// And the other.
    Resumed,
    /// It has failed.
    Down,
    /// It works again.
    Up,
}

/// Every event by name, in the order of their numbers.
pub const LINK_EVENTS: [&str; 6] = ["pause_asked", "resume_asked", "paused", "resumed", "down", "up"];

/// Such an event.
#[derive(Clone, Copy, Debug)]
pub struct LinkRow {
    /// When.
    pub time: Time,
    /// To which link.
    pub link: u32,
    /// What.
    pub event: LinkEvent,
    /// The port where most of what a link that is to pause has brought waits, or [`NIL`].
    pub through: u32,
}

/// Which flows, and which links during which spans: the frames sent over those are written down whosever they are.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// The flows.
    pub flows: Vec<u32>,
    /// Link, from, until; spans of one link in order and apart.
    pub spans: Vec<(u32, Time, Time)>,
}

/// Whether a flow may send, as last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Blocked,
    Paced,
    Ready,
}

/// A flow that is watched.
#[derive(Clone, Copy, Debug)]
struct Standing {
    state: State,
    /// Since when, and the cause.
    since: Time,
    cause: u32,
    /// The packet that it has sent since that was last looked at.
    sent: u32,
    /// The newest data that its receiver has, and when it came.
    newest: (u32, Time),
    /// The last credit that its receiver sent, or what asked for the first; or the last pull, or what came while none was due.
    granted: (u32, Time),
    /// How many pulls its receiver owes.
    owed: u32,
}

impl Standing {
    /// Its receiver calls a packet.
    fn call(&mut self, number: u32, now: Time) {
        self.granted = (number, now);
        self.owed = self.owed.saturating_sub(1);
    }
}

/// A packet on its way: its number and its last row of `hops`, if its flow is watched, and when it came to its port.
#[derive(Clone, Copy, Debug)]
struct Here {
    number: u32,
    hop: u32,
    offered: Time,
}

/// What happens at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    /// Nothing that a flow which is watched hears of.
    Else,
    Heard(u32),
    Timer(Kind),
}

/// A link: its clocks and delay, and the spans in which it is watched.
#[derive(Debug)]
struct Wire {
    /// Each for what has not been sent by a time.
    clocks: Vec<(Time, Clock)>,
    delay: Time,
    from_host: bool,
    to_host: bool,
    spans: Vec<(Time, Time)>,
    /// The first span that is not over.
    next: usize,
}

/// The record, and what it takes to go on writing it.
#[derive(Debug)]
pub struct Causes {
    /// Packets of flows that are watched.
    pub packets: Vec<PacketRow>,
    /// Why they could be sent.
    pub causes: Vec<Cause>,
    /// Their hops.
    pub hops: Vec<HopRow>,
    /// Everybody's frames on links that are watched.
    pub frames: Vec<FrameRow>,
    /// What happened to links.
    pub links: Vec<LinkRow>,
    /// Flows that are watched and have finished, each with the packet that completed it.
    pub completed: Vec<(u32, u32)>,
    wires: Vec<Wire>,
    /// By flow: its place in `standings`.
    places: Vec<u32>,
    standings: Vec<Standing>,
    /// By place of a packet.
    here: Vec<Here>,
    now: Now,
}

impl Wire {
    /// The clock of a frame that had been sent at `ended`: a change of the rate is for what begins after it.
    fn clock_of(&self, ended: Time) -> Clock {
        let newest = self.clocks.iter().rev().find(|&&(sent_by, _)| ended > sent_by);
        newest.map_or(self.clocks[0].1, |&(_, clock)| clock)
    }
}

impl Cause {
    /// It was a packet, which came or left at `since`.
    const fn by(why: Why, at: Time, since: Time, packet: u32) -> Self {
        Self { why, at, since, packet, before: NIL }
    }

    /// It was time that passed since the flow came to stand as it does.
    const fn after(why: Why, at: Time, standing: Standing) -> Self {
        Self { why, at, since: standing.since, packet: NIL, before: standing.cause }
    }
}

impl Causes {
    /// Nothing yet, of a run of this network.
    ///
    /// # Errors
    /// A sentence about a flow or a link that the network does not have.
    pub fn new(network: &Network, watched: &Watched) -> Result<Self, String> {
        let wire = |port: &crate::network::PortSpec| Wire {
            clocks: vec![(Time::ZERO, Clock::new(port.rate))],
            delay: port.delay,
            from_host: port.from < network.hosts,
            to_host: port.to < network.hosts,
            spans: Vec::new(),
            next: 0,
        };
        let mut wires: Vec<_> = network.ports.iter().map(wire).collect();
        for &(link, from, until) in &watched.spans {
            let wire = wires.get_mut(link as usize).ok_or_else(|| format!("there is no link {link} to watch"))?;
            if wire.spans.last().is_some_and(|&(_, before)| before >= from) || until < from {
                return Err(format!("the spans of link {link} are not in order and apart"));
            }
            wire.spans.push((from, until));
        }
        let mut places = vec![NIL; network.flows.len()];
        for (place, &flow) in (0..).zip(&watched.flows) {
            *places.get_mut(flow as usize).ok_or_else(|| format!("there is no flow {flow} to watch"))? = place;
        }
        let idle = Standing {
            state: State::Blocked,
            since: Time::ZERO,
            cause: NIL,
            sent: NIL,
            newest: (NIL, Time::ZERO),
            granted: (NIL, Time::ZERO),
            owed: 0,
        };
        Ok(Self {
            packets: Vec::new(),
            causes: Vec::new(),
            hops: Vec::new(),
            frames: Vec::new(),
            links: Vec::new(),
            completed: Vec::new(),
            wires,
            places,
            standings: vec![idle; watched.flows.len()],
            here: Vec::new(),
            now: Now::Else,
        })
    }

    fn standing(&mut self, flow: u32) -> Option<&mut Standing> {
        let place = *self.places.get(flow as usize)?;
        self.standings.get_mut(place as usize)
    }

    fn add(&mut self, cause: Cause) -> u32 {
        self.causes.push(cause);
        self.causes.len() as u32 - 1
    }

    /// What has just happened to a flow, as a cause.
    fn what_happened(&mut self, now: Time, standing: Standing) -> u32 {
        if standing.sent != NIL {
            return self.add(Cause::by(Why::Followed, now, now, standing.sent));
        }
        let why = match self.now {
            Now::Heard(packet) => return self.add(Cause::by(Why::Heard, now, now, packet)),
            Now::Timer(Kind::Start) => return self.add(Cause::by(Why::Began, now, now, NIL)),
            Now::Timer(Kind::Timeout) => Why::TimedOut,
            Now::Timer(_) | Now::Else => Why::Woken,
        };
        self.add(Cause::after(why, now, standing))
    }

    /// Why a host sends this packet.
    fn cause_of(&mut self, now: Time, packet: &Packet, standing: Standing) -> u32 {
        match packet.flags.kind() {
            PacketKind::Data | PacketKind::CreditRequest | PacketKind::CreditStop => standing.cause,
            PacketKind::RateRequest => self.add(Cause::after(Why::Paced, now, standing)),
            kind => match self.now {
                Now::Heard(by) => self.add(Cause::by(Why::Heard, now, now, by)),
                _ if matches!(kind, PacketKind::Credit | PacketKind::Pull) => {
                    let (by, since) = standing.granted;
                    self.add(Cause::by(Why::Granted, now, since, by))
                }
                _ => {
                    let (by, since) = standing.newest;
                    self.add(Cause::by(Why::Delayed, now, since, by))
                }
            },
        }
    }

    /// A packet of a flow that is watched leaves its host.
    fn leaves(&mut self, now: Time, packet: &Packet) -> u32 {
        let Some(&mut standing) = self.standing(packet.flow) else { return NIL };
        let cause = self.cause_of(now, packet, standing);
        let (flow, kind) = (packet.flow, packet.flags.kind());
        let number = self.packets.len() as u32;
        let (length, (seq, cumulative)) = (packet.length, packet.header.numbers());
        let window = packet.header.tcp_ack().map_or(0, |ack| ack.window);
        self.packets.push(PacketRow { flow, kind, seq, cumulative, window, length, left: now, cause });
        if let Some(standing) = self.standing(flow) {
            match kind {
                PacketKind::Data | PacketKind::CreditRequest | PacketKind::CreditStop => standing.sent = number,
                PacketKind::Credit => standing.granted = (number, now),
                PacketKind::Pull => standing.call(number, now),
                _ if packet.header.calls() => standing.call(number, now),
                _ => {}
            }
        }
        number
    }

    /// A packet of a flow that is watched has come to its host.
    fn comes(&mut self, now: Time, number: u32, packet: &Packet) {
        self.now = Now::Heard(number);
        let Some(standing) = self.standing(packet.flow) else { return };
        match packet.flags.kind() {
            PacketKind::Data | PacketKind::Trimmed => {
                standing.newest = (number, now);
                if let Header::PulledData(_) = packet.header {
                    standing.owed += 1;
                    if standing.owed == 1 {
                        standing.granted = (number, now);
                    }
                }
            }
            PacketKind::CreditRequest => standing.granted = (number, now),
            _ => {}
        }
    }

    fn link_event(&mut self, time: Time, link: u32, event: LinkEvent, through: u32) {
        self.links.push(LinkRow { time, link, event, through });
    }
}

impl Observer for Causes {
    #[inline]
    fn offered(&mut self, now: Time, Hop { link, place, packet }: Hop<'_>, outcome: Outcome) {
        let at = place as usize;
        if at >= self.here.len() {
            self.here.resize(at + 1, Here { number: NIL, hop: NIL, offered: now });
        }
        if self.wires[link as usize].from_host || packet.flags.for_neighbour() {
            self.here[at].number = self.leaves(now, packet);
        }
        self.here[at].offered = now;
        let number = self.here[at].number;
        if number != NIL {
            self.here[at].hop = self.hops.len() as u32;
            self.hops.push(HopRow { packet: number, link, offered: now, begun: Time::MAX, ended: Time::MAX, outcome });
        }
    }

    fn trimmed(&mut self, _now: Time, Hop { place, .. }: Hop<'_>) {
        let Here { number, hop, .. } = self.here[place as usize];
        if number != NIL {
            self.hops[hop as usize].outcome = Outcome::Trimmed;
        }
    }

    #[inline]
    fn delivered(&mut self, now: Time, Hop { link, place, packet }: Hop<'_>) {
        let wire = &mut self.wires[link as usize];
        let ended = now - wire.delay;
        let begun = ended - wire.clock_of(ended).time(packet.bytes());
        let to_host = wire.to_host;
        let Here { number, hop, offered } = self.here[place as usize];
        // What came before the end of a span is of the queue then, even if it is sent later.
        while wire.spans.get(wire.next).is_some_and(|&(_, until)| until < offered) {
            wire.next += 1;
        }
        if wire.spans.get(wire.next).is_some_and(|&(from, _)| from <= ended) {
            let (flow, kind, length) = (packet.flow, packet.flags.kind(), packet.length);
            self.frames.push(FrameRow { link, flow, packet: number, kind, length, offered, begun, ended });
        }
        if number != NIL {
            let row = &mut self.hops[hop as usize];
            (row.begun, row.ended) = (begun, ended);
        }
        if to_host {
            self.now = Now::Else;
            if number != NIL {
                self.comes(now, number, packet);
            }
        }
    }

    fn timer(&mut self, _now: Time, timer: Timer) {
        self.now = Now::Timer(timer.kind);
    }

    fn turn(&mut self, now: Time, flow: u32, turn: Turn) {
        let Some(&mut old) = self.standing(flow) else { return };
        let state = match turn {
            Turn::No => State::Blocked,
            Turn::At(_) => State::Paced,
            Turn::Now => State::Ready,
        };
        let left_turn = old.state == State::Ready && old.sent == NIL;
        let (since, cause) = if old.sent == NIL && (state == old.state || left_turn) {
            (old.since, old.cause)
        } else if old.sent == NIL && old.state == State::Paced {
            (now, self.add(Cause::after(Why::Paced, now, old)))
        } else {
            (now, self.what_happened(now, old))
        };
        if let Some(standing) = self.standing(flow) {
            *standing = Standing { state, since, cause, sent: NIL, ..old };
        }
    }

    fn finished(&mut self, _now: Time, flow: u32) {
        if let Now::Heard(packet) = self.now
            && self.standing(flow).is_some()
        {
            self.completed.push((flow, packet));
        }
    }

    fn asked(&mut self, now: Time, link: u32, through: u32, pause: bool) {
        let event = if pause { LinkEvent::PauseAsked } else { LinkEvent::ResumeAsked };
        self.link_event(now, link, event, through);
    }

    fn paused(&mut self, now: Time, link: u32, pause: bool) {
        self.link_event(now, link, if pause { LinkEvent::Paused } else { LinkEvent::Resumed }, NIL);
    }

    fn changed(&mut self, now: Time, link: u32, change: Change, sent_by: Time) {
        match change {
            Change::Down => self.link_event(now, link, LinkEvent::Down, NIL),
            Change::Up => self.link_event(now, link, LinkEvent::Up, NIL),
            Change::Rate(rate) => self.wires[link as usize].clocks.push((sent_by, Clock::new(rate))),
            Change::Loss(_) => {}
        }
    }

    fn lost(&mut self, _now: Time, Hop { place, .. }: Hop<'_>) {
        let Here { number, hop, .. } = self.here[place as usize];
        if number != NIL {
            self.hops[hop as usize].outcome = Outcome::Dropped(Reason::Fault);
        }
    }
}

/// What became of a packet at a port, by name, in the order of [`outcome_number`].
pub const OUTCOMES: [&str; 7] = ["queued", "marked", "trimmed", "returned", "dropped", "no_memory", "lost"];

/// The place of an outcome in [`OUTCOMES`].
#[must_use]
pub const fn outcome_number(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Queued => 0,
        Outcome::Marked => 1,
        Outcome::Trimmed => 2,
        Outcome::Returned => 3,
        Outcome::Dropped(Reason::Full) => 4,
        Outcome::Dropped(Reason::Memory) => 5,
        Outcome::Dropped(Reason::Fault) => 6,
    }
}
