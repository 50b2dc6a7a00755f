//! The answer of a run, in the units of the request.

use shallows_cc::units::{Bytes, Time};
use shallows_sim::{Answer as Outcome, ClassReport, ComputationReport, FlowReport, PortReport, Randomness};

use crate::value::{IntoValue, Value};

answer! {
    /// The answer of one run.
    pub struct Answer {
        /// 16 hexadecimal digits; none in the kernel world, where no two runs are equal
        fingerprint: Option<String>,
        /// Number of events
        events: u64,
        /// Packets received over one link, data and acknowledgements
        packet_hops: u64,
        /// End of the run
        ended_ps: u64,
        /// Time that the statistics of ports cover, from the end of the warm-up
        measured_ps: u64,
        /// True if the user ended the run early
        interrupted: bool,
        /// Statistics of flows, an entry each
        flows: FlowColumns,
        /// Computations, an entry each
        computations: ComputationColumns,
        /// Statistics of egress ports after the warm-up, an entry for each link
        ports: PortColumns,
        /// Statistics of classes after the warm-up, a row for each class of each port that has classes
        classes: ClassColumns,
        /// Ports that wait for each other forever
        deadlock: Deadlock,
        /// Samples of the recorded queues
        queues: Queues,
        /// Exact distribution over time of the length of each queue of `queue_links`
        queue_histograms: Vec<Histogram>,
        /// Names of the probes. Values have the unit of the name's suffix (`window_pkt`, `rate_gbps`, `rtt_us`, `alpha`)
        probe_names: Vec<String>,
        /// Samples of the recorded senders, a row each
        probes: Probes,
        /// Samples of the payload that groups of flows have received, if they were asked for; packet world only
        goodput: Option<Goodput>,
        /// Sources of random numbers from which the run has drawn; packet world only
        random: Option<Random>,
        /// Audit: whether all packets and flows are accounted for
        books: Books,
        /// Packet world only
        threads: Option<Threads>,
        /// Kernel and wire world only
        lateness: Option<Lateness>,
        /// Wire world only
        datagrams: Option<Datagrams>,
    }

    /// Datagrams of a run, and what they cost.
    pub struct Datagrams {
        /// Datagrams between hosts and switches
        count: u64,
        /// Processor time of the thread of the hosts
        hosts_cpu_s: f64,
        /// Processor time of the thread of the switches
        switches_cpu_s: f64,
    }

    /// Threads of a run. They do not affect the rest of the answer.
    pub struct Threads {
        /// Threads at the end of the run
        count: u64,
        /// Domains into which the network was split
        domains: u64,
        /// Speed of all threads relative to one thread on the same domains, when the run last tried both; below 1 it continued with
        /// one thread
        gain: Option<f64>,
    }

    /// Columns of flows.
    pub struct FlowColumns {
        /// Start; `2**64-1` if a flow that it waits for never finished
        start_ps: Vec<u64>,
        /// When the receiver had every byte; `2**64-1` is never
        finish_ps: Vec<u64>,
        /// The completion time of the same bytes on the empty path: serialisation at every hop and propagation; 0 for unlimited
        /// flows and those that take longer than any run
        ideal_ps: Vec<u64>,
        /// Payload that the receiver has, in any order; in the kernel world, what its application has read
        delivered_bytes: Vec<u64>,
        /// The part of it that arrived after the warm-up
        goodput_bytes: Vec<u64>,
        /// The part of it that arrived after the warm-up and before the flow's stop
        goodput_by_stop_bytes: Vec<u64>,
        /// Retransmitted packets
        retransmits: Vec<u64>,
        /// Retransmission timeouts
        timeouts: Vec<u64>,
        /// Time waited for them before the finish, from the start of each timer to its end; timers that ran at the same time count once.
        /// In the kernel world a lower bound, the shortest timeout for each
        timeout_wait_ps: Vec<u64>,
        /// Credits that the receiver sent; 0 without credits
        credits: Vec<u64>,
        /// Credits that arrived when there was nothing to send. The others were answered by a data frame, were dropped, or are in flight
        credits_wasted: Vec<u64>,
        /// Mean of the smoothed round trip (RFC 6298) over the acknowledgements; 0 if there is none
        srtt_mean_ps: Vec<u64>,
        /// Largest smoothed round trip
        srtt_max_ps: Vec<u64>,
        /// Largest number of packets by which one arrived behind one that left later
        reordering: Vec<u64>,
    }

    /// Columns of computations.
    pub struct ComputationColumns {
        /// When its processor began; `2**64-1` is never
        start_ps: Vec<u64>,
        /// When it ended; `2**64-1` is never
        finish_ps: Vec<u64>,
    }

    /// Columns of ports.
    pub struct PortColumns {
        /// Packets sent
        sent: Vec<u64>,
        /// Bytes sent
        sent_bytes: Vec<u64>,
        /// Packets marked
        marked: Vec<u64>,
        /// Packets dropped
        dropped: Vec<u64>,
        /// Packets dropped before the end of the warm-up
        dropped_in_warmup: Vec<u64>,
        /// Packets trimmed to their headers
        trimmed: Vec<u64>,
        /// Packets trimmed before the end of the warm-up
        trimmed_in_warmup: Vec<u64>,
        /// Packets lost by faults of the link: on its wire, or because it was down
        lost: Vec<u64>,
        /// Packets lost by faults of the link before the end of the warm-up
        lost_in_warmup: Vec<u64>,
        /// Time spent sending
        busy_ps: Vec<u64>,
        /// Number of pauses of data
        pauses: Vec<u64>,
        /// Time paused
        paused_ps: Vec<u64>,
        /// Exact mean of the queue over time; of the packet in transmission the unsent part counts
        queue_mean_bytes: Vec<f64>,
        /// Median of the queue over time
        queue_p50_bytes: Vec<f64>,
        /// 99th percentile of the queue over time
        queue_p99_bytes: Vec<f64>,
        /// Longest queue
        queue_max_bytes: Vec<f64>,
        /// Mean over packets of the time from arrival to the last bit sent
        delay_mean_ps: Vec<f64>,
        /// 99th percentile over time of the time needed to send the queue
        delay_p99_ps: Vec<f64>,
    }

    /// Columns of classes.
    pub struct ClassColumns {
        /// The link of the port
        link: Vec<u32>,
        /// The class; class 0 has the highest priority
        class: Vec<u32>,
        /// Packets sent
        sent: Vec<u64>,
        /// Bytes sent
        sent_bytes: Vec<u64>,
        /// Packets marked
        marked: Vec<u64>,
        /// Packets dropped
        dropped: Vec<u64>,
        /// Mean backlog over time
        queue_mean_bytes: Vec<f64>,
        /// Largest backlog
        largest_bytes: Vec<u64>,
        /// Mean over packets of the time from arrival to the last bit sent
        delay_mean_ps: Vec<f64>,
        /// Number of pauses
        pauses: Vec<u64>,
        /// Time paused
        paused_ps: Vec<u64>,
    }

    /// A cycle of ports.
    pub struct Deadlock {
        /// The links of the cycle in order, each waiting for the next; empty if there is no deadlock
        links: Vec<u32>,
        /// When the deadlock was detected
        time_ps: u64,
    }

    /// Samples of queues at fixed times.
    pub struct Queues {
        /// Times of the samples
        time_ps: Vec<u64>,
        /// Queues, a row for each of `queue_links`
        bytes: Vec<Vec<u32>>,
    }

    /// Distribution of one queue over time.
    pub struct Histogram {
        /// Edges of the bins, one more than there are bins
        edges_bytes: Vec<f64>,
        /// Time in each bin
        time_ps: Vec<u64>,
    }

    /// Samples of senders.
    pub struct Probes {
        /// Times of the samples
        time_ps: Vec<u64>,
        /// The flow
        flow: Vec<u32>,
        /// Index into `probe_names`
        name: Vec<u16>,
        /// The value
        value: Vec<f64>,
    }

    /// Samples of received payload.
    pub struct Goodput {
        /// Times of the samples, and the end of the run
        time_ps: Vec<u64>,
        /// Payload received so far, a row for each group of flows
        bytes: Vec<Vec<u64>>,
        /// By flow, the time of the first sample after which it received nothing; 0 if it received nothing at all
        last_ps: Vec<u64>,
    }

    /// Sources of random numbers from which a run has drawn. A draw may have changed nothing.
    pub struct Random {
        /// Switches chose among several ports by a hash, or hosts drew entropy values
        balancing: bool,
        /// The marking of ports drew
        marking: bool,
        /// Traffic classes whose marking drew
        classes: Vec<u32>,
        /// It was drawn which packet is trimmed
        trimming: bool,
        /// Token buckets of ports held back packets
        shaping: bool,
        /// Gaps followed frames
        gap: bool,
        /// Hosts held back acknowledgements
        ack_jitter: bool,
        /// Timestamps had errors
        timestamps: bool,
        /// Entries of `ccs` whose flows drew
        ccs: Vec<u32>,
        /// Entries of `faults` by which it was drawn whether packets are lost
        faults: Vec<u32>,
    }

    /// Audit of a run.
    pub struct Books {
        /// True if all packets and flows are accounted for
        closed: bool,
        /// Discrepancies
        problems: Vec<String>,
    }

    /// Lateness of the emulated network.
    pub struct Lateness {
        /// True if the machine kept up
        accepted: bool,
        /// Otherwise the reason
        reason: Option<String>,
        /// Reference for lateness: propagation both ways plus the longest mean queue
        round_trip_us: f64,
        /// For each packet delivered to a host, its delay beyond that of the emulated network
        deliveries: Quantiles,
        /// Time between two polls of the hosts' devices
        looks: Quantiles,
        /// For senders that use time stamps: how much the delays that they were given exceeded the network's own, above the
        /// smallest excess, as means of round trips
        stamps: Option<Quantiles>,
        /// Share of its window that a sender gave up each round trip because of such delays above its headroom
        given_up: f64,
        /// Mean round trip of flows without an end, as senders' kernels measured it
        seen_round_trip_us: Option<f64>,
        /// The same by the network's propagation and queues
        network_round_trip_us: Option<f64>,
        /// Headroom of DX, measured before the run; none if it was given
        headroom_us: Option<f64>,
        /// Longest time without a poll
        longest_gap_us: f64,
        /// Sum of the times without a poll that exceed 1 ms
        stalled_us: f64,
        /// Frames for no host, such as the hosts' own multicast
        unroutable: u64,
    }

    /// A distribution.
    pub struct Quantiles {
        /// Number of samples
        count: u64,
        /// Mean
        mean_us: f64,
        /// Median
        p50_us: f64,
        /// 99th percentile
        p99_us: f64,
        /// 99.9th percentile
        p999_us: f64,
        /// Largest
        max_us: f64,
    }
}

