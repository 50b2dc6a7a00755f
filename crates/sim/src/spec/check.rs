//! Checks of a request: everything that the simulator relies on.

use shallows_cc::catalog::Marking;
use shallows_cc::units::{Bytes, Time};

use crate::packet::{MAX_CLASSES, PacketKind};
use crate::spec::fault::Change;
use crate::spec::flow::FlowSpec;
use crate::spec::network::{Balancing, Network};
use crate::spec::ports::{ClassOf, Discipline};

/// Largest number of entities of the event queue ([`Network::entities`]).
pub const MAX_ENTITIES: usize = 1 << 20;
/// Longest propagation delay: 2.2 s, half of what the event queue can hold.
pub const MAX_DELAY: Time = Time((1 << 42) / 2);
/// The longest simulated time, at which a run ends that would otherwise end with its flows. The sum of a few times stays below 2^64 ps.
pub const MAX_TIME: Time = Time::from_secs_whole(1_000_000);
/// Lowest and highest rate of a link: 1 Mbps and 10 Tbps, at which a byte takes 0.8 ps.
const MIN_RATE: u64 = 1_000_000;
const MAX_RATE: u64 = 10_000_000_000_000;
/// Largest number of classes of a port: one for each traffic class, and those of pauses, control packets, credits and paced data.
const MAX_PORT_CLASSES: usize = MAX_CLASSES + 4;
/// Number of packets of a flow, exclusive.
const MAX_PACKETS: u64 = 1 << 31;

impl Network {
    /// Checks what the simulator relies on.
    ///
    /// # Errors
    /// A message with the key, its value and what was expected.
    pub fn check(&self) -> Result<(), String> {
        let entities = self.entities();
        if entities > MAX_ENTITIES {
            return Err(format!("{entities} links, hosts and ports with classes: expected at most {MAX_ENTITIES}"));
        }
        if self.header.0 == 0 || self.mtu <= self.header || self.mtu.0 > u64::from(u16::MAX) {
            let (mtu, header) = (self.mtu.0, self.header.0);
            return Err(format!(
                "mtu_bytes = {mtu}, header_bytes = {header}: expected a header of 1 B or more, and room for payload in at most 65535 B"
            ));
        }
        if self.host.acks_every == 0 || self.host.acks_every > 255 {
            return Err(format!("host.acks_every = {}: expected 1 to 255", self.host.acks_every));
        }
        if self.host.option >= self.header {
            let (option, header) = (self.host.option.0, self.header.0);
            return Err(format!("host.option_bytes = {option}: expected less than header_bytes, {header}"));
        }
        if self.host.poll > Time::ZERO && self.host.batch == 0 {
            return Err("host.batch = 0: expected 1 or more where hosts poll".into());
        }
        if !(0.0..=1.0).contains(&self.host.gap) {
            return Err(format!("host.gap = {}: expected 0 to 1", self.host.gap));
        }
        if self.duration == Time::MAX && !self.until_done {
            return Err("duration_ps: expected an end of the run, or until_done = true".into());
        }
        if self.entropies > 1 << 16 || self.entropies > 0 && !self.entropies.is_power_of_two() {
            return Err(format!("entropies = {}: expected a power of two up to 65536, or 0", self.entropies));
        }
        self.check_times()?;
        self.check_classes()?;
        self.check_disciplines()?;
        self.check_ports()?;
        self.check_faults()?;
        self.check_record()?;
        self.flows.iter().enumerate().try_for_each(|(at, flow)| {
            self.check_flow(at, flow)?;
            self.check_algorithm(at, flow)
        })?;
        self.check_tasks()
    }

    /// Times are at most [`MAX_TIME`], or [`Time::MAX`] where that means never.
    fn check_times(&self) -> Result<(), String> {
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
        let of_flow = |flow: &FlowSpec| [("flows.start_ps", flow.start), ("flows.stop_ps", flow.stop)];
        let computations = self.computations.iter();
        let of_computations = computations.map(|one| ("computations.start_ps", one.start));
        let of_faults = self.faults.iter().map(|fault| ("faults.time_ps", fault.at));
        let mut all =
            times.into_iter().chain(self.flows.iter().flat_map(of_flow)).chain(of_computations).chain(of_faults);
        match all.find(|&(_, time)| time > MAX_TIME && time != Time::MAX) {
            Some((key, time)) => Err(format!("{key} = {}: expected at most {}", time.0, MAX_TIME.0)),
            None => Ok(()),
        }
    }

