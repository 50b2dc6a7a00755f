//! Startup, which doubles the rate each round until the pipe is full, and Drain (§5.3.1 and §5.3.2).

use crate::sender::bbr3::law::{Law, RateSample, State};

/// The estimator of a full pipe.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullPipe {
    /// `BBR.full_bw_reached`.
    pub reached: bool,
    /// `BBR.full_bw_now`.
    pub now: bool,
    /// `BBR.full_bw_count`.
    pub count: u32,
    /// `BBR.full_bw`, B/s.
    baseline: f64,
}

impl FullPipe {
    /// `ResetFullBW()`, and `BBR.full_bw`.
    pub(super) fn reset(&mut self, baseline: f64) {
        (self.baseline, self.count, self.now) = (baseline, 0, false);
    }
}

impl Law {
    /// `CheckFullBWReached()`.
    pub(super) fn check_full_bw_reached(&mut self, rs: &RateSample) {
        let pipe = &mut self.full_pipe;
        if pipe.now || !self.rounds.start || rs.is_app_limited {
            return;
        }
        if rs.delivery_rate >= pipe.baseline * self.constants.plateau_growth {
            pipe.reset(rs.delivery_rate);
            return;
        }
        pipe.count += 1;
        pipe.now = pipe.count >= self.constants.plateau_rounds;
        pipe.reached |= pipe.now;
    }

    /// `CheckStartupDone()`.
    pub(super) fn check_startup_done(&mut self, rs: &RateSample) {
        self.check_startup_high_loss(rs);
        if self.state == State::Startup && self.full_pipe.reached {
            self.enter(State::Drain);
            self.drain_start_round = self.rounds.count;
        }
    }

    /// `CheckStartupHighLoss()`, at the end of a round that was in recovery before it.
    fn check_startup_high_loss(&mut self, rs: &RateSample) {
        if self.state != State::Startup || self.full_pipe.reached {
            return;
        }
        let many = self.signals.losses_in_round >= self.constants.startup_losses;
        if self.signals.loss_round_start && self.undo.was_recovering && many && self.is_inflight_too_high(rs) {
            self.undo.state = Some(State::Startup);
            (self.full_pipe.reached, self.full_pipe.now) = (true, true);
            self.inflight_longterm = self.bdp().max(self.signals.inflight_latest);
        }
    }

    /// `CheckDrainDone()`.
    pub(super) fn check_drain_done(&mut self, rs: &RateSample) {
        let is_drained = || rs.inflight <= self.inflight_at(self.bw, 1.0);
        if self.state == State::Drain && (is_drained() || self.rounds.count > self.drain_start_round + 3) {
            self.start_down(rs.now);
        }
    }
}
