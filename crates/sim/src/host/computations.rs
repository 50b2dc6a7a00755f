//! Computations of the hosts of a domain: each keeps a processor busy for a time, and no packet is sent.

use std::collections::{BTreeMap, VecDeque};

use shallows_cc::units::Time;

use crate::host::flow_table::OwnedTable;
use crate::queue::timers::{Kind, Timer};
use crate::spec::network::Network;
use crate::spec::task::Numbering;

/// Result of one computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComputationReport {
    /// When its processor began; [`Time::MAX`] if it never did.
    pub start: Time,
    /// When it ended; [`Time::MAX`] if it never did.
    pub finish: Time,
}

/// The computations of a domain.
#[derive(Clone, Debug)]
pub(crate) struct Computations {
    /// For each processor that is busy, by host and number, the computation that it executes, and those that wait for it.
    busy: BTreeMap<(u32, u32), VecDeque<u32>>,
    pub reports: OwnedTable<ComputationReport>,
    /// The number of computations that have not ended.
    pub unfinished: usize,
    /// When the last one ends of those that have started.
    pub last_end: Time,
}

impl Computations {
    /// Creates computations that have not started, at hosts that are `here`.
    pub fn new(network: &Network, here: impl Fn(u32) -> bool) -> Self {
        let (none, all) = (ComputationReport { start: Time::MAX, finish: Time::MAX }, &network.computations);
        Self {
            busy: BTreeMap::new(),
            reports: OwnedTable::new(none, all.len() as u32, |at| here(all[at as usize].host)),
            unfinished: all.iter().filter(|one| here(one.host)).count(),
            last_end: Time::ZERO,
        }
    }

    /// Gives a computation that is ready to its processor. Returns the timer of its end if it starts at once.
    pub(crate) fn enqueue(&mut self, network: &Network, now: Time, number: u32) -> Option<Timer> {
        let one = &network.computations[number as usize];
        let queue = self.busy.entry((one.host, one.processor)).or_default();
        queue.push_back(number);
        (queue.len() == 1).then(|| self.start(network, now, number))
    }

    /// Ends a computation. Returns the timer of the end of the next one that its processor starts.
    pub fn finish(&mut self, network: &Network, now: Time, number: u32) -> Option<Timer> {
        self.reports[number as usize].finish = now;
        self.unfinished -= 1;
        let one = &network.computations[number as usize];
        let queue = self.busy.get_mut(&(one.host, one.processor)).expect("its processor is busy");
        queue.pop_front();
        let next = queue.front().copied();
        if next.is_none() {
            self.busy.remove(&(one.host, one.processor));
        }
        next.map(|next| self.start(network, now, next))
    }

    fn start(&mut self, network: &Network, now: Time, number: u32) -> Timer {
        self.reports[number as usize].start = now;
        let at = now + network.computations[number as usize].duration;
        self.last_end = self.last_end.max(at);
        Timer { at, kind: Kind::Computed, flow: number | Numbering::COMPUTATION }
    }
}
