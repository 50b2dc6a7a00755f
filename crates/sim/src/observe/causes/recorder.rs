//! Observer that records causes.

use std::collections::VecDeque;
use std::mem::discriminant;

use shallows_cc::units::{Bytes, Time};

use crate::observe::causes::spans::{NEVER, Spans};
use crate::observe::causes::{Cause, CauseKind, FrameRow, HopRow, PacketRow, Watched};
use crate::observe::links::{Frame, LinkRow, LinkTimes};
use crate::observe::{BlockedBy, Hop, Kind, Observer, Readiness, Timer};
use crate::packet::header::{Header, TcpAck};
use crate::packet::{NIL, Packet, PacketKind};
use crate::port::admission::{DropReason, Outcome};
use crate::spec::fault::Change;
use crate::spec::network::{Network, PortSpec};

/// State of a watched flow.
#[derive(Clone, Copy, Debug)]
struct WatchedFlow {
    /// Newest readiness, since when it holds, and its cause.
    readiness: Readiness,
    since: Time,
    cause: u32,
    /// Packet that the sender has sent since `readiness` was determined, or [`NIL`].
    sent: u32,
    /// Newest data packet at the receiver, and when it arrived.
    newest: (u32, Time),
    /// First data packet that the receiver has not acknowledged.
    unanswered: u32,
    /// Newest credit or pull of the receiver; before the first, the packet that requested it.
    granted: (u32, Time),
    /// Window of the sender when `readiness` was determined.
    window: Bytes,
}

impl WatchedFlow {
    const IDLE: Self = Self {
        readiness: Readiness::Blocked(BlockedBy::Answer),
        since: Time::ZERO,
        cause: NIL,
        sent: NIL,
        newest: (NIL, Time::ZERO),
        unanswered: NIL,
        granted: (NIL, Time::ZERO),
        window: Bytes::ZERO,
    };

    const fn blocked_by(&self) -> Option<BlockedBy> {
        if let Readiness::Blocked(by) = self.readiness { Some(by) } else { None }
    }

    /// Cause that is the end of a wait in the flow's present state.
    const fn wait_until(&self, now: Time, why: CauseKind) -> Cause {
        let Self { since, cause, window, .. } = *self;
        Cause { why, at: now, since, packet: NIL, before: cause, blocked_by: self.blocked_by(), window }
    }
}

/// Packet in transit, by slab index: its number and its newest row of `hops` if its flow is watched, when it was offered to its
/// port, and whether it was marked before.
#[derive(Clone, Copy, Debug)]
struct InTransit {
    number: u32,
    hop: u32,
    offered: Time,
    marked: bool,
}

/// Event that the simulation is processing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trigger {
    /// None of a watched flow.
    Other,
    /// Arrival of the packet with this number at its host.
    Packet(u32),
    Timer(Kind),
}

/// Link, and the spans in which its frames are recorded.
#[derive(Debug)]
struct WatchedLink {
    times: LinkTimes,
    from_host: bool,
    to_host: bool,
    spans: Spans,
}

/// Recorder of causes, with the tables that it has recorded.
#[derive(Debug)]
pub struct Causes {
    /// Packets of watched flows.
    pub packets: Vec<PacketRow>,
    /// Causes of their departures.
    pub causes: Vec<Cause>,
    /// Their hops.
    pub hops: Vec<HopRow>,
    /// Frames of all flows on watched links.
    pub frames: Vec<FrameRow>,
    /// Events of links.
    pub links: Vec<LinkRow>,
    /// Watched flows that have finished, each with the packet that completed it.
    pub completed: Vec<(u32, u32)>,
    watched_links: Vec<WatchedLink>,
    /// For each flow its index in `flows`, or [`NIL`].
    flow_index: Vec<u32>,
    flows: Vec<WatchedFlow>,
    /// For each watched flow the arrivals of credits at its sender.
    credits: Vec<VecDeque<(Time, u32)>>,
    in_transit: Vec<InTransit>,
    trigger: Trigger,
}

