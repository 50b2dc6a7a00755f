//! TCP Inigo's receiver in integers: the twin of `bpf/inigo_receiver_core.h`, and
//! [`crate::receiver::inigo`](crate::receiver) rounded.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | S, R | `sent`, `now_us` | difference of two packets' sending and of their arrival times |
//! | `D_total` | `total_us` | sum of R - S, never below zero |
//! | `d_thresh` | `threshold` * `rtt_min_us` | sum from which packets are late |
//! | `alpha_RFD` | `alpha` | moving average of the late bytes' share, in 2^20ths |
//! | `rcv_cwnd` | `window` | advertised window, in 65536ths of a packet |
//! | `W_sub` | `sub_window` | packets between two answers |
//!
//! Source: TCP Inigo §3, Algorithms 8 and 9.
//!
//! Differs: a Linux sender's timestamps tick once a millisecond, while the receiver's clock is fine. So only the first
//! packet of each tick is compared with the one before. It left after the tick by no more than it came after the packet
//! before it, nor by more than a tick: so much of the delay may not be one, and is not counted.
//! Round trips are those of the first acknowledgement with a timestamp, to the first packet that echoes it: one a
//! round, where the packet world has one a packet.

use super::{PACKET, WINDOW_MOST, fixed};
use crate::parameter::Values;

const SHARE_BITS: u32 = 20;
const FLOOR: u64 = 2 * PACKET;
const TOTAL_MOST: i64 = 1 << 40;
const SEGMENT_MOST: u32 = 65_535;
/// None has been seen.
pub const NO_RTT: u32 = u32::MAX;

/// Parameters of the table of receivers, in fixed point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Growth of the delay that makes packets late, in 65536ths of the smallest RTT.
    pub threshold: u32,
    /// Weight of the newest window.
    pub g: u32,
    /// Packets between two answers; 0: one a window.
    pub sub_window: u32,
    /// Window before anything arrived, in packets.
    pub initial: u32,
    /// Of the sender's timestamps.
    pub tick_us: u32,
    /// To mark, rather than manage the window.
    pub mark: bool,
}

impl Params {
    /// From the values of the table's row.
    ///
    /// # Errors
    /// A sentence where they ask for what the integers do not have.
    pub fn new(values: &Values) -> Result<Self, String> {
        if values.flag("tsecr") {
            return Err("inigo's receiver in integers has no tsecr".to_owned());
        }
        Ok(Self {
            threshold: fixed(values.get("threshold"), 16),
            g: fixed(values.get("g"), SHARE_BITS),
            sub_window: values.get("sub_window") as u32,
            initial: values.get("initial") as u32,
            tick_us: ((values.get("resolution") * 1e6 + 0.5) as u32).max(1),
            mark: values.flag("mark"),
        })
    }
}

/// A packet that has arrived: with payload, or an acknowledgement only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// The receiver's clock.
    pub now_us: u64,
    /// Its timestamp, in the sender's ticks.
    pub sent: u32,
    /// The timestamp it echoes, in the receiver's.
    pub answers: u32,
    /// Bytes.
    pub payload: u32,
    /// Bytes of a full packet, where several came as one.
    pub segment: u32,
}

/// State of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "struct inigo_receiver_state has the words")]
pub struct InigoReceiver {
    pub window: u64,
    pub since_answer: u64,
    pub bytes: u64,
    pub late: u64,
    pub arrived_us: u64,
    pub compared_us: u64,
    pub asked_us: u64,
    pub total_us: i64,
    pub compared: u32,
    pub begun: bool,
    pub unsure_us: u32,
    pub asked: u32,
    pub asking: bool,
    pub left: u32,
    pub rtt_min_us: u32,
    pub segment: u32,
    pub alpha: u32,
    pub late_since_answer: bool,
    pub slow_start: bool,
    pub used: bool,
}

