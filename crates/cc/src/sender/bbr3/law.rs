//! State of a flow, and the order of the steps after an acknowledgement (§5.2 of the draft).

use crate::event::Ack;
use crate::rng::Rng;
use crate::sender::bbr3::aggregation::Aggregation;
use crate::sender::bbr3::bandwidth::BandwidthFilter;
use crate::sender::bbr3::ecn::{EcnConstants, Marks};
use crate::sender::bbr3::loss::{Signals, Undo};
use crate::sender::bbr3::probe_bw::{AckPhase, Probe};
use crate::sender::bbr3::probe_rtt::RoundTrips;
use crate::sender::bbr3::startup::FullPipe;
use crate::units::Time;

/// Constants of a flow, in bytes, seconds and shares.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// `C.SMSS`, B.
    pub smss: f64,
    /// `C.InitialCwnd`, B.
    pub initial_cwnd: f64,
    /// `BBR.StartupPacingGain`.
    pub startup_gain: f64,
    /// `BBR.DrainPacingGain`.
    pub drain_gain: f64,
    /// Gain of the pace in `ProbeBW_DOWN`.
    pub down_gain: f64,
    /// Gain of the pace in `ProbeBW_UP`.
    pub up_gain: f64,
    /// `BBR.DefaultCwndGain`.
    pub cwnd_gain: f64,
    /// Gain of the window in `ProbeBW_UP`.
    pub up_cwnd_gain: f64,
    /// Share of the bandwidth that the pace leaves (`BBR.PacingMarginPercent`).
    pub pacing_margin: f64,
    /// `BBR.LossThresh`.
    pub loss_threshold: f64,
    /// `BBR.Beta`.
    pub beta: f64,
    /// `BBR.Headroom`.
    pub headroom: f64,
    /// `BBR.MinPipeCwnd`, B.
    pub least_cwnd: f64,
    /// Growth of the delivery rate in a round below which it counts as a plateau.
    pub plateau_growth: f64,
    /// Rounds of a plateau after which the pipe is full.
    pub plateau_rounds: u32,
    /// `BBRStartupFullLossCnt`.
    pub startup_losses: u32,
    /// `BBR.ExtraAckedFilterLen`, rounds.
    pub extra_acked_rounds: u64,
    /// `BBR.MinRTTFilterLen`.
    pub min_rtt_window: f64,
    /// `BBR.ProbeRTTInterval`.
    pub probe_rtt_interval: f64,
    /// `BBR.ProbeRTTDuration`.
    pub probe_rtt_duration: f64,
    /// `BBR.ProbeRTTCwndGain`.
    pub probe_rtt_gain: f64,
    /// Shortest time between two probes for bandwidth.
    pub probe_wait: f64,
    /// Most time that chance adds to it.
    pub probe_wait_random: f64,
    /// Most rounds between two probes for bandwidth.
    pub probe_rounds: f64,
    /// Quanta in the offload budget.
    pub offload_quanta: f64,
    /// The response to marks, if there is one.
    pub ecn: Option<EcnConstants>,
}

/// `BBR.state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It doubles its rate each round until the pipe is full.
    Startup,
    /// It drains the queue that Startup has built.
    Drain,
    /// It sends below the bandwidth, and drains the queue of a probe.
    Down,
    /// It sends at the bandwidth.
    Cruise,
    /// It fills the pipe for a round, before a probe.
    Refill,
    /// It probes for more bandwidth.
    Up,
    /// It cuts what is in flight, to see the least round trip.
    ProbeRtt,
}

impl State {
    /// `IsInAProbeBWState()`.
    #[must_use]
    pub const fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// `IsProbingBW()`: whether it sends more than is known to be safe.
    #[must_use]
    pub const fn accelerates(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    /// The name in the draft's tests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "STARTUP",
            Self::Drain => "DRAIN",
            Self::Down => "DOWN",
            Self::Cruise => "CRUISE",
            Self::Refill => "REFILL",
            Self::Up => "UP",
            Self::ProbeRtt => "PROBE_RTT",
        }
    }
}

