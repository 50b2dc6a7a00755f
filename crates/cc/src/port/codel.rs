//! Controlled delay: drops, or marks, at the head of a queue whose packets have waited too long for too long.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | TARGET | `target` | acceptable time in the queue |
//! | INTERVAL | `interval` | time above the target after which the first packet is dropped |
//! | `count_` | `count` | packets dropped since the drop state was entered |
//! | `drop_next_` | `next` | time of the next drop |
//! | `first_above_time_` | `due` | time at which the queue has been above the target for an interval |
//!
//! The control law: the next drop follows after INTERVAL / sqrt(count).
//!
//! Source: RFC 8289 §5, which Linux (`codel_impl.h`) and ns-3 (`CoDelQueueDisc`) follow. As there, ECN-capable data is marked
//! instead, unless `ecn` is off.
//!
//! Differs: the square root is exact, where Linux computes it by Newton's method in 16 bits.

use super::{CongestionPoint, ECN, Head, HeadAction, NODROP};
use crate::parameter::{Parameter, Values, time};
use crate::units::{Bytes, Rate, Time};

/// In the order of the RFC.
pub const PARAMETERS: &[Parameter] = &[
    time("target", "TARGET", 5e-3, 1e-9..=1e3)
        .meaning("time in the queue that is acceptable")
        .source("RFC 8289 §4.4: 5 ms in the Internet; a scenario's \"recommended\" goes by the round trip")
        .follows("codel_target"),
    time("interval", "INTERVAL", 0.1, 1e-9..=1e3)
        .meaning("time above the target after which packets are dropped")
        .source("RFC 8289 §4.3: 100 ms in the Internet; a scenario's \"recommended\" goes by the round trip")
        .follows("codel_interval"),
    ECN,
    NODROP,
];

/// Builds the congestion point.
#[must_use]
pub fn build(values: &Values, _rate: Rate) -> Box<dyn CongestionPoint> {
    let (target, interval) = (values.time("target"), values.time("interval"));
    Box::new(Codel { target, interval, longest: Bytes::ZERO, queues: Vec::new() })
}

/// State of one port.
#[derive(Clone, Debug)]
struct Codel {
    target: Time,
    interval: Time,
    /// The longest packet so far (`maxpacket_`).
    longest: Bytes,
    /// One for each class.
    queues: Vec<Control>,
}

/// State of one class.
#[derive(Clone, Copy, Debug, Default)]
struct Control {
    due: Option<Time>,
    dropping: bool,
    next: Time,
    count: u32,
    last_count: u32,
    /// The packet before this one, if it was dropped at this instant.
    dropped: Option<Drop>,
}

/// A drop after which the next head is looked at in the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drop {
    /// The first one, with which the drop state begins.
    First,
    /// A later one.
    Later,
}

impl Control {
    /// The RFC's `dodequeue`: whether the queue has been above the target for an interval.
    fn is_late(&mut self, head: &Head, target: Time, interval: Time, longest: Bytes) -> bool {
        if head.waited < target || head.behind <= longest {
            self.due = None;
            return false;
        }
        head.now >= *self.due.get_or_insert(head.now + interval)
    }

    /// The RFC's `deque`, for one head of the queue.
    fn judge(&mut self, head: &Head, late: bool, interval: Time) -> HeadAction {
        let law = |from: Time, count: u32| from + Time((interval.0 as f64 / f64::from(count).sqrt()) as u64);
        let dropped = self.dropped.take();
        if dropped == Some(Drop::First) {
            return HeadAction::Send;
        }
        if !late {
            self.dropping = false;
            return HeadAction::Send;
        }
        if dropped == Some(Drop::Later) {
            self.next = law(self.next, self.count);
        }
        if self.dropping {
            if head.now < self.next {
                return HeadAction::Send;
            }
            self.count += 1;
            if head.markable {
                self.next = law(self.next, self.count);
                return HeadAction::Mark;
            }
            self.dropped = Some(Drop::Later);
            return HeadAction::Drop;
        }
        let delta = self.count.saturating_sub(self.last_count);
        let recent = head.now.saturating_sub(self.next) < interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.dropping = true;
        self.next = law(head.now, self.count);
        if head.markable {
            return HeadAction::Mark;
        }
        self.dropped = Some(Drop::First);
        HeadAction::Drop
    }
}

impl CongestionPoint for Codel {
    fn retune(&mut self, _now: Time, values: &Values, _rate: Rate) {
        (self.target, self.interval) = (values.time("target"), values.time("interval"));
    }

