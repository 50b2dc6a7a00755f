//! Checks of a request: everything that the simulator relies on.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use shallows_cc::catalog::Marking;
use shallows_cc::units::{Bytes, Rate, Time};

use crate::packet::{MAX_CLASSES, PacketKind};
use crate::spec::fault::{Change, Fault};
use crate::spec::flow::FlowSpec;
use crate::spec::network::{Application, Balancing, FEW_ENTITIES, Network, RouteLink};
use crate::spec::ports::{ClassOf, Discipline, PortSpec};
use crate::spec::setting::SenderSetting;

/// Largest number of entities of the event queue ([`Network::entities`]).
pub const MAX_ENTITIES: usize = 1 << 24;
/// Longest propagation delay: 2.2 s, half of what the event queue can hold.
pub const MAX_DELAY: Time = Time((1 << 42) / 2);
/// The same with many entities, where the queue holds 0.27 s: also the longest time between other events and their causes.
pub const MANY_DELAY: Time = Time((1 << 38) / 2);
/// Longest time for which a link holds frames or delivers them later: with the delay and a frame less than the event queue can hold.
pub const MAX_HOLD: Time = Time(1_000_000_000_000);
/// The longest simulated time, at which a run ends that would otherwise end with its flows. The sum of a few times stays below 2^64 ps.
pub const MAX_TIME: Time = Time::from_secs_whole(1_000_000);
/// Lowest and highest rate of a link: 1 Mbps and 10 Tbps, at which a byte takes 0.8 ps.
const MIN_RATE: u64 = 1_000_000;
const MAX_RATE: u64 = 10_000_000_000_000;
/// Largest number of classes of a port: one for each traffic class, and those of pauses, control packets, credits and paced data.
const MAX_PORT_CLASSES: usize = MAX_CLASSES + 4;
/// Largest number of packets of a flow: differences of sequence numbers have 32 bits.
const MAX_PACKETS: u64 = (1 << 31) - 1;

/// A mistake in a request: a key, its value, and what was expected instead.
#[derive(Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The key by its path in the request, such as `classes[2].pool` or `flows.cc[7]`.
    pub key: String,
    /// Its value, as text.
    pub value: String,
    /// What the simulator needs, and why where that is not plain.
    pub expected: String,
}

impl Display for Mistake {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} = {}: expected {}", self.key, self.value, self.expected)
    }
}

impl From<Mistake> for String {
    fn from(mistake: Mistake) -> Self {
        mistake.to_string()
    }
}

/// Returns a [`Mistake`] unless a condition holds: `ensure!(condition, "key", value, "expectation")`.
macro_rules! ensure {
    ($holds:expr, $key:literal, $value:expr, $expected:literal $(,)?) => {
        if !$holds {
            return Err($crate::spec::check::Mistake {
                key: format!($key),
                value: $value.to_string(),
                expected: format!($expected),
            });
        }
    };
}
pub(super) use ensure;

impl Network {
    /// Checks what the simulator relies on.
    ///
    /// # Errors
    /// The first mistake.
    pub fn check(&self) -> Result<(), Mistake> {
        let entities = self.entities();
        ensure!(entities <= MAX_ENTITIES, "links, hosts and ports with classes", entities, "at most {MAX_ENTITIES}");
        let (mtu, header) = (self.mtu.0, self.header.0);
        ensure!(mtu <= u64::from(u16::MAX), "mtu_bytes", mtu, "at most 65535");
        ensure!((1..mtu).contains(&header), "header_bytes", header, "1 or more, and less than mtu_bytes = {mtu}");
        for (at, control) in self.controls.iter().enumerate() {
            ensure!((1..=255).contains(&control.acks_every), "ccs[{at}].acks_every", control.acks_every, "1 to 255");
        }
        let option = self.host.option.0;
        ensure!(option < header, "host.option_bytes", option, "less than header_bytes = {header}");
        let polls = self.host.poll == Time::ZERO || self.host.batch > 0;
        ensure!(polls, "host.batch", self.host.batch, "1 or more where hosts poll");
        ensure!((0.0..=1.0).contains(&self.host.gap), "host.gap", self.host.gap, "0 to 1");
        let ends = self.duration != Time::MAX || self.until_done;
        ensure!(ends, "duration_ps", self.duration.0, "an end of the run, or until_done = true");
        let power = self.entropies == 0 || self.entropies <= 1 << 16 && self.entropies.is_power_of_two();
        ensure!(power, "entropies", self.entropies, "a power of two up to 65536, or 0");
        self.check_times()?;
        self.check_classes()?;
        self.check_disciplines()?;
        self.check_ports()?;
        self.check_faults()?;
        self.check_times_ahead()?;
        self.check_record()?;
        self.flows.iter().enumerate().try_for_each(|(at, flow)| self.check_flow(at, flow))?;
        self.check_sender_settings()?;
        self.check_paths()?;
        self.check_tasks()
    }

