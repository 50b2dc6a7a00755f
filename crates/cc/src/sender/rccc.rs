//! RCCC, the receiver-credit congestion control of Ultra Ethernet: sends a first window on speculation, then only the bytes for which
//! the receiver grants credit.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | maxwnd | `window_bdp` | bytes that leave without credit, and the most credit that a sender asks for; in bandwidth-delay products |
//! | pull rate | `rate` | share of its link at which a receiver grants credit |
//! | credit per pull | `pull` | the most credit in one pull |
//! | quantum | `quantum` | unit of credit |
//!
//! Source: Ultra Ethernet Specification 1.0, as its authors' simulator has it: uet-htsim 40ccb05, `uec.cpp` (`UecSrc::computePullTarget`,
//! `UecSink::pull`, `UecPullPacer`). EQDS, its predecessor: Olteanu et al., NSDI 2022; csg-htsim 841d9e7, `eqds.cpp`.
//!
//! | source | here |
//! |---|---|
//! | each packet carries the pull target: credit granted, plus backlog up to maxwnd, less credit in hand | same |
//! | receivers grant at 0.99 of their link, in turn among senders whose target is not reached | same, flow by flow |
//! | while nobody waits, slow pulls grant up to maxwnd before a sender asks | same |
//! | a packet may leave while any credit is left; credit in hand is dropped at the first answer to a speculative packet | same |
//! | speculative packets ask for at least one packet while some are left | same |
//! | trimmed packets raise the backlog; what is lost is sent before new data, and on credit | same; the receiver counts a trimmed packet at once |
//! | after a timeout without credit an RTS asks for credit | one packet leaves without credit, whose target asks for the rest |
//!
//! Headers are part of the credit, as they are of the link.

use crate::event::{Ack, Loss};
use crate::parameter::{Parameter, Preset, Values, bytes, flag, number, packets};
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Time};

/// In the order of the table above.
pub const PARAMETERS: &[Parameter] = &[
    number("window_bdp", "maxwnd", 1.5, 0.0..=100.0)
        .meaning("bytes that leave on speculation, and the most credit that a sender asks for, in products of its link rate and round trip")
        .source("uet-htsim, UecSrc::initRccc: 1.5"),
    number("rate", "pull rate", 0.99, 0.01..=1.0)
        .meaning("share of its link at which a receiver grants credit; answers and headers need the rest")
        .source("uet-htsim, main_uec.cpp: 0.99"),
    packets("pull", "credit per pull", 4.0, 1.0..=1000.0)
        .meaning("payloads for which one pull grants credit, rounded down to quanta")
        .source("uet-htsim, UecSink::_mtus_per_pull: 4"),
    bytes("quantum", "quantum", 256.0, 1.0..=65536.0)
        .meaning("unit of credit, to which pull targets are rounded up")
        .source("uet-htsim, uecpacket.h: 256 B"),
    flag("ecn", "-", false)
        .meaning("packets are ECN-capable: marks steer paths (REPS, bitmap, PLB), and credits ignore them")
        .source("uet-htsim, compositequeue.cpp: any data can be marked; off by default: ours"),
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset { name: "uet-1.0", values: &[], source: "uet-htsim 40ccb05" },
    Preset {
        name: "uet-2024",
        values: &[("pull", 1.01), ("quantum", 512.0)],
        source: "uet-htsim f1f54d0 (2024-07-30), which made the published results: eight quanta to a pull, 4096 B; a payload has 4086 B",
    },
    Preset {
        name: "eqds",
        values: &[("pull", 1.01), ("quantum", 512.0), ("window_bdp", 1.0)],
        source: "Olteanu et al., NSDI 2022; csg-htsim 841d9e7, eqds.cpp: 512-byte quanta, eight to a pull of one packet",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_queues();

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "Answers to several packets at once: each packet is answered by itself.",
    "The pull target is not divided by the number of flows that the sender's NIC serves.",
    "NSCC at the sender beside RCCC, and the receiver's reaction to marks of an oversubscribed core.",
    "Queues of their own for speculative packets in EQDS's switches: one queue trims.",
];

/// Builds the sender of one flow, which decides once.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let product = path.line_rate.sent_in(path.base_rtt);
    Box::new(Speculative { window: product.scale(values.get("window_bdp")).max(path.frame) })
}

/// A first window, which leaves at once.
#[derive(Clone, Copy, Debug)]
struct Speculative {
    window: Bytes,
}

impl Sender for Speculative {
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }
}
