//! Ports with classes, switches with a memory, links that are paused.

use shallows_cc::units::Time;

use super::Simulation;
use crate::network::{MIN_FRAME, Nic};
use crate::packet::{Flags, NIL, Packet, PacketKind};
use crate::port::classes::Joining;
use crate::switch::{Deadlock, Verdict};
use crate::timers::{Kind, Timer};

/// How often a network with paused links is searched for a deadlock, which is for ever.
const DEADLOCK_INTERVAL: Time = Time::from_millis(1);

impl Simulation {
    /// A packet that `from` brought joins a port with classes.
    #[inline(never)]
    pub(super) fn enqueue_scheduled(&mut self, link: u32, at: u32, from: u32) {
        // What departs at this picosecond has departed.
        if self.ports[link as usize].is_due(self.now) {
            self.dispatch(link);
        }
        if !self.admit(link, at, from) {
            self.ports[link as usize].refuse(self.now, at, &mut self.packets);
            self.packets.remove(at);
            return;
        }
        let length = self.packets[at].bytes();
        let joining = Joining { packet: at, from, urgent: self.is_urgent(at) };
        let counted = self.is_counted(at, from);
        if self.ports[link as usize].enter(self.now, joining, &mut self.packets).is_err() {
            self.packets.remove(at);
            if counted {
                self.release(link, from, length);
            }
            return;
        }
        if !self.ports[link as usize].will_wake(self.now) {
            self.dispatch(link);
        }
    }

    /// Whether the packet is one of an urgent flow.
    fn is_urgent(&self, at: u32) -> bool {
        self.network.flows.get(self.packets[at].flow as usize).is_some_and(|flow| flow.urgent)
    }

    /// Whether a switch counts this packet against its memory.
    fn is_counted(&self, at: u32, from: u32) -> bool {
        let data = self.packets[at].flags.is(PacketKind::Data);
        from != NIL && self.switches.is_some() && (data || self.network.pause.is_none())
    }

    fn admit(&mut self, link: u32, at: u32, from: u32) -> bool {
        if !self.is_counted(at, from) {
            return true;
        }
        let (length, kind) = (self.packets[at].bytes(), self.packets[at].flags.kind());
        let held = self.ports[link as usize].held(self.now, kind, self.is_urgent(at));
        let node = self.network.ports[link as usize].from;
        let Some(switches) = &mut self.switches else { return true };
        match switches.admit(node, from, length, held) {
            Verdict::Admit => true,
            Verdict::AdmitAndPause => {
                self.tell_neighbour(from, PacketKind::Pause);
                true
            }
            Verdict::Drop => false,
        }
    }

    /// Asks the other end of the link `from` to stop, or to go on.
    fn tell_neighbour(&mut self, from: u32, kind: PacketKind) {
        let Some(switches) = &self.switches else { return };
        let back = switches.reverse(from);
        let to = self.network.ports[from as usize].from;
        let frame = Packet {
            sent: self.now,
            flow: NIL,
            slot: NIL,
            to,
            length: MIN_FRAME.0 as u16,
            flags: Flags::of(kind),
            ..Packet::default()
        };
        let at = self.packets.insert(frame);
        self.enqueue_scheduled(back, at, NIL);
    }

    /// Begins to send what may be sent, and lets the switch and the agenda know.
    #[inline(never)]
    pub(super) fn dispatch(&mut self, link: u32) {
        let port = &mut self.ports[link as usize];
        let sent = port.dispatch(self.now, &mut self.packets);
        if let Some(at) = port.next_wake(self.now, &self.packets) {
            self.agenda.push(at, (self.ports.len() + self.hosts.len()) as u32 + link);
        }
        let Some(sent) = sent else { return };
        if let Some(arrives) = sent.arrives {
            self.agenda.push(arrives, link);
        }
        let data = sent.kind == PacketKind::Data || self.network.pause.is_none();
        if sent.from != NIL && self.switches.is_some() && data {
            self.release(link, sent.from, sent.length);
        }
    }

    fn release(&mut self, link: u32, from: u32, length: shallows_cc::units::Bytes) {
        let node = self.network.ports[link as usize].from;
        let Some(switches) = &mut self.switches else { return };
        switches.release(node, from, length);
        if switches.resumes(node, from) {
            self.tell_neighbour(from, PacketKind::Resume);
        }
    }

    /// The link of a port with classes is free, or its tokens have come.
    pub(super) fn wake_port(&mut self, link: u32) {
        if self.ports[link as usize].on_wake(self.now) {
            self.dispatch(link);
            self.serve_behind(link);
        }
    }

    /// The flows of the host behind a port, if it is one's NIC.
    fn serve_behind(&mut self, link: u32) {
        let node = self.network.ports[link as usize].from;
        if node < self.network.hosts {
            self.serve(node);
        }
    }

    /// A pause, or its end, has come over `link`: it is for the port that sends the other way.
    #[cold]
    pub(super) fn heed(&mut self, link: u32, at: u32) {
        let pause = self.packets[at].flags.is(PacketKind::Pause);
        self.packets.remove(at);
        self.consumed += 1;
        let Some(switches) = &self.switches else { return };
        let port = switches.reverse(link);
        // What departs at this picosecond has departed.
        self.dispatch(port);
        self.ports[port as usize].pause(self.now, pause);
        if pause {
            self.watch_for_deadlock();
        } else {
            self.dispatch(port);
            self.serve_behind(port);
        }
    }

    fn watch_for_deadlock(&mut self) {
        if !self.watching && self.deadlock.is_none() {
            self.watching = true;
            let at = self.now + DEADLOCK_INTERVAL;
            self.timers.set(Timer { at, kind: Kind::Deadlock, number: 0, slot: NIL });
        }
    }

    /// Looks for a deadlock. Flows that wait for one never end: a run until they are done is over.
    pub(super) fn search_deadlock(&mut self) {
        self.watching = false;
        let Some(switches) = &self.switches else { return };
        let ports = switches.deadlock(&self.ports, &self.network.ports, &self.packets);
        if !ports.is_empty() {
            self.deadlock = Some(Deadlock { at: self.now, ports });
            self.over |= self.network.until_done;
        } else if self.ports.iter().any(crate::port::Port::is_paused) {
            self.watch_for_deadlock();
        }
    }

    /// Whether a NIC takes a packet from its flows now; if it is only busy, it will ask again.
    #[inline]
    pub(super) fn nic_takes(&mut self, host: u32, port: u32) -> bool {
        if self.network.host.nic == Nic::Fifo {
            return true;
        }
        if self.ports[port as usize].is_scheduled() {
            self.dispatch(port);
        }
        let busy_until = self.ports[port as usize].busy_until();
        if busy_until > self.now {
            self.await_port(host, busy_until);
            return false;
        }
        self.ports[port as usize].is_open(self.now, PacketKind::Data)
    }
}
