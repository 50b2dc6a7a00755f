//! Python bindings of Shallows: conversions and errors, no logic.
//!
//! The shapes are those of docs/crossing.md.

mod answer;
mod catalog;
mod crew;
mod moment;
mod request;
mod table;
mod tapping;
mod watching;
mod written;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use shallows_cc::units::Time;
use shallows_contract::IntoValue;
use shallows_contract::answer::{Answer, Threads};
use shallows_sim::answer::Answer as Outcome;
use shallows_sim::observe::Observer;
use shallows_sim::observe::causes::Causes;
use shallows_sim::observe::frames::Frames;
use shallows_sim::route;
use shallows_sim::simulation::{Progress, Simulation};

use crate::crew::Crew;
use crate::written::Raised;

create_exception!(_core, Bug, PyRuntimeError, "An invariant of the simulator does not hold: please report it.");

/// Runs a request to its end, or until Ctrl-C, on so many threads, or as many as pay.
#[pyfunction]
#[pyo3(signature = (request, on_progress=None, threads=Some(1)))]
fn simulate<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    on_progress: Option<Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let raised = Raised::default();
    let network = request::network(request, &raised)?;
    let queue_ports = network.record.ports.clone();
    let mtu = network.mtu;
    let crew = guarded(py, || Crew::new(network, threads))?.map_err(PyValueError::new_err)?;
    let (outcome, threads, (), interrupted) = run(py, crew, &Tell { on_progress, raised: &raised })?;
    let answer = Answer::of(outcome, &queue_ports, mtu, interrupted);
    answer::to_python(py, Answer { threads: Some(threads), ..answer }.into_value())
}

/// The same with a record of why the packets of some flows left when they did.
#[pyfunction]
#[pyo3(signature = (request, watched, on_progress=None))]
fn watch<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    watched: &Bound<'py, PyDict>,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let raised = Raised::default();
    let network = request::network(request, &raised)?;
    network.check().map_err(PyValueError::new_err)?;
    let watched = watching::watched(watched)?;
    let (queue_ports, mtu) = (network.record.ports.clone(), network.mtu);
    let ideal = watching::ideal(py, &network, &watched.flows)?;
    let record = Causes::new(&network, &watched).map_err(PyValueError::new_err)?;
    let simulation = guarded(py, || Simulation::observed(network, record))?.map_err(PyValueError::new_err)?;
    let (outcome, threads, record, interrupted) =
        run(py, Crew::alone(simulation), &Tell { on_progress, raised: &raised })?;
    let tables = watching::to_python(py, &record)?;
    tables.set_item("ideal", ideal)?;
    let answer = Answer::of(outcome, &queue_ports, mtu, interrupted);
    let answer = Answer { threads: Some(threads), ..answer };
    Ok((answer::to_python(py, answer.into_value())?, tables))
}

/// The answer to a request, and every frame at the ports that are tapped.
#[pyfunction]
#[pyo3(signature = (request, tap, on_progress=None))]
fn tap<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    tap: &Bound<'py, PyDict>,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let raised = Raised::default();
    let network = request::network(request, &raised)?;
    network.check().map_err(PyValueError::new_err)?;
    let (queue_ports, mtu) = (network.record.ports.clone(), network.mtu);
    let frames = Frames::new(&network, tapping::tap(tap)?).map_err(PyValueError::new_err)?;
    let simulation = guarded(py, || Simulation::observed(network, frames))?.map_err(PyValueError::new_err)?;
    let (outcome, threads, frames, interrupted) =
        run(py, Crew::alone(simulation), &Tell { on_progress, raised: &raised })?;
    let answer = Answer::of(outcome, &queue_ports, mtu, interrupted);
    let answer = Answer { threads: Some(threads), ..answer };
    Ok((answer::to_python(py, answer.into_value())?, tapping::to_python(py, frames)?))
}

