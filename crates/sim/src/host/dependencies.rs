//! Dependencies between flows: a flow starts when all its predecessors have finished at its host.

use std::collections::BTreeMap;

use crate::spec::network::Network;

/// Flows that wait for other flows.
#[derive(Debug, Default)]
pub struct Dependencies {
    /// For each predecessor, the flows that wait for it.
    dependents: BTreeMap<u32, Vec<u32>>,
    /// For each waiting flow, the number of its predecessors that have not finished.
    outstanding: BTreeMap<u32, u32>,
}

impl Dependencies {
    pub fn new(network: &Network) -> Self {
        let mut dependencies = Self::default();
        for (flow, number) in network.flows.iter().zip(0..) {
            for &predecessor in &flow.after {
                dependencies.dependents.entry(predecessor).or_default().push(number);
                *dependencies.outstanding.entry(number).or_default() += 1;
            }
        }
        dependencies
    }

    /// Counts a flow as finished for those of its dependents that are `here`, and returns those whose predecessors have now all
    /// finished.
    pub fn finish(&mut self, flow: u32, here: impl Fn(u32) -> bool) -> impl Iterator<Item = u32> {
        let Self { dependents, outstanding } = self;
        let waiting = dependents.get(&flow).map_or(&[][..], Vec::as_slice).iter().copied();
        waiting.filter(move |&next| here(next)).filter(|next| {
            let left = outstanding.get_mut(next).expect("a dependent has predecessors");
            *left -= 1;
            *left == 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::network::{Application, FlowSpec};
    use shallows_cc::units::{Bytes, Time};

    /// Flow 2 waits for 0 and 1, flow 3 for 0 alone.
    #[test]
    fn a_flow_starts_when_its_last_predecessor_finishes() {
        let flow = |after: &[u32]| FlowSpec {
            src: 0,
            dst: 1,
            bytes: Bytes(1),
            start: Time::ZERO,
            after: after.to_vec(),
            stop: Time::MAX,
            application: Application::EAGER,
            priority: false,
            control: 0,
        };
        let flows = [&[][..], &[], &[0, 1], &[0]].map(flow).to_vec();
        let mut dependencies = Dependencies::new(&Network { flows, ..Network::bare() });
        let mut finish =
            |flow, here: &[u32]| dependencies.finish(flow, |next| here.contains(&next)).collect::<Vec<_>>();
        assert_eq!(finish(1, &[3]), []);
        assert_eq!(finish(0, &[2, 3]), [3]);
        assert_eq!(finish(1, &[2]), [2]);
    }
}
