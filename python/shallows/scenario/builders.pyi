# Generated from the models of the scenario by `make generated`: do not edit.

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

from pydantic.fields import FieldInfo

from shallows.base.table import Table
from shallows.scenario.literal import (
    CC,
    Algorithm,
    AnyMarking,
    Builder,
    Columns,
    Ends,
    File,
    FlowCount,
    Marking,
    Ports,
    Rate,
    Share,
    Size,
    Sizes,
    TableLike,
    Time,
)
from shallows.scenario.literal import Graph as GraphLike

__all__ = [
    "CC",
    "AllGather",
    "AllReduce",
    "AllToAll",
    "Broadcast",
    "Costs",
    "DragonflyPlus",
    "Driven",
    "Dumbbell",
    "FatTree",
    "Fault",
    "Graph",
    "Hosts",
    "Incast",
    "LeafSpine",
    "LongLived",
    "Marking",
    "MultiBottleneck",
    "Network",
    "ParkingLot",
    "Pauses",
    "Poisson",
    "Policer",
    "Pool",
    "PortSettings",
    "RailOptimised",
    "Record",
    "ReduceScatter",
    "RequestResponse",
    "Shared",
    "Shuffle",
    "Staircase",
    "Star",
    "Task",
    "Tasks",
    "ThreeTier",
    "Timestamps",
    "Trace",
    "TrafficClass",
    "Training",
    "Trimming",
]

PARTS: dict[str, type[Table]]
KINDS: dict[type[Table], str]
MODELS: dict[str, type[Table]]

def keys_of(model: type[Table]) -> dict[str, FieldInfo]: ...
def default_of(field: FieldInfo) -> object: ...
def documentation(model: type[Table]) -> str: ...
def to_source(tables: Mapping[str, object]) -> str: ...

class Shared(Builder):
    """`[network.shared]`: one memory for all ports of a switch, with a dynamic threshold.

    size: memory of each switch, without headroom; by default 12MB, or 0.3MB per Gbps
    alpha: a port (with `pfc`: a link) may hold this many times the free memory; default 1.0
    """

    def __init__(
        self,
        *,
        size: Size | None = None,
        alpha: float = 1.0,
    ) -> None: ...

class Pauses(Builder):
    """`[network.pfc]`: a switch pauses links that bring too much data.

    threshold: data from one link above which it is paused; by default 100KB, or 2.5KB per Gbps
    hysteresis: the link resumes this far below the threshold; default 2pkt
    headroom: room for data that still arrives; "auto": as much as the link can need; default auto
    watchdog: time after which a switch drops the data of an endless pause; by default never
    restoration: time from the end of such a pause until the port sends again; by default as watchdog
    """

    def __init__(
        self,
        *,
        threshold: Size | None = None,
        hysteresis: Size = "2pkt",
        headroom: Size = "auto",
        watchdog: Time | None = None,
        restoration: Time | None = None,
    ) -> None: ...

class Trimming(Builder):
    """`[network.trimming]`: switch ports trim packets to their headers instead of dropping them (NDP).

    queue: data packets that a port holds; by default 8, or twice the largest marking threshold
    threshold: bytes of data that a port holds, in place of `queue`
    headers: queue of headers, answers and pulls; default 16pkt
    ratio: headers sent per waiting data packet; default 10
    """

    def __init__(
        self,
        *,
        queue: int | None = None,
        threshold: Size | None = None,
        headers: Size = "16pkt",
        ratio: int = 10,
    ) -> None: ...

class Policer(Builder):
    """`[network.policer]`: switch ports drop what comes faster than a token bucket fills.

    rate: rate at which the bucket fills; required
    burst: its size: what passes at once, at least a full frame; required
    """

    def __init__(
        self,
        *,
        rate: Rate,
        burst: Size,
    ) -> None: ...

class Timestamps(Builder):
    """`hosts.timestamps`: how hosts stamp packets. A kind's values hold where a key is not given.

    kind: whose errors; default software
    burst: packets handed to the NIC at once, bursts not reduced
    bucket: packets handed to the NIC at once with it
    poll: time between two polls of received packets, at most
    stack: the receiver's time between data and acknowledgement, at most
    noise: standard deviation of additional Gaussian noise; default 0s
    drift: share by which the receiver's clock is faster; default 0.0
    host_delay_removed: subtract the receiver's time from the round trip; default True
    burst_reduced: pace bursts at the link's rate; default True
    calibrated: space the timestamps of a batch by the transmission time; default True
    """

    def __init__(
        self,
        *,
        kind: Literal["software", "hardware"] = "software",
        burst: int | None = None,
        bucket: int | None = None,
        poll: Time | None = None,
        stack: Time | None = None,
        noise: Time = "0s",
        drift: float = 0.0,
        host_delay_removed: bool = True,
        burst_reduced: bool = True,
        calibrated: bool = True,
    ) -> None: ...

