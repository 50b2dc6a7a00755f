//! State of a run that another program drives.

use std::collections::BTreeMap;
use std::sync::Arc;

use shallows_cc::units::Time;

use crate::fabric::route::Routes;
use crate::host::hosts::Completion;
use crate::host::stats::{ReceiverStats, SenderStats};
use crate::spec::network::Network;

/// State of the driver of an open run.
#[derive(Clone, Debug)]
pub(crate) struct Driver {
    /// Everything before this time has happened, and nothing else.
    pub clock: Time,
    /// Whether flows may still join.
    pub open: bool,
    /// Whether the request asks for an end with its flows, which an open run does not have.
    pub until_done: bool,
    /// Stand in for the request and the routes while these change.
    pub idle: (Arc<Network>, Arc<Routes>),
    /// Completions that have not been reported.
    pub completions: Vec<Completion>,
    pub retired: Retired,
    pub observed: Observed,
    /// The first flow that had not ended when this was last looked for.
    pub first_live: u32,
    /// That number from which on it is worth while to look for flows to retire.
    pub retire_from: u32,
}

/// What remains of flows that have been retired.
#[derive(Clone, Debug, Default)]
pub(crate) struct Retired {
    /// By flow: its part of the fingerprint.
    pub values: Vec<u64>,
    /// By host: the sum of the goodput that it has received.
    pub goodput: Vec<u64>,
}

/// What the last observation of flows has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// The counters of flows that had not ended.
    pub flows: BTreeMap<u32, (SenderStats, ReceiverStats)>,
    /// The number of flows that had joined.
    pub end: u32,
}
