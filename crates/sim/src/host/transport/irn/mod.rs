//! Reliability of RoCE by selective retransmission (IRN, Mittal et al., SIGCOMM 2018).
//!
//! Frames leave as in [`crate::host::transport::go_back_n`], but each requests an acknowledgement, and the receiver keeps frames
//! that arrive out of order. It answers a frame out of order with a NACK that carries the expected number and the number of that frame;
//! the sender retransmits only lost frames. A frame is lost if a later one has arrived (§3.1). Only a timeout detects the loss of a
//! retransmission. The timeout is `RTO_high`, or `RTO_low` with fewer than four frames in flight, 5/16 of it (100 and 320 us in
//! §4.1); both are at least three round trips of the empty path, and double after each failure. A timeout retransmits what has been
//! in flight for more than a round trip.
//!
//! The sender keeps at most one bandwidth-delay product of its empty path between the cumulative acknowledgement and the next new
//! frame (BDP-FC, §3.2), one frame at least.
//!
//! The paper knows one path for each flow. Where packets are sprayed, frames are lost by time
//! ([`crate::host::transport::rack`]), retransmissions too. There the limit counts frames in flight, and is two products,
//! because frames wait on the longest of several paths; or more where paths are slow, what the host sends in an empty round trip and
//! the time of the least queue ([`shallows_cc::sender::Path::least_queue`]).
//!
//! The algorithm receives the same acknowledgements as with go-back-N: those of the last frame of each segment.
//!
//! The receiver is that of go-back-N ([`crate::host::transport::go_back_n::RoceFeedback`]), which accepts all frames here.
//!
//! Not modelled: the back-off of the window on losses (§4.4.1), read requests.

mod send;
#[cfg(test)]
mod tests;
mod timer;

pub use send::Irn;
