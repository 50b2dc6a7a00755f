//! The packet world: every packet, in a discrete-event simulator.
//!
//! [`network`] describes what is simulated, [`simulation`] runs it, [`answer`] is what comes back. One event
//! a packet-hop: a FIFO port of constant rate knows when a packet will leave as soon as it arrives, and a
//! link delivers in order, so only the head of each link waits in the [`agenda`].

pub mod agenda;
pub mod answer;
mod books;
pub mod clock;
pub mod histogram;
mod host;
pub mod measure;
pub mod network;
pub mod packet;
pub mod port;
mod record;
mod route;
pub mod simulation;
pub mod switch;
mod timers;
mod transport;
