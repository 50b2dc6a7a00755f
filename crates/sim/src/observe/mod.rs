//! Who looks on: told of each packet and each flow, and changes nothing.

use shallows_cc::units::Time;

use crate::packet::Packet;
use crate::port::admission::Outcome;

pub mod log;

/// Looks on. Whoever wants to hear of something writes that method; `()` hears nothing and costs nothing.
pub trait Observer {
    /// Whether it wants to hear anything at all.
    const LISTENS: bool = true;

    /// A packet was offered to the port of `link`; what it has been told there it already carries.
    #[inline]
    fn offered(&mut self, _now: Time, _link: u32, _packet: &Packet, _outcome: Outcome) {}

    /// A packet has come to the end of `link`.
    #[inline]
    fn delivered(&mut self, _now: Time, _link: u32, _packet: &Packet) {}

    /// A flow begins to send.
    #[inline]
    fn began(&mut self, _now: Time, _flow: u32) {}

    /// All of a flow has arrived.
    #[inline]
    fn finished(&mut self, _now: Time, _flow: u32) {}
}

impl Observer for () {
    const LISTENS: bool = false;
}
