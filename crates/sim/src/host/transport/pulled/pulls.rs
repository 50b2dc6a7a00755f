//! Pulls of the receiver of a flow, and what it owes.

use shallows_cc::units::{Bytes, Time};

use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::pulled::debt::Debt;
use crate::packet::header::Header;
use crate::spec::network::MIN_FRAME;

/// A pull that leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Its index.
    pub at: u32,
    /// Whether the flow is to send another one in its turn.
    pub more: bool,
    /// Whether it newly may send slow pulls, when no flow owes any.
    pub slow: bool,
    /// Bytes that the link carries until the next pull; none for a full frame.
    pub carries: Option<Bytes>,
}

/// Pulls of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Pulls {
    pub(super) debt: Debt,
    /// Whether the flow is in the run queue of its host's pull pacer.
    pub(super) queued: bool,
    /// Whether it is in the queue for slow pulls.
    pub(super) slow: bool,
}

impl Pulls {
    /// Returns true if the flow owes pulls and is not in the run queue of the pull pacer; it must then join that queue.
    #[inline]
    pub fn joins_pull_pacer(&mut self) -> bool {
        self.debt.owes() && !std::mem::replace(&mut self.queued, true)
    }

    /// Whether an answer to data can be the pull as well.
    pub(crate) const fn pulls_with_answers(&self) -> bool {
        self.debt.fits_an_answer()
    }

    /// Makes an answer that is about to leave a pull as well, because no other flow waits for one.
    pub fn pull_with(&mut self, answer: &mut Header) {
        if let Header::PulledAck(answer) | Header::PulledNack(answer) = answer {
            self.debt.pay();
            (answer.pulled, answer.is_pull) = (self.debt.sent(), true);
            self.queued = self.debt.owes();
        }
    }

    /// Creates a pull; none if everything has arrived meanwhile.
    pub(crate) fn pull(&mut self, now: Time, out: &mut PacketSink<'_>) -> Option<Pull> {
        self.queued = false;
        let carries = self.debt.owes().then(|| self.debt.pay())?;
        self.queued = self.debt.owes();
        let slow = !self.queued && self.debt.may_run_ahead() && !std::mem::replace(&mut self.slow, true);
        Some(Pull { at: self.pull_frame(now, out), more: self.queued, slow, carries })
    }

    /// Creates a slow pull, which grants credit that the sender has not asked for; none if it has all that it may, or waits for credit.
    pub fn slow_pull(&mut self, now: Time, out: &mut PacketSink<'_>) -> Option<Pull> {
        self.slow = false;
        let carries = (!self.queued && self.debt.may_run_ahead()).then(|| self.debt.pay())?;
        self.slow = self.debt.may_run_ahead();
        Some(Pull { at: self.pull_frame(now, out), more: self.slow, slow: false, carries })
    }

    pub(super) fn pull_frame(&self, now: Time, out: &mut PacketSink<'_>) -> u32 {
        out.put(MIN_FRAME, Header::Pull { left: now, number: self.debt.sent() })
    }
}
