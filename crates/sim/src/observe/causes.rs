//! Writes down what made each packet of some flows leave when it did, and what was sent before it at every port: enough to
//! follow a flow's completion back to its start, picosecond by picosecond (docs/why.md has the tables).
//!
//! A packet leaves because of one thing that happened to its flow: the flow began, something was heard, a timer ran out, or
//! its own packet before it had left. What happened is a [`Cause`], and names what it goes back to: a packet, or the cause
//! before it. A flow that may send waits for its NIC; one that may not lacks something, or is held by its pace or its host,
//! from a time and a cause on.

use std::collections::VecDeque;
use std::mem::discriminant;

use shallows_cc::units::{Bytes, Time};

use super::wires::{Frame, LinkRow, Wire};
use super::{BlockedBy, Hop, Kind, Observer, Readiness, Timer};
use crate::packet::header::{Header, TcpAck};
use crate::packet::{NIL, Packet, PacketKind};
use crate::port::admission::{DropReason, Outcome};
use crate::spec::fault::Change;
use crate::spec::network::{Network, PortSpec};

/// Why a flow could send something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CauseKind {
    /// The flow began.
    Began,
    /// `packet` arrived.
    Heard,
    /// `packet` left, and the flow had more.
    Followed,
    /// Its pace held it.
    Paced,
    /// It heard nothing.
    TimedOut,
    /// Its algorithm had asked to be called, or its end was set.
    Woken,
    /// Its application, which had paused, wrote on.
    Written,
    /// Its host had taken its time over a credit.
    HostBusy,
    /// Its receiver had held the answer to `packet` back.
    Delayed,
    /// Its receiver hands out credits one after the other: `packet` is the one before, or what asked for them.
    Granted,
}

/// Every reason by name, in the order of their numbers.
pub const CAUSE_KINDS: [&str; 10] =
    ["began", "heard", "followed", "paced", "timed_out", "woken", "written", "answering", "delayed", "granted"];

/// What a flow may have lacked, by name, in the order of [`Cause::blocked_by_number`].
pub const BLOCKED_BY: [&str; 5] = ["nothing", "window", "receiver", "application", "answer"];

/// Why something could be sent.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// What it was.
    pub why: CauseKind,
    /// From when on it let the flow send.
    pub at: Time,
    /// Since when that had been waited for.
    pub since: Time,
    /// The packet that arrived or left then, or [`NIL`].
    pub packet: u32,
    /// The cause that the waiting began with, or [`NIL`].
    pub before: u32,
    /// What the flow lacked until then, if it lacked something.
    pub lack: Option<BlockedBy>,
    /// What its window allowed in flight then; zero if it has none.
    pub window: Bytes,
}

/// A packet of a flow that is watched; its number is its place in the list.
#[derive(Clone, Copy, Debug)]
pub struct PacketRow {
    /// Its flow.
    pub flow: u32,
    /// What it is for.
    pub kind: PacketKind,
    /// Its number in the flow; of an acknowledgement, that of a block that arrived early.
    pub seq: u32,
    /// Of an acknowledgement: the number expected next.
    pub cumulative: u32,
    /// The first packet that it acknowledges, where that is another than the one that let it leave; else [`NIL`].
    pub first: u32,
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
    /// When it arrived to the port.
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
    /// The frame.
    pub frame: Frame,
    /// Its number; [`NIL`] if its flow is not watched.
    pub packet: u32,
}

/// Which flows, and which links during which spans: the frames sent over those are written down whosever they are.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// The flows.
    pub flows: Vec<u32>,
    /// Link, from, until; spans of one link in order and apart.
    pub spans: Vec<(u32, Time, Time)>,
}

/// A flow that is watched.
#[derive(Clone, Copy, Debug)]
struct WatchedFlow {
    /// Whether it may send, as last seen.
    readiness: Readiness,
    /// Since when, and the cause.
    since: Time,
    cause: u32,
    /// The packet that it has sent since that was last looked at.
    sent: u32,
    /// The newest data that its receiver has, and when it arrived.
    newest: (u32, Time),
    /// The first of which that has not acknowledged anything.
    unanswered: u32,
    /// The last credit that its receiver sent, or what asked for the first; or the last pull, or what arrived while none was due.
    granted: (u32, Time),
    /// How many pulls its receiver ack_pending.
    owed: u32,
    /// What its window allowed when that was last looked at.
    window: Bytes,
}

impl WatchedFlow {
    /// Its receiver calls a packet.
    fn call(&mut self, number: u32, now: Time) {
        self.granted = (number, now);
        self.owed = self.owed.saturating_sub(1);
    }
}

