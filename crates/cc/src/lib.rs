//! Congestion control algorithms as pure state machines.
//!
//! An algorithm is a row of [`catalog`]: a reaction point ([`sender`]), a notification point
//! ([`receiver`]) and, where it needs one, a congestion point ([`port`]). Nothing here knows a clock,
//! draws a random number or performs I/O: time and events come in as arguments, decisions go out as
//! values. The packet world, the kernel world and the tests drive the very same code.

pub mod catalog;
pub mod delay;
pub mod event;
pub mod gradient;
pub mod pacer;
pub mod parameter;
pub mod port;
pub mod receiver;
pub mod rng;
pub mod round;
pub mod sender;
pub mod units;
pub mod window;
