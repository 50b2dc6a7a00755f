//! Delivery-rate samples, for algorithms that ask for them (draft-ietf-ccwg-bbr §4.1): at which rate the network has delivered the
//! newest packets in flight, and whether the application limited that rate.
//!
//! | draft | here |
//! |---|---|
//! | `C.delivered`, `C.delivered_time`, `C.first_send_time`, `C.lost`, `C.min_rtt` | `delivered`, `delivered_at`, `first_left`, `lost`, `min_rtt` |
//! | `C.app_limited` | `limited_until` |
//! | `P.send_time`, `P.first_send_time`, `P.delivered`, `P.delivered_time` | `left` of [`Sent`], `first_left`, `delivered`, `delivered_at` of [`Stamp`] |
//! | `P.is_app_limited`, `P.tx_in_flight`, `P.lost` | `app_limited`, `in_flight`, `lost` of [`Stamp`] |
//! | `RS` | [`DeliverySample`] |
//!
//! A retransmission gets a stamp of its own. Whether an acknowledgement is for it or for the earlier transmission is known by the departure
//! that the acknowledgement echoes (RFC 3522); if all packets that were lost since the last window reduction arrive without their
//! retransmissions, the losses were spurious.

#[cfg(test)]
mod tests;

use shallows_cc::event::{DeliverySample, LostPacket};
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::ledger::{Covered, Ledger, Sent, State};
use crate::host::transport::message::Message;
use crate::host::transport::selective::Arrivals;

/// What was known when a packet left last.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    first_left: Time,
    delivered_at: Time,
    delivered: Bytes,
    lost: Bytes,
    in_flight: Bytes,
    app_limited: bool,
    /// Number of the episode in which the packet was lost; zero if it was not.
    lost_in: u32,
}

/// Losses from the first one of a window reduction or timeout on, until everything that had left by then is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct Episode {
    /// Episodes are numbered from one.
    number: u32,
    /// It is over when everything below is acknowledged.
    end: u32,
    /// Packets that were lost in it and have not arrived.
    missing: u32,
    /// Whether it is over, or a retransmission was needed.
    settled: bool,
}

/// State of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    ledger: Ledger<Stamp>,
    delivered: Bytes,
    delivered_at: Time,
    first_left: Time,
    lost: Bytes,
    min_rtt: Time,
    /// The flow is limited by its application until more than this has been delivered.
    limited_until: Option<Bytes>,
    /// The newest packet that the present acknowledgement covers for the first time.
    newest: Option<Sent<Stamp>>,
    last_newest: u32,
    episode: Episode,
}

impl Delivery {
    /// Creates the state of a flow that has sent nothing.
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self {
            ledger: Ledger::new(),
            delivered: Bytes::ZERO,
            delivered_at: Time::ZERO,
            first_left: Time::ZERO,
            lost: Bytes::ZERO,
            min_rtt: Time::MAX,
            limited_until: None,
            newest: None,
            last_newest: 0,
            episode: Episode { settled: true, ..Episode::default() },
        })
    }

    /// Returns whether a packet that leaves while nothing is in flight ends an idle time.
    pub(crate) const fn is_idle(&self) -> bool {
        self.limited_until.is_some()
    }

    /// Records that a packet leaves, after which so much payload is in flight; it is `alone` if nothing else is.
    pub(crate) fn on_sent(&mut self, now: Time, seq: u32, (in_flight, alone): (Bytes, bool)) {
        if alone {
            (self.first_left, self.delivered_at) = (now, now);
        }
        let earlier = self.ledger.get(seq);
        if earlier.is_some_and(|earlier| earlier.state == State::Arrived) {
            // The receiver may have dropped it; it is counted once.
            return;
        }
        let stamp = Stamp {
            first_left: self.first_left,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            in_flight,
            app_limited: self.limited_until.is_some(),
            lost_in: earlier.map_or(0, |earlier| earlier.note.lost_in),
        };
        self.ledger.send(now, seq, stamp);
    }

    /// Notes that the application has no data to send, while so much payload is in flight and the window has space.
    pub(crate) fn on_app_limited(&mut self, in_flight: Bytes) {
        self.limited_until = Some(self.delivered + in_flight);
    }

    /// Records the arrivals that an acknowledgement reports, whose newest packet left at `answered`.
    pub(crate) fn record_arrivals(&mut self, now: Time, arrivals: Arrivals, answered: Time, message: &Message) {
        self.min_rtt = self.min_rtt.min(now - answered);
        let mut covered = Covered::by(arrivals);
        while let Some(seq) = covered.next(&mut self.ledger) {
            self.record_arrival(now, seq, answered, message);
        }
    }

    fn record_arrival(&mut self, now: Time, seq: u32, answered: Time, message: &Message) {
        let before = self.ledger.arrive(seq);
        if before == State::Arrived {
            return;
        }
        let packet = *self.ledger.known(seq);
        if packet.note.lost_in == self.episode.number && !self.episode.settled {
            self.episode.missing -= 1;
            self.episode.settled = before == State::InFlight && answered >= packet.left;
        }
        self.delivered += message.payload(seq);
        self.delivered_at = now;
        let newer = (packet.left, seq) > (self.first_left, self.last_newest);
        if self.newest.is_none() || newer {
            self.newest = Some(packet);
            (self.first_left, self.last_newest) = (packet.left, seq);
        }
    }

    /// Records that a packet is lost, while the next new one has the number `next`. Returns the packet unless its loss is known.
    pub(crate) fn on_lost(&mut self, seq: u32, next: u32, message: &Message) -> Option<LostPacket> {
        if self.ledger.get(seq)?.state != State::InFlight {
            return None;
        }
        self.ledger.lose(seq);
        let bytes = message.payload(seq);
        self.lost += bytes;
        if self.episode.settled && self.ledger.first() >= self.episode.end {
            self.episode = Episode { number: self.episode.number + 1, end: next, missing: 0, settled: false };
        }
        let stamp = self.ledger.note_mut(seq);
        if stamp.lost_in != self.episode.number {
            stamp.lost_in = self.episode.number;
            self.episode.missing += 1;
        }
        let (in_flight, app_limited) = (stamp.in_flight, stamp.app_limited);
        Some(LostPacket { bytes, in_flight, lost: self.lost - stamp.lost, app_limited, delivered: self.delivered })
    }

    /// Returns true once if all packets lost in an episode have arrived without their retransmissions.
    pub(crate) fn takes_back_losses(&mut self) -> bool {
        let Episode { missing, settled, end, .. } = self.episode;
        let spurious = missing == 0 && !settled;
        self.episode.settled |= spurious || self.ledger.first() >= end;
        if spurious {
            self.episode.end = self.ledger.first();
        }
        spurious
    }

    /// Returns the sample of an acknowledgement, after its arrivals and losses have been recorded; none if it covers nothing new.
    pub(crate) fn sample(&mut self) -> Option<DeliverySample> {
        if self.limited_until.is_some_and(|until| self.delivered > until) {
            self.limited_until = None;
        }
        let Sent { left, note: stamp, .. } = self.newest.take()?;
        let interval = (left - stamp.first_left).max(self.delivered_at - stamp.delivered_at);
        Some(DeliverySample {
            prior_delivered: stamp.delivered,
            prior_time: stamp.delivered_at,
            delivered: self.delivered - stamp.delivered,
            interval,
            implausible: interval < self.min_rtt,
            app_limited: stamp.app_limited,
            in_flight: stamp.in_flight,
            lost: self.lost - stamp.lost,
        })
    }
}
