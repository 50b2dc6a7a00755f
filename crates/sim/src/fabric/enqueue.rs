//! Ports with classes, switches with a memory, links that are paused.

use shallows_cc::port::Ecn;
use shallows_cc::units::{Bytes, MIN_FRAME};

use crate::fabric::route::ReturnHop;
use crate::fabric::shared_buffer::Verdict;
use crate::fabric::{Delivery, Fabric};
use crate::observe::{Hop, Observer};
use crate::packet::header::Header;
use crate::packet::{Flags, NIL, NO_FLOW, Packet, PacketKind};
use crate::port::admission::{DropReason, Enqueued, Outcome};
use crate::port::scheduler::{ClassOverride, Departure, Incoming};
use crate::spec::fault::Fault;

impl<O: Observer> Fabric<O> {
    /// A packet that the link `from` brought is offered to a port with classes.
    #[inline(always)]
    pub(super) fn enqueue_scheduled(&mut self, number: u32, at: u32, from: u32) {
        let class = if self.has_priority(at) { ClassOverride::Priority } else { ClassOverride::None };
        let incoming = Incoming { packet: at, from, class };
        if let Some(enqueued) = self.send_at_once(number, incoming) {
            return self.after_enqueue(number, at, enqueued);
        }
        self.enqueue_class(number, at, from, class);
        if !self.pauses_due.is_empty() {
            self.send_pauses();
        }
    }

    /// A packet of its host is offered to the pacer of a NIC.
    pub fn enqueue_paced(&mut self, number: u32, at: u32) {
        self.enqueue_quietly(number, Incoming { packet: at, from: NIL, class: ClassOverride::Paced });
    }

    /// The packet joins; pauses that are due because of it stay due.
    #[inline(never)]
    fn enqueue_quietly(&mut self, number: u32, incoming: Incoming) {
        match self.send_at_once(number, incoming) {
            Some(enqueued) => self.after_enqueue(number, incoming.packet, enqueued),
            None => self.enqueue_class(number, incoming.packet, incoming.from, incoming.class),
        }
    }

    /// The packet is sent at once, where neither its port nor its switch makes it wait: then it takes no memory either.
    #[inline(always)]
    fn send_at_once(&mut self, number: u32, incoming: Incoming) -> Option<Enqueued> {
        let Self { ports, packets, switches, now, .. } = self;
        let port = &mut ports[number as usize];
        if incoming.from != NIL
            && let Some(switches) = switches
            && !switches.admits(port.from, incoming.from, &packets[incoming.packet])
        {
            return None;
        }
        port.send_if_idle(*now, incoming, packets)
    }

    /// The packet waits in its class, or is refused.
    // Node numbers go in registers, a struct of three of them does not.
    #[inline(never)]
    fn enqueue_class(&mut self, number: u32, at: u32, from: u32, class: ClassOverride) {
        let incoming = Incoming { packet: at, from, class };
        // What departs at this picosecond has departed.
        if self.ports[number as usize].is_due(self.now) {
            self.begin(number);
        }
        let enqueued = self.wait(number, incoming);
        if O::LISTENS
            && let Some(place) = self.ports[number as usize].trimmed_now()
        {
            self.observer.trimmed(self.now, Hop::of(number, place, &self.packets));
        }
        if enqueued.outcome == Outcome::Returned {
            return self.return_to_sender(number, incoming);
        }
        self.after_enqueue(number, at, enqueued);
        if matches!(enqueued.outcome, Outcome::Dropped(_)) {
            return;
        }
        if self.ports[number as usize].is_due(self.now) {
            self.begin(number);
        } else {
            self.schedule_wake(number);
        }
    }

