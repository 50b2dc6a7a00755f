//! Differences between one-way delays by timestamps and those of the emulated network. They are caused by the machine,
//! and a delay-based sender takes them for queueing.
//!
//! The TCP option is that of `bpf/stamps.h`. An acknowledgement carries the time when its packet was sent and the time
//! when it arrived, both by timestamps.

use std::collections::{BTreeMap, VecDeque};

use crate::lateness::Delays;

const ETHERNET: usize = 14;
const OPTION: [u8; 4] = [254, 16, 0x53, 0x48];
/// The longest time for which an echo is awaited.
const FORGET_NS: u64 = 1_000_000_000;

/// The words of the option of a frame: its send time, and the packet that it acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// 0: not stamped.
    pub sent: u32,
    /// Send time of the acknowledged packet; 0: none.
    pub echo_sent: u32,
    /// Arrival time of that packet.
    pub echo_arrived: u32,
    /// Addresses and ports, which identify the connection.
    pub connection: (u32, u32, u32),
}

/// Reads the option of an IPv4 frame; `None` if there is none.
#[must_use]
pub fn read(frame: &[u8]) -> Option<Words> {
    let ip = frame.get(ETHERNET..).filter(|ip| ip.len() >= 40)?;
    let tcp = &ip[usize::from(ip[0] & 15) * 4..];
    let options = tcp.get(20..usize::from(*tcp.get(12)? >> 4) * 4)?;
    let mut at = 0;
    while let Some(&kind) = options.get(at) {
        match (kind, options.get(at + 1)) {
            (1, _) => at += 1,
            (254, _) if options.get(at..at + 4) == Some(&OPTION) => {
                let word = |n: usize| Some(u32::from_be_bytes(options.get(at + n..at + n + 4)?.try_into().ok()?));
                let all = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                let connection = (all(&ip[12..]), all(&ip[16..]), all(tcp));
                return Some(Words { sent: word(4)?, echo_sent: word(8)?, echo_arrived: word(12)?, connection });
            }
            (0, _) | (_, None | Some(0 | 1)) => return None,
            (_, Some(&size)) => at += usize::from(size),
        }
    }
    None
}

/// The errors of a sender's timestamps, one round trip at a time.
#[derive(Clone, Debug)]
pub struct Stamps {
    /// Network delays of unacknowledged packets, by send time.
    took: BTreeMap<u32, u64>,
    /// Their delivery times.
    waiting: VecDeque<(u64, u32)>,
    connections: BTreeMap<(u32, u32, u32), Rounds>,
    round_ns: u64,
    /// The mean error of each round: excess of its delays over the network's, minus the least excess.
    pub rounds: Delays,
}

/// The current round of a connection.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    begun_ns: u64,
    sum_ns: u64,
    count: u64,
    least_ns: u64,
}

impl Stamps {
    /// Creates a record with rounds of this length.
    #[must_use]
    pub fn new(round_ns: u64) -> Self {
        let (took, waiting, connections) = Default::default();
        Self { took, waiting, connections, round_ns, rounds: Delays::default() }
    }

    /// Starts the statistics; delays of packets in flight are kept.
    pub fn restart(&mut self) {
        self.rounds = Delays::default();
    }

    /// Records a delivered frame and its network delay.
    pub fn delivered(&mut self, now_ns: u64, frame: &[u8], took_ns: u64) {
        let Some(Words { sent: sent @ 1.., .. }) = read(frame) else { return };
        while let Some(&(since_ns, forgotten)) = self.waiting.front()
            && since_ns + FORGET_NS < now_ns
        {
            self.took.remove(&forgotten);
            self.waiting.pop_front();
        }
        self.took.insert(sent, took_ns);
        self.waiting.push_back((now_ns, sent));
    }