    /// Times are at most [`MAX_TIME`], or [`Time::MAX`] where that means never.
    fn check_times(&self) -> Result<(), Mistake> {
        let host = &self.host;
        let times = [
            ("duration_ps", self.duration),
            ("warmup_ps", self.warmup),
            ("convergence_ps", self.convergence),
            ("flowlet_gap_ps", self.flowlet_gap),
            ("host.rto_min_ps", host.rto_min),
            ("host.rto_initial_ps", host.rto_initial),
            ("host.rto_max_ps", host.rto_max),
            ("host.ack_delay_ps", host.ack_delay),
            ("host.ack_jitter_ps", host.ack_jitter),
            ("host.poll_ps", host.poll),
            ("host.segment_time_ps", host.segment_time),
        ];
        let computations = self.computations.iter();
        let of_computations = computations.map(|one| ("computations.start_ps", one.start));
        let of_faults = self.faults.iter().map(|fault| ("faults.time_ps", fault.at));
        let all = times.into_iter().chain(of_computations).chain(of_faults);
        let most = MAX_TIME.0;
        for (key, Time(time)) in all {
            ensure!(time <= most || time == u64::MAX, "{key}", time, "at most {most}");
        }
        Ok(())
    }

    fn check_classes(&self) -> Result<(), Mistake> {
        let (count, pools) = (self.classes.len(), self.pools.len());
        ensure!((1..=MAX_CLASSES).contains(&count), "number of classes", count, "1 to {MAX_CLASSES}");
        for (at, class) in self.classes.iter().enumerate() {
            let (mtu, quantum, pool) = (self.mtu.0, class.quantum.unwrap_or(Bytes::MAX).0, class.pool.unwrap_or(0));
            ensure!(quantum >= mtu, "classes[{at}].quantum_bytes", quantum, "a full frame or more, {mtu}");
            let known = class.pool.is_none() || (pool as usize) < pools;
            ensure!(known, "classes[{at}].pool", pool, "one of {pools} pools");
        }
        Ok(())
    }

    fn check_disciplines(&self) -> Result<(), Mistake> {
        for (at, discipline) in self.disciplines.iter().enumerate() {
            let (classes, entries) = (discipline.classes.len(), discipline.class_of.len());
            ensure!(
                classes <= MAX_PORT_CLASSES,
                "number of disciplines[{at}].classes",
                classes,
                "at most {MAX_PORT_CLASSES}"
            );
            ensure!(
                (1..=MAX_CLASSES).contains(&entries),
                "number of disciplines[{at}].class_of",
                entries,
                "1 to {MAX_CLASSES}"
            );
            for &class in discipline.class_of.iter().flat_map(|ClassOf(by_kind)| by_kind) {
                let known = usize::from(class) < classes;
                ensure!(known, "disciplines[{at}].class_of", class, "one of {classes} classes");
            }
            let paced = discipline.paced.unwrap_or(0);
            let known = discipline.paced.is_none() || usize::from(paced) < classes;
            ensure!(known, "disciplines[{at}].paced", paced, "one of {classes} classes");
            let turns = discipline.classes.iter().filter(|class| class.turn.is_some()).count();
            ensure!(turns <= 1, "number of classes with disciplines[{at}].classes.turn", turns, "at most one");
            for policer in discipline.classes.iter().filter_map(|class| class.policer) {
                let (Rate(rate), Bytes(burst), Bytes(mtu)) = (policer.rate, policer.burst, self.mtu);
                ensure!(rate > 0, "disciplines[{at}].classes.policer.rate_bps", rate, "more than 0");
                ensure!(
                    burst >= mtu,
                    "disciplines[{at}].classes.policer.burst_bytes",
                    burst,
                    "a full frame, {mtu}, or more"
                );
            }
            self.check_trimming(at, discipline)?;
            self.check_turns(at, discipline)?;
        }
        Ok(())
    }