class Costs(Builder):
    """A table of `hosts.costs`: costs of some hosts. Of several tables with a host the last counts.

    A table with `collectives` has a `step` alone, which counts for those kinds before that of the others.

    hosts: the hosts; by default all; default topology
    preset: values that others measured, for absent keys
    message: before each flow; default 0s
    queue_pair: before the first flow of a pair of hosts; default 0s
    step: before each message of a collective or of `training`, beside its `step_delay`; default 0s
    completion: before each flow that waited for another; default 0s
    collectives: kinds of collectives whose `step` this table has; by default all
    spread: costs are up to this share longer; default 0.0
    pcie: the rate at which each host sends out of its server, at most
    """

    def __init__(
        self,
        *,
        hosts: Ends = "topology",
        preset: Literal["nccl"] | None = None,
        message: Time = "0s",
        queue_pair: Time = "0s",
        step: Time = "0s",
        completion: Time = "0s",
        collectives: Sequence[
            Literal["all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all"]
        ]
        | None = None,
        spread: float = 0.0,
        pcie: Rate | None = None,
    ) -> None: ...

class Network(Builder):
    """`[network]`: what is true of every link and port.

    mtu: a full frame on the wire; default 1500B
    header: header bytes of a frame; the size of an ack; default 40B
    shared: one memory for the ports of each switch, instead of buffer
    balancing: choice among equal paths, by switches or by hosts; mrc if all traffic is of mrc; default flow
    entropies: entropy values among which a host chooses, a power of two up to 65536
    flowlet_gap: pause after which a flowlet begins; 100us with balancing = "flowlet"
    convergence: time that switches need to reroute after a link breaks or is repaired; default never
    delay_spread: each cable is longer by up to this share of its delay, at random; default 0.0
    changing: ports whose links a program may change while it drives the run, by name or pattern
    marking: how the queue marks: "none", or a table of a kind and its keys; by default as the algorithms need
    trimming: whether ports trim packets to headers instead of dropping them; by default as cc needs
    buffer: of the queue at a switch port; by default 375KB, or more for a longer path or a larger threshold
    policer: rate and burst above which switch ports drop packets; by default there is none
    pfc: whether switches pause links that bring too much data
    """

    def __init__(
        self,
        *,
        mtu: Size = "1500B",
        header: Size = "40B",
        shared: Shared | TableLike | Literal[False] | None = None,
        balancing: Literal[
            "flow", "packet", "queue", "round-robin", "flowlet", "oblivious", "bitmap", "reps", "plb", "mrc"
        ] = "flow",
        entropies: int | None = None,
        flowlet_gap: Time | None = None,
        convergence: Time = "never",
        delay_spread: float = 0.0,
        changing: Sequence[str] | None = None,
        marking: AnyMarking | None = None,
        trimming: Trimming | TableLike | bool | Literal[False] | None = None,
        buffer: Size | None = None,
        policer: Policer | TableLike | Literal[False] | None = None,
        pfc: Pauses | TableLike | bool | Literal[False] | None = None,
    ) -> None: ...

class Hosts(Builder):
    """`[hosts]`: NIC and transport of every host.

    nic: round robin over its flows, or one marked queue; default fair
    initial_window: window before the first feedback; default 10pkt
    rto: a preset for the times below; default datacenter
    rto_min: the shortest retransmission timeout
    rto_initial: timeout before the first RTT sample
    rto_max: upper bound of the doubled timeout
    acks_every: data packets per acknowledgement; by default 1, and 2 of presets called `linux`
    ack_delay: how long an ack may wait for the next packet
    prr: spread cuts of the window over a round trip (RFC 9937); default False
    option: TCP options in the headers of data and acks, beyond network.header; default 0B
    segment: the most packets that leave together (TSO); default 1
    segment_time: data of this time at a flow's rate leaves together; 0: `segment` packets do; default 0s
    poll: time between two polls of the host's token bucket; 0: data need not wait for one; default 0s
    batch: with `poll`, the most full frames that leave at one poll; default 10
    piggyback: whether acks ride on data that goes the other way between two hosts; default False
    ack_jitter: the longest random time for which a host holds back an ack; default 0s
    loss_detection: loss by three later packets (RFC 6675), or by time (RFC 8985); default duplicate-acks
    retransmission: what RoCE sends again: all from the first loss on, or the losses (IRN); default go-back-n
    gap: largest random gap after a data frame, as a share of its time; 0 turns it off; default 0.002
    timestamps: errors of timestamps; by default none
    costs: tables of the costs of hosts; by default none
    """

    def __init__(
        self,
        *,
        nic: Literal["fair", "fifo"] = "fair",
        initial_window: Size = "10pkt",
        rto: Literal["datacenter", "internet"] = "datacenter",
        rto_min: Time | None = None,
        rto_initial: Time | None = None,
        rto_max: Time | None = None,
        acks_every: int | None = None,
        ack_delay: Time | None = None,
        prr: bool = False,
        option: Size = "0B",
        segment: int = 1,
        segment_time: Time = "0s",
        poll: Time = "0s",
        batch: int = 10,
        piggyback: bool = False,
        ack_jitter: Time = "0s",
        loss_detection: Literal["duplicate-acks", "rack"] = "duplicate-acks",
        retransmission: Literal["go-back-n", "selective"] = "go-back-n",
        gap: float = 0.002,
        timestamps: Timestamps | TableLike | None = None,
        costs: Sequence[Costs | TableLike] | None = None,
    ) -> None: ...

