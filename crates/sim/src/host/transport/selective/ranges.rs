//! Sets of sequence numbers: packets that arrived out of order, or were selectively acknowledged. Most are empty or hold a few
//! runs.

/// Packets that an acknowledgement covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrivals {
    /// All packets below this number have arrived.
    pub cumulative: u32,
    /// SACK block, as a half-open range.
    pub block: Option<(u32, u32)>,
}

/// Set of numbers, stored as disjoint half-open runs in ascending order.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    runs: Vec<(u32, u32)>,
}

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// Returns how many numbers are in the set.
    pub(crate) fn count(&self) -> u32 {
        self.runs.iter().map(|(from, to)| to - from).sum()
    }

    /// Returns the run that contains `number`, or else the first run.
    pub fn run_around(&self, number: u32) -> Option<(u32, u32)> {
        let around = self.runs.iter().find(|(from, to)| (*from..*to).contains(&number));
        around.or(self.runs.first()).copied()
    }

    /// Adds `from..to`, and returns how many of the numbers are new.
    pub(crate) fn insert(&mut self, from: u32, to: u32) -> u32 {
        if from >= to {
            return 0;
        }
        let first = self.runs.partition_point(|run| run.1 < from);
        let last = self.runs.partition_point(|run| run.0 <= to);
        let (mut merged, mut known) = ((from, to), 0);
        for run in &self.runs[first..last] {
            merged = (merged.0.min(run.0), merged.1.max(run.1));
            known += run.1 - run.0;
        }
        self.runs.splice(first..last, [merged]);
        merged.1 - merged.0 - known
    }

    /// Removes all numbers below `number`, and returns how many there were.
    pub fn remove_below(&mut self, number: u32) -> u32 {
        let before = self.count();
        self.runs.retain_mut(|run| {
            run.0 = run.0.max(number);
            run.0 < run.1
        });
        before - self.count()
    }

    /// Removes the first run if it begins at `number`, and returns its end.
    pub(crate) fn take_run_at(&mut self, number: u32) -> Option<u32> {
        let &(from, to) = self.runs.first()?;
        (from == number).then(|| {
            self.runs.remove(0);
            to
        })
    }

    /// Returns the first number at or above `number` that is not in the set.
    pub fn next_hole(&self, number: u32) -> u32 {
        let next = self.runs.partition_point(|run| run.1 <= number);
        self.runs.get(next).filter(|run| run.0 <= number).map_or(number, |run| run.1)
    }

    /// Returns how many numbers of `from..to` are not in the set.
    pub(crate) fn holes_in(&self, from: u32, to: u32) -> u32 {
        let covered: u32 = self.runs.iter().map(|run| run.1.min(to).saturating_sub(run.0.max(from))).sum();
        to.saturating_sub(from) - covered
    }

    /// Returns the numbers of `from..to` that are not in the set, in ascending order.
    pub(crate) fn holes(&self, from: u32, to: u32) -> Vec<u32> {
        let (mut holes, mut next) = (Vec::new(), from);
        for &(begin, end) in &self.runs {
            holes.extend(next..begin.min(to));
            next = next.max(end);
        }
        holes.extend(next..to);
        holes
    }

    /// Returns a bit for each of the 64 numbers from `first` on, which is set if the number is in the set.
    pub fn bitmap(&self, first: u32) -> u64 {
        let near =
            self.runs.iter().filter(|run| run.1 > first).take_while(|run| run.0 < first.saturating_add(u64::BITS));
        near.fold(0, |bits, &(from, to)| {
            let (from, to) = (from.max(first) - first, (to - first).min(u64::BITS));
            bits | u64::MAX >> (u64::BITS - (to - from)) << from
        })
    }

    /// Returns the `n`th largest number of the set.
    pub(crate) fn nth_from_top(&self, n: u32) -> Option<u32> {
        let mut left = n;
        for (from, to) in self.runs.iter().rev() {
            if to - from >= left {
                return Some(to - left);
            }
            left -= to - from;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_has_the_next_64_numbers() {
        let ranges = Ranges { runs: vec![(1, 3), (9, 12), (14, 15), (70, 90)] };
        assert_eq!(ranges.bitmap(10), 0b10011 | 0b1111 << 60);
        assert_eq!((ranges.bitmap(20), ranges.bitmap(70), ranges.bitmap(90)), (0x3fff << 50, 0xf_ffff, 0));
        assert_eq!(Ranges { runs: vec![(0, u32::MAX)] }.bitmap(5), u64::MAX);
    }

    fn set(runs: &[(u32, u32)]) -> Ranges {
        let mut ranges = Ranges::default();
        for &(from, to) in runs {
            ranges.insert(from, to);
        }
        ranges
    }

    #[test]
    fn adjacent_runs_merge() {
        let mut ranges = set(&[(2, 4), (8, 9)]);
        assert_eq!(ranges.insert(4, 8), 4);
        assert_eq!(ranges.runs, [(2, 9)]);
        assert_eq!(ranges.insert(3, 10), 1);
    }

    #[test]
    fn holes_and_largest_numbers() {
        let ranges = set(&[(3, 5), (7, 9)]);
        assert_eq!(ranges.holes_in(0, 10), 6);
        assert_eq!(ranges.holes_in(4, 8), 2);
        assert_eq!(ranges.holes(0, 10), [0, 1, 2, 5, 6, 9]);
        assert_eq!((ranges.holes(4, 6), ranges.holes(7, 9), ranges.holes(9, 3)), (vec![5], vec![], vec![]));
        assert_eq!((ranges.next_hole(3), ranges.next_hole(5), ranges.next_hole(8)), (5, 5, 9));
        assert_eq!((ranges.nth_from_top(1), ranges.nth_from_top(3), ranges.nth_from_top(5)), (Some(8), Some(4), None));
    }

    #[test]
    fn the_lowest_numbers_are_removed() {
        let mut ranges = set(&[(3, 6), (8, 9)]);
        assert_eq!(ranges.remove_below(5), 2);
        assert_eq!(ranges.take_run_at(5), Some(6));
        assert_eq!(ranges.take_run_at(6), None);
        assert_eq!(ranges.count(), 1);
    }
}
