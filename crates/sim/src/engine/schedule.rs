//! What the driver does at set times: it ends a run, begins its statistics, reads queues and senders, looks for trouble.

use shallows_cc::units::Time;

/// What is due, in the order in which it goes at the same time; before all that happens in the network then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
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

/// Everything that is due, each thing once: a handful at most.
#[derive(Debug, Default)]
pub struct Schedule {
    /// What is due last comes first.
    due: Vec<(Time, Task)>,
}

impl Schedule {
    pub fn set(&mut self, at: Time, due: Task) {
        // What is due again is mostly so before all else.
        let later = self.due.iter().rposition(|&other| other > (at, due)).map_or(0, |place| place + 1);
        if self.due.get(later) != Some(&(at, due)) {
            self.due.insert(later, (at, due));
        }
    }

    /// When the next thing is due; [`Time::MAX`] if there is none.
    pub fn next(&self) -> Time {
        self.due.last().map_or(Time::MAX, |&(at, _)| at)
    }

    pub fn pop(&mut self) -> Option<(Time, Task)> {
        self.due.pop()
    }

    pub fn has(&self, due: Task) -> bool {
        self.due.iter().any(|&(_, other)| other == due)
    }
}
