//! The wire world: runs a request in real time, with UDP datagrams between hosts and switches.

use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::exceptions::{PyConnectionError, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use shallows_cc::units::Time;
use shallows_contract::IntoValue;
use shallows_contract::answer::{Answer, Datagrams};
use shallows_wire::calibration;
use shallows_wire::emulation::{self, Progress};
use shallows_wire::endpoint::{self as ends, Seen, Session};
use shallows_wire::host::{self, Question, Stamps};
use shallows_wire::judge::judge;
use shallows_wire::mac::Key;
use shallows_wire::sys::Socket;

use crate::raised::Ending;
use crate::{Asked, answer, awaited};

/// Runs a request in real time on this machine, to its end or until Ctrl-C.
#[pyfunction]
#[pyo3(signature = (request, on_progress=None))]
pub fn emulate<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (network, asked) = Asked::by(request, on_progress)?;
    let run_on = network.clone();
    let (outcome, interrupted) = run(py, &asked, move |progress| emulation::run(run_on, progress))?;
    let lateness = judge(&network, &outcome).map_err(PyValueError::new_err)?;
    let [hosts_cpu_s, switches_cpu_s] = outcome.processor_ns.map(|nanos| nanos as f64 / 1e9);
    let whole = Answer::of(outcome.answer, &asked.queue_ports, asked.mtu, interrupted);
    let datagrams = Some(Datagrams { count: outcome.datagrams, hosts_cpu_s, switches_cpu_s });
    let whole = Answer { fingerprint: None, lateness: Some(lateness), datagrams, ..whole };
    answer::to_python(py, whole.into_value())
}

/// Runs one end of the flow of a request, over the copy of a bound socket, with a peer that knows the same key.
#[pyfunction]
#[pyo3(signature = (request, descriptor, peer, key, sends, on_progress=None))]
#[allow(clippy::too_many_arguments, reason = "Python passes them by name")]
pub fn endpoint<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    descriptor: i32,
    peer: (String, u16),
    key: [u8; 16],
    sends: bool,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (network, asked) = Asked::by(request, on_progress)?;
    let host = peer.0.parse().map_err(|_| PyValueError::new_err(format!("peer: {:?} is no IPv4 address", peer.0)))?;
    let socket = Socket::copy_of(descriptor)?;
    let session = Session { socket, peer: SocketAddrV4::new(host, peer.1), key: Key::new(&key) };
    let end = if sends { ends::send } else { ends::receive };
    let (outcome, interrupted) = run(py, &asked, move |progress| Ok(end(session, network, progress)))?;
    let failed = |why| {
        if interrupted { PyKeyboardInterrupt::new_err("before the start") } else { PyConnectionError::new_err(why) }
    };
    let seen = outcome.map_err(failed)?;
    let table = describe(py, &seen)?;
    table.set_item("interrupted", interrupted)?;
    Ok(table)
}

/// What an end has seen, in the units of tables.
fn describe<'py>(py: Python<'py>, seen: &Seen) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let finite = |time: Time| Some(time.as_micros()).filter(|_| time < Time::MAX);
    table.set_item("duration_s", seen.ended.as_secs())?;
    table.set_item("base_rtt_us", seen.base_rtt.as_micros())?;
    table.set_item("start_us", finite(seen.flow.start))?;
    table.set_item("finish_us", finite(seen.flow.finish))?;
    table.set_item("retransmits", seen.flow.retransmits)?;
    table.set_item("timeouts", seen.flow.timeouts)?;
    table.set_item("timeout_wait_us", seen.flow.timeout_wait.as_micros())?;
    table.set_item("credits", seen.flow.credits)?;
    table.set_item("credits_wasted", seen.flow.credits_wasted)?;
    table.set_item("srtt_mean_us", seen.flow.srtt_mean.as_micros())?;
    table.set_item("srtt_max_us", seen.flow.srtt_most.as_micros())?;
    table.set_item("datagrams_sent", seen.datagrams.0)?;
    table.set_item("datagrams_received", seen.datagrams.1)?;
    table.set_item("datagrams_rejected", seen.rejections.total())?;
    table.set_item("datagrams_refused", seen.dropped)?;
    table.set_item("lost_peer", seen.lost_peer)?;
    if let Some(totals) = &seen.totals {
        table.set_item("delivered_bytes", totals.delivered)?;
        table.set_item("packets", totals.packets)?;
        table.set_item("marked", totals.marked)?;
        table.set_item("reordering", totals.reordering)?;
        let delays = [totals.delay_min, totals.delay_mean, totals.delay_max].map(|nanos| nanos as f64 / 1e3);
        table.set_item("delay_us", delays.to_vec())?;
    }
    let rows: Vec<_> = seen
        .rows
        .iter()
        .map(|row| (row.time.as_secs(), row.bytes, row.packets, row.marked, row.delay.as_micros()))
        .collect();
    table.set_item("rows", rows)?;
    Ok(table)
}

