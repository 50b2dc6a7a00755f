//! Echoes the network's marks in the acknowledgements.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | m | `acks_every` | data packets an acknowledgement covers |
//! | DCTCP.CE | `marked` | whether the packets not yet acknowledged were marked |
//! | ECE | `latched` | RFC 3168's echo, on until the sender says it has reacted |
//!
//! Source: [`Accurate`] is RFC 8257 §3.2 (with `acks_every` 1 it echoes packet by packet);
//! [`Classic`] is RFC 3168 §6.1.3.

use super::{Data, Echo, Receiver, Reply};
use crate::parameter::Values;
use crate::units::Time;

/// Says for every packet whether it was marked: when the mark changes, what came before is acknowledged
/// first (RFC 8257 Fig. 1).
#[derive(Clone, Copy, Debug)]
pub struct Accurate {
    acks_every: u32,
    pending: u32,
    marked: bool,
}

impl Accurate {
    /// For acknowledgements that cover `acks_every` packets.
    #[must_use]
    pub const fn new(acks_every: u32) -> Self {
        Self { acks_every, pending: 0, marked: false }
    }

    /// For acknowledgements that cover `acks_every` packets.
    #[must_use]
    pub fn boxed(_values: &Values, acks_every: u32) -> Box<dyn Receiver> {
        Box::new(Self::new(acks_every))
    }
}

impl Receiver for Accurate {
    fn on_data(&mut self, _now: Time, data: &Data) -> Reply {
        let mut reply = Reply::default();
        if data.marked != self.marked {
            if self.pending > 0 {
                reply.earlier = Some(Echo { marked: self.marked });
                self.pending = 0;
            }
            self.marked = data.marked;
        }
        self.pending += 1;
        if self.pending >= self.acks_every || !data.in_order {
            reply.now = Some(Echo { marked: self.marked });
            self.pending = 0;
        }
        reply
    }

    fn on_timer(&mut self, _now: Time) -> Echo {
        self.pending = 0;
        Echo { marked: self.marked }
    }
}

/// Echoes a mark in every acknowledgement until the sender reports a smaller window.
#[derive(Clone, Copy, Debug)]
pub struct Classic {
    acks_every: u32,
    pending: u32,
    latched: bool,
}

impl Classic {
    /// For acknowledgements that cover `acks_every` packets.
    #[must_use]
    pub fn boxed(_values: &Values, acks_every: u32) -> Box<dyn Receiver> {
        Box::new(Self { acks_every, pending: 0, latched: false })
    }
}

impl Receiver for Classic {
    fn on_data(&mut self, _now: Time, data: &Data) -> Reply {
        // A packet can both report the reduction and be marked anew.
        self.latched = data.marked || (self.latched && !data.window_reduced);
        self.pending += 1;
        let due = self.pending >= self.acks_every || !data.in_order;
        if due {
            self.pending = 0;
        }
        Reply { earlier: None, now: due.then_some(Echo { marked: self.latched }) }
    }

    fn on_timer(&mut self, _now: Time) -> Echo {
        self.pending = 0;
        Echo { marked: self.latched }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Values {
        Values::defaults(&[])
    }

    fn data(marked: bool) -> Data {
        Data { marked, in_order: true, ..Data::default() }
    }

    const fn echo(marked: bool) -> Option<Echo> {
        Some(Echo { marked })
    }

    #[test]
    fn dctcp_acknowledges_the_past_before_the_mark_changes() {
        let mut receiver = Accurate::boxed(&none(), 2);
        let replies: Vec<_> =
            [false, true, true, true, false].iter().map(|&m| receiver.on_data(Time::ZERO, &data(m))).collect();
        assert_eq!(replies[0], Reply::default());
        assert_eq!(replies[1], Reply { earlier: echo(false), now: None });
        assert_eq!(replies[2], Reply { earlier: None, now: echo(true) });
        assert_eq!(replies[3], Reply::default());
        assert_eq!(replies[4], Reply { earlier: echo(true), now: None });
    }

    #[test]
    fn every_packet_is_acknowledged_when_each_must_be() {
        let mut receiver = Accurate::boxed(&none(), 1);
        assert_eq!(receiver.on_data(Time::ZERO, &data(true)), Reply { earlier: None, now: echo(true) });
        assert_eq!(receiver.on_data(Time::ZERO, &data(false)), Reply { earlier: None, now: echo(false) });
    }

    #[test]
    fn a_gap_is_reported_at_once() {
        let mut receiver = Accurate::boxed(&none(), 2);
        let reply = receiver.on_data(Time::ZERO, &Data { in_order: false, ..data(false) });
        assert_eq!(reply.now, echo(false));
    }

    /// The timer acknowledges what waits: the next packet is the first of two again (RFC 5681 §4.2).
    #[test]
    fn two_packets_after_the_timer_are_acknowledged_together() {
        for mut receiver in [Accurate::boxed(&none(), 2), Classic::boxed(&none(), 2)] {
            assert_eq!(receiver.on_data(Time::ZERO, &data(true)).now, None);
            assert_eq!(receiver.on_timer(Time::ZERO), Echo { marked: true });
            assert_eq!(receiver.on_data(Time::ZERO, &data(true)), Reply::default());
            assert_eq!(receiver.on_data(Time::ZERO, &data(true)), Reply { earlier: None, now: echo(true) });
        }
    }

    #[test]
    fn the_classic_echo_stays_on_until_the_window_was_reduced() {
        let mut receiver = Classic::boxed(&none(), 1);
        assert_eq!(receiver.on_data(Time::ZERO, &data(true)).now, echo(true));
        assert_eq!(receiver.on_data(Time::ZERO, &data(false)).now, echo(true));
        let reduced = Data { window_reduced: true, ..data(false) };
        assert_eq!(receiver.on_data(Time::ZERO, &reduced).now, echo(false));
    }
}
