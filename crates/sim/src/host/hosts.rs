//! Hosts: the sending and receiving halves of flows, and what packets and timers do to them.
//!
//! A sending half is made when its flow begins, a receiving half by the first packet that comes. Each frees itself: the
//! sender once it knows that all has arrived, the receiver once all has and it ack_pending no answer. What comes later is answered from
//! the packet alone. A flow that waits for another begins at the host that saw the other end: as its receiver, or as its
//! sender, once that knows. One that begins elsewhere does so as the other's last byte arrives.

use std::sync::Arc;

use shallows_cc::units::{Bytes, Time};

use crate::fabric::Fabric;
use crate::fabric::ownership::Ownership;
use crate::fabric::route::Routes;
use crate::host::flow_table::FlowTable;
use crate::host::nics::Nics;
use crate::host::owned_table::OwnedTable;
use crate::host::progress::{FlowProgress, SenderState};
use crate::host::pull_pacer::PullPacer;
use crate::host::setup;
use crate::host::stats::{Dependents, ReceiverStats, SenderStats};
use crate::host::transport::{self, FlowEndpoint, PacketSink, Readiness, ReceiverEvent, Receiving, Sending};
use crate::observe::Observer;
use crate::packet::{Flags, NIL, Packet, PacketKind};
use crate::queue::timers::{Kind, Timer};
use crate::spec::network::Network;

/// All hosts of a domain.
#[derive(Debug)]
pub struct Hosts {
    network: Arc<Network>,
    ownership: Ownership,
    pub nics: Nics,
    /// By host: the flows that it sends now, ready or not.
    active: Vec<u32>,
    pub sending: FlowTable<Sending>,
    pub receiving: FlowTable<Receiving>,
    pull_pacer: PullPacer,
    dependents: Dependents,
    /// What the ends of flows that are here have to tell.
    pub sent: OwnedTable<SenderStats>,
    pub received: OwnedTable<ReceiverStats>,
    /// Flows with an end that have not reached it, of those that these hosts receive.
    pub unfinished: usize,
    /// Stops that only a receiver heard here: their sender is in another domain.
    pub remote_stops: u64,
}

impl Hosts {
    /// Idle; flows that wait for no other are due.
    pub fn new(network: Arc<Network>, nic: impl Fn(u32) -> u32, ownership: Ownership) -> Self {
        let flows = network.flows.len();
        let here = |host| ownership.owns(host);
        let mut nics = Nics::new(&network, ownership.crossing(&network).0, &nic);
        let mut known = Vec::new();
        for (flow, number) in network.flows.iter().zip(0..) {
            if flow.after.is_none() && here(flow.src) {
                known.push(Timer { at: flow.start, kind: Kind::Start, flow: number });
            }
            if flow.stop < Time::MAX && (here(flow.src) || here(flow.dst)) {
                known.push(Timer { at: flow.stop, kind: Kind::Stop, flow: number });
            }
        }
        nics.timers.begin_with(&known);
        Self {
            pull_pacer: PullPacer::new(&network, &nic),
            active: vec![0; network.hosts as usize],
            nics,
            sending: FlowTable::new(flows),
            receiving: FlowTable::new(flows),
            dependents: Dependents::new(&network),
            sent: OwnedTable::new(SenderStats::NOTHING, flows as u32, |flow| here(network.flows[flow as usize].src)),
            received: OwnedTable::new(ReceiverStats::NOTHING, flows as u32, |flow| {
                here(network.flows[flow as usize].dst)
            }),
            unfinished: network.flows.iter().filter(|flow| flow.bytes != Bytes::MAX && here(flow.dst)).count(),
            remote_stops: 0,
            ownership,
            network,
        }
    }

