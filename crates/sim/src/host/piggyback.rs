//! Acknowledgements that ride on data. Two flows between the same two hosts, one in each direction, are the two directions of one
//! connection: the acknowledgement of one leaves with the next data frame of the other, in a header that this frame has anyway.
//!
//! As in Linux, an arriving frame is handled as a whole, and data that its acknowledgement lets leave carries the acknowledgement of
//! its data. The acknowledgement of one frame waits for data of the other flow, `ack_delay` at most; that of a second one leaves at once
//! as a frame of its own, unless the other flow is about to send (RFC 5681 §4.2). Acknowledgements that wait for the same frame become one: with the newest numbers, and the mean of
//! all delays. One with another mark than the one before it does not wait (RFC 8257 §3.2).

use std::collections::{BTreeMap, VecDeque};

use shallows_cc::units::Time;

use crate::fabric::Fabric;
use crate::observe::Observer;
use crate::packet::header::{Header, TcpAck};
use crate::packet::{NIL, Slab};
use crate::spec::network::Network;

/// Acknowledgements that wait for data, and those under way.
#[derive(Clone, Debug)]
pub(crate) struct Piggyback {
    partners: Partners,
    /// By flow: the acknowledgement that waits.
    waiting: BTreeMap<u32, Waiting>,
    /// By slot: the acknowledgement on a frame of data. A slot that is used again loses it with the next frame of data.
    riding: BTreeMap<u32, TcpAck>,
    /// Frames that were saved.
    pub saved: u64,
}

/// An acknowledgement that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    ack: TcpAck,
    /// When the first one waited that it stands for, and the newest.
    since: Time,
    newest: Time,
}

impl Waiting {
    /// The acknowledgement, which leaves now: its host has delayed it.
    fn leave(self, now: Time) -> TcpAck {
        TcpAck { left: now, held: self.ack.held + (now - self.newest).0.cast_signed(), ..self.ack }
    }
}

impl Piggyback {
    /// Creates it if hosts let acknowledgements ride.
    pub fn new(network: &Network) -> Option<Box<Self>> {
        network.host.piggyback.then(|| {
            let mut partners = Partners::default();
            network.flows.iter().for_each(|flow| partners.add(flow.src, flow.dst));
            Box::new(Self { partners, waiting: BTreeMap::new(), riding: BTreeMap::new(), saved: 0 })
        })
    }

    /// Adds the next flow.
    pub(crate) fn join(&mut self, src: u32, dst: u32) {
        self.partners.add(src, dst);
    }

    /// Returns the flow in the other direction.
    pub(crate) fn partner(&self, flow: u32) -> Option<u32> {
        self.partners.of.get(flow as usize).copied().filter(|&partner| partner != NIL)
    }

    /// Takes the acknowledgement in a slot, if it may wait; returns true if it did, with one that cannot wait longer.
    pub fn take(&mut self, now: Time, at: u32, packets: &mut Slab) -> (bool, Option<TcpAck>) {
        let (flow, ce) = (packets[at].flow, packets[at].flags.is_ce());
        let &Header::TcpAck(ack) = packets.header(at) else { return (false, None) };
        if ce {
            return (false, None);
        }
        packets.export(at);
        self.saved += 1;
        let new = Waiting { ack, since: now, newest: now };
        let Some(old) = self.waiting.insert(flow, new) else { return (true, None) };
        let Some(ack) = merge(&old.ack, &ack) else { return (true, Some(old.leave(now))) };
        self.waiting.insert(flow, Waiting { ack, since: old.since, ..new });
        (true, None)
    }

    /// Number of frames of data whose acknowledgement waits.
    pub(crate) fn waiting(&self, flow: u32) -> u8 {
        self.waiting.get(&flow).map_or(0, |waiting| waiting.ack.samples)
    }

    /// Removes the acknowledgement of a flow that waits since `since` or longer, to leave now.
    pub fn remove(&mut self, flow: u32, since: Time, now: Time) -> Option<TcpAck> {
        self.waiting.get(&flow).filter(|waiting| waiting.since <= since)?;
        self.waiting.remove(&flow).map(|waiting| waiting.leave(now))
    }

    /// Lets the acknowledgement that waits leave on the frame of data in a slot.
    #[cold]
    pub(crate) fn attach<O: Observer>(&mut self, fabric: &mut Fabric<O>, at: u32, flow: u32) {
        let ack = self.partner(flow).and_then(|partner| Some((partner, self.remove(partner, fabric.now, fabric.now)?)));
        let Some((partner, ack)) = ack else {
            self.riding.remove(&at);
            return;
        };
        fabric.observer.ack_attached(fabric.now, partner, &ack);
        self.riding.insert(at, ack);
    }

    /// Takes the acknowledgement off an arriving frame of data.
    pub fn detach(&mut self, at: u32) -> Option<TcpAck> {
        self.riding.remove(&at)
    }
}

/// One acknowledgement in place of two; `None` if it would lose a mark.
fn merge(old: &TcpAck, new: &TcpAck) -> Option<TcpAck> {
    let samples = old.samples.checked_add(new.samples)?;
    if old.marked != new.marked {
        return None;
    }
    let sum = u128::from(old.delay.0) * u128::from(old.samples) + u128::from(new.delay.0) * u128::from(new.samples);
    Some(TcpAck { delay: Time((sum / u128::from(samples.max(1))) as u64), samples, ..*new })
}

/// Pairs of flows between two hosts, one in each direction.
#[derive(Clone, Debug, Default)]
struct Partners {
    /// By flow: the flow in the other direction, or [`NIL`].
    of: Vec<u32>,
    /// By source and destination: flows without a partner, in order.
    single: BTreeMap<(u32, u32), VecDeque<u32>>,
}

impl Partners {
    /// Adds the next flow, and pairs it with the first one in the other direction that has no partner.
    fn add(&mut self, src: u32, dst: u32) {
        let number = self.of.len() as u32;
        let other = self.single.get_mut(&(dst, src)).and_then(VecDeque::pop_front);
        self.of.push(other.unwrap_or(NIL));
        match other {
            Some(other) => self.of[other as usize] = number,
            None => self.single.entry((src, dst)).or_default().push_back(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two flows from 0 to 1, one back, one from 1 to 2.
    #[test]
    fn flows_of_both_directions_are_pairs() {
        let mut partners = Partners::default();
        [(0, 1), (0, 1), (1, 0), (1, 2)].into_iter().for_each(|(src, dst)| partners.add(src, dst));
        assert_eq!(partners.of, [2, NIL, 0, NIL]);
    }

    /// One sample of 10 us and two of 40 us: a mean of 30 us, and the newest numbers.
    #[test]
    fn acknowledgements_that_wait_become_one_with_the_mean_of_their_delays() {
        let us = Time::from_micros;
        let ack = |cumulative, delay, samples, marked| TcpAck {
            cumulative,
            delay: us(delay),
            samples,
            marked,
            ..TcpAck::default()
        };
        let one = merge(&ack(4, 10, 1, false), &ack(6, 40, 2, false)).unwrap();
        assert_eq!((one.cumulative, one.delay, one.samples), (6, us(30), 3));
        assert!(merge(&ack(4, 10, 1, false), &ack(6, 40, 2, true)).is_none());
        assert!(merge(&ack(4, 10, 200, false), &ack(6, 40, 200, false)).is_none());
    }
}
