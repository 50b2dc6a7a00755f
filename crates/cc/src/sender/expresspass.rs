//! Sends one full frame for each credit that the receiver hands out, and nothing without.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | CLOSED | `State::Closed` | nothing to send, or all of it acknowledged |
//! | CREDIT_REQUEST_SENT | `State::Requested` | asked for credits, none has come |
//! | CREDIT_RECEIVING | `State::Receiving` | a frame a credit |
//! | CREDIT_STOP_SENT | `State::Stopped` | everything was sent and the receiver told; it may still miss some |
//!
//! Source: Cho, Jang and Han, SIGCOMM 2017, §3.2 and Fig. 7, and the authors' ns2-xpass (xpass.cc): the stop follows
//! the last frame at once, a request is repeated until a credit comes. The rate is the receiver's:
//! receiver/expresspass.rs.

use super::{Parameter, Preset, Values};
use crate::event::{Ack, Loss};
use crate::parameter::Unit;
use crate::sender::{Decision, Path, Sender};
use crate::units::{Bytes, Time};

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "alpha",
        symbol: "alpha",
        unit: Unit::One,
        default: 0.5,
        min: 1e-6,
        max: 1.0,
        meaning: "share of max_rate at which a new flow's credits begin",
        source: "ns2-xpass: 0.5",
    },
    Parameter {
        name: "w_init",
        symbol: "w_init",
        unit: Unit::One,
        default: 0.5,
        min: 1e-6,
        max: 0.5,
        meaning: "the first w: how far one period goes towards the top",
        source: "ns2-xpass: 0.5",
    },
    Parameter {
        name: "w_min",
        symbol: "w_min",
        unit: Unit::One,
        default: 0.01,
        min: 1e-6,
        max: 0.5,
        meaning: "the least w",
        source: "SIGCOMM 2017 §5: 0.01",
    },
    Parameter {
        name: "target_loss",
        symbol: "target_loss",
        unit: Unit::One,
        default: 0.1,
        min: 0.0,
        max: 1.0,
        meaning: "share of lost credits that is no congestion yet; with ns2 at a rate of zero",
        source: "10 %, as others report it; ns2-xpass: 1/8",
    },
    Parameter {
        name: "jitter",
        symbol: "j",
        unit: Unit::One,
        default: 0.1,
        min: 0.0,
        max: 1.0,
        meaning: "the gap between two credits varies by this share both ways",
        source: "ns2-xpass: 0.1",
    },
    Parameter {
        name: "credit",
        symbol: "-",
        unit: Unit::Bytes,
        default: 84.0,
        min: 76.0,
        max: 1500.0,
        meaning: "a credit on the wire, preamble and gap included; the mean where sizes vary",
        source: "SIGCOMM 2017 §3.1: the smallest Ethernet frame, 84 B",
    },
    Parameter {
        name: "credit_spread",
        symbol: "-",
        unit: Unit::Bytes,
        default: 8.0,
        min: 0.0,
        max: 64.0,
        meaning: "sizes of credits vary by so much both ways; of equal ones a port may drop every one of a flow, for ever",
        source: "ns2-xpass's fat tree: 76 to 92 B, a spread of 8; its dumbbell: 0",
    },
    Parameter {
        name: "credit_burst",
        symbol: "-",
        unit: Unit::One,
        default: 2.0,
        min: 1.0,
        max: 1e3,
        meaning: "credits that a port passes back to back",
        source: "SIGCOMM 2017 §5: 2",
    },
    Parameter {
        name: "credit_queue",
        symbol: "-",
        unit: Unit::One,
        default: 8.0,
        min: 1.0,
        max: 1e3,
        meaning: "credits that wait at a port; one more is dropped",
        source: "SIGCOMM 2017 §5: 8",
    },
    Parameter {
        name: "ns2",
        symbol: "-",
        unit: Unit::Flag,
        default: 0.0,
        min: 0.0,
        max: 1.0,
        meaning: "feedback of the published simulator instead of the paper's Algorithm 1",
        source: "ns2-xpass, xpass.cc",
    },
];

/// Whose ExpressPass.
pub const PRESETS: &[Preset] = &[
    Preset { name: "sigcomm17", values: &[], source: "Cho, Jang and Han, SIGCOMM 2017, Algorithm 1" },
    Preset {
        name: "ns-2",
        values: &[("ns2", 1.0), ("target_loss", 0.125), ("credit_spread", 0.0)],
        source: "ns2-xpass: xpass.cc and its dumbbell; its fat tree has a credit_spread of 8",
    },
];

/// Beside what the headers of both files say.
pub const NOT_MODELLED: &[&str] = &[
    "CLOSE_WAIT: a flow is over when its sender knows that everything has arrived",
    "early credit stop and the smaller first rate of short flows (later ns2-xpass)",
];