impl Causes {
    /// Creates a recorder for a run of this network.
    ///
    /// # Errors
    /// If `watched` names a flow or a link that the network does not have, or spans that overlap.
    pub fn new(network: &Network, watched: &Watched) -> Result<Self, String> {
        let mut flow_index = vec![NIL; network.flows.len()];
        for (index, &flow) in (0..).zip(&watched.flows) {
            let entry = flow_index.get_mut(flow as usize);
            *entry.ok_or_else(|| format!("watched flow {flow}: expected one of {}", network.flows.len()))? = index;
        }
        Ok(Self {
            packets: Vec::new(),
            causes: Vec::new(),
            hops: Vec::new(),
            frames: Vec::new(),
            links: Vec::new(),
            completed: Vec::new(),
            watched_links: watched_links(network, watched)?,
            flow_index,
            flows: vec![WatchedFlow::IDLE; watched.flows.len()],
            credits: vec![VecDeque::new(); watched.flows.len()],
            in_transit: Vec::new(),
            trigger: Trigger::Other,
        })
    }

    fn flow(&mut self, flow: u32) -> Option<&mut WatchedFlow> {
        let index = *self.flow_index.get(flow as usize)?;
        self.flows.get_mut(index as usize)
    }

    fn add(&mut self, cause: Cause) -> u32 {
        self.causes.push(cause);
        self.causes.len() as u32 - 1
    }

    /// Adds the present event of a flow as a cause.
    fn add_event(&mut self, now: Time, flow: WatchedFlow) -> u32 {
        let window = flow.window;
        if flow.sent != NIL {
            return self.add(Cause { window, ..Cause::by_packet(CauseKind::Followed, now, now, flow.sent) });
        }
        let why = match self.trigger {
            Trigger::Packet(packet) => {
                let blocked_by = flow.blocked_by();
                return self.add(Cause { blocked_by, window, ..Cause::by_packet(CauseKind::Heard, now, now, packet) });
            }
            Trigger::Timer(Kind::Start) => {
                return self.add(Cause { window, ..Cause::by_packet(CauseKind::Began, now, now, NIL) });
            }
            Trigger::Timer(Kind::Timeout) => CauseKind::TimedOut,
            Trigger::Timer(Kind::AppWrite) => CauseKind::Written,
            Trigger::Timer(_) | Trigger::Other => CauseKind::Woken,
        };
        self.add(flow.wait_until(now, why))
    }

    /// Returns the cause for which a host sends a packet.
    fn cause_of(&mut self, now: Time, packet: &Packet, flow: WatchedFlow) -> u32 {
        match packet.flags.kind() {
            PacketKind::Data | PacketKind::CreditRequest | PacketKind::CreditStop => flow.cause,
            PacketKind::RateRequest => self.add(flow.wait_until(now, CauseKind::Paced)),
            PacketKind::Probe | PacketKind::PortStatus => self.add(flow.wait_until(now, CauseKind::TimedOut)),
            kind => match self.trigger {
                Trigger::Packet(by) => self.add(Cause::by_packet(CauseKind::Heard, now, now, by)),
                _ if matches!(kind, PacketKind::Credit | PacketKind::Pull) => {
                    let (by, since) = flow.granted;
                    self.add(Cause::by_packet(CauseKind::Granted, now, since, by))
                }
                _ => {
                    let (by, since) = flow.newest;
                    self.add(Cause::by_packet(CauseKind::Delayed, now, since, by))
                }
            },
        }
    }

    /// Records that a packet of a watched flow leaves its host, and returns its number.
    fn on_departure(&mut self, now: Time, (packet, header): (&Packet, &Header)) -> u32 {
        let Some(&mut watched) = self.flow(packet.flow) else { return NIL };
        let cause = self.cause_of(now, packet, watched);
        let (flow, kind) = (packet.flow, packet.flags.kind());
        let number = self.packets.len() as u32;
        let (length, (seq, cumulative)) = (packet.length, header.numbers());
        let first = header.tcp_ack().map_or(NIL, |ack| self.first_acknowledged(flow, ack));
        self.packets.push(PacketRow { flow, kind, seq, cumulative, first, length, left: now, cause });
        if let Some(watched) = self.flow(flow) {
            match kind {
                PacketKind::Data | PacketKind::CreditRequest | PacketKind::CreditStop => watched.sent = number,
                PacketKind::Credit | PacketKind::Pull => watched.granted = (number, now),
                _ if header.is_pull() => watched.granted = (number, now),
                _ => {}
            }
        }
        number
    }

