//! NICs: the egress ports of hosts, each with the run queue of the flows that are ready to send through it; and the timers of
//! flows.

use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};

use crate::fabric::Fabric;
use crate::host::dependencies::Dependencies;
use crate::host::peer_ports::PeerPorts;
use crate::host::piggyback::Piggyback;
use crate::host::poller::Poller;
use crate::host::run_queue::RunQueue;
use crate::host::transport::{FlowSender, Readiness, SendStatus};
use crate::observe::Observer;
use crate::port::admission::Incoming;
use crate::queue::timers::{Kind, Timer, Timers};
use crate::spec::network::{self, Network};

/// Egress port of a host, and its run queue.
#[derive(Clone, Debug, Default)]
pub struct Nic {
    /// Number of the port in the fabric.
    pub(super) port: u32,
    /// Flows that are ready to send.
    pub(super) ready: RunQueue,
    /// Whether an event is pending for the time when the port is free.
    awaiting_port: bool,
    /// Number of choices between the ports of the host, kept at its first one.
    pub(super) choices: u32,
    /// End of the gap after the newest frame.
    gap_until: Time,
    /// Random stream of the gaps.
    draws: Rng,
    /// The token bucket, if hosts poll.
    poller: Option<Box<Poller>>,
}

impl Nic {
    /// Returns the number of its port in the fabric.
    pub(crate) fn port(&self) -> u32 {
        self.port
    }

    /// Returns the flow that is served next.
    pub fn first(&self) -> Option<u32> {
        self.ready.first()
    }
}

/// NICs of all hosts, and the timers of a domain, with what sets the timers of dependent tasks.
#[derive(Clone, Debug)]
pub(crate) struct Nics {
    /// The NICs of host 0, then those of host 1, and so on.
    pub(super) nics: Vec<Nic>,
    /// For each host the index of its first NIC, and the number of NICs at the end.
    pub(super) first: Vec<u32>,
    pub timers: Timers,
    /// Whether hosts choose a port for each packet.
    pub chooses: bool,
    /// Whether there are several traffic classes.
    classed: bool,
    /// Whether flows put all that their windows allow into one FIFO, or all that a token bucket allows.
    pub(super) fifo: bool,
    polls: bool,
    /// Acknowledgements that ride on data, if they do.
    pub(super) piggyback: Option<Box<Piggyback>>,
    /// Whether NICs have hardware pacers.
    pacers: bool,
    /// Length of a data frame without its payload.
    header: Bytes,
    /// Largest gap after a data frame, as a share of the time to send a full one.
    gap: f64,
    pub(super) dependencies: Dependencies,
    pub(super) peer_ports: PeerPorts,
    /// Whether some task waits for the data of a flow.
    ordered: bool,
}

/// First random stream of the gaps of NICs.
const GAPS: u64 = 1 << 34;

impl Nics {
    /// Creates idle NICs, one for each port of a host, with the dependencies of tasks at hosts that are `here`; `crossing` is the
    /// typical time of a frame over a link.
    pub fn new(network: &Network, crossing: Time, here: impl Fn(u32) -> bool) -> Self {
        let mut ports = vec![Vec::new(); network.hosts as usize];
        for (port, number) in network.ports.iter().zip(0..) {
            if let Some(ports) = ports.get_mut(port.from as usize) {
                ports.push(number);
            }
        }
        let nic = |port| Nic {
            port,
            draws: Rng::new(network.seed, GAPS + u64::from(port)),
            ready: RunQueue::new(&network.classes),
            poller: Poller::new(&network.host, port, network.ports[port as usize].rate.time_to_send(network.mtu))
                .map(Box::new),
            ..Nic::default()
        };
        let mut first = vec![0];
        first.extend(ports.iter().scan(0, |count, ports| {
            *count += ports.len() as u32;
            Some(*count)
        }));
        let dependencies = Dependencies::new(network, here);
        Self {
            nics: ports.into_iter().flatten().map(nic).collect(),
            ordered: dependencies.ordered(),
            dependencies,
            peer_ports: PeerPorts::default(),
            first,
            timers: Timers::new(crossing),
            chooses: network.hosts_choose_ports(),
            classed: network.classes.len() > 1,
            fifo: network.host.nic == network::Nic::Fifo || network.host.poll > Time::ZERO,
            polls: network.host.poll > Time::ZERO,
            piggyback: Piggyback::new(network),
            pacers: network.disciplines.iter().any(|discipline| discipline.paced.is_some()),
            header: network.header,
            gap: network.host.gap,
        }
    }