class Record(Builder):
    """`[record]`: what is sampled over time. Exact statistics of every port come regardless.

    queues: interval between samples of the recorded queues; default off
    probes: interval between samples of the senders; default off
    ports: "bottleneck", "all", or a list of names and patterns: ["s0->s1", "h*->*"]; default bottleneck
    flows: probed flows: the first so many, "all", or their numbers: [812, 900]; default 64
    """

    def __init__(
        self,
        *,
        queues: Time = "off",
        probes: Time = "off",
        ports: Ports = "bottleneck",
        flows: FlowCount = 64,
    ) -> None: ...

class TrafficClass(Builder):
    """A table of `[[classes]]`: a traffic class, with a queue of its own at every port.

    name: the name that `traffic.class` refers to; required
    weight: share of what the classes before it leave; by default strict priority
    pool: the pool that holds its packets; by default it shares none
    marking: how the queue marks: "none", or a table of a kind and its keys; by default as network.marking
    trimming: whether ports trim packets to headers instead of dropping them; by default as network.trimming
    buffer: of the queue at a switch port; by default as network.buffer
    policer: rate and burst above which switch ports drop packets; by default as network.policer
    pfc: whether switches pause links that bring too much data; by default as network.pfc
    """

    def __init__(
        self,
        *,
        name: str,
        weight: int | None = None,
        pool: str | None = None,
        marking: AnyMarking | None = None,
        trimming: Trimming | TableLike | bool | Literal[False] | None = None,
        buffer: Size | None = None,
        policer: Policer | TableLike | Literal[False] | None = None,
        pfc: Pauses | TableLike | bool | Literal[False] | None = None,
    ) -> None: ...

class Pool(Builder):
    """A table of `[[pools]]`: memory of each switch that the ports share for some classes.

    name: the name that `classes.pool` refers to; required
    size: memory of each switch, without headroom; by default 12MB, or 0.3MB per Gbps
    alpha: a port (with `pfc`: a link) may hold this many times the free memory; default 1.0
    """

    def __init__(
        self,
        *,
        name: str,
        size: Size | None = None,
        alpha: float = 1.0,
    ) -> None: ...

class PortSettings(Builder):
    """A table of `[[ports]]`: other settings of some ports of switches, such as those of a tier.

    names: the ports, by name or pattern: "spine*->*", "*->h*" or ["s0->s1", "s1->s0"]; required
    trimming: at which length these queues trim; keys that are not set are as elsewhere
    marking: how the queue marks: "none", or a table of a kind and its keys; by default as elsewhere
    buffer: of the queue at a switch port; by default as elsewhere
    policer: rate and burst above which switch ports drop packets; by default as elsewhere
    class_: the class whose queues it changes; by default those of all
    """

    def __init__(
        self,
        *,
        names: Ports,
        trimming: Trimming | TableLike | bool | None = None,
        marking: AnyMarking | None = None,
        buffer: Size | None = None,
        policer: Policer | TableLike | Literal[False] | None = None,
        class_: str | None = None,
    ) -> None: ...

class Fault(Builder):
    """A table of `[[faults]]`: what happens to links, or to all links of nodes, and for how long.

    kind: what happens; required
    link: "s0->s1", "s0<->s1" for both ways, or a pattern such as "p1.*<->*"
    node: in place of a link: a switch or host, or a pattern such as "spine*"
    at: when it begins; default 0s
    until: when it ends; by default it lasts
    value: a rate such as "2.5Gbps", a time, a share left or lost, bit errors, or parameters
    period: flap: from one failure to the next
    duty: flap: the share of the period that links are down; 0.5
    """

    def __init__(
        self,
        *,
        kind: Literal[
            "down",
            "up",
            "flap",
            "drain",
            "undrain",
            "rate",
            "slow",
            "delay",
            "hold",
            "reorder",
            "loss",
            "bit-errors",
            "silent-drop",
            "pause-storm",
            "marking",
            "weights",
        ],
        link: str | None = None,
        node: str | None = None,
        at: Time = "0s",
        until: Time | None = None,
        value: Any | None = None,
        period: Time | None = None,
        duty: float | None = None,
    ) -> None: ...

class Task(Builder):
    """A message (`from`, `to`, `size`) or a computation (`host`, `compute`).

    name: its name, for other tasks; by default its number, from 0
    to: message: the host that receives
    size: message: payload bytes
    host: computation: the host
    compute: computation: how long a processor of the host is busy
    processor: computation: the processor, one task at a time; default 0
    after: names of tasks that must have ended at the host; default ()
    behind: names of messages of the host, all of whose data must have left it; default ()
    needs: how many of these are enough; by default all
    delay: time from the end of the wait to the start; default 0s
    from_: message: the host that sends
    global_: may wait for what ends at other hosts, in a run on one thread; default False
    """

    def __init__(
        self,
        *,
        name: str | None = None,
        to: Ends | None = None,
        size: Size | None = None,
        host: Ends | None = None,
        compute: Time | None = None,
        processor: int = 0,
        after: Sequence[str] = (),
        behind: Sequence[str] = (),
        needs: int | None = None,
        delay: Time = "0s",
        from_: Ends | None = None,
        global_: bool = False,
    ) -> None: ...

