//! The catalogs of algorithms, markings, receivers and choices of paths as plain Python data.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use shallows_cc::catalog::{ALGORITHMS, Algorithm, Marking, Reliability, SendControl};
use shallows_cc::deviation::Deviation;
use shallows_cc::parameter::{Parameter, Preset, Values};
use shallows_cc::port::{Feedback, MECHANISMS, MarkAt, Mechanism};
use shallows_cc::receiver::{AlternateReceiver, SUBSTITUTES};
use shallows_cc::traits::LeastRtt;
use shallows_cc::units::Rate;
use shallows_sim::Balancing;

/// The algorithms, a dict each.
#[pyfunction]
pub fn catalog(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let rows: PyResult<Vec<_>> = ALGORITHMS.iter().map(|algorithm| row(py, algorithm)).collect();
    PyList::new(py, rows?)
}

fn row<'py>(py: Python<'py>, algorithm: &Algorithm) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    let (port, marking) = match algorithm.marking {
        _ if algorithm.transport.leave == SendControl::OnCredits => ("credit", "none"),
        Marking::Unused => ("", "none"),
        Marking::Required(kind) | Marking::Rates(kind) | Marking::Records(kind) => (kind, "required"),
        Marking::WhenFlag(flag, kind) => (kind, flag),
    };
    row.set_item("name", algorithm.name)?;
    row.set_item("summary", algorithm.summary)?;
    row.set_item("sender", algorithm.name)?;
    row.set_item("receiver", algorithm.receiver.name)?;
    row.set_item("port", port)?;
    row.set_item("marking", marking)?;
    row.set_item("transport", algorithm.transport.name)?;
    row.set_item("trims", algorithm.transport.reliability == Reliability::Unordered)?;
    row.set_item("honours", algorithm.honours())?;
    row.set_item("draws", algorithm.draws())?;
    row.set_item("traits", traits(py, algorithm)?)?;
    row.set_item("source", algorithm.source)?;
    row.set_item("not_modelled", algorithm.not_modelled)?;
    row.set_item("deviations", deviations(py, algorithm.deviations)?)?;
    row.set_item("parameters", parameters(py, algorithm.parameters)?)?;
    let presets: PyResult<Vec<_>> = algorithm.presets.iter().map(|p| preset(py, p)).collect();
    row.set_item("presets", presets?)?;
    Ok(row)
}

/// What the law of an algorithm, and the parts beside its congestion point, are to those who run and explain it.
fn traits<'py>(py: Python<'py>, algorithm: &Algorithm) -> PyResult<Bound<'py, PyDict>> {
    let (row, traits) = (PyDict::new(py), algorithm.traits);
    row.set_item("reacts_to_delay", traits.reacts_to_delay)?;
    row.set_item("reacts_to_queues_alone", algorithm.reacts_to_queues_alone())?;
    row.set_item("reads_switches", matches!(algorithm.marking, Marking::Rates(_) | Marking::Records(_)))?;
    row.set_item("chooses_paths", algorithm.multipath.is_some())?;
    // whether it is so, and the flag that makes it otherwise
    let least_rtt = match traits.least_rtt {
        LeastRtt::Always => (true, None),
        LeastRtt::Unless(flag) => (true, Some(flag)),
        LeastRtt::If(flag) => (false, Some(flag)),
        LeastRtt::Never => (false, None),
    };
    row.set_item("least_rtt", least_rtt)?;
    row.set_item("returns_by_timer", traits.returns_by_timer)?;
    row.set_item("has_target_queue", traits.has_target_queue)?;
    row.set_item("corrected_by", traits.corrected_by)?;
    row.set_item("least_threshold", traits.least_threshold)?;
    row.set_item("step", traits.step)?;
    row.set_item("ect1", traits.ect1)?;
    row.set_item("is_driven", traits.is_driven)?;
    row.set_item("probes", traits.probes)?;
    row.set_item("reference_bps", traits.reference_bps)?;
    Ok(row)
}

/// The marking mechanisms, a dict each.
#[pyfunction]
pub fn markings(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let rows: PyResult<Vec<_>> = MECHANISMS.iter().map(|mechanism| marking(py, mechanism)).collect();
    PyList::new(py, rows?)
}

