//! Notification points: what a receiver tells the sender, and when.
//!
//! One file a mechanism. A catalog row names the one its algorithm needs.

use std::fmt::Debug;

use crate::parameter::{Parameter, Preset, Values};
use crate::port::credit::CreditShaper;
use crate::units::{Bytes, Rate, Time};

pub mod cnp;
pub mod ecn_echo;
pub mod expresspass;
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

    /// The window to advertise: the sender keeps less than that in flight whatever its own says. A receiver always has one, or
    /// never.
    fn window(&self) -> Option<Bytes> {
        None
    }
}

/// A notification point that a scenario can put in place of its algorithm's own.
#[derive(Clone, Copy, Debug)]
pub struct AlternateReceiver {
    /// Its name in a scenario.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Paper.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Named sets of values.
    pub presets: &'static [Preset],
    /// Builds one from them, for acknowledgements that cover this many packets.
    pub build: fn(values: &Values, acks_every: u32) -> Box<dyn Receiver>,
}

/// Every substitute there is.
pub static SUBSTITUTES: &[AlternateReceiver] = &[AlternateReceiver {
    name: "inigo",
    summary: "Marks, or shrinks the advertised window, as one-way delays grow; for any sender.",
    source: "TCP Inigo, Algorithms 8 and 9",
    parameters: inigo::PARAMETERS,
    presets: inigo::PRESETS,
    build: inigo::boxed,
}];

/// What a receiver knows before it hands out the first credit.
#[derive(Clone, Copy, Debug)]
pub struct CreditPath {
    /// When the sender asked for credits.
    pub now: Time,
    /// Rate of the receiver's own link.
    pub line_rate: Rate,
    /// What every port does with credits.
    pub shaper: CreditShaper,
}

/// The credit that a data packet answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditEcho {
    /// Its number.
    pub number: u32,
    /// When it left the receiver.
    pub granted_at: Time,
}

/// A credit that leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its number, which the data echoes.
    pub number: u32,
    /// Its length on the wire.
    pub size: Bytes,
    /// When the next one is due.
    pub next: Time,
}

/// A notification point that tells the sender when to send: every credit calls one frame.
pub trait Credits: Debug + Send {
    /// A data packet arrived.
    fn on_data(&mut self, now: Time, answered: &CreditEcho);

    /// The next credit is due; `draws` are uniform in [0, 1).
    fn grant(&mut self, now: Time, draws: [f64; 2]) -> Grant;

    /// Names and values of the internals worth plotting, the unit as the name's suffix.
    fn probe(&self, _record: &mut dyn FnMut(&'static str, f64)) {}
}