impl IntoValue for Vec<Histogram> {
    fn into_value(self) -> Value {
        Value::List(self.into_iter().map(Histogram::into_value).collect())
    }
}

impl Answer {
    /// The answer of the packet world; `queue_ports` are the ports whose queues were recorded.
    #[must_use]
    pub fn of(outcome: Outcome, queue_ports: &[u32], mtu: Bytes, interrupted: bool) -> Self {
        let deadlock = outcome.deadlock.unwrap_or_default();
        Self {
            fingerprint: Some(format!("{:016x}", outcome.fingerprint)),
            events: outcome.events,
            packet_hops: outcome.packet_hops,
            ended_ps: outcome.ended.0,
            measured_ps: outcome.measured.0,
            interrupted,
            flows: FlowColumns::of(&outcome.flows),
            computations: ComputationColumns::of(&outcome.computations),
            ports: PortColumns::of(&outcome.ports, outcome.measured, mtu),
            classes: ClassColumns::of(&outcome.ports, outcome.measured),
            deadlock: Deadlock { links: deadlock.ports, time_ps: deadlock.at.0 },
            queues: outcome.queues.into(),
            queue_histograms: queue_ports.iter().map(|&port| (&outcome.ports[port as usize]).into()).collect(),
            probe_names: outcome.probes.names.iter().map(|&name| name.to_owned()).collect(),
            probes: outcome.probes.into(),
            goodput: outcome.goodput.map(Goodput::from),
            random: Some(outcome.randomness.into()),
            books: outcome.problems.into(),
            threads: None,
            lateness: None,
            datagrams: None,
        }
    }
}

