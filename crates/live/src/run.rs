//! One run: hosts, programs, network and traffic, and what came of it.

#![allow(unsafe_code, reason = "a signal")]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::{cell::RefCell, thread};

use libbpf_rs::{RingBuffer, RingBufferBuilder};
use shallows_cc::units::Bytes;
use shallows_live::lateness::Allowance;
use shallows_live::switch::{Switch, Wiring, address};

use crate::answer::{self, Answer, Books, LatenessTable, Ports, Probes};
use crate::control_group::ControlGroup;
use crate::host::{self, Host, Sample};
use crate::interface::Settings;
use crate::programs::{self, Loaded, Purpose};
use crate::request::{Flows, Request};
use crate::traffic::{Beginning, Flow};
use crate::wire::{self, Manner, Report, Times};
use crate::{Outcome, clock};

/// As many as the machine can believably emulate.
const MOST_HOSTS: u32 = 64;
const MOST_FLOWS: usize = 128;
/// From everything connected to the first flow.
const PAUSE_NS: u64 = 50_000_000;
/// Between two looks at the flows.
const TICK_NS: u64 = 1_000_000;
const NEVER: u64 = u64::MAX;

/// Runs what is asked for.
pub fn run(request: &Request) -> Outcome<Answer> {
    if request.hosts > MOST_HOSTS || request.flows.src.len() > MOST_FLOWS {
        return Err(format!("the kernel world takes {MOST_HOSTS} hosts and {MOST_FLOWS} flows at most").into());
    }
    // SAFETY: the handler only stores a flag.
    unsafe { libc::signal(libc::SIGINT, interrupt as *const () as libc::sighandler_t) };
    clock::hurry();
    let home = host::namespace()?;
    let group = ControlGroup::enter()?;
    let loaded = load(request, group.descriptor())?;
    let (hosts, ends) = build_hosts(request, &loaded)?;
    host::enter(&home)?;
    let times = Arc::new(Times::default());
    let network = start_network(request, &hosts, &times)?;
    let outcome = connect(request, ends).and_then(|flows| drive(request, &flows, &loaded, &times));
    times.end.store(true, Ordering::Relaxed);
    let report = network.join().map_err(|_| "the network's thread panicked")?;
    Ok(outcome?.answer(request, report))
}

