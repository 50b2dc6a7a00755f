//! Stops a run that exceeds the packet limit, and names the port and flow that hold most packets. Such a run has a queue without a limit,
//! into which flows send more than it can ever forward.

use std::collections::BTreeMap;

use crate::observe::Observer;
use crate::packet::PACKET_SIZE;
use crate::parallel::network::ParallelNetwork;
use crate::spec::network::{Network, Nic};

/// A sentence that names the port with the most packets and the flow with the most of those, and what to write instead.
pub fn problem<O: Observer>(network: &Network, domains: &ParallelNetwork<O>) -> String {
    let live = domains.live();
    let all = format!("{live} packets are in flight ({} MiB), the limit of a run", (live * PACKET_SIZE as u64) >> 20);
    let held = |port: u32| domains.in_flight(port);
    let Some((held_most, port)) = (0..domains.links()).map(|port| (held(port).count(), port)).max() else { return all };
    let mut by_flow = BTreeMap::new();
    held(port).for_each(|(packet, _)| *by_flow.entry(packet.flow).or_insert(0) += 1);
    let most = by_flow.into_iter().max_by_key(|&(flow, count)| (count, std::cmp::Reverse(flow)));
    let of = most.and_then(|(number, count)| {
        let flow = network.flows.get(number.checked_sub(network.first_flow)? as usize)?;
        let algorithm = network.controls[flow.control as usize].algorithm.name;
        Some(format!(", {count} of these from flow {number} ({algorithm})"))
    });
    let from = network.ports[port as usize].from;
    let (place, instead) = if from >= network.hosts {
        (format!("port {port}"), "a finite network.buffer, or a smaller window or pace")
    } else if network.host.nic == Nic::Fifo {
        (format!("the NIC of host {from}"), "hosts.nic = \"fair\", or a window or pace that its link can carry")
    } else {
        (format!("the NIC of host {from}"), "fewer responses, or a link that can carry them")
    };
    format!("{all}; {held_most} of them are at {place}{}; expected {instead}", of.unwrap_or_default())
}