/// What an acknowledgement that covers new data tells (`RS`, and `C.inflight` after it), in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// When it arrived.
    pub now: f64,
    /// When the packet that it answers had left (`P.send_time`).
    pub sent_at: f64,
    /// Round trip of that packet, if it is known.
    pub rtt: Option<f64>,
    /// `RS.prior_time`.
    pub prior_time: f64,
    /// `RS.prior_delivered`.
    pub prior_delivered: f64,
    /// `RS.delivered`.
    pub delivered: f64,
    /// `RS.delivery_rate`, B/s; zero if the sample gives none.
    pub delivery_rate: f64,
    /// `RS.is_app_limited`.
    pub is_app_limited: bool,
    /// `RS.tx_in_flight`.
    pub tx_in_flight: f64,
    /// `RS.lost`.
    pub lost: f64,
    /// `RS.newly_acked`.
    pub newly_acked: f64,
    /// The marked part of it.
    pub newly_marked: f64,
    /// `C.inflight`.
    pub inflight: f64,
    /// `C.is_cwnd_limited`.
    pub is_cwnd_limited: bool,
}

impl RateSample {
    /// Reads an acknowledgement; none if it covers nothing new.
    #[must_use]
    pub fn of(now: Time, ack: &Ack) -> Option<Self> {
        let sample = ack.delivery?;
        let usable = !sample.implausible && sample.interval > Time::ZERO;
        Some(Self {
            now: now.as_secs(),
            sent_at: ack.sent_at.as_secs(),
            rtt: (ack.rtt > Time::ZERO).then(|| ack.rtt.as_secs()),
            prior_time: sample.prior_time.as_secs(),
            prior_delivered: sample.prior_delivered.0 as f64,
            delivered: sample.delivered.0 as f64,
            delivery_rate: if usable { sample.delivered.0 as f64 / sample.interval.as_secs() } else { 0.0 },
            is_app_limited: sample.app_limited,
            tx_in_flight: sample.in_flight.0 as f64,
            lost: sample.lost.0 as f64,
            newly_acked: ack.acked.0 as f64,
            newly_marked: ack.marked.0 as f64,
            inflight: ack.in_flight.0 as f64,
            is_cwnd_limited: ack.window_limited,
        })
    }

    /// Whether the network and not the application has limited its rate (§5.5.4).
    pub(super) fn shows_network(&self) -> bool {
        !self.is_app_limited
    }
}

/// Packet-timed round trips (§5.5.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// `BBR.round_count`.
    pub count: u64,
    /// `BBR.round_start`.
    pub start: bool,
    /// `BBR.next_round_delivered`.
    next_delivered: f64,
}

impl Rounds {
    /// `StartRound()`, when so much has been delivered.
    pub(super) fn begin(&mut self, delivered: f64) {
        self.next_delivered = delivered;
    }

    /// `UpdateRound()`; returns whether a round begins.
    fn update(&mut self, prior_delivered: f64, delivered: f64) -> bool {
        self.start = prior_delivered >= self.next_delivered;
        if self.start {
            self.begin(delivered);
            self.count += 1;
        }
        self.start
    }
}

/// The law of one flow.
#[derive(Clone, Debug)]
pub struct Law {
    /// Constants.
    pub constants: Constants,
    /// `BBR.state`.
    pub state: State,
    /// `BBR.pacing_gain`, set on entry to a state from the table of §5.6.1.
    pub(super) pacing_gain: f64,
    /// `BBR.cwnd_gain`, likewise.
    pub(super) cwnd_gain: f64,
    /// `C.cwnd`, B.
    pub cwnd: f64,
    /// `C.pacing_rate`, B/s.
    pub pacing_rate: f64,
    /// Whether `C.pacing_rate` follows from a round trip.
    pub(super) has_paced: bool,
    /// `BBR.bw`, B/s.
    pub bw: f64,
    /// `C.delivered`.
    pub(super) delivered: f64,
    /// Rounds.
    pub rounds: Rounds,
    /// `BBR.max_bw` and its filter.
    pub bandwidth: BandwidthFilter,
    /// `BBR.min_rtt`, and when it probes for it.
    pub round_trips: RoundTrips,
    /// `BBR.extra_acked` and its filter.
    pub aggregation: Aggregation,
    /// The estimator of a full pipe.
    pub full_pipe: FullPipe,
    /// `BBR.drain_start_round`.
    pub(super) drain_start_round: u64,
    /// The phase of a probe for bandwidth.
    pub probe: Probe,
    /// Congestion signals, and the short-term model that follows from them.
    pub signals: Signals,
    /// Marks.
    pub marks: Marks,
    /// `BBR.inflight_longterm`, B.
    pub inflight_longterm: f64,
    /// The loss recovery, and what it may have to take back.
    pub undo: Undo,
    /// `BBR.idle_restart`.
    pub idle_restart: bool,
    pub(super) draws: Rng,
}

