//! The whole request.

use std::collections::BTreeSet;
use std::ops::Range;

pub use shallows_cc::units::MIN_FRAME;
use shallows_cc::units::{Bytes, Time};

use crate::spec::columns::columns;

pub use crate::spec::application::{Application, Supply};
pub use crate::spec::computation::{ComputationSpec, Wait};
pub use crate::spec::control::{Control, ControlSpec, UserAlgorithm};
pub use crate::spec::fault::Fault;
pub use crate::spec::flow::{FlowSpec, RecordSpec};
pub use crate::spec::host::{HostSpec, LossDetection, Nic, Retransmission};
pub use crate::spec::path::{PathHash, RouteLink};
pub use crate::spec::ports::{
    ClassOf, ClassSpec, Discipline, Limit, Marking, PauseSpec, PortSpec, Shaper, SharedSpec, TrafficClass,
};
pub use crate::spec::setting::SenderSetting;

/// Number of entities above which a key of the event queue has fewer bits for the time.
pub const FEW_ENTITIES: usize = 1 << 20;

choice! {
    /// How switches choose among equal paths.
    #[derive(Default)]
    pub enum Balancing {
        /// One path for all packets of a flow (ECMP).
        #[default]
        Flow = "flow",
        /// A random path for each packet (packet spraying).
        Packet = "packet",
        /// For each packet the port with the shortest queue, at random among equal ones.
        Queue = "queue",
        /// The ports of each switch in turn.
        RoundRobin = "round-robin",
        /// A random path for each burst of a flow (LetFlow).
        Flowlet = "flowlet",
        /// An entropy value for each packet that its host takes in turn.
        Oblivious = "oblivious",
        /// The same, without values whose packets were marked, trimmed or lost.
        Bitmap = "bitmap",
        /// An entropy value for each packet that an answer without a mark brought back, or a random one (REPS).
        Reps = "reps",
        /// An entropy value for each flow, another one if its path stays congested (PLB).
        Plb = "plb",
        /// An entropy value of a set for each plane, without values that met congestion or lost packets (MRC).
        Mrc = "mrc",
    }
}

impl Balancing {
    /// Whether packets of a flow take several paths at the same time.
    #[must_use]
    pub const fn sprays(self) -> bool {
        !matches!(self, Self::Flow | Self::Flowlet | Self::Plb)
    }

    /// Whether the host of a flow chooses, by an entropy value in each packet.
    #[must_use]
    pub const fn is_by_host(self) -> bool {
        matches!(self, Self::Oblivious | Self::Bitmap | Self::Reps | Self::Plb | Self::Mrc)
    }

    /// Whether the request says how many entropy values a flow has; the algorithm of MRC has their number.
    #[must_use]
    pub const fn takes_entropies(self) -> bool {
        self.is_by_host() && !matches!(self, Self::Mrc)
    }

    /// Whether the path of each packet is chosen without a look at queues.
    #[must_use]
    pub const fn is_by_chance(self) -> bool {
        matches!(self, Self::Packet | Self::Oblivious | Self::Bitmap | Self::Reps)
    }

    /// Whether paths change after a pause of a flow.
    #[must_use]
    pub const fn has_flowlets(self) -> bool {
        matches!(self, Self::Flowlet)
    }
}

