//! The kernel world: the algorithms of `bpf/` on an unmodified Linux kernel.
//!
//! Hosts are network namespaces, each with a TAP device; between the devices stands a [`switch`], whose ports are
//! those of the packet world, driven by the real clock. [`lateness`] tells whether the machine kept up. What needs
//! root stands behind the feature `bpf`: `main.rs` and what it lists.

pub mod cores;
pub mod lateness;
pub mod params;
pub mod stamps;
pub mod switch;
