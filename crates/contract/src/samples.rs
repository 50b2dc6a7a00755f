//! Tables of samples, in the units of the request.

use shallows_sim::{GoodputTable, ProbeTable, QueueTable};

use crate::answer::{Goodput, Probes, Queues};

impl From<QueueTable> for Queues {
    fn from(table: QueueTable) -> Self {
        Self { time_ps: table.time, bytes: table.bytes }
    }
}

impl From<ProbeTable> for Probes {
    fn from(table: ProbeTable) -> Self {
        Self { time_ps: table.time, flow: table.flow, name: table.name, value: table.value }
    }
}

impl From<GoodputTable> for Goodput {
    fn from(table: GoodputTable) -> Self {
        Self { time_ps: table.time, bytes: table.bytes, last_ps: table.last }
    }
}
