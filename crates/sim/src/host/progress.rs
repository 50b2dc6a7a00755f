//! State of flows that have started and not finished.

use crate::host::transport::Readiness;

/// State of a sender at one moment.
#[derive(Clone, Copy, Debug)]
pub struct SenderState {
    /// Sequence number of the next packet that has not been sent before.
    pub next: u32,
    /// Data packets in flight, as the sender counts them; `None` where credits count them.
    pub in_flight: Option<u32>,
    /// Whether it may send, and if not, what it waits for.
    pub readiness: Readiness,
}

/// Progress of a flow that has started and not finished, for the stall detector.
#[derive(Clone, Copy, Debug)]
pub struct FlowProgress {
    pub flow: u32,
    /// Payload bytes that have arrived.
    pub progress: u64,
    pub timeouts: u32,
    /// Whether a pacing or application timer will let it send again.
    pub paced: bool,
}
