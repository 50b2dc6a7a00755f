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

/// Returns for each peer of a host that wants reports the first flow between them, and whether the host is its receiver.
fn peers(network: &Network, host: u32) -> BTreeMap<u32, (u32, bool)> {
    let mut peers = BTreeMap::new();
    for (flow, number) in network.flows.iter().zip(0..) {
        let rules = network.controls[flow.control as usize].multipath(Time::ZERO);
        if rules.is_none_or(|rules| !rules.port_status) {
            continue;
        }
        for (one, other, back) in [(flow.src, flow.dst, false), (flow.dst, flow.src, true)] {
            if one == host {
                peers.entry(other).or_insert((number, back));
            }
        }
    }
    peers
}

impl Hosts {
    /// Tells the peers of a host which of its ports are down, through each of the others.
    pub(crate) fn report_ports<O: Observer>(&mut self, fabric: &mut Fabric<O>, host: u32) {
        if self.network.balancing != Balancing::Mrc {
            return;
        }
        let ports: Vec<_> = self.nics.ports_of(host).collect();
        let is_down = |port: u32| fabric.ports[port as usize].is_down();
        let down = ports.iter().zip(0..64).fold(0, |down, (&port, number)| down | u64::from(is_down(port)) << number);
        for (flow, back) in peers(&self.network, host).into_values() {
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
    }

    /// Handles the report of a peer.
    #[cold]
    pub(super) fn on_port_status(&mut self, flow: u32, header: Header) {
        let Header::PortStatus { sent, down, back } = header else { return };
        let spec = &self.network.flows[flow as usize];
        let (host, peer) = if back { (spec.src, spec.dst) } else { (spec.dst, spec.src) };
        if self.nics.ports_of(host).count() == self.nics.ports_of(peer).count() {
            self.nics.peer_ports.on_report(host, peer, (sent, down));
        }
    }
}
