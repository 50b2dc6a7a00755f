//! Lateness of an emulation in real time. A busy machine delivers packets late and gives wrong results; runs that were
//! too late are rejected.

use crate::answer::Quantiles;

/// Bins per octave.
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
    /// Adds a delay.
    pub fn record(&mut self, nanos: u64) {
        let value = nanos + u64::from(STEPS);
        let octave = value.ilog2();
        let step = (value >> (octave - STEPS.ilog2())) & u64::from(STEPS - 1);
        self.bins[(octave * STEPS) as usize + step as usize] += 1;
        self.count += 1;
        self.sum += nanos;
        self.largest = self.largest.max(nanos);
    }

    /// Adds other delays.
    pub fn merge(&mut self, other: &Self) {
        self.bins.iter_mut().zip(&other.bins).for_each(|(bin, count)| *bin += count);
        (self.count, self.sum) = (self.count + other.count, self.sum + other.sum);
        self.largest = self.largest.max(other.largest);
    }

    /// The number of delays.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean delay; 0 without delays.
    #[must_use]
    pub fn mean(&self) -> u64 {
        self.sum / self.count.max(1)
    }

    /// The largest delay.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// The upper end of the bin that holds the `share` quantile.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let target = (self.count as f64 * share).ceil() as u64;
        let mut below = 0;
        let found = self.bins.iter().position(|&count| {
            below += count;
            count > 0 && below >= target
        });
        found.map_or(0, |at| self.end(at))
    }

    /// The mean of `value` over the delays, each taken as the upper end of its bin; 0 without delays.
    #[must_use]
    pub fn mean_of(&self, value: impl Fn(u64) -> f64) -> f64 {
        let bins = self.bins.iter().enumerate().filter(|(_, count)| **count > 0);
        bins.map(|(at, &count)| value(self.end(at)) * count as f64).sum::<f64>() / (self.count as f64).max(1.0)
    }

    /// The upper end of a bin, or the largest delay.
    fn end(&self, at: usize) -> u64 {
        let (octave, step) = (at as u32 / STEPS, at as u64 % u64::from(STEPS));
        let end = u128::from(u64::from(STEPS) + step + 1) << octave >> STEPS.ilog2();
        (end as u64).saturating_sub(u64::from(STEPS)).min(self.largest)
    }
}

impl From<&Delays> for Quantiles {
    fn from(delays: &Delays) -> Self {
        let micros = |nanos: u64| nanos as f64 / 1000.0;
        Self {
            count: delays.count(),
            mean_us: micros(delays.mean()),
            p50_us: micros(delays.quantile(0.5)),
            p99_us: micros(delays.quantile(0.99)),
            p999_us: micros(delays.quantile(0.999)),
            max_us: micros(delays.largest()),
        }
    }
}

/// The record of one run.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    /// Lateness of every packet delivered to a host, relative to the emulated network.
    pub deliveries: Delays,
    /// Time between two polls of the hosts' devices, weighted by the waiting packets.
    pub looks: Delays,
    /// The longest time without a poll.
    pub longest_gap: u64,
    /// Total time in gaps longer than the allowance.
    pub stalled: u64,
}

/// Limits for a run.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// A round trip in nanoseconds: propagation in both directions and the queue.
    pub round_trip: u64,
    /// Duration of the run.
    pub span: u64,
}

impl Lateness {
    /// Adds the record of another thread of the same run.
    pub fn merge(&mut self, other: &Self) {
        self.deliveries.merge(&other.deliveries);
        self.looks.merge(&other.looks);
        self.longest_gap = self.longest_gap.max(other.longest_gap);
        self.stalled = self.stalled.max(other.stalled);
    }