class Dumbbell(Builder):
    """`hosts` senders on the left, as many receivers on the right, one cable between two switches.

    hosts: hosts on each side; default 10
    edge_rate: absent: `rate`
    rate: rate of the link between the switches; default 10Gbps
    rtt: two-way propagation of the longest path; default 200us
    """

    def __init__(
        self,
        *,
        hosts: int = 10,
        edge_rate: Rate | None = None,
        rate: Rate = "10Gbps",
        rtt: Time = "200us",
    ) -> None: ...

class Star(Builder):
    """`hosts` hosts around one switch: the network of an incast.

    hosts: hosts around the switch; default 10
    rate: rate of the link between the switches; default 10Gbps
    rtt: two-way propagation of the longest path; default 200us
    """

    def __init__(
        self,
        *,
        hosts: int = 10,
        rate: Rate = "10Gbps",
        rtt: Time = "200us",
    ) -> None: ...

class ParkingLot(Builder):
    """A row of switches; long flows cross every hop, and each hop has flows that cross only it.

    hops: links in the row; default 3
    hosts: senders per group: one group crosses all hops, and one group crosses each hop; default 1
    rate: rate of the link between the switches; default 10Gbps
    rtt: two-way propagation of the longest path; default 200us
    """

    def __init__(
        self,
        *,
        hops: int = 3,
        hosts: int = 1,
        rate: Rate = "10Gbps",
        rtt: Time = "200us",
    ) -> None: ...

class MultiBottleneck(Builder):
    """Two bottlenecks in a row (SIGCOMM 2015 Fig. 16): group 1 crosses both, groups 2 and 3 one each.

    Groups 1 and 2 send from s0; group 3 sits at s1. Groups 1 and 3 send to one receiver behind an edge
    link, group 2 to a receiver each.

    hosts: senders in each of the three groups; default (10, 20, 10)
    edge_rate: rate of the hosts' links; default 1Gbps
    same_rtt: whether group 3's cables compensate for the hop; default True
    rate: rate of the link between the switches; default 10Gbps
    rtt: two-way propagation of the longest path; default 200us
    """

    def __init__(
        self,
        *,
        hosts: Sequence[int] = (10, 20, 10),
        edge_rate: Rate = "1Gbps",
        same_rtt: bool = True,
        rate: Rate = "10Gbps",
        rtt: Time = "200us",
    ) -> None: ...

class LeafSpine(Builder):
    """Two tiers: every leaf has cables to every spine. Planes are separate fabrics that share the hosts.

    leaves: leaf switches of each plane; default 4
    spines: spine switches of each plane; default 4
    hosts_per_leaf: hosts at each leaf; default 8
    rate: rate of each of the hosts' links; default 10Gbps
    spine_rate: absent: `rate`
    link_delay: one-way propagation delay of every link; default 1us
    links_per_pair: parallel links between a leaf and a spine; default 1
    planes: separate fabrics, with ports of every host in each; default 1
    ports_per_host: ports of a host, dealt evenly over the planes; absent: `planes`
    """

    def __init__(
        self,
        *,
        leaves: int = 4,
        spines: int = 4,
        hosts_per_leaf: int = 8,
        rate: Rate = "10Gbps",
        spine_rate: Rate | None = None,
        link_delay: Time = "1us",
        links_per_pair: int = 1,
        planes: int = 1,
        ports_per_host: int | None = None,
    ) -> None: ...

class FatTree(Builder):
    """The k-ary fat tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, k^3/4 hosts.

    k: ports of a switch, an even number; default 4
    rate: rate of every link; default 10Gbps
    link_delay: one-way propagation delay of every link; default 1us
    """

    def __init__(
        self,
        *,
        k: int = 4,
        rate: Rate = "10Gbps",
        link_delay: Time = "1us",
    ) -> None: ...

class ThreeTier(Builder):
    """The oversubscribed tree of the DX paper (SIGCOMM 2015 §VI): 192 servers, 3:1 at the racks.

    Racks share aggregation switches in pairs of the latter; even aggregations reach the even cores, odd
    ones the odd cores.

    cores: core switches, an even number; default 8
    aggregations: aggregation switches, an even number; default 16
    tors: racks, a multiple of half the aggregations; default 32
    hosts_per_tor: hosts in each rack; default 6
    rate: rate of the hosts' links; default 10Gbps
    uplink_rate: absent: `rate`
    core_rate: absent: `rate`
    link_delay: one-way propagation delay between switches; default 4us
    host_delay: one-way propagation delay of a host's link; default 1us
    """

    def __init__(
        self,
        *,
        cores: int = 8,
        aggregations: int = 16,
        tors: int = 32,
        hosts_per_tor: int = 6,
        rate: Rate = "10Gbps",
        uplink_rate: Rate | None = None,
        core_rate: Rate | None = None,
        link_delay: Time = "4us",
        host_delay: Time = "1us",
    ) -> None: ...

