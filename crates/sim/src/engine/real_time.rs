//! A part of a network in real time: one domain, whose packets travel to other domains by some other means than mailboxes.
//!
//! The driver of the domain reads a clock and calls [`RealTimeDomain::advance`]. The time of the domain is the time at which its
//! events are due, never the time at which the driver was woken: a timer that the driver serves 40 us late does its work at its own
//! time, so pacing keeps its mean rate. The clock only limits how far the domain advances.
//!
//! A packet for another domain leaves at once, with the time at which it is to arrive there. The other domain holds it until then, so
//! the delay of the link hides the time that the packet needs in reality. A packet that comes later than that arrives at the present
//! of its domain, which is the time of its last event. This difference is the lateness of the packet.

use std::sync::Arc;

use shallows_cc::units::Time;

use crate::engine::answer::{Answer, FlowReport, ProbeTable, QueueTable};
use crate::engine::ideal::ideal_times;
use crate::engine::schedule::Task;
use crate::engine::simulation::Simulation;
pub use crate::fabric::Transit;
use crate::fabric::ownership::{Ownership, Partition};
use crate::fabric::route::Routes;
use crate::host::stats::{ReceiverStats, SenderStats};
use crate::host::transport::FlowReceiver;
use crate::observe::series::Recorder;
use crate::parallel::network::ParallelNetwork;
use crate::parallel::partition::by_node;
use crate::spec::network::{Balancing, Network};

/// Events between two checks of the run by its driver.
const MANY: u64 = 1 << 40;

/// A domain in real time.
#[derive(Clone, Debug)]
pub struct RealTimeDomain {
    simulation: Simulation,
    number: u32,
    partition: Arc<Partition>,
    /// All events up to this time have been executed.
    reached: Time,
    /// Ports that mark at dequeue have been brought up to this time.
    closed: Time,
    /// When the next packet for another domain can leave that stays until it begins to be sent.
    departs: Time,
    /// By link: the latest arrival so far. Links deliver in order.
    latest: Vec<Time>,
    /// By flow: where its data and its answers enter this domain, as a link and the position on the path.
    entries: Vec<[Option<(u32, u32)>; 2]>,
}

impl RealTimeDomain {
    /// Divides a network: `of` has the number of its domain for each node. Numbers begin at 0, without gaps.
    ///
    /// # Errors
    /// A sentence about an invalid network ([`Network::check`]), a flow without a path, or a part of the request that needs all domains
    /// at one moment.
    pub fn divide(network: Network, of: &[u32]) -> Result<Vec<Self>, String> {
        network.check()?;
        refuse(&network)?;
        if of.len() != network.nodes as usize {
            return Err(format!("{} domains given for {} nodes: expected one for each", of.len(), network.nodes));
        }
        let routes = Arc::new(Routes::new(&network)?);
        let ideal = ideal_times(&network, &routes);
        let partition = Arc::new(by_node(&network, of.to_vec()));
        let network = Arc::new(network);
        let part = |number| {
            let ownership = Ownership { partition: Arc::clone(&partition), domain: number };
            let domains = ParallelNetwork::part(&network, &routes, ownership, ())?;
            Ok(Self {
                simulation: Simulation::of(Arc::clone(&network), ideal.clone(), domains),
                number,
                partition: Arc::clone(&partition),
                reached: Time::ZERO,
                closed: Time::ZERO,
                departs: Time::MAX,
                latest: vec![Time::ZERO; network.ports.len()],
                entries: entries(&network, &routes, &partition, number),
            })
        };
        (0..partition.domains()).map(part).collect()
    }

    /// Executes all events up to `until`, and the scheduled tasks of the run: the end of its warm-up, samples, and its end.
    ///
    /// # Panics
    /// If an invariant is broken, such as time running backwards.
    pub fn advance(&mut self, until: Time) {
        self.reached = self.reached.max(until);
        while !self.simulation.reach(self.reached, MANY) {}
    }

    /// Removes the packets that leave for other domains, and passes each to `send` with the number of its domain.
    pub fn depart(&mut self, mut send: impl FnMut(u32, Transit)) {
        let (end, lookahead) = (self.reached + Time(1), self.partition.lookahead);
        let fabric = self.simulation.domains.only_fabric();
        if fabric.marks_in_outbox() {
            self.closed = end;
        }
        fabric.flush(end, lookahead);
        for (to, batch) in (0..).zip(fabric.batches()) {
            batch.drain().for_each(|transit| send(to, transit));
        }
        // The batches are empty, so the first arrival is that of a packet that stays.
        self.departs = fabric.first_outgoing_arrival().saturating_sub(lookahead);
    }

