//! Reads a request from Python's dicts, lists, numbers, texts and numpy arrays through serde.
//!
//! A column is copied from its array at once, so that a million flows need no million Python objects. A Python class, which is
//! an algorithm, becomes its number among the classes of the request.

use std::cell::RefCell;
use std::fmt::{self, Display};
use std::sync::Arc;

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyDictMethods, PyList, PyString, PyTuple};
use serde::de::value::{MapAccessDeserializer, SeqDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use shallows_sim::Network;

use crate::raised::Raised;
use crate::table::load_numpy;
use crate::user_algorithm::UserAlgorithm;

/// Reads the whole request; `raised` gets the exceptions of algorithms written in Python.
pub fn network(request: &Bound<'_, PyDict>, raised: &Raised) -> PyResult<Network> {
    load_numpy(request.py())?;
    let classes = RefCell::default();
    let reader = Reader { value: request.clone().into_any(), classes: &classes };
    let mut network = Network::deserialize(reader).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let classes: Vec<Arc<Py<PyAny>>> = classes.into_inner();
    let user_algorithm = |number: u32| {
        let (class, raised) = (classes.get(number as usize)?.clone(), raised.clone());
        Some(shallows_sim::UserAlgorithm(Arc::new(move |path| UserAlgorithm::boxed(&class, path, &raised))))
    };
    network.resolve(&user_algorithm).map_err(PyValueError::new_err)?;
    Ok(network)
}

/// Reads a part of a request that has no algorithms.
pub fn read<T: for<'de> Deserialize<'de>>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    let reader = Reader { value: value.clone(), classes: &RefCell::default() };
    T::deserialize(reader).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// One value of the request.
struct Reader<'a, 'py> {
    value: Bound<'py, PyAny>,
    classes: &'a RefCell<Vec<Arc<Py<PyAny>>>>,
}

/// Visits the column of the first of these types that matches.
macro_rules! columns {
    ($reader:ident, $visitor:ident: $($type:ty),+) => {
        $(if let Some(column) = $reader.column::<$type>() {
            return $visitor.visit_seq(SeqDeserializer::new(column?.into_iter()));
        })+
    };
}
impl<'py> Reader<'_, 'py> {
    fn inside(&self, value: Bound<'py, PyAny>) -> Self {
        Self { value, classes: self.classes }
    }

    /// The elements of a column of this type.
    fn column<T: Element + Copy>(&self) -> Option<Result<Vec<T>, Refused>> {
        let array = self.value.cast::<PyArray1<T>>().ok()?;
        Some(array.to_vec().map_err(Refused::of))
    }

    /// The number of a class, or of another callable that makes an algorithm.
    fn class(&self) -> Option<u32> {
        let class = Some(&self.value).filter(|value| value.is_callable())?;
        let mut classes = self.classes.borrow_mut();
        classes.push(Arc::new(class.clone().unbind()));
        Some(classes.len() as u32 - 1)
    }

    /// The fields of a struct.
    fn fields<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.value.cast::<PyDict>() {
            Ok(dict) => visitor.visit_map(Entries { rest: dict.items(), at: 0, reader: &self }),
            Err(_) => Err(self.unexpected(&visitor)),
        }
    }

    /// The elements of a list or of a column.
    fn elements<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        if self.value.is_instance_of::<PyList>() || self.value.is_instance_of::<PyTuple>() {
            let items: Vec<_> =
                self.value.try_iter().and_then(|items| items.collect::<PyResult<_>>()).map_err(Refused::of)?;
            return visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(|item| self.inside(item))));
        }
        columns!(self, visitor: u64, u32, f64, bool);
        Err(self.unexpected(&visitor))
    }

    fn unexpected(&self, expected: &dyn Expected) -> Refused {
        let name = self.value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
        serde::de::Error::invalid_type(Unexpected::Other(&name), expected)
    }
}

/// A visitor gets only what its type can be. The code for all other types would never run, but takes long to compile.
impl<'de> Deserializer<'de> for Reader<'_, '_> {
    type Error = Refused;

    /// A number, a text, a truth value, nothing, or a class.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        if self.value.is_none() {
            return visitor.visit_unit();
        }
        if let Ok(text) = self.value.cast::<PyString>() {
            return visitor.visit_str(text.to_str().map_err(Refused::of)?);
        }
        if let Ok(number) = self.value.extract::<bool>() {
            return visitor.visit_bool(number);
        }
        if let Some(number) = self.class() {
            return visitor.visit_u32(number);
        }
        if let Ok(number) = self.value.extract::<u64>() {
            return visitor.visit_u64(number);
        }
        if let Ok(number) = self.value.extract::<i64>() {
            return visitor.visit_i64(number);
        }
        if let Ok(number) = self.value.extract::<f64>() {
            return visitor.visit_f64(number);
        }
        Err(self.unexpected(&visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        if self.value.is_none() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.fields(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.fields(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.elements(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Refused> {
        self.elements(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.elements(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        if let Ok(dict) = self.value.cast::<PyDict>() {
            let entries = Entries { rest: dict.items(), at: 0, reader: &self };
            return visitor.visit_enum(MapAccessDeserializer::new(entries));
        }
        let word: String = self.value.extract().map_err(Refused::of::<PyErr>)?;
        visitor.visit_enum(IntoDeserializer::<Refused>::into_deserializer(word))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Refused> for Reader<'_, '_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The entries of a dict that have not been read.
struct Entries<'r, 'a, 'py> {
    rest: Bound<'py, PyList>,
    at: usize,
    reader: &'r Reader<'a, 'py>,
}

impl<'a, 'py> Entries<'_, 'a, 'py> {
    /// The key (0) or the value (1) of the next entry.
    fn part(&self, part: usize) -> Result<Reader<'a, 'py>, Refused> {
        let entry = self.rest.get_item(self.at).map_err(Refused::of)?;
        Ok(self.reader.inside(entry.get_item(part).map_err(Refused::of)?))
    }

    fn below_key(&self, refused: Refused) -> Refused {
        refused.below(&self.part(0).map_or_else(|_| String::new(), |key| key.value.to_string()))
    }
}

impl<'de> MapAccess<'de> for Entries<'_, '_, '_> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Refused> {
        if self.at == self.rest.len() { Ok(None) } else { seed.deserialize(self.part(0)?).map(Some) }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Refused> {
        let value = seed.deserialize(self.part(1)?).map_err(|refused| self.below_key(refused));
        self.at += 1;
        value
    }
}

/// An error with the path of its key.
#[derive(Debug)]
struct Refused {
    path: String,
    problem: String,
}

impl Refused {
    fn of<T: Display>(problem: T) -> Self {
        Self { path: String::new(), problem: problem.to_string() }
    }

    fn below(mut self, key: &str) -> Self {
        self.path = if self.path.is_empty() { key.to_owned() } else { format!("{key}.{}", self.path) };
        self
    }
}

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.problem) } else { write!(f, "{}: {}", self.path, self.problem) }
    }
}

impl std::error::Error for Refused {}

impl serde::de::Error for Refused {
    fn custom<T: Display>(problem: T) -> Self {
        Self::of(problem)
    }
}
