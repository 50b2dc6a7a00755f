//! Spans of time in which a link is watched.

use shallows_cc::units::Time;

/// Span after the end of all runs.
pub const NEVER: (Time, Time) = (Time::MAX, Time::MAX);

/// Spans in order.
#[derive(Clone, Debug)]
pub(crate) struct Spans {
    all: Vec<(Time, Time)>,
    /// Index of the newest answer.
    at: usize,
}

impl Spans {
    /// No spans.
    pub fn new() -> Self {
        Self { all: Vec::new(), at: 0 }
    }

    /// Adds a span. Returns whether it begins after the end of the one before.
    pub(crate) fn push(&mut self, from: Time, until: Time) -> bool {
        let follows = self.all.last().is_none_or(|last| last.1 < from);
        self.all.push((from, until));
        follows && from <= until
    }

    /// The first span that ends at `at` or later. It is found at once if `at` is about that of the call before.
    #[inline]
    pub fn from(&mut self, at: Time) -> (Time, Time) {
        while self.all.get(self.at).is_some_and(|span| span.1 < at) {
            self.at += 1;
        }
        // A packet that is late on its link was offered long before others that have arrived.
        while self.at > 0 && self.all[self.at - 1].1 >= at {
            self.at -= 1;
        }
        self.all.get(self.at).copied().unwrap_or(NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_of_a_time_is_found_forth_and_back() {
        let span = |from, until| (Time(from), Time(until));
        let mut spans = Spans::new();
        assert_eq!(spans.from(Time(3)), NEVER);
        assert!(spans.push(Time(10), Time(20)) && spans.push(Time(30), Time(40)) && !spans.push(Time(40), Time(50)));
        let found = [5, 20, 21, 45, 51, 15, 35].map(|at| spans.from(Time(at)));
        let first = span(10, 20);
        assert_eq!(found, [first, first, span(30, 40), span(40, 50), NEVER, first, span(30, 40)]);
    }
}