request! {
    /// A run: one struct with every key of a request, and so with more fields than others.
    pub struct Network as "Request" {
        /// Number of hosts. Nodes below this number are hosts, the others are switches.
        hosts: u32,
        /// Number of nodes.
        nodes: u32,
        /// Directed links, an entry each. A cable is two links.
        #[serde(deserialize_with = "columns")]
        ports: Vec<PortSpec> = "links",
        /// Marking mechanisms, to which `links.marking` refers.
        markings: Vec<Marking>,
        /// Ways to schedule packets, to which `links.discipline` refers.
        disciplines: Vec<Discipline>,
        /// Traffic classes in order of priority, one to eight.
        classes: Vec<TrafficClass>,
        /// Pools of memory that the ports of each switch share.
        pools: Vec<SharedSpec>,
        /// How a path is chosen among equal ones: by switches for each flow (ECMP), at random, in turn or by the shortest queue for each
        /// packet, or at random for each flowlet; or by hosts through an entropy value, which switches hash.
        balancing: Balancing,
        /// Number of entropy values of a flow, a power of two up to 65536; 0 is 64 for `bitmap` and 65536 for others. Not of `mrc`, whose
        /// algorithm has the number.
        entropies: u32,
        /// Pause of a flow at a switch after which a flowlet begins.
        flowlet_gap: Time = "flowlet_gap_ps",
        /// Changes of links, in order of time.
        faults: Vec<Fault>,
        /// Links with which something may happen although `faults` does not name them: a program that drives the run changes them.
        changing: Vec<u32>,
        /// How long after a link has gone down or come up switches change their paths; `2**64-1` is never.
        convergence: Time = "convergence_ps",
        /// Flows, an entry each.
        #[serde(deserialize_with = "columns")]
        flows: Vec<FlowSpec>,
        /// Flows whose path switches choose by another number than their own, in order of the flows.
        #[serde(deserialize_with = "columns")]
        path_hashes: Vec<PathHash>,
        /// Routes of flows in place of paths that switches choose, an entry each link, in order of the flows.
        #[serde(deserialize_with = "columns")]
        routes: Vec<RouteLink>,
        /// Computations, an entry each. Their numbers as tasks follow those of the flows.
        #[serde(deserialize_with = "columns")]
        computations: Vec<ComputationSpec>,
        /// Algorithms, to which `flows.cc` refers.
        ccs: Vec<ControlSpec>,
        /// Windows and paces that a program sets for flows of `external`, in order of time.
        #[serde(deserialize_with = "columns")]
        sender_settings: Vec<SenderSetting>,
        /// Settings of all hosts.
        host: HostSpec,
        /// `network.mtu`.
        mtu: Bytes = "mtu_bytes",
        /// The part of a frame that is not payload.
        header: Bytes = "header_bytes",
        /// Latest end of the run; `2**64-1` is none.
        duration: Time = "duration_ps",
        /// End the run when every flow with an end and every computation has finished.
        until_done: bool,
        /// Statistics start at this time.
        warmup: Time = "warmup_ps",
        /// Seed of every random draw in the run.
        seed: u64,
        /// What is sampled over time.
        record: RecordSpec,
        /// Packets in flight at which the run stops, for lack of memory; more than fit into 2 GiB have no effect.
        max_packets: u64,
    } {
        /// The algorithms that `ccs` names; [`Network::resolve`] finds them.
        controls: Vec<Control>,
        /// The number of the first of `flows`: those before it have been retired from a driven run.
        first_flow: u32,
    }
}

