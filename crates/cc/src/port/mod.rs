//! Congestion points, with which a switch port signals congestion in the packets that pass it.
//!
//! One file a mechanism, and one row of [`MECHANISMS`]; to add one, write both. Each file has `PARAMETERS`
//! and `build`. A queue is always counted in bytes on the wire; where a scenario says "35pkt" it means 35
//! full frames.

use std::fmt::Debug;

use crate::event::HopRecord;
use crate::parameter::{Parameter, Values, flag};
use crate::units::{Bytes, Rate, Time};

use dualpi2::DualPi2;
use step::Step;

pub mod codel;
pub mod credit;
pub mod dualpi2;
pub mod int;
pub mod phantom;
pub mod pi;
pub mod rcp;
pub mod red;
pub mod step;

/// When a port looks at its queue: as a packet joins it, or as it leaves.
///
/// "ECN or Delay" §5.2 shows that this decides about stability: a mark set on leaving is younger by the
/// queueing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum MarkAt {
    /// The queue that the packet meets, itself included.
    Enqueue,
    /// The queue that it leaves behind as it begins to be sent.
    Dequeue,
}

/// The ECN field of a packet's IP header, as the codepoints of RFC 3168 section 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: the packet cannot be marked.
    #[default]
    NotEct = 0,
    /// ECN-capable, ECT(1): the identifier of L4S (RFC 9331).
    Ect1 = 1,
    /// ECN-capable, ECT(0).
    Ect0 = 2,
    /// Congestion experienced: the packet has been marked.
    Ce = 3,
}

impl Ecn {
    /// The codepoint in the two lowest bits of an IPv4 type of service or an IPv6 traffic class.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// A packet that joins or leaves a queue, as a congestion point sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The time at which the port looks ([`MarkAt`]).
    pub now: Time,
    /// Length of the queue: with this packet if it joins, without it if it leaves.
    pub queue: Bytes,
    /// The packet's class at the port; 0 at a port with one class.
    pub class: u8,
    /// Length of the packet on the wire.
    pub length: Bytes,
    /// The packet's ECN field.
    pub ecn: Ecn,
}

/// The first packet of a queue, which the port is about to send.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// The present time.
    pub now: Time,
    /// Time since it joined the queue.
    pub waited: Time,
    /// Length of the queue behind it.
    pub behind: Bytes,
    /// Its class at the port; 0 at a port with one class.
    pub class: u8,
    /// Its length on the wire.
    pub length: Bytes,
    /// Whether it is marked instead of dropped.
    pub markable: bool,
}

/// Action of a port on the first packet of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadAction {
    /// Sends it.
    Send,
    /// Marks it and sends it.
    Mark,
    /// Drops it, and looks at the next one.
    Drop,
}

/// The data that a port drops where it would mark other data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drops {
    /// None.
    #[default]
    Nothing,
    /// Data that is not ECN-capable (RFC 3168 §5).
    NotEct,
    /// All data: the port does not mark.
    All,
}

impl Drops {
    /// Returns whether data with this codepoint is dropped.
    #[inline]
    #[must_use]
    pub fn includes(self, ecn: Ecn) -> bool {
        self == Self::All || self == Self::NotEct && ecn == Ecn::NotEct
    }
}

#[cfg(test)]
impl Arrival {
    /// A full ECN-capable frame of 1500 B.
    pub(crate) const fn frame(now: Time, queue: Bytes) -> Self {
        Self { now, queue, class: 0, length: Bytes(1500), ecn: Ecn::Ect0 }
    }
}

/// A congestion point: decides which packets are marked.
///
/// The caller calls it in time order; a wake precedes a packet at the same time.
pub trait CongestionPoint: Debug + Send + dyn_clone::DynClone {
    /// Goes on from `now` with these values at a link of this rate, and keeps its state. Those of fixed parameters are as before.
    fn retune(&mut self, now: Time, values: &Values, rate: Rate);

    /// Returns the probability with which the port marks this packet. The port calls it once for each packet, in time order.
    fn mark_probability(&mut self, _arrival: &Arrival) -> f64 {
        0.0
    }

    /// A packet has been marked, or dropped because it could not be, as [`Self::mark_probability`] proposed.
    fn on_signal(&mut self) {}

    /// Whether it follows the queue that each packet meets ([`Self::on_queue`]).
    fn averages(&self) -> bool {
        false
    }

    /// A packet of this length comes, whether or not there is room for it; with it the queue would have the length `queue`.
    fn on_queue(&mut self, _now: Time, _queue: Bytes, _length: Bytes) {}

    /// Whether it decides about packets as they are about to leave, so that it may drop them ([`Self::on_head`]). Its port needs
    /// classes.
    fn judges_heads(&self) -> bool {
        false
    }

    /// Decides about data that is about to leave a queue.
    fn on_head(&mut self, _head: &Head) -> HeadAction {
        HeadAction::Send
    }

    /// A packet is sent without waiting: all queues are empty. Only a point that judges heads is told.
    fn on_idle(&mut self) {}

    /// A packet comes, whether or not there is room for it; `rtt` is its flow's round trip, where its header says.
    /// Only a point that offers rates is told.
    fn on_arrival(&mut self, _packet: Bytes, _rtt: Option<Time>) {}

    /// The rate that it offers to each flow, if it is one that offers rates: asked before [`Self::mark_probability`].
    fn offered_rate(&self) -> Option<Rate> {
        None
    }

    /// What it writes into a packet that begins to leave now and leaves `queue` behind, if it is one that keeps records:
    /// asked before [`Self::mark_probability`].
    fn record(&self, _now: Time, _queue: Bytes) -> Option<HopRecord> {
        None
    }

