//! The driver of a run: lets the network go on from one thing that is due to the next, and closes the books. It owns no
//! packet.

use std::sync::Arc;

use shallows_cc::units::{Bytes, Time};

use crate::engine::answer::{Answer, Deadlock, FlowReport};
use crate::engine::audit::{self, Audit};
use crate::engine::deadlock;
use crate::engine::ideal::ideal_completion;
use crate::engine::packet_limit;
use crate::engine::schedule::{Schedule, Task};
use crate::engine::snapshot::Snapshot;
use crate::engine::stall_detector::StallDetector;
use crate::fabric::route::Routes;
use crate::observe::Observer;
use crate::observe::series::Recorder;
use crate::parallel::network::ParallelNetwork;
use crate::parallel::partition;
use crate::parallel::run::Stop;
use crate::port::clock::Clock;
use crate::port::link;
use crate::spec::fault::Change;
use crate::spec::network::Network;

/// How often a network with paused links is searched for a deadlock, which is for ever.
const DEADLOCK_INTERVAL: Time = Time::from_millis(1);

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is more to do.
    Running,
    /// It is over.
    Done,
}

/// A network in motion, and who looks on.
#[derive(Debug)]
pub struct Simulation<O = ()> {
    network: Arc<Network>,
    domains: ParallelNetwork<O>,
    /// What the driver itself has done so far.
    turns: u64,
    schedule: Schedule,
    stall_detector: StallDetector,
    record: Recorder,
    /// How many changes of links are done.
    faults: usize,
    /// By flow: its completion time on an empty path.
    ideal: Vec<Time>,
    measured_from: Time,
    deadlock: Option<Deadlock>,
    over: bool,
    problems: Vec<String>,
}

impl Simulation {
    /// Sets a network up at time zero.
    ///
    /// # Errors
    /// A sentence that says what contradicts what: see [`Network::check`]; or a flow without a path.
    pub fn new(network: Network) -> Result<Self, String> {
        Self::observed(network, ())
    }

    /// The same in as many domains, if the network can be parted so often: the outcome is the same for any number, and
    /// [`Self::set_threads`] says how many threads work on them.
    ///
    /// # Errors
    /// See [`Simulation::new`].
    pub fn parted(network: Network, domains: usize) -> Result<Self, String> {
        Self::with(network, |_, _| vec![(); domains.max(1)])
    }

    /// The same, but in one domain where fewer packet-hops than this are to be expected.
    ///
    /// # Errors
    /// See [`Simulation::new`].
    pub fn parted_if_long(network: Network, domains: usize, hops: f64) -> Result<Self, String> {
        Self::with(network, |network, routes| {
            vec![(); if partition::expected_hops(network, routes) < hops { 1 } else { domains.max(1) }]
        })
    }
}

impl<O: Observer> Simulation<O> {
    /// The same with somebody who looks on.
    ///
    /// # Errors
    /// See [`Simulation::new`].
    pub fn observed(network: Network, observer: O) -> Result<Self, String> {
        Self::with(network, |_, _| vec![observer])
    }

    fn with(network: Network, observers: impl FnOnce(&Network, &Routes) -> Vec<O>) -> Result<Self, String> {
        network.check()?;
        let routes = Routes::new(&network)?;
        let ideal = ideal_times(&network, &routes);
        let observers = observers(&network, &routes);
        let network = Arc::new(network);
        let domains = ParallelNetwork::new(&network, routes, &ideal, observers)?;
        let frame =
            network.ports.iter().map(|port| Clock::new(port.rate).time(network.mtu)).max().unwrap_or(Time::ZERO);
        let stall_detector = StallDetector::new(network.host.rto_max, frame);
        let mut simulation = Self {
            schedule: schedule(&network, &stall_detector),
            record: Recorder::new(&network.record),
            domains,
            turns: 0,
            stall_detector,
            faults: 0,
            ideal,
            measured_from: Time::ZERO,
            deadlock: None,
            over: false,
            problems: Vec::new(),
            network,
        };
        simulation.over = simulation.domains.is_done();
        Ok(simulation)
    }

