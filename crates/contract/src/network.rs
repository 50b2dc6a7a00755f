//! A request becomes what a world runs; a request that contradicts itself is a sentence that names the key.

use std::collections::BTreeMap;

use shallows_cc::catalog;
use shallows_cc::pacer::PacerSpec;
use shallows_cc::parameter::{Parameter, Values};
use shallows_cc::port::{self, MarkAt};
use shallows_cc::receiver::{AlternateReceiver, SUBSTITUTES};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::packet::PACKET_KINDS;
use shallows_sim::spec::fault::{Change, Fault};
use shallows_sim::spec::network::{
    self as sim, Application, ClassSpec, Discipline, FlowSpec, HostSpec, Limit, Network, PauseSpec, PortSpec,
    RecordSpec, Shaper, SharedSpec, UserAlgorithm,
};
use shallows_sim::timestamps;

use crate::request::{
    Applications, At, Balancing, Class, Control, FaultKind, Faults, Flows, Host, Links, Marking, Nic, Pacer, Receiver,
    Record, Request, Timestamps,
};

/// Makes a sender's maker of the number of a class.
type Classes<'a> = &'a dyn Fn(u32) -> Option<UserAlgorithm>;

impl Request {
    /// The packet world's network; `classes` has the algorithms that come by number.
    ///
    /// # Errors
    /// A sentence about what contradicts what.
    pub fn network(&self, classes: Classes<'_>) -> Result<Network, String> {
        if self.real_time == Some(true) {
            return Err("real_time: expected none, as only the kernel world runs in real time".to_owned());
        }
        Ok(Network {
            hosts: self.hosts,
            nodes: self.nodes,
            ports: self.ports()?,
            markings: self.markings()?,
            disciplines: self
                .disciplines
                .iter()
                .flatten()
                .map(|classes| discipline(classes))
                .collect::<Result<_, _>>()?,
            shared: self.shared.as_ref().map(|given| SharedSpec { size: Bytes(given.size_bytes), alpha: given.alpha }),
            pause: self.pause.as_ref().map(|given| PauseSpec {
                threshold: Bytes(given.threshold_bytes),
                hysteresis: Bytes(given.hysteresis_bytes),
                headroom: given.headroom_bytes.map(Bytes),
            }),
            balancing: self.balancing.map_or(sim::Balancing::Flow, balancing),
            faults: self.faults.as_ref().map_or(Ok(Vec::new()), Faults::changes)?,
            convergence: self.convergence_ps.map_or(Time::MAX, Time),
            flows: self.flows.specs()?,
            controls: self.ccs.iter().map(|control| control.spec(classes)).collect::<Result<_, _>>()?,
            host: self.host.spec(),
            mtu: Bytes(self.mtu_bytes),
            header: Bytes(self.header_bytes),
            duration: Time(self.duration_ps),
            until_done: self.until_done,
            warmup: Time(self.warmup_ps),
            seed: self.seed,
            record: self.record.spec(),
        })
    }

    /// The ports, each with the index of its marking among [`Request::markings`].
    ///
    /// # Errors
    /// Columns of unequal lengths, and a marking that is not there.
    pub fn ports(&self) -> Result<Vec<PortSpec>, String> {
        let Links { from, to, rate_bps, delay_ps, buffer_bytes, marking, discipline } = &self.links;
        let given = discipline.as_ref().map_or(from.len(), Vec::len);
        let lengths = [from.len(), to.len(), rate_bps.len(), delay_ps.len(), buffer_bytes.len(), marking.len(), given];
        let mut real = 0..;
        let place: Vec<Option<u32>> =
            self.markings.iter().map(|given| given.is_some().then(|| real.next()).flatten()).collect();
        let port = |at: usize| {
            let marking = place.get(marking[at] as usize).copied();
            Ok(PortSpec {
                from: from[at],
                to: to[at],
                rate: Rate(rate_bps[at]),
                delay: Time(delay_ps[at]),
                buffer: Bytes(buffer_bytes[at]),
                marking: marking.ok_or_else(|| format!("links.marking[{at}]: no such marking"))?,
                discipline: discipline.as_ref().and_then(|numbers| numbers[at].checked_sub(1)),
            })
        };
        (0..equal("links", &lengths)?).map(port).collect()
    }

    /// How ports mark, without those that do not.
    ///
    /// # Errors
    /// An unknown kind or parameter.
    pub fn markings(&self) -> Result<Vec<sim::Marking>, String> {
        self.markings.iter().filter(|given| given.is_some()).map(Marking::spec).collect()
    }
}

