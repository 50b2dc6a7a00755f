//! Ports and switches: links, marking, classes and memory.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error};
use shallows_cc::pacer::PacerSpec;
use shallows_cc::parameter::Values;
use shallows_cc::port::dualpi2::DualPi2;
use shallows_cc::port::step::Step;
use shallows_cc::port::{self, CongestionPoint, Drops, MarkAt, Mechanism};
use shallows_cc::units::{Bytes, Rate, Time};

use crate::packet::{PACKET_KINDS, PacketKind};
use crate::spec::control::values;
use crate::spec::shape::{Kind, Tables};

columns! {
    /// A directed link and its egress port.
    #[derive(Copy, PartialEq, Eq)]
    pub struct PortSpec as "Links" in PortColumns {
        /// The node that the egress port belongs to.
        from: u32,
        /// The node at the other end of the link.
        to: u32,
        /// Rate of the link.
        rate: Rate = "rate_bps",
        /// Propagation delay of the link.
        delay: Time = "delay_ps",
        /// Largest backlog of the port, the packet in transmission included; `2**64-1` is unlimited. The limits of classes
        /// replace it.
        buffer: Bytes = "buffer_bytes",
        /// How the port marks: 0 is not at all, otherwise one more than an index into `markings`.
        marking: Option<u32>,
        /// How the port schedules: 0 is in order of arrival, otherwise one more than an index into `disciplines`.
        discipline: Option<u32>,
    }
}

request! {
    /// A marking mechanism by name.
    pub struct MarkingSpec as "Marking" {
        /// A row of `markings()`.
        kind: String,
        /// The queue that it observes: the one that a packet joins, itself included, or the one that a packet leaves behind.
        at: MarkAt,
        /// Some of the row's parameters, in SI base units. The others have the defaults of the row.
        parameters: BTreeMap<String, f64>,
    }
}

/// Marking mechanism of a port.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(try_from = "MarkingSpec")]
pub struct Marking {
    /// Row of the table of marking mechanisms.
    pub mechanism: &'static Mechanism,
    /// Values of its parameters.
    pub values: Values,
    /// The queue that it observes.
    pub at: MarkAt,
}

impl TryFrom<MarkingSpec> for Marking {
    type Error = String;

    fn try_from(MarkingSpec { kind, at, parameters }: MarkingSpec) -> Result<Self, String> {
        let mechanism = port::find(&kind).ok_or_else(|| format!("no marking is called {kind:?}"))?;
        Ok(Self { mechanism, values: values(&kind, mechanism.parameters, &parameters)?, at })
    }
}

impl Kind for Marking {
    fn kind() -> String {
        MarkingSpec::kind()
    }

    fn collect(all: &mut Tables) {
        <MarkingSpec as Kind>::collect(all);
    }
}

impl Marking {
    /// The marking mechanism for a port whose link has this rate.
    #[must_use]
    pub fn point(&self, rate: Rate) -> Box<dyn CongestionPoint> {
        (self.mechanism.build)(&self.values, rate)
    }

    /// The data that the port drops where it would mark other data.
    #[must_use]
    pub fn drops(&self) -> Drops {
        self.mechanism.drops(&self.values)
    }

    /// Whether the port may drop packets that are about to leave, for which it needs classes.
    #[must_use]
    pub fn judges_heads(&self) -> bool {
        self.point(Rate::from_gbps(1)).judges_heads()
    }

    /// The law of a port with two queues, if the mechanism is one.
    #[must_use]
    pub fn dual_queue(&self, rate: Rate) -> Option<DualPi2> {
        self.point(rate).as_dual_queue()
    }

    /// Whether a port may mark as another row from some time on, which differs in parameters that a port may change alone.
    #[must_use]
    pub fn may_become(&self, other: &Self) -> bool {
        let is_same = (self.mechanism.name, self.at) == (other.mechanism.name, other.at);
        let bits = |values: &Values, name| values.get(name).to_bits();
        let mut fixed = self.mechanism.parameters.iter().filter(|one| one.is_fixed);
        is_same && fixed.all(|one| bits(&self.values, one.name) == bits(&other.values, one.name))
    }

    /// A clause about the rows that it may become.
    pub(crate) fn like_it(&self) -> String {
        let names: Vec<_> = self.mechanism.adjustable().map(|one| one.name).collect();
        let (kind, names) = (self.mechanism.name, names.join(", "));
        format!("{kind} like the marking of the port, with other values of {names} alone")
    }

