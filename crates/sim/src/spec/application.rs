//! What the application behind a flow has written so far: what is not written cannot be sent.

use shallows_cc::units::{Bytes, Time};

/// When an application writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Application {
    /// What it writes when its flow begins, before it pauses until `resumes`; nothing: it does not pause then.
    pub first: Bytes,
    /// When it goes on.
    pub resumes: Time,
    /// From then on, or from its flow's beginning, it writes for so long,
    pub on: Time,
    /// and then pauses for so long, again and again; zero: it never does.
    pub off: Time,
}

/// What may be sent from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// So much from the beginning, in whole packets.
    First(Bytes),
    /// Nothing new.
    Nothing,
    /// All there is.
    Everything,
}

impl Application {
    /// Writes everything at once.
    pub const EAGER: Self = Self { first: Bytes::ZERO, resumes: Time::ZERO, on: Time::ZERO, off: Time::ZERO };

    /// Whether it ever pauses.
    #[must_use]
    pub fn pauses(&self) -> bool {
        self.first > Bytes::ZERO || self.off > Time::ZERO
    }

    /// What a flow that began then may send now, and until when that holds; [`Time::MAX`] is for ever.
    #[must_use]
    pub fn supply(&self, began: Time, now: Time) -> (Supply, Time) {
        if self.first > Bytes::ZERO && now < self.resumes {
            return (Supply::First(self.first), self.resumes);
        }
        if self.off == Time::ZERO {
            return (Supply::Everything, Time::MAX);
        }
        let from = if self.first > Bytes::ZERO { self.resumes.max(began) } else { began };
        let phase = Time((now - from).0 % (self.on + self.off).0);
        if phase < self.on {
            (Supply::Everything, now + (self.on - phase))
        } else {
            (Supply::Nothing, now + (self.on + self.off - phase))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_writes_first_then_in_turns() {
        let us = Time::from_micros;
        let both = Application { first: Bytes(10_000), resumes: us(100), on: us(3), off: us(7) };
        assert_eq!(both.supply(us(5), us(5)), (Supply::First(Bytes(10_000)), us(100)));
        assert_eq!(both.supply(us(5), us(100)), (Supply::Everything, us(103)));
        assert_eq!(both.supply(us(5), us(103)), (Supply::Nothing, us(110)));
        assert_eq!(both.supply(us(5), us(112)), (Supply::Everything, us(113)));
        let turns = Application { on: us(3), off: us(7), ..Application::EAGER };
        assert_eq!(turns.supply(us(5), us(8)), (Supply::Nothing, us(15)));
        assert_eq!(Application::EAGER.supply(us(5), us(8)), (Supply::Everything, Time::MAX));
        assert_eq!(Application { off: us(0), ..both }.supply(us(5), us(100)), (Supply::Everything, Time::MAX));
    }
}
