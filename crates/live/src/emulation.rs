//! The parts of a run: loaded programs, hosts, the network between them and connected flows.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use shallows_cc::units::{Bytes, Rate, Time};
use shallows_contract::live::Run;
use shallows_live::stamps::Stamps;
use shallows_live::switch::{Switch, Wiring, address};
use shallows_sim::{ControlSpec, FlowSpec, Network};

use crate::host::{self, Host};
use crate::interface::Settings;
use crate::programs::{self, Loaded, Purpose};
use crate::traffic::Flow;
use crate::wire::{self, Options, Report, Times};
use crate::{Outcome, namespaces};

/// Limits of what the machine can emulate credibly.
const MOST_HOSTS: u32 = 64;
const MOST_FLOWS: usize = 128;
/// The emulation moves less than this, so that no queue builds at a host's own link of a higher rate.
const FASTEST_CHARGED: Rate = Rate(2_000_000_000);

/// Everything is up and connected; nothing has been sent.
pub struct Emulation {
    pub loaded: Vec<Loaded>,
    pub flows: Vec<Flow>,
    pub times: Arc<Times>,
    network: JoinHandle<Outcome<Report>>,
    _hosts: Vec<Host>,
}

impl Emulation {
    /// Builds the request with these parameters of its algorithms, for processes of this control group.
    pub fn begin(run: &Run, controls: &[ControlSpec], control_group: i32) -> Outcome<Self> {
        let request = &run.request;
        if request.hosts > MOST_HOSTS || request.flows.len() > MOST_FLOWS {
            return Err(format!("the kernel world takes {MOST_HOSTS} hosts and {MOST_FLOWS} flows at most").into());
        }
        let home = namespaces::own()?;
        let named = |(number, control): (usize, &ControlSpec)| programs::name_in_run(&control.name, number);
        let names = controls.iter().enumerate().map(named).collect::<Outcome<Vec<_>>>()?;
        let loaded = load(request, controls, &names, control_group)?;
        let (hosts, ends) = build_hosts(request, controls, &names, &loaded)?;
        namespaces::enter(&home)?;
        let times = Arc::new(Times::default());
        let network = start_network(run, &hosts, &times)?;
        match connect(request, controls, &names, ends) {
            Ok(flows) => Ok(Self { loaded, flows, times, network, _hosts: hosts }),
            Err(error) => {
                times.end.store(true, Ordering::Relaxed);
                let _ = network.join();
                Err(error)
            }
        }
    }

    /// Ends the emulation and returns the network's report. An error if a flow has had another congestion control.
    pub fn end(self) -> Outcome<Report> {
        let kept = self.flows.iter().try_for_each(Flow::has_its_congestion_control);
        self.flows.iter().for_each(Flow::stop);
        self.times.end.store(true, Ordering::Relaxed);
        let report = self.network.join().map_err(|_| "the network's thread panicked")?;
        kept.and(report)
    }
}

fn load(request: &Network, controls: &[ControlSpec], names: &[String], control_group: i32) -> Outcome<Vec<Loaded>> {
    let sample_ns = request.record.probe_interval.0 / 1000;
    let purpose = Purpose { sample_ns, seed: request.seed, select: false };
    let mut loaded = Vec::new();
    for ((number, control), name) in (0..).zip(controls).zip(names) {
        loaded.extend(programs::load(control, name, purpose)?);
        if let Some(receiver) = &control.receiver {
            let program = programs::load_receiver(receiver, purpose)?;
            for (flow, _) in (0..).zip(&request.flows).filter(|(_, flow)| flow.control == number) {
                program.choose(host::receiver_port(flow))?;
            }
            loaded.push(program);
        }
    }
    loaded.extend(load_ecn(request, controls)?);
    for program in &mut loaded {
        program.watch(control_group)?;
    }
    Ok(loaded)
}

/// The program that makes flows of ECN-capable algorithms ask for ECN; `None` without such a flow. The others do not ask.
fn load_ecn(request: &Network, controls: &[ControlSpec]) -> Outcome<Option<Loaded>> {
    let capable = controls.iter().map(programs::ecn_capable).collect::<Outcome<Vec<_>>>()?;
    let chosen: Vec<_> = (0..)
        .zip(&request.flows)
        .filter(|(_, flow)| capable[flow.control as usize])
        .map(|(number, _)| number)
        .collect();
    if chosen.is_empty() {
        return Ok(None);
    }
    let program = programs::load_ecn()?;
    // Linux takes a request from an ECN-capable packet, as this one is, only if the other end needs ECN too.
    for flow in chosen {
        [host::sender_port(flow), host::receiver_port(flow)].into_iter().try_for_each(|port| program.choose(port))?;
    }
    Ok(Some(program))
}

/// The own link of a host, as a port and its rate; `None` if it is so fast that this machine cannot fill it.
fn own_link(request: &Network, host: u32) -> Option<(u32, Rate)> {
    let (port, spec) = (0..).zip(&request.ports).find(|(_, port)| port.from == host)?;
    (spec.rate <= FASTEST_CHARGED).then_some((port, spec.rate))
}