    /// Returns the number of NICs.
    pub(crate) fn count(&self) -> u32 {
        self.nics.len() as u32
    }

    /// Returns the fabric's numbers of the ports of all NICs.
    pub fn ports(&self) -> impl Iterator<Item = u32> {
        self.nics.iter().map(|nic| nic.port)
    }

    /// Returns the ports of a host, in the order of its NICs.
    pub(crate) fn ports_of(&self, host: u32) -> impl Iterator<Item = u32> {
        let host = host as usize;
        self.nics[self.first[host] as usize..self.first[host + 1] as usize].iter().map(|nic| nic.port)
    }

    /// Returns a NIC by its index.
    pub fn get(&self, nic: u32) -> Option<&Nic> {
        self.nics.get(nic as usize)
    }

    /// Returns the first NIC of a node, if it is a host.
    pub(crate) fn first_of(&self, node: u32) -> Option<&Nic> {
        self.get(*self.first.get(node as usize)?)
    }

    /// Returns the index of the NIC with this port of a host.
    pub fn index(&self, host: u32, port: u32) -> u32 {
        let first = self.first[host as usize];
        (first..).find(|&nic| self.nics[nic as usize].port == port).expect("a port of the host")
    }

    /// Sets the bytes in a turn of a traffic class at the NIC with this port of a host.
    pub(crate) fn set_quantum(&mut self, host: u32, port: u32, (class, quantum): (u8, Bytes)) {
        let nic = self.index(host, port) as usize;
        self.nics[nic].ready.set_quantum(class, quantum);
    }

    /// Returns the index of the first NIC of a host.
    pub(crate) fn first_index(&self, host: u32) -> u32 {
        self.first[host as usize]
    }

    /// Returns true if a gap has followed any frame.
    pub fn have_left_gaps(&self) -> bool {
        self.nics.iter().any(|nic| nic.draws.has_drawn())
    }

    /// Notes that the port of a NIC is free.
    pub(crate) fn on_port_free(&mut self, nic: u32) {
        self.nics[nic as usize].awaiting_port = false;
    }

    /// Sets the timers of a flow and lets it send if it is ready. Returns true if its NIC may then serve other flows.
    #[inline(always)]
    pub fn apply<O: Observer>(&mut self, fabric: &mut Fabric<O>, sender: &mut FlowSender, status: SendStatus) -> bool {
        self.set_timers(sender, &status);
        let Some(readiness) = status.readiness else { return false };
        self.resume(fabric, sender, readiness)
    }

    /// Lets a flow that is not in a run queue send if it is ready. Returns true if its NIC may then serve other flows.
    #[inline(always)]
    pub(crate) fn resume<O: Observer>(
        &mut self,
        fabric: &mut Fabric<O>,
        sender: &mut FlowSender,
        readiness: Readiness,
    ) -> bool {
        report_readiness(fabric, sender, readiness);
        if readiness == Readiness::Ready {
            return self.send_or_enqueue(fabric, sender);
        }
        self.schedule_resume(fabric, sender, readiness);
        false
    }

    #[inline(always)]
    fn set_timers(&mut self, sender: &FlowSender, status: &SendStatus) {
        let flow = sender.endpoint.flow;
        if let Some(at) = status.wake {
            self.timers.set(Timer { at, kind: Kind::Wake, flow });
        }
        if let Some(at) = status.timeout {
            self.timers.set(Timer { at, kind: Kind::Timeout, flow });
        }
    }

    /// Sets the start timers of tasks that wait for the data of a flow, if all of it has now been sent.
    fn start_tasks_behind(&mut self, network: &Network, now: Time, sender: &FlowSender) {
        let flow = sender.endpoint.flow;
        if self.dependencies.all_sent(flow, sender.progress().0) {
            for timer in self.dependencies.sent(network, now, flow) {
                self.timers.set(timer);
            }
        }
    }

    /// Sends a packet of a ready flow, or enqueues the flow if others wait or the port is busy. Returns true if the NIC may then
    /// serve more flows.
    #[inline(always)]
    fn send_or_enqueue<O: Observer>(&mut self, fabric: &mut Fabric<O>, sender: &mut FlowSender) -> bool {
        self.choose_port(fabric, sender);
        let nic = sender.endpoint.nic;
        let empty = self.nics[nic as usize].ready.is_empty();
        if empty && self.accepts(fabric, nic, 1 << sender.class) {
            self.send(fabric, sender);
            return sender.queued;
        }
        self.enqueue(sender);
        !empty
    }

