//! What the sender of a flow over credits says, and when: a request, data for credits, word that it has no more.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | CLOSED | `State::Closed` | nothing to send, or all of it acknowledged |
//! | CREDIT_REQUEST_SENT | `State::Requested` | asked for credits, none has come |
//! | CREDIT_RECEIVING | `State::Receiving` | a frame a credit |
//! | CREDIT_STOP_SENT | `State::Stopped` | everything was sent and the receiver told; it may still miss some |
//!
//! Source: Cho, Jang and Han, SIGCOMM 2017, §3.2 and Fig. 7, and the authors' ns2-xpass (xpass.cc): the stop follows
//! the last frame at once, a request is repeated until a credit comes. Here it is repeated too where credits stop coming.

use shallows_cc::units::Time;

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
pub enum Action {
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
pub struct CreditRequest {
    state: State,
    timeout: Time,
    deadline: Time,
}

impl CreditRequest {
    /// Closed; what is not answered is said again after `timeout`.
    pub const fn new(timeout: Time) -> Self {
        Self { state: State::Closed, timeout, deadline: Time::MAX }
    }

    /// When [`Self::on_timer`] is due; [`Time::MAX`] is never.
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// There is something to send, for the first time or again.
    pub fn open(&mut self, now: Time) -> Action {
        match self.state {
            State::Closed | State::Stopped => self.ask(now, State::Requested),
            State::Requested | State::Receiving => Action::Nothing,
        }
    }

    /// A credit came. It may be one of before the last stop, and the request behind it lost: another has to follow it.
    pub fn on_credit(&mut self, now: Time, has_data: bool) -> Action {
        if let State::Requested | State::Receiving = self.state {
            self.state = State::Receiving;
            self.deadline = now + self.timeout;
        }
        if self.state == State::Receiving && has_data { Action::Data } else { Action::Nothing }
    }

    /// The last frame has left.
    pub fn drained(&mut self, now: Time) -> Action {
        match self.state {
            State::Requested | State::Receiving => self.ask(now, State::Stopped),
            State::Closed | State::Stopped => Action::Nothing,
        }
    }

    /// The receiver has everything.
    pub fn close(&mut self) {
        self.state = State::Closed;
        self.deadline = Time::MAX;
    }

    /// The deadline has come: what was said last is said again.
    pub fn on_timer(&mut self, now: Time) -> Action {
        match self.state {
            State::Requested | State::Receiving => self.ask(now, State::Requested),
            State::Stopped => self.ask(now, State::Stopped),
            State::Closed => Action::Nothing,
        }
    }

    fn ask(&mut self, now: Time, state: State) -> Action {
        self.state = state;
        self.deadline = now + self.timeout;
        if state == State::Requested { Action::Request } else { Action::Stop }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Time = Time::from_micros;

    #[test]
    fn a_flow_asks_sends_a_frame_a_credit_and_says_when_it_is_done() {
        let mut asking = CreditRequest::new(US(100));
        assert_eq!(asking.on_credit(US(0), true), Action::Nothing);
        assert_eq!((asking.open(US(0)), asking.state, asking.deadline()), (Action::Request, State::Requested, US(100)));
        assert_eq!((asking.on_credit(US(20), true), asking.state), (Action::Data, State::Receiving));
        assert_eq!((asking.on_credit(US(30), true), asking.deadline()), (Action::Data, US(130)));
        assert_eq!((asking.drained(US(50)), asking.state), (Action::Stop, State::Stopped));
        // Those still on their way are wasted.
        assert_eq!(asking.on_credit(US(60), false), Action::Nothing);
        asking.close();
        assert_eq!((asking.state, asking.deadline()), (State::Closed, Time::MAX));
    }

    #[test]
    fn what_is_not_answered_is_said_again() {
        let mut asking = CreditRequest::new(US(100));
        asking.open(US(0));
        assert_eq!((asking.on_timer(US(100)), asking.deadline()), (Action::Request, US(200)));
        asking.on_credit(US(150), true);
        assert_eq!((asking.on_timer(US(250)), asking.state), (Action::Request, State::Requested));
        asking.drained(US(300));
        assert_eq!((asking.on_timer(US(400)), asking.deadline()), (Action::Stop, US(500)));
    }

    #[test]
    fn a_receiver_that_misses_something_is_asked_anew() {
        let mut asking = CreditRequest::new(US(100));
        asking.open(US(0));
        asking.on_credit(US(5), true);
        asking.drained(US(10));
        assert_eq!((asking.open(US(60)), asking.state), (Action::Request, State::Requested));
        // While credits come anyway there is nothing to ask.
        asking.on_credit(US(65), true);
        assert_eq!(asking.open(US(70)), Action::Nothing);
    }
}
