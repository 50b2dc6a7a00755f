//! The parts of an algorithm, which a row of the table of all algorithms names. The rows are in [`crate::sender`]. The command
//! line, the documentation, the conformance tests and the Python package list algorithms from here.

use crate::deviation::Deviation;
use crate::event::Ack;
use crate::multipath::Multipath;
use crate::parameter::{Parameter, Preset, Values};
use crate::port::Ecn;
use crate::receiver::cnp::{Cnp, Silent};
use crate::receiver::ecn_echo::{Accurate, Classic};
use crate::receiver::granting::Granting;
use crate::receiver::{CreditPath, Credits, Receiver};
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Rate, Time};

pub use crate::sender::ALGORITHMS;

/// Whether an algorithm can work without marks from the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// It does not use marks, and its packets are not marked.
    Unused,
    /// It needs marks of this kind ([`crate::port::MECHANISMS`]).
    Required(&'static str),
    /// It uses marks of the second kind if the first, a flag parameter, is set.
    WhenFlag(&'static str, &'static str),
    /// It needs this kind, which writes a rate into packets instead of marking them.
    Rates(&'static str),
    /// It needs this kind, which writes records into packets instead of marking them.
    Records(&'static str),
}

/// How a transport detects and repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Cumulative and selective acknowledgements; lost packets are retransmitted one by one.
    Selective {
        /// Packets that must arrive behind a hole before it counts as lost (`DupThresh` of RFC 6675).
        dup_thresh: u32,
    },
    /// Each packet is acknowledged, or requested again, by itself; their order has no meaning. Ports that trim may cut data to its
    /// header.
    Unordered,
    /// Frames out of order are discarded, and everything from the first missing frame on is sent again.
    GoBackN,
}

/// Condition under which a packet of a flow may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendControl {
    /// The window and the pace of its algorithm.
    InWindow,
    /// The same; its data asks the ports on its path for a rate, which acknowledgements return.
    AtRates,
    /// A credit of its receiver. Every port needs a class for credits ([`crate::port::credit`]), and credits take the reverse
    /// path of the frames that they call.
    OnCredits,
    /// The first window of its algorithm, then one packet, or the bytes of a credit, for each pull of its receiver, whose host
    /// paces the pulls of all its flows.
    OnPulls,
}

/// The transport of an algorithm, in parts that the packet world combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Its name in tables.
    pub name: &'static str,
    /// How it repairs losses. Not every one goes with every condition for sending, which a constant checks.
    pub reliability: Reliability,
    /// When it sends.
    pub leave: SendControl,
    /// The keys of a scenario that act on its flows, of those that do not act on every flow. A scenario that sets
    /// another key is an error.
    pub honours: &'static [&'static str],
}

impl Transport {
    /// Returns the transport. A combination of reliability and condition for sending that no host implements does not compile.
    const fn checked(self) -> Self {
        use Reliability::{GoBackN, Selective, Unordered};
        use SendControl::{AtRates, InWindow, OnCredits, OnPulls};
        let exists = matches!(
            (self.reliability, self.leave),
            (Selective { .. }, InWindow | AtRates) | (GoBackN, InWindow | OnCredits) | (Unordered, InWindow | OnPulls)
        );
        assert!(exists, "a transport without an implementation");
        self
    }
}

/// `DupThresh` of RFC 6675 §2.
const DUP_THRESH: u32 = 3;

/// TCP: a window, cumulative and selective acknowledgements, retransmission packet by packet.
pub static TCP: Transport = Transport {
    name: "tcp",
    reliability: Reliability::Selective { dup_thresh: DUP_THRESH },
    leave: SendControl::InWindow,
    honours: &[
        "cc.receiver",
        "traffic.exchange",
        "traffic.off",
        "traffic.rate",
        "hosts.initial_window",
        "hosts.rto_min",
        "hosts.rto_initial",
        "hosts.rto_max",
        "hosts.acks_every",
        "hosts.ack_delay",
        "hosts.prr",
        "hosts.piggyback",
        "hosts.segment",
        "hosts.segment_time",
        "hosts.loss_detection",
        "hosts.gap",
        "hosts.option",
        "hosts.timestamps",
    ],
}
.checked();

