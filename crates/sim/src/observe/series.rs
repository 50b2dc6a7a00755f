//! What is written down on the way: queues and internals at fixed times, in columns.

use shallows_cc::units::{Bytes, Time};

use crate::spec::network::RecordSpec;

/// Queues at fixed times.
#[derive(Clone, Debug, Default)]
pub struct QueueTable {
    /// When, in picoseconds.
    pub time: Vec<u64>,
    /// For every recorded port: bytes queued at each of these times, at most what 32 bits hold.
    pub bytes: Vec<Vec<u32>>,
}

/// Internals of senders at fixed times, a row each.
#[derive(Clone, Debug, Default)]
pub struct ProbeTable {
    /// What `name` counts in.
    pub names: Vec<&'static str>,
    /// When, in picoseconds.
    pub time: Vec<u64>,
    /// Of which flow.
    pub flow: Vec<u32>,
    /// Which internal.
    pub name: Vec<u16>,
    /// Its value.
    pub value: Vec<f64>,
}

/// Series under way.
#[derive(Debug, Default)]
pub struct Record {
    pub queues: QueueTable,
    pub probes: ProbeTable,
    /// The place of the name that comes next, as names come in one order for flow after flow.
    name: usize,
}

/// OwnedTable of one table that a run keeps: of one that ends with its flows nobody knows beforehand how many there will be.
pub const MOST_ROWS: usize = 20_000_000;

impl Record {
    /// Nothing yet.
    pub fn new(spec: &RecordSpec) -> Self {
        let recorded = if spec.queue_interval > Time::ZERO { spec.ports.len() } else { 0 };
        let queues = QueueTable { time: Vec::new(), bytes: vec![Vec::new(); recorded] };
        Self { queues, probes: ProbeTable::default(), name: 0 }
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
        let index = self.place(name);
        self.name = if index + 1 < self.probes.names.len() { index + 1 } else { 0 };
        let table = &mut self.probes;
        table.time.push(at.0);
        table.flow.push(flow);
        table.name.push(index as u16);
        table.value.push(value);
    }

    /// The place of a name.
    #[inline]
    fn place(&mut self, name: &'static str) -> usize {
        match self.probes.names.get(self.name) {
            Some(&next) if std::ptr::eq(next, name) => self.name,
            _ => self.look_up(name),
        }
    }

    fn look_up(&mut self, name: &'static str) -> usize {
        let names = &mut self.probes.names;
        names.iter().position(|&known| known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        })
    }
}
