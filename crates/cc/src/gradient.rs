//! The round-trip gradient of TIMELY and of what is built on it, and the parameters that they share.
//!
//! Source: Mittal et al., SIGCOMM 2015, Alg. 1 lines 1 to 4; "ECN or Delay" (`CoNEXT` 2016) Alg. 1, 2 and
//! eq. 23.

use crate::event::Ack;
use crate::parameter::{Parameter, Unit, Values};
use crate::sender::{Path, Segments};
use crate::units::{Rate, Time};

/// `alpha`.
pub const ALPHA: Parameter = Parameter {
    name: "alpha",
    symbol: "alpha",
    unit: Unit::One,
    default: 0.875,
    min: 1e-6,
    max: 1.0,
    meaning: "weight of a new difference of round trips",
    source: "CoNEXT 2016, footnote 4: 0.875",
};

/// `delta`.
pub const DELTA: Parameter = Parameter {
    name: "delta",
    symbol: "delta",
    unit: Unit::Rate,
    default: 10e6,
    min: 1.0,
    max: 1e12,
    meaning: "additive increase",
    source: "CoNEXT 2016 §4.2: 10 Mbps",
};

/// `T_low`.
pub const T_LOW: Parameter = Parameter {
    name: "t_low",
    symbol: "T_low",
    unit: Unit::Time,
    default: 50e-6,
    min: 1e-9,
    max: 1.0,
    meaning: "below this round trip the rate only grows",
    source: "CoNEXT 2016, footnote 4: 50 us",
};

/// `T_high`.
pub const T_HIGH: Parameter = Parameter {
    name: "t_high",
    symbol: "T_high",
    unit: Unit::Time,
    default: 500e-6,
    min: 1e-9,
    max: 1e3,
    meaning: "above it the rate only falls",
    source: "CoNEXT 2016, footnote 4: 500 us",
};

/// `D_minRTT`.
pub const D_MIN_RTT: Parameter = Parameter {
    name: "d_min_rtt",
    symbol: "D_minRTT",
    unit: Unit::Time,
    default: 20e-6,
    min: 1e-9,
    max: 1.0,
    meaning: "what the gradient is divided by, and the least time between updates",
    source: "CoNEXT 2016, footnote 4: 20 us",
};

/// How a segment leaves.
pub const BURST: Parameter = Parameter {
    name: "burst",
    symbol: "-",
    unit: Unit::Flag,
    default: 0.0,
    min: 0.0,
    max: 1.0,
    meaning: "a segment leaves at line rate and the gap follows, instead of frame by frame",
    source: "off, as CoNEXT 2016 Figs. 8, 9 and 12; SIGCOMM 2015 §5 does it",
};

/// How fast that burst is.
pub const BURST_RATE: Parameter = Parameter {
    name: "burst_rate",
    symbol: "-",
    unit: Unit::Rate,
    default: 0.0,
    min: 0.0,
    max: 1e13,
    meaning: "rate of a segment that leaves in a burst, where the flow's own is not more; 0 is the line's",
    source: "0, as CoNEXT 2016 Fig. 10; its footnote 6: TIMELY sends bursts at less than line rate (SIGCOMM 2015 §5)",
};

/// `R(0)`.
pub const START_RATE: Parameter = Parameter {
    name: "start_rate",
    symbol: "R(0)",
    unit: Unit::Rate,
    default: 0.0,
    min: 0.0,
    max: 1e13,
    meaning: "rate of a new flow; 0 is the line shared with the N flows that its sender already has, C/(N+1)",
    source: "SIGCOMM 2015 §4: C/(N+1)",
};

/// Where cuts end.
pub const MIN_RATE: Parameter = Parameter {
    name: "min_rate",
    symbol: "-",
    unit: Unit::Rate,
    default: 10e6,
    min: 1e3,
    max: 1e12,
    meaning: "no cut goes below it",
    source: "a choice: 0.1 % of 10 Gbps",
};

/// How fast the round trip grows, smoothed, in units of the shortest round trip; a sample a completion.
#[derive(Clone, Copy, Debug)]
pub struct Gradient {
    /// `alpha`: weight of a new difference.
    weight: f64,
    /// `D_minRTT`: what a difference is divided by, and the least time between two updates.
    shortest: Time,
    /// Sending the last frame of a segment is not queueing.
    serialisation: Time,
    previous: Option<Time>,
    difference: f64,
    updated: Option<Time>,
}

/// One update: the round trip, and its gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The round trip of a segment, without the time to send it.
    pub rtt: Time,
    /// Its gradient.
    pub gradient: f64,
    /// Time since the one before; none at the first.
    pub elapsed: Time,
}

impl Gradient {
    /// With the weight of a new difference and the shortest round trip.
    #[must_use]
    pub fn new(weight: f64, shortest: Time, path: &Path) -> Self {
        let serialisation = path.line_rate.time_to_send(path.mss);
        Self { weight, shortest, serialisation, previous: None, difference: 0.0, updated: None }
    }

    /// A completion; nothing if it comes too soon after the last one (eq. 23).
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
        Some(Sample { rtt, gradient: self.difference / self.shortest.as_secs(), elapsed })
    }
}

/// How its data is divided, and leaves.
#[must_use]
pub fn segments(values: &Values, path: &Path) -> Segments {
    let burst_rate = values.rate("burst_rate");
    let slower = burst_rate > Rate::ZERO && burst_rate < path.line_rate;
    let (size, at_once) = (values.bytes("seg"), values.flag("burst"));
    Segments { size, at_once, burst_rate: slower.then_some(burst_rate) }
}

/// The rate a flow begins with: `wanted`, or where that is zero the line shared with the sender's other flows.
#[must_use]
pub fn start_rate(wanted: Rate, path: &Path) -> f64 {
    let line = path.line_rate.0 as f64;
    if wanted == Rate::ZERO { line / f64::from(path.active + 1) } else { (wanted.0 as f64).min(line) }
}
