//! All domains of a run, as one network: what happens in them, and where to find what the driver asks for.
//!
//! One domain is the plain case, and pays nothing for the others. Several go through windows ([`crate::parallel::mailbox`]), on as many
//! threads as there are to be, with the same outcome on any number of either. Where a single event may end the run, they go in
//! the one order that all events have: the domain whose turn it is until that of another one.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{available_parallelism, yield_now};

use shallows_cc::units::{Bytes, Time};

use crate::engine::domain::Domain;
use crate::fabric::ownership::{Ownership, Partition};
use crate::fabric::route::Routes;
use crate::host::stats::{FlowProgress, ReceiverStats, SenderStats};
use crate::host::transport::SenderState;
use crate::observe::Observer;
use crate::packet::header::Header;
use crate::packet::{MAX_PACKETS, Packet, PacketKind};
use crate::parallel::affinity;
use crate::parallel::barrier::{Barrier, BarrierGuard, SpinBudget};
use crate::parallel::mailbox::{Mailboxes, RunLimits};
use crate::parallel::partition::partition;
use crate::port::scheduler;
use crate::port::{Carried, Port, PortReport};
use crate::spec::fault::Fault;
use crate::spec::network::{Balancing, Network};

/// CalendarQueue between two questions when the last flow may finish.
const ASK_EVERY: u64 = 16;

/// Events between two checks of the packet limit in a run with one domain. An event creates a few packets at most; a NIC that
/// accepts a whole window at once makes its own check ([`Fabric::check_at_packets`](crate::fabric::Fabric)).
const CHECK_INTERVAL: u64 = 1 << 16;

/// Growth of the number of packets in flight that interrupts a run, so that the limit is checked.
const CHECK_GROWTH: u64 = 1 << 20;

/// Why the network has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing is left to happen before the driver's next turn.
    TimeLimit,
    /// So many events have happened, or one has made so many packets.
    EventLimit,
    /// A link was paused then.
    Paused(Time),
    /// More packets are in flight than a run may hold.
    TooManyPackets,
    /// The run was to end with its flows, and they have ended.
    Finished,
}

/// The whole network in motion.
#[derive(Debug)]
pub struct ParallelNetwork<O> {
    network: Arc<Network>,
    partition: Arc<Partition>,
    parts: Vec<Domain<O>>,
    mailboxes: Mailboxes,
    threads: usize,
    /// With which threads wait for each other at first.
    spin_budget: SpinBudget,
    /// Everything before this has happened in all domains.
    horizon: Time,
    /// Before this the last flow cannot have finished, as far as is known,
    earliest_finish: Time,
    /// which is not asked again before this.
    next_finish_check: Time,
    /// How many packets in flight are too many.
    max_packets: u64,
}

