//! Records that several observers share: frames at a port, the times at which they were sent, and other events of links.

use std::collections::BTreeMap;

use shallows_cc::units::{Bytes, Time};

use crate::packet::{NIL, PacketKind};
use crate::port::admission::{DropReason, Outcome};
use crate::port::clock::Clock;
use crate::spec::fault::Change;
use crate::spec::network::{Network, PortSpec};

/// Event of a link that is not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LinkEvent {
    /// The switch at its end requests a pause.
    PauseRequested,
    /// The switch at its end allows it to resume.
    ResumeRequested,
    /// Its port has received the pause.
    Paused,
    /// Its port has received the resume.
    Resumed,
    /// The link has failed.
    Down,
    /// The link works again.
    Up,
}

/// Row of the table of link events.
#[derive(Clone, Copy, Debug)]
pub struct LinkRow {
    /// Time of the event.
    pub time: Time,
    /// Number of the link.
    pub link: u32,
    /// The event.
    pub event: LinkEvent,
    /// Of a pause request: the port where most of the data from this link waits; otherwise `NIL`.
    pub through: u32,
    /// Traffic class that is paused or resumed; 0 for other events.
    pub class: u8,
}

impl LinkRow {
    /// Names of all `LinkEvent`s, in the order of their numbers.
    pub const EVENTS: [&str; 6] = ["pause_asked", "resume_asked", "paused", "resumed", "down", "up"];

    /// Row for a switch that requests a pause or a resume.
    #[must_use]
    pub const fn pause_requested(time: Time, (link, class): (u32, u8), through: u32, pause: bool) -> Self {
        let event = if pause { LinkEvent::PauseRequested } else { LinkEvent::ResumeRequested };
        Self { time, link, event, through, class }
    }

    /// Row for a port that has received a pause or a resume.
    #[must_use]
    pub const fn paused(time: Time, (link, class): (u32, u8), pause: bool) -> Self {
        let event = if pause { LinkEvent::Paused } else { LinkEvent::Resumed };
        Self { time, link, event, through: NIL, class }
    }

    /// Row for a link that fails or works again; none for other changes.
    #[must_use]
    pub const fn changed(time: Time, link: u32, change: Change) -> Option<Self> {
        let event = match change {
            Change::Down => LinkEvent::Down,
            Change::Up => LinkEvent::Up,
            _ => return None,
        };
        Some(Self { time, link, event, through: NIL, class: 0 })
    }
}

/// Frame at the port of a link.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Number of the link.
    pub link: u32,
    /// Number of its flow; `NIL` for a pause frame.
    pub flow: u32,
    /// Kind of packet.
    pub kind: PacketKind,
    /// Length on the wire in bytes.
    pub length: u16,
    /// When it was offered to the port.
    pub offered: Time,
    /// When its first bit was sent; [`Time::MAX`] if it was not sent by the end of the run.
    pub begun: Time,
    /// When its last bit was sent.
    pub ended: Time,
}

/// Rates and delay of a link, from which the times follow at which a delivered frame was sent.
#[derive(Clone, Debug)]
pub(crate) struct LinkTimes {
    delay: Time,
    /// Clock of each rate, for frames that are sent after the time before it.
    clocks: Vec<(Time, Clock)>,
    /// By the slot of a packet: the time of its last bit, if that does not follow from its arrival.
    ended: BTreeMap<u32, Time>,
}

impl LinkTimes {
    fn new(port: &PortSpec) -> Self {
        Self { delay: port.delay, clocks: vec![(Time::ZERO, Clock::new(port.rate))], ended: BTreeMap::new() }
    }

    /// Creates one for each link of a network.
    #[must_use]
    pub fn all(network: &Network) -> Vec<Self> {
        network.ports.iter().map(Self::new).collect()
    }

    /// Takes note of a frame whose last bit leaves at `ended`, which does not follow from its arrival.
    pub(crate) fn departs(&mut self, place: u32, ended: Time) {
        self.ended.insert(place, ended);
    }

    /// Returns the time of the last bit of the frame at this slot, which arrives at `at`.
    #[must_use]
    pub(crate) fn ended(&self, (place, at): (u32, Time)) -> Time {
        let noted = if self.ended.is_empty() { None } else { self.ended.get(&place) };
        noted.map_or_else(|| at - self.delay, |&ended| ended)
    }

    /// Returns the times of the first and the last bit of the frame at this slot, which arrives at `at`.
    #[must_use]
    pub fn sent(&self, arrival: (u32, Time), length: Bytes) -> (Time, Time) {
        let ended = self.ended(arrival);
        let newest = self.clocks.iter().rev().find(|&&(sent_by, _)| ended > sent_by);
        let (_, clock) = newest.unwrap_or(&self.clocks[0]);
        (ended - clock.time(length), ended)
    }

    /// Applies a change of the link. A new rate holds for frames that begin after `sent_by`, when the port has sent what it had
    /// begun.
    pub(crate) fn change(&mut self, change: Change, sent_by: Time) {
        if let Change::Rate(rate) = change {
            self.clocks.push((sent_by, Clock::new(rate)));
        }
    }
}

impl Frame {
    /// Names of the outcomes of a packet at a port, in the order of [`Self::outcome_number`].
    pub const OUTCOMES: [&str; 7] = ["queued", "marked", "trimmed", "returned", "dropped", "no_memory", "lost"];

    /// Returns the index of an outcome in [`Self::OUTCOMES`].
    #[must_use]
    pub const fn outcome_number(outcome: Outcome) -> u8 {
        match outcome {
            Outcome::Queued => 0,
            Outcome::Marked => 1,
            Outcome::Trimmed => 2,
            Outcome::Returned => 3,
            Outcome::Dropped(
                DropReason::QueueFull
                | DropReason::NotEcnCapable
                | DropReason::StandingQueue
                | DropReason::Policed
                | DropReason::PauseStorm,
            ) => 4,
            Outcome::Dropped(DropReason::BufferFull) => 5,
            Outcome::Dropped(DropReason::LinkFault) => 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallows_cc::units::Rate;

    /// 1500 B take 1.2 us at 10 Gbps and 12 us at 1 Gbps; the link has a delay of 1 us.
    #[test]
    fn a_frame_was_sent_at_the_rate_of_its_time() {
        let us = Time::from_micros;
        let clock = |gbps| Clock::new(Rate::from_gbps(gbps));
        let mut link = LinkTimes { delay: us(1), clocks: vec![(Time::ZERO, clock(10))], ended: BTreeMap::new() };
        link.change(Change::Rate(Rate::from_gbps(1)), us(20));
        assert_eq!(link.sent((7, us(21)), Bytes(1500)), (us(20) - Time::from_nanos(1200), us(20)));
        assert_eq!(link.sent((7, us(40)), Bytes(1500)), (us(27), us(39)));
        link.departs(7, us(37));
        assert_eq!(link.sent((7, us(40)), Bytes(1500)), (us(25), us(37)));
        assert_eq!(link.sent((8, us(40)), Bytes(1500)), (us(27), us(39)));
    }
}
