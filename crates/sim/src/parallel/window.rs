//! Conservative windows: how domains advance without seeing an event too late.
//!
//! The *lookahead* is a lower bound on the time from sending a packet to another domain until it arrives there: the delay of a link
//! plus the time to send the smallest frame, the least over all links between domains ([`crate::parallel::partition`]). Suppose that
//! the next event of the whole network is at time t. Nothing that happens from t on can reach another domain before t + lookahead.
//! So each domain can execute its events in the window from t to t + lookahead without hearing from the others. Then the domains
//! exchange the packets that they sent ([`crate::parallel::mailbox`]), and the time of their next event gives the next window.
//!
//! Several threads do not wait for each other after each window. Their windows are half as long, so a window only needs what the
//! others have done up to the last but one, and a thread that had less to do continues meanwhile.

use shallows_cc::units::Time;

use crate::engine::domain::Domain;
use crate::observe::Observer;
use crate::parallel::barrier::{Barrier, SpinBudget};
use crate::parallel::mailbox::Mailboxes;
use crate::parallel::status::DomainStatus;

/// How far windows go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLimits {
    /// Only events before this time are executed.
    pub limit: Time,
    /// The run stops with the window in which this number of events is reached,
    pub events: u64,
    /// or this number of packets in flight,
    pub packets: u64,
    /// or a link is paused, if that is awaited.
    pub awaits_pause: bool,
    /// See above.
    pub lookahead: Time,
    /// Upper bound on a window while a pause is awaited.
    pub max_window: Time,
    /// Windows end by this time: from here on a single event may end the run.
    pub earliest_finish: Time,
}

impl RunLimits {
    /// The end of a window that begins at a time before which everything is known.
    pub fn window(&self, start: Time) -> Time {
        self.part_of_window(start, 1)
    }

    fn part_of_window(&self, start: Time, parts: u64) -> Time {
        Time(start.0.saturating_add(self.lookahead.min(self.max_window).0 / parts)).min(self.limit)
    }

    /// Whether no single event in the window may end the run.
    pub(crate) fn allows_window(&self, start: Time) -> bool {
        self.window(start) <= self.earliest_finish
    }

    /// Whether the window is executed, given the status of all domains.
    fn goes_on(&self, total: &DomainStatus, (start, end): (Time, Time)) -> bool {
        let enough = total.events >= self.events || total.live >= self.packets;
        let paused = self.awaits_pause && total.paused < Time::MAX;
        start < self.limit && !enough && !paused && end <= self.earliest_finish
    }
}

/// State with which a thread advances its domains together with the other threads.
pub struct Party<'a> {
    pub mailboxes: &'a Mailboxes,
    pub barrier: &'a Barrier,
    /// The number of the thread.
    pub number: usize,
    /// The number of its first domain.
    pub first: usize,
    pub spin_budget: SpinBudget,
}

impl Party<'_> {
    /// Advances the domains of this thread window by window. Everything before the first time that it returns has been executed, and
    /// the next window must start by the second one.
    pub(crate) fn run<O: Observer>(
        mut self,
        domains: &mut [Domain<O>],
        mut horizon: Time,
        limits: &RunLimits,
    ) -> (Time, Time) {
        let lag = u64::from(self.barrier.parties() > 1);
        // In the first step no events are executed: all threads publish their status.
        let (mut step, mut received) = (0, 0);
        loop {
            let mut status = DomainStatus::NONE;
            for (number, domain) in (self.first..).zip(&mut *domains) {
                status = status.with(self.mailboxes.flush(step, (number, domain), horizon, limits.lookahead));
            }
            self.barrier.arrive(self.number, step, &status);
            let known = step.saturating_sub(lag);
            if !self.barrier.wait(known, &mut self.spin_budget) {
                return (horizon, horizon);
            }
            self.mailboxes.receive(&mut received, known, (self.first, domains));
            let start = self.next_time(known).max(horizon);
            let end = limits.part_of_window(start, 1 + lag);
            if !limits.goes_on(&self.barrier.total(known), (start, end)) {
                break;
            }
            domains.iter_mut().for_each(|domain| domain.run_until(end));
            horizon = end;
            step += 1;
        }
        if !self.barrier.wait(step, &mut self.spin_budget) {
            return (horizon, horizon);
        }
        self.mailboxes.receive(&mut received, step, (self.first, domains));
        (horizon, self.next_time(step).max(horizon))
    }

    /// The time of the next event of all domains, from the status of a step. Packets sent one step earlier may not have been received
    /// then.
    fn next_time(&self, step: u64) -> Time {
        self.barrier.total(step).first().min(self.barrier.total(step.saturating_sub(1)).sent)
    }
}
