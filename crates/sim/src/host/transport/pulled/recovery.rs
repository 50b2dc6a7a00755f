//! Loss detection by selective acknowledgements, and probes of a connection that hears nothing (MRC).
//!
//! Every answer carries a [`Sack`]. A packet is lost if one has been answered that left later by more than the reordering window, and if
//! no SACK covers it. A packet that is covered has arrived although its own answer was lost. A connection with packets in flight that hears
//! nothing for some time sends a probe, whose answer counts as that of a packet which left with the probe.

use shallows_cc::multipath::Multipath;
use shallows_cc::units::Time;

use crate::host::value_set::Evidence;
use crate::packet::header::Sack;

/// State of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    reordering: Option<Time>,
    silence: Option<Time>,
    sack: Sack,
    /// Departure of the newest packet or probe that has been answered.
    newest: Time,
    /// Probes since the newest answer, when the last one left, and whether one is to leave now.
    probes: u32,
    probed: Time,
    wants_probe: bool,
    /// Entropy values of lost packets of which the path selection has not heard.
    lost: Vec<(u16, Evidence)>,
    /// When the next value is to be probed.
    pub value_probe: Time,
}

impl Recovery {
    pub fn new(rules: &Multipath) -> Self {
        Self {
            reordering: rules.reordering,
            silence: rules.silence,
            sack: Sack::default(),
            newest: Time::ZERO,
            probes: 0,
            probed: Time::ZERO,
            wants_probe: false,
            lost: Vec::new(),
            value_probe: Time::MAX,
        }
    }

    /// Handles an answer to a packet or probe that left at `sent`.
    pub(crate) fn on_answer(&mut self, sent: Time, sack: Sack) {
        self.sack.add(sack);
        self.newest = self.newest.max(sent);
        self.probes = 0;
    }

    /// Returns what is known of a packet in flight that left at `sent`: whether it has arrived, or none if it may still be on its way.
    pub fn verdict(&self, sent: Time, seq: u32) -> Option<bool> {
        let late = self.reordering.is_some_and(|window| sent + window < self.newest);
        late.then(|| self.sack.covers(seq))
    }

    /// Notes that a packet with this value is lost.
    pub(crate) fn on_lost(&mut self, value: u16, evidence: Evidence) {
        self.lost.push((value, evidence));
    }

    /// Returns the next deadline of a flow that heard its last answer then.
    pub fn deadline(&self, heard: Time, in_flight: bool) -> Time {
        self.value_probe.min(self.silent_until(heard, in_flight))
    }

    fn silent_until(&self, heard: Time, in_flight: bool) -> Time {
        let silence = self.silence.filter(|_| in_flight);
        silence.map_or(Time::MAX, |silence| heard.max(self.probed) + silence * (1 << self.probes.min(20)))
    }

    /// Asks for a probe if the flow has heard nothing for long enough.
    pub(crate) fn on_timer(&mut self, now: Time, heard: Time, in_flight: bool) {
        if self.silent_until(heard, in_flight) <= now {
            (self.probes, self.probed, self.wants_probe) = (self.probes + 1, now, true);
        }
    }

    /// Notes that packets leave after a silence in which nothing was in flight.
    pub fn on_first_departure(&mut self, now: Time) {
        self.probed = now;
    }

    /// Returns whether the connection is to be probed, once.
    pub(crate) fn takes_probe(&mut self) -> bool {
        std::mem::take(&mut self.wants_probe)
    }

    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Returns the values of lost packets, once.
    pub(crate) fn take_lost(&mut self) -> Vec<(u16, Evidence)> {
        std::mem::take(&mut self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Time = Time::from_micros;

    fn recovery() -> Recovery {
        let rules = Multipath {
            values: 8,
            spares: 0,
            min_active: 4,
            bad_after: Some(2),
            value_probe: None,
            silence: Some(US(32)),
            reordering: Some(US(12)),
            port_status: true,
        };
        Recovery::new(&rules)
    }

    /// A window of 12 us: a packet that left at 0 is lost once one that left after 12 us has been answered.
    #[test]
    fn a_packet_is_lost_once_a_later_one_has_been_answered() {
        let mut recovery = recovery();
        recovery.on_answer(US(12), Sack::default());
        assert_eq!(recovery.verdict(US(0), 0), None);
        recovery.on_answer(US(13), Sack { cumulative: 0, bitmap: 0b1000 });
        assert_eq!((recovery.verdict(US(0), 0), recovery.verdict(US(0), 3)), (Some(false), Some(true)));
        // An old answer changes nothing.
        recovery.on_answer(US(2), Sack::default());
        assert_eq!((recovery.verdict(US(0), 3), recovery.verdict(US(1), 1)), (Some(true), None));
    }

    /// After 32 us, then 64 us later, then 128; an answer begins anew. With nothing in flight there is nothing to ask.
    #[test]
    fn a_silent_connection_is_probed_at_doubled_intervals() {
        let mut recovery = recovery();
        assert_eq!((recovery.deadline(US(10), false), recovery.deadline(US(10), true)), (Time::MAX, US(42)));
        recovery.on_timer(US(41), US(10), true);
        assert!(!recovery.takes_probe());
        recovery.on_timer(US(42), US(10), true);
        assert!(recovery.takes_probe() && !recovery.takes_probe());
        assert_eq!(recovery.deadline(US(10), true), US(42 + 64));
        recovery.on_timer(US(106), US(10), true);
        assert_eq!(recovery.deadline(US(10), true), US(106 + 128));
        recovery.on_answer(US(106), Sack::default());
        assert_eq!(recovery.deadline(US(114), true), US(114 + 32));
    }
}
