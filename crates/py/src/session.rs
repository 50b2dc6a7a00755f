//! A session of another program over two streams.

use std::any::Any;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use shallows_sim::Network;

use crate::raised::Raised;
use crate::{bug, request};

/// Serves one session over copies of these descriptors, until the input ends; whether the client closed it in order. `open` makes the
/// request of a profile for a seed and a number of hosts, or None if there is no such profile.
#[pyfunction]
pub fn flow_session(open: &Bound<'_, PyAny>, input: i32, output: i32) -> PyResult<bool> {
    let (mut input, mut output) = (copy_of(input)?, copy_of(output)?);
    let mut raised = None;
    let mut find = |profile: &str, seed: u64, hosts: u64| {
        network(open, (profile, seed, hosts)).map_err(|error| {
            let text = error.value(open.py()).to_string();
            if !error.is_instance_of::<PyValueError>(open.py()) {
                raised = Some(error);
            }
            text
        })
    };
    let served = catch_unwind(AssertUnwindSafe(|| shallows_session::serve(&mut input, &mut output, &mut find)));
    let closed = served.map_err(|panic: Box<dyn Any + Send>| bug(panic))??;
    raised.map_or(Ok(closed), Err)
}

fn copy_of(descriptor: i32) -> PyResult<File> {
    // SAFETY: the caller keeps it open during the call; one that is not open is an error of the system.
    let stream = unsafe { BorrowedFd::borrow_raw(descriptor) };
    Ok(stream.try_clone_to_owned()?.into())
}

fn network(open: &Bound<'_, PyAny>, asked: (&str, u64, u64)) -> PyResult<Option<Network>> {
    let made = open.call1(asked)?;
    if made.is_none() {
        return Ok(None);
    }
    request::network(made.cast::<PyDict>()?, &Raised::default()).map(Some)
}
