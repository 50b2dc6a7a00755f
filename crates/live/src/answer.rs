//! What `shallows` gets: the answer of docs/crossing.md in JSON, with the record of lateness.

use serde::Serialize;
use shallows_cc::units::Bytes;
use shallows_live::lateness::Delays;
use shallows_sim::answer::QueueTable;
use shallows_sim::port::PortReport;

use crate::wire::Report;

#[derive(Debug, Serialize)]
pub struct Answer {
    pub events: u64,
    pub packet_hops: u64,
    pub ended_ps: u64,
    pub measured_ps: u64,
    pub interrupted: bool,
    pub flows: Flows,
    pub ports: Ports,
    pub queues: Queues,
    pub queue_histograms: Vec<Histogram>,
    pub probe_names: &'static [&'static str],
    pub probes: Probes,
    pub books: Books,
    pub lateness: LatenessTable,
}

#[derive(Debug, Default, Serialize)]
pub struct Flows {
    pub start_ps: Vec<u64>,
    pub finish_ps: Vec<u64>,
    pub ideal_ps: Vec<u64>,
    pub delivered_bytes: Vec<u64>,
    pub goodput_bytes: Vec<u64>,
    pub retransmits: Vec<u32>,
    pub timeouts: Vec<u32>,
}

#[derive(Debug, Serialize)]
pub struct Ports {
    sent: Vec<u64>,
    sent_bytes: Vec<u64>,
    marked: Vec<u64>,
    dropped: Vec<u64>,
    dropped_in_warmup: Vec<u64>,
    busy_ps: Vec<u64>,
    pauses: Vec<u64>,
    paused_ps: Vec<u64>,
    queue_mean_bytes: Vec<f64>,
    queue_p50_bytes: Vec<f64>,
    queue_p99_bytes: Vec<f64>,
    queue_max_bytes: Vec<f64>,
    delay_mean_ps: Vec<f64>,
    delay_p99_ps: Vec<f64>,
}

impl Ports {
    pub fn new(ports: &[PortReport], measured_ps: u64, mtu: Bytes) -> Self {
        let counts = |value: fn(&PortReport) -> u64| ports.iter().map(value).collect();
        let reals = |value: &dyn Fn(&PortReport) -> f64| ports.iter().map(value).collect();
        let bytes = |port: &PortReport, ps: f64| ps * (mtu.0 as f64 / port.clock.time(mtu).0 as f64);
        let mean = |port: &PortReport| port.area as f64 / (measured_ps as f64).max(1.0);
        Self {
            sent: counts(|p| p.counters.sent),
            sent_bytes: counts(|p| p.counters.sent_bytes),
            marked: counts(|p| p.counters.marked),
            dropped: counts(|p| p.counters.dropped),
            dropped_in_warmup: counts(|p| p.dropped_in_warmup),
            busy_ps: counts(|p| p.busy.0),
            pauses: counts(|_| 0),
            paused_ps: counts(|_| 0),
            queue_mean_bytes: reals(&|p| bytes(p, mean(p))),
            queue_p50_bytes: reals(&|p| bytes(p, p.backlogs.quantile(0.5))),
            queue_p99_bytes: reals(&|p| bytes(p, p.backlogs.quantile(0.99))),
            queue_max_bytes: reals(&|p| bytes(p, p.largest.0 as f64)),
            delay_mean_ps: reals(&|p| p.counters.sojourn as f64 / (p.counters.sent as f64).max(1.0)),
            delay_p99_ps: reals(&|p| p.backlogs.quantile(0.99)),
        }
    }
}

#[derive(Debug, Serialize)]
pub struct Queues {
    time_ps: Vec<u64>,
    bytes: Vec<Vec<u32>>,
}

impl From<QueueTable> for Queues {
    fn from(table: QueueTable) -> Self {
        Self { time_ps: table.time, bytes: table.bytes }
    }
}

#[derive(Debug, Serialize)]
pub struct Histogram {
    edges_bytes: Vec<f64>,
    time_ps: Vec<u64>,
}

