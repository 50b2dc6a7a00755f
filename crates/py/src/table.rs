//! Tables for Python: a dict of numpy columns, made from rows.

use numpy::{Element, IntoPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Columns made from rows.
pub struct Table<'a, 'py, R> {
    rows: &'a [R],
    pub columns: Bound<'py, PyDict>,
}

impl<'a, 'py, R> Table<'a, 'py, R> {
    /// Of these rows, without columns yet.
    pub fn new(py: Python<'py>, rows: &'a [R]) -> Self {
        Self { rows, columns: PyDict::new(py) }
    }

    /// A column more.
    pub fn column<T: Element>(&self, name: &str, value: impl Fn(&R) -> T) -> PyResult<()> {
        let values: Vec<T> = self.rows.iter().map(value).collect();
        self.columns.set_item(name, values.into_pyarray(self.columns.py()))
    }
}
