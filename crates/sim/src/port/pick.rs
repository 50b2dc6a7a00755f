//! The choice of the class that a port serves next: strict priority, with an optional weighted turn for the classes after one, and
//! deficit weighted round robin between neighbouring classes.
//!
//! Source of the round robin: Shreedhar and Varghese, SIGCOMM 1995. Differs: turns hold a full frame or more, so that a class with
//! a packet that may be sent always sends one in its turn.

use std::num::NonZeroU32;
use std::ops::Range;

use shallows_cc::units::{Bytes, Time};

use crate::spec::ports::ClassSpec;

/// A turn for the classes after one: after `every` packets of `class` a packet of a later class goes first.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightedTurn {
    every: NonZeroU32,
    /// Packets of `class` that were sent since the last turn, while something waited in a later one.
    since: u32,
    class: u8,
}

impl WeightedTurn {
    pub(crate) fn new(classes: &[ClassSpec]) -> Option<Self> {
        classes
            .iter()
            .enumerate()
            .find_map(|(class, spec)| Some(Self { every: NonZeroU32::new(spec.turn?)?, since: 0, class: class as u8 }))
    }

    /// Of the classes in which a packet waits those that may have the turn, as bits.
    #[inline]
    fn later(&self, waiting: u16) -> u16 {
        waiting & u16::MAX << (self.class + 1)
    }

    /// Counts a packet of the class `sent`, after which packets wait in the classes `waiting`.
    #[inline]
    pub fn count(&mut self, sent: usize, waiting: u16) {
        if sent >= usize::from(self.class) {
            let goes_on = sent == usize::from(self.class) && self.later(waiting) > 0;
            self.since = if goes_on { self.since.saturating_add(1) } else { 0 };
        }
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

impl Pick {
    /// No class waits to be served.
    pub(crate) const NONE: Self = Self { at: Time::MAX, class: None };
}

/// Picks the class to serve at `now`, or else the first one that may be served later. `waiting` has a bit for each class in which a
/// packet waits, and `eligible_at` is the time at which one of them may be served, `None` if it is paused.
#[inline(always)]
pub(super) fn pick(
    now: Time,
    turn: Option<WeightedTurn>,
    waiting: u16,
    eligible_at: impl Fn(usize) -> Option<Time>,
) -> Pick {
    if let Some(turn) = turn
        && turn.since >= turn.every.get()
    {
        let later = first_with_turn(now, turn.later(waiting), &eligible_at);
        if later.at == now {
            return later;
        }
    }
    first(now, waiting, eligible_at)
}

/// Picks among the classes that have the turn. It is not inlined, so that `eligible_at` is inlined in the common case.
#[inline(never)]
fn first_with_turn(now: Time, later: u16, eligible_at: impl Fn(usize) -> Option<Time>) -> Pick {
    first(now, later, eligible_at)
}

/// The first class of those in `waiting` that may be served at `now`, or else the one that may be served soonest.
#[inline(always)]
fn first(now: Time, waiting: u16, eligible_at: impl Fn(usize) -> Option<Time>) -> Pick {
    let mut first = Pick::NONE;
    let mut rest = waiting;
    while rest > 0 {
        let class = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        match eligible_at(class) {
            Some(at) if at <= now => return Pick { at: now, class: Some(class as u8) },
            Some(at) if at < first.at => first = Pick { at, class: Some(class as u8) },
            _ => {}
        }
    }
    first
}

/// Turns of classes that share what the classes before them leave, in proportion to their quanta. A class has a deficit: the
/// bytes that are left of its turn, which it keeps until its queue is empty.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    /// By class: bytes in a turn, `None` with strict priority.
    quanta: Box<[Option<Bytes>]>,
    /// By class: the neighbours with which it shares the link, itself included.
    groups: Box<[Range<usize>]>,
    deficits: Box<[Bytes]>,
    /// By first class of a group of neighbours: the class that has the turn.
    turns: Box<[usize]>,
}

impl Rounds {
    /// The turns of classes with these quanta in order of priority; `None` if every class has strict priority.
    pub fn of(quanta: impl Iterator<Item = Option<Bytes>>) -> Option<Box<Self>> {
        let quanta: Box<[_]> = quanta.collect();
        let count = quanta.len();
        let shares = |quantum: &&Option<Bytes>| quantum.is_some();
        let group = |class: usize| {
            let before = quanta[..class].iter().rev().take_while(shares).count();
            let after = quanta[class..].iter().take_while(shares).count();
            if after == 0 { class..class + 1 } else { class - before..class + after }
        };
        let groups = (0..count).map(group).collect();
        let shared = quanta.iter().any(Option::is_some);
        let deficits = vec![Bytes::ZERO; count].into();
        shared.then(|| Box::new(Self { quanta, groups, deficits, turns: (0..count).collect() }))
    }

