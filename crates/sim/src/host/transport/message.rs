//! Data of a flow, divided into packets that are numbered from zero. All but the last are full.

use shallows_cc::units::Bytes;

use crate::host::transport::status::BlockedBy;
use crate::spec::network::Supply;

/// Number of packets of a flow, and their payloads.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub mss: Bytes,
    last: Bytes,
    /// Sequence number after the last packet.
    pub end: u32,
    /// Sequence number after the last packet that the application has written.
    pub available: u32,
}

impl Message {
    /// Divides `bytes` into packets; [`Bytes::MAX`] has no end.
    pub(crate) fn new(bytes: Bytes, mss: Bytes) -> Self {
        if bytes == Bytes::MAX {
            return Self { mss, last: mss, end: u32::MAX, available: u32::MAX };
        }
        let packets = bytes.0.div_ceil(mss.0);
        let end = packets as u32;
        Self { mss, last: bytes - mss * (packets - 1), end, available: end }
    }

    /// Returns the payload of one packet.
    #[inline]
    pub fn payload(&self, seq: u32) -> Bytes {
        if seq + 1 == self.end { self.last } else { self.mss }
    }

    /// Returns the payload of `packets` packets, of which the last has the number `next - 1`.
    #[inline]
    pub(crate) fn payload_of(&self, packets: u32, next: u32) -> Bytes {
        let full = self.mss * u64::from(packets);
        if next != self.end || packets == 0 { full } else { full - self.mss + self.last }
    }

    /// Ends the message before packet `end`, if that is earlier.
    pub fn truncate(&mut self, end: u32) {
        if end < self.end {
            (self.end, self.last) = (end, self.mss);
        }
        self.available = self.available.min(self.end);
    }

    /// Makes data of the application available. Packets before `begun` remain available because they are being sent.
    pub(crate) fn write(&mut self, supply: Supply, begun: u32) {
        self.available = match supply {
            Supply::First(bytes) => begun.max(bytes.0.div_ceil(self.mss.0).min(u64::from(u32::MAX)) as u32),
            // No packet leaves before it is written, not even the rest of a segment that has begun.
            Supply::Packets(written) => written.min(u64::from(u32::MAX)) as u32,
            Supply::Nothing => begun,
            Supply::Everything => self.end,
        }
        .min(self.end);
    }

    /// Returns true if the application will write more data.
    pub fn app_limited(&self) -> bool {
        self.available < self.end
    }

    /// Returns what a flow waits for that has sent all available data.
    pub(crate) fn blocked_by(&self) -> BlockedBy {
        if self.app_limited() { BlockedBy::Application } else { BlockedBy::Answer }
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

    /// A pause lets the segment end that has begun, a rate does not.
    #[test]
    fn what_is_not_written_is_not_available() {
        let mut message = Message::new(Bytes::MAX, MSS);
        let mut available = |supply| {
            message.write(supply, 8);
            message.available
        };
        let all = [Supply::Nothing, Supply::First(MSS * 3), Supply::Packets(3), Supply::Packets(9)].map(&mut available);
        assert_eq!((all, available(Supply::Everything)), ([8, 8, 3, 9], u32::MAX));
    }

    #[test]
    fn the_last_packet_counts_with_its_own_payload() {
        let mut message = Message::new(Bytes(4 * 1460 + 60), MSS);
        assert_eq!((message.payload_of(2, 4), message.payload_of(2, 5)), (MSS * 2, Bytes(1520)));
        message.truncate(9);
        assert_eq!(message.payload_of(1, 5), Bytes(60));
        message.truncate(3);
        assert_eq!((message.end, message.payload_of(1, 3)), (3, MSS));
    }
}
