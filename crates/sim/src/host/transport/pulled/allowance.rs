//! Permission to send, asked once for each packet: the window and pace of the algorithm, pulls of one packet each (NDP), or credit in
//! bytes (RCCC).

use shallows_cc::catalog::SendControl;
use shallows_cc::receiver::Grants;
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::gate::Gate;
use crate::host::transport::status::{BlockedBy, Readiness};

/// Permission to send, and what the sender may expect to be permitted.
#[derive(Clone, Debug)]
pub enum Allowance {
    /// The window and pace of the flow's [`Gate`].
    Window,
    Counted(PullCount),
    Credit(Credit),
}

impl Allowance {
    /// The allowance of a flow with a first window of so many bytes, of which a full packet carries `mss`.
    pub(crate) fn new(leave: SendControl, window: Bytes, (mss, packets): (Bytes, u32), grants: Option<Grants>) -> Self {
        match grants {
            _ if leave == SendControl::InWindow => Self::Window,
            None => Self::Counted(PullCount::new(window.0.div_ceil(mss.0).clamp(1, u64::from(packets)))),
            Some(grants) => Self::Credit(Credit::new(window, grants.quantum)),
        }
    }

    /// Returns whether a packet of up to `mss` may leave, while so many are in flight.
    #[inline]
    pub fn readiness(&self, now: Time, (in_flight, mss): (u32, Bytes), gate: &Gate) -> Readiness {
        let allowed = match self {
            Self::Window => return readiness_in_window(now, (in_flight, mss), gate),
            Self::Counted(pulls) => pulls.allow(),
            Self::Credit(credit) => credit.allows(in_flight == 0),
        };
        if allowed { Readiness::Ready } else { Readiness::Blocked(BlockedBy::Answer) }
    }

    /// Handles an answer or a pull; `number` counts what has been pulled since the start.
    #[inline]
    pub(crate) fn on_pull(&mut self, number: u64) {
        match self {
            Self::Counted(pulls) => {
                pulls.expected -= number.saturating_sub(pulls.pulled).cast_signed();
                pulls.pulled = pulls.pulled.max(number);
            }
            Self::Window => {}
            Self::Credit(credit) => credit.on_grant(number),
        }
    }

    /// Handles a packet of so many bytes that the receiver knows to be trimmed.
    pub fn on_trimmed(&mut self, length: u64) {
        if let Self::Credit(credit) = self {
            credit.asked += length;
        }
    }

    /// Handles a packet that returned to its sender, so that the receiver does not know of it.
    pub(crate) fn on_returned(&mut self) {
        match self {
            Self::Window => {}
            Self::Counted(pulls) => pulls.expected -= 1,
            Self::Credit(credit) => credit.asked = credit.granted,
        }
    }

    /// Handles the timeouts of so many packets, `another` timeout of the flow or more of the same.
    pub fn on_timeout(&mut self, lost: u64, another: bool) {
        match self {
            Self::Window => {}
            Self::Counted(pulls) => {
                pulls.unsolicited += lost;
                pulls.expected -= lost.cast_signed();
            }
            Self::Credit(credit) => {
                credit.stop_speculating();
                if another {
                    credit.probes = credit.in_hand <= 0;
                }
            }
        }
    }
}

/// A full packet has to fit the window, whatever the length of the next one. One in flight is always allowed.
fn readiness_in_window(now: Time, (in_flight, mss): (u32, Bytes), gate: &Gate) -> Readiness {
    let needed = mss * (u64::from(in_flight) + 1);
    if in_flight > 0 && needed > gate.window {
        return Readiness::Blocked(BlockedBy::Window(needed - gate.window));
    }
    gate.paced_until(now).map_or(Readiness::Ready, Readiness::At)
}

/// Pulls of one packet each.
#[derive(Clone, Debug)]
pub(crate) struct PullCount {
    /// Packets that may leave without a pull.
    unsolicited: u64,
    /// Number of packets that have been pulled, and of those that have been sent for a pull.
    pulled: u64,
    sent: u64,
    /// Pulls that the packets sent should earn, less those that have arrived; lost and returned packets earn none.
    expected: i64,
}

impl PullCount {
    const fn new(unsolicited: u64) -> Self {
        Self { unsolicited, pulled: 0, sent: 0, expected: 0 }
    }

    #[inline]
    const fn allow(&self) -> bool {
        self.pulled > self.sent || self.unsolicited > 0 || self.expected <= 0
    }

    /// Uses a pull, or one of the packets that need none.
    #[inline(always)]
    pub fn on_send(&mut self) {
        if self.pulled > self.sent {
            self.sent += 1;
        } else {
            self.unsolicited = self.unsolicited.saturating_sub(1);
        }
        self.expected += 1;
    }

    /// Pulls so far, all of which were used.
    #[cfg(test)]
    pub const fn used(pulled: u64, expected: i64) -> Self {
        Self { unsolicited: 0, pulled, sent: pulled, expected }
    }
}

/// Credit in bytes. Amounts are counted from the start, so that a grant makes up for lost ones before it.
#[derive(Clone, Debug)]
pub(crate) struct Credit {
    /// `maxwnd`: the first credit, and the most that the sender asks for.
    window: i64,
    quantum: u64,
    granted: u64,
    /// Credit in hand. The packet that uses up the rest may exceed it, so that it may be negative.
    in_hand: i64,
    /// Whether the credit in hand is speculative: the receiver has not answered yet.
    speculates: bool,
    /// The highest target of which the receiver can know, as far as the sender can tell.
    asked: u64,
    /// Whether one packet may leave without credit, because a timeout has expired.
    probes: bool,
}

impl Credit {
    const fn new(window: Bytes, quantum: Bytes) -> Self {
        let (window, quantum) = (window.0.cast_signed(), quantum.0);
        Self { window, quantum, granted: 0, in_hand: window, speculates: true, asked: 0, probes: false }
    }

