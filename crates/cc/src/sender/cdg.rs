//! CDG: backs off at random, with a probability that grows with the gradient of the delay, and keeps a shadow window for the case of
//! a loss.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | g_min, g_max | `gradient` | change of a round's smallest and largest RTT, us |
//! | - | `sum` | sums of the last `window` gradients |
//! | G | `backoff_factor` | P(back off) = 1 - exp(-sum * factor * 1e-6) |
//! | beta | `beta` | what a back-off leaves of the window |
//! | s | `shadow` | the window that loss-based TCP would have |
//!
//! Source: Hayes and Armitage, Networking 2011, as in Linux's `tcp_cdg.c` (4.2 and later).
//!
//! Differs: windows are real numbers and shrink at once instead of packet by packet; the exponential is computed
//! instead of read from a table. The random draws come from a generator that is seeded per flow and part of its state, so a
//! flow can be replayed from its events alone.

use crate::event::{Ack, Loss, LossKind};
use crate::parameter::{Parameter, Preset, Values, flag, number};
use crate::rng::Rng;
use crate::round::Round;
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::Time;
use crate::window::Window;

/// Linux's module parameters.
pub const PARAMETERS: &[Parameter] = &[
    number("window", "a", 8.0, 1.0..=256.0).meaning("rounds whose gradients are summed").source("Linux tcp_cdg.c: 8"),
    number("beta", "beta", 724.0 / 1024.0, 0.0..=1.0)
        .meaning("what a back-off leaves of the window")
        .source("Linux tcp_cdg.c backoff_beta: 0.7071 in 1024ths"),
    number("backoff_factor", "1/(G a)", 42.0, 0.0..=1e6)
        .meaning("back-off probability: 1 - exp(-gradient in us * factor / 1e6)")
        .source("Linux tcp_cdg.c: 42, that is G = 3 ms over 8 rounds"),
    number("ineffective", "-", 5.0, 0.0..=1e6)
        .meaning("back-offs without effect after which the flow stops to back off; 0: it never stops")
        .source("Linux tcp_cdg.c use_ineff: 5"),
    flag("shadow", "s", true)
        .meaning("a loss halves the shadow window if that is the larger one")
        .source("Linux tcp_cdg.c use_shadow: 1"),
    flag("tolerance", "-", false)
        .meaning("a loss while the queue is not full is not congestion")
        .source("Linux tcp_cdg.c use_tolerance: 0"),
    flag("hystart", "-", true)
        .meaning("leave slow start by acknowledgement trains and delay")
        .source("Linux tcp_cdg.c hystart_detect: 3"),
    flag("ecn", "ECT", false)
        .meaning("ask switches to mark rather than drop, and take a mark as a loss")
        .source("RFC 3168; off by default as in Linux"),
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset { name: "linux", values: &[], source: "Linux tcp_cdg.c, module defaults" },
    Preset {
        name: "inigo",
        values: &[("tolerance", 1.0)],
        source: "the Inigo paper's experiments loaded it with use_tolerance=1 (mininet-tests repository)",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_delays();

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "The filter against delayed acknowledgements: RTTs here leave out the time an acknowledgement is held.",
    "Forgetting everything after an idle time.",
];

/// The least window, in packets.
const FLOOR: f64 = 2.0;
/// Microseconds of falling gradient that show that back-offs work.
const EFFECT_US: f64 = -32.0;
/// Gradients are rounded to this before the queue is judged (tolerance).
const COARSE_US: f64 = 64.0;
/// `HyStart`: least threshold above the smallest RTT, samples before it counts, gap that ends a train.
const HYSTART_LEAST: Time = Time::from_micros(125);
const HYSTART_SAMPLES: u32 = 8;
const HYSTART_ACK_GAP: Time = Time::from_millis(3);

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let window = Window::initial(path);
    let parameters = Parameters {
        beta: values.get("beta"),
        backoff_factor: values.get("backoff_factor"),
        ineffective: values.get("ineffective"),
        use_shadow: values.flag("shadow"),
        tolerance: values.flag("tolerance"),
        hystart: values.flag("hystart"),
    };
    Box::new(Cdg {
        parameters,
        window,
        shadow: window.packets,
        queue_full: None,
        backoffs: 0.0,
        extremes: Extremes::NONE,
        previous: Extremes::NONE,
        gradients: Gradients::new(values.get("window") as usize),
        delay_min: Time::MAX,
        samples: 0,
        train: Train::default(),
        round: Round::default(),
        reduced_at: None,
        draws: Rng::new(path.seed, 0),
    })
}

