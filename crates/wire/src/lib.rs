//! The wire world: hosts and switches of the packet world in real time, whose packets travel as UDP datagrams.
//!
//! A [`shallows_sim::RealTimeDomain`] owns the hosts or the switches of a network. [`header`] turns one of its
//! packets into a datagram and back, [`mac`] authenticates the datagram, and [`check`] compares it with the state of its flow before
//! the domain sees it: transports contain no checks, because in the packet world all packets come from themselves.

#[cfg(target_os = "linux")]
pub mod calibration;
pub mod check;
#[cfg(target_os = "linux")]
pub mod control;
#[cfg(target_os = "linux")]
pub mod emulation;
#[cfg(target_os = "linux")]
pub mod endpoint;
pub mod header;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
pub mod judge;
pub mod mac;
#[cfg(target_os = "linux")]
pub mod sys;