/// The values of `network.balancing` with what they do, a dict each.
#[pyfunction]
pub fn balancings(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let row = |balancing: &Balancing| {
        let row = PyDict::new(py);
        row.set_item("name", balancing.text())?;
        row.set_item("sprays", balancing.sprays())?;
        row.set_item("is_by_chance", balancing.is_by_chance())?;
        row.set_item("takes_entropies", balancing.takes_entropies())?;
        row.set_item("has_flowlets", balancing.has_flowlets())?;
        Ok(row)
    };
    PyList::new(py, Balancing::ALL.iter().map(row).collect::<PyResult<Vec<_>>>()?)
}

/// The receivers that can replace an algorithm's own, a dict each.
#[pyfunction]
pub fn receivers(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let rows: PyResult<Vec<_>> = SUBSTITUTES.iter().map(|receiver| substitute(py, receiver)).collect();
    PyList::new(py, rows?)
}

fn substitute<'py>(py: Python<'py>, receiver: &AlternateReceiver) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", receiver.name)?;
    row.set_item("summary", receiver.summary)?;
    row.set_item("source", receiver.source)?;
    row.set_item("parameters", parameters(py, receiver.parameters)?)?;
    let presets: PyResult<Vec<_>> = receiver.presets.iter().map(|p| preset(py, p)).collect();
    row.set_item("presets", presets?)?;
    row.set_item("deviations", deviations(py, receiver.deviations)?)?;
    Ok(row)
}

fn marking<'py>(py: Python<'py>, mechanism: &Mechanism) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", mechanism.name)?;
    row.set_item("summary", mechanism.summary)?;
    row.set_item("source", mechanism.source)?;
    let at = match mechanism.at {
        MarkAt::Enqueue => "enqueue",
        MarkAt::Dequeue => "dequeue",
    };
    row.set_item("at", at)?;
    let tells = match mechanism.tells {
        Feedback::Marks => "marks",
        Feedback::Rates => "rates",
        Feedback::Records => "records",
    };
    row.set_item("tells", tells)?;
    row.set_item("draws", mechanism.draws)?;
    let built = (mechanism.build)(&Values::defaults(mechanism.parameters), Rate::from_gbps(10));
    row.set_item("judges_heads", built.judges_heads())?;
    row.set_item("has_two_queues", built.as_dual_queue().is_some())?;
    let compared = mechanism.parameters.iter().filter(|parameter| parameter.is_threshold);
    row.set_item("thresholds", compared.map(|parameter| parameter.name).collect::<Vec<_>>())?;
    row.set_item("adjustable", mechanism.adjustable().map(|parameter| parameter.name).collect::<Vec<_>>())?;
    row.set_item("parameters", parameters(py, mechanism.parameters)?)?;
    Ok(row)
}

fn deviations<'py>(py: Python<'py>, deviations: &[Deviation]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let row = |&Deviation { line, here, why }: &Deviation| {
        let row = PyDict::new(py);
        [("line", line), ("here", here), ("why", why)]
            .into_iter()
            .try_for_each(|(key, text)| row.set_item(key, text))?;
        Ok(row)
    };
    deviations.iter().map(row).collect()
}

fn parameters<'py>(py: Python<'py>, parameters: &[Parameter]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    parameters.iter().map(|p| parameter(py, p)).collect()
}

fn parameter<'py>(py: Python<'py>, parameter: &Parameter) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", parameter.name)?;
    row.set_item("symbol", parameter.symbol)?;
    row.set_item("unit", parameter.unit.symbol())?;
    row.set_item("default", parameter.default)?;
    row.set_item("min", parameter.min)?;
    row.set_item("max", parameter.max)?;
    row.set_item("meaning", parameter.meaning)?;
    row.set_item("source", parameter.source)?;
    row.set_item("rule", parameter.follows)?;
    row.set_item("needs", parameter.needs)?;
    Ok(row)
}

fn preset<'py>(py: Python<'py>, preset: &Preset) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    for (name, value) in preset.values {
        values.set_item(name, value)?;
    }
    let row = PyDict::new(py);
    row.set_item("name", preset.name)?;
    row.set_item("values", values)?;
    row.set_item("source", preset.source)?;
    Ok(row)
}
