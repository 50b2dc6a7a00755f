//! What is written down on the way: queues and internals at fixed times, in columns.

use shallows_cc::units::Time;

use crate::answer::{ProbeTable, QueueTable};

/// Series under way.
#[derive(Debug, Default)]
pub struct Record {
    pub queues: QueueTable,
    pub probes: ProbeTable,
}

impl Record {
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
