//! Reliability packet by packet at the sender, which knows of each packet whether it has arrived, and sends as its allowance permits.

use std::collections::VecDeque;

use shallows_cc::catalog::SendControl;
use shallows_cc::event::{Ack, Loss, LossKind};
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::config::SenderConfig;
use crate::host::transport::flow::{Common, Reliability};
use crate::host::transport::lazy_timer::{LazyTimer, Timeout};
use crate::host::transport::ledger::{Ledger, State};
use crate::host::transport::message::Message;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::pulled::allowance::Allowance;
use crate::host::transport::pulled::recovery::Recovery;
use crate::host::transport::selective::Arrivals;
use crate::host::transport::status::{BlockedBy, Readiness};
use crate::host::value_set::Evidence;
use crate::packet::Slab;
use crate::packet::header::{Header, PulledAnswer, PulledData, Sack};

/// Entries of answered packets in the list of departures, besides one for each packet that is known, from which on they are removed at
/// each answer.
const ANSWERED_KEPT: usize = 64;

/// What is noted of a packet that has been sent.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// How often its timeout has expired.
    timeouts: u8,
    /// The entropy value with which it left, over connections that remember it.
    value: u16,
}

/// Reliability and allowance of one flow.
#[derive(Clone, Debug)]
pub struct PerPacket {
    ledger: Ledger<Note>,
    allowance: Allowance,
    /// Number of the next new packet when the window last blocked the flow; packets below count as limited by it.
    limited_below: u32,
    /// Packets sent, in order; those that have been answered since are skipped.
    departures: VecDeque<(Time, u32)>,
    /// The same of packets whose timeout has expired, once in the first list, twice in the second, and so on: each list is in the order
    /// of expiry, too.
    repeats: Vec<VecDeque<(Time, u32)>>,
    /// Timeout of a packet, which doubles each time that it expires for this packet.
    timeout: Timeout,
    /// No packet in flight expires before this time.
    earliest_expiry: Time,
    /// When the newest packet from the receiver arrived.
    heard: Time,
    timer: LazyTimer,
    /// When the newest timeout expired that the flow counts.
    timed_out: Time,
    /// Loss detection by selective acknowledgements, if the algorithm has it.
    recovery: Option<Box<Recovery>>,
}

impl PerPacket {
    pub(crate) fn new(config: &SenderConfig<'_>, leave: SendControl) -> Self {
        let (window, end) = (config.control.decision().window, Message::new(config.bytes, config.mss).end);
        Self {
            ledger: Ledger::new(),
            allowance: Allowance::new(leave, window, (config.mss, end), config.grants),
            limited_below: 0,
            departures: VecDeque::new(),
            repeats: Vec::new(),
            timeout: Timeout { initial: config.first_timeout, max: config.host.rto_max },
            earliest_expiry: Time::MAX,
            heard: Time::ZERO,
            timer: LazyTimer::DISARMED,
            timed_out: Time::ZERO,
            recovery: config.multipath.as_ref().map(|rules| Box::new(Recovery::new(rules))),
        }
    }

    /// Handles an answer, a pull, or a header that was returned to its sender, with the entropy value that it echoes.
    fn on_header(&mut self, common: &mut Common, now: Time, header: &Header, entropy: u16) {
        self.heard = now;
        match *header {
            Header::PulledAck(answer) => {
                self.on_ack(common, now, &answer, entropy);
                self.allowance.on_pull(answer.pulled);
                self.find_losses(common, now, answer.sent, answer.sack);
            }
            Header::PulledNack(answer) => {
                if self.on_missing(answer.sent, answer.seq) {
                    self.allowance.on_trimmed(common.position.message.mss.0);
                    self.report_trim(common, now, &answer, entropy);
                }
                self.allowance.on_pull(answer.pulled);
                self.find_losses(common, now, answer.sent, answer.sack);
            }
            Header::ProbeAck { sent, sack } => self.find_losses(common, now, sent, sack),
            Header::PulledData(PulledData { sent, seq, .. }) => {
                if self.on_missing(sent, seq) {
                    self.allowance.on_returned();
                    self.report_trim(common, now, &PulledAnswer { sent, seq, ..PulledAnswer::default() }, entropy);
                }
            }
            Header::Pull { number, .. } => self.allowance.on_pull(number),
            _ => unreachable!("a packet of another transport: {header:?}"),
        }
    }