/// Smallest and largest RTT of a round.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    min: Time,
    max: Time,
}

impl Extremes {
    const NONE: Self = Self { min: Time::MAX, max: Time::ZERO };

    fn any(self) -> bool {
        self.min <= self.max
    }

    fn note(&mut self, rtt: Time) {
        self.min = self.min.min(rtt);
        self.max = self.max.max(rtt);
    }
}

/// The last gradients of both extremes, in microseconds, and their sums.
#[derive(Clone, Debug)]
struct Gradients {
    ring: Vec<(f64, f64)>,
    next: usize,
    full: bool,
    sum: (f64, f64),
}

impl Gradients {
    fn new(rounds: usize) -> Self {
        Self { ring: vec![(0.0, 0.0); rounds], next: 0, full: false, sum: (0.0, 0.0) }
    }

    /// Adds the gradients of a round; returns the sum, extrapolated until the ring is full.
    fn add(&mut self, min: f64, max: f64) -> f64 {
        let oldest = std::mem::replace(&mut self.ring[self.next], (min, max));
        self.sum = (self.sum.0 + min - oldest.0, self.sum.1 + max - oldest.1);
        self.next = (self.next + 1) % self.ring.len();
        self.full |= self.next == 0;
        let sum = if self.sum.0 > 0.0 { self.sum.0 } else { self.sum.1 };
        if self.full { sum } else { sum * self.ring.len() as f64 / self.next as f64 }
    }
}

/// A train of acknowledgements in slow start.
#[derive(Clone, Copy, Debug, Default)]
struct Train {
    start: Time,
    /// None at the start of a round.
    last_ack: Option<Time>,
}

/// Constants of a flow.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    beta: f64,
    backoff_factor: f64,
    ineffective: f64,
    use_shadow: bool,
    tolerance: bool,
    hystart: bool,
}

/// State of one flow.
#[derive(Clone, Debug)]
struct Cdg {
    parameters: Parameters,
    window: Window,
    shadow: f64,
    /// Whether the last gradients showed a full queue; none: unknown.
    queue_full: Option<bool>,
    /// Back-offs since the delay last fell.
    backoffs: f64,
    extremes: Extremes,
    previous: Extremes,
    gradients: Gradients,
    delay_min: Time,
    samples: u32,
    train: Train,
    round: Round,
    /// When the window was cut, until a packet sent since is acknowledged.
    reduced_at: Option<Time>,
    draws: Rng,
}

impl Cdg {
    /// Returns the gradient of a round at its end.
    fn gradient(&mut self) -> f64 {
        let min = self.extremes.min.as_micros() - self.previous.min.as_micros();
        let max = self.extremes.max.as_micros() - self.previous.max.as_micros();
        let gradient = self.gradients.add(min, max);
        let (min, max) = self.gradients.sum;
        if min <= EFFECT_US || max <= EFFECT_US {
            self.backoffs = 0.0;
        }
        let (min, max) = ((min / COARSE_US).round(), (max / COARSE_US).round());
        // The smallest RTT still rises and the largest does not: the queue is full.
        if min > 0.0 && max <= 0.0 {
            self.queue_full = Some(true);
        } else if min > 0.0 || max < 0.0 {
            self.queue_full = Some(false);
        }
        gradient
    }

    fn end_round(&mut self, now: Time) {
        let gradient = if self.previous.any() { self.gradient() } else { 0.0 };
        self.begin_round();
        if gradient > 0.0 && self.backs_off(gradient) {
            self.shadow = self.shadow.max(self.window.packets);
            self.window.cut_to(self.window.packets * self.parameters.beta, FLOOR);
            self.reduced_at = Some(now);
        }
    }

