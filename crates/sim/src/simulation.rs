//! The driver of a run: lets the network go on from one thing that is due to the next, and closes the books. It owns no
//! packet.

use std::sync::Arc;

use shallows_cc::units::{Bytes, Time};

use crate::answer::{Answer, Deadlock, FlowReport};
use crate::books::{self, Ledger};
use crate::clock::Clock;
use crate::crowd;
use crate::domain::Domain;
use crate::flow;
use crate::link::mix;
use crate::network::{Network, ideal_completion};
use crate::observe::Observer;
use crate::record::Record;
use crate::route::Routes;
use crate::schedule::{Due, Schedule};
use crate::watchman::Watchman;

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
    domain: Domain<O>,
    schedule: Schedule,
    watchman: Watchman,
    record: Record,
    /// How many links have changed.
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
}

impl<O: Observer> Simulation<O> {
    /// The same with somebody who looks on.
    ///
    /// # Errors
    /// See [`Simulation::new`].
    pub fn observed(network: Network, observer: O) -> Result<Self, String> {
        network.check()?;
        let routes = Routes::new(&network)?;
        let ideal = ideal_times(&network, &routes);
        let network = Arc::new(network);
        let domain = Domain::new(&network, routes, observer)?;
        let frame =
            network.ports.iter().map(|port| Clock::new(port.rate).time(network.mtu)).max().unwrap_or(Time::ZERO);
        let watchman = Watchman::new(network.host.rto_max, frame);
        let mut simulation = Self {
            schedule: schedule(&network, &watchman),
            record: Record::new(&network.record),
            domain,
            watchman,
            faults: 0,
            ideal,
            measured_from: Time::ZERO,
            deadlock: None,
            over: false,
            problems: Vec::new(),
            network,
        };
        simulation.over = simulation.domain.is_done();
        Ok(simulation)
    }

    /// The same, but the run ends once so many packets are in flight, in place of what 2 GiB hold.
    #[must_use]
    pub fn holding_at_most(mut self, packets: u64) -> Self {
        self.domain.fabric.most_packets = packets;
        self
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.domain.fabric.now
    }

