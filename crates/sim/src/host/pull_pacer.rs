//! Pull pacer of each NIC: all its receivers that owe pulls take turns, and one pull leaves in the time that the NIC's link
//! takes for a full frame. Data then arrives at the rate of the link and no faster.
//!
//! Source: Handley et al., SIGCOMM 2017 §3.2.

use std::collections::VecDeque;

use shallows_cc::units::Time;

use crate::fabric::Fabric;
use crate::host::flow_table::FlowTable;
use crate::host::nics::Nics;
use crate::host::transport::{FlowEndpoint, FlowReceiver};
use crate::observe::Observer;
use crate::port::admission::Incoming;
use crate::queue::timers::{Kind, Timer, Timers};
use crate::spec::network::Network;

/// Run queue of one NIC.
#[derive(Clone, Debug, Default)]
struct PullQueue {
    /// Flows that owe pulls, each once.
    flows: VecDeque<u32>,
    /// Time of a full frame on the link.
    spacing: Time,
    /// When the next pull may leave, and whether a timer is set for it.
    next: Time,
    timer_armed: bool,
}

/// Pull pacers of all NICs; empty if no flow waits for pulls.
#[derive(Debug)]
pub struct PullPacer {
    queues: Vec<PullQueue>,
}

impl PullPacer {
    pub fn new(network: &Network, nics: &Nics) -> Self {
        let needed = network.controls.iter().any(|control| control.waits_for_pulls());
        let spacing = |port| network.ports[port as usize].rate.time_to_send(network.mtu);
        let queue = |port| PullQueue { spacing: spacing(port), ..PullQueue::default() };
        Self { queues: if needed { nics.ports().map(queue).collect() } else { Vec::new() } }
    }

    /// Enqueues a flow that newly owes a pull. Returns true instead if a pull may leave now.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, FlowEndpoint { flow, nic, .. }: FlowEndpoint, timers: &mut Timers) -> bool {
        let queue = &mut self.queues[nic as usize];
        if !queue.timer_armed && queue.next <= now {
            queue.next = now + queue.spacing;
            return true;
        }
        queue.flows.push_back(flow);
        if !queue.timer_armed {
            queue.timer_armed = true;
            timers.set(Timer { at: queue.next, kind: Kind::Pull, flow });
        }
        false
    }

    /// Sends the pull of the first flow that still owes one.
    pub fn on_timer<O: Observer>(
        &mut self,
        fabric: &mut Fabric<O>,
        nic: u32,
        receivers: &mut FlowTable<FlowReceiver>,
        timers: &mut Timers,
    ) {
        let queue = &mut self.queues[nic as usize];
        queue.timer_armed = false;
        while let Some(flow) = queue.flows.pop_front() {
            let Some(receiver) = receivers.get_mut(flow) else { continue };
            let FlowEndpoint { port, .. } = receiver.endpoint;
            let Some((at, more)) = receiver.pull(fabric.now, &mut fabric.packets) else { continue };
            if more {
                queue.flows.push_back(flow);
            }
            queue.next = fabric.now + queue.spacing;
            if let Some(&first) = queue.flows.front() {
                queue.timer_armed = true;
                timers.set(Timer { at: queue.next, kind: Kind::Pull, flow: first });
            }
            fabric.enqueue(port, Incoming::local(at));
            return;
        }
    }
}
