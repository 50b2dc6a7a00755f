//! DX's headroom where none is given: as much as stamps vary on this machine now, measured over the run's own network and
//! connections with a trickle of packets that queue nowhere.

use shallows_cc::units::{Bytes, Rate, Time};
use shallows_contract::request::{Control, Request};
use shallows_sim::port::clock::Clock;

use crate::emulation::Emulation;
use crate::stop::Stop;
use crate::{Outcome, clock};

/// Stamps vary by that much on any host.
const LEAST_NS: u64 = 10_000;
/// No cut at all.
const ENDLESS_S: f64 = 1.0;
/// Packets of the trickle, and the time between two of them at least.
const PACKETS: usize = 300;
const INTERVAL: Time = Time::from_millis(1);
/// Transmission times between two packets at the slowest link, where that is more.
const APART: u64 = 4;

/// Measured so often at most, until it is no more than the run can bear.
const TRIES: usize = 3;

/// Whether the algorithm needs one and has none.
fn wanted(control: &Control) -> bool {
    control.name == "dx" && control.parameters.get("headroom").is_none_or(|&seconds| seconds == 0.0)
}

/// The algorithms of a request with a headroom for each that needs one, and what was measured, in nanoseconds.
pub fn given_or_measured(request: &Request, group: i32, stop: &Stop) -> Outcome<(Vec<Control>, Option<u64>)> {
    if !request.ccs.iter().any(wanted) {
        return Ok((request.ccs.clone(), None));
    }
    let mut measured_ns = u64::MAX;
    for _ in 0..TRIES {
        if measured_ns <= bearable_ns(request) || stop.wanted() {
            break;
        }
        measured_ns = measured_ns.min(measure(request, group, stop)?.max(LEAST_NS).next_multiple_of(1000));
    }
    Ok((with(request, measured_ns as f64 / 1e9), Some(measured_ns)))
}

/// A headroom is a queue that nobody answers: it may be as long as one and a half packets at the slowest link.
pub fn bearable_ns(request: &Request) -> u64 {
    (transmission(request).0 * 3 / 2 / 1000).max(2 * LEAST_NS)
}

/// Of a full packet at the slowest link.
fn transmission(request: &Request) -> Time {
    let slowest = request.links.rate_bps.iter().min().copied().unwrap_or(1);
    Clock::new(Rate(slowest)).time(Bytes(request.mtu_bytes))
}

fn with(request: &Request, headroom_s: f64) -> Vec<Control> {
    let mut controls = request.ccs.clone();
    for control in controls.iter_mut().filter(|control| wanted(control)) {
        control.parameters.insert("headroom".to_owned(), headroom_s);
    }
    controls
}

fn measure(request: &Request, group: i32, stop: &Stop) -> Outcome<u64> {
    let emulation = Emulation::begin(request, &with(request, ENDLESS_S), group)?;
    let interval_ns = INTERVAL.max(transmission(request) * APART).0 / 1000;
    let stamped =
        || emulation.flows.iter().zip(&request.flows.cc).filter(|(_, cc)| wanted(&request.ccs[**cc as usize]));
    let packet = vec![0; request.mtu_bytes as usize];
    for (flow, _) in stamped().cycle().take(PACKETS) {
        if stop.wanted() {
            break;
        }
        flow.trickle(&packet)?;
        clock::sleep_until(clock::now() + interval_ns);
    }
    let stamps = emulation.end()?.stamps;
    stamps.vary_ns().ok_or_else(|| "no stamps came back".into())
}
