//! Transports: what the sender of a flow puts on the wire, and what its receiver answers.
//!
//! A row of the algorithm catalog names the transport of an algorithm by three choices:
//!
//! * reliability: [`selective`] acknowledgements, [`go_back_n`] or instead of it [`irn`], or packet by packet in any
//!   order ([`pulled`]);
//! * what lets a packet leave: the window and pace of the algorithm ([`gate`]), rates that switches announce ([`rated`]),
//!   credits ([`credit`]) or pulls ([`pulled`]) of the receiver;
//! * whether data collects a record at every hop ([`int`]).
//!
//! An algorithm that asks for it gets delivery-rate samples ([`delivery`]), unless its flows wait for credits.
//!
//! The sender of every transport is a [`flow::Flow`]: what all keep ([`flow::Common`], [`position`]) and one [`flow::Reliability`].
//! Reliabilities that know each packet keep a [`ledger`]. The receiver is an [`inflow::Inflow`]: what has arrived, and one [`inflow::Feedback`].
//!
//! To add a transport, implement [`flow::Reliability`] and [`inflow::Feedback`], add a variant to the enums of [`reliabilities`], and name
//! it in [`shallows_cc::catalog::Reliability`] or [`shallows_cc::catalog::SendControl`].

#[cfg(test)]
mod bbr_cases;
mod bursts;
mod channel;
mod config;
mod counted;
mod credit;
mod delivery;
mod flow;
mod gate;
mod go_back_n;
mod inband;
mod inflow;
mod int;
mod irn;
mod lazy_timer;
mod ledger;
mod message;
mod notifications;
mod packet_sink;
mod position;
mod pulled;
mod rack;
mod rated;
mod reassembly;
mod receiver;
mod reliabilities;
mod reordering;
mod selective;
mod sender;
mod status;

pub(crate) use config::{FlowEndpoint, ReceiverConfig, SenderConfig};
pub(crate) use packet_sink::PacketSink;
pub(crate) use receiver::FlowReceiver;
pub use reliabilities::exchanges;
pub(crate) use reliabilities::reply_after_close;
pub(crate) use sender::FlowSender;
pub use status::{BlockedBy, Readiness, SenderState};
pub(crate) use status::{ReceiverEvent, SendStatus};
