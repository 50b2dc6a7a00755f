//! A host's NIC: which flow sends next.

use std::collections::VecDeque;

/// The flows of a host that could send, in turn.
#[derive(Debug, Default)]
pub struct Host {
    /// The egress port.
    pub port: u32,
    ready: VecDeque<u32>,
    /// Those that go before all others.
    urgent: VecDeque<u32>,
    /// Flows that it sends, ready or not.
    pub active: u32,
    /// Whether the agenda will tell when the port is idle.
    pub awaiting_port: bool,
}

impl Host {
    pub fn new(port: u32) -> Self {
        Self { port, ..Self::default() }
    }

    /// A flow joins the turn, or that of the urgent ones.
    pub fn push(&mut self, slot: u32, urgent: bool) {
        if urgent {
            self.urgent.push_back(slot);
        } else {
            self.ready.push_back(slot);
        }
    }

    /// The flow whose turn it is.
    pub fn pop(&mut self) -> Option<u32> {
        self.urgent.pop_front().or_else(|| self.ready.pop_front())
    }

    /// A flow leaves the turn before it came.
    pub fn leave(&mut self, slot: u32) {
        self.ready.retain(|&ready| ready != slot);
        self.urgent.retain(|&ready| ready != slot);
    }

    pub fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.urgent.is_empty()
    }
}
