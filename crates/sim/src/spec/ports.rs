//! What ports and switches are made of, in plain numbers.

use shallows_cc::pacer::PacerSpec;
use shallows_cc::parameter::Values;
use shallows_cc::port::step::Step;
use shallows_cc::port::{CongestionPoint, MarkAt, Mechanism};
use shallows_cc::units::{Bytes, Rate, Time};

use crate::packet::PACKET_KINDS;

/// What a port is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// The node it belongs to.
    pub from: u32,
    /// The node at the other end of its link.
    pub to: u32,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Time,
    /// Queue that it holds, the packet being sent included; [`Bytes::MAX`] is unlimited.
    pub buffer: Bytes,
    /// How it marks: index of the network's markings; none never marks.
    pub marking: Option<u32>,
    /// How it schedules: index of the network's disciplines; none sends in the order of arrival.
    pub discipline: Option<u32>,
}

/// How ports mark.
#[derive(Clone, Debug)]
pub struct Marking {
    /// Row of the table of congestion points.
    pub mechanism: &'static Mechanism,
    /// Its parameters.
    pub values: Values,
    /// Which queue it looks at.
    pub at: MarkAt,
}

impl Marking {
    /// A congestion point at a link of this rate.
    #[must_use]
    pub fn point(&self, rate: Rate) -> Box<dyn CongestionPoint> {
        (self.mechanism.build)(&self.values, rate)
    }

    /// All that it does, where that is to compare the queue that a packet joins with a step.
    #[must_use]
    pub fn on_joining(&self, rate: Rate) -> Option<Step> {
        self.point(rate).as_step().filter(|_| self.at == MarkAt::Enqueue)
    }
}

/// Tokens for what a class sends: the bucket fills at a rate and holds a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shaper {
    /// How fast it fills.
    pub rate: Rate,
    /// What it holds.
    pub burst: Bytes,
    /// What sets that rate from then on, if it is not fixed.
    pub pacer: Option<PacerSpec>,
}

/// What a class holds at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Without end where it is [`Bytes::MAX`].
    Bytes(Bytes),
    /// However long they are: a limit in bytes prefers the short ones.
    Packets(u32),
}

/// One class of a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassSpec {
    /// What it holds, the packet being sent included; what comes then is dropped.
    pub limit: Limit,
    /// What holds it back.
    pub shaper: Option<Shaper>,
    /// Whether what finds it full is cut to its header where it may be, instead of dropped.
    pub trims: bool,
    /// After so many packets of other classes that went before what waits here, one of this class goes; none: it waits for all.
    pub turn: Option<u32>,
}

/// The classes of a port, the first one served first, and which packets go where.
#[derive(Clone, Debug, PartialEq)]
pub struct Discipline {
    /// At least one.
    pub classes: Vec<ClassSpec>,
    /// By the number of a [`crate::packet::PacketKind`].
    pub class_of: [u8; PACKET_KINDS.len()],
    /// The class of all packets of flows with a priority, if they have one.
    pub priority: Option<u8>,
    /// The class of what goes through the pacer of a host, if it has one.
    pub paced: Option<u8>,
}

/// Memory that the ports of a switch share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedSpec {
    /// All of it, headroom apart.
    pub size: Bytes,
    /// A port may hold this many times what is free.
    pub alpha: f64,
}

/// When a switch pauses a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseSpec {
    /// Data of one link above which it is paused; with shared memory the dynamic threshold takes its place.
    pub threshold: Bytes,
    /// It goes on this far below.
    pub hysteresis: Bytes,
    /// What may still come then; none gives each link what it can need.
    pub headroom: Option<Bytes>,
}
