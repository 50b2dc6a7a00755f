//! Response to marks, which Linux has and the draft leaves open (§3.7).
//!
//! | Linux | here |
//! |---|---|
//! | `ecn_alpha`, `bbr_ecn_alpha_gain` | `alpha`: moving average of the marked share of a round, with the gain `ecn_gain` |
//! | `bbr_ecn_factor` | `ecn_factor`: a round with marks lowers the window by alpha times this |
//! | `bbr_ecn_thresh`, `bbr_full_ecn_cnt` | `ecn_threshold`: marked share of a round above which a probe was too high; after `ecn_rounds` such rounds Startup ends |
//! | `bbr_ecn_max_rtt_us` | `ecn_max_rtt`: with a longer least round trip marks are not looked at |
//!
//! Source: google/bbr, branch v3, `tcp_bbr.c`: `bbr_update_ecn_alpha`, `bbr_check_ecn_too_high_in_startup`, `bbr_adapt_lower_bounds`.

use crate::sender::bbr3::law::{Law, RateSample, State};

/// Constants of the response.
#[derive(Clone, Copy, Debug)]
pub struct EcnConstants {
    /// Weight of the newest round in `alpha`.
    pub gain: f64,
    /// Part of `alpha` by which the window falls.
    pub factor: f64,
    /// Marked share of a round that is too high.
    pub threshold: f64,
    /// Such rounds that end Startup.
    pub rounds: u32,
    /// Longest least round trip of a flow that looks at marks, s.
    pub max_rtt: f64,
}

/// Marks of the present round, and what the rounds before have shown.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// Moving average of the marked share.
    pub alpha: f64,
    acked: f64,
    marked: f64,
    /// Rounds in succession with too many marks in Startup.
    high_rounds: u32,
}

impl Marks {
    pub(super) const fn new() -> Self {
        Self { alpha: 1.0, acked: 0.0, marked: 0.0, high_rounds: 0 }
    }
}

impl Law {
    /// Counts the marks of an acknowledgement, and responds at the end of a round.
    pub(super) fn respond_to_marks(&mut self, rs: &RateSample) {
        let Some(ecn) = self.constants.ecn else { return };
        self.marks.acked += rs.newly_acked;
        self.marks.marked += rs.newly_marked;
        if !self.rounds.start || self.marks.acked <= 0.0 {
            return;
        }
        let share = (self.marks.marked / self.marks.acked).min(1.0);
        (self.marks.acked, self.marks.marked) = (0.0, 0.0);
        if self.round_trips.min_rtt > ecn.max_rtt {
            return;
        }
        self.marks.alpha = (1.0 - ecn.gain) * self.marks.alpha + ecn.gain * share;
        self.end_startup_by_marks(share, &ecn);
        if share > 0.0 && !self.state.accelerates() {
            let before = self.signals.inflight_shortterm.min(self.cwnd);
            self.signals.inflight_shortterm = before * (1.0 - self.marks.alpha * ecn.factor);
        }
        if share > ecn.threshold && self.probe.is_sample {
            self.handle_inflight_too_high(rs);
        }
    }

    fn end_startup_by_marks(&mut self, share: f64, ecn: &EcnConstants) {
        if self.state != State::Startup || self.full_pipe.reached {
            return;
        }
        self.marks.high_rounds = if share >= ecn.threshold { self.marks.high_rounds + 1 } else { 0 };
        if self.marks.high_rounds >= ecn.rounds {
            (self.full_pipe.reached, self.full_pipe.now) = (true, true);
            self.inflight_longterm = self.inflight_at(self.bandwidth.max_bw, 1.0);
        }
    }
}
