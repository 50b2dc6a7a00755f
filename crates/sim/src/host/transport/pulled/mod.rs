//! Receiver-driven transport of NDP: every packet is answered by itself and may arrive in any order. A first window leaves
//! unsolicited at line rate. After that, each pull of the receiver allows one packet; the receiver paces the pulls of all its
//! flows together ([`crate::host::pull_pacer`]).
//!
//! The receiver acknowledges a whole packet, and requests a packet again whose payload was trimmed. Either earns the flow a
//! pull, for which the sender sends a missing packet before a new one. The answer itself is the pull if no other flow waits for
//! one. A header that no port could queue returns to its sender. The sender keeps the packet for the next pull; if it expects
//! no pull, it sends the packet at once.
//!
//! Pulls carry a count from the start of the flow, so that a pull makes up for lost ones before it. A packet that is not
//! answered within the initial retransmission timeout, doubled for each failure, is sent again unsolicited. A receiver that has
//! sent pulls and gets no packet for as long repeats the newest one.
//!
//! With RCCC ([`shallows_cc::sender::rccc`]) pulls grant credit in bytes: every packet carries a pull target, up to which the
//! receiver may grant. Pulls leave by themselves, at the share of the link that the algorithm says. After a timeout without credit
//! one packet leaves nevertheless, whose target asks for the rest; so does one if nothing is in flight and no credit is expected.

mod allowance;
mod debt;
mod receive;
mod send;

pub use receive::{Pull, PullReceiver};
pub use send::PullSender;