/// The two ends of an unconnected flow.
struct Ends {
    sender: std::net::TcpStream,
    listener: std::net::TcpListener,
}

fn build_hosts(
    request: &Network,
    controls: &[ControlSpec],
    names: &[String],
    loaded: &[Loaded],
) -> Outcome<(Vec<Host>, Vec<Ends>)> {
    let payload = request.mss().0;
    let (mut hosts, mut senders, mut listeners) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..request.hosts {
        let settings = Settings {
            address: address(number),
            mtu: request.mtu.0,
            initial_window: request.host.initial_window.0.div_ceil(payload).max(1),
            quick_acks: controls.iter().all(|control| control.acks_every() == 1),
            rto_min_us: request.host.rto_min.0 / 1_000_000,
            ecn: false,
            charged: own_link(request, number).map(|(_, rate)| rate),
        };
        hosts.push(Host::create(number, &settings, loaded)?);
        for (flow, spec) in (0..).zip(&request.flows) {
            let name = &names[spec.control as usize];
            if spec.src == number {
                senders.push((flow, host::sender(flow, name, spec.stop < request.duration)?));
            }
            if spec.dst == number {
                listeners.push((flow, host::listen(flow, name)?));
            }
        }
    }
    senders.sort_by_key(|(flow, _)| *flow);
    listeners.sort_by_key(|(flow, _)| *flow);
    let ends = senders.into_iter().zip(listeners).map(|((_, sender), (_, listener))| Ends { sender, listener });
    Ok((hosts, ends.collect()))
}

fn start_network(run: &Run, hosts: &[Host], times: &Arc<Times>) -> Outcome<JoinHandle<Outcome<Report>>> {
    let Run { request, real_time } = run;
    let &Network { hosts: count, nodes, ref ports, ref markings, .. } = request;
    let wiring = Wiring { hosts: count, nodes, specs: ports, markings };
    let switch = Switch::new(&wiring, request.mtu, request.seed);
    let ideal = ideals(request, &switch);
    let pairs = || request.flows.iter().map(|flow| (flow.src, flow.dst));
    let both_ways = |(a, b): (u32, u32)| switch.propagation(a, b) + switch.propagation(b, a);
    let round_trip = pairs().map(both_ways).max().unwrap_or_default();
    let shortest = pairs().map(both_ways).min().unwrap_or(Time::from_micros(1));
    let ways = pairs().map(|(a, b)| [switch.way(a, b), switch.way(b, a)].concat()).collect();
    let devices = hosts.iter().map(|host| host.device.try_clone()).collect::<Result<Vec<File>, _>>()?;
    let options = Options {
        ports: request.record.ports.clone(),
        interval_ns: request.record.queue_interval.0 / 1000,
        real_time: *real_time,
        own_links: (0..count).map(|host| own_link(request, host)).collect(),
    };
    let times = Arc::clone(times);
    let stamps = Stamps::new((shortest.0 / 1000).max(1));
    Ok(thread::Builder::new().name("network".into()).spawn(move || {
        Ok(Report { round_trip, ideal, ways, ..wire::run(switch, devices, stamps, &times, &options)? })
    })?)
}

fn ideals(request: &Network, switch: &Switch) -> Vec<u64> {
    let frame = (request.mtu, request.mss());
    let ideal = |flow: &FlowSpec| switch.ideal(flow.src, flow.dst, flow.bytes, frame).0;
    request.flows.iter().map(|flow| if flow.bytes == Bytes::MAX { 0 } else { ideal(flow) }).collect()
}

fn connect(request: &Network, controls: &[ControlSpec], names: &[String], ends: Vec<Ends>) -> Outcome<Vec<Flow>> {
    let mut connected = Vec::new();
    for ((number, spec), Ends { sender, listener }) in (0..).zip(&request.flows).zip(ends) {
        host::connect(&sender, number, spec.dst).map_err(|error| format!("flow {number} does not connect: {error}"))?;
        let (receiver, _) = listener.accept()?;
        match (programs::ecn_capable(&controls[spec.control as usize])?, host::Info::of(sender.as_raw_fd()).ecn()) {
            (true, false) => {
                return Err(format!("flow {number}: the two ends did not agree on ECN, marks would be lost").into());
            }
            (false, true) => {
                let why = "its packets would be marked where others are dropped";
                return Err(format!("flow {number}: the two ends agreed on ECN, which is not asked for: {why}").into());
            }
            _ => {}
        }
        let name = &names[spec.control as usize];
        // A program above this control group may have given the socket another one as it connected.
        [sender.as_fd(), receiver.as_fd()].iter().try_for_each(|socket| host::set_congestion_control(socket, name))?;
        connected.push(Flow::new(sender, receiver, spec.bytes, name));
    }
    Ok(connected)
}
