//! One run: builds the request, drives it, and collects the results.

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};

use libbpf_rs::{RingBuffer, RingBufferBuilder};
use shallows_cc::units::{Bytes, Time};
use shallows_contract::answer::{Answer, ClassColumns, ComputationColumns, Deadlock, FlowColumns, PortColumns, Probes};
use shallows_contract::live::Run;
use shallows_live::lateness::{Allowance, Saw};
use shallows_sim::{ControlSpec, FlowReport, FlowSpec, Network, PortReport};

use crate::answer::{self, Judged};
use crate::control_group::ControlGroup;
use crate::emulation::Emulation;
use crate::host::{self, Sample};
use crate::programs::{KERNELS_OWN, Loaded};
use crate::stop::Stop;
use crate::traffic::{Beginning, Flow};
use crate::wire::Report;
use crate::{Outcome, active, clock, headroom, priority, request as asked};

/// Time from connecting everything to the first flow.
const PAUSE_NS: u64 = 50_000_000;
/// Time between two polls of the flows.
const TICK_NS: u64 = 1_000_000;
/// Time between two samples of senders' round trips.
const LOOK_NS: u64 = 10_000_000;
const NEVER: u64 = u64::MAX;
/// Above this share of its rate a host's own link limits the flows of the host.
const OWN_LINK_FULL: f64 = 0.9;

/// Runs a request.
pub fn run(run: &Run) -> Outcome<Answer> {
    let request = &run.request;
    asked::check(request)?;
    let stop = Stop::watch()?;
    priority::set_priority();
    let group = ControlGroup::enter()?;
    active::refuse_above(&group)?;
    let (controls, measured_ns) = headroom::given_or_measured(run, group.descriptor(), &stop)?;
    let emulation = Emulation::begin(run, &controls, group.descriptor())?;
    let outcome = drive(request, &emulation, &stop);
    let report = emulation.end()?;
    Ok(outcome?.answer(request, &controls, measured_ns, report))
}

/// Measurements of the flows.
struct Measured {
    flows: FlowColumns,
    probes: Probes,
    round_trips: RoundTrips,
    ended_ps: u64,
    interrupted: bool,
}