    /// Puts a packet from another domain onto its link, and returns its lateness.
    pub fn arrive(&mut self, mut transit: Transit) -> Time {
        let planned = transit.packet.arrives;
        let latest = &mut self.latest[transit.link as usize];
        transit.packet.arrives = planned.max(*latest).max(self.closed).max(self.simulation.now());
        *latest = transit.packet.arrives;
        let late = transit.packet.arrives - planned;
        self.simulation.late = self.simulation.late.max(late);
        self.simulation.domains.only_fabric().import_transit(transit);
        late
    }

    /// When the domain has something to do next; [`Time::MAX`] if it waits for packets.
    #[must_use]
    pub fn next(&self) -> Time {
        let tasks = if self.is_over() { Time::MAX } else { self.simulation.schedule.next() };
        let events = if self.is_over() { Time::MAX } else { self.simulation.domains.next_time() };
        events.min(tasks).min(self.departs)
    }

    /// Lower bound on the time from sending a packet to another domain until it arrives there.
    #[must_use]
    pub fn lookahead(&self) -> Time {
        self.partition.lookahead
    }

    /// The time of its last event.
    #[must_use]
    pub fn now(&self) -> Time {
        self.simulation.now()
    }

    /// Whether the run has ended. The domain still takes packets that are on their way to it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.simulation.is_over()
    }

    /// Ends the run early. All domains must be given the same time, which none of them has passed.
    pub fn end_at(&mut self, at: Time) {
        self.simulation.schedule.set(at, Task::End);
    }

    /// Packets received over one link so far, and limited flows that have finished.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.simulation.packet_hops(), self.simulation.finished())
    }

    /// The network of all domains.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.simulation.network
    }

    /// Whether the domain owns a node.
    #[must_use]
    pub fn owns(&self, node: u32) -> bool {
        self.partition.of(node) == self.number
    }

    /// The link over which the data or the answers of a flow come from another domain, and their position on their path there.
    /// The path of a flow enters each domain once at most.
    #[must_use]
    pub fn entry(&self, flow: u32, answers: bool) -> Option<(u32, u32)> {
        self.entries[flow as usize][usize::from(answers)]
    }

    /// The next new sequence number of a flow whose sender is live in this domain, and the number of packets sent so far.
    #[must_use]
    pub fn sent(&self, flow: u32) -> Option<(u32, u64)> {
        let common = self.simulation.domains.only_hosts().senders.get(flow)?.common();
        let next = common.position.sent_below;
        Some((next, u64::from(next) + common.repairs.retransmits))
    }

    /// The payload that a flow's receiver in this domain has, in bytes, and the credits that it has sent.
    #[must_use]
    pub fn received(&self, flow: u32) -> (u64, u64) {
        let hosts = self.simulation.domains.only_hosts();
        let closed = &hosts.receiver_stats[flow as usize];
        let live = hosts.receivers.get(flow);
        let counts = |live: &FlowReceiver| (live.intake().reassembly.delivered, live.credits());
        live.map_or((closed.delivered, closed.credits), counts)
    }

    /// The report of a flow by those of its ends that are in this domain.
    #[must_use]
    pub fn report(&mut self, flow: u32) -> FlowReport {
        self.simulation.domains.settle();
        let spec = self.simulation.network.flow(flow);
        let hosts = self.simulation.domains.only_hosts();
        let (mut sender, mut receiver) = (SenderStats::NONE, ReceiverStats::NONE);
        if self.owns(spec.src) {
            sender = hosts.sender_stats[flow as usize].clone();
        }
        if self.owns(spec.dst) {
            receiver = hosts.receiver_stats[flow as usize];
        }
        FlowReport::new(&sender, &receiver, spec.start, self.simulation.ideal[flow as usize])
    }

    /// Joins all domains of a network, between which no packet is on its way, and audits the run.
    ///
    /// # Panics
    /// If there is no domain.
    #[must_use]
    pub fn finish(mut parts: Vec<Self>) -> Answer {
        parts.sort_by_key(|part| part.number);
        let ports = &parts[0].simulation.network.record.ports;
        let owner = |&port: &u32| {
            let port = &parts[0].simulation.network.ports[port as usize];
            parts[0].partition.of_port(port) as usize
        };
        let owners: Vec<_> = ports.iter().map(owner).collect();
        let mut simulations: Vec<_> = parts.into_iter().map(|part| part.simulation).collect();
        let records: Vec<_> = simulations.iter_mut().map(|one| std::mem::take(&mut one.record)).collect();
        let tasks = simulations.iter().map(|one| one.tasks).max().unwrap_or(0);
        let problems = simulations.iter_mut().flat_map(|one| std::mem::take(&mut one.problems)).collect();
        let measured_from = simulations[0].measured_from;
        let late = simulations.iter().map(|one| one.late).max().unwrap_or(Time::ZERO);
        let (network, ideal) = (Arc::clone(&simulations[0].network), simulations[0].ideal.clone());
        let domains = ParallelNetwork::join(simulations.into_iter().map(|one| one.domains)).expect("there is a domain");
        let mut whole = Simulation::of(network, ideal, domains);
        (whole.tasks, whole.problems) = (tasks, problems);
        (whole.measured_from, whole.late) = (measured_from, late);
        whole.record.queues = join_queues(&records, &owners);
        whole.record.probes = join_probes(&records);
        whole.finish()
    }
}

