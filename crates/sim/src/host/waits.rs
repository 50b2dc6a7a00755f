//! Time that a flow waits for timeouts.

use std::sync::Arc;

use shallows_cc::units::Time;

/// Times in which a timer ran that expired in the end, from the event that started it last. Timers that ran at the same time, such as
/// those of packets, count once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    /// Spans that do not touch, in order: timeouts in a row are one span.
    spans: Vec<Span>,
}

/// Timeouts that follow each other or overlap.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Time,
    /// When the first of them expired.
    first: Time,
    until: Time,
}

/// Waits of a flow whose end its sender does not know.
#[derive(Clone, Debug)]
pub struct TotalWait {
    /// `None` without a timeout, so that flows without them hold no memory.
    spans: Option<Arc<[Span]>>,
}

impl Waits {
    /// Adds a timer that expires now, at `until`: no earlier one has expired later.
    pub fn add(&mut self, from: Time, until: Time) {
        let mut span = Span { from, first: until, until };
        while let Some(last) = self.spans.pop_if(|last| last.until >= span.from) {
            span = Span { from: span.from.min(last.from), first: span.first.min(last.first), until };
        }
        self.spans.push(span);
    }

    /// Returns them.
    pub fn total(&self) -> TotalWait {
        TotalWait { spans: (!self.spans.is_empty()).then(|| self.spans.as_slice().into()) }
    }
}

impl TotalWait {
    /// No wait.
    pub const NONE: Self = Self { spans: None };

    /// Returns the time waited before `finish`, when the receiver had every byte: a sender whose last acknowledgements are lost waits
    /// after that. Timers of which none had expired by then delayed nothing.
    pub fn before(&self, finish: Time) -> Time {
        let spans = self.spans.iter().flat_map(|spans| spans.iter());
        spans
            .filter(|span| span.first <= finish)
            .fold(Time::ZERO, |sum, span| sum + (span.until.min(finish) - span.from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    fn waits(spans: &[(u64, u64)]) -> Waits {
        let mut waits = Waits::default();
        spans.iter().for_each(|&(from, until)| waits.add(MS(from), MS(until)));
        waits
    }

    /// Packets that leave at 0, 5 and 10 ms and expire 10 ms later cover 20 ms; one that left at 25 covers 5 more until 30; one that left at
    /// 18, whose timeout has doubled, joins both at 38, which makes 38 ms; one from 50 to 60 is apart.
    #[test]
    fn timers_that_run_at_the_same_time_count_once() {
        let spans = [(0, 10), (5, 15), (10, 20), (25, 30), (18, 38), (50, 60)];
        let totals = [10, 15, 20, 25, 38, 48];
        for (count, total) in (1..).zip(totals) {
            assert_eq!(waits(&spans[..count]).total().before(Time::MAX), MS(total));
        }
    }

    /// Two timeouts after the end of the flow, apart from each other as where a copy waits for a pull: none of them counts.
    #[test]
    fn no_wait_after_the_flow_counts() {
        let waits = waits(&[(0, 10), (20, 30), (40, 60)]).total();
        for (finish, waited) in [(15, 10), (35, 20), (50, 20), (60, 40)] {
            assert_eq!(waits.before(MS(finish)), MS(waited));
        }
    }

    /// After a wait of 10 ms come timeouts at 30, 50 and 90 ms, from 20 on. A flow whose bytes had arrived at 25 waited for none of the
    /// three, and only its sender for their answers; at 51, one way after the second, for 10 + 31 ms.
    #[test]
    fn a_sender_whose_last_acknowledgement_is_lost_waits_after_its_flow() {
        let waits = waits(&[(0, 10), (20, 30), (30, 50), (50, 90)]).total();
        for (finish, waited) in [(25, 10), (30, 20), (51, 41), (90, 80), (95, 80)] {
            assert_eq!(waits.before(MS(finish)), MS(waited));
        }
        assert_eq!(TotalWait::NONE.before(MS(1)), Time::ZERO);
    }
}
