//! Dependencies between tasks, which are flows and computations: a task starts when as many of its predecessors as it needs have
//! ended at its host, or have sent all their data from there.

use shallows_cc::units::Time;

use crate::queue::timers::{Kind, Timer};
use crate::spec::network::Network;
use crate::spec::task::{Numbering, Successors, count_down};

/// Value of [`Dependencies::unsent`] for a flow that nothing is sent behind, or all of whose data has been sent.
const SENT: u32 = u32::MAX;

/// Tasks of a domain that wait for others.
#[derive(Clone, Debug)]
pub(crate) struct Dependencies {
    numbering: Numbering,
    /// Tasks that wait for the end of another one.
    after: Successors,
    /// Tasks that wait for the data of a flow.
    behind: Successors,
    /// By place: the number of predecessors whose end it still needs.
    left: Vec<u32>,
    /// For each flow that others are sent behind, its number of packets until all are sent; empty without such flows.
    unsent: Vec<u32>,
}

impl Dependencies {
    /// Creates the dependencies of tasks at hosts that are `here`.
    pub fn new(network: &Network, here: impl Fn(u32) -> bool) -> Self {
        let after = Successors::new(network, |task| task.after, &here);
        let behind = Successors::new(network, |task| task.behind, &here);
        let packets = |(flow, number)| match behind.of(number) {
            [] => SENT,
            _ => network.packets_of(flow),
        };
        let unsent = if behind.is_empty() { Vec::new() } else { network.flows.iter().zip(0..).map(packets).collect() };
        let waits = !(after.is_empty() && behind.is_empty());
        let left = if waits { network.tasks().map(|task| task.needs()).collect() } else { Vec::new() };
        Self { numbering: Numbering::of(network), after, behind, left, unsent }
    }

    /// Counts a task as ended for those of its successors whose hosts are `here`, and returns the start timers of those that now
    /// have all that they need.
    pub(crate) fn finish(
        &mut self,
        network: &Network,
        now: Time,
        task: u32,
        here: impl Fn(u32) -> bool,
    ) -> impl Iterator<Item = Timer> {
        let &mut Self { numbering, ref after, ref mut left, .. } = self;
        let next = numbering.place(task).map_or(&[][..], |place| after.of(place)).iter();
        let next = next.filter(move |&&next| here(network.numbered_task(numbering.number(next)).host));
        next.filter_map(move |&next| start(network, numbering, left, now, next))
    }

    /// Returns whether some task waits for the data of a flow.
    pub(crate) fn ordered(&self) -> bool {
        !self.behind.is_empty()
    }

    /// Returns whether a flow whose next new packet is `next` has just sent the last data that other tasks wait for.
    pub fn all_sent(&mut self, flow: u32, next: u32) -> bool {
        // Nothing is sent behind a flow that has joined a run.
        let Some(packets) = self.unsent.get_mut(flow as usize) else { return false };
        let sent = next >= *packets;
        if sent {
            *packets = SENT;
        }
        sent
    }

    /// Counts the data of a flow as sent, and returns the start timers of tasks that now have all that they need.
    pub(crate) fn sent(&mut self, network: &Network, now: Time, flow: u32) -> impl Iterator<Item = Timer> {
        let &mut Self { numbering, ref behind, ref mut left, .. } = self;
        behind.of(flow).iter().filter_map(move |&next| start(network, numbering, left, now, next))
    }
}

/// Counts a predecessor of a task as ended, and returns the task's start timer if it needs no other.
fn start(network: &Network, numbering: Numbering, left: &mut [u32], now: Time, place: u32) -> Option<Timer> {
    let task = numbering.number(place);
    let at = || now + network.numbered_task(task).delay;
    count_down(left, place).then(|| Timer { at: at(), kind: Kind::Start, flow: task })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::network::{ComputationSpec, FlowSpec, Wait};
    use shallows_cc::units::Bytes;

    /// A flow of one byte that waits for nothing.
    fn one_byte() -> FlowSpec {
        FlowSpec::new(0, 1, Bytes(1), Time::ZERO)
    }

    /// Flow 2 waits for 0 and 1, flow 3 for 0 alone, flow 4 for 1 and the data of 2, flow 5 for any one of 0 and 1.
    #[test]
    fn a_flow_starts_when_the_last_that_it_waits_for_is_done() {
        let flow = |(after, behind, needs): &(Vec<u32>, Vec<u32>, u32)| FlowSpec {
            after: after.clone(),
            behind: behind.clone(),
            wait: Wait { needs: *needs, global: false },
            ..one_byte()
        };
        let waits = [
            (vec![], vec![], 0),
            (vec![], vec![], 0),
            (vec![0, 1], vec![], 0),
            (vec![0], vec![], 0),
            (vec![1], vec![2], 0),
            (vec![0, 1], vec![], 1),
        ];
        let network = Network { flows: waits.iter().map(flow).collect(), ..Network::bare() };
        let mut dependencies = Dependencies::new(&network, |_| true);
        let now = Time::from_micros(1);
        let flows = |timers: &mut dyn Iterator<Item = Timer>| timers.map(|timer| timer.flow).collect::<Vec<_>>();
        let mut finish = |flow| flows(&mut dependencies.finish(&network, now, flow, |_| true));
        assert_eq!(finish(1), [5]);
        assert_eq!(finish(0), [2, 3]);
        assert!(dependencies.ordered());
        assert!(!dependencies.all_sent(2, 0));
        assert!(dependencies.all_sent(2, 1));
        assert_eq!(flows(&mut dependencies.sent(&network, now, 2)), [4]);
        assert!(!dependencies.all_sent(2, 1));
    }

    /// The request counts its computation as task 1, behind its only flow. A second flow, which is added later, ends nobody's wait.
    #[test]
    fn a_flow_that_is_added_later_is_not_a_computation() {
        let computation = |after| ComputationSpec {
            host: 0,
            duration: Time::ZERO,
            start: Time::ZERO,
            processor: 0,
            after,
            behind: Vec::new(),
            wait: Wait::ALL,
        };
        let flow = FlowSpec { after: vec![1], ..one_byte() };
        let mut network = Network {
            flows: vec![flow],
            computations: vec![computation(Vec::new()), computation(vec![1])],
            ..Network::bare()
        };
        let mut dependencies = Dependencies::new(&network, |_| true);
        network.flows.push(one_byte());
        let mut finish = |task| -> Vec<_> {
            dependencies.finish(&network, Time::ZERO, task, |_| true).map(|timer| timer.flow).collect()
        };
        assert!(finish(1).is_empty());
        assert_eq!(finish(Numbering::COMPUTATION), [0, Numbering::COMPUTATION + 1]);
    }
}