    /// The same, but the run ends once so many packets are in flight, in place of what 2 GiB hold.
    #[must_use]
    pub fn with_packet_limit(mut self, packets: u64) -> Self {
        self.domains.set_max_packets(packets);
        self
    }

    /// How many domains the network is parted into.
    #[must_use]
    pub fn domains(&self) -> usize {
        self.domains.count()
    }

    /// From now on so many threads work on them, as far as there are domains for them.
    pub fn set_threads(&mut self, threads: usize) {
        self.domains.set_threads(threads);
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.domains.now()
    }

    /// Packets received over one link so far.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.domains.hops()
    }

    /// Packets that have gone from one domain to another so far, as often as they have.
    #[must_use]
    pub fn crossed(&self) -> u64 {
        self.domains.crossed()
    }

    /// Limited flows that have finished so far.
    #[must_use]
    pub fn finished(&self) -> u64 {
        let limited = self.network.flows.iter().filter(|flow| flow.bytes != Bytes::MAX).count();
        (limited - self.domains.unfinished()) as u64
    }

    /// Whether the run has come to its end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Goes on for about `events` events.
    ///
    /// # Panics
    /// If an invariant is broken, such as time running backwards.
    pub fn advance(&mut self, events: u64) -> Progress {
        self.reach(Time::MAX, events);
        if self.over { Progress::Done } else { Progress::Running }
    }

    /// The same, but nothing happens that happens after `at`; whether there is nothing left to do up to then.
    ///
    /// # Panics
    /// See [`Simulation::advance`].
    pub fn reach(&mut self, at: Time, events: u64) -> bool {
        let (until, behind) = (self.events() + events, Time(at.0.saturating_add(1)));
        while !self.over && self.events() < until {
            let due = self.schedule.next();
            match self.domains.run(
                due.min(behind),
                until - self.turns,
                self.awaits_pause().then_some(DEADLOCK_INTERVAL),
            ) {
                Stop::TimeLimit if due >= behind && behind < Time::MAX => return true,
                Stop::TooManyPackets => self.stop_at_packet_limit(),
                Stop::TimeLimit => self.run_task(),
                Stop::Paused(at) => self.watch_for_deadlock(at),
                Stop::Finished => self.over = true,
                Stop::EventLimit => return false,
            }
        }
        self.over
    }

    /// What everything is doing `at` a time up to which this has [`Self::reach`]ed.
    pub fn snapshot(&mut self, at: Time) -> Snapshot {
        Snapshot::of(&mut self.domains, at, self.network.flows.len() as u32)
    }

    fn events(&self) -> u64 {
        self.domains.events() + self.turns
    }

    /// The network has come to the next thing that is due, or to rest.
    fn run_task(&mut self) {
        if self.is_stalled() {
            return self.no_more_events();
        }
        let Some((at, due)) = self.schedule.pop() else { return self.no_more_events() };
        self.domains.set_now(at);
        self.turns += 1;
        match due {
            Task::End => self.over = true,
            Task::Warmup => self.end_warmup(),
            Task::Fault => self.change_links(),
            Task::Convergence => self.converge(),
            Task::Queues => self.read_queues(),
            Task::Probes => self.read_probes(),
            Task::Deadlock => self.search_deadlock(),
            Task::Watch => self.watch(),
        }
    }

    /// Whether flows are unfinished, nothing is left to happen, and nothing that the driver does can change that.
    fn is_stalled(&self) -> bool {
        let waits = self.domains.unfinished() > 0 && self.domains.next_time() == Time::MAX && self.deadlock.is_none();
        waits && !self.schedule.has(Task::Deadlock) && !self.links_may_change()
    }

    /// More packets are in flight than a run may hold.
    fn stop_at_packet_limit(&mut self) {
        self.over = true;
        self.problems.push(packet_limit::problem(&self.network, &self.domains));
    }

    /// Nothing is left to happen.
    fn no_more_events(&mut self) {
        self.over = true;
        match (self.domains.unfinished(), self.domains.first_live()) {
            (0, _) => {}
            (count, None) => self.problems.push(format!("{count} flows have not begun and wait for nothing")),
            (count, Some(first)) => {
                let (flows, down) = (flows(first, count), self.down_on_the_way(first));
                self.problems.push(format!("{flows} cannot get on: nothing is left to happen{down}"));
            }
        }
    }

    /// What to say of a link on the way of a flow, or back, that is down.
    fn down_on_the_way(&self, flow: u32) -> String {
        let way = self.domains.path(flow);
        let down = way.iter().flatten().find(|&&port| self.domains.port(port).is_down());
        down.map_or_else(String::new, |port| format!("; link {port}, on the way of flow {flow}, is down"))
    }

    /// Ends the run if no flow can get on.
    fn watch(&mut self) {
        let now = self.now();
        let stuck = self.stall_detector.look(now, self.domains.flow_progress().into_iter());
        if let Some((first, count)) = stuck
            && !self.domains.has_starts()
            && !self.links_may_change()
            && self.deadlock.is_none()
        {
            self.over = true;
            let (flows, flow, progress) = (flows(first.flow, count), first.flow, first.progress);
            self.problems.push(format!(
                "{flows} cannot get on: timers repeat and nothing arrives any more, after {progress} bytes of flow {flow}{}",
                self.down_on_the_way(flow)
            ));
        } else if let Some(at) = self.stall_detector.next_check(now) {
            self.schedule.set(at, Task::Watch);
        }
    }

    fn links_may_change(&self) -> bool {
        self.schedule.has(Task::Fault) || self.schedule.has(Task::Convergence)
    }

    /// All changes of links that are due; the next one is then.
    fn change_links(&mut self) {
        let now = self.now();
        while let Some(&change) = self.network.faults.get(self.faults) {
            if change.at > now {
                return self.schedule.set(change.at, Task::Fault);
            }
            self.domains.change(change);
            self.faults += 1;
            // MAX is never, also of what happens at time zero.
            let heard = now.0.checked_add(self.network.convergence.0).filter(|&at| at != Time::MAX.0);
            if let (Change::Down | Change::Up, Some(at)) = (change.change, heard) {
                self.schedule.set(Time(at), Task::Convergence);
            }
        }
    }

    /// Switches have heard of all changes of links that are as old as it takes them.
    fn converge(&mut self) {
        let now = self.now();
        let heard = self.network.faults.iter().take_while(|fault| fault.at + self.network.convergence <= now);
        let mut down = vec![false; self.network.ports.len()];
        for fault in heard {
            match fault.change {
                Change::Down => down[fault.link as usize] = true,
                Change::Up => down[fault.link as usize] = false,
                Change::Rate(_) | Change::Loss(_) => {}
            }
        }
        self.domains.reroute(&down);
    }

    /// Whether a link that is paused is news.
    fn awaits_pause(&self) -> bool {
        self.network.pause.is_some() && self.deadlock.is_none() && !self.schedule.has(Task::Deadlock)
    }

    /// A link was, or still is, paused.
    fn watch_for_deadlock(&mut self, at: Time) {
        if self.awaits_pause() {
            self.schedule.set(at + DEADLOCK_INTERVAL, Task::Deadlock);
        }
    }

    /// Looks for a deadlock. Flows that wait for one never end: a run until they are done is over.
    fn search_deadlock(&mut self) {
        // A port that nobody pauses any more: the books name it.
        self.over |= deadlock::pause_mismatches(&self.domains).next().is_some();
        let ports = deadlock::deadlock(&self.domains);
        if !ports.is_empty() {
            self.deadlock = Some(Deadlock { at: self.now(), ports });
            self.over |= self.network.until_done;
        } else if (0..self.domains.links()).any(|link| self.domains.port(link).is_paused()) {
            self.watch_for_deadlock(self.now());
        }
    }

    fn end_warmup(&mut self) {
        let now = self.now();
        self.domains.end_warmup(now);
        self.measured_from = now;
    }

    fn read_queues(&mut self) {
        if self.record.queues_full() {
            return;
        }
        let (now, all) = (self.now(), &self.domains);
        let spec = &self.network.record;
        self.record.queues(now, spec.ports.iter().map(|&port| all.port(port).queue(now)));
        self.schedule.set(now + spec.queue_interval, Task::Queues);
    }

    fn read_probes(&mut self) {
        if self.record.probes_full() {
            return;
        }
        let (now, record) = (self.now(), &mut self.record);
        let spec = &self.network.record;
        for &flow in &spec.flows {
            self.domains.probe(flow, spec.probe_interval, &mut |name, value| record.probe(now, flow, name, value));
        }
        self.schedule.set(now + spec.probe_interval, Task::Probes);
    }

    /// Ends the run where it stands and closes the books.
    #[must_use]
    pub fn finish(self) -> Answer {
        self.finish_observed().0
    }

    /// The same, and gives back who looked on.
    #[must_use]
    pub fn finish_observed(mut self) -> (Answer, O) {
        let now = self.now();
        if O::LISTENS {
            self.domains.report_in_flight();
        }
        let measured = now - self.measured_from;
        let flows = self.flow_reports();
        let mut extra: Vec<_> = deadlock::pause_mismatches(&self.domains).map(audit::pause_problem).collect();
        extra.extend(self.domains.balance().and_then(audit::memory_problem));
        let ports = self.domains.port_reports(now, measured);
        let ledger = Audit {
            network: &self.network,
            ports: &ports,
            flows: &flows,
            packets: self.domains.packets(),
            ended: now,
            span: measured,
        };
        let mut problems = std::mem::take(&mut self.problems);
        problems.extend(ledger.problems());
        problems.extend(extra);
        let hash = ports.iter().fold(now.0, |hash, port| link::hash(hash, port.fingerprint));
        let fingerprint = flows.iter().fold(hash, |hash, flow| link::hash(hash, flow.finish.0 ^ flow.delivered));
        let answer = Answer {
            fingerprint,
            events: self.events(),
            packet_hops: self.domains.hops(),
            ended: now,
            measured,
            flows,
            ports,
            queues: self.record.queues,
            probes: self.record.probes,
            deadlock: self.deadlock,
            problems,
        };
        (answer, self.domains.into_observer())
    }

    fn flow_reports(&mut self) -> Vec<FlowReport> {
        self.domains.settle();
        let specs = self.network.flows.iter().zip(&self.ideal).zip(0..);
        let report = |((spec, &ideal), flow): ((&crate::spec::network::FlowSpec, _), u32)| {
            let start = if spec.after.is_empty() { spec.start } else { Time::MAX };
            FlowReport::new(self.domains.sender(flow), self.domains.receiver(flow), start, ideal)
        };
        specs.map(report).collect()
    }
}

