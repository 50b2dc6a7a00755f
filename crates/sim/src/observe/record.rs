//! Either recorder, as one type: the main loop is compiled once for both. It forwards every method of [`Observer`].

use shallows_cc::units::{Bytes, Time};

use super::causes::Causes;
use super::frames::Frames;
use super::{Hop, Observer, Readiness, Timer};
use crate::packet::header::{Header, TcpAck};
use crate::port::admission::{DropReason, Outcome};
use crate::spec::fault::Change;

/// What a run records.
#[derive(Clone, Debug)]
pub enum Record {
    /// The causes of departures.
    Causes(Causes),
    /// The frames at some ports.
    Frames(Frames),
}

macro_rules! forward {
    ($($method:ident($($value:ident: $type:ty),+);)+) => {
        impl Observer for Record {
            $(#[inline]
            fn $method(&mut self, $($value: $type),+) {
                match self {
                    Self::Causes(causes) => causes.$method($($value),+),
                    Self::Frames(frames) => frames.$method($($value),+),
                }
            })+
        }
    };
}

forward! {
    offered(now: Time, hop: Hop<'_>, outcome: Outcome);
    trimmed(now: Time, hop: Hop<'_>);
    departs(hop: Hop<'_>, ended: Time);
    delivered(now: Time, hop: Hop<'_>);
    lost(now: Time, hop: Hop<'_>, reason: DropReason);
    in_flight_at_end(now: Time, hop: Hop<'_>);
    started(now: Time, flow: u32);
    timer(now: Time, timer: Timer);
    readiness(now: Time, flow: u32, readiness: Readiness, window: Option<Bytes>);
    adopts(now: Time, flow: u32);
    owes_pull(now: Time, flow: u32);
    ack_attached(now: Time, flow: u32, ack: &TcpAck);
    ack_detached(now: Time);
    response_waits(now: Time, flow: u32, number: u64, header: &Header);
    response_leaves(now: Time, flow: u32, number: u64);
    finished(now: Time, flow: u32);
    pause_requested(now: Time, link_and_class: (u32, u8), through: u32, pause: bool);
    paused(now: Time, link_and_class: (u32, u8), pause: bool);
    link_changed(now: Time, link: u32, change: Change, sent_by: Time);
}
