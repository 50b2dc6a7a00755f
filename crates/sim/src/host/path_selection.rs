//! Choice of a path for each packet by its host: an entropy value, which switches hash together with the flow, and which the receiver
//! echoes with the ECN mark of the packet.
//!
//! | balancing | rule |
//! |---|---|
//! | oblivious | values in turn, in an order that is permuted by another random mask in each cycle |
//! | bitmap | the same order; values with a penalty are skipped, and the first skipped one loses one. A mark adds 1, a trimmed packet 4, a timeout 15, up to 15 |
//! | REPS | the value of the oldest answer without a mark that has not been used, of the newest eight; without one a random value |
//! | PLB | one value; another after five rounds in which half of the answers were marked, or after a timeout |
//! | MRC | a value of a set for each plane ([`crate::host::value_set`]) |
//!
//! Sources: ultraethernet/uet-htsim, `uec_mp.cpp` (oblivious, bitmap and REPS with their constants); Bonato et al., arXiv 2407.21625
//! (REPS): after a timeout it repeats the values that it knows for 10 ms, and then draws 16 random ones. Qureshi et al., SIGCOMM 2022
//! (PLB), with the constants of Google's simulator of Falcon (google/isekai).
//!
//! Differs: but for MRC, a trimmed packet counts wherever it was trimmed. A timeout adds to the values of which a packet has not been answered although
//! one that left later has, because only senders of MRC remember the value of each packet. PLB does not wait for a pause of its flow.

use shallows_cc::rng::Rng;
use shallows_cc::units::Time;

use crate::host::value_set::{Evidence, ValueSet, Verdict};
use crate::spec::network::Balancing;

/// Values in the order of REPS that are kept.
const RING: usize = 8;
/// How long REPS repeats known values after a timeout, and how many random values follow.
const FROZEN: Time = Time::from_millis(10);
const EXPLORED: u32 = 16;
/// Rounds with marks after which PLB takes another path.
const ROUNDS: u32 = 5;
/// Largest penalty of the bitmap.
const MOST: u8 = 15;

/// Path selection of one flow.
#[derive(Clone, Debug)]
pub(crate) struct PathSelection {
    draws: Rng,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    Oblivious(Rotation),
    Bitmap(Rotation, Penalties),
    Reps(Recycled),
    Plb(Plb),
    Mrc(Box<ValueSet>),
}

impl PathSelection {
    /// Creates the state of a flow that chooses among so many values, a power of two; zero stands for the default. None if hosts do not
    /// choose.
    #[must_use]
    pub fn new(balancing: Balancing, values: u32, draws: Rng) -> Option<Self> {
        let values = |default| if values == 0 { default } else { values };
        let mut selection = Self { draws, rule: Rule::Oblivious(Rotation::default()) };
        selection.rule = match balancing {
            Balancing::Oblivious => Rule::Oblivious(Rotation::new(values(1 << 16), &mut selection.draws)),
            Balancing::Bitmap => {
                let rotation = Rotation::new(values(64), &mut selection.draws);
                Rule::Bitmap(rotation, Penalties::new(values(64)))
            }
            Balancing::Reps => Rule::Reps(Recycled::new(values(1 << 16))),
            Balancing::Plb => Rule::Plb(Plb::new(values(1 << 16), &mut selection.draws)),
            Balancing::Flow
            | Balancing::Packet
            | Balancing::Queue
            | Balancing::RoundRobin
            | Balancing::Flowlet
            | Balancing::Mrc => return None,
        };
        Some(selection)
    }

    /// Creates the state of a flow that chooses among the values that `make` makes.
    pub(crate) fn of_values(mut draws: Rng, make: impl FnOnce(&mut Rng) -> ValueSet) -> Self {
        let values = make(&mut draws);
        Self { draws, rule: Rule::Mrc(Box::new(values)) }
    }

    /// Returns the values of MRC, if the flow has some.
    pub fn values(&mut self) -> Option<&mut ValueSet> {
        if let Rule::Mrc(values) = &mut self.rule { Some(values) } else { None }
    }

    /// Returns whether the flow sends nothing through this port of its host, because it has withdrawn all values there.
    pub(crate) fn avoids(&self, port: u32) -> bool {
        matches!(&self.rule, Rule::Mrc(values) if values.avoids(port))
    }

