//! Flows: what is sent from where to where, and when.

use shallows_cc::units::{Bytes, Time};

use crate::spec::application::{Application, ApplicationColumns};
use crate::spec::columns::{Cell, Row};
use crate::spec::computation::Wait;

columns! {
    /// One transfer.
    pub struct FlowSpec as "Flows" in FlowColumns {
        /// The host that sends.
        src: u32,
        /// The host that receives.
        dst: u32,
        /// Payload; `2**64-1` is unlimited.
        bytes: Bytes,
        /// When the flow starts; if it waits for others, how long after the last of them has finished.
        start: Time = "start_ps",
        /// When the flow stops: afterwards it sends no new data. `2**64-1` is never.
        stop: Time = "stop_ps",
        /// Tasks (flows, then computations) that must end before this flow starts. Such a flow has no `stop_ps`. A flow has ended
        /// when the host where this one starts has received, or knows to be acknowledged, all of it.
        after: Vec<u32>,
        /// Flows of the same host, all of whose data must have left the host before this one starts, as with messages that one
        /// connection sends in order.
        behind: Vec<u32>,
        /// How it waits for these; left out: for all, at its own host.
        wait: Wait,
        /// When the application behind the flow writes; left out: everything at the start.
        application: Application,
        /// Traffic class of its packets, acknowledgements included: an index into `classes`.
        class: u32,
        /// Index of its algorithm in `ccs`.
        control: u32 = "cc",
    }
}

impl FlowSpec {
    /// A flow that waits for no other and is not stopped, with everything written at its start, in the first class and under the first
    /// algorithm.
    #[must_use]
    pub const fn new(src: u32, dst: u32, bytes: Bytes, start: Time) -> Self {
        Self {
            src,
            dst,
            bytes,
            start,
            stop: Time::MAX,
            after: Vec::new(),
            behind: Vec::new(),
            wait: Wait::ALL,
            application: Application::EAGER,
            class: 0,
            control: 0,
        }
    }

    /// Returns whether the flow waits for no other.
    #[must_use]
    pub fn starts_by_itself(&self) -> bool {
        self.after.is_empty() && self.behind.is_empty()
    }
}

columns! {
    /// A dependency of one flow or computation on a task.
    pub struct Predecessor as "Predecessors" in PredecessorColumns {
        /// The row that waits: the number of a flow, or of a computation.
        flow: u32,
        /// The task that it waits for: the number of a flow, or that of a computation plus the number of flows.
        predecessor: u32,
    }
}

/// Tasks that a row waits for.
impl Cell for Vec<u32> {
    type Column = Option<PredecessorColumns>;

    fn length(_: &Self::Column) -> Option<usize> {
        None
    }

    fn cells(column: Self::Column, count: usize) -> Result<Vec<Self>, String> {
        let mut lists = vec![Self::new(); count];
        for Predecessor { flow, predecessor } in column.map(Predecessor::from_columns).transpose()?.unwrap_or_default()
        {
            let list = lists.get_mut(flow as usize);
            list.ok_or_else(|| format!("after, behind: row {flow} is not one of {count}"))?.push(predecessor);
        }
        Ok(lists)
    }
}

impl Cell for Application {
    type Column = Option<ApplicationColumns>;

    fn length(_: &Self::Column) -> Option<usize> {
        None
    }

    fn cells(column: Self::Column, count: usize) -> Result<Vec<Self>, String> {
        let Some(rows) = column.map(Self::from_columns).transpose()? else { return Ok(vec![Self::EAGER; count]) };
        if rows.len() == count {
            return Ok(rows);
        }
        Err(format!("application: {} rows, expected {count}, as many as flows", rows.len()))
    }
}

request! {
    /// Samples of the payload that groups of flows have received.
    pub struct GoodputSpec as "GoodputRecord" {
        /// First interval between samples. It doubles, and every second sample is forgotten, whenever there are 1024.
        interval: Time = "interval_ps",
        /// Groups of flows.
        flows: Vec<Vec<u32>>,
    }
}

request! {
    /// What is sampled over time.
    #[derive(Default)]
    pub struct RecordSpec as "Record" {
        /// `record.queues`; 0 is off.
        queue_interval: Time = "queue_interval_ps",
        /// Links whose queues are sampled.
        ports: Vec<u32> = "queue_links",
        /// `record.probes`; 0 is off.
        probe_interval: Time = "probe_interval_ps",
        /// Flows whose senders are sampled.
        flows: Vec<u32> = "probe_flows",
        /// The payload that groups of flows have received, if it is sampled.
        goodput: Option<GoodputSpec>,
    }
}