    /// Returns the first packet that an acknowledgement covers, unless that is the newest, and updates the first unanswered one.
    fn first_acknowledged(&mut self, flow: u32, ack: &TcpAck) -> u32 {
        let Some(&mut WatchedFlow { unanswered, newest: (newest, _), .. }) = self.flow(flow) else { return NIL };
        let covers = |packet: u32| {
            let seq = self.packets[packet as usize].seq;
            seq < ack.cumulative || (ack.block_from..ack.block_from + u32::from(ack.block)).contains(&seq)
        };
        let left = if newest == NIL || covers(newest) { NIL } else { newest };
        if let Some(watched) = self.flow(flow) {
            watched.unanswered = left;
        }
        if unanswered == newest { NIL } else { unanswered }
    }

    /// Records that a packet of a watched flow has arrived at its host.
    fn on_arrival(&mut self, now: Time, number: u32, packet: &Packet) {
        self.trigger = Trigger::Packet(number);
        let Some(watched) = self.flow(packet.flow) else { return };
        match packet.flags.kind() {
            PacketKind::Data | PacketKind::Trimmed => {
                watched.newest = (number, now);
                if watched.unanswered == NIL {
                    watched.unanswered = number;
                }
            }
            PacketKind::CreditRequest => watched.granted = (number, now),
            PacketKind::Credit => {
                let index = self.flow_index[packet.flow as usize];
                self.credits[index as usize].push_back((now, number));
            }
            _ => {}
        }
    }

    /// Adds the credit that arrived at `arrived` as the cause for which a host continues with a flow.
    fn add_credit(&mut self, flow: u32, arrived: Time) -> u32 {
        let credits = &mut self.credits[self.flow_index[flow as usize] as usize];
        while credits.front().is_some_and(|&(at, _)| at < arrived) {
            credits.pop_front();
        }
        let (_, credit) = *credits.front().expect("a host processes a credit that has arrived");
        self.add(Cause::by_packet(CauseKind::Heard, arrived, arrived, credit))
    }
}

fn watched_links(network: &Network, watched: &Watched) -> Result<Vec<WatchedLink>, String> {
    let link = |(times, port): (LinkTimes, &PortSpec)| WatchedLink {
        times,
        from_host: port.from < network.hosts,
        to_host: port.to < network.hosts,
        spans: Spans::new(),
    };
    let mut links: Vec<_> = LinkTimes::all(network).into_iter().zip(&network.ports).map(link).collect();
    let count = links.len();
    for &(number, from, until) in &watched.spans {
        let link = links.get_mut(number as usize);
        let link = link.ok_or_else(|| format!("watched link {number}: expected one of {count}"))?;
        if !link.spans.push(from, until) {
            return Err(format!("watched link {number}: expected spans in order that do not overlap"));
        }
    }
    Ok(links)
}

impl Observer for Causes {
    #[inline]
    fn offered(&mut self, now: Time, Hop { link, place, packet, header }: Hop<'_>, outcome: Outcome) {
        let at = place as usize;
        if at >= self.in_transit.len() {
            let empty = InTransit { number: NIL, hop: NIL, offered: now, marked: false };
            self.in_transit.resize(at + 1, empty);
        }
        if self.watched_links[link as usize].from_host || packet.flags.for_neighbour() {
            self.in_transit[at].number = self.on_departure(now, (packet, header));
        }
        (self.in_transit[at].offered, self.in_transit[at].marked) = (now, packet.flags.is_ce());
        let number = self.in_transit[at].number;
        if number != NIL {
            self.in_transit[at].hop = self.hops.len() as u32;
            self.hops.push(HopRow { packet: number, link, offered: now, begun: Time::MAX, ended: Time::MAX, outcome });
        }
    }

