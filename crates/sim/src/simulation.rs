//! The world and its main loop.
//!
//! Two kinds of things happen: a packet arrives at the end of a link or a NIC becomes idle (the
//! [`crate::agenda`]), and a timer runs out ([`crate::timers`]), which goes first at the same picosecond. The
//! order is total: it depends on the scenario alone.

use std::collections::BTreeMap;

use shallows_cc::catalog::Transport;
use shallows_cc::draws::Draws;
use shallows_cc::sender::Path;
use shallows_cc::units::{Bytes, Time};

use crate::agenda::Agenda;
use crate::answer::{Answer, FlowReport, QueueTable};
use crate::books::{self, Ledger};
use crate::host::Host;
use crate::measure::Measure;
use crate::network::{Network, PortSpec, ideal_completion};
use crate::packet::{NIL, Packet, PacketKind, Slab};
use crate::port::{Port, mix};
use crate::record::Record;
use crate::route::Routes;
use crate::switch::{Deadlock, Switches};
use crate::timers::{Kind, Timer, Timers};
use crate::transport::{Ends, Expecting, Opening, Receiving, Replies, Sending, Turn};

mod scheduled;

/// Streams of draws below belong to ports, from here on to flows.
const FLOW_STREAMS: u64 = 1 << 32;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is more to do.
    Running,
    /// It is over.
    Done,
}

/// A network in motion.
#[derive(Debug)]
pub struct Simulation {
    network: Network,
    routes: Routes,
    ports: Vec<Port>,
    hosts: Vec<Host>,
    /// Their memories, where they have one.
    switches: Option<Switches>,
    deadlock: Option<Deadlock>,
    /// Whether a search for a deadlock is due.
    watching: bool,
    packets: Slab,
    agenda: Agenda,
    timers: Timers,
    /// Live flows at their senders and receivers; a place is used again once its flow is done.
    sending: Vec<Option<Sending>>,
    receiving: Vec<Option<Receiving>>,
    free_slots: Vec<u32>,
    /// By flow: its place while it lives.
    slots: Vec<u32>,
    flows: Vec<FlowReport>,
    /// Flows that begin when this one has finished.
    followers: BTreeMap<u32, Vec<u32>>,
    unfinished: usize,
    record: Record,
    now: Time,
    measured_from: Time,
    over: bool,
    events: u64,
    hops: u64,
    /// Packets that reached a host.
    consumed: u64,
    problems: Vec<String>,
}

impl Simulation {
    /// Sets a network up at time zero.
    ///
    /// # Errors
    /// A sentence that says what contradicts what: see [`Network::check`]; or a flow without a path.
    pub fn new(network: Network) -> Result<Self, String> {
        network.check()?;
        let mut routes = Routes::new(&network);
        let flows = opening_reports(&network, &mut routes)?;
        let limited = network.flows.iter().filter(|f| f.bytes != Bytes::MAX).count();
        let mut simulation = Self {
            ports: (0_u64..).zip(&network.ports).map(|(number, spec)| port(&network, number, spec)).collect(),
            hosts: (0..network.hosts).map(|host| Host::new(routes.nic(host))).collect(),
            switches: Switches::new(&network)?,
            deadlock: None,
            watching: false,
            packets: Slab::default(),
            agenda: Agenda::default(),
            timers: Timers::default(),
            sending: Vec::new(),
            receiving: Vec::new(),
            free_slots: Vec::new(),
            slots: vec![NIL; network.flows.len()],
            flows,
            followers: followers(&network),
            unfinished: limited,
            record: Record::default(),
            now: Time::ZERO,
            measured_from: Time::ZERO,
            over: false,
            events: 0,
            hops: 0,
            consumed: 0,
            problems: Vec::new(),
            routes,
            network,
        };
        simulation.set_first_timers();
        Ok(simulation)
    }

