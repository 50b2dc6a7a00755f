//! What a request says about classes, shared memory, pauses, equal paths and links that fail; all of it may be left out.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::network::{
    Balancing, ClassSpec, Discipline, Limit, LinkChange, PauseSpec, PortSpec, Shaper, SharedSpec,
};
use shallows_sim::packet::PACKET_KINDS;

use crate::table::{column, get, same_length};

fn table<'py>(request: &Bound<'py, PyDict>, key: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
    Ok(request.get_item(key)?.filter(|value| !value.is_none()).map(|value| value.cast_into()).transpose()?)
}

/// Memory that the ports of a switch share.
pub fn shared(request: &Bound<'_, PyDict>) -> PyResult<Option<SharedSpec>> {
    let read = |table: Bound<'_, PyDict>| {
        Ok(SharedSpec { size: Bytes(get(&table, "size_bytes")?), alpha: get(&table, "alpha")? })
    };
    table(request, "shared")?.map(read).transpose()
}

/// When links are paused.
pub fn pause(request: &Bound<'_, PyDict>) -> PyResult<Option<PauseSpec>> {
    let read = |table: Bound<'_, PyDict>| {
        Ok(PauseSpec {
            threshold: Bytes(get(&table, "threshold_bytes")?),
            hysteresis: Bytes(get(&table, "hysteresis_bytes")?),
            headroom: get::<Option<u64>>(&table, "headroom_bytes")?.map(Bytes),
        })
    };
    table(request, "pause")?.map(read).transpose()
}

/// How switches choose among equal paths.
pub fn balancing(request: &Bound<'_, PyDict>) -> PyResult<Balancing> {
    let Some(told) = request.get_item("balancing")? else { return Ok(Balancing::Flow) };
    match told.extract::<String>()?.as_str() {
        "flow" => Ok(Balancing::Flow),
        "packet" => Ok(Balancing::Packet),
        "queue" => Ok(Balancing::Queue),
        other => Err(PyValueError::new_err(format!("balancing = {other:?}: expected flow, packet or queue"))),
    }
}

/// Links that go down and up.
pub fn faults(request: &Bound<'_, PyDict>) -> PyResult<Vec<LinkChange>> {
    let Some(faults) = table(request, "faults")? else { return Ok(Vec::new()) };
    let (at, link) = (column::<u64>(&faults, "time_ps")?, column::<u32>(&faults, "link")?);
    let up = column::<bool>(&faults, "up")?;
    let change = |n: usize| LinkChange { at: Time(at[n]), link: link[n], up: up[n] };
    Ok((0..same_length("faults", &[at.len(), link.len(), up.len()])?).map(change).collect())
}

/// Every discipline; the first is number 1, as 0 is a FIFO.
pub fn disciplines(request: &Bound<'_, PyDict>) -> PyResult<Vec<Discipline>> {
    let Some(list) = request.get_item("disciplines")? else { return Ok(Vec::new()) };
    list.cast::<PyList>()?.iter().map(|item| discipline(&item.cast_into::<PyList>()?)).collect()
}

/// Kinds that no class names go where one says "other".
fn discipline(classes: &Bound<'_, PyList>) -> PyResult<Discipline> {
    let (mut class_of, mut others, mut urgent) = ([u8::MAX; PACKET_KINDS.len()], u8::MAX, None);
    let mut specs = Vec::new();
    for (number, item) in classes.iter().enumerate() {
        let item = item.cast_into::<PyDict>()?;
        for name in get::<Vec<String>>(&item, "carries")? {
            if name == "other" {
                others = number as u8;
                continue;
            }
            if name == "urgent" {
                urgent = Some(number as u8);
                continue;
            }
            let kind = PACKET_KINDS.iter().position(|kind| kind.name() == name);
            let kind = kind.ok_or_else(|| PyValueError::new_err(format!("no packet is called {name:?}")))?;
            class_of[kind] = number as u8;
        }
        specs.push(class(&item)?);
    }
    let class_of = class_of.map(|class| if class == u8::MAX { others } else { class });
    if let Some(kind) = class_of.iter().position(|&class| class == u8::MAX) {
        let name = PACKET_KINDS[kind].name();
        return Err(PyValueError::new_err(format!("a discipline has no class for {name:?}")));
    }
    Ok(Discipline { classes: specs, class_of, urgent })
}

fn class(item: &Bound<'_, PyDict>) -> PyResult<ClassSpec> {
    let shaper = match get::<Option<u64>>(item, "shaper_bps")? {
        None => None,
        Some(rate) => Some(Shaper { rate: Rate(rate), burst: Bytes(get(item, "shaper_burst_bytes")?) }),
    };
    let limit = match get::<Option<u32>>(item, "limit_packets")? {
        Some(packets) => Limit::Packets(packets),
        None => Limit::Bytes(Bytes(get(item, "limit_bytes")?)),
    };
    Ok(ClassSpec { limit, shaper })
}

/// Gives each port the discipline that the column names.
pub fn assign(links: &Bound<'_, PyDict>, ports: &mut [PortSpec]) -> PyResult<()> {
    let Some(column) = links.get_item("discipline")? else { return Ok(()) };
    let column = column.cast::<PyArray1<u32>>()?.to_vec()?;
    if column.len() != ports.len() {
        return Err(PyValueError::new_err(format!("links.discipline: expected {} of them", ports.len())));
    }
    for (port, number) in ports.iter_mut().zip(column) {
        port.discipline = number.checked_sub(1);
    }
    Ok(())
}