impl InigoReceiver {
    /// A new flow.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            window: (u64::from(params.initial.max(2)) * PACKET).min(WINDOW_MOST),
            since_answer: 0,
            bytes: 0,
            late: 0,
            arrived_us: 0,
            compared_us: 0,
            asked_us: 0,
            total_us: 0,
            compared: 0,
            begun: false,
            unsure_us: 0,
            asked: 0,
            asking: false,
            left: 0,
            rtt_min_us: NO_RTT,
            segment: 0,
            alpha: 0,
            late_since_answer: false,
            slow_start: true,
            used: true,
        }
    }

    /// An acknowledgement leaves. The first with a timestamp asks for the echo.
    pub fn on_ack(&mut self, now_us: u64, timestamp: u32) {
        let fresh = after(timestamp, self.left) > 0 || self.left == 0;
        self.left = timestamp;
        if fresh && !self.asking {
            self.asking = true;
            self.asked = timestamp;
            self.asked_us = now_us;
        }
    }

    /// Whether this packet ends the round.
    fn answered(&mut self, data: &Data) -> bool {
        if !self.asking || after(data.answers, self.asked) < 0 {
            return false;
        }
        self.asking = false;
        if data.answers == self.asked && data.now_us > self.asked_us {
            self.rtt_min_us = u64::from(self.rtt_min_us).min(data.now_us - self.asked_us) as u32;
        }
        true
    }

    /// Algorithm 8.
    fn observe(&mut self, params: &Params, data: &Data) -> bool {
        let gap = data.now_us.wrapping_sub(self.arrived_us);
        let ticks = i64::from(after(data.sent, self.compared));
        self.arrived_us = data.now_us;
        if self.begun && ticks > 0 {
            let arrived_us = data.now_us.wrapping_sub(self.compared_us).cast_signed();
            self.total_us = (self.total_us + arrived_us - ticks * i64::from(params.tick_us)).clamp(0, TOTAL_MOST);
            self.unsure_us = gap.min(u64::from(params.tick_us) - 1) as u32;
        }
        if !self.begun || ticks > 0 {
            self.begun = true;
            self.compared = data.sent;
            self.compared_us = data.now_us;
        }
        let sure_us = self.total_us - i64::from(self.unsure_us);
        let grown = sure_us << 16 >= i64::from(params.threshold) * i64::from(self.rtt_min_us);
        self.rtt_min_us != NO_RTT && sure_us > 0 && grown
    }

    fn update_alpha(&mut self, params: &Params) {
        let share = (self.late << SHARE_BITS).checked_div(self.bytes).unwrap_or(0);
        let kept = ((1 << SHARE_BITS) - u64::from(params.g)) * u64::from(self.alpha);
        self.alpha = ((kept + u64::from(params.g) * share) >> SHARE_BITS) as u32;
    }

    /// alpha/2 of `size` less.
    fn cut(&mut self, size: u64) {
        let less = (size * u64::from(self.alpha)) >> (SHARE_BITS + 1);
        self.window = self.window.saturating_sub(less).max(FLOOR);
    }

    fn answer(&mut self, size: u64) {
        if self.late_since_answer {
            self.cut(size);
        }
        self.late_since_answer = false;
        self.since_answer = 0;
    }

    /// Algorithms 4, 5 and 7 in the receive window.
    fn steer(&mut self, params: &Params, packets: u64, late: bool) {
        if self.slow_start && late {
            self.update_alpha(params);
            self.cut(self.window);
            self.slow_start = false;
        } else if self.slow_start {
            if self.used {
                self.window += packets;
            }
        } else {
            let sub_window = u64::from(params.sub_window) * PACKET;
            self.since_answer += packets;
            if sub_window > 0 && self.since_answer >= sub_window.min(self.window) {
                self.answer(self.since_answer.min(WINDOW_MOST));
            }
            if self.used {
                self.window += packets * PACKET / self.window;
            }
        }
        self.window = self.window.min(WINDOW_MOST);
    }

    /// Algorithm 9.
    fn end_window(&mut self, params: &Params) {
        self.update_alpha(params);
        self.used = 2 * self.bytes >= u64::from(self.segment) * self.window / PACKET;
        if params.sub_window == 0 && !self.slow_start {
            self.answer(self.window);
        }
        self.bytes = 0;
        self.late = 0;
    }

    /// A packet arrives; whether it is to be marked.
    pub fn on_data(&mut self, params: &Params, data: &Data) -> bool {
        let answered = self.answered(data);
        if data.payload == 0 {
            return false;
        }
        self.segment = self.segment.max(data.segment.min(SEGMENT_MOST)).max(1);
        let late = self.observe(params, data);
        self.bytes += u64::from(data.payload);
        if late {
            self.late += u64::from(data.payload);
            self.late_since_answer = true;
        }
        if params.mark {
            return late;
        }
        let packets = u64::from(data.payload) * PACKET / u64::from(self.segment);
        self.steer(params, packets.min(WINDOW_MOST), late);
        if answered {
            self.end_window(params);
        }
        false
    }

    /// What to advertise.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        (self.window * u64::from(self.segment.max(536)) / PACKET).min(1 << 30) as u32
    }
}

/// By how many ticks one timestamp is after another.
fn after(timestamp: u32, other: u32) -> i32 {
    timestamp.wrapping_sub(other).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receiver::inigo::PARAMETERS;

    /// Packets every 120 us whose timestamps tick each millisecond, behind a queue that grows by 12 us a packet from the
    /// 50th on. The threshold is 0.17 of 4 ms: 680 us of queue, and the 132 us between two arrivals that may not be
    /// queue. The packet of a tick leaves up to 120 us after it, which looks like queue, and comes every ninth packet.
    #[test]
    fn a_delay_is_seen_through_timestamps_of_a_millisecond_once_it_is_one() {
        let mut values = Values::defaults(PARAMETERS);
        values.set("mark", 1.0).unwrap();
        values.set("resolution", 1e-3).unwrap();
        let params = Params::new(&values).unwrap();
        let mut flow = InigoReceiver::new(&params);
        flow.on_ack(1_000_000, 1);
        let late: Vec<bool> = (0..200_u64)
            .map(|n| {
                let sent_us = 1_002_000 + 120 * n;
                let queue_us = 12 * n.saturating_sub(50);
                let data = Data {
                    now_us: sent_us + 2000 + queue_us,
                    sent: (sent_us / 1000) as u32,
                    answers: 1,
                    payload: 1448,
                    segment: 1448,
                };
                flow.on_data(&params, &data)
            })
            .collect();
        assert_eq!(flow.rtt_min_us, 4000);
        let first = late.iter().position(|late| *late).unwrap();
        assert!((50 + 57..=50 + 77).contains(&first), "{first}");
        assert!(late[first..].iter().all(|late| *late));
    }
}
