//! Observers of a run: they learn of every packet and flow, and change nothing.
//!
//! The main loop is compiled once for each type of observer, so that a run without an observer pays nothing for them. Functions
//! that the loop calls from one place are therefore `#[inline(always)]`: the compiler would inline a large function with a single
//! caller by itself, but here it has as many callers as there are types of observers (`bench/unobserved.py`). Two functions of
//! hosts are not inlined, because they would take registers that every hop needs.

use shallows_cc::units::{Bytes, Time};

pub use crate::host::transport::{BlockedBy, Readiness};
use crate::packet::header::{Header, TcpAck};
use crate::packet::{Packet, Slab};
use crate::port::admission::{DropReason, Outcome};
pub use crate::queue::timers::{Kind, Timer};
use crate::spec::fault::Change;

pub mod causes;
pub(crate) mod frames;
pub mod links;
pub(crate) mod packet_log;
pub(crate) mod record;
pub(crate) mod series;

/// Packet on one hop of its path.
#[derive(Clone, Copy, Debug)]
pub struct Hop<'a> {
    /// Number of the link.
    pub link: u32,
    /// Slab index of the packet, which it keeps from its first hop to its last; another packet may use it afterwards.
    pub place: u32,
    /// The packet.
    pub packet: &'a Packet,
    /// Its header.
    pub header: &'a Header,
}

impl<'a> Hop<'a> {
    #[inline]
    pub(crate) fn of(link: u32, place: u32, packets: &'a Slab) -> Self {
        Self { link, place, packet: &packets[place], header: packets.header(place) }
    }
}

/// Bits of a key of the event queue that hold the entity in a network with few entities. The others hold the time since the epoch: up
/// to 17 s.
pub(crate) const FEW_BITS: u32 = 20;

/// Observer of a run. Each method has a default that does nothing; the observer `()` costs nothing. `record.rs` lists the methods
/// once more.
pub trait Observer: Send + 'static {
    /// Whether the observer listens at all.
    const LISTENS: bool = true;

    /// Bits of a key of the event queue that hold the place of an event, if the main loop is compiled for one number; if not, they
    /// follow from the network, and each event takes a few instructions more.
    const PLACE_BITS: Option<u32> = None;

    /// A packet was offered to the port of a link. It already carries the mark of this port.
    #[inline]
    fn offered(&mut self, _now: Time, _hop: Hop<'_>, _outcome: Outcome) {}

    /// A packet in the queue of a link's port has been trimmed to its header.
    #[inline]
    fn trimmed(&mut self, _now: Time, _hop: Hop<'_>) {}

    /// A port has begun to send a packet whose last bit leaves at `ended`. Only links whose delay has changed report it: elsewhere it follows
    /// from the arrival.
    #[inline]
    fn departs(&mut self, _hop: Hop<'_>, _ended: Time) {}

    /// A packet has arrived at the end of a link.
    #[inline]
    fn delivered(&mut self, _now: Time, _hop: Hop<'_>) {}

    /// A packet that a port had accepted is lost on the link or in the port because of a fault, or dropped from the queue.
    #[inline]
    fn lost(&mut self, _now: Time, _hop: Hop<'_>, _reason: DropReason) {}

    /// The run ends while a packet is on a link or waits for it, and the time of its arrival is known.
    #[inline]
    fn in_flight_at_end(&mut self, _now: Time, _hop: Hop<'_>) {}

    /// A flow starts.
    #[inline]
    fn started(&mut self, _now: Time, _flow: u32) {}

    /// A timer of a flow expires. The calls that follow are its consequences.
    #[inline]
    fn timer(&mut self, _now: Time, _timer: Timer) {}

    /// The sender of a flow is given a window and a pace. The calls that follow are its consequences.
    #[inline]
    fn adopts(&mut self, _now: Time, _flow: u32) {}

    /// A host has determined whether a flow may send, after an event or after it has sent. The window is what may be in flight,
    /// if the flow has one.
    #[inline]
    fn readiness(&mut self, _now: Time, _flow: u32, _readiness: Readiness, _window: Option<Bytes>) {}

    /// The packet that has just arrived lets the receiver of a flow owe a pull, which waits for its turn.
    #[inline]
    fn owes_pull(&mut self, _now: Time, _flow: u32) {}

    /// An acknowledgement of a flow leaves on the packet of data that its host offers next.
    #[inline]
    fn ack_attached(&mut self, _now: Time, _flow: u32, _ack: &TcpAck) {}

    /// The acknowledgement on the packet of data that has just arrived reaches the sender of its own flow.
    #[inline]
    fn ack_detached(&mut self, _now: Time) {}

    /// A response of a flow, the one of this number, waits for the jitter of its host.
    #[inline]
    fn response_waits(&mut self, _now: Time, _flow: u32, _number: u64, _header: &Header) {}

    /// The response that its host offers next has waited.
    #[inline]
    fn response_leaves(&mut self, _now: Time, _flow: u32, _number: u64) {}

    /// Every byte of a flow has arrived.
    #[inline]
    fn finished(&mut self, _now: Time, _flow: u32) {}

    /// A switch requests the upstream end of a link to pause or to resume a traffic class. Most of its data from that link waits in
    /// the port of `through`, or has just left it.
    #[inline]
    fn pause_requested(&mut self, _now: Time, _link_and_class: (u32, u8), _through: u32, _pause: bool) {}

    /// The port of a link has received that request.
    #[inline]
    fn paused(&mut self, _now: Time, _link_and_class: (u32, u8), _pause: bool) {}

    /// A link has changed. Frames that its port had begun to send before have left by `sent_by`.
    #[inline]
    fn link_changed(&mut self, _now: Time, _link: u32, _change: Change, _sent_by: Time) {}
}

impl Observer for () {
    const LISTENS: bool = false;
    const PLACE_BITS: Option<u32> = Some(FEW_BITS);
}

/// No observer, of a network with more places than `()` allows ([`Network::has_many_places`](crate::Network::has_many_places)).
#[derive(Clone, Copy, Debug, Default)]
pub struct OfManyPlaces;

impl Observer for OfManyPlaces {
    const LISTENS: bool = false;
}
