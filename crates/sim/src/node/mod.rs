//! What owns state: hosts with the halves of their flows, switches with their memories.

pub mod halves;
pub mod host;
pub mod nics;
mod opening;
mod pulls;
mod rows;
pub mod switch;
