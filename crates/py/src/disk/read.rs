//! Reads a Parquet file into columns for Python.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use numpy::{Element, IntoPyArray};
use parquet::basic::CompressionCodec;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyMemoryError, PyNotImplementedError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Kind, PIECE, digest, failed, refused};
use crate::table::load_numpy;

/// The metadata of an unchanged Parquet file, and the names of its columns. Reads the whole file, but decodes its footer alone.
#[pyfunction]
pub fn read_header<'py>(py: Python<'py>, path: PathBuf) -> PyResult<(Bound<'py, PyDict>, Vec<String>)> {
    let reader = checked(path)?;
    let metadata = PyDict::new(py);
    let file = reader.metadata().file_metadata();
    for told in file.key_value_metadata().into_iter().flatten() {
        metadata.set_item(&told.key, &told.value)?;
    }
    let names = file.schema_descr().columns().iter().map(|column| column.name().to_owned());
    Ok((metadata, names.collect()))
}

/// The columns of an unchanged Parquet file: arrays, and `(numbers, names)` for names.
///
/// A missing value is NaN, in a column of floats whatever the file has; a missing name is -1. `NotImplementedError` says that
/// the file is unchanged, but compressed by a codec that only a library can decode: zstd, which versions before 0.2 used.
#[pyfunction]
pub fn read_table<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let reader = checked(path)?;
    if let Some(codec) = unknown_codec(&reader) {
        return Err(PyNotImplementedError::new_err(format!("a table compressed with {codec}")));
    }
    load_numpy(py)?;
    let columns = PyDict::new(py);
    for (number, column) in reader.metadata().file_metadata().schema_descr().columns().iter().enumerate() {
        let kind = Kind::of(column).map_err(refused)?;
        columns.set_item(column.name(), read(py, &reader, number, kind)?)?;
    }
    Ok(columns)
}

/// A reader of a file, whose every byte has been compared with the digest in its footer.
fn checked(path: PathBuf) -> PyResult<Reader> {
    let mut file = opened(path)?;
    let reader = SerializedFileReader::new(file.try_clone().map_err(|error| failed(&error))?).map_err(refused)?;
    let metadata = reader.metadata().file_metadata();
    let told = metadata.key_value_metadata().into_iter().flatten().find(|told| told.key == digest::KEY);
    let told = told.and_then(|told| told.value.as_deref()).ok_or_else(|| {
        let by = metadata.created_by().unwrap_or("another program");
        refused(ParquetError::General(format!("it has no digest, because {by} wrote it")))
    })?;
    digest::check(&mut file, told).map_err(refused)?;
    Ok(reader)
}

/// The first codec of a column that the core cannot decode.
fn unknown_codec(reader: &Reader) -> Option<CompressionCodec> {
    let columns = reader.metadata().row_groups().iter().flat_map(|group| group.columns());
    let known = [CompressionCodec::UNCOMPRESSED, CompressionCodec::SNAPPY];
    columns.map(|column| column.compression_codec()).find(|codec| !known.contains(codec))
}

fn opened(path: PathBuf) -> PyResult<File> {
    File::open(path).map_err(|error| failed(&error))
}

type Reader = SerializedFileReader<File>;

fn read<'py>(py: Python<'py>, reader: &Reader, column: usize, kind: Kind) -> PyResult<Bound<'py, PyAny>> {
    match kind {
        Kind::Flag => numbers::<BoolType, bool>(py, reader, column, |flag| *flag, |flag| f64::from(u8::from(flag))),
        Kind::Count(8) => numbers::<Int32Type, u8>(py, reader, column, |count| *count as u8, f64::from),
        Kind::Count(16) => numbers::<Int32Type, u16>(py, reader, column, |count| *count as u16, f64::from),
        Kind::Count(32) => numbers::<Int32Type, u32>(py, reader, column, |count| *count as u32, f64::from),
        Kind::Count(_) => numbers::<Int64Type, u64>(py, reader, column, |count| *count as u64, |count| count as f64),
        Kind::Whole => numbers::<Int64Type, i64>(py, reader, column, |whole| *whole, |whole| whole as f64),
        Kind::Real => numbers::<DoubleType, f64>(py, reader, column, |real| *real, |real| real),
        Kind::Name => names(py, reader, column),
    }
}

