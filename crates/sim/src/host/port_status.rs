//! Hosts that tell their peers which of their ports are down (port status update of MRC). A peer sends nothing through its own port of the
//! same number, which belongs to the same plane, while both have equally many ports.

use std::collections::BTreeMap;

use shallows_cc::units::Time;

use crate::fabric::Fabric;
use crate::host::hosts::Hosts;
use crate::host::setup::Setup;
use crate::host::transport::PacketSink;
use crate::observe::Observer;
use crate::packet::header::Header;
use crate::port::admission::Incoming;
use crate::spec::network::{Balancing, MIN_FRAME, Network};

/// Returns whether the peers of a flow want reports.
fn wants_reports(network: &Network, flow: u32) -> bool {
    let control = network.flow(flow).control;
    network.controls[control as usize].multipath(Time::ZERO).is_some_and(|rules| rules.port_status)
}

impl Hosts {
    /// Tells the peers with which a host has exchanged packets which of its ports are down.
    pub(crate) fn report_ports<O: Observer>(&mut self, fabric: &mut Fabric<O>, host: u32) {
        if self.network.balancing == Balancing::Mrc {
            let down = self.ports_down(fabric, host);
            for (flow, back) in self.peers(host).into_values() {
                self.report_to_peer(fabric, (flow, back), down);
            }
        }
    }

    /// Tells the peer of a flow that begins at this host, which is its receiver if `back`, if any port of the host is down.
    #[inline(never)]
    pub(super) fn report_to_new_peer<O: Observer>(&mut self, fabric: &mut Fabric<O>, flow: u32, back: bool) {
        if self.network.balancing != Balancing::Mrc {
            return;
        }
        let spec = self.network.flow(flow);
        let down = self.ports_down(fabric, if back { spec.dst } else { spec.src });
        if down > 0 && wants_reports(&self.network, flow) {
            self.report_to_peer(fabric, (flow, back), down);
        }
    }

    /// Returns for each peer of a host that wants reports the first flow between them that has begun at the host, and whether the host is
    /// its receiver.
    fn peers(&self, host: u32) -> BTreeMap<u32, (u32, bool)> {
        let mut peers = BTreeMap::new();
        for (flow, number) in self.network.flows.iter().zip(0..) {
            for (one, other, back) in [(flow.src, flow.dst, false), (flow.dst, flow.src, true)] {
                if one == host && self.has_begun(number, back) && wants_reports(&self.network, number) {
                    peers.entry(other).or_insert((number, back));
                }
            }
        }
        peers
    }

    /// Returns whether a flow has begun at its sender, or at its receiver if `back`.
    fn has_begun(&self, flow: u32, back: bool) -> bool {
        if back {
            self.receivers.get(flow).is_some() || self.receiver_stats[flow as usize].finish < Time::MAX
        } else {
            self.sender_stats[flow as usize].start < Time::MAX
        }
    }

    /// Returns a bit for each port of a host that is down.
    fn ports_down<O: Observer>(&self, fabric: &Fabric<O>, host: u32) -> u64 {
        let is_down = |port: u32| fabric.ports[port as usize].is_down();
        self.nics.ports_of(host).zip(0..64).fold(0, |down, (port, number)| down | u64::from(is_down(port)) << number)
    }

    /// Sends a report to the peer of a flow through each port of this host that works.
    fn report_to_peer<O: Observer>(&self, fabric: &mut Fabric<O>, (flow, back): (u32, bool), down: u64) {
        let setup = Setup { network: &self.network, routes: &fabric.routes, nics: &self.nics };
        let endpoint = setup.endpoint(flow, back);
        for port in fabric.routes.first_ports(flow, back).to_vec() {
            if !fabric.ports[port as usize].is_down() {
                let header = Header::PortStatus { sent: fabric.now, down, back };
                let at = PacketSink::new(endpoint, &mut fabric.packets).put(MIN_FRAME, header);
                fabric.enqueue_own(port, Incoming::local(at));
            }
        }
    }

    /// Handles the report of a peer.
    #[cold]
    pub(super) fn on_port_status(&mut self, flow: u32, header: Header) {
        let Header::PortStatus { sent, down, back } = header else { return };
        let spec = self.network.flow(flow);
        let (host, peer) = if back { (spec.src, spec.dst) } else { (spec.dst, spec.src) };
        if self.nics.ports_of(host).count() == self.nics.ports_of(peer).count() {
            self.nics.peer_ports.on_report(host, peer, (sent, down));
        }
    }
}
