//! One value, or one column, of a table that came from Python.

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

fn item<'py>(dict: &Bound<'py, PyDict>, key: &str) -> PyResult<Bound<'py, PyAny>> {
    dict.get_item(key)?.ok_or_else(|| PyKeyError::new_err(key.to_owned()))
}

/// One value of a table, or an error that names its key.
pub fn get<'py, T: FromPyObjectOwned<'py>>(dict: &Bound<'py, PyDict>, key: &str) -> PyResult<T> {
    let refused = |error: PyErr| PyValueError::new_err(format!("{key}: {error}"));
    item(dict, key)?.extract().map_err(|error: T::Error| refused(error.into()))
}

/// A column of one.
pub fn column<T: Element + Copy>(dict: &Bound<'_, PyDict>, key: &str) -> PyResult<Vec<T>> {
    let any = item(dict, key)?;
    let array = any.cast::<PyArray1<T>>().map_err(|error| PyValueError::new_err(format!("{key}: {error}")))?;
    Ok(array.to_vec()?)
}

/// An error where the columns of a table differ in length.
pub fn same_length(table: &str, lengths: &[usize]) -> PyResult<usize> {
    if lengths.iter().any(|&length| length != lengths[0]) {
        return Err(PyValueError::new_err(format!("{table}: columns of lengths {lengths:?}, expected equal ones")));
    }
    Ok(lengths[0])
}
