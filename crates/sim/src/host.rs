//! A host's NIC: which flow sends next.

use std::collections::VecDeque;

/// The flows of a host that could send, in turn.
#[derive(Debug, Default)]
pub struct Host {
    /// The egress port.
    pub port: u32,
    ready: VecDeque<u32>,
    /// Flows that it sends, ready or not.
    pub active: u32,
    /// Whether the agenda will tell when the port is idle.
    pub awaiting_port: bool,
}

impl Host {
    pub fn new(port: u32) -> Self {
        Self { port, ..Self::default() }
    }

    /// A flow joins the turn.
    pub fn push(&mut self, slot: u32) {
        self.ready.push_back(slot);
    }

    /// The flow whose turn it is.
    pub fn pop(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }

    /// A flow leaves the turn before it came.
    pub fn leave(&mut self, slot: u32) {
        self.ready.retain(|&ready| ready != slot);
    }

    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }
}
