//! Reliability by go-back-N, as in RoCE.
//!
//! Frames leave one by one at the algorithm's pace, or in bursts of one segment with the gap after each. The last frame of a
//! segment requests an acknowledgement. The receiver accepts only the expected frame. At the first frame out of order it sends
//! a NACK with the expected sequence number, and the sender goes back to that frame. The receiver sends no further NACK until
//! the gap closes or a duplicate arrives, which shows that the sender has gone back by itself. It acknowledges the first
//! duplicate of such a burst even if the frame does not request it, so that a sender that went back too far learns how far
//! (InfiniBand acknowledges duplicates likewise). If a frame that requests an acknowledgement is not answered within the
//! initial retransmission timeout, doubled for each failure, the sender goes back. Only this timeout recovers from a lost
//! repair.
//!
//! Losses alone do not slow a sender down. If buffers drop frames, a full queue can therefore keep the link busy with frames
//! that the receiver discards, unless the algorithm reacts to losses.
//!
//! A window counts frames from the first one that is not acknowledged. Since only the last frame of a segment is acknowledged,
//! an algorithm with a window below two segments waits for timeouts (HPCC requests an acknowledgement for each frame).
//!
//! Not modelled: queue pairs (each flow is one message), end-to-end credits, read requests.

mod receive;
mod send;
#[cfg(test)]
mod tests;

pub use receive::RoceFeedback;
pub(crate) use send::GoBackN;