impl From<&PortReport> for Histogram {
    fn from(port: &PortReport) -> Self {
        let mut time_ps: Vec<_> = port.backlogs.times.iter().map(|time| time.0).collect();
        time_ps[0] += port.backlogs.idle.0;
        Self { edges_bytes: port.backlogs.edges.iter().map(|&edge| port.clock.bytes(edge).0 as f64).collect(), time_ps }
    }
}

/// What is sampled of senders; the unit is the name's suffix.
pub const PROBE_NAMES: &[&str] =
    &["window_pkt", "rtt_us", "alpha", "queueing_delay_us", "base_rtt_us", "one_way_delay_us", "stamped_rtt_us"];

#[derive(Debug, Default, Serialize)]
pub struct Probes {
    time_ps: Vec<u64>,
    flow: Vec<u32>,
    name: Vec<u16>,
    value: Vec<f64>,
}

impl Probes {
    pub fn push(&mut self, time_ps: u64, flow: u32, name: &str, value: f64) {
        self.time_ps.push(time_ps);
        self.flow.push(flow);
        self.name.push(PROBE_NAMES.iter().position(|known| *known == name).expect("a known name") as u16);
        self.value.push(value);
    }
}

#[derive(Debug, Serialize)]
pub struct Books {
    pub closed: bool,
    pub problems: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Quantiles {
    count: u64,
    mean_us: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    max_us: f64,
}

impl From<&Delays> for Quantiles {
    fn from(delays: &Delays) -> Self {
        let micros = |nanos: u64| nanos as f64 / 1000.0;
        Self {
            count: delays.count(),
            mean_us: micros(delays.mean()),
            p50_us: micros(delays.quantile(0.5)),
            p99_us: micros(delays.quantile(0.99)),
            p999_us: micros(delays.quantile(0.999)),
            max_us: micros(delays.largest()),
        }
    }
}

/// How late the emulated switch was, and what that means.
#[derive(Debug, Serialize)]
pub struct LatenessTable {
    pub accepted: bool,
    pub reason: Option<String>,
    round_trip_us: f64,
    deliveries: Quantiles,
    looks: Quantiles,
    /// What senders' stamps were off by, the means of round trips, and the share of their windows that senders gave up
    /// a round for it; nothing where nobody stamps.
    stamps: Option<Quantiles>,
    given_up: f64,
    /// The mean round trip of flows without an end, as their senders' kernels measured it, and as the emulated network says.
    seen_round_trip_us: Option<f64>,
    network_round_trip_us: Option<f64>,
    /// What was measured before the run, where no headroom was told.
    headroom_us: Option<f64>,
    longest_gap_us: f64,
    stalled_us: f64,
    /// Frames that were for no host: multicast of the hosts' own.
    strangers: u64,
}

/// What was made of the record.
#[derive(Debug)]
pub struct Judged {
    /// Why the run cannot be believed.
    pub reason: Option<String>,
    pub given_up: f64,
    pub round_trips: Option<(f64, f64)>,
    pub measured_ns: Option<u64>,
}

impl LatenessTable {
    pub fn new(report: &Report, round_trip_ns: u64, judged: Judged) -> Self {
        let Report { lateness: record, stamps, strangers, .. } = report;
        let Judged { reason, given_up, round_trips, measured_ns } = judged;
        Self {
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
            strangers: *strangers,
        }
    }
}

/// What two hosts joined by a cable have seen.
#[derive(Debug, Serialize)]
pub struct TwoHosts {
    pub traffic: &'static str,
    pub congestion_control: String,
    pub goodput_bps: f64,
    pub retransmits: u64,
    pub checksum_errors: u64,
    /// By stamps, from the first; nothing where the algorithm takes none.
    pub one_way_delay: Option<Varies>,
    /// The kernel's own, of the same acknowledgements.
    pub kernel_rtt: Option<Varies>,
}

/// How much a delay varies.
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
