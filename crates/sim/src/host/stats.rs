//! What became of flows, as each end saw it, and who waits for whom.

use std::collections::BTreeMap;

use shallows_cc::units::Time;

use crate::spec::network::Network;

/// What became of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowReport {
    /// When it began; [`Time::MAX`] is never.
    pub start: Time,
    /// When the receiver had every byte; [`Time::MAX`] is never.
    pub finish: Time,
    /// The same on an empty path, counted from the start; zero for unlimited flows.
    pub ideal: Time,
    /// Payload that the receiver has, in whatever order it came.
    pub delivered: u64,
    /// The part of it that came after the warm-up.
    pub goodput: u64,
    /// The part of that which came by the flow's stop.
    pub goodput_by_stop: u64,
    /// Packets sent again.
    pub retransmits: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Credits that its receiver handed out.
    pub credits: u64,
    /// Those that came and found nothing to send.
    pub credits_wasted: u64,
    /// Mean smoothed round trip over its acknowledgements; zero where it has none.
    pub srtt_mean: Time,
    /// And the largest.
    pub srtt_most: Time,
}

/// What the sender of a flow has to tell.
#[derive(Clone, Copy, Debug)]
pub struct SenderStats {
    /// When it began; [`Time::MAX`] is not yet.
    pub start: Time,
    pub retransmits: u32,
    pub timeouts: u32,
    pub credits_wasted: u64,
    pub smoothed: RttStats,
}

/// RttStats round trips of a flow, one an acknowledgement (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttStats {
    samples: u64,
    sum: u64,
    /// The largest.
    pub most: Time,
}

impl RttStats {
    pub const NOTHING: Self = Self { samples: 0, sum: 0, most: Time::ZERO };

    #[inline]
    pub fn record(&mut self, srtt: Time) {
        self.samples += 1;
        // It holds 213 days, added up.
        self.sum = self.sum.saturating_add(srtt.0);
        self.most = self.most.max(srtt);
    }

    /// Their mean; zero without any.
    pub fn mean(&self) -> Time {
        Time(self.sum / self.samples.max(1))
    }
}

impl SenderStats {
    /// Of a flow that has not begun.
    pub const NOTHING: Self =
        Self { start: Time::MAX, retransmits: 0, timeouts: 0, credits_wasted: 0, smoothed: RttStats::NOTHING };
}

/// What its receiver has to tell.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverStats {
    /// When every byte was there; [`Time::MAX`] is not yet.
    pub finish: Time,
    /// Payload that is there, in whatever order it came, and how much of it came before the warm-up's end.
    pub delivered: u64,
    pub in_warmup: u64,
    /// How much of it came by the flow's stop; all, where it has none or that is to come.
    pub by_stop: u64,
    pub credits: u64,
}

impl ReceiverStats {
    /// Of a flow of which nothing has come.
    pub const NOTHING: Self = Self { finish: Time::MAX, delivered: 0, in_warmup: 0, by_stop: u64::MAX, credits: 0 };
}

/// Both together; `start` is when it is due to begin, where that is known.
pub fn report(sent: &SenderStats, received: &ReceiverStats, start: Time, ideal: Time) -> FlowReport {
    FlowReport {
        start: sent.start.min(start),
        finish: received.finish,
        ideal,
        delivered: received.delivered,
        goodput: received.delivered - received.in_warmup,
        goodput_by_stop: received.delivered.min(received.by_stop).saturating_sub(received.in_warmup),
        retransmits: sent.retransmits,
        timeouts: sent.timeouts,
        credits: received.credits,
        credits_wasted: sent.credits_wasted,
        srtt_mean: sent.smoothed.mean(),
        srtt_most: sent.smoothed.most,
    }
}

/// Who begins where a flow ends.
#[derive(Debug, Default)]
pub struct Dependents {
    of: BTreeMap<u32, Vec<u32>>,
}

impl Dependents {
    pub fn new(network: &Network) -> Self {
        let mut of = BTreeMap::<_, Vec<_>>::new();
        for (flow, number) in network.flows.iter().zip(0..) {
            if let Some(first) = flow.after {
                of.entry(first).or_default().push(number);
            }
        }
        Self { of }
    }

    /// The flows that wait for this one.
    pub fn of(&self, flow: u32) -> &[u32] {
        self.of.get(&flow).map_or(&[], Vec::as_slice)
    }
}
