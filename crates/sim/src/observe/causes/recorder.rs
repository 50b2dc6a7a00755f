//! Observer that records causes.

use std::collections::{BTreeMap, VecDeque};
use std::mem::{discriminant, replace};

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

/// Packet of a watched flow in transit: its number and its newest row of `hops`. Without one the number is [`NIL`].
#[derive(Clone, Copy, Debug)]
struct Recorded {
    number: u32,
    hop: u32,
}

impl Recorded {
    const fn of(number: u32) -> Self {
        Self { number, hop: NIL }
    }

    const fn exists(&self) -> bool {
        self.number != NIL
    }
}

/// Packet in transit, by slab index: itself and the acknowledgement that rides on it, if their flows are watched, when it was
/// offered to its port, and whether it was marked before.
#[derive(Clone, Copy, Debug)]
struct InTransit {
    recorded: [Recorded; 2],
    offered: Time,
    marked: bool,
}

/// What a response answers: the first packet that it covers, or [`NIL`], and the packet for which the receiver created it, with the
/// time when that one arrived.
type Answered = (u32, (u32, Time));

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
#[derive(Clone, Debug)]
struct WatchedLink {
    times: LinkTimes,
    from_host: bool,
    to_host: bool,
    spans: Spans,
}

/// Recorder of causes, with the tables that it has recorded.
#[derive(Clone, Debug)]
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
    /// For each watched flow the data packets that have arrived, and that no acknowledgement has covered.
    unanswered: Vec<VecDeque<(u32, Time)>>,
    /// Responses that wait for the jitter of their hosts, by flow and number, and what they answer.
    waiting: BTreeMap<(u32, u64), Answered>,
    /// What the response answers that is offered next, if it has waited.
    waited: Option<Answered>,
    in_transit: Vec<InTransit>,
    /// Acknowledgement that rides on the packet that is offered next, and that of the packet that has arrived, or [`NIL`].
    attached: u32,
    arrived: u32,
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
            unanswered: vec![VecDeque::new(); watched.flows.len()],
            waiting: BTreeMap::new(),
            waited: None,
            in_transit: Vec::new(),
            attached: NIL,
            arrived: NIL,
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

    /// Returns the cause for which a host sends a packet, which answers this data packet if it is an answer.
    fn cause_of(&mut self, now: Time, packet: &Packet, flow: WatchedFlow, answered: (u32, Time)) -> u32 {
        match packet.flags.kind() {
            PacketKind::Data | PacketKind::CreditRequest | PacketKind::CreditStop => flow.cause,
            PacketKind::Probe if !matches!(self.trigger, Trigger::Timer(Kind::Timeout)) => {
                self.add(flow.wait_until(now, CauseKind::Paced))
            }
            PacketKind::RateRequest => self.add(flow.wait_until(now, CauseKind::Paced)),
            PacketKind::Probe | PacketKind::PortStatus => self.add(flow.wait_until(now, CauseKind::TimedOut)),
            kind => match self.trigger {
                Trigger::Packet(by) if self.packets[by as usize].flow == packet.flow => {
                    self.add(Cause::by_packet(CauseKind::Heard, now, now, by))
                }
                _ if matches!(kind, PacketKind::Credit | PacketKind::Pull) => {
                    // A receiver repeats its newest pull after a timeout, also if it has sent none.
                    let (by, since) = if flow.granted.0 == NIL { flow.newest } else { flow.granted };
                    self.add(Cause::by_packet(CauseKind::Granted, now, since, by))
                }
                _ => self.add_delay(now, answered),
            },
        }
    }

    /// Adds the delay of an answer to a packet as a cause.
    fn add_delay(&mut self, now: Time, (answered, arrived): (u32, Time)) -> u32 {
        self.add(Cause::by_packet(CauseKind::Delayed, now, arrived, answered))
    }

    /// Records that a packet of a watched flow leaves its host, and returns its number.
    fn on_departure(&mut self, now: Time, (packet, header): (&Packet, &Header)) -> u32 {
        let Some(&mut watched) = self.flow(packet.flow) else { return NIL };
        let (flow, kind) = (packet.flow, packet.flags.kind());
        let (first, newest) = self.waited.take().unwrap_or_else(|| self.answered_by(flow, header));
        let cause = self.cause_of(now, packet, watched, newest);
        let number = self.add_packet((flow, kind, packet.length), header, first, (now, cause));
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

    /// Adds a packet of a flow, with its kind and length, when it left and why. Of an acknowledgement, `first` is the first packet
    /// that it covers.
    fn add_packet(
        &mut self,
        (flow, kind, length): (u32, PacketKind, u16),
        header: &Header,
        first: u32,
        (left, cause): (Time, u32),
    ) -> u32 {
        let (seq, cumulative) = header.numbers();
        let first = if first == self.causes[cause as usize].packet { NIL } else { first };
        self.packets.push(PacketRow { flow, kind, seq, cumulative, first, length, left, cause });
        self.packets.len() as u32 - 1
    }

    /// Returns the first and the newest data packet that an acknowledgement covers before all others, the newest with its arrival.
    /// If it covers none, the newest is the one that arrived last.
    fn answered(&mut self, flow: u32, ack: &TcpAck) -> Answered {
        let index = self.flow_index[flow as usize] as usize;
        let covers = |&(packet, _): &(u32, Time)| {
            let seq = self.packets[packet as usize].seq;
            seq < ack.cumulative || (ack.block_from..ack.block_from + u32::from(ack.block)).contains(&seq)
        };
        let unanswered = &mut self.unanswered[index];
        let newest = unanswered.iter().rev().find(|one| covers(one)).copied();
        let first = unanswered.iter().find(|one| covers(one)).map_or(NIL, |&(packet, _)| packet);
        unanswered.retain(|one| !covers(one));
        (first, newest.unwrap_or(self.flows[index].newest))
    }

    /// Returns what a response of a watched flow answers; the newest data, unless it says what it covers.
    fn answered_by(&mut self, flow: u32, header: &Header) -> Answered {
        let newest = self.flows[self.flow_index[flow as usize] as usize].newest;
        header.tcp_ack().map_or((NIL, newest), |ack| self.answered(flow, ack))
    }

    /// Records that a packet of a watched flow has arrived at its host.
    fn on_arrival(&mut self, now: Time, number: u32, packet: &Packet) {
        self.trigger = Trigger::Packet(number);
        let Some(watched) = self.flow(packet.flow) else { return };
        match packet.flags.kind() {
            PacketKind::Data | PacketKind::Trimmed => {
                watched.newest = (number, now);
                let index = self.flow_index[packet.flow as usize];
                self.unanswered[index as usize].push_back((number, now));
            }
            PacketKind::CreditRequest => watched.granted = (number, now),
            PacketKind::Credit => {
                let index = self.flow_index[packet.flow as usize];
                self.credits[index as usize].push_back((now, number));
            }
            _ => {}
        }
    }

    /// Sets what has become of a packet in its port, and of the acknowledgement on it.
    fn set_outcome(&mut self, place: u32, outcome: Outcome) {
        for one in self.in_transit[place as usize].recorded.iter().filter(|one| one.exists()) {
            self.hops[one.hop as usize].outcome = outcome;
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
            let empty = InTransit { recorded: [Recorded::of(NIL); 2], offered: now, marked: false };
            self.in_transit.resize(at + 1, empty);
        }
        if self.watched_links[link as usize].from_host || packet.flags.for_neighbour() {
            let number = self.on_departure(now, (packet, header));
            self.in_transit[at].recorded = [number, replace(&mut self.attached, NIL)].map(Recorded::of);
        }
        let in_transit = &mut self.in_transit[at];
        (in_transit.offered, in_transit.marked) = (now, packet.flags.is_ce());
        for one in in_transit.recorded.iter_mut().filter(|one| one.exists()) {
            one.hop = self.hops.len() as u32;
            self.hops.push(HopRow {
                packet: one.number,
                link,
                offered: now,
                begun: Time::MAX,
                ended: Time::MAX,
                arrived: Time::MAX,
                outcome,
            });
        }
    }

    fn trimmed(&mut self, _now: Time, Hop { place, .. }: Hop<'_>) {
        self.set_outcome(place, Outcome::Trimmed);
    }

    fn departs(&mut self, Hop { link, place, .. }: Hop<'_>, ended: Time) {
        self.watched_links[link as usize].times.departs(place, ended);
    }

    #[inline]
    fn delivered(&mut self, now: Time, Hop { link, place, packet, .. }: Hop<'_>) {
        let WatchedLink { times, to_host, spans, .. } = &mut self.watched_links[link as usize];
        let to_host = *to_host;
        let InTransit { recorded, offered, marked } = self.in_transit[place as usize];
        let [Recorded { number, .. }, riding] = recorded;
        // A frame that was offered before the end of a span was in the queue then, even if it was sent later.
        let (from, _) = spans.from(offered);
        // Most frames are of no interest, so their times are not computed.
        let in_span = now >= from && times.ended((place, now)) >= from;
        let is_recorded = recorded.iter().any(Recorded::exists);
        let (begun, ended) = if in_span || is_recorded { times.sent((place, now), packet.bytes()) } else { NEVER };
        if in_span {
            let (flow, kind, length) = (packet.flow, packet.flags.kind(), packet.length);
            let frame = Frame { link, flow, kind, length, offered, begun, ended };
            self.frames.push(FrameRow { frame, packet: number });
        }
        for one in recorded.iter().filter(|one| one.exists()) {
            let row = &mut self.hops[one.hop as usize];
            (row.begun, row.ended, row.arrived) = (begun, ended, now);
            // A port that marks at dequeue had not marked the packet when it was offered.
            if row.outcome == Outcome::Queued && packet.flags.is_ce() && !marked {
                row.outcome = Outcome::Marked;
            }
        }
        if to_host {
            self.trigger = Trigger::Other;
            self.arrived = riding.number;
            if number != NIL {
                self.on_arrival(now, number, packet);
            }
        }
    }

    fn timer(&mut self, _now: Time, timer: Timer) {
        self.trigger = Trigger::Timer(timer.kind);
    }

    fn adopts(&mut self, _now: Time, _flow: u32) {
        self.trigger = Trigger::Other;
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

    fn ack_attached(&mut self, now: Time, flow: u32, ack: &TcpAck) {
        if self.flow(flow).is_some() {
            let (first, newest) = self.answered(flow, ack);
            let cause = self.add_delay(now, newest);
            // The acknowledgement takes no bytes of its own on the wire.
            self.attached = self.add_packet((flow, PacketKind::Ack, 0), &Header::TcpAck(*ack), first, (now, cause));
        }
    }

    fn ack_detached(&mut self, _now: Time) {
        self.trigger = if self.arrived == NIL { Trigger::Other } else { Trigger::Packet(self.arrived) };
    }

    fn response_waits(&mut self, now: Time, flow: u32, number: u64, header: &Header) {
        if self.flow(flow).is_some() {
            let (first, newest) = self.answered_by(flow, header);
            // The packet that has arrived may be a probe, which is not among data.
            let answered = match self.trigger {
                Trigger::Packet(by) if self.packets[by as usize].flow == flow => (by, now),
                _ => newest,
            };
            self.waiting.insert((flow, number), (first, answered));
        }
    }

    fn response_leaves(&mut self, _now: Time, flow: u32, number: u64) {
        self.waited = self.waiting.remove(&(flow, number));
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
        self.set_outcome(place, Outcome::Dropped(reason));
    }
}