impl From<Randomness> for Random {
    fn from(drawn: Randomness) -> Self {
        Self {
            balancing: drawn.balancing,
            marking: drawn.marking,
            classes: drawn.classes.into_iter().collect(),
            trimming: drawn.trimming,
            shaping: drawn.shaping,
            gap: drawn.gap,
            ack_jitter: drawn.ack_jitter,
            timestamps: drawn.timestamps,
            ccs: drawn.controls.into_iter().collect(),
            faults: drawn.faults.into_iter().collect(),
        }
    }
}

impl FlowColumns {
    /// Columns of flows.
    #[must_use]
    pub fn of(flows: &[FlowReport]) -> Self {
        let wide = |value: fn(&FlowReport) -> u64| flows.iter().map(value).collect();
        Self {
            start_ps: wide(|f| f.start.0),
            finish_ps: wide(|f| f.finish.0),
            ideal_ps: wide(|f| f.ideal.0),
            delivered_bytes: wide(|f| f.delivered),
            goodput_bytes: wide(|f| f.goodput),
            goodput_by_stop_bytes: wide(|f| f.goodput_by_stop),
            retransmits: wide(|f| f.retransmits),
            timeouts: wide(|f| f.timeouts),
            timeout_wait_ps: wide(|f| f.timeout_wait.0),
            credits: wide(|f| f.credits),
            credits_wasted: wide(|f| f.credits_wasted),
            srtt_mean_ps: wide(|f| f.srtt_mean.0),
            srtt_max_ps: wide(|f| f.srtt_most.0),
            reordering: wide(|f| f.reordering.into()),
        }
    }
}

