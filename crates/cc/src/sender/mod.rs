//! Reaction points: what a sender does with its window and its pace.
//!
//! One file an algorithm. Each has `PARAMETERS`, `PRESETS`, `NOT_MODELLED`, and `build`, which
//! [`crate::catalog`] reads; the state is a struct with a field for each symbol of the paper, and
//! parameters are a type of their own. To add one, write the file, name it here, add its row to the catalog and
//! an event script to `tests/scripts`: CONTRIBUTING.md goes through it step by step.

pub mod cdg;
pub mod cubic;
pub mod dcqcn;
pub mod dctcp;
pub mod dx;
pub mod expresspass;
pub mod fixed;
pub mod gap;
pub mod hull;
pub mod inigo;
pub mod patched_timely;
pub mod patched_timely_pi;
pub mod rcp;
pub mod reno;
pub mod timely;
pub mod vegas;

use std::fmt::Debug;

use crate::event::{Ack, Loss};
use crate::units::{Bytes, Rate, Time};

/// What a sender knows before its first packet.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Payload of a full packet.
    pub mss: Bytes,
    /// What it may send before it hears anything.
    pub initial_window: Bytes,
    /// Rate of the host's own link.
    pub line_rate: Rate,
    /// Of this flow's draws, for algorithms that throw dice ([`crate::draws`]).
    pub seed: u64,
    /// Flows that the host already sends.
    pub active: u32,
}

/// What a sender may do from now on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Payload that may be in flight, over any transport but credits. A flow with nothing in flight may always send one
    /// packet.
    pub window: Bytes,
    /// The rate at which packets leave, headers included; without one they leave when the window lets them.
    pub pace: Option<Rate>,
    /// When [`Sender::on_wake`] is to be called; a later decision replaces it.
    pub wake: Option<Time>,
}

impl Decision {
    /// A window and nothing else.
    #[must_use]
    pub const fn window(window: Bytes) -> Self {
        Self { window, pace: None, wake: None }
    }
}

/// Pieces of data that are acknowledged as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Payload of each.
    pub size: Bytes,
    /// Whether the frames of a segment leave at line rate, and the pace only spaces segments.
    pub at_once: bool,
}

/// A reaction point: a pure state machine.
///
/// Whoever drives it calls it in time order, reads [`Sender::decision`] after every call, and calls
/// `on_wake` exactly at the time asked for.
pub trait Sender: Debug + Send {
    /// An acknowledgement arrived.
    fn on_ack(&mut self, now: Time, ack: &Ack);

    /// A loss was noticed; once for each window of data, and at every timeout.
    fn on_loss(&mut self, now: Time, loss: &Loss);

    /// A frame of this length left the host. Only a transport without a window tells.
    fn on_sent(&mut self, _now: Time, _sent: Bytes) {}

    /// The least rate that the ports on its way offer came back. Only an algorithm whose ports tell rates hears it.
    fn on_offer(&mut self, _now: Time, _rate: Rate) {}

    /// How long the host takes to answer the credit that arrived. Only a transport that sends on credits asks.
    fn answer_time(&mut self) -> Time {
        Time::ZERO
    }

    /// A congestion notification arrived.
    fn on_notification(&mut self, _now: Time) {}

    /// The time asked for in [`Decision::wake`] has come.
    fn on_wake(&mut self, _now: Time) {}

    /// What the flow may do now.
    fn decision(&self) -> Decision;

    /// How a transport without a window divides its data.
    fn segments(&self) -> Segments {
        Segments { size: Bytes(16_000), at_once: false }
    }

    /// Names and values of the internals worth plotting, the unit as the name's suffix.
    fn probe(&self, _record: &mut dyn FnMut(&'static str, f64)) {}
}