/// TCP whose ports offer rates.
pub static RATED: Transport = Transport {
    name: "rated",
    reliability: Reliability::Selective { dup_thresh: DUP_THRESH },
    leave: SendControl::AtRates,
    honours: &[
        "hosts.rto_min",
        "hosts.rto_initial",
        "hosts.rto_max",
        "hosts.acks_every",
        "hosts.ack_delay",
        "hosts.loss_detection",
        "hosts.option",
        "hosts.timestamps",
    ],
}
.checked();

/// RoCE: a rate from the first packet on, a window if the algorithm has one, and go-back-N.
pub static ROCE: Transport = Transport {
    name: "roce",
    reliability: Reliability::GoBackN,
    leave: SendControl::InWindow,
    honours: &[
        "traffic.exchange",
        "traffic.off",
        "traffic.rate",
        "hosts.initial_window",
        "hosts.rto_initial",
        "hosts.rto_max",
        "hosts.retransmission",
        "hosts.gap",
        "hosts.timestamps",
    ],
}
.checked();

/// A frame for each credit of the receiver.
pub static CREDIT: Transport = Transport {
    name: "credit",
    reliability: Reliability::GoBackN,
    leave: SendControl::OnCredits,
    honours: &["hosts.rto_initial"],
}
.checked();

/// A first window at the rate of the link, then a packet or some bytes for each pull of the receiver; full ports cut packets to headers.
pub static PULLED: Transport = Transport {
    name: "pulled",
    reliability: Reliability::Unordered,
    leave: SendControl::OnPulls,
    honours: &["hosts.rto_initial", "hosts.rto_max"],
}
.checked();

/// The window and pace of the algorithm over acknowledgements of each packet by itself; full ports cut packets to headers.
pub static UNORDERED: Transport = Transport {
    name: "unordered",
    reliability: Reliability::Unordered,
    leave: SendControl::InWindow,
    honours: &["traffic.exchange", "traffic.off", "traffic.rate", "hosts.rto_initial", "hosts.rto_max"],
}
.checked();

/// Builds the source of credits of one flow.
pub type BuildCredits = fn(values: &Values, path: &CreditPath) -> Box<dyn Credits>;

/// Reads how a flow with this empty round trip chooses among entropy values, and finds its losses.
pub type ReadMultipath = fn(values: &Values, base_rtt: Time) -> Multipath;

/// A notification point by name.
#[derive(Clone, Copy, Debug)]
pub struct Notification {
    /// Its name in tables.
    pub name: &'static str,
    /// Builds one from the algorithm's parameters, for acknowledgements that cover this many packets.
    pub build: fn(values: &Values, acks_every: u32) -> Box<dyn Receiver>,
}

/// Marks echoed packet by packet.
pub(crate) const ACCURATE_ECHO: Notification = Notification { name: "ecn echo (RFC 8257)", build: Accurate::boxed };
/// The same, and counters of received, marked and lost packets.
pub(crate) const PACKET_COUNTS: Notification =
    Notification { name: "packet counts (udp_prague)", build: Accurate::boxed };
/// Congestion notification packets.
pub(crate) const CNP: Notification = Notification { name: "congestion notification (SIGCOMM 2015)", build: Cnp::boxed };
/// Nothing beside the transport's own acknowledgements.
pub(crate) const COMPLETIONS: Notification = Notification { name: "completions", build: Silent::boxed };
/// Marks in the answer to each packet, which the transport handles.
pub(crate) const ANSWERS: Notification = Notification { name: "answers to each packet", build: Silent::boxed };
/// Credits, which the transport handles.
pub(crate) const CREDITS: Notification = Notification { name: "credits (SIGCOMM 2017)", build: Silent::boxed };
/// Pulls, which the transport handles.
pub(crate) const PULLS: Notification = Notification { name: "pulls (SIGCOMM 2017)", build: Silent::boxed };
/// Credit in bytes, which the transport handles.
pub(crate) const GRANTS: Notification = Notification { name: "credit in bytes (NSDI 2022)", build: Granting::boxed };
/// Marks echoed until the sender reacts.
pub(crate) const CLASSIC_ECHO: Notification = Notification { name: "ecn echo (RFC 3168)", build: Classic::boxed };

