//! Hosts: a NIC with the flows that wait for it, and the sending and receiving halves of flows.
//!
//! A sending half is made when its flow begins, a receiving half by the first packet that comes. Each frees itself: the
//! sender once it knows that all has arrived, the receiver once all has and it owes no answer. What comes later is answered from
//! the packet alone. A flow that waits for another begins at the host that saw the other end: as its receiver, or as its
//! sender, once that knows. One that begins elsewhere does so as the other's last byte arrives.

use std::collections::VecDeque;
use std::sync::Arc;

use shallows_cc::units::{Bytes, Time};

use super::halves::Halves;
use super::opening;
use super::pulls::Pulls;
use super::rows::Rows;
use crate::event_queue::HORIZON;
use crate::fabric::Fabric;
use crate::flow::{Followers, Received, Sent};
use crate::header::Header;
use crate::moment::SenderState;
use crate::network::{Network, Nic};
use crate::observe::Observer;
use crate::packet::{Flags, NIL, Packet, PacketKind};
use crate::partition::Share;
use crate::timers::{Kind, Timer, Timers};
use crate::transport::{self, Ends, Outlet, Receiving, Replies, Sending, Turn};
use crate::watchman::Standing;

/// A NIC: which flow sends next.
#[derive(Debug, Default)]
pub struct Host {
    /// The egress port.
    port: u32,
    /// The flows that could send, in turn.
    ready: VecDeque<u32>,
    /// Those that go before all others.
    priority: VecDeque<u32>,
    /// Flows that it sends, ready or not.
    active: u32,
    /// Whether the event queue will tell when the port is free.
    awaiting_port: bool,
}

impl Host {
    /// A flow joins the turn, or that of those with a priority.
    fn push(&mut self, flow: u32, priority: bool) {
        if priority {
            self.priority.push_back(flow);
        } else {
            self.ready.push_back(flow);
        }
    }

    /// The flow whose turn it is.
    fn pop(&mut self) -> Option<u32> {
        self.priority.pop_front().or_else(|| self.ready.pop_front())
    }

    /// The flow whose turn will be next.
    pub fn first(&self) -> Option<u32> {
        self.priority.front().or_else(|| self.ready.front()).copied()
    }

    /// A flow leaves the turn before it came.
    fn leave(&mut self, flow: u32) {
        self.ready.retain(|&ready| ready != flow);
        self.priority.retain(|&ready| ready != flow);
    }

    fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.priority.is_empty()
    }
}

/// All hosts of a domain.
#[derive(Debug)]
pub struct Hosts {
    network: Arc<Network>,
    share: Share,
    pub hosts: Vec<Host>,
    pub sending: Halves<Sending>,
    pub receiving: Halves<Receiving>,
    pub timers: Timers,
    pulls: Pulls,
    followers: Followers,
    /// Whether NICs have pacers.
    pacers: bool,
    /// What the ends of flows that are here have to tell.
    pub sent: Rows<Sent>,
    pub received: Rows<Received>,
    /// Flows with an end that have not reached it, of those that these hosts receive.
    pub unfinished: usize,
    /// Stops that only a receiver heard here: their sender is in another domain.
    pub echoes: u64,
}

impl Hosts {
    /// Idle; flows that wait for no other are due.
    pub fn new(network: Arc<Network>, nic: impl Fn(u32) -> u32, share: Share) -> Self {
        let flows = network.flows.len();
        let here = |host| share.owns(host);
        let mut timers = Timers::default();
        for (flow, number) in network.flows.iter().zip(0..) {
            if flow.after.is_none() && here(flow.src) {
                timers.set(Timer { at: flow.start, kind: Kind::Start, flow: number });
            }
            if flow.stop < Time::MAX && (here(flow.src) || here(flow.dst)) {
                timers.set(Timer { at: flow.stop, kind: Kind::Stop, flow: number });
            }
        }
        Self {
            pulls: Pulls::new(&network, &nic),
            hosts: (0..network.hosts).map(|host| Host { port: nic(host), ..Host::default() }).collect(),
            sending: Halves::new(flows),
            receiving: Halves::new(flows),
            timers,
            followers: Followers::new(&network),
            pacers: network.disciplines.iter().any(|discipline| discipline.paced.is_some()),
            sent: Rows::new(Sent::NOTHING, flows as u32, |flow| here(network.flows[flow as usize].src)),
            received: Rows::new(Received::NOTHING, flows as u32, |flow| here(network.flows[flow as usize].dst)),
            unfinished: network.flows.iter().filter(|flow| flow.bytes != Bytes::MAX && here(flow.dst)).count(),
            echoes: 0,
            share,
            network,
        }
    }

