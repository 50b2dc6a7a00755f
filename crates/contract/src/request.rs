//! What a world in Rust is asked: a scenario in plain numbers. Times are picoseconds, sizes bytes, rates bits per second.

use std::collections::BTreeMap;

request! {
    /// A run.
    pub struct Request {
        /// Nodes below this number are hosts
        hosts: u32,
        /// All nodes; those that are not hosts are switches
        nodes: u32,
        /// Directed links, an entry each; a cable is two
        links: Links,
        /// How ports mark
        markings: Vec<Marking>,
        /// The classes of a port, the first served first, for each way to schedule
        disciplines: Option<Vec<Vec<Class>>>,
        /// The ports of each switch share its memory
        shared: Option<Shared>,
        /// Switches pause links (PFC)
        pause: Option<Pause>,
        /// How switches choose among equal paths: one for each flow (ECMP, the default), one for each packet at random, or for
        /// each packet the shortest queue
        balancing: Option<Balancing>,
        /// What happens to links, in the order of time
        faults: Option<Faults>,
        /// How long after a link has gone down or come up switches send round it, or over it again; left out, and `2**64-1`: never
        convergence_ps: Option<u64>,
        /// Transfers, an entry each
        flows: Flows,
        /// Algorithms
        ccs: Vec<Control>,
        /// What all hosts have in common
        host: Host,
        /// A full frame on the wire
        mtu_bytes: u64,
        /// The part of it that is not payload
        header_bytes: u64,
        /// Where the run ends at the latest; `2**64-1` is none
        duration_ps: u64,
        /// End when every limited flow has finished
        until_done: bool,
        /// Statistics start here
        warmup_ps: u64,
        /// Of every draw in the run
        seed: u64,
        /// What is sampled
        record: Record,
        /// Kernel world only: whether the network's thread asks for SCHED_DEADLINE
        real_time: Option<bool>,
    }

    /// Directed links with their egress ports.
    pub struct Links {
        /// The node that the egress port belongs to
        from: Vec<u32>,
        /// The node at the other end
        to: Vec<u32>,
        /// Rate
        rate_bps: Vec<u64>,
        /// Propagation
        delay_ps: Vec<u64>,
        /// Of the egress port; `2**64-1` is unlimited
        buffer_bytes: Vec<u64>,
        /// Index into `markings`
        marking: Vec<u32>,
        /// 0: packets leave in the order in which they came; otherwise one more than an index into `disciplines`, and
        /// `buffer_bytes` gives way to the limits of the classes
        discipline: Option<Vec<u32>>,
    }

    /// How ports mark.
    pub struct Marking {
        /// `none`, or a row of `markings()`
        kind: String,
        /// Which queue it looks at; left out: the one that its kind looks at by default
        at: Option<At>,
        /// Any of the row's, in SI base units
        parameters: Option<BTreeMap<String, f64>>,
    }

    /// One class of a port.
    pub struct Class {
        /// Kinds of packets, each carried by one class: `data`, `ack`, `nack`, `notification`, `pause`, `resume`,
        /// `credit_request`, `credit`, `credit_stop`, `rate_request`, `rate_answer`, `trimmed`, `returned`, `pull`; `other` is every kind that no class names,
        /// `priority` all packets of flows with one, whatever their kind, and `paced` data of flows that their algorithm sends
        /// through the pacer of their host
        carries: Vec<String>,
        /// What it holds at most, in packets
        limit_packets: Option<u32>,
        /// In bytes; one of both limits is told, packets where both are
        limit_bytes: Option<u64>,
        /// Whether data that finds it full is cut to its header, where its transport can do with that, instead of dropped
        trims: Option<bool>,
        /// After so many packets of classes above it that went before what waits here, one of this class goes; left out: it waits
        /// for all of them
        turn: Option<u32>,
        /// How fast its bucket of tokens fills; left out: nothing holds it back
        shaper_bps: Option<u64>,
        /// What the bucket holds, where there is one
        shaper_burst_bytes: Option<u64>,
        /// What sets the rate of the bucket, which begins with `shaper_bps` and is never more; left out: nothing
        pacer: Option<Pacer>,
    }

    /// The rate of a bucket: R <- (1 - eta) R + eta M/T + beta Q.
    pub struct Pacer {
        /// Weight of what came in the newest period
        eta: f64,
        /// bit/s by which a waiting bit raises the rate each period
        beta: f64,
        /// Between two updates
        period_ps: u64,
        /// The slowest rate
        least_bps: u64,
    }

    /// Memory that the ports of a switch share.
    pub struct Shared {
        /// All of it, headroom apart
        size_bytes: u64,
        /// Each port may hold so many times what is free
        alpha: f64,
    }

    /// When a switch pauses a link.
    pub struct Pause {
        /// Data of one link above which it is paused
        threshold_bytes: u64,
        /// It goes on this far below
        hysteresis_bytes: u64,
        /// What may still come then; left out: what each link can need
        headroom_bytes: Option<u64>,
    }

    /// What happens to links; those that do not only lose packets have ports with a discipline.
    pub struct Faults {
        /// When
        time_ps: Vec<u64>,
        /// Which
        link: Vec<u32>,
        /// What happens to it
        kind: Vec<FaultKind>,
        /// Of `rate` bits per second, at most its own; of `loss` the share of packets lost at random; else 0
        value: Vec<f64>,
    }

    /// Transfers.
    pub struct Flows {
        /// The host that sends
        src: Vec<u32>,
        /// The host that receives
        dst: Vec<u32>,
        /// Payload; 0 is unlimited
        bytes: Vec<u64>,
        /// When it begins
        start_ps: Vec<u64>,
        /// After this it sends nothing new; `2**64-1` is never
        stop_ps: Vec<u64>,
        /// When there is something to send; left out: always
        application: Option<Applications>,
        /// An earlier flow that ends: this one starts `start_ps` after it has finished (where both have the same sender: after
        /// that knows), and has no `stop_ps`; `2**32-1` is none
        after: Option<Vec<u32>>,
        /// 1: its packets, acks too, go before others, at its hosts and in the class that carries `priority`
        priority: Option<Vec<u32>>,
        /// Index into `ccs`
        cc: Vec<u32>,
    }

    /// What the applications behind flows write, an entry a flow.
    pub struct Applications {
        /// When the flow begins, before a pause until `resume_ps`, in whole packets; 0: it does not pause then
        first_bytes: Vec<u64>,
        /// When it goes on
        resume_ps: Vec<u64>,
        /// From then on, or from the flow's beginning, it writes for so long,
        on_ps: Vec<u64>,
        /// and then pauses for so long, again and again; 0: never
        off_ps: Vec<u64>,
    }

    /// An algorithm.
    pub struct Control {
        /// A row of `catalog()`
        name: String,
        /// Any of the row's, in SI base units (s, bytes, bit/s) or dimensionless; a flag is 0 or 1
        parameters: BTreeMap<String, f64>,
        /// In place of the algorithm's own
        receiver: Option<Receiver>,
        /// A class (docs/algorithms.md) in place of the row's sender; packet world only. It crosses as its number among those of
        /// the request
        written: Option<u32>,
    }

    /// A receiver.
    pub struct Receiver {
        /// A row of `receivers()`
        kind: String,
        /// Any of the row's, in SI base units
        parameters: BTreeMap<String, f64>,
    }

    /// What all hosts have in common.
    pub struct Host {
        /// Whether a NIC pulls from its flows in turn, or is one queue
        nic: Nic,
        /// Payload that a flow may send before it hears anything
        initial_window_bytes: u64,
        /// Shortest retransmission timeout
        rto_min_ps: u64,
        /// Longest
        rto_max_ps: u64,
        /// Before the first round trip is known
        rto_initial_ps: u64,
        /// Data packets that an acknowledgement covers
        acks_every: u32,
        /// How long it waits for them
        ack_delay_ps: u64,
        /// Packets of a flow that are handed to the NIC together at most
        segment: u32,
        /// How hosts stamp packets; left out: ideally
        timestamps: Option<Timestamps>,
    }

    /// What hosts and NICs make of the times at which packets leave and arrive.
    pub struct Timestamps {
        /// Packets handed to the NIC at once, at most, without burst reduction
        burst: u32,
        /// And with it
        bucket: u32,
        /// Between two polls of received packets
        poll_ps: u64,
        /// The stack's time between data and acknowledgement, at most
        stack_ps: u64,
        /// Standard deviation of Gaussian noise, besides
        noise_ps: u64,
        /// How much faster the receiver's clock is
        drift: f64,
        /// Take the receiver's time out of the round trip
        host_delay_removed: bool,
        /// Pace bursts at the link's rate
        burst_reduced: bool,
        /// Space the stamps of a batch
        calibrated: bool,
    }

    /// What is sampled.
    pub struct Record {
        /// How often the queues of `queue_links` are read; 0 is off
        queue_interval_ps: u64,
        /// Links whose egress ports are recorded
        queue_links: Vec<u32>,
        /// How often the internals of `probe_flows` are read; 0 is off
        probe_interval_ps: u64,
        /// Flows whose senders are recorded
        probe_flows: Vec<u32>,
    }
}

choice! {
    /// Which queue a port looks at.
    pub enum At {
        /// That which a packet finds.
        Enqueue = "enqueue",
        /// That which it leaves behind.
        Dequeue = "dequeue",
    }

    /// How switches choose among equal paths.
    pub enum Balancing {
        /// One path for each flow.
        Flow = "flow",
        /// One for each packet, at random.
        Packet = "packet",
        /// For each packet the shortest queue.
        Queue = "queue",
    }

    /// What happens to a link.
    pub enum FaultKind {
        /// It is cut.
        Down = "down",
        /// It works again.
        Up = "up",
        /// It sends at another rate.
        Rate = "rate",
        /// It loses packets.
        Loss = "loss",
    }

    /// How a host's NIC takes packets.
    pub enum Nic {
        /// From its flows in turn.
        Fair = "fair",
        /// As they come.
        Fifo = "fifo",
    }
}