    /// The headers of trimmed packets need a class that does not trim. A switch counts paused and pooled packets whole.
    fn check_trimming(&self, at: usize, discipline: &Discipline) -> Result<(), Mistake> {
        for (number, class) in self.classes.iter().enumerate() {
            let ClassOf(by_kind) = discipline.class_of(number);
            let class_of = |kind: PacketKind| usize::from(by_kind[kind as usize]);
            let (data, headers) = (class_of(PacketKind::Data), class_of(PacketKind::Trimmed));
            if !discipline.classes[data].trims {
                continue;
            }
            ensure!(
                !discipline.classes[headers].trims,
                "disciplines[{at}].class_of[{number}].trimmed",
                headers,
                "a class that does not trim, for the headers of trimmed data"
            );
            ensure!(
                class.pool.is_none() && class.pause.is_none(),
                "disciplines[{at}].classes[{data}].trims",
                true,
                "false: classes[{number}] has a pool or pauses, which count packets whole"
            );
        }
        Ok(())
    }

    /// Ports that may pause a traffic class need a class for its data alone, and frames fit into every turn.
    fn check_turns(&self, at: usize, discipline: &Discipline) -> Result<(), Mistake> {
        for (number, class) in discipline.classes.iter().enumerate() {
            let (mtu, quantum) = (self.mtu.0, class.quantum.unwrap_or(Bytes::MAX).0);
            ensure!(
                quantum >= mtu,
                "disciplines[{at}].classes[{number}].quantum_bytes",
                quantum,
                "a full frame or more, {mtu}"
            );
            let (count, marking) = (self.markings.len(), class.marking.unwrap_or(0));
            let known = class.marking.is_none() || (marking as usize) < count;
            ensure!(known, "disciplines[{at}].classes[{number}].marking", marking, "one of {count} markings");
        }
        let data: Vec<u8> = (0..self.classes.len()).map(|class| discipline.class_of_data(class)).collect();
        for (number, class) in data.iter().enumerate() {
            let alone = data.iter().filter(|&other| other == class).count() == 1;
            ensure!(
                alone || self.classes[number].pause.is_none(),
                "disciplines[{at}].class_of[{number}].data",
                class,
                "a class for this data alone: classes[{number}] has pauses"
            );
        }
        Ok(())
    }

    fn check_ports(&self) -> Result<(), Mistake> {
        let mut nics = vec![0; self.hosts as usize];
        for (at, port) in self.ports.iter().enumerate() {
            self.check_link(at, port)?;
            if let Some(count) = nics.get_mut(port.from as usize) {
                *count += 1;
            }
        }
        match nics.iter().position(|&count| count == 0) {
            Some(host) => Err(Mistake {
                key: "links.from".to_owned(),
                value: format!("none at host {host}"),
                expected: "one or more links of each host".to_owned(),
            }),
            None => Ok(()),
        }
    }