/// The length of all columns of a table.
fn equal(table: &str, lengths: &[usize]) -> Result<usize, String> {
    if lengths.iter().any(|&length| length != lengths[0]) {
        return Err(format!("{table}: columns of lengths {lengths:?}, expected equal ones"));
    }
    Ok(lengths[0])
}

/// The defaults of a row, with what was given.
fn values(name: &str, parameters: &'static [Parameter], given: &BTreeMap<String, f64>) -> Result<Values, String> {
    let mut values = Values::defaults(parameters);
    for (key, &value) in given {
        values.set(key, value).map_err(|problem| format!("{name}: {problem}"))?;
    }
    Ok(values)
}

fn balancing(given: Balancing) -> sim::Balancing {
    match given {
        Balancing::Flow => sim::Balancing::Flow,
        Balancing::Packet => sim::Balancing::Packet,
        Balancing::Queue => sim::Balancing::Queue,
    }
}

impl Marking {
    fn is_some(&self) -> bool {
        self.kind != "none"
    }

    fn spec(&self) -> Result<sim::Marking, String> {
        let mechanism = port::find(&self.kind).ok_or_else(|| format!("no marking is called {:?}", self.kind))?;
        let at = match self.at {
            None => mechanism.at,
            Some(At::Enqueue) => MarkAt::Enqueue,
            Some(At::Dequeue) => MarkAt::Dequeue,
        };
        let given = self.parameters.clone().unwrap_or_default();
        Ok(sim::Marking { mechanism, values: values(&self.kind, mechanism.parameters, &given)?, at })
    }
}

/// Kinds that no class names go where one says "other".
fn discipline(classes: &[Class]) -> Result<Discipline, String> {
    let (mut class_of, mut others) = ([u8::MAX; PACKET_KINDS.len()], u8::MAX);
    let (mut priority, mut paced) = (None, None);
    for (number, class) in (0..).zip(classes) {
        for name in &class.carries {
            match name.as_str() {
                "other" => others = number,
                "priority" => priority = Some(number),
                "paced" => paced = Some(number),
                _ => {
                    let kind = PACKET_KINDS.iter().position(|kind| kind.name() == name);
                    class_of[kind.ok_or_else(|| format!("no packet is called {name:?}"))?] = number;
                }
            }
        }
    }
    let class_of = class_of.map(|class| if class == u8::MAX { others } else { class });
    if let Some(kind) = class_of.iter().position(|&class| class == u8::MAX) {
        return Err(format!("a discipline has no class for {:?}", PACKET_KINDS[kind].name()));
    }
    Ok(Discipline { classes: classes.iter().map(Class::spec).collect::<Result<_, _>>()?, class_of, priority, paced })
}

impl Class {
    fn spec(&self) -> Result<ClassSpec, String> {
        let limit = match (self.limit_packets, self.limit_bytes) {
            (Some(packets), _) => Limit::Packets(packets),
            (None, Some(bytes)) => Limit::Bytes(Bytes(bytes)),
            (None, None) => return Err(format!("the class of {:?} has no limit", self.carries)),
        };
        let shaper = match (self.shaper_bps, self.shaper_burst_bytes) {
            (None, _) => None,
            (Some(rate), Some(burst)) => {
                let pacer = self.pacer.as_ref().map(|given| given.spec(Rate(rate))).transpose()?;
                Some(Shaper { rate: Rate(rate), burst: Bytes(burst), pacer })
            }
            (Some(_), None) => return Err(format!("the shaper of {:?} has no burst", self.carries)),
        };
        Ok(ClassSpec { limit, shaper, trims: self.trims == Some(true), turn: self.turn })
    }
}

impl Pacer {
    fn spec(&self, most: Rate) -> Result<PacerSpec, String> {
        let least = Rate(self.least_bps).min(most);
        if self.period_ps == 0 || least == Rate::ZERO {
            return Err("a pacer without a period or a least rate: expected more than 0 of both".to_owned());
        }
        Ok(PacerSpec { eta: self.eta, beta: self.beta, period: Time(self.period_ps), least, most })
    }
}

impl Faults {
    fn changes(&self) -> Result<Vec<Fault>, String> {
        let Self { time_ps, link, kind, value } = self;
        let fault = |n: usize| {
            let change = match kind[n] {
                FaultKind::Down => Change::Down,
                FaultKind::Up => Change::Up,
                FaultKind::Rate => Change::Rate(Rate(value[n] as u64)),
                FaultKind::Loss => Change::Loss(value[n]),
            };
            Fault { at: Time(time_ps[n]), link: link[n], change }
        };
        Ok((0..equal("faults", &[time_ps.len(), link.len(), kind.len(), value.len()])?).map(fault).collect())
    }
}

