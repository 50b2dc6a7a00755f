//! What is written down on the way: queues and internals at fixed times, in columns.

use shallows_cc::units::{Bytes, Time};

use crate::answer::{ProbeTable, QueueTable};
use crate::network::RecordSpec;

/// Series under way.
#[derive(Debug, Default)]
pub struct Record {
    pub queues: QueueTable,
    pub probes: ProbeTable,
}

/// Rows of one table that a run keeps: of one that ends with its flows nobody knows beforehand how many there will be.
pub const MOST_ROWS: usize = 20_000_000;

impl Record {
    /// Nothing yet.
    pub fn new(spec: &RecordSpec) -> Self {
        let recorded = if spec.queue_interval > Time::ZERO { spec.ports.len() } else { 0 };
        let queues = QueueTable { time: Vec::new(), bytes: vec![Vec::new(); recorded] };
        Self { queues, probes: ProbeTable::default() }
    }

    /// Whether no more samples of queues fit.
    pub fn queues_full(&self) -> bool {
        self.queues.time.len() * self.queues.bytes.len() >= MOST_ROWS
    }

    /// Whether no more samples of senders fit.
    pub fn probes_full(&self) -> bool {
        self.probes.time.len() >= MOST_ROWS
    }

    /// The queues of all recorded ports.
    pub fn queues(&mut self, at: Time, queues: impl Iterator<Item = Bytes>) {
        self.queues.time.push(at.0);
        for (series, queue) in self.queues.bytes.iter_mut().zip(queues) {
            series.push(u32::try_from(queue.0).unwrap_or(u32::MAX));
        }
    }

    /// One internal of one flow.
    pub fn probe(&mut self, at: Time, flow: u32, name: &'static str, value: f64) {
        let table = &mut self.probes;
        let known = table.names.iter().position(|&n| n == name);
        let index = known.unwrap_or_else(|| {
            table.names.push(name);
            table.names.len() - 1
        });
        table.time.push(at.0);
        table.flow.push(flow);
        table.name.push(index as u16);
        table.value.push(value);
    }
}