    fn check_link(&self, at: usize, port: &PortSpec) -> Result<(), Mistake> {
        let (nodes, from, to) = (self.nodes, port.from, port.to);
        ensure!(from < nodes, "links.from[{at}]", from, "one of {nodes} nodes");
        ensure!(to < nodes && to != from, "links.to[{at}]", to, "another one of {nodes} nodes");
        let rate = (MIN_RATE..=MAX_RATE).contains(&port.rate.0);
        ensure!(rate, "links.rate_bps[{at}]", port.rate.0, "{MIN_RATE} to {MAX_RATE}");
        let most = MAX_DELAY.0;
        ensure!(port.delay.0 <= most, "links.delay_ps[{at}]", port.delay.0, "at most {most}");
        // Keys count from one: 0 means none.
        let (disciplines, discipline) =
            (self.disciplines.len(), port.discipline.map_or(0, |number| number as usize + 1));
        ensure!(discipline <= disciplines, "links.discipline[{at}]", discipline, "at most {disciplines}");
        let needs_classes = self.shares_memory() && from >= self.hosts || self.pauses();
        ensure!(
            discipline > 0 || !needs_classes,
            "links.discipline[{at}]",
            discipline,
            "classes, which pools and pauses need"
        );
        let (markings, marking) = (self.markings.len(), port.marking.map_or(0, |number| number as usize + 1));
        ensure!(marking <= markings, "links.marking[{at}]", marking, "at most {markings}");
        if let Some(chosen) = marking.checked_sub(1).map(|number| &self.markings[number]) {
            let kind = chosen.mechanism.name;
            ensure!(
                discipline > 0 || !chosen.judges_heads(),
                "links.discipline[{at}]",
                discipline,
                "classes, which {kind} needs"
            );
            let classes = port.discipline.map_or(&[][..], |number| &self.disciplines[number as usize].classes);
            let are_queues = classes.len() == 2 && classes.iter().all(|class| !class.trims);
            ensure!(
                are_queues || chosen.dual_queue(port.rate).is_none(),
                "links.discipline[{at}]",
                discipline,
                "two classes that do not trim, which {kind} needs"
            );
        }
        Ok(())
    }

    /// With many entities the event queue holds little time. Links, frames, tokens and watchdogs must not take longer.
    fn check_times_ahead(&self) -> Result<(), Mistake> {
        if !self.has_many_places() {
            return Ok(());
        }
        let (most, entities) = (MANY_DELAY, self.entities());
        let frame = |rate: Rate| rate.time_to_send(self.mtu);
        let delays = self.ports.iter().map(|port| ("links.delay_ps", port.delay));
        let frames = self.ports.iter().map(|port| ("mtu_bytes / links.rate_bps", frame(port.rate)));
        let slower = self.faults.iter().filter_map(|fault| match fault.change {
            Change::Rate(rate) => Some(("mtu_bytes / faults.change", frame(rate))),
            Change::Delay(time) | Change::Hold(time) | Change::LateBy(time) => Some(("faults.change", time)),
            _ => None,
        });
        let pauses = self.classes.iter().filter_map(|class| class.pause.as_ref());
        let watchdogs = pauses.flat_map(|pause| {
            [("classes.pause.watchdog_ps", pause.watchdog), ("classes.pause.restoration_ps", pause.restoration)]
        });
        let watchdogs = watchdogs.filter_map(|(key, time)| Some((key, time?)));
        let shapers =
            self.disciplines.iter().flat_map(|discipline| &discipline.classes).filter_map(|class| class.shaper);
        let tokens = shapers.flat_map(|shaper| {
            let least = shaper.pacer.map_or(shaper.rate, |pacer| pacer.least);
            [("mtu_bytes / shaper.rate_bps", frame(least)), ("shaper.jitter_ps", shaper.jitter)]
        });
        for (key, time) in delays.chain(frames).chain(slower).chain(watchdogs).chain(tokens) {
            let why = format!("because of {entities} links, hosts and ports with classes, more than {FEW_ENTITIES}");
            ensure!(time <= most, "{key}", time, "at most {most} {why}");
        }
        Ok(())
    }

    fn check_record(&self) -> Result<(), Mistake> {
        let Some(goodput) = &self.record.goodput else { return Ok(()) };
        ensure!(goodput.interval > Time::ZERO, "record.goodput.interval_ps", 0, "1 or more");
        let flows = self.flows.len();
        for flow in goodput.flows.iter().flatten() {
            ensure!((*flow as usize) < flows, "record.goodput.flows", flow, "one of {flows} flows");
        }
        Ok(())
    }

