//! The round-trip gradient of TIMELY and of what is built on it.
//!
//! Source: Mittal et al., SIGCOMM 2015, Alg. 1 lines 1 to 4; "ECN or Delay" (`CoNEXT` 2016) Alg. 1, 2 and
//! eq. 23.

use crate::event::Ack;
use crate::sender::Path;
use crate::units::{Rate, Time};

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

/// The rate a flow begins with: `wanted`, or where that is zero the line shared with the sender's other flows.
#[must_use]
pub fn start_rate(wanted: Rate, path: &Path) -> f64 {
    let line = path.line_rate.0 as f64;
    if wanted == Rate::ZERO { line / f64::from(path.active + 1) } else { (wanted.0 as f64).min(line) }
}
