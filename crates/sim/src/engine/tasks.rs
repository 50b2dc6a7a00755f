//! The scheduled tasks of a run: faults and reroutes, records, the end of the warm-up, and the search for deadlocks and stalls.

use shallows_cc::units::Time;

use crate::engine::answer::Deadlock;
use crate::engine::deadlock;
use crate::engine::packet_limit;
use crate::engine::schedule::{DEADLOCK_INTERVAL, Task};
use crate::engine::simulation::Simulation;
use crate::observe::Observer;
use crate::spec::check::MAX_TIME;
use crate::spec::fault::{Change, Fault};

impl<O: Observer> Simulation<O> {
    /// Runs the next task, or ends the run if nothing can happen any more.
    pub(super) fn run_task(&mut self) {
        if self.is_stalled() {
            return self.no_more_events();
        }
        let Some((at, task)) = self.schedule.pop() else { return self.no_more_events() };
        self.domains.set_now(at);
        self.tasks += 1;
        match task {
            Task::End => self.end(),
            Task::Warmup => self.end_warmup(),
            Task::Fault => self.apply_faults(),
            Task::SenderSettings => self.apply_sender_settings(),
            Task::Convergence => self.converge(),
            Task::Queues => self.record_queues(),
            Task::Probes => self.record_probes(),
            Task::Deadlock => self.search_deadlock(),
            Task::StallCheck => self.check_for_stall(),
            Task::Goodput => self.record_goodput(),
        }
    }

    /// True if flows are unfinished but no event is pending and no scheduled task can create one.
    fn is_stalled(&self) -> bool {
        let waits =
            self.domains.unfinished_tasks() > 0 && self.domains.next_time() == Time::MAX && self.deadlock.is_none();
        waits && !self.may_grow() && !self.domains.is_part() && !self.schedule.has(Task::Deadlock) && !self.may_change()
    }

    /// Ends a run that has reached the packet limit.
    pub(super) fn stop_at_packet_limit(&mut self) {
        self.over = true;
        self.problems.push(packet_limit::problem(&self.network, &self.domains));
    }

    /// Ends a run at its duration, or a run that should end with its flows at the longest simulated time.
    fn end(&mut self) {
        self.over = true;
        let unfinished = self.domains.unfinished_tasks();
        if self.network.duration == Time::MAX && unfinished > 0 {
            let seconds = MAX_TIME.0 / Time::from_secs_whole(1).0;
            self.problems.push(format!(
                "{unfinished} flows or computations have not finished in the longest simulated time, {seconds} s"
            ));
        }
    }

    /// Ends a run without further events.
    fn no_more_events(&mut self) {
        self.over = true;
        match (self.domains.unfinished_tasks(), self.domains.first_live()) {
            (0, _) => {}
            (count, None) => {
                self.problems.push(format!("{count} flows or computations have not started, and no event is left"))
            }
            (count, Some(first)) => {
                let (flows, down) = (flows(first, count), self.link_down(first));
                self.problems.push(format!("{flows} cannot make progress: no event is left{down}"));
            }
        }
    }

    /// A clause about a link that is down or loses all packets, and that packets of a flow, or those on the way back, may take.
    fn link_down(&self, flow: u32) -> String {
        let clause = |port: u32| {
            let what = if self.domains.port(port).is_down() {
                "is down"
            } else if self.domains.loses_all(port) {
                "loses all packets"
            } else {
                return None;
            };
            Some(format!("; link {port}, on the path of flow {flow}, {what}"))
        };
        self.domains.ports_of(flow).into_iter().find_map(clause).unwrap_or_default()
    }

    /// Ends the run if no flow can make progress.
    fn check_for_stall(&mut self) {
        let now = self.now();
        let stuck = self.stall_detector.check(now, &self.domains.flow_progress());
        if let Some((first, count)) = stuck
            && !self.domains.has_starts()
            && !self.may_grow()
            && !self.may_change()
            && self.deadlock.is_none()
        {
            self.over = true;
            let (flows, flow, progress) = (flows(first.flow, count), first.flow, first.progress);
            self.problems.push(format!(
                "{flows} cannot make progress: timers repeat, and nothing has arrived after {progress} bytes of flow {flow}{}",
                self.link_down(flow)
            ));
        } else if let Some(at) = self.stall_detector.next_check(now) {
            self.schedule.set(at, Task::StallCheck);
        }
    }

    /// Whether flows may still join.
    pub(super) fn may_grow(&self) -> bool {
        self.driver.as_ref().is_some_and(|driver| driver.open)
    }

    /// Whether links or senders may change, so that flows that cannot make progress may make some later.
    fn may_change(&self) -> bool {
        [Task::Fault, Task::SenderSettings, Task::Convergence].into_iter().any(|task| self.schedule.has(task))
    }

    /// Applies all faults that are due, and schedules the next one.
    fn apply_faults(&mut self) {
        let now = self.now();
        while let Some(&change) = self.network.faults.get(self.faults) {
            if change.at > now {
                return self.schedule.set(change.at, Task::Fault);
            }
            self.domains.change(self.faults as u32, change);
            self.faults += 1;
            if let Some(at) = self.heard_at(change) {
                self.schedule.set(at, Task::Convergence);
            }
        }
    }

