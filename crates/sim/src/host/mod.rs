//! Hosts: senders and receivers of flows with their transports, and the NICs through which they send.

mod classes;
pub(crate) mod computations;
mod dependencies;
mod dependents;
mod flow_set;
pub mod flow_table;
pub(crate) mod hosts;
mod inspect;
pub mod nics;
pub(crate) mod path_selection;
mod peer_ports;
mod piggyback;
mod poller;
mod port_choice;
mod port_status;
mod pull_pacer;
mod response_delay;
mod run_queue;
mod setup;
pub mod stats;
pub(crate) mod timestamps;
pub mod transport;
mod value_set;
pub mod waits;
