//! Choice of a port for each packet at hosts with several ports, where switches choose a path for each packet as well.

use crate::fabric::Fabric;
use crate::host::nics::Nics;
use crate::host::transport::{FlowEndpoint, FlowSender};
use crate::observe::Observer;

impl Nics {
    /// Moves a flow to another port of its host, and into its run queue if the flow waits in one.
    pub fn change_port<O: Observer>(&mut self, fabric: &Fabric<O>, sender: &mut FlowSender, port: u32) {
        self.remove(sender);
        sender.endpoint.nic = self.index(fabric.ports[port as usize].from, port);
        sender.endpoint.port = port;
        if sender.queued {
            self.enqueue(sender);
        }
    }

    /// Empties the run queue of a NIC.
    pub(crate) fn take_waiting(&mut self, nic: u32) -> Vec<u32> {
        self.nics[nic as usize].ready.take()
    }

    /// Enqueues a flow at the port that is free first.
    #[inline]
    pub fn enqueue_anywhere<O: Observer>(&mut self, fabric: &Fabric<O>, sender: &mut FlowSender) {
        self.choose_port(fabric, sender);
        self.enqueue(sender);
    }

    /// Chooses a port for a response of a flow's receiver, which goes straight into it.
    #[inline]
    pub(crate) fn response_port<O: Observer>(&mut self, fabric: &Fabric<O>, endpoint: FlowEndpoint) -> u32 {
        if self.chooses { self.choose(fabric, endpoint.flow, true, |_| false).1 } else { endpoint.port }
    }

    /// Chooses a port for the next packet of a flow's sender, and lets the flow wait there.
    #[inline(always)]
    pub(super) fn choose_port<O: Observer>(&mut self, fabric: &Fabric<O>, sender: &mut FlowSender) {
        if self.chooses {
            (sender.endpoint.nic, sender.endpoint.port) =
                self.choose(fabric, sender.endpoint.flow, false, |port| sender.avoids(port));
        }
    }

    /// Returns the port for a packet of a flow's sender that does not wait.
    pub fn probe_port<O: Observer>(&mut self, fabric: &Fabric<O>, sender: &FlowSender) -> u32 {
        let flow = sender.endpoint.flow;
        if self.chooses { self.choose(fabric, flow, false, |port| sender.avoids(port)).1 } else { sender.endpoint.port }
    }

    /// Chooses the port that is free first among those where shortest paths of a flow begin, and in turn among equal ones. A random
    /// choice would let a flow wait for one port while another is idle. Ports that the flow `avoids`, or of which the peer has said that
    /// its own are down, come last. Returns the NIC and its port.
    #[inline(never)]
    fn choose<O: Observer>(
        &mut self,
        fabric: &Fabric<O>,
        flow: u32,
        back: bool,
        avoids: impl Fn(u32) -> bool,
    ) -> (u32, u32) {
        let ports = fabric.routes.first_ports(flow, back);
        let host = fabric.ports[ports[0] as usize].from;
        let choices = &mut self.nics[self.first[host as usize] as usize].choices;
        *choices = choices.wrapping_add(1);
        let (before, after) = ports.split_at(*choices as usize % ports.len());
        let spec = fabric.network.flow(flow);
        let (class, peer) = (spec.class as u8, if back { spec.src } else { spec.dst });
        let first = self.first[host as usize];
        let both = after.iter().chain(before).map(|&port| (self.index(host, port), port));
        let free = |&(nic, number): &(u32, u32)| {
            let port = &fabric.ports[number as usize];
            // Responses do not wait in run queues.
            let waiting = if back { 0 } else { self.nics[nic as usize].ready.len() };
            let avoided = avoids(number) || self.peer_ports.is_down(host, peer, nic - first);
            (port.is_down() || port.is_paused(class), avoided, waiting, port.backlog(fabric.now))
        };
        both.min_by_key(free).expect("a host has a port")
    }
}
