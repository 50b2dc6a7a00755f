//! What a run is made of: loaded programs, hosts, the network between them and connected flows.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use shallows_cc::units::{Bytes, Time};
use shallows_contract::request::{Control, Flows, Request};
use shallows_live::stamps::Stamps;
use shallows_live::switch::{Switch, Wiring, address};

use crate::host::{self, Host};
use crate::interface::Settings;
use crate::programs::{self, Loaded, Purpose};
use crate::traffic::Flow;
use crate::wire::{self, Options, Report, Times};
use crate::{Outcome, namespaces};

/// As many as the machine can believably emulate.
const MOST_HOSTS: u32 = 64;
const MOST_FLOWS: usize = 128;

/// Everything is up and connected, and nothing has been sent.
pub struct Emulation {
    pub loaded: Vec<Loaded>,
    pub flows: Vec<Flow>,
    pub times: Arc<Times>,
    network: JoinHandle<Outcome<Report>>,
    _hosts: Vec<Host>,
}

impl Emulation {
    /// Builds what is asked for, with these parameters of its algorithms, for processes of this control group.
    pub fn begin(request: &Request, controls: &[Control], control_group: i32) -> Outcome<Self> {
        if request.hosts > MOST_HOSTS || request.flows.src.len() > MOST_FLOWS {
            return Err(format!("the kernel world takes {MOST_HOSTS} hosts and {MOST_FLOWS} flows at most").into());
        }
        let home = namespaces::own()?;
        let loaded = load(request, controls, control_group)?;
        let (hosts, ends) = build_hosts(request, controls, &loaded)?;
        namespaces::enter(&home)?;
        let times = Arc::new(Times::default());
        let network = start_network(request, &hosts, &times)?;
        match connect(request, controls, ends) {
            Ok(flows) => Ok(Self { loaded, flows, times, network, _hosts: hosts }),
            Err(error) => {
                times.end.store(true, Ordering::Relaxed);
                let _ = network.join();
                Err(error)
            }
        }
    }

    /// Ends it; what the network has to tell.
    pub fn end(self) -> Outcome<Report> {
        self.flows.iter().for_each(Flow::stop);
        self.times.end.store(true, Ordering::Relaxed);
        self.network.join().map_err(|_| "the network's thread panicked")?
    }
}

fn load(request: &Request, controls: &[Control], control_group: i32) -> Outcome<Vec<Loaded>> {
    let sample_ns = request.record.probe_interval_ps / 1000;
    let purpose = Purpose { sample_ns, seed: request.seed, select: false };
    let mut loaded = Vec::new();
    for (number, control) in (0..).zip(controls) {
        loaded.extend(programs::load(control, purpose)?);
        if let Some(receiver) = &control.receiver {
            let program = programs::load_receiver(receiver, purpose)?;
            for (flow, _) in (0..).zip(&request.flows.cc).filter(|&(_, &cc)| cc == number) {
                program.choose(host::receiver_port(flow))?;
            }
            loaded.push(program);
        }
    }
    for program in &mut loaded {
        program.watch(control_group)?;
    }
    Ok(loaded)
}

/// The two ends of a flow, not connected.
struct Ends {
    sender: std::net::TcpStream,
    listener: std::net::TcpListener,
}

