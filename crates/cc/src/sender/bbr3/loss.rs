//! Responses to losses, and what takes them back (§5.5.10 and §5.5.11).

use crate::event::LostPacket;
use crate::sender::bbr3::law::{Law, RateSample, State};

/// Congestion signals, and the short-term model.
#[derive(Clone, Copy, Debug)]
pub struct Signals {
    /// `BBR.bw_shortterm`, B/s.
    pub bw_shortterm: f64,
    /// `BBR.inflight_shortterm`, B.
    pub inflight_shortterm: f64,
    /// `BBR.bw_latest`, B/s.
    bw_latest: f64,
    /// `BBR.inflight_latest`, B.
    pub(super) inflight_latest: f64,
    /// `BBR.is_loss_in_round`.
    is_loss_in_round: bool,
    /// `BBR.loss_round_delivered`.
    loss_round_delivered: f64,
    /// `BBR.loss_round_start`.
    pub(super) loss_round_start: bool,
    /// Acknowledgements of the round that show losses: each shows a range of its own.
    pub(super) losses_in_round: u32,
    /// When the last of them arrived.
    last_loss: Option<f64>,
}

impl Signals {
    pub(super) const fn new() -> Self {
        Self {
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            is_loss_in_round: false,
            loss_round_delivered: 0.0,
            loss_round_start: false,
            losses_in_round: 0,
            last_loss: None,
        }
    }