    /// Sets the bytes in a turn of a class that shares. At most as many are left of a turn that it has.
    pub(crate) fn set_quantum(&mut self, class: usize, quantum: Bytes) {
        self.quanta[class] = Some(quantum);
        self.deficits[class] = self.deficits[class].min(quantum);
    }

    /// The class of a group that is served next, of which `first` may be. `length` is that of the first packet of a class; `None`
    /// if it may not be sent now.
    pub(crate) fn next(&self, first: usize, length: impl Fn(usize) -> Option<Bytes>) -> usize {
        let group = self.groups[first].clone();
        if group.len() == 1 {
            return first;
        }
        let turn = self.turns[group.start];
        if length(turn).is_some_and(|length| length <= self.deficits[turn]) {
            return turn;
        }
        (turn + 1..group.end).chain(group.start..=turn).find(|&class| length(class).is_some()).unwrap_or(first)
    }

    /// Counts a packet of a class, after which its queue is empty or not. The turn passes to the class if it has to.
    pub fn charge(&mut self, class: usize, length: Bytes, empties: bool) {
        let Some(quantum) = self.quanta[class] else { return };
        let start = self.groups[class].start;
        if std::mem::replace(&mut self.turns[start], class) != class || self.deficits[class] < length {
            self.deficits[class] += quantum;
        }
        let left = self.deficits[class].saturating_sub(length);
        self.deficits[class] = if empties { Bytes::ZERO } else { left };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(100);

    fn pick_of(turn: Option<WeightedTurn>, states: &[Option<u64>]) -> (u64, Option<u8>) {
        let pick = pick(NOW, turn, bits(states), |class| states[class].map(Time));
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

    fn bits(states: &[Option<u64>]) -> u16 {
        states.iter().rev().fold(0, |bits, state| bits << 1 | u16::from(state.is_some()))
    }

    /// Three to one: three packets of class 0, then one of class 1, while both wait.
    #[test]
    fn a_turn_comes_after_so_many_packets_of_the_class_before() {
        let mut turn = WeightedTurn { every: NonZeroU32::new(3).expect("three"), since: 0, class: 0 };
        let mut serve = |states: &[Option<u64>]| {
            let (_, class) = pick_of(Some(turn), states);
            let class = class.expect("one may send");
            turn.count(class.into(), bits(states));
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

    /// Of four classes the second has headers, two to one: the first goes before all, does not count, and the turn falls to the first
    /// later class that may send.
    #[test]
    fn a_turn_is_for_all_later_classes_and_leaves_earlier_ones_alone() {
        let mut turn = WeightedTurn { every: NonZeroU32::new(2).expect("two"), since: 0, class: 1 };
        let mut serve = |states: &[Option<u64>]| {
            let (_, class) = pick_of(Some(turn), states);
            let class = class.expect("one may send");
            turn.count(class.into(), bits(states));
            class
        };
        let (now, later) = (Some(100), Some(130));
        assert_eq!([0; 5].map(|_| serve(&[None, now, now, now])), [1, 1, 2, 1, 1]);
        assert_eq!(serve(&[None, now, later, now]), 3, "the first later class is short of tokens");
        assert_eq!([serve(&[None, now, None, now]), serve(&[now, now, None, now])], [1, 0]);
        assert_eq!([0; 3].map(|_| serve(&[None, now, None, now])), [1, 3, 1], "the first class did not count");
    }

    /// Serves classes of packets of these lengths, of which none ever ends, until they have sent `total` bytes. Returns the bytes
    /// of each.
    fn share(quanta: &[Option<u64>], lengths: &[&[u64]], total: u64) -> Vec<u64> {
        let mut rounds = Rounds::of(quanta.iter().map(|quantum| quantum.map(Bytes))).expect("some class has a quantum");
        let (mut sent, mut places) = (vec![0; lengths.len()], vec![0; lengths.len()]);
        while sent.iter().sum::<u64>() < total {
            let length = |class: usize| lengths[class][places[class] % lengths[class].len()];
            let first = (0..lengths.len()).find(|&class| !lengths[class].is_empty()).expect("a class waits");
            let class = rounds.next(first, |class| (!lengths[class].is_empty()).then(|| Bytes(length(class))));
            rounds.charge(class, Bytes(length(class)), false);
            sent[class] += length(class);
            places[class] += 1;
        }
        sent
    }

    /// Shreedhar and Varghese 1995, theorem 2: shares are proportional to the quanta, whatever the lengths.
    #[test]
    fn weights_are_kept_for_frames_of_any_length() {
        let cases: [(&[u64], &[&[u64]]); 6] = [
            (&[1, 1], &[&[64], &[9000]]),
            (&[3, 2], &[&[1500], &[1500]]),
            (&[1, 2, 7], &[&[64], &[1500], &[9000]]),
            (&[60, 40], &[&[64, 9000, 1500], &[1500, 64]]),
            (&[1, 1, 1, 1, 1, 1, 1, 93], &[&[64], &[9000], &[64], &[1500], &[64, 9000], &[9000], &[1500], &[577]]),
            (&[1, 99], &[&[9000], &[64]]),
        ];
        for (weights, lengths) in cases {
            let quanta: Vec<_> = weights.iter().map(|weight| Some(weight * 9000)).collect();
            let (total, whole) = (1_000_000_000, weights.iter().sum::<u64>());
            for (sent, weight) in share(&quanta, lengths, total).into_iter().zip(weights) {
                let (share, due) = (sent as f64 / total as f64, *weight as f64 / whole as f64);
                assert!((share / due - 1.0).abs() < 0.01, "{weights:?} {lengths:?}: {share}, not {due}");
            }
        }
    }

    /// Classes without a packet take no turn, and the others share what they leave.
    #[test]
    fn an_empty_class_leaves_its_share() {
        let sent = share(&[Some(9000), Some(18_000), Some(9000)], &[&[1500], &[], &[64]], 100_000_000);
        assert_eq!(sent[1], 0);
        assert!((sent[0] as f64 / sent[2] as f64 - 1.0).abs() < 0.01, "{sent:?}");
    }

    /// A class with strict priority parts the classes with weights before it from those after it.
    #[test]
    fn groups_are_of_neighbours() {
        let quanta = [None, Some(1500), Some(1500), None, Some(1500), Some(3000)].map(|quantum| quantum.map(Bytes));
        let rounds = Rounds::of(quanta.into_iter()).expect("some class has a quantum");
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(|class: usize| rounds.groups[class].clone()),
            [0..1, 1..3, 1..3, 3..4, 4..6, 4..6]
        );
        assert!(Rounds::of([None, None].into_iter()).is_none());
    }

    /// The deficit is lost with the queue: a class that comes back has one turn, not the sum of those that it missed.
    #[test]
    fn a_class_saves_nothing_while_it_is_empty() {
        let mut rounds = Rounds::of([Some(Bytes(1500)); 2].into_iter()).expect("quanta");
        for _ in 0..100 {
            rounds.charge(0, Bytes(64), true);
        }
        let mut sent = [0; 2];
        for _ in 0..40 {
            let class = rounds.next(0, |_| Some(Bytes(1500)));
            rounds.charge(class, Bytes(1500), false);
            sent[class] += 1;
        }
        assert_eq!(sent, [20, 20]);
    }
}