    /// The threshold, if the mechanism only compares the queue that a packet joins with one.
    #[must_use]
    pub fn on_joining(&self, rate: Rate) -> Option<Step> {
        self.point(rate).as_step().filter(|_| self.at == MarkAt::Enqueue)
    }
}

request! {
    /// Token bucket of a class.
    #[derive(Copy, PartialEq)]
    pub struct Shaper as "Shaper" {
        /// Rate at which it fills.
        rate: Rate = "rate_bps",
        /// Its size.
        burst: Bytes = "burst_bytes",
        /// Longest random time for which it holds back a packet whose tokens are there, without an effect on the rate; left out: 0.
        #[serde(default)]
        jitter: Time = "jitter_ps",
        /// Changes the rate during the run; left out: it is constant.
        #[serde(default, deserialize_with = "pacer")]
        pacer: Option<PacerSpec>,
    }
}

request! {
    /// Policer of a class: a token bucket that drops packets whose tokens are missing when they arrive, and delays none.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Policer as "Policer" {
        /// What it lets pass in the long run.
        rate: Rate = "rate_bps",
        /// Its size: what passes at once after a pause. A longer frame never passes.
        burst: Bytes = "burst_bytes",
    }
}

request! {
    /// Pacer of a host, which sets the rate of a bucket: R <- (1 - eta) R + eta M/T + beta Q.
    pub struct Pacer as "Pacer" {
        /// Weight of the bytes that arrived in the newest period.
        eta: f64,
        /// Rate in bit/s by which a waiting bit raises the rate each period.
        beta: f64,
        /// Time between two updates, T.
        period: Time = "period_ps",
        /// Lowest rate.
        least: Rate = "least_bps",
        /// Highest rate, and the first one.
        most: Rate = "most_bps",
    }
}

impl Kind for PacerSpec {
    fn kind() -> String {
        Pacer::kind()
    }

    fn collect(all: &mut Tables) {
        <Pacer as Kind>::collect(all);
    }
}

fn pacer<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<PacerSpec>, D::Error> {
    let Some(Pacer { eta, beta, period, least, most }) = Option::deserialize(reader)? else { return Ok(None) };
    let least = least.min(most);
    if period == Time::ZERO || least == Rate::ZERO {
        let problem = format!("period_ps = {}, least_bps = {}: expected more than 0 of both", period.0, least.0);
        return Err(D::Error::custom(problem));
    }
    Ok(Some(PacerSpec { eta, beta, period, least, most }))
}

/// Largest backlog of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum Limit {
    /// In bytes; [`Bytes::MAX`] is unlimited.
    #[serde(rename = "bytes")]
    Bytes(Bytes),
    /// In packets of any length. A limit in bytes would prefer short ones.
    #[serde(rename = "packets")]
    Packets(u32),
}

impl Kind for Limit {
    fn kind() -> String {
        r#"{"bytes": u64} or {"packets": u32}"#.to_owned()
    }
}

request! {
    /// One class of a port.
    #[derive(Copy, PartialEq)]
    pub struct ClassSpec as "Class" {
        /// Largest backlog, the packet in transmission included. A packet that would exceed it is dropped.
        limit: Limit,
        /// Token bucket that limits its rate.
        shaper: Option<Shaper>,
        /// Cut data that finds the class full to its header instead of dropping it, if its transport supports that.
        trims: bool,
        /// Number of its packets after which a waiting packet of a later class goes first; left out: later classes wait for all.
        turn: Option<u32>,
        /// Bytes that the class may send in a turn (deficit weighted round robin). Neighbouring classes that have one share what
        /// the classes before them leave; left out: the class waits for those before it.
        quantum: Option<Bytes> = "quantum_bytes",
        /// Token bucket above whose rate packets are dropped on arrival.
        policer: Option<Policer>,
        /// How the class marks, as an index into `markings`: it observes the queue of this class, instead of that of the port.
        marking: Option<u32>,
    }
}

request! {
    /// The classes of a port, and the class of each packet.
    #[derive(PartialEq)]
    pub struct Discipline as "Discipline" {
        /// The classes in order of priority, at least one.
        classes: Vec<ClassSpec>,
        /// For each traffic class, the last one standing for all further ones, the class of each kind of packet: `data`, `ack`,
        /// `nack`, `notification`, `pause`, `resume`, `credit_request`, `credit`, `credit_stop`, `rate_request`, `rate_answer`,
        /// `trimmed`, `returned`, `pull`; `other` stands for the kinds that are not named.
        class_of: Vec<ClassOf>,
        /// The class of data that its algorithm sends through the pacer of its host.
        paced: Option<u8>,
    }
}

