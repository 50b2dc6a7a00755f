//! Grows the window along a cubic of the time since the last loss, flat near the window of that loss.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | C | `c` | scale of the cubic, packets / s^3 |
//! | beta_cubic | `beta` | share of the window kept on loss |
//! | W_max | `w_max` | window before the last reduction |
//! | K | `k` | seconds until the cubic is back at W_max |
//! | t | `now - epoch` | time since the reduction |
//! | W_est | `w_est` | what Reno would have |
//! | alpha_cubic | `alpha` | growth of W_est: 3 (1 - beta) / (1 + beta) |
//!
//! Source: RFC 9438 §4.2 to §4.8; HyStart as in Linux tcp_cubic.c, optional.

use crate::event::{Ack, Loss, LossKind};
use crate::parameter::{Parameter, Preset, Values, flag, number};
use crate::round::Round;
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Time};
use crate::window::Window;

/// In the order of the RFC.
pub const PARAMETERS: &[Parameter] = &[
    number("c", "C", 0.4, 1e-6..=1e6).meaning("scale of the cubic, packets a cubic second").source("RFC 9438 §5: 0.4"),
    number("beta", "beta_cubic", 0.7, 0.01..=0.99)
        .meaning("share of the window kept on a reduction")
        .source("RFC 9438 §4.6: 0.7"),
    flag("fast_convergence", "-", true).meaning("give up more when W_max shrinks").source("RFC 9438 §4.7"),
    flag("hystart", "-", true).meaning("leave slow start before the first loss").source("Linux tcp_cubic.c: on"),
    flag("ecn", "ECT", false)
        .meaning("ask switches to mark rather than drop, and reduce on a mark")
        .source("RFC 3168; off by default as in Linux"),
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset { name: "linux", values: &[], source: "Linux tcp_cubic.c, 4.x and later" },
    Preset { name: "rfc9438", values: &[("hystart", 0.0)], source: "RFC 9438 without HyStart" },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_queues();

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "The time a flow was limited by its application is not taken out of t (RFC 9438 §5.8).",
    "Windows are real numbers; Linux counts whole packets and a scaled cube root.",
];

/// HyStart of Linux: windows below this are left alone.
const HYSTART_LOW_WINDOW: f64 = 16.0;
/// HyStart: samples of a round that its delay test looks at.
const HYSTART_SAMPLES: u32 = 8;
/// HyStart: acknowledgements closer than this belong to one train.
const HYSTART_ACK_GAP: Time = Time::from_millis(2);
/// HyStart: bounds of the delay that ends slow start.
const HYSTART_DELAY: (Time, Time) = (Time::from_millis(4), Time::from_millis(16));

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let beta = values.get("beta");
    Box::new(Cubic {
        c: values.get("c"),
        beta,
        alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
        fast_convergence: values.flag("fast_convergence"),
        hystart: values.flag("hystart").then(Hystart::default),
        window: Window::initial(path),
        w_max: 0.0,
        w_prior: 0.0,
        w_est: 0.0,
        k: 0.0,
        epoch: None,
        reduced_at: Time::ZERO,
    })
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
struct Cubic {
    c: f64,
    beta: f64,
    alpha: f64,
    fast_convergence: bool,
    hystart: Option<Hystart>,
    window: Window,
    w_max: f64,
    /// cwnd_prior: the window when it was last reduced.
    w_prior: f64,
    w_est: f64,
    k: f64,
    /// When the present congestion-avoidance stage began.
    epoch: Option<Time>,
    reduced_at: Time,
}

impl Cubic {
    /// Begins a congestion-avoidance stage at the present window (§4.2).
    fn begin_epoch(&mut self, now: Time) -> Time {
        let w = self.window.packets;
        if self.w_max <= w {
            self.w_max = w;
            self.k = 0.0;
        } else {
            self.k = cube_root((self.w_max - w) / self.c);
        }
        self.w_est = w;
        self.epoch = Some(now);
        now
    }

    fn w_cubic(&self, t: f64) -> f64 {
        let d = t - self.k;
        self.c * d * d * d + self.w_max
    }

