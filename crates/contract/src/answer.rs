//! What a world in Rust answers, in the units of the request.

use shallows_cc::units::{Bytes, Time};
use shallows_sim::engine::answer::{Answer as Outcome, FlowReport, ProbeTable, QueueTable};
use shallows_sim::port::PortReport;
use shallows_sim::port::scheduler::ClassReport;

use crate::value::{IntoValue, Value};

answer! {
    /// Of one run.
    pub struct Answer {
        /// 16 hexadecimal digits; none in the kernel world, where no two runs are alike
        fingerprint: Option<String>,
        /// What the world's clock stopped for
        events: u64,
        /// Packets received over one link, data and acks
        packet_hops: u64,
        /// When the run ended
        ended_ps: u64,
        /// The span of the statistics of ports, from the warm-up's end
        measured_ps: u64,
        /// Whether its user ended it early
        interrupted: bool,
        /// An entry a flow
        flows: FlowColumns,
        /// An entry a link: its egress port, after the warm-up
        ports: PortColumns,
        /// A row for each class of each port that has some, after the warm-up
        classes: ClassColumns,
        /// Ports that wait for each other for ever
        deadlock: Deadlock,
        /// Samples of the recorded queues
        queues: Queues,
        /// How long each of `queue_links` had which length, exactly
        queue_histograms: Vec<Histogram>,
        /// What a probe is of. Values are in the unit of the name's suffix (`window_pkt`, `rate_gbps`, `rtt_us`, `alpha`)
        probe_names: Vec<String>,
        /// Samples of the recorded senders, a row each
        probes: Probes,
        /// Whether all packets and flows are accounted for
        books: Books,
        /// Packet world only
        threads: Option<Threads>,
        /// Kernel world only
        lateness: Option<Lateness>,
    }

    /// Who went through a run. It makes no difference to anything else in the answer.
    pub struct Threads {
        /// How many threads there were in the end
        count: u64,
        /// Into how many domains the network was parted for them
        domains: u64,
        /// How many times as fast all threads were as one on the same domains when the run last tried both; less than one, and it went on with one
        gain: Option<f64>,
    }

    /// What became of flows.
    pub struct FlowColumns {
        /// When it started; `2**64-1` if the flow that it waits for never finished
        start_ps: Vec<u64>,
        /// When the receiver had every byte; `2**64-1` is never
        finish_ps: Vec<u64>,
        /// The completion time of the same bytes on the empty path: serialisation at every hop and propagation; 0 for unlimited
        /// flows
        ideal_ps: Vec<u64>,
        /// Payload that the receiver has, in whatever order it came; in the kernel world what its application has read
        delivered_bytes: Vec<u64>,
        /// The part of it that came after the warm-up
        goodput_bytes: Vec<u64>,
        /// The part of that which came by the flow's stop
        goodput_by_stop_bytes: Vec<u64>,
        /// Packets sent again
        retransmits: Vec<u32>,
        /// Timeouts
        timeouts: Vec<u32>,
        /// Credits that the receiver handed out; zero without credits
        credits: Vec<u64>,
        /// Those that came and found nothing to send. The rest was answered by a data frame, dropped, or is on its way
        credits_wasted: Vec<u64>,
        /// Mean over its acknowledgements of the smoothed round trip of RFC 6298; 0 where there is none
        srtt_mean_ps: Vec<u64>,
        /// And the largest
        srtt_max_ps: Vec<u64>,
    }

    /// What became of ports.
    pub struct PortColumns {
        /// Packets
        sent: Vec<u64>,
        /// Their bytes
        sent_bytes: Vec<u64>,
        /// Packets marked
        marked: Vec<u64>,
        /// Packets dropped
        dropped: Vec<u64>,
        /// And before the warm-up's end
        dropped_in_warmup: Vec<u64>,
        /// Packets cut to their headers
        trimmed: Vec<u64>,
        /// Packets lost because something happened to the link: on its wire, or because it was down
        lost: Vec<u64>,
        /// Time spent sending
        busy_ps: Vec<u64>,
        /// How often data was paused
        pauses: Vec<u64>,
        /// And for how long
        paused_ps: Vec<u64>,
        /// Mean over time, exact; the packet being sent counts by what is left of it
        queue_mean_bytes: Vec<f64>,
        /// Median over time
        queue_p50_bytes: Vec<f64>,
        /// 99th percentile over time
        queue_p99_bytes: Vec<f64>,
        /// Longest
        queue_max_bytes: Vec<f64>,
        /// Time in the queue and in sending, mean of packets
        delay_mean_ps: Vec<f64>,
        /// Time to send what is queued, 99th percentile over time
        delay_p99_ps: Vec<f64>,
    }

    /// What became of classes.
    pub struct ClassColumns {
        /// Whose port
        link: Vec<u32>,
        /// Which, the first served first
        class: Vec<u32>,
        /// Packets
        sent: Vec<u64>,
        /// Packets dropped
        dropped: Vec<u64>,
        /// The most it held
        largest_bytes: Vec<u64>,
        /// How often it was paused
        pauses: Vec<u64>,
        /// And for how long
        paused_ps: Vec<u64>,
    }

    /// A circle of ports.
    pub struct Deadlock {
        /// In order, each waiting for the next; none if there is no deadlock
        links: Vec<u32>,
        /// When that was seen
        time_ps: u64,
    }

    /// Queues at fixed times.
    pub struct Queues {
        /// When
        time_ps: Vec<u64>,
        /// A row for each of `queue_links`
        bytes: Vec<Vec<u32>>,
    }

    /// One queue.
    pub struct Histogram {
        /// Of the bins, one more than those
        edges_bytes: Vec<f64>,
        /// How long it was in each
        time_ps: Vec<u64>,
    }

    /// Internals of senders.
    pub struct Probes {
        /// When
        time_ps: Vec<u64>,
        /// Of which flow
        flow: Vec<u32>,
        /// Index into `probe_names`
        name: Vec<u16>,
        /// What it was
        value: Vec<f64>,
    }

    /// Whether all is accounted for.
    pub struct Books {
        /// Whether it is
        closed: bool,
        /// What is not
        problems: Vec<String>,
    }

    /// How late the emulated network was, and what that means.
    pub struct Lateness {
        /// Whether the machine kept up
        accepted: bool,
        /// If not, in what
        reason: Option<String>,
        /// What lateness is held against: propagation both ways and the longest mean queue
        round_trip_us: f64,
        /// Of every packet delivered to a host, how much later than the emulated network says
        deliveries: Quantiles,
        /// The time between two looks at the hosts' devices
        looks: Quantiles,
        /// Where senders go by stamps: by how much the delays they were told exceeded the network's own, beyond the least, as
        /// means of round trips
        stamps: Option<Quantiles>,
        /// The share of its window that a sender gave up a round trip for such delays above its headroom
        given_up: f64,
        /// The mean round trip of flows without an end, as senders' kernels measured it
        seen_round_trip_us: Option<f64>,
        /// And by the network's propagation and queues
        network_round_trip_us: Option<f64>,
        /// DX's headroom as it was measured before the run; none where it was told
        headroom_us: Option<f64>,
        /// The longest time without a look
        longest_gap_us: f64,
        /// The sum of those above 1 ms
        stalled_us: f64,
        /// Frames for no host: multicast of the hosts' own
        unroutable: u64,
    }

    /// A distribution.
    pub struct Quantiles {
        /// Of how many
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
    /// Of the packet world; `queue_ports` are the ports whose queues were recorded.
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
            ports: PortColumns::of(&outcome.ports, outcome.measured, mtu),
            classes: ClassColumns::of(&outcome.ports),
            deadlock: Deadlock { links: deadlock.ports, time_ps: deadlock.at.0 },
            queues: outcome.queues.into(),
            queue_histograms: queue_ports.iter().map(|&port| (&outcome.ports[port as usize]).into()).collect(),
            probe_names: outcome.probes.names.iter().map(|&name| name.to_owned()).collect(),
            probes: outcome.probes.into(),
            books: outcome.problems.into(),
            threads: None,
            lateness: None,
        }
    }
}