impl<O: Observer + Send> ParallelNetwork<O> {
    /// Everything at rest, at time zero: a domain for each that looks on, as far as the network can be parted. `ideal` are
    /// the completion times of flows on an empty path.
    pub fn new(network: &Arc<Network>, routes: Routes, ideal: &[Time], observers: Vec<O>) -> Result<Self, String> {
        let partition = Arc::new(partition(network, &routes, observers.len()));
        let routes = Arc::new(routes);
        let part = |(domain, observer)| {
            let ownership = Ownership { partition: Arc::clone(&partition), domain };
            Domain::new(network, &routes, ownership, observer)
        };
        let parts = (0..partition.domains()).zip(observers).map(part).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            mailboxes: Mailboxes::new(parts.len()),
            threads: 1,
            spin_budget: SpinBudget::NONE,
            horizon: Time::ZERO,
            earliest_finish: earliest_end(network, ideal),
            next_finish_check: Time::ZERO,
            max_packets: MAX_PACKETS,
            network: Arc::clone(network),
            partition,
            parts,
        })
    }

    /// How many domains there are.
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    /// The run ends once so many packets are in flight.
    pub fn set_max_packets(&mut self, packets: u64) {
        self.max_packets = packets;
        self.parts.iter_mut().for_each(|part| part.fabric.max_packets = packets);
    }

    /// From now on it is so many threads that go through windows.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.clamp(1, self.parts.len());
        let has_cores = || self.threads <= available_parallelism().map_or(1, NonZero::get);
        self.spin_budget = if self.threads > 1 && has_cores() { SpinBudget::SOME } else { SpinBudget::NONE };
    }

    /// Lets everything happen that is due before `limit`, or until `events` have happened in all; stops where the driver has
    /// to look.
    pub fn run(&mut self, limit: Time, events: u64, pause_window: Option<Time>) -> Stop {
        let check_at_packets = self.max_packets.min(self.live() + CHECK_GROWTH);
        self.parts.iter_mut().for_each(|part| part.fabric.check_at_packets = check_at_packets);
        if let [domain] = &mut self.parts[..] {
            run_whole(domain, limit, events);
        } else {
            self.run_windows(limit, events, pause_window, check_at_packets);
            self.flush_outboxes();
        }
        let paused = self.take_pause();
        if self.live() >= self.max_packets {
            Stop::TooManyPackets
        } else if self.is_done() {
            Stop::Finished
        } else if let Some(at) = paused {
            Stop::Paused(at)
        } else if self.events() >= events || self.next() < limit {
            Stop::EventLimit
        } else {
            Stop::TimeLimit
        }
    }

    fn run_windows(&mut self, limit: Time, events: u64, pause_window: Option<Time>, check_at_packets: u64) {
        let awaits_pause = pause_window.is_some();
        loop {
            let mut plan = RunLimits {
                limit,
                events,
                awaits_pause,
                lookahead: self.partition.lookahead,
                longest: pause_window.unwrap_or(Time::MAX),
                earliest_finish: self.earliest_finish,
                check_at_packets,
            };
            if !plan.has_room(self.next()) {
                plan.earliest_finish = self.look_for_end();
            }
            let threads = if plan.has_room(self.next()) { self.threads } else { 1 };
            let (horizon, next) = self.go_on(&plan, threads);
            self.horizon = horizon;
            let paused = awaits_pause && self.parts.iter().any(|part| part.fabric.first_pause < Time::MAX);
            if next >= limit || self.events() >= events || paused || self.live() >= check_at_packets {
                return;
            }
            let end = plan.window(next);
            self.run_sequential(end);
            self.horizon = end;
            if self.is_done() {
                return;
            }
        }
    }

    /// Whoever looks from outside finds every packet in the domain to which its link leads.
    fn flush_outboxes(&mut self) {
        for from in 0..self.parts.len() {
            let batches: Vec<_> = self.parts[from].fabric.batches().iter_mut().map(std::mem::take).collect();
            for (part, mut batch) in self.parts.iter_mut().zip(batches) {
                part.fabric.import(&mut batch);
            }
        }
    }

    /// When the last flow may finish, by what is still to be sent, if it is time to ask.
    fn look_for_end(&mut self) -> Time {
        if self.horizon >= self.next_finish_check {
            self.next_finish_check = self.horizon + self.partition.lookahead * ASK_EVERY;
            let ends = self.parts.iter().map(|part| part.hosts.last_end(self.horizon));
            self.earliest_finish = ends.fold(self.earliest_finish, Time::max);
        }
        self.earliest_finish
    }

    /// Goes through windows on so many threads.
    fn go_on(&mut self, plan: &RunLimits, threads: usize) -> (Time, Time) {
        let (mailboxes, horizon, spin_budget) = (&self.mailboxes, self.horizon, self.spin_budget);
        let each = self.parts.len().div_ceil(threads);
        let chunks: Vec<_> = (0..).step_by(each).zip(self.parts.chunks_mut(each)).collect();
        let barrier = &Barrier::new(chunks.len());
        let work = |(party, (first, chunk)): (usize, (usize, &mut [Domain<O>]))| {
            let _attendance = BarrierGuard(barrier);
            mailboxes.go_on(chunk, first, (horizon, plan), (barrier, party, spin_budget))
        };
        let mut chunks = chunks.into_iter().enumerate();
        let own = chunks.next();
        let core = (chunks.len() > 0).then(affinity::here).flatten();
        std::thread::scope(|scope| {
            let apart = |chunk: (usize, _)| {
                affinity::part_from(core, chunk.0);
                work(chunk)
            };
            let others: Vec<_> = chunks.map(|chunk| scope.spawn(move || apart(chunk))).collect();
            if !others.is_empty() {
                yield_now();
            }
            let horizon = own.map_or((horizon, horizon), work);
            for other in others {
                if let Err(panic) = other.join() {
                    resume_unwind(panic);
                }
            }
            horizon
        })
    }

    /// Lets everything happen that is due before `end`, in the order that all of it has, up to the end of the last flow.
    fn run_sequential(&mut self, end: Time) {
        while !self.is_done() {
            let (mut first, mut at, mut behind) = (0, Time::MAX, Time::MAX);
            for (number, part) in self.parts.iter().enumerate() {
                match part.next_time() {
                    next if next < at => (first, at, behind) = (number, next, at),
                    next => behind = behind.min(next),
                }
            }
            if at >= end {
                return;
            }
            if at == behind {
                self.run_ties(at);
            } else {
                self.parts[first].fabric.interrupt = false;
                self.parts[first].run(behind.min(end), u64::MAX);
            }
        }
    }

    /// The same where several domains have something to do at one instant.
    fn run_ties(&mut self, at: Time) {
        while !self.is_done() {
            let next =
                self.parts.iter_mut().filter_map(|part| Some((part.next_at(at)?, part))).min_by_key(|next| next.0);
            let Some((_, part)) = next else { return };
            part.fabric.interrupt = false;
            part.run(at + Time(1), 1);
        }
    }

    /// When something happens next; [`Time::MAX`] if nothing does.
    pub fn next(&self) -> Time {
        if let [whole] = &self.parts[..] {
            return whole.next_time();
        }
        let next = |part: &Domain<O>| part.next_time().min(part.fabric.first_outgoing_arrival());
        self.parts.iter().map(next).min().unwrap_or(Time::MAX)
    }

    /// When the last thing happened.
    pub fn now(&self) -> Time {
        self.parts.iter().map(|part| part.fabric.now).max().unwrap_or(Time::ZERO)
    }

    /// It is this late: everything before has happened.
    pub fn set_now(&mut self, now: Time) {
        self.horizon = now;
        self.parts.iter_mut().for_each(|part| part.fabric.now = now);
    }

    /// What has happened so far.
    pub fn events(&self) -> u64 {
        self.sum(Domain::processed)
    }

    /// Packets received over one link so far.
    pub fn hops(&self) -> u64 {
        self.sum(|part| part.fabric.hops)
    }

    /// Packets that came from another domain so far.
    pub fn crossed(&self) -> u64 {
        self.sum(|part| part.fabric.packets.imported())
    }

    /// Flows with an end that have not reached it.
    pub fn unfinished(&self) -> usize {
        self.sum(|part| part.hosts.unfinished as u64) as usize
    }

    /// Whether the run is to end with its flows, and they have ended.
    pub fn is_done(&self) -> bool {
        self.network.until_done && self.unfinished() == 0
    }

    fn take_pause(&mut self) -> Option<Time> {
        let take = |part: &mut Domain<O>| {
            part.fabric.interrupt = false;
            std::mem::replace(&mut part.fabric.first_pause, Time::MAX)
        };
        self.parts.iter_mut().map(take).min().filter(|&at| at < Time::MAX)
    }

    /// Whether a flow is still to begin at a time that is known.
    pub fn has_starts(&self) -> bool {
        self.parts.iter().any(|part| part.hosts.nics.timers.has_starts())
    }

    /// How every flow stands that has begun and not ended, in their order.
    pub fn flow_progress(&mut self) -> Vec<FlowProgress> {
        self.parts.iter_mut().for_each(|part| part.hosts.collect_stats());
        let mut flow_progress: Vec<_> = self.parts.iter().flat_map(|part| part.hosts.flow_progress()).collect();
        flow_progress.sort_unstable_by_key(|flow| flow.flow);
        for flow in &mut flow_progress {
            flow.progress = self.receiver(flow.flow).delivered;
        }
        flow_progress
    }

    /// A flow that has begun and not ended, if there is one.
    pub fn first_live(&self) -> Option<u32> {
        self.parts.iter().filter_map(|part| part.hosts.first_live()).min()
    }

    /// All ports of a flow, from its sender to its receiver and back.
    pub fn path(&self, flow: u32) -> [Vec<u32>; 2] {
        self.parts[0].fabric.routes.path(&self.network, flow)
    }

    /// Reads the internals of a flow while it lives; `since` is the span since they were last read.
    pub fn probe(&mut self, flow: u32, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        let spec = &self.network.flows[flow as usize];
        let (src, dst) = (self.partition.of(spec.src), self.partition.of(spec.dst));
        if self.parts[src as usize].hosts.probe_sender(flow, since, record) {
            self.parts[dst as usize].hosts.probe_receiver(flow, record);
        }
    }

    /// Something happens to a link: to the wire at its downstream end, to its port at the other.
    pub fn change(&mut self, fault: Fault) {
        let (up, down) = (self.up(fault.link), self.down(fault.link));
        self.parts[down].fabric.change_wire(fault);
        self.parts[up].change(fault);
    }

    /// Switches send round links that are `down`, and over those again that are not.
    pub fn reroute(&mut self, down: &[bool]) {
        let mut routes = Routes::clone(&self.parts[0].fabric.routes);
        routes.reroute(&self.network, down);
        let routes = Arc::new(routes);
        self.parts.iter_mut().for_each(|part| part.reroute(&routes));
    }

    /// Statistics start now.
    pub fn end_warmup(&mut self, now: Time) {
        self.parts.iter_mut().for_each(|part| part.hosts.end_warmup());
        for number in 0..self.links() {
            let (up, carried) = (self.up(number), self.carried(number));
            let fabric = &mut self.parts[up].fabric;
            fabric.ports[number as usize].close(now, &mut fabric.packets);
            fabric.ports[number as usize].end_warmup(now, carried.lost);
        }
    }

    /// Carries the counts of live flows over into what their ends have to tell.
    pub fn settle(&mut self) {
        self.parts.iter_mut().for_each(|part| part.hosts.collect_stats());
    }

    /// What the sender of a flow has to tell.
    pub fn sender(&self, flow: u32) -> &SenderStats {
        let domain = self.partition.of(self.network.flows[flow as usize].src);
        &self.parts[domain as usize].hosts.sender_stats[flow as usize]
    }

    /// How it stands, while it lives.
    pub fn sender_state(&mut self, now: Time, flow: u32) -> Option<SenderState> {
        let domain = self.partition.of(self.network.flows[flow as usize].src);
        self.parts[domain as usize].hosts.sender_state(now, flow)
    }

    /// And its receiver.
    pub fn receiver(&self, flow: u32) -> &ReceiverStats {
        let domain = self.partition.of(self.network.flows[flow as usize].dst);
        &self.parts[domain as usize].hosts.receiver_stats[flow as usize]
    }

    /// Packets created, taken in by hosts, and those that are on their way.
    pub fn packets(&self) -> (u64, u64, u64) {
        let (created, consumed) =
            (self.sum(|part| part.fabric.packets.created()), self.sum(|part| part.fabric.consumed));
        (created, consumed, self.live())
    }

    /// What switches count in their memories and what waits there; nothing where they have none.
    pub fn balance(&self) -> Option<(Bytes, Bytes)> {
        let all = self.parts.iter().filter_map(|part| part.fabric.balance());
        all.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Feedback those who look on of every packet on a link.
    pub fn report_in_flight(&mut self) {
        self.parts.iter_mut().for_each(|part| part.fabric.report_in_flight());
    }

    /// Closes the statistics of all ports over the `span` that ends now.
    pub fn port_reports(&mut self, now: Time, span: Time) -> Vec<PortReport> {
        let links = self.links();
        let report = |number: u32| {
            let (up, carried) = (self.up(number), self.carried(number));
            let fabric = &mut self.parts[up].fabric;
            fabric.ports[number as usize].close(now, &mut fabric.packets);
            fabric.ports[number as usize].report(now, span, carried, &fabric.packets)
        };
        (0..links).map(report).collect()
    }

    /// Who looked on in the first domain.
    pub fn into_observer(self) -> O {
        let first = self.parts.into_iter().next().expect("there is a domain");
        first.fabric.observer
    }
}