    fn check_faults(&self) -> Result<(), Mistake> {
        let links = self.ports.len();
        for link in &self.changing {
            ensure!((*link as usize) < links, "changing", link, "one of {links} links");
        }
        let arrivals = links_of_arrivals(&self.faults);
        for (at, fault) in self.faults.iter().enumerate() {
            self.check_fault(at, fault)?;
            check_beside(at, fault, &arrivals)?;
            let before = self.faults[at.saturating_sub(1)].at;
            ensure!(fault.at >= before, "faults[{at}].time_ps", fault.at.0, "the order of time");
        }
        Ok(())
    }

    /// Checks a fault but for its place among the others.
    pub(crate) fn check_fault(&self, at: usize, fault: &Fault) -> Result<(), Mistake> {
        let links = self.ports.len();
        ensure!((fault.link as usize) < links, "faults[{at}].link", fault.link, "one of {links} links");
        let port = &self.ports[fault.link as usize];
        let change = fault.change;
        match change {
            Change::Loss(share) | Change::BitErrors(share) => {
                ensure!(
                    (0.0..=1.0).contains(&share),
                    "faults[{at}].change",
                    format!("{change:?}"),
                    "a share from 0 to 1"
                );
            }
            Change::Rate(rate) => {
                let (own, slower) = (port.rate.0, (MIN_RATE..=port.rate.0).contains(&rate.0));
                ensure!(
                    slower,
                    "faults[{at}].change",
                    format!("{change:?}"),
                    "{MIN_RATE} to the rate of the link, {own}"
                );
            }
            Change::Delay(Time(delay)) => {
                let (own, longer) = (port.delay.0, (port.delay.0..=MAX_DELAY.0).contains(&delay));
                let most = MAX_DELAY.0;
                ensure!(
                    longer,
                    "faults[{at}].change",
                    format!("{change:?}"),
                    "the delay of the link, {own}, to {most}"
                );
            }
            Change::Hold(time) | Change::LateBy(time) => {
                let most = MAX_HOLD.0;
                ensure!(time <= MAX_HOLD, "faults[{at}].change", format!("{change:?}"), "at most {most}");
            }
            Change::Late(share) => {
                let is_share = (0.0..1.0).contains(&share);
                ensure!(is_share, "faults[{at}].change", format!("{change:?}"), "a share of at least 0 and below 1");
            }
            Change::Pause | Change::Resume => {
                let to_host = port.to < self.hosts;
                ensure!(
                    to_host,
                    "faults[{at}].link",
                    fault.link,
                    "a link that leads to a host, which sends the pauses"
                );
            }
            Change::Marking(number) => {
                let old = port.marking.map(|old| &self.markings[old as usize]);
                let new = self.markings.get(number as usize);
                let may_follow = old.zip(new).is_some_and(|(old, new)| old.may_become(new));
                let expected = old.map_or_else(|| "a link whose port marks".to_owned(), |old| old.like_it());
                ensure!(may_follow, "faults[{at}].change", format!("{change:?}"), "{expected}");
            }
            Change::Turn { class, quantum } => {
                let discipline = port.discipline.map(|number| &self.disciplines[number as usize]);
                let of_port = discipline.map(|one| one.classes[usize::from(one.class_of_data(class.into()))]);
                let has_turn = self.classes.get(usize::from(class)).is_some_and(|one| one.quantum.is_some())
                    && of_port.is_some_and(|one| one.quantum.is_some());
                let change = format!("{change:?}");
                ensure!(has_turn, "faults[{at}].change", change, "a traffic class that has turns at this port");
                let (Bytes(quantum), Bytes(mtu)) = (quantum, self.mtu);
                ensure!(quantum >= mtu, "faults[{at}].change", change, "a full frame or more, {mtu}");
            }
            Change::Down | Change::Up | Change::Drain | Change::Undrain => {}
        }
        let scheduled = port.discipline.is_some() || !change.needs_classes();
        ensure!(scheduled, "faults[{at}].link", fault.link, "a link whose port has classes");
        Ok(())
    }

