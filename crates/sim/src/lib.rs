//! The packet world: every packet, in a discrete-event simulator.
//!
//! [`network`] describes what is simulated, [`simulation`] runs it, [`answer`] is what comes back. One event
//! a packet-hop: a FIFO port of constant rate knows when a packet will leave as soon as it arrives, and a
//! link delivers in order, so only the head of each link waits in the [`event_queue`].

mod ahead;
pub mod answer;
mod books;
pub mod clock;
mod cores;
mod crowd;
mod domain;
mod domains;
pub mod event_queue;
mod exchange;
mod fabric;
pub mod fault;
mod flow;
pub mod header;
pub mod heap;
pub mod histogram;
pub mod link;
pub mod measure;
mod meeting;
pub mod moment;
pub mod network;
mod node;
pub mod observe;
pub mod packet;
mod pages;
mod partition;
pub mod port;
mod record;
mod report;
pub mod route;
mod schedule;
pub mod simulation;
mod standstill;
mod sync;
mod timers;
mod tournament;
mod transport;
mod watchman;
pub mod windows;
