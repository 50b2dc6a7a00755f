//! Congestion points: what a switch port tells the packets that pass through it.
//!
//! One file a mechanism. A queue is always counted in bytes on the wire; where a scenario says "35pkt" it
//! means 35 full frames.

pub mod step;

/// When a port looks at its queue: as a packet joins it, or as it leaves.
///
/// "ECN or Delay" §5.2 shows that this decides about stability: a mark set on leaving is younger by the
/// queueing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkAt {
    /// The queue that the packet meets, itself included.
    Enqueue,
    /// The queue that it leaves behind.
    Dequeue,
}