    fn check_sender_settings(&self) -> Result<(), Mistake> {
        for (at, one) in self.sender_settings.iter().enumerate() {
            self.check_sender_setting(at, one)?;
            let before = self.sender_settings[at.saturating_sub(1)].at;
            ensure!(one.at >= before, "sender_settings.time_ps[{at}]", one.at.0, "the order of time");
        }
        Ok(())
    }

    /// Checks a setting of a sender but for its place among the others.
    pub(crate) fn check_sender_setting(&self, at: usize, one: &SenderSetting) -> Result<(), Mistake> {
        let &SenderSetting { flow, at: Time(time), window: Bytes(window), rate: Rate(rate) } = one;
        let numbers = self.flow_numbers();
        let expected = format!("one of the flows from {} on, to {}", numbers.start, numbers.end);
        ensure!(numbers.contains(&flow), "sender_settings.flow[{at}]", flow, "{expected}");
        let algorithm = self.controls[self.flow(flow).control as usize].algorithm;
        let (name, driven) = (algorithm.name, algorithm.traits.is_driven);
        ensure!(driven, "sender_settings.flow[{at}]", flow, "a flow whose algorithm a program drives, not {name}");
        let most = MAX_TIME.0;
        ensure!(time <= most, "sender_settings.time_ps[{at}]", time, "at most {most}");
        ensure!(window > 0, "sender_settings.window_bytes[{at}]", window, "1 or more");
        let paced = rate == 0 || rate >= MIN_RATE;
        ensure!(paced, "sender_settings.rate_bps[{at}]", rate, "0, or {MIN_RATE} or more");
        Ok(())
    }

    /// Checks everything about a flow but for what it waits for.
    pub(crate) fn check_flow(&self, at: usize, flow: &FlowSpec) -> Result<(), Mistake> {
        let (hosts, src, dst) = (self.hosts, flow.src, flow.dst);
        ensure!(src < hosts, "flows.src[{at}]", src, "one of {hosts} hosts");
        ensure!(dst < hosts && dst != src, "flows.dst[{at}]", dst, "another one of {hosts} hosts");
        let pauses_end = flow.application.off == Time::ZERO || flow.application.on > Time::ZERO;
        ensure!(pauses_end, "flows.application.on_ps[{at}]", 0, "more than 0, as off_ps is: it pauses forever");
        let alone = flow.application.every == Time::ZERO
            || Application { every: Time::ZERO, ..flow.application } == Application::EAGER;
        let every = flow.application.every.0;
        ensure!(alone, "flows.application.every_ps[{at}]", every, "0, or no pauses beside it");
        let (bytes, most) = (flow.bytes.0, MAX_PACKETS * self.mss().0);
        let counted = flow.bytes == Bytes::MAX || (1..=most).contains(&bytes);
        ensure!(counted, "flows.bytes[{at}]", bytes, "1 to {most}, {MAX_PACKETS} packets");
        for (key, Time(time)) in [("start_ps", flow.start), ("stop_ps", flow.stop)] {
            let latest = MAX_TIME.0;
            ensure!(time <= latest || time == u64::MAX, "flows.{key}[{at}]", time, "at most {latest}");
        }
        let (class, classes) = (flow.class, self.classes.len());
        ensure!((class as usize) < classes, "flows.class[{at}]", class, "one of {classes} classes");
        self.check_algorithm(at, flow)
    }

