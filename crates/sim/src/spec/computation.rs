//! Computations, and how they and flows wait for each other.

use shallows_cc::units::Time;

use crate::spec::columns::{Cell, Row};

columns! {
    /// A computation: a processor of a host is busy for a time.
    pub struct ComputationSpec as "Computations" in ComputationColumns {
        /// The host.
        host: u32,
        /// How long the processor is busy.
        duration: Time = "duration_ps",
        /// When it is ready; if it waits for others, how long after the end of the wait.
        start: Time = "start_ps",
        /// The processor of the host. It executes one computation at a time, in the order in which they are ready.
        processor: u32,
        /// Tasks that must have ended at the host.
        after: Vec<u32>,
        /// Flows of the host, all of whose data must have left it.
        behind: Vec<u32>,
        /// How it waits for them; left out: for all, at its own host.
        wait: Wait,
    }
}

columns! {
    /// How a task waits for its predecessors.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Wait as "Waits" in WaitColumns {
        /// The number of predecessors whose end starts the task; 0 is all of them.
        needs: u32,
        /// Whether it may wait for what ends at other hosts, of which it learns in no time. The run then has one domain.
        global: bool,
    }
}

impl Wait {
    /// Waits for all predecessors, at the task's own host.
    pub const ALL: Self = Self { needs: 0, global: false };
}

impl Cell for Wait {
    type Column = Option<WaitColumns>;

    fn length(_: &Self::Column) -> Option<usize> {
        None
    }

    fn cells(column: Self::Column, count: usize) -> Result<Vec<Self>, String> {
        let Some(rows) = column.map(Self::from_columns).transpose()? else { return Ok(vec![Self::ALL; count]) };
        if rows.len() == count {
            return Ok(rows);
        }
        Err(format!("wait: {} rows, expected {count}, as many as tasks", rows.len()))
    }
}
