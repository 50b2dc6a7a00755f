//! What hosts and NICs make of the times at which packets leave and arrive: batches, noise, clocks that drift.
//!
//! Sources of error, as §III of the DX paper (IEEE/ACM ToN 2017) measured them: packets handed to the NIC in
//! one burst bear one stamp; packets that a poll or an interrupt finds bear its time; the host's stack takes its
//! time between data and acknowledgement; clocks are apart and drift. Each technique of the paper that undoes one of
//! them is a switch. A host that stamps ideally has none of this, and costs nothing.
//!
//! Not modelled: batches of several flows of one host (each flow has its own), noise in the time that
//! rounds and retransmissions go by.

use shallows_cc::delay::{Calibration, Stamps};
use shallows_cc::rng::Rng;
use shallows_cc::units::Time;

use crate::spec::host::Timestamps;

/// How far the receiver's clock is ahead when a run begins.
const CLOCK_OFFSET: Time = Time::from_secs_whole(1);

/// Any time an acknowledgement may travel: it cancels out.
const BACK: Time = Time::from_secs_whole(1);

/// The stamps of one flow.
#[derive(Clone, Debug)]
pub struct TimestampModel {
    spec: Timestamps,
    /// Time to send a full frame.
    sending: Time,
    draws: Rng,
    /// When the present TX batch began, its last packet left, and how many more may join.
    batch: (Time, Time, u32),
    poll: Time,
    tx: Calibration,
    rx: Calibration,
    data: (Time, Time),
}

impl TimestampModel {
    /// For a flow whose full frames take `sending`.
    #[must_use]
    pub fn new(spec: Timestamps, sending: Time, draws: Rng) -> Self {
        Self {
            spec,
            sending,
            draws,
            batch: (Time::ZERO, Time::ZERO, 0),
            poll: Time::ZERO,
            tx: Calibration::default(),
            rx: Calibration::default(),
            data: (Time::ZERO, Time::ZERO),
        }
    }

    /// A data packet left at `sent` and arrived at `received`: its one-way delay as the stamps show it.
    pub fn data(&mut self, sent: Time, received: Time) -> Time {
        let (mut t1, mut t2) = (self.batch_begin(sent), self.polled(received));
        if self.spec.calibrated {
            t1 = self.tx.correct(t1, self.sending);
            t2 = self.rx.correct(t2, self.sending);
        }
        self.data = (t1, t2 + self.gaussian());
        let clock = Time((received.0 as f64 * (1.0 + self.spec.drift) + 0.5) as u64);
        let late = self.data.1 + CLOCK_OFFSET - received;
        Time((clock + late).0 - t1.0)
    }

    /// The last data packet, which left at `sent`, is acknowledged `now`. What the sender has to take from the
    /// time between `sent` and the acknowledgement's arrival to get the round trip as stamps show it, in picoseconds; may
    /// be negative.
    pub fn held(&mut self, sent: Time, now: Time) -> i64 {
        let (data_sent, data_received) = self.data;
        let ack_sent = now.max(data_received) + self.spec.stack.scale(self.draws.uniform());
        let polled = self.spec.poll.scale(self.draws.uniform());
        let stamps = Stamps { data_sent, data_received, ack_sent, ack_received: ack_sent + BACK + polled };
        (now + BACK - sent).0.cast_signed() - stamps.rtt(self.spec.host_delay_removed).0.cast_signed()
    }

    fn batch_begin(&mut self, sent: Time) -> Time {
        let (begin, last, left) = self.batch;
        let follows = sent.saturating_sub(last) <= self.sending + self.sending / 8;
        if follows && left > 0 {
            self.batch = (begin, sent, left - 1);
            return begin;
        }
        let most = if self.spec.burst_reduced { self.spec.bucket } else { self.spec.burst };
        let size = (self.draws.uniform() * f64::from(most)) as u32;
        self.batch = (sent, sent, size);
        sent
    }

    fn polled(&mut self, received: Time) -> Time {
        if received > self.poll {
            self.poll = received + self.spec.poll.scale(self.draws.uniform());
        }
        self.poll
    }

    /// A normal deviate, six standard deviations ahead so that it only delays: the sum of twelve uniform draws.
    fn gaussian(&mut self) -> Time {
        if self.spec.noise == Time::ZERO {
            return Time::ZERO;
        }
        let sum: f64 = (0..12).map(|_| self.draws.uniform()).sum();
        self.spec.noise.scale(sum)
    }
}
