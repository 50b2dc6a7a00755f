//! Tables on disk: Parquet files, each with a digest of itself.

mod digest;
mod read;
mod write;

use parquet::basic::{LogicalType, Type};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

pub use read::{read_header, read_table};
pub use write::write_table;

/// Rows that are encoded or decoded at once, so that a large table needs no second copy of a column.
const PIECE: usize = 1 << 16;

/// Kind of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Flag,
    /// Unsigned integers of 8, 16, 32 or 64 bits.
    Count(u8),
    Whole,
    Real,
    /// Text with few different values.
    Name,
}

impl Kind {
    /// Reads the name that Python uses.
    fn named(name: &str) -> PyResult<Self> {
        Ok(match name {
            "bool" => Self::Flag,
            "uint8" => Self::Count(8),
            "uint16" => Self::Count(16),
            "uint32" => Self::Count(32),
            "uint64" => Self::Count(64),
            "int64" => Self::Whole,
            "float64" => Self::Real,
            "name" => Self::Name,
            _ => return Err(PyValueError::new_err(format!("no column holds {name}"))),
        })
    }

    /// The kind of a column in a file, whoever wrote it.
    fn of(column: &ColumnDescriptor) -> Result<Self, ParquetError> {
        let unknown = || ParquetError::General(format!("the column {} is none that a run writes", column.path()));
        if column.max_rep_level() > 0 || column.max_def_level() > 1 {
            return Err(unknown());
        }
        match (column.physical_type(), column.logical_type_ref()) {
            (Type::BOOLEAN, None) => Ok(Self::Flag),
            (Type::DOUBLE, None) => Ok(Self::Real),
            (Type::BYTE_ARRAY, Some(LogicalType::String)) => Ok(Self::Name),
            (Type::INT64, None) => Ok(Self::Whole),
            (_, Some(LogicalType::Integer(integer))) if !integer.is_signed => Ok(Self::Count(integer.bit_width as u8)),
            (Type::INT64, Some(LogicalType::Integer(_))) => Ok(Self::Whole),
            _ => Err(unknown()),
        }
    }
}

/// The Python exception for an error of a file: `OSError` with the number of a system error, otherwise `ValueError`.
fn refused(error: ParquetError) -> PyErr {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(error) => failed(&error),
            Err(other) => PyValueError::new_err(other.to_string()),
        },
        ParquetError::General(text) => PyValueError::new_err(text),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// Python chooses the subclass by the number, such as `FileNotFoundError`.
fn failed(error: &std::io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let text = error.to_string();
            let said = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((number, said))
        }
        None => PyValueError::new_err(error.to_string()),
    }
}
