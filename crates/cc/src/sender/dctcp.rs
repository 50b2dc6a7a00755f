//! Cuts the window in proportion to the share of packets that were marked.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | alpha | `alpha` | moving average of the marked share |
//! | g | `g` | weight of the newest round in it |
//! | M, F | `marked / acked` | marked share of one window of data |
//! | W | `window.packets` | window in packets |
//!
//! Source: RFC 8257 §3.3; Alizadeh et al., SIGCOMM 2010 eq. 1 and 2. The receiver's half is
//! [`crate::receiver::ecn_echo::Accurate`], the switch's [`crate::port::step`].
//!
//! Differs: as in Linux, a cut takes whole packets, rounded down, and the window does not grow in the round
//! that follows (the RFC leaves both open). With `ns2` as in the code that the simulations of the DX paper ran: a cut keeps
//! fractions, and the window grows on every acknowledgement but the first of several with marks. Whole packets
//! matter with windows of a few packets: with fractions and without that growth
//! forty flows at 10 Gbps and 200 us lock into phases that some never leave, and windows spread from 2 to
//! 13 packets; with whole packets they stay within 4 to 7, most often at the DX paper's 5.

use crate::event::{Ack, Loss, LossKind};
use crate::parameter::{Parameter, Preset, Values, flag, number, packets};
use crate::round::Round;
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Time};
use crate::window::Window;

/// In the order of the RFC.
pub const PARAMETERS: &[Parameter] = &[
    number("g", "g", 0.0625, 1e-6..=1.0).meaning("weight of the newest round in alpha").source("RFC 8257 §4.2: 1/16"),
    number("alpha", "alpha(0)", 1.0, 0.0..=1.0).meaning("alpha of a new flow").source("RFC 8257 §4.2: 1"),
    packets("min_window", "W_min", 2.0, 1.0..=1e6).meaning("no cut goes below it").source("Linux tcp_dctcp.c: 2"),
    flag("ns2", "-", false)
        .meaning("cuts keep fractions, and every ack grows the window but the first with a mark after one without")
        .source("ns-2 with its DCTCP patch (tcp-full.cc: opens cwnd unless an ack is the first of a burst of echoes)"),
];

/// Variants.
pub const PRESETS: &[Preset] = &[
    Preset { name: "rfc8257", values: &[], source: "RFC 8257 §4.2, Linux" },
    Preset {
        name: "ns-2",
        values: &[("alpha", 0.0), ("min_window", 1.0), ("ns2", 1.0)],
        source: "the ns-2 code that the DX and poster simulations used: alpha starts at 0, windows fall to 1, and grow on \
                 marks too (public in ns2-xpass, tcp-full.cc)",
    },
];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_queues().least_threshold(7, "DCTCP, SIGCOMM 2010 eq. 13");

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "alpha is a real number, not Linux's integer of 1024ths.",
    "Falling back to Reno when the other side has no ECN: both sides always have it.",
];

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(Dctcp::new(values, path))
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dctcp {
    g: f64,
    min_window: f64,
    ns2: bool,
    /// Whether the last acknowledgement told of a mark; only ns-2's asks.
    marked_before: bool,
    alpha: f64,
    window: Window,
    acked: Bytes,
    marked: Bytes,
    round: Round,
    /// Start of the round that follows a cut, zero in any other: one cut for each window of data.
    reduced_at: Time,
}

impl Dctcp {
    pub(super) fn new(values: &Values, path: &Path) -> Self {
        Self {
            g: values.get("g"),
            min_window: values.get("min_window"),
            ns2: values.flag("ns2"),
            marked_before: false,
            alpha: values.get("alpha"),
            window: Window::initial(path),
            acked: Bytes::ZERO,
            marked: Bytes::ZERO,
            round: Round::default(),
            reduced_at: Time::ZERO,
        }
    }

    fn update_alpha(&mut self) {
        let marked_share = if self.acked.0 > 0 { self.marked / self.acked } else { 0.0 };
        self.alpha = (1.0 - self.g) * self.alpha + self.g * marked_share;
        self.acked = Bytes::ZERO;
        self.marked = Bytes::ZERO;
    }

    /// Equation 2, in whole packets but for ns-2's.
    // Called, so that the other acknowledgements need not save what the rounding would overwrite.
    #[inline(never)]
    fn reduce(&mut self) {
        let w = self.window.packets;
        let left =
            if self.ns2 { w * (1.0 - self.alpha / 2.0) } else { w.floor() - (w.floor() * self.alpha / 2.0).floor() };
        self.window.cut_to(left, self.min_window);
    }

    /// Whether the window grows on an acknowledgement, which is `answered` where it belongs to the round that follows a cut.
    fn grows_on(&mut self, marked: bool, answered: bool) -> bool {
        if !self.ns2 {
            return !marked && !answered;
        }
        let marked_before = std::mem::replace(&mut self.marked_before, marked);
        !marked || marked_before
    }
}

impl Sender for Dctcp {
    // In line in `decide_on`, which is one call then, not two.
    #[inline(always)]
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.acked += ack.acked;
        self.marked += ack.marked;
        if self.round.ends(now, ack) {
            self.update_alpha();
        }
        let marked = ack.marked.0 > 0;
        let answered = ack.sent_at < self.reduced_at;
        if !answered {
            self.reduced_at = if marked { now } else { Time::ZERO };
            if marked {
                self.reduce();
            }
        }
        if self.grows_on(marked, answered) {
            self.window.grow(ack);
        }
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit => self.window.cut_to(self.window.packets / 2.0, self.min_window),
            LossKind::Timeout => self.window.collapse(loss),
        }
        self.reduced_at = now;
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window.bytes())
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha", self.alpha);
    }
}