    /// §4.2 to §4.5: towards the cubic one round trip ahead, never slower than Reno.
    fn avoid_congestion(&mut self, now: Time, ack: &Ack) {
        let epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(now));
        let t = (now - epoch).as_secs();
        let acked = self.window.packets_in(ack.acked);
        let w = self.window.packets;
        let alpha = if self.w_est >= self.w_prior { 1.0 } else { self.alpha };
        self.w_est += alpha * acked / w;
        if self.w_cubic(t) < self.w_est {
            self.window.packets = w.max(self.w_est);
        } else {
            let target = self.w_cubic(t + ack.rtt.as_secs()).clamp(w, 1.5 * w);
            self.window.packets = w + (target - w) * acked / w;
        }
    }

    /// §4.6 and §4.7.
    fn reduce(&mut self, now: Time, in_flight: Bytes) {
        let w = self.window.packets;
        self.w_prior = w;
        self.w_max = if self.fast_convergence && w < self.w_max { w * (1.0 + self.beta) / 2.0 } else { w };
        self.window.cut_to(self.window.packets_in(in_flight) * self.beta, 2.0);
        self.epoch = None;
        self.reduced_at = now;
    }
}

impl Sender for Cubic {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if ack.marked.0 > 0 {
            if ack.sent_at >= self.reduced_at && !ack.recovering {
                self.reduce(now, ack.in_flight + ack.acked);
            }
            return;
        }
        if self.window.slow_start() {
            if let Some(hystart) = &mut self.hystart
                && hystart.full(now, ack, self.window.packets)
            {
                self.window.threshold = self.window.packets;
            }
            self.window.grow(ack);
        } else if ack.window_limited && !ack.recovering {
            self.avoid_congestion(now, ack);
        }
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        if !loss.repeated {
            self.reduce(now, loss.in_flight);
        }
        if loss.kind == LossKind::Timeout {
            // §4.8: slow start up to the new threshold, and no earlier plateau to return to.
            self.window.packets = 1.0;
            self.w_max = 0.0;
            if let Some(hystart) = &mut self.hystart {
                *hystart = Hystart::default();
            }
        }
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window.bytes())
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("threshold_pkt", self.window.threshold);
        record("w_max_pkt", self.w_max);
    }
}

/// Linux's hybrid slow start: the path is full when a round's acknowledgements come as a train longer
/// than half the smallest RTT, or when the round's first RTTs are clearly above it.
#[derive(Clone, Copy, Debug)]
struct Hystart {
    round: Round,
    round_start: Time,
    last_ack: Time,
    delay_min: Time,
    round_min: Time,
    samples: u32,
}

impl Default for Hystart {
    fn default() -> Self {
        Self {
            round: Round::default(),
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            delay_min: Time::MAX,
            round_min: Time::MAX,
            samples: 0,
        }
    }
}

impl Hystart {
    fn full(&mut self, now: Time, ack: &Ack, window: f64) -> bool {
        self.delay_min = self.delay_min.min(ack.rtt);
        if self.round.ends(now, ack) {
            self.round_start = now;
            self.last_ack = now;
            self.round_min = Time::MAX;
            self.samples = 0;
        }
        if window < HYSTART_LOW_WINDOW {
            return false;
        }
        self.train_is_long(now) || self.delay_rose(ack)
    }

    fn train_is_long(&mut self, now: Time) -> bool {
        if now - self.last_ack > HYSTART_ACK_GAP {
            return false;
        }
        self.last_ack = now;
        now - self.round_start > self.delay_min / 2
    }

    fn delay_rose(&mut self, ack: &Ack) -> bool {
        if self.samples < HYSTART_SAMPLES {
            self.round_min = self.round_min.min(ack.rtt);
            self.samples += 1;
            return false;
        }
        let margin = (self.delay_min / 8).clamp(HYSTART_DELAY.0, HYSTART_DELAY.1);
        self.round_min >= self.delay_min + margin
    }
}

/// The cube root by Newton's method: the operations IEEE 754 fixes exactly, so that every platform agrees.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // A third of the exponent is close enough to start from.
    let mut root = f64::from_bits(x.to_bits() / 3 + (0x3ff_u64 << 52) / 3 * 2);
    for _ in 0..6 {
        root = (2.0 * root + x / (root * root)) / 3.0;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_of_cubes() {
        for (x, root) in [(0.0, 0.0), (1.0, 1.0), (8.0, 2.0), (1e-9, 1e-3), (2.7e10, 3000.0)] {
            assert!((cube_root(x) - root).abs() <= 1e-12 * root, "{x}: {}", cube_root(x));
        }
    }
}
