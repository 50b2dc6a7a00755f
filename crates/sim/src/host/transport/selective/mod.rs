//! Reliability by selective acknowledgements, as TCP has it: cumulative acknowledgements with a block, repair of just what
//! is lost, a retransmission timer.

mod ranges;
mod receive;
mod scoreboard;
mod send;
mod timeout;

pub use ranges::Ranges;
pub use receive::Receiving;
pub use send::Sending;
