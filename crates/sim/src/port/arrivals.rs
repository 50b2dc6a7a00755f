//! Arrivals of frames over a link whose delay changes, or which holds frames.

use shallows_cc::units::Time;

use crate::spec::fault::Change;

/// The arrivals of the frames of a link. Frames keep their order, since the packets on a link are one list: after the delay has fallen,
/// frames arrive together with the last one that was sent before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrivals {
    /// What the link's delay is longer than its own.
    extra: Time,
    /// Frames arrive at this time and at whole multiples of the second one after it; zero if the link holds none.
    hold: [Time; 2],
    /// Arrival of the newest frame.
    last: Time,
    /// When the last bit of the newest frame leaves, until an observer has been told.
    left: Option<Time>,
}

impl Arrivals {
    /// Those of frames that follow one that arrives at `last`.
    pub const fn after(last: Time) -> Self {
        Self { extra: Time::ZERO, hold: [Time::ZERO; 2], last, left: None }
    }

    /// Applies a change of a link with this delay of its own.
    pub fn change(&mut self, now: Time, change: Change, own: Time) {
        match change {
            Change::Delay(delay) => self.extra = delay - own,
            Change::Hold(interval) => self.hold = [now, interval],
            _ => {}
        }
    }

    /// The arrival of the next frame, whose last bit leaves at `sent`, over a link with this delay of its own.
    pub fn next(&mut self, sent: Time, delay: Time) -> Time {
        let [from, interval] = self.hold;
        let mut arrives = sent + delay + self.extra;
        if interval > Time::ZERO {
            arrives = from + interval * (arrives - from).0.div_ceil(interval.0);
        }
        (self.left, self.last) = (Some(sent), self.last.max(arrives));
        self.last
    }

    /// Arrival of the newest frame.
    pub const fn last(&self) -> Time {
        self.last
    }

    /// When the last bit of the frame leaves that the port has sent since the last call, if it has sent one.
    pub const fn take_left(&mut self) -> Option<Time> {
        self.left.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Time = Time::from_micros;

    /// A frame of the time before the change arrives at 90 us. One that is sent at 60 us over 20 us would overtake it; one that is sent at
    /// 75 us arrives at 95 us.
    #[test]
    fn a_frame_arrives_no_earlier_than_the_one_before_it() {
        let mut arrivals = Arrivals::after(US(90));
        arrivals.change(US(60), Change::Delay(US(20)), US(5));
        assert_eq!([60, 75, 76].map(|sent| arrivals.next(US(sent), US(5))), [US(90), US(95), US(96)]);
    }

    /// From 7 us on frames arrive at 7, 17, 27 us and so on; after 40 us, when frames sent before arrive at 47 us, not before these.
    #[test]
    fn frames_that_are_held_arrive_together() {
        let mut arrivals = Arrivals::after(US(5));
        arrivals.change(US(7), Change::Hold(US(10)), US(2));
        let at = [7, 15, 16, 26, 39].map(|sent| arrivals.next(US(sent), US(2)));
        assert_eq!(at, [17, 17, 27, 37, 47].map(US));
        arrivals.change(US(40), Change::Hold(Time::ZERO), US(2));
        assert_eq!([41, 46].map(|sent| arrivals.next(US(sent), US(2))), [47, 48].map(US));
    }
}
