//! Python bindings of Shallows: conversions and errors without logic, and tables on disk. docs/crossing.md describes them.

mod answer;
mod catalog;
mod disk;
mod driven;
mod measures;
mod moment;
mod observed;
mod raised;
mod request;
mod retired;
#[cfg(unix)]
mod session;
mod table;
mod threads;
mod user_algorithm;
mod user_events;
#[cfg(target_os = "linux")]
mod wire;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use shallows_cc::units::{Bytes, Time};
use shallows_contract::IntoValue;
use shallows_contract::answer::{Answer, Threads};
use shallows_sim::{Causes, Frames, Mistake, Need, Network, Observer, OfManyPlaces, Progress, Record, Simulation};

use crate::raised::{Ending, Raised, among_calls};
use crate::table::column;
use crate::threads::Run;

create_exception!(_core, Bug, PyRuntimeError, "An invariant of the simulator does not hold: please report it.");

/// How often a thread that waits for another handles Ctrl-C.
const HEAR_EVERY: Duration = Duration::from_millis(100);

/// Runs a request to its end or until Ctrl-C, on this number of threads; without one on as many as make it faster.
#[pyfunction]
#[pyo3(signature = (request, on_progress=None, threads=Some(1)))]
fn simulate<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    on_progress: Option<Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let (network, asked) = Asked::by(request, on_progress)?;
    if network.has_many_places() {
        simulated::<OfManyPlaces>(py, network, &asked, threads)
    } else {
        simulated::<()>(py, network, &asked, threads)
    }
}

fn simulated<'py, O: Observer + Copy + Default>(
    py: Python<'py>,
    network: Network,
    asked: &Asked<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let run = set_up(py, move || Run::<O>::new(network, threads))?.map_err(PyValueError::new_err)?;
    Ok(finish(py, run, asked)?.0)
}

/// Like `simulate`, with a record of the causes of departures of some flows.
#[pyfunction]
#[pyo3(signature = (request, watched, on_progress=None))]
fn watch<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    watched: &Bound<'py, PyDict>,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let (network, asked) = Asked::by(request, on_progress)?;
    network.check().map_err(refused)?;
    let watched = observed::watched(watched)?;
    let record = Causes::new(&network, &watched).map_err(PyValueError::new_err)?;
    let ideal = observed::ideal(py, &network, &watched.flows)?;
    let simulation =
        set_up(py, move || Simulation::observed(network, Record::Causes(record)))?.map_err(PyValueError::new_err)?;
    let (answer, Record::Causes(record)) = finish(py, Run::alone(simulation), &asked)? else {
        unreachable!("a run returns its observer")
    };
    let tables = observed::record(py, &record)?;
    tables.set_item("ideal", ideal)?;
    Ok((answer, tables))
}

/// Like `simulate`, with a record of every frame at the ports that are tapped.
#[pyfunction]
#[pyo3(signature = (request, tap, on_progress=None))]
fn tap<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    tap: &Bound<'py, PyDict>,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let (network, asked) = Asked::by(request, on_progress)?;
    network.check().map_err(refused)?;
    let frames = Frames::new(&network, observed::tap(tap)?).map_err(PyValueError::new_err)?;
    let simulation =
        set_up(py, move || Simulation::observed(network, Record::Frames(frames)))?.map_err(PyValueError::new_err)?;
    let (answer, Record::Frames(frames)) = finish(py, Run::alone(simulation), &asked)? else {
        unreachable!("a run returns its observer")
    };
    Ok((answer, observed::seen(py, frames)?))
}

/// Like `simulate`, with a snapshot at `time_ps`, after all events at or before that time.
#[pyfunction]
#[pyo3(signature = (request, time_ps, on_progress=None))]
fn at<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    time_ps: u64,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let (network, asked) = Asked::by(request, on_progress)?;
    if network.has_many_places() {
        seen_at::<OfManyPlaces>(py, network, &asked, Time(time_ps))
    } else {
        seen_at::<()>(py, network, &asked, Time(time_ps))
    }
}

fn seen_at<'py, O: Observer + Copy + Default>(
    py: Python<'py>,
    network: Network,
    asked: &Asked<'py>,
    time: Time,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let simulation = set_up(py, move || Simulation::observed(network, O::default()))?.map_err(PyValueError::new_err)?;
    let (mut run, mut reached) = (Run::alone(simulation), false);
    while !reached {
        (reached, run) = guarded(py, || (run.reach(time), run))?;
        if asked.hears(py, &run)? {
            return Err(PyKeyboardInterrupt::new_err("before that moment"));
        }
    }
    let (snapshot, run) = guarded(py, || (run.simulation.snapshot(time), run))?;
    let (answer, _) = finish(py, run, asked)?;
    Ok((answer, moment::to_python(py, &snapshot)?))
}

