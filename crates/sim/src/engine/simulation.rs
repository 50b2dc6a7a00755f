//! The driver of a run: advances the network from one scheduled task to the next (`tasks`), and audits the results.

use std::sync::Arc;

use shallows_cc::units::{Bytes, Time};

use crate::engine::answer::{Answer, Deadlock, FlowReport};
use crate::engine::audit::{self, Audit};
use crate::engine::deadlock;
use crate::engine::driver::Driver;
use crate::engine::ideal::ideal_times;
use crate::engine::schedule::{DEADLOCK_INTERVAL, Schedule};
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
use crate::spec::network::Network;

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There are more events.
    Running,
    /// The run is complete.
    Done,
}

/// A run of a network, with an observer. A clone goes on by itself: snapshot and restore.
#[derive(Clone, Debug)]
pub struct Simulation<O = ()> {
    pub(super) network: Arc<Network>,
    pub(super) domains: ParallelNetwork<O>,
    /// Tasks so far, which count as events.
    pub(super) tasks: u64,
    pub(super) schedule: Schedule,
    pub(super) stall_detector: StallDetector,
    pub(super) record: Recorder,
    /// The number of faults that have been applied.
    pub(super) faults: usize,
    /// The number of settings of senders that have been applied.
    pub(super) settings: usize,
    /// By flow: its completion time on an empty path.
    pub(super) ideal: Vec<Time>,
    /// When the warm-up ended.
    pub(super) measured_from: Time,
    /// The largest lateness of a packet in real time; zero in a simulation.
    pub(super) late: Time,
    pub(super) deadlock: Option<Deadlock>,
    pub(super) over: bool,
    pub(super) problems: Vec<String>,
    pub(super) driver: Option<Box<Driver>>,
}

impl Simulation {
    /// A run at time zero, in one domain.
    ///
    /// # Errors
    /// A sentence about an invalid network ([`Network::check`]) or a flow without a path.
    pub fn new(network: Network) -> Result<Self, String> {
        Self::observed(network, ())
    }

    /// A run in this number of domains, as far as the network can be divided. The results are the same for any number.
    ///
    /// # Errors
    /// See [`Simulation::new`].
    pub fn parted(network: Network, domains: usize) -> Result<Self, String> {
        Self::observed_in(network, (), domains)
    }
}

impl<O: Observer + Copy> Simulation<O> {
    /// A run with a copy of this observer in each of this number of domains.
    ///
    /// # Errors
    /// See [`Simulation::new`].
    pub fn observed_in(network: Network, observer: O, domains: usize) -> Result<Self, String> {
        Self::with(network, |_, _| vec![observer; domains.max(1)])
    }

    /// Like [`Self::observed_in`], but in one domain if fewer packet-hops than `hops` are expected.
    ///
    /// # Errors
    /// See [`Simulation::new`].
    pub fn observed_in_if_long(network: Network, observer: O, domains: usize, hops: f64) -> Result<Self, String> {
        Self::with(network, |network, routes| {
            vec![observer; if partition::expected_hops(network, routes) < hops { 1 } else { domains.max(1) }]
        })
    }
}