    fn check_classes(&self) -> Result<(), String> {
        let count = self.classes.len();
        if !(1..=MAX_CLASSES).contains(&count) {
            return Err(format!("classes has {count} entries: expected 1 to {MAX_CLASSES}"));
        }
        for (at, class) in self.classes.iter().enumerate() {
            if class.quantum.is_some_and(|quantum| quantum < self.mtu) {
                return Err(format!("classes[{at}].quantum_bytes: expected a full frame or more, {} B", self.mtu.0));
            }
            if class.pool.is_some_and(|pool| pool as usize >= self.pools.len()) {
                return Err(format!("classes[{at}].pool: expected one of {} pools", self.pools.len()));
            }
        }
        match self.flows.iter().position(|flow| flow.class as usize >= count) {
            Some(at) => Err(format!("flows.class[{at}] = {}: expected one of {count} classes", self.flows[at].class)),
            None => Ok(()),
        }
    }

    /// Ports that may pause a traffic class need a class for its data alone, and frames fit into every turn.
    fn check_turns(&self, at: usize, discipline: &Discipline) -> Result<(), String> {
        for (number, class) in discipline.classes.iter().enumerate() {
            if class.quantum.is_some_and(|quantum| quantum < self.mtu) {
                let mtu = self.mtu.0;
                return Err(format!(
                    "disciplines[{at}].classes[{number}].quantum_bytes: expected a full frame or more, {mtu} B"
                ));
            }
            if class.marking.is_some_and(|marking| marking as usize >= self.markings.len()) {
                let count = self.markings.len();
                return Err(format!("disciplines[{at}].classes[{number}].marking: expected one of {count}"));
            }
        }
        let data: Vec<u8> = (0..self.classes.len()).map(|class| discipline.class_of_data(class)).collect();
        let shared = |&(class, of): &(usize, &u8)| {
            self.classes[class].pause.is_some() && data.iter().filter(|other| *other == of).count() > 1
        };
        match data.iter().enumerate().find(shared) {
            Some((class, _)) => Err(format!(
                "disciplines[{at}]: expected a class for the data of classes[{class}] alone, which has pauses"
            )),
            None => Ok(()),
        }
    }

    fn check_disciplines(&self) -> Result<(), String> {
        for (at, discipline) in self.disciplines.iter().enumerate() {
            let classes = discipline.classes.len();
            if classes > MAX_PORT_CLASSES {
                return Err(format!("disciplines[{at}] has {classes} classes: expected at most {MAX_PORT_CLASSES}"));
            }
            if !(1..=MAX_CLASSES).contains(&discipline.class_of.len()) {
                return Err(format!("disciplines[{at}].class_of: expected 1 to {MAX_CLASSES} entries"));
            }
            let by_kind = discipline.class_of.iter().flat_map(|ClassOf(by_kind)| by_kind);
            if let Some(&class) = by_kind.chain(&discipline.paced).find(|&&class| usize::from(class) >= classes) {
                return Err(format!("disciplines[{at}] puts packets into class {class}: expected one of {classes}"));
            }
            if discipline.classes.iter().filter(|class| class.turn.is_some()).count() > 1 {
                return Err(format!("disciplines[{at}] has several classes with a turn: expected at most one"));
            }
            self.check_trimming(at, discipline)?;
            self.check_turns(at, discipline)?;
        }
        Ok(())
    }

    /// The headers of trimmed packets need a class that does not trim. A switch counts paused and pooled packets whole.
    fn check_trimming(&self, at: usize, discipline: &Discipline) -> Result<(), String> {
        for (number, class) in self.classes.iter().enumerate() {
            let ClassOf(by_kind) = discipline.class_of(number);
            let trims = |kind: PacketKind| discipline.classes[usize::from(by_kind[kind as usize])].trims;
            if !trims(PacketKind::Data) {
                continue;
            }
            if trims(PacketKind::Trimmed) || class.pool.is_some() || class.pause.is_some() {
                return Err(format!(
                    "disciplines[{at}] trims the data of classes[{number}]: expected a class for headers that does not, and neither a pool nor pauses"
                ));
            }
        }
        Ok(())
    }

