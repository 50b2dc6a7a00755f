//! The run loop of a network: one domain alone, or several in windows and on several threads ([`crate::parallel::window`]).
//!
//! The outcome is the same for any number of domains and threads. Where a single event may end the run, domains advance in the total
//! order of all events instead of in windows: the domain with the next event runs until another one has an earlier event.

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

use shallows_cc::units::Time;

use crate::engine::domain::Domain;
use crate::observe::Observer;
use crate::parallel::barrier::{Barrier, BarrierGuard, SpinBudget};
use crate::parallel::network::ParallelNetwork;
use crate::parallel::window::{Party, RunLimits};

/// Windows between two computations of the earliest finish.
const FINISH_CHECK_INTERVAL: u64 = 16;

/// Events between two checks of the packet limit in a run with one domain. An event creates a few packets at most; a NIC that accepts a
/// whole window at once makes its own check ([`Fabric::check_at_packets`](crate::fabric::Fabric)).
const CHECK_INTERVAL: u64 = 1 << 16;

/// Growth of the number of packets in flight that interrupts a run, so that the limit is checked.
const CHECK_GROWTH: u64 = 1 << 20;

/// Reasons for which the network has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// No event is left before the time limit.
    TimeLimit,
    /// The number of events is reached, or an event has created very many packets.
    EventLimit,
    /// A link was paused at this time.
    Paused(Time),
    /// The number of packets in flight has reached the packet limit.
    TooManyPackets,
    /// The run ends with its flows, and all have finished.
    Finished,
}

impl<O: Observer> ParallelNetwork<O> {
    /// Executes all events before `limit`, until the total number of events is `events`, or the driver has to act. With `pause_window`
    /// it also stops where a link is paused, and windows are no longer than that.
    pub fn run(&mut self, limit: Time, events: u64, pause_window: Option<Time>) -> Stop {
        let check_at = self.max_packets.min(self.live() + CHECK_GROWTH);
        self.domains.iter_mut().for_each(|domain| domain.fabric.check_at_packets = check_at);
        if let [domain] = &mut self.domains[..] {
            run_alone(domain, limit, events);
        } else {
            let limits = RunLimits {
                limit,
                events,
                packets: check_at,
                awaits_pause: pause_window.is_some(),
                lookahead: self.partition.lookahead,
                max_window: pause_window.unwrap_or(Time::MAX),
                earliest_finish: self.earliest_finish,
            };
            if self.stops_at_completion {
                self.run_to_completion(&limits);
            } else {
                self.run_windows(limits);
            }
            self.flush_outboxes();
        }
        let paused = self.take_pause();
        if self.live() >= self.max_packets {
            Stop::TooManyPackets
        } else if self.is_done() {
            Stop::Finished
        } else if let Some(at) = paused {
            Stop::Paused(at)
        } else if self.events() >= events || self.next_time() < limit {
            Stop::EventLimit
        } else {
            Stop::TimeLimit
        }
    }

    fn run_windows(&mut self, mut limits: RunLimits) {
        loop {
            limits.earliest_finish = self.earliest_finish;
            if !limits.allows_window(self.next_time()) {
                limits.earliest_finish = self.compute_earliest_finish(&limits);
            }
            let threads = if limits.allows_window(self.next_time()) { self.threads } else { 1 };
            let (horizon, next) = self.run_threads(&limits, threads);
            self.horizon = horizon;
            let paused = self.is_paused(&limits);
            if next >= limits.limit || self.events() >= limits.events || paused || self.live() >= limits.packets {
                return;
            }
            let (end, before) = (limits.window(next), self.events());
            self.run_sequential(end);
            self.outside_windows += self.events() - before;
            self.horizon = end;
            if self.is_done() {
                return;
            }
        }
    }

    /// Advances all domains in windows on this number of threads.
    fn run_threads(&mut self, limits: &RunLimits, threads: usize) -> (Time, Time) {
        let horizon = self.horizon;
        if threads == 1 {
            let (mailboxes, barrier) = (&*self.mailboxes.0, &Barrier::new(1));
            let party = Party { mailboxes, barrier, number: 0, first: 0, spin_budget: SpinBudget::NONE };
            return party.run(&mut self.domains, horizon, limits);
        }
        let per_thread = self.domains.len().div_ceil(threads);
        let has_cores = threads <= available_parallelism().map_or(1, NonZero::get);
        let spin_budget = if has_cores { SpinBudget::SOME } else { SpinBudget::NONE };
        let mut rest = std::mem::take(&mut self.domains).into_iter();
        // The workers outlive this call, so they own their domains until it ends.
        let chunks: Vec<Vec<_>> = std::iter::from_fn(|| Some(rest.by_ref().take(per_thread).collect()))
            .take_while(|chunk: &Vec<_>| !chunk.is_empty())
            .collect();
        let barrier = Arc::new(Barrier::new(chunks.len()));
        let jobs = chunks.into_iter().enumerate().map(|(number, mut chunk)| {
            let (mailboxes, barrier, limits) = (Arc::clone(&self.mailboxes.0), Arc::clone(&barrier), *limits);
            move || {
                let _guard = BarrierGuard(&barrier);
                let first = number * per_thread;
                let party = Party { mailboxes: &mailboxes, barrier: &barrier, number, first, spin_budget };
                let reached = party.run(&mut chunk, horizon, &limits);
                (chunk, reached)
            }
        });
        let outcomes = self.pool.run(jobs);
        let reached = outcomes[0].1;
        self.domains = outcomes.into_iter().flat_map(|(chunk, _)| chunk).collect();
        reached
    }

