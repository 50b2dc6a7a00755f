//! The kernel world: the algorithms of `bpf/` on an unmodified Linux kernel.
//!
//! Hosts are network namespaces, each with a TAP device. A [`switch`] between the devices has the ports of the packet
//! world, driven by the real clock. [`lateness`] tells whether the machine kept up. Code that needs root is behind the
//! feature `bpf`: `main.rs` and its modules.

pub mod cores;
pub mod params;
pub mod stamps;
pub mod switch;

pub use shallows_contract::lateness;
