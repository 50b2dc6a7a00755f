//! Histogram of the time that a queue spends at each length: exact, in integers, in bounded memory.
//!
//! The backlog of a FIFO port (the time it needs to send what it holds) falls by one second a second
//! between arrivals, so each arrival closes one falling segment and opens another. A segment from `high`
//! down to `low` spends in every bin just the length it crosses: it is recorded as one entry at the bin of
//! `high`, and one of the opposite sign at the bin of `low`. Summing from the top gives the time in each bin.

use shallows_cc::units::Time;

use crate::arch::prefetch::prefetch;

/// Bins per octave: the width of a bin is at most a sixteenth of its distance from zero.
const STEPS: u64 = 16;

/// Bits of the covered part of a bin, and of the number of its segments: 8e12. A bin is a sixteenth of the backlog wide, so what all
/// segments cover of it is at most the time of the run, 1e18 ps, times a sixteenth of the packets in the queue, 3e7: 2e24 of 9e24.
const COVERED_BITS: u32 = 84;
const SEGMENT_BITS: u32 = 128 - COVERED_BITS;

/// The number of segments that begin in this bin less those that end in it, times 2^84, plus the picoseconds that these cover of
/// the bin itself: one addition changes both.
#[derive(Clone, Copy, Debug, Default)]
struct Bin(i128);

impl Bin {
    /// One segment that covers this much of the bin.
    #[inline]
    fn segment(covers: u64) -> Self {
        Self((1 << COVERED_BITS) + i128::from(covers))
    }

    fn partial(self) -> i128 {
        self.0 << SEGMENT_BITS >> SEGMENT_BITS
    }

    fn segments(self) -> i128 {
        (self.0 - self.partial()) >> COVERED_BITS
    }
}

/// Time spent at each backlog.
#[derive(Clone, Debug)]
pub struct Histogram {
    bins: Box<[Bin]>,
    shift: u32,
}

impl Histogram {
    /// An empty histogram, whose bins near zero are an eighth of `packet_time` wide.
    #[must_use]
    pub(crate) fn new(packet_time: Time) -> Self {
        Self { bins: Box::default(), shift: (packet_time.0 / 8).max(1).ilog2() }
    }

    /// The bin of a backlog, and the part of the bin below it.
    #[inline]
    fn locate(&self, backlog: Time) -> (usize, u64) {
        let octave = ((backlog.0 >> self.shift) | STEPS).ilog2() - STEPS.ilog2();
        let shift = self.shift + octave;
        let steps = backlog.0 >> shift;
        ((u64::from(octave) * STEPS + steps) as usize, backlog.0 - (steps << shift))
    }

    /// The lower edge of a bin.
    fn edge(&self, bin: usize) -> u64 {
        let bin = bin as u64;
        if bin < STEPS {
            return bin << self.shift;
        }
        let octave = bin / STEPS - 1;
        (STEPS + bin % STEPS) << (u64::from(self.shift) + octave)
    }

    /// Prefetches the bin of a backlog.
    pub(crate) fn prefetch(&self, backlog: Time) {
        if let Some(bin) = self.bins.get(self.locate(backlog).0) {
            prefetch(bin);
        }
    }

    /// Begins a falling segment at `backlog`.
    #[inline]
    pub fn begin(&mut self, backlog: Time) {
        self.begin_times(backlog, 1);
    }

    /// Begins this many segments.
    #[inline]
    pub(crate) fn begin_times(&mut self, backlog: Time, times: u32) {
        if backlog == Time::ZERO || times == 0 {
            return;
        }
        let (at, into) = self.locate(backlog);
        self.add(at, Bin(Bin::segment(into).0 * i128::from(times)));
    }

    #[inline]
    fn add(&mut self, at: usize, more: Bin) {
        match self.bins.get_mut(at) {
            Some(bin) => bin.0 += more.0,
            None => self.reach(at, more),
        }
    }

    /// Adds bins up to a backlog that is larger than any before.
    #[cold]
    fn reach(&mut self, at: usize, first: Bin) {
        // Most ports reach their last bin soon, so no space is reserved for more.
        let mut bins = std::mem::take(&mut self.bins).into_vec();
        bins.reserve_exact(at + 1 - bins.len());
        bins.resize(at, Bin::default());
        bins.push(first);
        self.bins = bins.into_boxed_slice();
    }

    /// Ends the falling segment at `backlog`.
    #[inline]
    pub fn end(&mut self, backlog: Time) {
        if backlog == Time::ZERO {
            return;
        }
        let (at, into) = self.locate(backlog);
        self.add(at, Bin(-Bin::segment(into).0));
    }

    /// Counts a time in which the backlog stays the same.
    pub(crate) fn hold(&mut self, backlog: Time, span: Time) {
        let (at, _) = self.locate(backlog);
        self.add(at, Bin(i128::from(span.0)));
    }

    /// Empties all bins.
    pub fn clear(&mut self) {
        self.bins.fill(Bin::default());
    }

    /// Returns the time spent in each bin; `idle` is the time at zero, and `largest` the largest backlog, at which the last bin ends.
    /// Every segment must have ended.
    ///
    /// # Panics
    /// If more segments ended than began.
    #[must_use]
    pub(crate) fn finish(&self, idle: Time, largest: Time) -> Distribution {
        let mut above = 0;
        let mut times = vec![0; self.bins.len().max(1)];
        for (at, bin) in self.bins.iter().enumerate().rev() {
            let width = i128::from(self.edge(at + 1) - self.edge(at));
            times[at] = bin.partial() + width * above;
            above += bin.segments();
        }
        assert!(above >= 0, "a segment was ended that was not begun");
        let used = times.iter().rposition(|&t| t != 0).map_or(1, |last| last + 1);
        Distribution {
            idle,
            edges: (0..used).map(|at| Time(self.edge(at))).chain([Time(self.edge(used)).min(largest)]).collect(),
            times: times[..used].iter().map(|&t| Time(t as u64)).collect(),
        }
    }
}