    /// Why the run is rejected; `None` if it is accepted. Lateness adds to the round trip that senders measure: at most
    /// a tenth on average, and at most twice the round trip for one packet in a hundred. A frame waits half the time
    /// between two polls.
    #[must_use]
    pub fn reject(&self, allowance: Allowance) -> Option<String> {
        let Allowance { round_trip, span } = allowance;
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let late = self.deliveries.mean() + self.looks.mean() / 2;
        if late > round_trip / 10 {
            let (late, round_trip) = (micros(late), micros(round_trip));
            return Some(format!("packets were {late:.1} us late on average, in round trips of {round_trip:.1} us"));
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

/// Measurements of the senders of a run.
#[derive(Clone, Copy, Debug)]
pub struct Saw {
    /// The share of its window that a sender cut per round trip because of delays of the machine.
    pub given_up: f64,
    /// The mean round trip as measured by senders' kernels, and in the emulated network.
    pub round_trips_us: Option<(f64, f64)>,
    /// The variation of timestamps on this machine, and the accepted variation.
    pub vary_ns: Option<(u64, u64)>,
}

impl Saw {
    /// A window of a hundred packets recovers the loss of one packet per round trip.
    const GIVEN_UP_MOST: f64 = 0.01;
    /// The accepted excess of the measured round trip over the network's, for the time in the stacks.
    const LONGER_MOST: f64 = 0.1;

    /// Why the run is rejected; `None` if it is accepted.
    #[must_use]
    pub fn reject(&self) -> Option<String> {
        if let Some((vary, most)) = self.vary_ns.filter(|(vary, most)| vary > most) {
            let (vary, most) = (vary as f64 / 1e3, most as f64 / 1e3);
            return Some(format!("stamps vary by {vary:.0} us on this machine now, a run can bear {most:.0} us"));
        }
        let share = self.given_up * 100.0;
        if self.given_up > Self::GIVEN_UP_MOST {
            return Some(format!(
                "senders gave up {share:.1} % of their windows a round trip for delays of the machine's"
            ));
        }
        let (seen, network) = self.round_trips_us?;
        (seen > network * (1.0 + Self::LONGER_MOST))
            .then(|| format!("senders saw round trips of {seen:.0} us, where the emulated network has {network:.0} us"))
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
    fn the_delays_of_two_threads_are_those_of_one() {
        let (mut both, mut one, mut other) = (Delays::default(), Delays::default(), Delays::default());
        for us in 1..=1000 {
            both.record(us * 1000);
            if us % 3 == 0 { &mut one } else { &mut other }.record(us * 1000);
        }
        one.merge(&other);
        assert_eq!((one.count(), one.mean(), one.quantile(0.99)), (1000, 500_500, both.quantile(0.99)));
    }

    #[test]
    fn a_run_is_held_against_what_its_senders_saw() {
        let saw = Saw { given_up: 0.009, round_trips_us: Some((329.0, 300.0)), vary_ns: Some((50, 50)) };
        assert_eq!(saw.reject(), None);
        assert_eq!(Saw { round_trips_us: None, ..saw }.reject(), None);
        assert!(Saw { given_up: 0.012, ..saw }.reject().is_some_and(|why| why.contains("gave up 1.2 %")));
        assert!(Saw { vary_ns: Some((51, 50)), ..saw }.reject().is_some_and(|why| why.contains("stamps vary")));
        let longer = Saw { round_trips_us: Some((331.0, 300.0)), ..saw };
        assert!(longer.reject().is_some_and(|why| why.contains("331 us, where the emulated network has 300 us")));
    }

    #[test]
    fn a_late_run_and_one_that_stood_still_are_rejected() {
        let allowance = Allowance { round_trip: 1_000_000, span: 1_000_000_000 };
        let mut record = Lateness::default();
        (0..1000).for_each(|_| record.deliveries.record(20_000));
        assert_eq!(record.reject(allowance), None);
        record.stalled = 40_000_000;
        assert!(record.reject(allowance).is_some_and(|why| why.contains("40.0 ms of 1000.0 ms")));
        record.stalled = 0;
        (0..15).for_each(|_| record.deliveries.record(2_500_000));
        assert!(record.reject(allowance).is_some_and(|why| why.contains("one packet in a hundred")));
        (0..1000).for_each(|_| record.looks.record(160_000));
        assert!(record.reject(allowance).is_some_and(|why| why.contains("on average")));
    }
}
