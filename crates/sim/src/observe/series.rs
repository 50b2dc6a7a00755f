//! Time series: queue lengths of ports and internal variables of senders, sampled at fixed intervals and stored in columns.

use shallows_cc::units::{Bytes, Time};

use crate::spec::network::RecordSpec;

/// Queue lengths at fixed times.
#[derive(Clone, Debug, Default)]
pub struct QueueTable {
    /// Sampling times in picoseconds.
    pub time: Vec<u64>,
    /// For each recorded port, the queue in bytes at each of these times; values above [`u32::MAX`] are clipped.
    pub bytes: Vec<Vec<u32>>,
}

/// Internal variables of senders at fixed times, one row for each value.
#[derive(Clone, Debug, Default)]
pub struct ProbeTable {
    /// Names of the variables; the column `name` holds indices into this list.
    pub names: Vec<&'static str>,
    /// Sampling times in picoseconds.
    pub time: Vec<u64>,
    /// Flow numbers.
    pub flow: Vec<u32>,
    /// Indices into `names`.
    pub name: Vec<u16>,
    /// Values.
    pub value: Vec<f64>,
}

/// Recorder of both tables during a run.
#[derive(Debug, Default)]
pub struct Recorder {
    pub queues: QueueTable,
    pub probes: ProbeTable,
    /// Expected index of the next name: every flow reports its variables in the same order.
    next_name: usize,
}

/// Maximum number of rows of one table; a run that ends with its flows could otherwise fill the memory.
pub const MAX_ROWS: usize = 20_000_000;

impl Recorder {
    pub fn new(spec: &RecordSpec) -> Self {
        let recorded = if spec.queue_interval > Time::ZERO { spec.ports.len() } else { 0 };
        let queues = QueueTable { time: Vec::new(), bytes: vec![Vec::new(); recorded] };
        Self { queues, probes: ProbeTable::default(), next_name: 0 }
    }

    /// Returns true if the queue table has reached its maximum size.
    pub fn queues_full(&self) -> bool {
        self.queues.time.len() * self.queues.bytes.len() >= MAX_ROWS
    }

    /// Returns true if the probe table has reached its maximum size.
    pub fn probes_full(&self) -> bool {
        self.probes.time.len() >= MAX_ROWS
    }

    /// Records the queues of all recorded ports.
    pub fn queues(&mut self, at: Time, queues: impl Iterator<Item = Bytes>) {
        self.queues.time.push(at.0);
        for (series, queue) in self.queues.bytes.iter_mut().zip(queues) {
            series.push(u32::try_from(queue.0).unwrap_or(u32::MAX));
        }
    }

    /// Records one variable of one flow.
    pub fn probe(&mut self, at: Time, flow: u32, name: &'static str, value: f64) {
        let index = self.name_index(name);
        self.next_name = if index + 1 < self.probes.names.len() { index + 1 } else { 0 };
        let table = &mut self.probes;
        table.time.push(at.0);
        table.flow.push(flow);
        table.name.push(index as u16);
        table.value.push(value);
    }

    #[inline]
    fn name_index(&mut self, name: &'static str) -> usize {
        match self.probes.names.get(self.next_name) {
            Some(&next) if std::ptr::eq(next, name) => self.next_name,
            _ => self.find_name(name),
        }
    }

    fn find_name(&mut self, name: &'static str) -> usize {
        let names = &mut self.probes.names;
        names.iter().position(|&known| known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        })
    }
}