    fn begin_round(&mut self) {
        self.previous = self.extremes;
        self.extremes = Extremes::NONE;
        self.samples = 0;
        self.train.last_ack = None;
    }

    fn backs_off(&mut self, gradient: f64) -> bool {
        if self.draws.uniform() < exp_minus(gradient * self.parameters.backoff_factor * 1e-6) {
            return false;
        }
        self.backoffs += 1.0;
        self.parameters.ineffective == 0.0 || self.backoffs <= self.parameters.ineffective
    }

    /// Window after a loss or a mark (`ssthresh`).
    fn cut(&mut self) {
        let w = self.window.packets;
        if self.parameters.tolerance && self.queue_full == Some(false) {
            self.window.cut_to(w, FLOOR);
            return;
        }
        self.shadow = (self.shadow / 2.0).min(w);
        let kept = if self.parameters.use_shadow { self.shadow.max(w / 2.0) } else { w / 2.0 };
        self.window.cut_to(kept, FLOOR);
    }

    fn look_for_the_end_of_slow_start(&mut self, now: Time, ack: &Ack) {
        self.delay_min = self.delay_min.min(self.extremes.min);
        let train_ends = match self.train.last_ack {
            Some(last) if ack.window_limited => {
                let follows = now - last <= HYSTART_ACK_GAP;
                if follows {
                    self.train.last_ack = Some(now);
                }
                follows && now - self.train.start > (self.delay_min / 2).max(HYSTART_LEAST)
            }
            _ => {
                self.train = Train { start: now, last_ack: Some(now) };
                false
            }
        };
        self.samples += 1;
        let margin = (self.delay_min / 8).max(HYSTART_LEAST);
        let delay_rose = self.samples > HYSTART_SAMPLES && self.extremes.min > self.delay_min + margin;
        if train_ends || delay_rose {
            self.window.threshold = self.window.packets;
        }
    }
}

impl Sender for Cdg {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.extremes.note(ack.rtt);
        if let Some(at) = self.reduced_at {
            if ack.sent_at < at || ack.recovering {
                return;
            }
            self.reduced_at = None;
            self.queue_full = None;
            self.begin_round();
            self.round.restart(now);
        }
        if ack.marked.0 > 0 {
            self.cut();
            self.reduced_at = Some(now);
            return;
        }
        if self.parameters.hystart && self.window.slow_start() {
            self.look_for_the_end_of_slow_start(now, ack);
        }
        if self.round.ends(now, ack) && self.extremes.any() {
            self.end_round(now);
            if self.reduced_at.is_some() {
                return;
            }
        }
        if !ack.window_limited {
            self.shadow = self.shadow.min(self.window.packets);
            return;
        }
        let before = self.window.packets;
        self.window.grow(ack);
        self.shadow += self.window.packets - before;
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        if !loss.repeated {
            self.cut();
        }
        if loss.kind == LossKind::Timeout {
            self.window.packets = 1.0;
        }
        self.reduced_at = Some(now);
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window.bytes())
    }

    fn has_drawn(&self) -> bool {
        self.draws.has_drawn()
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("shadow_pkt", self.shadow);
        record("threshold_pkt", self.window.threshold);
        record("gradient_us", if self.gradients.sum.0 > 0.0 { self.gradients.sum.0 } else { self.gradients.sum.1 });
    }
}

/// exp(-x) for x >= 0: a series for a small part of x, squared. Only operations that IEEE 754 fixes exactly,
/// so that every platform agrees.
fn exp_minus(x: f64) -> f64 {
    if x > 40.0 {
        return 0.0;
    }
    let t = x / 1024.0;
    let mut power = 1.0 - t * (1.0 - t / 2.0 * (1.0 - t / 3.0 * (1.0 - t / 4.0)));
    for _ in 0..10 {
        power *= power;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_one() {
        for x in [0.0, 1e-6, 0.042, 1.0, 5.0, 20.0, 39.0] {
            assert!((exp_minus(x) - (-x).exp()).abs() < 1e-9, "{x}");
        }
    }
}
