//! What several observers write down: a frame at a port, when it was sent, and what happens to links besides.

use shallows_cc::units::{Bytes, Time};

use crate::packet::{NIL, PacketKind};
use crate::port::admission::{DropReason, Outcome};
use crate::port::clock::Clock;
use crate::spec::fault::Change;
use crate::spec::network::{Network, PortSpec};

/// What happened to a link besides frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LinkEvent {
    /// The switch at its end wants it to stop.
    PauseAsked,
    /// And to go on.
    ResumeAsked,
    /// Its port has heard the one.
    Paused,
    /// And the other.
    Resumed,
    /// It has failed.
    Down,
    /// It works again.
    Up,
}

/// Every event by name, in the order of their numbers.
pub const LINK_EVENTS: [&str; 6] = ["pause_asked", "resume_asked", "paused", "resumed", "down", "up"];

/// Such an event.
#[derive(Clone, Copy, Debug)]
pub struct LinkRow {
    /// When.
    pub time: Time,
    /// To which link.
    pub link: u32,
    /// What.
    pub event: LinkEvent,
    /// The port where most of what a link that is to pause has brought waits, or [`NIL`].
    pub through: u32,
}

impl LinkRow {
    /// A switch wants the link to pause, or to go on.
    #[must_use]
    pub const fn asked(time: Time, link: u32, through: u32, pause: bool) -> Self {
        let event = if pause { LinkEvent::PauseAsked } else { LinkEvent::ResumeAsked };
        Self { time, link, event, through }
    }

    /// Its port has heard that.
    #[must_use]
    pub const fn paused(time: Time, link: u32, pause: bool) -> Self {
        let event = if pause { LinkEvent::Paused } else { LinkEvent::Resumed };
        Self { time, link, event, through: NIL }
    }

    /// It fails, or works again; other changes are none of these events.
    #[must_use]
    pub const fn changed(time: Time, link: u32, change: Change) -> Option<Self> {
        let event = match change {
            Change::Down => LinkEvent::Down,
            Change::Up => LinkEvent::Up,
            Change::Rate(_) | Change::Loss(_) => return None,
        };
        Some(Self { time, link, event, through: NIL })
    }
}

/// A frame at the port of a link.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The link behind the port.
    pub link: u32,
    /// Its flow; that of a pause is [`NIL`].
    pub flow: u32,
    /// What it is for.
    pub kind: PacketKind,
    /// Its length on the wire.
    pub length: u16,
    /// When it came to the port.
    pub offered: Time,
    /// When its first bit was sent; [`Time::MAX`] if it had not been when the run ended, or never was.
    pub begun: Time,
    /// When its last bit was.
    pub ended: Time,
}

/// A link, as far as it says when a frame was sent that has come over it.
#[derive(Debug)]
pub struct Wire {
    delay: Time,
    /// Each for what has not been sent by a time.
    clocks: Vec<(Time, Clock)>,
}

impl Wire {
    fn new(port: &PortSpec) -> Self {
        Self { delay: port.delay, clocks: vec![(Time::ZERO, Clock::new(port.rate))] }
    }

    /// All links of a network.
    #[must_use]
    pub fn all(network: &Network) -> Vec<Self> {
        network.ports.iter().map(Self::new).collect()
    }

    /// When the first and the last bit was sent of a frame that comes `at` this time.
    #[must_use]
    pub fn sent(&self, at: Time, length: Bytes) -> (Time, Time) {
        let ended = at - self.delay;
        let newest = self.clocks.iter().rev().find(|&&(sent_by, _)| ended > sent_by);
        let (_, clock) = newest.unwrap_or(&self.clocks[0]);
        (ended - clock.time(length), ended)
    }

    /// Something happens to it: another rate is for what begins after what had begun has been sent.
    pub fn change(&mut self, change: Change, sent_by: Time) {
        if let Change::Rate(rate) = change {
            self.clocks.push((sent_by, Clock::new(rate)));
        }
    }
}

/// What became of a packet at a port, by name, in the order of [`outcome_number`].
pub const OUTCOMES: [&str; 7] = ["queued", "marked", "trimmed", "returned", "dropped", "no_memory", "lost"];

/// The place of an outcome in [`OUTCOMES`].
#[must_use]
pub const fn outcome_number(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Queued => 0,
        Outcome::Marked => 1,
        Outcome::Trimmed => 2,
        Outcome::Returned => 3,
        Outcome::Dropped(DropReason::QueueFull) => 4,
        Outcome::Dropped(DropReason::BufferFull) => 5,
        Outcome::Dropped(DropReason::LinkFault) => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallows_cc::units::Rate;

    /// 1500 B at 10 Gbps take 1.2 us, at 1 Gbps 12 us; the wire is 1 us long.
    #[test]
    fn a_frame_was_sent_at_the_rate_of_its_time() {
        let us = Time::from_micros;
        let clock = |gbps| Clock::new(Rate::from_gbps(gbps));
        let mut wire = Wire { delay: us(1), clocks: vec![(Time::ZERO, clock(10))] };
        wire.change(Change::Rate(Rate::from_gbps(1)), us(20));
        assert_eq!(wire.sent(us(21), Bytes(1500)), (us(20) - Time::from_nanos(1200), us(20)));
        assert_eq!(wire.sent(us(40), Bytes(1500)), (us(27), us(39)));
    }
}