    fn check_ports(&self) -> Result<(), String> {
        let mut nics = vec![0; self.hosts as usize];
        for (at, port) in self.ports.iter().enumerate() {
            if port.from >= self.nodes || port.to >= self.nodes || port.from == port.to {
                let (from, to, nodes) = (port.from, port.to, self.nodes);
                return Err(format!("link {at} from node {from} to {to}: expected two of {nodes} nodes"));
            }
            if !(MIN_RATE..=MAX_RATE).contains(&port.rate.0) || port.delay > MAX_DELAY {
                let (rate, delay) = (port.rate.0, port.delay.0);
                return Err(format!(
                    "link {at} with rate_bps = {rate}, delay_ps = {delay}: expected 1 Mbps to 10 Tbps and at most 2.2 s"
                ));
            }
            let scheduled = port.discipline.is_some_and(|at| (at as usize) < self.disciplines.len());
            if port.discipline.is_some() != scheduled {
                return Err(format!("links.discipline[{at}]: expected at most {}", self.disciplines.len()));
            }
            if (self.shares_memory() && port.from >= self.hosts || self.pauses()) && !scheduled {
                return Err(format!("links.discipline[{at}] = 0: expected classes, which pools and pauses need"));
            }
            if let Some(count) = nics.get_mut(port.from as usize) {
                *count += 1;
            }
            let Some(marking) = port.marking.map(|marking| self.markings.get(marking as usize)) else { continue };
            let Some(marking) = marking else {
                return Err(format!("links.marking[{at}]: expected at most {}", self.markings.len()));
            };
            if marking.judges_heads() && !scheduled {
                let kind = marking.mechanism.name;
                return Err(format!("links.discipline[{at}] = 0: expected classes, which {kind} needs"));
            }
        }
        match nics.iter().position(|&count| count == 0) {
            Some(host) => Err(format!("host {host} has no link: expected one or more")),
            None => Ok(()),
        }
    }

    fn check_record(&self) -> Result<(), String> {
        let Some(goodput) = &self.record.goodput else { return Ok(()) };
        if goodput.interval == Time::ZERO {
            return Err("record.goodput.interval_ps = 0: expected 1 or more".to_owned());
        }
        match goodput.flows.iter().flatten().find(|&&flow| flow as usize >= self.flows.len()) {
            Some(flow) => Err(format!("record.goodput.flows: {flow}: expected one of {}", self.flows.len())),
            None => Ok(()),
        }
    }

    fn check_faults(&self) -> Result<(), String> {
        for (at, fault) in self.faults.iter().enumerate() {
            let Some(port) = self.ports.get(fault.link as usize) else {
                return Err(format!("faults[{at}].link = {}: expected one of {}", fault.link, self.ports.len()));
            };
            let wrong = match fault.change {
                Change::Loss(share) | Change::BitErrors(share) if !(0.0..=1.0).contains(&share) => {
                    Some("a share from 0 to 1")
                }
                Change::Rate(rate) if rate.0 < MIN_RATE || rate > port.rate => Some("1 Mbps to the link's own rate"),
                Change::Down | Change::Up | Change::Rate(_) if port.discipline.is_none() => {
                    Some("a link whose port has classes")
                }
                _ if at > 0 && fault.at < self.faults[at - 1].at => Some("faults in order of time"),
                _ => None,
            };
            if let Some(expected) = wrong {
                return Err(format!("faults[{at}], {:?} of link {}: expected {expected}", fault.change, fault.link));
            }
        }
        Ok(())
    }

    fn check_flow(&self, at: usize, flow: &FlowSpec) -> Result<(), String> {
        if flow.src >= self.hosts || flow.dst >= self.hosts || flow.src == flow.dst {
            let (src, dst, hosts) = (flow.src, flow.dst, self.hosts);
            return Err(format!("flow {at} from host {src} to {dst}: expected two of {hosts} hosts"));
        }
        if flow.application.off > Time::ZERO && flow.application.on == Time::ZERO {
            return Err(format!("flow {at} pauses forever: expected an on_ps above 0, as off_ps is"));
        }
        if flow.bytes.0 == 0 || (flow.bytes != Bytes::MAX && flow.bytes.0 / self.mss().0 >= MAX_PACKETS) {
            return Err(format!("flow {at} has {} bytes: expected 1 to {MAX_PACKETS} packets", flow.bytes.0));
        }
        Ok(())
    }

    fn check_algorithm(&self, at: usize, flow: &FlowSpec) -> Result<(), String> {
        let Some(control) = self.controls.get(flow.control as usize) else {
            return Err(format!("flows.cc[{at}] = {}: expected one of {}", flow.control, self.controls.len()));
        };
        let one_way = match control.algorithm.marking {
            _ if control.waits_for_credits() => Some("waits for credits, which need one path there and back"),
            Marking::Records(_) => Some("compares the records of hops from packet to packet, which need one path"),
            _ => None,
        };
        if let Some(why) = one_way.filter(|_| self.balancing != Balancing::Flow) {
            return Err(format!("flow {at} {why}: expected balancing = \"flow\""));
        }
        if (control.waits_for_credits() || control.waits_for_pulls()) && flow.application.pauses() {
            return Err(format!("flow {at} sends on credits or pulls: expected an application that does not pause"));
        }
        Ok(())
    }
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
        assert_eq!(with_classes(13).unwrap_err(), "disciplines[0] has 13 classes: expected at most 12");
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
                let problem = format!("{key} = {late}: expected at most 1000000000000000000");
                assert_eq!(with(set, Time(late)), Err(problem));
            }
        }
    }
}
