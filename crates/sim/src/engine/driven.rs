//! A run that another program drives: flows join it, and it advances to a time or to the next completion.
//!
//! The *clock* of the driver is a time before which everything has happened, and at or after which nothing has. A flow that joins starts
//! at the clock or later. So a driven run is the same as the run of a request that had all flows from the beginning, in the order in
//! which they were sent. A stop at the completion of a flow at time t ends behind that instant: the clock is t + 1 ps. What the driver
//! sends in answer then follows what happened at t in both runs.
//!
//! The request is shared by all domains and does not change while they work. To add flows, each owner exchanges its reference for an idle
//! one, so that the driver holds the only reference to the request, and gets it back behind the change ([`ParallelNetwork::edit`]).
//! A copy of a run shares the request with the original, and makes its own at its first flow.
//!
//! [`ParallelNetwork::edit`]: crate::parallel::network::ParallelNetwork

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use shallows_cc::units::Time;

use crate::engine::answer::FlowReport;
use crate::engine::audit;
use crate::engine::driver::{Driver, Observed, Retired};
use crate::engine::ideal::ideal_time;
use crate::engine::schedule::Task;
use crate::engine::simulation::Simulation;
use crate::fabric::route::Routes;
use crate::host::hosts::Completion;
use crate::spec::check::MAX_TIME;
use crate::spec::check::{check_beside, links_of_arrivals};
use crate::spec::fault::{Change, Fault};
use crate::spec::network::{Balancing, Control, FlowSpec, Marking, Network};
use crate::spec::setting::SenderSetting;
use crate::spec::task::Numbering;

/// The number of flows that are retired together, so that a look at all packets in flight pays.
const RETIRED_AT_ONCE: u32 = 1024;

/// Reasons for which a driven run has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// The clock is at the time that was asked for.
    Reached,
    /// A flow has completed; the clock is 1 ps later.
    Completion,
    /// The number of events is used up; the clock is behind the last one.
    Paused,
    /// The run has ended: at its duration, with its flows once it was closed, or because of a problem that its results name.
    Ended,
}

impl Simulation {
    /// A run at time zero, in this number of domains as far as the network can be divided, which flows may join until it is closed
    /// ([`Self::close`]). Until then it does not end with its flows, and flows without progress do not end it.
    ///
    /// # Errors
    /// See [`Simulation::new`].
    pub fn open(network: Network, domains: usize) -> Result<Self, String> {
        Self::open_with_changing(network, domains, Vec::new())
    }

    /// Like [`Self::open`], with the links that [`Self::change_link`] may change. Their wires and switches work like those of links with
    /// faults, and those that go down, come up, slow down or are paused need a port with classes.
    ///
    /// # Errors
    /// See [`Simulation::new`].
    pub fn open_with_changing(mut network: Network, domains: usize, changing: Vec<u32>) -> Result<Self, String> {
        network.changing.extend(changing);
        let mut run = Self::parted(network, domains)?;
        let driver = Driver {
            clock: Time::ZERO,
            open: true,
            until_done: run.network.until_done,
            idle: (Arc::new(Network::bare()), Arc::new(Routes::default())),
            completions: Vec::new(),
            retired: Retired::default(),
            observed: Observed::default(),
            first_live: 0,
            retire_from: RETIRED_AT_ONCE,
        };
        run.set_until_done(&driver.idle, false);
        run.domains.watch_completions(false);
        run.over = false;
        run.driver = Some(Box::new(driver));
        Ok(run)
    }

    fn set_until_done(&mut self, idle: &(Arc<Network>, Arc<Routes>), until_done: bool) {
        self.domains.edit(&mut self.network, idle, |network, _| network.until_done = until_done);
        self.domains.forget_earliest_finish();
    }

    fn driver(&self) -> Result<&Driver, String> {
        self.driver.as_deref().ok_or_else(|| "the run is not driven: expected one of Simulation::open".to_owned())
    }

    /// The time before which everything has happened; zero for a run that is not driven.
    #[must_use]
    pub fn clock(&self) -> Time {
        self.driver.as_ref().map_or(Time::ZERO, |driver| driver.clock)
    }

