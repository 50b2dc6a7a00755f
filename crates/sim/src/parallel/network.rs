//! The whole network of a run: one domain, or several that advance in parallel ([`crate::parallel::run`]).
//!
//! The driver sees one network: it reads and changes hosts, ports and flows here, whatever domain owns them. A single domain pays
//! nothing for the possibility of several.

use std::sync::Arc;

use shallows_cc::units::{Bytes, Time};

use crate::engine::domain::Domain;
use crate::fabric::Fabric;
use crate::fabric::ownership::{Ownership, Partition};
use crate::fabric::route::Routes;
use crate::host::computations::ComputationReport;
use crate::host::hosts::{Completion, Hosts};
use crate::host::stats::{FlowProgress, ReceiverStats, SenderStats};
use crate::host::transport::SenderState;
use crate::observe::Observer;
use crate::packet::MAX_PACKETS;
use crate::parallel::mailbox::SharedMailboxes;
use crate::parallel::partition::partition;
use crate::parallel::pool::WorkerPool;
use crate::port::{Carried, PortReport};
use crate::randomness::Randomness;
use crate::spec::fault::Fault;
use crate::spec::network::{Balancing, Network};
use crate::spec::setting::SenderSetting;

/// The network.
#[derive(Clone, Debug)]
pub struct ParallelNetwork<O> {
    pub(super) network: Arc<Network>,
    pub(super) partition: Arc<Partition>,
    pub(super) domains: Vec<Domain<O>>,
    pub(super) mailboxes: SharedMailboxes,
    pub(super) pool: WorkerPool,
    pub(super) threads: usize,
    /// All events before this time have been executed in all domains.
    pub(super) horizon: Time,
    /// Lower bound on the time at which the last flow finishes.
    pub(super) earliest_finish: Time,
    /// The bound is not computed again before this time.
    pub(super) next_finish_check: Time,
    /// The least delay of a link; zero where faults may change paths, which are then no longer the shortest ones.
    pub(super) least_delay: Time,
    /// Events that were executed one at a time although the network has several domains.
    pub(super) outside_windows: u64,
    /// Packets in flight at which the run stops.
    pub(super) max_packets: u64,
    /// Whether the run stops when a flow completes at its receiver.
    pub(super) stops_at_completion: bool,
}

