//! A request from Python becomes a network.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use shallows_cc::catalog;
use shallows_cc::parameter::{Parameter, Values};
use shallows_cc::port::{self, MarkAt};
use shallows_cc::receiver::{SUBSTITUTES, Substitute};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::measure::Timestamps;
use shallows_sim::network::{self, Control, FlowSpec, HostSpec, Marking, Network, Nic, PortSpec, RecordSpec};

use crate::scheduling;
use crate::table::{column, get, same_length};
use crate::written::{Raised, Written};

/// Reads the whole request; what algorithms written in Python raise goes to `raised`.
pub fn network(request: &Bound<'_, PyDict>, raised: &Raised) -> PyResult<Network> {
    let markings = markings(&get(request, "markings")?)?;
    Ok(Network {
        hosts: get(request, "hosts")?,
        nodes: get(request, "nodes")?,
        ports: ports(&get(request, "links")?, &markings)?,
        markings: markings.into_iter().flatten().collect(),
        disciplines: scheduling::disciplines(request)?,
        shared: scheduling::shared(request)?,
        pause: scheduling::pause(request)?,
        balancing: scheduling::balancing(request)?,
        faults: scheduling::faults(request)?,
        flows: flows(&get(request, "flows")?)?,
        controls: get::<Bound<PyList>>(request, "ccs")?.iter().map(|c| control(&c, raised)).collect::<PyResult<_>>()?,
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

/// Every marking of the request; none where a port does not mark.
fn markings(list: &Bound<'_, PyList>) -> PyResult<Vec<Option<Marking>>> {
    list.iter().map(|item| marking(&item.cast_into::<PyDict>()?)).collect()
}

fn marking(item: &Bound<'_, PyDict>) -> PyResult<Option<Marking>> {
    let kind: String = get(item, "kind")?;
    if kind == "none" {
        return Ok(None);
    }
    let mechanism = port::find(&kind).ok_or_else(|| PyValueError::new_err(format!("no marking is called {kind:?}")))?;
    let at = match get::<String>(item, "at")?.as_str() {
        "enqueue" => MarkAt::Enqueue,
        "dequeue" => MarkAt::Dequeue,
        other => return Err(PyValueError::new_err(format!("at = {other:?}: expected enqueue or dequeue"))),
    };
    Ok(Some(Marking { mechanism, values: values(item, &kind, mechanism.parameters)?, at }))
}

/// The defaults of a row, with what the item's `parameters` set.
fn values(item: &Bound<'_, PyDict>, name: &str, parameters: &'static [Parameter]) -> PyResult<Values> {
    let mut values = Values::defaults(parameters);
    for (key, value) in get::<Bound<PyDict>>(item, "parameters")?.iter() {
        let set = values.set(&key.extract::<String>()?, value.extract()?);
        set.map_err(|problem| PyValueError::new_err(format!("{name}: {problem}")))?;
    }
    Ok(values)
}

fn ports(links: &Bound<'_, PyDict>, markings: &[Option<Marking>]) -> PyResult<Vec<PortSpec>> {
    let (from, to) = (column::<u32>(links, "from")?, column::<u32>(links, "to")?);
    let (rate, delay) = (column::<u64>(links, "rate_bps")?, column::<u64>(links, "delay_ps")?);
    let (buffer, marking) = (column::<u64>(links, "buffer_bytes")?, column::<u32>(links, "marking")?);
    let lengths = [from.len(), to.len(), rate.len(), delay.len(), buffer.len(), marking.len()];
    let place = markings.iter().scan(0, |next, marking| {
        let place = marking.is_some().then_some(*next);
        *next += u32::from(marking.is_some());
        Some(place)
    });
    let place: Vec<_> = place.collect();
    let mut ports: Vec<_> = (0..same_length("links", &lengths)?)
        .map(|at| {
            let marking = place.get(marking[at] as usize);
            let &marking =
                marking.ok_or_else(|| PyValueError::new_err(format!("links.marking[{at}]: no such marking")))?;
            Ok(PortSpec {
                from: from[at],
                to: to[at],
                rate: Rate(rate[at]),
                delay: Time(delay[at]),
                buffer: Bytes(buffer[at]),
                marking,
                discipline: None,
            })
        })
        .collect::<PyResult<_>>()?;
    scheduling::assign(links, &mut ports)?;
    Ok(ports)
}

fn flows(table: &Bound<'_, PyDict>) -> PyResult<Vec<FlowSpec>> {
    let (src, dst) = (column::<u32>(table, "src")?, column::<u32>(table, "dst")?);
    let (bytes, control) = (column::<u64>(table, "bytes")?, column::<u32>(table, "cc")?);
    let (start, stop) = (column::<u64>(table, "start_ps")?, column::<u64>(table, "stop_ps")?);
    let after = if table.contains("after")? { Some(column::<u32>(table, "after")?) } else { None };
    let urgent = if table.contains("priority")? { Some(column::<u32>(table, "priority")?) } else { None };
    let ranked = urgent.as_ref().map_or(src.len(), Vec::len);
    let follows = after.as_ref().map_or(src.len(), Vec::len);
    let lengths = [src.len(), dst.len(), bytes.len(), control.len(), start.len(), stop.len(), follows, ranked];
    let flow = |at: usize| FlowSpec {
        src: src[at],
        dst: dst[at],
        bytes: if bytes[at] == 0 { Bytes::MAX } else { Bytes(bytes[at]) },
        start: Time(start[at]),
        after: after.as_ref().map(|column| column[at]).filter(|&first| first != u32::MAX),
        stop: Time(stop[at]),
        urgent: urgent.as_ref().is_some_and(|column| column[at] > 0),
        control: control[at],
    };
    Ok((0..same_length("flows", &lengths)?).map(flow).collect())
}

fn control(item: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<Control> {
    let item = item.cast::<PyDict>()?;
    let name: String = get(item, "name")?;
    let algorithm =
        catalog::find(&name).ok_or_else(|| PyValueError::new_err(format!("no algorithm is called {name:?}")))?;
    let receiver = match item.get_item("receiver")? {
        Some(receiver) => Some(substitute(receiver.cast::<PyDict>()?)?),
        None => None,
    };
    let values = values(item, &name, algorithm.parameters)?;
    let written = item.get_item("written")?.map(|class| {
        let (class, raised) = (class.unbind(), raised.clone());
        network::Written(Arc::new(move |path| Written::boxed(&class, path, &raised)))
    });
    Ok(Control { algorithm, values, receiver, written })
}

fn substitute(item: &Bound<'_, PyDict>) -> PyResult<(&'static Substitute, Values)> {
    let kind: String = get(item, "kind")?;
    let known = SUBSTITUTES.iter().find(|receiver| receiver.name == kind);
    let receiver = known.ok_or_else(|| PyValueError::new_err(format!("no receiver is called {kind:?}")))?;
    Ok((receiver, values(item, &kind, receiver.parameters)?))
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
        segment: get(table, "segment")?,
        timestamps: match table.get_item("timestamps")? {
            Some(told) => Some(timestamps(told.cast::<PyDict>()?)?),
            None => None,
        },
    })
}

fn timestamps(table: &Bound<'_, PyDict>) -> PyResult<Timestamps> {
    Ok(Timestamps {
        burst: get(table, "burst")?,
        bucket: get(table, "bucket")?,
        poll: Time(get(table, "poll_ps")?),
        stack: Time(get(table, "stack_ps")?),
        noise: Time(get(table, "noise_ps")?),
        drift: get(table, "drift")?,
        host_delay_removed: get(table, "host_delay_removed")?,
        burst_reduced: get(table, "burst_reduced")?,
        calibrated: get(table, "calibrated")?,
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
