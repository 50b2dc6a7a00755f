//! theta-PowerTCP: PowerTCP without help from switches; the round trip and its gradient stand for the queue and its growth.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | RTT, tau | `rtt`, `base_rtt` | newest round trip; that with all queues empty |
//! | thetadot | `gradient` | change of the round trip over the time in which it changed |
//! | Gamma | `power` | (thetadot + 1) RTT / tau |
//!
//! Source: Addanki, Michel and Schmid, NSDI 2022, Algorithm 2, once a round trip; [`crate::power`] has the law of the window.
//!
//! The round trip of an empty queue shows no arrival rate, so that an idle link only fills by beta. Flows that start at one instant
//! measure and react at one instant too, and with a small beta their queue oscillates (docs/windows.md has examples).

use crate::event::{Ack, Loss};
use crate::parameter::{Parameter, Preset, Values};
use crate::power::{self, Law};
use crate::round::Round;
use crate::sender::{Decision, Path, Segments, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Time};

/// In the order of the paper, the floors last.
pub const PARAMETERS: &[Parameter] =
    &[power::GAMMA, power::BETA, power::EXPECTED_FLOWS, power::BASE_RTT, power::MIN_WINDOW, power::MIN_POWER];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset { name: "nsdi2022", values: &[], source: "Addanki et al., NSDI 2022, Algorithm 2" },
    Preset { name: "linux", values: &[("gamma", 921.0 / 1024.0)], source: "inet-tub/powertcp-linux, powertcp.c" },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_delays();

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "Losses, which change no window: the paper's networks are lossless, and the transport sends lost packets again.",
    "The form of the authors' simulation (ns3-datacenter, rdma-hw.cc), which reacts to every acknowledgement with gamma 0.7, takes 1.05 of \
     the least round trip for tau, and bounds the power by 1/2.",
];

/// Builds the sender of one flow.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(ThetaPowerTcp { law: Law::new(values, path), mss: path.mss, last: None, round: Round::default() })
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
struct ThetaPowerTcp {
    law: Law,
    mss: Bytes,
    /// The round trip at the end of the last round, and when that was.
    last: Option<(Time, Time)>,
    round: Round,
}

impl Sender for ThetaPowerTcp {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if !self.round.ends(now, ack) {
            return;
        }
        if let Some((rtt, at)) = self.last.replace((ack.rtt, now)).filter(|&(_, at)| now > at) {
            let span = (now - at).as_secs();
            let gradient = (ack.rtt.as_secs() - rtt.as_secs()) / span;
            let power = (gradient + 1.0) * ack.rtt.as_secs() / self.law.base_rtt();
            self.law.smooth(power, span);
            self.law.update(1.0);
        }
        self.law.end_round();
    }

    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn decision(&self) -> Decision {
        self.law.decision()
    }

    /// Every packet is acknowledged.
    fn segments(&self) -> Segments {
        Segments { size: self.mss, at_once: false, burst_rate: None }
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(record);
    }
}
