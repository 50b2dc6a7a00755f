//! ExpressPass at the sender: sends one full frame for each credit of the receiver, and nothing without a credit.
//!
//! Source: Cho, Jang and Han, SIGCOMM 2017, §3.2. The receiver sets the rate ([`crate::receiver::expresspass`]). The transport
//! requests credits and keeps the states of Fig. 7.
//!
//! Hosts answer a credit at once, or like those of the testbed after a random time. The text prints the median and the 99.99th
//! percentile of Fig. 14a; a + b (1 - u)^(-1/4) with u uniform in [0, 1) has both. The exponent is our choice: one
//! answer in a million takes three times the 99.99th percentile.

use crate::deviation::{Deviation, deviation};
use crate::event::{Ack, Loss};
use crate::parameter::{Parameter, Preset, Values, bytes, flag, number, time};
use crate::rng::Rng;
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Time};

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    number("alpha", "alpha", 0.5, 1e-6..=1.0)
        .meaning("first rate of a flow's credits, as a share of max_rate")
        .source("ns2-xpass: 0.5"),
    number("w_init", "w_init", 0.5, 1e-6..=0.5)
        .meaning("the first w: the part of the way to the highest rate that one increase goes")
        .source("ns2-xpass: 0.5"),
    number("w_min", "w_min", 0.01, 1e-6..=0.5).meaning("the least w").source("SIGCOMM 2017 §5: 0.01"),
    number("target_loss", "target_loss", 0.1, 0.0..=1.0)
        .meaning("share of lost credits that is no congestion yet; with ns2 at a rate of zero")
        .source("10 %, as others report it; ns2-xpass: 1/8"),
    number("jitter", "j", 0.1, 0.0..=1.0)
        .meaning("the gap between two credits varies by this share both ways")
        .source("ns2-xpass: 0.1"),
    bytes("credit", "-", 84.0, 76.0..=1500.0)
        .meaning("a credit on the wire, preamble and gap included; the mean where sizes vary")
        .source("SIGCOMM 2017 §3.1: the smallest Ethernet frame, 84 B"),
    bytes("credit_spread", "-", 8.0, 0.0..=64.0)
        .meaning("sizes of credits vary by up to this much, down to 64 B; of equal sizes a port may drop every credit of one flow")
        .source("ns2-xpass's fat tree: 76 to 92 B, a spread of 8; its dumbbell: 0"),
    number("credit_burst", "-", 2.0, 1.0..=1e3)
        .meaning("credits that a port passes back to back")
        .source("SIGCOMM 2017 §5: 2"),
    number("credit_queue", "-", 8.0, 1.0..=1e3)
        .meaning("credits that wait at a port; one more is dropped")
        .source("SIGCOMM 2017 §5: 8"),
    flag("ns2", "-", false)
        .meaning("feedback of the published simulator instead of the paper's Algorithm 1")
        .source("ns2-xpass, xpass.cc"),
    flag("fall_only", "-", false)
        .meaning("a decrease never raises the rate, even if more credits got through in the last period than the rate of now")
        .source("off: not in the paper; ns2-xpass has it from e1f0d48 (2017-10-16) on, not in its first version 2a0c86a"),
    flag("as_printed", "-", false)
        .meaning("a decrease takes the rate of now, R (1 - credit_loss)(1 + target_loss), in place of the rate of credits that got through")
        .source("SIGCOMM 2017 eq. 3; off: losses are of the rate of a round trip before, and are answered twice"),
    time("host_time", "-", 0.0, 0.0..=1.0)
        .meaning("time a host takes to answer a credit, the median")
        .source("0: as ns2-xpass; SIGCOMM 2017 Fig. 14a: 0.38 us"),
    time("host_time_tail", "-", 0.0, 0.0..=1.0)
        .meaning("its 99.99th percentile; no more than the median: always the median")
        .source("0: as ns2-xpass; SIGCOMM 2017 Fig. 14a: 6.2 us"),
    time("switch_jitter", "-", 0.0, 0.0..=1.0)
        .meaning("longest random time for which a port of a switch holds back a credit whose tokens are there; the rate stays")
        .source("0: as ns2-xpass; SIGCOMM 2017 Fig. 14b: 0.7 us"),
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset { name: "sigcomm17", values: &[], source: "Cho, Jang and Han, SIGCOMM 2017, Algorithm 1 and eq. 2 to 5" },
    Preset { name: "as-printed", values: &[("as_printed", 1.0)], source: "SIGCOMM 2017, eq. 2 to 5 to the letter" },
    Preset {
        name: "sigcomm17-capped",
        values: &[("fall_only", 1.0)],
        source: "Algorithm 1 with the cap that ns2-xpass has from e1f0d48 (2017-10-16) on: 87 to 94 % of the link with 5 to 64 flows",
    },
    Preset {
        name: "ns-2",
        values: &[("ns2", 1.0), ("target_loss", 0.125), ("credit_spread", 0.0)],
        source: "ns2-xpass as first published (2a0c86a, 2017-10-10): xpass.cc and its dumbbell; its fat tree has a \
                 credit_spread of 8",
    },
    Preset {
        name: "ns-2-capped",
        values: &[("ns2", 1.0), ("target_loss", 0.125), ("credit_spread", 0.0), ("fall_only", 1.0)],
        source: "ns2-xpass from e1f0d48 (2017-10-16) on: the same, but a decrease never raises the rate",
    },
    Preset {
        name: "testbed",
        values: &[
            ("ns2", 1.0),
            ("target_loss", 0.125),
            ("credit_spread", 0.0),
            ("host_time", 0.38e-6),
            ("host_time_tail", 6.2e-6),
        ],
        source: "SIGCOMM 2017 §5, Fig. 14a: the ns-2 form between the testbed's hosts",
    },
    Preset {
        name: "testbed-switch",
        values: &[
            ("ns2", 1.0),
            ("target_loss", 0.125),
            ("credit_spread", 0.0),
            ("host_time", 0.38e-6),
            ("host_time_tail", 6.2e-6),
            ("switch_jitter", 0.7e-6),
        ],
        source: "SIGCOMM 2017 §5, Fig. 14a and 14b: the same over the testbed's switch, whose pacer moves gaps by up to 0.7 us",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_queues();

/// Known differences, beside those in the headers of both files.
pub const NOT_MODELLED: &[&str] = &[
    "CLOSE_WAIT: a flow is over when its sender knows that everything has arrived",
    "early credit stop and the smaller first rate of short flows (later ns2-xpass)",
];

/// Differences from the print.
pub const DEVIATIONS: &[Deviation] = &[
    deviation(
        "eq. 3, decrease: R (1 - credit_loss)(1 + target_loss)",
        "the rate of credits that got through, times (1 + target_loss); as_printed as printed",
        "losses are known a round trip late, and belong to credits that were sent at the rate of then: with the rate of now two to five flows \
         use 87 to 78 % of the link in an independent simulation, and 94.8 % with the measured one, which is the figure of the paper",
    ),
    deviation(
        "Algorithm 1: an update each round trip",
        "at the first credit after a round trip in which data arrived",
        "as ns2-xpass, whose figures §6 has",
    ),
    deviation(
        "w(t + 1) = w(t), then growth",
        "half of the way to w_max = 1/2",
        "the excerpt has no listing; the text says that w grows after the first increase",
    ),
    deviation("-", "no rate is below a credit a round trip", "as ns2-xpass: fewer credits starve a flow"),
    deviation("-", "losses are gaps in the numbers of the credits that data echoes", "as ns2-xpass"),
    deviation(
        "Fig. 14a: a median of 0.38 us, a 99.99th percentile of 6.2 us",
        "a + b (1 - u)^(-1/4), with the preset testbed; 0 by default",
        "the text has two points of the distribution; the figures of §6 come from ns-2, whose hosts answer at once",
    ),
    deviation(
        "Fig. 14b: the jitter of the gap between credits is within 0.7 us",
        "switch_jitter, uniform, with the preset testbed-switch; 0 by default",
        "the text has the largest value alone; the figures of §6 come from ns-2, whose ports are exact",
    ),
];

/// Builds the sender of one flow, whose transport sends a frame for each credit.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(Called { host: HostTime::new(values), draws: Rng::new(path.seed, DRAWS) })
}

