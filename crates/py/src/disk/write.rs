//! Writes columns from Python to a Parquet file, with a row group for each block of rows.

use std::fs::File;
use std::sync::Arc;

use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::digest::{self, Hashed};
use super::{Kind, PIECE, failed, refused};
use crate::table::load_numpy;

/// Writes a Parquet file: the names and kinds of its columns, its metadata, and blocks of equally long columns.
///
/// A column is an array of its kind, an array of floats in which NaN is a missing value, or the numbers of names and
/// the names.
#[pyfunction]
pub fn write_table(
    path: std::path::PathBuf,
    columns: Vec<(String, String)>,
    metadata: Vec<(String, String)>,
    blocks: &Bound<'_, PyAny>,
) -> PyResult<()> {
    load_numpy(blocks.py())?;
    let kinds = columns.iter().map(|(_, kind)| Kind::named(kind)).collect::<PyResult<Vec<_>>>()?;
    let names = columns.iter().map(|(name, _)| name.as_str());
    let schema = schema(names.zip(&kinds)).map_err(refused)?;
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path);
    let mut file = Hashed::new(file.map_err(|error| failed(&error))?);
    let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema), properties(metadata)).map_err(refused)?;
    for block in blocks.try_iter()? {
        let mut group = writer.next_row_group().map_err(refused)?;
        let mut kinds = kinds.iter();
        for values in block?.try_iter()? {
            let kind = kinds.next().ok_or_else(|| PyValueError::new_err("more columns than the table has"))?;
            let mut column = group.next_column().map_err(refused)?.expect("the schema has a column for each kind");
            write(&mut column, *kind, &values?)?;
            column.close().map_err(refused)?;
        }
        group.close().map_err(refused)?;
    }
    // Not `into_inner`, which says in words alone that a disk is full.
    writer.close().map_err(refused)?;
    file.seal().map_err(refused)
}

fn properties(metadata: Vec<(String, String)>) -> Arc<WriterProperties> {
    let told = metadata.into_iter().map(|(key, value)| KeyValue::new(key, value));
    Arc::new(
        WriterProperties::builder()
            .set_created_by(format!("shallows version {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(told.chain([digest::to_come()]).collect()))
            .build(),
    )
}

fn schema<'a>(columns: impl Iterator<Item = (&'a str, &'a Kind)>) -> Result<Type> {
    let fields = columns.map(|(name, kind)| {
        let count = |bit_width| Some(LogicalType::integer(bit_width, false));
        let (physical, logical) = match *kind {
            Kind::Flag => (Physical::BOOLEAN, None),
            Kind::Count(64) => (Physical::INT64, count(64)),
            Kind::Count(bits) => (Physical::INT32, count(bits as i8)),
            Kind::Whole => (Physical::INT64, None),
            Kind::Real => (Physical::DOUBLE, None),
            Kind::Name => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, physical);
        let field = field.with_repetition(Repetition::OPTIONAL).with_logical_type(logical);
        field.build().map(Arc::new)
    });
    Type::group_type_builder("schema").with_fields(fields.collect::<Result<_>>()?).build()
}

fn write(column: &mut SerializedColumnWriter<'_>, kind: Kind, values: &Bound<'_, PyAny>) -> PyResult<()> {
    match kind {
        Kind::Flag => plain::<BoolType, bool>(column, values, |flag| flag),
        Kind::Count(8) => numbers::<Int32Type, u8>(column, values, i32::from, |real| real as u8 as i32),
        Kind::Count(16) => numbers::<Int32Type, u16>(column, values, i32::from, |real| real as u16 as i32),
        Kind::Count(32) => numbers::<Int32Type, u32>(column, values, |count| count as i32, |real| real as u32 as i32),
        Kind::Count(_) => numbers::<Int64Type, u64>(column, values, |count| count as i64, |real| real as u64 as i64),
        Kind::Whole => numbers::<Int64Type, i64>(column, values, |whole| whole, |real| real as i64),
        Kind::Real => sparse::<DoubleType>(column, values, |real| real),
        Kind::Name => names(column, values),
    }
}

/// Integers, as they are or as floats.
fn numbers<T: DataType, E: Element + Copy>(
    column: &mut SerializedColumnWriter<'_>,
    values: &Bound<'_, PyAny>,
    of: impl Fn(E) -> T::T,
    of_real: impl Fn(f64) -> T::T,
) -> PyResult<()> {
    if values.cast::<PyArray1<f64>>().is_ok() {
        return sparse::<T>(column, values, of_real);
    }
    plain::<T, E>(column, values, of)
}

/// Numbers without missing values.
fn plain<T: DataType, E: Element + Copy>(
    column: &mut SerializedColumnWriter<'_>,
    values: &Bound<'_, PyAny>,
    of: impl Fn(E) -> T::T,
) -> PyResult<()> {
    rows::<T, E>(column, &array(values)?, |value| Some(of(value)))
}

/// Floats, in which NaN is a missing value.
fn sparse<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: &Bound<'_, PyAny>,
    of: impl Fn(f64) -> T::T,
) -> PyResult<()> {
    rows::<T, f64>(column, &array(values)?, |value| (!value.is_nan()).then(|| of(value)))
}

/// Names by their numbers; a number below 0 is a missing name.
fn names(column: &mut SerializedColumnWriter<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
    let (codes, names): (PyReadonlyArray1<'_, i32>, Vec<String>) = values.extract()?;
    let names: Vec<ByteArray> = names.into_iter().map(|name| ByteArray::from(name.into_bytes())).collect();
    let codes_in = codes.as_array();
    if codes_in.iter().any(|code| usize::try_from(*code).is_ok_and(|code| code >= names.len())) {
        return Err(PyValueError::new_err("a number of a name that is not there"));
    }
    rows::<ByteArrayType, i32>(column, &codes, |code| usize::try_from(code).ok().map(|code| names[code].clone()))
}

fn array<'py, E: Element>(values: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray1<'py, E>> {
    Ok(values.cast::<PyArray1<E>>().map_err(|error| PyValueError::new_err(error.to_string()))?.readonly())
}

fn rows<T: DataType, E: Element + Copy>(
    column: &mut SerializedColumnWriter<'_>,
    values: &PyReadonlyArray1<'_, E>,
    of: impl Fn(E) -> Option<T::T>,
) -> PyResult<()> {
    let values = values.as_slice().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let (mut there, mut known) = (Vec::with_capacity(PIECE), Vec::with_capacity(PIECE));
    for piece in values.chunks(PIECE) {
        there.clear();
        known.clear();
        for value in piece.iter().map(|value| of(*value)) {
            there.push(i16::from(value.is_some()));
            known.extend(value);
        }
        column.typed::<T>().write_batch(&known, Some(&there), None).map_err(refused)?;
    }
    Ok(())
}
