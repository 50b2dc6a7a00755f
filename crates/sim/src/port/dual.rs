//! The law of a port with two queues, and its random numbers.

use shallows_cc::port::HeadAction;
use shallows_cc::port::dualpi2::{DualPi2, Judged, Queue};
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};

use crate::port::class::Class;

/// The law of a port with two queues, and its random numbers.
#[derive(Clone, Debug)]
pub(super) struct Dual {
    pub law: DualPi2,
    pub draws: Draws,
    /// Whether chance has decided about a packet.
    pub drawn: bool,
}

/// Random numbers of 32 bits.
#[derive(Clone, Debug)]
pub(super) enum Draws {
    /// The port's own.
    Own(Rng),
    /// x = 1664525 x + 1013904223 modulo 2^32, the generator of test vectors, and the number of draws.
    #[cfg(test)]
    Given(u32, u64),
}

impl Draws {
    fn next(&mut self) -> u32 {
        match self {
            Self::Own(draws) => (draws.bits() >> 32) as u32,
            #[cfg(test)]
            Self::Given(x, times) => {
                *x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *times += 1;
                *x
            }
        }
    }
}

impl Dual {
    /// Steps the controller up to `now`. Nothing has changed in the queues since the last call.
    pub fn catch_up(&mut self, now: Time, classes: &[Class]) {
        let since = |class: &Class| class.queue.front().map(|waiting| waiting.since);
        self.law.catch_up(now, [since(&classes[0]), since(&classes[1])]);
    }

    /// The class to serve, of those in which packets wait, as bits.
    pub(crate) fn pick(&self, waiting: u16) -> Option<u8> {
        self.law.pick([waiting & 1 > 0, waiting & 2 > 0]).map(|queue| queue as u8)
    }

    /// Counts a packet of a class that leaves.
    pub(crate) fn charge(&mut self, class: usize, length: Bytes, other_waits: bool) {
        self.law.charge(queue_of(class), length, other_waits);
    }

    pub(super) fn judge(
        &mut self,
        packet: &Judged,
        law: impl Fn(&DualPi2, &Judged, &mut dyn FnMut() -> u32) -> HeadAction,
    ) -> HeadAction {
        self.drawn |= self.law.p > 0;
        law(&self.law, packet, &mut || self.draws.next())
    }
}

pub(super) const fn queue_of(class: usize) -> Queue {
    if class == 0 { Queue::L } else { Queue::C }
}