/// The stream of draws of a flow's own that hosts use.
const DRAWS: u64 = 3;

#[derive(Clone, Debug)]
struct Called {
    host: Option<HostTime>,
    draws: Rng,
}

impl Sender for Called {
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn answer_time(&mut self) -> Time {
        self.host.map_or(Time::ZERO, |host| host.at(self.draws.uniform()))
    }

    fn has_drawn(&self) -> bool {
        self.draws.has_drawn()
    }

    fn decision(&self) -> Decision {
        Decision::window(Bytes::ZERO)
    }
}

/// a + b (1 - u)^(-1/4), in seconds.
#[derive(Clone, Copy, Debug)]
struct HostTime {
    a: f64,
    b: f64,
}

impl HostTime {
    fn new(values: &Values) -> Option<Self> {
        let (median, tail) = (values.get("host_time"), values.get("host_time_tail"));
        let b = (tail - median).max(0.0) / (heavy(0.9999) - heavy(0.5));
        (median > 0.0 || tail > 0.0).then_some(Self { a: median - b * heavy(0.5), b })
    }

    fn at(self, u: f64) -> Time {
        Time::from_secs((self.a + self.b * heavy(u)).max(0.0))
    }
}

/// (1 - u)^(-1/4): 1.19 at the median, 10 at 99.99 %.
fn heavy(u: f64) -> f64 {
    1.0 / (1.0 - u).sqrt().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^(1/4) = 1.1892 and 10: b = 5.82/8.8108 = 0.66056, a = 0.38 - 0.78555. At u = 0.99, 10^(1/2) = 3.1623: 1.6833 us.
    #[test]
    fn a_host_takes_the_printed_times() {
        let mut values = Values::defaults(PARAMETERS);
        assert!(HostTime::new(&values).is_none());
        values.set("host_time", 0.38e-6).unwrap();
        assert_eq!(HostTime::new(&values).unwrap().at(0.9999), Time::from_secs(0.38e-6));
        values.set("host_time_tail", 6.2e-6).unwrap();
        let host = HostTime::new(&values).unwrap();
        for (u, us) in [(0.5, 0.38), (0.9999, 6.2), (0.0, 0.25501), (0.99, 1.6833)] {
            assert!((host.at(u).as_micros() - us).abs() < 1e-4, "{u} {}", host.at(u));
        }
    }
}
