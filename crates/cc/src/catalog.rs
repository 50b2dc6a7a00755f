//! What an algorithm is made of: the parts that a row of the table of all algorithms names. The rows stand with the reaction
//! points that they begin with, in [`crate::sender`]; whoever lists algorithms (the command line, the documentation, the
//! conformance tests, the Python front) reads them from here.

use crate::event::Ack;
use crate::parameter::{Parameter, Preset, Values};
use crate::receiver::cnp::{Cnp, Silent};
use crate::receiver::ecn_echo::{Accurate, Classic};
use crate::receiver::{CreditPath, Credits, Receiver};
use crate::sender::{Decision, Path, Sender};
use crate::units::{Bytes, Rate, Time};

pub use crate::sender::ALGORITHMS;

/// Whether an algorithm can work without marks from the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// It does not look at marks, and its packets are not marked.
    Unused,
    /// It is lost without this kind ([`crate::port::MECHANISMS`]).
    Required(&'static str),
    /// It uses them, of the second kind, when the first, a flag parameter, is set.
    WhenFlag(&'static str, &'static str),
    /// It is lost without this kind, which tells its packets a rate instead of marking them.
    Rates(&'static str),
    /// It is lost without this kind, which writes records into its packets instead of marking them.
    Records(&'static str),
}

/// How a transport finds out what was lost, and sends it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Cumulative and selective acknowledgements, repair packet by packet.
    Selective {
        /// How many packets must arrive behind a hole before it counts as lost (`DupThresh` of RFC 6675).
        dup_thresh: u32,
    },
    /// Every packet is acknowledged, or asked for again, by itself; in which order they come means nothing.
    Unordered,
    /// Frames out of order are discarded, and everything from the first missing one on is sent again.
    GoBackN,
}

/// What lets a packet of a flow leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendControl {
    /// The window and the pace of its algorithm.
    InWindow,
    /// The same; its data asks the ports on its way for a rate, which acknowledgements bring back.
    AtRates,
    /// A credit of its receiver. Every port needs a class of credits ([`crate::port::credit`]), and credits cross the links
    /// that their frames will load.
    OnCredits,
    /// The window of its algorithm, once; then a pull of its receiver each, whose host paces them for all its flows. Data may
    /// be cut to its header at ports that trim.
    OnPulls,
}

/// What carries an algorithm's packets, in parts that the packet world puts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Its name in tables.
    pub name: &'static str,
    /// How it mends losses.
    pub reliability: Reliability,
    /// When it sends.
    pub leave: SendControl,
    /// The keys of a scenario that act on its flows, of those that do not act on every flow. A scenario that sets
    /// another one is refused, so a transport that learns to honour a key says so here.
    pub honours: &'static [&'static str],
}

/// `DupThresh` of RFC 6675 §2.
const DUP_THRESH: u32 = 3;

/// A window, cumulative and selective acknowledgements, repair packet by packet.
pub static TCP: Transport = Transport {
    name: "tcp",
    reliability: Reliability::Selective { dup_thresh: DUP_THRESH },
    leave: SendControl::InWindow,
    honours: &[
        "cc.receiver",
        "traffic.exchange",
        "traffic.off",
        "hosts.initial_window",
        "hosts.rto_min",
        "hosts.rto_initial",
        "hosts.rto_max",
        "hosts.acks_every",
        "hosts.ack_delay",
        "hosts.segment",
        "hosts.timestamps",
    ],
};

/// The same, where ports tell rates.
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
        "hosts.timestamps",
    ],
};

/// A rate, from the first packet on, and a window where the algorithm has one.
pub static ROCE: Transport = Transport {
    name: "roce",
    reliability: Reliability::GoBackN,
    leave: SendControl::InWindow,
    honours: &["traffic.exchange", "traffic.off", "hosts.rto_initial", "hosts.rto_max", "hosts.timestamps"],
};

/// A frame for each credit of the receiver.
pub static CREDIT: Transport = Transport {
    name: "credit",
    reliability: Reliability::GoBackN,
    leave: SendControl::OnCredits,
    honours: &["hosts.rto_initial"],
};

/// A first window at the rate of the link, then a packet for each pull of the receiver; ports cut what they have no room for.
pub static PULLED: Transport = Transport {
    name: "pulled",
    reliability: Reliability::Unordered,
    leave: SendControl::OnPulls,
    honours: &["hosts.rto_initial", "hosts.rto_max"],
};