/// By flow: the places where its data and its answers enter a domain.
fn entries(network: &Network, routes: &Routes, partition: &Partition, number: u32) -> Vec<[Option<(u32, u32)>; 2]> {
    let enters = |&(_, &port): &(u32, &u32)| {
        let port = &network.ports[port as usize];
        partition.of_port(port) != number && partition.at_end(port) == Some(number)
    };
    let entry = |flow: u32| {
        let [there, back] = routes.path(network, flow);
        [(there, network.flow(flow).dst, false), (back, network.flow(flow).src, true)].map(|(ports, to, answers)| {
            let (place, &port) = (0..).zip(&ports).find(enters)?;
            Some((port, routes.first_hop(flow, to, answers) + place))
        })
    };
    (0..network.flows.len() as u32).map(entry).collect()
}

/// Refuses what needs the state of all domains at one moment, or a time that is not known in advance.
fn refuse(network: &Network) -> Result<(), String> {
    let reasons = [
        (network.until_done, "duration: expected a time: a domain does not see when the flows of others finish"),
        (network.pauses(), "classes.pause: expected none: a search for deadlocks reads all domains"),
        (!network.faults.is_empty(), "faults: expected none: a fault changes both ends of a link at one moment"),
        (
            network.has_global_tasks(),
            "flows.wait: expected no global one: a domain does not see the end of others' tasks",
        ),
        (
            network.balancing != Balancing::Flow,
            "balancing: expected \"flow\": the place where a packet enters a domain is known",
        ),
        (network.record.goodput.is_some(), "record.goodput: expected none: the sample reads all domains"),
    ];
    reasons.iter().find(|(asked, _)| *asked).map_or(Ok(()), |(_, why)| Err((*why).to_owned()))
}

/// The samples of each port by the domain that owns it, up to the last sample of all domains.
fn join_queues(records: &[Recorder], owners: &[usize]) -> QueueTable {
    let samples = records.iter().map(|record| record.queues.time.len()).min().unwrap_or(0);
    let time = records[0].queues.time[..samples].to_vec();
    let column = |(place, &owner): (usize, &usize)| {
        let all = records[owner].queues.bytes.get(place);
        all.map_or(Vec::new(), |all| all[..samples].to_vec())
    };
    let recorded = records[0].queues.bytes.len();
    QueueTable { time, bytes: owners.iter().enumerate().take(recorded).map(column).collect() }
}

/// The samples of all senders, in the order of time and flow.
fn join_probes(records: &[Recorder]) -> ProbeTable {
    let rows = |ProbeTable { names, time, flow, name, value }: &ProbeTable| {
        let row = |at: usize| (time[at], flow[at], names[usize::from(name[at])], value[at]);
        (0..time.len()).map(row).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = records.iter().flat_map(|record| rows(&record.probes)).collect();
    all.sort_by_key(|&(time, flow, ..)| (time, flow));
    let mut joined = Recorder::default();
    all.into_iter().for_each(|(time, flow, name, value)| joined.probe(Time(time), flow, name, value));
    joined.probes
}
