//! The engine: advances the network, acts at scheduled times and checks the results.

pub mod answer;
mod audit;
pub(crate) mod deadlock;
pub(crate) mod domain;
pub mod ideal;
pub(crate) mod packet_limit;
mod prefetch;
mod schedule;
pub mod simulation;
pub mod snapshot;
pub(crate) mod stall_detector;
