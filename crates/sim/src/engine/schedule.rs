//! The schedule of the driver's tasks.

use shallows_cc::units::Time;

use crate::spec::check::MAX_TIME;
use crate::spec::network::Network;

/// The interval at which a network with paused links is searched for a deadlock, which lasts for ever.
pub const DEADLOCK_INTERVAL: Time = Time::from_millis(1);

/// Tasks, in the order of simultaneous ones. A task comes before all events of the network at its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    /// The run ends.
    End,
    /// The warm-up ends and statistics begin.
    Warmup,
    /// A fault of a link is applied.
    Fault,
    /// Senders take windows and paces that another program has set.
    SenderSettings,
    /// Switches have learned of a fault.
    Convergence,
    /// Queues are recorded.
    Queues,
    /// Internals of senders are recorded.
    Probes,
    /// Paused links are searched for a deadlock.
    Deadlock,
    /// The stall detector checks the flows.
    StallCheck,
    /// The goodput of groups of flows is recorded.
    Goodput,
}

/// The scheduled tasks, each at most once per time: a handful.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The last task comes first.
    tasks: Vec<(Time, Task)>,
}

impl Schedule {
    /// The tasks that are known from the start; `stall_check` is the time of the first check of the stall detector.
    pub(crate) fn new(network: &Network, stall_check: Option<Time>) -> Self {
        let mut schedule = Self::default();
        let mut set = |at, wanted: bool, task| {
            if wanted {
                schedule.set(at, task);
            }
        };
        set(network.duration.min(MAX_TIME), true, Task::End);
        set(network.warmup, network.warmup > Time::ZERO, Task::Warmup);
        set(Time::ZERO, network.record.queue_interval > Time::ZERO, Task::Queues);
        set(network.record.probe_interval, network.record.probe_interval > Time::ZERO, Task::Probes);
        if let Some(goodput) = &network.record.goodput {
            set(goodput.interval, true, Task::Goodput);
        }
        if let Some(first) = network.faults.first() {
            set(first.at, true, Task::Fault);
        }
        if let Some(first) = network.sender_settings.first() {
            set(first.at, true, Task::SenderSettings);
        }
        if let Some(at) = stall_check {
            set(at, true, Task::StallCheck);
        }
        schedule
    }

    /// Schedules a task.
    pub fn set(&mut self, at: Time, task: Task) {
        // A task that is scheduled again mostly comes before all others.
        let later = self.tasks.iter().rposition(|&other| other > (at, task)).map_or(0, |place| place + 1);
        if self.tasks.get(later) != Some(&(at, task)) {
            self.tasks.insert(later, (at, task));
        }
    }

    /// The time of the next task; [`Time::MAX`] if there is none.
    pub(crate) fn next(&self) -> Time {
        self.tasks.last().map_or(Time::MAX, |&(at, _)| at)
    }

    /// Removes the next task and returns it.
    pub fn pop(&mut self) -> Option<(Time, Task)> {
        self.tasks.pop()
    }

    /// Whether such a task is scheduled.
    pub(crate) fn has(&self, task: Task) -> bool {
        self.tasks.iter().any(|&(_, other)| other == task)
    }
}