impl<O: Observer> ParallelNetwork<O> {
    /// An idle network at time zero, in one domain for each observer, as far as it can be divided. `ideal` are the completion times of
    /// flows on an empty path.
    pub(crate) fn new(
        network: &Arc<Network>,
        routes: Routes,
        ideal: &[Time],
        observers: Vec<O>,
    ) -> Result<Self, String> {
        let partition = Arc::new(partition(network, &routes, observers.len()));
        let routes = Arc::new(routes);
        let domain = |(domain, observer)| {
            let ownership = Ownership { partition: Arc::clone(&partition), domain };
            Domain::new(network, &routes, ownership, observer)
        };
        let domains = (0..partition.domains()).zip(observers).map(domain).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of(network, partition, domains, earliest_finish(network, ideal)))
    }

    /// Some domains of a network, with a lower bound on the time at which the last task ends.
    fn of(network: &Arc<Network>, partition: Arc<Partition>, domains: Vec<Domain<O>>, earliest_finish: Time) -> Self {
        let delays = network.ports.iter().map(|port| port.delay);
        Self {
            mailboxes: SharedMailboxes::new(domains.len()),
            pool: WorkerPool::default(),
            threads: 1,
            horizon: Time::ZERO,
            earliest_finish,
            next_finish_check: Time::ZERO,
            least_delay: if network.links_change() { Time::ZERO } else { delays.min().unwrap_or(Time::ZERO) },
            outside_windows: 0,
            max_packets: network.max_packets.min(MAX_PACKETS),
            stops_at_completion: false,
            network: Arc::clone(network),
            partition,
            domains,
        }
    }

    /// Changes the request and the routes, which no domain uses meanwhile: `idle` ones stand in for them.
    pub(crate) fn edit<R>(
        &mut self,
        network: &mut Arc<Network>,
        idle: &(Arc<Network>, Arc<Routes>),
        change: impl FnOnce(&mut Network, &mut Routes) -> R,
    ) -> R {
        let mut routes = Arc::clone(&self.domains[0].fabric.routes);
        self.set_network(&idle.0, &idle.1);
        let result = change(Arc::make_mut(network), Arc::make_mut(&mut routes));
        self.set_network(network, &routes);
        result
    }

    fn set_network(&mut self, network: &Arc<Network>, routes: &Arc<Routes>) {
        self.network = Arc::clone(network);
        self.domains.iter_mut().for_each(|domain| domain.set_network(network, routes));
    }

    /// Adds the next flow.
    pub(crate) fn join_flow(&mut self, flow: u32) {
        self.domains.iter_mut().for_each(|domain| domain.join(flow));
    }

    /// Whether a flow has ended at both ends.
    pub(crate) fn has_ended(&self, flow: u32) -> bool {
        self.domains.iter().all(|domain| domain.hosts.has_ended_here(flow))
    }

    /// The least number of a flow of which there is a packet, or that a host may still need although it has ended.
    pub(crate) fn first_held(&self) -> u32 {
        let in_flight = (0..self.links()).flat_map(|link| self.in_flight(link).map(|(packet, _)| packet.flow));
        let held = self.domains.iter().flat_map(|domain| domain.hosts.flows_held());
        in_flight.chain(held).min().unwrap_or(u32::MAX)
    }

    /// Retires the flows before `first`.
    pub(crate) fn retire(&mut self, first: u32) {
        self.domains.iter_mut().for_each(|domain| domain.hosts.retire(first));
    }

    /// Lets hosts note completions, and the run stop when a flow completes at its receiver if `stops`.
    pub(crate) fn watch_completions(&mut self, stops: bool) {
        for domain in &mut self.domains {
            domain.hosts.completions.get_or_insert_default();
            domain.hosts.stops_at_completion = stops;
        }
        self.stops_at_completion = stops;
    }

    /// Whether a flow has completed at its receiver since completions were last taken.
    pub(crate) fn has_completed(&self) -> bool {
        let at_receiver = |all: &Vec<Completion>| all.iter().any(|one| !one.at_sender);
        self.domains.iter().any(|domain| domain.hosts.completions.as_ref().is_some_and(at_receiver))
    }

    /// Whether the run stops here because of that.
    pub(super) fn stops(&self) -> bool {
        self.stops_at_completion && self.has_completed()
    }

    /// The completions since the last call, in the order of time.
    pub(crate) fn take_completions(&mut self) -> Vec<Completion> {
        let take = |domain: &mut Domain<O>| domain.hosts.completions.as_mut().map(std::mem::take).unwrap_or_default();
        let mut all: Vec<_> = self.domains.iter_mut().flat_map(take).collect();
        all.sort_unstable();
        all
    }

    /// Forgets the bound on the last finish, after a change of whether the run ends with its flows.
    pub(crate) fn forget_earliest_finish(&mut self) {
        self.earliest_finish = if self.network.until_done { self.horizon } else { Time::MAX };
        self.next_finish_check = Time::ZERO;
    }

    /// The time before which all domains have executed all events.
    pub(crate) fn horizon(&self) -> Time {
        self.horizon
    }

    /// One domain of a network, idle at time zero. Another driver advances the others, and exchanges the packets between them.
    pub fn part(
        network: &Arc<Network>,
        routes: &Arc<Routes>,
        ownership: Ownership,
        observer: O,
    ) -> Result<Self, String> {
        let partition = Arc::clone(&ownership.partition);
        let domain = Domain::new(network, routes, ownership, observer)?;
        Ok(Self::of(network, partition, vec![domain], Time::MAX))
    }

    /// Joins all parts of a network, in the order of their domains.
    pub(crate) fn join(parts: impl Iterator<Item = Self>) -> Option<Self> {
        parts.reduce(|mut whole, part| {
            whole.domains.extend(part.domains);
            whole
        })
    }

    /// The hosts of a part.
    pub fn only_hosts(&self) -> &Hosts {
        &self.domains[0].hosts
    }

    /// The fabric of a part.
    pub(crate) fn only_fabric(&mut self) -> &mut Fabric<O> {
        &mut self.domains[0].fabric
    }

    /// Whether other domains of the network are elsewhere.
    pub fn is_part(&self) -> bool {
        self.domains.len() < self.partition.domains() as usize
    }

    /// The number of domains.
    pub(crate) fn count(&self) -> usize {
        self.domains.len()
    }

    /// Sets the number of threads, at most one per domain.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.clamp(1, self.domains.len());
    }

    /// The time of the next event; [`Time::MAX`] if there is none.
    pub(crate) fn next_time(&self) -> Time {
        if let [whole] = &self.domains[..] {
            return whole.next_time();
        }
        let next = |domain: &Domain<O>| domain.next_time().min(domain.fabric.first_outgoing_arrival());
        self.domains.iter().map(next).min().unwrap_or(Time::MAX)
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.domains.iter().map(|domain| domain.fabric.now).max().unwrap_or(Time::ZERO)
    }

    /// Sets the time, before which all events have been executed.
    pub(crate) fn set_now(&mut self, now: Time) {
        self.horizon = now;
        self.domains.iter_mut().for_each(|domain| domain.fabric.now = now);
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.sum(Domain::processed)
    }

    /// Packet-hops so far.
    pub(crate) fn hops(&self) -> u64 {
        self.sum(|domain| domain.fabric.hops)
    }

    /// Packets sent from one domain to another so far.
    pub fn crossed(&self) -> u64 {
        self.sum(|domain| domain.fabric.packets.imported())
    }

    /// Events so far that the domains did not execute in parallel.
    pub fn outside_windows(&self) -> u64 {
        self.outside_windows
    }

    /// Packets in flight.
    pub(crate) fn live(&self) -> u64 {
        self.sum(|domain| domain.fabric.live())
    }

    /// Limited flows that have not finished.
    pub fn unfinished(&self) -> usize {
        self.sum(|domain| domain.hosts.unfinished as u64) as usize
    }

    /// Limited flows and computations that have not finished.
    pub(crate) fn unfinished_tasks(&self) -> usize {
        self.unfinished() + self.sum(|domain| domain.hosts.computations.unfinished as u64) as usize
    }

    /// Whether the run ends with its tasks, and all have finished.
    pub fn is_done(&self) -> bool {
        self.network.until_done && self.unfinished_tasks() == 0
    }

    /// Whether a task is still to start at a known time, or a computation to end.
    pub(crate) fn has_starts(&self) -> bool {
        self.domains.iter().any(|domain| domain.hosts.nics.timers.has_starts())
    }

    /// The progress of all flows that have started and not finished, in order.
    pub fn flow_progress(&mut self) -> Vec<FlowProgress> {
        self.settle();
        let mut flows: Vec<_> = self.domains.iter().flat_map(|domain| domain.hosts.flow_progress()).collect();
        flows.sort_unstable_by_key(|flow| flow.flow);
        flows.iter_mut().for_each(|flow| flow.progress = self.receiver(flow.flow).delivered);
        flows
    }

    /// The first flow that has started and not finished.
    pub(crate) fn first_live(&self) -> Option<u32> {
        self.domains.iter().filter_map(|domain| domain.hosts.first_live()).min()
    }

    /// The ports that packets of a flow may take, there and back.
    pub fn ports_of(&self, flow: u32) -> Vec<u32> {
        self.domains[0].fabric.routes.all_ports(&self.network, flow)
    }

    /// Reads the internals of a flow that is live; `since` is the time since they were last read.
    pub(crate) fn probe(&mut self, flow: u32, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        let spec = self.network.flow(flow);
        let (src, dst) = (self.of_host(spec.src), self.of_host(spec.dst));
        if self.domains[src].hosts.probe_sender(flow, since, record) {
            self.domains[dst].hosts.probe_receiver(flow, record);
        }
    }

    /// Applies fault `number` to a link: to the wire at its downstream end, and to its port.
    pub fn change(&mut self, number: u32, fault: Fault) {
        let (up, down) = (self.up(fault.link), self.down(fault.link));
        self.domains[down].fabric.change_wire(number, fault);
        self.domains[up].change(fault);
    }

    /// Gives the sender of a flow a window and a pace.
    pub(crate) fn adopt(&mut self, setting: SenderSetting) {
        let src = self.of_host(self.network.flow(setting.flow).src);
        self.domains[src].adopt(setting);
    }

    /// Whether the wire of a link loses every packet, though the link is up.
    pub(crate) fn loses_all(&self, link: u32) -> bool {
        let end = self.partition.at_end(&self.network.ports[link as usize]);
        end.is_some_and(|domain| self.domains[domain as usize].fabric.ports[link as usize].loses_all())
    }

    /// Routes around the links that are `down`.
    pub fn reroute(&mut self, down: &[bool]) {
        let mut routes = Routes::clone(&self.domains[0].fabric.routes);
        routes.reroute(&self.network, down);
        let routes = Arc::new(routes);
        self.domains.iter_mut().for_each(|domain| domain.reroute(&routes));
    }

    /// Starts the statistics.
    pub(crate) fn end_warmup(&mut self, now: Time) {
        self.domains.iter_mut().for_each(|domain| domain.hosts.end_warmup());
        for link in 0..self.links() {
            let (up, carried) = (self.up(link), self.carried(link));
            let fabric = &mut self.domains[up].fabric;
            fabric.ports[link as usize].close(now, &mut fabric.packets);
            fabric.ports[link as usize].end_warmup(now, carried.lost);
        }
    }

    /// The flows of which packets have arrived since the last call, and the payload that each has received so far.
    pub fn take_arrived(&mut self) -> impl Iterator<Item = (u32, u64)> {
        self.domains.iter_mut().flat_map(|domain| domain.hosts.take_arrived())
    }

    /// Copies the counts of live flows to their statistics.
    pub(crate) fn settle(&mut self) {
        self.domains.iter_mut().for_each(|domain| domain.hosts.collect_stats());
    }

    /// Copies the counts of a flow to its statistics, if it is live.
    pub(crate) fn settle_flow(&mut self, flow: u32) {
        let spec = self.network.flow(flow);
        let (src, dst) = (self.of_host(spec.src), self.of_host(spec.dst));
        self.domains[src].hosts.collect_sender_stats(flow);
        self.domains[dst].hosts.collect_receiver_stats(flow);
    }

    /// The statistics of a flow's sender.
    pub fn sender(&self, flow: u32) -> &SenderStats {
        let domain = self.partition.of(self.network.flow(flow).src);
        &self.domains[domain as usize].hosts.sender_stats[flow as usize]
    }

    /// The statistics of a flow's receiver.
    pub(crate) fn receiver(&self, flow: u32) -> &ReceiverStats {
        let domain = self.partition.of(self.network.flow(flow).dst);
        &self.domains[domain as usize].hosts.receiver_stats[flow as usize]
    }

    /// When a computation started and ended.
    pub fn computation(&self, number: u32) -> ComputationReport {
        let domain = self.partition.of(self.network.computations[number as usize].host);
        self.domains[domain as usize].hosts.computations.reports[number as usize]
    }

    /// The state of a flow's sender, if it is live.
    pub(crate) fn sender_state(&mut self, now: Time, flow: u32) -> Option<SenderState> {
        let domain = self.partition.of(self.network.flow(flow).src);
        self.domains[domain as usize].hosts.sender_state(now, flow)
    }

    /// The sources of random numbers from which the run has drawn.
    pub fn randomness(&self) -> Randomness {
        let paths = Randomness { balancing: self.domains[0].fabric.routes.has_drawn(), ..Randomness::default() };
        self.domains
            .iter()
            .fold(paths, |all, domain| all.and(&domain.fabric.randomness()).and(&domain.hosts.randomness()))
    }

    /// Packets created, received or held back by hosts, and in flight.
    pub(crate) fn packets(&self) -> (u64, u64, u64) {
        let created = self.sum(|domain| domain.fabric.packets.created());
        let at_hosts = self.sum(|domain| domain.fabric.consumed + domain.hosts.held_back());
        (created, at_hosts, self.live())
    }

    /// Bytes that switches count in their shared memories, and bytes queued there; `None` without shared memories.
    pub fn balance(&self) -> Option<(Bytes, Bytes)> {
        let all = self.domains.iter().filter_map(|domain| domain.fabric.balance());
        all.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Reports every packet on a link to the observers.
    pub(crate) fn report_in_flight(&mut self) {
        self.domains.iter_mut().for_each(|domain| domain.fabric.report_in_flight());
    }

    /// Ends the statistics of all ports, over the `span` that ends now.
    pub fn port_reports(&mut self, now: Time, span: Time) -> Vec<PortReport> {
        let links = self.links();
        let report = |link: u32| {
            let (up, carried) = (self.up(link), self.carried(link));
            let fabric = &mut self.domains[up].fabric;
            fabric.ports[link as usize].close(now, &mut fabric.packets);
            fabric.ports[link as usize].report(now, span, carried, &fabric.packets)
        };
        (0..links).map(report).collect()
    }

    /// The observer of the first domain.
    pub(crate) fn into_observer(self) -> O {
        let first = self.domains.into_iter().next().expect("a network has a domain");
        first.fabric.observer
    }

    /// The sum of a count over all domains.
    #[inline]
    fn sum(&self, count: impl Fn(&Domain<O>) -> u64) -> u64 {
        if let [whole] = &self.domains[..] { count(whole) } else { self.domains.iter().map(count).sum() }
    }

    /// The place of a host's domain among those here.
    fn of_host(&self, host: u32) -> usize {
        self.place(self.partition.of(host))
    }

    /// The place of a domain among those here. A part has one, which knows the hosts and ports of the others as idle ones.
    fn place(&self, domain: u32) -> usize {
        if self.domains.len() == 1 { 0 } else { domain as usize }
    }

    /// The domain of a link's port.
    pub(super) fn up(&self, link: u32) -> usize {
        self.place(self.partition.of_port(&self.network.ports[link as usize]))
    }

    /// The domain at the end of a link that may fail or be paused. No split switch has such links.
    pub(super) fn down(&self, link: u32) -> usize {
        self.place(self.partition.at_end(&self.network.ports[link as usize]).expect("the switch is not split"))
    }

    /// Counts of what a link has carried, in all domains in which it arrived.
    pub(crate) fn carried(&self, link: u32) -> Carried {
        self.domains.iter().map(|domain| domain.fabric.ports[link as usize].carried()).sum()
    }
}

