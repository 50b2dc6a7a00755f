//! Faults of links: a link goes down or up, slows down, or loses packets at random.
//!
//! A link that is down loses the packets on its wire and those that wait for it, and its port accepts none. A host whose NIC
//! schedules its flows knows that its link is down and sends nothing. A slower link sends each frame at its usual rate and then
//! rests. Both faults need a port with classes, since departures are not known in advance. Random loss affects the wire alone
//! ([`crate::port::loss_model`]) and is possible at any port.
//!
//! Pause frames are never lost: a real switch repeats them before they expire, the simulated one sends them once.
//!
//! Switches learn of a fault after the network's convergence time. Until then packets that are routed over a link that is down
//! are lost; then flows, and the tables of switches that choose a port for each packet, are rerouted ([`crate::fabric::route`]). A
//! switch that chooses for each packet sees at once which of its own links work.

use shallows_cc::units::{Rate, Time};

/// A change of the state of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The link goes down.
    Down,
    /// The link comes up.
    Up,
    /// The link sends at this rate, at most its own.
    Rate(Rate),
    /// The link loses this share of all packets at random.
    Loss(f64),
}

/// A change of a link at a set time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// Time of the change.
    pub at: Time,
    /// The link.
    pub link: u32,
    /// The change.
    pub change: Change,
}