impl<O: Observer> Simulation<O> {
    /// A run with an observer, in one domain.
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
        Ok(Self::of(network, ideal, domains))
    }

    /// A run of these domains; `ideal` are the completion times of flows on an empty path.
    pub(super) fn of(network: Arc<Network>, ideal: Vec<Time>, domains: ParallelNetwork<O>) -> Self {
        let frame =
            network.ports.iter().map(|port| Clock::new(port.rate).time(network.mtu)).max().unwrap_or(Time::ZERO);
        let stall_detector = StallDetector::new(network.host.rto_max, frame);
        let mut simulation = Self {
            // A part of a network does not see the progress of the others.
            schedule: Schedule::new(&network, stall_detector.next_check(Time::ZERO).filter(|_| !domains.is_part())),
            record: Recorder::new(&network.record, network.flows.len()),
            domains,
            tasks: 0,
            stall_detector,
            faults: 0,
            settings: 0,
            ideal,
            measured_from: Time::ZERO,
            late: Time::ZERO,
            deadlock: None,
            over: false,
            problems: Vec::new(),
            driver: None,
            network,
        };
        simulation.over = simulation.domains.is_done();
        simulation
    }

    /// The number of domains.
    #[must_use]
    pub fn domains(&self) -> usize {
        self.domains.count()
    }

    /// Sets the number of threads, at most one per domain.
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

    /// Packets sent from one domain to another so far, counted each time.
    #[must_use]
    pub fn crossed(&self) -> u64 {
        self.domains.crossed()
    }

    /// Events so far that several domains executed one at a time, because each of them might have ended the run.
    #[must_use]
    pub fn outside_windows(&self) -> u64 {
        self.domains.outside_windows()
    }

    /// Limited flows that have finished so far.
    #[must_use]
    pub fn finished(&self) -> u64 {
        let limited = self.network.flows.iter().filter(|flow| flow.bytes != Bytes::MAX).count();
        u64::from(self.network.first_flow) + (limited - self.domains.unfinished()) as u64
    }

    /// Whether the run is complete.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Continues for about this number of events.
    ///
    /// # Panics
    /// If an invariant is broken, such as time running backwards.
    pub fn advance(&mut self, events: u64) -> Progress {
        self.reach(Time::MAX, events);
        if self.over { Progress::Done } else { Progress::Running }
    }

    /// Like [`Self::advance`], but stops before the first event later than `at`. True if all events up to then are done.
    ///
    /// # Panics
    /// See [`Simulation::advance`].
    pub fn reach(&mut self, at: Time, events: u64) -> bool {
        let (until, behind) = (self.events().saturating_add(events), Time(at.0.saturating_add(1)));
        while !self.over && self.events() < until {
            let task = self.schedule.next();
            let pause_window = self.awaits_pause().then_some(DEADLOCK_INTERVAL);
            match self.domains.run(task.min(behind), until - self.tasks, pause_window) {
                Stop::TimeLimit if task >= behind && behind < Time::MAX => return true,
                Stop::TooManyPackets => self.stop_at_packet_limit(),
                Stop::TimeLimit => self.run_task(),
                Stop::Paused(at) => self.schedule_deadlock_search(at),
                Stop::Finished => self.over = true,
                Stop::EventLimit => return false,
            }
        }
        self.over
    }

    /// The state of everything `at` a time that [`Self::reach`] has reached.
    pub fn snapshot(&mut self, at: Time) -> Snapshot {
        Snapshot::of(&mut self.domains, at, self.network.flow_numbers())
    }

    pub(super) fn events(&self) -> u64 {
        self.domains.events() + self.tasks
    }

    /// Ends the run now and audits it.
    #[must_use]
    pub fn finish(self) -> Answer {
        self.finish_observed().0
    }

    /// Like [`Self::finish`], and returns the observer.
    #[must_use]
    pub fn finish_observed(mut self) -> (Answer, O) {
        let now = self.now();
        if O::LISTENS {
            self.domains.report_in_flight();
        }
        let measured = now - self.measured_from;
        let flows = self.flow_reports();
        self.sample_goodput(now);
        let numbers = 0..self.network.computations.len() as u32;
        let computations: Vec<_> = numbers.map(|number| self.domains.computation(number)).collect();
        let mut extra: Vec<_> = deadlock::pause_mismatches(&self.domains).map(audit::pause_problem).collect();
        extra.extend(self.domains.balance().and_then(audit::memory_problem));
        let ports = self.domains.port_reports(now, measured);
        let audit = Audit {
            network: &self.network,
            retired_goodput: self.driver.as_ref().map_or(&[], |driver| &driver.retired.goodput),
            ports: &ports,
            flows: &flows,
            computations: &computations,
            packets: self.domains.packets(),
            ended: now,
            span: measured,
            late: self.late,
        };
        let mut problems = std::mem::take(&mut self.problems);
        problems.extend(audit.problems());
        problems.extend(extra);
        let hash = ports.iter().fold(now.0, |hash, port| link::hash(hash, port.fingerprint));
        let retired = self.driver.iter().flat_map(|driver| driver.retired.values.iter().copied());
        let values = retired.chain(flows.iter().map(FlowReport::hashed));
        let hash = values.fold(hash, link::hash);
        let fingerprint = computations.iter().fold(hash, |hash, one| link::hash(hash, one.finish.0));
        let answer = Answer {
            fingerprint,
            events: self.events(),
            packet_hops: self.domains.hops(),
            ended: now,
            measured,
            flows,
            computations,
            ports,
            randomness: self.domains.randomness(),
            queues: self.record.queues,
            probes: self.record.probes,
            goodput: self.record.goodput.map(|recorder| recorder.table),
            deadlock: self.deadlock,
            problems,
        };
        (answer, self.domains.into_observer())
    }

    pub(super) fn flow_reports(&mut self) -> Vec<FlowReport> {
        self.domains.settle();
        self.network.flow_numbers().map(|flow| self.flow_report(flow)).collect()
    }

    pub(super) fn flow_report(&self, flow: u32) -> FlowReport {
        let (spec, ideal) = (self.network.flow(flow), self.ideal[(flow - self.network.first_flow) as usize]);
        let start = if spec.starts_by_itself() { spec.start } else { Time::MAX };
        FlowReport::new(self.domains.sender(flow), self.domains.receiver(flow), start, ideal)
    }
}