/// The answer to a request, and what everything was doing at `time_ps`, after all that happens at or before it.
#[pyfunction]
#[pyo3(signature = (request, time_ps, on_progress=None))]
fn at<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
    time_ps: u64,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let raised = Raised::default();
    let network = request::network(request, &raised)?;
    let (queue_ports, mtu) = (network.record.ports.clone(), network.mtu);
    let simulation = guarded(py, || Simulation::new(network))?.map_err(PyValueError::new_err)?;
    let (mut crew, mut there) = (Crew::alone(simulation), false);
    let tell = Tell { on_progress, raised: &raised };
    while !there {
        (there, crew) = guarded(py, || (crew.reach(Time(time_ps)), crew))?;
        if tell.of(py, &crew)? {
            return Err(PyKeyboardInterrupt::new_err("before that moment"));
        }
    }
    let (moment, crew) = guarded(py, || (crew.simulation.moment(Time(time_ps)), crew))?;
    let (outcome, threads, (), interrupted) = run(py, crew, &tell)?;
    let answer = Answer::of(outcome, &queue_ports, mtu, interrupted);
    let answer = Answer { threads: Some(threads), ..answer };
    Ok((answer::to_python(py, answer.into_value())?, moment::to_python(py, &moment)?))
}

/// The links on each flow's way there, and on the way back of what answers it.
#[pyfunction]
fn paths(request: &Bound<'_, PyDict>) -> PyResult<Vec<[Vec<u32>; 2]>> {
    let network = request::network(request, &Raised::default())?;
    network.check().and_then(|()| route::paths(&network)).map_err(PyValueError::new_err)
}

/// Who hears how far a run is, and what its algorithms raise.
struct Tell<'a, 'py> {
    on_progress: Option<Bound<'py, PyAny>>,
    raised: &'a Raised,
}

impl Tell<'_, '_> {
    /// Says how far it is; whether it is to be ended early.
    fn of<O: Observer + Send>(&self, py: Python<'_>, crew: &Crew<O>) -> PyResult<bool> {
        let simulation = &crew.simulation;
        if let Some(error) = self.raised.lock().expect("no call panics with the lock held").take() {
            return Err(error);
        }
        let told = py.check_signals().and_then(|()| match &self.on_progress {
            Some(tell) => tell.call1((simulation.now().0, simulation.packet_hops(), simulation.finished())).map(|_| ()),
            None => Ok(()),
        });
        match told {
            Ok(()) => Ok(false),
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

fn run<O: Observer + Send>(
    py: Python<'_>,
    mut crew: Crew<O>,
    tell: &Tell<'_, '_>,
) -> PyResult<(Outcome, Threads, O, bool)> {
    loop {
        let (progress, stepped) = guarded(py, || (crew.turn(), crew))?;
        crew = stepped;
        let simulation = &crew.simulation;
        let interrupted = tell.of(py, &crew)?;
        if interrupted || progress == Progress::Done {
            let interrupted = interrupted && progress == Progress::Running;
            let (count, domains, gain) = (crew.threads() as u64, simulation.domains() as u64, crew.gain);
            let (outcome, observer) = guarded(py, || crew.simulation.finish_observed())?;
            return Ok((outcome, Threads { count, domains, gain }, observer, interrupted));
        }
    }
}

/// Runs without the GIL; a panic becomes a [`Bug`].
fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Bug::new_err(format!("{text} (version {})", version()))
    })
}

/// The release of Shallows; the commit is Python's to say (`shallows.version`).
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// A checksum of the Rust sources that this was built from (build.rs).
#[pyfunction]
fn sources() -> &'static str {
    env!("SHALLOWS_SOURCES")
}

/// A field of the contract: its key, what it holds, whether it may be left out, and what it means.
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
    module.add_function(wrap_pyfunction!(paths, module)?)?;
    module.add_function(wrap_pyfunction!(catalog::catalog, module)?)?;
    module.add_function(wrap_pyfunction!(catalog::markings, module)?)?;
    module.add_function(wrap_pyfunction!(catalog::receivers, module)?)?;
    module.add_function(wrap_pyfunction!(contract, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(sources, module)?)
}