impl<O: Observer> ParallelNetwork<O> {
    /// What all domains count together.
    #[inline]
    fn sum(&self, count: impl Fn(&Domain<O>) -> u64) -> u64 {
        if let [whole] = &self.parts[..] { count(whole) } else { self.parts.iter().map(count).sum() }
    }

    /// The domain that has the port of a link.
    fn up(&self, link: u32) -> usize {
        self.partition.of_port(&self.network.ports[link as usize]) as usize
    }

    /// The domain at its other end, where something may happen to it or it may be paused: no divided switch has such links.
    fn down(&self, link: u32) -> usize {
        self.partition.at_end(&self.network.ports[link as usize]).expect("the switch is whole") as usize
    }

    /// What has been carried over a link, wherever it arrived.
    fn carried(&self, link: u32) -> Carried {
        self.parts.iter().map(|part| part.fabric.ports[link as usize].carried()).sum()
    }

    /// How many links there are.
    pub fn links(&self) -> u32 {
        self.network.ports.len() as u32
    }

    /// Whether switches pause links.
    pub fn pauses(&self) -> bool {
        self.network.pause.is_some()
    }

    /// Whether a link leads from a host: what waits for it came over no other.
    pub fn is_nic(&self, link: u32) -> bool {
        self.network.ports[link as usize].from < self.network.hosts
    }

