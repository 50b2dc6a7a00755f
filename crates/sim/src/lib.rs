//! The packet simulator: a discrete-event simulation of every packet.
//!
//! [`spec`] describes what is simulated, [`engine::simulation`] runs it, and [`engine::answer`] holds the results. Dependencies
//! point one way: [`engine`] and `parallel` use `fabric` and `host`, which use [`port`] and [`packet`]; all use [`spec`].

mod arch;
pub mod engine;
mod fabric;
mod host;
mod lists;
pub mod observe;
pub mod packet;
mod parallel;
pub mod port;
pub mod queue;
mod randomness;
pub mod spec;

pub use fabric::route;
pub use host::timestamps;
