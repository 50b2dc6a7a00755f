//! What a driver sees of an open run at the clock: queues and counts of links, and what flows have done since it last looked.

use std::collections::BTreeMap;

use shallows_cc::units::{Bytes, Time};

use crate::engine::driver::Observed;
use crate::engine::simulation::Simulation;
use crate::host::stats::{ReceiverStats, SenderStats};

/// State of a link at the clock, and its counts so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkObservation {
    /// The link.
    pub link: u32,
    /// Backlog of its port in bytes: queued frames plus the unsent part of the frame in transmission.
    pub queue: Bytes,
    /// Packets that have arrived at its end.
    pub delivered: u64,
    /// Packets lost because of faults of the link.
    pub lost: u64,
    /// Packets that its port has dropped.
    pub dropped: u64,
}

/// What a flow that has started has done since the last observation, or since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowObservation {
    /// Its number.
    pub flow: u32,
    /// Distinct payload bytes that have arrived at the receiver.
    pub delivered: u64,
    /// Packets that the sender has sent, those sent again included.
    pub sent: u64,
    /// Payload that the sender knows to have arrived, over any transport but credits.
    pub acked: u64,
    /// The part of it that was marked, as its receiver says.
    pub marked: u64,
    /// Acknowledgements that the sender has received.
    pub acks: u64,
    /// The mean of its smoothed round-trip time over them; zero without any.
    pub srtt: Time,
    /// Packets sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Whether all of it has arrived.
    pub finished: bool,
}

impl Simulation {
    /// The state of some links at the clock.
    ///
    /// # Errors
    /// A link that the network does not have.
    pub fn observe_links(&self, links: &[u32]) -> Result<Vec<LinkObservation>, String> {
        let (count, clock) = (self.domains.links(), self.clock());
        if let Some(link) = links.iter().find(|&&link| link >= count) {
            return Err(format!("link {link}: expected one of {count}"));
        }
        let observe = |&link: &u32| {
            let (port, carried) = (self.domains.port(link), self.domains.carried(link));
            let (dropped, lost) = port.lost_here();
            let (delivered, lost) = (carried.arrived(), lost + carried.lost);
            LinkObservation { link, queue: port.queue(clock), delivered, lost, dropped }
        };
        Ok(links.iter().map(observe).collect())
    }

    /// What flows have done since the last call, in order: all that have started and had not ended at the last call, but for those that have
    /// been retired.
    pub fn observe_flows(&mut self) -> Vec<FlowObservation> {
        let numbers = self.network.flow_numbers();
        let Some(driver) = &mut self.driver else { return Vec::new() };
        let before = std::mem::replace(&mut driver.observed, Observed { end: numbers.end, flows: BTreeMap::new() });
        let new = before.end.max(numbers.start)..numbers.end;
        let none = |flow| (flow, (SenderStats::NONE, ReceiverStats::NONE));
        let known = before.flows.into_iter().filter(|(flow, _)| numbers.contains(flow));
        let mut rows = Vec::new();
        for (flow, (sent, received)) in known.chain(new.map(none)) {
            self.domains.settle_flow(flow);
            let (sender, receiver) = (self.domains.sender(flow).clone(), *self.domains.receiver(flow));
            if sender.start < Time::MAX {
                let (acks, srtt) = sender.rtt.since(&sent.rtt);
                rows.push(FlowObservation {
                    flow,
                    delivered: receiver.delivered - received.delivered,
                    sent: u64::from(sender.packets - sent.packets) + sender.retransmits - sent.retransmits,
                    acked: (sender.acked - sent.acked).0,
                    marked: (sender.marked - sent.marked).0,
                    acks,
                    srtt,
                    retransmits: sender.retransmits - sent.retransmits,
                    timeouts: sender.timeouts - sent.timeouts,
                    finished: receiver.finish < Time::MAX,
                });
            }
            if !self.domains.has_ended(flow)
                && let Some(driver) = &mut self.driver
            {
                driver.observed.flows.insert(flow, (sender, receiver));
            }
        }
        rows
    }
}
