//! The engine: executes events (`domain`), drives a run with its scheduled tasks ([`simulation`]), and audits the results.

pub(crate) mod answer;
mod audit;
pub(crate) mod deadlock;
pub(crate) mod domain;
pub mod driven;
pub(crate) mod ideal;
pub(crate) mod observation;
mod packet_limit;
mod prefetch;
pub(crate) mod real_time;
mod schedule;
pub mod simulation;
pub(crate) mod snapshot;
mod stall_detector;
pub mod task_chain;
mod tasks;
