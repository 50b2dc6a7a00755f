//! DCQCN at the receiver: answers marked packets with congestion notification packets, at most one in tau for each flow.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | tau | `interval` | least time between two notifications of a flow |
//!
//! Source: Zhu et al., "ECN or Delay", `CoNEXT` 2016, §3 (NP behaviour); Zhu et al., SIGCOMM 2015, §3.1. Same as the paper: "if
//! a marked packet arrives for a flow, and no CNP has been sent for this flow in last tau microseconds, a CNP is
//! generated immediately".
//!
//! Differs with `sampled`: the receiver checks once every tau whether a packet was marked, as github.com/bobzhuyb/ns3-rdma
//! does and as eq. 5 to 7 have it. This answers fewer marks; with immediate notifications the same rate takes a quarter
//! more marks, and so a longer queue.

use super::{Data, Echo, Receiver, Reply};
use crate::parameter::Values;
use crate::units::Time;

/// The notification point of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Cnp {
    interval: Time,
    sampled: bool,
    /// Start of the checks if sampled, otherwise the time of the last notification.
    from: Option<Time>,
}

impl Cnp {
    /// Builds one from the parameters `tau` and `sampled` of the algorithm.
    #[must_use]
    pub fn boxed(values: &Values, _acks_every: u32) -> Box<dyn Receiver> {
        Box::new(Self { interval: values.time("tau"), sampled: values.flag("sampled"), from: None })
    }

    fn next_check(&mut self, now: Time) -> Time {
        let from = *self.from.get_or_insert(now);
        now + self.interval - Time((now - from).0 % self.interval.0)
    }
}

impl Receiver for Cnp {
    fn notification(&mut self, now: Time, data: &Data) -> Option<Time> {
        if self.sampled {
            let look = self.next_check(now);
            return data.marked.then_some(look);
        }
        let due = data.marked && self.from.is_none_or(|last| now - last >= self.interval);
        due.then(|| *self.from.insert(now))
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

    /// When a packet at each of these microseconds, marked or not, is answered.
    fn answers(sampled: bool, packets: &[(u64, bool)]) -> Vec<Option<u64>> {
        let mut values = Values::defaults(crate::sender::dcqcn::PARAMETERS);
        values.set("sampled", f64::from(u8::from(sampled))).unwrap();
        let mut cnp = Cnp::boxed(&values, 1);
        let mut answer = |&(micros, marked): &(u64, bool)| {
            let data = Data { marked, in_order: true, ..Data::default() };
            cnp.notification(Time::from_micros(micros), &data).map(|at| at.0 / 1_000_000)
        };
        packets.iter().map(&mut answer).collect()
    }

    #[test]
    fn the_first_mark_is_answered_at_once_and_the_next_after_tau() {
        let packets = [(0, false), (1, true), (2, true), (50, true), (51, true), (60, true), (102, false)];
        assert_eq!(answers(false, &packets), [None, Some(1), None, None, Some(51), None, None]);
    }

    #[test]
    fn looking_every_tau_answers_at_the_end_of_it() {
        let packets = [(7, false), (8, true), (56, true), (57, true), (120, false), (130, true)];
        assert_eq!(answers(true, &packets), [None, Some(57), Some(57), Some(107), None, Some(157)]);
    }
}
