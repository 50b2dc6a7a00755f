//! DCTCP on the marks of a phantom queue, with a pacer that smooths the flows that were marked.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | R_tb | `rate` | rate of the pacer's token bucket ([`crate::pacer`]) |
//! | M_r | `arrived` | bits handed to the pacer in a period |
//! | Q_tb | `backlog` | bits waiting in the pacer |
//! | p_a, T_i | `associate`, `idle` | probability that a marked flow is paced; how long it then is |
//!
//! Source: Alizadeh et al., NSDI 2012: §3.1 the phantom queue ([`crate::port::phantom`]), §3.3 the pacer.
//! The window is [`super::dctcp`]'s, code and all.
//!
//! Differs, but for `per_server`: each flow has a pacer of its own, the paper one a server. What waits in it is what the
//! window allows and the pace has not yet let go. With `per_server` the packets of all paced flows wait in one queue of
//! their host, and the others pass it.

use super::dctcp::{self, Dctcp};
use crate::event::{Ack, Loss};
use crate::pacer::{Pacer, PacerSpec};
use crate::parameter::{Parameter, Preset, Values, bytes, flag, number, time};
use crate::rng::Rng;
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Rate, Time};

/// DCTCP's, then the pacer's.
pub const PARAMETERS: &[Parameter] = &[
    dctcp::PARAMETERS[0],
    dctcp::PARAMETERS[1],
    dctcp::PARAMETERS[2],
    dctcp::PARAMETERS[3],
    flag("pacer", "-", true).meaning("whether there is a pacer").source("NSDI 2012 §3.3"),
    flag("per_server", "-", false)
        .meaning("one pacer for all flows of a host, a queue behind a token bucket; otherwise each flow has its own")
        .source("a choice, for one flow a host; NSDI 2012 §3.3 and the authors' ns-2 scripts have one a server"),
    number("eta", "eta", 0.125, 0.0..=1.0)
        .meaning("weight of the newest period in the pacer's rate")
        .source("NSDI 2012 §6: 0.125"),
    number("beta", "beta", 3000.0, 0.0..=1e9)
        .follows("host_rate")
        .meaning("bit/s by which a waiting bit raises the pacer's rate each period")
        .source("the authors' ns-2 scripts for 10 Gbps: 3000 (testbed, 1 Gbps: 16)"),
    time("period", "T_r", 7.2e-6, 1e-9..=1.0)
        .follows("host_time")
        .meaning("how often the pacer's rate is updated")
        .source("the authors' ns-2 scripts for 10 Gbps: 7.2 us (testbed: 64 us)"),
    number("associate", "p_a", 0.125, 0.0..=1.0)
        .meaning("probability that a marked acknowledgement makes its flow a paced one")
        .source("NSDI 2012 §6: 0.125"),
    time("idle", "T_i", 1e-3, 0.0..=1e3)
        .follows("slow_host_time")
        .meaning("how long a flow is paced after that")
        .source("the authors' ns-2 scripts for 10 Gbps: 1 ms (testbed: 10 ms)"),
    number("least_rate", "-", 0.01, 1e-4..=1.0)
        .meaning("the pacer's slowest rate, as a share of the host's link")
        .source("the authors' ns-2 scripts: 1 %"),
    bytes("bucket", "-", 3100.0, 1.0..=1e8)
        .meaning("what leaves the pacer of a server at once")
        .source("the authors' ns-2 scripts: 3100 B (NSDI 2012 §6: 3 KB)"),
];

