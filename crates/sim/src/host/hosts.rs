//! Hosts of a domain: the senders and receivers of flows, and the handling of packets and timers.
//!
//! A sender is created when its flow starts, a receiver when the first packet arrives. A sender is removed when it knows that
//! everything has arrived, a receiver when everything has arrived and it has nothing left to send. A later packet is answered
//! without a receiver. A dependent flow starts at the host where its predecessor finished: the receiver's host, or the sender's
//! host once that knows. A task that is declared global starts at another host when the predecessor's last byte arrives.

use std::sync::Arc;

use shallows_cc::port::Ecn;
use shallows_cc::units::{Bytes, MIN_FRAME, Time};

use crate::fabric::Fabric;
use crate::fabric::ownership::Ownership;
use crate::fabric::route::Routes;
use crate::host::computations::Computations;
use crate::host::flow_set::FlowSet;
use crate::host::flow_table::{FlowTable, OwnedTable};
use crate::host::nics::Nics;
use crate::host::pull_pacer::PullPacer;
use crate::host::response_delay::ResponseDelay;
use crate::host::setup::Setup;
use crate::host::stats::{ReceiverStats, SenderStats};
use crate::host::transport::{FlowEndpoint, FlowReceiver, FlowSender, PacketSink, ReceiverEvent, reply_after_close};
use crate::observe::Observer;
use crate::packet::header::{Header, TcpAck};
use crate::packet::{Flags, Packet, PacketKind};
use crate::port::admission::Incoming;
use crate::queue::timers::{Kind, Timer};
use crate::randomness::Randomness;
use crate::spec::network::{Balancing, FlowSpec, Network};
use crate::spec::setting::SenderSetting;
use crate::spec::task::Numbering;

/// All hosts of a domain.
// Tables by flow or host are fields of their own, because most events need several of them at once.
#[derive(Clone, Debug)]
pub struct Hosts {
    pub(super) network: Arc<Network>,
    ownership: Ownership,
    pub nics: Nics,
    /// Number of active flows of each sending host.
    active: Vec<u32>,
    pub senders: FlowTable<FlowSender>,
    pub receivers: FlowTable<FlowReceiver>,
    /// NICs into whose run queues flows have moved, while [`Self::transmit`] serves another one.
    moved: Vec<u32>,
    pull_pacer: PullPacer,
    pub(super) response_delay: ResponseDelay,
    /// Whether hosts hold responses back.
    holds_responses: bool,
    /// Whether there are reports of ports, or acknowledgements that ride on data.
    has_rare_packets: bool,
    pub computations: Computations,
    pub sender_stats: OwnedTable<SenderStats>,
    pub receiver_stats: OwnedTable<ReceiverStats>,
    /// Flows of which packets have arrived since the last sample of goodput, if it is recorded: the next sample reads no other.
    pub(super) arrived: Option<FlowSet>,
    /// The sources of random numbers from which ended flows have drawn.
    pub(super) randomness: Randomness,
    /// Limited flows to these hosts that have not finished.
    pub unfinished: usize,
    /// Stop timers of flows whose sender is in another domain, where the same stop is counted as an event.
    pub remote_stops: u64,
    /// Completions since they were last taken, if the run is driven.
    pub completions: Option<Vec<Completion>>,
    /// Whether the run stops when a flow completes at its receiver.
    pub stops_at_completion: bool,
}

/// Completion of a flow at one of its ends: all its bytes have arrived at the receiver, or the sender knows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Completion {
    /// When it happened.
    pub at: Time,
    /// The flow.
    pub flow: u32,
    /// Whether it is the end at the sender.
    pub at_sender: bool,
}