    fn trimmed(&mut self, _now: Time, Hop { place, .. }: Hop<'_>) {
        let InTransit { number, hop, .. } = self.in_transit[place as usize];
        if number != NIL {
            self.hops[hop as usize].outcome = Outcome::Trimmed;
        }
    }

    #[inline]
    fn delivered(&mut self, now: Time, Hop { link, place, packet, .. }: Hop<'_>) {
        let WatchedLink { times, to_host, spans, .. } = &mut self.watched_links[link as usize];
        let to_host = *to_host;
        let InTransit { number, hop, offered, marked } = self.in_transit[place as usize];
        // A frame that was offered before the end of a span was in the queue then, even if it was sent later.
        let (from, _) = spans.from(offered);
        // Most frames are of no interest, so their times are not computed.
        let in_span = now >= from && times.ended(now) >= from;
        let (begun, ended) = if in_span || number != NIL { times.sent(now, packet.bytes()) } else { NEVER };
        if in_span {
            let (flow, kind, length) = (packet.flow, packet.flags.kind(), packet.length);
            let frame = Frame { link, flow, kind, length, offered, begun, ended };
            self.frames.push(FrameRow { frame, packet: number });
        }
        if number != NIL {
            let row = &mut self.hops[hop as usize];
            (row.begun, row.ended) = (begun, ended);
            // A port that marks at dequeue had not marked the packet when it was offered.
            if row.outcome == Outcome::Queued && packet.flags.is_ce() && !marked {
                row.outcome = Outcome::Marked;
            }
        }
        if to_host {
            self.trigger = Trigger::Other;
            if number != NIL {
                self.on_arrival(now, number, packet);
            }
        }
    }

    fn timer(&mut self, _now: Time, timer: Timer) {
        self.trigger = Trigger::Timer(timer.kind);
    }

    fn readiness(&mut self, now: Time, flow: u32, readiness: Readiness, window: Option<Bytes>) {
        let Some(&mut old) = self.flow(flow) else { return };
        let old = WatchedFlow { window: window.unwrap_or_default(), ..old };
        let unchanged = old.readiness == Readiness::Ready || discriminant(&readiness) == discriminant(&old.readiness);
        let (since, cause) = match (old.sent, old.readiness, readiness) {
            (NIL, ..) if unchanged => (old.since, old.cause),
            (NIL, Readiness::At(_), _) => (now, self.add(old.wait_until(now, CauseKind::Paced))),
            (NIL, Readiness::HostBusy { .. }, _) => (now, self.add(old.wait_until(now, CauseKind::HostBusy))),
            (NIL, ..) => (now, self.add_event(now, old)),
            (_, _, Readiness::HostBusy { arrived, .. }) => (arrived, self.add_credit(flow, arrived)),
            _ => (now, self.add_event(now, old)),
        };
        if let Some(watched) = self.flow(flow) {
            *watched = WatchedFlow { readiness, since, cause, sent: NIL, ..old };
        }
    }

    fn owes_pull(&mut self, now: Time, flow: u32) {
        if let Trigger::Packet(packet) = self.trigger
            && let Some(watched) = self.flow(flow)
        {
            watched.granted = (packet, now);
        }
    }

    fn finished(&mut self, _now: Time, flow: u32) {
        if let Trigger::Packet(packet) = self.trigger
            && self.flow(flow).is_some()
        {
            self.completed.push((flow, packet));
        }
    }

    fn pause_requested(&mut self, now: Time, link: (u32, u8), through: u32, pause: bool) {
        self.links.push(LinkRow::pause_requested(now, link, through, pause));
    }

    fn paused(&mut self, now: Time, link: (u32, u8), pause: bool) {
        self.links.push(LinkRow::paused(now, link, pause));
    }

    fn link_changed(&mut self, now: Time, link: u32, change: Change, sent_by: Time) {
        self.links.extend(LinkRow::changed(now, link, change));
        self.watched_links[link as usize].times.change(change, sent_by);
    }

    fn lost(&mut self, _now: Time, Hop { place, .. }: Hop<'_>, reason: DropReason) {
        let InTransit { number, hop, .. } = self.in_transit[place as usize];
        if number != NIL {
            self.hops[hop as usize].outcome = Outcome::Dropped(reason);
        }
    }
}