/// Where it ran.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "nsdi12",
        values: &[("per_server", 1.0)],
        source: "NSDI 2012, 10 Gbps simulations, and the authors' ns-2 scripts",
    },
    Preset {
        name: "testbed",
        values: &[("per_server", 1.0), ("beta", 16.0), ("period", 64e-6), ("idle", 10e-3)],
        source: "NSDI 2012 §6, 1 Gbps testbed; marking = { kind = \"phantom\", threshold = \"1KB\" } goes with it",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_load().reference_gbps(10);

/// Known differences.
pub const NOT_MODELLED: &[&str] = &["The bucket of a flow's own pacer: its packets leave one by one."];

/// Parameters of the pacer of a host with such a link.
fn spec(values: &Values, line_rate: Rate) -> PacerSpec {
    PacerSpec {
        eta: values.get("eta"),
        beta: values.get("beta"),
        period: values.time("period"),
        least: line_rate.scale(values.get("least_rate")),
        most: line_rate,
    }
}

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let spec = spec(values, path.line_rate);
    let own = OwnPacer { pacer: Pacer::new(spec), arrived: 0.0, released: None, updated: Time::ZERO, active: false };
    let association = Association {
        associate: values.get("associate"),
        idle: values.time("idle"),
        paced_until: Time::ZERO,
        draws: Rng::new(path.seed, 0),
    };
    let paces = values.flag("pacer");
    Box::new(Hull {
        dctcp: Dctcp::new(values, path),
        association: paces.then_some(association),
        own: (paces && !values.flag("per_server")).then_some(own),
    })
}

/// Whether the flow is one that is paced.
#[derive(Clone, Copy, Debug)]
struct Association {
    associate: f64,
    idle: Time,
    paced_until: Time,
    draws: Rng,
}

impl Association {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if ack.marked.0 > 0 && self.draws.uniform() < self.associate {
            self.paced_until = now + self.idle;
        }
    }
}

/// The pacer of one flow.
#[derive(Clone, Copy, Debug)]
struct OwnPacer {
    pacer: Pacer,
    arrived: f64,
    /// The window less what was in flight, when last seen.
    released: Option<f64>,
    updated: Time,
    active: bool,
}

impl OwnPacer {
    fn on_ack(&mut self, now: Time, ack: &Ack, window: Bytes) {
        let backlog = window.saturating_sub(ack.in_flight).0 as f64 * 8.0;
        // An acknowledgement lets as much into the pacer as it makes the room in the window grow.
        let before = self.released.replace(backlog).unwrap_or(0.0);
        self.arrived += (ack.acked.0 as f64 * 8.0).max(backlog - before);
        self.update(now, if self.active { backlog } else { 0.0 });
    }

    /// One update a period that has passed; what arrived is spread over them.
    fn update(&mut self, now: Time, backlog: f64) {
        let period = self.pacer.period();
        let periods = (now.saturating_sub(self.updated).0 / period.0).min(MOST_PERIODS);
        if periods == 0 {
            return;
        }
        let arriving = self.arrived / (periods as f64 * period.as_secs());
        for _ in 0..periods {
            self.pacer.update(arriving, backlog);
        }
        self.arrived = 0.0;
        self.updated = now;
    }
}

/// After so many periods of silence the rate has forgotten what it was.
const MOST_PERIODS: u64 = 64;

/// State of one flow.
#[derive(Clone, Copy, Debug)]
struct Hull {
    dctcp: Dctcp,
    association: Option<Association>,
    own: Option<OwnPacer>,
}

impl Sender for Hull {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.dctcp.on_ack(now, ack);
        let window = self.dctcp.decision().window;
        if let Some(association) = &mut self.association {
            association.on_ack(now, ack);
        }
        let active = self.goes_through_pacer(now);
        if let Some(own) = &mut self.own {
            own.active = active;
            own.on_ack(now, ack, window);
        }
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        self.dctcp.on_loss(now, loss);
    }

    fn decision(&self) -> Decision {
        let active = self.own.filter(|own| own.active);
        Decision { pace: active.map(|own| own.pacer.rate()), ..self.dctcp.decision() }
    }

    fn goes_through_pacer(&self, now: Time) -> bool {
        self.association.is_some_and(|association| now < association.paced_until)
    }

    fn has_drawn(&self) -> bool {
        self.association.is_some_and(|association| association.draws.has_drawn())
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.dctcp.probe(record);
    }
}
