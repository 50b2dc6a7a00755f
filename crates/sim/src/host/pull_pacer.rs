//! Who calls packets at a host, and when: all its flows that owe pulls in turn, a pull for each time that its link takes for a
//! full frame, so that what comes fills the link and no more.
//!
//! Source: Handley et al., SIGCOMM 2017 §3.2.

use std::collections::VecDeque;

use shallows_cc::units::Time;

use crate::fabric::Fabric;
use crate::host::flow_table::FlowTable;
use crate::host::transport::{FlowEndpoint, Receiving};
use crate::observe::Observer;
use crate::packet::NIL;
use crate::queue::timers::{Kind, Timer, Timers};
use crate::spec::network::Network;

/// The pulls that one host ack_pending.
#[derive(Clone, Debug, Default)]
struct PullQueue {
    /// The flows that owe some, each once.
    flows: VecDeque<u32>,
    /// When the next one may leave, and whether a timer will tell.
    next: Time,
    armed: bool,
}

/// Those of all hosts; none where no flow is called.
#[derive(Debug)]
pub struct PullPacer {
    hosts: Vec<PullQueue>,
    /// By host: the time of a full frame on its link.
    spacing: Vec<Time>,
}

impl PullPacer {
    pub fn new(network: &Network, nic: impl Fn(u32) -> u32) -> Self {
        let called = network.controls.iter().any(|control| control.waits_for_pulls());
        let hosts = if called { network.hosts } else { 0 };
        let spacing = |host| network.ports[nic(host) as usize].rate.time_to_send(network.mtu);
        Self { hosts: vec![PullQueue::default(); hosts as usize], spacing: (0..hosts).map(spacing).collect() }
    }

    /// A flow newly ack_pending a pull, and waits for its turn; or else its answer calls at once, and `true`.
    #[inline(always)]
    pub fn join(&mut self, now: Time, FlowEndpoint { flow, dst, .. }: FlowEndpoint, timers: &mut Timers) -> bool {
        let turns = &mut self.hosts[dst as usize];
        if !turns.armed && turns.next <= now {
            turns.next = now + self.spacing[dst as usize];
            return true;
        }
        turns.flows.push_back(flow);
        if !turns.armed {
            turns.armed = true;
            timers.set(Timer { at: turns.next, kind: Kind::Pull, flow });
        }
        false
    }

    /// The time of `host` for the next pull has come: that of the first flow that still ack_pending one.
    pub fn on_timer<O: Observer>(
        &mut self,
        fabric: &mut Fabric<O>,
        host: u32,
        receiving: &mut FlowTable<Receiving>,
        timers: &mut Timers,
    ) {
        let turns = &mut self.hosts[host as usize];
        turns.armed = false;
        while let Some(flow) = turns.flows.pop_front() {
            let Some(half) = receiving.get_mut(flow) else { continue };
            let FlowEndpoint { port, .. } = half.ends;
            let Some((at, more)) = half.pull(fabric.now, &mut fabric.packets) else { continue };
            if more {
                turns.flows.push_back(flow);
            }
            turns.next = fabric.now + self.spacing[host as usize];
            if let Some(&first) = turns.flows.front() {
                turns.armed = true;
                timers.set(Timer { at: turns.next, kind: Kind::Pull, flow: first });
            }
            return fabric.enqueue(port, at, NIL);
        }
    }
}
