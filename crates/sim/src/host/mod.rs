//! Hosts: the two ends of each flow, their transports and NICs.

pub mod flow_table;
pub mod hosts;
pub mod nics;
mod owned_table;
pub mod progress;
mod pull_pacer;
mod setup;
pub mod stats;
pub mod timestamps;
pub mod transport;