    /// Packets received over one link so far.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.domain.fabric.hops
    }

    /// Limited flows that have finished so far.
    #[must_use]
    pub fn finished(&self) -> u64 {
        let limited = self.network.flows.iter().filter(|flow| flow.bytes != Bytes::MAX).count();
        (limited - self.domain.hosts.unfinished) as u64
    }

    /// Goes on for about `events` events.
    ///
    /// # Panics
    /// If an invariant is broken, such as time running backwards.
    pub fn advance(&mut self, events: u64) -> Progress {
        let until = self.domain.events + events;
        while !self.over && self.domain.events < until {
            let turn = until.min(self.domain.events + crowd::LOOK_EVERY);
            self.domain.run(self.schedule.next(), turn - self.domain.events);
            self.over |= self.domain.is_done();
            if self.domain.fabric.is_crowded() {
                self.end_crowded();
            } else if std::mem::take(&mut self.domain.fabric.look) {
                self.watch_for_deadlock();
            } else if !self.over && self.domain.events < turn {
                self.do_what_is_due();
            }
        }
        if self.over { Progress::Done } else { Progress::Running }
    }

    /// The network has come to the next thing that is due, or to rest.
    fn do_what_is_due(&mut self) {
        let waits = self.domain.hosts.unfinished > 0 && self.domain.next() == Time::MAX;
        let may_change = self.schedule.has(Due::Deadlock) || self.schedule.has(Due::Fault);
        if waits && self.deadlock.is_none() && !may_change {
            return self.run_dry();
        }
        let Some((at, due)) = self.schedule.pop() else { return self.run_dry() };
        self.domain.fabric.now = at;
        self.domain.events += 1;
        match due {
            Due::End => self.over = true,
            Due::Warmup => self.end_warmup(),
            Due::Fault => self.change_links(),
            Due::Queues => self.read_queues(),
            Due::Probes => self.read_probes(),
            Due::Deadlock => self.search_deadlock(),
            Due::Watch => self.watch(),
        }
    }

    /// More packets are in flight than a run may hold.
    fn end_crowded(&mut self) {
        let fabric = &self.domain.fabric;
        self.over = true;
        self.problems.push(crowd::problem(&self.network, &fabric.ports, &fabric.links, &fabric.packets));
    }

    /// Nothing is left to happen.
    fn run_dry(&mut self) {
        self.over = true;
        let unfinished = self.domain.hosts.unfinished;
        if unfinished > 0 {
            let first = self.domain.hosts.first_live().map_or_else(String::new, |flow| format!(", flow {flow} first"));
            self.problems.push(format!("{unfinished} flows have not finished and wait for nothing{first}"));
        }
    }

    /// Ends the run if no flow can get on.
    fn watch(&mut self) {
        let now = self.now();
        let stuck = self.watchman.look(now, self.domain.hosts.standings());
        if let Some((first, count)) = stuck
            && !self.domain.hosts.timers.has_starts()
            && !self.schedule.has(Due::Fault)
            && self.deadlock.is_none()
        {
            self.over = true;
            let others = if count > 1 { format!(" and {} others", count - 1) } else { String::new() };
            let (flow, progress) = (first.flow, first.progress);
            self.problems.push(format!(
                "flow {flow}{others} cannot get on: timers repeat and nothing arrives any more, after {progress} bytes of flow {flow}"
            ));
        } else if let Some(at) = self.watchman.next_look(now) {
            self.schedule.set(at, Due::Watch);
        }
    }

    /// All changes of links that are due; the next one is then.
    fn change_links(&mut self) {
        let now = self.now();
        while let Some(&change) = self.network.faults.get(self.faults) {
            if change.at > now {
                return self.schedule.set(change.at, Due::Fault);
            }
            self.domain.change(change);
            self.faults += 1;
        }
    }

    fn watch_for_deadlock(&mut self) {
        let paused = self.network.pause.is_some();
        if paused && self.deadlock.is_none() && !self.schedule.has(Due::Deadlock) {
            self.schedule.set(self.now() + DEADLOCK_INTERVAL, Due::Deadlock);
        }
    }

    /// Looks for a deadlock. Flows that wait for one never end: a run until they are done is over.
    fn search_deadlock(&mut self) {
        // A port that nobody pauses any more: the books name it.
        self.over |= self.domain.fabric.disagreements().next().is_some();
        let ports = self.domain.fabric.deadlock();
        if !ports.is_empty() {
            self.deadlock = Some(Deadlock { at: self.now(), ports });
            self.over |= self.network.until_done;
        } else if self.domain.fabric.ports.iter().any(crate::port::Port::is_paused) {
            self.watch_for_deadlock();
        }
    }

    fn end_warmup(&mut self) {
        let now = self.now();
        self.domain.hosts.end_warmup();
        self.domain.fabric.ports.iter_mut().for_each(|port| port.end_warmup(now));
        self.measured_from = now;
    }

    fn read_queues(&mut self) {
        if self.record.queues_full() {
            return;
        }
        let (now, ports) = (self.now(), &self.domain.fabric.ports);
        let spec = &self.network.record;
        self.record.queues(now, spec.ports.iter().map(|&port| ports[port as usize].queue(now)));
        self.schedule.set(now + spec.queue_interval, Due::Queues);
    }

    fn read_probes(&mut self) {
        if self.record.probes_full() {
            return;
        }
        let (now, record) = (self.now(), &mut self.record);
        let spec = &self.network.record;
        for &flow in &spec.flows {
            self.domain.hosts.probe(flow, spec.probe_interval, &mut |name, value| record.probe(now, flow, name, value));
        }
        self.schedule.set(now + spec.probe_interval, Due::Probes);
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
        let measured = now - self.measured_from;
        let flows = self.flow_reports();
        let fabric = &mut self.domain.fabric;
        let mut extra: Vec<_> = fabric.disagreements().map(books::pause_problem).collect();
        extra.extend(fabric.balance().and_then(books::memory_problem));
        let links = fabric.links.iter();
        let report = |(port, link): (&mut crate::port::Port, _)| port.report(now, measured, link, &fabric.packets);
        let ports: Vec<_> = fabric.ports.iter_mut().zip(links).map(report).collect();
        let ledger = Ledger {
            network: &self.network,
            ports: &ports,
            flows: &flows,
            packets: &fabric.packets,
            consumed: fabric.consumed,
            ended: now,
            span: measured,
        };
        let mut problems = self.problems;
        problems.extend(ledger.problems());
        problems.extend(extra);
        let hash = ports.iter().fold(now.0, |hash, port| mix(hash, port.fingerprint));
        let fingerprint = flows.iter().fold(hash, |hash, flow| mix(hash, flow.finish.0 ^ flow.delivered));
        let answer = Answer {
            fingerprint,
            events: self.domain.events,
            packet_hops: fabric.hops,
            ended: now,
            measured,
            flows,
            ports,
            queues: self.record.queues,
            probes: self.record.probes,
            deadlock: self.deadlock,
            problems,
        };
        (answer, self.domain.fabric.observer)
    }

    fn flow_reports(&mut self) -> Vec<FlowReport> {
        self.domain.hosts.settle();
        let ends = self.domain.hosts.sent.iter().zip(&self.domain.hosts.received);
        let specs = self.network.flows.iter().zip(&self.ideal);
        let report = |((sent, received), (spec, &ideal)): ((_, _), (&crate::network::FlowSpec, _))| {
            let start = if spec.after.is_none() { spec.start } else { Time::MAX };
            flow::report(sent, received, start, ideal)
        };
        ends.zip(specs).map(report).collect()
    }
}

/// What is due from the start.
fn schedule(network: &Network, watchman: &Watchman) -> Schedule {
    let mut schedule = Schedule::default();
    let mut set = |at, wanted: bool, due| {
        if wanted {
            schedule.set(at, due);
        }
    };
    set(network.duration, network.duration < Time::MAX, Due::End);
    set(network.warmup, network.warmup > Time::ZERO, Due::Warmup);
    set(Time::ZERO, network.record.queue_interval > Time::ZERO, Due::Queues);
    set(network.record.probe_interval, network.record.probe_interval > Time::ZERO, Due::Probes);
    if let Some(first) = network.faults.first() {
        set(first.at, true, Due::Fault);
    }
    if let Some(look) = watchman.next_look(Time::ZERO) {
        set(look, true, Due::Watch);
    }
    schedule
}

/// By flow: its completion time when its path is empty; zero for unlimited ones.
fn ideal_times(network: &Network, routes: &Routes) -> Vec<Time> {
    let ideal = |(flow, number): (&crate::network::FlowSpec, u32)| {
        if flow.bytes == Bytes::MAX {
            return Time::ZERO;
        }
        let [there, _] = routes.path(network, number);
        let path: Vec<_> = there.iter().map(|&port| network.ports[port as usize]).collect();
        ideal_completion(flow.bytes, &path, network)
    };
    network.flows.iter().zip(0..).map(ideal).collect()
}