/// One algorithm: its parts, its parameters and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Its name everywhere: scenario, command line, results.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// Its parameters, in the order of its paper.
    pub parameters: &'static [Parameter],
    /// Named sets of values.
    pub presets: &'static [Preset],
    /// Parts of its source that are left out.
    pub not_modelled: &'static [&'static str],
    /// Lines of its source that it reads in its own way.
    pub deviations: &'static [Deviation],
    /// What its law is to those who run and explain it.
    pub traits: Traits,
    /// The reaction point.
    pub sender: fn(&Values, &Path) -> Box<dyn Sender>,
    /// The notification point.
    pub receiver: Notification,
    /// The congestion point it needs.
    pub marking: Marking,
    /// Transport of its packets.
    pub transport: &'static Transport,
    /// The source of credits, if its flows wait for credits.
    pub credits: Option<BuildCredits>,
    /// How its flows choose among entropy values, if they do so themselves (`balancing = "mrc"`).
    pub multipath: Option<ReadMultipath>,
}

impl Algorithm {
    /// Returns the ECN field of its data.
    #[must_use]
    pub fn ecn(&self, values: &Values) -> Ecn {
        let capable = if self.traits.ect1 { Ecn::Ect1 } else { Ecn::Ect0 };
        match self.marking {
            Marking::Required(_) => capable,
            Marking::WhenFlag(flag, _) if values.flag(flag) => capable,
            _ => Ecn::NotEct,
        }
    }

    /// Returns whether its data is ECN-capable.
    #[must_use]
    pub fn ecn_capable(&self, values: &Values) -> bool {
        self.ecn(values) != Ecn::NotEct
    }

    /// Returns whether it is a TCP that reacts to losses, and to marks as in RFC 3168: its windows fill queues.
    #[must_use]
    pub fn is_loss_based(&self) -> bool {
        self.receiver.name == CLASSIC_ECHO.name
    }

    /// Returns whether its receiver counts packets ([`crate::receiver::packet_counter`]).
    #[must_use]
    pub fn counts_packets(&self) -> bool {
        self.receiver.name == PACKET_COUNTS.name
    }

    /// Returns whether it runs over RoCE.
    #[must_use]
    pub fn is_roce(&self) -> bool {
        *self.transport == ROCE
    }

    /// Returns whether it can fill a queue until packets are lost: as a TCP that reacts to losses, or over RoCE, which begins at the
    /// rate of the link.
    #[must_use]
    pub fn fills_queues(&self) -> bool {
        self.is_loss_based() || self.is_roce()
    }

    /// Returns whether it slows down for losses and marks of queues alone, and not for delays, the load of links or missing credits. So
    /// the packets in front of a packet name the flows that slow its flow down.
    #[must_use]
    pub fn reacts_to_queues_alone(&self) -> bool {
        let Traits { reacts_to_delay, reacts_to_load, .. } = self.traits;
        !reacts_to_delay && !reacts_to_load && self.transport.leave == SendControl::InWindow
    }