    #[inline]
    pub(super) fn enqueue(&mut self, sender: &mut FlowSender) {
        sender.queued = true;
        let nic = &mut self.nics[sender.endpoint.nic as usize];
        nic.ready.push(sender.endpoint.flow, sender.class);
    }

    /// Removes a flow from the run queue before it is served, because its retransmission became unnecessary.
    pub fn remove(&mut self, sender: &FlowSender) {
        if sender.queued {
            self.nics[sender.endpoint.nic as usize].ready.remove(sender.endpoint.flow);
        }
    }

    /// Removes the next flow from the run queue, if the NIC accepts a packet now.
    #[inline]
    pub(crate) fn next<O: Observer>(&mut self, fabric: &mut Fabric<O>, nic: u32) -> Option<u32> {
        if self.classed {
            return self.next_of_classes(fabric, nic);
        }
        if self.nics[nic as usize].ready.is_empty() || !self.accepts(fabric, nic, 1) {
            return None;
        }
        self.nics[nic as usize].ready.pop()
    }

    /// Serves a flow from the run queue, whose window may have closed since it was enqueued.
    #[inline]
    pub fn serve_next<O: Observer>(&mut self, fabric: &mut Fabric<O>, sender: &mut FlowSender) {
        sender.queued = false;
        match sender.readiness(fabric.now) {
            Readiness::Ready => self.send(fabric, sender),
            readiness => self.block(fabric, sender, readiness),
        }
    }

    /// Returns true if a NIC accepts a packet of one of these traffic classes, a bit each, now. If it is busy, an event is set for
    /// the time when it is free.
    #[inline(always)]
    pub(super) fn accepts<O: Observer>(&mut self, fabric: &mut Fabric<O>, nic: u32, classes: u8) -> bool {
        if self.fifo {
            // A window may allow more packets at once than memory holds, so the driver has to check the packet limit in time.
            fabric.interrupt |= fabric.live() >= fabric.check_at_packets;
            return !fabric.has_too_many_packets() && (!self.polls || self.has_tokens(fabric, nic));
        }
        let &Nic { port: number, gap_until, .. } = &self.nics[nic as usize];
        let port = &fabric.ports[number as usize];
        let busy_until = if port.is_plain() { port.busy_until() } else { Self::free_at(fabric, number, classes) };
        let busy_until = busy_until.max(gap_until);
        if busy_until <= fabric.now {
            return true;
        }
        if busy_until < Time::MAX {
            self.await_port(fabric, nic, busy_until);
        }
        false
    }

    /// Takes the tokens of a full frame if a NIC polls now; otherwise sets an event for the next poll.
    #[cold]
    fn has_tokens<O: Observer>(&mut self, fabric: &mut Fabric<O>, nic: u32) -> bool {
        let Some(poller) = &mut self.nics[nic as usize].poller else { return true };
        let taken = poller.take(fabric.now);
        if let Err(next) = taken {
            self.await_port(fabric, nic, next);
        }
        taken.is_ok()
    }

    #[inline]
    fn await_port<O: Observer>(&mut self, fabric: &mut Fabric<O>, nic: u32, busy_until: Time) {
        if !std::mem::replace(&mut self.nics[nic as usize].awaiting_port, true) {
            let entity = fabric.nic_entity(nic);
            // The backlog of acknowledgements may last longer than the event queue reaches; the NIC then asks again.
            fabric.events.push(busy_until.min(fabric.now + fabric.events.horizon()), entity);
        }
    }

    /// Sends a packet of a ready flow, and enqueues the flow again if it is still ready.
    #[inline(never)]
    fn send<O: Observer>(&mut self, fabric: &mut Fabric<O>, sender: &mut FlowSender) {
        let (at, status) = sender.send(fabric.now, self.header, &mut fabric.packets);
        self.set_timers(sender, &status);
        if let Some(piggyback) = &mut self.piggyback {
            piggyback.attach(fabric, at, sender.endpoint.flow);
        }
        if self.ordered {
            self.start_tasks_behind(&fabric.network, fabric.now, sender);
        }
        if self.classed {
            return self.pass_on_classed(fabric, sender, at, status.readiness);
        }
        self.pass_on(fabric, sender, at, status.readiness);
    }