/// Memory for a value of each row. A file can announce more rows than the memory holds, which is an error of Python.
fn reserved<T>(reader: &Reader) -> PyResult<Vec<T>> {
    let rows = reader.metadata().row_groups().iter().map(|group| group.num_rows() as usize).sum();
    let mut values = Vec::new();
    values.try_reserve_exact(rows).map_err(|_| PyMemoryError::new_err(format!("its {rows} rows exceed the memory")))?;
    Ok(values)
}

/// A column of numbers, as floats if one is missing.
fn numbers<'py, T: DataType, E: Element + Copy + Default>(
    py: Python<'py>,
    reader: &Reader,
    column: usize,
    of: impl Fn(&T::T) -> E,
    real: impl Fn(E) -> f64,
) -> PyResult<Bound<'py, PyAny>> {
    let (mut values, mut missing) = (reserved(reader)?, Vec::new());
    each::<T>(reader, column, |value| {
        if value.is_none() {
            missing.push(values.len());
        }
        values.push(value.map(&of).unwrap_or_default());
    })
    .map_err(refused)?;
    if missing.is_empty() {
        return Ok(values.into_pyarray(py).into_any());
    }
    let mut reals: Vec<f64> = reserved(reader)?;
    reals.extend(values.into_iter().map(real));
    for row in missing {
        reals[row] = f64::NAN;
    }
    Ok(reals.into_pyarray(py).into_any())
}

/// Names in the order of their first occurrence.
fn names<'py>(py: Python<'py>, reader: &Reader, column: usize) -> PyResult<Bound<'py, PyAny>> {
    let (mut codes, mut names): (Vec<i32>, Vec<ByteArray>) = (reserved(reader)?, Vec::new());
    let mut known: BTreeMap<Vec<u8>, i32> = BTreeMap::new();
    each::<ByteArrayType>(reader, column, |name| {
        let same = |code: i32| name.is_some_and(|name| names.get(code as usize) == Some(name));
        let code = match (name, codes.last()) {
            (None, _) => -1,
            (Some(_), Some(before)) if same(*before) => *before,
            (Some(name), _) => known.get(name.data()).copied().unwrap_or_else(|| {
                let new = names.len() as i32;
                known.insert(name.data().to_vec(), new);
                names.push(name.clone());
                new
            }),
        };
        codes.push(code);
    })
    .map_err(refused)?;
    let names = names.iter().map(ByteArray::as_utf8).collect::<Result<Vec<_>>>().map_err(refused)?;
    (codes.into_pyarray(py), names).into_bound_py_any(py)
}

/// Calls `value` with each value of a column in turn, and with none for a missing one.
fn each<T: DataType>(reader: &Reader, column: usize, mut take: impl FnMut(Option<&T::T>)) -> Result<()> {
    let (mut there, mut known) = (Vec::new(), Vec::new());
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let optional = group.metadata().column(column).column_descr().max_def_level() > 0;
        let mut pages = get_typed_column_reader::<T>(group.get_column_reader(column)?);
        let mut left = group.metadata().num_rows() as usize;
        while left > 0 {
            there.clear();
            known.clear();
            let (rows, _, _) = pages.read_records(PIECE.min(left), Some(&mut there), None, &mut known)?;
            if rows == 0 {
                return Err(ParquetError::EOF("fewer rows than its footer says".to_owned()));
            }
            left -= rows;
            if !optional {
                there.resize(rows, 1);
            }
            let mut values = known.iter();
            for there in &there {
                take(if *there == 1 { values.next() } else { None });
            }
        }
    }
    Ok(())
}