    /// Applies all settings of senders that are due, and schedules the next ones.
    fn apply_sender_settings(&mut self) {
        let now = self.now();
        while let Some(&setting) = self.network.sender_settings.get(self.settings) {
            if setting.at > now {
                return self.schedule.set(setting.at, Task::SenderSettings);
            }
            self.domains.adopt(setting);
            self.settings += 1;
        }
    }

    /// When switches route by a change of a link: at once if an operator makes it, or after the convergence time; `None` if never.
    fn heard_at(&self, fault: Fault) -> Option<Time> {
        match fault.change {
            Change::Drain | Change::Undrain => Some(fault.at),
            // MAX means never, also for a fault at time zero.
            Change::Down | Change::Up => {
                fault.at.0.checked_add(self.network.convergence.0).map(Time).filter(|&at| at != Time::MAX)
            }
            Change::Rate(_) | Change::Delay(_) | Change::Hold(_) => None,
            Change::Late(_) | Change::LateBy(_) => None,
            Change::Loss(_) | Change::BitErrors(_) => None,
            Change::Pause | Change::Resume | Change::Marking(_) | Change::Turn { .. } => None,
        }
    }

    /// Reroutes around the links that are drained, and those whose failure is as old as the convergence time.
    fn converge(&mut self) {
        let now = self.now();
        let links = self.network.ports.len();
        let (mut down, mut drained) = (vec![false; links], vec![false; links]);
        for &fault in self.network.faults.iter().take_while(|fault| fault.at <= now) {
            let link = fault.link as usize;
            match fault.change {
                _ if self.heard_at(fault).is_none_or(|at| at > now) => {}
                Change::Down => down[link] = true,
                Change::Up => down[link] = false,
                Change::Drain => drained[link] = true,
                _ => drained[link] = false,
            }
        }
        let avoided: Vec<_> = down.iter().zip(&drained).map(|(&down, &drained)| down || drained).collect();
        self.domains.reroute(&avoided);
    }

    /// Whether a pause of a link has to be reported, so that a search for a deadlock is scheduled.
    pub(super) fn awaits_pause(&self) -> bool {
        self.network.pauses() && self.deadlock.is_none() && !self.schedule.has(Task::Deadlock)
    }

    /// Schedules a search for a deadlock because a link was paused, or still is.
    pub(super) fn schedule_deadlock_search(&mut self, at: Time) {
        if self.awaits_pause() {
            self.schedule.set(at + DEADLOCK_INTERVAL, Task::Deadlock);
        }
    }

    /// Searches for a deadlock. Flows that wait for one never finish, so a run that ends with its flows ends here.
    fn search_deadlock(&mut self) {
        // A port may be paused although its neighbour does not pause it. The audit names it.
        self.over |= deadlock::pause_mismatches(&self.domains).next().is_some();
        let ports = deadlock::search(&self.domains);
        if !ports.is_empty() {
            self.deadlock = Some(Deadlock { at: self.now(), ports });
            self.over |= self.driver.as_ref().map_or(self.network.until_done, |driver| driver.until_done);
        } else if (0..self.domains.links()).any(|link| self.domains.port(link).pauses_any()) {
            self.schedule_deadlock_search(self.now());
        }
    }

    fn end_warmup(&mut self) {
        let now = self.now();
        self.domains.end_warmup(now);
        self.measured_from = now;
    }

    fn record_queues(&mut self) {
        if self.record.queues_full() {
            return;
        }
        let (now, all) = (self.now(), &self.domains);
        let spec = &self.network.record;
        self.record.queues(now, spec.ports.iter().map(|&port| all.port(port).queue(now)));
        self.schedule.set(now + spec.queue_interval, Task::Queues);
    }

    /// Records the goodput of groups of flows, and schedules the next record.
    fn record_goodput(&mut self) {
        let now = self.now();
        if let Some(interval) = self.sample_goodput(now) {
            self.schedule.set(now + interval, Task::Goodput);
        }
    }

    /// Records what the groups of flows have received. Returns the interval until the next sample, if there is a record.
    pub(super) fn sample_goodput(&mut self, now: Time) -> Option<Time> {
        let recorder = self.record.goodput.as_mut()?;
        recorder.sample(now, self.domains.take_arrived());
        Some(recorder.interval)
    }

    fn record_probes(&mut self) {
        if self.record.probes_full() {
            return;
        }
        let (now, record) = (self.now(), &mut self.record);
        let spec = &self.network.record;
        for &flow in &spec.flows {
            self.domains.probe(flow, spec.probe_interval, &mut |name, value| record.probe(now, flow, name, value));
        }
        self.schedule.set(now + spec.probe_interval, Task::Probes);
    }
}

/// The subject of a sentence about a number of flows.
fn flows(first: u32, count: usize) -> String {
    match count {
        0 | 1 => format!("flow {first}"),
        2 => format!("flow {first} and 1 other"),
        _ => format!("flow {first} and {} others", count - 1),
    }
}