    /// Moves all packets between domains to the domain to which their link leads, where inspection looks for them.
    fn flush_outboxes(&mut self) {
        for from in 0..self.domains.len() {
            let batches: Vec<_> = self.domains[from].fabric.batches().iter_mut().map(std::mem::take).collect();
            for (domain, mut batch) in self.domains.iter_mut().zip(batches) {
                domain.fabric.import(&mut batch);
            }
        }
    }

    /// Improves the lower bound on the last flow's finish by what is still to be sent, unless this was done recently. A bound within the
    /// next window, such as one before the first flow has started, is computed again after that window.
    fn compute_earliest_finish(&mut self, limits: &RunLimits) -> Time {
        if self.horizon >= self.next_finish_check {
            let end = |domain: &Domain<O>| domain.hosts.last_end(&domain.fabric.routes, self.horizon, self.least_delay);
            let ends = self.domains.iter().map(end);
            self.earliest_finish = ends.fold(self.earliest_finish, Time::max);
            let allows_window =
                RunLimits { earliest_finish: self.earliest_finish, ..*limits }.allows_window(self.next_time());
            let windows = if allows_window { FINISH_CHECK_INTERVAL } else { 1 };
            self.next_finish_check = self.horizon + self.partition.lookahead * windows;
        }
        self.earliest_finish
    }

    /// Executes all events before `end` in their total order, up to the finish of the last flow.
    fn run_sequential(&mut self, end: Time) {
        while !self.is_done() && !self.stops() {
            let (mut first, mut at, mut behind) = (0, Time::MAX, Time::MAX);
            for (number, domain) in self.domains.iter().enumerate() {
                match domain.next_time() {
                    next if next < at => (first, at, behind) = (number, next, at),
                    next => behind = behind.min(next),
                }
            }
            if at >= end {
                return;
            }
            if at == behind {
                self.run_ties(at);
            } else {
                self.domains[first].fabric.interrupt = false;
                self.domains[first].run(behind.min(end), u64::MAX);
            }
        }
    }

    /// Executes all events before the limit in their total order, up to the completion of a flow. The part that is executed between two
    /// exchanges of packets is as long as a window.
    fn run_to_completion(&mut self, limits: &RunLimits) {
        loop {
            let (horizon, lookahead) = (self.horizon, limits.lookahead);
            // A port that marks at departure holds packets back until its next departure is known.
            let needed = self.domains.iter_mut().map(|domain| domain.fabric.flush(horizon, lookahead)).min();
            self.flush_outboxes();
            let next = self.next_time().min(needed.unwrap_or(Time::MAX)).max(horizon);
            if next >= limits.limit {
                self.horizon = horizon.max(limits.limit);
                return;
            }
            let (end, before) = (limits.window(next), self.events());
            self.run_sequential(end);
            self.outside_windows += self.events() - before;
            if self.is_done() || self.stops() {
                return;
            }
            self.horizon = end;
            if self.events() >= limits.events || self.is_paused(limits) || self.live() >= limits.packets {
                return;
            }
        }
    }

    /// Whether a link was paused, if that is awaited.
    fn is_paused(&self, limits: &RunLimits) -> bool {
        limits.awaits_pause && self.domains.iter().any(|domain| domain.fabric.first_pause < Time::MAX)
    }

    /// Executes the events of one instant, which several domains share, in their total order.
    fn run_ties(&mut self, at: Time) {
        while !self.is_done() && !self.stops() {
            let next = self.domains.iter_mut().filter_map(|domain| Some((domain.next_at(at)?, domain)));
            let Some((_, domain)) = next.min_by_key(|next| next.0) else { return };
            domain.fabric.interrupt = false;
            domain.run(at + Time(1), 1);
        }
    }

    fn take_pause(&mut self) -> Option<Time> {
        let take = |domain: &mut Domain<O>| {
            domain.fabric.interrupt = false;
            std::mem::replace(&mut domain.fabric.first_pause, Time::MAX)
        };
        self.domains.iter_mut().map(take).min().filter(|&at| at < Time::MAX)
    }
}

/// Executes all events of the only domain before `limit`, until the total number of events is `events`.
fn run_alone<O: Observer>(domain: &mut Domain<O>, limit: Time, events: u64) {
    loop {
        let left = events.saturating_sub(domain.processed()).min(CHECK_INTERVAL);
        if left == 0 || domain.run(limit, left) < left || domain.fabric.has_too_many_packets() {
            return;
        }
    }
}
