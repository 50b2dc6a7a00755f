//! The window never changes.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | W | `window` | packets in flight |
//!
//! Source: Lee et al., SIGCOMM 2012 poster, Fig. 1: with W = 1 a flow sends a packet each round trip, the slowest rate of a
//! window.

use crate::event::{Ack, Loss};
use crate::parameter::{Parameter, Preset, Values, packets};
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Time};

/// Its one parameter.
pub const PARAMETERS: &[Parameter] = &[packets("window", "W", 1.0, 1.0..=1e6)
    .meaning("packets in flight, always")
    .source("SIGCOMM 2012 poster, Fig. 1")];

/// None.
pub const PRESETS: &[Preset] = &[];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_queues();

/// Nothing is left out.
pub const NOT_MODELLED: &[&str] = &[];

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(Fixed { window: path.mss.scale(values.get("window")) })
}

/// A constant window.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    window: Bytes,
}

impl Sender for Fixed {
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }
}
