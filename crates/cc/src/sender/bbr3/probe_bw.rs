//! `ProbeBW`: the cycle of DOWN, CRUISE, REFILL and UP that probes for bandwidth (§5.3.3).

use crate::sender::bbr3::law::{Constants, Law, RateSample, State};

/// `BBR.ack_phase`: what acknowledgements say about a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPhase {
    /// Nothing.
    Init,
    /// They are of packets that fill the pipe.
    Refilling,
    /// The probe has begun, and they are of packets before it.
    ProbeStarting,
    /// They are of packets of the probe.
    ProbeFeedback,
    /// The probe is over, and they are still of its packets.
    ProbeStopping,
}

/// State of a probe for bandwidth.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// `BBR.ack_phase`.
    pub(super) ack_phase: AckPhase,
    /// `BBR.is_bw_probe_sample`.
    pub(super) is_sample: bool,
    /// `BBR.cycle_stamp`.
    pub cycle_stamp: f64,
    /// `BBR.bw_probe_wait`.
    pub wait: f64,
    /// `BBR.rounds_since_probe_up`.
    pub rounds_since_up: u64,
    /// `BBR.bw_probe_up_rounds`.
    up_rounds: u32,
    /// `BBR.bw_probe_up_acked`, B.
    up_acked: f64,
    /// `BBR.probe_up_acked_per_inc`, B.
    acked_per_increase: f64,
    /// `BBR.prev_probe_too_high`.
    pub(super) was_too_high: bool,
    /// `BBR.prev_probe_precautionary`.
    was_precautionary: bool,
}

impl Probe {
    pub(super) const fn new() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            is_sample: false,
            cycle_stamp: 0.0,
            wait: 0.0,
            rounds_since_up: 0,
            up_rounds: 0,
            up_acked: 0.0,
            acked_per_increase: f64::INFINITY,
            was_too_high: false,
            was_precautionary: false,
        }
    }
}

impl Law {
    /// `StartProbeBW_DOWN()`.
    pub(super) fn start_down(&mut self, now: f64) {
        self.signals.reset();
        self.probe.acked_per_increase = f64::INFINITY;
        self.pick_probe_wait();
        self.probe.cycle_stamp = now;
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.enter(State::Down);
    }

    /// `StartProbeBW_REFILL()`.
    pub(super) fn start_refill(&mut self) {
        self.signals.reset_short_term();
        (self.probe.up_rounds, self.probe.up_acked, self.probe.was_precautionary) = (0, 0.0, false);
        self.probe.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.enter(State::Refill);
    }

    /// `StartProbeBW_UP()`.
    fn start_up(&mut self, rs: &RateSample) {
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_pipe.reset(rs.delivery_rate);
        self.enter(State::Up);
        self.raise_inflight_longterm_slope();
    }

    /// `UpdateProbeBWCyclePhase()`.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, rs: &RateSample) {
        if !self.full_pipe.reached || self.adapt_long_term_model(rs) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(rs.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(rs) => self.enter(State::Cruise),
            State::Refill if self.rounds.start => {
                self.probe.is_sample = true;
                self.start_up(rs);
            }
            State::Up if self.is_time_to_go_down(rs) => {
                self.probe.was_too_high = false;
                self.start_down(rs.now);
            }
            _ => {}
        }
    }

    /// `IsTimeToCruise()`.
    fn is_time_to_cruise(&self, rs: &RateSample) -> bool {
        rs.inflight <= self.inflight_with_headroom() && rs.inflight <= self.inflight_at(self.bandwidth.max_bw, 1.0)
    }

    /// `IsTimeToGoDown()`.
    fn is_time_to_go_down(&mut self, rs: &RateSample) -> bool {
        if self.probe.was_too_high && rs.inflight >= self.inflight_longterm {
            self.probe.was_precautionary = true;
            return true;
        }
        if rs.is_cwnd_limited && self.cwnd >= self.inflight_longterm {
            self.full_pipe.reset(rs.delivery_rate);
            return false;
        }
        self.full_pipe.now
    }

    /// `IsTimeToProbeBW()`: the time drawn has passed, or as many rounds as Reno needs to grow by the volume in flight.
    fn is_time_to_probe(&self, now: f64) -> bool {
        let rounds = (self.target_inflight() / self.constants.smss).min(self.constants.probe_rounds);
        now > self.probe.cycle_stamp + self.probe.wait || self.probe.rounds_since_up as f64 >= rounds
    }

    /// `PickProbeWait()`.
    fn pick_probe_wait(&mut self) {
        let Constants { probe_wait, probe_wait_random, .. } = self.constants;
        self.probe.rounds_since_up = u64::from(self.draws.uniform() < 0.5);
        self.probe.wait = probe_wait + probe_wait_random * self.draws.uniform();
    }

    /// `TargetInflight()`, B.
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp().min(self.cwnd)
    }

    /// `RaiseInflightLongtermSlope()`.
    fn raise_inflight_longterm_slope(&mut self) {
        let growth = f64::from(1_u32 << self.probe.up_rounds);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(30);
        self.probe.acked_per_increase = (self.cwnd / growth).max(self.constants.smss);
    }

    /// `ProbeInflightLongtermUpward()`.
    fn probe_inflight_longterm_upward(&mut self, rs: &RateSample) {
        if !rs.is_cwnd_limited || self.cwnd < self.inflight_longterm {
            return;
        }
        let probe = &mut self.probe;
        probe.up_acked += rs.newly_acked;
        if probe.up_acked >= probe.acked_per_increase {
            let increases = (probe.up_acked / probe.acked_per_increase) as u64 as f64;
            probe.up_acked -= increases * probe.acked_per_increase;
            self.inflight_longterm += increases * self.constants.smss;
        }
        if self.rounds.start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// `AdaptLongTermModel()`; returns whether it has changed the state.
    fn adapt_long_term_model(&mut self, rs: &RateSample) -> bool {
        if self.probe.ack_phase == AckPhase::ProbeStarting && self.rounds.start {
            self.probe.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ends_probe_samples() && self.end_probe_samples(rs) {
            return true;
        }
        if self.is_inflight_too_high(rs) || self.inflight_longterm == f64::INFINITY {
            return false;
        }
        self.inflight_longterm = self.inflight_longterm.max(rs.tx_in_flight);
        if self.state == State::Up {
            self.probe_inflight_longterm_upward(rs);
        }
        false
    }

    /// Ends the samples of a probe, and begins the next one at once if this one was a precaution and met no losses.
    fn end_probe_samples(&mut self, rs: &RateSample) -> bool {
        (self.probe.is_sample, self.probe.ack_phase) = (false, AckPhase::Init);
        if !self.state.probes_bandwidth() {
            return false;
        }
        if rs.shows_network() {
            self.bandwidth.advance();
        }
        let goes_on = self.probe.was_precautionary && !self.probe.was_too_high;
        if goes_on {
            self.start_refill();
        }
        goes_on
    }
}
