//! Dependencies between flows: a flow starts when all its predecessors have finished at its host, and all data of the flows
//! that it is sent behind has left it.

use std::collections::BTreeMap;

use shallows_cc::units::Time;

use crate::queue::timers::{Kind, Timer};
use crate::spec::network::Network;

/// Flows that wait for other flows.
#[derive(Debug, Default)]
pub struct Dependencies {
    /// For each predecessor, the flows that wait for its end.
    dependents: BTreeMap<u32, Vec<u32>>,
    /// For each flow with unsent data, its number of packets, and the flows that are sent behind it.
    sent_behind: BTreeMap<u32, (u64, Vec<u32>)>,
    waiting: BTreeMap<u32, Waiting>,
}

/// A flow that waits.
#[derive(Debug)]
struct Waiting {
    /// Number of flows that it still waits for.
    left: usize,
    /// Time from the end of the wait to the start of the flow.
    delay: Time,
}

impl Dependencies {
    pub fn new(network: &Network) -> Self {
        let mut dependencies = Self::default();
        for (flow, number) in network.flows.iter().zip(0..) {
            for &predecessor in &flow.after {
                dependencies.dependents.entry(predecessor).or_default().push(number);
            }
            for &first in &flow.behind {
                let packets = network.flows[first as usize].bytes.0.div_ceil(network.mss().0);
                dependencies.sent_behind.entry(first).or_insert((packets, Vec::new())).1.push(number);
            }
            if !flow.starts_by_itself() {
                let left = flow.after.len() + flow.behind.len();
                dependencies.waiting.insert(number, Waiting { left, delay: flow.start });
            }
        }
        dependencies
    }

    /// Counts a flow as finished for those of its dependents that are `here`, and returns the start timers of those that now wait
    /// for nothing.
    pub fn finish(&mut self, now: Time, flow: u32, here: impl Fn(u32) -> bool) -> impl Iterator<Item = Timer> {
        let Self { dependents, waiting, .. } = self;
        let next = dependents.get(&flow).map_or(&[][..], Vec::as_slice).iter().copied();
        next.filter(move |&next| here(next)).filter_map(move |next| count_down(waiting, now, next))
    }

    /// Returns whether some flow is sent behind another.
    pub fn ordered(&self) -> bool {
        !self.sent_behind.is_empty()
    }

    /// Counts a flow whose next new packet is `next` as sent if it has no more data, and returns the start timers of those that
    /// now wait for nothing.
    pub fn sent(&mut self, now: Time, flow: u32, next: u32) -> impl Iterator<Item = Timer> {
        let Self { sent_behind, waiting, .. } = self;
        let all = sent_behind.get(&flow).is_some_and(|&(packets, _)| u64::from(next) >= packets);
        let behind = all.then(|| sent_behind.remove(&flow)).flatten().map_or(Vec::new(), |(_, behind)| behind);
        behind.into_iter().filter_map(move |next| count_down(waiting, now, next))
    }
}

/// Returns the start timer of a flow if what is done now was the last that it waited for.
fn count_down(waiting: &mut BTreeMap<u32, Waiting>, now: Time, flow: u32) -> Option<Timer> {
    let wait = waiting.get_mut(&flow).expect("the flow waits");
    wait.left -= 1;
    (wait.left == 0).then(|| Timer { at: now + wait.delay, kind: Kind::Start, flow })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::network::{Application, FlowSpec};
    use shallows_cc::units::{Bytes, Time};

    /// Flow 2 waits for 0 and 1, flow 3 for 0 alone, flow 4 for 1 and the data of 2.
    #[test]
    fn a_flow_starts_when_the_last_that_it_waits_for_is_done() {
        let flow = |(after, behind): &(Vec<u32>, Vec<u32>)| FlowSpec {
            src: 0,
            dst: 1,
            bytes: Bytes(1),
            start: Time::ZERO,
            after: after.clone(),
            behind: behind.clone(),
            stop: Time::MAX,
            application: Application::EAGER,
            priority: false,
            control: 0,
        };
        let waits = [(vec![], vec![]), (vec![], vec![]), (vec![0, 1], vec![]), (vec![0], vec![]), (vec![1], vec![2])];
        let flows = waits.iter().map(flow).collect();
        let mut dependencies = Dependencies::new(&Network { flows, ..Network::bare() });
        let now = Time::from_micros(1);
        let flows = |timers: &mut dyn Iterator<Item = Timer>| timers.map(|timer| timer.flow).collect::<Vec<_>>();
        let mut finish = |flow, here: &[u32]| flows(&mut dependencies.finish(now, flow, |next| here.contains(&next)));
        assert_eq!(finish(1, &[3]), []);
        assert_eq!(finish(0, &[2, 3]), [3]);
        assert_eq!(finish(1, &[2, 4]), [2]);
        assert!(dependencies.ordered());
        assert_eq!(flows(&mut dependencies.sent(now, 2, 0)), []);
        assert_eq!(flows(&mut dependencies.sent(now, 2, 1)), [4]);
        assert_eq!(flows(&mut dependencies.sent(now, 2, 1)), []);
    }
}