    fn set_first_timers(&mut self) {
        let network = &self.network;
        let mut set = |at, kind, number| self.timers.set(Timer { at, kind, number, slot: NIL });
        if network.duration < Time::MAX {
            set(network.duration, Kind::End, 0);
        }
        if network.warmup > Time::ZERO {
            set(network.warmup, Kind::Warmup, 0);
        }
        if network.record.queue_interval > Time::ZERO {
            set(Time::ZERO, Kind::Queues, 0);
            let series = vec![Vec::new(); network.record.ports.len()];
            self.record.queues = QueueTable { time: Vec::new(), bytes: series };
        }
        if network.record.probe_interval > Time::ZERO {
            set(network.record.probe_interval, Kind::Probes, 0);
        }
        for (number, flow) in network.flows.iter().enumerate() {
            if flow.after.is_none() {
                set(flow.start, Kind::Start, number as u32);
            }
            if flow.stop < Time::MAX {
                set(flow.stop, Kind::Stop, number as u32);
            }
        }
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Packets received over one link so far.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.hops
    }

    /// Limited flows that have finished so far.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.flows.iter().filter(|flow| flow.finish < Time::MAX).count() as u64
    }

    /// Goes on for about `events` events.
    ///
    /// # Panics
    /// If an invariant is broken, such as time running backwards.
    pub fn advance(&mut self, events: u64) -> Progress {
        let until = self.events + events;
        while self.events < until {
            if self.over {
                return Progress::Done;
            }
            self.events += 1;
            let timer = self.timers.next();
            match self.agenda.peek() {
                Some((now, entity)) if now < timer => {
                    assert!(now >= self.now, "time runs backwards");
                    self.now = now;
                    self.happen(entity);
                }
                _ => match self.timers.pop() {
                    Some(timer) => self.run_out(timer),
                    None => self.run_dry(),
                },
            }
        }
        if self.over { Progress::Done } else { Progress::Running }
    }

    /// Nothing is left to happen.
    fn run_dry(&mut self) {
        self.over = true;
        if self.unfinished > 0 {
            self.problems.push(format!("{} flows have not finished and wait for nothing", self.unfinished));
        }
    }

    #[inline]
    fn happen(&mut self, entity: u32) {
        match (entity as usize).checked_sub(self.ports.len()) {
            None => self.arrive(entity),
            Some(host) if host < self.hosts.len() => {
                self.agenda.pop();
                self.hosts[host].awaiting_port = false;
                self.serve(host as u32);
            }
            Some(other) => {
                self.agenda.pop();
                self.wake_port((other - self.hosts.len()) as u32);
            }
        }
    }

    /// The head packet of a link is at its other end.
    #[inline]
    fn arrive(&mut self, link: u32) {
        let port = &mut self.ports[link as usize];
        let (at, next) = port.deliver(self.now, &mut self.packets);
        let node = port.to;
        match next {
            Some(next) => self.agenda.replace_top(next, link),
            None => self.agenda.pop(),
        }
        self.hops += 1;
        let packet = &self.packets[at];
        if packet.flags.for_neighbour() {
            self.heed(link, at);
        } else if node >= self.network.hosts {
            let out = self.routes.next(node, packet.to, packet.flow);
            self.enqueue(out.expect("a flow is only set up where there is a path"), at, link);
        } else {
            let mut packet = *packet;
            self.packets.remove(at);
            self.consumed += 1;
            if packet.flags.for_sender() {
                self.tell_sender(&mut packet);
            } else {
                self.tell_receiver(&packet);
            }
        }
    }

    #[inline]
    fn enqueue(&mut self, link: u32, at: u32, from: u32) {
        if self.ports[link as usize].is_scheduled() {
            self.enqueue_scheduled(link, at, from);
            return;
        }
        match self.ports[link as usize].enqueue(self.now, at, &mut self.packets) {
            Ok(None) => {}
            Ok(Some(arrives)) => self.agenda.push(arrives, link),
            Err(_) => self.packets.remove(at),
        }
    }

    #[inline]
    fn tell_receiver(&mut self, packet: &Packet) {
        // A repair that was not needed may come after its flow is done.
        let Some(receiving) = &mut self.receiving[packet.slot as usize] else { return };
        if receiving.ends.flow != packet.flow {
            return;
        }
        let replies = receiving.on_packet(self.now, packet);
        let host = receiving.ends.dst;
        if let Some(at) = receiving.arm_timer(self.now) {
            self.timers.set(Timer { at, kind: Kind::Reply, number: packet.flow, slot: packet.slot });
        }
        if receiving.complete() {
            let report = &self.flows[packet.flow as usize];
            if report.finish == Time::MAX && self.network.flows[packet.flow as usize].bytes != Bytes::MAX {
                self.complete(packet.flow);
            }
        }
        self.send_replies(host, &replies);
    }

    /// A flow has arrived: those that wait for it begin, each after its time.
    #[inline(never)]
    fn complete(&mut self, flow: u32) {
        self.flows[flow as usize].finish = self.now;
        self.unfinished -= 1;
        self.over |= self.unfinished == 0 && self.network.until_done;
        for &next in self.followers.get(&flow).into_iter().flatten() {
            let at = self.now + self.network.flows[next as usize].start;
            self.timers.set(Timer { at, kind: Kind::Start, number: next, slot: NIL });
        }
    }

    #[inline]
    fn send_replies(&mut self, host: u32, replies: &Replies) {
        let nic = self.hosts[host as usize].port;
        if let Some(reply) = &replies.earlier {
            let at = self.packets.insert(*reply);
            self.enqueue(nic, at, NIL);
        }
        if let Some(reply) = &replies.now {
            let at = self.packets.insert(*reply);
            self.enqueue(nic, at, NIL);
        }
    }

    #[inline]
    fn tell_sender(&mut self, packet: &mut Packet) {
        let live = self.sending[packet.slot as usize].as_mut().filter(|sending| sending.ends.flow == packet.flow);
        let Some(sending) = live else {
            // What is still granted comes after its flow is done.
            self.flows[packet.flow as usize].credits_wasted += u64::from(packet.flags.is(PacketKind::Credit));
            return;
        };
        let wake = sending.wake();
        sending.on_packet(self.now, packet);
        if sending.done() {
            self.close(packet.slot);
            return;
        }
        self.after_decision(packet.slot, wake);
    }

    /// Sets the timers that a decision asks for, and lets the flow send.
    #[inline]
    fn after_decision(&mut self, slot: u32, wake_before: Option<Time>) {
        self.set_wake(slot, wake_before);
        let Some(sending) = &self.sending[slot as usize] else { return };
        let (host, urgent) = (sending.ends.src, sending.urgent);
        if self.may_send(slot) {
            self.hosts[host as usize].push(slot, urgent);
            self.serve(host);
        }
        self.arm_timer(slot);
    }

    /// Sets the timer that an algorithm has newly asked for.
    #[inline]
    fn set_wake(&mut self, slot: u32, before: Option<Time>) {
        let Some(sending) = &self.sending[slot as usize] else { return };
        let wake = sending.wake();
        if wake != before
            && let Some(at) = wake
        {
            self.timers.set(Timer { at, kind: Kind::Wake, number: sending.ends.flow, slot });
        }
    }

    /// Sets the timer of a flow that has something in flight and none yet.
    #[inline]
    fn arm_timer(&mut self, slot: u32) {
        if let Some(sending) = &mut self.sending[slot as usize]
            && let Some(at) = sending.arm_timer()
        {
            self.timers.set(Timer { at, kind: Kind::Timeout, number: sending.ends.flow, slot });
        }
    }

    /// Whether a flow joins its NIC's turn now; sets its pace timer where that is what it waits for.
    #[inline]
    fn may_send(&mut self, slot: u32) -> bool {
        let Some(sending) = &mut self.sending[slot as usize] else { return false };
        if sending.queued {
            return false;
        }
        match sending.turn(self.now) {
            Turn::No => false,
            Turn::Now => {
                sending.queued = true;
                true
            }
            Turn::At(at) => {
                self.await_pace(slot, at);
                false
            }
        }
    }

    /// Sets the timer of a flow whose next data leaves `at`, or of the request that it sends before, which goes straight to the
    /// device as acknowledgements do.
    #[inline(never)]
    fn await_pace(&mut self, slot: u32, at: Time) {
        let Some(sending) = &mut self.sending[slot as usize] else { return };
        let mut request = None;
        if sending.request_due(at).is_some_and(|due| due <= self.now) {
            request = sending.request(self.now);
        }
        let at = sending.request_due(at).unwrap_or(at);
        if at < sending.pace_timer {
            sending.pace_timer = at;
            self.timers.set(Timer { at, kind: Kind::Pace, number: sending.ends.flow, slot });
        }
        let nic = self.hosts[sending.ends.src as usize].port;
        if let Some(request) = request {
            let at = self.packets.insert(request);
            self.enqueue(nic, at, NIL);
        }
    }

    /// Lets the flows of a host send: all they may into a FIFO, one at a time when it is idle otherwise.
    #[inline]
    fn serve(&mut self, host: u32) {
        let port = self.hosts[host as usize].port;
        while !self.hosts[host as usize].is_empty() {
            if !self.nic_takes(host, port) {
                return;
            }
            let Some(slot) = self.hosts[host as usize].pop() else { return };
            self.send_one(slot, port);
            if self.may_send(slot) {
                let urgent = self.sending[slot as usize].as_ref().is_some_and(|sending| sending.urgent);
                self.hosts[host as usize].push(slot, urgent);
            }
        }
    }

    fn await_port(&mut self, host: u32, until: Time) {
        let waiting = &mut self.hosts[host as usize];
        if !waiting.awaiting_port {
            waiting.awaiting_port = true;
            self.agenda.push(until, self.ports.len() as u32 + host);
        }
    }

    #[inline]
    fn send_one(&mut self, slot: u32, port: u32) {
        let Some(sending) = &mut self.sending[slot as usize] else { return };
        sending.queued = false;
        // What it heard since it joined the turn may have closed its window.
        if sending.turn(self.now) != Turn::Now {
            return;
        }
        let wake = sending.wake();
        let packet = sending.take(self.now, self.network.header);
        let at = self.packets.insert(packet);
        self.set_wake(slot, wake);
        self.enqueue(port, at, NIL);
        self.arm_timer(slot);
    }

    fn run_out(&mut self, timer: Timer) {
        assert!(timer.at >= self.now, "time runs backwards");
        self.now = timer.at;
        match timer.kind {
            Kind::End => self.over = true,
            Kind::Warmup => self.end_warmup(),
            Kind::Queues => self.read_queues(timer),
            Kind::Deadlock => self.search_deadlock(),
            Kind::Probes => self.read_probes(timer),
            Kind::Start => self.open(timer.number),
            Kind::Stop => self.stop(timer.number),
            Kind::Reply => self.reply_is_due(timer),
            Kind::Timeout | Kind::Pace | Kind::Wake => self.wake_sender(timer),
        }
    }

    fn wake_sender(&mut self, timer: Timer) {
        let Some(sending) = &mut self.sending[timer.slot as usize] else { return };
        if sending.ends.flow != timer.number {
            return;
        }
        let wake = sending.wake();
        match timer.kind {
            Kind::Timeout => sending.on_timer(self.now),
            // A later one than it still waits for.
            Kind::Pace if sending.pace_timer != self.now => return,
            Kind::Pace => sending.pace_timer = Time::MAX,
            _ if wake != Some(self.now) => return,
            _ => sending.on_wake(self.now),
        }
        let wake = if timer.kind == Kind::Wake { None } else { wake };
        self.after_decision(timer.slot, wake);
    }

    fn reply_is_due(&mut self, timer: Timer) {
        let Some(receiving) = &mut self.receiving[timer.slot as usize] else { return };
        if receiving.ends.flow != timer.number {
            return;
        }
        let replies = receiving.on_timer(self.now);
        let host = receiving.ends.dst;
        if let Some(at) = receiving.arm_timer(self.now) {
            self.timers.set(Timer { at, ..timer });
        }
        self.send_replies(host, &replies);
    }

    /// A flow begins.
    fn open(&mut self, flow: u32) {
        let spec = self.network.flows[flow as usize];
        let mss = self.network.mss();
        let nic = self.routes.nic(spec.src) as usize;
        let path = Path {
            mss,
            initial_window: self.network.host.initial_window,
            line_rate: self.network.ports[nic].rate,
            seed: Draws::new(self.network.seed, FLOW_STREAMS + u64::from(flow)).bits(),
            active: self.hosts[spec.src as usize].active,
        };
        let control = &self.network.controls[spec.control as usize];
        let (algorithm, values) = (control.algorithm, &control.values);
        let opening = Opening {
            bytes: spec.bytes,
            mss,
            ecn: algorithm.ecn_capable(values),
            host: &self.network.host,
            control: control.sender(&path),
        };
        let expecting = Expecting {
            bytes: spec.bytes,
            mss,
            ack_delay: self.network.host.ack_delay,
            notification: control.notification(self.network.host.acks_every),
            measure: self.network.host.timestamps.map(|spec| {
                let sending = path.line_rate.time_to_send(self.network.mtu);
                Box::new(Measure::new(spec, sending, Draws::new(path.seed, 1)))
            }),
            credits: control
                .credits(self.now, self.network.ports[self.routes.nic(spec.dst) as usize].rate, self.network.mtu)
                .map(|credits| (credits, Draws::new(path.seed, 2))),
        };
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.sending.push(None);
            self.receiving.push(None);
            self.sending.len() as u32 - 1
        });
        let ends = Ends { flow, slot, src: spec.src, dst: spec.dst };
        let mut sending = Sending::new(algorithm.transport, self.now, ends, opening);
        sending.urgent = spec.urgent;
        let receiving = Receiving::new(algorithm.transport, ends, expecting);
        self.hosts[spec.src as usize].active += 1;
        self.slots[flow as usize] = slot;
        self.flows[flow as usize].start = self.now;
        self.sending[slot as usize] = Some(sending);
        self.receiving[slot as usize] = Some(receiving);
        self.after_decision(slot, None);
    }

    /// A flow is done: its place is free.
    fn close(&mut self, slot: u32) {
        self.settle(slot);
        if let Some(sending) = self.sending[slot as usize].take() {
            if sending.queued {
                // It waited to repair what has arrived after all; the place may soon be another flow's.
                self.hosts[sending.ends.src as usize].leave(slot);
            }
            self.slots[sending.ends.flow as usize] = NIL;
            self.hosts[sending.ends.src as usize].active -= 1;
        }
        self.receiving[slot as usize] = None;
        self.free_slots.push(slot);
    }

    fn stop(&mut self, flow: u32) {
        let slot = self.slots[flow as usize];
        if slot != NIL
            && let Some(sending) = &mut self.sending[slot as usize]
        {
            sending.stop(self.now);
        }
    }

    /// Carries a live flow's counts over into its report.
    fn settle(&mut self, slot: u32) {
        if let (Some(sending), Some(receiving)) = (&self.sending[slot as usize], &self.receiving[slot as usize]) {
            let report = &mut self.flows[sending.ends.flow as usize];
            report.goodput += receiving.delivered() - report.delivered;
            report.delivered = receiving.delivered();
            (report.retransmits, report.timeouts) = sending.repairs();
            (report.credits, report.credits_wasted) = (receiving.granted(), sending.wasted());
        }
    }

    fn settle_all(&mut self) {
        for slot in 0..self.sending.len() as u32 {
            self.settle(slot);
        }
    }

    fn end_warmup(&mut self) {
        self.settle_all();
        for report in &mut self.flows {
            report.goodput = 0;
        }
        for port in &mut self.ports {
            port.end_warmup(self.now);
        }
        self.measured_from = self.now;
    }

    fn read_queues(&mut self, timer: Timer) {
        let spec = &self.network.record;
        self.record.queues.time.push(self.now.0);
        for (series, &port) in self.record.queues.bytes.iter_mut().zip(&spec.ports) {
            series.push(u32::try_from(self.ports[port as usize].queue(self.now).0).unwrap_or(u32::MAX));
        }
        self.timers.set(Timer { at: self.now + spec.queue_interval, ..timer });
    }

    fn read_probes(&mut self, timer: Timer) {
        let spec = &self.network.record;
        for &flow in &spec.flows {
            let slot = self.slots[flow as usize];
            if slot == NIL {
                continue;
            }
            if let Some(sending) = &mut self.sending[slot as usize] {
                let (record, now) = (&mut self.record, self.now);
                sending.probe(spec.probe_interval, &mut |name, value| record.probe(now, flow, name, value));
            }
            if let Some(receiving) = &self.receiving[slot as usize] {
                let (record, now) = (&mut self.record, self.now);
                receiving.probe(&mut |name, value| record.probe(now, flow, name, value));
            }
        }
        self.timers.set(Timer { at: self.now + spec.probe_interval, ..timer });
    }

    /// Ends the run where it stands and closes the books.
    #[must_use]
    pub fn finish(mut self) -> Answer {
        self.settle_all();
        let measured = self.now - self.measured_from;
        let balance = self.switches.as_ref().map(|switches| switches.balance(&self.ports, &self.packets));
        let (now, ports, packets) = (self.now, &mut self.ports, &self.packets);
        let ports: Vec<_> = ports.iter_mut().map(|port| port.report(now, measured, packets)).collect();
        let ledger = Ledger {
            network: &self.network,
            ports: &ports,
            flows: &self.flows,
            packets: &self.packets,
            consumed: self.consumed,
            span: measured,
        };
        let mut problems = self.problems;
        problems.extend(ledger.problems());
        problems.extend(balance.and_then(books::memory_problem));
        let hash = ports.iter().fold(self.now.0, |hash, port| mix(hash, port.fingerprint));
        let fingerprint = self.flows.iter().fold(hash, |hash, flow| mix(hash, flow.finish.0 ^ flow.delivered));
        Answer {
            fingerprint,
            events: self.events,
            packet_hops: self.hops,
            ended: self.now,
            measured,
            flows: self.flows,
            ports,
            queues: self.record.queues,
            probes: self.record.probes,
            deadlock: self.deadlock,
            problems,
        }
    }
}

