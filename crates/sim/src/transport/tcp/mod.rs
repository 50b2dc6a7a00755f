//! A TCP-like transport: a window of packets, cumulative and selective acknowledgements, repair of what is
//! lost, a retransmission timer.

mod ranges;
mod receive;
mod send;

pub use receive::Receiving;
pub use send::Sending;
