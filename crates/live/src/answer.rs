//! Parts of the answer that only this world has: the record of lateness, and the test of two hosts on a cable.

use serde::Serialize;
use shallows_contract::answer::{Lateness, Probes};

use crate::wire::Report;

/// Names of sender samples; the suffix is the unit.
pub const PROBE_NAMES: &[&str] =
    &["window_pkt", "rtt_us", "alpha", "queueing_delay_us", "base_rtt_us", "one_way_delay_us", "stamped_rtt_us"];

/// Adds a sample.
pub fn push(probes: &mut Probes, time_ps: u64, flow: u32, name: &str, value: f64) {
    probes.time_ps.push(time_ps);
    probes.flow.push(flow);
    probes.name.push(PROBE_NAMES.iter().position(|known| *known == name).expect("a known name") as u16);
    probes.value.push(value);
}

/// The verdict on the record.
#[derive(Debug)]
pub struct Judged {
    /// Why the run is rejected.
    pub reason: Option<String>,
    pub given_up: f64,
    pub round_trips: Option<(f64, f64)>,
    pub measured_ns: Option<u64>,
}

impl Judged {
    pub fn lateness(self, report: &Report, round_trip_ns: u64) -> Lateness {
        let Report { lateness: record, stamps, unroutable, .. } = report;
        let Self { reason, given_up, round_trips, measured_ns } = self;
        Lateness {
            accepted: reason.is_none(),
            reason,
            round_trip_us: round_trip_ns as f64 / 1000.0,
            deliveries: (&record.deliveries).into(),
            looks: (&record.looks).into(),
            stamps: (stamps.rounds.count() > 0).then(|| (&stamps.rounds).into()),
            given_up,
            seen_round_trip_us: round_trips.map(|(seen, _)| seen),
            network_round_trip_us: round_trips.map(|(_, network)| network),
            headroom_us: measured_ns.map(|nanos| nanos as f64 / 1000.0),
            longest_gap_us: record.longest_gap as f64 / 1000.0,
            stalled_us: record.stalled as f64 / 1000.0,
            unroutable: *unroutable,
        }
    }
}

/// Measurements of two hosts joined by a cable.
#[derive(Debug, Serialize)]
pub struct TwoHosts {
    pub traffic: &'static str,
    pub congestion_control: String,
    pub goodput_bps: f64,
    pub retransmits: u64,
    pub checksum_errors: u64,
    /// By timestamps, relative to the first; `None` if the algorithm uses none.
    pub one_way_delay: Option<Varies>,
    /// By the kernel, for the same acknowledgements.
    pub kernel_rtt: Option<Varies>,
}

/// Distribution of a delay.
#[derive(Debug, Serialize)]
pub struct Varies {
    count: usize,
    mean_us: f64,
    std_us: f64,
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
}

impl Varies {
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let mean_us = values.iter().sum::<f64>() / count as f64;
        let variance = values.iter().map(|value| (value - mean_us).powi(2)).sum::<f64>() / count as f64;
        let quantile = |share: f64| values[((count - 1) as f64 * share) as usize];
        Some(Self {
            count,
            mean_us,
            std_us: variance.sqrt(),
            p50_us: quantile(0.5),
            p99_us: quantile(0.99),
            max_us: quantile(1.0),
        })
    }
}