    /// Handles the loss of a packet with this value.
    pub fn on_lost(&mut self, now: Time, value: u16, evidence: Evidence) {
        if let Some(values) = self.values() {
            values.on_lost(now, value, evidence);
        }
    }

    /// Returns when the next value is to be probed.
    pub(crate) fn next_probe(&self) -> Time {
        if let Rule::Mrc(values) = &self.rule { values.next_probe() } else { Time::MAX }
    }

    /// Returns true once a value has been drawn.
    #[must_use]
    pub const fn has_drawn(&self) -> bool {
        self.draws.has_drawn()
    }

    /// Returns the value of the next packet, which leaves through this port of the host.
    pub(crate) fn next(&mut self, now: Time, port: u32) -> u16 {
        match &mut self.rule {
            Rule::Oblivious(rotation) => rotation.next(&mut self.draws),
            Rule::Bitmap(rotation, penalties) => penalties.next(now, rotation, &mut self.draws),
            Rule::Reps(recycled) => recycled.next(now, &mut self.draws),
            Rule::Plb(plb) => plb.value,
            Rule::Mrc(values) => values.next(port, &mut self.draws),
        }
    }

    /// Handles an answer to a packet with this value that left at `left`.
    pub fn on_answer(&mut self, now: Time, (value, left): (u16, Time), verdict: Verdict) {
        match &mut self.rule {
            Rule::Oblivious(_) => {}
            Rule::Bitmap(_, penalties) => penalties.on_answer(value, left, verdict),
            Rule::Reps(recycled) => {
                if verdict == Verdict::Clean {
                    recycled.keep(value);
                }
            }
            Rule::Plb(plb) => plb.on_answer(now, left, verdict, &mut self.draws),
            Rule::Mrc(values) => values.on_answer(value, verdict),
        }
    }

    /// Handles a timeout of the flow; MRC hears of each packet instead ([`Self::on_lost`]).
    pub(crate) fn on_timeout(&mut self, now: Time) {
        match &mut self.rule {
            Rule::Oblivious(_) | Rule::Mrc(_) => {}
            Rule::Bitmap(_, penalties) => penalties.on_timeout(),
            Rule::Reps(recycled) => recycled.freeze(now),
            Rule::Plb(plb) => plb.reroute(&mut self.draws),
        }
    }
}

/// Returns a random value below a power of two.
fn random(values: u32, draws: &mut Rng) -> u16 {
    (draws.bits() as u32 & (values - 1)) as u16
}

/// All values in turn.
#[derive(Clone, Copy, Debug, Default)]
struct Rotation {
    values: u32,
    at: u32,
    mask: u16,
}

impl Rotation {
    fn new(values: u32, draws: &mut Rng) -> Self {
        Self { values, at: 0, mask: random(values, draws) }
    }

    fn next(&mut self, draws: &mut Rng) -> u16 {
        if self.at == self.values {
            (self.at, self.mask) = (0, random(self.values, draws));
        }
        self.at += 1;
        (self.at - 1) as u16 ^ self.mask
    }
}

/// Penalties of the values of the bitmap.
#[derive(Clone, Debug)]
struct Penalties {
    /// By value: its penalty, and when the first packet left that has not been answered.
    values: Vec<(u8, Option<Time>)>,
    /// The latest such departure among values that have been answered.
    answered: Time,
}

impl Penalties {
    fn new(values: u32) -> Self {
        Self { values: vec![(0, None); values as usize], answered: Time::ZERO }
    }

    fn next(&mut self, now: Time, rotation: &mut Rotation, draws: &mut Rng) -> u16 {
        let mut value = rotation.next(draws);
        for skipped in 0..rotation.values {
            let penalty = &mut self.values[usize::from(value)].0;
            if *penalty == 0 {
                break;
            }
            *penalty -= u8::from(skipped == 0);
            value = rotation.next(draws);
        }
        self.values[usize::from(value)].1.get_or_insert(now);
        value
    }

    fn on_answer(&mut self, value: u16, left: Time, verdict: Verdict) {
        let (penalty, unanswered) = &mut self.values[usize::from(value)];
        *unanswered = None;
        self.answered = self.answered.max(left);
        let more = match verdict {
            Verdict::Clean => 0,
            Verdict::Marked => 1,
            Verdict::Trimmed | Verdict::TrimmedAtLastHop => 4,
        };
        *penalty = (*penalty + more).min(MOST);
    }