    fn on_ack(&mut self, common: &mut Common, now: Time, answer: &PulledAnswer, entropy: u16) {
        if answer.seq < self.ledger.first() || self.ledger.arrive(answer.seq) == State::Arrived {
            return;
        }
        self.move_on(common);
        let acked = common.position.message.payload(answer.seq);
        let arrivals = arrival(common, answer.seq);
        common.record_delivery(now, arrivals, answer.sent, |_| Vec::new());
        let mut ack = Ack { acked, ..self.answered(common, now, answer, entropy) };
        common.add_sample(&mut ack);
        common.gate.on_ack(now, &ack);
    }

    /// Forgets the packets before the first one that has not arrived.
    fn move_on(&mut self, common: &mut Common) {
        self.ledger.forget_arrived();
        common.position.unacked = self.ledger.first();
    }

    /// Finds packets that are lost, or have arrived without their answers, by the answer to one that left at `sent`.
    #[inline]
    fn find_losses(&mut self, common: &mut Common, now: Time, sent: Time, sack: Sack) {
        if let Some(recovery) = &mut self.recovery {
            recovery.on_answer(sent, sack);
            self.resolve_overdue(common, now);
        }
    }

    fn resolve_overdue(&mut self, common: &mut Common, now: Time) {
        let in_flight = common.payload(self.ledger.in_flight());
        let mut lost = Bytes::ZERO;
        while let Some((sent, seq)) = self.oldest()
            && let Some(arrived) = self.recovery.as_ref().and_then(|recovery| recovery.verdict(sent, seq))
        {
            if arrived {
                self.on_covered(common, now, seq);
            } else {
                self.lose(seq, Evidence::Acknowledgements);
                lost += common.position.message.payload(seq);
            }
        }
        if lost > Bytes::ZERO {
            self.report_missing(common, now);
            let loss = Loss { kind: LossKind::FastRetransmit, in_flight, lost, repeated: false };
            common.gate.control.on_loss(now, &loss);
            common.gate.decide();
        }
    }

    /// Handles the arrival of a packet of which another answer tells.
    fn on_covered(&mut self, common: &mut Common, now: Time, seq: u32) {
        let left = self.ledger.known(seq).left;
        self.ledger.arrive(seq);
        self.move_on(common);
        common.record_delivery(now, arrival(common, seq), left, |_| Vec::new());
        let (acked, in_flight) = (common.position.message.payload(seq), common.payload(self.ledger.in_flight()));
        let mut ack = Ack { acked, in_flight, ..Ack::default() };
        common.add_sample(&mut ack);
        common.gate.on_ack(now, &ack);
    }

    /// Records the loss of a packet, of which the path selection is told.
    fn lose(&mut self, seq: u32, evidence: Evidence) {
        let value = self.ledger.known(seq).note.value;
        self.ledger.lose(seq);
        if let Some(recovery) = &mut self.recovery {
            recovery.on_lost(value, evidence);
        }
    }

    /// Records that the timeout of a packet has expired, and doubles it for this packet alone.
    fn expire(&mut self, seq: u32) {
        let note = self.ledger.note_mut(seq);
        if self.timeout.after(u32::from(note.timeouts)) < self.timeout.max {
            note.timeouts += 1;
        }
        let lists = usize::from(note.timeouts).max(self.repeats.len());
        self.repeats.resize_with(lists, VecDeque::new);
        self.lose(seq, Evidence::Timeout);
    }

    /// Tells an algorithm that takes delivery-rate samples of the packets that are newly known to be missing.
    fn report_missing(&self, common: &mut Common, now: Time) {
        common.report_lost_packets(now, |_| self.ledger.missing().iter().copied().collect());
    }

    /// Tells the algorithm of a packet that a port has trimmed. Where the receiver allows packets, it does not decide anew.
    fn report_trim(&mut self, common: &mut Common, now: Time, answer: &PulledAnswer, entropy: u16) {
        if matches!(self.allowance, Allowance::Window) {
            self.report_missing(common, now);
            let trimmed = common.position.message.payload(answer.seq);
            let ack = Ack { trimmed, ..self.answered(common, now, answer, entropy) };
            common.gate.on_ack(now, &ack);
        }
    }

