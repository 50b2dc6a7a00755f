//! Delivery-rate samples, for algorithms that ask for them (draft-ietf-ccwg-bbr §4.1): at which rate the network has delivered the
//! newest packets in flight, and whether the application limited that rate.
//!
//! | draft | here |
//! |---|---|
//! | `C.delivered`, `C.delivered_time`, `C.first_send_time`, `C.lost`, `C.min_rtt` | `delivered`, `delivered_at`, `first_left`, `lost`, `min_rtt` |
//! | `C.app_limited` | `limited_until` |
//! | `P.send_time`, `P.first_send_time`, `P.delivered`, `P.delivered_time` | `left`, `first_left`, `delivered`, `delivered_at` of [`Stamp`] |
//! | `P.is_app_limited`, `P.tx_in_flight`, `P.lost` | `app_limited`, `in_flight`, `lost` of [`Stamp`] |
//! | `RS` | [`DeliverySample`] |
//!
//! A retransmission gets a stamp of its own. Whether an acknowledgement is for it or for the earlier transmission is known by the departure
//! that the acknowledgement echoes (RFC 3522); if all packets that were lost since the last window reduction arrive without their
//! retransmissions, the losses were spurious.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use shallows_cc::event::{DeliverySample, LostPacket};
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::message::Message;
use crate::host::transport::selective::{Arrivals, Ranges};

/// State of a packet that the cumulative acknowledgement does not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Lost,
    Arrived,
}

/// What was known when a packet left last.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    left: Time,
    first_left: Time,
    delivered_at: Time,
    delivered: Bytes,
    lost: Bytes,
    in_flight: Bytes,
    app_limited: bool,
    /// Number of the episode in which the packet was lost; zero if it was not.
    lost_in: u32,
    state: State,
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
    /// Packets from `unacked` on, and those of them that have arrived.
    stamps: VecDeque<Stamp>,
    unacked: u32,
    arrived: Ranges,
    delivered: Bytes,
    delivered_at: Time,
    first_left: Time,
    lost: Bytes,
    min_rtt: Time,
    /// The flow is limited by its application until more than this has been delivered.
    limited_until: Option<Bytes>,
    /// The newest packet that the present acknowledgement covers for the first time.
    newest: Option<(u32, Stamp)>,
    last_newest: u32,
    episode: Episode,
}

impl Delivery {
    /// Creates the state of a flow that has sent nothing.
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self {
            stamps: VecDeque::new(),
            unacked: 0,
            arrived: Ranges::default(),
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
        let earlier = self.stamps.get_mut((seq - self.unacked) as usize);
        let stamp = Stamp {
            left: now,
            first_left: self.first_left,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            in_flight,
            app_limited: self.limited_until.is_some(),
            lost_in: earlier.as_ref().map_or(0, |earlier| earlier.lost_in),
            state: State::InFlight,
        };
        match earlier {
            // The receiver may have dropped it; it is counted once.
            Some(earlier) if earlier.state == State::Arrived => {}
            Some(earlier) => *earlier = stamp,
            None => self.stamps.push_back(stamp),
        }
    }

    /// Notes that the application has no data to send, while so much payload is in flight and the window has space.
    pub(crate) fn on_app_limited(&mut self, in_flight: Bytes) {
        self.limited_until = Some(self.delivered + in_flight);
    }

    /// Records the arrivals that an acknowledgement reports, whose newest packet left at `answered`.
    pub(crate) fn record_arrivals(
        &mut self,
        now: Time,
        Arrivals { cumulative, block }: Arrivals,
        answered: Time,
        message: &Message,
    ) {
        self.min_rtt = self.min_rtt.min(now - answered);
        while self.unacked < cumulative {
            self.record_arrival(now, self.unacked, answered, message);
            self.stamps.pop_front();
            self.unacked += 1;
        }
        self.arrived.remove_below(self.unacked);
        if let Some((from, to)) = block.map(|(from, to)| (from.max(self.unacked), to)) {
            let mut seq = self.arrived.next_hole(from);
            while seq < to {
                self.record_arrival(now, seq, answered, message);
                seq = self.arrived.next_hole(seq + 1);
            }
            self.arrived.insert(from, to);
        }
    }

    fn record_arrival(&mut self, now: Time, seq: u32, answered: Time, message: &Message) {
        let stamp = &mut self.stamps[(seq - self.unacked) as usize];
        let before = std::mem::replace(&mut stamp.state, State::Arrived);
        if before == State::Arrived {
            return;
        }
        let stamp = *stamp;
        if stamp.lost_in == self.episode.number && !self.episode.settled {
            self.episode.missing -= 1;
            self.episode.settled = before == State::InFlight && answered >= stamp.left;
        }
        self.delivered += message.payload(seq);
        self.delivered_at = now;
        let newer = (stamp.left, seq) > (self.first_left, self.last_newest);
        if self.newest.is_none() || newer {
            self.newest = Some((seq, stamp));
            (self.first_left, self.last_newest) = (stamp.left, seq);
        }
    }

    /// Records that a packet is lost, while the next new one has the number `next`. Returns the packet unless its loss is known.
    pub(crate) fn on_lost(&mut self, seq: u32, next: u32, message: &Message) -> Option<LostPacket> {
        let stamp = self.stamps.get_mut(seq.checked_sub(self.unacked)? as usize)?;
        if stamp.state != State::InFlight {
            return None;
        }
        stamp.state = State::Lost;
        let bytes = message.payload(seq);
        self.lost += bytes;
        if self.episode.settled && self.unacked >= self.episode.end {
            self.episode = Episode { number: self.episode.number + 1, end: next, missing: 0, settled: false };
        }
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
        self.episode.settled |= spurious || self.unacked >= end;
        if spurious {
            self.episode.end = self.unacked;
        }
        spurious
    }

    /// Returns the sample of an acknowledgement, after its arrivals and losses have been recorded; none if it covers nothing new.
    pub(crate) fn sample(&mut self) -> Option<DeliverySample> {
        if self.limited_until.is_some_and(|until| self.delivered > until) {
            self.limited_until = None;
        }
        let (_, stamp) = self.newest.take()?;
        let interval = (stamp.left - stamp.first_left).max(self.delivered_at - stamp.delivered_at);
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
