//! The kernel world: the algorithms of `bpf/` on an unmodified Linux kernel.

pub mod steps;