    /// Returns the keys of a scenario that act on its flows, of those that do not act on every flow. These are the keys of
    /// its transport, without the initial window if its sender has its own, without gaps if it does not fill queues, and over RoCE without
    /// timestamps if it does not use delays.
    #[must_use]
    pub fn honours(&self) -> Vec<&'static str> {
        let own_window = self.after(10, Time::ZERO) == self.after(11, Time::ZERO);
        let acts = |key: &&str| match *key {
            "hosts.initial_window" => !own_window,
            "hosts.gap" => self.fills_queues(),
            "hosts.piggyback" => !matches!(self.marking, Marking::Records(_)) && !self.counts_packets(),
            "hosts.timestamps" => self.transport.reliability != Reliability::GoBackN || self.traits.reacts_to_delay,
            _ => true,
        };
        self.transport.honours.iter().copied().filter(acts).collect()
    }

    /// Returns whether its flows draw random numbers: for their senders, or to space credits.
    #[must_use]
    pub fn draws(&self) -> bool {
        let state = |seed| format!("{:?}", self.example(10, seed));
        self.credits.is_some() || state(1) != state(2)
    }

    /// Returns the decision of its sender after ten acknowledgements with this round trip, from this initial window on.
    fn after(&self, packets: u64, rtt: Time) -> Decision {
        let (mss, mut sender) = (EXAMPLE_MSS, self.example(packets, 1));
        for n in (1..=10).filter(|_| rtt > Time::ZERO) {
            let now = Time::from_millis(10) * n;
            let ack = Ack { sent_at: now - rtt, rtt, one_way_delay: rtt, samples: 1, acked: mss, ..Ack::default() };
            sender.on_ack(now, &ack);
        }
        sender.decision()
    }

    /// Builds a sender with the default parameters on a path of 10 Gbps and 50 us.
    fn example(&self, packets: u64, seed: u64) -> Box<dyn Sender> {
        let (mss, line_rate, base_rtt) = (EXAMPLE_MSS, Rate::from_gbps(10), Time::from_micros(50));
        let path = Path { mss, initial_window: mss * packets, line_rate, base_rtt, seed, ..Path::default() };
        (self.sender)(&Values::defaults(self.parameters), &path)
    }
}

/// Payload of a full packet on the path of [`Algorithm::example`].
const EXAMPLE_MSS: Bytes = Bytes(1460);

/// Returns the algorithm of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().find(|a| a.name == name)
}

/// Builds the table from its rows. A row has the name of its module, TCP as transport, no credits and no list of deviations unless it
/// says otherwise.
macro_rules! algorithms {
    ($($module:ident $(as $name:literal)? $(over $transport:ident)? $(granting $credits:ident)? $(with $list:ident)?
        $(choosing $paths:ident)?: $receiver:ident, $marking:expr;
        $summary:literal, $source:literal;)*) => {
        /// Every algorithm there is.
        pub static ALGORITHMS: &[Algorithm] = &[$(Algorithm {
            name: algorithms!(@name $module $($name)?),
            summary: $summary,
            source: $source,
            parameters: $module::PARAMETERS,
            presets: $module::PRESETS,
            not_modelled: $module::NOT_MODELLED,
            deviations: algorithms!(@deviations $($module $list)?),
            traits: $module::TRAITS,
            sender: $module::build,
            receiver: $crate::catalog::$receiver,
            marking: $marking,
            transport: algorithms!(@transport $($transport)?),
            credits: algorithms!(@credits $($credits)?),
            multipath: algorithms!(@multipath $($paths)?),
        }),*];
    };
    (@name $module:ident) => { stringify!($module) };
    (@name $module:ident $name:literal) => { $name };
    (@transport) => { &$crate::catalog::TCP };
    (@transport $name:ident) => { &$crate::catalog::$name };
    (@deviations) => { &[] };
    (@deviations $module:ident $list:ident) => { $module::$list };
    (@credits) => { None };
    (@credits $module:ident) => { Some($crate::receiver::$module::build) };
    (@multipath) => { None };
    (@multipath $module:ident) => { Some($module::multipath) };
}