    /// The packet waits in its class, if the switch and the class have room for it.
    fn wait(&mut self, number: u32, incoming: Incoming) -> Enqueued {
        let at = incoming.packet;
        if self.ports[number as usize].is_down() && !self.packets[at].flags.for_neighbour() {
            self.ports[number as usize].drop_link_down();
            return Enqueued::dropped(DropReason::LinkFault);
        }
        let (length, counted) = (self.packets[at].bytes(), self.is_counted(incoming));
        if counted && !self.admit(number, incoming) {
            self.ports[number as usize].drop_unadmitted(self.now, at, &mut self.packets);
            return Enqueued::dropped(DropReason::BufferFull);
        }
        let enqueued = self.ports[number as usize].enqueue_class(self.now, incoming, &mut self.packets);
        if counted && let Outcome::Dropped(_) = enqueued.outcome {
            self.release(number, incoming.from, length);
        }
        enqueued
    }

    /// A header that found no room in the port of `number` goes back to its sender, where its switch lies on the way back.
    #[cold]
    fn return_to_sender(&mut self, number: u32, incoming: Incoming) {
        let (at, switch) = (incoming.packet, self.ports[number as usize].from);
        let back = match self.routes.back(&self.network, &self.packets[at], switch) {
            None => None,
            Some(ReturnHop { path, port }) => {
                self.packets[at].path = path;
                port.or_else(|| self.choose(switch, at))
            }
        };
        let Some(back) = back else {
            self.ports[number as usize].drop_header();
            return self.after_enqueue(number, at, Enqueued::dropped(DropReason::QueueFull));
        };
        self.after_enqueue(number, at, Enqueued::returned());
        self.packets[at].trim(PacketKind::Returned);
        self.enqueue(back, at, incoming.from);
    }

    /// Whether the packet is one of a flow with a priority.
    fn has_priority(&self, at: u32) -> bool {
        self.priorities && self.network.flows.get(self.packets[at].flow as usize).is_some_and(|flow| flow.priority)
    }

    /// Whether a switch counts this packet against its memory.
    fn is_counted(&self, incoming: Incoming) -> bool {
        incoming.from != NIL && self.counts(self.packets[incoming.packet].flags)
    }

    fn counts(&self, flags: Flags) -> bool {
        self.switches.as_ref().is_some_and(|switches| switches.counts(flags))
    }

    /// Whether the memory of its switch has room for a packet that it counts.
    fn admit(&mut self, number: u32, incoming: Incoming) -> bool {
        let (packet, port) = (&self.packets[incoming.packet], &self.ports[number as usize]);
        let (node, length) = (self.ports[number as usize].from, packet.bytes());
        let Some(switches) = &mut self.switches else { return true };
        let held = || port.held(self.now, packet.flags, incoming.class);
        let verdict = switches.admit(node, incoming.from, length, held);
        if verdict == Verdict::AdmitAndPause {
            self.pauses_due.push_back((incoming.from, PacketKind::Pause));
            if O::LISTENS {
                let through = self.largest_queue(number, incoming.from, length);
                self.observer.pause_requested(self.now, incoming.from, through, true);
            }
        }
        verdict != Verdict::Drop
    }

    /// The port of a switch in which most of what a link brought waits, where `length` more is about to join that of `number`.
    fn largest_queue(&self, number: u32, from: u32, length: Bytes) -> u32 {
        let node = self.ports[number as usize].from;
        let ports = (0..).zip(&self.ports).filter(|(_, port)| port.from == node).map(|(number, _)| number);
        let held = |port: u32| {
            let waiting = self.ports[port as usize].waiting(&self.packets).filter(|waiting| waiting.from == from);
            waiting.map(|waiting| waiting.length).sum::<Bytes>() + if port == number { length } else { Bytes::ZERO }
        };
        ports.max_by_key(|&port| (held(port), std::cmp::Reverse(port))).unwrap_or(number)
    }

    /// Sends the pauses and resumes that are due, in the order in which they were decided: what one of them makes
    /// depart may decide the next, which must not overtake it.
    #[inline(never)]
    fn send_pauses(&mut self) {
        while let Some((from, kind)) = self.pauses_due.pop_front() {
            self.send_pause_frame(from, kind);
        }
    }

