//! The default headroom of DX: the current variation of timestamps on this machine, measured over the run's network and
//! connections with sparse packets that do not queue.

use shallows_cc::units::{Rate, Time};
use shallows_contract::live::Run;
use shallows_sim::{Clock, ControlSpec, FlowSpec, Network};

use crate::emulation::Emulation;
use crate::stop::Stop;
use crate::{Outcome, clock};

/// The least variation of timestamps on any host.
const LEAST_NS: u64 = 10_000;
/// No window cut.
const ENDLESS_S: f64 = 1.0;
/// Number of sparse packets, and the least time between two of them.
const PACKETS: usize = 300;
const INTERVAL: Time = Time::from_millis(1);
/// The least number of transmission times between two packets at the slowest link.
const APART: u64 = 4;

/// The most measurements, until the variation is small enough for the run.
const TRIES: usize = 3;

/// True if the algorithm needs a headroom and has none.
fn wanted(control: &ControlSpec) -> bool {
    control.name == "dx" && control.parameters.get("headroom").is_none_or(|&seconds| seconds == 0.0)
}

/// The algorithms of a request, with a headroom for each that needs one, and the measured value in nanoseconds.
pub fn given_or_measured(run: &Run, group: i32, stop: &Stop) -> Outcome<(Vec<ControlSpec>, Option<u64>)> {
    let request = &run.request;
    if !request.ccs.iter().any(wanted) {
        return Ok((request.ccs.clone(), None));
    }
    let mut measured_ns = u64::MAX;
    for _ in 0..TRIES {
        if measured_ns <= bearable_ns(request) || stop.wanted() {
            break;
        }
        match measure(run, group, stop)? {
            Some(nanos) => measured_ns = measured_ns.min(nanos.max(LEAST_NS).next_multiple_of(1000)),
            None => break,
        }
    }
    if stop.wanted() {
        // The run ends before its first packet.
        return Ok((with(request, LEAST_NS as f64 / 1e9), None));
    }
    Ok((with(request, measured_ns as f64 / 1e9), Some(measured_ns)))
}

/// The largest headroom, a queue without reaction: one and a half packets at the slowest link.
pub fn bearable_ns(request: &Network) -> u64 {
    (transmission(request).0 * 3 / 2 / 1000).max(2 * LEAST_NS)
}

/// Transmission time of a full packet at the slowest link.
fn transmission(request: &Network) -> Time {
    let slowest = request.ports.iter().map(|port| port.rate).min().unwrap_or(Rate(1));
    Clock::new(slowest).time(request.mtu)
}

fn with(request: &Network, headroom_s: f64) -> Vec<ControlSpec> {
    let mut controls = request.ccs.clone();
    for control in controls.iter_mut().filter(|control| wanted(control)) {
        control.parameters.insert("headroom".to_owned(), headroom_s);
    }
    controls
}

/// The variation of timestamps, ns; `None` after a stop.
fn measure(run: &Run, group: i32, stop: &Stop) -> Outcome<Option<u64>> {
    let request = &run.request;
    let emulation = Emulation::begin(run, &with(request, ENDLESS_S), group)?;
    let interval_ns = INTERVAL.max(transmission(request) * APART).0 / 1000;
    let uses = |flow: &FlowSpec| wanted(&request.ccs[flow.control as usize]);
    let stamped = || emulation.flows.iter().zip(&request.flows).filter(|(_, spec)| uses(spec));
    let packet = vec![0; request.mtu.0 as usize];
    for (flow, _) in stamped().cycle().take(PACKETS) {
        if stop.wanted() {
            break;
        }
        flow.trickle(&packet)?;
        clock::sleep_until(clock::now() + interval_ns);
    }
    let stamps = emulation.end()?.stamps;
    if stop.wanted() {
        return Ok(None);
    }
    stamps.vary_ns().map(Some).ok_or_else(|| "no stamps came back".into())
}
