//! Detection of round trips without sequence numbers.

use crate::event::Ack;
use crate::units::Time;

/// The present round, which ends when a packet is acknowledged that was sent after the round began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    start: Time,
}

impl Round {
    /// Returns whether this acknowledgement ends the round; if so, the next one begins now.
    pub fn ends(&mut self, now: Time, ack: &Ack) -> bool {
        let over = ack.sent_at >= self.start;
        if over {
            self.start = now;
        }
        over
    }

    /// Starts a new round now.
    pub fn restart(&mut self, now: Time) {
        self.start = now;
    }
}
