//! Who looks on: told of each packet and each flow, and changes nothing.
//!
//! The main loop is there once for each type of observer, so that one that is off costs nothing. Therefore a function that
//! the loop calls from one place is `#[inline(always)]`: of its own accord the compiler puts a large function in line where
//! it has a single caller, and here it has as many as there are loops (`bench/unobserved.py`). Two at hosts are called all
//! the same: in line they would take the registers that every hop needs.

use shallows_cc::units::{Bytes, Time};

pub use crate::host::transport::{BlockedBy, Readiness};
use crate::packet::header::Header;
use crate::packet::{Packet, Slab};
use crate::port::admission::Outcome;
pub use crate::queue::timers::{Kind, Timer};
use crate::spec::fault::Change;

pub mod causes;
pub mod frames;
pub mod log;
pub(crate) mod series;
pub mod wires;

/// A packet on one hop of its way.
#[derive(Clone, Copy, Debug)]
pub struct Hop<'a> {
    /// The link.
    pub link: u32,
    /// The packet's own place, from its first hop to its last; another may have it afterwards.
    pub place: u32,
    /// The packet.
    pub packet: &'a Packet,
    /// What it says.
    pub header: &'a Header,
}

impl<'a> Hop<'a> {
    /// Of the packet at this place.
    #[inline]
    pub(crate) fn of(link: u32, place: u32, packets: &'a Slab) -> Self {
        Self { link, place, packet: &packets[place], header: packets.header(place) }
    }
}

/// Looks on. Whoever wants to hear of something writes that method; `()` hears nothing and costs nothing.
pub trait Observer {
    /// Whether it wants to hear anything at all.
    const LISTENS: bool = true;

    /// A packet was offered to the port of a link; what it has been told there it already carries.
    #[inline]
    fn offered(&mut self, _now: Time, _hop: Hop<'_>, _outcome: Outcome) {}

    /// A packet that waits in the port of a link has just been cut to its header.
    #[inline]
    fn trimmed(&mut self, _now: Time, _hop: Hop<'_>) {}

    /// A packet has come to the end of a link.
    #[inline]
    fn delivered(&mut self, _now: Time, _hop: Hop<'_>) {}

    /// A packet that had been let in is lost on `link`, or in its port, because something happened to the wire.
    #[inline]
    fn lost(&mut self, _now: Time, _hop: Hop<'_>) {}

    /// The run ends while a packet is on its way over a link, or waits for it, and it is known when it would have come.
    #[inline]
    fn remains(&mut self, _now: Time, _hop: Hop<'_>) {}

    /// A flow begins to send.
    #[inline]
    fn began(&mut self, _now: Time, _flow: u32) {}

    /// A timer of a flow runs out: what follows, follows from it.
    #[inline]
    fn timer(&mut self, _now: Time, _timer: Timer) {}

    /// Whether a flow may send has been looked at: because of what just happened to it, or after it has sent. Its sender's window
    /// allows so much in flight, where it has one.
    #[inline]
    fn readiness(&mut self, _now: Time, _flow: u32, _readiness: Readiness, _window: Option<Bytes>) {}

    /// All of a flow has arrived.
    #[inline]
    fn finished(&mut self, _now: Time, _flow: u32) {}

    /// A switch wants the other end of `link` to stop sending data, or to go on: most of what that brought waits in the port of
    /// `through`, or has just left it.
    #[inline]
    fn asked(&mut self, _now: Time, _link: u32, _through: u32, _pause: bool) {}

    /// The port of `link` has heard that.
    #[inline]
    fn paused(&mut self, _now: Time, _link: u32, _pause: bool) {}

    /// Something has happened to a link; what its port had begun to send before, it has sent by `sent_by`.
    #[inline]
    fn changed(&mut self, _now: Time, _link: u32, _change: Change, _sent_by: Time) {}
}

impl Observer for () {
    const LISTENS: bool = false;
}
