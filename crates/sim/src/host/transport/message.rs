//! What a flow transfers, in packets: numbered from zero, full but the last.

use shallows_cc::units::Bytes;

use crate::spec::network::Supply;

/// How many packets, and how much each carries.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub mss: Bytes,
    last: Bytes,
    /// The number after the last.
    pub end: u32,
    /// The number after the last that has been available.
    pub available: u32,
}

impl Message {
    /// [`Bytes::MAX`] has no end.
    pub fn new(bytes: Bytes, mss: Bytes) -> Self {
        if bytes == Bytes::MAX {
            return Self { mss, last: mss, end: u32::MAX, available: u32::MAX };
        }
        let packets = bytes.0.div_ceil(mss.0);
        let end = packets as u32;
        Self { mss, last: bytes - mss * (packets - 1), end, available: end }
    }

    /// What one packet carries.
    #[inline]
    pub fn payload(&self, seq: u32) -> Bytes {
        if seq + 1 == self.end { self.last } else { self.mss }
    }

    /// What so many packets carry, of which the one before `reached` is the last.
    #[inline]
    pub fn payload_of(&self, packets: u32, reached: u32) -> Bytes {
        let full = self.mss * u64::from(packets);
        if reached != self.end || packets == 0 { full } else { full - self.mss + self.last }
    }

    /// It ends before `end`, if that is earlier.
    pub fn cut(&mut self, end: u32) {
        if end < self.end {
            (self.end, self.last) = (end, self.mss);
        }
        self.available = self.available.min(self.end);
    }

    /// Its application has available so much; at least what comes before `begun`, which is being sent.
    pub fn supply(&mut self, supply: Supply, begun: u32) {
        self.available = match supply {
            Supply::First(bytes) => begun.max(bytes.0.div_ceil(self.mss.0).min(u64::from(u32::MAX)) as u32),
            Supply::Nothing => begun,
            Supply::Everything => self.end,
        }
        .min(self.end);
    }

    /// Whether its application will write more.
    pub fn pauses(&self) -> bool {
        self.available < self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes(1460);

    #[test]
    fn bytes_become_packets() {
        let of = |bytes| {
            let message = Message::new(Bytes(bytes), MSS);
            (message.end, message.payload(message.end - 1))
        };
        assert_eq!([of(1), of(1460), of(1461)], [(1, Bytes(1)), (1, MSS), (2, Bytes(1))]);
    }

    #[test]
    fn the_last_packet_counts_as_what_it_carries() {
        let mut message = Message::new(Bytes(4 * 1460 + 60), MSS);
        assert_eq!((message.payload_of(2, 4), message.payload_of(2, 5)), (MSS * 2, Bytes(1520)));
        message.cut(9);
        assert_eq!(message.payload_of(1, 5), Bytes(60));
        message.cut(3);
        assert_eq!((message.end, message.payload_of(1, 3)), (3, MSS));
    }
}