    /// The numbers of the flows that have joined and have not been retired.
    #[must_use]
    pub fn flows(&self) -> Range<u32> {
        self.network.flow_numbers()
    }

    /// Whether flows may still join.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.over && self.may_grow()
    }

    /// Adds a flow, which starts at the clock or later and waits for no other. Returns its number, which is that of the call.
    ///
    /// # Errors
    /// A mistake in the flow, that it has no path, or that the run is closed. The run is as before.
    pub fn send(&mut self, flow: FlowSpec) -> Result<u32, String> {
        self.send_all(vec![flow]).map(|numbers| numbers.start)
    }

    /// Adds flows in this order, as [`Self::send`] adds one, and searches their paths together. Returns their numbers.
    ///
    /// # Errors
    /// The first mistake, or the first flow without a path. No flow is added.
    pub fn send_all(&mut self, flows: Vec<FlowSpec>) -> Result<Range<u32>, String> {
        let first = self.network.flow_numbers().end;
        self.check_sends(first, &flows)?;
        let count = flows.len() as u32;
        let driver = self.driver.as_deref().expect("the run is driven");
        let ideal = self.domains.edit(&mut self.network, &driver.idle, |network, routes| {
            network.flows.extend(flows);
            if let Err(problem) = routes.join(network) {
                network.flows.truncate((first - network.first_flow) as usize);
                return Err(problem);
            }
            Ok((first..first + count).map(|flow| ideal_time(network, routes, flow)).collect::<Vec<_>>())
        })?;
        self.ideal.extend(ideal);
        let numbers = first..first + count;
        for flow in numbers.clone() {
            if let Some(goodput) = &mut self.record.goodput {
                goodput.join();
            }
            self.domains.join_flow(flow);
        }
        Ok(numbers)
    }

    fn check_sends(&self, first: u32, flows: &[FlowSpec]) -> Result<(), String> {
        let driver = self.driver()?;
        if !driver.open {
            return Err("the run is closed: expected all flows before".to_owned());
        }
        if self.over {
            return Err(format!("the run has ended at {}: expected all flows before", self.now()));
        }
        let count = first as usize + flows.len();
        if count > Numbering::COMPUTATION as usize {
            return Err(format!("{count} flows: expected at most 2^31"));
        }
        for (number, flow) in (first as usize..).zip(flows) {
            if flow.start < driver.clock {
                let (start, clock) = (flow.start, driver.clock);
                return Err(format!("flows.start_ps[{number}] = {start}: expected {clock}, the clock, or later"));
            }
            if !flow.starts_by_itself() {
                return Err(format!(
                    "flows.after[{number}], flows.behind[{number}]: expected none in a run that is driven"
                ));
            }
            self.network.check_flow(number, flow)?;
        }
        Ok(())
    }

    /// Executes everything before `to`, and nothing at that time.
    ///
    /// # Errors
    /// `to` is before the clock, or later than any simulated time. The run is as before.
    pub fn advance_to(&mut self, to: Time) -> Result<Advance, String> {
        self.advance_some(to, false, u64::MAX)
    }

    /// Executes everything before `limit`, or until a flow completes at its receiver, and everything at that instant.
    ///
    /// # Errors
    /// See [`Self::advance_to`].
    pub fn advance_to_completion(&mut self, limit: Time) -> Result<Advance, String> {
        self.advance_some(limit, true, u64::MAX)
    }

    /// Advances like [`Self::advance_to_completion`] if it `stops`, or else like [`Self::advance_to`], but for about this number of events
    /// at most, so that the caller can look for an interrupt.
    ///
    /// # Errors
    /// See [`Self::advance_to`].
    pub fn advance_some(&mut self, to: Time, stops: bool, events: u64) -> Result<Advance, String> {
        let clock = self.driver()?.clock;
        if to < clock {
            return Err(format!("time {to} is in the past: expected {clock}, the clock, or later"));
        }
        if to > MAX_TIME {
            return Err(format!("time {to}: expected at most {MAX_TIME}, the longest simulated time"));
        }
        if self.over {
            return Ok(Advance::Ended);
        }
        if to == clock {
            return Ok(Advance::Reached);
        }
        self.collect_completions();
        self.domains.watch_completions(stops);
        let until = self.events().saturating_add(events);
        let mut reached = false;
        while !self.over && !reached && !self.has_completed(stops) && self.events() < until {
            reached = self.reach(Time(to.0 - 1), until - self.events());
        }
        self.domains.watch_completions(false);
        let completed = self.has_completed(stops);
        if !reached {
            self.finish_instant();
        }
        let behind = Time(self.now().0 + 1).max(self.domains.horizon());
        self.driver.as_mut().expect("the run is driven").clock = if reached { to } else { clock.max(behind) };
        Ok(match () {
            () if completed => Advance::Completion,
            () if self.over => Advance::Ended,
            () if reached => Advance::Reached,
            () => Advance::Paused,
        })
    }

    fn has_completed(&self, stops: bool) -> bool {
        stops && self.domains.has_completed()
    }

    /// Executes what is left of the instant of the last event.
    fn finish_instant(&mut self) {
        let now = self.now();
        while !self.over && !self.reach(now, u64::MAX) {}
    }

    fn collect_completions(&mut self) {
        let new = self.domains.take_completions();
        if let Some(driver) = &mut self.driver {
            driver.completions.extend(new);
        }
    }

    /// The completions since the last call, in the order of time.
    pub fn completions(&mut self) -> Vec<Completion> {
        self.collect_completions();
        self.driver.as_mut().map_or_else(Vec::new, |driver| std::mem::take(&mut driver.completions))
    }

    /// Changes a link at the clock, before everything else that happens then: the same as a fault of the request at that time.
    ///
    /// # Errors
    /// A mistake in the change, a link that was not named when the run was opened, or that the run has ended. The run is as before.
    pub fn change_link(&mut self, link: u32, change: Change) -> Result<(), String> {
        self.change_links(&[link], change)
    }

    /// Changes links at the clock, as [`Self::change_link`] changes one, all or, after an error, none.
    ///
    /// # Errors
    /// See [`Self::change_link`].
    pub fn change_links(&mut self, links: &[u32], change: Change) -> Result<(), String> {
        let clock = self.check_driven()?;
        let place = self.network.faults.partition_point(|fault| fault.at <= clock);
        let faults: Vec<_> = links.iter().map(|&link| Fault { at: clock, link, change }).collect();
        // Whether a port may mark in another way follows from its first marking alone.
        let mut known = BTreeSet::new();
        let is_new = |fault: &&Fault| match (change, self.network.ports.get(fault.link as usize)) {
            (Change::Marking(_), Some(port)) => known.insert(port.marking),
            _ => true,
        };
        faults.iter().filter(is_new).try_for_each(|fault| self.network.check_fault(place, fault))?;
        if change.is_of_link() {
            let every = || self.network.faults.iter().chain(&faults);
            let arrivals = links_of_arrivals(every());
            every().try_for_each(|fault| check_beside(place, fault, &arrivals))?;
        }
        if change.is_of_link() {
            let may_change = self.network.changing_links();
            if let Some(link) = links.iter().find(|link| !may_change.contains(link)) {
                return Err(format!(
                    "link {link} may not change: expected one that was named at the opening, {may_change:?}"
                ));
            }
        }
        self.edit(|network| drop(network.faults.splice(place..place, faults)));
        self.schedule.set(clock, Task::Fault);
        Ok(())
    }

    /// Sets windows and paces of flows of `external` at the clock, before everything else that happens then; of flows that start later from
    /// their start on, and of those that have been retired not at all. The times of the settings have no effect.
    ///
    /// # Errors
    /// A mistake in a setting, a flow of another algorithm, or that the run has ended. The run is as before.
    pub fn set_senders(&mut self, mut settings: Vec<SenderSetting>) -> Result<(), String> {
        let clock = self.check_driven()?;
        settings.retain(|one| one.flow >= self.network.first_flow);
        let first = self.network.sender_settings.partition_point(|one| one.at <= clock);
        for (at, one) in (first..).zip(&mut settings) {
            one.at = clock;
            self.network.check_sender_setting(at, one)?;
        }
        self.edit(|network| drop(network.sender_settings.splice(first..first, settings)));
        self.schedule.set(clock, Task::SenderSettings);
        Ok(())
    }

    /// Gives flows of an algorithm that have not started other parameters, or another receiver; returns its new number in the request, for
    /// flows that are sent later. Flows that have started keep what they have.
    ///
    /// # Errors
    /// An unknown algorithm, one of another name, or that the run is closed. The run is as before.
    pub fn change_algorithm(&mut self, number: u32, control: Control) -> Result<u32, String> {
        self.check_driven()?;
        let controls = &self.network.controls;
        let (new, count) = (controls.len() as u32, controls.len());
        let Some(old) = controls.get(number as usize) else {
            return Err(format!("algorithm {number}: expected one of {count} algorithms"));
        };
        let (name, other) = (old.algorithm.name, control.algorithm.name);
        if name != other {
            return Err(format!("algorithm {number}: expected parameters of {name}, not {other}"));
        }
        if !(1..=255).contains(&control.acks_every) {
            return Err(format!("acks_every = {}: expected 1 to 255", control.acks_every));
        }
        let waiting = |flow: &u32| self.domains.sender(*flow).start == Time::MAX;
        let waiting: BTreeSet<_> = self.network.flow_numbers().filter(waiting).collect();
        self.edit(|network| {
            network.controls.push(control);
            let flows = network.flows.iter_mut().zip(network.first_flow..);
            flows
                .filter(|(flow, at)| flow.control == number && waiting.contains(at))
                .for_each(|(flow, _)| flow.control = new);
        });
        Ok(new)
    }

    /// Gives flows of an algorithm that have not started other values of some parameters, in SI base units. Returns its new number; see
    /// [`Self::change_algorithm`].
    ///
    /// # Errors
    /// An unknown algorithm or parameter, a value out of range, or that the run has ended. The run is as before.
    pub fn change_parameters(&mut self, number: u32, values: &BTreeMap<String, f64>) -> Result<u32, String> {
        self.check_driven()?;
        let controls = &self.network.controls;
        let known = controls.get(number as usize);
        let mut control = known.ok_or_else(|| format!("expected one of {} algorithms", controls.len()))?.clone();
        for (name, &value) in values {
            control.values.set(name, value).map_err(|problem| format!("{}: {problem}", control.algorithm.name))?;
        }
        self.change_algorithm(number, control)
    }

    /// Changes the markings of links at the clock. All of them get the same one.
    ///
    /// # Errors
    /// See [`Self::change_links`].
    pub fn change_marking(&mut self, links: &[u32], marking: Marking) -> Result<(), String> {
        let number = self.network.markings.len() as u32;
        self.extend(Vec::new(), vec![marking])?;
        let changed = self.change_links(links, Change::Marking(number));
        if changed.is_err() {
            self.edit(|network| network.markings.truncate(number as usize));
        }
        changed
    }

    /// Adds algorithms and markings, which take the next numbers in the request.
    ///
    /// # Errors
    /// That the run is not driven, or has ended.
    pub fn extend(&mut self, controls: Vec<Control>, markings: Vec<Marking>) -> Result<(), String> {
        self.check_driven()?;
        self.edit(|network| {
            network.controls.extend(controls);
            network.markings.extend(markings);
        });
        Ok(())
    }

    /// The numbers of algorithms and of markings in the request.
    #[must_use]
    pub fn known(&self) -> (usize, usize) {
        (self.network.controls.len(), self.network.markings.len())
    }

    /// The clock of a run that is driven and has not ended.
    fn check_driven(&self) -> Result<Time, String> {
        let clock = self.driver()?.clock;
        if self.over {
            Err(format!("the run has ended at {}: expected all changes before", self.now()))
        } else {
            Ok(clock)
        }
    }

    /// Changes the request.
    fn edit(&mut self, change: impl FnOnce(&mut Network)) {
        let driver = self.driver.as_deref().expect("the run is driven");
        self.domains.edit(&mut self.network, &driver.idle, |network, _| change(network));
    }

    /// Retires flows that have ended, so that the memory of the run follows those that are alive, and returns their reports: those of the
    /// next flows in the order of their numbers, which [`Simulation::finish`] no longer returns. What remains of a flow is 8 B for the
    /// fingerprint, which a caller that keeps the reports may release ([`Self::release_retired`]). A flow is retired once all before it have ended and no packet of theirs is left, and about a thousand at once.
    /// Nothing is retired where other flows need those that have ended: under `mrc`, with acknowledgements that ride on data, and in records
    /// of goodput.
    pub fn retire(&mut self) -> Vec<FlowReport> {
        let keeps = self.network.balancing == Balancing::Mrc || self.network.host.piggyback;
        let numbers = self.network.flow_numbers();
        let Some(driver) = self.driver.as_mut().filter(|_| !keeps && self.record.goodput.is_none()) else {
            return Vec::new();
        };
        let stopped = |flow: u32| {
            let stop = self.network.flow(flow).stop;
            stop < driver.clock || stop == Time::MAX
        };
        let ended = |flow: &u32| self.domains.has_ended(*flow) && stopped(*flow);
        driver.first_live = (driver.first_live..numbers.end).find(|flow| !ended(flow)).unwrap_or(numbers.end);
        if driver.first_live < driver.retire_from {
            return Vec::new();
        }
        let end = driver.first_live.min(self.domains.first_held());
        driver.retire_from = driver.first_live + RETIRED_AT_ONCE;
        if end <= numbers.start { Vec::new() } else { self.retire_before(end) }
    }

    fn retire_before(&mut self, end: u32) -> Vec<FlowReport> {
        let reports: Vec<_> = (self.network.first_flow..end).map(|flow| self.flow_report(flow)).collect();
        self.problems.extend(audit::flow_problems(&self.network, self.now(), &reports));
        let driver = self.driver.as_mut().expect("the run is driven");
        driver.retired.goodput.resize(self.network.nodes as usize, 0);
        for (report, flow) in reports.iter().zip(&self.network.flows) {
            driver.retired.values.push(report.hashed());
            driver.retired.goodput[flow.dst as usize] += report.goodput;
        }
        self.ideal.drain(..reports.len());
        self.domains.retire(end);
        self.domains.edit(&mut self.network, &driver.idle, |network, routes| {
            network.flows.drain(..reports.len());
            network.first_flow = end;
            routes.retire(end);
        });
        reports
    }

    /// Forgets what the fingerprint needs of flows that have been retired, until [`Self::restore_retired`].
    pub fn release_retired(&mut self) {
        if let Some(driver) = &mut self.driver {
            driver.retired.values = Vec::new();
        }
    }

    /// Takes what the fingerprint needs of retired flows from all reports that [`Self::retire`] has returned, in their order.
    pub fn restore_retired(&mut self, reports: &[FlowReport]) {
        if let Some(driver) = &mut self.driver {
            driver.retired.values = reports.iter().map(FlowReport::hashed).collect();
        }
    }

    /// The reports of all flows that have joined and have not been retired, so far.
    pub fn reports(&mut self) -> Vec<FlowReport> {
        self.flow_reports()
    }

    /// The number of flows with an end that have not completed. Those that start later count.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.domains.unfinished()
    }

    /// Lets no further flow join, and ends the run at the clock: the same as the run of a request with this duration.
    ///
    /// # Errors
    /// That the run is not driven, or has ended.
    pub fn close_at_clock(&mut self) -> Result<(), String> {
        let clock = self.check_driven()?;
        let driver = self.driver.as_mut().expect("the run is driven");
        driver.until_done = false;
        self.edit(|network| network.duration = clock);
        self.schedule.set(clock, Task::End);
        self.close();
        Ok(())
    }

    /// Lets no further flow join. The run ends as its request says. Closing a closed run has no effect.
    pub fn close(&mut self) {
        let Some(driver) = self.driver.as_mut().filter(|driver| driver.open) else { return };
        driver.open = false;
        let (idle, until_done) = (driver.idle.clone(), driver.until_done);
        self.set_until_done(&idle, until_done);
        self.over |= self.domains.is_done();
    }
}
