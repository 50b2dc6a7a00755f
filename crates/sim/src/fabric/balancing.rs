//! Choice of a port by a switch for a packet without a fixed path.

use crate::fabric::Fabric;
use crate::fabric::ecmp::{entropy, entropy_of_host, pick};
use crate::observe::Observer;
use crate::packet::{NIL, Packet};
use crate::spec::network::Balancing;

/// Full frames in a step of the depth by which switches compare queues.
const QUEUE_STEP: u64 = 4;

impl<O> Fabric<O> {
    /// The port through which `switch` will forward a packet that arrives soon, if that depends on the packet alone.
    #[inline]
    pub fn foresee(&self, switch: u32, at: u32) -> Option<u32> {
        let fixed = self.routes.peek(&self.packets[at]);
        fixed.or_else(|| self.network.chooses_by_packet().then(|| self.choose_by_packet(switch, at)).flatten())
    }

    fn choose_by_packet(&self, switch: u32, at: u32) -> Option<u32> {
        let packet = &self.packets[at];
        let ports = self.routes.choices(switch, packet);
        let number = self.balanced.hash(switch, entropy(packet.flow, self.packets.header(at)));
        ports.get(self.balanced.draw(ports.len(), number)).copied()
    }
}

impl<O: Observer> Fabric<O> {
    /// Chooses a port for a packet without a fixed path, among those whose link works if there are any.
    ///
    /// Switches compare quantised depths of queues, and so does this: exact bytes would send all packets of a flow at line rate
    /// through the port that its previous packet has just left.
    #[inline(never)]
    pub(super) fn choose(&mut self, switch: u32, at: u32) -> Option<u32> {
        let balancing = self.network.balancing;
        if self.network.chooses_by_packet() {
            // A header that returns to its sender from here needs another port.
            let (packet, port) = std::mem::replace(&mut self.foreseen, (NIL, NIL));
            if packet != at {
                return self.choose_by_packet(switch, at);
            }
            debug_assert_eq!(self.choose_by_packet(switch, at), Some(port), "foreseen for another switch");
            return Some(port);
        }
        let packet = self.packets[at];
        let ports = self.routes.choices(switch, &packet);
        let number = match balancing {
            Balancing::RoundRobin => self.balanced.turn(ports)?,
            _ if balancing.is_by_host() => self.balanced.hash(switch, entropy_of_host(&packet)),
            _ => self.balanced.hash(switch, entropy(packet.flow, self.packets.header(at))),
        };
        let in_turn = balancing == Balancing::RoundRobin;
        let nth = |count| if in_turn { number as usize % count } else { self.balanced.draw(count, number) };
        if balancing.has_flowlets() {
            return self.flowlet(switch, &packet, number);
        }
        if balancing != Balancing::Queue && !self.network.links_change() {
            return (!ports.is_empty()).then(|| ports[nth(ports.len())]);
        }
        let step = QUEUE_STEP * self.network.mtu.0;
        let length = |port: u32| {
            let port = &self.ports[port as usize];
            let queue = if balancing == Balancing::Queue { port.queue(self.now).0 / step } else { 0 };
            (port.is_down(), queue)
        };
        pick(ports, length, nth)
    }

    /// Chooses the port of a flowlet, by a random number if the packet begins one, or if the port is down or routes now avoid it.
    fn flowlet(&mut self, switch: u32, packet: &Packet, number: u32) -> Option<u32> {
        let (now, gap) = (self.now, self.network.flowlet_gap);
        let key = (switch, packet.flow, packet.path);
        let (ports, faults) = (self.routes.choices(switch, packet), self.network.links_change());
        let down = |port: u32| self.ports[port as usize].is_down();
        let usable = |&port: &u32| !faults || (!down(port) && ports.contains(&port));
        let port = match self.balanced.flowlet(key, now, gap).filter(usable) {
            Some(port) => port,
            None => pick(ports, down, |count| self.balanced.draw(count, number))?,
        };
        self.balanced.remember(key, now, port);
        Some(port)
    }
}
