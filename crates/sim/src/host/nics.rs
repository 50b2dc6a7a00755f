//! NICs: which flow of a host sends next, and when; and the timers that flows ask for.

use std::collections::VecDeque;

use shallows_cc::units::{Bytes, Time};

use crate::fabric::Fabric;
use crate::host::transport::{FlowEndpoint, Readiness, SendStatus, Sending};
use crate::observe::Observer;
use crate::packet::{NIL, PacketKind};
use crate::queue::event_queue::HORIZON;
use crate::queue::timers::{Kind, Timer, Timers};
use crate::spec::network::{self, Network};

/// A NIC: which flow sends next.
#[derive(Debug, Default)]
pub struct Nic {
    /// The egress port.
    port: u32,
    /// The flows that could send, in turn.
    ready: VecDeque<u32>,
    /// Those that go before all others.
    priority: VecDeque<u32>,
    /// Whether the event queue will tell when the port is free.
    awaiting_port: bool,
}

impl Nic {
    /// The flow whose turn it is.
    fn pop(&mut self) -> Option<u32> {
        self.priority.pop_front().or_else(|| self.ready.pop_front())
    }

    /// The flow whose turn will be next.
    pub fn first(&self) -> Option<u32> {
        self.priority.front().or_else(|| self.ready.front()).copied()
    }

    fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.priority.is_empty()
    }
}

/// Those of all hosts of a domain.
#[derive(Debug)]
pub struct Nics {
    nics: Vec<Nic>,
    pub timers: Timers,
    /// Whether all that a window allows goes in at once.
    fifo: bool,
    /// Whether they have pacers.
    pacers: bool,
    /// Length of what is not payload in a frame.
    header: Bytes,
}

impl Nics {
    /// With nothing to send; `nic` tells the port of a host.
    pub fn new(network: &Network, crossing: Time, nic: impl Fn(u32) -> u32) -> Self {
        Self {
            nics: (0..network.hosts).map(|host| Nic { port: nic(host), ..Nic::default() }).collect(),
            timers: Timers::new(crossing),
            fifo: network.host.nic == network::Nic::Fifo,
            pacers: network.disciplines.iter().any(|discipline| discipline.paced.is_some()),
            header: network.header,
        }
    }

    /// That of a host, where that is a host.
    pub fn get(&self, host: u32) -> Option<&Nic> {
        self.nics.get(host as usize)
    }

    /// The port that a host waited for is free.
    pub fn wake(&mut self, host: u32) {
        self.nics[host as usize].awaiting_port = false;
    }

    /// Sets the timers that a flow wants, and lets it send if it may; whether others of its host may then.
    #[inline(always)]
    pub fn apply<O: Observer>(&mut self, fabric: &mut Fabric<O>, sending: &mut Sending, status: SendStatus) -> bool {
        self.set_timers(sending, &status);
        let Some(readiness) = status.readiness else { return false };
        self.resume(fabric, sending, readiness)
    }

    /// Lets a flow that has no place in the turn send if it may; whether others of its host may then.
    #[inline(always)]
    pub fn resume<O: Observer>(&mut self, fabric: &mut Fabric<O>, sending: &mut Sending, readiness: Readiness) -> bool {
        report_readiness(fabric, sending, readiness);
        if readiness == Readiness::Ready {
            return self.let_send(fabric, sending);
        }
        self.schedule_resume(fabric, sending, readiness);
        false
    }

    /// Sets the timers that a flow newly wants.
    #[inline(always)]
    fn set_timers(&mut self, sending: &Sending, status: &SendStatus) {
        let flow = sending.ends.flow;
        if let Some(at) = status.wake {
            self.timers.set(Timer { at, kind: Kind::Wake, flow });
        }
        if let Some(at) = status.timeout {
            self.timers.set(Timer { at, kind: Kind::Timeout, flow });
        }
    }

    /// A flow that may send does so, or joins the turn where others wait or the NIC takes nothing now; whether the NIC may then
    /// take more.
    #[inline(always)]
    fn let_send<O: Observer>(&mut self, fabric: &mut Fabric<O>, sending: &mut Sending) -> bool {
        let host = sending.ends.src;
        let alone = self.nics[host as usize].is_empty();
        if alone && self.takes(fabric, host) {
            self.send(fabric, sending);
            return sending.queued;
        }
        self.join(sending);
        !alone
    }

    /// A flow joins the turn, or that of those with a priority.
    #[inline]
    fn join(&mut self, sending: &mut Sending) {
        sending.queued = true;
        let nic = &mut self.nics[sending.ends.src as usize];
        let queue = if sending.priority { &mut nic.priority } else { &mut nic.ready };
        queue.push_back(sending.ends.flow);
    }

    /// A flow leaves the turn before it came: it waited to repair what has arrived after all.
    pub fn leave(&mut self, sending: &Sending) {
        if sending.queued {
            let FlowEndpoint { flow, src, .. } = sending.ends;
            let nic = &mut self.nics[src as usize];
            nic.ready.retain(|&ready| ready != flow);
            nic.priority.retain(|&ready| ready != flow);
        }
    }