/// By flow: those that follow it.
fn followers(network: &Network) -> BTreeMap<u32, Vec<u32>> {
    let mut followers = BTreeMap::<_, Vec<_>>::new();
    for (flow, number) in network.flows.iter().zip(0..) {
        if let Some(first) = flow.after {
            followers.entry(first).or_default().push(number);
        }
    }
    followers
}

/// An idle port, with its own stream of draws.
fn port(network: &Network, number: u64, spec: &PortSpec) -> Port {
    let port = match spec.discipline {
        None => Port::new(spec, network.mtu),
        // Its classes have limits of their own.
        Some(at) => {
            let unlimited = PortSpec { buffer: Bytes::MAX, ..*spec };
            Port::new(&unlimited, network.mtu).scheduled(&network.disciplines[at as usize])
        }
    };
    match spec.marking {
        None => port,
        Some(at) => port.marking(spec.rate, &network.markings[at as usize], Draws::new(network.seed, number)),
    }
}

/// A report for each flow before it starts, with the completion time of its path when that is empty.
fn opening_reports(network: &Network, routes: &mut Routes) -> Result<Vec<FlowReport>, String> {
    let mut reports = Vec::with_capacity(network.flows.len());
    for (number, flow) in network.flows.iter().enumerate() {
        let path = routes.path(network, flow.src, flow.dst, number as u32);
        let path = path.ok_or_else(|| format!("flow {number}: no path from host {} to {}", flow.src, flow.dst))?;
        if network.controls[flow.control as usize].algorithm.transport == Transport::Credit {
            routes.return_along(network, number as u32, &path)?;
        }
        let path: Vec<_> = path.iter().map(|&port| network.ports[port as usize]).collect();
        let limited = flow.bytes != Bytes::MAX;
        reports.push(FlowReport {
            start: if flow.after.is_none() { flow.start } else { Time::MAX },
            finish: Time::MAX,
            ideal: if limited { ideal_completion(flow.bytes, &path, network) } else { Time::ZERO },
            delivered: 0,
            goodput: 0,
            retransmits: 0,
            timeouts: 0,
            credits: 0,
            credits_wasted: 0,
        });
    }
    Ok(reports)
}