impl Hosts {
    /// Creates idle hosts, with start timers for the tasks that depend on no other.
    pub(crate) fn new(network: Arc<Network>, routes: &Routes, ownership: Ownership) -> Self {
        let flows = network.flows.len();
        let here = |host| ownership.owns(host);
        let mut nics = Nics::new(&network, ownership.crossing(&network).time, here);
        let mut timers = Vec::new();
        for (flow, number) in network.flows.iter().zip(0..) {
            if flow.starts_by_itself() && here(flow.src) {
                timers.push(Timer { at: flow.start, kind: Kind::Start, flow: number });
            }
            if flow.stop < Time::MAX && (here(flow.src) || here(flow.dst)) {
                timers.push(Timer { at: flow.stop, kind: Kind::Stop, flow: number });
            }
        }
        for (one, number) in network.computations.iter().zip(Numbering::COMPUTATION..) {
            if one.after.is_empty() && one.behind.is_empty() && here(one.host) {
                timers.push(Timer { at: one.start, kind: Kind::Start, flow: number });
            }
        }
        nics.timers.begin_with(&timers);
        Self {
            pull_pacer: PullPacer::new(&network, &nics, routes),
            response_delay: ResponseDelay::new(&network),
            holds_responses: nics.piggyback.is_some() || network.host.ack_jitter > Time::ZERO,
            has_rare_packets: nics.piggyback.is_some() || network.balancing == Balancing::Mrc,
            computations: Computations::new(&network, here),
            moved: Vec::new(),
            active: vec![0; network.hosts as usize],
            nics,
            senders: FlowTable::new(flows),
            receivers: FlowTable::new(flows),
            sender_stats: OwnedTable::new(SenderStats::NONE, flows as u32, |flow| here(network.flow(flow).src)),
            receiver_stats: OwnedTable::new(ReceiverStats::NONE, flows as u32, |flow| here(network.flow(flow).dst)),
            randomness: Randomness::default(),
            arrived: network.record.goodput.is_some().then(|| FlowSet::new(flows)),
            unfinished: network.flows.iter().filter(|flow| flow.bytes != Bytes::MAX && here(flow.dst)).count(),
            remote_stops: 0,
            completions: None,
            stops_at_completion: false,
            ownership,
            network,
        }
    }

    /// Adds the next flow, which starts by itself.
    pub(crate) fn join<O: Observer>(&mut self, fabric: &Fabric<O>, flow: u32) {
        let &FlowSpec { src, dst, start, stop, bytes, .. } = self.network.flow(flow);
        let [sends, receives] = [src, dst].map(|host| self.ownership.owns(host));
        self.senders.join();
        self.receivers.join();
        self.sender_stats.join(SenderStats::NONE, flow, sends);
        self.receiver_stats.join(ReceiverStats::NONE, flow, receives);
        if let Some(arrived) = &mut self.arrived {
            arrived.join();
        }
        if let Some(piggyback) = &mut self.nics.piggyback {
            piggyback.join(src, dst);
        }
        self.pull_pacer.join(self.nics.index(dst, fabric.routes.first_ports(flow, true)[0]));
        self.unfinished += usize::from(receives && bytes != Bytes::MAX);
        if sends {
            self.nics.timers.set(Timer { at: start, kind: Kind::Start, flow });
        }
        if stop < Time::MAX && (sends || receives) {
            self.nics.timers.set(Timer { at: stop, kind: Kind::Stop, flow });
        }
    }

    /// Whether a flow has ended at its ends here: nothing of it is to be sent, and it has no stop to come.
    pub(crate) fn has_ended_here(&self, flow: u32) -> bool {
        let spec = self.network.flow(flow);
        let [sends, receives] = [spec.src, spec.dst].map(|host| self.ownership.owns(host));
        let sent = !sends || self.sender_stats[flow as usize].start < Time::MAX && self.senders.get(flow).is_none();
        let received = || self.receiver_stats[flow as usize].finish < Time::MAX && self.receivers.get(flow).is_none();
        sent && (!receives || received())
    }

    /// Flows that hosts may still need although they have ended: they have responses or pulls to come.
    pub(crate) fn flows_held(&self) -> impl Iterator<Item = u32> {
        self.nics.timers.flows(&[Kind::Response, Kind::Pull]).chain(self.pull_pacer.queued())
    }

    /// Retires the flows before `first`.
    pub(crate) fn retire(&mut self, first: u32) {
        self.senders.retire(first);
        self.receivers.retire(first);
        self.sender_stats.retire(first);
        self.receiver_stats.retire(first);
        self.pull_pacer.retire(first);
    }