class RailOptimised(Builder):
    """Servers of GPUs: GPU i of every server of a unit is at leaf i of the unit, and spines join all leaves.

    GPUs are the hosts. Each has a port to its leaf, in every plane, and a port to the NVLink switch of its
    server, which carries the traffic inside the server. NVLink switches have the queues and options of other
    switches.

    units: groups of servers with a leaf for each rail; default 1
    servers: servers in a unit; default 4
    gpus: GPUs in a server, two or more: the number of rails; default 8
    spines: spine switches of each plane; default 4
    rate: rate of each of the GPUs' links to the leaves; default 400Gbps
    spine_rate: absent: `rate`
    nvlink_rate: rate of a GPU's link inside the server; default 3.6Tbps
    link_delay: one-way propagation delay of a link outside servers; default 1us
    nvlink_delay: one-way propagation inside a server; default 200ns
    links_per_pair: parallel links between a leaf and a spine; default 1
    planes: separate fabrics, with a port of every GPU in each; default 1
    """

    def __init__(
        self,
        *,
        units: int = 1,
        servers: int = 4,
        gpus: int = 8,
        spines: int = 4,
        rate: Rate = "400Gbps",
        spine_rate: Rate | None = None,
        nvlink_rate: Rate = "3.6Tbps",
        link_delay: Time = "1us",
        nvlink_delay: Time = "200ns",
        links_per_pair: int = 1,
        planes: int = 1,
    ) -> None: ...

class DragonflyPlus(Builder):
    """Groups of leaves and spines (Dragonfly+, HiPINEB 2017): spines also have cables to other groups.

    Flows take shortest paths, so they cross one cable between groups.

    groups: groups; default 4
    leaves: leaf switches of a group; default 4
    spines: spine switches of a group; default 4
    hosts_per_leaf: hosts at each leaf; default 4
    links_per_group_pair: links between two groups, dealt over their spines in turn; by default `spines`
    rate: rate of the hosts' links; default 10Gbps
    spine_rate: absent: `rate`
    global_rate: absent: `rate`
    link_delay: one-way propagation delay of a link inside a group; default 1us
    global_delay: one-way propagation delay of a link between groups; default 1us
    """

    def __init__(
        self,
        *,
        groups: int = 4,
        leaves: int = 4,
        spines: int = 4,
        hosts_per_leaf: int = 4,
        links_per_group_pair: int | None = None,
        rate: Rate = "10Gbps",
        spine_rate: Rate | None = None,
        global_rate: Rate | None = None,
        link_delay: Time = "1us",
        global_delay: Time = "1us",
    ) -> None: ...

class Graph(Builder):
    """Any graph, connected or not: from a file, or given as `edges` and `hosts`.

    `edges` is a list of [node, node, rate, delay]; an edge that occurs several times is as many parallel
    links. Hosts are the nodes named in `hosts`; in a file those whose `kind` is "host", or, if there are
    none, those with a single edge.

    edges: [node, node, rate, delay] each, or a file; required
    hosts: with `edges`: the names of the hosts; required
    server_switches: switches inside a server, such as NVLink switches; default ()
    """

    def __init__(
        self,
        *,
        edges: Sequence[tuple[str, str, Rate, Time]],
        hosts: Sequence[str],
        server_switches: Sequence[str] = (),
    ) -> None: ...

class LongLived(Builder):
    """Flows without an end: flow i starts at `start + i * stagger`, or up to `jitter` later.

    flows: number of flows; by default one per source
    start: start of the first flow; default 0s
    stagger: time between two starts; default 0s
    jitter: largest random delay of every start; default 10us
    stop: time when all of them end; default never
    exchange: data that each sends when the run begins, before it pauses until its start
    on: time that each sends before it pauses for `off`
    off: repeated pause of each flow; by default none
    rate: rate at which each application writes full packets; by default without a limit
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    from_: sending hosts, by number, name or pattern such as "h1*"; default topology
    to: receiving hosts; default topology
    """

    def __init__(
        self,
        *,
        flows: int | None = None,
        start: Time = "0s",
        stagger: Time = "0s",
        jitter: Time = "10us",
        stop: Time = "never",
        exchange: Size | None = None,
        on: Time | None = None,
        off: Time | None = None,
        rate: Rate | None = None,
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        from_: Ends = "topology",
        to: Ends = "topology",
    ) -> None: ...

class Staircase(Builder):
    """One flow joins every interval; when all are there, one leaves every interval, first come first.

    flows: how many join; default 5
    interval: time between two changes; default 1s
    start: start of the first flow; default 0s
    jitter: largest random delay of every start; default 10us
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    from_: sending hosts, by number, name or pattern such as "h1*"; default topology
    to: receiving hosts; default topology
    """

    def __init__(
        self,
        *,
        flows: int = 5,
        interval: Time = "1s",
        start: Time = "0s",
        jitter: Time = "10us",
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        from_: Ends = "topology",
        to: Ends = "topology",
    ) -> None: ...