    /// A packet has come to the host that it was for.
    #[inline]
    pub fn take_in<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32) {
        fabric.consumed += 1;
        if fabric.packets[at].flags.for_sender() {
            self.tell_sender(fabric, at);
        } else {
            let (Packet { flow, flags, .. }, header) = (fabric.packets[at], *fabric.packets.header(at));
            fabric.packets.remove(at);
            self.tell_receiver(fabric, at, (flow, flags), &header);
        }
    }

    #[inline]
    fn tell_receiver<O: Observer>(
        &mut self,
        fabric: &mut Fabric<O>,
        place: u32,
        (flow, flags): (u32, Flags),
        header: &Header,
    ) {
        let Some(receiving) = self.receiving.get_mut(flow) else {
            return self.meet_without_receiver(fabric, place, (flow, flags), header);
        };
        let Ends { src, dst, .. } = receiving.ends;
        let way = fabric.routes.way(flow, src, true);
        let out = &mut Outlet { packets: &mut fabric.packets, flow, way };
        let replies = receiving.on_packet(fabric.now, place, (flags, header), out);
        if let Some(at) = receiving.arm_timer(fabric.now) {
            self.timers.set(Timer { at, kind: Kind::Reply, flow });
        }
        if receiving.takes_turn()
            && self.pulls.join(fabric.now, receiving.ends, &mut self.timers)
            && let Some(answer) = replies.now
        {
            receiving.pull_with(answer, &mut fabric.packets);
        }
        let complete = receiving.complete();
        send_replies(fabric, dst, replies);
        if complete {
            self.on_complete(fabric, flow);
        }
    }

    /// The first packet of a flow makes its receiving half; after the last one it is answered without.
    #[cold]
    fn meet_without_receiver<O: Observer>(
        &mut self,
        fabric: &mut Fabric<O>,
        place: u32,
        (flow, flags): (u32, Flags),
        header: &Header,
    ) {
        let spec = self.network.flows[flow as usize];
        if self.received[flow as usize].finish == Time::MAX {
            let rate = |host| self.network.ports[fabric.routes.nic(host) as usize].rate;
            let receiving = opening::receiving(&self.network, flow, fabric.now, rate(spec.src), rate(spec.dst));
            self.receiving.insert(flow, receiving);
            self.tell_receiver(fabric, place, (flow, flags), header);
        } else {
            let Some((length, header)) = transport::late_answer(fabric.now, header, (spec.bytes, self.network.mss()))
            else {
                return;
            };
            let way = fabric.routes.way(flow, spec.src, true);
            let at = Outlet { packets: &mut fabric.packets, flow, way }.put(length, header);
            fabric.offer(fabric.routes.nic(spec.dst), at, NIL);
        }
    }

    /// All of a flow has arrived: it is finished if it has an end, and its receiving half is if it owes nothing.
    fn on_complete<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        if self.network.flows[flow as usize].bytes == Bytes::MAX {
            return;
        }
        if self.received[flow as usize].finish == Time::MAX {
            self.received[flow as usize].finish = fabric.now;
            self.unfinished -= 1;
            fabric.look |= self.unfinished == 0 && self.network.until_done;
            fabric.observer.finished(fabric.now, flow);
            let (src, dst) = (self.network.flows[flow as usize].src, self.network.flows[flow as usize].dst);
            self.begin_followers(fabric.now, flow, |host| host == dst || host != src);
        }
        if self.receiving.get(flow).is_some_and(Receiving::may_close) {
            self.settle_receiver(flow);
            self.receiving.remove(flow);
        }
    }

    /// Flows that wait for this one and whose sender is one of these hosts begin, each after its time.
    fn begin_followers(&mut self, now: Time, flow: u32, here: impl Fn(u32) -> bool) {
        for &next in self.followers.of(flow) {
            let spec = &self.network.flows[next as usize];
            if here(spec.src) {
                self.timers.set(Timer { at: now + spec.start, kind: Kind::Start, flow: next });
            }
        }
    }

    #[inline]
    fn tell_sender<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32) {
        let packet = &fabric.packets[at];
        let flow = packet.flow;
        let Some(sending) = self.sending.get_mut(flow) else {
            // What is still granted comes after its flow is done.
            self.sent[flow as usize].credits_wasted += u64::from(packet.flags.is(PacketKind::Credit));
            return fabric.packets.remove(at);
        };
        let wake = sending.wake();
        sending.on_packet(fabric.now, fabric.packets.header(at), (at, &fabric.packets));
        fabric.packets.remove(at);
        if sending.done() {
            self.close_sender(fabric.now, flow);
        } else {
            self.after_decision(fabric, flow, wake);
        }
    }

    /// Sets the timers that a decision asks for, and lets the flow send.
    #[inline]
    fn after_decision<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32, wake_before: Option<Time>) {
        let Some(sending) = self.sending.get_mut(flow) else { return };
        set_wake(&mut self.timers, sending, wake_before);
        set_timeout(&mut self.timers, sending);
        if sending.queued {
            return;
        }
        let host = sending.ends.src;
        let turn = sending.turn(fabric.now);
        fabric.observer.turn(fabric.now, flow, turn, sending.window());
        match turn {
            Turn::No(_) => {}
            Turn::At(at) | Turn::Answering { until: at, .. } => self.await_pace(fabric, flow, at),
            Turn::Now => self.let_send(fabric, host, flow),
        }
    }

    /// A flow that may send does so, or joins the turn where others wait or the NIC takes nothing now.
    #[inline]
    fn let_send<O: Observer>(&mut self, fabric: &mut Fabric<O>, host: u32, flow: u32) {
        let nic = &self.hosts[host as usize];
        let (port, alone) = (nic.port, nic.is_empty());
        if alone && self.nic_takes(fabric, host, port) {
            self.send_now(fabric, flow, port);
        } else if let Some(sending) = self.sending.get_mut(flow) {
            sending.queued = true;
            self.hosts[host as usize].push(flow, sending.priority);
            if alone {
                return;
            }
        }
        self.serve(fabric, host);
    }

    /// Sets the timer of a flow whose next data leaves `at`, or of the request that it sends before, which goes straight to the
    /// device as acknowledgements do.
    #[inline(never)]
    fn await_pace<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32, at: Time) {
        let Some(sending) = self.sending.get_mut(flow) else { return };
        let mut request = None;
        if sending.request_due(at).is_some_and(|due| due <= fabric.now) {
            let way = fabric.routes.way(flow, sending.ends.dst, false);
            request = sending.request(fabric.now, &mut Outlet { packets: &mut fabric.packets, flow, way });
        }
        let at = sending.request_due(at).unwrap_or(at);
        if at < sending.pace_timer {
            sending.pace_timer = at;
            self.timers.set(Timer { at, kind: Kind::Pace, flow });
        }
        if let Some(request) = request {
            fabric.offer(self.hosts[sending.ends.src as usize].port, request, NIL);
        }
    }

    /// The NIC that a host waited for is free.
    pub fn on_free_port<O: Observer>(&mut self, fabric: &mut Fabric<O>, host: u32) {
        self.hosts[host as usize].awaiting_port = false;
        self.serve(fabric, host);
    }

    /// Lets the flows of a host send: all they may into a FIFO, one at a time when it is idle otherwise.
    #[inline]
    pub fn serve<O: Observer>(&mut self, fabric: &mut Fabric<O>, host: u32) {
        while !self.hosts[host as usize].is_empty() {
            let port = self.hosts[host as usize].port;
            if !self.nic_takes(fabric, host, port) {
                return;
            }
            let Some(flow) = self.hosts[host as usize].pop() else { return };
            self.send_one(fabric, flow, port);
        }
    }

    /// Whether a NIC takes a packet from its flows now; if it is only busy, it will ask again.
    #[inline]
    fn nic_takes<O: Observer>(&mut self, fabric: &mut Fabric<O>, host: u32, port: u32) -> bool {
        if self.network.host.nic == Nic::Fifo {
            // All that a window allows goes in at once: the driver has to look before that is too much, or takes long.
            fabric.look |= fabric.live() >= fabric.look_from;
            return !fabric.is_crowded();
        }
        let nic = &fabric.ports[port as usize];
        let busy_until = if nic.is_plain() { nic.busy_until() } else { free_at(fabric, port) };
        if busy_until <= fabric.now {
            return true;
        }
        if busy_until == Time::MAX {
            return false;
        }
        let waiting = &mut self.hosts[host as usize];
        if !waiting.awaiting_port {
            waiting.awaiting_port = true;
            let entity = fabric.host_entity(host);
            // A NIC may hold more answers than can be sent until then: it is asked once more.
            fabric.events.push(busy_until.min(fabric.now + HORIZON), entity);
        }
        false
    }

    /// It is the turn of a flow. What it heard since it joined may have closed its window.
    #[inline]
    fn send_one<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32, port: u32) {
        let Some(sending) = self.sending.get_mut(flow) else { return };
        sending.queued = false;
        match sending.turn(fabric.now) {
            Turn::Now => self.send_now(fabric, flow, port),
            turn => {
                let window = sending.window();
                self.go_without(fabric, flow, turn, window);
            }
        }
    }

    /// Sends the packet of a flow that may, which then joins the turn again, if it may send more.
    #[inline]
    fn send_now<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32, port: u32) {
        let Some(sending) = self.sending.get_mut(flow) else { return };
        let wake = sending.wake();
        let paced = self.pacers && sending.goes_through_pacer(fabric.now);
        let way = fabric.routes.way(flow, sending.ends.dst, false);
        let out = &mut Outlet { packets: &mut fabric.packets, flow, way };
        let at = sending.send(fabric.now, self.network.header, out);
        set_wake(&mut self.timers, sending, wake);
        set_timeout(&mut self.timers, sending);
        let (turn, window) = (sending.turn(fabric.now), sending.window());
        if turn == Turn::Now {
            sending.queued = true;
            self.hosts[sending.ends.src as usize].push(flow, sending.priority);
        }
        if paced {
            fabric.offer_paced(port, at);
        } else {
            fabric.offer(port, at, NIL);
        }
        self.go_without(fabric, flow, turn, window);
    }

    /// This is how a flow stands that sends nothing more now.
    #[inline]
    fn go_without<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32, turn: Turn, window: Option<Bytes>) {
        fabric.observer.turn(fabric.now, flow, turn, window);
        if let Turn::At(at) | Turn::Answering { until: at, .. } = turn {
            self.await_pace(fabric, flow, at);
        }
    }

    /// A timer of a flow has run out.
    pub fn on_timer<O: Observer>(&mut self, fabric: &mut Fabric<O>, timer: Timer) {
        fabric.observer.timer(fabric.now, timer);
        match timer.kind {
            Kind::Start => self.open(fabric, timer.flow),
            Kind::Stop => self.stop(fabric, timer.flow),
            Kind::Reply => self.reply_is_due(fabric, timer),
            Kind::Pull => {
                let host = self.network.flows[timer.flow as usize].dst;
                self.pulls.on_timer(fabric, host, &mut self.receiving, &mut self.timers);
            }
            Kind::Supply => self.on_application(fabric, timer.flow),
            Kind::Timeout | Kind::Pace | Kind::Wake => self.wake_sender(fabric, timer),
        }
    }

    fn wake_sender<O: Observer>(&mut self, fabric: &mut Fabric<O>, timer: Timer) {
        let Some(sending) = self.sending.get_mut(timer.flow) else { return };
        let wake = sending.wake();
        match timer.kind {
            Kind::Timeout => sending.on_timer(fabric.now),
            // A later one than it still waits for.
            Kind::Pace if sending.pace_timer != fabric.now => return,
            Kind::Pace => sending.pace_timer = Time::MAX,
            _ if wake != Some(fabric.now) => return,
            _ => sending.on_wake(fabric.now),
        }
        let wake = if timer.kind == Kind::Wake { None } else { wake };
        self.after_decision(fabric, timer.flow, wake);
    }

    fn reply_is_due<O: Observer>(&mut self, fabric: &mut Fabric<O>, timer: Timer) {
        let Some(receiving) = self.receiving.get_mut(timer.flow) else { return };
        let Ends { flow, src, dst } = receiving.ends;
        let way = fabric.routes.way(flow, src, true);
        let replies = receiving.on_timer(fabric.now, &mut Outlet { packets: &mut fabric.packets, flow, way });
        if let Some(at) = receiving.arm_timer(fabric.now) {
            self.timers.set(Timer { at, ..timer });
        }
        let complete = receiving.complete();
        send_replies(fabric, dst, replies);
        if complete {
            self.on_complete(fabric, timer.flow);
        }
    }

    /// A flow begins.
    fn open<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let host = &mut self.hosts[self.network.flows[flow as usize].src as usize];
        let path = fabric.routes.path(&self.network, flow);
        let sending = opening::sending(&self.network, flow, fabric.now, &path, host.active);
        host.active += 1;
        self.sent[flow as usize].start = fabric.now;
        self.sending.insert(flow, sending);
        fabric.observer.began(fabric.now, flow);
        if self.network.flows[flow as usize].application.pauses() {
            self.supply(fabric.now, flow);
        }
        self.after_decision(fabric, flow, None);
    }

    /// The application of a flow pauses, or goes on.
    fn on_application<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        self.supply(fabric.now, flow);
        let wake = self.sending.get(flow).and_then(Sending::wake);
        self.after_decision(fabric, flow, wake);
    }

    fn supply(&mut self, now: Time, flow: u32) {
        let Some(sending) = self.sending.get_mut(flow) else { return };
        let application = &self.network.flows[flow as usize].application;
        let (supply, until) = application.supply(self.sent[flow as usize].start, now);
        sending.supply(supply);
        if until < Time::MAX {
            self.timers.set(Timer { at: until, kind: Kind::Supply, flow });
        }
    }

    /// A flow sends nothing new from now on; it may still have to say so, or to hear that all has arrived.
    fn stop<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let spec = &self.network.flows[flow as usize];
        self.echoes += u64::from(!self.share.owns(spec.src));
        if self.share.owns(spec.dst) {
            self.settle_receiver(flow);
            let received = &mut self.received[flow as usize];
            received.by_stop = received.delivered;
        }
        if let Some(sending) = self.sending.get_mut(flow) {
            let wake = sending.wake();
            sending.stop(fabric.now);
            if sending.done() {
                return self.close_sender(fabric.now, flow);
            }
            self.after_decision(fabric, flow, wake);
        }
    }

    /// The sender of a flow knows that all of it has arrived.
    fn close_sender(&mut self, now: Time, flow: u32) {
        self.settle_sender(flow);
        let Some(sending) = self.sending.remove(flow) else { return };
        let host = &mut self.hosts[sending.ends.src as usize];
        host.active -= 1;
        if sending.queued {
            // It waited to repair what has arrived after all.
            host.leave(flow);
        }
        self.begin_followers(now, flow, |host| host == sending.ends.src);
    }

    fn settle_sender(&mut self, flow: u32) {
        if let Some(sending) = self.sending.get(flow) {
            let sent = &mut self.sent[flow as usize];
            (sent.retransmits, sent.timeouts) = sending.repairs();
            sent.credits_wasted = sending.wasted();
            sent.smoothed = sending.smoothed();
        }
    }

    fn settle_receiver(&mut self, flow: u32) {
        if let Some(receiving) = self.receiving.get(flow) {
            let received = &mut self.received[flow as usize];
            (received.delivered, received.credits) = (receiving.delivered(), receiving.granted());
        }
    }

    /// Carries the counts of live flows over into what their ends have to tell.
    pub fn settle(&mut self) {
        for flow in 0..self.network.flows.len() as u32 {
            self.settle_sender(flow);
            self.settle_receiver(flow);
        }
    }

    /// Statistics start now.
    pub fn end_warmup(&mut self) {
        self.settle();
        for received in self.received.iter_mut() {
            received.in_warmup = received.delivered;
        }
    }

    /// How every flow stands at its sender that has begun and not ended; how far it has got is for its receiver to say.
    pub fn standings(&self) -> impl Iterator<Item = Standing> {
        self.sending.iter().map(|(flow, sending)| Standing {
            flow,
            progress: 0,
            timeouts: self.sent[flow as usize].timeouts,
            paced: sending.pace_timer < Time::MAX || sending.pauses(),
        })
    }

    /// Before this the last of these flows cannot have finished: what one of them has not sent yet has to leave its NIC.
    pub fn last_end(&self, now: Time) -> Time {
        let end = |sending: &Sending| {
            let Ends { flow, src, .. } = sending.ends;
            let bytes = self.network.flows[flow as usize].bytes;
            if bytes == Bytes::MAX {
                return now;
            }
            let (next, _) = sending.reached();
            let left = Bytes(bytes.0.saturating_sub(self.network.mss().0 * u64::from(next)));
            let rate = self.network.ports[self.hosts[src as usize].port as usize].rate;
            Time(now.0.saturating_add(rate.time_to_send(left).0))
        };
        self.sending.all().map(end).max().unwrap_or(now)
    }

    /// How a flow stands at its sender, while it lives.
    pub fn sender_state(&mut self, now: Time, flow: u32) -> Option<SenderState> {
        let sending = self.sending.get_mut(flow)?;
        let (next, in_flight) = sending.reached();
        let turn = if sending.queued { Turn::Now } else { sending.turn(now) };
        Some(SenderState { next, in_flight, turn })
    }

    /// A flow that has begun and not ended, if there is one.
    pub fn first_live(&self) -> Option<u32> {
        self.sending.iter().next().map(|(flow, _)| flow)
    }

    /// Reads the internals of a flow at its sender, if it lives; `since` is the span since they were last read.
    pub fn probe_sender(&mut self, flow: u32, since: Time, record: &mut dyn FnMut(&'static str, f64)) -> bool {
        let sending = self.sending.get_mut(flow);
        sending.map(|sending| sending.probe(since, record)).is_some()
    }

    /// And at its receiver.
    pub fn probe_receiver(&self, flow: u32, record: &mut dyn FnMut(&'static str, f64)) {
        if let Some(receiving) = self.receiving.get(flow) {
            receiving.probe(record);
        }
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
    if busy_until > fabric.now || nic.is_open(fabric.now, PacketKind::Data) {
        return busy_until;
    }
    nic.rests_until(fabric.now).unwrap_or(Time::MAX)
}

/// What a receiving half answers goes straight to the device of its host.
#[inline]
fn send_replies<O: Observer>(fabric: &mut Fabric<O>, host: u32, replies: Replies) {
    for at in [replies.earlier, replies.now].into_iter().flatten() {
        fabric.offer(fabric.routes.nic(host), at, NIL);
    }
}

/// Sets the timer that an algorithm has newly asked for.
#[inline]
fn set_wake(timers: &mut Timers, sending: &Sending, before: Option<Time>) {
    let wake = sending.wake();
    if wake != before
        && let Some(at) = wake
    {
        timers.set(Timer { at, kind: Kind::Wake, flow: sending.ends.flow });
    }
}

/// Sets the timer of a flow that has something in flight and none yet.
#[inline]
fn set_timeout(timers: &mut Timers, sending: &mut Sending) {
    if let Some(at) = sending.arm_timer() {
        timers.set(Timer { at, kind: Kind::Timeout, flow: sending.ends.flow });
    }
}
