//! State machine of a sender that waits for credits: which control frame it sends, and when.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | CLOSED | `State::Closed` | nothing to send, or everything acknowledged |
//! | CREDIT_REQUEST_SENT | `State::Requested` | credits requested, none has arrived |
//! | CREDIT_RECEIVING | `State::Receiving` | one frame for each credit |
//! | CREDIT_STOP_SENT | `State::Stopped` | everything sent and a stop sent; the receiver may still miss some |
//!
//! Source: Cho, Jang and Han, SIGCOMM 2017, §3.2 and Fig. 7, and the authors' ns2-xpass (xpass.cc): the stop
//! follows the last frame at once, and a request is repeated until a credit arrives. Here it is also repeated if credits cease.

use shallows_cc::units::Time;

/// State of a flow, as its sender knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing to send, or everything acknowledged.
    Closed,
    /// CREDIT_REQUEST_SENT.
    Requested,
    /// CREDIT_RECEIVING.
    Receiving,
    /// CREDIT_STOP_SENT.
    Stopped,
}

/// Next action of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Send nothing; a credit that has just arrived is wasted.
    Nothing,
    /// Send a request for credits.
    Request,
    /// Send the next data frame.
    Data,
    /// Send a stop: nothing is left to send.
    Stop,
}

/// State machine of one flow.
#[derive(Clone, Copy, Debug)]
pub struct CreditRequest {
    state: State,
    timeout: Time,
    deadline: Time,
}

impl CreditRequest {
    /// Creates it in the state `Closed`; control frames without an answer are repeated after `timeout`.
    pub(crate) const fn new(timeout: Time) -> Self {
        Self { state: State::Closed, timeout, deadline: Time::MAX }
    }

    /// Returns when [`Self::on_timer`] is due; [`Time::MAX`] is never.
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Returns the time without a credit or an answer after which [`Self::on_timer`] is due.
    pub fn timeout(&self) -> Time {
        self.timeout
    }

    /// Data is available to send, for the first time or again.
    pub(crate) fn open(&mut self, now: Time) -> Action {
        match self.state {
            State::Closed | State::Stopped => self.send_control(now, State::Requested),
            State::Requested | State::Receiving => Action::Nothing,
        }
    }

    /// Handles a credit. It may belong to the time before the last stop, so it does not prove that a later request arrived; the
    /// deadline remains set.
    pub fn on_credit(&mut self, now: Time, has_data: bool) -> Action {
        if let State::Requested | State::Receiving = self.state {
            self.state = State::Receiving;
            self.deadline = now + self.timeout;
        }
        if self.state == State::Receiving && has_data { Action::Data } else { Action::Nothing }
    }

    /// The last data frame has left.
    pub(crate) fn drained(&mut self, now: Time) -> Action {
        match self.state {
            State::Requested | State::Receiving => self.send_control(now, State::Stopped),
            State::Closed | State::Stopped => Action::Nothing,
        }
    }

    /// The receiver has acknowledged everything.
    pub fn close(&mut self) {
        self.state = State::Closed;
        self.deadline = Time::MAX;
    }

    /// Handles the deadline: repeats the last control frame.
    pub(crate) fn on_timer(&mut self, now: Time) -> Action {
        match self.state {
            State::Requested | State::Receiving => self.send_control(now, State::Requested),
            State::Stopped => self.send_control(now, State::Stopped),
            State::Closed => Action::Nothing,
        }
    }

    fn send_control(&mut self, now: Time, state: State) -> Action {
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
    fn a_flow_requests_credits_sends_a_frame_for_each_and_stops() {
        let mut request = CreditRequest::new(US(100));
        assert_eq!(request.on_credit(US(0), true), Action::Nothing);
        assert_eq!(
            (request.open(US(0)), request.state, request.deadline()),
            (Action::Request, State::Requested, US(100))
        );
        assert_eq!((request.on_credit(US(20), true), request.state), (Action::Data, State::Receiving));
        assert_eq!((request.on_credit(US(30), true), request.deadline()), (Action::Data, US(130)));
        assert_eq!((request.drained(US(50)), request.state), (Action::Stop, State::Stopped));
        // Credits that are still on their way are wasted.
        assert_eq!(request.on_credit(US(60), false), Action::Nothing);
        request.close();
        assert_eq!((request.state, request.deadline()), (State::Closed, Time::MAX));
    }

    #[test]
    fn control_frames_without_an_answer_are_repeated() {
        let mut request = CreditRequest::new(US(100));
        request.open(US(0));
        assert_eq!((request.on_timer(US(100)), request.deadline()), (Action::Request, US(200)));
        request.on_credit(US(150), true);
        assert_eq!((request.on_timer(US(250)), request.state), (Action::Request, State::Requested));
        request.drained(US(300));
        assert_eq!((request.on_timer(US(400)), request.deadline()), (Action::Stop, US(500)));
    }

    #[test]
    fn missing_data_reopens_the_request() {
        let mut request = CreditRequest::new(US(100));
        request.open(US(0));
        request.on_credit(US(5), true);
        request.drained(US(10));
        assert_eq!((request.open(US(60)), request.state), (Action::Request, State::Requested));
        // While credits arrive no request is needed.
        request.on_credit(US(65), true);
        assert_eq!(request.open(US(70)), Action::Nothing);
    }
}