    fn on_timeout(&mut self) {
        for (penalty, unanswered) in &mut self.values {
            if unanswered.is_some_and(|left| left < self.answered) {
                *penalty = MOST;
            }
        }
    }
}

/// Values of REPS.
#[derive(Clone, Copy, Debug)]
struct Recycled {
    values: u32,
    ring: [u16; RING],
    /// Where the next value goes, how many are known, and how many of the newest have not been used.
    head: usize,
    known: usize,
    fresh: usize,
    frozen_until: Option<Time>,
    /// The next value to repeat.
    repeat: usize,
    /// Random values to draw before known ones are used.
    explore: u32,
}

impl Recycled {
    const fn new(values: u32) -> Self {
        Self { values, ring: [0; RING], head: 0, known: 0, fresh: 0, frozen_until: None, repeat: 0, explore: 0 }
    }

    fn keep(&mut self, value: u16) {
        self.ring[self.head] = value;
        self.head = (self.head + 1) % RING;
        self.known = (self.known + 1).min(RING);
        self.fresh = (self.fresh + 1).min(RING);
    }

    fn freeze(&mut self, now: Time) {
        if self.known > 0 {
            self.frozen_until = Some(now + FROZEN);
        }
    }

    fn next(&mut self, now: Time, draws: &mut Rng) -> u16 {
        if let Some(until) = self.frozen_until {
            if now < until {
                self.repeat = (self.repeat + 1) % self.known;
                return self.ring[self.repeat];
            }
            *self = Self { explore: EXPLORED, ..Self::new(self.values) };
        }
        if self.explore > 0 {
            self.explore -= 1;
            return random(self.values, draws);
        }
        if self.fresh == 0 {
            return random(self.values, draws);
        }
        let oldest = (self.head + RING - self.fresh) % RING;
        self.fresh -= 1;
        self.ring[oldest]
    }
}

/// State of PLB.
#[derive(Clone, Copy, Debug)]
struct Plb {
    values: u32,
    value: u16,
    round_start: Time,
    answers: u32,
    marked: u32,
    congested: u32,
}

impl Plb {
    fn new(values: u32, draws: &mut Rng) -> Self {
        Self { values, value: random(values, draws), round_start: Time::ZERO, answers: 0, marked: 0, congested: 0 }
    }

    fn on_answer(&mut self, now: Time, left: Time, verdict: Verdict, draws: &mut Rng) {
        self.answers += 1;
        self.marked += u32::from(verdict != Verdict::Clean);
        if left < self.round_start {
            return;
        }
        self.congested = if self.marked * 2 >= self.answers { self.congested + 1 } else { 0 };
        (self.round_start, self.answers, self.marked) = (now, 0, 0);
        if self.congested >= ROUNDS {
            self.reroute(draws);
        }
    }

