//! Reliability by selective acknowledgements, as in TCP: cumulative acknowledgements with one SACK block, selective
//! retransmission and a retransmission timer.

mod ranges;
mod receive;
mod reduction;
mod scoreboard;
mod send;
#[cfg(test)]
mod tests;
mod timeout;

pub(crate) use ranges::{Arrivals, Ranges};
pub(crate) use receive::SelectiveFeedback;
pub use send::Selective;
