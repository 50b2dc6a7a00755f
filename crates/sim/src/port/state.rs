//! States of a port with classes, and the transitions between them.
//!
//! | state | link | queue |
//! |---|---|---|
//! | idle | free | empty |
//! | sending | busy | any |
//! | stalled | free | not empty: every class that waits is paused or short of tokens, or the link is down or rests |
//!
//! The state follows from the time and the queue: a port becomes idle or stalled as its link becomes free, without an event. A
//! port is woken at the time at which a packet may be sent.

/// State of a port with classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The link is free and the queue is empty.
    Idle,
    /// The link is busy.
    Sending,
    /// The link is free and packets wait.
    Stalled,
}

/// Something that happens to a port with classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A packet is sent without waiting.
    SendDirectly,
    /// A packet joins the queue.
    Enqueue,
    /// The transmission of the first packet of a class begins.
    Dispatch,
    /// A queued packet is trimmed or lost with its link.
    Remove,
    /// A pause begins or ends, or a fault changes the link.
    Change,
}

impl State {
    /// Whether an event may lead from this state to `next`.
    pub(crate) const fn allows(self, event: Event, next: Self) -> bool {
        use State::{Idle, Sending, Stalled};
        match event {
            Event::SendDirectly => matches!((self, next), (Idle, Sending)),
            Event::Enqueue => matches!((self, next), (Idle | Stalled, Stalled) | (Sending, Sending)),
            Event::Dispatch => matches!((self, next), (Stalled, Sending)),
            Event::Remove => matches!((self, next), (Sending, Sending) | (Stalled, Stalled | Idle)),
            Event::Change => matches!((self, next), (Idle, Idle) | (Sending, Sending) | (Stalled, Stalled)),
        }
    }
}
