//! Converts an answer to dicts and numpy arrays, without copies of columns.

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use shallows_contract::Value;

/// The answer or a part of it.
pub fn to_python(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Value::Nothing => py.None().into_bound(py),
        Value::Flag(value) => value.into_bound_py_any(py)?,
        Value::Count(value) => value.into_bound_py_any(py)?,
        Value::Real(value) => value.into_bound_py_any(py)?,
        Value::Text(value) => value.into_bound_py_any(py)?,
        Value::U64(column) => column.into_pyarray(py).into_any(),
        Value::U32(column) => column.into_pyarray(py).into_any(),
        Value::U16(column) => column.into_pyarray(py).into_any(),
        Value::F64(column) => column.into_pyarray(py).into_any(),
        Value::Rows(rows) => {
            let shape = [rows.len(), rows.first().map_or(0, Vec::len)];
            rows.concat().into_pyarray(py).reshape(shape)?.into_any()
        }
        Value::List(items) => {
            let items: PyResult<Vec<_>> = items.into_iter().map(|item| to_python(py, item)).collect();
            PyList::new(py, items?)?.into_any()
        }
        Value::Table(fields) => {
            let dict = PyDict::new(py);
            for (key, field) in fields {
                dict.set_item(key, to_python(py, field)?)?;
            }
            dict.into_any()
        }
    })
}
