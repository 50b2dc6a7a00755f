//! RCP at the sender: sends at the least rate that the ports on its path offer.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | R_p | `rate` | the least rate offered to the newest packet that has been answered |
//!
//! Source: Dukkipati et al., `IWQoS` 2005, §2, and the authors' ns-2 code (rcp-host.cc): a packet asks on its way, its
//! answer brings the rate back, all else leaves at that rate, the packet that waits included; requests without payload ask
//! on where data is more than a round trip apart. The rate itself is the ports': port/rcp.rs.
//!
//! Differs: the first data packet asks, alone until it is answered, where ns-2 sends a request without payload; repair is
//! the transport's, where ns-2 sends as many packets again as the receiver has not counted.

use crate::event::{Ack, Loss};
use crate::parameter::{Parameter, Preset, Values};
use crate::sender::{Decision, Path, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Rate, Time};

/// None: they are the port's.
pub const PARAMETERS: &[Parameter] = &[];

/// None.
pub const PRESETS: &[Preset] = &[];

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_load();

/// What rcp-host.cc has beside.
pub const NOT_MODELLED: &[&str] = &["a rate of zero, at which a sender may give up"];

/// Builds the sender of one flow.
#[must_use]
pub fn build(_values: &Values, path: &Path) -> Box<dyn Sender> {
    Box::new(Rcp { mss: path.mss, line_rate: path.line_rate, rate: None })
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
struct Rcp {
    mss: Bytes,
    line_rate: Rate,
    rate: Option<Rate>,
}

impl Sender for Rcp {
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn on_offer(&mut self, _now: Time, rate: Rate) {
        self.rate = Some(rate.min(self.line_rate).max(Rate(1)));
    }

    fn decision(&self) -> Decision {
        let window = if self.rate.is_none() { self.mss } else { Bytes::MAX };
        Decision { window, pace: self.rate, wake: None }
    }
}
