//! The wire world: runs a request in real time, with UDP datagrams between hosts and switches.

use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread;

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use shallows_contract::IntoValue;
use shallows_contract::answer::{Answer, Datagrams};
use shallows_sim::spec::network::Network;
use shallows_wire::calibration;
use shallows_wire::emulation::{self, Outcome, Progress};
use shallows_wire::judge::judge;

use crate::{Asked, HEAR_EVERY, answer, guarded};

/// Runs a request in real time on this machine, to its end or until Ctrl-C.
#[pyfunction]
#[pyo3(signature = (request, on_progress=None))]
pub fn emulate<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (network, asked) = Asked::by(request, on_progress)?;
    let (outcome, interrupted) = run(py, network.clone(), &asked)?;
    let lateness = judge(&network, &outcome).map_err(PyValueError::new_err)?;
    let [hosts_cpu_s, switches_cpu_s] = outcome.processor_ns.map(|nanos| nanos as f64 / 1e9);
    let whole = Answer::of(outcome.answer, &asked.queue_ports, asked.mtu, interrupted);
    let datagrams = Some(Datagrams { count: outcome.datagrams, hosts_cpu_s, switches_cpu_s });
    let whole = Answer { fingerprint: None, lateness: Some(lateness), datagrams, ..whole };
    answer::to_python(py, whole.into_value())
}

/// Runs on threads of its own, and reports progress and hears Ctrl-C meanwhile. True if it was interrupted.
fn run(py: Python<'_>, network: Network, asked: &Asked<'_>) -> PyResult<(Outcome, bool)> {
    let progress = Arc::new(Progress::default());
    let (sender, mut receiver) = mpsc::channel();
    let running = {
        let progress = Arc::clone(&progress);
        thread::spawn(move || _ = sender.send(emulation::run(network, &progress)))
    };
    let mut interrupted = false;
    loop {
        let heard;
        (heard, receiver) = py.detach(|| (receiver.recv_timeout(HEAR_EVERY), receiver));
        match heard {
            Ok(outcome) => return Ok((outcome.map_err(PyValueError::new_err)?, interrupted)),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let panic = py.detach(|| running.join()).expect_err("a thread without an outcome has panicked");
                return Err(crate::bug(panic));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => match hears(py, &progress, asked) {
                Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                    interrupted = true;
                    progress.stop.store(true, Ordering::Relaxed);
                }
                Err(error) => {
                    progress.stop.store(true, Ordering::Relaxed);
                    return Err(error);
                }
                Ok(()) => {}
            },
        }
    }
}

/// Reports the progress of the run.
fn hears(py: Python<'_>, progress: &Progress, asked: &Asked<'_>) -> PyResult<()> {
    if let Some(error) = asked.raised.lock().expect("no call panics with the lock held").take() {
        return Err(error);
    }
    py.check_signals()?;
    let Some(hears) = &asked.on_progress else { return Ok(()) };
    let read = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed);
    hears.call1((read(&progress.now_ps), read(&progress.hops), read(&progress.finished))).map(|_| ())
}

/// Datagrams that each of two threads of this machine receives and sends per second, measured for so long.
#[pyfunction]
pub fn datagrams_per_s(py: Python<'_>, seconds: f64) -> PyResult<f64> {
    Ok(guarded(py, move || calibration::datagrams_per_s((seconds * 1e9) as u64))??)
}