class Incast(Builder):
    """Many hosts send one flow each to the same host, at once or within `jitter`.

    Once, every `period`, or at random times with a mean `load` and random hosts.

    senders: number of senders; by default all hosts that can send
    size: payload of each flow; default 20KB
    start: earliest start; default 0s
    jitter: starts are uniform within this time; default 0s
    times: number of incasts, all between the same hosts without `load`; default 1
    period: with `times`: time between two incasts
    load: mean load of the hosts' links by incasts at random times between random hosts
    to: the receiver: the topology's first, else the last host; default topology
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    from_: the hosts that send: the first `senders` of them, without the receiver; default topology
    """

    def __init__(
        self,
        *,
        senders: int | None = None,
        size: Size = "20KB",
        start: Time = "0s",
        jitter: Time = "0s",
        times: int = 1,
        period: Time | None = None,
        load: Share | None = None,
        to: Ends = "topology",
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        from_: Ends = "topology",
    ) -> None: ...

class Shuffle(Builder):
    """Every host sends to every other: the middle of a map and reduce job.

    size: payload of each flow; default 1MB
    start: earliest start; default 0s
    jitter: starts are uniform within this time; default 1ms
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    from_: sending hosts, by number, name or pattern such as "h1*"; default topology
    to: receiving hosts; default topology
    """

    def __init__(
        self,
        *,
        size: Size = "1MB",
        start: Time = "0s",
        jitter: Time = "1ms",
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        from_: Ends = "topology",
        to: Ends = "topology",
    ) -> None: ...

class AllReduce(Builder):
    """Every rank gets the sum of the buffers of all.

    algorithm: a ring, two binary trees as in NCCL, or recursive halving and doubling; default ring
    chunk: with `tree`: bytes that are sent and forwarded together; by default 512KB
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    hosts: the ranks, in order; by default all hosts; default topology
    group_size: ranks of each group; by default all hosts are one group
    size: bytes of the buffer as nccl-tests counts them; default 1MB
    channels: parts of the buffer that are sent at the same time, each by flows of its own; default 1
    queue_pairs: queue pairs of a connection, each with its path; by default each message has its own
    split: `true`: each message is divided among the queue pairs, a flow over each; default False
    step_delay: time that a rank takes before each message, such as NCCL's fixed cost of a step; default 0s
    start: earliest start; default 0s
    jitter: ranks start at random times within this time; default 0s
    rails: each channel is a ring with a rail of its own, as NCCL's; default False
    """

    def __init__(
        self,
        *,
        algorithm: Literal["ring", "tree", "halving-doubling"] = "ring",
        chunk: Size | None = None,
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        hosts: Ends = "topology",
        group_size: int | None = None,
        size: Size = "1MB",
        channels: int = 1,
        queue_pairs: int | None = None,
        split: bool = False,
        step_delay: Time = "0s",
        start: Time = "0s",
        jitter: Time = "0s",
        rails: bool = False,
    ) -> None: ...

class ReduceScatter(Builder):
    """Every rank gets the sum of one part of the buffers of all.

    algorithm: a ring, or recursive halving; default ring
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    hosts: the ranks, in order; by default all hosts; default topology
    group_size: ranks of each group; by default all hosts are one group
    size: bytes of the buffer as nccl-tests counts them; default 1MB
    channels: parts of the buffer that are sent at the same time, each by flows of its own; default 1
    queue_pairs: queue pairs of a connection, each with its path; by default each message has its own
    split: `true`: each message is divided among the queue pairs, a flow over each; default False
    step_delay: time that a rank takes before each message, such as NCCL's fixed cost of a step; default 0s
    start: earliest start; default 0s
    jitter: ranks start at random times within this time; default 0s
    rails: each channel is a ring with a rail of its own, as NCCL's; default False
    """

    def __init__(
        self,
        *,
        algorithm: Literal["ring", "halving"] = "ring",
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        hosts: Ends = "topology",
        group_size: int | None = None,
        size: Size = "1MB",
        channels: int = 1,
        queue_pairs: int | None = None,
        split: bool = False,
        step_delay: Time = "0s",
        start: Time = "0s",
        jitter: Time = "0s",
        rails: bool = False,
    ) -> None: ...

class AllGather(Builder):
    """Every rank gets the parts of all.

    algorithm: a ring, or recursive doubling; default ring
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    hosts: the ranks, in order; by default all hosts; default topology
    group_size: ranks of each group; by default all hosts are one group
    size: bytes of the buffer as nccl-tests counts them; default 1MB
    channels: parts of the buffer that are sent at the same time, each by flows of its own; default 1
    queue_pairs: queue pairs of a connection, each with its path; by default each message has its own
    split: `true`: each message is divided among the queue pairs, a flow over each; default False
    step_delay: time that a rank takes before each message, such as NCCL's fixed cost of a step; default 0s
    start: earliest start; default 0s
    jitter: ranks start at random times within this time; default 0s
    rails: each channel is a ring with a rail of its own, as NCCL's; default False
    """

    def __init__(
        self,
        *,
        algorithm: Literal["ring", "doubling"] = "ring",
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        hosts: Ends = "topology",
        group_size: int | None = None,
        size: Size = "1MB",
        channels: int = 1,
        queue_pairs: int | None = None,
        split: bool = False,
        step_delay: Time = "0s",
        start: Time = "0s",
        jitter: Time = "0s",
        rails: bool = False,
    ) -> None: ...