pub(crate) use algorithms;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::DeliverySample;
    use crate::parameter::Unit;
    use crate::traits::LeastRtt;

    /// The algorithms that toss coins: BBR chooses when it probes, CDG backs off with a probability, HULL chooses the flows that it paces, DX and Swift
    /// dither fractions of a packet, and ExpressPass varies the spacing of credits.
    #[test]
    fn these_algorithms_draw_random_numbers() {
        let drawing: Vec<_> = ALGORITHMS.iter().filter(|row| row.draws()).map(|row| row.name).collect();
        assert_eq!(drawing, ["bbr3", "hull", "cdg", "dx", "swift", "swift-roce", "expresspass"]);
    }

    /// Round trips that grow by 20 us with each acknowledgement change decisions of senders that react to delays, and of no others but
    /// those that a program decides. A packet in 500 is marked, without which some react to no delay. `sent_at`, which ends rounds, stays the same.
    #[test]
    fn senders_that_react_to_delays_say_so() {
        let decisions = |row: &Algorithm, growth: Time| -> Vec<_> {
            let mut sender = row.example(10, 1);
            let acknowledged = |n| {
                let (now, rtt) =
                    (Time::from_millis(100) + Time::from_micros(10) * n, Time::from_micros(50) + growth * n);
                let marked = if n % 500 == 0 { EXAMPLE_MSS } else { Bytes::ZERO };
                let delays = Ack {
                    sent_at: now - Time::from_micros(500),
                    rtt,
                    one_way_delay: rtt,
                    samples: 1,
                    ..Ack::default()
                };
                let delivered = EXAMPLE_MSS * 20;
                let sample =
                    DeliverySample { delivered, interval: rtt, in_flight: delivered, ..DeliverySample::default() };
                let packets = Ack {
                    acked: EXAMPLE_MSS,
                    marked,
                    in_flight: delivered,
                    window_limited: true,
                    delivery: Some(sample),
                    ..delays
                };
                sender.decide_on(now, &packets)
            };
            (1..=2000).map(acknowledged).collect()
        };
        let differs = |row: &&Algorithm| decisions(row, Time::ZERO) != decisions(row, Time::from_micros(20));
        let says = |row: &&Algorithm| row.traits.reacts_to_delay && !row.traits.is_driven;
        let said: Vec<_> = ALGORITHMS.iter().filter(says).map(|row| row.name).collect();
        let seen: Vec<_> = ALGORITHMS.iter().filter(differs).map(|row| row.name).collect();
        assert_eq!(seen, said);
    }

    /// What traits name exists: parameters of the row, a flag where one decides, and another algorithm.
    #[test]
    fn traits_name_parameters_and_algorithms_that_exist() {
        for row in ALGORITHMS {
            let unit = |name: &str| row.parameters.iter().find(|one| one.name == name).map(|one| one.unit);
            let traits = row.traits;
            if let LeastRtt::If(flag) | LeastRtt::Unless(flag) = traits.least_rtt {
                assert_eq!(unit(flag), Some(Unit::Flag), "{}", row.name);
            }
            assert!(traits.step.is_none_or(|(step, _)| unit(step) == Some(Unit::Rate)), "{}", row.name);
            assert!(traits.corrected_by.is_none_or(|name| find(name).is_some()), "{}", row.name);
            let target = ["base_target", "per_hop", "fs_range"];
            assert!(!traits.has_target_queue || target.iter().all(|name| unit(name).is_some()), "{}", row.name);
            assert!(
                traits.reference_bps.is_none() || row.parameters.iter().any(|one| one.follows.is_some()),
                "{}",
                row.name
            );
        }
    }

    /// A flow that waits for rates needs ports that offer them, a flow that waits for credits needs a receiver that sends them,
    /// and records return in the acknowledgements of TCP and RoCE.
    #[test]
    fn the_parts_of_a_row_go_together() {
        for row in ALGORITHMS {
            let loads = matches!(row.marking, Marking::Rates(_) | Marking::Records(_));
            assert!(!loads || row.traits.reacts_to_load, "{}", row.name);
            let rates = matches!(row.marking, Marking::Rates(_));
            assert_eq!(row.transport.leave == SendControl::AtRates, rates, "{}", row.name);
            assert_eq!(row.transport.leave == SendControl::OnCredits, row.credits.is_some(), "{}", row.name);
            let records = matches!(row.marking, Marking::Records(_));
            assert!(!records || [TCP, ROCE].contains(row.transport), "{}", row.name);
        }
    }
}