/// Lower bound on the time at which the last task ends: no flow is faster than on an empty path.
fn earliest_finish(network: &Network, ideal: &[Time]) -> Time {
    if !network.until_done {
        return Time::MAX;
    }
    let detours = network.convergence < Time::MAX && network.links_change();
    if detours || network.balancing != Balancing::Flow {
        // Over several paths, or around a link that is down, a flow may be faster than over its own path.
        return Time::ZERO;
    }
    let add = |a: Time, b: Time| Time(a.0.saturating_add(b.0));
    let mut ends = vec![Time::ZERO; network.flows.len() + network.computations.len()];
    for number in network.order().expect("the tasks were checked") {
        let task = network.task(number);
        let mut before: Vec<_> = task.after.iter().map(|&first| ends[first as usize]).collect();
        before.sort_unstable();
        // Any of the others may end at once, such as flows whose data has been sent.
        let needed = (task.needs() as usize).saturating_sub(task.behind.len());
        let start = needed.checked_sub(1).map_or(Time::ZERO, |last| before[last]);
        let duration = ideal.get(number as usize).copied();
        let lasts = duration.unwrap_or_else(|| network.computations[number as usize - ideal.len()].duration);
        ends[number as usize] = add(add(start, task.delay), lasts);
    }
    let limited = (0..).zip(ends).filter(|&(at, _)| network.flows.get(at).is_none_or(|flow| flow.bytes != Bytes::MAX));
    limited.map(|(_, end)| end).max().unwrap_or(Time::ZERO)
}
