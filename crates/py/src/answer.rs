//! An answer becomes columns for Python. Vectors are handed over, not copied.

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use shallows_cc::units::{Bytes, Time};
use shallows_sim::answer::{Answer, Deadlock, FlowReport, ProbeTable, QueueTable};
use shallows_sim::port::PortReport;
use shallows_sim::port::scheduled::ClassReport;

/// The whole answer; `queue_ports` are the ports whose queues were recorded.
pub fn to_python<'py>(
    py: Python<'py>,
    answer: Answer,
    queue_ports: &[u32],
    mtu: Bytes,
    interrupted: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("fingerprint", format!("{:016x}", answer.fingerprint))?;
    dict.set_item("events", answer.events)?;
    dict.set_item("packet_hops", answer.packet_hops)?;
    dict.set_item("ended_ps", answer.ended.0)?;
    dict.set_item("interrupted", interrupted)?;
    dict.set_item("flows", flows(py, &answer.flows)?)?;
    dict.set_item("ports", ports(py, &answer.ports, answer.measured, mtu)?)?;
    let histograms = queue_ports.iter().map(|&port| histogram(py, &answer.ports[port as usize]));
    dict.set_item("queue_histograms", PyList::new(py, histograms.collect::<PyResult<Vec<_>>>()?)?)?;
    dict.set_item("queues", queues(py, answer.queues)?)?;
    dict.set_item("probe_names", &answer.probes.names)?;
    dict.set_item("probes", probes(py, answer.probes)?)?;
    dict.set_item("classes", classes(py, &answer.ports)?)?;
    dict.set_item("deadlock", deadlock(py, answer.deadlock.unwrap_or_default())?)?;
    let books = PyDict::new(py);
    books.set_item("closed", answer.problems.is_empty())?;
    books.set_item("problems", answer.problems)?;
    dict.set_item("books", books)?;
    Ok(dict)
}

/// Every class of every port that has some.
fn classes<'py>(py: Python<'py>, ports: &[PortReport]) -> PyResult<Bound<'py, PyDict>> {
    let rows =
        || ports.iter().zip(0_u32..).flat_map(|(port, link)| port.classes.iter().map(move |class| (link, class)));
    let within = ports.iter().flat_map(|port| 0..port.classes.len() as u32);
    let wide = |value: fn(&ClassReport) -> u64| rows().map(|(_, c)| value(c)).collect::<Vec<_>>().into_pyarray(py);
    let columns = PyDict::new(py);
    columns.set_item("link", rows().map(|(link, _)| link).collect::<Vec<_>>().into_pyarray(py))?;
    columns.set_item("class", within.collect::<Vec<_>>().into_pyarray(py))?;
    columns.set_item("sent", wide(|c| c.sent))?;
    columns.set_item("dropped", wide(|c| c.dropped))?;
    columns.set_item("largest_bytes", wide(|c| c.largest.0))?;
    columns.set_item("pauses", wide(|c| c.pauses))?;
    columns.set_item("paused_ps", wide(|c| c.paused.0))?;
    Ok(columns)
}

/// Ports that wait for each other for ever: none where there is no deadlock.
fn deadlock(py: Python<'_>, found: Deadlock) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("time_ps", found.at.0)?;
    dict.set_item("links", found.ports.into_pyarray(py))?;
    Ok(dict)
}

fn flows<'py>(py: Python<'py>, flows: &[FlowReport]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let wide = |value: fn(&FlowReport) -> u64| flows.iter().map(value).collect::<Vec<_>>().into_pyarray(py);
    let narrow = |value: fn(&FlowReport) -> u32| flows.iter().map(value).collect::<Vec<_>>().into_pyarray(py);
    columns.set_item("start_ps", wide(|f| f.start.0))?;
    columns.set_item("finish_ps", wide(|f| f.finish.0))?;
    columns.set_item("ideal_ps", wide(|f| f.ideal.0))?;
    columns.set_item("delivered_bytes", wide(|f| f.delivered))?;
    columns.set_item("goodput_bytes", wide(|f| f.goodput))?;
    columns.set_item("goodput_by_stop_bytes", wide(|f| f.goodput_by_stop))?;
    columns.set_item("retransmits", narrow(|f| f.retransmits))?;
    columns.set_item("timeouts", narrow(|f| f.timeouts))?;
    columns.set_item("credits", wide(|f| f.credits))?;
    columns.set_item("credits_wasted", wide(|f| f.credits_wasted))?;
    Ok(columns)
}

