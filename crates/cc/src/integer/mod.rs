//! Algorithms in integer arithmetic: what runs inside a Linux kernel, which has no floating point.
//!
//! One file an algorithm, each the twin of a `bpf/*_core.h`: the equality tests of `crates/live` drive both
//! with the same events and allow no difference in any field. Windows are in 65536ths of a packet, times in
//! microseconds, delays in nanoseconds, as the kernel tells them.
//!
//! They are the algorithms of [`crate::sender`] and [`crate::receiver`], rounded: `crates/cc/tests/integer.rs` holds the two together.

use crate::event::LossKind;

pub mod dctcp;
pub mod dx;
pub mod inigo;
pub mod inigo_receiver;

/// One packet of window.
pub const PACKET: u64 = 65_536;
/// Times a delay of 32 bits it stays below 2^64.
const WINDOW_MOST: u64 = 65_535 * PACKET;

/// [`crate::event::Ack`] as the kernel can tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The sender's clock.
    pub now_us: u64,
    /// When the newest packet it covers left.
    pub sent_us: u64,
    /// Packets acknowledged for the first time.
    pub acked: u32,
    /// Those of them that were marked.
    pub marked: u32,
    /// Round trip by stamps, without the time the receiver held it.
    pub rtt_ns: u32,
    /// One-way delay by stamps, modulo 2^32: the two clocks may differ.
    pub one_way_ns: u32,
    /// Packets that the two stand for; 0: there were no stamps.
    pub samples: u32,
    /// Round trip as the kernel measured it; 0: it did not.
    pub round_trip_us: u32,
    /// Whether the window kept the flow from sending.
    pub window_limited: bool,
    /// Whether losses are being repaired.
    pub recovering: bool,
}

/// [`crate::event::Loss`] as the kernel can tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The sender's clock.
    pub now_us: u64,
    /// Packets, the lost one included.
    pub in_flight: u32,
    /// How it was noticed.
    pub kind: LossKind,
}

/// [`crate::window::Window`] in integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// cwnd.
    pub size: u64,
    /// ssthresh; `u64::MAX` until the first cut.
    pub threshold: u64,
}

impl Window {
    /// The window a connection begins with, in slow start.
    #[must_use]
    pub fn initial(packets: u32) -> Self {
        Self { size: (u64::from(packets.max(1)) * PACKET).min(WINDOW_MOST), threshold: u64::MAX }
    }

    /// Whether it still doubles every round trip.
    #[must_use]
    pub fn slow_start(&self) -> bool {
        self.size < self.threshold
    }

    /// Whole packets; a flow may always have one in flight.
    #[must_use]
    pub fn packets(&self) -> u32 {
        (self.size / PACKET).max(1) as u32
    }

    fn grow(&mut self, ack: &Ack) {
        if !ack.window_limited || ack.recovering {
            return;
        }
        let mut acked = u64::from(ack.acked) * PACKET;
        if self.slow_start() {
            let step = acked.min(self.threshold - self.size);
            self.size += step;
            acked -= step;
        }
        if !self.slow_start() {
            self.size += acked * PACKET / self.size;
        }
        self.size = self.size.min(WINDOW_MOST);
    }

    fn cut_to(&mut self, size: u64, floor: u64) {
        self.size = size.max(floor);
        self.threshold = self.size;
    }

    fn halve(&mut self, in_flight: u32) {
        self.cut_to((u64::from(in_flight) * PACKET / 2).min(WINDOW_MOST), 2 * PACKET);
    }

    fn collapse(&mut self, in_flight: u32) {
        self.halve(in_flight);
        self.size = PACKET;
    }
}

/// [`crate::round::Round`] in microseconds.
fn round_ends(start_us: &mut u64, ack: &Ack) -> bool {
    let over = ack.sent_us >= *start_us;
    if over {
        *start_us = ack.now_us;
    }
    over
}

/// A share or a gain in 2^`bits` parts.
fn fixed(share: f64, bits: u32) -> u32 {
    (share * f64::from(1_u32 << bits) + 0.5) as u32
}
