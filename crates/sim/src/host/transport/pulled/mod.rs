//! Reliability packet by packet: every packet is answered by itself and may arrive in any order. The receiver acknowledges a whole packet,
//! and requests a packet again whose payload was trimmed; either answer says whether the packet was marked. A header that no port could
//! queue returns to its sender. A missing packet leaves before a new one. A packet that is not answered within the initial retransmission
//! timeout, doubled for each timeout of this packet, is missing.
//!
//! The sender asks its [`allowance::Allowance`] once for each packet. With a window (NSCC, [`shallows_cc::sender::nscc`]) answers, trimmed
//! packets and timeouts reach the algorithm, and the receiver owes nothing.
//!
//! MRC ([`shallows_cc::sender::mrc`]) finds losses by selective acknowledgements before that, and probes connections ([`recovery`]).
//!
//! With pulls (NDP) a first window leaves unsolicited at line rate. After that, each pull of the receiver allows one packet; the receiver
//! paces the pulls of all its flows together ([`crate::host::pull_pacer`]). Each answer earns the flow a pull, and is the pull itself if no
//! other flow waits for one. A sender whose packet returned keeps it for the next pull; if it expects no pull, it sends the packet at once.
//!
//! Pulls carry a count from the start of the flow, so that a pull makes up for lost ones before it. After a timeout the
//! missing packets leave unsolicited. A receiver that has sent pulls and gets no packet for as long repeats the newest one.
//!
//! With RCCC ([`shallows_cc::sender::rccc`]) pulls grant credit in bytes: every packet carries a pull target, up to which the
//! receiver may grant. Pulls leave by themselves, at the share of the link that the algorithm says. After a timeout without credit
//! one packet leaves nevertheless, whose target asks for the rest; so does one if nothing is in flight and no credit is expected.

mod allowance;
mod debt;
mod pulls;
mod receive;
mod recovery;
mod send;

pub(crate) use pulls::{Pull, Pulls};
pub(crate) use receive::PerPacketFeedback;
pub(crate) use recovery::Recovery;
pub(crate) use send::PerPacket;