    /// Returns what any answer says, but for the payload.
    #[inline(always)]
    fn answered(&self, common: &Common, now: Time, answer: &PulledAnswer, entropy: u16) -> Ack {
        Ack {
            sent_at: answer.sent,
            rtt: (now - answer.sent).max(Time(1)),
            one_way_delay: answer.delay,
            samples: 1,
            marked: if answer.marked { common.position.message.payload(answer.seq) } else { Bytes::ZERO },
            in_flight: common.payload(self.ledger.in_flight()),
            window_limited: answer.seq < self.limited_below,
            recovering: !self.ledger.missing().is_empty(),
            entropy,
            ..Ack::default()
        }
    }

    /// Records that the packet that left at `sent` is missing. Returns false if that is known, or no longer true.
    fn on_missing(&mut self, sent: Time, seq: u32) -> bool {
        let new = self.ledger.is_in_flight(sent, seq);
        if new {
            self.ledger.lose(seq);
        }
        new
    }

    /// Returns the packet in flight that left first.
    fn oldest(&mut self) -> Option<(Time, u32)> {
        (0..=self.repeats.len()).filter_map(|timeouts| self.oldest_of(timeouts)).min()
    }

    /// Returns the packet in flight that left first, of those whose timeout has expired so often.
    #[inline]
    fn oldest_of(&mut self, timeouts: usize) -> Option<(Time, u32)> {
        while let Some(&(sent, seq)) = self.sent_after(timeouts).front() {
            if self.ledger.is_in_flight(sent, seq) {
                return Some((sent, seq));
            }
            self.sent_after(timeouts).pop_front();
        }
        None
    }

    /// Returns the packets sent whose timeout has expired so often.
    #[inline]
    fn sent_after(&mut self, timeouts: usize) -> &mut VecDeque<(Time, u32)> {
        if timeouts == 0 { &mut self.departures } else { &mut self.repeats[timeouts - 1] }
    }

    /// Returns the packet in flight whose timeout expires first, and when.
    fn first_to_expire(&mut self) -> Option<(Time, u32)> {
        let lists = 0..=self.repeats.len();
        let expiry = |timeouts| {
            let (sent, seq) = self.oldest_of(timeouts)?;
            Some((sent + self.timeout.after(timeouts as u32), seq))
        };
        let first = lists.filter_map(expiry).min();
        self.earliest_expiry = first.map_or(Time::MAX, |(expiry, _)| expiry);
        first
    }

    /// Spends credit on a packet of this length and returns the pull target that it carries.
    fn spend_credit(&mut self, common: &Common, length: Bytes, header: Bytes) -> u64 {
        let Allowance::Credit(credit) = &mut self.allowance else { return 0 };
        let (next, end) = (common.position.next, common.position.message.end);
        let left = u64::from(end - next) + self.ledger.missing().len() as u64;
        let full = common.position.message.mss + header;
        // The last packet counts as a full one while it is not alone.
        let backlog = if left == 1 && next < end { common.length(next, header) } else { full * left };
        credit.on_send(length.0, backlog.0, full.0)
    }

    fn deadline(&mut self, common: &Common) -> Time {
        let timeout = match self.first_to_expire() {
            Some((expiry, _)) => expiry,
            None if self.is_starved(common) => self.heard + self.timeout.initial,
            None => Time::MAX,
        };
        timeout.min(self.recovery_deadline())
    }

    #[inline]
    fn recovery_deadline(&self) -> Time {
        let recovery = self.recovery.as_ref();
        recovery.map_or(Time::MAX, |recovery| recovery.deadline(self.heard, self.ledger.in_flight() > 0))
    }

    /// Returns true if a timer is pending that precedes any possible deadline. Finding the first packet to expire reads the lists of packets,
    /// which are seldom in the caches; it also shortens the list of departures, so that this list must not be long.
    #[inline]
    fn is_armed(&self) -> bool {
        self.ledger.in_flight() > 0
            && self.timer.precedes(self.earliest_expiry.min(self.recovery_deadline()))
            && self.departures.len() < ANSWERED_KEPT + 2 * self.ledger.len() as usize
    }

    /// Returns true if only credit for which it believes to have asked can let it send: the packet that asked may have been lost, and
    /// a late answer to an earlier copy may have hidden that.
    fn is_starved(&self, common: &Common) -> bool {
        matches!(&self.allowance, Allowance::Credit(credit) if !credit.allows(true))
            && self.ledger.in_flight() == 0
            && self.has_data(common)
    }

    fn has_data(&self, common: &Common) -> bool {
        !self.ledger.missing().is_empty() || common.position.has_data()
    }
}

