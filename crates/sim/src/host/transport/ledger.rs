//! Packets that a sender has sent, from the first one on that has not arrived: what is known of each, which are missing, and how many are
//! in flight.

use std::collections::{BTreeSet, VecDeque};

use shallows_cc::units::{Bytes, Time};

use crate::host::transport::message::Message;
use crate::host::transport::selective::{Arrivals, Ranges};

/// State of a packet that has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// On its way, and its answer likewise.
    InFlight,
    /// Known to be lost or trimmed: it is to be sent again.
    Missing,
    /// At the receiver.
    Arrived,
}

/// A packet that has been sent, and what else its owner notes of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent<T> {
    /// Departure of its newest transmission.
    pub left: Time,
    pub state: State,
    pub note: T,
}

/// State of the packets of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Ledger<T> {
    /// All packets below have arrived.
    first: u32,
    /// The packets from `first` on.
    packets: VecDeque<Sent<T>>,
    /// Those of them that acknowledgements have covered as blocks.
    covered: Ranges,
    missing: BTreeSet<u32>,
    in_flight: u32,
}

impl<T: Copy> Ledger<T> {
    /// Creates the ledger of a flow that has sent nothing.
    pub(crate) fn new() -> Self {
        Self { first: 0, packets: VecDeque::new(), covered: Ranges::default(), missing: BTreeSet::new(), in_flight: 0 }
    }

    /// Creates the ledger of a flow whose packets below `first` have arrived.
    #[cfg(test)]
    pub(crate) fn starting_at(first: u32) -> Self {
        Self { first, ..Self::new() }
    }

    /// Returns the number of the first packet that has not arrived.
    #[inline]
    pub(crate) const fn first(&self) -> u32 {
        self.first
    }

    /// Returns the number of the next packet to be sent for the first time.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.first + self.len()
    }

    /// Returns how many packets it knows.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.packets.len() as u32
    }

    /// Returns how many packets are neither missing nor at the receiver.
    #[inline]
    pub(crate) const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Returns a packet, unless all up to it have arrived or it has not been sent.
    #[inline]
    pub(crate) fn get(&self, seq: u32) -> Option<&Sent<T>> {
        self.packets.get(seq.checked_sub(self.first)? as usize)
    }

    /// Returns a packet that is known.
    #[inline]
    pub(crate) fn known(&self, seq: u32) -> &Sent<T> {
        &self.packets[(seq - self.first) as usize]
    }

    /// Returns what is noted of a packet that is known.
    #[inline]
    pub(crate) fn note_mut(&mut self, seq: u32) -> &mut T {
        &mut self.packets[(seq - self.first) as usize].note
    }

    /// Records that a packet leaves, for the first time or again.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, seq: u32, note: T) {
        let place = (seq - self.first) as usize;
        let sent = Sent { left: now, state: State::InFlight, note };
        if let Some(packet) = self.packets.get_mut(place) {
            *packet = sent;
            self.missing.remove(&seq);
        } else {
            self.packets.push_back(sent);
        }
        self.in_flight += 1;
    }

    /// Records that a packet has arrived, and returns its state before.
    #[inline]
    pub(crate) fn arrive(&mut self, seq: u32) -> State {
        let before = std::mem::replace(&mut self.packets[(seq - self.first) as usize].state, State::Arrived);
        match before {
            State::Arrived => {}
            State::InFlight => self.in_flight -= 1,
            State::Missing => _ = self.missing.remove(&seq),
        }
        before
    }

    /// Records that a packet in flight is missing.
    pub(crate) fn lose(&mut self, seq: u32) {
        self.packets[(seq - self.first) as usize].state = State::Missing;
        self.missing.insert(seq);
        self.in_flight -= 1;
    }

    /// Forgets the packets before the first one that has not arrived.
    #[inline]
    pub(crate) fn forget_arrived(&mut self) {
        while self.packets.front().is_some_and(|sent| sent.state == State::Arrived) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        self.packets.pop_front();
        self.first += 1;
    }

    /// Returns true if this is the newest transmission of a packet, and neither missing nor at the receiver.
    #[inline]
    pub(crate) fn is_in_flight(&self, left: Time, seq: u32) -> bool {
        self.get(seq).is_some_and(|packet| packet.left == left && packet.state == State::InFlight)
    }

    /// Returns the missing packets in ascending order.
    #[inline]
    pub(crate) const fn missing(&self) -> &BTreeSet<u32> {
        &self.missing
    }

    /// Returns how many packets acknowledgements have covered as blocks.
    pub(crate) fn covered(&self) -> u32 {
        self.covered.count()
    }
}

/// Packets that an event has shown to be lost, of which the sender did not know that.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    pub packets: u32,
    /// Number after the last of them.
    pub below: u32,
}

impl Losses {
    /// Adds a packet.
    #[inline]
    pub(crate) fn add(&mut self, seq: u32) {
        self.packets += 1;
        self.below = self.below.max(seq + 1);
    }

    /// Returns whether there are some.
    #[inline]
    pub(crate) const fn any(&self) -> bool {
        self.packets > 0
    }

    /// Returns their payload.
    pub(crate) fn payload(&self, message: &Message) -> Bytes {
        message.payload_of(self.packets, self.below)
    }
}

/// The packets that an acknowledgement covers, in the order in which a ledger learns of them. Each is to be recorded as arrived before
/// the next is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Covered {
    arrivals: Arrivals,
    /// Whether the first packet of the ledger was returned last, which can be forgotten.
    first: bool,
    /// Where the search for further packets of the block begins, once it has begun.
    from: Option<u32>,
}

impl Covered {
    pub(crate) const fn by(arrivals: Arrivals) -> Self {
        Self { arrivals, first: false, from: None }
    }

    /// Returns the next packet, which may have been covered before if it is below the cumulative acknowledgement.
    #[inline]
    pub(crate) fn next<T: Copy>(&mut self, ledger: &mut Ledger<T>) -> Option<u32> {
        if std::mem::take(&mut self.first) {
            ledger.forget_first();
        }
        if ledger.first < self.arrivals.cumulative {
            self.first = true;
            return Some(ledger.first);
        }
        self.next_of_block(ledger)
    }

    fn next_of_block<T: Copy>(&mut self, ledger: &mut Ledger<T>) -> Option<u32> {
        if self.from.is_none() {
            ledger.covered.remove_below(ledger.first);
        }
        let (from, to) = self.arrivals.block?;
        let from = from.max(ledger.first);
        let seq = ledger.covered.next_hole(self.from.unwrap_or(from));
        self.from = Some(seq + 1);
        if seq < to {
            return Some(seq);
        }
        ledger.covered.insert(from, to);
        None
    }
}
