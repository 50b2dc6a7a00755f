//! What of a request this world would ignore, or fall over: refused before anything is made.

use shallows_contract::request::{Balancing, Nic, Request};

use crate::Outcome;

/// An error for the first thing that cannot be done as it is asked.
pub fn check(request: &Request) -> Outcome<()> {
    let Request { flows, host, .. } = request;
    let refusals = [
        ("disciplines", request.disciplines.is_some(), "its ports are FIFOs"),
        ("shared", request.shared.is_some(), "its ports have a buffer each"),
        ("pause", request.pause.is_some(), "its ports never pause"),
        ("balancing", request.balancing.is_some_and(|one| one != Balancing::Flow), "every flow has one way"),
        ("faults", request.faults.is_some(), "its links never fail"),
        ("flows.application", flows.application.is_some(), "its flows always have something to send"),
        ("flows.priority", flows.priority.iter().flatten().any(|&one| one > 0), "its ports have one class"),
        ("ccs.written", request.ccs.iter().any(|control| control.written.is_some()), "it runs no Python"),
        ("host.nic", host.nic != Nic::Fair, "Linux queues fairly"),
        ("host.timestamps", host.timestamps.is_some(), "the stamps are this machine's own"),
    ];
    if let Some((key, _, why)) = refusals.iter().find(|(_, asked, _)| *asked) {
        return Err(format!("{key}: expected none or its default in the kernel world: {why}").into());
    }
    request.ports()?;
    flows.specs()?;
    within("links.from", &request.links.from, request.nodes)?;
    within("links.to", &request.links.to, request.nodes)?;
    within("flows.src", &flows.src, request.hosts)?;
    within("flows.dst", &flows.dst, request.hosts)?;
    within("flows.cc", &flows.cc, request.ccs.len() as u32)?;
    within("record.queue_links", &request.record.queue_links, request.links.from.len() as u32)?;
    within("record.probe_flows", &request.record.probe_flows, flows.src.len() as u32)
}

fn within(key: &str, indices: &[u32], count: u32) -> Outcome<()> {
    match indices.iter().find(|&&index| index >= count) {
        Some(index) => Err(format!("{key}: {index} is not one of {count}").into()),
        None => Ok(()),
    }
}