    fn judges_heads(&self) -> bool {
        true
    }

    fn on_head(&mut self, head: &Head) -> HeadAction {
        self.longest = self.longest.max(head.length);
        let class = usize::from(head.class);
        if self.queues.len() <= class {
            self.queues.resize_with(class + 1, Control::default);
        }
        let control = &mut self.queues[class];
        let late = control.is_late(head, self.target, self.interval, self.longest);
        control.judge(head, late, self.interval)
    }

    fn on_idle(&mut self) {
        for control in &mut self.queues {
            control.due = None;
            control.dropping = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    /// A packet a millisecond that has waited 20 ms in a queue without end, for `ms` milliseconds: the times of the drops, where
    /// the packet behind a dropped one leaves in the same instant.
    fn drops(codel: &mut dyn CongestionPoint, from: u64, ms: u64, markable: bool) -> Vec<u64> {
        let mut times = Vec::new();
        for now in from..from + ms {
            loop {
                let head = Head {
                    now: Time(now * MS),
                    waited: Time(20 * MS),
                    behind: Bytes(90_000),
                    class: 0,
                    length: Bytes(1500),
                    markable,
                };
                match codel.on_head(&head) {
                    HeadAction::Send => break,
                    HeadAction::Mark => {
                        times.push(now);
                        break;
                    }
                    HeadAction::Drop => times.push(now),
                }
            }
        }
        times
    }

    fn codel() -> Box<dyn CongestionPoint> {
        build(&Values::defaults(PARAMETERS), Rate::from_gbps(1))
    }

    /// RFC 8289 §5.5: the first drop after 100 ms above the target, then 100/sqrt(1), 100/sqrt(2), ... later: at 100, 200, 270.7,
    /// 328.4, 378.4, 423.2, 464.0 ms, each at the first packet from then on.
    #[test]
    fn drops_follow_the_control_law() {
        assert_eq!(drops(&mut *codel(), 0, 470, false), [100, 200, 271, 329, 379, 424, 464]);
        assert_eq!(drops(&mut *codel(), 0, 470, true), [100, 200, 271, 329, 379, 424, 464]);
    }

    /// §5.5: within 16 intervals the next episode begins at the count that the last one reached beyond its start: seven drops, so
    /// six; 100 / sqrt(6) = 40.8 ms.
    #[test]
    fn an_episode_soon_after_another_begins_at_its_rate() {
        let mut codel = codel();
        drops(&mut *codel, 0, 470, false);
        codel.on_idle();
        assert_eq!(drops(&mut *codel, 1500, 145, false), [1600, 1641]);
        // Much later it begins anew.
        codel.on_idle();
        assert_eq!(drops(&mut *codel, 9000, 250, false), [9100, 9200]);
    }

    /// A queue of one packet is never too long, whatever its delay (the time to send one at a low rate).
    #[test]
    fn a_packet_behind_or_a_short_wait_end_the_episode() {
        let head = |now, waited, behind| Head {
            now: Time(now * MS),
            waited: Time(waited * MS),
            behind: Bytes(behind),
            class: 0,
            length: Bytes(1500),
            markable: false,
        };
        for (waited, behind) in [(20, 1500), (4, 90_000)] {
            let mut codel = codel();
            assert_eq!(codel.on_head(&head(0, 20, 90_000)), HeadAction::Send);
            assert_eq!(codel.on_head(&head(99, waited, behind)), HeadAction::Send);
            assert_eq!(codel.on_head(&head(150, 20, 90_000)), HeadAction::Send);
            assert_eq!(codel.on_head(&head(250, 20, 90_000)), HeadAction::Drop);
        }
    }

    /// The fourth drop stays at 328.4 ms, and is followed by 50/sqrt(4) and 50/sqrt(5): 353.4, 375.8. Above 20 ms nothing is dropped.
    #[test]
    fn another_interval_follows_the_next_drop() {
        let mut codel = codel();
        assert_eq!(drops(&mut *codel, 0, 290, false), [100, 200, 271]);
        let mut values = Values::defaults(PARAMETERS);
        values.set("interval", 0.05).unwrap();
        codel.retune(Time(290 * MS), &values, Rate::from_gbps(1));
        assert_eq!(drops(&mut *codel, 290, 90, false), [329, 354, 376]);
        values.set("target", 0.03).unwrap();
        codel.retune(Time(380 * MS), &values, Rate::from_gbps(1));
        assert_eq!(drops(&mut *codel, 380, 1000, false), [0; 0]);
    }
}