/// The first mistake in a request, as its key, its value and what was expected; None for a request that can run.
#[pyfunction]
fn check(request: &Bound<'_, PyDict>) -> PyResult<Option<(String, String, String)>> {
    let network = request::network(request, &Raised::default())?;
    Ok(network.check().err().map(|Mistake { key, value, expected }| (key, value, expected)))
}

fn refused(mistake: Mistake) -> PyErr {
    PyValueError::new_err(mistake.to_string())
}

/// For each of these flows, by default all, the links of its path, and those of the path of its answers.
#[pyfunction]
#[pyo3(signature = (request, flows=None))]
fn paths(request: &Bound<'_, PyDict>, flows: Option<PyReadonlyArray1<'_, u32>>) -> PyResult<Vec<[Vec<u32>; 2]>> {
    let network = request::network(request, &Raised::default())?;
    let flows = match flows {
        Some(flows) => flows.as_array().to_vec(),
        None => (0..network.flows.len() as u32).collect(),
    };
    network.check().map_err(refused)?;
    let found = shallows_sim::paths(&network, &flows).map_err(PyValueError::new_err)?;
    Ok(found.into_iter().map(|both| both.map(|path| path.ports)).collect())
}

/// For each set of links, the flows whose path, or that of their answers, has one of them.
#[pyfunction]
fn flows_over<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    links: Vec<Vec<u32>>,
) -> PyResult<Vec<Bound<'py, PyArray1<u32>>>> {
    let network = request::network(request, &Raised::default())?;
    network.check().map_err(refused)?;
    let found = shallows_sim::flows_over(&network, &links).map_err(PyValueError::new_err)?;
    Ok(found.into_iter().map(|flows| flows.into_pyarray(py)).collect())
}

/// The longest chain of tasks, from the first start to the last end, and the start of each task; see [`shallows_sim::longest_chain`].
#[pyfunction]
fn longest_chain<'py>(
    py: Python<'py>,
    members: PyReadonlyArray1<'_, u32>,
    needs: &Bound<'_, PyDict>,
    lasts: PyReadonlyArray1<'_, f64>,
    delays: PyReadonlyArray1<'_, f64>,
) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
    let sides = column(needs, "waiting")?.into_iter().zip(column(needs, "needed")?).zip(column(needs, "lag")?);
    let needs: Vec<_> = sides.map(|((waiting, needed), lag)| Need { waiting, needed, lag }).collect();
    let (length, starts) =
        shallows_sim::longest_chain(members.as_slice()?, &needs, lasts.as_slice()?, delays.as_slice()?);
    Ok((length, starts.into_pyarray(py)))
}

/// The parts of a request that a run needs besides the network.
struct Asked<'py> {
    /// Called with the progress of the run.
    on_progress: Option<Bound<'py, PyAny>>,
    /// Exceptions of its algorithms.
    raised: Raised,
    /// True if it has such algorithms.
    in_python: bool,
    queue_ports: Vec<u32>,
    mtu: Bytes,
}

impl<'py> Asked<'py> {
    fn by(request: &Bound<'py, PyDict>, on_progress: Option<Bound<'py, PyAny>>) -> PyResult<(Network, Self)> {
        let raised = Raised::default();
        let network = request::network(request, &raised)?;
        let in_python = network.controls.iter().any(|control| control.user_algorithm.is_some());
        let (queue_ports, mtu) = (network.record.ports.clone(), network.mtu);
        Ok((network, Self { on_progress, raised, in_python, queue_ports, mtu }))
    }

    /// Reports the progress of the run; true if it is to end early.
    fn hears<O: Observer>(&self, py: Python<'py>, run: &Run<O>) -> PyResult<bool> {
        let simulation = &run.simulation;
        if let Some(error) = self.raised.take() {
            return Err(error);
        }
        match self.told(py, (simulation.now().0, simulation.packet_hops(), simulation.finished())) {
            Ok(()) => Ok(false),
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Reports simulated time, packet-hops and finished flows. An error is an exception of an algorithm or of the caller, or Ctrl-C.
    fn told(&self, py: Python<'_>, progress: (u64, u64, u64)) -> PyResult<()> {
        if let Some(error) = self.raised.take() {
            return Err(error);
        }
        py.check_signals()?;
        self.on_progress.as_ref().map_or(Ok(()), |hears| hears.call1(progress).map(|_| ()))
    }

    /// Takes a step of the run; true if Ctrl-C came meanwhile.
    ///
    /// Python handles a signal in the code that this thread runs. Algorithms are called from another one, so that none of them is
    /// interrupted in the middle, unless it does not return ([`Ending`]).
    fn step<O: Observer + 'static>(&self, py: Python<'_>, mut run: Run<O>) -> PyResult<(Progress, Run<O>, bool)> {
        if !self.in_python {
            let (progress, stepped) = guarded(py, || (run.step(false), run))?;
            return Ok((progress, stepped, false));
        }
        let simulation = &run.simulation;
        let reached = (simulation.now().0, simulation.packet_hops(), simulation.finished());
        let mut ending: Option<Ending> = None;
        let hears = || match &ending {
            Some(ending) => ending.press(py, &self.raised, || ()),
            None => {
                ending = self.told(py, reached).err().map(Ending::begin);
                Ok(())
            }
        };
        let (progress, stepped) = awaited(py, move || among_calls(|| (run.step(true), run)), hears)?;
        match ending.map(|ending| ending.why) {
            Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
            interrupt => Ok((progress, stepped, interrupt.is_some())),
        }
    }
}

/// Runs to the end or until Ctrl-C; returns the answer and the observer.
fn finish<'py, O: Observer + 'static>(
    py: Python<'py>,
    mut run: Run<O>,
    asked: &Asked<'py>,
) -> PyResult<(Bound<'py, PyAny>, O)> {
    loop {
        let (progress, signalled);
        (progress, run, signalled) = asked.step(py, run)?;
        let interrupted = asked.hears(py, &run)? || signalled;
        if interrupted || progress == Progress::Done {
            let interrupted = interrupted && progress == Progress::Running;
            let domains = run.simulation.domains() as u64;
            let threads = Threads { count: run.threads() as u64, domains, gain: run.gain };
            let (outcome, observer) = guarded(py, || run.simulation.finish_observed())?;
            let answer = Answer::of(outcome, &asked.queue_ports, asked.mtu, interrupted);
            let answer = Answer { threads: Some(threads), ..answer };
            return Ok((answer::to_python(py, answer.into_value())?, observer));
        }
    }
}

/// Runs without the GIL; a panic becomes a [`Bug`].
fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(bug)
}

