//! Congestion control algorithms as pure state machines.
//!
//! An algorithm is a row of [`catalog`]: a reaction point ([`sender`]), a notification point
//! ([`receiver`]) and, if it needs one, a congestion point ([`port`]). This crate has no clock and performs no I/O: time and
//! events are arguments, decisions are return values, and random draws follow from a seed. The packet world, the kernel
//! world and the tests run the same code.

pub mod catalog;
pub mod delay;
pub mod deviation;
pub mod event;
pub mod gradient;
pub mod multipath;
pub mod pacer;
pub mod parameter;
pub mod port;
pub mod power;
pub mod receiver;
pub mod rng;
pub mod round;
pub mod sender;
pub mod traits;
pub mod units;
pub mod window;
