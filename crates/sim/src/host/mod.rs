//! Hosts: senders and receivers of flows with their transports, and the NICs through which they send.

mod classes;
pub mod computations;
mod dependencies;
mod dependents;
mod flow_set;
pub mod flow_table;
pub mod hosts;
mod inspect;
pub mod nics;
pub mod path_selection;
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
pub mod timestamps;
pub mod transport;
mod value_set;
