//! Detection of stalls: everything that is left to happen repeats, and no byte arrives.
//!
//! A flow is stuck under two conditions. Nothing of it has arrived for [`PATIENCE`] times the longest retransmission timeout, or the
//! time in which the slowest link sends a frame of every flow, whichever is longer. And it has had as many timeouts in vain, or its
//! own pace would not let it send. A run is stalled once every flow that has started and not finished is stuck, no flow has finished
//! for as long, and none is still to start. A healthy flow never waits that long: one that waits for its timer tries once per longest
//! timeout, and acknowledgements are delayed for less. A slow pace counts as waiting until the flow has tried.

use std::collections::BTreeMap;

use shallows_cc::units::Time;

use crate::host::stats::FlowProgress;

/// Timeouts in a row after which a flow has tried often enough: as many as Linux allows by default (`tcp_retries2`).
const PATIENCE: u64 = 15;

/// When a flow last made progress, and its state then.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Time,
    progress: u64,
    timeouts: u64,
}

/// The detector, which checks all flows at intervals.
#[derive(Clone, Debug)]
pub(crate) struct StallDetector {
    /// The longest retransmission timeout.
    max_timeout: Time,
    /// The time of a full frame on the slowest link.
    frame: Time,
    marks: BTreeMap<u32, Mark>,
    /// The number of unfinished flows, and since when it has been the same.
    open: (usize, Time),
}

impl StallDetector {
    /// A detector for flows with timeouts of at most `max_timeout`, on links that take at most `frame` for a full frame.
    pub fn new(max_timeout: Time, frame: Time) -> Self {
        Self { max_timeout, frame, marks: BTreeMap::new(), open: (0, Time::ZERO) }
    }

    /// How long this number of flows may be without progress.
    fn patience(&self, flows: usize) -> Time {
        let turn = self.frame.0.saturating_mul(flows as u64);
        Time(self.max_timeout.0.max(turn).saturating_mul(PATIENCE))
    }

    /// The time of the next check; `None` if that is later than any time.
    pub(crate) fn next_check(&self, now: Time) -> Option<Time> {
        now.0.checked_add(self.patience(0).0 / 2).map(Time)
    }

    /// Checks all unfinished flows. Returns the first one and their number if the run is stalled.
    pub fn check(&mut self, now: Time, flows: &[FlowProgress]) -> Option<(FlowProgress, usize)> {
        let before = std::mem::take(&mut self.marks);
        let patience = self.patience(flows.len());
        let mut stuck = 0;
        for flow in flows {
            let mark = before.get(&flow.flow).filter(|mark| mark.progress == flow.progress);
            let fresh = Mark { at: now, progress: flow.progress, timeouts: flow.timeouts };
            let mark = mark.copied().unwrap_or(fresh);
            self.marks.insert(flow.flow, mark);
            let tried = flow.timeouts - mark.timeouts >= PATIENCE;
            stuck += usize::from(now - mark.at >= patience && (tried || !flow.paced));
        }
        if self.open.0 != flows.len() {
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

    fn flow(flow: u32, progress: u64, timeouts: u64, paced: bool) -> FlowProgress {
        FlowProgress { flow, progress, timeouts, paced }
    }

    fn stuck(checks: &[(u64, &[FlowProgress])]) -> Option<(u32, usize)> {
        stuck_over(Time::ZERO, checks)
    }

    fn stuck_over(frame: Time, checks: &[(u64, &[FlowProgress])]) -> Option<(u32, usize)> {
        let mut stall_detector = StallDetector::new(SECOND, frame);
        let last = checks.iter().map(|&(at, flows)| stall_detector.check(SECOND * at, flows)).last();
        last.flatten().map(|(first, count)| (first.flow, count))
    }

    #[test]
    fn fifteen_longest_timeouts_without_a_byte_are_a_stall() {
        let waits = [flow(3, 100, 0, false)];
        assert_eq!(stuck(&[(0, &waits), (8, &waits)]), None);
        assert_eq!(stuck(&[(0, &waits), (8, &waits), (15, &waits)]), Some((3, 1)));
    }

    #[test]
    fn a_byte_of_any_flow_is_progress_of_the_run() {
        let waits = [flow(3, 100, 0, false)];
        assert_eq!(stuck(&[(0, &waits), (10, &[flow(3, 101, 0, false)]), (20, &[flow(3, 101, 0, false)])]), None);
        let two = [flow(3, 100, 0, false), flow(4, 5, 0, false)];
        assert_eq!(stuck(&[(0, &two), (15, &[two[0], flow(4, 6, 0, false)])]), None);
        assert_eq!(stuck(&[(0, &two), (15, &two)]), Some((3, 2)));
    }

    #[test]
    fn flows_that_finish_one_after_the_other_are_progress() {
        let all = [flow(0, 0, 0, false), flow(1, 0, 20, false), flow(2, 0, 20, false)];
        assert_eq!(stuck(&[(0, &all), (8, &all[..2]), (16, &all[..1])]), None);
        assert_eq!(stuck(&[(0, &all), (8, &all[..1]), (16, &all[..1]), (23, &all[..1])]), Some((0, 1)));
    }

    /// A link takes 2 s for a frame, so each of two flows gets one every 4 s, and fifteen in a minute.
    #[test]
    fn many_flows_may_share_a_slow_link() {
        let two = [flow(3, 100, 0, false), flow(4, 5, 0, false)];
        assert_eq!(stuck_over(SECOND * 2, &[(0, &two), (59, &two)]), None);
        assert_eq!(stuck_over(SECOND * 2, &[(0, &two), (60, &two)]), Some((3, 2)));
    }

    #[test]
    fn a_slow_pace_is_no_stall_until_the_flow_has_tried() {
        let paced = |timeouts| [flow(0, 1, timeouts, true)];
        assert_eq!(stuck(&[(0, &paced(2)), (100, &paced(2))]), None);
        assert_eq!(stuck(&[(0, &paced(2)), (100, &paced(17))]), Some((0, 1)));
    }
}