/// Distribution of time over backlogs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// Time without a backlog.
    pub idle: Time,
    /// Lower edges of the bins, and the upper edge of the last one.
    pub edges: Vec<Time>,
    /// Time spent in each bin.
    pub times: Vec<Time>,
}

impl Distribution {
    /// Total time.
    #[must_use]
    pub fn total(&self) -> Time {
        self.idle + self.times.iter().copied().sum()
    }

    /// The backlog that is not exceeded for a `share` of the time, interpolated linearly within a bin.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let target = self.total().0 as f64 * share;
        let mut below = self.idle.0 as f64;
        if target <= below {
            return 0.0;
        }
        for (bin, time) in self.times.iter().enumerate() {
            let time = time.0 as f64;
            if time > 0.0 && below + time >= target {
                let (low, high) = (self.edges[bin].0 as f64, self.edges[bin + 1].0 as f64);
                return low + (high - low) * (target - below) / time;
            }
            below += time;
        }
        self.edges.last().map_or(0.0, |edge| edge.0 as f64)
    }

    /// The smallest and the largest integral of the backlog over time that this distribution allows, in
    /// square picoseconds.
    #[must_use]
    pub fn area_bounds(&self) -> (u128, u128) {
        let area = |from: &[Time]| -> u128 {
            from.iter().zip(&self.times).map(|(edge, time)| u128::from(edge.0) * u128::from(time.0)).sum()
        };
        (area(&self.edges), area(&self.edges[1..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Time = Time::from_nanos(1200);

    #[test]
    fn bins_begin_where_the_one_before_ends() {
        let histogram = Histogram::new(PACKET);
        for bin in 0..histogram.bins.len() {
            let edge = histogram.edge(bin);
            assert_eq!(histogram.locate(Time(edge)), (bin, 0));
            assert_eq!(histogram.locate(Time(histogram.edge(bin + 1) - 1)).0, bin);
        }
    }

    #[test]
    fn a_segment_spends_its_length() {
        let mut histogram = Histogram::new(PACKET);
        histogram.begin(PACKET * 10);
        histogram.end(PACKET * 4);
        histogram.begin(PACKET * 5);
        histogram.end(Time::ZERO);
        let distribution = histogram.finish(PACKET, PACKET * 10);
        assert_eq!(distribution.total(), PACKET * (6 + 5 + 1));
        // 12 packet times: 1 idle, 4 below four packets, 2 in four to five, 5 above.
        let at = |share: f64| distribution.quantile(share) / PACKET.0 as f64;
        assert!((at(1.0 / 12.0) - 0.0).abs() < 1e-9);
        assert!((at(3.0 / 12.0) - 2.0).abs() < 1e-3);
        assert!((at(9.0 / 12.0) - 7.0).abs() < 0.3, "{}", at(9.0 / 12.0));
        assert!((at(1.0) - 10.0).abs() < 1e-9);
    }

    /// Three frames that find an idle port, then two at once: five frame times, one of them above one frame.
    #[test]
    fn segments_that_begin_alike_all_count() {
        let mut histogram = Histogram::new(PACKET);
        histogram.begin_times(PACKET, 3);
        histogram.begin(PACKET * 2);
        let distribution = histogram.finish(PACKET * 5, PACKET * 2);
        assert_eq!(distribution.total(), PACKET * (5 + 5));
        // Half of the time idle, four tenths up to one frame, one tenth above it.
        let at = |share: f64| distribution.quantile(share) / PACKET.0 as f64;
        assert!((at(0.9) - 1.0).abs() < 0.1 && (at(1.0) - 2.0).abs() < 1e-9, "{}", at(0.9));
    }

    #[test]
    fn a_queue_may_be_longer_than_anyone_was_ready_for() {
        let mut histogram = Histogram::new(PACKET);
        histogram.hold(Time::from_secs(100.0), PACKET * 2);
        histogram.begin(Time::from_secs(200.0));
        histogram.end(Time::from_secs(200.0) - PACKET);
        assert_eq!(histogram.finish(Time::ZERO, Time::from_secs(200.0)).total(), PACKET * 3);
    }

    /// A queue of a million packets of 1.2 us at an edge: 2^31 segments that cover a sixteenth of it are 1.6e20 ps, above 2^63.
    #[test]
    fn a_bin_holds_the_segments_of_a_long_run() {
        let (covers, times) = ((PACKET * 1_000_000 / 16).0, 1_i128 << 31);
        for sign in [1, -1] {
            let bin = Bin(Bin::segment(covers).0 * times * sign);
            assert_eq!((bin.segments(), bin.partial()), (times * sign, i128::from(covers) * times * sign));
        }
    }

    #[test]
    fn the_area_of_a_triangle_lies_between_its_bounds() {
        let mut histogram = Histogram::new(PACKET);
        histogram.begin(PACKET * 8);
        histogram.end(Time::ZERO);
        let (low, high) = histogram.finish(Time::ZERO, PACKET * 8).area_bounds();
        let area = u128::from((PACKET * 8).0) * u128::from((PACKET * 8).0) / 2;
        assert!(low <= area && area <= high && high - low < area / 4, "{low} {area} {high}");
    }
}