impl FlowColumns {
    fn of(flows: &[FlowReport]) -> Self {
        let wide = |value: fn(&FlowReport) -> u64| flows.iter().map(value).collect();
        let narrow = |value: fn(&FlowReport) -> u32| flows.iter().map(value).collect();
        Self {
            start_ps: wide(|f| f.start.0),
            finish_ps: wide(|f| f.finish.0),
            ideal_ps: wide(|f| f.ideal.0),
            delivered_bytes: wide(|f| f.delivered),
            goodput_bytes: wide(|f| f.goodput),
            goodput_by_stop_bytes: wide(|f| f.goodput_by_stop),
            retransmits: narrow(|f| f.retransmits),
            timeouts: narrow(|f| f.timeouts),
            credits: wide(|f| f.credits),
            credits_wasted: wide(|f| f.credits_wasted),
            srtt_mean_ps: wide(|f| f.srtt_mean.0),
            srtt_max_ps: wide(|f| f.srtt_most.0),
        }
    }
}

impl PortColumns {
    /// Of ports that were looked at for a `span`.
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
            dropped_in_warmup: counts(|p| p.dropped_in_warmup),
            trimmed: counts(|p| p.counters.trimmed),
            lost: counts(|p| p.lost - p.lost_in_warmup),
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
    fn of(ports: &[PortReport]) -> Self {
        let rows =
            || ports.iter().zip(0_u32..).flat_map(|(port, link)| port.classes.iter().map(move |class| (link, class)));
        let wide = |value: fn(&ClassReport) -> u64| rows().map(|(_, class)| value(class)).collect();
        Self {
            link: rows().map(|(link, _)| link).collect(),
            class: ports.iter().flat_map(|port| 0..port.classes.len() as u32).collect(),
            sent: wide(|c| c.sent),
            dropped: wide(|c| c.dropped),
            largest_bytes: wide(|c| c.largest.0),
            pauses: wide(|c| c.pauses),
            paused_ps: wide(|c| c.paused.0),
        }
    }
}

impl From<QueueTable> for Queues {
    fn from(table: QueueTable) -> Self {
        Self { time_ps: table.time, bytes: table.bytes }
    }
}

impl From<&PortReport> for Histogram {
    fn from(port: &PortReport) -> Self {
        let mut time_ps: Vec<_> = port.backlogs.times.iter().map(|time| time.0).collect();
        time_ps[0] += port.backlogs.idle.0;
        Self { edges_bytes: port.backlogs.edges.iter().map(|&edge| port.clock.bytes(edge).0 as f64).collect(), time_ps }
    }
}

impl From<ProbeTable> for Probes {
    fn from(table: ProbeTable) -> Self {
        Self { time_ps: table.time, flow: table.flow, name: table.name, value: table.value }
    }
}

impl From<Vec<String>> for Books {
    fn from(problems: Vec<String>) -> Self {
        Self { closed: problems.is_empty(), problems }
    }
}
