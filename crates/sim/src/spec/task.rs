//! Tasks: flows and computations, which wait for each other.
//!
//! A request counts computations behind its flows: this count is the place of a task. The engine numbers the two kinds apart
//! ([`Numbering`]), so that flows can be added to a run. A flow ends at its receiver when that has all of it, and at its sender when that
//! knows; a computation ends at its own host.

use shallows_cc::units::{Bytes, Time};

use crate::spec::check::{MAX_TIME, Mistake, ensure};
use crate::spec::computation::Wait;
use crate::spec::network::Network;

/// A flow or a computation, as far as it waits for others.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Where it starts.
    pub host: u32,
    /// The time from the end of its wait to its start; its start if it waits for nothing.
    pub delay: Time,
    /// Tasks that must have ended at the host.
    pub after: &'a [u32],
    /// Flows of the host, all of whose data must have left it.
    pub behind: &'a [u32],
    /// How it waits for them.
    pub wait: Wait,
}

impl Task<'_> {
    /// The number of predecessors whose end starts it.
    #[must_use]
    pub fn needs(&self) -> u32 {
        let all = (self.after.len() + self.behind.len()) as u32;
        if self.wait.needs == 0 { all } else { self.wait.needs }
    }
}

/// Numbers of tasks. A flow has the number of its row, and a computation that of its row with [`Numbering::COMPUTATION`] set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    /// The number of flows of the request, behind which it counts computations.
    flows: u32,
}

impl Numbering {
    /// The bit that marks a computation.
    pub const COMPUTATION: u32 = 1 << 31;

    /// The numbers of the tasks of a request.
    pub const fn of(network: &Network) -> Self {
        Self { flows: network.flows.len() as u32 }
    }

    /// The number of the task at a place of the request.
    pub const fn number(self, place: u32) -> u32 {
        if place < self.flows { place } else { (place - self.flows) | Self::COMPUTATION }
    }

    /// The place of a task in the request; `None` for a flow that was added later.
    pub fn place(self, number: u32) -> Option<u32> {
        if number & Self::COMPUTATION == 0 {
            return (number < self.flows).then_some(number);
        }
        Some(self.flows + (number ^ Self::COMPUTATION))
    }
}

