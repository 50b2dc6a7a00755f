//! NDP at the sender: sends a first window at the rate of its link, then a packet for each pull of the receiver.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | IW | `window` | packets that leave without a pull |
//!
//! Source: Handley et al., SIGCOMM 2017, §3.2; its authors' simulator (csg-htsim 841d9e7, ndp.cpp). What follows the first window
//! is the affair of the receiver, whose host paces pulls for all its flows together, and of ports that cut packets to their
//! headers instead of dropping them: `network.trimming` of a scenario, which this algorithm turns on.
//!
//! Switches send ten headers to a data packet that waits, as the paper says (its simulator: 100 000). As in the simulator an
//! answer carries the pull where no flow of its host waits for one.

use crate::event::{Ack, Loss};
use crate::parameter::{Parameter, Preset, Values, flag, packets};
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Time};

/// In the order of the table above.
pub const PARAMETERS: &[Parameter] = &[
    packets("window", "IW", 0.0, 0.0..=1e6)
        .meaning(
            "packets that leave uncalled; 0: what the flow's own paths hold, and what two ports of each may hold beside",
        )
        .source(
            "SIGCOMM 2017 §3.2: enough to fill the path; csg-htsim: 15, its examples 15 or 23 packets of 9 KB at 10 Gbps",
        ),
    flag("ecn", "-", false)
        .meaning("packets are ECN-capable: marks steer paths (REPS, bitmap, PLB), and pulls ignore them")
        .source("ours: the paper uses no marks"),
];

/// What two ports hold, in packets: a flow whose packets wait on their way up and down fills its path nonetheless. A flow that is spread
/// over several ports of its host has as many paths.
const QUEUES: f64 = 16.0;

/// Variants.
pub const PRESETS: &[Preset] =
    &[Preset { name: "htsim", values: &[("window", 15.0)], source: "csg-htsim 841d9e7, main_ndp.cpp: cwnd = 15" }];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_queues();

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "Paths chosen by the sender, and left out while many of their packets are cut: switches spray (network.balancing).",
    "Pulls by priority, or for the shortest flow first: a receiver calls its flows in turn.",
    "SYN of the first packets: a flow begins with data in either.",
];

/// Builds the sender of one flow, which decides once.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let holds = (path.line_rate.sent_in(path.base_rtt) / path.mss).ceil();
    let packets =
        if values.get("window") > 0.0 { values.get("window") } else { holds + QUEUES * f64::from(path.ports.max(1)) };
    Box::new(Blind { window: path.mss.scale(packets) })
}

/// A first window.
#[derive(Clone, Copy, Debug)]
struct Blind {
    window: Bytes,
}

impl Sender for Blind {
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }
}
