//! Closes the books: what was sent has been delivered, dropped or is still on its way; every queue obeys
//! Little's law; no flow was faster than its path and no link than its rate; both ends of a link agree on whether it
//! is paused.

use shallows_cc::units::{Bytes, Rate, Time};

use crate::engine::answer::FlowReport;
use crate::port::PortReport;
use crate::spec::network::{Balancing, Network};

/// Problems named before the rest is only counted.
const NAMED: usize = 10;

/// What the books are closed over.
pub struct Audit<'a> {
    pub network: &'a Network,
    pub ports: &'a [PortReport],
    pub flows: &'a [FlowReport],
    /// Packets made, those that reached a host, and those on their way.
    pub packets: (u64, u64, u64),
    /// When the run ended.
    pub ended: Time,
    /// Time that the statistics cover.
    pub span: Time,
}

impl Audit<'_> {
    /// Everything that does not add up.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = conservation(self.ports, self.packets);
        for (at, port) in self.ports.iter().enumerate() {
            problems.extend(port_problem(port, self.span).map(|problem| format!("port {at}: {problem}")));
        }
        let mut rates = vec![Rate::MAX; self.network.nodes as usize];
        self.network.ports.iter().for_each(|port| rates[port.from as usize] = port.rate);
        let one_way = self.network.faults.is_empty() && self.network.balancing == Balancing::Flow;
        for (at, (flow, spec)) in self.flows.iter().zip(&self.network.flows).enumerate() {
            let problem =
                flow_problem(flow, spec.bytes, one_way).or_else(|| self.too_fast(flow, rates[spec.src as usize]));
            problems.extend(problem.map(|problem| format!("flow {at}: {problem}")));
        }
        problems.extend(self.too_much_goodput());
        if problems.len() > NAMED {
            let rest = problems.len() - NAMED;
            problems.truncate(NAMED);
            problems.push(format!("and {rest} more"));
        }
        problems
    }

    /// No flow delivers more than the link of its host can have sent since it began.
    fn too_fast(&self, flow: &FlowReport, rate: Rate) -> Option<String> {
        let sent = rate.sent_in(self.ended.saturating_sub(flow.start));
        (flow.delivered > sent.0)
            .then(|| format!("delivered {} bytes, its link sent at most {}", flow.delivered, sent.0))
    }

    /// No host takes in more new payload while it is measured than its links carry meanwhile, and a frame that was under way.
    fn too_much_goodput(&self) -> Option<String> {
        let mut carried = vec![0; self.network.nodes as usize];
        for port in &self.network.ports {
            carried[port.to as usize] += (port.rate.sent_in(self.span) + self.network.mtu).0;
        }
        let mut goodput = vec![0; self.network.nodes as usize];
        for (flow, spec) in self.flows.iter().zip(&self.network.flows) {
            goodput[spec.dst as usize] += flow.goodput;
        }
        let wrong = goodput.iter().zip(&carried).position(|(goodput, carried)| goodput > carried)?;
        Some(format!("host {wrong}: {} bytes of goodput, its links carry {}", goodput[wrong], carried[wrong]))
    }
}

/// Packets created = taken in by hosts + dropped + lost by faults of links + in flight, and those in flight are on the
/// ports' lists.
fn conservation(ports: &[PortReport], (created, consumed, live): (u64, u64, u64)) -> Vec<String> {
    let dropped: u64 = ports.iter().map(|p| p.dropped).sum();
    let lost: u64 = ports.iter().map(|p| p.lost).sum();
    let in_flight: u64 = ports.iter().map(|p| p.in_flight).sum();
    let mut problems = Vec::new();
    if created != consumed + dropped + lost + live {
        problems.push(format!(
            "{created} packets created, {consumed} taken in, {dropped} dropped, {lost} lost on links, {live} in flight"
        ));
    }
    if in_flight != live {
        problems.push(format!("{live} packets in flight, {in_flight} of them on a port's list"));
    }
    problems
}

/// A port is paused while its neighbour pauses it, apart from pauses and resumes on their way.
pub fn pause_problem((link, paused): (u32, bool)) -> String {
    let (port, neighbour) = if paused { ("paused", "pauses nobody") } else { ("not paused", "pauses it") };
    format!("port {link}: {port}, and its neighbour {neighbour}")
}

/// What switches count against their memories is what waits in their ports.
pub fn memory_problem((counted, waiting): (Bytes, Bytes)) -> Option<String> {
    (counted != waiting).then(|| format!("{} bytes counted in switches, {} wait there", counted.0, waiting.0))
}

/// Little's law: the backlog integrated over the packets' stay lies where the time spent at each backlog
/// allows; and the time spent at all backlogs is the time there was.
fn port_problem(port: &PortReport, span: Time) -> Option<String> {
    let (low, high) = port.backlogs.area_bounds();
    if port.busy > span {
        return Some(format!("sent for {} in {span}", port.busy));
    }
    if port.area < low || port.area > high {
        return Some(format!("Little's law: {} ps² of backlog by packets, {low} to {high} by time", port.area));
    }
    let total = port.backlogs.total();
    (total != span).then(|| format!("{total} of queue recorded in {span}"))
}

/// `one_way`: whether it kept to the path whose completion time is known.
fn flow_problem(flow: &FlowReport, bytes: Bytes, one_way: bool) -> Option<String> {
    if flow.finish == Time::MAX {
        return (bytes != Bytes::MAX && flow.delivered >= bytes.0).then(|| "delivered but not finished".into());
    }
    if flow.delivered != bytes.0 {
        return Some(format!("finished with {} of {} bytes", flow.delivered, bytes.0));
    }
    let taken = flow.finish - flow.start;
    (one_way && taken < flow.ideal).then(|| format!("took {taken}, less than the {} of an empty path", flow.ideal))
}