/// A packet on its way: its number and its last row of `hops`, if its flow is watched, when it arrived to its port, and whether
/// it had a mark then.
#[derive(Clone, Copy, Debug)]
struct InTransit {
    number: u32,
    hop: u32,
    offered: Time,
    marked: bool,
}

/// What happens at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trigger {
    /// Nothing that a flow which is watched hears of.
    Else,
    Heard(u32),
    Timer(Kind),
}

/// A link, and the spans in which it is watched.
#[derive(Debug)]
struct Link {
    wire: Wire,
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
    wires: Vec<Link>,
    /// By flow: its place in `standings`.
    places: Vec<u32>,
    standings: Vec<WatchedFlow>,
    /// Likewise: the credits that have come, and when.
    credits: Vec<VecDeque<(Time, u32)>>,
    /// By place of a packet.
    here: Vec<InTransit>,
    now: Trigger,
}

impl Cause {
    /// It was a packet, which arrived or left at `since`.
    const fn by(why: CauseKind, at: Time, since: Time, packet: u32) -> Self {
        Self { why, at, since, packet, before: NIL, lack: None, window: Bytes::ZERO }
    }

    /// It was time that passed since the flow arrived to stand as it does.
    const fn after(why: CauseKind, at: Time, standing: WatchedFlow) -> Self {
        let WatchedFlow { since, cause: before, window, .. } = standing;
        Self { why, at, since, packet: NIL, before, lack: standing.lack(), window }
    }

    /// The place of what was lacked in [`BLOCKED_BY`].
    #[must_use]
    pub const fn blocked_by_number(&self) -> u8 {
        match self.lack {
            None => 0,
            Some(BlockedBy::Window(_)) => 1,
            Some(BlockedBy::Receiver(_)) => 2,
            Some(BlockedBy::Application) => 3,
            Some(BlockedBy::Answer) => 4,
        }
    }

    /// How much room in a window was lacking.
    #[must_use]
    pub const fn short(&self) -> Bytes {
        match self.lack {
            Some(BlockedBy::Window(short) | BlockedBy::Receiver(short)) => short,
            _ => Bytes::ZERO,
        }
    }
}

impl WatchedFlow {
    const fn lack(&self) -> Option<BlockedBy> {
        if let Readiness::Blocked(lack) = self.readiness { Some(lack) } else { None }
    }
}

