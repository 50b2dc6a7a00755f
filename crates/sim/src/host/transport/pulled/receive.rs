//! The half that answers every packet, and calls.

use shallows_cc::units::Time;

use crate::host::transport::lazy_timer::{Backoff, LazyTimer};
use crate::host::transport::message::Message;
use crate::host::transport::selective::Ranges;
use crate::host::transport::{PacketSink, ReceiverConfig, Responses};
use crate::packet::header::{Header, PulledAnswer, PulledData};
use crate::spec::network::MIN_FRAME;

/// How often in a row a receiver says again what it has pulled, as often as Linux tries anything by itself (`tcp_retries2`).
const RETRIES: u32 = 15;

/// One flow at its receiver.
#[derive(Debug)]
pub struct Receiving {
    message: Message,
    /// Everything below has come, and this beyond.
    expected: u32,
    beyond: Ranges,
    /// Payload that is there, in whatever order it came.
    pub delivered: u64,
    /// PullPacer that it ack_pending: what came has earned them, and its host has not sent them yet.
    owed: u32,
    /// Whether it waits for its turn there.
    in_turn: bool,
    /// How many packets it has pulled.
    pulled: u32,
    backoff: Backoff,
    deadline: Time,
    timer: LazyTimer,
}

impl Receiving {
    pub fn new(expecting: ReceiverConfig) -> Self {
        let (initial, max) = expecting.patience;
        Self {
            message: Message::new(expecting.bytes, expecting.mss),
            expected: 0,
            beyond: Ranges::default(),
            delivered: 0,
            owed: 0,
            in_turn: false,
            pulled: 0,
            backoff: Backoff::new(initial, max),
            deadline: Time::MAX,
            timer: LazyTimer::DISARMED,
        }
    }

    /// A packet came, `whole` or cut.
    #[inline(always)]
    pub fn on_data(&mut self, now: Time, data: &PulledData, whole: bool, out: &mut PacketSink<'_>) -> Responses {
        let answer = PulledAnswer::to(data, now, self.pulled);
        let there = if whole { self.accept(data.seq) } else { self.has(data.seq) };
        let header = if there { Header::PulledAck(answer) } else { Header::PulledNack(answer) };
        self.backoff.reset();
        if self.complete() {
            (self.owed, self.deadline) = (0, Time::MAX);
        } else {
            self.owed += 1;
            self.deadline = now + self.backoff.current();
        }
        Responses::new(None, Some(out.put(MIN_FRAME, header)))
    }

    /// Whether it ack_pending pulls and has no turn at its host, which gives it one.
    pub fn takes_turn(&mut self) -> bool {
        self.owed > 0 && !std::mem::replace(&mut self.in_turn, true)
    }

    fn has(&self, seq: u32) -> bool {
        seq < self.expected || self.beyond.holes_in(seq, seq + 1) == 0
    }

    fn accept(&mut self, seq: u32) -> bool {
        if !self.has(seq) {
            self.delivered += self.message.payload(seq).0;
            self.beyond.insert(seq, seq + 1);
            self.expected = self.beyond.take_run_at(self.expected).unwrap_or(self.expected);
        }
        true
    }

    /// The answer that is about to leave calls a packet: nobody else waits for a turn.
    pub fn pull_with(&mut self, answer: &mut Header) {
        if let Header::PulledAck(told) | Header::PulledNack(told) = answer {
            self.owed -= 1;
            self.pulled += 1;
            (told.pulled, told.is_pull) = (self.pulled, true);
            self.in_turn = self.owed > 0;
        }
    }

    /// It is the turn of this flow to call a packet: the pull, and whether it ack_pending another. None if all has come meanwhile.
    pub fn pull(&mut self, now: Time, out: &mut PacketSink<'_>) -> Option<(u32, bool)> {
        self.in_turn = self.owed > 1;
        self.owed = self.owed.checked_sub(1)?;
        self.pulled += 1;
        Some((self.pull_frame(now, out), self.in_turn))
    }

    fn pull_frame(&self, now: Time, out: &mut PacketSink<'_>) -> u32 {
        out.put(MIN_FRAME, Header::Pull { left: now, number: self.pulled })
    }

    /// When it will have heard nothing for too long, if the world does not know it yet.
    pub fn arm_timer(&mut self, _now: Time) -> Option<Time> {
        self.timer.set(self.deadline)
    }

    /// That may be now: then it says again how many packets it has pulled, unless it waits for its turn or has said so for too
    /// long: the flow may have been stopped.
    #[inline(always)]
    pub fn on_timer(&mut self, now: Time, out: &mut PacketSink<'_>) -> Responses {
        self.timer.ran_out(now);
        if self.deadline > now {
            return Responses::NONE;
        }
        let says = self.owed == 0;
        if says {
            self.backoff.fail();
        }
        self.deadline = if self.backoff.failures() > RETRIES { Time::MAX } else { now + self.backoff.current() };
        Responses::new(None, says.then(|| self.pull_frame(now, out)))
    }

    /// It ack_pending nothing but pulls, which nobody needs once all is there.
    pub fn ack_pending(&self) -> bool {
        false
    }

    /// Whether every byte is there.
    pub fn complete(&self) -> bool {
        self.expected == self.message.end
    }
}
