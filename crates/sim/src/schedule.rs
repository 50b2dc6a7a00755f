//! What the driver does at set times: it ends a run, begins its statistics, reads queues and senders, looks for trouble.

use std::collections::BTreeSet;

use shallows_cc::units::Time;

/// What is due, in the order in which it goes at the same time; before all that happens in the network then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// The run is over.
    End,
    /// Statistics begin.
    Warmup,
    /// Something happens to a link.
    Fault,
    /// Switches have heard of it.
    Convergence,
    /// Queues are read.
    Queues,
    /// Senders are read.
    Probes,
    /// Paused links are searched for a deadlock.
    Deadlock,
    /// Flows are looked at: do they get on?
    Watch,
}

/// Everything that is due, each thing once.
#[derive(Debug, Default)]
pub struct Schedule {
    due: BTreeSet<(Time, Due)>,
}

impl Schedule {
    pub fn set(&mut self, at: Time, due: Due) {
        self.due.insert((at, due));
    }

    /// When the next thing is due; [`Time::MAX`] if there is none.
    pub fn next(&self) -> Time {
        self.due.first().map_or(Time::MAX, |&(at, _)| at)
    }

    pub fn pop(&mut self) -> Option<(Time, Due)> {
        self.due.pop_first()
    }

    pub fn has(&self, due: Due) -> bool {
        self.due.iter().any(|&(_, other)| other == due)
    }
}