    /// The port of a link.
    pub fn port(&self, link: u32) -> &Port {
        &self.parts[self.up(link)].fabric.ports[link as usize]
    }

    /// What waits in a port with classes.
    pub fn waiting(&self, link: u32) -> impl Iterator<Item = scheduler::Departure> {
        let fabric = &self.parts[self.up(link)].fabric;
        fabric.ports[link as usize].waiting(&fabric.packets)
    }

    /// Whether the switch at the end of a link has asked it to stop.
    pub fn is_pausing(&self, link: u32) -> bool {
        self.parts[self.down(link)].fabric.switches.as_ref().is_some_and(|switches| switches.is_pausing(link))
    }

    /// It lets it go on once no more than this of what it brought is there.
    pub fn resumes_at(&self, link: u32) -> Bytes {
        let switches = self.parts[self.down(link)].fabric.switches.as_ref();
        switches.map_or(Bytes::ZERO, |switches| switches.resumes_at(self.network.ports[link as usize].to))
    }

    /// What the last pause or resume on its way to the port of a link says: it is the switch that sends it over the link back.
    pub fn last_pause_frame(&self, link: u32) -> Option<bool> {
        let switches = self.parts[self.down(link)].fabric.switches.as_ref()?;
        let frames = self.on_its_way(switches.reverse(link)).filter(|(packet, _)| packet.flags.for_neighbour());
        frames.last().map(|(packet, _)| packet.flags.is(PacketKind::Pause))
    }