impl ClassSpec {
    /// A class without a limit, a shaper, a policer or a marking, which waits for those before it.
    pub const OPEN: Self = Self {
        limit: Limit::Bytes(Bytes::MAX),
        shaper: None,
        trims: false,
        turn: None,
        quantum: None,
        policer: None,
        marking: None,
    };
}

impl Discipline {
    /// These classes, without one for a pacer.
    #[must_use]
    pub const fn new(classes: Vec<ClassSpec>, class_of: Vec<ClassOf>) -> Self {
        Self { classes, class_of, paced: None }
    }

    /// The class of the data of a traffic class.
    #[must_use]
    pub fn class_of_data(&self, traffic_class: usize) -> u8 {
        self.class_of(traffic_class).0[PacketKind::Data as usize]
    }

    /// The class of each kind of packet of a traffic class.
    #[must_use]
    pub fn class_of(&self, traffic_class: usize) -> ClassOf {
        self.class_of[traffic_class.min(self.class_of.len() - 1)]
    }
}

/// The class of each kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassOf(pub [u8; PACKET_KINDS.len()]);

impl Kind for ClassOf {
    fn kind() -> String {
        "{str: u8}".to_owned()
    }
}

impl<'de> Deserialize<'de> for ClassOf {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        class_of(reader).map(Self)
    }
}

/// Reads classes by kind of packet.
fn class_of<'de, D: Deserializer<'de>>(reader: D) -> Result<[u8; PACKET_KINDS.len()], D::Error> {
    let named = BTreeMap::<String, u8>::deserialize(reader)?;
    let is_kind = |name: &str| name == "other" || PACKET_KINDS.iter().any(|kind| kind.name() == name);
    if let Some(name) = named.keys().find(|name| !is_kind(name)) {
        return Err(D::Error::custom(format!("no packet is called {name:?}")));
    }
    let mut classes = [0; PACKET_KINDS.len()];
    for (class, kind) in classes.iter_mut().zip(PACKET_KINDS) {
        let found = named.get(kind.name()).or_else(|| named.get("other"));
        *class = *found.ok_or_else(|| D::Error::custom(format!("no class for {:?}", kind.name())))?;
    }
    Ok(classes)
}

request! {
    /// A traffic class: how hosts serve its flows, and where switches keep its packets.
    #[derive(Copy, Default, PartialEq)]
    pub struct TrafficClass as "TrafficClass" {
        /// Bytes that a host sends of it in a turn, as in the classes of ports; left out: it waits for the classes before it.
        quantum: Option<Bytes> = "quantum_bytes",
        /// The pool of memory of each switch that holds its packets: an index into `pools`; left out: they take no shared memory.
        pool: Option<u32>,
        /// When switches pause its data (PFC); left out: never.
        pause: Option<PauseSpec>,
    }
}

request! {
    /// A pool of memory that the ports of each switch share.
    #[derive(Copy, PartialEq)]
    pub struct SharedSpec as "Shared" {
        /// Memory of a switch, headroom not included.
        size: Bytes = "size_bytes",
        /// A class of a port, or a link with PFC, may hold at most this many times the free memory.
        alpha: f64,
    }
}

request! {
    /// When switches pause a class of links (PFC).
    #[derive(Copy, PartialEq, Eq)]
    pub struct PauseSpec as "Pause" {
        /// Data of a class from one link above which it is paused. With shared memory the dynamic threshold replaces it.
        threshold: Bytes = "threshold_bytes",
        /// How far below the threshold the link is resumed.
        hysteresis: Bytes = "hysteresis_bytes",
        /// Memory for data that arrives after a pause; left out: as much as each link can need.
        headroom: Option<Bytes> = "headroom_bytes",
        /// Time after which the port of a switch drops the data of a class that is paused without end; left out: never.
        watchdog: Option<Time> = "watchdog_ps",
        /// `pfc.restoration`, or as the watchdog.
        restoration: Option<Time> = "restoration_ps",
    }
}

impl PauseSpec {
    /// Pauses at this threshold without a watchdog, with all the headroom that links need.
    #[must_use]
    pub const fn at(threshold: Bytes, hysteresis: Bytes) -> Self {
        Self { threshold, hysteresis, headroom: None, watchdog: None, restoration: None }
    }
}
