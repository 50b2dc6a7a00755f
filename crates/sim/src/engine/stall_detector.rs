//! Ends a run that cannot get on: everything that is left to happen repeats without a byte arriving.
//!
//! A flow is stuck once nothing of it has arrived for [`PATIENCE`] longest retransmission timeouts, or as many times what the
//! slowest link takes for a frame of every flow where that is longer, and it has either tried as often in vain or waits for
//! nothing that its own pace would bring. A run is stuck once every flow that has begun and not ended is, none has ended for as
//! long, and none is still to begin. Nothing lawful takes that long: a flow that waits for its timer tries once a longest
//! timeout, an acknowledgement is held for less than one, and a slow pace counts as waiting until it has been tried.

use std::collections::BTreeMap;

use shallows_cc::units::Time;

use crate::host::stats::FlowProgress;

/// Timeouts in a row after which a flow has tried enough: as often as Linux tries by itself (`tcp_retries2`).
const PATIENCE: u32 = 15;

/// When a flow was last seen to get on, and how it stood then.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Time,
    progress: u64,
    timeouts: u32,
}

/// Looks at all flows now and then.
#[derive(Debug)]
pub struct StallDetector {
    /// The longest timeout, and a frame on the slowest link.
    longest: Time,
    frame: Time,
    marks: BTreeMap<u32, Mark>,
    /// How many flows had not ended, and when that was seen first.
    open: (usize, Time),
}

impl StallDetector {
    /// For flows whose timeouts are at most `longest`, on links that take at most `frame` for a full frame.
    pub fn new(longest: Time, frame: Time) -> Self {
        Self { longest, frame, marks: BTreeMap::new(), open: (0, Time::ZERO) }
    }

    /// How long `flows` may go without a byte.
    fn patience(&self, flows: usize) -> Time {
        let turn = self.frame.0.saturating_mul(flows as u64);
        Time(self.longest.0.max(turn).saturating_mul(u64::from(PATIENCE)))
    }

    /// When to look next; never where that lies beyond all time.
    pub fn next_check(&self, now: Time) -> Option<Time> {
        now.0.checked_add(self.patience(0).0 / 2).map(Time)
    }

    /// Looks at `flows`. The first one, and how many there are, if none of them can get on.
    pub fn look(&mut self, now: Time, flows: impl Iterator<Item = FlowProgress>) -> Option<(FlowProgress, usize)> {
        let before = std::mem::take(&mut self.marks);
        let flows: Vec<_> = flows.collect();
        let patience = self.patience(flows.len());
        let mut stuck = 0;
        for flow in &flows {
            let mark = before.get(&flow.flow).filter(|mark| mark.progress == flow.progress);
            let fresh = Mark { at: now, progress: flow.progress, timeouts: flow.timeouts };
            let mark = mark.copied().unwrap_or(fresh);
            self.marks.insert(flow.flow, mark);
            let tried = flow.timeouts - mark.timeouts >= PATIENCE;
            stuck += usize::from(now - mark.at >= patience && (tried || !flow.paced));
        }
        if self.open.0 != flows.len() {
            // One has ended, or begun.
            self.open = (flows.len(), now);
        }
        let quiet = now - self.open.1 >= patience;
        flows.first().filter(|_| quiet && stuck == flows.len()).map(|&first| (first, stuck))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Time = Time::from_secs_whole(1);

    fn flow(flow: u32, progress: u64, timeouts: u32, paced: bool) -> FlowProgress {
        FlowProgress { flow, progress, timeouts, paced }
    }

    fn stuck(looks: &[(u64, &[FlowProgress])]) -> Option<(u32, usize)> {
        stuck_over(Time::ZERO, looks)
    }

    fn stuck_over(frame: Time, looks: &[(u64, &[FlowProgress])]) -> Option<(u32, usize)> {
        let mut stall_detector = StallDetector::new(SECOND, frame);
        let last = looks.iter().map(|&(at, flows)| stall_detector.look(SECOND * at, flows.iter().copied())).last();
        last.flatten().map(|(first, count)| (first.flow, count))
    }

    #[test]
    fn fifteen_longest_timeouts_without_a_byte_are_enough() {
        let waits = [flow(3, 100, 0, false)];
        assert_eq!(stuck(&[(0, &waits), (8, &waits)]), None);
        assert_eq!(stuck(&[(0, &waits), (8, &waits), (15, &waits)]), Some((3, 1)));
    }

    #[test]
    fn a_byte_or_a_flow_that_gets_on_is_a_run_that_does() {
        let waits = [flow(3, 100, 0, false)];
        assert_eq!(stuck(&[(0, &waits), (10, &[flow(3, 101, 0, false)]), (20, &[flow(3, 101, 0, false)])]), None);
        let two = [flow(3, 100, 0, false), flow(4, 5, 0, false)];
        assert_eq!(stuck(&[(0, &two), (15, &[two[0], flow(4, 6, 0, false)])]), None);
        assert_eq!(stuck(&[(0, &two), (15, &two)]), Some((3, 2)));
    }

    #[test]
    fn flows_that_end_one_after_the_other_are_a_run_that_gets_on() {
        let all = [flow(0, 0, 0, false), flow(1, 0, 20, false), flow(2, 0, 20, false)];
        assert_eq!(stuck(&[(0, &all), (8, &all[..2]), (16, &all[..1])]), None);
        assert_eq!(stuck(&[(0, &all), (8, &all[..1]), (16, &all[..1]), (23, &all[..1])]), Some((0, 1)));
    }

    /// Two flows over a link that takes 2 s for a frame: each may have one every 4 s, and fifteen in a minute.
    #[test]
    fn many_flows_on_a_slow_link_have_their_turns() {
        let two = [flow(3, 100, 0, false), flow(4, 5, 0, false)];
        assert_eq!(stuck_over(SECOND * 2, &[(0, &two), (59, &two)]), None);
        assert_eq!(stuck_over(SECOND * 2, &[(0, &two), (60, &two)]), Some((3, 2)));
    }

    #[test]
    fn a_slow_pace_is_waited_for_until_it_has_been_tried() {
        let paced = |timeouts| [flow(0, 1, timeouts, true)];
        assert_eq!(stuck(&[(0, &paced(2)), (100, &paced(2))]), None);
        assert_eq!(stuck(&[(0, &paced(2)), (100, &paced(17))]), Some((0, 1)));
    }
}