    /// A packet of this length begins to leave that the marker of its class judges. Only a point that keeps records is told.
    fn on_departure(&mut self, _length: Bytes) {}

    /// When it wants to look at the queue regardless of packets: always or never, from the start.
    fn next_wake(&self) -> Option<Time> {
        None
    }

    /// Called at the time of [`Self::next_wake`].
    fn on_wake(&mut self, _now: Time, _queue: Bytes) {}

    /// Nothing waits or comes before `until`: skips the wakes before that which would change nothing.
    fn skip_idle(&mut self, _until: Time) {}

    /// The longest queue that it takes no notice of, if it marks by the queue alone: a port need not show it shorter ones.
    fn never_marks_up_to(&self) -> Option<Bytes> {
        None
    }

    /// Itself, where it has two queues, which its port serves and judges by it.
    fn as_dual_queue(&self) -> Option<DualPi2> {
        None
    }

    /// Itself, where it is nothing but a step: a port then compares without calling it.
    fn as_step(&self) -> Option<Step> {
        None
    }
}

/// How a mechanism signals to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// It marks some.
    Marks,
    /// It lowers the rate that they ask for to the one it offers.
    Rates,
    /// It writes into those that ask what its queue is and what it has sent.
    Records,
}

/// One mechanism: what a scenario's `marking.kind` names.
#[derive(Clone, Copy, Debug)]
pub struct Mechanism {
    /// Its name in a scenario.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// The queue that it observes unless the scenario says otherwise.
    pub at: MarkAt,
    /// The feedback that senders receive from it.
    pub tells: Feedback,
    /// Whether chance decides which packets it marks.
    pub draws: bool,
    /// Builds it for a port whose link has this rate.
    pub build: fn(&Values, Rate) -> Box<dyn CongestionPoint>,
}

/// Parameter of the mechanisms that drop data that is not ECN-capable where they would mark ECN-capable data.
const NODROP: Parameter = flag("nodrop", "-", false)
    .meaning("data that is not ECN-capable is not dropped where ECN-capable data would be marked")
    .source("RFC 3168 §5: routers drop what they cannot mark; the name is that of tc-red(8)")
    .fixed();

/// Parameter of the mechanisms that can drop instead of marking.
const ECN: Parameter = flag("ecn", "-", true)
    .meaning("ECN-capable data is marked; off: it is dropped like other data")
    .source("RFC 3168 §5; tc-red(8), tc-codel(8) and ns-3's UseEcn name the same choice")
    .fixed();

impl Mechanism {
    /// Returns the data that a port drops where it would mark other data.
    #[must_use]
    pub fn drops(&self, values: &Values) -> Drops {
        let has = |parameter: Parameter| self.parameters.iter().any(|own| own.name == parameter.name);
        if has(ECN) && !values.flag(ECN.name) {
            Drops::All
        } else if has(NODROP) && !values.flag(NODROP.name) {
            Drops::NotEct
        } else {
            Drops::Nothing
        }
    }

    /// Returns the parameters that a port may change during a run.
    pub fn adjustable(&self) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().filter(|one| !one.is_fixed)
    }
}

/// The mechanism of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Mechanism> {
    MECHANISMS.iter().find(|m| m.name == name)
}

/// Feedback that a row names with `tells`; marks by default.
macro_rules! tells {
    () => {
        Feedback::Marks
    };
    ($what:ident) => {
        Feedback::$what
    };
}

/// Whether chance decides, which a row says with `draws`; no by default.
macro_rules! draws {
    () => {
        false
    };
    ($what:ident) => {
        true
    };
}

/// The last of the times `next`, `next + step`, ... that is not after `until`; `next` where that is.
fn skip_to(next: Time, step: Time, until: Time) -> Time {
    next + step * (until.saturating_sub(next).0 / step.0.max(1))
}

macro_rules! mechanisms {
    ($($module:ident: $at:ident $(tells $what:ident)? $(draws $lots:ident)?; $summary:literal, $source:literal;)*) => {
        /// Every mechanism there is.
        pub static MECHANISMS: &[Mechanism] = &[$(Mechanism {
            name: stringify!($module),
            summary: $summary,
            source: $source,
            parameters: $module::PARAMETERS,
            at: MarkAt::$at,
            tells: tells!($($what)?),
            draws: draws!($($lots)?),
            build: $module::build,
        }),*];
    };
}

mechanisms! {
    step: Enqueue;
        "Marks every packet while the queue is above a threshold.", "Alizadeh et al., SIGCOMM 2010 §3.1 (1)";
    phantom: Dequeue;
        "Marks by a virtual queue that drains slower than the link.", "Alizadeh et al., NSDI 2012 §3.1";
    red: Dequeue draws packets;
        "Marks at random, the more probably the longer the queue.", "Zhu et al., SIGCOMM 2015 §3.1";
    pi: Dequeue draws packets;
        "Moves the marking probability until the queue is where it should be.", "Zhu et al., CoNEXT 2016 eq. 32";
    codel: Dequeue;
        "Drops or marks packets that leave a queue whose delay stays above a target.", "Nichols et al., RFC 8289";
    dualpi2: Dequeue draws packets;
        "Two queues for scalable and classic flows: marks the first, drops or marks the second, with coupled probabilities.",
        "RFC 9332; Linux sch_dualpi2";
    rcp: Dequeue tells Rates;
        "Offers every flow the rate at which the link is full and its queue empty.", "Dukkipati et al., IWQoS 2005 eq. 2";
    int: Dequeue tells Records;
        "Writes its queue, what it has sent, the time and its rate into packets that ask.", "Li et al., SIGCOMM 2019 §3.1";
}

dyn_clone::clone_trait_object!(CongestionPoint);
