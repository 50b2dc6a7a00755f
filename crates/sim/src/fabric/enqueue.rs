//! The entry into ports, and the dispatch of ports with classes.

use shallows_cc::units::Bytes;

use crate::fabric::Fabric;
use crate::fabric::route::ReturnHop;
use crate::fabric::shared_buffer::Verdict;
use crate::observe::{Hop, Observer};
use crate::packet::{Flags, NIL, PacketKind};
use crate::port::admission::{ClassOverride, Departure, DropReason, Enqueued, Incoming, Outcome, Removed};
use crate::port::link::LinkTarget;

impl<O: Observer> Fabric<O> {
    /// Puts a packet into a port. This is the only way into one.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, number: u32, incoming: Incoming) -> Outcome {
        let Self { ports, packets, now, .. } = self;
        let port = &mut ports[number as usize];
        if !port.is_plain() {
            return self.enqueue_checked(number, incoming.packet, incoming.from, incoming.class);
        }
        let enqueued = port.enqueue(*now, incoming, packets);
        self.finish(number, incoming.packet, enqueued)
    }

    /// Puts a packet into a port that may be down, share memory, have classes or a marker.
    // Four numbers are passed in registers, a struct of three of them is not.
    #[inline(never)]
    pub(super) fn enqueue_checked(&mut self, number: u32, packet: u32, from: u32, class: ClassOverride) -> Outcome {
        let incoming = Incoming { packet, from, class };
        if !self.ports[number as usize].is_scheduled() {
            // A port without classes is never down and shares no memory.
            let enqueued = self.ports[number as usize].enqueue(self.now, incoming, &mut self.packets);
            return self.finish(number, packet, enqueued);
        }
        let outcome = match self.send_if_idle(number, incoming) {
            Some(enqueued) => self.finish(number, packet, enqueued),
            None => self.enqueue_scheduled(number, packet, from, class),
        };
        if !self.pauses_due.is_empty() {
            self.send_pauses();
        }
        outcome
    }

    /// Sends the packet at once if neither its port nor the memory of its switch makes it wait: then it takes no memory either.
    #[inline(always)]
    fn send_if_idle(&mut self, number: u32, incoming: Incoming) -> Option<Enqueued> {
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

    /// Puts a packet into a port with classes, and begins to send if the link is free.
    #[inline(never)]
    fn enqueue_scheduled(&mut self, number: u32, packet: u32, from: u32, class: ClassOverride) -> Outcome {
        let incoming = Incoming { packet, from, class };
        // A packet that departs at this picosecond departs first.
        if self.ports[number as usize].is_due(self.now) {
            self.begin(number);
        }
        let enqueued = self.admit(number, incoming);
        if O::LISTENS {
            for trimmed in self.ports[number as usize].trimmed_now() {
                self.observer.trimmed(self.now, Hop::of(number, trimmed, &self.packets));
            }
        }
        if enqueued.outcome == Outcome::Returned {
            return self.return_to_sender(number, incoming);
        }
        let outcome = self.finish(number, packet, enqueued);
        if matches!(outcome, Outcome::Dropped(_)) {
            return outcome;
        }
        if self.ports[number as usize].is_due(self.now) {
            self.begin(number);
        } else {
            self.schedule_wake(number);
        }
        outcome
    }

    /// Checks in this order: the state of the link, the shared memory, and in the port the class, its limit (a packet is trimmed or
    /// dropped), the queue and marking.
    fn admit(&mut self, number: u32, incoming: Incoming) -> Enqueued {
        if self.is_link_down(number, incoming) {
            return self.drop_unadmitted(number, incoming, DropReason::LinkFault);
        }
        let (length, flags) = (self.packets[incoming.packet].bytes(), self.packets[incoming.packet].flags);
        if self.has_watchdogs && flags.is(PacketKind::Data) && self.ports[number as usize].is_storm(flags.class()) {
            return self.drop_unadmitted(number, incoming, DropReason::PauseStorm);
        }
        let counts = incoming.from != NIL && self.counts(flags);
        if counts && !self.reserve_memory(number, incoming) {
            return self.drop_unadmitted(number, incoming, DropReason::BufferFull);
        }
        let enqueued = self.ports[number as usize].enqueue(self.now, incoming, &mut self.packets);
        if counts && let Outcome::Dropped(_) = enqueued.outcome {
            self.release_memory(number, incoming.from, flags.class(), length);
        }
        enqueued
    }

    fn drop_unadmitted(&mut self, number: u32, incoming: Incoming, reason: DropReason) -> Enqueued {
        self.ports[number as usize].drop_unadmitted(self.now, incoming, reason, &mut self.packets)
    }

    /// Whether the link is down for a packet. Pause frames are never lost.
    fn is_link_down(&self, number: u32, incoming: Incoming) -> bool {
        self.ports[number as usize].is_down() && !self.packets[incoming.packet].flags.for_neighbour()
    }

    /// Lets the observer and the event queue know what became of a packet, and frees a dropped one.
    #[inline(always)]
    fn finish(&mut self, number: u32, packet: u32, enqueued: Enqueued) -> Outcome {
        if O::LISTENS {
            self.observer.offered(self.now, Hop::of(number, packet, &self.packets), enqueued.outcome);
            self.report_departure(number);
        }
        if let Some(arrives) = enqueued.arrives {
            match self.ports[number as usize].link.target {
                LinkTarget::PerPacket => self.go_to_port(number, packet),
                _ => self.schedule_arrival(arrives, number),
            }
        } else if let Outcome::Dropped(_) = enqueued.outcome {
            self.packets.remove(packet);
        }
        enqueued.outcome
    }

    /// Sends a header that found no room back to its sender, if the switch lies on the path back. Otherwise drops it.
    #[cold]
    fn return_to_sender(&mut self, number: u32, incoming: Incoming) -> Outcome {
        let (at, switch) = (incoming.packet, self.ports[number as usize].from);
        let back = match self.routes.back(&self.network, &self.packets[at], switch) {
            None => None,
            Some(ReturnHop { path, port }) => {
                self.packets[at].path = path;
                port.or_else(|| self.choose(switch, at))
            }
        };
        let Some(back) = back else {
            let dropped = self.drop_unadmitted(number, incoming, DropReason::QueueFull);
            return self.finish(number, at, dropped);
        };
        self.ports[number as usize].record_returned(&self.packets[at]);
        self.finish(number, at, Enqueued::returned());
        self.packets[at].trim(PacketKind::Returned);
        self.enqueue(back, Incoming { class: ClassOverride::None, ..incoming });
        Outcome::Returned
    }

    /// Puts a packet that a host creates into one of its ports, after it has set the traffic class of the flow.
    #[inline(always)]
    pub fn enqueue_own(&mut self, number: u32, incoming: Incoming) {
        if self.has_classes {
            self.set_class(incoming.packet);
        }
        self.enqueue(number, incoming);
    }

    #[cold]
    #[inline(never)]
    fn set_class(&mut self, at: u32) {
        let packet = &mut self.packets[at];
        packet.flags = packet.flags.with_class(self.network.flow(packet.flow).class as u8);
    }

    /// Whether the memory of a switch counts packets with these flags.
    fn counts(&self, flags: Flags) -> bool {
        self.switches.as_ref().is_some_and(|switches| switches.counts(flags))
    }

    /// Reserves memory of the switch for a packet, and requests a pause if its link has to be paused. Returns whether there is room.
    fn reserve_memory(&mut self, number: u32, incoming: Incoming) -> bool {
        let (packet, port) = (&self.packets[incoming.packet], &self.ports[number as usize]);
        let (node, length) = (port.from, packet.bytes());
        let Some(switches) = &mut self.switches else { return true };
        let held = || port.held(self.now, packet.flags, incoming.class);
        let class = packet.flags.class();
        let verdict = switches.admit(node, incoming.from, (class, length), held);
        if verdict == Verdict::AdmitAndPause {
            self.request_pause(number, (incoming.from, class), length);
        }
        verdict != Verdict::Drop
    }

    /// Releases the memory of a packet that `from` brought, and requests the end of a pause if its link may resume.
    fn release_memory(&mut self, number: u32, from: u32, class: u8, length: Bytes) {
        let node = self.ports[number as usize].from;
        let Some(switches) = &mut self.switches else { return };
        if switches.release(node, from, class, length) {
            self.request_resume(number, (from, class));
        }
    }

    /// Releases the memory of a packet that has left the queue of a port.
    #[inline(always)]
    pub(super) fn release_departed(&mut self, number: u32, departed: Departure) {
        let Departure { from, length, kind, class, .. } = departed;
        if from != NIL && self.counts(Flags::of(kind).with_class(class)) {
            self.release_memory(number, from, class, length);
        }
    }

    /// Begins to send what a port may send, and sends the pauses that are due because of it.
    pub(crate) fn dispatch(&mut self, number: u32) {
        self.begin(number);
        if !self.pauses_due.is_empty() {
            self.send_pauses();
        }
    }

    /// Begins to send what a port may send; pauses stay due.
    #[inline(never)]
    fn begin(&mut self, number: u32) {
        while let Some((at, removed)) = self.ports[number as usize].remove_head(self.now, &mut self.packets) {
            match removed {
                Removed::Dropped(departure) => {
                    self.drop_accepted(number, at, DropReason::StandingQueue);
                    self.release_departed(number, departure);
                }
                Removed::Trimmed => {
                    if O::LISTENS {
                        self.observer.trimmed(self.now, Hop::of(number, at, &self.packets));
                    }
                }
            }
        }
        let departed = self.ports[number as usize].dispatch(self.now, &mut self.packets);
        self.schedule_wake(number);
        let Some(departed) = departed else { return };
        if O::LISTENS {
            self.report_departure(number);
        }
        if let Some(arrives) = departed.arrives {
            self.schedule_arrival(arrives, number);
        }
        self.release_departed(number, departed);
    }

    /// Tells the observer when the frame leaves that a port has just begun to send, if that does not follow from its arrival.
    fn report_departure(&mut self, number: u32) {
        if let Some((place, ended)) = self.ports[number as usize].take_departure() {
            self.observer.departs(Hop::of(number, place, &self.packets), ended);
        }
    }

    /// Puts the next wake of a port onto the event queue.
    #[inline]
    fn schedule_wake(&mut self, number: u32) {
        if let Some(at) = self.ports[number as usize].next_wake() {
            let entity = self.port_entity(number);
            self.events.push(at, entity);
        }
    }

    /// Wakes a port with classes. Returns false for a stale wake.
    pub fn wake_port(&mut self, number: u32) -> bool {
        let changed = self.watch_pauses(number);
        let due = self.ports[number as usize].on_wake(self.now);
        if due {
            self.dispatch(number);
        }
        due || changed
    }
}
