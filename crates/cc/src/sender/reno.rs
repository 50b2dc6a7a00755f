//! Grows the window by one packet a round trip and halves it when a packet is lost or marked.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | cwnd | `window.packets` | window in packets |
//! | ssthresh | `window.threshold` | where slow start ends |
//! | ECE | `ack.marked` | a mark, taken as a loss, once for each window (RFC 3168 §6.1.2) |
//!
//! Source: RFC 5681 §3.1 (growth, halving, timeout), RFC 6582 (one reduction for each window of data),
//! RFC 3168 §6.1.2 (marks). Which packets are lost, and repairing them, is the transport's work.

use crate::event::{Ack, Loss, LossKind};
use crate::parameter::{Parameter, Preset, Values, flag};
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::Time;
use crate::window::Window;

/// Its one parameter.
pub const PARAMETERS: &[Parameter] = &[flag("ecn", "ECT", false)
    .meaning("ask switches to mark rather than drop, and halve on a mark")
    .source("RFC 3168; off by default as in Linux")];

/// None: the RFCs fix the rest.
pub const PRESETS: &[Preset] = &[Preset { name: "linux", values: &[], source: "Linux tcp_cong.c" }];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_queues();

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "The window shrinks at once when a loss is noticed, not packet by packet (RFC 9937, Linux).",
    "No limited transmit (RFC 3042), no spurious-timeout detection (RFC 5682).",
];

/// Builds the sender.
#[must_use]
pub fn build(_values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(Reno { window: Window::initial(path), reduced_at: Time::ZERO })
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
struct Reno {
    window: Window,
    /// Only marks of packets sent later count again.
    reduced_at: Time,
}

impl Sender for Reno {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if ack.marked.0 > 0 {
            if ack.sent_at >= self.reduced_at && !ack.recovering {
                self.window.halve(ack.in_flight + ack.acked);
                self.reduced_at = now;
            }
        } else {
            self.window.grow(ack);
        }
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit => self.window.halve(loss.in_flight),
            LossKind::Timeout => self.window.collapse(loss),
        }
        self.reduced_at = now;
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window.bytes())
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("threshold_pkt", self.window.threshold);
    }
}