impl Network {
    /// Finds the algorithms that `ccs` names; `user_algorithm` finds a Python class by its number.
    ///
    /// # Errors
    /// An unknown name, parameter or class.
    pub fn resolve(&mut self, user_algorithm: &dyn Fn(u32) -> Option<UserAlgorithm>) -> Result<(), String> {
        let resolve = |(number, named): (usize, &ControlSpec)| {
            named.resolve(user_algorithm).map_err(|problem| format!("ccs[{number}]: {problem}"))
        };
        self.controls = self.ccs.iter().enumerate().map(resolve).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Whether something may happen to a link.
    #[inline]
    #[must_use]
    pub fn links_change(&self) -> bool {
        // Asked for each packet that switches spray.
        !(self.faults.is_empty() && self.changing.is_empty()) && self.has_changes_of_links()
    }

    #[cold]
    #[inline(never)]
    fn has_changes_of_links(&self) -> bool {
        self.faults.iter().any(|fault| fault.change.is_of_link()) || !self.changing.is_empty()
    }

    /// The links to which something may happen.
    pub(crate) fn changing_links(&self) -> BTreeSet<u32> {
        let of_faults = self.faults.iter().filter(|fault| fault.change.is_of_link()).map(|fault| fault.link);
        of_faults.chain(self.changing.iter().copied()).collect()
    }

    /// A flow by its number.
    #[inline]
    #[must_use]
    pub fn flow(&self, number: u32) -> &FlowSpec {
        &self.flows[(number - self.first_flow) as usize]
    }

    /// The numbers of the flows.
    pub(crate) fn flow_numbers(&self) -> Range<u32> {
        self.first_flow..self.first_flow + self.flows.len() as u32
    }

    /// Payload of a full packet.
    #[must_use]
    pub fn mss(&self) -> Bytes {
        self.mtu - self.header
    }

    /// The window and pace that a flow has from its start at `now` on, if a program has set them before.
    pub(crate) fn set_before(&self, flow: u32, now: Time) -> Option<&SenderSetting> {
        let driven = |control: &Control| control.algorithm.traits.is_driven;
        self.controls.iter().any(driven).then_some(())?;
        self.sender_settings.iter().rev().find(|one| one.flow == flow && one.at <= now)
    }

    /// The number that switches hash to choose the path of a flow.
    #[must_use]
    pub fn path_hash(&self, flow: u32) -> u32 {
        let found = self.path_hashes.binary_search_by_key(&flow, |one| one.flow);
        found.map_or(flow, |at| self.path_hashes[at].hash)
    }

    /// The links of the route that the data of a flow takes; none if switches choose its path.
    pub fn route(&self, flow: u32) -> impl Iterator<Item = u32> {
        let begin = self.routes.partition_point(|one| one.flow < flow);
        self.routes[begin..].iter().take_while(move |one| one.flow == flow).map(|one| one.link)
    }

    /// The number of packets of a flow with an end.
    #[must_use]
    pub fn packets_of(&self, flow: &FlowSpec) -> u32 {
        flow.bytes.0.div_ceil(self.mss().0) as u32
    }

    /// The length on the wire of a frame with this payload.
    #[must_use]
    pub fn frame(&self, payload: Bytes) -> Bytes {
        (payload + self.header).max(MIN_FRAME)
    }

    /// The length on the wire of an acknowledgement of TCP: the headers of Ethernet (18 B), IP (20 B) and TCP (20 B), and its options.
    #[must_use]
    pub fn tcp_ack(&self) -> Bytes {
        (Bytes(18 + 20 + 20) + self.host.option).max(MIN_FRAME)
    }

    /// Whether switches pause links (PFC).
    #[must_use]
    pub fn pauses(&self) -> bool {
        self.classes.iter().any(|class| class.pause.is_some())
    }

    /// Whether the ports of each switch share memory.
    #[must_use]
    pub fn shares_memory(&self) -> bool {
        self.classes.iter().any(|class| class.pool.is_some())
    }

    /// Number of ports that belong to hosts.
    #[must_use]
    pub fn nics(&self) -> u32 {
        self.ports.iter().filter(|port| port.from < self.hosts).count() as u32
    }

    /// Whether some host has several ports.
    #[must_use]
    pub fn has_multiport_hosts(&self) -> bool {
        self.nics() > self.hosts
    }

    /// Whether hosts choose a port for each packet: where switches do, and only if a host has several.
    #[must_use]
    pub fn hosts_choose_ports(&self) -> bool {
        self.balancing.sprays() && self.has_multiport_hosts()
    }

    /// Whether the choice of a switch depends on nothing but the packet.
    #[inline]
    #[must_use]
    pub fn chooses_by_packet(&self) -> bool {
        self.balancing == Balancing::Packet && !self.links_change()
    }

    /// Number of entities that the event queue holds: links, ports of hosts, and ports where some have classes.
    #[must_use]
    pub fn entities(&self) -> usize {
        let scheduled = if self.disciplines.is_empty() { 0 } else { self.ports.len() };
        self.ports.len() + self.nics() as usize + scheduled
    }

    /// Whether these are more than most main loops are compiled for ([`Observer::PLACE_BITS`](crate::Observer::PLACE_BITS)).
    #[must_use]
    pub fn has_many_places(&self) -> bool {
        self.entities() > FEW_ENTITIES
    }
}

impl Network {
    /// An empty network of which every key has a value, for tests.
    #[must_use]
    pub fn bare() -> Self {
        Self {
            hosts: 0,
            nodes: 0,
            ports: Vec::new(),
            markings: Vec::new(),
            disciplines: Vec::new(),
            classes: vec![TrafficClass::default()],
            pools: Vec::new(),
            balancing: Balancing::Flow,
            entropies: 0,
            flowlet_gap: Time::ZERO,
            faults: Vec::new(),
            convergence: Time::MAX,
            flows: Vec::new(),
            path_hashes: Vec::new(),
            routes: Vec::new(),
            computations: Vec::new(),
            ccs: Vec::new(),
            controls: Vec::new(),
            changing: Vec::new(),
            sender_settings: Vec::new(),
            first_flow: 0,
            host: HostSpec {
                nic: Nic::Fair,
                initial_window: Bytes(14600),
                rto_min: Time::from_millis(1),
                rto_max: Time::from_millis(100),
                rto_initial: Time::from_millis(10),
                ack_delay: Time::from_micros(500),
                segment: 1,
                loss_detection: LossDetection::DuplicateAcks,
                retransmission: Retransmission::GoBackN,
                prr: false,
                gap: 0.0,
                option: Bytes::ZERO,
                poll: Time::ZERO,
                batch: 10,
                segment_time: Time::ZERO,
                piggyback: false,
                ack_jitter: Time::ZERO,
                timestamps: None,
            },
            mtu: Bytes(1500),
            header: Bytes(40),
            duration: Time::from_millis(1),
            until_done: false,
            warmup: Time::ZERO,
            seed: 1,
            record: RecordSpec::default(),
            max_packets: u64::MAX,
        }
    }
}
