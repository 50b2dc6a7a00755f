//! Model of the timestamps that hosts and NICs take of packets: batching, noise and clock drift.
//!
//! The sources of error are those that §III of the DX paper (IEEE/ACM ToN 2017) measured. Packets that the NIC gets in one
//! burst share one timestamp. Packets that a poll or an interrupt finds get its time. The host's stack takes time between data
//! and acknowledgement. Clocks have an offset and drift. Each technique of the paper that removes one of these errors is a
//! switch. Hosts with exact timestamps do not use this model.
//!
//! Not modelled: batches of several flows of one host (each flow has its own batches); noise in the times that round-trip
//! samples of the retransmission timer use.

use shallows_cc::delay::{Calibration, Stamps};
use shallows_cc::rng::Rng;
use shallows_cc::units::Time;

use crate::spec::host::Timestamps;

/// Offset of the receiver's clock at the start of a run.
const CLOCK_OFFSET: Time = Time::from_secs_whole(1);

/// Travel time of an acknowledgement; any value works, because it cancels out.
const ACK_DELAY: Time = Time::from_secs_whole(1);

/// Timestamps of one flow.
#[derive(Clone, Debug)]
pub struct TimestampModel {
    spec: Timestamps,
    /// Time to send a full frame.
    frame_time: Time,
    rng: Rng,
    /// Start of the current TX batch, departure of its last packet, and how many more packets may join.
    batch: (Time, Time, u32),
    /// Time of the newest poll for received packets.
    poll: Time,
    tx: Calibration,
    rx: Calibration,
    /// Timestamps of the newest data packet at the sender and at the receiver.
    data: (Time, Time),
}

impl TimestampModel {
    /// Creates the model of a flow whose full frames take `frame_time` to send.
    #[must_use]
    pub fn new(spec: Timestamps, frame_time: Time, rng: Rng) -> Self {
        Self {
            spec,
            frame_time,
            rng,
            batch: (Time::ZERO, Time::ZERO, 0),
            poll: Time::ZERO,
            tx: Calibration::default(),
            rx: Calibration::default(),
            data: (Time::ZERO, Time::ZERO),
        }
    }

    /// Returns true once a random number has been drawn.
    #[must_use]
    pub const fn has_drawn(&self) -> bool {
        self.rng.has_drawn()
    }

    /// Returns the one-way delay, as timestamps show it, of a data packet that left at `sent` and arrived at `received`.
    pub fn data(&mut self, sent: Time, received: Time) -> Time {
        let (mut t1, mut t2) = (self.batch_start(sent), self.polled(received));
        if self.spec.calibrated {
            t1 = self.tx.correct(t1, self.frame_time);
            t2 = self.rx.correct(t2, self.frame_time);
        }
        self.data = (t1, t2 + self.gaussian());
        let clock = Time((received.0 as f64 * (1.0 + self.spec.drift) + 0.5) as u64);
        let late = self.data.1 + CLOCK_OFFSET - received;
        Time((clock + late).0 - t1.0)
    }

    /// Returns the error of the round-trip time, in picoseconds, for an acknowledgement that leaves `now` and answers the newest
    /// data packet, which left at `sent`. The sender subtracts it from the exact round-trip time; it may be negative.
    pub fn held(&mut self, sent: Time, now: Time) -> i64 {
        let (data_sent, data_received) = self.data;
        let ack_sent = now.max(data_received) + self.spec.stack.scale(self.rng.uniform());
        let polled = self.spec.poll.scale(self.rng.uniform());
        let stamps = Stamps { data_sent, data_received, ack_sent, ack_received: ack_sent + ACK_DELAY + polled };
        (now + ACK_DELAY - sent).0.cast_signed() - stamps.rtt(self.spec.host_delay_removed).0.cast_signed()
    }

    /// Returns the start of the TX batch of a packet.
    fn batch_start(&mut self, sent: Time) -> Time {
        let (start, last, left) = self.batch;
        let follows = sent.saturating_sub(last) <= self.frame_time + self.frame_time / 8;
        if follows && left > 0 {
            self.batch = (start, sent, left - 1);
            return start;
        }
        let max = if self.spec.burst_reduced { self.spec.bucket } else { self.spec.burst };
        let size = (self.rng.uniform() * f64::from(max)) as u32;
        self.batch = (sent, sent, size);
        sent
    }

    /// Returns the time of the poll that finds a packet.
    fn polled(&mut self, received: Time) -> Time {
        if received > self.poll {
            self.poll = received + self.spec.poll.scale(self.rng.uniform());
        }
        self.poll
    }

    /// Returns Gaussian noise, as the sum of twelve uniform draws. Its mean is six standard deviations, so that it only delays.
    fn gaussian(&mut self) -> Time {
        if self.spec.noise == Time::ZERO {
            return Time::ZERO;
        }
        let sum: f64 = (0..12).map(|_| self.rng.uniform()).sum();
        self.spec.noise.scale(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A burst has 1 to 44 packets, 22.5 on average: of 90,000 frames back to back 4000 begin one. The standard error is 0.9 %.
    #[test]
    fn bursts_have_half_of_the_largest_number_of_packets() {
        let spec = Timestamps {
            burst: 44,
            bucket: 4,
            poll: Time::ZERO,
            stack: Time::ZERO,
            noise: Time::ZERO,
            drift: 0.0,
            host_delay_removed: true,
            burst_reduced: false,
            calibrated: false,
        };
        let (frame, way) = (Time::from_nanos(1200), Time::from_micros(5));
        let mut model = TimestampModel::new(spec, frame, Rng::new(1, 1));
        let delays: Vec<_> = (1..=90_000).map(|n| model.data(frame * n, frame * n + way)).collect();
        let first = delays.iter().filter(|&&delay| delay == delays[0]).count();
        assert!((3880..4120).contains(&first), "{first}");
    }
}
