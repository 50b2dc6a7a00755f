//! The rate of HULL's pacer: it follows what is handed to the pacer, and grows with what waits in it.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | R_tb | `rate` | rate of the pacer's token bucket, bit/s |
//! | M_r/T_r | `arriving` | what was handed to the pacer in a period, bit/s |
//! | T_r | `period` | how often the rate is updated |
//! | eta, beta | `eta`, `beta` | weights of the newest period and of the backlog |
//! | Q_tb | `backlog` | bits waiting in the pacer |
//!
//! Source: Alizadeh et al., NSDI 2012 §3.3, R <- (1 - eta) R + eta M_r/T_r + beta Q_tb.

use crate::units::{Rate, Time};

/// What its rate follows from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacerSpec {
    /// Weight of the newest period.
    pub eta: f64,
    /// bit/s by which a waiting bit raises the rate each period.
    pub beta: f64,
    /// Between two updates.
    pub period: Time,
    /// The slowest rate.
    pub least: Rate,
    /// The fastest, and the first.
    pub most: Rate,
}

/// The rate.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    spec: PacerSpec,
    rate: f64,
}

impl Pacer {
    /// As fast as it may be.
    #[must_use]
    pub fn new(spec: PacerSpec) -> Self {
        Self { spec, rate: spec.most.0 as f64 }
    }

    /// Between two updates.
    #[must_use]
    pub fn period(&self) -> Time {
        self.spec.period
    }

    /// The rate.
    #[must_use]
    pub fn rate(&self) -> Rate {
        Rate(self.rate as u64)
    }

    /// A period is over.
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
