//! Receiver of RCCC, whose transport grants credit in bytes.

use crate::parameter::Values;
use crate::receiver::{Data, Echo, Grants, Receiver, Reply};
use crate::units::{Bytes, Time};

/// The receiver, whose transport grants the credit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granting(Grants);

impl Granting {
    /// Builds one from the parameters of the algorithm.
    pub(crate) fn boxed(values: &Values, _acks_every: u32) -> Box<dyn Receiver> {
        let [rate, pull, quantum] = ["rate", "pull", "quantum"].map(|name| values.get(name));
        Box::new(Self(Grants { rate, pull, quantum: Bytes(quantum as u64) }))
    }
}

impl Receiver for Granting {
    fn on_data(&mut self, _now: Time, _data: &Data) -> Reply {
        Reply::default()
    }

    fn on_timer(&mut self, _now: Time) -> Echo {
        Echo { marked: false }
    }

    fn grants(&self) -> Option<Grants> {
        Some(self.0)
    }
}
