//! Control datagrams between two ends on real machines: probes of the path, the start, signs of life, and the end.
//!
//! They have the layout of [`crate::header`]: magic byte, a version of their own, kind, zeros, authentication code at bytes 20 to 27,
//! and from byte 36 some numbers of 64 bits.

use crate::header::FIXED;
use crate::mac::Key;

/// The longest base round trip between two ends: the probes of a handshake take less.
pub const MAX_ROUND_TRIP_NS: u64 = 1_000_000_000;
/// The farthest that time zero of a run may be from the present.
const MAX_PAUSE_NS: u64 = 5_000_000_000;
/// The longest one-way delay that a receiver reports: a run lasts a day at most.
const MAX_DELAY_NS: u64 = 86_400_000_000_000;

const MAGIC: [u8; 2] = [0x53, 0x81];
const CODE: std::ops::Range<usize> = 20..28;

/// A control datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The sender measures the path: number of the probe, and when it left by the sender's clock, ns.
    Probe(u64, u64),
    /// The answer: the same, and when the probe arrived and the answer left by the receiver's clock.
    Echo(u64, u64, u64, u64),
    /// The run begins: base round trip, and time zero by the receiver's clock, ns.
    Start(u64, u64),
    /// The receiver is ready.
    Ready,
    /// A sign of life.
    Alive,
    /// The sender has ended.
    End,
    /// The receiver's totals, in answer to the end.
    Totals(Totals),
}

/// What a receiver has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Distinct payload, bytes.
    pub delivered: u64,
    /// Data packets that have come.
    pub packets: u64,
    /// Those of them that were marked.
    pub marked: u64,
    /// Smallest one-way delay of data, ns.
    pub delay_min: u64,
    /// Mean of it.
    pub delay_mean: u64,
    /// Largest of it.
    pub delay_max: u64,
    /// Largest number of packets by which one arrived behind a later one.
    pub reordering: u64,
    /// Rejected datagrams.
    pub rejected: u64,
}

impl Totals {
    /// True if a receiver can have counted this of so many datagrams.
    #[must_use]
    pub fn is_possible(&self, datagrams: u64) -> bool {
        let Self { delivered, packets, marked, delay_min, delay_mean, delay_max, reordering, .. } = *self;
        let counts = [marked, reordering].iter().all(|&count| count <= packets);
        // A datagram has 64 KiB at most.
        let sums = packets <= datagrams && delivered >> 16 <= packets;
        counts && sums && delay_min <= delay_mean && delay_mean <= delay_max && delay_max <= MAX_DELAY_NS
    }
}

impl Control {
    /// The base round trip and time zero of a start that is possible at this time, ns.
    #[must_use]
    pub fn start(&self, now: u64) -> Option<(u64, u64)> {
        match *self {
            Self::Start(round_trip, origin)
                if (1..=MAX_ROUND_TRIP_NS).contains(&round_trip) && now.abs_diff(origin) <= MAX_PAUSE_NS =>
            {
                Some((round_trip, origin))
            }
            _ => None,
        }
    }

    /// Kind and numbers.
    fn parts(&self) -> (u8, Vec<u64>) {
        match *self {
            Self::Probe(number, left) => (1, vec![number, left]),
            Self::Echo(number, left, arrived, answered) => (2, vec![number, left, arrived, answered]),
            Self::Start(round_trip, origin) => (3, vec![round_trip, origin]),
            Self::Ready => (4, vec![]),
            Self::Alive => (5, vec![]),
            Self::End => (6, vec![]),
            Self::Totals(t) => {
                let delays = [t.delay_min, t.delay_mean, t.delay_max];
                (7, [&[t.delivered, t.packets, t.marked][..], &delays, &[t.reordering, t.rejected]].concat())
            }
        }
    }

    /// Writes the datagram into `out`, which is emptied first.
    pub fn encode(&self, key: &Key, out: &mut Vec<u8>) {
        let (kind, numbers) = self.parts();
        out.clear();
        out.extend(MAGIC);
        out.push(kind);
        out.resize(FIXED, 0);
        numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        let code = key.code(out);
        out[CODE].copy_from_slice(&code.to_le_bytes());
    }

    /// Reads a datagram; `None` if it is not one that [`Self::encode`] wrote with this key.
    #[must_use]
    pub fn decode(key: &Key, bytes: &mut [u8]) -> Option<Self> {
        if bytes.len() < FIXED || bytes[..2] != MAGIC {
            return None;
        }
        let code: [u8; 8] = bytes[CODE].try_into().ok()?;
        bytes[CODE].fill(0);
        if key.code(bytes) != u64::from_le_bytes(code) {
            return None;
        }
        let words = bytes[FIXED..].chunks_exact(8);
        let numbers: Vec<_> = words.map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
        Some(match (bytes[2], &numbers[..]) {
            (1, &[number, left]) => Self::Probe(number, left),
            (2, &[number, left, arrived, answered]) => Self::Echo(number, left, arrived, answered),
            (3, &[round_trip, origin]) => Self::Start(round_trip, origin),
            (4, []) => Self::Ready,
            (5, []) => Self::Alive,
            (6, []) => Self::End,
            (7, &[delivered, packets, marked, delay_min, delay_mean, delay_max, reordering, rejected]) => {
                Self::Totals(Totals {
                    delivered,
                    packets,
                    marked,
                    delay_min,
                    delay_mean,
                    delay_max,
                    reordering,
                    rejected,
                })
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_peer_have_ranges() {
        let now = 1_000_000_000_000;
        for (round_trip, origin, possible) in [
            (1, now, true),
            (1_000_000_000, now + 5_000_000_000, true),
            (0, now, false),
            (1_000_000_001, now, false),
            // Times 1000 this is 384 ps modulo 2^64.
            (18_446_744_073_709_552, now, false),
            (1000, now + 5_000_000_001, false),
            (1000, 0, false),
            (1000, u64::MAX, false),
        ] {
            let start = Control::Start(round_trip, origin).start(now);
            assert_eq!(start, possible.then_some((round_trip, origin)));
        }
        assert_eq!(Control::Ready.start(now), None);
        let totals = Totals { delivered: 14_600, packets: 10, marked: 10, delay_max: 7, ..Totals::default() };
        assert!(totals.is_possible(10));
        assert!(!totals.is_possible(9));
        for impossible in [
            Totals { marked: 11, ..totals },
            Totals { reordering: 11, ..totals },
            Totals { delivered: u64::MAX, ..totals },
            Totals { delay_min: 8, ..totals },
            Totals { delay_mean: 8, ..totals },
            Totals { delay_max: u64::MAX, ..totals },
        ] {
            assert!(!impossible.is_possible(10), "{impossible:?}");
        }
    }

    #[test]
    fn a_control_datagram_comes_back_and_a_changed_one_does_not() {
        let key = Key::new(b"an ordinary key.");
        let totals = Totals { delivered: 1, packets: 2, marked: 3, delay_min: 4, ..Totals::default() };
        for one in [Control::Probe(1, 2), Control::Echo(1, 2, 3, 4), Control::Start(4, 5), Control::Totals(totals)] {
            let mut bytes = Vec::new();
            one.encode(&key, &mut bytes);
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                assert_eq!(Control::decode(&key, &mut changed), None, "byte {at}");
            }
            assert_eq!(Control::decode(&key, &mut bytes[..FIXED - 1].to_vec()), None);
            assert_eq!(Control::decode(&key, &mut bytes), Some(one));
        }
    }
}