    /// Replaces the reference to the request.
    pub(crate) fn set_network(&mut self, network: &Arc<Network>) {
        self.network = Arc::clone(network);
    }

    /// Handles a packet that has arrived at its host.
    #[inline]
    pub fn receive<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32) {
        fabric.consumed += 1;
        let Packet { flow, flags, .. } = fabric.packets[at];
        // The contents of the slot remain valid until the next insertion.
        fabric.packets.remove(at);
        if flags.for_sender() {
            self.on_packet_for_sender(fabric, at, flow, flags);
        } else if self.has_rare_packets {
            self.on_rare_packet(fabric, at, flow, flags);
        } else {
            self.on_packet_for_receiver(fabric, at, flow, flags);
        }
    }

    /// Handles a packet that may be a report of ports, or carry an acknowledgement for the flow in the other direction.
    #[cold]
    fn on_rare_packet<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32, flow: u32, flags: Flags) {
        if flags.is(PacketKind::PortStatus) {
            self.on_port_status(flow, *fabric.packets.header(at));
        } else if self.nics.piggyback.is_some() {
            self.on_packet_for_both(fabric, at, flow, flags);
        } else {
            self.on_packet_for_receiver(fabric, at, flow, flags);
        }
    }

    /// Handles a packet with data, on which an acknowledgement of the flow in the other direction may ride.
    #[inline(never)]
    fn on_packet_for_both<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32, flow: u32, flags: Flags) {
        let ack =
            self.nics.piggyback.as_mut().and_then(|piggyback| Some((piggyback.partner(flow)?, piggyback.detach(at)?)));
        self.on_packet_for_receiver(fabric, at, flow, flags);
        if let Some((partner, ack)) = ack {
            fabric.observer.ack_detached(fabric.now);
            let header = Header::TcpAck(ack);
            let at = fabric.packets.insert(Packet::new(partner, MIN_FRAME, Ecn::NotEct, &header), header);
            let flags = fabric.packets[at].flags;
            fabric.packets.remove(at);
            fabric.consumed += 1;
            self.on_packet_for_sender(fabric, at, partner, flags);
        }
        self.send_waiting_ack(fabric, flow, fabric.now, false);
    }

    /// Sends the acknowledgement of a flow that waits since `since` or longer as a frame of its own: `always`, or if it should wait for
    /// data no longer.
    #[cold]
    fn send_waiting_ack<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32, since: Time, always: bool) {
        let Some(piggyback) = &mut self.nics.piggyback else { return };
        let sender = piggyback.partner(flow).and_then(|partner| self.senders.get(partner));
        if !always && sender.is_some_and(|sender| sender.queued || piggyback.waiting(flow) < 2) {
            return;
        }
        if let Some(ack) = piggyback.remove(flow, since, fabric.now) {
            self.send_ack(fabric, flow, ack);
        }
    }

    fn send_ack<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32, ack: TcpAck) {
        let setup = Setup { network: &self.network, routes: &fabric.routes, nics: &self.nics };
        let endpoint = setup.endpoint(flow, true);
        let at = PacketSink::new(endpoint, &mut fabric.packets).put(self.network.tcp_ack(), Header::TcpAck(ack));
        let port = self.nics.response_port(fabric, endpoint);
        fabric.enqueue_own(port, Incoming::local(at));
    }

    /// Lets an acknowledgement wait for data that goes its way; returns false if it cannot.
    #[cold]
    fn waits_for_data<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32, at: u32) -> bool {
        let Some(piggyback) = &mut self.nics.piggyback else { return false };
        // The flow in the other direction may join the run later, so it does not count before it has started.
        if piggyback.partner(flow).is_none_or(|partner| self.sender_stats[partner as usize].start == Time::MAX) {
            return false;
        }
        let others = piggyback.waiting(flow) > 0;
        let (waits, displaced) = piggyback.take(fabric.now, at, &mut fabric.packets);
        if waits && (!others || displaced.is_some()) {
            let at = fabric.now + self.network.host.ack_delay;
            self.nics.timers.set(Timer { at, kind: Kind::Response, flow });
        }
        if let Some(ack) = displaced {
            self.send_ack(fabric, flow, ack);
        }
        waits
    }

    // Not inlined, like `Nics::send`: otherwise both take registers of the main loop, and a hop takes 3 % more instructions.
    #[inline(never)]
    fn on_packet_for_receiver<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32, flow: u32, flags: Flags) {
        let Some(receiver) = self.receivers.get_mut(flow) else {
            return self.on_packet_without_receiver(fabric, at, flow, flags);
        };
        if let Some(arrived) = &mut self.arrived {
            arrived.insert(flow);
        }
        let event = receiver.on_packet(fabric.now, at, flags, &mut fabric.packets);
        let endpoint = receiver.endpoint;
        if receiver.joins_pull_pacer() {
            fabric.observer.owes_pull(fabric.now, flow);
            if self.pull_pacer.enqueue(fabric, endpoint, receiver.pulls_with_answers(), &mut self.nics)
                && let Some(answer) = event.responses.now()
            {
                receiver.pull_with(answer, &mut fabric.packets);
            }
        }
        self.on_receiver_event(fabric, endpoint, event);
    }

    /// Sends the responses of a receiver, directly through the port of its host, and sets its timer.
    #[inline(always)]
    fn on_receiver_event<O: Observer>(&mut self, fabric: &mut Fabric<O>, endpoint: FlowEndpoint, event: ReceiverEvent) {
        let flow = endpoint.flow;
        if let Some(at) = event.timer {
            self.nics.timers.set(Timer { at, kind: Kind::AckTimer, flow });
        }
        for at in event.responses.packets() {
            self.respond(fabric, endpoint, at);
        }
        if event.complete {
            self.on_complete(fabric, flow);
        }
    }

    /// Sends a response through the port of its host, unless it waits there.
    #[inline(always)]
    fn respond<O: Observer>(&mut self, fabric: &mut Fabric<O>, endpoint: FlowEndpoint, at: u32) {
        if self.holds_responses && self.holds_back(fabric, endpoint.flow, at) {
            return;
        }
        let port = self.nics.response_port(fabric, endpoint);
        fabric.enqueue_own(port, Incoming::local(at));
    }

    /// Lets a response wait for data that goes its way, or for the jitter of its host; returns false if it leaves at once.
    #[cold]
    fn holds_back<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32, at: u32) -> bool {
        if self.nics.piggyback.is_some() && self.waits_for_data(fabric, flow, at) {
            return true;
        }
        let delays = self.response_delay.delays(fabric.packets[at].flags.kind());
        if delays {
            let header = *fabric.packets.header(at);
            let (at, number) = self.response_delay.take(fabric.now, at, &mut fabric.packets);
            fabric.observer.response_waits(fabric.now, flow, number, &header);
            self.nics.timers.set(Timer { at, kind: Kind::Response, flow });
        }
        delays
    }

    /// Sends a response of a flow that was held back.
    #[cold]
    fn on_response_timer<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        self.send_waiting_ack(fabric, flow, fabric.now.saturating_sub(self.network.host.ack_delay), true);
        let Some((at, number)) = self.response_delay.put(fabric.now, flow, &mut fabric.packets) else { return };
        fabric.observer.response_leaves(fabric.now, flow, number);
        let setup = Setup { network: &self.network, routes: &fabric.routes, nics: &self.nics };
        let port = self.nics.response_port(fabric, setup.endpoint(flow, true));
        fabric.enqueue_own(port, Incoming::local(at));
    }

    /// Creates the receiver of a flow for its first packet, which it handles, or answers a packet after the receiver has closed.
    #[cold]
    fn on_packet_without_receiver<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32, flow: u32, flags: Flags) {
        if self.receiver_stats[flow as usize].finish == Time::MAX {
            let setup = Setup { network: &self.network, routes: &fabric.routes, nics: &self.nics };
            let receiver = setup.receiver(flow, fabric.now);
            self.receivers.insert(flow, receiver);
            self.on_packet_for_receiver(fabric, at, flow, flags);
            return self.report_to_new_peer(fabric, flow, true);
        }
        let spec = self.network.flow(flow);
        let arrived = (fabric.packets.header(at), fabric.packets[at].flags.is_ce());
        if let Some((length, header)) = reply_after_close(fabric.now, arrived, (spec.bytes, self.network.mss())) {
            let setup = Setup { network: &self.network, routes: &fabric.routes, nics: &self.nics };
            let endpoint = setup.endpoint(flow, true);
            let length = if header.tcp_ack().is_some() { self.network.tcp_ack() } else { length };
            let at = PacketSink::new(endpoint, &mut fabric.packets).put(length, header);
            self.respond(fabric, endpoint, at);
        }
    }

    /// Finishes a limited flow, all of whose bytes have arrived, and removes its receiver if that has nothing left to send.
    fn on_complete<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        if self.network.flow(flow).bytes == Bytes::MAX {
            return;
        }
        if self.receiver_stats[flow as usize].finish == Time::MAX {
            self.receiver_stats[flow as usize].finish = fabric.now;
            self.unfinished -= 1;
            fabric.interrupt |= self.has_ended() || self.stops_at_completion;
            if let Some(completions) = &mut self.completions {
                completions.push(Completion { at: fabric.now, flow, at_sender: false });
            }
            fabric.observer.finished(fabric.now, flow);
            let (src, dst) = (self.network.flow(flow).src, self.network.flow(flow).dst);
            self.start_dependents(fabric.now, flow, |host| host == dst || host != src);
        }
        if self.receivers.get(flow).is_some_and(FlowReceiver::may_close) {
            self.collect_receiver_stats(flow);
            self.receivers.remove(flow);
        }
    }

    // Part of the main loop, although acknowledgements that ride on data come here as well.
    #[inline(always)]
    fn on_packet_for_sender<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32, flow: u32, flags: Flags) {
        let Some(sender) = self.senders.get_mut(flow) else {
            // Credits may arrive after the flow is done.
            self.sender_stats[flow as usize].credits_wasted += u64::from(flags.is(PacketKind::Credit));
            return;
        };
        let Some(status) = sender.on_packet(fabric.now, at, &fabric.packets) else {
            return self.close_sender(fabric.now, flow);
        };
        if self.nics.apply(fabric, sender, status) {
            let nic = sender.endpoint.nic;
            self.transmit(fabric, nic);
        }
    }

    /// Lets a flow send if it is ready, and then the other flows of its NIC.
    fn resume_flow<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let Some(sender) = self.senders.get_mut(flow) else { return };
        let status = sender.status(fabric.now);
        if self.nics.apply(fabric, sender, status) {
            let nic = sender.endpoint.nic;
            self.transmit(fabric, nic);
        }
    }

    /// Handles the event that the port of a NIC is free.
    pub(crate) fn on_port_free<O: Observer>(&mut self, fabric: &mut Fabric<O>, nic: u32) {
        self.nics.on_port_free(nic);
        self.transmit(fabric, nic);
    }

    /// Serves the flows of the NIC with this port of a host. If the port is down, they move to others where hosts choose ports.
    pub fn transmit_through<O: Observer>(&mut self, fabric: &mut Fabric<O>, host: u32, port: u32) {
        let nic = self.nics.index(host, port);
        if self.nics.chooses && fabric.ports[port as usize].is_down() {
            for flow in self.nics.take_waiting(nic) {
                if let Some(sender) = self.senders.get_mut(flow) {
                    self.nics.enqueue_anywhere(fabric, sender);
                    self.moved.push(sender.endpoint.nic);
                }
            }
        }
        self.transmit(fabric, nic);
    }

    /// Serves the run queue of a NIC: all that windows allow if the NIC is a FIFO, otherwise one packet when its port is idle.
    #[inline]
    fn transmit<O: Observer>(&mut self, fabric: &mut Fabric<O>, nic: u32) {
        self.transmit_from(fabric, nic);
        while let Some(nic) = self.moved.pop() {
            self.transmit_from(fabric, nic);
        }
    }

    #[inline(always)]
    fn transmit_from<O: Observer>(&mut self, fabric: &mut Fabric<O>, nic: u32) {
        while let Some(flow) = self.nics.next(fabric, nic) {
            if let Some(sender) = self.senders.get_mut(flow) {
                self.nics.serve_next(fabric, sender);
                if sender.queued && sender.endpoint.nic != nic {
                    self.moved.push(sender.endpoint.nic);
                }
            }
        }
    }

    /// Changes the paths of packets that leave from now on, ports of hosts included.
    pub(crate) fn reroute<O: Observer>(&mut self, fabric: &mut Fabric<O>) {
        let routes = Arc::clone(&fabric.routes);
        let mut flows: Vec<_> = self.senders.entries().map(|sender| sender.endpoint.flow).collect();
        // The order in a run queue must not depend on the domain.
        flows.sort_unstable();
        for flow in flows {
            let Some(sender) = self.senders.get_mut(flow) else { continue };
            let ports = routes.first_ports(flow, false);
            sender.endpoint.path = routes.first_hop(flow, self.network.flow(flow).dst, false);
            if !ports.contains(&sender.endpoint.port) {
                self.nics.change_port(fabric, sender, ports[0]);
                self.moved.push(sender.endpoint.nic);
            }
        }
        for FlowReceiver { endpoint, .. } in self.receivers.entries_mut() {
            let &FlowSpec { src, dst, .. } = self.network.flow(endpoint.flow);
            endpoint.path = routes.first_hop(endpoint.flow, src, true);
            endpoint.port = routes.first_port(endpoint.flow, true);
            endpoint.nic = self.nics.index(dst, endpoint.port);
        }
        if let Some(nic) = self.moved.pop() {
            self.transmit(fabric, nic);
        }
    }

    /// Handles a timer.
    pub fn on_timer<O: Observer>(&mut self, fabric: &mut Fabric<O>, timer: Timer) {
        if timer.flow & Numbering::COMPUTATION > 0 {
            return self.on_computation_timer(fabric, timer.kind, timer.flow ^ Numbering::COMPUTATION);
        }
        fabric.observer.timer(fabric.now, timer);
        match timer.kind {
            Kind::Computed => unreachable!("a flow is no computation"),
            Kind::Start => self.start_flow(fabric, timer.flow),
            Kind::Stop => self.stop_flow(fabric, timer.flow),
            Kind::AckTimer => self.on_ack_timer(fabric, timer.flow),
            Kind::Response => self.on_response_timer(fabric, timer.flow),
            Kind::Pull => self.pull_pacer.on_timer(fabric, timer.flow, &mut self.receivers, &mut self.nics),
            Kind::AppWrite => self.on_app_write(fabric, timer.flow),
            Kind::Timeout | Kind::Pace | Kind::Wake => self.on_sender_timer(fabric, timer),
        }
    }

    fn on_sender_timer<O: Observer>(&mut self, fabric: &mut Fabric<O>, timer: Timer) {
        let Some(sender) = self.senders.get_mut(timer.flow) else { return };
        match timer.kind {
            Kind::Timeout => {
                sender.on_timer(fabric.now);
                self.send_probes(fabric, timer.flow);
            }
            // The timer is obsolete if the sender has set an earlier one since.
            Kind::Pace if sender.pace_timer != fabric.now => return,
            Kind::Pace => return self.on_pace_timer(fabric, timer.flow),
            _ if !sender.on_wake(fabric.now) => return,
            _ => {}
        }
        self.resume_flow(fabric, timer.flow);
    }

    /// Sends the probes of a flow that are due, directly through the ports of its host that work.
    fn send_probes<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let Some(sender) = self.senders.get_mut(flow).filter(|sender| sender.probes()) else { return };
        let port = self.nics.probe_port(fabric, sender);
        let is_down = |port: u32| fabric.ports[port as usize].is_down();
        for (port, at) in sender.take_probes(fabric.now, (port, &is_down), &mut fabric.packets) {
            fabric.enqueue_own(port, Incoming::local(at));
        }
    }

    /// Lets a paced flow send. Its other timers have not changed.
    #[inline(always)]
    fn on_pace_timer<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let Some(sender) = self.senders.get_mut(flow) else { return };
        sender.pace_timer = Time::MAX;
        if sender.queued {
            return;
        }
        let readiness = sender.readiness(fabric.now);
        if self.nics.resume(fabric, sender, readiness) {
            let nic = sender.endpoint.nic;
            self.transmit(fabric, nic);
        }
    }

    fn on_ack_timer<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let Some(receiver) = self.receivers.get_mut(flow) else { return };
        let endpoint = receiver.endpoint;
        let event = receiver.on_timer(fabric.now, &mut fabric.packets);
        self.on_receiver_event(fabric, endpoint, event);
        if self.nics.piggyback.is_some() {
            self.send_waiting_ack(fabric, flow, fabric.now, false);
        }
    }

    fn start_flow<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let active = &mut self.active[self.network.flow(flow).src as usize];
        let setup = Setup { network: &self.network, routes: &fabric.routes, nics: &self.nics };
        let mut sender = setup.sender(flow, fabric.now, *active);
        if let Some(set) = self.network.set_before(flow, fabric.now) {
            sender.adopt(set.window, set.pace());
        }
        *active += 1;
        self.sender_stats[flow as usize].start = fabric.now;
        self.senders.insert(flow, sender);
        fabric.observer.started(fabric.now, flow);
        if self.network.flow(flow).application.pauses() {
            self.write(fabric.now, flow);
        }
        self.resume_flow(fabric, flow);
        self.report_to_new_peer(fabric, flow, false);
    }

    /// Gives the sender of a flow a window and a pace, if it has started.
    pub(crate) fn adopt<O: Observer>(&mut self, fabric: &mut Fabric<O>, setting: SenderSetting) {
        let Some(sender) = self.senders.get_mut(setting.flow) else { return };
        sender.adopt(setting.window, setting.pace());
        fabric.observer.adopts(fabric.now, setting.flow);
        self.resume_flow(fabric, setting.flow);
    }

    /// Handles the time at which the application of a flow pauses or resumes.
    fn on_app_write<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        self.write(fabric.now, flow);
        self.resume_flow(fabric, flow);
    }

    /// Makes the data available that the application has written, and sets a timer for its next change.
    fn write(&mut self, now: Time, flow: u32) {
        let Some(sender) = self.senders.get_mut(flow) else { return };
        let application = &self.network.flow(flow).application;
        let (supply, until) = application.supply(self.sender_stats[flow as usize].start, now);
        sender.write(supply);
        if until < Time::MAX {
            self.nics.timers.set(Timer { at: until, kind: Kind::AppWrite, flow });
        }
    }

    /// Stops a flow: it sends no new data, but may still retransmit, send a credit stop or wait for acknowledgements.
    fn stop_flow<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let spec = self.network.flow(flow);
        self.remote_stops += u64::from(!self.ownership.owns(spec.src));
        if self.ownership.owns(spec.dst) {
            self.collect_receiver_stats(flow);
            let stats = &mut self.receiver_stats[flow as usize];
            stats.by_stop = stats.delivered;
        }
        if let Some(sender) = self.senders.get_mut(flow) {
            if sender.stop(fabric.now) {
                return self.close_sender(fabric.now, flow);
            }
            self.resume_flow(fabric, flow);
        }
    }

    /// Removes a sender that knows that everything has arrived.
    fn close_sender(&mut self, now: Time, flow: u32) {
        self.collect_sender_stats(flow);
        let Some(sender) = self.senders.remove(flow) else { return };
        let src = self.network.flow(flow).src;
        self.active[src as usize] -= 1;
        self.nics.remove(&sender);
        if let Some(completions) = &mut self.completions {
            completions.push(Completion { at: now, flow, at_sender: true });
        }
        self.start_dependents(now, flow, |host| host == src);
    }
}
