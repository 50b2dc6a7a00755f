//! What a run gives back.

use shallows_cc::units::Time;

pub use crate::host::stats::FlowReport;
pub use crate::observe::series::{ProbeTable, QueueTable};
use crate::port::PortReport;

/// A circle of ports that wait for each other for ever.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deadlock {
    /// When it was seen.
    pub at: Time,
    /// The ports, each waiting for the next, the last for the first.
    pub ports: Vec<u32>,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The same for the same network and seed, whatever the build and the machine.
    pub fingerprint: u64,
    /// Packet arrivals, NIC turns and timers.
    pub events: u64,
    /// Packets received over one link.
    pub packet_hops: u64,
    /// When the run ended.
    pub ended: Time,
    /// The statistics' span: from the warm-up's end.
    pub measured: Time,
    /// One a flow.
    pub flows: Vec<FlowReport>,
    /// One a port.
    pub ports: Vec<PortReport>,
    /// Queues at fixed times.
    pub queues: QueueTable,
    /// Internals at fixed times.
    pub probes: ProbeTable,
    /// Ports that wait for each other for ever.
    pub deadlock: Option<Deadlock>,
    /// What does not add up; empty when the books close.
    pub problems: Vec<String>,
}
