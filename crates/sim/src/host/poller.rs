//! Token bucket of a host: data leaves when a loop polls, as much as the link could have sent since the last poll.
//!
//! "At each poll, the number of packets drained is calculated based on the link rate and the elapsed time from the last poll. The upper
//! bound is 10 packets" (Lee et al., IEEE/ACM ToN 25(1), 2017, §III). "We keep a separate queue for each flow": the packets that the
//! window of a flow allows wait in the flow, and the NIC takes them from its flows in turn. Acknowledgements do not wait for a poll.
//! Differs: polls are equally spaced; the paper does not print the time between them.

use shallows_cc::units::Time;

use crate::spec::host::HostSpec;

/// Token bucket of one NIC. Tokens are the time in which the link sends them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poller {
    /// Time between two polls, and the first one.
    every: Time,
    first: Time,
    /// Time to send a full frame.
    frame: Time,
    /// Most tokens, and those left after the newest poll that found data.
    depth: Time,
    tokens: Time,
    polled: Time,
}

impl Poller {
    /// Creates the bucket of a port whose full frames take this time to send; `None` if hosts do not poll. Polls of different ports
    /// begin at different times.
    pub fn new(host: &HostSpec, port: u32, frame: Time) -> Option<Self> {
        // The low bits of the product of the port's number with 2^32 over the golden ratio.
        let part = f64::from(port.wrapping_mul(0x9e37_79b9)) / 4_294_967_296.0;
        let (every, depth) = (host.poll, frame * u64::from(host.batch));
        let first = every.scale(part);
        (every > Time::ZERO).then_some(Self { every, first, frame, depth, tokens: Time::ZERO, polled: Time::ZERO })
    }

    /// Takes the tokens of a full frame at `now` if it is a poll and they are there; otherwise returns the time of the next poll.
    pub(crate) fn take(&mut self, now: Time) -> Result<(), Time> {
        let since = now.saturating_sub(self.first).0 % self.every.0;
        if now < self.first || since > 0 {
            return Err(now.max(self.first) + Time((self.every.0 - since) % self.every.0));
        }
        self.tokens = (self.tokens + (now - self.polled)).min(self.depth);
        self.polled = now;
        if self.tokens < self.frame {
            return Err(now + self.every);
        }
        self.tokens -= self.frame;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::network::Network;

    const FRAME: Time = Time::from_nanos(1_230);

    /// Sends as much as the bucket gives away from `from` to `until`, by time.
    fn sent(poller: &mut Poller, from: Time, until: Time) -> Vec<Time> {
        let (mut now, mut all) = (from, Vec::new());
        while now < until {
            match poller.take(now) {
                Ok(()) => all.push(now),
                Err(next) => now = next,
            }
        }
        all
    }

    fn poller(every: Time) -> Poller {
        let host = HostSpec { poll: every, batch: 10, ..Network::bare().host };
        Poller::new(&host, 1, FRAME).unwrap()
    }

    /// Polls each 6 us find 4.88 frames: four or five. Over 10 ms a link of 1.23 us a frame sends 8130 frames, and the bucket has at most
    /// ten more. At 20 us a poll finds 16.3 frames, and sends ten: 61.5 % of the link.
    #[test]
    fn polls_keep_up_with_the_link_up_to_ten_frames() {
        let end = Time::from_millis(10);
        let times = sent(&mut poller(Time::from_micros(6)), Time::ZERO, end);
        assert!((8110..=8140).contains(&times.len()), "{}", times.len());
        let batches: Vec<_> = times.chunk_by(|a, b| a == b).map(<[Time]>::len).collect();
        assert!(batches[1..].iter().all(|size| (4..=5).contains(size)), "{batches:?}");
        let slow = sent(&mut poller(Time::from_micros(20)), Time::ZERO, end).len();
        assert!((4980..=5000).contains(&slow), "{slow}");
    }

    /// After a pause ten frames leave at the next poll, which is where the grid of polls has it.
    #[test]
    fn a_pause_fills_the_bucket_to_ten_frames() {
        let (mut poller, us) = (poller(Time::from_micros(6)), Time::from_micros);
        let first = sent(&mut poller, us(100), us(113));
        assert_eq!(first.chunk_by(|a, b| a == b).map(<[Time]>::len).collect::<Vec<_>>(), [10, 4]);
        assert_eq!((first[13] - first[0], (first[0] - poller.first).0 % us(6).0), (us(6), 0));
    }
}
