//! Accounting checks at the end of a run ("the books close"): every packet sent was delivered, was dropped or is in flight; every queue
//! obeys Little's law; no flow was faster than its path and no link faster than its rate; both ends of a link agree on whether it is
//! paused.

use shallows_cc::units::{Bytes, Rate, Time};

use crate::engine::answer::{ComputationReport, FlowReport};
use crate::port::PortReport;
use crate::spec::network::{Balancing, FlowSpec, Network};

/// The number of problems that are listed; the others are counted.
const LISTED: usize = 10;

/// The parts of a run that the audit reads.
pub(crate) struct Audit<'a> {
    pub network: &'a Network,
    /// By node: the goodput of flows that have been retired; empty without such flows.
    pub retired_goodput: &'a [u64],
    pub ports: &'a [PortReport],
    pub flows: &'a [FlowReport],
    pub computations: &'a [ComputationReport],
    /// Packets created, received by a host, and in flight.
    pub packets: (u64, u64, u64),
    /// When the run ended.
    pub ended: Time,
    /// The time covered by the statistics.
    pub span: Time,
    /// The largest lateness of a packet in real time.
    pub late: Time,
}

impl Audit<'_> {
    /// All failed checks, as sentences.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = conservation(self.ports, self.packets);
        for (at, port) in self.ports.iter().enumerate() {
            problems.extend(port_problem(port, self.span).map(|problem| format!("port {at}: {problem}")));
        }
        problems.extend(flow_problems(self.network, self.ended, self.flows));
        for (at, (one, spec)) in self.computations.iter().zip(&self.network.computations).enumerate() {
            let wrong = one.finish < Time::MAX && one.finish != one.start + spec.duration;
            problems.extend(wrong.then(|| format!("computation {at}: not as long as {}", spec.duration)));
        }
        problems.extend(self.too_much_goodput());
        if problems.len() > LISTED {
            let rest = problems.len() - LISTED;
            problems.truncate(LISTED);
            problems.push(format!("and {rest} more"));
        }
        problems
    }

    /// While a host is measured, it receives no more new payload than its links carry, plus one frame that was in flight. A packet that
    /// was late when the measurement began counts as well.
    fn too_much_goodput(&self) -> Option<String> {
        let mut carried = vec![0; self.network.nodes as usize];
        for port in &self.network.ports {
            carried[port.to as usize] += (port.rate.sent_in(self.span + self.late) + self.network.mtu).0;
        }
        let mut goodput = self.retired_goodput.to_vec();
        goodput.resize(self.network.nodes as usize, 0);
        for (flow, spec) in self.flows.iter().zip(&self.network.flows) {
            goodput[spec.dst as usize] += flow.goodput;
        }
        let wrong = goodput.iter().zip(&carried).position(|(goodput, carried)| goodput > carried)?;
        Some(format!(
            "host {wrong}: {} bytes of goodput, but its links carry at most {}",
            goodput[wrong], carried[wrong]
        ))
    }
}

/// Packets created = received by hosts + dropped + lost on links + in flight, and those in flight are on the lists of ports.
fn conservation(ports: &[PortReport], (created, consumed, live): (u64, u64, u64)) -> Vec<String> {
    let dropped: u64 = ports.iter().map(PortReport::dropped).sum();
    let lost: u64 = ports.iter().map(PortReport::lost).sum();
    let in_flight: u64 = ports.iter().map(|p| p.in_flight).sum();
    let mut problems = Vec::new();
    if created != consumed + dropped + lost + live {
        problems.push(format!(
            "{created} packets created, {consumed} received, {dropped} dropped, {lost} lost on links, {live} in flight"
        ));
    }
    if in_flight != live {
        problems.push(format!("{live} packets in flight, but {in_flight} on the lists of ports"));
    }
    problems
}

/// A port is paused if and only if its neighbour pauses it, apart from PFC frames in flight.
pub(crate) fn pause_problem((link, paused): (u32, bool)) -> String {
    let (port, neighbour) = if paused { ("paused", "does not pause it") } else { ("not paused", "pauses it") };
    format!("port {link}: {port}, but its neighbour {neighbour}")
}

/// The bytes that switches count in their shared memories are those queued at their ports.
pub fn memory_problem((counted, waiting): (Bytes, Bytes)) -> Option<String> {
    (counted != waiting)
        .then(|| format!("{} bytes counted in shared memories, but {} bytes queued there", counted.0, waiting.0))
}

/// Little's law: the backlog integrated over the sojourn times of packets is within the bounds from the time spent at each backlog; and
/// the time spent at all backlogs is the time covered.
fn port_problem(port: &PortReport, span: Time) -> Option<String> {
    let (low, high) = port.backlogs.area_bounds();
    if port.busy > span {
        return Some(format!("busy for {} in {span}", port.busy));
    }
    if port.area < low || port.area > high {
        return Some(format!(
            "Little's law: a backlog of {} ps² by packets, but {low} to {high} ps² by time",
            port.area
        ));
    }
    let total = port.backlogs.total();
    (total != span).then(|| format!("queue recorded for {total} in {span}"))
}

/// Checks the first flows of a network, whose run has ended or is at this time.
pub(crate) fn flow_problems(network: &Network, now: Time, flows: &[FlowReport]) -> Vec<String> {
    let mut rates = vec![Rate::ZERO; network.nodes as usize];
    network.ports.iter().for_each(|port| rates[port.from as usize].0 += port.rate.0);
    let one_way = !network.links_change() && network.balancing == Balancing::Flow;
    let problem = |((flow, spec), at): ((&FlowReport, &FlowSpec), u32)| {
        let problem = flow_problem(flow, spec.bytes, one_way)
            .or_else(|| out_of_numbers(network, flow, spec.bytes))
            .or_else(|| too_much_delivered(flow, rates[spec.src as usize], now));
        problem.map(|problem| format!("flow {at}: {problem}"))
    };
    flows.iter().zip(&network.flows).zip(network.first_flow..).filter_map(problem).collect()
}

/// A flow without an end stops where its sequence numbers do.
fn out_of_numbers(network: &Network, flow: &FlowReport, bytes: Bytes) -> Option<String> {
    let most = network.mss() * u64::from(u32::MAX - 1);
    (bytes == Bytes::MAX && flow.delivered >= most.0)
        .then(|| format!("has used all {} sequence numbers: expected a shorter run or larger frames", u32::MAX))
}

/// A flow delivers no more than the links of its host can have sent since the flow started.
fn too_much_delivered(flow: &FlowReport, rate: Rate, now: Time) -> Option<String> {
    let sent = rate.sent_in(now.saturating_sub(flow.start));
    (flow.delivered > sent.0).then(|| {
        format!("delivered {} bytes, but the links of its host can have sent at most {}", flow.delivered, sent.0)
    })
}

/// Checks a flow; `one_way` tells whether it used only the path for which `ideal` is known.
fn flow_problem(flow: &FlowReport, bytes: Bytes, one_way: bool) -> Option<String> {
    if flow.finish == Time::MAX {
        return (bytes != Bytes::MAX && flow.delivered >= bytes.0).then(|| "delivered but not finished".into());
    }
    if flow.delivered != bytes.0 {
        return Some(format!("finished with {} of {} bytes", flow.delivered, bytes.0));
    }
    let taken = flow.finish - flow.start;
    (one_way && taken < flow.ideal).then(|| format!("took {taken}, which is less than {} on an empty path", flow.ideal))
}
