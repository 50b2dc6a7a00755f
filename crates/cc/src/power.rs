//! The window law that both forms of PowerTCP share: the window of a round trip ago over the normalised power, and a step.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | gamma | `gamma` | weight of the new window |
//! | beta | `beta` | additive step, in bytes |
//! | tau | `base_rtt` | round trip with all queues empty |
//! | Gamma | `power` | power over that of a full link without a queue, smoothed over tau |
//! | cwnd, `cwnd_old` | `window`, `reference` | window now, and at the end of the last round trip, in bytes on the wire |
//!
//! Source: Addanki, Michel and Schmid, NSDI 2022, Algorithms 1 and 2.

use crate::parameter::{Parameter, Values, bytes, number, packets, time};
use crate::sender::{Decision, Path};
use crate::units::{Bytes, Rate};

/// gamma.
pub const GAMMA: Parameter = number("gamma", "gamma", 0.9, 0.01..=1.0)
    .meaning("weight of the new window in the smoothed one")
    .source("NSDI 2022 §3.3: 0.9");

/// beta.
pub const BETA: Parameter = bytes("beta", "beta", 0.0, 0.0..=1e12)
    .meaning("additive step, on the wire; 0: HostBw tau / expected_flows")
    .source("NSDI 2022 §3.3: HostBw tau / N");

/// N.
pub const EXPECTED_FLOWS: Parameter = number("expected_flows", "N", 10.0, 1.0..=1e6)
    .meaning("flows that share the link of a host, for beta")
    .source("powertcp-linux: expected_flows 10; the paper prints none");

/// tau.
pub const BASE_RTT: Parameter = time("base_rtt", "tau", 0.0, 0.0..=10.0)
    .meaning("round trip with all queues empty; 0: that of the flow's own path")
    .source("NSDI 2022 §3.3: a constant of the network, the largest base round trip");

/// Floor of the window.
pub const MIN_WINDOW: Parameter = packets("min_window", "-", 0.5, 1e-3..=1e3)
    .meaning("smallest window")
    .source("ours: the paper has none, and a link stays full if its flows can have less than a packet each");

/// Floor of the power.
pub const MIN_POWER: Parameter = number("min_power", "-", 0.01, 1e-6..=1.0)
    .meaning("least normalised power, which bounds the growth in one update")
    .source("powertcp-linux: 0.01");

/// State of the law: bytes on the wire, and seconds.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    gamma: f64,
    beta: f64,
    base_rtt: f64,
    min_power: f64,
    least: f64,
    most: f64,
    mss: Bytes,
    frame: f64,
    line_rate: Rate,
    window: f64,
    reference: f64,
    power: f64,
}

impl Law {
    /// Begins with the window that fills the host's link.
    #[must_use]
    pub fn new(values: &Values, path: &Path) -> Self {
        let stated = values.get("base_rtt");
        let base_rtt = if stated > 0.0 { stated } else { path.base_rtt.as_secs().max(1e-12) };
        let frame = path.frame.max(path.mss).0 as f64;
        let least = values.get("min_window") * frame;
        let most = (path.line_rate.0 as f64 / 8.0 * base_rtt).max(frame).max(least);
        let beta = Some(values.get("beta")).filter(|&beta| beta > 0.0);
        Self {
            gamma: values.get("gamma"),
            beta: beta.unwrap_or(most / values.get("expected_flows")),
            base_rtt,
            min_power: values.get("min_power"),
            least,
            most,
            mss: path.mss,
            frame,
            line_rate: path.line_rate,
            window: most,
            reference: most,
            power: 1.0,
        }
    }

    /// Returns tau in seconds.
    #[must_use]
    pub const fn base_rtt(&self) -> f64 {
        self.base_rtt
    }

    /// Smooths a power that was measured over `span` seconds.
    pub fn smooth(&mut self, power: f64, span: f64) {
        let weight = span.min(self.base_rtt) / self.base_rtt;
        self.power = ((1.0 - weight) * self.power + weight * power).max(self.min_power);
    }

    /// `UPDATEWINDOW`, for a link that is to be used to the share `utilization`.
    pub fn update(&mut self, utilization: f64) {
        let target = self.reference * utilization / self.power + self.beta;
        let window = self.gamma * target + (1.0 - self.gamma) * self.window;
        self.window = window.clamp(self.least, self.most);
    }

    /// `UPDATEOLD`.
    pub const fn end_round(&mut self) {
        self.reference = self.window;
    }

    /// Returns the window as payload and the rate cwnd/tau. A packet may leave while less than the window is in flight, as in the
    /// code of HPCC that the authors' simulation extends (rdma-queue-pair.cc).
    #[must_use]
    pub fn decision(&self) -> Decision {
        let pace = Rate((self.window / self.base_rtt * 8.0) as u64).min(self.line_rate).max(Rate(1));
        let payload = self.mss.scale(self.window / self.frame);
        Decision { window: payload + self.mss - Bytes(1), pace: Some(pace), wake: None }
    }

    /// Reports window, reference and power.
    pub fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("cwnd_bytes", self.window);
        record("reference_bytes", self.reference);
        record("power", self.power);
    }
}