    /// A packet has come to the host that it was for.
    #[inline]
    pub fn receive<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32) {
        fabric.consumed += 1;
        let Packet { flow, flags, .. } = fabric.packets[at];
        // What it says can still be read there, until another takes its place.
        fabric.packets.remove(at);
        if flags.for_sender() {
            self.tell_sender(fabric, at, flow, flags);
        } else {
            self.tell_receiver(fabric, at, flow, flags);
        }
    }

    // Called, as `Nics::send` is: in line the two take the main loop's registers, and every hop 3 % more instructions.
    #[inline(never)]
    fn tell_receiver<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32, flow: u32, flags: Flags) {
        let receiving = match self.receiving.get_mut(flow) {
            Some(receiving) => receiving,
            None => {
                self.meet_without_receiver(fabric, at, flow);
                let Some(receiving) = self.receiving.get_mut(flow) else { return };
                receiving
            }
        };
        let reaction = receiving.on_packet(fabric.now, at, flags, &mut fabric.packets);
        let ends = receiving.ends;
        if receiving.takes_turn()
            && self.pull_pacer.join(fabric.now, ends, &mut self.nics.timers)
            && let Some(answer) = reaction.responses.now()
        {
            receiving.pull_with(answer, &mut fabric.packets);
        }
        self.answer(fabric, ends, reaction);
    }

    /// What a receiving half answers goes straight to the device of its host.
    #[inline(always)]
    fn answer<O: Observer>(
        &mut self,
        fabric: &mut Fabric<O>,
        FlowEndpoint { flow, port, .. }: FlowEndpoint,
        reaction: ReceiverEvent,
    ) {
        if let Some(at) = reaction.timer {
            self.nics.timers.set(Timer { at, kind: Kind::AckTimer, flow });
        }
        for at in reaction.responses.places() {
            fabric.send_to_nic(port, at);
        }
        if reaction.complete {
            self.on_complete(fabric, flow);
        }
    }

    /// The first packet of a flow makes its receiving half; after the last one it is answered without.
    #[cold]
    fn meet_without_receiver<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32, flow: u32) {
        if self.received[flow as usize].finish == Time::MAX {
            return self.receiving.insert(flow, setup::receiving(&self.network, &fabric.routes, flow, fabric.now));
        }
        let spec = &self.network.flows[flow as usize];
        let header = fabric.packets.header(at);
        if let Some((length, header)) =
            transport::reply_after_close(fabric.now, header, (spec.bytes, self.network.mss()))
        {
            let path = fabric.routes.first_hop(flow, spec.src, true);
            let at = PacketSink { packets: &mut fabric.packets, flow, path }.put(length, header);
            fabric.enqueue(fabric.routes.nic(spec.dst), at, NIL);
        }
    }

    /// All of a flow has arrived: it is finished if it has an end, and its receiving half is if it ack_pending nothing.
    fn on_complete<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        if self.network.flows[flow as usize].bytes == Bytes::MAX {
            return;
        }
        if self.received[flow as usize].finish == Time::MAX {
            self.received[flow as usize].finish = fabric.now;
            self.unfinished -= 1;
            fabric.interrupt |= self.unfinished == 0 && self.network.until_done;
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
        for &next in self.dependents.of(flow) {
            let spec = &self.network.flows[next as usize];
            if here(spec.src) {
                self.nics.timers.set(Timer { at: now + spec.start, kind: Kind::Start, flow: next });
            }
        }
    }

    #[inline]
    fn tell_sender<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32, flow: u32, flags: Flags) {
        let Some(sending) = self.sending.get_mut(flow) else {
            // What is still granted comes after its flow is done.
            self.sent[flow as usize].credits_wasted += u64::from(flags.is(PacketKind::Credit));
            return;
        };
        let Some(status) = sending.on_packet(fabric.now, at, &fabric.packets) else {
            return self.close_sender(fabric.now, flow);
        };
        let host = sending.ends.src;
        if self.nics.apply(fabric, sending, status) {
            self.transmit(fabric, host);
        }
    }

    /// A flow sends, and its host after it, where something lets it.
    fn go_on<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let Some(sending) = self.sending.get_mut(flow) else { return };
        let (host, status) = (sending.ends.src, sending.status(fabric.now));
        if self.nics.apply(fabric, sending, status) {
            self.transmit(fabric, host);
        }
    }

    /// The NIC that a host waited for is free.
    pub fn on_free_port<O: Observer>(&mut self, fabric: &mut Fabric<O>, host: u32) {
        self.nics.wake(host);
        self.transmit(fabric, host);
    }

    /// Lets the flows of a host send: all they may into a FIFO, one at a time when it is idle otherwise.
    #[inline]
    pub fn transmit<O: Observer>(&mut self, fabric: &mut Fabric<O>, host: u32) {
        while let Some(flow) = self.nics.next(fabric, host) {
            if let Some(sending) = self.sending.get_mut(flow) {
                self.nics.send_in_turn(fabric, sending);
            }
        }
    }

    /// Packets that leave from now on take other ways.
    pub fn reroute(&mut self, routes: &Routes) {
        for Sending { ends, .. } in self.sending.all_mut() {
            ends.path = routes.first_hop(ends.flow, ends.dst, false);
        }
        for Receiving { ends, .. } in self.receiving.all_mut() {
            ends.path = routes.first_hop(ends.flow, ends.src, true);
        }
    }

    /// A timer of a flow has run out.
    pub fn on_timer<O: Observer>(&mut self, fabric: &mut Fabric<O>, timer: Timer) {
        fabric.observer.timer(fabric.now, timer);
        match timer.kind {
            Kind::Start => self.open(fabric, timer.flow),
            Kind::Stop => self.stop(fabric, timer.flow),
            Kind::AckTimer => self.reply_is_due(fabric, timer.flow),
            Kind::Pull => {
                let host = self.network.flows[timer.flow as usize].dst;
                self.pull_pacer.on_timer(fabric, host, &mut self.receiving, &mut self.nics.timers);
            }
            Kind::AppWrite => self.on_application(fabric, timer.flow),
            Kind::Timeout | Kind::Pace | Kind::Wake => self.wake_sender(fabric, timer),
        }
    }

    fn wake_sender<O: Observer>(&mut self, fabric: &mut Fabric<O>, timer: Timer) {
        let Some(sending) = self.sending.get_mut(timer.flow) else { return };
        match timer.kind {
            Kind::Timeout => sending.on_timer(fabric.now),
            // A later one than it still waits for.
            Kind::Pace if sending.pace_timer != fabric.now => return,
            Kind::Pace => return self.go_on_by_pace(fabric, timer.flow),
            _ if !sending.wakes_at(fabric.now) => return,
            _ => sending.on_wake(fabric.now),
        }
        self.go_on(fabric, timer.flow);
    }

    /// The pace of a flow lets it send again. Nothing else has changed: its other timers are set.
    #[inline(always)]
    fn go_on_by_pace<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let Some(sending) = self.sending.get_mut(flow) else { return };
        sending.pace_timer = Time::MAX;
        if sending.queued {
            return;
        }
        let (host, readiness) = (sending.ends.src, sending.readiness(fabric.now));
        if self.nics.resume(fabric, sending, readiness) {
            self.transmit(fabric, host);
        }
    }

    fn reply_is_due<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let Some(receiving) = self.receiving.get_mut(flow) else { return };
        let ends = receiving.ends;
        let reaction = receiving.on_timer(fabric.now, &mut fabric.packets);
        self.answer(fabric, ends, reaction);
    }

    /// A flow begins.
    fn open<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let active = &mut self.active[self.network.flows[flow as usize].src as usize];
        let sending = setup::sending(&self.network, &fabric.routes, flow, fabric.now, *active);
        *active += 1;
        self.sent[flow as usize].start = fabric.now;
        self.sending.insert(flow, sending);
        fabric.observer.began(fabric.now, flow);
        if self.network.flows[flow as usize].application.pauses() {
            self.supply(fabric.now, flow);
        }
        self.go_on(fabric, flow);
    }

    /// The application of a flow pauses, or goes on.
    fn on_application<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        self.supply(fabric.now, flow);
        self.go_on(fabric, flow);
    }

    fn supply(&mut self, now: Time, flow: u32) {
        let Some(sending) = self.sending.get_mut(flow) else { return };
        let application = &self.network.flows[flow as usize].application;
        let (supply, until) = application.supply(self.sent[flow as usize].start, now);
        sending.supply(supply);
        if until < Time::MAX {
            self.nics.timers.set(Timer { at: until, kind: Kind::AppWrite, flow });
        }
    }

    /// A flow sends nothing new from now on; it may still have to say so, or to hear that all has arrived.
    fn stop<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32) {
        let spec = &self.network.flows[flow as usize];
        self.remote_stops += u64::from(!self.ownership.owns(spec.src));
        if self.ownership.owns(spec.dst) {
            self.settle_receiver(flow);
            let received = &mut self.received[flow as usize];
            received.by_stop = received.delivered;
        }
        if let Some(sending) = self.sending.get_mut(flow) {
            sending.stop(fabric.now);
            if sending.done() {
                return self.close_sender(fabric.now, flow);
            }
            self.go_on(fabric, flow);
        }
    }

    /// The sender of a flow knows that all of it has arrived.
    fn close_sender(&mut self, now: Time, flow: u32) {
        self.settle_sender(flow);
        let Some(sending) = self.sending.remove(flow) else { return };
        self.active[sending.ends.src as usize] -= 1;
        self.nics.leave(&sending);
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
    pub fn flow_progress(&self) -> impl Iterator<Item = FlowProgress> {
        self.sending.iter().map(|(flow, sending)| FlowProgress {
            flow,
            progress: 0,
            timeouts: self.sent[flow as usize].timeouts,
            paced: sending.pace_timer < Time::MAX || sending.pauses(),
        })
    }

    /// Before this the last of these flows cannot have finished: what one of them has not sent yet has to leave its NIC.
    pub fn last_end(&self, now: Time) -> Time {
        let end = |sending: &Sending| {
            let FlowEndpoint { flow, port, .. } = sending.ends;
            let bytes = self.network.flows[flow as usize].bytes;
            if bytes == Bytes::MAX {
                return now;
            }
            let (next, _) = sending.reached();
            let left = Bytes(bytes.0.saturating_sub(self.network.mss().0 * u64::from(next)));
            let rate = self.network.ports[port as usize].rate;
            Time(now.0.saturating_add(rate.time_to_send(left).0))
        };
        self.sending.all().map(end).max().unwrap_or(now)
    }

    /// How a flow stands at its sender, while it lives.
    pub fn sender_state(&mut self, now: Time, flow: u32) -> Option<SenderState> {
        let sending = self.sending.get_mut(flow)?;
        let (next, in_flight) = sending.reached();
        let readiness = if sending.queued { Readiness::Ready } else { sending.readiness(now) };
        Some(SenderState { next, in_flight, readiness })
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
