//! The pace and the window (§5.6).

use crate::sender::bbr3::law::{Law, RateSample, State};

/// Largest send quantum, B.
const LARGEST_QUANTUM: f64 = 65_536.0;

impl Law {
    /// `InitPacingRate()`, with a smoothed round trip.
    pub(super) fn init_pacing_rate(&mut self, srtt: f64) {
        self.pacing_rate = self.constants.startup_gain * self.constants.initial_cwnd / srtt;
    }

    /// `SetPacingRateWithGain()`.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - self.constants.pacing_margin);
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `BBR.bdp`, B: the bandwidth in use times the least round trip.
    #[must_use]
    pub fn bdp(&self) -> f64 {
        self.bdp_multiple(self.bw, 1.0)
    }

    /// `BDPMultiple()`, B.
    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        match self.round_trips.min_rtt {
            f64::INFINITY => self.constants.initial_cwnd,
            min_rtt => gain * (bw * min_rtt),
        }
    }

    /// `QuantizationBudget()`, B. The send quantum is what the pace sends in 1 ms, two packets to 64 KB.
    fn with_budget(&self, inflight: f64) -> f64 {
        let quantum = (self.pacing_rate * 1e-3).min(LARGEST_QUANTUM).max(2.0 * self.constants.smss);
        let inflight = inflight.max(self.constants.offload_quanta * quantum).max(self.constants.least_cwnd);
        if self.state == State::Up { inflight + 2.0 * self.constants.smss } else { inflight }
    }

    /// `Inflight()`, B.
    pub(super) fn inflight_at(&self, bw: f64, gain: f64) -> f64 {
        self.with_budget(self.bdp_multiple(bw, gain))
    }

    /// `InflightWithHeadroom()`, B.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm == f64::INFINITY {
            return f64::INFINITY;
        }
        let headroom = (self.constants.headroom * self.inflight_longterm).max(self.constants.smss);
        (self.inflight_longterm - headroom).max(self.constants.least_cwnd)
    }

    /// `ProbeRTTCwnd()`, B.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.bw, self.constants.probe_rtt_gain).max(self.constants.least_cwnd)
    }

    /// `SetCwnd()`.
    pub(super) fn set_cwnd(&mut self, rs: &RateSample) {
        let max_inflight = self.with_budget(self.bdp_multiple(self.bw, self.cwnd_gain) + self.aggregation.extra_acked);
        if self.full_pipe.reached {
            self.cwnd = (self.cwnd + rs.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || self.delivered < self.constants.initial_cwnd {
            self.cwnd += rs.newly_acked;
        }
        self.cwnd = self.cwnd.max(self.constants.least_cwnd);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// `BoundCwndForModel()`.
    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        let cap = cap.min(self.signals.inflight_shortterm).max(self.constants.least_cwnd);
        self.cwnd = self.cwnd.min(cap);
    }
}
