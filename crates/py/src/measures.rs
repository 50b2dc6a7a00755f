//! What flows have done in an interval, as an agent sees it that learns to drive a network (`shallows.gym`).

use shallows_cc::units::{Bytes, Time};
use shallows_sim::FlowObservation;

/// Send rate and receive rate of payload in Gbps, mean smoothed round-trip time in us, share of sent packets that had been sent before, share
/// of acknowledged payload that was marked. Zero where nothing was sent or acknowledged.
pub const MEASURES: usize = 5;

/// Counts of a group of flows in an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sent: u64,
    resent: u64,
    delivered: u64,
    acks: u64,
    /// Sum over acknowledgements of the smoothed round-trip time in ps.
    rtts: f64,
    acked: u64,
    marked: u64,
}

/// Counts of groups of flows.
#[derive(Clone, Debug)]
pub struct Measures(Vec<Counts>);

impl Measures {
    /// Those of the groups of flows; `group` has the number of each flow's, and other flows do not count.
    pub fn of(flows: &[FlowObservation], group: &[u32], groups: usize) -> Self {
        let mut all = vec![Counts::default(); groups];
        for one in flows {
            let at = group.get(one.flow as usize).map_or(usize::MAX, |&at| at as usize);
            if let Some(counts) = all.get_mut(at) {
                counts.sent += one.sent;
                counts.resent += one.retransmits;
                counts.delivered += one.delivered;
                counts.acks += one.acks;
                counts.rtts += one.srtt.0 as f64 * one.acks as f64;
                counts.acked += one.acked;
                counts.marked += one.marked;
            }
        }
        Self(all)
    }

    /// The [`MEASURES`] of each group, row after row, and those of all groups together, over a span in which packets have this payload.
    pub fn in_units(&self, span: Time, payload: Bytes) -> (Vec<f32>, [f64; MEASURES]) {
        let all = self.0.iter().fold(Counts::default(), |sum, one| sum.with(one));
        let rows = self.0.iter().flat_map(|one| one.in_units(span, payload)).map(|value| value as f32).collect();
        (rows, all.in_units(span, payload))
    }
}

impl Counts {
    fn with(self, other: &Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            resent: self.resent + other.resent,
            delivered: self.delivered + other.delivered,
            acks: self.acks + other.acks,
            rtts: self.rtts + other.rtts,
            acked: self.acked + other.acked,
            marked: self.marked + other.marked,
        }
    }

    fn in_units(&self, span: Time, payload: Bytes) -> [f64; MEASURES] {
        let share = |part: f64, whole: u64| if whole == 0 { 0.0 } else { part / whole as f64 };
        // A byte each ps is 8,000 Gbps.
        let gbps = |bytes: u64| share(bytes as f64 * 8e3, span.0);
        [
            gbps(self.sent * payload.0),
            gbps(self.delivered),
            share(self.rtts / 1e6, self.acks),
            share(self.resent as f64, self.sent),
            share(self.marked as f64, self.acked),
        ]
    }
}