impl Network {
    /// A task by its number.
    pub(crate) fn numbered_task(&self, number: u32) -> Task<'_> {
        if number & Numbering::COMPUTATION == 0 {
            let flow = self.flow(number);
            return Task {
                host: flow.src,
                delay: flow.start,
                after: &flow.after,
                behind: &flow.behind,
                wait: flow.wait,
            };
        }
        let one = &self.computations[(number ^ Numbering::COMPUTATION) as usize];
        Task { host: one.host, delay: one.start, after: &one.after, behind: &one.behind, wait: one.wait }
    }

    /// A task by its place in the request.
    #[must_use]
    pub fn task(&self, place: u32) -> Task<'_> {
        self.numbered_task(Numbering::of(self).number(place))
    }

    /// All tasks in the order of their places.
    pub fn tasks(&self) -> impl Iterator<Item = Task<'_>> {
        (0..(self.flows.len() + self.computations.len()) as u32).map(|place| self.task(place))
    }

    /// Whether some task may wait for what ends at another host.
    #[must_use]
    pub fn has_global_tasks(&self) -> bool {
        self.tasks().any(|task| task.wait.global)
    }

    /// What a message calls a task.
    fn task_name(&self, number: u32) -> String {
        let flows = self.flows.len() as u32;
        if number < flows { format!("flow {number}") } else { format!("computation {}", number - flows) }
    }

    /// Whether a task ends at a host without news from elsewhere.
    fn ends_at(&self, number: u32, host: u32) -> bool {
        match self.flows.get(number as usize) {
            Some(flow) => flow.src == host || flow.dst == host,
            None => self.task(number).host == host,
        }
    }

    /// Checks computations, and what tasks wait for.
    pub(super) fn check_tasks(&self) -> Result<(), Mistake> {
        let (hosts, most) = (self.hosts, MAX_TIME.0);
        for (at, one) in self.computations.iter().enumerate() {
            ensure!(one.host < hosts, "computations.host[{at}]", one.host, "one of {hosts} hosts");
            let duration = one.duration.0;
            ensure!(duration <= most, "computations.duration_ps[{at}]", duration, "at most {most}");
        }
        for (task, number) in self.tasks().zip(0..) {
            self.check_wait(number, &task)
                .map_err(|wrong| Mistake { key: format!("{} of {}", wrong.key, self.task_name(number)), ..wrong })?;
        }
        if let Err(cycle) = self.order() {
            let names: Vec<_> = cycle.iter().map(|&task| self.task_name(task)).collect();
            let names = names.join(", ");
            ensure!(false, "predecessors", names, "no cycle: each waits for the next, and the last for the first");
        }
        Ok(())
    }

    fn check_wait(&self, number: u32, task: &Task<'_>) -> Result<(), Mistake> {
        let (count, host) = (self.flows.len() + self.computations.len(), task.host);
        for &first in task.after {
            let endless = self.flows.get(first as usize).is_some_and(|flow| flow.bytes == Bytes::MAX);
            let known = (first as usize) < count && !endless;
            ensure!(known, "after", first, "a task below {count} with an end");
            let heard = task.wait.global || self.ends_at(first, host);
            ensure!(heard, "wait.global", false, "true: task {first} does not end at host {host}");
        }
        for &first in task.behind {
            let same = self.flows.get(first as usize).filter(|flow| flow.src == host);
            let sent = same.is_some_and(|flow| flow.bytes != Bytes::MAX);
            ensure!(sent, "behind", first, "a flow of host {host} with an end");
        }
        let (all, needs) = (task.after.len() + task.behind.len(), task.wait.needs);
        ensure!(needs as usize <= all, "wait.needs", needs, "at most its {all} predecessors");
        let stop = self.flows.get(number as usize).map_or(Time::MAX, |flow| flow.stop);
        ensure!(all == 0 || stop == Time::MAX, "stop_ps", stop.0, "none: it waits for others");
        Ok(())
    }

    /// The tasks in an order in which each follows as many predecessors as it needs.
    ///
    /// # Errors
    /// Tasks of which each waits for the next, and the last for the first.
    pub fn order(&self) -> Result<Vec<u32>, Vec<u32>> {
        let both =
            [Successors::new(self, |task| task.after, |_| true), Successors::new(self, |task| task.behind, |_| true)];
        let mut left: Vec<_> = self.tasks().map(|task| task.needs()).collect();
        let mut order: Vec<_> = (0..left.len() as u32).filter(|&task| left[task as usize] == 0).collect();
        let mut at = 0;
        while let Some(&task) = order.get(at) {
            at += 1;
            for &next in both.iter().flat_map(|successors| successors.of(task)) {
                if count_down(&mut left, next) {
                    order.push(next);
                }
            }
        }
        if order.len() == left.len() { Ok(order) } else { Err(self.cycle(&left)) }
    }

    /// A cycle of the tasks that still wait.
    fn cycle(&self, left: &[u32]) -> Vec<u32> {
        let waits = |&task: &u32| left[task as usize] > 0;
        let mut path = vec![(0..left.len() as u32).find(waits).expect("a task waits")];
        loop {
            let task = self.task(path[path.len() - 1]);
            let next = task.after.iter().chain(task.behind).copied().find(waits).expect("it waits for one that waits");
            if let Some(first) = path.iter().position(|&task| task == next) {
                return path.split_off(first);
            }
            path.push(next);
        }
    }
}

/// Counts one predecessor of a task as ended. Returns true if the task needs no other.
pub fn count_down(left: &mut [u32], task: u32) -> bool {
    let left = &mut left[task as usize];
    let waited = *left > 0;
    *left = left.saturating_sub(1);
    waited && *left == 0
}

/// For each task those that wait for it, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub struct Successors {
    /// For each task the index of its first successor, and the number of them at the end; empty if no task waits.
    first: Vec<u32>,
    tasks: Vec<u32>,
}

impl Successors {
    /// Those at the hosts that are `here`, by one kind of predecessors.
    pub fn new(network: &Network, kind: impl for<'a> Fn(Task<'a>) -> &'a [u32], here: impl Fn(u32) -> bool) -> Self {
        let count = network.flows.len() + network.computations.len();
        let pairs = || network.tasks().zip(0_u32..).filter(|(task, _)| here(task.host));
        let mut first = vec![0; count + 1];
        pairs().for_each(|(task, _)| kind(task).iter().for_each(|&before| first[before as usize] += 1));
        let mut sum = 0;
        for place in &mut first {
            sum += *place;
            *place = sum;
        }
        if sum == 0 {
            return Self::default();
        }
        let mut tasks = vec![0; sum as usize];
        // From the last one on, so that each is entered before those that follow it, and `first` ends at the first one.
        for number in (0..count as u32).rev() {
            let task = network.task(number);
            for &before in kind(task).iter().filter(|_| here(task.host)) {
                first[before as usize] -= 1;
                tasks[first[before as usize] as usize] = number;
            }
        }
        Self { first, tasks }
    }

    /// The tasks that wait for one.
    pub fn of(&self, task: u32) -> &[u32] {
        match self.first.get(task as usize..task as usize + 2) {
            Some(&[first, end]) => &self.tasks[first as usize..end as usize],
            _ => &[],
        }
    }

    /// Whether no task waits for another.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}
