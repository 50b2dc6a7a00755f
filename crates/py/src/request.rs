//! A request from Python becomes a network.

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use shallows_cc::catalog;
use shallows_cc::parameter::Values;
use shallows_cc::port::MarkAt;
use shallows_cc::port::step::Step;
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::network::{Control, FlowSpec, HostSpec, Network, Nic, RecordSpec};
use shallows_sim::port::PortSpec;

/// Reads the whole request.
pub fn network(request: &Bound<'_, PyDict>) -> PyResult<Network> {
    Ok(Network {
        hosts: get(request, "hosts")?,
        nodes: get(request, "nodes")?,
        ports: ports(&get(request, "links")?, &markings(&get(request, "markings")?)?)?,
        flows: flows(&get(request, "flows")?)?,
        controls: get::<Bound<PyList>>(request, "ccs")?.iter().map(|c| control(&c)).collect::<PyResult<_>>()?,
        host: host(&get(request, "host")?)?,
        mtu: Bytes(get(request, "mtu_bytes")?),
        header: Bytes(get(request, "header_bytes")?),
        duration: Time(get(request, "duration_ps")?),
        until_done: get(request, "until_done")?,
        warmup: Time(get(request, "warmup_ps")?),
        seed: get(request, "seed")?,
        record: record(&get(request, "record")?)?,
    })
}

fn item<'py>(dict: &Bound<'py, PyDict>, key: &str) -> PyResult<Bound<'py, PyAny>> {
    dict.get_item(key)?.ok_or_else(|| PyKeyError::new_err(key.to_owned()))
}

fn get<'py, T: FromPyObjectOwned<'py>>(dict: &Bound<'py, PyDict>, key: &str) -> PyResult<T> {
    let refused = |error: PyErr| PyValueError::new_err(format!("{key}: {error}"));
    item(dict, key)?.extract().map_err(|error: T::Error| refused(error.into()))
}

fn column<T: Element + Copy>(dict: &Bound<'_, PyDict>, key: &str) -> PyResult<Vec<T>> {
    let any = item(dict, key)?;
    let array = any.cast::<PyArray1<T>>().map_err(|error| PyValueError::new_err(format!("{key}: {error}")))?;
    Ok(array.to_vec()?)
}

/// An error where the columns of a table differ in length.
fn same_length(table: &str, lengths: &[usize]) -> PyResult<usize> {
    if lengths.iter().any(|&length| length != lengths[0]) {
        return Err(PyValueError::new_err(format!("{table}: columns of lengths {lengths:?}, expected equal ones")));
    }
    Ok(lengths[0])
}

fn markings(list: &Bound<'_, PyList>) -> PyResult<Vec<(Step, MarkAt)>> {
    list.iter()
        .map(|item| {
            let item = item.cast_into::<PyDict>()?;
            match get::<String>(&item, "kind")?.as_str() {
                "none" => Ok((Step::NEVER, MarkAt::Enqueue)),
                "step" => {
                    let at = match get::<String>(&item, "at")?.as_str() {
                        "enqueue" => MarkAt::Enqueue,
                        "dequeue" => MarkAt::Dequeue,
                        other => {
                            return Err(PyValueError::new_err(format!("at = {other:?}: expected enqueue or dequeue")));
                        }
                    };
                    Ok((Step::above(Bytes(get(&item, "threshold_bytes")?)), at))
                }
                other => Err(PyValueError::new_err(format!("marking {other:?}: expected none or step"))),
            }
        })
        .collect()
}

fn ports(links: &Bound<'_, PyDict>, markings: &[(Step, MarkAt)]) -> PyResult<Vec<PortSpec>> {
    let (from, to) = (column::<u32>(links, "from")?, column::<u32>(links, "to")?);
    let (rate, delay) = (column::<u64>(links, "rate_bps")?, column::<u64>(links, "delay_ps")?);
    let (buffer, marking) = (column::<u64>(links, "buffer_bytes")?, column::<u32>(links, "marking")?);
    let lengths = [from.len(), to.len(), rate.len(), delay.len(), buffer.len(), marking.len()];
    (0..same_length("links", &lengths)?)
        .map(|at| {
            let marking = markings.get(marking[at] as usize);
            let &(marking, mark_at) =
                marking.ok_or_else(|| PyValueError::new_err(format!("links.marking[{at}]: no such marking")))?;
            Ok(PortSpec {
                from: from[at],
                to: to[at],
                rate: Rate(rate[at]),
                delay: Time(delay[at]),
                buffer: Bytes(buffer[at]),
                marking,
                mark_at,
            })
        })
        .collect()
}

fn flows(table: &Bound<'_, PyDict>) -> PyResult<Vec<FlowSpec>> {
    let (src, dst) = (column::<u32>(table, "src")?, column::<u32>(table, "dst")?);
    let (bytes, control) = (column::<u64>(table, "bytes")?, column::<u32>(table, "cc")?);
    let (start, stop) = (column::<u64>(table, "start_ps")?, column::<u64>(table, "stop_ps")?);
    let lengths = [src.len(), dst.len(), bytes.len(), control.len(), start.len(), stop.len()];
    let flow = |at: usize| FlowSpec {
        src: src[at],
        dst: dst[at],
        bytes: if bytes[at] == 0 { Bytes::MAX } else { Bytes(bytes[at]) },
        start: Time(start[at]),
        stop: Time(stop[at]),
        control: control[at],
    };
    Ok((0..same_length("flows", &lengths)?).map(flow).collect())
}

fn control(item: &Bound<'_, PyAny>) -> PyResult<Control> {
    let item = item.cast::<PyDict>()?;
    let name: String = get(item, "name")?;
    let algorithm =
        catalog::find(&name).ok_or_else(|| PyValueError::new_err(format!("no algorithm is called {name:?}")))?;
    let mut values = Values::defaults(algorithm.parameters);
    for (key, value) in get::<Bound<PyDict>>(item, "parameters")?.iter() {
        let set = values.set(&key.extract::<String>()?, value.extract()?);
        set.map_err(|problem| PyValueError::new_err(format!("{name}: {problem}")))?;
    }
    Ok(Control { algorithm, values })
}

fn host(table: &Bound<'_, PyDict>) -> PyResult<HostSpec> {
    let nic = match get::<String>(table, "nic")?.as_str() {
        "fair" => Nic::Fair,
        "fifo" => Nic::Fifo,
        other => return Err(PyValueError::new_err(format!("nic = {other:?}: expected fair or fifo"))),
    };
    Ok(HostSpec {
        nic,
        initial_window: Bytes(get(table, "initial_window_bytes")?),
        rto_min: Time(get(table, "rto_min_ps")?),
        rto_max: Time(get(table, "rto_max_ps")?),
        rto_initial: Time(get(table, "rto_initial_ps")?),
        acks_every: get(table, "acks_every")?,
        ack_delay: Time(get(table, "ack_delay_ps")?),
    })
}

fn record(table: &Bound<'_, PyDict>) -> PyResult<RecordSpec> {
    Ok(RecordSpec {
        queue_interval: Time(get(table, "queue_interval_ps")?),
        ports: column(table, "queue_links")?,
        probe_interval: Time(get(table, "probe_interval_ps")?),
        flows: column(table, "probe_flows")?,
    })
}
