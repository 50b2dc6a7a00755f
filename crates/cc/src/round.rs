//! Once a round trip, without sequence numbers.

use crate::event::Ack;
use crate::units::Time;

/// Feedback when a round is over: when a packet sent after the round began is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    start: Time,
}

impl Round {
    /// Whether this acknowledgement ends the round; if so, the next one begins now.
    pub fn ends(&mut self, now: Time, ack: &Ack) -> bool {
        let over = ack.sent_at >= self.start;
        if over {
            self.start = now;
        }
        over
    }

    /// Starts a round now, whatever was under way.
    pub fn restart(&mut self, now: Time) {
        self.start = now;
    }
}
