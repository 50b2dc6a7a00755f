//! Statistics and state of the flows of a domain, for the driver of a run.

use shallows_cc::units::{Bytes, Time};

use crate::fabric::route::Routes;
use crate::host::flow_set::FlowSet;
use crate::host::hosts::Hosts;
use crate::host::stats::FlowProgress;
use crate::host::timestamps::TimestampModel;
use crate::host::transport::{FlowSender, SenderState};
use crate::randomness::Randomness;

impl Hosts {
    /// Copies the counters of a flow's sender, if it is active.
    pub(crate) fn collect_sender_stats(&mut self, flow: u32) {
        if let Some(sender) = self.senders.get(flow) {
            let (common, stats) = (sender.common(), &mut self.sender_stats[flow as usize]);
            (stats.retransmits, stats.timeouts) = (common.repairs.retransmits, common.repairs.timeouts);
            stats.timeout_wait = common.repairs.waits.total();
            stats.credits_wasted = sender.credits_wasted();
            stats.rtt = sender.rtt();
            (stats.packets, stats.acked, stats.marked) = (sender.progress().0, common.gate.acked, common.gate.marked);
            self.randomness.balancing |= sender.paths.as_ref().is_some_and(|paths| paths.has_drawn());
            if common.gate.control.has_drawn() {
                self.randomness.controls.insert(self.network.flow(flow).control);
            }
        }
    }

    /// Copies the counters of a flow's receiver, if it is active.
    pub(crate) fn collect_receiver_stats(&mut self, flow: u32) {
        if let Some(receiver) = self.receivers.get(flow) {
            let (intake, stats) = (receiver.intake(), &mut self.receiver_stats[flow as usize]);
            (stats.delivered, stats.credits) = (intake.reassembly.delivered, receiver.credits());
            stats.reordering = intake.reordering.depth;
            if receiver.has_drawn() {
                self.randomness.controls.insert(self.network.flow(flow).control);
            }
            self.randomness.timestamps |= intake.timestamps.as_deref().is_some_and(TimestampModel::has_drawn);
        }
    }

    /// The sources of random numbers from which the run has drawn, once the counters of active flows have been copied.
    pub(crate) fn randomness(&self) -> Randomness {
        let (gap, ack_jitter) = (self.nics.have_left_gaps(), self.response_delay.has_drawn());
        Randomness { gap, ack_jitter, ..self.randomness.clone() }
    }

    /// Number of responses that hosts hold back, or have sent with data instead of as packets.
    pub fn held_back(&self) -> u64 {
        self.response_delay.waiting() + self.nics.piggyback.as_ref().map_or(0, |piggyback| piggyback.saved)
    }

    /// Copies the counters of active flows to the statistics.
    pub(crate) fn collect_stats(&mut self) {
        for flow in self.network.flow_numbers() {
            self.collect_sender_stats(flow);
            self.collect_receiver_stats(flow);
        }
    }

    /// Returns the flows of which packets have arrived since the last call, and the payload that each has received so far.
    pub fn take_arrived(&mut self) -> impl Iterator<Item = (u32, u64)> {
        let flows = self.arrived.as_mut().map(FlowSet::take).unwrap_or_default();
        flows.into_iter().map(|flow| {
            self.collect_receiver_stats(flow);
            (flow, self.receiver_stats[flow as usize].delivered)
        })
    }

    /// Ends the warm-up: what has been delivered so far does not count as goodput.
    pub(crate) fn end_warmup(&mut self) {
        self.collect_stats();
        for stats in self.receiver_stats.entries_mut() {
            stats.in_warmup = stats.delivered;
        }
    }

    /// Returns the progress of all active flows, as their senders know it; the receivers know how much has arrived.
    pub fn flow_progress(&self) -> impl Iterator<Item = FlowProgress> {
        self.senders.iter().map(|(flow, sender)| FlowProgress {
            flow,
            progress: 0,
            timeouts: self.sender_stats[flow as usize].timeouts,
            paced: sender.pace_timer < Time::MAX || sender.common().position.message.app_limited(),
        })
    }

    /// Returns a lower bound of the time at which the last task ends of those that have started: unsent data of a flow must still leave its NIC,
    /// and cross the links of a shortest path, each in `least_delay` or more.
    pub(crate) fn last_end(&self, routes: &Routes, now: Time, least_delay: Time) -> Time {
        let end = |sender: &FlowSender| {
            let flow = sender.endpoint.flow;
            let bytes = self.network.flow(flow).bytes;
            if bytes == Bytes::MAX {
                return now;
            }
            let sent = self.network.mss().0 * u64::from(sender.progress().0);
            let left = Bytes(bytes.0.saturating_sub(sent));
            if left == Bytes::ZERO {
                return now;
            }
            let rate = routes.first_rate(&self.network, flow, false);
            let [there, _] = routes.path(&self.network, flow);
            Time(now.0.saturating_add((rate.time_to_send(left) + least_delay * there.len() as u64).0))
        };
        self.senders.entries().map(end).max().unwrap_or(now).max(self.computations.last_end)
    }

    /// Returns the state of a flow's sender while it is active.
    pub fn sender_state(&mut self, now: Time, flow: u32) -> Option<SenderState> {
        Some(self.senders.get_mut(flow)?.snapshot(now))
    }

    /// Returns the active flow with the lowest number.
    pub(crate) fn first_live(&self) -> Option<u32> {
        self.senders.iter().next().map(|(flow, _)| flow)
    }

    /// Reports the internal variables of an active flow's sender, and returns whether the flow is active; `since` is the time
    /// since the last report.
    pub fn probe_sender(&mut self, flow: u32, since: Time, record: &mut dyn FnMut(&'static str, f64)) -> bool {
        let sender = self.senders.get_mut(flow);
        sender.map(|sender| sender.probe(since, record)).is_some()
    }

    /// Reports the internal variables of a flow's receiver.
    pub(crate) fn probe_receiver(&self, flow: u32, record: &mut dyn FnMut(&'static str, f64)) {
        if let Some(receiver) = self.receivers.get(flow) {
            receiver.probe(record);
        }
    }
}