/// How a sentence about so many flows begins.
fn flows(first: u32, count: usize) -> String {
    match count {
        0 | 1 => format!("flow {first}"),
        2 => format!("flow {first} and 1 other"),
        _ => format!("flow {first} and {} others", count - 1),
    }
}

/// What is due from the start.
fn schedule(network: &Network, stall_detector: &StallDetector) -> Schedule {
    let mut schedule = Schedule::default();
    let mut set = |at, wanted: bool, due| {
        if wanted {
            schedule.set(at, due);
        }
    };
    set(network.duration, network.duration < Time::MAX, Task::End);
    set(network.warmup, network.warmup > Time::ZERO, Task::Warmup);
    set(Time::ZERO, network.record.queue_interval > Time::ZERO, Task::Queues);
    set(network.record.probe_interval, network.record.probe_interval > Time::ZERO, Task::Probes);
    if let Some(first) = network.faults.first() {
        set(first.at, true, Task::Fault);
    }
    if let Some(look) = stall_detector.next_check(Time::ZERO) {
        set(look, true, Task::Watch);
    }
    schedule
}

/// By flow: its completion time when its path is empty; zero for unlimited ones.
fn ideal_times(network: &Network, routes: &Routes) -> Vec<Time> {
    let ideal = |(flow, number): (&crate::spec::network::FlowSpec, u32)| {
        if flow.bytes == Bytes::MAX {
            return Time::ZERO;
        }
        let [there, _] = routes.path(network, number);
        let path: Vec<_> = there.iter().map(|&port| network.ports[port as usize]).collect();
        ideal_completion(flow.bytes, &path, network)
    };
    network.flows.iter().zip(0..).map(ideal).collect()
}
