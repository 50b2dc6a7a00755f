//! Statistics of flows: the counters that each end keeps, and the report that combines them.

use shallows_cc::units::{Bytes, Time};

use crate::host::waits::TotalWait;

/// Result of one flow. Each field is a column of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowReport {
    /// When the flow started; [`Time::MAX`] if it never did.
    pub start: Time,
    /// When the receiver had every byte; [`Time::MAX`] if it never did.
    pub finish: Time,
    /// Completion time on an empty path, counted from the start; zero for unlimited flows.
    pub ideal: Time,
    /// Distinct payload bytes that the receiver has, in order or not.
    pub delivered: u64,
    /// The part of `delivered` that arrived after the warm-up.
    pub goodput: u64,
    /// The part of `goodput` that arrived by the flow's stop time.
    pub goodput_by_stop: u64,
    /// Retransmitted packets.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Time waited for timeouts before the finish.
    pub timeout_wait: Time,
    /// Credits that the receiver sent.
    pub credits: u64,
    /// Credits that reached the sender when it had nothing to send.
    pub credits_wasted: u64,
    /// Mean of the smoothed round-trip time over all acknowledgements; zero without any.
    pub srtt_mean: Time,
    /// Largest smoothed round-trip time.
    pub srtt_most: Time,
    /// Largest number of packets by which one arrived behind a later one.
    pub reordering: u32,
}

impl FlowReport {
    /// The part of the report that is part of the fingerprint of a run.
    pub(crate) const fn hashed(&self) -> u64 {
        self.finish.0 ^ self.delivered
    }

    /// Combines the statistics of both ends of a flow. `start` is its planned start time, or [`Time::MAX`] if it depends on
    /// other flows.
    pub fn new(sender: &SenderStats, receiver: &ReceiverStats, start: Time, ideal: Time) -> Self {
        Self {
            start: sender.start.min(start),
            finish: receiver.finish,
            ideal,
            delivered: receiver.delivered,
            goodput: receiver.delivered - receiver.in_warmup,
            goodput_by_stop: receiver.delivered.min(receiver.by_stop).saturating_sub(receiver.in_warmup),
            retransmits: sender.retransmits,
            timeouts: sender.timeouts,
            timeout_wait: sender.timeout_wait.before(receiver.finish),
            credits: receiver.credits,
            credits_wasted: sender.credits_wasted,
            srtt_mean: sender.rtt.mean(),
            srtt_most: sender.rtt.max,
            reordering: receiver.reordering,
        }
    }
}

/// Statistics that the sender of a flow keeps.
#[derive(Clone, Debug)]
pub struct SenderStats {
    /// When the flow started; [`Time::MAX`] before that.
    pub start: Time,
    /// Packets sent, each once however often it is sent again.
    pub packets: u32,
    pub retransmits: u64,
    pub timeouts: u64,
    pub timeout_wait: TotalWait,
    pub credits_wasted: u64,
    /// Payload acknowledged, and the part of it that was marked.
    pub acked: Bytes,
    pub marked: Bytes,
    pub rtt: RttStats,
}

impl SenderStats {
    /// Statistics of a flow that has not started.
    pub const NONE: Self = Self {
        start: Time::MAX,
        packets: 0,
        retransmits: 0,
        timeouts: 0,
        timeout_wait: TotalWait::NONE,
        credits_wasted: 0,
        acked: Bytes::ZERO,
        marked: Bytes::ZERO,
        rtt: RttStats::NONE,
    };
}

/// Mean and maximum of the smoothed round-trip time of a flow, with one sample for each acknowledgement (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttStats {
    samples: u64,
    /// Sum in picoseconds. 64 bits would hold 213 days: 2.5 minutes of a flow at 1.6 Tbps with a round trip of 1 ms.
    sum: u128,
    pub max: Time,
}

impl RttStats {
    /// Statistics without samples.
    pub const NONE: Self = Self { samples: 0, sum: 0, max: Time::ZERO };

    #[inline]
    pub fn record(&mut self, srtt: Time) {
        self.samples += 1;
        self.sum += u128::from(srtt.0);
        self.max = self.max.max(srtt);
    }

    /// The number of samples since an earlier state, and their mean; zero without any.
    pub(crate) fn since(&self, earlier: &Self) -> (u64, Time) {
        let samples = self.samples - earlier.samples;
        (samples, Time(((self.sum - earlier.sum) / u128::from(samples.max(1))) as u64))
    }

    /// Mean of the samples; zero without any.
    pub fn mean(&self) -> Time {
        Time((self.sum / u128::from(self.samples.max(1))) as u64)
    }
}

/// Statistics that the receiver of a flow keeps.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverStats {
    /// When every byte had arrived; [`Time::MAX`] before that.
    pub finish: Time,
    /// Distinct payload bytes that have arrived, in order or not.
    pub delivered: u64,
    /// The part of `delivered` that arrived before the end of the warm-up.
    pub in_warmup: u64,
    /// The part of `delivered` that arrived by the flow's stop time; [`u64::MAX`] before that time.
    pub by_stop: u64,
    pub credits: u64,
    pub reordering: u32,
}

impl ReceiverStats {
    /// Statistics of a flow of which nothing has arrived.
    pub const NONE: Self =
        Self { finish: Time::MAX, delivered: 0, in_warmup: 0, by_stop: u64::MAX, credits: 0, reordering: 0 };
}

/// Progress of an unfinished flow, for the detection of stalls.
#[derive(Clone, Copy, Debug)]
pub struct FlowProgress {
    pub flow: u32,
    /// Distinct payload bytes at its receiver.
    pub progress: u64,
    pub timeouts: u64,
    /// Whether a pending pacing timer or the application will let it send again.
    pub paced: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow at 1.6 Tbps has 1.3e8 samples of 1 ms in a second: after 138 s their sum exceeds 64 bits.
    #[test]
    fn a_mean_round_trip_is_right_beyond_64_bits_of_picoseconds() {
        let samples = 140 * 133_333_333_u64;
        let earlier = u128::from(samples - 1) * 1_000_000_000;
        let mut rtt = RttStats { samples: samples - 1, sum: earlier, max: Time::ZERO };
        assert!(earlier > u128::from(u64::MAX));
        rtt.record(Time::from_millis(1));
        assert_eq!(rtt.mean(), Time::from_millis(1));
    }
}