impl Flows {
    /// The flows.
    ///
    /// # Errors
    /// Columns of unequal lengths.
    pub fn specs(&self) -> Result<Vec<FlowSpec>, String> {
        let Self { src, dst, bytes, start_ps, stop_ps, application, after, priority, cc } = self;
        let given = |column: &Option<Vec<u32>>| column.as_ref().map_or(src.len(), Vec::len);
        let applications = application.as_ref().map(|given| given.specs(src.len())).transpose()?;
        let lengths = [src.len(), dst.len(), bytes.len(), start_ps.len(), stop_ps.len(), cc.len()];
        let flow = |at: usize| FlowSpec {
            src: src[at],
            dst: dst[at],
            bytes: if bytes[at] == 0 { Bytes::MAX } else { Bytes(bytes[at]) },
            start: Time(start_ps[at]),
            after: after.as_ref().map(|column| column[at]).filter(|&first| first != u32::MAX).into_iter().collect(),
            stop: Time(stop_ps[at]),
            application: applications.as_ref().map_or(Application::EAGER, |given| given[at]),
            priority: priority.as_ref().is_some_and(|column| column[at] > 0),
            control: cc[at],
        };
        let lengths = [&lengths[..], &[given(after), given(priority)]].concat();
        Ok((0..equal("flows", &lengths)?).map(flow).collect())
    }
}

impl Applications {
    fn specs(&self, flows: usize) -> Result<Vec<Application>, String> {
        let Self { first_bytes, resume_ps, on_ps, off_ps } = self;
        let application = |at: usize| Application {
            first: Bytes(first_bytes[at]),
            resumes: Time(resume_ps[at]),
            on: Time(on_ps[at]),
            off: Time(off_ps[at]),
        };
        let lengths = [flows, first_bytes.len(), resume_ps.len(), on_ps.len(), off_ps.len()];
        Ok((0..equal("flows.application", &lengths)?).map(application).collect())
    }
}

impl Control {
    fn spec(&self, classes: Classes<'_>) -> Result<sim::Control, String> {
        let algorithm = catalog::find(&self.name).ok_or_else(|| format!("no algorithm is called {:?}", self.name))?;
        let written = match self.written {
            None => None,
            Some(number) => Some(classes(number).ok_or_else(|| format!("ccs.written: no class {number}"))?),
        };
        Ok(sim::Control {
            algorithm,
            values: values(&self.name, algorithm.parameters, &self.parameters)?,
            receiver: self.receiver.as_ref().map(Receiver::spec).transpose()?,
            written,
        })
    }
}

impl Receiver {
    fn spec(&self) -> Result<(&'static AlternateReceiver, Values), String> {
        let known = SUBSTITUTES.iter().find(|receiver| receiver.name == self.kind);
        let receiver = known.ok_or_else(|| format!("no receiver is called {:?}", self.kind))?;
        Ok((receiver, values(&self.kind, receiver.parameters, &self.parameters)?))
    }
}

impl Host {
    fn spec(&self) -> HostSpec {
        HostSpec {
            nic: match self.nic {
                Nic::Fair => sim::Nic::Fair,
                Nic::Fifo => sim::Nic::Fifo,
            },
            initial_window: Bytes(self.initial_window_bytes),
            rto_min: Time(self.rto_min_ps),
            rto_max: Time(self.rto_max_ps),
            rto_initial: Time(self.rto_initial_ps),
            acks_every: self.acks_every,
            ack_delay: Time(self.ack_delay_ps),
            segment: self.segment,
            timestamps: self.timestamps.as_ref().map(Timestamps::spec),
        }
    }
}

impl Timestamps {
    fn spec(&self) -> timestamps::Timestamps {
        timestamps::Timestamps {
            burst: self.burst,
            bucket: self.bucket,
            poll: Time(self.poll_ps),
            stack: Time(self.stack_ps),
            noise: Time(self.noise_ps),
            drift: self.drift,
            host_delay_removed: self.host_delay_removed,
            burst_reduced: self.burst_reduced,
            calibrated: self.calibrated,
        }
    }
}

impl Record {
    fn spec(&self) -> RecordSpec {
        RecordSpec {
            queue_interval: Time(self.queue_interval_ps),
            ports: self.queue_links.clone(),
            probe_interval: Time(self.probe_interval_ps),
            flows: self.probe_flows.clone(),
        }
    }
}