/// Returns the arrival of one packet, for delivery-rate samples.
const fn arrival(common: &Common, seq: u32) -> Arrivals {
    Arrivals { cumulative: common.position.unacked, block: Some((seq, seq + 1)) }
}

impl Reliability for PerPacket {
    #[inline]
    fn readiness(&mut self, common: &mut Common, now: Time) -> Readiness {
        if !self.has_data(common) {
            return common.has_no_data(self.ledger.in_flight());
        }
        let in_flight = (self.ledger.in_flight(), common.position.message.mss);
        let readiness = self.allowance.readiness(now, in_flight, &common.gate);
        if let Readiness::Blocked(BlockedBy::Window(_)) = readiness {
            self.limited_below = common.position.next;
        }
        readiness
    }

    // Missing packets leave before new ones.
    #[inline(always)]
    fn send(&mut self, common: &mut Common, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let (seq, timeouts) = if let Some(&seq) = self.ledger.missing().first() {
            common.repairs.retransmits += 1;
            (seq, self.ledger.known(seq).note.timeouts)
        } else {
            (common.position.advance(), 0)
        };
        let in_flight = self.ledger.in_flight();
        common.stamp(now, seq, (in_flight, in_flight + 1));
        if in_flight == 0
            && let Some(recovery) = &mut self.recovery
        {
            recovery.on_first_departure(now);
        }
        self.ledger.send(now, seq, Note { timeouts, value: 0 });
        self.sent_after(usize::from(timeouts)).push_back((now, seq));
        self.earliest_expiry = self.earliest_expiry.min(now + self.timeout.after(u32::from(timeouts)));
        let length = common.length(seq, header);
        let target = match &mut self.allowance {
            Allowance::Window => {
                common.gate.advance_pacing(common.gate.next_paced.max(now), length);
                0
            }
            Allowance::Counted(pulls) => {
                pulls.on_send();
                0
            }
            Allowance::Credit(_) => self.spend_credit(common, length, header),
        };
        out.put_trimmable(length, common.ecn, Header::PulledData(PulledData { sent: now, seq, target }))
    }

    #[inline(always)]
    fn on_packet(&mut self, common: &mut Common, now: Time, at: u32, packets: &Slab) {
        self.on_header(common, now, packets.header(at), packets[at].entropy());
    }

    #[inline]
    fn arm_timer(&mut self, common: &Common) -> Option<Time> {
        if self.is_armed() {
            return None;
        }
        let deadline = self.deadline(common);
        self.timer.arm(deadline)
    }

    // Every packet whose timeout has expired is sent again; without any, a flow that waits for credit asks again. The algorithm is told
    // at each instant at which packets expire, of their bytes: those of a lost window expire one by one, as they left. For the flow that is
    // one timeout, because the next one counts only packets that leave after it.
    fn on_timer(&mut self, common: &mut Common, now: Time) {
        self.timer.expire(now);
        let in_flight = common.payload(self.ledger.in_flight());
        let (mut packets, mut lost, mut repeated) = (0, Bytes::ZERO, true);
        let mut another = self.is_starved(common) && self.heard + self.timeout.initial <= now;
        if another {
            common.repairs.waits.add(self.heard, now);
        }
        while let Some((_, seq)) = self.first_to_expire().filter(|&(expiry, _)| expiry <= now) {
            let packet = *self.ledger.known(seq);
            another |= packet.left >= self.timed_out;
            common.repairs.waits.add(packet.left, now);
            repeated &= packet.note.timeouts > 0;
            packets += 1;
            lost += common.position.message.payload(seq);
            self.expire(seq);
        }
        if another {
            common.repairs.timeouts += 1;
            self.timed_out = now;
        }
        if another || packets > 0 {
            self.allowance.on_timeout(packets, another);
            if matches!(self.allowance, Allowance::Window) {
                self.report_missing(common, now);
                common.gate.control.on_loss(now, &Loss { kind: LossKind::Timeout, in_flight, lost, repeated });
                common.gate.decide();
            }
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.on_timer(now, self.heard, self.ledger.in_flight() > 0);
        }
    }

    fn in_flight(&self, _common: &Common) -> Option<u32> {
        Some(self.ledger.in_flight())
    }

    fn shows_window(&self) -> bool {
        matches!(self.allowance, Allowance::Window)
    }

    #[inline]
    fn remember(&mut self, seq: impl FnOnce() -> u32, value: u16) {
        if self.recovery.is_some() {
            self.ledger.note_mut(seq()).value = value;
        }
    }

