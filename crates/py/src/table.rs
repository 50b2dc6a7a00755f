//! Conversion of rows to dicts of numpy columns, and of columns from Python.

use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Columns that are made from rows.
pub struct Table<'a, 'py, R> {
    rows: &'a [R],
    pub columns: Bound<'py, PyDict>,
}

impl<'a, 'py, R> Table<'a, 'py, R> {
    /// A table of these rows that has no columns yet.
    pub fn new(py: Python<'py>, rows: &'a [R]) -> Self {
        Self { rows, columns: PyDict::new(py) }
    }

    /// Adds a column. It is compiled once for each type of rows and values, not for each column.
    pub fn column<T: Element>(&self, name: &str, value: &dyn Fn(&R) -> T) -> PyResult<()> {
        let values: Vec<T> = self.rows.iter().map(value).collect();
        self.columns.set_item(name, values.into_pyarray(self.columns.py()))
    }
}

/// A number in a dict.
pub fn item<'py, T: FromPyObjectOwned<'py>>(dict: &Bound<'py, PyDict>, key: &str) -> PyResult<T> {
    let found = dict.get_item(key)?.ok_or_else(|| PyKeyError::new_err(key.to_owned()))?;
    found.extract().map_err(Into::into)
}

/// A column in a dict.
pub fn column<T: Element + Copy>(dict: &Bound<'_, PyAny>, key: &str) -> PyResult<Vec<T>> {
    let any = dict.get_item(key)?;
    let array = any.cast::<PyArray1<T>>().map_err(|error| PyValueError::new_err(format!("{key}: {error}")))?;
    Ok(array.to_vec()?)
}

/// Loads what all arrays need, in an import of numpy and in Python's code: Ctrl-C meanwhile is an error here, and would be a panic
/// where the first array is made.
pub fn load_numpy(py: Python<'_>) -> PyResult<()> {
    numpy::get_array_module(py).map(drop)
}
