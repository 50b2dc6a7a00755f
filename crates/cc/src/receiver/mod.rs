//! Notification points, which decide what a receiver tells the sender and when. Each mechanism has a file; a row of the catalog
//! names the one that its algorithm needs.

use std::fmt::Debug;

use crate::deviation::Deviation;
use crate::parameter::{Parameter, Preset, Values};
use crate::port::credit::CreditShaper;
use crate::units::{Bytes, Rate, Time};

pub mod cnp;
pub mod ecn_echo;
pub mod expresspass;
pub(crate) mod granting;
pub mod inigo;
pub mod packet_counter;

/// A data packet as the receiver sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Congestion Experienced: a port on the way marked it.
    pub marked: bool,
    /// Congestion Window Reduced: the sender has reacted to an earlier echo (RFC 3168 §6.1.2).
    pub window_reduced: bool,
    /// Whether it was the next packet in order; others are acknowledged at once (RFC 5681 §4.2).
    pub in_order: bool,
    /// When it left the sender, by the sender's clock (a TCP timestamp's value).
    pub sent_at: Time,
    /// When the newest acknowledgement that the sender knew of left here (the timestamp's echo).
    pub answers: Option<Time>,
    /// Payload.
    pub payload: Bytes,
}

/// An acknowledgement to send, and whether it says that packets were marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// ECN-Echo.
    pub marked: bool,
}

/// The answer of a receiver to a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// First acknowledge everything before this packet.
    pub earlier: Option<Echo>,
    /// Acknowledge everything including it; otherwise it waits for more, or for the timer.
    pub now: Option<Echo>,
}

/// A notification point.
pub trait Receiver: Debug + Send + dyn_clone::DynClone {
    /// Returns when the arriving data packet causes a congestion notification, if it does. Called before
    /// [`Self::on_data`]. While a notification is due later, further packets cause none.
    fn notification(&mut self, _now: Time, _data: &Data) -> Option<Time> {
        None
    }

    /// Handles a data packet.
    fn on_data(&mut self, now: Time, data: &Data) -> Reply;

    /// Handles the expiry of the delayed-acknowledgement timer with packets unacknowledged.
    fn on_timer(&mut self, now: Time) -> Echo;

    /// Returns the window to advertise, an upper bound for the sender's bytes in flight. A receiver always has one or
    /// never.
    fn window(&self) -> Option<Bytes> {
        None
    }

    /// Returns whether the acknowledgement that leaves now has the codepoint CE in its own IP header, and forgets it; `None` if no
    /// acknowledgement of this receiver ever has.
    fn take_ce(&mut self) -> Option<bool> {
        None
    }

    /// Returns how it grants credit in bytes, if its transport is to grant any.
    fn grants(&self) -> Option<Grants> {
        None
    }
}

/// How a receiver grants credit in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grants {
    /// Share of its link at which its host grants credit.
    pub rate: f64,
    /// Payloads of full packets for which one pull grants credit at most.
    pub pull: f64,
    /// Unit of credit.
    pub quantum: Bytes,
}

/// A notification point that a scenario can use instead of its algorithm's own.
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
    /// Lines of its source that it reads in its own way.
    pub deviations: &'static [Deviation],
    /// Builds one from its parameters, for acknowledgements that cover this many packets.
    pub build: fn(values: &Values, acks_every: u32) -> Box<dyn Receiver>,
}

/// All alternate receivers.
pub static SUBSTITUTES: &[AlternateReceiver] = &[AlternateReceiver {
    name: "inigo",
    summary: "Marks, or shrinks the advertised window, as one-way delays grow; for any sender.",
    source: "TCP Inigo, Algorithms 8 and 9",
    parameters: inigo::PARAMETERS,
    presets: inigo::PRESETS,
    deviations: inigo::DEVIATIONS,
    build: inigo::boxed,
}];

/// Facts that a receiver knows before it sends the first credit.
#[derive(Clone, Copy, Debug)]
pub struct CreditPath {
    /// When the sender asked for credits.
    pub now: Time,
    /// Rate of the receiver's own link.
    pub line_rate: Rate,
    /// How every port shapes credits.
    pub shaper: CreditShaper,
}

/// The credit that a data packet answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditEcho {
    /// Its number.
    pub number: u64,
    /// When it left the receiver.
    pub granted_at: Time,
}

/// A credit that leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its number, which the data echoes.
    pub number: u64,
    /// Its length on the wire.
    pub size: Bytes,
    /// When the next one is due.
    pub next: Time,
}

/// A source of credits, each of which calls one frame of the sender.
pub trait Credits: Debug + Send + dyn_clone::DynClone {
    /// Handles a data packet.
    fn on_data(&mut self, now: Time, answered: &CreditEcho);

    /// Returns the credit that is due now; `draws` are uniform in [0, 1).
    fn grant(&mut self, now: Time, draws: [f64; 2]) -> Grant;

    /// Reports internal values for plots; a name ends in its unit.
    fn probe(&self, _record: &mut dyn FnMut(&'static str, f64)) {}
}

dyn_clone::clone_trait_object!(Receiver);
dyn_clone::clone_trait_object!(Credits);
