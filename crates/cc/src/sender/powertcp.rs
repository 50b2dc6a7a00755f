//! PowerTCP: sets the window by the power at the fullest hop, which is its arrival rate times the sum of queue and
//! bandwidth-delay product, so that both the queue and its growth reduce the window.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | q, qdot | `queue`, `growth` | queue and its change, in bytes and bytes a second |
//! | mu | `sent` | rate at which the port sends |
//! | lambda | `current` | qdot + mu: what arrives |
//! | b, tau | `link`, `base_rtt` | rate of the link, round trip with all queues empty |
//! | Gamma | `power` | lambda (q + b tau) / (b b tau), the largest of the path |
//! | eta | `utilization` | share of the link that is to be used |
//!
//! Source: Addanki, Michel and Schmid, NSDI 2022, Algorithm 1; [`crate::power`] has the law of the window. At rest Gamma is
//! 1 + q/(b tau), so that the queue is the sum of all beta.
//!
//! | the paper | here |
//! |---|---|
//! | Algorithm 1, per acknowledgement | same; the first records of a path are only kept, as in powertcp-linux |
//! | lambda as measured | at least `current_floor` of the link, 1/2 as in the authors' simulation (rdma-hw.cc): without it the window jumps to its maximum whenever nothing arrives for a moment |
//! | `cwnd_old`: remembered once a round trip | same |
//! | - | `min_window`, below which no window falls |
//! | windows without a unit | windows are bytes on the wire |

use crate::event::{Ack, HopRecord, Loss};
use crate::parameter::{Parameter, Preset, Values, number};
use crate::power::{self, Law};
use crate::round::Round;
use crate::sender::{Decision, Path, Segments, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Time};

/// In the order of the paper, the floors last.
pub const PARAMETERS: &[Parameter] = &[
    power::GAMMA,
    power::BETA,
    power::EXPECTED_FLOWS,
    power::BASE_RTT,
    number("utilization", "eta", 1.0, 0.01..=1.0)
        .meaning("share of the fullest link to use")
        .source("NSDI 2022: 1; the authors' simulation: 0.95"),
    number("current_floor", "-", 0.5, 0.0..=1.0)
        .meaning("least arrival rate that counts, as a share of the link's rate")
        .source("ns3-datacenter, rdma-hw.cc: 0.5; NSDI 2022 and powertcp-linux: 0"),
    power::MIN_WINDOW,
    power::MIN_POWER,
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset { name: "nsdi2022", values: &[("current_floor", 0.0)], source: "Addanki et al., NSDI 2022, Algorithm 1" },
    Preset {
        name: "linux",
        values: &[("gamma", 921.0 / 1024.0), ("current_floor", 0.0)],
        source: "inet-tub/powertcp-linux, powertcp.c",
    },
    Preset {
        name: "ns-3",
        values: &[("utilization", 0.95), ("expected_flows", 500.0 / 3.0)],
        source: "inet-tub/ns3-datacenter 6ddb4a4, rdma-hw.cc: beta is 150 Mbps times tau, here that of 25 Gbps hosts",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_load();

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "The bytes that records add to packets.",
    "Losses, which change no window: the paper's networks are lossless, and the transport sends lost packets again.",
    "RoCE: it runs over selective acknowledgements, as powertcp-linux does.",
    "Arrival counters in records, which the authors' switch writes: arrivals are the queue's growth and what was sent.",
    "Of the authors' simulation, the term (1 - gamma) of the rate a round trip ago: it is that of the present window, as in the paper.",
];

/// Builds the sender of one flow.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(PowerTcp {
        law: Law::new(values, path),
        utilization: values.get("utilization"),
        current_floor: values.get("current_floor"),
        mss: path.mss,
        last: Vec::new(),
        fresh: false,
        round: Round::default(),
    })
}

/// State of one flow.
#[derive(Clone, Debug)]
struct PowerTcp {
    law: Law,
    utilization: f64,
    current_floor: f64,
    mss: Bytes,
    /// Records of the acknowledgement before.
    last: Vec<HopRecord>,
    /// Whether the newest records changed the power.
    fresh: bool,
    round: Round,
}

impl PowerTcp {
    /// `NORMPOWER` before smoothing: the largest power of the path and the time over which it was measured; none if the last
    /// records are of another path.
    fn measured(&self, hops: &[HopRecord]) -> Option<(f64, f64)> {
        if hops.len() != self.last.len() {
            return None;
        }
        let mut largest = (0.0, 0.0);
        for (hop, last) in hops.iter().zip(&self.last) {
            if hop.at <= last.at || hop.sent < last.sent || hop.rate != last.rate {
                return None;
            }
            let (link, span) = (hop.rate.0 as f64 / 8.0, (hop.at - last.at).as_secs());
            let growth = (hop.queue.0 as f64 - last.queue.0 as f64) / span;
            let sent = (hop.sent - last.sent).0 as f64 / span;
            let current = (growth + sent).max(self.current_floor * link);
            let full = link * self.law.base_rtt();
            let power = current / link * (hop.queue.0 as f64 + full) / full;
            if power >= largest.0 {
                largest = (power, span);
            }
        }
        Some(largest)
    }
}

impl Sender for PowerTcp {
    fn on_records(&mut self, _now: Time, hops: &[HopRecord]) {
        let measured = self.measured(hops);
        self.fresh = measured.is_some();
        if let Some((power, span)) = measured {
            self.law.smooth(power, span);
        }
        self.last.clear();
        self.last.extend_from_slice(hops);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let round_ends = self.round.ends(now, ack);
        if std::mem::take(&mut self.fresh) {
            self.law.update(self.utilization);
        }
        if round_ends {
            self.law.end_round();
        }
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