    /// Every packet on its way over a link, in order: what has been handed over is on a list at the other end.
    pub fn on_its_way(&self, link: u32) -> impl Iterator<Item = (&Packet, &Header)> {
        let on_lists = self.parts.iter().flat_map(move |Domain { fabric, .. }| {
            let places = fabric.ports[link as usize].link.places(&fabric.packets);
            places.map(|at| (&fabric.packets[at], fabric.packets.header(at)))
        });
        let mut sent: Vec<_> = on_lists.collect();
        sent.sort_by_key(|(packet, _)| packet.arrives);
        let up = &self.parts[self.up(link)].fabric;
        let in_classes = up.ports[link as usize].in_classes();
        sent.into_iter().chain(in_classes.map(|at| (&up.packets[at], up.packets.header(at))))
    }

    /// Packets on their way.
    pub fn live(&self) -> u64 {
        self.sum(|part| part.fabric.live())
    }
}

/// Lets everything happen that is due before `limit`, up to so many events in all, in the only domain there is.
fn run_whole<O: Observer>(domain: &mut Domain<O>, limit: Time, events: u64) {
    loop {
        let left = events.saturating_sub(domain.processed()).min(CHECK_INTERVAL);
        if left == 0 || domain.run(limit, left) < left || domain.fabric.has_too_many_packets() {
            return;
        }
    }
}

/// Before this the last flow cannot have finished: none is faster than on an empty path.
fn earliest_end(network: &Network, ideal: &[Time]) -> Time {
    if !network.until_done {
        return Time::MAX;
    }
    let goes_round = network.convergence < Time::MAX && !network.faults.is_empty();
    if goes_round || network.balancing != Balancing::Flow {
        // Over several ways at once, or round a link that is down, a flow may be faster than over its own.
        return Time::ZERO;
    }
    let mut ends = Vec::with_capacity(ideal.len());
    for (flow, &ideal) in network.flows.iter().zip(ideal) {
        let begins =
            flow.after.iter().map(|&first| ends[first as usize]).max().map_or(flow.start, |end| add(end, flow.start));
        ends.push(add(begins, ideal));
    }
    let limited = network.flows.iter().zip(ends).filter(|(flow, _)| flow.bytes != Bytes::MAX);
    limited.map(|(_, end)| end).max().unwrap_or(Time::ZERO)
}

fn add(a: Time, b: Time) -> Time {
    Time(a.0.saturating_add(b.0))
}