    /// Puts a packet of a flow into its port, and enqueues the flow again if it is still ready.
    #[inline(always)]
    pub(super) fn pass_on<O: Observer>(
        &mut self,
        fabric: &mut Fabric<O>,
        sender: &mut FlowSender,
        at: u32,
        next: Option<Readiness>,
    ) {
        let port = sender.endpoint.port;
        let nic = sender.endpoint.nic;
        if self.pacers && sender.goes_through_pacer(fabric.now) {
            fabric.enqueue_own(port, Incoming::paced(at));
        } else {
            fabric.enqueue_own(port, Incoming::local(at));
        }
        if sender.leaves_gaps {
            self.leave_gap(fabric, nic);
        }
        match next {
            Some(Readiness::Ready) => self.enqueue_anywhere(fabric, sender),
            Some(readiness) => self.block(fabric, sender, readiness),
            None => {}
        }
    }

    /// Draws the gap after a frame. Without it a NIC as fast as the bottleneck would never lose a packet to a full queue, and others
    /// would lose all (phase effects: Floyd and Jacobson, Internetworking 3(3), 1992).
    #[inline]
    fn leave_gap<O: Observer>(&mut self, fabric: &Fabric<O>, nic: u32) {
        let nic = &mut self.nics[nic as usize];
        let frame = fabric.ports[nic.port as usize].time_to_send(fabric.network.mtu);
        let gap = nic.draws.uniform() * self.gap * frame.0 as f64;
        nic.gap_until = fabric.ports[nic.port as usize].busy_until() + Time(gap as u64);
    }

    /// Leaves a flow without a place in the run queue, because it is not ready.
    #[inline]
    fn block<O: Observer>(&mut self, fabric: &mut Fabric<O>, sender: &mut FlowSender, readiness: Readiness) {
        report_readiness(fabric, sender, readiness);
        self.schedule_resume(fabric, sender, readiness);
    }

    /// Sets a timer for a flow that will be ready at a known time.
    #[inline]
    fn schedule_resume<O: Observer>(&mut self, fabric: &mut Fabric<O>, sender: &mut FlowSender, readiness: Readiness) {
        if let Readiness::At(at) | Readiness::HostBusy { until: at, .. } = readiness {
            self.await_pace(fabric, sender, at);
        }
    }

    /// Sets the pacing timer of a flow whose next data leaves at `at`, or of the rate request or the probe that it sends before. These
    /// go directly to the port, as acknowledgements do.
    #[inline(never)]
    fn await_pace<O: Observer>(&mut self, fabric: &mut Fabric<O>, sender: &mut FlowSender, at: Time) {
        let Some(due) = sender.request_due(at) else { return self.set_pace_timer(sender, at) };
        let request = if due <= fabric.now { sender.request(fabric.now, &mut fabric.packets) } else { None };
        self.set_pace_timer(sender, sender.request_due(at).unwrap_or(at));
        if let Some(request) = request {
            self.choose_port(fabric, sender);
            fabric.enqueue_own(sender.endpoint.port, Incoming::local(request));
        }
    }

    #[inline]
    fn set_pace_timer(&mut self, sender: &mut FlowSender, at: Time) {
        if at < sender.pace_timer {
            sender.pace_timer = at;
            self.timers.set(Timer { at, kind: Kind::Pace, flow: sender.endpoint.flow });
        }
    }
}

/// Tells the observer whether a flow may send.
#[inline]
fn report_readiness<O: Observer>(fabric: &mut Fabric<O>, sender: &FlowSender, readiness: Readiness) {
    if O::LISTENS {
        fabric.observer.readiness(fabric.now, sender.endpoint.flow, readiness, sender.window());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::network::PortSpec;
    use shallows_cc::units::Rate;

    /// Host 0 has the ports 1 and 3, host 1 the port 2; port 0 belongs to the switch.
    #[test]
    fn a_host_may_have_several_nics() {
        let port = |from, to| PortSpec {
            from,
            to,
            rate: Rate::from_gbps(10),
            delay: Time::ZERO,
            buffer: Bytes::MAX,
            marking: None,
            discipline: None,
        };
        let ports = [(2, 0), (0, 2), (1, 2), (0, 2)].map(|(from, to)| port(from, to)).to_vec();
        let nics = Nics::new(&Network { hosts: 2, nodes: 3, ports, ..Network::bare() }, Time::ZERO, |_| true);
        assert_eq!(nics.ports().collect::<Vec<_>>(), [1, 3, 2]);
        assert_eq!([nics.index(0, 1), nics.index(0, 3), nics.index(1, 2)], [0, 1, 2]);
        assert_eq!([0, 1, 2].map(|node| nics.first_of(node).map(|nic| nic.port)), [Some(1), Some(2), None]);
    }
}
