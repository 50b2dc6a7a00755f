//! The least round trip, `ProbeRTT`, which looks for it, and the restart after an idle time (§5.3.4, §5.4 and §5.5.7).

use crate::sender::bbr3::law::{Law, RateSample, State};
use crate::sender::bbr3::probe_bw::AckPhase;

/// A round trip is lower than another if it is so by more than this: those of an empty path differ by rounding.
const RESOLUTION: f64 = 1e-9;

/// Least round trips, and what is known of a probe for them.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrips {
    /// `BBR.min_rtt`; infinite before the first sample.
    pub min_rtt: f64,
    /// `BBR.min_rtt_stamp`.
    min_rtt_stamp: f64,
    /// `BBR.probe_rtt_min_delay`.
    probe_rtt_min_delay: f64,
    /// `BBR.probe_rtt_min_stamp`.
    probe_rtt_min_stamp: f64,
    /// `BBR.probe_rtt_expired`.
    expired: bool,
    /// `BBR.probe_rtt_done_stamp`.
    done_stamp: Option<f64>,
    /// `BBR.probe_rtt_round_done`.
    round_done: bool,
    /// `MarkConnectionAppLimited()`: packets that left with at least and at most so much delivered count as limited by the application.
    limited: (f64, f64),
}

impl RoundTrips {
    pub(super) const fn new(now: f64) -> Self {
        Self {
            min_rtt: f64::INFINITY,
            min_rtt_stamp: now,
            probe_rtt_min_delay: f64::INFINITY,
            probe_rtt_min_stamp: now,
            expired: false,
            done_stamp: None,
            round_done: false,
            limited: (0.0, -1.0),
        }
    }

    /// Returns whether a packet that left when so much was delivered left in `ProbeRTT`, or soon after it.
    pub(super) fn limits(&self, prior_delivered: f64) -> bool {
        (self.limited.0..=self.limited.1).contains(&prior_delivered)
    }
}

impl Law {
    /// `UpdateMinRTT()`.
    pub(super) fn update_min_rtt(&mut self, rs: &RateSample) {
        let (trips, now) = (&mut self.round_trips, rs.now);
        trips.expired = now > trips.probe_rtt_min_stamp + self.constants.probe_rtt_interval;
        if let Some(rtt) = rs.rtt
            && (trips.expired || rtt < trips.probe_rtt_min_delay - RESOLUTION)
        {
            (trips.probe_rtt_min_delay, trips.probe_rtt_min_stamp) = (rtt, now);
        }
        let min_rtt_expired = now > trips.min_rtt_stamp + self.constants.min_rtt_window;
        if trips.probe_rtt_min_delay < trips.min_rtt || min_rtt_expired {
            (trips.min_rtt, trips.min_rtt_stamp) = (trips.probe_rtt_min_delay, trips.probe_rtt_min_stamp);
        }
    }

    /// `CheckProbeRTT()`.
    pub(super) fn check_probe_rtt(&mut self, rs: &RateSample) {
        if self.state != State::ProbeRtt && self.round_trips.expired && !self.idle_restart {
            self.save_cwnd();
            self.enter(State::ProbeRtt);
            self.round_trips.done_stamp = None;
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(rs);
        }
        self.idle_restart &= rs.delivered <= 0.0;
    }

    /// `HandleProbeRTT()`.
    fn handle_probe_rtt(&mut self, rs: &RateSample) {
        let limited = &mut self.round_trips.limited;
        let from = if self.delivered > limited.1 { self.delivered } else { limited.0 };
        *limited = (from, self.delivered + rs.inflight);
        if self.round_trips.done_stamp.is_none() {
            if rs.inflight <= self.probe_rtt_cwnd() {
                self.round_trips.done_stamp = Some(rs.now + self.constants.probe_rtt_duration);
                self.round_trips.round_done = false;
                self.start_round();
            }
            return;
        }
        self.round_trips.round_done |= self.rounds.start;
        if self.round_trips.round_done {
            self.check_probe_rtt_done(rs.now);
        }
    }

    /// `CheckProbeRTTDone()` and `ExitProbeRTT()`.
    fn check_probe_rtt_done(&mut self, now: f64) {
        if self.round_trips.done_stamp.is_none_or(|done| now <= done) {
            return;
        }
        self.round_trips.probe_rtt_min_stamp = now;
        self.restore_cwnd();
        self.signals.reset_short_term();
        if self.full_pipe.reached {
            self.start_down(now);
            self.enter(State::Cruise);
        } else {
            self.enter(State::Startup);
        }
    }

    /// `HandleRestartFromIdle()`.
    pub fn on_restart(&mut self, now: f64) {
        self.idle_restart = true;
        self.aggregation.interval_start = now;
        if self.state.probes_bandwidth() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}
