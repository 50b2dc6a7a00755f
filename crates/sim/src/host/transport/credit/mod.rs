//! A transport in which the receiver says when: every credit calls one data frame, and a lost credit is a
//! lost permission, not lost data.
//!
//! The sender asks for credits and says when it has nothing left; the receiver paces credits, each with a number
//! that its frame remote_stops. What is missing is sent again from the first hole on: a gap is reported at once, the end by
//! the answer to the stop. Requests and stops without an answer, and requests whose credits stop coming, are repeated after the
//! scenario's initial timeout.
//!
//! Credits and frames must cross the same links, so the world answers these flows along their own way.

use shallows_cc::units::Bytes;

mod receive;
mod request;
mod send;

pub use receive::Receiving;
pub use send::Sending;

/// A frame that carries word and no payload: the smallest of Ethernet, preamble and gap included.
pub const CONTROL_FRAME: Bytes = Bytes(84);
