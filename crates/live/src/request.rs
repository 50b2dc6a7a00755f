//! Checks of a request: keys that this world does not support are refused before anything is created.

use shallows_sim::{Application, Balancing, Network, Nic, Wait};

use crate::Outcome;

/// An error for the first key that this world does not support.
pub fn check(request: &Network) -> Outcome<()> {
    let Network { flows, host, .. } = request;
    let refusals = [
        ("disciplines", !request.disciplines.is_empty(), "its ports are FIFOs"),
        ("pools", !request.pools.is_empty(), "its ports have a buffer each"),
        ("classes.pause", request.pauses(), "its ports never pause"),
        ("classes", request.classes.len() > 1, "its ports have one class"),
        ("balancing", request.balancing != Balancing::Flow, "every flow has one path"),
        ("path_hashes", !request.path_hashes.is_empty(), "every flow has one path"),
        ("routes", !request.routes.is_empty(), "every flow has one path"),
        ("faults", !request.faults.is_empty(), "its links never fail"),
        (
            "flows.application",
            flows.iter().any(|flow| flow.application != Application::EAGER),
            "its flows always have something to send",
        ),
        ("flows.after", flows.iter().any(|flow| flow.after.len() > 1), "its flows wait for one other at most"),
        ("flows.behind", flows.iter().any(|flow| !flow.behind.is_empty()), "its flows wait for one other at most"),
        ("flows.wait", flows.iter().any(|flow| flow.wait != Wait::ALL), "its flows wait for one other at most"),
        ("computations", !request.computations.is_empty(), "its hosts are namespaces of one machine"),
        ("ccs.user_algorithm", request.ccs.iter().any(|cc| cc.user_algorithm.is_some()), "it runs no Python"),
        ("record.goodput", request.record.goodput.is_some(), "it samples no payload"),
        ("host.nic", host.nic != Nic::Fair, "Linux queues fairly"),
        ("host.timestamps", host.timestamps.is_some(), "the stamps are this machine's own"),
    ];
    if let Some((key, _, why)) = refusals.iter().find(|(_, asked, _)| *asked) {
        return Err(format!("{key}: expected none or its default in the kernel world: {why}").into());
    }
    let links = request.ports.len() as u32;
    within("links.from", request.ports.iter().map(|port| port.from), request.nodes)?;
    within("links.to", request.ports.iter().map(|port| port.to), request.nodes)?;
    within("links.marking", request.ports.iter().filter_map(|port| port.marking), request.markings.len() as u32)?;
    within("flows.src", flows.iter().map(|flow| flow.src), request.hosts)?;
    within("flows.dst", flows.iter().map(|flow| flow.dst), request.hosts)?;
    within("flows.cc", flows.iter().map(|flow| flow.control), request.ccs.len() as u32)?;
    within("record.queue_links", request.record.ports.iter().copied(), links)?;
    within("record.probe_flows", request.record.flows.iter().copied(), flows.len() as u32)
}

fn within(key: &str, mut indices: impl Iterator<Item = u32>, count: u32) -> Outcome<()> {
    match indices.find(|&index| index >= count) {
        Some(index) => Err(format!("{key}: {index} is not one of {count}").into()),
        None => Ok(()),
    }
}
