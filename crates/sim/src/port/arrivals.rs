//! Arrivals of frames over a link whose delay changes.

use shallows_cc::units::Time;

/// The arrivals of the frames of a link. Frames keep their order, since the packets on a link are one list: after the delay has fallen,
/// frames arrive together with the last one that was sent before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrivals {
    /// What the link's delay is longer than its own.
    pub extra: Time,
    /// Arrival of the newest frame.
    last: Time,
    /// When the last bit of the newest frame leaves, until an observer has been told.
    left: Option<Time>,
}

impl Arrivals {
    /// Those of frames that follow one that arrives at `last`.
    pub const fn after(last: Time) -> Self {
        Self { extra: Time::ZERO, last, left: None }
    }

    /// The arrival of the next frame, whose last bit leaves at `sent`, over a link with this delay of its own.
    pub fn next(&mut self, sent: Time, delay: Time) -> Time {
        self.left = Some(sent);
        self.last = self.last.max(sent + delay + self.extra);
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

    /// A frame of the time before the change arrives at 90 us. One that is sent at 60 us over 20 us would overtake it; one that is sent at
    /// 75 us arrives at 95 us.
    #[test]
    fn a_frame_arrives_no_earlier_than_the_one_before_it() {
        let us = Time::from_micros;
        let mut arrivals = Arrivals::after(us(90));
        arrivals.extra = us(15);
        assert_eq!([60, 75, 76].map(|sent| arrivals.next(us(sent), us(5))), [us(90), us(95), us(96)]);
    }
}