impl Law {
    /// `OnInit()`.
    #[must_use]
    pub fn new(constants: Constants, now: f64, draws: Rng) -> Self {
        let mut law = Self {
            constants,
            state: State::Startup,
            pacing_gain: constants.startup_gain,
            cwnd_gain: constants.cwnd_gain,
            cwnd: constants.initial_cwnd,
            pacing_rate: 0.0,
            has_paced: false,
            bw: 0.0,
            delivered: 0.0,
            rounds: Rounds::default(),
            bandwidth: BandwidthFilter::default(),
            round_trips: RoundTrips::new(now),
            aggregation: Aggregation::new(now),
            full_pipe: FullPipe::default(),
            drain_start_round: 0,
            probe: Probe::new(),
            signals: Signals::new(),
            marks: Marks::new(),
            inflight_longterm: f64::INFINITY,
            undo: Undo::default(),
            idle_restart: false,
            draws,
        };
        law.init_pacing_rate(1e-3);
        law
    }

    /// Enters a state, with its gains.
    pub(super) fn enter(&mut self, state: State) {
        let Constants { startup_gain, drain_gain, down_gain, up_gain, cwnd_gain, up_cwnd_gain, .. } = self.constants;
        self.state = state;
        (self.pacing_gain, self.cwnd_gain) = match state {
            State::Startup => (startup_gain, cwnd_gain),
            State::Drain => (drain_gain, cwnd_gain),
            State::Down => (down_gain, cwnd_gain),
            State::Cruise | State::Refill => (1.0, cwnd_gain),
            State::Up => (up_gain, up_cwnd_gain),
            State::ProbeRtt => (1.0, self.constants.probe_rtt_gain),
        };
    }

    /// `StartRound()`.
    pub(super) fn start_round(&mut self) {
        self.rounds.begin(self.delivered);
    }

    /// `UpdateOnACK()`, after the losses that it shows.
    pub fn on_ack(&mut self, rs: &RateSample) {
        self.delivered = rs.prior_delivered + rs.delivered;
        let rs =
            &RateSample { is_app_limited: rs.is_app_limited || self.round_trips.limits(rs.prior_delivered), ..*rs };
        if std::mem::take(&mut self.undo.is_due) {
            self.handle_spurious_loss_detection();
        }
        self.end_recovery(rs);
        if !self.has_paced && rs.rtt.is_some() {
            self.has_paced = true;
            self.init_pacing_rate(rs.now - rs.prior_time);
        }
        self.update_model_and_state(rs);
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(rs);
        self.undo.note_acknowledgement();
    }

    /// `UpdateModelAndState()`.
    fn update_model_and_state(&mut self, rs: &RateSample) {
        self.signals.update_latest(rs, self.delivered);
        self.update_max_bw(rs);
        self.update_congestion_signals();
        self.respond_to_marks(rs);
        self.update_ack_aggregation(rs);
        self.check_full_bw_reached(rs);
        self.check_startup_done(rs);
        self.check_drain_done(rs);
        self.update_probe_bw_cycle_phase(rs);
        self.update_min_rtt(rs);
        self.check_probe_rtt(rs);
        self.signals.advance_latest(rs);
        self.bw = self.bandwidth.max_bw.min(self.signals.bw_shortterm);
    }

    /// `UpdateMaxBw()`.
    fn update_max_bw(&mut self, rs: &RateSample) {
        if self.rounds.update(rs.prior_delivered, self.delivered) {
            self.probe.rounds_since_up += 1;
        }
        if rs.delivery_rate > 0.0 && (rs.delivery_rate >= self.bandwidth.max_bw || rs.shows_network()) {
            self.bandwidth.update(rs.delivery_rate);
        }
    }

    /// Returns whether it has drawn a random number.
    #[must_use]
    pub const fn has_drawn(&self) -> bool {
        self.draws.has_drawn()
    }

    /// Returns whether the phase has just ended in which samples come from a probe.
    pub(super) fn ends_probe_samples(&self) -> bool {
        self.probe.ack_phase == AckPhase::ProbeStopping && self.rounds.start
    }
}
