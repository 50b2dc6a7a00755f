//! Marks every packet while the queue is above a threshold.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | K | `threshold` | queue above which packets are marked |
//!
//! Source: Alizadeh et al., SIGCOMM 2010 §3.1 (1). The instantaneous queue decides, not an average.

use super::{Arrival, CongestionPoint, ECN, NODROP};
use crate::parameter::{Parameter, Values, bytes};
use crate::units::{Bytes, Rate, Time};

/// Its parameters.
pub const PARAMETERS: &[Parameter] = &[
    bytes("threshold", "K", 97_500.0, 0.0..=1e12)
        .meaning("queue above which packets are marked")
        .source("SIGCOMM 2010 §3.5: 65 packets at 10 Gbps; a scenario's \"recommended\" goes by each port's rate")
        .follows("step_threshold")
        .threshold(),
    ECN,
    NODROP,
];

/// Builds the congestion point.
#[must_use]
pub fn build(values: &Values, _rate: Rate) -> Box<dyn CongestionPoint> {
    Box::new(Step::above(values.bytes("threshold")))
}

/// A step: marks no packet below K and every packet above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    threshold: Bytes,
}

impl Step {
    /// Creates a step that never marks.
    pub const NEVER: Self = Self { threshold: Bytes::MAX };

    /// Creates a step at `threshold`.
    #[must_use]
    pub const fn above(threshold: Bytes) -> Self {
        Self { threshold }
    }

    /// Returns whether a packet that sees this queue is marked.
    #[inline]
    #[must_use]
    pub fn marks(self, queue: Bytes) -> bool {
        queue > self.threshold
    }
}

impl CongestionPoint for Step {
    fn retune(&mut self, _now: Time, values: &Values, _rate: Rate) {
        *self = Self::above(values.bytes("threshold"));
    }

    fn mark_probability(&mut self, arrival: &Arrival) -> f64 {
        f64::from(u8::from(self.marks(arrival.queue)))
    }

    fn never_marks_up_to(&self) -> Option<Bytes> {
        Some(self.threshold)
    }

    fn as_step(&self) -> Option<Step> {
        Some(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_that_makes_the_queue_k_is_not_marked_and_the_next_is() {
        let step = Step::above(Bytes(35 * 1500));
        assert!(!step.marks(Bytes(35 * 1500)));
        assert!(step.marks(Bytes(36 * 1500)));
        assert!(!Step::NEVER.marks(Bytes(1 << 60)));
    }
}
