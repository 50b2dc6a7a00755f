//! Answers marks with congestion notification packets, and no more than one in a while for each flow.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | tau | `interval` | least time between two notifications of a flow |
//!
//! Source: Zhu et al., SIGCOMM 2015 §3.1 (NP algorithm); "ECN or Delay" (`CoNEXT` 2016) §3: a marked packet,
//! and none sent in the last tau: one is sent at once.

use super::{Data, Echo, Receiver, Reply};
use crate::parameter::Values;
use crate::units::Time;

/// The notification point of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Cnp {
    interval: Time,
    last: Option<Time>,
}

impl Cnp {
    /// With the interval that the algorithm's parameter `tau` says.
    #[must_use]
    pub fn boxed(values: &Values, _acks_every: u32) -> Box<dyn Receiver> {
        Box::new(Self { interval: values.time("tau"), last: None })
    }
}

impl Receiver for Cnp {
    fn notifies(&mut self, now: Time, data: &Data) -> bool {
        let due = data.marked && self.last.is_none_or(|last| now - last >= self.interval);
        if due {
            self.last = Some(now);
        }
        due
    }

    fn on_data(&mut self, _now: Time, _data: &Data) -> Reply {
        Reply::default()
    }

    fn on_timer(&mut self, _now: Time) -> Echo {
        Echo { marked: false }
    }
}

/// Nothing but the acknowledgements of the transport.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Silent {
    /// It needs no parameter.
    #[must_use]
    pub fn boxed(_values: &Values, _acks_every: u32) -> Box<dyn Receiver> {
        Box::new(Self)
    }
}

impl Receiver for Silent {
    fn on_data(&mut self, _now: Time, _data: &Data) -> Reply {
        Reply::default()
    }

    fn on_timer(&mut self, _now: Time) -> Echo {
        Echo { marked: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mark_is_answered_at_once_and_the_next_after_tau() {
        let mut cnp = Cnp { interval: Time::from_micros(50), last: None };
        let mut notifies = |micros, marked| {
            let data = Data { marked, window_reduced: false, in_order: true };
            cnp.notifies(Time::from_micros(micros), &data)
        };
        assert!(!notifies(0, false));
        assert!(notifies(1, true));
        assert!(!notifies(2, true));
        assert!(!notifies(50, true));
        assert!(!notifies(60, false));
        assert!(notifies(61, true));
    }
}
