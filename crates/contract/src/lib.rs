//! The request of a run and its answer, as Python and the kernel world's program exchange them.
//!
//! A request is [`shallows_sim::Network`]: the bindings read it from Python's own objects and `shallows-live` reads
//! it as JSON, both through serde, which refuses an unknown key. The answer is defined here. The tables of docs/crossing.md and
//! the types in python/shallows/core/contract.py are generated from the descriptions of both ([`shapes`]).

#[macro_use]
mod value;

pub mod answer;
pub mod file;
pub mod lateness;
pub mod live;
mod samples;

pub use shallows_sim::{Field, Shape};
use shallows_sim::{Network, Tables};
pub use value::{IntoValue, Value};

/// A checksum of the Rust sources that this was built from, except those of the kernel world's program.
pub const SOURCES: &str = env!("SHALLOWS_SOURCES");

/// Every table by name: those of the request, of the answer, and of the other requests to `shallows-live`.
#[must_use]
pub fn shapes() -> Tables {
    let mut all = Tables::new();
    Network::collect(&mut all);
    answer::Answer::collect(&mut all);
    live::Run::collect(&mut all);
    live::Attachment::collect(&mut all);
    live::Cable::collect(&mut all);
    all
}