fn drive(request: &Network, emulation: &Emulation, stop: &Stop) -> Outcome<Measured> {
    let Emulation { flows, loaded, times, .. } = emulation;
    let begin = clock::now() + PAUSE_NS;
    let at = |ps: u64| if ps == NEVER { NEVER } else { begin + ps / 1000 };
    let (warm, end) = (at(request.warmup.0), at(request.duration.0));
    times.begin_ns.store(begin, Ordering::Relaxed);
    times.warm_ns.store(warm, Ordering::Relaxed);
    for (number, (flow, (beginning, waiting))) in flows.iter().zip(beginnings(&request.flows, at)).enumerate() {
        flow.start(beginning, at(request.flows[number].stop.0).min(end), waiting)?;
    }
    let probes = RefCell::new(Probes::default());
    let samples = sample_buffer(loaded, begin, &request.record.flows, &probes)?;
    let (mut polled, mut looked) = (begin, warm);
    let mut warm_bytes = None;
    let mut round_trips = RoundTrips::default();
    loop {
        let now = clock::now();
        if warm_bytes.is_none() && now >= warm {
            warm_bytes = Some(flows.iter().map(Flow::received).collect::<Vec<_>>());
        }
        if now >= looked {
            looked = now.max(warm) + LOOK_NS;
            round_trips.look(flows);
        }
        if now >= end || (request.until_done && flows.iter().all(Flow::done)) || stop.wanted() {
            break;
        }
        samples.as_ref().map_or(Ok(()), RingBuffer::consume)?;
        let interval = request.record.probe_interval.0 / 1000;
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
    let columns = columns(flows, begin, &warm_bytes.unwrap_or_default(), request.host.rto_min);
    Ok(Measured {
        flows: columns,
        probes: probes.into_inner(),
        // A stop during the pause before the first flow, or already during the measurement of headroom, has measured nothing.
        ended_ps: ended.saturating_sub(begin) * 1000,
        interrupted: stop.wanted(),
        round_trips,
    })
}

/// The start of every flow, and the flows that it starts when it ends.
fn beginnings(flows: &[FlowSpec], at: impl Fn(u64) -> u64) -> Vec<(Beginning, Vec<Sender<u64>>)> {
    let mut all: Vec<(Beginning, Vec<_>)> = Vec::new();
    for flow in flows {
        let first = flow.after.first().and_then(|&first| all.get_mut(first as usize));
        let beginning = first.map_or(Beginning::At(at(flow.start.0)), |(_, waiting)| {
            let (teller, end) = channel();
            waiting.push(teller);
            Beginning::After(end, flow.start.0 / 1000)
        });
        all.push((beginning, Vec::new()));
    }
    all
}

/// The kernel's own algorithms provide only the statistics of every connection.
fn poll_native(request: &Network, flows: &[Flow], time_ps: u64, probes: &mut Probes) {
    for &number in &request.record.flows {
        let control = &request.ccs[request.flows[number as usize].control as usize];
        if KERNELS_OWN.contains(&control.name.as_str()) {
            let info = flows[number as usize].info();
            answer::push(probes, time_ps, number, "window_pkt", info.window().into());
            answer::push(probes, time_ps, number, "rtt_us", info.rtt_us().into());
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
    let mut push = |name, value| answer::push(probes, time_ps, flow, name, value);
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

/// Linux does not say how long a flow waited for its timeouts: each was `rto_min` at least.
fn columns(flows: &[Flow], begin: u64, warm_bytes: &[u64], rto_min: Time) -> FlowColumns {
    let since_begin = |time: Option<u64>| time.map_or(Time::MAX, |time| Time((time - begin) * 1000));
    let report = |(number, flow): (usize, &Flow)| {
        let (received, info) = (flow.received(), flow.info());
        let warm = warm_bytes.get(number).copied().unwrap_or(received);
        FlowReport {
            start: since_begin(flow.started_ns()),
            finish: since_begin(flow.finished_ns()),
            delivered: received,
            goodput: received - warm,
            goodput_by_stop: flow.received_by_stop().saturating_sub(warm),
            retransmits: info.retransmits().into(),
            timeouts: info.timeouts().into(),
            timeout_wait: rto_min * u64::from(info.timeouts()),
            ..FlowReport::default()
        }
    };
    FlowColumns::of(&flows.iter().enumerate().map(report).collect::<Vec<_>>())
}

impl Measured {
    fn answer(self, request: &Network, controls: &[ControlSpec], measured_ns: Option<u64>, report: Report) -> Answer {
        let ports = PortColumns::of(&report.ports, report.measured, request.mtu);
        let judged = judge(request, controls, measured_ns, &report, &self);
        let lateness = judged.lateness(&report, longest_round_trip(&report));
        Answer {
            fingerprint: None,
            events: report.delivered,
            packet_hops: report.ports.iter().map(|port| port.delivered).sum(),
            ended_ps: self.ended_ps,
            interrupted: self.interrupted,
            measured_ps: report.measured.0,
            books: problems(&report).into(),
            classes: ClassColumns::default(),
            deadlock: Deadlock::default(),
            queue_histograms: request.record.ports.iter().map(|&at| (&report.ports[at as usize]).into()).collect(),
            flows: FlowColumns { ideal_ps: report.ideal, ..self.flows },
            computations: ComputationColumns::of(&[]),
            ports,
            queues: report.queues.into(),
            probe_names: answer::PROBE_NAMES.iter().map(|&name| name.to_owned()).collect(),
            probes: self.probes,
            goodput: None,
            random: None,
            threads: None,
            lateness: Some(lateness),
            datagrams: None,
        }
    }
}

/// The verdict on the run: the machine kept up, and senders measured what the emulated network did.
fn judge(
    request: &Network,
    controls: &[ControlSpec],
    measured_ns: Option<u64>,
    report: &Report,
    measured: &Measured,
) -> Judged {
    let headrooms = controls.iter().filter_map(|control| control.parameters.get("headroom"));
    let headroom_ns = headrooms.map(|seconds| (seconds * 1e9) as u64).min();
    let given_up = headroom_ns.map_or(0.0, |nanos| report.stamps.given_up(nanos));
    let counted = counted(request, report);
    let round_trips = measured.round_trips.mean_us(&counted).zip(network_us(request, report, &counted));
    // A delayed acknowledgement lengthens the round trip without being late.
    let compared = round_trips.filter(|_| controls.iter().all(|control| control.acks_every() == 1));
    let vary_ns = measured_ns.map(|nanos| (nanos, headroom::bearable_ns(request)));
    let saw = Saw { given_up, round_trips_us: compared, vary_ns };
    let allowance = Allowance { round_trip: longest_round_trip(report), span: report.measured.0 / 1000 };
    let reason = report.lateness.reject(allowance).or_else(|| saw.reject());
    Judged { reason, given_up, round_trips, measured_ns }
}

/// Propagation in both directions and the longest mean delay of a port, in nanoseconds.
fn longest_round_trip(report: &Report) -> u64 {
    (report.round_trip.0 + report.ports.iter().map(mean_delay).fold(0.0, f64::max) as u64) / 1000
}

/// The same in picoseconds.
fn mean_delay(port: &PortReport) -> f64 {
    port.counters.sojourn as f64 / (port.counters.sent as f64).max(1.0)
}

/// The flows whose round trips are compared: without an end, and not limited by the own link of a host, where packets
/// wait in the host.
fn counted(request: &Network, report: &Report) -> Vec<usize> {
    let full = |port: u32| report.ports[port as usize].busy / report.measured > OWN_LINK_FULL;
    let in_host = |way: &[u32]| way.iter().any(|&port| request.ports[port as usize].from < request.hosts && full(port));
    let flows = report.ways.iter().zip(&request.flows).enumerate();
    flows.filter(|(_, (way, flow))| flow.bytes == Bytes::MAX && !in_host(way)).map(|(number, _)| number).collect()
}

/// The mean round trip of these flows, from propagation and the ports' mean delays.
fn network_us(request: &Network, report: &Report, flows: &[usize]) -> Option<f64> {
    let delay = |&port: &u32| request.ports[port as usize].delay.0 as f64 + mean_delay(&report.ports[port as usize]);
    let each: Vec<f64> = flows.iter().map(|&flow| report.ways[flow].iter().map(delay).sum::<f64>() / 1e6).collect();
    (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
}

/// Senders' smoothed round trips, of flows without an end, as measured by their kernels.
#[derive(Debug, Default)]
struct RoundTrips {
    /// By flow.
    sums_us: Vec<u64>,
    count: u64,
}

impl RoundTrips {
    fn look(&mut self, flows: &[Flow]) {
        self.sums_us.resize(flows.len(), 0);
        for (sum, flow) in self.sums_us.iter_mut().zip(flows).filter(|(_, flow)| flow.endless()) {
            *sum += u64::from(flow.info().rtt_us());
        }
        self.count += 1;
    }

    /// The mean over these flows.
    fn mean_us(&self, flows: &[usize]) -> Option<f64> {
        let sum_us: u64 = flows.iter().filter_map(|&flow| self.sums_us.get(flow)).sum();
        let samples = self.count * flows.len() as u64;
        (samples > 0).then(|| sum_us as f64 / samples as f64)
    }
}

/// Errors in the accounts of packets.
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
