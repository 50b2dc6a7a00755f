//! Priority flow control (PFC, IEEE 802.1Qbb): decides when a switch pauses a traffic class of a link and when it resumes it.
//!
//! Data of a class is counted by the link that brought it. When the count exceeds a threshold, the switch pauses the other end of the link,
//! and the data that is still on its way goes into the link's headroom. The link resumes when its headroom is empty and its count
//! is below the threshold by the hysteresis.
//!
//! Not modelled: the quanta of a pause (it holds until it is ended), and the time that a MAC takes to act on it. A frame pauses one
//! class; those of the standard carry all eight.

use shallows_cc::units::{Bytes, MIN_FRAME};

use crate::spec::network::Network;
use crate::spec::ports::{PauseSpec, PortSpec};

/// Memory into which a switch puts a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// Into the memory below the threshold.
    Shared,
    /// Into the headroom of its link; `pause` says whether the link has to be paused now.
    Headroom { pause: bool },
    /// Nowhere: the headroom is full.
    Drop,
}

/// Packets of one link that are in the switch at its end.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    held: Bytes,
    /// The part of `held` that lies in headroom.
    in_headroom: Bytes,
    headroom: Bytes,
    pausing: bool,
}

impl Ingress {
    fn exceeds(&self, length: Bytes, threshold: Bytes) -> bool {
        self.held - self.in_headroom + length > threshold
    }
}

/// State of PFC at all switches, for one traffic class.
#[derive(Clone, Debug)]
pub(super) struct Pfc {
    spec: PauseSpec,
    /// By link.
    ingress: Vec<Ingress>,
}

impl Pfc {
    /// PFC at the switches of a network.
    pub(crate) fn new(spec: PauseSpec, network: &Network) -> Self {
        let ingress = |link| Ingress { headroom: headroom(&spec, link, network.mtu), ..Ingress::default() };
        Self { spec, ingress: network.ports.iter().map(ingress).collect() }
    }

    /// The threshold without shared memory.
    pub fn threshold(&self) -> Bytes {
        self.spec.threshold
    }

    /// How far below the threshold a link is resumed.
    pub(crate) fn hysteresis(&self) -> Bytes {
        self.spec.hysteresis
    }

    /// Whether a packet of this length would be placed below the threshold and change nothing.
    #[inline(always)]
    pub fn admits(&self, link: u32, length: Bytes, threshold: Bytes) -> bool {
        let ingress = &self.ingress[link as usize];
        !ingress.pausing && !ingress.exceeds(length, threshold)
    }

    /// Places a packet of this length. This is where a pause is decided.
    pub(crate) fn place(&mut self, link: u32, length: Bytes, threshold: Bytes) -> Placement {
        let ingress = &mut self.ingress[link as usize];
        if !ingress.pausing && !ingress.exceeds(length, threshold) {
            ingress.held += length;
            return Placement::Shared;
        }
        if ingress.in_headroom + length > ingress.headroom {
            return Placement::Drop;
        }
        ingress.held += length;
        ingress.in_headroom += length;
        Placement::Headroom { pause: !std::mem::replace(&mut ingress.pausing, true) }
    }

    /// Releases a packet of this length that begins to leave. Returns the part of it that lay in headroom, which empties first.
    #[inline]
    pub fn release(&mut self, link: u32, length: Bytes) -> Bytes {
        let ingress = &mut self.ingress[link as usize];
        let from_headroom = length.min(ingress.in_headroom);
        ingress.in_headroom -= from_headroom;
        ingress.held -= length;
        from_headroom
    }

    /// Whether the pause of a link ends once it holds little enough: it is paused, and its headroom is empty.
    #[inline(always)]
    pub(crate) fn may_resume(&self, link: u32) -> bool {
        let ingress = &self.ingress[link as usize];
        ingress.pausing && ingress.in_headroom == Bytes::ZERO
    }

    /// Ends the pause of a link that may resume and holds at most `threshold`. Returns whether it ended.
    pub fn resume(&mut self, link: u32, threshold: Bytes) -> bool {
        let resumes = self.may_resume(link) && self.ingress[link as usize].held <= threshold;
        self.ingress[link as usize].pausing &= !resumes;
        resumes
    }

    /// Whether the link is paused by the switch at its end.
    pub(crate) fn is_pausing(&self, link: u32) -> bool {
        self.ingress[link as usize].pausing
    }

    /// Lets the host at the end of a link pause it without a reason of its own, or end this.
    pub(crate) fn storm(&mut self, link: u32, pauses: bool) {
        self.ingress[link as usize].pausing = pauses;
    }

    /// Bytes that all links have brought, headroom included.
    pub fn held(&self) -> Bytes {
        self.ingress.iter().map(|ingress| ingress.held).sum()
    }

    /// Bytes in the headroom of all links.
    pub(crate) fn in_headroom(&self) -> Bytes {
        self.ingress.iter().map(|ingress| ingress.in_headroom).sum()
    }
}

/// What can still arrive once a pause is due: the frame that is sent before it on the reverse link, the pause itself, the frame
/// that the other end has begun, the one under way, and the content of the wire in both directions.
fn headroom(pause: &PauseSpec, link: &PortSpec, mtu: Bytes) -> Bytes {
    pause.headroom.unwrap_or_else(|| link.rate.sent_in(link.delay * 2) + mtu * 3 + MIN_FRAME)
}
