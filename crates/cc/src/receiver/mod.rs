//! Notification points: what a receiver tells the sender, and when.
//!
//! One file a mechanism. A catalog row names the one its algorithm needs.

use std::fmt::Debug;

use crate::parameter::{Parameter, Values};
use crate::units::{Bytes, Time};

pub mod cnp;
pub mod ecn_echo;
pub mod inigo;

/// A data packet as the receiver sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Congestion Experienced: a port on the way marked it.
    pub marked: bool,
    /// Congestion Window Reduced: the sender has reacted to an earlier echo (RFC 3168 §6.1.2).
    pub window_reduced: bool,
    /// Whether it was the next one expected; anything else is acknowledged at once (RFC 5681 §4.2).
    pub in_order: bool,
    /// When it left the sender, by the sender's clock (a TCP timestamp's value).
    pub sent_at: Time,
    /// When the newest acknowledgement that the sender knew of left here (the timestamp's echo).
    pub answers: Option<Time>,
    /// What it carries.
    pub payload: Bytes,
}

/// An acknowledgement to send, and whether it says that packets were marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// ECN-Echo.
    pub marked: bool,
}

/// What a receiver does about a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Acknowledge everything before this packet first.
    pub earlier: Option<Echo>,
    /// Acknowledge everything including it; otherwise it waits for more, or for the timer.
    pub now: Option<Echo>,
}

/// A notification point.
pub trait Receiver: Debug + Send {
    /// When the data packet that arrives calls for a congestion notification, apart from any
    /// acknowledgement: now, later, or not at all. Asked before [`Self::on_data`]; until one that is due later
    /// has been sent, the others change nothing.
    fn notification(&mut self, _now: Time, _data: &Data) -> Option<Time> {
        None
    }

    /// A data packet arrived.
    fn on_data(&mut self, now: Time, data: &Data) -> Reply;

    /// The delayed-acknowledgement timer ran out with packets not yet acknowledged.
    fn on_timer(&mut self, now: Time) -> Echo;

    /// The window to advertise: the sender keeps less than that in flight whatever its own says.
    fn window(&self) -> Option<Bytes> {
        None
    }
}

/// A notification point that a scenario can put in place of its algorithm's own.
#[derive(Clone, Copy, Debug)]
pub struct Substitute {
    /// Its name in a scenario.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Paper.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Builds one from them, for acknowledgements that cover this many packets.
    pub build: fn(values: &Values, acks_every: u32) -> Box<dyn Receiver>,
}

/// Every substitute there is.
pub static SUBSTITUTES: &[Substitute] = &[Substitute {
    name: "inigo",
    summary: "Marks, or shrinks the advertised window, as one-way delays grow; for any sender.",
    source: "TCP Inigo, Algorithms 8 and 9",
    parameters: inigo::PARAMETERS,
    build: inigo::boxed,
}];
