//! The gradient of the round trip, and the parameters, that TIMELY and both patched forms share.
//!
//! Source: Zhu et al., "ECN or Delay", `CoNEXT` 2016, Algorithms 1 and 2, lines 1 to 4, and eq. 23; Mittal et al., SIGCOMM
//! 2015, Algorithm 1.

use crate::event::Ack;
use crate::parameter::{Parameter, Values, flag, number, rate, time};
use crate::sender::{Path, Segments};
use crate::units::{Rate, Time};

/// `alpha`.
pub const ALPHA: Parameter = number("alpha", "alpha", 0.875, 1e-6..=1.0)
    .meaning("weight of a new difference of round trips")
    .source("CoNEXT 2016, footnote 4: 0.875");

/// `delta`.
pub const DELTA: Parameter = rate("delta", "delta", 10e6, 1.0..=1e12)
    .meaning("additive increase")
    .source("CoNEXT 2016 §4.2: 10 Mbps")
    .follows("host_rate");

/// `T_low`.
pub const T_LOW: Parameter = time("t_low", "T_low", 50e-6, 1e-9..=1e3)
    .meaning("round trip below which the rate only grows")
    .source("CoNEXT 2016, footnote 4: 50 us")
    .follows("round_trip");

/// `T_high`.
pub const T_HIGH: Parameter = time("t_high", "T_high", 500e-6, 1e-9..=1e3)
    .meaning("round trip above which the rate only falls")
    .source("CoNEXT 2016, footnote 4: 500 us")
    .follows("round_trip");

/// `D_minRTT`.
pub const D_MIN_RTT: Parameter = time("d_min_rtt", "D_minRTT", 20e-6, 1e-9..=1e3)
    .meaning("divides the gradient, and is the least time between updates")
    .source("CoNEXT 2016, footnote 4: 20 us")
    .follows("round_trip");

/// Bursts.
pub const BURST: Parameter = flag("burst", "-", false)
    .meaning("a segment leaves in one burst, and the pace only spaces segments")
    .source("off, as CoNEXT 2016 Figs. 8, 9 and 12; SIGCOMM 2015 §5 does it");

/// Rate of a burst.
pub const BURST_RATE: Parameter = rate("burst_rate", "-", 0.0, 0.0..=1e13)
    .meaning("rate at which a burst leaves, if it exceeds the flow's own; 0: the rate of the link")
    .source("0, as CoNEXT 2016 Fig. 10; its footnote 6: TIMELY sends bursts at less than line rate (SIGCOMM 2015 §5)");

/// `R(0)`.
pub const START_RATE: Parameter = rate("start_rate", "R(0)", 0.0, 0.0..=1e13)
    .meaning("rate of a new flow; 0: C/(N+1), where N flows of the same sender are active")
    .source("SIGCOMM 2015 §4: C/(N+1)");

/// The least rate.
pub const MIN_RATE: Parameter = rate("min_rate", "-", 10e6, 1e3..=1e12)
    .meaning("least rate")
    .source("a choice: 0.1 % of 10 Gbps")
    .follows("host_rate");

/// Smoothed change of the round trip in units of `D_minRTT`, with one sample for each completed segment.
#[derive(Clone, Copy, Debug)]
pub struct Gradient {
    /// `alpha`: weight of a new difference.
    weight: f64,
    /// `D_minRTT`: divides a difference, and is the least time between two updates.
    shortest: Time,
    /// Time to send the last frame of a segment, which is no queueing delay.
    serialisation: Time,
    previous: Option<Time>,
    difference: f64,
    updated: Option<Time>,
}

/// Inputs of an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The round trip of a segment, without the time to send it.
    pub rtt: Time,
    /// Its gradient.
    pub gradient: f64,
    /// Time since the sample before; zero for the first.
    pub elapsed: Time,
}

impl Gradient {
    /// A gradient without samples, from `alpha` and `D_minRTT`.
    #[must_use]
    pub fn new(weight: f64, shortest: Time, path: &Path) -> Self {
        let serialisation = path.line_rate.time_to_send(path.mss);
        Self { weight, shortest, serialisation, previous: None, difference: 0.0, updated: None }
    }

    /// Takes the round trip of a completed segment; returns nothing within `D_minRTT` of the last sample (eq. 23).
    pub fn sample(&mut self, now: Time, ack: &Ack) -> Option<Sample> {
        if self.updated.is_some_and(|at| now - at < self.shortest) {
            return None;
        }
        let elapsed = self.updated.map_or(Time::ZERO, |at| now - at);
        self.updated = Some(now);
        let rtt = ack.rtt.saturating_sub(self.serialisation);
        let new = rtt.as_secs() - self.previous.unwrap_or(rtt).as_secs();
        self.previous = Some(rtt);
        self.difference = (1.0 - self.weight) * self.difference + self.weight * new;
        let gradient = self.difference / self.shortest.as_secs();
        Some(Sample { rtt, gradient, elapsed })
    }
}

/// Parameters that TIMELY and both patched forms share; rates in bits per second.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Multiplicative decrease.
    pub beta: f64,
    /// Additive increase.
    pub delta: f64,
    /// Round trip below which the rate only grows.
    pub t_low: Time,
    /// Round trip above which the rate only falls.
    pub t_high: Time,
    /// How the data is divided, and leaves.
    pub segments: Segments,
    /// Rate of the sender's own link.
    pub line_rate: f64,
    /// Rate of a new flow.
    pub start_rate: f64,
    min_rate: f64,
}

impl Shared {
    /// Reads them from the algorithm's parameters.
    #[must_use]
    pub fn new(values: &Values, path: &Path) -> Self {
        let line_rate = path.line_rate.0 as f64;
        Self {
            beta: values.get("beta"),
            delta: values.get("delta"),
            t_low: values.time("t_low"),
            t_high: values.time("t_high"),
            segments: segments(values, path),
            line_rate,
            start_rate: start_rate(values.rate("start_rate"), path),
            min_rate: values.get("min_rate").min(line_rate),
        }
    }

    /// Returns the next rate where the round trip is below `T_low` or above `T_high`, otherwise nothing.
    #[must_use]
    pub fn outside(&self, rate: f64, rtt: Time) -> Option<f64> {
        if rtt < self.t_low {
            Some(rate + self.delta)
        } else if rtt > self.t_high {
            Some(rate * (1.0 - self.beta * (1.0 - self.t_high / rtt)))
        } else {
            None
        }
    }

    /// Keeps a rate between the least one and that of the link.
    #[must_use]
    pub fn clamp(&self, rate: f64) -> f64 {
        rate.clamp(self.min_rate, self.line_rate)
    }
}

/// Returns how the data is divided, and leaves.
#[must_use]
fn segments(values: &Values, path: &Path) -> Segments {
    let burst_rate = values.rate("burst_rate");
    let slower = burst_rate > Rate::ZERO && burst_rate < path.line_rate;
    let (size, at_once) = (values.bytes("seg"), values.flag("burst"));
    Segments { size, at_once, burst_rate: slower.then_some(burst_rate) }
}

/// Returns the rate of a new flow: `wanted`, or if that is zero the link divided among the sender's flows.
#[must_use]
fn start_rate(wanted: Rate, path: &Path) -> f64 {
    let line = path.line_rate.0 as f64;
    if wanted == Rate::ZERO { line / f64::from(path.active + 1) } else { (wanted.0 as f64).min(line) }
}
