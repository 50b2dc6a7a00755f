//! The C interface: a network that a program in any language opens, sends messages over, and advances.
//!
//! `include/shallows.h` is generated from the declarations here ([`header`]); docs/driving-c.md says how to build and link. Networks are numbers,
//! so that a closed one is an error. Each function catches panics. The only pointers are texts, arrays and results of the caller, which
//! must be valid as in any C program.

#[macro_use]
mod declare;
mod error;
mod header;
mod interface;
mod network;

pub use header::{header, layout_checks};
pub use interface::*;