fn load(request: &Request, control_group: i32) -> Outcome<Vec<Loaded>> {
    let sample_ns = request.record.probe_interval_ps / 1000;
    let purpose = Purpose { sample_ns, seed: request.seed, select: false };
    let mut loaded = Vec::new();
    for (number, control) in (0..).zip(&request.ccs) {
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

fn build_hosts(request: &Request, loaded: &[Loaded]) -> Outcome<(Vec<Host>, Vec<Ends>)> {
    let ecn = request.ccs.iter().map(programs::ecn_capable).collect::<Outcome<Vec<_>>>()?.contains(&true);
    let names = request.ccs.iter().map(|cc| programs::kernel_name(&cc.name)).collect::<Outcome<Vec<_>>>()?;
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

fn start_network(request: &Request, hosts: &[Host], times: &Arc<Times>) -> Outcome<thread::JoinHandle<Report>> {
    let mtu = Bytes(request.mtu_bytes);
    let (ports, markings) = (request.ports(), request.markings()?);
    let wiring = Wiring { hosts: request.hosts, nodes: request.nodes, specs: &ports, markings: &markings };
    let switch = Switch::new(&wiring, mtu, request.seed);
    let ideal = ideals(request, &switch);
    let pairs = request.flows.src.iter().zip(&request.flows.dst);
    let round_trip =
        pairs.map(|(&a, &b)| switch.propagation(a, b) + switch.propagation(b, a)).max().unwrap_or_default();
    let devices = hosts.iter().map(|host| host.device.try_clone()).collect::<Result<Vec<File>, _>>()?;
    let manner = Manner {
        ports: request.record.queue_links.clone(),
        interval_ns: request.record.queue_interval_ps / 1000,
        real_time: request.real_time,
    };
    let times = Arc::clone(times);
    Ok(thread::Builder::new().name("network".into()).spawn(move || Report {
        round_trip,
        ideal,
        ..wire::run(switch, devices, &times, &manner)
    })?)
}

fn ideals(request: &Request, switch: &Switch) -> Vec<u64> {
    let Flows { src, dst, bytes, .. } = &request.flows;
    let frame = (Bytes(request.mtu_bytes), Bytes(request.mtu_bytes - request.header_bytes));
    let ideal = |at: usize| switch.ideal(src[at], dst[at], Bytes(bytes[at]), frame).0;
    (0..src.len()).map(|at| if bytes[at] == 0 { 0 } else { ideal(at) }).collect()
}

fn connect(request: &Request, ends: Vec<Ends>) -> Outcome<Vec<Flow>> {
    let flows = &request.flows;
    let mut connected = Vec::new();
    for (number, Ends { sender, listener }) in ends.into_iter().enumerate() {
        host::connect(&sender, number as u32, flows.dst[number])
            .map_err(|error| format!("flow {number} does not connect: {error}"))?;
        let (receiver, _) = listener.accept()?;
        let wants_ecn = programs::ecn_capable(&request.ccs[flows.cc[number] as usize])?;
        if wants_ecn && !host::Info::of(sender.as_raw_fd()).ecn() {
            return Err(format!("flow {number}: the two ends did not agree on ECN, marks would be lost").into());
        }
        connected.push(Flow::new(sender, receiver, flows.bytes[number]));
    }
    Ok(connected)
}

/// What the flows have to tell.
struct Told {
    flows: answer::Flows,
    probes: Probes,
    ended_ps: u64,
}

fn drive(request: &Request, flows: &[Flow], loaded: &[Loaded], times: &Times) -> Outcome<Told> {
    let begin = clock::now() + PAUSE_NS;
    let at = |ps: u64| if ps == NEVER { NEVER } else { begin + ps / 1000 };
    let (warm, end) = (at(request.warmup_ps), at(request.duration_ps));
    times.begin_ns.store(begin, Ordering::Relaxed);
    times.warm_ns.store(warm, Ordering::Relaxed);
    for (number, (flow, (beginning, waiting))) in flows.iter().zip(beginnings(&request.flows, at)).enumerate() {
        flow.start(beginning, at(request.flows.stop_ps[number]).min(end), waiting)?;
    }
    let probes = RefCell::new(Probes::default());
    let samples = sample_buffer(loaded, begin, &request.record.probe_flows, &probes)?;
    let mut polled = begin;
    let mut warm_bytes = None;
    loop {
        let now = clock::now();
        if warm_bytes.is_none() && now >= warm {
            warm_bytes = Some(flows.iter().map(Flow::received).collect::<Vec<_>>());
        }
        if now >= end || (request.until_done && flows.iter().all(Flow::done)) || INTERRUPTED.load(Ordering::Relaxed) {
            break;
        }
        samples.as_ref().map_or(Ok(()), RingBuffer::consume)?;
        let interval = request.record.probe_interval_ps / 1000;
        if interval > 0 && now >= polled {
            polled = now + interval.max(TICK_NS);
            poll_native(request, flows, (now - begin.min(now)) * 1000, &mut probes.borrow_mut());
        }
        let next = (now + TICK_NS).min(end);
        clock::sleep_until(if warm > now { next.min(warm) } else { next });
    }
    samples.as_ref().map_or(Ok(()), RingBuffer::consume)?;
    drop(samples);
    let ended = clock::now().min(end);
    let told = tell(flows, begin, &warm_bytes.unwrap_or_default());
    flows.iter().for_each(Flow::stop);
    Ok(Told { flows: told, probes: probes.into_inner(), ended_ps: (ended - begin) * 1000 })
}

/// When every flow begins, and whom it tells that it has ended.
fn beginnings(flows: &Flows, at: impl Fn(u64) -> u64) -> Vec<(Beginning, Vec<Sender<u64>>)> {
    let mut all: Vec<(Beginning, Vec<_>)> = Vec::new();
    for (number, &start_ps) in flows.start_ps.iter().enumerate() {
        let first = flows.after.get(number).and_then(|&after| all.get_mut(after as usize));
        let beginning = first.map_or(Beginning::At(at(start_ps)), |(_, waiting)| {
            let (teller, end) = channel();
            waiting.push(teller);
            Beginning::After(end, start_ps / 1000)
        });
        all.push((beginning, Vec::new()));
    }
    all
}

/// Set by SIGINT: the run ends early, with what there is.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn interrupt(_signal: i32) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Senders that the kernel knows without us tell only what any connection does.
fn poll_native(request: &Request, flows: &[Flow], time_ps: u64, probes: &mut Probes) {
    for &number in &request.record.probe_flows {
        let control = &request.ccs[request.flows.cc[number as usize] as usize];
        if ["reno", "cubic", "bbr"].contains(&control.name.as_str()) {
            let info = flows[number as usize].info();
            probes.push(time_ps, number, "window_pkt", info.window().into());
            probes.push(time_ps, number, "rtt_us", info.rtt_us().into());
        }
    }
}

fn sample_buffer<'a>(
    loaded: &'a [Loaded],
    begin: u64,
    wanted: &'a [u32],
    probes: &'a RefCell<Probes>,
) -> Outcome<Option<RingBuffer<'a>>> {
    let mut builder = RingBufferBuilder::new();
    let maps: Vec<_> = loaded.iter().filter_map(Loaded::samples).collect();
    for map in &maps {
        builder.add(map, move |bytes: &[u8]| {
            let sample = Sample::read(bytes);
            let flow = host::flow_of(sample.port);
            if sample.time_ns >= begin && wanted.contains(&flow) {
                probe(&sample, flow, (sample.time_ns - begin) * 1000, &mut probes.borrow_mut());
            }
            0
        })?;
    }
    Ok(if maps.is_empty() { None } else { Some(builder.build()?) })
}

fn probe(sample: &Sample, flow: u32, time_ps: u64, probes: &mut Probes) {
    let mut push = |name, value| probes.push(time_ps, flow, name, value);
    push("window_pkt", sample.window as f64 / 65_536.0);
    if sample.rtt_us > 0 {
        push("rtt_us", sample.rtt_us.into());
    }
    if sample.one_way_ns > 0 {
        push("queueing_delay_us", f64::from(sample.queueing_ns) / 1e3);
        push("base_rtt_us", f64::from(sample.base_rtt_ns) / 1e3);
        push("stamped_rtt_us", f64::from(sample.rtt_ns) / 1e3);
        push("one_way_delay_us", f64::from(sample.one_way_ns) / 1e3);
    } else {
        push("alpha", f64::from(sample.alpha) / f64::from(1 << 20));
    }
}

fn tell(flows: &[Flow], begin: u64, warm_bytes: &[u64]) -> answer::Flows {
    let mut told = answer::Flows::default();
    for (number, flow) in flows.iter().enumerate() {
        let (received, info) = (flow.received(), flow.info());
        told.start_ps.push(flow.started_ns().map_or(NEVER, |time| (time - begin) * 1000));
        told.finish_ps.push(flow.finished_ns().map_or(NEVER, |time| (time - begin) * 1000));
        told.delivered_bytes.push(received);
        told.goodput_bytes.push(received - warm_bytes.get(number).copied().unwrap_or(received));
        told.retransmits.push(info.retransmits());
        told.timeouts.push(info.timeouts());
    }
    told
}

impl Told {
    fn answer(self, request: &Request, report: Report) -> Answer {
        let measured_ps = report.measured.0;
        let ports = Ports::new(&report.ports, measured_ps, Bytes(request.mtu_bytes));
        let round_trip = report.round_trip.0 / 1000 + ports.longest_delay_ns();
        let reason =
            report.lateness.reject(Allowance { round_trip, span: measured_ps / 1000, headroom: headroom(request) });
        let problems = problems(&report);
        Answer {
            events: report.delivered,
            packet_hops: report.ports.iter().map(|port| port.delivered).sum(),
            ended_ps: self.ended_ps,
            interrupted: INTERRUPTED.load(Ordering::Relaxed),
            measured_ps,
            queue_histograms: request
                .record
                .queue_links
                .iter()
                .map(|&at| (&report.ports[at as usize]).into())
                .collect(),
            flows: answer::Flows { ideal_ps: report.ideal, ..self.flows },
            ports,
            queues: report.queues.into(),
            probe_names: answer::PROBE_NAMES,
            probes: self.probes,
            books: Books { closed: problems.is_empty(), problems },
            lateness: LatenessTable::new(&report.lateness, report.strangers, round_trip, reason),
        }
    }
}

/// Stamps vary by that much on any host, late or not.
const STAMPS_VARY_NS: u64 = 10_000;

/// The least that a sender of the run takes for a queue; nothing where none has a limit that means something here.
fn headroom(request: &Request) -> Option<u64> {
    let told = request.ccs.iter().filter_map(|control| control.parameters.get("headroom"));
    told.map(|seconds| (seconds * 1e9) as u64).filter(|&nanos| nanos >= STAMPS_VARY_NS).min()
}

/// What does not add up.
fn problems(report: &Report) -> Vec<String> {
    let mut problems = Vec::new();
    let held: u64 = report.ports.iter().map(|port| port.in_flight).sum();
    if held != report.in_flight {
        problems.push(format!("{held} packets in the ports, {} in the network", report.in_flight));
    }
    if report.refused > 0 {
        problems.push(format!("{} frames were not taken by their host", report.refused));
    }
    problems
}
