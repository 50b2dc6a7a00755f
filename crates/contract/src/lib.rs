//! What crosses between Python and a world in Rust: the request of a run and its answer, defined once.
//!
//! The bindings read a request from Python's own objects and `shallows-live` reads it as JSON, both through serde, which
//! refuses a field that is not here. The tables of docs/crossing.md are made from the fields' kinds and meanings
//! ([`shapes`]), and the types in python/shallows/contract.py are held to them.

#[macro_use]
mod shape;
mod value;

pub mod answer;
pub mod host;
mod network;
pub mod request;

pub use shape::{Field, Shape};
pub use value::{IntoValue, Value};

/// A checksum of the Rust sources that this was built from, but for those of the kernel world's program.
pub const SOURCES: &str = env!("SHALLOWS_SOURCES");

/// Every table of the contract by its name, the request and the answer first.
#[must_use]
pub fn shapes() -> Vec<(&'static str, Vec<Field>)> {
    let mut all = Vec::new();
    request::Request::collect(&mut all);
    answer::Answer::collect(&mut all);
    host::Attachment::collect(&mut all);
    host::Cable::collect(&mut all);
    all
}
