//! The request of a run: networks, ports, applications and faults.

pub mod application;
pub mod fault;
pub mod network;
pub mod ports;
