//! What `shallows` asks for: the request of docs/crossing.md in JSON.

use serde::Deserialize;
use shallows_cc::port::{self, MarkAt};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::network::{Marking, PortSpec};

use crate::Outcome;

/// A scenario, in integers.
#[derive(Debug, Deserialize)]
pub struct Request {
    pub hosts: u32,
    pub nodes: u32,
    pub links: Links,
    pub markings: Vec<MarkingTable>,
    pub flows: Flows,
    pub ccs: Vec<Control>,
    pub host: Host,
    pub mtu_bytes: u64,
    pub header_bytes: u64,
    pub duration_ps: u64,
    pub until_done: bool,
    pub warmup_ps: u64,
    pub seed: u64,
    /// Whether the network's thread is to go before everything else on this machine.
    #[serde(default)]
    pub real_time: bool,
    pub record: Record,
}

#[derive(Debug, Deserialize)]
pub struct Links {
    pub from: Vec<u32>,
    pub to: Vec<u32>,
    pub rate_bps: Vec<u64>,
    pub delay_ps: Vec<u64>,
    pub buffer_bytes: Vec<u64>,
    pub marking: Vec<u32>,
}

#[derive(Debug, Deserialize)]
pub struct MarkingTable {
    pub kind: String,
    #[serde(default)]
    pub at: String,
    #[serde(default)]
    pub parameters: std::collections::BTreeMap<String, f64>,
}

#[derive(Debug, Deserialize)]
pub struct Flows {
    pub src: Vec<u32>,
    pub dst: Vec<u32>,
    pub bytes: Vec<u64>,
    pub start_ps: Vec<u64>,
    pub stop_ps: Vec<u64>,
    #[serde(default)]
    pub after: Vec<u32>,
    pub cc: Vec<u32>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Control {
    pub name: String,
    pub parameters: std::collections::BTreeMap<String, f64>,
    /// In place of the algorithm's own.
    pub receiver: Option<Receiver>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Receiver {
    pub kind: String,
    pub parameters: std::collections::BTreeMap<String, f64>,
}

/// What is put on a real host: an algorithm for what it sends, a receiver for what it is sent, or both.
#[derive(Debug, Deserialize)]
pub struct Attachment {
    pub control: Option<Control>,
    pub receiver: Option<Receiver>,
    /// The device that its packets take.
    pub interface: String,
    /// Whose sockets: a control group's directory.
    pub control_group: Option<String>,
    /// Whether everyone's on this host are meant, where no control group is named.
    #[serde(default)]
    pub host: bool,
    /// Whether to say what would be done, and do nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// A quick test of two hosts.
#[derive(Debug, Deserialize)]
pub struct Cable {
    pub control: Control,
    pub seconds: f64,
    /// What the sender keeps to; 0: as fast as it goes.
    pub rate_bps: u64,
    /// Whether iperf3 makes the traffic.
    pub iperf3: bool,
}

#[derive(Debug, Deserialize)]
pub struct Host {
    pub initial_window_bytes: u64,
    pub rto_min_ps: u64,
    pub acks_every: u32,
}

#[derive(Debug, Deserialize)]
pub struct Record {
    pub queue_interval_ps: u64,
    pub queue_links: Vec<u32>,
    pub probe_interval_ps: u64,
    pub probe_flows: Vec<u32>,
}

impl Request {
    /// The ports of the network.
    pub fn ports(&self) -> Vec<PortSpec> {
        let links = &self.links;
        (0..links.from.len())
            .map(|at| PortSpec {
                from: links.from[at],
                to: links.to[at],
                rate: Rate(links.rate_bps[at]),
                delay: Time(links.delay_ps[at]),
                buffer: Bytes(links.buffer_bytes[at]),
                marking: Some(links.marking[at]),
                discipline: None,
            })
            .collect()
    }

    /// How they mark.
    pub fn markings(&self) -> Outcome<Vec<Option<Marking>>> {
        self.markings.iter().map(MarkingTable::build).collect()
    }
}

impl MarkingTable {
    fn build(&self) -> Outcome<Option<Marking>> {
        if self.kind == "none" {
            return Ok(None);
        }
        let mechanism = port::find(&self.kind).ok_or_else(|| format!("no marking {:?}", self.kind))?;
        let mut values = shallows_cc::parameter::Values::defaults(mechanism.parameters);
        for (name, &value) in &self.parameters {
            values.set(name, value)?;
        }
        let at = if self.at == "dequeue" { MarkAt::Dequeue } else { MarkAt::Enqueue };
        Ok(Some(Marking { mechanism, values, at }))
    }
}
