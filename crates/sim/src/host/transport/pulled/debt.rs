//! What a receiver owes its sender: a pull for each packet that has arrived (NDP), the credit for which the sender asks (RCCC), or
//! nothing where the sender has a window.

use shallows_cc::catalog::SendControl;
use shallows_cc::receiver::Grants;
use shallows_cc::units::Bytes;

/// Pulls or credit that the host has not sent yet, and how much it has sent since the start.
#[derive(Clone, Debug)]
pub struct Debt {
    /// Since the start: what packets have earned or asked for, and what the host has sent. Pulls, or bytes of credit.
    due: u64,
    sent: u64,
    kind: Kind,
}

/// What is owed.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Nothing,
    Pulls,
    Credit(Terms),
}

/// How credit is granted.
#[derive(Clone, Copy, Debug)]
struct Terms {
    /// The most in one pull.
    pull: u64,
    /// Share of the link at which it is granted.
    rate: f64,
    /// A full packet on the wire.
    frame: u64,
    /// The most that is granted before the sender asks for it, while no other flow owes credit.
    unasked: u64,
}

impl Debt {
    /// Nothing is owed yet to a flow of packets that carry `mss` in a `frame`, which may get credit of `unasked` bytes ahead of its needs.
    pub(crate) fn new(
        leave: SendControl,
        grants: Option<Grants>,
        (mss, frame): (Bytes, Bytes),
        unasked: Bytes,
    ) -> Self {
        let terms = |Grants { rate, pull, quantum }: Grants| Terms {
            pull: (mss.scale(pull).0 / quantum.0).max(1) * quantum.0,
            rate,
            frame: frame.0,
            unasked: unasked.0,
        };
        let kind = match grants {
            _ if leave == SendControl::InWindow => Kind::Nothing,
            None => Kind::Pulls,
            Some(grants) => Kind::Credit(terms(grants)),
        };
        Self { due: 0, sent: 0, kind }
    }

    /// Handles a packet that asks for credit up to `target`; `needed` says whether its payload is missing still.
    #[inline(always)]
    pub fn on_packet(&mut self, target: u64, needed: bool) {
        match &self.kind {
            Kind::Nothing => {}
            Kind::Pulls => self.due += 1,
            Kind::Credit(terms) => self.due = self.due.max(target) + if needed { terms.frame } else { 0 },
        }
    }

    /// Forgets what is owed, because everything has arrived.
    pub(crate) fn cancel(&mut self) {
        self.due = self.sent;
    }

    /// Returns what has been sent since the start: pulls, or bytes of credit.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    pub(crate) const fn owes(&self) -> bool {
        self.due > self.sent
    }

    /// Whether the receiver sends pulls, the newest again if no packet comes.
    pub const fn has_pulls(&self) -> bool {
        !matches!(self.kind, Kind::Nothing)
    }

    /// Whether an answer to data can be the pull as well.
    pub(crate) const fn fits_an_answer(&self) -> bool {
        matches!(self.kind, Kind::Pulls)
    }

    /// Whether more credit may be granted than the sender has asked for.
    pub fn may_run_ahead(&self) -> bool {
        matches!(self.kind, Kind::Credit(terms) if self.sent < self.due + terms.unasked)
    }

    /// Pays for one pull, which runs ahead if nothing is owed, and returns the bytes that it lets the host's link carry until the next; none for a full frame.
    pub(crate) fn pay(&mut self) -> Option<Bytes> {
        let Kind::Credit(terms) = self.kind else {
            self.sent += 1;
            return None;
        };
        let amount = if self.owes() { terms.pull.min(self.due - self.sent) } else { terms.pull };
        self.sent += amount;
        Some(Bytes(amount).scale(1.0 / terms.rate))
    }

    #[cfg(test)]
    pub fn of_pulls(sent: u64) -> Self {
        Self { due: sent, sent, kind: Kind::Pulls }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Credit at half the link, four payloads of 1,000 B to a pull, quanta of 256 B: 15 of them, 3,840 B. Frames have 1,050 B.
    fn credit() -> Debt {
        let grants = Grants { rate: 0.5, pull: 4.0, quantum: Bytes(256) };
        Debt::new(SendControl::OnPulls, Some(grants), (Bytes(1000), Bytes(1050)), Bytes(3000))
    }

    #[test]
    fn pulls_grant_up_to_the_target_and_leave_at_the_pull_rate() {
        let mut debt = credit();
        assert!(!debt.owes() && !debt.fits_an_answer());
        debt.on_packet(10_240, false);
        // A target before it asks for no more.
        debt.on_packet(5120, false);
        let paid: Vec<_> = std::iter::from_fn(|| debt.owes().then(|| debt.pay())).collect();
        assert_eq!(paid, [3840, 3840, 2560].map(|amount| Some(Bytes(2 * amount))));
        assert_eq!(debt.sent(), 10_240);
    }

    #[test]
    fn a_trimmed_packet_is_owed_a_frame_beyond_the_target() {
        let mut debt = credit();
        debt.on_packet(256, false);
        debt.on_packet(512, true);
        debt.on_packet(512, true);
        assert_eq!(debt.pay(), Some(Bytes(2 * (512 + 2 * 1050))));
        assert!(!debt.owes());
    }

    /// 3,000 B before they are asked for: one pull of 3,840, no second one. Then 4,096 B asked for are 256 more.
    #[test]
    fn credit_runs_ahead_by_the_last_pull_that_begins_below_the_limit() {
        let mut debt = credit();
        assert!(debt.may_run_ahead());
        debt.pay();
        assert_eq!(debt.sent(), 3840);
        assert!(!debt.may_run_ahead() && !debt.owes());
        debt.on_packet(4096, false);
        assert!(debt.owes());
        debt.pay();
        assert_eq!(debt.sent(), 4096);
    }

    #[test]
    fn pulls_are_owed_one_for_a_packet_and_none_after_the_last() {
        let mut debt = Debt::new(SendControl::OnPulls, None, (Bytes(1000), Bytes(1050)), Bytes::ZERO);
        debt.on_packet(0, false);
        debt.on_packet(0, true);
        assert_eq!((debt.pay(), debt.sent()), (None, 1));
        assert!(debt.owes() && debt.fits_an_answer() && !debt.may_run_ahead());
        debt.cancel();
        assert!(!debt.owes());
    }
}
