//! The rate of HULL's pacer, which follows the rate of arrivals and grows with the backlog.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | R_tb | `rate` | rate of the pacer's token bucket, bit/s |
//! | M_r/T_r | `arriving` | rate at which bits arrive in a period, bit/s |
//! | T_r | `period` | how often the rate is updated |
//! | eta, beta | `eta`, `beta` | weights of the newest period and of the backlog |
//! | Q_tb | `backlog` | bits waiting in the pacer |
//!
//! Source: Alizadeh et al., NSDI 2012 §3.3, R <- (1 - eta) R + eta M_r/T_r + beta Q_tb.

use crate::units::{Rate, Time};

/// Constants of a pacer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacerSpec {
    /// Weight of the newest period.
    pub eta: f64,
    /// Increase of the rate, bit/s, for each waiting bit and period.
    pub beta: f64,
    /// Time between two updates.
    pub period: Time,
    /// The lowest rate.
    pub least: Rate,
    /// The highest rate, and the first.
    pub most: Rate,
}

/// The rate.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    spec: PacerSpec,
    rate: f64,
}

impl Pacer {
    /// Creates a pacer at its highest rate.
    #[must_use]
    pub fn new(spec: PacerSpec) -> Self {
        Self { spec, rate: spec.most.0 as f64 }
    }

    /// Time between two updates.
    #[must_use]
    pub fn period(&self) -> Time {
        self.spec.period
    }

    /// The rate.
    #[must_use]
    pub fn rate(&self) -> Rate {
        Rate(self.rate as u64)
    }

    /// Updates the rate at the end of a period.
    pub fn update(&mut self, arriving: f64, backlog: f64) {
        let PacerSpec { eta, beta, least, most, .. } = self.spec;
        let rate = (1.0 - eta) * self.rate + eta * arriving + beta * backlog;
        self.rate = rate.clamp(least.0 as f64, most.0 as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Gbps forget an eighth in a period in which 1.25 Gbps come: 8.90625. A backlog of 10 kbit at 3000 bit/s a bit adds
    /// 30 Mbps, and silence goes down to the least.
    #[test]
    fn the_rate_follows_what_comes_and_what_waits() {
        let (least, most) = (Rate(100_000_000), Rate::from_gbps(10));
        let spec = PacerSpec { eta: 0.125, beta: 3000.0, period: Time::from_micros(7), least, most };
        let mut pacer = Pacer::new(spec);
        pacer.update(1.25e9, 0.0);
        assert_eq!(pacer.rate(), Rate(8_906_250_000));
        pacer.update(8_906_250_000.0, 10_000.0);
        assert_eq!(pacer.rate(), Rate(8_936_250_000));
        (0..60).for_each(|_| pacer.update(0.0, 0.0));
        assert_eq!(pacer.rate(), least);
        pacer.update(1e12, 0.0);
        assert_eq!(pacer.rate(), most);
    }
}