class Broadcast(Builder):
    """Every rank gets the buffer of the first, chunk by chunk along a chain.

    chunk: bytes that are sent and forwarded together; default 512KB
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    hosts: the ranks, in order; by default all hosts; default topology
    group_size: ranks of each group; by default all hosts are one group
    size: bytes of the buffer as nccl-tests counts them; default 1MB
    channels: parts of the buffer that are sent at the same time, each by flows of its own; default 1
    queue_pairs: queue pairs of a connection, each with its path; by default each message has its own
    split: `true`: each message is divided among the queue pairs, a flow over each; default False
    step_delay: time that a rank takes before each message, such as NCCL's fixed cost of a step; default 0s
    start: earliest start; default 0s
    jitter: ranks start at random times within this time; default 0s
    """

    def __init__(
        self,
        *,
        chunk: Size = "512KB",
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        hosts: Ends = "topology",
        group_size: int | None = None,
        size: Size = "1MB",
        channels: int = 1,
        queue_pairs: int | None = None,
        split: bool = False,
        step_delay: Time = "0s",
        start: Time = "0s",
        jitter: Time = "0s",
    ) -> None: ...

class AllToAll(Builder):
    """Every rank sends a part of its buffer to every other, equal parts unless `gini` is set.

    order: together, rank r first to r + 1; in phases; or together, all first to 0; default rotated
    gini: Gini coefficient of the bytes that ranks receive; default 0.0
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    hosts: the ranks, in order; by default all hosts; default topology
    group_size: ranks of each group; by default all hosts are one group
    size: bytes of the buffer as nccl-tests counts them; default 1MB
    channels: parts of the buffer that are sent at the same time, each by flows of its own; default 1
    queue_pairs: queue pairs of a connection, each with its path; by default each message has its own
    split: `true`: each message is divided among the queue pairs, a flow over each; default False
    step_delay: time that a rank takes before each message, such as NCCL's fixed cost of a step; default 0s
    start: earliest start; default 0s
    jitter: ranks start at random times within this time; default 0s
    """

    def __init__(
        self,
        *,
        order: Literal["rotated", "pairwise", "at-once"] = "rotated",
        gini: float = 0.0,
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        hosts: Ends = "topology",
        group_size: int | None = None,
        size: Size = "1MB",
        channels: int = 1,
        queue_pairs: int | None = None,
        split: bool = False,
        step_delay: Time = "0s",
        start: Time = "0s",
        jitter: Time = "0s",
    ) -> None: ...

class RequestResponse(Builder):
    """Clients that each send a request, receive the response, think, and send the next.

    pairs: clients, each with its server, active at the same time; by default one per source
    exchanges: requests of each client, one after the other; default 100
    request: payload of a request, or a distribution of it; default 100B
    response: payload of a response, or a distribution of it; default 20KB
    service: from the end of a request to the start of its response; default 0s
    think: from the end of a response to the start of the next request; default 0s
    start: earliest start; default 0s
    jitter: first requests start uniformly within this time; default 10us
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    from_: sending hosts, by number, name or pattern such as "h1*"; default topology
    to: receiving hosts; default topology
    """

    def __init__(
        self,
        *,
        pairs: int | None = None,
        exchanges: int = 100,
        request: Sizes = "100B",
        response: Sizes = "20KB",
        service: Time = "0s",
        think: Time = "0s",
        start: Time = "0s",
        jitter: Time = "10us",
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        from_: Ends = "topology",
        to: Ends = "topology",
    ) -> None: ...

class Poisson(Builder):
    """Flows that arrive at random, with sizes from a distribution, at a stated load.

    Load is bytes on the wire (payload and headers, not acks) over capacity: `host` is the mean share of
    the sending hosts' own links, `bottleneck` the share of the one port that all flows cross.

    sizes: a bundled distribution, a CSV file, or one size such as "20KB"; required
    load: a share above 0 and at most 1, such as 0.4 or "40%"; required
    load_of: the capacity that the load refers to; default host
    flows: how many arrive; default 1000
    below: upper bound of drawn sizes; default unlimited
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    from_: sending hosts, by number, name or pattern such as "h1*"; default topology
    to: receiving hosts; default topology
    """

    def __init__(
        self,
        *,
        sizes: Sizes,
        load: Share,
        load_of: Literal["host", "bottleneck"] = "host",
        flows: int = 1000,
        below: Size = "unlimited",
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        from_: Ends = "topology",
        to: Ends = "topology",
    ) -> None: ...

class Tasks(Builder):
    """Messages and computations, each of which starts when its predecessors have ended at its host.

    tasks: tables, a message or a computation each; required
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    """

    def __init__(
        self,
        *,
        tasks: Sequence[Task | TableLike],
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
    ) -> None: ...

