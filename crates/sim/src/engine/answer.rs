//! What a run gives back.

use shallows_cc::units::Time;

use crate::port::PortReport;

/// What became of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowReport {
    /// When it began; [`Time::MAX`] is never.
    pub start: Time,
    /// When the receiver had every byte; [`Time::MAX`] is never.
    pub finish: Time,
    /// The same on an empty path, counted from the start; zero for unlimited flows.
    pub ideal: Time,
    /// Payload that the receiver has, in whatever order it came.
    pub delivered: u64,
    /// The part of it that came after the warm-up.
    pub goodput: u64,
    /// The part of that which came by the flow's stop.
    pub goodput_by_stop: u64,
    /// Packets sent again.
    pub retransmits: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Credits that its receiver handed out.
    pub credits: u64,
    /// Those that came and found nothing to send.
    pub credits_wasted: u64,
    /// Mean smoothed round trip over its acknowledgements; zero where it has none.
    pub srtt_mean: Time,
    /// And the largest.
    pub srtt_most: Time,
}

/// Queues at fixed times.
#[derive(Clone, Debug, Default)]
pub struct QueueTable {
    /// When, in picoseconds.
    pub time: Vec<u64>,
    /// For every recorded port: bytes queued at each of these times, at most what 32 bits hold.
    pub bytes: Vec<Vec<u32>>,
}

/// Internals of senders at fixed times, a row each.
#[derive(Clone, Debug, Default)]
pub struct ProbeTable {
    /// What `name` counts in.
    pub names: Vec<&'static str>,
    /// When, in picoseconds.
    pub time: Vec<u64>,
    /// Of which flow.
    pub flow: Vec<u32>,
    /// Which internal.
    pub name: Vec<u16>,
    /// Its value.
    pub value: Vec<f64>,
}

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