impl Causes {
    /// Nothing yet, of a run of this network.
    ///
    /// # Errors
    /// A sentence about a flow or a link that the network does not have.
    pub fn new(network: &Network, watched: &Watched) -> Result<Self, String> {
        let link = |(wire, port): (Wire, &PortSpec)| Link {
            wire,
            from_host: port.from < network.hosts,
            to_host: port.to < network.hosts,
            spans: Vec::new(),
            next: 0,
        };
        let mut wires: Vec<_> = Wire::all(network).into_iter().zip(&network.ports).map(link).collect();
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
        let idle = WatchedFlow {
            readiness: Readiness::Blocked(BlockedBy::Answer),
            since: Time::ZERO,
            cause: NIL,
            sent: NIL,
            newest: (NIL, Time::ZERO),
            unanswered: NIL,
            granted: (NIL, Time::ZERO),
            owed: 0,
            window: Bytes::ZERO,
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
            credits: vec![VecDeque::new(); watched.flows.len()],
            here: Vec::new(),
            now: Trigger::Else,
        })
    }

    fn standing(&mut self, flow: u32) -> Option<&mut WatchedFlow> {
        let place = *self.places.get(flow as usize)?;
        self.standings.get_mut(place as usize)
    }

    fn add(&mut self, cause: Cause) -> u32 {
        self.causes.push(cause);
        self.causes.len() as u32 - 1
    }

    /// What has just happened to a flow, as a cause.
    fn what_happened(&mut self, now: Time, standing: WatchedFlow) -> u32 {
        let window = standing.window;
        if standing.sent != NIL {
            return self.add(Cause { window, ..Cause::by(CauseKind::Followed, now, now, standing.sent) });
        }
        let why = match self.now {
            Trigger::Heard(packet) => {
                let lack = standing.lack();
                return self.add(Cause { lack, window, ..Cause::by(CauseKind::Heard, now, now, packet) });
            }
            Trigger::Timer(Kind::Start) => {
                return self.add(Cause { window, ..Cause::by(CauseKind::Began, now, now, NIL) });
            }
            Trigger::Timer(Kind::Timeout) => CauseKind::TimedOut,
            Trigger::Timer(Kind::AppWrite) => CauseKind::Written,
            Trigger::Timer(_) | Trigger::Else => CauseKind::Woken,
        };
        self.add(Cause::after(why, now, standing))
    }

    /// Why a host sends this packet.
    fn cause_of(&mut self, now: Time, packet: &Packet, standing: WatchedFlow) -> u32 {
        match packet.flags.kind() {
            PacketKind::Data | PacketKind::CreditRequest | PacketKind::CreditStop => standing.cause,
            PacketKind::RateRequest => self.add(Cause::after(CauseKind::Paced, now, standing)),
            kind => match self.now {
                Trigger::Heard(by) => self.add(Cause::by(CauseKind::Heard, now, now, by)),
                _ if matches!(kind, PacketKind::Credit | PacketKind::Pull) => {
                    let (by, since) = standing.granted;
                    self.add(Cause::by(CauseKind::Granted, now, since, by))
                }
                _ => {
                    let (by, since) = standing.newest;
                    self.add(Cause::by(CauseKind::Delayed, now, since, by))
                }
            },
        }
    }

    /// A packet of a flow that is watched leaves its host.
    fn leaves(&mut self, now: Time, (packet, header): (&Packet, &Header)) -> u32 {
        let Some(&mut standing) = self.standing(packet.flow) else { return NIL };
        let cause = self.cause_of(now, packet, standing);
        let (flow, kind) = (packet.flow, packet.flags.kind());
        let number = self.packets.len() as u32;
        let (length, (seq, cumulative)) = (packet.length, header.numbers());
        let first = header.tcp_ack().map_or(NIL, |ack| self.acknowledged(flow, ack));
        self.packets.push(PacketRow { flow, kind, seq, cumulative, first, length, left: now, cause });
        if let Some(standing) = self.standing(flow) {
            match kind {
                PacketKind::Data | PacketKind::CreditRequest | PacketKind::CreditStop => standing.sent = number,
                PacketKind::Credit => standing.granted = (number, now),
                PacketKind::Pull => standing.call(number, now),
                _ if header.is_pull() => standing.call(number, now),
                _ => {}
            }
        }
        number
    }

    /// The first packet that this acknowledges, unless that is the newest; from then on its receiver ack_pending the newest, or nothing.
    fn acknowledged(&mut self, flow: u32, ack: &TcpAck) -> u32 {
        let Some(&mut WatchedFlow { unanswered, newest: (newest, _), .. }) = self.standing(flow) else { return NIL };
        let covers = |packet: u32| {
            let seq = self.packets[packet as usize].seq;
            seq < ack.cumulative || (ack.block_from..ack.block_from + u32::from(ack.block)).contains(&seq)
        };
        let left = if newest == NIL || covers(newest) { NIL } else { newest };
        if let Some(standing) = self.standing(flow) {
            standing.unanswered = left;
        }
        if unanswered == newest { NIL } else { unanswered }
    }

    /// A packet of a flow that is watched has come to its host.
    fn comes(&mut self, now: Time, number: u32, (packet, header): (&Packet, &Header)) {
        self.now = Trigger::Heard(number);
        let Some(standing) = self.standing(packet.flow) else { return };
        match packet.flags.kind() {
            PacketKind::Data | PacketKind::Trimmed => {
                standing.newest = (number, now);
                if standing.unanswered == NIL {
                    standing.unanswered = number;
                }
                if let Header::PulledData(_) = header {
                    standing.owed += 1;
                    if standing.owed == 1 {
                        standing.granted = (number, now);
                    }
                }
            }
            PacketKind::CreditRequest => standing.granted = (number, now),
            PacketKind::Credit => {
                let place = self.places[packet.flow as usize];
                self.credits[place as usize].push_back((now, number));
            }
            _ => {}
        }
    }

    /// The host of a flow goes on with the credit that arrived then.
    fn goes_on_with(&mut self, flow: u32, arrived: Time) -> u32 {
        let credits = &mut self.credits[self.places[flow as usize] as usize];
        while credits.front().is_some_and(|&(at, _)| at < arrived) {
            credits.pop_front();
        }
        let (_, credit) = *credits.front().expect("a host goes on with a credit that has come");
        self.add(Cause::by(CauseKind::Heard, arrived, arrived, credit))
    }
}

