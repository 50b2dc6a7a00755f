//! Spans of time in which a link is watched.

use std::collections::VecDeque;

use shallows_cc::units::Time;

/// Span after the end of all runs.
pub const NEVER: (Time, Time) = (Time::MAX, Time::MAX);

/// Spans that have not ended, in order.
#[derive(Clone, Debug)]
pub(crate) struct Spans {
    first: (Time, Time),
    later: VecDeque<(Time, Time)>,
}

impl Spans {
    /// No spans.
    pub fn new() -> Self {
        Self { first: NEVER, later: VecDeque::new() }
    }

    /// Adds a span. Returns whether it begins after the end of the one before.
    pub(crate) fn push(&mut self, from: Time, until: Time) -> bool {
        let last = self.later.back().copied().unwrap_or(self.first);
        if self.first == NEVER {
            self.first = (from, until);
            return from <= until;
        }
        self.later.push_back((from, until));
        last.1 < from && from <= until
    }

    /// The first span that ends at `at` or later. Calls have growing times.
    #[inline]
    pub fn from(&mut self, at: Time) -> (Time, Time) {
        while self.first.1 < at {
            self.first = self.later.pop_front().unwrap_or(NEVER);
        }
        self.first
    }
}