/// Builds what hands out the credits of one flow.
pub type BuildCredits = fn(values: &Values, path: &CreditPath) -> Box<dyn Credits>;

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
/// Congestion notification packets.
pub(crate) const CNP: Notification = Notification { name: "congestion notification (SIGCOMM 2015)", build: Cnp::boxed };
/// Nothing beside the transport's own acknowledgements.
pub(crate) const COMPLETIONS: Notification = Notification { name: "completions", build: Silent::boxed };
/// Credits; what they answer is the transport's affair.
pub(crate) const CREDITS: Notification = Notification { name: "credits (SIGCOMM 2017)", build: Silent::boxed };
/// Pulls; what they call is the transport's affair.
pub(crate) const PULLS: Notification = Notification { name: "pulls (SIGCOMM 2017)", build: Silent::boxed };
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
    /// What its source has and this code leaves out, or does otherwise.
    pub not_modelled: &'static [&'static str],
    /// The reaction point.
    pub sender: fn(&Values, &Path) -> Box<dyn Sender>,
    /// The notification point.
    pub receiver: Notification,
    /// The congestion point it needs.
    pub marking: Marking,
    /// What carries its packets.
    pub transport: &'static Transport,
    /// What hands out the credits of a flow, where it waits for credits.
    pub credits: Option<BuildCredits>,
}

impl Algorithm {
    /// Whether its packets ask to be marked rather than dropped (ECN-capable transport).
    #[must_use]
    pub fn ecn_capable(&self, values: &Values) -> bool {
        match self.marking {
            Marking::Unused | Marking::Rates(_) | Marking::Records(_) => false,
            Marking::Required(_) => true,
            Marking::WhenFlag(flag, _) => values.flag(flag),
        }
    }

    /// The keys of a scenario that act on its flows, of those that do not act on every flow: its transport's, without the
    /// initial window where its sender begins with one of its own, and over RoCE without stamps where it goes by no delay
    /// (others may be compared with one that does).
    #[must_use]
    pub fn honours(&self) -> Vec<&'static str> {
        let own_window = self.after(10, Time::ZERO) == self.after(11, Time::ZERO);
        let no_delay = self.after(10, Time::from_micros(30)) == self.after(10, Time::from_millis(3));
        let acts = |key: &&str| match *key {
            "hosts.initial_window" => !own_window,
            "hosts.timestamps" => self.transport.reliability != Reliability::GoBackN || !no_delay,
            _ => true,
        };
        self.transport.honours.iter().copied().filter(acts).collect()
    }

    /// What its sender decides that begins with a window of so many packets, and then hears of ten of these round trips.
    fn after(&self, packets: u64, rtt: Time) -> Decision {
        let mss = Bytes(1460);
        let (line_rate, base_rtt) = (Rate::from_gbps(10), Time::from_micros(50));
        let path = Path { mss, initial_window: mss * packets, line_rate, base_rtt, seed: 1, ..Path::default() };
        let mut sender = (self.sender)(&Values::defaults(self.parameters), &path);
        for n in (1..=10).filter(|_| rtt > Time::ZERO) {
            let now = Time::from_millis(10) * n;
            let ack = Ack { sent_at: now - rtt, rtt, one_way_delay: rtt, samples: 1, acked: mss, ..Ack::default() };
            sender.on_ack(now, &ack);
        }
        sender.decision()
    }
}

/// The algorithm of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().find(|a| a.name == name)
}

/// Makes the table out of its rows: what a row leaves out is TCP-like, hands out no credits, and has its module's name.
macro_rules! algorithms {
    ($($module:ident $(as $name:literal)? $(over $transport:ident)? $(granting $credits:ident)?: $receiver:ident, $marking:expr;
        $summary:literal, $source:literal;)*) => {
        /// Every algorithm there is.
        pub static ALGORITHMS: &[Algorithm] = &[$(Algorithm {
            name: algorithms!(@name $module $($name)?),
            summary: $summary,
            source: $source,
            parameters: $module::PARAMETERS,
            presets: $module::PRESETS,
            not_modelled: $module::NOT_MODELLED,
            sender: $module::build,
            receiver: $crate::catalog::$receiver,
            marking: $marking,
            transport: algorithms!(@transport $($transport)?),
            credits: algorithms!(@credits $($credits)?),
        }),*];
    };
    (@name $module:ident) => { stringify!($module) };
    (@name $module:ident $name:literal) => { $name };
    (@transport) => { &$crate::catalog::TCP };
    (@transport $name:ident) => { &$crate::catalog::$name };
    (@credits) => { None };
    (@credits $module:ident) => { Some($crate::receiver::$module::build) };
}

pub(crate) use algorithms;

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow that waits for rates needs ports that tell them, one that waits for credits a receiver that hands them out, and
    /// records come back in selective acknowledgements.
    #[test]
    fn the_parts_of_a_row_go_together() {
        for row in ALGORITHMS {
            let rates = matches!(row.marking, Marking::Rates(_));
            assert_eq!(row.transport.leave == SendControl::AtRates, rates, "{}", row.name);
            assert_eq!(row.transport.leave == SendControl::OnCredits, row.credits.is_some(), "{}", row.name);
            assert!(!matches!(row.marking, Marking::Records(_)) || *row.transport == TCP, "{}", row.name);
        }
    }
}