fn build_hosts(request: &Request, controls: &[Control], loaded: &[Loaded]) -> Outcome<(Vec<Host>, Vec<Ends>)> {
    let ecn = controls.iter().map(programs::ecn_capable).collect::<Outcome<Vec<_>>>()?.contains(&true);
    let names = controls.iter().map(|cc| programs::kernel_name(&cc.name)).collect::<Outcome<Vec<_>>>()?;
    let payload = request.mtu_bytes - request.header_bytes;
    let flows = &request.flows;
    let (mut hosts, mut senders, mut listeners) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..request.hosts {
        let settings = Settings {
            address: address(number),
            mtu: request.mtu_bytes,
            initial_window: request.host.initial_window_bytes.div_ceil(payload).max(1),
            quick_acks: request.host.acks_every == 1,
            rto_min_us: request.host.rto_min_ps / 1_000_000,
            ecn,
        };
        hosts.push(Host::create(&settings, loaded)?);
        for flow in 0..flows.src.len() {
            let name = &names[flows.cc[flow] as usize];
            if flows.src[flow] == number {
                let stops = flows.stop_ps[flow] < request.duration_ps;
                senders.push((flow, host::sender(flow as u32, name, stops)?));
            }
            if flows.dst[flow] == number {
                listeners.push((flow, host::listen(flow as u32, name)?));
            }
        }
    }
    senders.sort_by_key(|(flow, _)| *flow);
    listeners.sort_by_key(|(flow, _)| *flow);
    let ends = senders.into_iter().zip(listeners).map(|((_, sender), (_, listener))| Ends { sender, listener });
    Ok((hosts, ends.collect()))
}

fn start_network(request: &Request, hosts: &[Host], times: &Arc<Times>) -> Outcome<JoinHandle<Outcome<Report>>> {
    let mtu = Bytes(request.mtu_bytes);
    let (ports, markings) = (request.ports()?, request.markings()?);
    let wiring = Wiring { hosts: request.hosts, nodes: request.nodes, specs: &ports, markings: &markings };
    let switch = Switch::new(&wiring, mtu, request.seed);
    let ideal = ideals(request, &switch);
    let pairs = || request.flows.src.iter().zip(&request.flows.dst);
    let both_ways = |(&a, &b): (&u32, &u32)| switch.propagation(a, b) + switch.propagation(b, a);
    let round_trip = pairs().map(both_ways).max().unwrap_or_default();
    let shortest = pairs().map(both_ways).min().unwrap_or(Time::from_micros(1));
    let ways = pairs().map(|(&a, &b)| [switch.way(a, b), switch.way(b, a)].concat()).collect();
    let devices = hosts.iter().map(|host| host.device.try_clone()).collect::<Result<Vec<File>, _>>()?;
    let options = Options {
        ports: request.record.queue_links.clone(),
        interval_ns: request.record.queue_interval_ps / 1000,
        real_time: request.real_time == Some(true),
    };
    let times = Arc::clone(times);
    let stamps = Stamps::new((shortest.0 / 1000).max(1));
    Ok(thread::Builder::new().name("network".into()).spawn(move || {
        Ok(Report { round_trip, ideal, ways, ..wire::run(switch, devices, stamps, &times, &options)? })
    })?)
}

fn ideals(request: &Request, switch: &Switch) -> Vec<u64> {
    let Flows { src, dst, bytes, .. } = &request.flows;
    let frame = (Bytes(request.mtu_bytes), Bytes(request.mtu_bytes - request.header_bytes));
    let ideal = |at: usize| switch.ideal(src[at], dst[at], Bytes(bytes[at]), frame).0;
    (0..src.len()).map(|at| if bytes[at] == 0 { 0 } else { ideal(at) }).collect()
}

fn connect(request: &Request, controls: &[Control], ends: Vec<Ends>) -> Outcome<Vec<Flow>> {
    let flows = &request.flows;
    let mut connected = Vec::new();
    for (number, Ends { sender, listener }) in ends.into_iter().enumerate() {
        host::connect(&sender, number as u32, flows.dst[number])
            .map_err(|error| format!("flow {number} does not connect: {error}"))?;
        let (receiver, _) = listener.accept()?;
        let wants_ecn = programs::ecn_capable(&controls[flows.cc[number] as usize])?;
        if wants_ecn && !host::Info::of(sender.as_raw_fd()).ecn() {
            return Err(format!("flow {number}: the two ends did not agree on ECN, marks would be lost").into());
        }
        connected.push(Flow::new(sender, receiver, flows.bytes[number]));
    }
    Ok(connected)
}