/// Like [`guarded`], on a thread of its own, because setting up a large network takes many seconds without a pause: after Ctrl-C it is
/// left to itself.
fn set_up<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    awaited(py, work, || py.check_signals())
}

/// Works on a thread of its own, and calls `hears` ten times a second until that has ended, or `hears` fails: then the thread is left
/// to itself.
fn awaited<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    mut hears: impl FnMut() -> PyResult<()>,
) -> PyResult<T> {
    let (running, mut ended) = channel::<()>();
    let thread = thread::spawn(move || {
        let _running = running; // closed at the end, also by a panic
        work()
    });
    loop {
        let heard;
        (heard, ended) = py.detach(|| (ended.recv_timeout(HEAR_EVERY), ended));
        match heard {
            Err(RecvTimeoutError::Timeout) => hears()?,
            _ => return py.detach(|| thread.join()).map_err(bug),
        }
    }
}

fn bug(panic: Box<dyn Any + Send>) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    Bug::new_err(format!("{text} (version {})", version()))
}

/// The release of Shallows; `shallows.base.version` adds the commit.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// A checksum of the Rust sources that this was built from.
#[pyfunction]
fn sources() -> &'static str {
    shallows_contract::SOURCES
}

/// A field of a table: its key, its kind, whether it may be left out, and its meaning.
type Field = (&'static str, String, bool, String);

/// Every table of the request and the answer, with its fields.
#[pyfunction]
fn contract() -> Vec<(&'static str, Vec<Field>)> {
    let field = |field: shallows_contract::Field| (field.name, field.kind, field.optional, field.about);
    shallows_contract::shapes()
        .into_iter()
        .map(|(name, fields)| (name, fields.into_iter().map(field).collect()))
        .collect()
}

/// The compiled half of Shallows.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Bug", module.py().get_type::<Bug>())?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(watch, module)?)?;
    module.add_function(wrap_pyfunction!(at, module)?)?;
    module.add_function(wrap_pyfunction!(tap, module)?)?;
    module.add_class::<driven::OpenRun>()?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(paths, module)?)?;
    module.add_function(wrap_pyfunction!(flows_over, module)?)?;
    module.add_function(wrap_pyfunction!(longest_chain, module)?)?;
    module.add_function(wrap_pyfunction!(catalog::catalog, module)?)?;
    module.add_function(wrap_pyfunction!(catalog::markings, module)?)?;
    module.add_function(wrap_pyfunction!(catalog::receivers, module)?)?;
    module.add_function(wrap_pyfunction!(catalog::balancings, module)?)?;
    module.add_function(wrap_pyfunction!(disk::write_table, module)?)?;
    module.add_function(wrap_pyfunction!(disk::read_header, module)?)?;
    module.add_function(wrap_pyfunction!(disk::read_table, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_function(wrap_pyfunction!(wire::emulate, module)?)?;
        module.add_function(wrap_pyfunction!(wire::endpoint, module)?)?;
        module.add_function(wrap_pyfunction!(wire::datagrams_per_s, module)?)?;
        module.add_function(wrap_pyfunction!(wire::host_stamps, module)?)?;
        module.add_function(wrap_pyfunction!(wire::longest_gaps, module)?)?;
    }
    #[cfg(unix)]
    module.add_function(wrap_pyfunction!(session::flow_session, module)?)?;
    module.add_function(wrap_pyfunction!(contract, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(sources, module)?)
}
