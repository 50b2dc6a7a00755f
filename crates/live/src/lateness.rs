//! How late an emulation in real time was: a machine that is busy with other things gives wrong answers, and this
//! tells which ones to throw away.

/// Bins an octave.
const STEPS: u32 = 8;

/// Delays in nanoseconds, in bins an eighth of an octave wide.
#[derive(Clone, Debug)]
pub struct Delays {
    bins: Vec<u64>,
    count: u64,
    sum: u64,
    largest: u64,
}

impl Default for Delays {
    fn default() -> Self {
        Self { bins: vec![0; 65 * STEPS as usize], count: 0, sum: 0, largest: 0 }
    }
}

impl Delays {
    /// Adds one.
    pub fn record(&mut self, nanos: u64) {
        let value = nanos + u64::from(STEPS);
        let octave = value.ilog2();
        let step = (value >> (octave - STEPS.ilog2())) & u64::from(STEPS - 1);
        self.bins[(octave * STEPS) as usize + step as usize] += 1;
        self.count += 1;
        self.sum += nanos;
        self.largest = self.largest.max(nanos);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; 0 of none.
    #[must_use]
    pub fn mean(&self) -> u64 {
        self.sum / self.count.max(1)
    }

    /// The largest.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// The upper end of the bin that holds the `share` quantile.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let target = (self.count as f64 * share).ceil() as u64;
        let mut below = 0;
        for (at, &count) in self.bins.iter().enumerate() {
            below += count;
            if count > 0 && below >= target {
                let (octave, step) = (at as u32 / STEPS, at as u64 % u64::from(STEPS));
                let end = u128::from(u64::from(STEPS) + step + 1) << octave >> STEPS.ilog2();
                return (end as u64).saturating_sub(u64::from(STEPS)).min(self.largest);
            }
        }
        0
    }
}

/// The record of one run.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    /// Of every packet delivered to a host: how much later than the emulated network says.
    pub deliveries: Delays,
    /// Between two looks at the hosts' devices, weighted by the packets that waited.
    pub looks: Delays,
    /// The longest time without a look.
    pub longest_gap: u64,
    /// Time in gaps longer than the allowance, in all.
    pub stalled: u64,
}

/// What a run is held against.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// A round trip, in nanoseconds: propagation both ways and the queue.
    pub round_trip: u64,
    /// How long the run was.
    pub span: u64,
    /// The delay that senders take for a queue, where they go by stamps; in which lateness is one.
    pub headroom: Option<u64>,
}

impl Lateness {
    /// Why the run cannot be believed; none if it can. What is late adds to the round trip that senders see: on
    /// average by a tenth at most, one packet in a hundred by no more than twice the whole. A frame waits for half
    /// the time between two looks. What senders answer to is to be three times as much as packets are late.
    #[must_use]
    pub fn reject(&self, allowance: Allowance) -> Option<String> {
        let Allowance { round_trip, span, headroom } = allowance;
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let late = self.deliveries.mean() + self.looks.mean() / 2;
        if late > round_trip / 10 {
            let (late, round_trip) = (micros(late), micros(round_trip));
            return Some(format!("packets were {late:.1} us late on average, in round trips of {round_trip:.1} us"));
        }
        let late = self.deliveries.mean();
        if let Some(headroom) = headroom
            && 3 * late > headroom
        {
            let (late, headroom) = (micros(late), micros(headroom));
            return Some(format!(
                "packets were {late:.1} us late on average, and senders answer delays of {headroom:.1} us"
            ));
        }
        let late = self.deliveries.quantile(0.99).max(self.looks.quantile(0.99));
        if late > 2 * round_trip {
            let (late, round_trip) = (micros(late), micros(round_trip));
            return Some(format!(
                "one packet in a hundred was {late:.1} us late, in round trips of {round_trip:.1} us"
            ));
        }
        if self.stalled > span / 100 {
            let (stalled, span) = (micros(self.stalled) / 1e3, micros(span) / 1e3);
            return Some(format!("the emulated network stood still for {stalled:.1} ms of {span:.1} ms"));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_an_eighth_of_an_octave_wide() {
        let mut delays = Delays::default();
        (1..=1000).for_each(|us| delays.record(us * 1000));
        let median = delays.quantile(0.5);
        assert!((500_000..570_000).contains(&median), "{median}");
        assert_eq!(delays.quantile(1.0), 1_000_000);
        assert_eq!(Delays::default().quantile(0.5), 0);
    }

    #[test]
    fn a_late_run_and_one_that_stood_still_are_rejected() {
        let allowance = Allowance { round_trip: 1_000_000, span: 1_000_000_000, headroom: None };
        let mut record = Lateness::default();
        (0..1000).for_each(|_| record.deliveries.record(20_000));
        assert_eq!(record.reject(allowance), None);
        let stamped = Allowance { headroom: Some(50_000), ..allowance };
        assert!(record.reject(stamped).is_some_and(|why| why.contains("answer delays of 50.0 us")));
        record.stalled = 40_000_000;
        assert!(record.reject(allowance).is_some_and(|why| why.contains("40.0 ms of 1000.0 ms")));
        record.stalled = 0;
        (0..15).for_each(|_| record.deliveries.record(2_500_000));
        assert!(record.reject(allowance).is_some_and(|why| why.contains("one packet in a hundred")));
        (0..1000).for_each(|_| record.looks.record(160_000));
        assert!(record.reject(allowance).is_some_and(|why| why.contains("on average")));
    }
}
