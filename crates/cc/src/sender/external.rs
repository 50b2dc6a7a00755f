//! Another program sets the window and the pace while the run goes on; until then they are the parameters.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | W | `window` | packets in flight |
//! | r | `rate` | rate at which packets leave, headers included |
//!
//! Source: none, as there is no law. Programs that learn one set a rate: Jay et al., ICML 2019, section 3.

use crate::event::{Ack, Loss};
use crate::parameter::{Parameter, Preset, Values, flag, packets, rate};
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Rate, Time};

/// Its parameters.
pub const PARAMETERS: &[Parameter] = &[
    packets("window", "W", 10.0, 1.0..=1e6)
        .meaning("packets in flight until a program sets another window")
        .source("RFC 6928"),
    rate("rate", "r", 0.0, 0.0..=1.6e12)
        .meaning("rate until a program sets another one; 0 leaves the window alone")
        .source("no pace unless a program asks for one"),
    flag("ecn", "", false).meaning("its data is ECN-capable, so that a program sees marks").source("RFC 3168"),
];

/// None.
pub const PRESETS: &[Preset] = &[];

/// What its law is to those who run and explain it: of a program everything is possible.
pub const TRAITS: Traits = Traits::of_a_program();

/// Nothing is left out.
pub const NOT_MODELLED: &[&str] = &[];

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let rate = Rate::nearest(values.get("rate"));
    Box::new(External { window: path.mss.scale(values.get("window")), rate: (rate > Rate::ZERO).then_some(rate) })
}

/// A window and a rate that stay until a program sets others.
#[derive(Clone, Copy, Debug)]
struct External {
    window: Bytes,
    rate: Option<Rate>,
}

impl Sender for External {
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn decision(&self) -> Decision {
        Decision { window: self.window, pace: self.rate, wake: None }
    }

    fn adopt(&mut self, window: Bytes, pace: Option<Rate>) -> bool {
        (self.window, self.rate) = (window, pace);
        true
    }
}