impl ComputationColumns {
    /// Columns of computations.
    #[must_use]
    pub fn of(computations: &[ComputationReport]) -> Self {
        let times = |value: fn(&ComputationReport) -> u64| computations.iter().map(value).collect();
        Self { start_ps: times(|one| one.start.0), finish_ps: times(|one| one.finish.0) }
    }
}

impl PortColumns {
    /// Columns of ports that were observed for a `span`.
    #[must_use]
    pub fn of(ports: &[PortReport], span: Time, mtu: Bytes) -> Self {
        let counts = |value: fn(&PortReport) -> u64| ports.iter().map(value).collect();
        let reals = |value: &dyn Fn(&PortReport) -> f64| ports.iter().map(value).collect();
        let bytes = |port: &PortReport, backlog_ps: f64| backlog_ps * (mtu / Bytes(port.clock.time(mtu).0));
        let mean = |port: &PortReport| port.area as f64 / (span.0 as f64).max(1.0);
        Self {
            sent: counts(|p| p.counters.sent),
            sent_bytes: counts(|p| p.counters.sent_bytes),
            marked: counts(|p| p.counters.marked),
            dropped: counts(|p| p.counters.dropped),
            dropped_in_warmup: counts(|p| p.in_warmup.dropped),
            trimmed: counts(|p| p.counters.trimmed),
            trimmed_in_warmup: counts(|p| p.in_warmup.trimmed),
            lost: counts(|p| p.counters.lost),
            lost_in_warmup: counts(|p| p.in_warmup.lost),
            busy_ps: counts(|p| p.busy.0),
            pauses: counts(|p| p.classes.iter().map(|c| c.pauses).sum()),
            paused_ps: counts(|p| p.classes.iter().map(|c| c.paused.0).sum()),
            queue_mean_bytes: reals(&|p| bytes(p, mean(p))),
            queue_p50_bytes: reals(&|p| bytes(p, p.backlogs.quantile(0.5))),
            queue_p99_bytes: reals(&|p| bytes(p, p.backlogs.quantile(0.99))),
            queue_max_bytes: reals(&|p| bytes(p, p.largest.0 as f64)),
            delay_mean_ps: reals(&|p| p.counters.sojourn as f64 / (p.counters.sent as f64).max(1.0)),
            delay_p99_ps: reals(&|p| p.backlogs.quantile(0.99)),
        }
    }
}

impl ClassColumns {
    fn of(ports: &[PortReport], span: Time) -> Self {
        let rows =
            || ports.iter().zip(0_u32..).flat_map(|(port, link)| port.classes.iter().map(move |class| (link, class)));
        let wide = |value: fn(&ClassReport) -> u64| rows().map(|(_, class)| value(class)).collect();
        let reals = |value: &dyn Fn(&ClassReport) -> f64| rows().map(|(_, class)| value(class)).collect();
        Self {
            link: rows().map(|(link, _)| link).collect(),
            class: ports.iter().flat_map(|port| 0..port.classes.len() as u32).collect(),
            sent: wide(|c| c.sent),
            sent_bytes: wide(|c| c.sent_bytes.0),
            marked: wide(|c| c.marked),
            dropped: wide(|c| c.dropped),
            queue_mean_bytes: reals(&|c| c.area as f64 / (span.0 as f64).max(1.0)),
            largest_bytes: wide(|c| c.largest.0),
            delay_mean_ps: reals(&|c| c.sojourn as f64 / (c.sent as f64).max(1.0)),
            pauses: wide(|c| c.pauses),
            paused_ps: wide(|c| c.paused.0),
        }
    }
}

impl From<&PortReport> for Histogram {
    fn from(port: &PortReport) -> Self {
        let mut time_ps: Vec<_> = port.backlogs.times.iter().map(|time| time.0).collect();
        time_ps[0] += port.backlogs.idle.0;
        Self { edges_bytes: port.backlogs.edges.iter().map(|&edge| port.clock.bytes(edge).0 as f64).collect(), time_ps }
    }
}

impl From<Vec<String>> for Books {
    fn from(problems: Vec<String>) -> Self {
        Self { closed: problems.is_empty(), problems }
    }
}