/// Builds the sender of one flow, which has nothing to decide: [`Demand`] sends what credits call.
#[must_use]
pub fn build(_values: &Values, _path: &Path) -> Box<dyn Sender> {
    Box::new(Called)
}

#[derive(Debug)]
struct Called;

impl Sender for Called {
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    fn decision(&self) -> Decision {
        Decision::window(Bytes::ZERO)
    }
}

/// Where a flow stands with its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing to send, or everything is known to have arrived.
    Closed,
    /// CREDIT_REQUEST_SENT.
    Requested,
    /// CREDIT_RECEIVING.
    Receiving,
    /// CREDIT_STOP_SENT.
    Stopped,
}

/// What a flow sends now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Nothing: where a credit came, it is wasted.
    Nothing,
    /// A request for credits.
    Request,
    /// The next data frame.
    Data,
    /// Word that nothing is left to send.
    Stop,
}

/// One flow's dealings with its receiver.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    state: State,
    timeout: Time,
    deadline: Time,
}

impl Demand {
    /// Closed; what is not answered is said again after `timeout`.
    #[must_use]
    pub const fn new(timeout: Time) -> Self {
        Self { state: State::Closed, timeout, deadline: Time::MAX }
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// When [`Self::on_timer`] is due; [`Time::MAX`] is never.
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// There is something to send, for the first time or again.
    pub fn open(&mut self, now: Time) -> Move {
        match self.state {
            State::Closed | State::Stopped => self.ask(now, State::Requested),
            State::Requested | State::Receiving => Move::Nothing,
        }
    }

    /// A credit came.
    pub fn on_credit(&mut self, has_data: bool) -> Move {
        if self.state == State::Requested {
            self.state = State::Receiving;
            self.deadline = Time::MAX;
        }
        if self.state == State::Receiving && has_data { Move::Data } else { Move::Nothing }
    }

    /// The last frame has left.
    pub fn drained(&mut self, now: Time) -> Move {
        match self.state {
            State::Requested | State::Receiving => self.ask(now, State::Stopped),
            State::Closed | State::Stopped => Move::Nothing,
        }
    }

    /// The receiver has everything.
    pub fn close(&mut self) {
        self.state = State::Closed;
        self.deadline = Time::MAX;
    }

    /// The deadline has come: what was said last is said again.
    pub fn on_timer(&mut self, now: Time) -> Move {
        match self.state {
            State::Requested | State::Stopped => self.ask(now, self.state),
            State::Closed | State::Receiving => Move::Nothing,
        }
    }

    fn ask(&mut self, now: Time, state: State) -> Move {
        self.state = state;
        self.deadline = now + self.timeout;
        if state == State::Requested { Move::Request } else { Move::Stop }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Time = Time::from_micros;

    #[test]
    fn a_flow_asks_sends_a_frame_a_credit_and_says_when_it_is_done() {
        let mut demand = Demand::new(US(100));
        assert_eq!(demand.on_credit(true), Move::Nothing);
        assert_eq!((demand.open(US(0)), demand.state(), demand.deadline()), (Move::Request, State::Requested, US(100)));
        assert_eq!((demand.on_credit(true), demand.state()), (Move::Data, State::Receiving));
        assert_eq!((demand.on_credit(true), demand.deadline()), (Move::Data, Time::MAX));
        assert_eq!((demand.drained(US(50)), demand.state()), (Move::Stop, State::Stopped));
        // Those still on their way are wasted.
        assert_eq!(demand.on_credit(false), Move::Nothing);
        demand.close();
        assert_eq!((demand.state(), demand.deadline()), (State::Closed, Time::MAX));
    }

    #[test]
    fn what_is_not_answered_is_said_again() {
        let mut demand = Demand::new(US(100));
        demand.open(US(0));
        assert_eq!((demand.on_timer(US(100)), demand.deadline()), (Move::Request, US(200)));
        demand.on_credit(true);
        assert_eq!(demand.on_timer(US(200)), Move::Nothing);
        demand.drained(US(300));
        assert_eq!((demand.on_timer(US(400)), demand.deadline()), (Move::Stop, US(500)));
    }

    #[test]
    fn a_receiver_that_misses_something_is_asked_anew() {
        let mut demand = Demand::new(US(100));
        demand.open(US(0));
        demand.on_credit(true);
        demand.drained(US(10));
        assert_eq!((demand.open(US(60)), demand.state()), (Move::Request, State::Requested));
        // While credits come anyway there is nothing to ask.
        demand.on_credit(true);
        assert_eq!(demand.open(US(70)), Move::Nothing);
    }
}
