//! How the classes of a port share its link, where they have no strict priority.

use shallows_cc::units::Bytes;

use crate::port::dual::Dual;
use crate::port::pick::Rounds;
use crate::spec::ports::Discipline;

/// Classes that share a link.
#[derive(Clone, Debug)]
pub(super) enum Sharing {
    /// In turns, by weight.
    Weights(Rounds),
    /// As the two queues of a coupled controller.
    Dual(Dual),
}

impl Sharing {
    /// The turns of classes with weights; `None` if every class has strict priority.
    pub fn of(discipline: &Discipline) -> Option<Box<Self>> {
        let rounds = Rounds::of(discipline.classes.iter().map(|class| class.quantum))?;
        Some(Box::new(Self::Weights(*rounds)))
    }

    /// Sets the turn of a class with a weight.
    pub fn set_quantum(&mut self, class: usize, quantum: Bytes) {
        if let Self::Weights(rounds) = self {
            rounds.set_quantum(class, quantum);
        }
    }

    /// Counts a packet of a class, after which packets wait in the classes `waiting`, as bits.
    #[cold]
    pub fn charge(&mut self, class: usize, length: Bytes, waiting: u16) {
        match self {
            Self::Weights(rounds) => rounds.charge(class, length, waiting >> class & 1 == 0),
            Self::Dual(dual) => dual.charge(class, length, waiting >> (1 - class) & 1 > 0),
        }
    }
}
