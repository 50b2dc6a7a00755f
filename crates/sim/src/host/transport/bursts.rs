//! Segments of a RoCE flow, and the bursts in which their frames may leave.

use shallows_cc::sender::Segments;
use shallows_cc::units::{Bytes, Rate, Time};

use crate::host::transport::gate::Gate;

/// Segments of one flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bursts {
    /// Frames of a segment.
    pub segment: u32,
    /// Whether a segment leaves in a burst, with the gap after it.
    at_once: bool,
    /// Rate within a burst, and when its next frame may leave.
    rate: Option<Rate>,
    until: Time,
}

impl Bursts {
    pub fn new(segments: Segments, mss: Bytes) -> Self {
        let segment = segments.size.0.div_ceil(mss.0).max(1) as u32;
        Self { segment, at_once: segments.at_once, rate: segments.burst_rate, until: Time::ZERO }
    }

    /// Returns true if a frame leaves in the burst of the previous one.
    #[inline]
    pub(crate) fn continue_at(&self, seq: u32) -> bool {
        self.at_once && !seq.is_multiple_of(self.segment)
    }

    /// Returns when the next frame of the burst may leave, if not now.
    #[inline]
    pub fn wait_until(&self, now: Time) -> Option<Time> {
        (self.until > now).then_some(self.until)
    }

    /// Counts a frame that leaves, `in_burst` or after a gap, in the pacing of its flow.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, length: Bytes, in_burst: bool, gate: &mut Gate) {
        let paced = gate.next_paced;
        gate.advance_pacing(if in_burst { paced } else { paced.max(now) }, length);
        if let Some(rate) = self.rate {
            self.until = (now + rate.time_to_send(length)).min(gate.next_paced);
        }
    }

    /// Returns the end of the segment of which frames below `next` have been sent. A segment is always sent to its end.
    pub fn end(&self, next: u32) -> u32 {
        next.next_multiple_of(self.segment)
    }
}
