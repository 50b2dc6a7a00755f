//! Pause frames and faults of links.

use shallows_cc::port::Ecn;
use shallows_cc::units::{Bytes, MIN_FRAME, Time};

use crate::fabric::{Delivery, Fabric};
use crate::observe::Observer;
use crate::packet::header::Header;
use crate::packet::{NO_FLOW, Packet, PacketKind};
use crate::port::admission::{DropReason, Incoming};
use crate::spec::fault::{Change, Fault};

impl<O: Observer> Fabric<O> {
    /// Requests a pause of a class of the link `from`, because of a packet of this length that joins the port of `number`.
    pub(super) fn request_pause(&mut self, number: u32, (from, class): (u32, u8), length: Bytes) {
        self.pauses_due.push_back((from, PacketKind::Pause, class));
        if O::LISTENS {
            let through = self.largest_queue(number, (from, class), length);
            self.observer.pause_requested(self.now, (from, class), through, true);
        }
    }

    /// Requests the end of a pause of a class of the link `from`, because of a packet that leaves the port of `number`.
    pub(super) fn request_resume(&mut self, number: u32, (from, class): (u32, u8)) {
        self.pauses_due.push_back((from, PacketKind::Resume, class));
        self.observer.pause_requested(self.now, (from, class), number, false);
    }

    /// The port of a switch that holds most of what a link brought of a class, where `length` more is about to join that of `number`.
    fn largest_queue(&self, number: u32, (from, class): (u32, u8), length: Bytes) -> u32 {
        let node = self.ports[number as usize].from;
        let ports = (0..).zip(&self.ports).filter(|(_, port)| port.from == node).map(|(number, _)| number);
        let held = |port: u32| {
            let waiting =
                self.ports[port as usize].waiting(&self.packets).filter(|w| w.from == from && w.class == class);
            waiting.map(|waiting| waiting.length).sum::<Bytes>() + if port == number { length } else { Bytes::ZERO }
        };
        ports.max_by_key(|&port| (held(port), std::cmp::Reverse(port))).unwrap_or(number)
    }

    /// Sends the pause frames that are due, in the order in which they were requested: a departure because of one of them may request
    /// the next, which must not overtake the others.
    #[inline(never)]
    pub(super) fn send_pauses(&mut self) {
        while let Some((from, kind, class)) = self.pauses_due.pop_front() {
            self.send_pause_frame(from, kind, class);
        }
    }

    /// Sends a pause frame for a class to the other end of the link `from`.
    fn send_pause_frame(&mut self, from: u32, kind: PacketKind, class: u8) {
        let Some(switches) = &self.switches else { return };
        let reverse = switches.reverse(from);
        let header = if kind == PacketKind::Pause { Header::Pause } else { Header::Resume };
        let mut packet = Packet::new(NO_FLOW, MIN_FRAME, Ecn::NotEct, &header);
        packet.flags = packet.flags.with_class(class);
        let at = self.packets.insert(packet, header);
        self.enqueue(reverse, Incoming::local(at));
    }

    /// Handles a pause frame, which is for the port that sends in the other direction.
    #[cold]
    pub(super) fn on_pause_frame(&mut self, number: u32, at: u32) -> Delivery {
        let flags = self.packets[at].flags;
        let (pause, class) = (flags.is(PacketKind::Pause), flags.class());
        self.packets.remove(at);
        self.consumed += 1;
        let Some(switches) = &self.switches else { return Delivery::Forwarded };
        let port = switches.reverse(number);
        // A packet that departs at this picosecond departs first.
        self.dispatch(port);
        self.pause_port(port, class, pause);
        if pause {
            return Delivery::Forwarded;
        }
        self.dispatch(port);
        Delivery::Resumed(port)
    }

    /// Pauses a class of a port, or resumes it, as the other end of its link has asked.
    fn pause_port(&mut self, port: u32, class: u8, pause: bool) {
        self.ports[port as usize].pause(self.now, class, pause);
        self.observer.paused(self.now, (port, class), pause);
        if let Some((detection, restoration)) = self.watchdog(port, class) {
            let entity = self.port_entity(port);
            self.events.push(self.now + if pause { detection } else { restoration }, entity);
        }
        if pause {
            self.interrupt = true;
            self.first_pause = self.first_pause.min(self.now);
        }
    }

    /// The times of the watchdog of a class at a port of a switch: until it drops what is paused, and until it ends after the pause.
    fn watchdog(&self, number: u32, class: u8) -> Option<(Time, Time)> {
        let pause = self.network.classes[usize::from(class)].pause?;
        let detection = pause.watchdog.filter(|_| self.ports[number as usize].from >= self.network.hosts)?;
        Some((detection, pause.restoration.unwrap_or(detection)))
    }

    /// Lets the watchdogs of a port look at its pauses. Drops what waits where one has lasted for too long. Returns whether a watchdog
    /// has begun or ended to drop.
    #[inline]
    pub(super) fn watch_pauses(&mut self, number: u32) -> bool {
        self.has_watchdogs && self.watch_classes(number)
    }

    #[cold]
    #[inline(never)]
    fn watch_classes(&mut self, number: u32) -> bool {
        let mut changed = false;
        for class in 0..self.network.classes.len() as u8 {
            let Some((detection, restoration)) = self.watchdog(number, class) else { continue };
            changed |= self.ports[number as usize].watch(self.now, class, detection, restoration);
            while self.ports[number as usize].is_storm(class)
                && let Some((at, dropped)) = self.ports[number as usize].drop_storm(self.now, class, &mut self.packets)
            {
                self.drop_accepted(number, at, DropReason::PauseStorm);
                self.release_departed(number, dropped);
            }
        }
        if !self.pauses_due.is_empty() {
            self.send_pauses();
        }
        changed
    }

    /// Applies fault `number` to a wire whose downstream end is here.
    pub(crate) fn change_wire(&mut self, number: u32, fault: Fault) {
        if let Some(loss_model) = self.ports[fault.link as usize].loss_model() {
            loss_model.change(self.now, number, fault.change);
        }
        if let (Change::Pause | Change::Resume, Some(switches)) = (fault.change, &mut self.switches) {
            switches.storm(fault.link, fault.change == Change::Pause);
        }
    }

    /// Applies a fault to a link whose port is here.
    pub fn change(&mut self, fault: Fault) {
        let number = fault.link;
        let port = &self.ports[number as usize];
        let sent_by = port.idle_until(self.now).unwrap_or(port.busy_until());
        self.observer.link_changed(self.now, number, fault.change, sent_by);
        if let Change::Marking(marking) = fault.change {
            let (marking, mtu) = (&self.network.markings[marking as usize], self.network.mtu);
            let rate = self.network.ports[number as usize].rate;
            self.ports[number as usize].remark((self.now, mtu), rate, marking, &mut self.packets);
            return;
        }
        if !self.ports[number as usize].is_scheduled() {
            return;
        }
        if let Change::Pause | Change::Resume = fault.change {
            self.dispatch(number);
            for class in 0..self.network.classes.len() as u8 {
                if self.network.classes[usize::from(class)].pause.is_some() {
                    self.pause_port(number, class, fault.change == Change::Pause);
                }
            }
            self.dispatch(number);
            return;
        }
        self.ports[number as usize].change(self.now, fault.change);
        while self.ports[number as usize].is_down()
            && let Some((at, lost)) = self.ports[number as usize].lose_queued(self.now, &mut self.packets)
        {
            self.drop_accepted(number, at, DropReason::LinkFault);
            self.release_departed(number, lost);
        }
        self.dispatch(number);
    }
}
