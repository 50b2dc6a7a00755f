//! Time series: queue lengths of ports, internal variables of senders and received payload, sampled at fixed intervals and stored in
//! columns.

use shallows_cc::units::{Bytes, Time};

use crate::lists::Lists;
use crate::spec::flow::{GoodputSpec, RecordSpec};

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

/// Payload that groups of flows have received.
#[derive(Clone, Debug, Default)]
pub struct GoodputTable {
    /// Sampling times in picoseconds.
    pub time: Vec<u64>,
    /// For each group, the payload in bytes received by each of these times.
    pub bytes: Vec<Vec<u64>>,
    /// By flow: the first sampling time at which all that it received in the run was there; 0 if it received nothing.
    pub last: Vec<u64>,
}

/// Recorder of the payload of groups of flows.
#[derive(Clone, Debug)]
pub struct GoodputRecorder {
    pub table: GoodputTable,
    /// The present interval between samples.
    pub interval: Time,
    /// By flow: its groups.
    groups: Lists,
    /// By flow: the payload at the last sample.
    delivered: Vec<u64>,
    /// By group: the payload at the last sample.
    totals: Vec<u64>,
}

impl GoodputRecorder {
    fn new(spec: &GoodputSpec, flows: usize) -> Self {
        let bytes = vec![Vec::new(); spec.flows.len()];
        let members = (0..).zip(&spec.flows).flat_map(|(group, its)| its.iter().map(move |&flow| (flow, group)));
        Self {
            table: GoodputTable { time: Vec::new(), bytes, last: vec![0; flows] },
            interval: spec.interval,
            groups: Lists::new(flows as u32, members),
            delivered: vec![0; flows],
            totals: vec![0; spec.flows.len()],
        }
    }

    /// Adds the next flow, which is in no group.
    pub(crate) fn join(&mut self) {
        self.table.last.push(0);
        self.delivered.push(0);
        self.groups.add_empty();
    }

    /// Records a sample; `received` has the payload of every flow that has received any since the last sample.
    pub(crate) fn sample(&mut self, at: Time, received: impl Iterator<Item = (u32, u64)>) {
        for (flow, now) in received {
            let before = std::mem::replace(&mut self.delivered[flow as usize], now);
            if now != before {
                self.table.last[flow as usize] = at.0;
                self.groups.of(flow).iter().for_each(|&group| self.totals[group as usize] += now - before);
            }
        }
        self.table.time.push(at.0);
        for (series, &total) in self.table.bytes.iter_mut().zip(&self.totals) {
            series.push(total);
        }
        if self.table.time.len() >= MAX_SAMPLES {
            self.interval = self.interval + self.interval;
            let columns = std::iter::once(&mut self.table.time).chain(&mut self.table.bytes);
            columns.for_each(|column| *column = column.iter().skip(1).step_by(2).copied().collect());
        }
    }
}

/// Number of samples of the payload at which every second one is forgotten.
const MAX_SAMPLES: usize = 1024;

/// Recorder of all tables during a run.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    pub queues: QueueTable,
    pub probes: ProbeTable,
    pub goodput: Option<GoodputRecorder>,
    /// Expected index of the next name: every flow reports its variables in the same order.
    next_name: usize,
}

/// Maximum number of rows of one table; a run that ends with its flows could otherwise fill the memory.
pub(crate) const MAX_ROWS: usize = 20_000_000;

impl Recorder {
    /// A recorder for a run of this number of flows.
    pub fn new(spec: &RecordSpec, flows: usize) -> Self {
        let recorded = if spec.queue_interval > Time::ZERO { spec.ports.len() } else { 0 };
        let queues = QueueTable { time: Vec::new(), bytes: vec![Vec::new(); recorded] };
        let goodput = spec.goodput.as_ref().map(|spec| GoodputRecorder::new(spec, flows));
        Self { queues, probes: ProbeTable::default(), goodput, next_name: 0 }
    }

    /// Returns true if the queue table has reached its maximum size.
    pub(crate) fn queues_full(&self) -> bool {
        self.queues.time.len() * self.queues.bytes.len() >= MAX_ROWS
    }

    /// Returns true if the probe table has reached its maximum size.
    pub fn probes_full(&self) -> bool {
        self.probes.time.len() >= MAX_ROWS
    }

    /// Records the queues of all recorded ports.
    pub(crate) fn queues(&mut self, at: Time, queues: impl Iterator<Item = Bytes>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// One byte a microsecond, for 5000 samples' time: at the 1024th sample the interval doubles, and again at each further 512.
    #[test]
    fn payload_is_kept_at_even_times_however_long_a_run_is() {
        let micros = Time::from_micros(1);
        let spec = GoodputSpec { interval: micros, flows: vec![vec![0, 1], vec![1]] };
        let mut recorder = GoodputRecorder::new(&spec, 3);
        let mut now = Time::ZERO;
        while now < micros * 5000 {
            now += recorder.interval;
            let received = now.0 / micros.0;
            recorder.sample(now, (0..3).map(|flow| (flow, if flow == 1 { received.min(1500) } else { received })));
        }
        // 1024 at 1 us, 2048 at 2 us and 4096 at 4 us; then every 8 us.
        assert_eq!(recorder.interval, micros * 8);
        let GoodputTable { time, bytes, last } = recorder.table;
        assert!(time.len() < MAX_SAMPLES && time.windows(2).all(|pair| pair[1] - pair[0] == 8 * micros.0));
        assert_eq!(time[0], 8 * micros.0);
        let at = 3000 / 8 - 1;
        assert_eq!((bytes[0][at], bytes[1][at]), (3000 + 1500, 1500));
        assert_eq!(last, [now.0, 1500 * micros.0, now.0]);
    }
}