class Training(Builder):
    """One iteration of training: forward and backward passes, and the collectives between ranks.

    hosts: the ranks: tensor first, then data, then pipeline parallel; default topology
    dp: data-parallel ranks; by default all hosts are ranks
    tp: tensor-parallel ranks, which reduce activations twice a layer and pass; default 1
    pp: stages of the pipeline; default 1
    ep: expert-parallel ranks, neighbours among those of `dp`; default 1
    layers: layers, divided among the stages; default 4
    gradients: bytes of the gradients of a layer at a rank; default 50MB
    bucket: gradients that are reduced together; default 25MB
    forward: forward computation of a layer and micro-batch; default 1ms
    backward: the same, backward; by default twice as long
    overlap: reduce a bucket as soon as it is complete, not at the end; default True
    micro_batches: micro-batches of the iteration; default 1
    schedule: one forward, one backward in turn; or all forward first; default 1f1b
    activations: bytes of the activations of a micro-batch between two layers; default 16MB
    dispatch: bytes that a rank sends to experts, and that come back, a layer and micro-batch; default 16MB
    gini: Gini coefficient of the bytes that experts receive; default 0.0
    algorithm: the all-reduce of gradients; default ring
    step_delay: time that a rank takes before each message; default 0s
    start: start of the iteration; default 0s
    spread: each rank computes up to this share longer, at random; default 0.0
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    """

    def __init__(
        self,
        *,
        hosts: Ends = "topology",
        dp: int | None = None,
        tp: int = 1,
        pp: int = 1,
        ep: int = 1,
        layers: int = 4,
        gradients: Size = "50MB",
        bucket: Size = "25MB",
        forward: Time = "1ms",
        backward: Time | None = None,
        overlap: bool = True,
        micro_batches: int = 1,
        schedule: Literal["1f1b", "gpipe"] = "1f1b",
        activations: Size = "16MB",
        dispatch: Size = "16MB",
        gini: float = 0.0,
        algorithm: Literal["ring", "tree", "halving-doubling"] = "ring",
        step_delay: Time = "0s",
        start: Time = "0s",
        spread: float = 0.0,
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
    ) -> None: ...

class Trace(Builder):
    """Flows listed one by one: a CSV file, or columns, of start_s, src, dst, bytes, and perhaps waits.

    A flow waits until earlier ones, named by their `id`, have finished at its source (`after`) or have sent
    their data from there (`behind`), and starts `start_s` later.

    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    file: a CSV file with the columns start_s,src,dst,bytes and perhaps id,after,behind
    flows: these columns themselves, instead of a file
    """

    def __init__(
        self,
        *,
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        file: File | None = None,
        flows: Columns | None = None,
    ) -> None: ...

class Driven(Builder):
    """Messages that a program sends while it drives the run (`shallows.open`), none before.

    The results of such a run have them in this table, so that their scenario is the log of the run. Messages
    of several tables are sent in the order of the column `number`.

    settings: what the program set for senders: columns at_s, flow, window_bytes, rate_bps
    name: name in results; by default its kind, numbered if used again
    cc: the algorithm; by default the scenario's
    priority: 1: its packets are sent before those of 0; default 0
    route: the switches that the data of these flows passes, in order; by default switches choose
    class_: the traffic class, by name; by default the last of [[classes]]
    file: a CSV file with the columns start_s,src,dst,bytes and perhaps id,after,behind
    flows: these columns themselves, instead of a file
    """

    def __init__(
        self,
        *,
        settings: Columns | None = None,
        name: str | None = None,
        cc: Algorithm | None = None,
        priority: Literal[0, 1] = 0,
        route: Sequence[str] | None = None,
        class_: str | None = None,
        file: File | None = None,
        flows: Columns | None = None,
    ) -> None: ...

Topology = (
    Dumbbell
    | Star
    | ParkingLot
    | MultiBottleneck
    | LeafSpine
    | FatTree
    | ThreeTier
    | RailOptimised
    | DragonflyPlus
    | Graph
)

Traffic = (
    LongLived
    | Staircase
    | Incast
    | Shuffle
    | AllReduce
    | ReduceScatter
    | AllGather
    | Broadcast
    | AllToAll
    | RequestResponse
    | Poisson
    | Tasks
    | Training
    | Trace
    | Driven
)

class Tables(TypedDict, total=False):
    """The keywords of `Scenario`."""

    name: str
    seed: int
    duration: Required[Time]
    warmup: Time
    cooldown: Time
    topology: Required[Topology | TableLike | GraphLike]
    network: Network | TableLike | None
    hosts: Hosts | TableLike | None
    cc: Algorithm | None
    traffic: Required[Sequence[Traffic | TableLike]]
    faults: Sequence[Fault | TableLike] | None
    classes: Sequence[TrafficClass | TableLike] | None
    pools: Sequence[Pool | TableLike] | None
    ports: Sequence[PortSettings | TableLike] | None
    record: Record | TableLike | None