/// Runs on threads of its own, and reports progress and hears Ctrl-C meanwhile. True if it was interrupted.
///
/// A run that is to end calls no algorithm in Python any more, and ends within a quarter of a second, unless a call goes on ([`Ending`]).
fn run<T: Send + 'static>(
    py: Python<'_>,
    asked: &Asked<'_>,
    work: impl FnOnce(&Progress) -> Result<T, String> + Send + 'static,
) -> PyResult<(T, bool)> {
    let progress = Arc::new(Progress::default());
    let shared = Arc::clone(&progress);
    let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let mut ending: Option<Ending> = None;
    let outcome = awaited(
        py,
        move || work(&shared),
        || {
            if let Some(ending) = &ending {
                return ending.press(py, &asked.raised, || progress.step_back());
            }
            let told = (read(&progress.now_ps), read(&progress.hops), read(&progress.finished));
            if let Err(why) = asked.told(py, told) {
                progress.stop.store(true, Ordering::Relaxed);
                asked.raised.close();
                ending = Some(Ending::begin(why));
            }
            Ok(())
        },
    )?;
    // A signal that came too late to be heard would be raised in the caller, which would then lose the outcome.
    let late = || asked.raised.take().or_else(|| py.check_signals().err());
    match ending.map(|ending| ending.why).or_else(late) {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        interrupt => Ok((outcome.map_err(PyValueError::new_err)?, interrupt.is_some())),
    }
}

/// Measures something of this machine on a thread of its own. Ctrl-C ends it.
fn measured<T: Send + 'static>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&stop);
    awaited(py, move || work(&shared), || py.check_signals().inspect_err(|_| stop.store(true, Ordering::Relaxed)))
}

/// Datagrams that each of two threads of this machine receives and sends per second, measured for so long.
#[pyfunction]
pub fn datagrams_per_s(py: Python<'_>, seconds: f64) -> PyResult<f64> {
    Ok(measured(py, move |stop| calibration::datagrams_per_s((seconds * 1e9) as u64, stop))??)
}

/// Stamps of `count` credits that cross loopback to another thread, which answers each: for each its eight times in ns.
#[pyfunction]
pub fn host_stamps(
    py: Python<'_>,
    count: usize,
    interval_ns: u64,
    polls: bool,
    answers: bool,
) -> PyResult<Vec<[u64; 8]>> {
    let all = measured(py, move |stop| host::measure(Question { count, interval_ns, polls, answers }, stop))??;
    let row = |stamps: Stamps| {
        let Stamps { due, sent, departed, arrived, read, answered, returned, taken } = stamps;
        [due, sent, departed, arrived, read, answered, returned, taken]
    };
    Ok(all.into_iter().map(row).collect())
}

/// Gaps of at least so many ns between two readings of the clock by a thread that does nothing else for so long.
#[pyfunction]
pub fn longest_gaps(py: Python<'_>, seconds: f64, at_least_ns: u64) -> PyResult<Vec<u64>> {
    measured(py, move |stop| host::longest_gaps((seconds * 1e9) as u64, at_least_ns, stop))
}
