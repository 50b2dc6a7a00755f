//! Credit-based transport (ExpressPass): every credit of the receiver allows one data frame. A lost credit delays data, but
//! loses none.
//!
//! The sender requests credits, and reports when nothing is left to send. The receiver paces credits; each has a number that
//! its frame echoes. A lost frame is repaired by go-back-N: the receiver reports a gap at once, and missing frames at the end
//! in its answer to the stop. Requests and stops that get no answer, and requests whose credits cease, are repeated after the
//! initial retransmission timeout.
//!
//! Credits and frames must cross the same links, so the path back of these flows is the reverse of the path there.

use shallows_cc::units::Bytes;

mod receive;
mod request;
mod send;

pub(crate) use receive::CreditFeedback;
pub(crate) use send::Credited;

/// Length of a frame without payload: the minimum Ethernet frame with preamble and inter-frame gap.
pub const CONTROL_FRAME: Bytes = Bytes(84);
