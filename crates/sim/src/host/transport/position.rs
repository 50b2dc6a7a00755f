//! Where the sender of a flow stands in its message.

use crate::host::transport::message::Message;

/// The data of a flow, and how far its sender has come. Packets are numbered from zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    pub message: Message,
    /// All packets below have arrived.
    pub unacked: u32,
    /// The next packet, which has not been sent, or not since the sender went back.
    pub next: u32,
    /// All packets below have been sent.
    pub sent_below: u32,
}

impl Position {
    pub(crate) const fn new(message: Message) -> Self {
        Self { message, unacked: 0, next: 0, sent_below: 0 }
    }

    /// Returns whether the application has written more than was sent.
    #[inline]
    pub(crate) const fn has_data(&self) -> bool {
        self.next < self.message.available
    }

    /// Returns the number of packets between the first that has not arrived and the next.
    #[inline]
    pub(crate) const fn outstanding(&self) -> u32 {
        self.next - self.unacked
    }

    /// Moves on by one packet, and returns its number.
    #[inline]
    pub(crate) fn advance(&mut self) -> u32 {
        let seq = self.next;
        self.next += 1;
        self.sent_below = self.sent_below.max(self.next);
        seq
    }
}
