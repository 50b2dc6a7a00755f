//! Faults of links: a link goes down or up, is drained, slows down, becomes longer, or loses packets at random.
//!
//! A link that is down loses the packets on its wire and those that wait for it, and its port accepts none. A host whose NIC
//! schedules its flows knows that its link is down and sends nothing. A slower link sends each frame at its usual rate and then
//! rests. Both faults need a port with classes, since departures are not known in advance. Random loss affects the wire alone
//! ([`crate::port::loss_model`]) and is possible at any port: a share of all packets, or of all bits, so that long packets are lost
//! more often.
//!
//! A link whose path changes has another delay for the frames that it begins to send from then on. Frames keep their order: if the delay
//! falls, a frame arrives no earlier than the one before it.
//!
//! A wireless link holds frames and delivers them together, and a path may deliver a share of its frames later than the others, so that
//! those behind overtake them.
//!
//! An operator changes the parameters by which a port marks: its congestion point keeps its state, and judges the next packet by the new
//! ones. Or the operator changes the weight of a class: its port, and the NIC of a host, serve it by another turn from the next packet on.
//!
//! A host that sends pauses without an end (a broken NIC, or a tester) pauses the link that leads to it until it resumes it: the frames
//! that hosts of this network never send by themselves. They take no time on the link.
//!
//! Pause frames are never lost: a real switch repeats them before they expire, the simulated one sends them once.
//!
//! Switches learn of a fault after the network's convergence time. Until then packets that are routed over a link that is down
//! are lost; then flows, and the tables of switches that choose a port for each packet, are rerouted ([`crate::fabric::route`]). A
//! switch that chooses for each packet sees at once which of its own links work. An operator drains a link: it works, but from then
//! on routes avoid it where there are others. Nobody learns of random loss, even if all packets are lost.

use shallows_cc::units::{Bytes, Rate, Time};

use crate::spec::shape::Kind;

/// Change of a link.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
pub enum Change {
    /// The link goes down.
    #[serde(rename = "down")]
    Down,
    /// The link comes up.
    #[serde(rename = "up")]
    Up,
    /// The link sends at this rate, at most its own.
    #[serde(rename = "rate_bps")]
    Rate(Rate),
    /// The link has this delay, at least its own.
    #[serde(rename = "delay_ps")]
    Delay(Time),
    /// The link delivers frames together, at whole multiples of this time from the change on; zero ends it.
    #[serde(rename = "hold_ps")]
    Hold(Time),
    /// The link delivers this share of all packets later, at random.
    #[serde(rename = "late")]
    Late(f64),
    /// How much later it delivers these.
    #[serde(rename = "late_by_ps")]
    LateBy(Time),
    /// Routes avoid the link, which works.
    #[serde(rename = "drain")]
    Drain,
    /// Routes no longer avoid the link.
    #[serde(rename = "undrain")]
    Undrain,
    /// The link loses this share of all packets at random.
    #[serde(rename = "loss")]
    Loss(f64),
    /// The link changes this share of all bits, and loses packets with a changed bit.
    #[serde(rename = "bit_errors")]
    BitErrors(f64),
    /// The other end of the link pauses all lossless classes, again and again: none of its packets resumes them.
    #[serde(rename = "pause")]
    Pause,
    /// The other end of the link ends these pauses.
    #[serde(rename = "resume")]
    Resume,
    /// The port of the link marks by other parameters: an index into the markings of the request.
    #[serde(rename = "marking")]
    Marking(u32),
    /// The port of the link, and the host if it is a NIC, sends this many bytes of a traffic class in a turn.
    #[serde(rename = "turn")]
    Turn {
        /// The number of the traffic class.
        class: u8,
        /// Its quantum.
        #[serde(rename = "quantum_bytes")]
        quantum: Bytes,
    },
}

impl Change {
    /// Whether the link changes, and not only how its port marks or shares: such a link needs another port.
    #[must_use]
    pub const fn is_of_link(self) -> bool {
        !matches!(self, Self::Marking(_) | Self::Turn { .. })
    }

    /// Whether the port of the link needs classes, since departures are not known in advance.
    #[must_use]
    pub const fn needs_classes(self) -> bool {
        self.is_of_arrivals() || matches!(self, Self::Down | Self::Up | Self::Rate(_) | Self::Pause | Self::Resume)
    }

    /// Whether it changes when frames arrive, so that their times of departure no longer follow from their arrivals.
    #[must_use]
    pub const fn is_of_arrivals(self) -> bool {
        matches!(self, Self::Delay(_) | Self::Hold(_) | Self::Late(_) | Self::LateBy(_))
    }
}

impl Kind for Change {
    fn kind() -> String {
        r#""down" or "up" or "drain" or "undrain" or {"rate_bps": u64} or {"delay_ps": u64} or {"hold_ps": u64} or {"late": f64} or {"late_by_ps": u64} or {"loss": f64} or {"bit_errors": f64} or "pause" or "resume" or {"marking": u32} or {"turn": {str: u64}}"#
            .to_owned()
    }
}

request! {
    /// A change of a link at a set time.
    #[derive(Copy, PartialEq)]
    pub struct Fault as "Fault" {
        /// Time of the change.
        at: Time = "time_ps",
        /// The link. Its port needs a discipline if the link goes down, comes up, or changes its rate or its delay, holds or reorders frames. A link that does one of the last three
        /// does not go down.
        link: u32,
        /// The change: the link goes down or comes up, routes avoid it or no longer do, it sends at this rate (at most its own),
        /// it has this delay (at least its own), it delivers frames together at multiples of this time, it delivers this share of packets
        /// later, or by this time later, or it loses packets at random: this share of all, or those with a changed bit if it changes this share of all bits. A
        /// loss of either kind replaces the one before. Or the host at its end pauses its lossless classes, or resumes them. Or its port
        /// marks as this row of `markings` says, which differs from the one before in parameters that a port may change alone. Or its port,
        /// and its host if it is a NIC, serves a traffic class (`class`) that has a turn by another one (`quantum_bytes`).
        change: Change,
    }
}
