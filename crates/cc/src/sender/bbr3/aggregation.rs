//! How much the path acknowledges at once (§5.5.9).

use std::collections::VecDeque;

use crate::sender::bbr3::law::{Law, RateSample};

/// `BBR.extra_acked`, the largest volume that was acknowledged beyond what the bandwidth gives, in recent rounds.
#[derive(Clone, Debug)]
pub struct Aggregation {
    /// `BBR.extra_acked`, B.
    pub extra_acked: f64,
    /// `BBR.extra_acked_interval_start`.
    pub(super) interval_start: f64,
    /// `BBR.extra_acked_delivered`, B.
    delivered: f64,
    /// `BBR.extra_acked_filter`: rounds and their volumes, which fall from the first on.
    filter: VecDeque<(u64, f64)>,
}

impl Aggregation {
    pub(super) fn new(now: f64) -> Self {
        Self { extra_acked: 0.0, interval_start: now, delivered: 0.0, filter: VecDeque::new() }
    }

    /// `UpdateWindowedMaxFilter()` over so many rounds, of which this is one.
    fn update(&mut self, extra: f64, round: u64, rounds: u64) {
        while self.filter.back().is_some_and(|&(_, volume)| volume <= extra) {
            self.filter.pop_back();
        }
        if self.filter.back().is_none_or(|&(then, _)| then != round) {
            self.filter.push_back((round, extra));
        }
        while self.filter.front().is_some_and(|&(then, _)| then + rounds <= round) {
            self.filter.pop_front();
        }
        self.extra_acked = self.filter.front().map_or(0.0, |&(_, volume)| volume);
    }
}

impl Law {
    /// `UpdateACKAggregation()`.
    pub(super) fn update_ack_aggregation(&mut self, rs: &RateSample) {
        let aggregation = &mut self.aggregation;
        let mut expected = self.bw * (rs.now - aggregation.interval_start);
        if aggregation.delivered <= expected {
            (aggregation.delivered, aggregation.interval_start, expected) = (0.0, rs.now, 0.0);
        }
        aggregation.delivered += rs.newly_acked;
        let extra = (aggregation.delivered - expected).min(self.cwnd);
        let rounds = if self.full_pipe.reached { self.constants.extra_acked_rounds } else { 1 };
        aggregation.update(extra, self.rounds.count, rounds);
    }
}
