//! Pull pacer of each NIC: all its receivers that owe pulls take turns, and one pull leaves in the time that the NIC's link
//! takes for a full frame, or for the bytes of its credit. Data then arrives at the rate of the link and no faster.
//!
//! Source: Handley et al., SIGCOMM 2017 §3.2; for credit in bytes `UecPullPacer` of uet-htsim.

use std::collections::VecDeque;

use shallows_cc::units::{Bytes, Rate, Time};

use crate::fabric::Fabric;
use crate::fabric::route::Routes;
use crate::host::flow_table::FlowTable;
use crate::host::nics::Nics;
use crate::host::transport::{FlowEndpoint, FlowReceiver};
use crate::observe::Observer;
use crate::port::admission::Incoming;
use crate::queue::timers::{Kind, Timer};
use crate::spec::network::{FlowSpec, Network};

/// Run queue of one NIC.
#[derive(Clone, Debug, Default)]
struct PullQueue {
    /// Flows that owe pulls, each once.
    flows: VecDeque<u32>,
    /// Flows that may get credit before they ask for it, while no flow owes pulls.
    slow: VecDeque<u32>,
    /// Rate of the link, and its time for a full frame.
    rate: Rate,
    spacing: Time,
    /// When the next pull may leave, and whether a timer is set for it.
    next: Time,
    timer_armed: bool,
}

impl PullQueue {
    /// Removes the next flow, with whether it owes a pull.
    fn pop(&mut self) -> Option<(u32, bool)> {
        let owing = self.flows.pop_front().map(|flow| (flow, true));
        owing.or_else(|| self.slow.pop_front().map(|flow| (flow, false)))
    }
}

/// Pull pacers of all NICs; empty if no flow waits for pulls. Where hosts choose a port for each packet, the pacer of a flow's first
/// port paces the pulls for all ports by which its data may arrive.
#[derive(Clone, Debug)]
pub struct PullPacer {
    queues: Vec<PullQueue>,
    /// The number of the first flow of `nic`: those before it have been retired.
    first: u32,
    /// By flow: the NIC of its run queue, also after its path has changed. Empty if each host has one.
    nic: Vec<u32>,
}

impl PullPacer {
    pub(crate) fn new(network: &Network, nics: &Nics, routes: &Routes) -> Self {
        let needed = network.controls.iter().any(|control| control.waits_for_pulls());
        if !needed {
            return Self { queues: Vec::new(), first: 0, nic: Vec::new() };
        }
        let queue = |port: u32| {
            let rate = network.ports[port as usize].rate;
            PullQueue { rate, spacing: rate.time_to_send(network.mtu), ..PullQueue::default() }
        };
        let nic = |(flow, number): (&FlowSpec, u32)| nics.index(flow.dst, routes.first_ports(number, true)[0]);
        let several = network.has_multiport_hosts();
        Self {
            queues: nics.ports().map(queue).collect(),
            first: 0,
            nic: if several { network.flows.iter().zip(0..).map(nic).collect() } else { Vec::new() },
        }
    }

    /// Adds the next flow.
    pub(crate) fn join(&mut self, nic: u32) {
        if !self.nic.is_empty() {
            self.nic.push(nic);
        }
    }

    /// Retires the flows before `first`.
    pub(crate) fn retire(&mut self, first: u32) {
        let count = (first - self.first) as usize;
        self.nic.drain(..count.min(self.nic.len()));
        self.first = first;
    }

    /// The flows that are in run queues.
    pub(crate) fn queued(&self) -> impl Iterator<Item = u32> {
        self.queues.iter().flat_map(|queue| queue.flows.iter().chain(&queue.slow).copied())
    }

    /// Returns the NIC in whose run queue a flow waits to send a pull, which is `otherwise` if each host has one.
    fn nic_of(&self, flow: u32, otherwise: u32) -> u32 {
        self.nic.get(flow.wrapping_sub(self.first) as usize).copied().unwrap_or(otherwise)
    }

    /// Enqueues a flow that newly owes a pull. `answers` says whether an answer to data can be the pull as well; if it can, and a
    /// pull may leave now, the flow is not enqueued and this returns true.
    #[inline(always)]
    pub fn enqueue<O: Observer>(
        &mut self,
        fabric: &Fabric<O>,
        FlowEndpoint { flow, nic, .. }: FlowEndpoint,
        answers: bool,
        nics: &mut Nics,
    ) -> bool {
        let now = fabric.now;
        let nic = self.nic_of(flow, nic);
        let queue = &mut self.queues[nic as usize];
        if answers && !queue.timer_armed && queue.next <= now {
            queue.next =
                now + if nics.chooses { shared_spacing(fabric, flow, fabric.network.mtu) } else { queue.spacing };
            return true;
        }
        queue.flows.push_back(flow);
        if !queue.timer_armed {
            queue.timer_armed = true;
            nics.timers.set(Timer { at: queue.next.max(now), kind: Kind::Pull, flow });
        }
        false
    }

    /// Sends the pull of the first flow that still owes one.
    pub(crate) fn on_timer<O: Observer>(
        &mut self,
        fabric: &mut Fabric<O>,
        flow: u32,
        receivers: &mut FlowTable<FlowReceiver>,
        nics: &mut Nics,
    ) {
        let host = fabric.network.flow(flow).dst;
        let nic = self.nic_of(flow, nics.first_index(host));
        let queue = &mut self.queues[nic as usize];
        queue.timer_armed = false;
        while let Some((flow, owes)) = queue.pop() {
            let Some(receiver) = receivers.get_mut(flow) else { continue };
            let endpoint = receiver.endpoint;
            let packets = &mut fabric.packets;
            let pull = if owes { receiver.pull(fabric.now, packets) } else { receiver.slow_pull(fabric.now, packets) };
            let Some(pull) = pull else { continue };
            if pull.more && owes {
                queue.flows.push_back(flow);
            } else if pull.more || pull.slow {
                queue.slow.push_back(flow);
            }
            let carries = pull.carries.unwrap_or(fabric.network.mtu);
            queue.next = fabric.now
                + match pull.carries {
                    _ if nics.chooses => shared_spacing(fabric, flow, carries),
                    Some(_) => queue.rate.time_to_send(carries),
                    None => queue.spacing,
                };
            if let Some(&first) = queue.flows.front().or(queue.slow.front()) {
                queue.timer_armed = true;
                nics.timers.set(Timer { at: queue.next, kind: Kind::Pull, flow: first });
            }
            let port = nics.response_port(fabric, endpoint);
            fabric.enqueue_own(port, Incoming::local(pull.at));
            return;
        }
    }
}

/// Returns the time in which all working ports by which data of a flow may arrive carry so many bytes.
fn shared_spacing<O: Observer>(fabric: &Fabric<O>, flow: u32, carries: Bytes) -> Time {
    let ports = fabric.routes.first_ports(flow, true).iter();
    let rate = |&port: &u32| fabric.network.ports[port as usize].rate.0;
    let works = |port: &&u32| !fabric.ports[**port as usize].is_down();
    let sum = ports.clone().filter(works).map(rate).sum::<u64>().max(ports.map(rate).min().unwrap_or(1));
    Rate(sum).time_to_send(carries)
}
