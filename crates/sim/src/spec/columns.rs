//! Tables that a request holds as columns, one array a key, and that the simulator holds as rows.

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use shallows_cc::units::{Bytes, Rate, Time};

use crate::spec::shape::Kind;

/// Row of a table of columns; [`crate::columns!`] implements it.
pub trait Row: Sized {
    /// The columns.
    type Columns: DeserializeOwned;

    /// The rows.
    ///
    /// # Errors
    /// If the columns have different lengths.
    fn from_columns(columns: Self::Columns) -> Result<Vec<Self>, String>;
}

/// Value of one column in one row.
pub trait Cell: Sized {
    /// The column in a request.
    type Column: DeserializeOwned + Kind;

    /// Rows of the column; nothing if it has none of its own.
    fn length(column: &Self::Column) -> Option<usize>;

    /// The values of `count` rows.
    ///
    /// # Errors
    /// If the column contradicts the number of rows.
    fn cells(column: Self::Column, count: usize) -> Result<Vec<Self>, String>;
}

macro_rules! cells {
    ($($type:ty = $element:ty: $value:ident => $cell:expr),+ $(,)?) => {
        $(impl Cell for $type {
            type Column = Vec<$element>;

            fn length(column: &Self::Column) -> Option<usize> {
                Some(column.len())
            }

            fn cells(column: Self::Column, _: usize) -> Result<Vec<Self>, String> {
                Ok(column.into_iter().map(|$value| $cell).collect())
            }
        })+
    };
}

cells! {
    bool = bool: value => value,
    u32 = u32: value => value,
    Time = u64: value => Time(value),
    Bytes = u64: value => Bytes(value),
    Rate = u64: value => Rate(value),
    // An index that may be missing: 0 is none, otherwise the column has the index plus one.
    Option<u32> = u32: value => value.checked_sub(1),
}

/// Reads columns as rows, for `#[serde(deserialize_with = "columns")]`.
///
/// # Errors
/// An unknown or missing column, columns of different lengths.
pub fn columns<'de, D: Deserializer<'de>, R: Row>(reader: D) -> Result<Vec<R>, D::Error> {
    R::from_columns(R::Columns::deserialize(reader)?).map_err(D::Error::custom)
}

/// The common length of columns.
///
/// # Errors
/// If there is none.
pub fn common_length(lengths: &[(&str, Option<usize>)]) -> Result<usize, String> {
    let known: Vec<_> = lengths.iter().filter_map(|&(key, length)| Some((key, length?))).collect();
    let count = known.first().map_or(0, |&(_, length)| length);
    if known.iter().all(|&(_, length)| length == count) {
        return Ok(count);
    }
    let each: Vec<_> = known.iter().map(|(key, length)| format!("{key} has {length}")).collect();
    Err(format!("columns of different lengths ({}): expected an entry a row in each", each.join(", ")))
}

/// Defines the row of a table of columns, and the struct of its columns.
#[macro_export]
macro_rules! columns {
    ($(#[$about:meta])* pub struct $name:ident as $shape:literal in $columns:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $kind:ty $(= $key:literal)?,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $kind,)+
        }

        #[doc = concat!("Columns of [`", stringify!($name), "`], an entry a row.")]
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $columns {
            $($(#[serde(rename = $key)])? $field: <$kind as $crate::spec::columns::Cell>::Column,)+
        }

        $crate::describe!($columns ($shape) {
            $([$($doc)+] $field <$kind as $crate::spec::columns::Cell>::Column $(= $key)?,)+
        });

        impl $crate::spec::shape::Kind for $name {
            fn kind() -> String {
                $shape.to_owned()
            }

            fn list() -> String {
                $shape.to_owned()
            }

            fn collect(all: &mut $crate::spec::shape::Tables) {
                <$columns as $crate::spec::shape::Shape>::collect(all);
            }
        }

        impl $crate::spec::columns::Row for $name {
            type Columns = $columns;

            fn from_columns(columns: Self::Columns) -> Result<Vec<Self>, String> {
                let count = $crate::spec::columns::common_length(&[$((
                    $crate::key!($field $($key)?),
                    <$kind as $crate::spec::columns::Cell>::length(&columns.$field),
                ),)+])?;
                $(let mut $field = <$kind as $crate::spec::columns::Cell>::cells(columns.$field, count)?.into_iter();)+
                let row = |_| Self { $($field: $field.next().expect("columns have the same length"),)+ };
                Ok((0..count).map(row).collect())
            }
        }
    };
}