fn ports<'py>(py: Python<'py>, ports: &[PortReport], span: Time, mtu: Bytes) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let counts = |value: fn(&PortReport) -> u64| ports.iter().map(value).collect::<Vec<_>>().into_pyarray(py);
    let reals = |value: &dyn Fn(&PortReport) -> f64| -> Bound<'py, PyArray1<f64>> {
        ports.iter().map(value).collect::<Vec<_>>().into_pyarray(py)
    };
    let bytes = |port: &PortReport, backlog_ps: f64| backlog_ps * bytes_per_ps(port, mtu);
    columns.set_item("sent", counts(|p| p.counters.sent))?;
    columns.set_item("sent_bytes", counts(|p| p.counters.sent_bytes))?;
    columns.set_item("marked", counts(|p| p.counters.marked))?;
    columns.set_item("dropped", counts(|p| p.counters.dropped))?;
    columns.set_item("dropped_in_warmup", counts(|p| p.dropped_in_warmup))?;
    columns.set_item("pauses", counts(|p| p.classes.iter().map(|c| c.pauses).sum()))?;
    columns.set_item("paused_ps", counts(|p| p.classes.iter().map(|c| c.paused.0).sum()))?;
    columns.set_item("busy_ps", counts(|p| p.busy.0))?;
    let mean = |p: &PortReport| p.area as f64 / (span.0 as f64).max(1.0);
    columns.set_item("queue_mean_bytes", reals(&|p| bytes(p, mean(p))))?;
    columns.set_item("queue_p50_bytes", reals(&|p| bytes(p, p.backlogs.quantile(0.5))))?;
    columns.set_item("queue_p99_bytes", reals(&|p| bytes(p, p.backlogs.quantile(0.99))))?;
    columns.set_item("queue_max_bytes", reals(&|p| bytes(p, p.largest.0 as f64)))?;
    columns.set_item("delay_mean_ps", reals(&|p| p.counters.sojourn as f64 / (p.counters.sent as f64).max(1.0)))?;
    columns.set_item("delay_p99_ps", reals(&|p| p.backlogs.quantile(0.99)))?;
    Ok(columns)
}

fn bytes_per_ps(port: &PortReport, mtu: Bytes) -> f64 {
    mtu / Bytes(port.clock.time(mtu).0)
}

fn histogram<'py>(py: Python<'py>, port: &PortReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let edges = port.backlogs.edges.iter().map(|&edge| port.clock.bytes(edge).0 as f64);
    let mut times: Vec<_> = port.backlogs.times.iter().map(|time| time.0).collect();
    times[0] += port.backlogs.idle.0;
    dict.set_item("edges_bytes", edges.collect::<Vec<_>>().into_pyarray(py))?;
    dict.set_item("time_ps", times.into_pyarray(py))?;
    Ok(dict)
}

fn queues<'py>(py: Python<'py>, table: QueueTable) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let shape = [table.bytes.len(), table.time.len()];
    columns.set_item("time_ps", table.time.into_pyarray(py))?;
    columns.set_item("bytes", table.bytes.concat().into_pyarray(py).reshape(shape)?)?;
    Ok(columns)
}

fn probes<'py>(py: Python<'py>, table: ProbeTable) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    columns.set_item("time_ps", table.time.into_pyarray(py))?;
    columns.set_item("flow", table.flow.into_pyarray(py))?;
    columns.set_item("name", table.name.into_pyarray(py))?;
    columns.set_item("value", table.value.into_pyarray(py))?;
    Ok(columns)
}
