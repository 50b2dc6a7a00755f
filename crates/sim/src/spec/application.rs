//! When the application behind a flow writes. A flow sends only what has been written.

use shallows_cc::units::{Bytes, Time};

columns! {
    /// When an application writes.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Application as "Applications" in ApplicationColumns {
        /// Bytes written at the start of the flow, in whole packets, before a pause until `resume_ps`; 0 is no such pause.
        first: Bytes = "first_bytes",
        /// When this pause ends.
        resumes: Time = "resume_ps",
        /// From then on, or from the start of the flow, the application writes for this long, and then pauses.
        on: Time = "on_ps",
        /// Length of each of these pauses; 0 is none.
        off: Time = "off_ps",
        /// Time between two full packets that the application writes, the first at the start of the flow; 0: it writes without a limit.
        every: Time = "every_ps",
    }
}

/// New data that a flow may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// Data up to this offset, rounded up to whole packets.
    First(Bytes),
    /// So many full packets in all.
    Packets(u64),
    /// No new data.
    Nothing,
    /// All data of the flow.
    Everything,
}

impl Application {
    /// Writes everything at the start.
    pub const EAGER: Self =
        Self { first: Bytes::ZERO, resumes: Time::ZERO, on: Time::ZERO, off: Time::ZERO, every: Time::ZERO };

    /// True if it ever pauses, as one with a rate does between two packets.
    #[must_use]
    pub fn pauses(&self) -> bool {
        self.first > Bytes::ZERO || self.off > Time::ZERO || self.every > Time::ZERO
    }

    /// What a flow that started at `began` may send at `now`, and until when; [`Time::MAX`] is forever.
    #[must_use]
    pub fn supply(&self, began: Time, now: Time) -> (Supply, Time) {
        if self.every > Time::ZERO {
            let written = (now - began).0 / self.every.0 + 1;
            return (Supply::Packets(written), began + self.every * written);
        }
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
        let both = Application { first: Bytes(10_000), resumes: us(100), on: us(3), off: us(7), ..Application::EAGER };
        assert_eq!(both.supply(us(5), us(5)), (Supply::First(Bytes(10_000)), us(100)));
        assert_eq!(both.supply(us(5), us(100)), (Supply::Everything, us(103)));
        assert_eq!(both.supply(us(5), us(103)), (Supply::Nothing, us(110)));
        assert_eq!(both.supply(us(5), us(112)), (Supply::Everything, us(113)));
        let turns = Application { on: us(3), off: us(7), ..Application::EAGER };
        assert_eq!(turns.supply(us(5), us(8)), (Supply::Nothing, us(15)));
        let paced = Application { every: us(12), ..Application::EAGER };
        assert_eq!(paced.supply(us(5), us(5)), (Supply::Packets(1), us(17)));
        assert_eq!(paced.supply(us(5), us(16)), (Supply::Packets(1), us(17)));
        assert_eq!(paced.supply(us(5), us(17)), (Supply::Packets(2), us(29)));
        assert_eq!(Application::EAGER.supply(us(5), us(8)), (Supply::Everything, Time::MAX));
        assert_eq!(Application { off: us(0), ..both }.supply(us(5), us(100)), (Supply::Everything, Time::MAX));
    }
}
