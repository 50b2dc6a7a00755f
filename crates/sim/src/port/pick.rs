//! The choice of the class that a port serves next: strict priority, with an optional weighted turn for one class.

use shallows_cc::units::Time;

use crate::spec::ports::ClassSpec;

/// A turn for one class: after `every` packets of other classes one of its packets goes first.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightedTurn {
    class: usize,
    every: u32,
    /// Packets of other classes that were sent since the last turn, while something waited in `class`.
    since: u32,
}

impl WeightedTurn {
    pub fn new(classes: &[ClassSpec]) -> Option<Self> {
        classes.iter().enumerate().find_map(|(class, spec)| Some(Self { class, every: spec.turn?, since: 0 }))
    }

    /// The class that has the turn.
    pub fn class(&self) -> usize {
        self.class
    }

    /// Counts a packet of the class `sent`; `waits` says whether something waits in the class that has the turn.
    #[inline]
    pub fn count(&mut self, sent: usize, waits: bool) {
        self.since = if waits && sent != self.class { self.since.saturating_add(1) } else { 0 };
    }
}

/// The class to serve, and the time from which it may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pick {
    /// [`Time::MAX`] if no class waits to be served.
    pub at: Time,
    /// `None` if the choice has to be made at that time.
    pub class: Option<u8>,
}

impl Default for Pick {
    fn default() -> Self {
        Self::NONE
    }
}

impl Pick {
    /// No class waits to be served.
    pub const NONE: Self = Self { at: Time::MAX, class: None };
}

/// Picks the class to serve at `now`, or else the first one that may be served later. `eligible_at` is the time at which each of
/// the classes may be served, `None` if it is empty or paused.
#[inline(always)]
pub(super) fn pick(
    now: Time,
    turn: Option<WeightedTurn>,
    classes: usize,
    eligible_at: impl Fn(usize) -> Option<Time>,
) -> Pick {
    if let Some(turn) = turn
        && turn.since >= turn.every
        && eligible_at(turn.class) == Some(now)
    {
        return Pick { at: now, class: Some(turn.class as u8) };
    }
    let mut first = Pick::NONE;
    for class in 0..classes {
        match eligible_at(class) {
            Some(at) if at <= now => return Pick { at: now, class: Some(class as u8) },
            Some(at) if at < first.at => first = Pick { at, class: Some(class as u8) },
            _ => {}
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(100);

    fn pick_of(turn: Option<WeightedTurn>, states: &[Option<u64>]) -> (u64, Option<u8>) {
        let pick = pick(NOW, turn, states.len(), |class| states[class].map(Time));
        (pick.at.0, pick.class)
    }

    #[test]
    fn the_first_class_that_may_send_is_served() {
        for (states, expected) in [
            (&[Some(100), Some(100), Some(100)], (100, Some(0))),
            // Empty or paused.
            (&[None, Some(100), Some(100)], (100, Some(1))),
            // Short of tokens until 150.
            (&[Some(150), None, Some(100)], (100, Some(2))),
            (&[Some(150), None, Some(120)], (120, Some(2))),
            // Of two that may send at the same time the first.
            (&[None, Some(120), Some(120)], (120, Some(1))),
            (&[None, None, None], (u64::MAX, None)),
        ] {
            assert_eq!(pick_of(None, states), expected, "{states:?}");
        }
    }

    /// Three to one: three packets of class 0, then one of class 1, while both wait.
    #[test]
    fn a_turn_comes_after_so_many_packets_of_others() {
        let mut turn = WeightedTurn { class: 1, every: 3, since: 0 };
        let mut serve = |states: &[Option<u64>]| {
            let (_, class) = pick_of(Some(turn), states);
            let class = class.expect("one may send");
            turn.count(class.into(), states[1].is_some());
            class
        };
        let both = [Some(100), Some(100)];
        let served: Vec<_> = (0..9).map(|_| serve(&both)).collect();
        assert_eq!(served, [0, 0, 0, 1, 0, 0, 0, 1, 0]);
        // Nothing waits in class 1: the count begins again.
        assert_eq!(serve(&[Some(100), None]), 0);
        let served: Vec<_> = (0..4).map(|_| serve(&both)).collect();
        assert_eq!(served, [0, 0, 0, 1]);
        // The turn has come, but class 1 is short of tokens: class 0 goes on, and class 1 follows as soon as it may.
        (0..3).for_each(|_| assert_eq!(serve(&both), 0));
        assert_eq!([serve(&[Some(100), Some(130)]), serve(&both), serve(&both)], [0, 1, 0]);
    }
}
