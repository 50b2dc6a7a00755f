//! A set of flows that is filled and emptied again and again.

/// A set of flows.
#[derive(Clone, Debug)]
pub struct FlowSet {
    /// By flow: whether it is in the set.
    contains: Vec<bool>,
    flows: Vec<u32>,
}

impl FlowSet {
    /// Creates the empty set, for flows below `flows`.
    pub(crate) fn new(flows: usize) -> Self {
        Self { contains: vec![false; flows], flows: Vec::new() }
    }

    /// Adds the next flow.
    pub(crate) fn join(&mut self) {
        self.contains.push(false);
    }

    /// Adds a flow.
    #[inline]
    pub fn insert(&mut self, flow: u32) {
        if !std::mem::replace(&mut self.contains[flow as usize], true) {
            self.flows.push(flow);
        }
    }

    /// Empties the set and returns its flows, in the order in which they were added.
    pub(crate) fn take(&mut self) -> Vec<u32> {
        for &flow in &self.flows {
            self.contains[flow as usize] = false;
        }
        std::mem::take(&mut self.flows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flow_is_taken_once() {
        let mut set = FlowSet::new(4);
        [2, 0, 2].into_iter().for_each(|flow| set.insert(flow));
        assert_eq!(set.take(), [2, 0]);
        assert!(set.take().is_empty());
        set.insert(2);
        assert_eq!(set.take(), [2]);
    }
}
