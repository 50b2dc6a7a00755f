//! A run with taps on some of its links (docs/timelines.md).

use pyo3::prelude::*;
use pyo3::types::PyDict;
use shallows_cc::units::Time;
use shallows_sim::observe::causes::{LINK_EVENTS, LinkRow, OUTCOMES, outcome_number};
use shallows_sim::observe::frames::{BITS, FrameRow, Frames, Tap};
use shallows_sim::packet::PACKET_KINDS;

use crate::table::Table;
use crate::watching::{column, item};

/// `links` (u32), `from_ps`, `until_ps` and `most` frames.
pub fn tap(dict: &Bound<'_, PyDict>) -> PyResult<Tap> {
    Ok(Tap {
        links: column(dict, "links")?,
        from: Time(item(dict, "from_ps")?),
        until: Time(item(dict, "until_ps")?),
        most: item(dict, "most")?,
    })
}

/// What they saw as tables, the names of its kinds, and whether that is not all.
pub fn to_python<'py>(py: Python<'py>, seen: Frames) -> PyResult<Bound<'py, PyDict>> {
    let (rows, links, full) = seen.into_rows();
    let tables = PyDict::new(py);
    tables.set_item("frames", frames(py, &rows)?)?;
    tables.set_item("links", link_events(py, &links)?)?;
    tables.set_item("full", full)?;
    tables.set_item("kinds", PACKET_KINDS.map(|kind| kind.name()))?;
    tables.set_item("outcomes", OUTCOMES)?;
    tables.set_item("bits", BITS)?;
    tables.set_item("link_events", LINK_EVENTS)?;
    Ok(tables)
}

fn frames<'py>(py: Python<'py>, rows: &[FrameRow]) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py, rows);
    table.column("link", |row| row.link)?;
    table.column("flow", |row| row.flow)?;
    table.column("kind", |row| row.kind as u8)?;
    table.column("length", |row| row.length)?;
    table.column("offered_ps", |row| row.offered.0)?;
    table.column("begun_ps", |row| row.begun.0)?;
    table.column("ended_ps", |row| row.ended.0)?;
    table.column("outcome", |row| outcome_number(row.outcome))?;
    table.column("number", |row| row.number)?;
    table.column("speaks_of", |row| row.speaks_of)?;
    table.column("block", |row| row.block)?;
    table.column("window", |row| row.window)?;
    table.column("bits", |row| row.bits)?;
    Ok(table.columns)
}

/// What happened to links besides frames: a table that a record of causes has too.
pub fn link_events<'py>(py: Python<'py>, rows: &[LinkRow]) -> PyResult<Bound<'py, PyDict>> {
    let table = Table::new(py, rows);
    table.column("time_ps", |row| row.time.0)?;
    table.column("link", |row| row.link)?;
    table.column("event", |row| row.event as u8)?;
    table.column("through", |row| row.through)?;
    Ok(table.columns)
}
