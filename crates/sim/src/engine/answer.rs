//! The results of a run.

use shallows_cc::units::Time;

pub use crate::host::computations::ComputationReport;
pub use crate::host::stats::FlowReport;
pub use crate::observe::series::{GoodputTable, ProbeTable, QueueTable};
use crate::port::PortReport;
pub use crate::randomness::Randomness;

/// A deadlock: a cycle of ports that wait for each other for ever.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deadlock {
    /// When it was detected.
    pub at: Time,
    /// The ports; each waits for the next one, and the last for the first.
    pub ports: Vec<u32>,
}

/// The results of a run. Its fields are the parts of the report: numbers of the run, tables, samples and the audit.
#[derive(Clone, Debug)]
pub struct Answer {
    /// A hash of all deliveries and completions: equal for the same network and seed, on every build and machine.
    pub fingerprint: u64,
    /// Packet arrivals, wake-ups of NICs and ports, timers and tasks of the driver.
    pub events: u64,
    /// Packets received over one link.
    pub packet_hops: u64,
    /// When the run ended.
    pub ended: Time,
    /// The time covered by the statistics, from the end of the warm-up.
    pub measured: Time,
    /// By flow.
    pub flows: Vec<FlowReport>,
    /// By number.
    pub computations: Vec<ComputationReport>,
    /// By port.
    pub ports: Vec<PortReport>,
    /// The sources of random numbers from which it has drawn.
    pub randomness: Randomness,
    /// Recorded queues.
    pub queues: QueueTable,
    /// Recorded internals of senders.
    pub probes: ProbeTable,
    /// Recorded payload of groups of flows.
    pub goodput: Option<GoodputTable>,
    /// The deadlock, if there was one.
    pub deadlock: Option<Deadlock>,
    /// Failed accounting checks and reasons for an early end; empty when the books close.
    pub problems: Vec<String>,
}
