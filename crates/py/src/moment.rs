//! Snapshot of a run at one time, as tables for Python (docs/timelines.md).

use pyo3::prelude::*;
use pyo3::types::PyDict;
use shallows_sim::{PACKET_KINDS, Snapshot};

use crate::table::Table;

/// Stands for a missing number.
const NONE: u32 = u32::MAX;

/// The tables of a snapshot, and the names of its kinds.
pub fn to_python<'py>(py: Python<'py>, moment: &Snapshot) -> PyResult<Bound<'py, PyDict>> {
    let tables = PyDict::new(py);
    tables.set_item("ports", ports(py, moment)?)?;
    tables.set_item("flows", flows(py, moment)?)?;
    tables.set_item("packets", packets(py, moment)?)?;
    let probes = Table::new(py, &moment.probes.value);
    probes.column("value", &|&value| value)?;
    probes.columns.set_item("flow", numpy::PyArray1::from_slice(py, &moment.probes.flow))?;
    probes.columns.set_item("name", numpy::PyArray1::from_slice(py, &moment.probes.name))?;
    tables.set_item("probes", probes.columns)?;
    tables.set_item("names", &moment.probes.names)?;
    tables.set_item("kinds", PACKET_KINDS.map(|kind| kind.name()))?;
    tables.set_item("places", Snapshot::PLACES)?;
    tables.set_item("waits", Snapshot::WAITS)?;
    Ok(tables)
}

fn ports<'py>(py: Python<'py>, moment: &Snapshot) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py, &moment.ports);
    table.column("queue_bytes", &|row| row.queue.0)?;
    table.column("queue_frames", &|row| row.waiting)?;
    table.column("wire_frames", &|row| row.flying)?;
    table.column("wire_bytes", &|row| row.flying_bytes.0)?;
    table.column("paused", &|row| row.paused)?;
    table.column("down", &|row| row.down)?;
    Ok(table.columns)
}

/// Index in place of one of [`Snapshot::WAITS`] for a flow that has ended.
const NO_SENDER: u8 = u8::MAX;

fn flows<'py>(py: Python<'py>, moment: &Snapshot) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py, &moment.flows);
    table.column("flow", &|row| row.flow)?;
    table.column("start_ps", &|row| row.start.0)?;
    table.column("finish_ps", &|row| row.finish.0)?;
    table.column("delivered_bytes", &|row| row.delivered)?;
    table.column("retransmits", &|row| row.retransmits)?;
    table.column("timeouts", &|row| row.timeouts)?;
    table.column("next", &|row| row.sender.map_or(NONE, |sender| sender.next))?;
    table.column("in_flight", &|row| row.sender.and_then(|sender| sender.in_flight).unwrap_or(NONE))?;
    table.column("waits_for", &|row| row.waits_for().unwrap_or(NO_SENDER))?;
    table.column("until_ps", &|row| row.waits_until().0)?;
    Ok(table.columns)
}

fn packets<'py>(py: Python<'py>, moment: &Snapshot) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py, &moment.packets);
    table.column("link", &|row| row.link)?;
    table.column("place", &|row| row.place as u8)?;
    table.column("flow", &|row| row.flow)?;
    table.column("kind", &|row| row.kind as u8)?;
    table.column("number", &|row| row.number)?;
    table.column("length", &|row| row.length)?;
    table.column("marked", &|row| row.marked)?;
    table.column("arrives_ps", &|row| row.arrives.0)?;
    Ok(table.columns)
}