impl Observer for Causes {
    #[inline]
    fn offered(&mut self, now: Time, Hop { link, place, packet, header }: Hop<'_>, outcome: Outcome) {
        let at = place as usize;
        if at >= self.here.len() {
            self.here.resize(at + 1, InTransit { number: NIL, hop: NIL, offered: now, marked: false });
        }
        if self.wires[link as usize].from_host || packet.flags.for_neighbour() {
            self.here[at].number = self.leaves(now, (packet, header));
        }
        (self.here[at].offered, self.here[at].marked) = (now, packet.flags.is_ce());
        let number = self.here[at].number;
        if number != NIL {
            self.here[at].hop = self.hops.len() as u32;
            self.hops.push(HopRow { packet: number, link, offered: now, begun: Time::MAX, ended: Time::MAX, outcome });
        }
    }

    fn trimmed(&mut self, _now: Time, Hop { place, .. }: Hop<'_>) {
        let InTransit { number, hop, .. } = self.here[place as usize];
        if number != NIL {
            self.hops[hop as usize].outcome = Outcome::Trimmed;
        }
    }

    #[inline]
    fn delivered(&mut self, now: Time, Hop { link, place, packet, header }: Hop<'_>) {
        let Link { wire, to_host, spans, next, .. } = &mut self.wires[link as usize];
        let (begun, ended) = wire.sent(now, packet.bytes());
        let to_host = *to_host;
        let InTransit { number, hop, offered, marked } = self.here[place as usize];
        // What arrived before the end of a span is of the queue then, even if it is sent later.
        while spans.get(*next).is_some_and(|&(_, until)| until < offered) {
            *next += 1;
        }
        if spans.get(*next).is_some_and(|&(from, _)| from <= ended) {
            let (flow, kind, length) = (packet.flow, packet.flags.kind(), packet.length);
            let frame = Frame { link, flow, kind, length, offered, begun, ended };
            self.frames.push(FrameRow { frame, packet: number });
        }
        if number != NIL {
            let row = &mut self.hops[hop as usize];
            (row.begun, row.ended) = (begun, ended);
            // A port that marks what leaves had not told it as it arrived.
            if row.outcome == Outcome::Queued && packet.flags.is_ce() && !marked {
                row.outcome = Outcome::Marked;
            }
        }
        if to_host {
            self.now = Trigger::Else;
            if number != NIL {
                self.comes(now, number, (packet, header));
            }
        }
    }

    fn timer(&mut self, _now: Time, timer: Timer) {
        self.now = Trigger::Timer(timer.kind);
    }

    fn readiness(&mut self, now: Time, flow: u32, readiness: Readiness, window: Option<Bytes>) {
        let Some(&mut old) = self.standing(flow) else { return };
        let old = WatchedFlow { window: window.unwrap_or_default(), ..old };
        let as_before = old.readiness == Readiness::Ready || discriminant(&readiness) == discriminant(&old.readiness);
        let (since, cause) = match (old.sent, old.readiness, readiness) {
            (NIL, ..) if as_before => (old.since, old.cause),
            (NIL, Readiness::At(_), _) => (now, self.add(Cause::after(CauseKind::Paced, now, old))),
            (NIL, Readiness::HostBusy { .. }, _) => (now, self.add(Cause::after(CauseKind::HostBusy, now, old))),
            (NIL, ..) => (now, self.what_happened(now, old)),
            (_, _, Readiness::HostBusy { arrived, .. }) => (arrived, self.goes_on_with(flow, arrived)),
            _ => (now, self.what_happened(now, old)),
        };
        if let Some(standing) = self.standing(flow) {
            *standing = WatchedFlow { readiness, since, cause, sent: NIL, ..old };
        }
    }

    fn finished(&mut self, _now: Time, flow: u32) {
        if let Trigger::Heard(packet) = self.now
            && self.standing(flow).is_some()
        {
            self.completed.push((flow, packet));
        }
    }

    fn asked(&mut self, now: Time, link: u32, through: u32, pause: bool) {
        self.links.push(LinkRow::asked(now, link, through, pause));
    }

    fn paused(&mut self, now: Time, link: u32, pause: bool) {
        self.links.push(LinkRow::paused(now, link, pause));
    }

    fn changed(&mut self, now: Time, link: u32, change: Change, sent_by: Time) {
        self.links.extend(LinkRow::changed(now, link, change));
        self.wires[link as usize].wire.change(change, sent_by);
    }

    fn lost(&mut self, _now: Time, Hop { place, .. }: Hop<'_>) {
        let InTransit { number, hop, .. } = self.here[place as usize];
        if number != NIL {
            self.hops[hop as usize].outcome = Outcome::Dropped(DropReason::LinkFault);
        }
    }
}
