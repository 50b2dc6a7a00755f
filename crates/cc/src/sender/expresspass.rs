//! Sends one full frame for each credit that the receiver hands out, and nothing without.
//!
//! Source: Cho, Jang and Han, SIGCOMM 2017, §3.2. The rate is the receiver's: receiver/expresspass.rs. Requests for credits
//! and the states of Fig. 7 are the transport's, for any algorithm that hands out credits.

use crate::event::{Ack, Loss};
use crate::parameter::{Parameter, Preset, Values, bytes, flag, number};
use crate::sender::{Decision, Path, Sender};
use crate::units::{Bytes, Time};

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    number("alpha", "alpha", 0.5, 1e-6..=1.0)
        .meaning("share of max_rate at which a new flow's credits begin")
        .source("ns2-xpass: 0.5"),
    number("w_init", "w_init", 0.5, 1e-6..=0.5)
        .meaning("the first w: how far one period goes towards the top")
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
        .meaning("sizes of credits vary by up to this much; of equal sizes a port may drop every credit of one flow")
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
    flag("fall_only", "-", true)
        .meaning("too many losses never raise the rate, even where more credits got through than today's rate")
        .source(
            "not in the paper; ns2-xpass from e1f0d48 (2017-10-16) on, not in its first version 2a0c86a; Algorithm 1 \
                 needs it to be fair with two to four flows",
        ),
];

/// Whose ExpressPass.
pub const PRESETS: &[Preset] = &[
    Preset { name: "sigcomm17", values: &[], source: "Cho, Jang and Han, SIGCOMM 2017, Algorithm 1" },
    Preset {
        name: "ns-2",
        values: &[("ns2", 1.0), ("target_loss", 0.125), ("credit_spread", 0.0), ("fall_only", 0.0)],
        source: "ns2-xpass as first published (2a0c86a, 2017-10-10): xpass.cc and its dumbbell; its fat tree has a \
                 credit_spread of 8",
    },
    Preset {
        name: "ns-2-capped",
        values: &[("ns2", 1.0), ("target_loss", 0.125), ("credit_spread", 0.0)],
        source: "ns2-xpass from e1f0d48 (2017-10-16) on: the same, but losses never raise the rate",
    },
];

/// Beside what the headers of both files say.
pub const NOT_MODELLED: &[&str] = &[
    "CLOSE_WAIT: a flow is over when its sender knows that everything has arrived",
    "early credit stop and the smaller first rate of short flows (later ns2-xpass)",
];

/// Builds the sender of one flow, which has nothing to decide: its transport sends what credits call.
#[must_use]
pub fn build(_values: &Values, _path: &Path) -> Box<dyn Sender> {
    Box::new(Called)
}

#[derive(Debug)]
struct Called;

impl Sender for Called {
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn decision(&self) -> Decision {
        Decision::window(Bytes::ZERO)
    }
}