    #[inline]
    fn recovery(&mut self) -> Option<&mut Recovery> {
        self.recovery.as_deref_mut()
    }

    #[inline]
    fn has_recovery(&self) -> bool {
        self.recovery.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::host::transport::flow::Flow;
    use crate::host::transport::position::Position;
    use crate::host::transport::pulled::allowance::PullCount;
    use crate::packet::Slab;
    use crate::spec::network::Network;
    use shallows_cc::catalog;
    use shallows_cc::multipath::Multipath;
    use shallows_cc::parameter::Values;
    use shallows_cc::receiver::Grants;
    use shallows_cc::rng::Rng;
    use shallows_cc::sender::{Decision, Path, Sender};
    use shallows_cc::units::Rate;

    const MSS: Bytes = Bytes(1460);
    const US: fn(u64) -> Time = Time::from_micros;

    /// Returns a sender with a first window of two packets and an initial timeout of 10 ms.
    fn new_sender(packets: u64) -> Flow<PerPacket> {
        let row = catalog::find("ndp").expect("a row");
        let mut values = Values::defaults(row.parameters);
        values.set("window", 2.0).expect("a parameter");
        let (line_rate, base_rtt) = (Rate::from_gbps(10), US(10));
        let path = Path { mss: MSS, initial_window: MSS, line_rate, base_rtt, seed: 1, ..Path::default() };
        sender_of(packets, (row.sender)(&values, &path), SendControl::OnPulls)
    }

    fn sender_of(packets: u64, control: Box<dyn Sender>, leave: SendControl) -> Flow<PerPacket> {
        let host = Network::bare().host;
        flow_of(SenderConfig::sample(&host, (packets, MSS), control), leave)
    }

    fn flow_of(config: SenderConfig<'_>, leave: SendControl) -> Flow<PerPacket> {
        Flow::new(PerPacket::new(&config, leave), config)
    }

    impl Flow<PerPacket> {
        fn hear(&mut self, now: Time, header: &Header, entropy: u16) {
            self.reliability.on_header(&mut self.common, now, header, entropy);
        }
    }

    /// Returns the sequence numbers of all packets that it sends now.
    fn sends(sender: &mut Flow<PerPacket>, now: Time) -> Vec<u32> {
        let mut packets = Slab::default();
        let mut sent = Vec::new();
        while sender.readiness(now) == Readiness::Ready {
            let at = sender.send(now, Bytes(40), &mut PacketSink { packets: &mut packets, flow: 0, path: 0 });
            let Header::PulledData(data) = *packets.header(at) else { panic!("no data") };
            sent.push(data.seq);
        }
        sent
    }

    fn answer(seq: u32, sent: Time, pulled: u64) -> PulledAnswer {
        PulledAnswer { sent, seq, pulled, ..PulledAnswer::default() }
    }

    #[test]
    fn a_first_window_leaves_unsolicited_then_one_packet_for_each_pull() {
        let mut flow = new_sender(6);
        assert_eq!(sends(&mut flow, US(0)), [0, 1]);
        flow.hear(US(10), &Header::PulledNack(answer(0, US(0), 0)), 0);
        assert_eq!(sends(&mut flow, US(10)), []);
        flow.hear(US(11), &Header::Pull { left: US(5), number: 1 }, 0);
        assert_eq!(sends(&mut flow, US(11)), [0]);
        flow.hear(US(12), &Header::PulledAck(answer(1, US(0), 1)), 0);
        // The second pull was lost; the third counts three packets in all.
        flow.hear(US(20), &Header::Pull { left: US(14), number: 3 }, 0);
        assert_eq!(sends(&mut flow, US(20)), [2, 3]);
        assert_eq!((flow.common.repairs.retransmits, flow.progress()), (1, (4, Some(3))));
    }

    /// Trimmed packets are pulled again, so that pulls outnumber the sequence numbers: here the pull 2^32 and the one after the next.
    #[test]
    fn pulls_are_counted_beyond_32_bits() {
        let last = u64::from(u32::MAX);
        let mut flow = new_sender(u64::from(u32::MAX >> 1));
        let first = (u32::MAX >> 1) - 4;
        flow.common.position = Position { unacked: first, next: first, sent_below: first, ..flow.common.position };
        flow.reliability.ledger = Ledger::starting_at(first);
        flow.reliability.allowance = Allowance::Counted(PullCount::used(last, 3));
        flow.hear(US(1), &Header::Pull { left: US(0), number: last + 1 }, 0);
        assert_eq!(sends(&mut flow, US(1)), [(u32::MAX >> 1) - 4]);
        flow.hear(US(2), &Header::Pull { left: US(1), number: last + 3 }, 0);
        assert_eq!(sends(&mut flow, US(2)), [(u32::MAX >> 1) - 3, (u32::MAX >> 1) - 2]);
        assert_eq!(sends(&mut flow, US(3)), []);
    }

    #[test]
    fn a_returned_header_waits_for_a_pull_if_one_is_expected() {
        let mut flow = new_sender(2);
        sends(&mut flow, US(0));
        let back = |seq| Header::PulledData(PulledData { sent: US(0), seq, target: 0 });
        flow.hear(US(10), &back(1), 0);
        assert_eq!(sends(&mut flow, US(10)), []);
        flow.hear(US(11), &back(0), 0);
        // One packet leaves at once, and is expected to earn a pull for the other.
        assert_eq!(sends(&mut flow, US(11)), [0]);
        // A second copy of the header changes nothing.
        flow.hear(US(12), &back(0), 0);
        assert_eq!(sends(&mut flow, US(12)), []);
    }

    #[test]
    fn a_packet_without_an_answer_is_sent_again_unsolicited() {
        let mut flow = new_sender(2);
        sends(&mut flow, US(0));
        assert_eq!(flow.arm_timer(), Some(Time::from_millis(10)));
        flow.on_timer(Time::from_millis(10));
        assert_eq!(sends(&mut flow, Time::from_millis(10)), [0, 1]);
        assert_eq!((flow.common.repairs.timeouts, flow.common.repairs.retransmits), (1, 2));
        assert_eq!(flow.arm_timer(), Some(Time::from_millis(30)));
        flow.hear(Time::from_millis(11), &Header::PulledAck(answer(1, Time::from_millis(10), 0)), 0);
        assert!(!flow.done());
        flow.hear(Time::from_millis(11), &Header::PulledAck(answer(0, Time::from_millis(10), 0)), 0);
        assert!(flow.done());
    }

    /// UE 1.0.3: the timeout of a packet is RTO_INIT 2^retries of this packet, here 10, 20 and 40 ms. A window that is lost expires as it
    /// left; the algorithm hears of each packet, and the flow counts timeouts that do not overlap. A packet that left later expires before
    /// an older one that has expired before.
    #[test]
    fn the_timeout_of_a_packet_does_not_lengthen_that_of_another() {
        let told = Told::default();
        let losses = Arc::clone(&told.losses);
        let mut flow = sender_of(4, Box::new(told), SendControl::InWindow);
        let expire = |flow: &mut Flow<PerPacket>, at: Time, sent: u32| {
            assert_eq!(flow.arm_timer(), Some(at));
            flow.on_timer(at);
            assert_eq!(sends(flow, at), [sent]);
            std::mem::take(&mut *losses.lock().expect("one thread"))
                .into_iter()
                .map(|loss| loss.repeated)
                .collect::<Vec<_>>()
        };
        let ms = Time::from_millis;
        assert_eq!([sends(&mut flow, US(0)), sends(&mut flow, US(1))], [[0], [1]]);
        assert_eq!(expire(&mut flow, ms(10), 0), [false]);
        assert_eq!(expire(&mut flow, ms(10) + US(1), 1), [false]);
        assert_eq!((flow.common.repairs.timeouts, flow.common.repairs.retransmits), (1, 2));
        // Packet 1 arrives, and packet 2 leaves.
        flow.hear(ms(15), &Header::PulledAck(answer(1, ms(10) + US(1), 0)), 0);
        assert_eq!(sends(&mut flow, ms(15)), [2]);
        assert_eq!(expire(&mut flow, ms(25), 2), [false]);
        assert_eq!(expire(&mut flow, ms(30), 0), [true]);
        assert_eq!((flow.common.repairs.timeouts, flow.common.repairs.retransmits), (2, 4));
        assert_eq!(expire(&mut flow, ms(45), 2), [true]);
        assert_eq!(expire(&mut flow, ms(70), 0), [true]);
    }

    /// The timer of 10 ms serves the first packet. When that one is answered, trimmed or returned, the next one is due at 11 ms.
    #[test]
    fn a_pending_timer_serves_a_packet_whose_elder_is_answered() {
        let answers = [
            Header::PulledAck(answer(0, US(0), 1)),
            Header::PulledNack(answer(0, US(0), 1)),
            Header::PulledData(PulledData { sent: US(0), seq: 0, target: 0 }),
        ];
        for first in answers {
            let mut flow = new_sender(9);
            assert_eq!(sends(&mut flow, US(0)), [0, 1]);
            assert_eq!(flow.arm_timer(), Some(Time::from_millis(10)));
            flow.hear(US(900), &first, 0);
            flow.hear(US(999), &Header::PulledAck(answer(1, US(0), 2)), 0);
            assert_eq!(sends(&mut flow, US(1000)).len(), 2);
            assert!(flow.reliability.is_armed());
            assert_eq!(flow.arm_timer(), None);
            flow.on_timer(Time::from_millis(10));
            assert_eq!((flow.common.repairs.timeouts, flow.arm_timer()), (0, Some(Time::from_millis(11))));
            flow.on_timer(Time::from_millis(11));
            assert_eq!((flow.common.repairs.timeouts, sends(&mut flow, Time::from_millis(11)).len()), (1, 2));
        }
    }

    /// 10,000 packets are sent and answered in 10 ms, one after the other. The bound is twice the two packets in flight and 64 more.
    #[test]
    fn the_list_of_departures_is_short_while_a_timer_is_pending() {
        let mut flow = new_sender(20_000);
        sends(&mut flow, US(0));
        flow.arm_timer();
        let mut longest = 0;
        for seq in 0..10_000 {
            let now = Time::from_nanos(u64::from(seq));
            let sent = flow.reliability.ledger.known(seq).left;
            flow.hear(now, &Header::PulledAck(answer(seq, sent, u64::from(seq) + 1)), 0);
            assert_eq!((sends(&mut flow, now).len(), flow.arm_timer()), (1, None));
            longest = longest.max(flow.reliability.departures.len());
        }
        assert!((64..=68).contains(&longest), "{longest}");
    }

    /// Two senders see the same random sends, answers, trims, returned headers and losses. One of them looks for its first packet to expire
    /// each time.
    #[test]
    fn a_pending_timer_changes_no_deadline() {
        let rules = Multipath {
            values: 8,
            spares: 0,
            min_active: 4,
            bad_after: Some(2),
            value_probe: None,
            silence: Some(US(700)),
            reordering: Some(US(300)),
            port_status: true,
        };
        let grants = Grants { rate: 0.5, pull: 4.0, quantum: Bytes(256) };
        let kinds = [
            (SendControl::InWindow, None, None),
            (SendControl::OnPulls, None, None),
            (SendControl::OnPulls, Some(grants), None),
            (SendControl::InWindow, None, Some(rules)),
        ];
        let host = Network::bare().host;
        for (kind, (leave, grants, multipath)) in kinds.into_iter().enumerate() {
            let make = || {
                let config = SenderConfig::sample(&host, (3000, MSS), Box::new(Told::default()));
                flow_of(SenderConfig { first_timeout: US(900), grants, multipath, ..config }, leave)
            };
            let (mut flow, mut looks) = (make(), make());
            let (mut draws, mut now, mut pulled) = (Rng::new(9, kind as u64), Time::ZERO, 0);
            let (mut sent, mut timers, mut skipped) = (Vec::new(), BTreeSet::new(), 0);
            for step in 0..3000 {
                let next = now + US(draws.bits() % 40);
                let timer = timers.first().copied().filter(|&timer| timer <= next);
                now = timer.unwrap_or(next);
                if timer.is_some() {
                    timers.pop_first();
                    flow.on_timer(now);
                    looks.on_timer(now);
                } else if !sent.is_empty() {
                    let (at, seq) = sent.swap_remove(draws.bits() as usize % sent.len());
                    pulled += 1 + u64::from(grants.is_some()) * 1500;
                    let answer = answer(seq, at, pulled);
                    let header = match draws.bits() % 8 {
                        0..5 => Some(Header::PulledAck(answer)),
                        5 => Some(Header::PulledNack(answer)),
                        6 => Some(Header::PulledData(PulledData { sent: at, seq, target: 0 })),
                        _ => None,
                    };
                    if let Some(header) = header {
                        flow.hear(now, &header, 0);
                        looks.hear(now, &header, 0);
                    }
                }
                let left = sends(&mut flow, now);
                assert_eq!(sends(&mut looks, now), left, "kind {kind}, step {step}");
                sent.extend(left.into_iter().map(|seq| (now, seq)));
                looks.reliability.earliest_expiry = Time::ZERO;
                skipped += u32::from(flow.reliability.is_armed());
                let deadline = flow.arm_timer();
                assert_eq!(deadline, looks.arm_timer(), "kind {kind}, step {step}");
                timers.extend(deadline.map(|deadline| deadline.max(now)));
            }
            assert_eq!(
                (flow.common.repairs.timeouts, flow.common.repairs.retransmits),
                (looks.common.repairs.timeouts, looks.common.repairs.retransmits)
            );
            assert!(
                skipped > 500 && flow.common.repairs.timeouts > 10 && flow.common.position.unacked > 50,
                "{kind}: {skipped}"
            );
        }
    }

    /// Window of two packets, and what its flow has told it.
    #[derive(Clone, Debug, Default)]
    struct Told {
        acks: Arc<Mutex<Vec<Ack>>>,
        losses: Arc<Mutex<Vec<Loss>>>,
    }

    impl Sender for Told {
        fn on_ack(&mut self, _now: Time, ack: &Ack) {
            self.acks.lock().expect("one thread").push(*ack);
        }

        fn on_loss(&mut self, _now: Time, loss: &Loss) {
            self.losses.lock().expect("one thread").push(*loss);
        }

        fn decision(&self) -> Decision {
            Decision { window: MSS * 2, pace: Some(Rate::from_gbps(12)), wake: None }
        }
    }

    /// Frames of 1500 B at 12 Gbps leave every microsecond, while fewer than two are in flight.
    #[test]
    fn a_window_and_a_pace_let_packets_leave_without_pulls() {
        let mut flow = sender_of(4, Box::new(Told::default()), SendControl::InWindow);
        assert_eq!(sends(&mut flow, US(0)), [0]);
        assert_eq!(flow.readiness(US(0)), Readiness::At(US(1)));
        assert_eq!(sends(&mut flow, US(1)), [1]);
        assert_eq!(flow.readiness(US(5)), Readiness::Blocked(BlockedBy::Window(MSS)));
        // Out of order: the first packet is still in flight.
        flow.hear(US(11), &Header::PulledAck(answer(1, US(1), 0)), 0);
        assert_eq!(sends(&mut flow, US(11)), [2]);
        // A trimmed packet leaves before new ones.
        flow.hear(US(12), &Header::PulledNack(answer(0, US(0), 0)), 0);
        assert_eq!(sends(&mut flow, US(12)), [0]);
    }

    #[test]
    fn the_algorithm_hears_of_marks_entropy_trims_and_lost_bytes() {
        let told = Told::default();
        let (acks, losses) = (Arc::clone(&told.acks), Arc::clone(&told.losses));
        let mut flow = sender_of(3, Box::new(told), SendControl::InWindow);
        sends(&mut flow, US(0));
        sends(&mut flow, US(1));
        flow.readiness(US(2));
        let marked = |answer| PulledAnswer { marked: true, ..answer };
        flow.hear(US(10), &Header::PulledAck(marked(answer(1, US(1), 0))), 7);
        flow.hear(US(11), &Header::PulledNack(marked(answer(0, US(0), 0))), 9);
        // A second answer about the same packet says nothing new.
        flow.hear(US(12), &Header::PulledNack(answer(0, US(0), 0)), 9);
        let told: Vec<_> = acks.lock().expect("one thread").clone();
        let (whole, trimmed) = (told[0], told[1]);
        assert_eq!((whole.acked, whole.marked, whole.trimmed, whole.entropy), (MSS, MSS, Bytes::ZERO, 7));
        assert_eq!((whole.rtt, whole.in_flight, whole.window_limited, whole.recovering), (US(9), MSS, true, false));
        assert_eq!((trimmed.acked, trimmed.marked, trimmed.trimmed, trimmed.entropy), (Bytes::ZERO, MSS, MSS, 9));
        assert_eq!((trimmed.in_flight, trimmed.recovering, told.len()), (Bytes::ZERO, true, 2));
        assert_eq!(sends(&mut flow, US(20)), [0]);
        assert_eq!(sends(&mut flow, US(21)), [2]);
        flow.on_timer(Time::from_millis(10) + US(20));
        let lost: Vec<_> = losses.lock().expect("one thread").clone();
        let timeout = Loss { kind: LossKind::Timeout, in_flight: MSS * 2, lost: MSS, repeated: false };
        assert_eq!(lost, [timeout]);
    }
}
