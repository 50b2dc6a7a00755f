//! The request of a run: network, hosts, flows, algorithms and faults.
//!
//! These structs are the only definition of the keys that Python and the kernel world's program know: they are read from a
//! request by serde, and the Python types and docs/crossing.md are generated from their descriptions ([`shape`]). Times are in
//! picoseconds, sizes in bytes, rates in bits per second.

#[macro_use]
pub mod shape;
#[macro_use]
pub mod columns;

pub mod application;
pub mod check;
pub mod computation;
pub mod control;
pub mod fault;
pub mod flow;
pub mod host;
pub mod network;
pub mod path;
pub mod ports;
pub mod setting;
pub mod task;