    /// A route is a path between the hosts of its flow that passes no node twice. It belongs to a flow whose packets take one path.
    fn check_paths(&self) -> Result<(), Mistake> {
        let (flows, links) = (self.flows.len(), self.ports.len());
        for (at, pair) in self.path_hashes.windows(2).enumerate() {
            ensure!(pair[0].flow < pair[1].flow, "path_hashes.flow[{at}]", pair[0].flow, "the order of flows");
        }
        for (at, one) in self.path_hashes.iter().enumerate() {
            ensure!((one.flow as usize) < flows, "path_hashes.flow[{at}]", one.flow, "one of {flows} flows");
        }
        for (at, pair) in self.routes.windows(2).enumerate() {
            ensure!(pair[0].flow <= pair[1].flow, "routes.flow[{at}]", pair[0].flow, "the order of flows");
        }
        for (at, one) in self.routes.iter().enumerate() {
            ensure!((one.flow as usize) < flows, "routes.flow[{at}]", one.flow, "one of {flows} flows");
            ensure!((one.link as usize) < links, "routes.link[{at}]", one.link, "one of {links} links");
        }
        let by_flow = self.routes.is_empty() || self.balancing == Balancing::Flow;
        let why = "\"flow\": a flow with a route has one path";
        ensure!(by_flow, "balancing", self.balancing.text(), "{why}");
        self.routes.chunk_by(|a, b| a.flow == b.flow).try_for_each(|route| self.check_route(route))
    }

    fn check_route(&self, route: &[RouteLink]) -> Result<(), Mistake> {
        let flow = route[0].flow;
        let FlowSpec { src, dst, control, .. } = self.flows[flow as usize];
        let two_way = !self.controls[control as usize].waits_for_credits();
        ensure!(two_way, "routes.flow", flow, "none for flow {flow}: its data waits for credits, and takes their path");
        let mut passed = vec![src];
        for one in route {
            let link = &self.ports[one.link as usize];
            let node = passed[passed.len() - 1];
            ensure!(link.from == node, "routes.link", one.link, "a link from node {node}, for flow {flow}");
            let (to, again) = (link.to, passed.contains(&link.to));
            let forwards = to >= self.hosts || to == dst;
            ensure!(
                forwards && !again,
                "routes.link",
                one.link,
                "a link to {dst} or a switch that flow {flow} has not passed"
            );
            passed.push(to);
        }
        ensure!(
            passed.ends_with(&[dst]),
            "routes.link",
            route[route.len() - 1].link,
            "a link to {dst}, where flow {flow} ends"
        );
        Ok(())
    }

    fn check_algorithm(&self, at: usize, flow: &FlowSpec) -> Result<(), Mistake> {
        let controls = self.controls.len();
        ensure!((flow.control as usize) < controls, "flows.cc[{at}]", flow.control, "one of {controls} algorithms");
        let control = &self.controls[flow.control as usize];
        let one_way = match control.algorithm.marking {
            _ if control.waits_for_credits() => "credits and the data they request need one path in both directions",
            Marking::Records(_) => "records are compared between packets, which needs one path",
            _ => "",
        };
        let fits = one_way.is_empty() || self.balancing == Balancing::Flow;
        ensure!(fits, "balancing", self.balancing.text(), "\"flow\": {one_way}");
        let keeps_values = self.balancing != Balancing::Mrc || control.algorithm.multipath.is_some();
        let name = control.algorithm.name;
        ensure!(
            keeps_values,
            "balancing",
            "mrc",
            "another one, such as \"reps\": {name} keeps no state of entropy values, which mrc does"
        );
        let waits = control.waits_for_credits() || control.waits_for_pulls();
        ensure!(
            !waits || !flow.application.pauses(),
            "flows.application[{at}]",
            "with pauses",
            "one that does not pause: the flow sends on credits or pulls"
        );
        Ok(())
    }
}

/// The links whose frames may arrive at other times than after the link's own delay.
pub(crate) fn links_of_arrivals<'a>(faults: impl IntoIterator<Item = &'a Fault>) -> BTreeSet<u32> {
    faults.into_iter().filter(|fault| fault.change.is_of_arrivals()).map(|fault| fault.link).collect()
}