    /// `UpdateLatestDeliverySignals()`.
    pub(super) fn update_latest(&mut self, rs: &RateSample, delivered: f64) {
        self.bw_latest = self.bw_latest.max(rs.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(rs.delivered);
        self.loss_round_start = rs.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals()`.
    pub(super) fn advance_latest(&mut self, rs: &RateSample) {
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (rs.delivery_rate, rs.delivered);
            self.losses_in_round = 0;
        }
    }

    /// `ResetCongestionSignals()`.
    pub(super) fn reset(&mut self) {
        (self.is_loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }

    /// `ResetShortTermModel()`.
    pub(super) fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    /// Notes a loss, when so much is delivered.
    fn note_loss(&mut self, now: f64, delivered: f64) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = delivered;
        }
        self.is_loss_in_round = true;
        if self.last_loss.replace(now) != Some(now) {
            self.losses_in_round += 1;
        }
    }
}

/// The loss recovery, and the state before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// When the recovery began; none outside one.
    pub recovering_since: Option<f64>,
    /// Whether the newest acknowledgement left it in recovery.
    pub(super) was_recovering: bool,
    /// Whether the recovery was spurious, and is to be taken back.
    pub(super) is_due: bool,
    /// `BBR.prior_cwnd`, B.
    prior_cwnd: f64,
    /// `BBR.undo_state`.
    pub(super) state: Option<State>,
    /// `BBR.undo_bw_shortterm`, B/s.
    bw_shortterm: f64,
    /// `BBR.undo_inflight_shortterm`, B.
    inflight_shortterm: f64,
    /// `BBR.undo_inflight_longterm`, B.
    inflight_longterm: f64,
}

impl Undo {
    pub(super) fn note_acknowledgement(&mut self) {
        self.was_recovering = self.recovering_since.is_some();
    }
}

impl Law {
    /// `UpdateCongestionSignals()`: once a round that met losses, unless it probes, it lowers the short-term model.
    pub(super) fn update_congestion_signals(&mut self) {
        let signals = &mut self.signals;
        if !signals.loss_round_start {
            return;
        }
        if signals.is_loss_in_round && !self.state.accelerates() {
            if signals.bw_shortterm == f64::INFINITY {
                signals.bw_shortterm = self.bandwidth.max_bw;
            }
            if signals.inflight_shortterm == f64::INFINITY {
                signals.inflight_shortterm = self.cwnd;
            }
            let beta = self.constants.beta;
            signals.bw_shortterm = signals.bw_latest.max(beta * signals.bw_shortterm);
            signals.inflight_shortterm = signals.inflight_latest.max(beta * signals.inflight_shortterm);
        }
        signals.is_loss_in_round = false;
    }

    /// `IsInflightTooHigh()`.
    pub(super) fn is_inflight_too_high(&self, rs: &RateSample) -> bool {
        rs.lost > rs.tx_in_flight * self.constants.loss_threshold
    }

    /// `HandleLostPacket()`.
    pub fn on_packet_lost(&mut self, now: f64, lost: &LostPacket) {
        self.delivered = lost.delivered.0 as f64;
        self.signals.note_loss(now, self.delivered);
        self.begin_recovery(now);
        if !self.probe.is_sample {
            return;
        }
        let rs = RateSample {
            now,
            tx_in_flight: lost.in_flight.0 as f64,
            lost: lost.lost.0 as f64,
            is_app_limited: lost.app_limited,
            ..RateSample::default()
        };
        if self.is_inflight_too_high(&rs) {
            let tx_in_flight = self.inflight_at_loss(&rs, lost.bytes.0 as f64);
            self.handle_inflight_too_high(&RateSample { tx_in_flight, ..rs });
        }
    }

    /// `InflightAtLoss()`, B: where in the lost packet the losses exceeded the threshold.
    fn inflight_at_loss(&self, rs: &RateSample, size: f64) -> f64 {
        let threshold = self.constants.loss_threshold;
        let (inflight_before, lost_before) = (rs.tx_in_flight - size, rs.lost - size);
        inflight_before + (threshold * inflight_before - lost_before) / (1.0 - threshold)
    }

    /// `HandleInflightTooHigh()`.
    pub(super) fn handle_inflight_too_high(&mut self, rs: &RateSample) {
        self.probe.was_too_high = true;
        self.probe.is_sample = false;
        if !rs.is_app_limited {
            self.inflight_longterm = rs.tx_in_flight.max(self.target_inflight() * self.constants.beta);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(rs.now);
        }
    }

    /// `OnEnterFastRecovery()`, once an episode of losses.
    fn begin_recovery(&mut self, now: f64) {
        if self.undo.recovering_since.is_some() {
            return;
        }
        self.save_cwnd();
        self.save_state(now);
    }

    /// `SaveStateUponLoss()`, without the window.
    fn save_state(&mut self, now: f64) {
        self.undo = Undo {
            recovering_since: Some(now),
            state: None,
            bw_shortterm: self.signals.bw_shortterm,
            inflight_shortterm: self.signals.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
            ..self.undo
        };
    }

    /// Ends the recovery if a packet is acknowledged that left after its begin.
    pub(super) fn end_recovery(&mut self, rs: &RateSample) {
        if self.undo.recovering_since.is_some_and(|since| rs.sent_at >= since) {
            self.undo.recovering_since = None;
            self.restore_cwnd();
        }
    }

    /// `OnEnterRTO()`, after the losses of the packets in flight.
    pub fn on_timeout(&mut self, now: f64) {
        self.save_cwnd();
        if self.undo.recovering_since.is_none_or(|since| since == now) {
            self.save_state(now);
        }
        self.undo.recovering_since = Some(now);
        self.cwnd = self.constants.smss;
    }

    /// Notes that the losses of the recovery were none: the next acknowledgement, which shows it, takes them back.
    pub const fn on_spurious_loss(&mut self) {
        self.undo.is_due = true;
    }

    /// `HandleSpuriousLossDetection()`.
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.undo.recovering_since = None;
        self.restore_cwnd();
        self.signals.is_loss_in_round = false;
        self.full_pipe.reset(0.0);
        let (signals, undo) = (&mut self.signals, &mut self.undo);
        signals.bw_shortterm = signals.bw_shortterm.max(undo.bw_shortterm);
        signals.inflight_shortterm = signals.inflight_shortterm.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        let before = undo.state.take().filter(|&state| state != self.state);
        if before == Some(State::Startup) {
            self.full_pipe.reached = false;
        }
        match before {
            Some(State::Startup) if self.state != State::ProbeRtt => self.enter(State::Startup),
            Some(State::Up) if self.state != State::ProbeRtt => self.start_refill(),
            _ => {}
        }
    }

    /// `SaveCwnd()`.
    pub(super) fn save_cwnd(&mut self) {
        let modulated = self.undo.recovering_since.is_some() || self.state == State::ProbeRtt;
        self.undo.prior_cwnd = if modulated { self.undo.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// `RestoreCwnd()`.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.undo.prior_cwnd);
    }
}