    /// Records a frame sent by a host.
    pub fn left(&mut self, now_ns: u64, frame: &[u8]) {
        let Some(words) = read(frame).filter(|words| words.echo_sent != 0) else { return };
        let Some(took_ns) = self.took.remove(&words.echo_sent) else { return };
        let seen_ns = words.echo_arrived.wrapping_sub(words.echo_sent);
        let off_ns = u64::from(seen_ns).saturating_sub(took_ns);
        let fresh = Rounds { begun_ns: now_ns, sum_ns: 0, count: 0, least_ns: off_ns };
        let round = self.connections.entry(words.connection).or_insert(fresh);
        if now_ns >= round.begun_ns + self.round_ns {
            if let Some(mean_ns) = round.sum_ns.checked_div(round.count) {
                self.rounds.record(mean_ns);
            }
            *round = Rounds { least_ns: round.least_ns, ..fresh };
        }
        round.least_ns = round.least_ns.min(off_ns);
        round.sum_ns += off_ns - round.least_ns;
        round.count += 1;
    }

    /// The variation of timestamps: twice the 90th percentile of the rounds.
    #[must_use]
    pub fn vary_ns(&self) -> Option<u64> {
        (self.rounds.count() > 0).then(|| 2 * self.rounds.quantile(0.9))
    }

    /// The share of its window that a sender cut per round because of delays outside of the network: it reacts to those
    /// above its headroom, in proportion to the round trip.
    #[must_use]
    pub fn given_up(&self, headroom_ns: u64) -> f64 {
        let cut = |off_ns: u64| if off_ns > headroom_ns { off_ns as f64 / self.round_ns as f64 } else { 0.0 };
        self.rounds.mean_of(|off_ns| cut(off_ns).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: u64 = 1_000_000;

    fn frame(sent: u32, echo_sent: u32, echo_arrived: u32) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET + 20];
        frame[ETHERNET] = 0x45;
        let mut tcp = vec![0; 20];
        tcp[12] = 10 << 4;
        tcp.extend([1, 1, 8, 2]);
        tcp.extend(OPTION);
        tcp.extend([sent, echo_sent, echo_arrived].map(u32::to_be_bytes).concat());
        [frame, tcp].concat()
    }

    #[test]
    fn the_option_is_found_behind_others_and_nowhere_else() {
        let words = read(&frame(7, 8, 9)).map(|words| (words.sent, words.echo_sent, words.echo_arrived));
        assert_eq!(words, Some((7, 8, 9)));
        let mut none = frame(7, 8, 9);
        none[ETHERNET + 44] = 253;
        assert_eq!(read(&none), None);
        let mut endless = frame(7, 8, 9);
        endless[ETHERNET + 43] = 0;
        assert_eq!(read(&endless), None);
        assert_eq!(read(&frame(7, 8, 9)[..60]), None);
    }

    /// Packets that the network takes 300 us for, stamped 302 us apart, one of ten 350 us: the mean of a round of ten is
    /// off by 4.8 us more than the least.
    #[test]
    fn what_is_not_the_networks_is_told_by_the_round() {
        let mut stamps = Stamps::new(ROUND);
        for n in 0..200_u64 {
            let (now_ns, sent) = (n * ROUND / 10, (n * ROUND / 10) as u32 | 1);
            let seen = if n % 10 == 5 { 350_000 } else { 302_000 };
            stamps.delivered(now_ns + 300_000, &frame(sent, 0, 0), 300_000);
            stamps.left(now_ns + 400_000, &frame(3, sent, sent + seen));
        }
        assert_eq!(stamps.rounds.count(), 19);
        assert_eq!(stamps.rounds.mean(), 4_800);
        assert_eq!(stamps.given_up(5_200), 0.0);
        assert!((stamps.given_up(1_000) - 0.0048).abs() < 0.000_4, "{}", stamps.given_up(1_000));
    }

    #[test]
    fn an_echo_of_something_else_tells_nothing() {
        let mut stamps = Stamps::new(ROUND);
        stamps.left(0, &frame(3, 17, 99));
        stamps.delivered(0, &frame(0, 0, 0), 5);
        assert_eq!((stamps.rounds.count(), stamps.took.len(), stamps.vary_ns()), (0, 0, None));
    }
}