    fn reroute(&mut self, draws: &mut Rng) {
        self.congested = 0;
        self.value = random(self.values, draws);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(balancing: Balancing, values: u32) -> PathSelection {
        PathSelection::new(balancing, values, Rng::new(1, 0)).expect("hosts choose")
    }

    fn taken(selection: &mut PathSelection, now: Time, count: usize) -> Vec<u16> {
        (0..count).map(|_| selection.next(now, 0)).collect()
    }

    fn answers(selection: &mut PathSelection, values: impl IntoIterator<Item = (u16, Verdict)>) {
        values.into_iter().for_each(|(value, verdict)| selection.on_answer(Time::ZERO, (value, Time::ZERO), verdict));
    }

    /// Each cycle has every value once, and cycles differ.
    #[test]
    fn oblivious_takes_all_values_in_turn() {
        let mut selection = selection(Balancing::Oblivious, 64);
        let cycles: Vec<_> = (0..8).map(|_| taken(&mut selection, Time::ZERO, 64)).collect();
        for cycle in &cycles {
            let mut sorted = cycle.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..64).collect::<Vec<_>>());
        }
        assert!(cycles.iter().any(|cycle| *cycle != cycles[0]));
    }

    /// A mark and a trimmed packet are 1 + 4: the value misses its next five turns, and is taken in the sixth.
    #[test]
    fn the_bitmap_skips_a_value_with_a_penalty() {
        let mut selection = selection(Balancing::Bitmap, 8);
        answers(&mut selection, [(3, Verdict::Marked), (3, Verdict::Trimmed)]);
        // In a cycle without the value one packet fewer leaves.
        let cycles: Vec<_> =
            (0..6).map(|turn| taken(&mut selection, Time::ZERO, if turn < 5 { 7 } else { 8 })).collect();
        let taken: Vec<_> = cycles.iter().map(|cycle| cycle.contains(&3)).collect();
        assert_eq!(taken, [false, false, false, false, false, true]);
    }

    /// Two timeouts of a silent value: its penalty ends at 15. Values that were answered have none.
    #[test]
    fn a_timeout_penalises_silent_values() {
        let us = Time::from_micros;
        let mut selection = selection(Balancing::Bitmap, 4);
        let values = taken(&mut selection, us(1), 4);
        for &value in &values[1..] {
            selection.on_answer(us(9), (value, us(2)), Verdict::Clean);
        }
        selection.on_timeout(us(10));
        selection.on_timeout(us(20));
        let Rule::Bitmap(_, penalties) = &selection.rule else { panic!("a bitmap") };
        let of = |value: u16| penalties.values[usize::from(value)].0;
        assert_eq!([0, 1, 2, 3].map(|at| of(values[at])), [15, 0, 0, 0]);
    }

    #[test]
    fn reps_recycles_answers_without_marks() {
        let mut selection = selection(Balancing::Reps, 1 << 16);
        answers(
            &mut selection,
            [(3, Verdict::Clean), (7, Verdict::Marked), (9, Verdict::Clean), (5, Verdict::Trimmed)],
        );
        let next = taken(&mut selection, Time::ZERO, 3);
        assert_eq!(next[..2], [3, 9]);
        assert!(![3, 5, 7, 9].contains(&next[2]), "random");
        answers(&mut selection, (1..=10).map(|value| (value, Verdict::Clean)));
        assert_eq!(taken(&mut selection, Time::ZERO, 8), (3..=10).collect::<Vec<_>>());
    }

    /// After a timeout the known values are repeated for 10 ms, although they were used; then 16 random ones come before new answers.
    #[test]
    fn reps_freezes_after_a_timeout() {
        let ms = Time::from_millis;
        let mut selection = selection(Balancing::Reps, 1 << 16);
        selection.on_timeout(ms(1));
        assert_ne!(taken(&mut selection, ms(1), 2), [0, 0], "nothing is known");
        answers(&mut selection, (1..=8).map(|value| (value, Verdict::Clean)));
        taken(&mut selection, ms(1), 8);
        selection.on_timeout(ms(2));
        let mut repeated = taken(&mut selection, ms(11), 16);
        repeated.sort_unstable();
        assert_eq!(repeated, (1..=8).flat_map(|value| [value, value]).collect::<Vec<_>>());
        let first = taken(&mut selection, ms(12), 1)[0];
        answers(&mut selection, [(77, Verdict::Clean)]);
        let random = taken(&mut selection, ms(12), 15);
        assert!(first > 8 && random.iter().all(|&value| value > 8 && value != 77));
        assert_eq!(taken(&mut selection, ms(12), 1), [77]);
    }

    /// Rounds end with the answer of a packet that left in them. Four rounds of marks and one without keep the path, five in a row
    /// do not.
    #[test]
    fn plb_moves_after_five_congested_rounds() {
        let us = Time::from_micros;
        let mut selection = selection(Balancing::Plb, 1 << 16);
        let value = selection.next(us(0), 0);
        let mut round = |number: u64, verdicts: [Verdict; 2]| {
            // The first answer is of a packet that left in the round before.
            for (verdict, (at, left)) in verdicts.into_iter().zip([(1, 10), (2, 5)]) {
                selection.on_answer(us(10 * number + at), (value, us(10 * number - left)), verdict);
            }
            selection.next(us(10 * number + 9), 0) == value
        };
        let (clean, marked) = (Verdict::Clean, Verdict::Marked);
        assert!((2..6).all(|number| round(number, [clean, marked])));
        assert!(round(6, [clean, clean]));
        let kept: Vec<_> = (7..12).map(|number| round(number, [marked, clean])).collect();
        assert_eq!(kept, [true, true, true, true, false]);
        selection.on_timeout(us(200));
        assert_ne!(selection.next(us(200), 0), value);
    }
}