    /// Asks the other end of the link `from` to stop, or to go on.
    fn send_pause_frame(&mut self, from: u32, kind: PacketKind) {
        let Some(switches) = &self.switches else { return };
        let back = switches.reverse(from);
        let header = if kind == PacketKind::Pause { Header::Pause } else { Header::Resume };
        let at = self.packets.insert(Packet::new(NO_FLOW, MIN_FRAME, Ecn::NotEct, &header), header);
        self.enqueue_quietly(back, Incoming { packet: at, from: NIL, class: ClassOverride::None });
    }

    /// A fault changes a wire: its downstream end is here.
    pub fn change_wire(&mut self, fault: Fault) {
        if let Some(loss_model) = self.ports[fault.link as usize].loss_model() {
            loss_model.change(self.now, fault.change);
        }
    }

    /// Something happens to a link: its port is here.
    pub fn change(&mut self, fault: Fault) {
        let number = fault.link;
        let port = &self.ports[number as usize];
        let sent_by = port.idle_until(self.now).unwrap_or(port.busy_until());
        self.observer.link_changed(self.now, number, fault.change, sent_by);
        if !self.ports[number as usize].is_scheduled() {
            return;
        }
        self.ports[number as usize].change(self.now, fault.change);
        while self.ports[number as usize].is_down()
            && let Some((at, lost)) = self.ports[number as usize].lose_one(self.now, &mut self.packets)
        {
            self.drop_on_wire(number, at);
            self.no_longer_waits(number, lost);
        }
        self.dispatch(number);
    }

    /// Begins to send what may be sent, and lets the switch, the event queue and the neighbours know.
    pub fn dispatch(&mut self, number: u32) {
        self.begin(number);
        if !self.pauses_due.is_empty() {
            self.send_pauses();
        }
    }

    /// The same without the neighbours: what is due to them stays due.
    fn begin(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        let sent = port.dispatch(self.now, &mut self.packets);
        self.schedule_wake(number);
        let Some(sent) = sent else { return };
        if let Some(arrives) = sent.arrives {
            self.schedule_arrival(arrives, number);
        }
        self.no_longer_waits(number, sent);
    }

    /// The event queue tells when a port may send again.
    #[inline]
    fn schedule_wake(&mut self, number: u32) {
        if let Some(at) = self.ports[number as usize].next_wake() {
            let entity = self.port_entity(number);
            self.events.push(at, entity);
        }
    }

    /// A packet has left the queue of a port: the memory of its switch no longer holds it.
    fn no_longer_waits(&mut self, number: u32, sent: Departure) {
        if sent.from != NIL && self.counts(Flags::of(sent.kind)) {
            self.release(number, sent.from, sent.length);
        }
    }

    fn release(&mut self, number: u32, from: u32, length: Bytes) {
        let node = self.ports[number as usize].from;
        let Some(switches) = &mut self.switches else { return };
        switches.release(node, from, length);
        if switches.resumes(node, from) {
            self.pauses_due.push_back((from, PacketKind::Resume));
            self.observer.pause_requested(self.now, from, number, false);
        }
    }

    /// The link of a port with classes is free, or its tokens have come; false if it has been told before.
    pub fn wake_port(&mut self, number: u32) -> bool {
        let due = self.ports[number as usize].on_wake(self.now);
        if due {
            self.dispatch(number);
        }
        due
    }

    /// A pause, or its end, has come over the link: it is for the port that sends the other way.
    #[cold]
    pub(super) fn on_pause_frame(&mut self, number: u32, at: u32) -> Delivery {
        let pause = self.packets[at].flags.is(PacketKind::Pause);
        self.packets.remove(at);
        self.consumed += 1;
        let Some(switches) = &self.switches else { return Delivery::Forwarded };
        let port = switches.reverse(number);
        // What departs at this picosecond has departed.
        self.dispatch(port);
        self.ports[port as usize].pause(self.now, pause);
        self.observer.paused(self.now, port, pause);
        if pause {
            self.interrupt = true;
            self.first_pause = self.first_pause.min(self.now);
            return Delivery::Forwarded;
        }
        self.dispatch(port);
        Delivery::Resumed(port)
    }
}