    /// Returns true if a packet may leave, where `idle` says that nothing is in flight.
    #[inline]
    pub const fn allows(&self, idle: bool) -> bool {
        self.in_hand > 0 || self.probes || idle && self.asked <= self.granted
    }

    /// Spends credit on a packet of so many bytes, and returns the pull target that it carries. `backlog` is what is left to send, new
    /// or again, and `least` a full packet.
    pub(crate) fn on_send(&mut self, length: u64, backlog: u64, least: u64) -> u64 {
        self.in_hand -= length.cast_signed();
        self.probes = false;
        let mut wanted = i64::try_from(backlog).unwrap_or(i64::MAX).min(self.window) - self.in_hand;
        if self.speculates && backlog > 0 {
            wanted = wanted.max(least.cast_signed());
        }
        let target = (self.granted + wanted.max(0).cast_unsigned()).next_multiple_of(self.quantum);
        self.asked = self.asked.max(target);
        target
    }

    fn on_grant(&mut self, number: u64) {
        self.stop_speculating();
        let more = number.saturating_sub(self.granted);
        self.granted += more;
        self.in_hand = (self.in_hand + more.cast_signed()).min(self.window);
    }

    fn stop_speculating(&mut self) {
        if std::mem::replace(&mut self.speculates, false) {
            self.in_hand = self.in_hand.min(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Allowance {
        fn allows(&self, idle: bool) -> bool {
            match self {
                Self::Window => panic!("a window"),
                Self::Counted(pulls) => pulls.allow(),
                Self::Credit(credit) => credit.allows(idle),
            }
        }
    }

    /// A sender with a window of 10,000 B and quanta of 512 B.
    fn credit() -> Allowance {
        Allowance::new(
            SendControl::OnPulls,
            Bytes(10_000),
            (Bytes(1460), 20),
            Some(Grants { rate: 0.99, pull: 4.0, quantum: Bytes(512) }),
        )
    }

    /// Sends a full packet while so many bytes are left, and returns its target.
    fn send(allowance: &mut Allowance, backlog: u64) -> u64 {
        let Allowance::Credit(credit) = allowance else { panic!("pulls") };
        credit.on_send(1500, backlog, 1500)
    }

    /// 10,000 - 1,500 are in hand after the first packet: 1,500 more fill the window, three quanta. The seventh overdraws by 500, and
    /// asks for 10,500: 21 quanta.
    #[test]
    fn targets_ask_for_what_fills_the_window() {
        let mut sender = credit();
        let targets: Vec<_> = (1..=7).map(|sent| send(&mut sender, 30_000 - sent * 1500)).collect();
        assert_eq!(targets, [1536, 3072, 4608, 6144, 7680, 9216, 10_752]);
        assert!(!sender.allows(false) && !sender.allows(true));
    }

    /// 3,000 B left need no more credit than 8,500 in hand, yet a packet without an answer asks for a frame. The last one asks for none.
    #[test]
    fn a_speculative_packet_asks_for_one_while_some_are_left() {
        let mut sender = credit();
        assert_eq!(send(&mut sender, 3000), 1536);
        assert_eq!(send(&mut sender, 0), 0);
        sender.on_pull(512);
        // 512 in hand: 988 less than a packet, and 1,500 left ask for 1,500 + 988 beyond 512.
        assert_eq!(send(&mut sender, 1500), 3072);
    }

    #[test]
    fn the_first_answer_ends_speculation_and_grants_are_counted_from_the_start() {
        let mut sender = credit();
        send(&mut sender, 30_000);
        sender.on_pull(0);
        assert!(!sender.allows(false) && !sender.allows(true));
        // The grant of 512 was lost: 1,024 contain it. It may be overdrawn once.
        sender.on_pull(1024);
        assert!(sender.allows(false));
        send(&mut sender, 30_000);
        assert!(!sender.allows(false));
        // 476 overdrawn, and an old grant of no use.
        sender.on_pull(1024 + 476);
        sender.on_pull(512);
        assert!(!sender.allows(false));
        sender.on_pull(1024 + 477);
        assert!(sender.allows(false));
    }

    /// 20,000 granted are 10,000 in hand: seven packets.
    #[test]
    fn credit_in_hand_is_at_most_the_window() {
        let mut sender = credit();
        sender.on_pull(20_000);
        let sent = std::iter::from_fn(|| sender.allows(false).then(|| send(&mut sender, 30_000))).count();
        assert_eq!(sent, 7);
    }

    #[test]
    fn one_packet_leaves_without_credit_after_a_timeout_or_if_none_is_expected() {
        let mut sender = credit();
        send(&mut sender, 30_000);
        sender.on_timeout(1, true);
        assert!(sender.allows(false));
        send(&mut sender, 30_000);
        assert!(!sender.allows(false) && !sender.allows(true));
        sender.on_returned();
        assert!(sender.allows(true) && !sender.allows(false));
        // The receiver knows of a trimmed packet, and will grant its bytes.
        sender.on_trimmed(1460);
        assert!(!sender.allows(true));
    }

    #[test]
    fn a_first_window_of_pulls_is_rounded_up_to_packets_and_not_longer_than_the_message() {
        for (window, packets, first) in [(1461, 20, 2), (100_000, 20, 20), (0, 20, 1)] {
            let mut sender = Allowance::new(SendControl::OnPulls, Bytes(window), (Bytes(1460), packets), None);
            let mut sent = 0;
            while sender.allows(false) && sent < 100 {
                let Allowance::Counted(pulls) = &mut sender else { panic!("credit") };
                pulls.on_send();
                sent += 1;
            }
            assert_eq!(sent, first, "{window}");
        }
    }
}
