//! Records of observers as tables: the causes of departures (docs/why.md), and the frames that taps on links saw
//! (docs/timelines.md).

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use shallows_cc::units::Time;
use shallows_sim::{Causes, Frame, Frames, LinkRow, Network, PACKET_KINDS, Tap, Watched, ideal_path, paths};

use crate::table::{Table, column, item};

/// Reads what to watch: `flows` (u32), and the columns `spans.link`, `from_ps`, `until_ps`.
pub fn watched(dict: &Bound<'_, PyDict>) -> PyResult<Watched> {
    let spans = dict.get_item("spans")?.ok_or_else(|| PyKeyError::new_err("spans"))?;
    let (links, from, until) =
        (column::<u32>(&spans, "link")?, column::<u64>(&spans, "from_ps")?, column::<u64>(&spans, "until_ps")?);
    if links.len() != from.len() || from.len() != until.len() {
        return Err(PyValueError::new_err("spans: its columns are of different lengths"));
    }
    let spans = links.into_iter().zip(from).zip(until).map(|((link, from), until)| (link, Time(from), Time(until)));
    Ok(Watched { flows: column(dict, "flows")?, spans: spans.collect() })
}

/// Reads what to tap: `links` (u32), `from_ps`, `until_ps` and `most`, the largest number of frames.
pub fn tap(dict: &Bound<'_, PyDict>) -> PyResult<Tap> {
    Ok(Tap {
        links: column(dict, "links")?,
        from: Time(item(dict, "from_ps")?),
        until: Time(item(dict, "until_ps")?),
        max_frames: item(dict, "most")?,
    })
}

/// Time that the last frame of each of these flows would spend at each port of its path if that were empty.
pub fn ideal<'py>(py: Python<'py>, network: &Network, flows: &[u32]) -> PyResult<Bound<'py, PyDict>> {
    let mut rows = Vec::new();
    for (&flow, path) in flows.iter().zip(paths(network, flows).map_err(PyValueError::new_err)?) {
        rows.extend(ideal_path(network, flow, &path).into_iter().map(|(link, hop)| (flow, link, hop)));
    }
    let table = Table::new(py, &rows);
    table.column("flow", &|row| row.0)?;
    table.column("link", &|row| row.1)?;
    table.column("waits_ps", &|row| row.2.waits.0)?;
    table.column("sending_ps", &|row| row.2.sending.0)?;
    table.column("delay_ps", &|row| row.2.delay.0)?;
    Ok(table.columns)
}

/// The record of causes as tables, and the names of its kinds.
pub fn record<'py>(py: Python<'py>, record: &Causes) -> PyResult<Bound<'py, PyDict>> {
    let tables = named(py, &record.links)?;
    tables.set_item("packets", packets(py, record)?)?;
    tables.set_item("causes", causes(py, record)?)?;
    tables.set_item("hops", hops(py, record)?)?;
    tables.set_item("frames", frames_sent(py, record)?)?;
    let completed = Table::new(py, &record.completed);
    completed.column("flow", &|row| row.0)?;
    completed.column("packet", &|row| row.1)?;
    tables.set_item("completed", completed.columns)?;
    tables.set_item("whys", Causes::KINDS)?;
    tables.set_item("lacks", Causes::BLOCKED_BY)?;
    Ok(tables)
}

/// The frames that taps saw as tables, the names of their kinds, and whether there were more.
pub fn seen<'py>(py: Python<'py>, seen: Frames) -> PyResult<Bound<'py, PyDict>> {
    let (rows, links, full) = seen.into_rows();
    let tables = named(py, &links)?;
    let table = frames(py, &rows, |row| &row.frame)?;
    table.column("outcome", &|row| Frame::outcome_number(row.outcome))?;
    table.column("number", &|row| row.number)?;
    table.column("speaks_of", &|row| row.ack_number)?;
    table.column("block", &|row| row.block)?;
    table.column("window", &|row| row.window)?;
    table.column("bits", &|row| row.bits)?;
    tables.set_item("frames", table.columns)?;
    tables.set_item("full", full)?;
    tables.set_item("bits", Frames::BITS)?;
    Ok(tables)
}

/// Other events of links, and the names that all such tables need.
fn named<'py>(py: Python<'py>, rows: &[LinkRow]) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py, rows);
    table.column("time_ps", &|row| row.time.0)?;
    table.column("link", &|row| row.link)?;
    table.column("event", &|row| row.event as u8)?;
    table.column("through", &|row| row.through)?;
    table.column("class", &|row| row.class)?;
    let tables = PyDict::new(py);
    tables.set_item("links", table.columns)?;
    tables.set_item("kinds", PACKET_KINDS.map(|kind| kind.name()))?;
    tables.set_item("outcomes", Frame::OUTCOMES)?;
    tables.set_item("link_events", LinkRow::EVENTS)?;
    Ok(tables)
}

fn packets<'py>(py: Python<'py>, record: &Causes) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py, &record.packets);
    table.column("flow", &|row| row.flow)?;
    table.column("kind", &|row| row.kind as u8)?;
    table.column("seq", &|row| row.seq)?;
    table.column("cumulative", &|row| row.cumulative)?;
    table.column("first", &|row| row.first)?;
    table.column("length", &|row| row.length)?;
    table.column("left_ps", &|row| row.left.0)?;
    table.column("cause", &|row| row.cause)?;
    Ok(table.columns)
}

fn causes<'py>(py: Python<'py>, record: &Causes) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py, &record.causes);
    table.column("why", &|row| row.why as u8)?;
    table.column("at_ps", &|row| row.at.0)?;
    table.column("since_ps", &|row| row.since.0)?;
    table.column("packet", &|row| row.packet)?;
    table.column("before", &|row| row.before)?;
    table.column("lack", &|row| row.blocked_by_number())?;
    table.column("short", &|row| row.short().0)?;
    table.column("window", &|row| row.window.0)?;
    Ok(table.columns)
}

fn hops<'py>(py: Python<'py>, record: &Causes) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py, &record.hops);
    table.column("packet", &|row| row.packet)?;
    table.column("link", &|row| row.link)?;
    table.column("offered_ps", &|row| row.offered.0)?;
    table.column("begun_ps", &|row| row.begun.0)?;
    table.column("ended_ps", &|row| row.ended.0)?;
    table.column("arrived_ps", &|row| row.arrived.0)?;
    table.column("outcome", &|row| Frame::outcome_number(row.outcome))?;
    Ok(table.columns)
}

/// A table of frames, to which columns may be added.
fn frames<'a, 'py, R>(py: Python<'py>, rows: &'a [R], of: impl Fn(&R) -> &Frame) -> PyResult<Table<'a, 'py, R>> {
    let table = Table::new(py, rows);
    table.column("link", &|row| of(row).link)?;
    table.column("flow", &|row| of(row).flow)?;
    table.column("kind", &|row| of(row).kind as u8)?;
    table.column("length", &|row| of(row).length)?;
    table.column("offered_ps", &|row| of(row).offered.0)?;
    table.column("begun_ps", &|row| of(row).begun.0)?;
    table.column("ended_ps", &|row| of(row).ended.0)?;
    Ok(table)
}

fn frames_sent<'py>(py: Python<'py>, record: &Causes) -> PyResult<Bound<'py, PyDict>> {
    let table = frames(py, &record.frames, |row| &row.frame)?;
    table.column("packet", &|row| row.packet)?;
    Ok(table.columns)
}