    /// The flow of a host whose turn has come, if its NIC takes a packet now.
    #[inline]
    pub fn next<O: Observer>(&mut self, fabric: &mut Fabric<O>, host: u32) -> Option<u32> {
        if self.nics[host as usize].is_empty() || !self.takes(fabric, host) {
            return None;
        }
        self.nics[host as usize].pop()
    }

    /// It is the turn of a flow. What it heard since it joined may have closed its window.
    #[inline]
    pub fn send_in_turn<O: Observer>(&mut self, fabric: &mut Fabric<O>, sending: &mut Sending) {
        sending.queued = false;
        match sending.readiness(fabric.now) {
            Readiness::Ready => self.send(fabric, sending),
            readiness => self.block(fabric, sending, readiness),
        }
    }

    /// Whether a NIC takes a packet from its flows now; if it is only busy, it will ask again.
    #[inline(always)]
    fn takes<O: Observer>(&mut self, fabric: &mut Fabric<O>, host: u32) -> bool {
        if self.fifo {
            // All that a window allows goes in at once: the driver has to look before that is too much, or takes long.
            fabric.interrupt |= fabric.live() >= fabric.check_at_packets;
            return !fabric.has_too_many_packets();
        }
        let number = self.nics[host as usize].port;
        let port = &fabric.ports[number as usize];
        let busy_until = if port.is_plain() { port.busy_until() } else { free_at(fabric, number) };
        if busy_until <= fabric.now {
            return true;
        }
        if busy_until < Time::MAX {
            self.await_port(fabric, host, busy_until);
        }
        false
    }

    /// A host has more for its NIC, which is busy until then.
    #[inline]
    fn await_port<O: Observer>(&mut self, fabric: &mut Fabric<O>, host: u32, busy_until: Time) {
        if !std::mem::replace(&mut self.nics[host as usize].awaiting_port, true) {
            let entity = fabric.host_entity(host);
            // A NIC may hold more answers than can be sent until then: it is asked once more.
            fabric.events.push(busy_until.min(fabric.now + HORIZON), entity);
        }
    }

    /// Sends the packet of a flow that may, which then joins the turn again, if it may send more.
    #[inline(never)]
    fn send<O: Observer>(&mut self, fabric: &mut Fabric<O>, sending: &mut Sending) {
        let (at, status) = sending.send(fabric.now, self.header, &mut fabric.packets);
        self.set_timers(sending, &status);
        let port = sending.ends.port;
        if self.pacers && sending.goes_through_pacer(fabric.now) {
            fabric.enqueue_paced(port, at);
        } else {
            fabric.send_to_nic(port, at);
        }
        match status.readiness {
            Some(Readiness::Ready) => self.join(sending),
            Some(readiness) => self.block(fabric, sending, readiness),
            None => {}
        }
    }

    /// This is how a flow stands that sends nothing more now.
    #[inline]
    fn block<O: Observer>(&mut self, fabric: &mut Fabric<O>, sending: &mut Sending, readiness: Readiness) {
        report_readiness(fabric, sending, readiness);
        self.schedule_resume(fabric, sending, readiness);
    }

    /// A flow may send later: it will be looked at again then.
    #[inline]
    fn schedule_resume<O: Observer>(&mut self, fabric: &mut Fabric<O>, sending: &mut Sending, readiness: Readiness) {
        if let Readiness::At(at) | Readiness::HostBusy { until: at, .. } = readiness {
            self.await_pace(fabric, sending, at);
        }
    }

    /// Sets the timer of a flow whose next data leaves `at`, or of the request that it sends before, which goes straight to the
    /// device as acknowledgements do.
    #[inline(never)]
    fn await_pace<O: Observer>(&mut self, fabric: &mut Fabric<O>, sending: &mut Sending, at: Time) {
        let Some(due) = sending.request_due(at) else { return self.set_pace(sending, at) };
        let request = if due <= fabric.now { sending.request(fabric.now, &mut fabric.packets) } else { None };
        self.set_pace(sending, sending.request_due(at).unwrap_or(at));
        if let Some(request) = request {
            fabric.enqueue(sending.ends.port, request, NIL);
        }
    }

    #[inline]
    fn set_pace(&mut self, sending: &mut Sending, at: Time) {
        if at < sending.pace_timer {
            sending.pace_timer = at;
            self.timers.set(Timer { at, kind: Kind::Pace, flow: sending.ends.flow });
        }
    }
}

/// Feedback who looks on whether a flow may send.
#[inline]
fn report_readiness<O: Observer>(fabric: &mut Fabric<O>, sending: &Sending, readiness: Readiness) {
    if O::LISTENS {
        fabric.observer.readiness(fabric.now, sending.ends.flow, readiness, sending.window());
    }
}

/// When a NIC that is more than a queue takes data; [`Time::MAX`] if nobody knows.
#[inline(never)]
fn free_at<O: Observer>(fabric: &mut Fabric<O>, port: u32) -> Time {
    if fabric.ports[port as usize].is_due(fabric.now) {
        fabric.dispatch(port);
    }
    let nic = &fabric.ports[port as usize];
    let busy_until = nic.busy_until();
    if busy_until > fabric.now || nic.can_send(fabric.now, PacketKind::Data) {
        return busy_until;
    }
    nic.idle_until(fabric.now).unwrap_or(Time::MAX)
}