/// Checks that a link whose arrivals change does not go down: which frames were on its wire is then unknown.
pub(crate) fn check_beside(at: usize, fault: &Fault, arrivals: &BTreeSet<u32>) -> Result<(), Mistake> {
    let stays_up = !matches!(fault.change, Change::Down | Change::Up) || !arrivals.contains(&fault.link);
    ensure!(
        stays_up,
        "faults[{at}].link",
        fault.link,
        "a link with one delay that neither holds nor reorders frames, if it goes down or up"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PACKET_KINDS;
    use crate::spec::ports::{ClassSpec, Limit};

    #[test]
    fn a_port_has_at_most_twelve_classes() {
        let class = ClassSpec { limit: Limit::Packets(1), ..ClassSpec::OPEN };
        let with_classes = |classes: usize| {
            let discipline =
                Discipline::new(vec![class; classes], vec![ClassOf([classes as u8 - 1; PACKET_KINDS.len()])]);
            Network { disciplines: vec![discipline], ..Network::bare() }.check_disciplines()
        };
        assert_eq!(with_classes(12), Ok(()));
        let refused = with_classes(13).unwrap_err();
        assert_eq!(refused.to_string(), "number of disciplines[0].classes = 13: expected at most 12");
    }

    /// 2^20 links and a host's port, or one link less. 2^37 ps are 137 ms; 65,535 B take 524 ms at 1 Mbps and 131 ms at 4 Mbps.
    #[test]
    fn with_many_entities_times_ahead_are_shorter() {
        let link = |rate, delay| PortSpec {
            from: 0,
            to: 1,
            rate: Rate(rate),
            delay: Time(delay),
            buffer: Bytes::MAX,
            marking: None,
            discipline: None,
        };
        let with = |links: usize, last: PortSpec| {
            let mut ports = vec![PortSpec { from: 1, to: 2, ..link(4_000_000, 1 << 37) }; links - 1];
            ports.push(last);
            Network { hosts: 1, nodes: 3, ports, mtu: Bytes(65_535), ..Network::bare() }.check_times_ahead()
        };
        let (few, many) = ((1 << 20) - 1, 1 << 20);
        assert_eq!(with(many, link(4_000_000, 1 << 37)), Ok(()));
        for (last, refused) in [
            (link(1_000_000, 0), "mtu_bytes / links.rate_bps = 524280us"),
            (link(4_000_000, (1 << 37) + 1), "links.delay_ps = 137438.953473us"),
        ] {
            assert_eq!(with(few, last), Ok(()));
            let mistake = with(many, last).unwrap_err().to_string();
            let why = "because of 1048577 links, hosts and ports with classes, more than 1048576";
            assert_eq!(mistake, format!("{refused}: expected at most 137438.953472us {why}"));
        }
    }

    #[test]
    fn times_end_at_the_longest_simulated_time_or_never_come() {
        type Set = fn(&mut Network, Time);
        let with = |set: Set, time: Time| {
            let mut network = Network { until_done: true, ..Network::bare() };
            set(&mut network, time);
            network.check_times()
        };
        let keys: [(&str, Set); 8] = [
            ("duration_ps", |network, time| network.duration = time),
            ("warmup_ps", |network, time| network.warmup = time),
            ("convergence_ps", |network, time| network.convergence = time),
            ("flowlet_gap_ps", |network, time| network.flowlet_gap = time),
            ("host.rto_min_ps", |network, time| network.host.rto_min = time),
            ("host.rto_initial_ps", |network, time| network.host.rto_initial = time),
            ("host.rto_max_ps", |network, time| network.host.rto_max = time),
            ("host.ack_delay_ps", |network, time| network.host.ack_delay = time),
        ];
        for (key, set) in keys {
            assert_eq!(with(set, Time(1_000_000_000_000_000_000)), Ok(()), "{key}");
            assert_eq!(with(set, Time::MAX), Ok(()), "{key}");
            for late in [1_000_000_000_000_000_001, u64::MAX - 1] {
                let expected = "at most 1000000000000000000".to_owned();
                let mistake = Mistake { key: key.to_owned(), value: late.to_string(), expected };
                assert_eq!(with(set, Time(late)), Err(mistake));
            }
        }
    }
}
