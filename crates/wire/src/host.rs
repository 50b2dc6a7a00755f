//! How well a host in user space can follow a credit-based or delay-based algorithm: one credit after the other crosses loopback to a
//! second thread, which checks it and answers with a full frame, or passes it on as a switch would. Every stamp is kept.
//!
//! ```text
//! pacer   due   sent   departed                                returned   taken back
//!           |------|------|                                        |----------|
//! host                        arrived   read   answered ---------->|
//! ```
//!
//! `departed`, `arrived` and `returned` are stamps of the kernel, the others those of the program. Transport and algorithm, some
//! tenths of a microsecond in the simulator, are not part of it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use shallows_cc::port::Ecn;
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{Credit, Header, Packet};

use crate::emulation::pair;
use crate::header::{decode, encode};
use crate::mac::Key;
use crate::sys::{Inbox, Outbox, Received, Socket, now_ns, prioritise_thread, stamp_offset_ns};

/// After so long without a datagram those that are missing are lost.
const SILENCE_NS: u64 = 1_000_000_000;
/// The longest sleep of a thread that does not poll.
const NAP_NS: u64 = 1_000_000;
/// Payload of a UDP datagram in a frame of 1518 bytes.
const FULL: usize = 1472;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Credits that are sent.
    pub count: usize,
    /// Time between two of them, ns.
    pub interval_ns: u64,
    /// Whether the answering thread polls the socket; otherwise it sleeps until a datagram comes.
    pub polls: bool,
    /// Whether it answers with a full frame, as a host; otherwise it passes the credit on, as a switch.
    pub answers: bool,
}

/// Times of one credit, in ns since the first was due; zero for one that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// When it was to be sent.
    pub due: u64,
    /// When the pacer called the kernel.
    pub sent: u64,
    /// When the kernel gave it to the device.
    pub departed: u64,
    /// When the kernel had received it.
    pub arrived: u64,
    /// When the host had read it.
    pub read: u64,
    /// When the host called the kernel with its answer.
    pub answered: u64,
    /// When the kernel had received the answer.
    pub returned: u64,
    /// When the pacer had read it.
    pub taken: u64,
}

/// Sends credits until `stop`, and returns the stamps of each in order. A credit that was lost, or whose answer was, lacks the later ones.
///
/// # Errors
/// An error of the sockets, or no stamps in this kernel.
pub fn measure(question: Question, stop: &AtomicBool) -> io::Result<Vec<Stamps>> {
    let [pacer, host] = pair()?;
    pacer.ask_for_stamps()?;
    pacer.ask_for_send_stamps()?;
    host.ask_for_stamps()?;
    let clock = Clock { origin: now_ns() + NAP_NS, offset: stamp_offset_ns() };
    let key = Key::new(&[7; 16]);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let answering = scope.spawn(|| answer(&host, question, clock, &key, &ended));
        let sent = pace(&pacer, question, clock, &key, stop);
        ended.store(true, Ordering::Relaxed);
        let answered = answering.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let mut all = sent?;
        for (stamps, seen) in all.iter_mut().zip(answered) {
            (stamps.arrived, stamps.read, stamps.answered) = (seen.arrived, seen.read, seen.answered);
        }
        Ok(all)
    })
}

/// Time zero, and how far the kernel's stamps are from the monotonic clock.
#[derive(Clone, Copy)]
struct Clock {
    origin: u64,
    offset: i64,
}

impl Clock {
    fn now(self) -> u64 {
        now_ns().saturating_sub(self.origin)
    }

    fn of_kernel(self, stamp: u64) -> u64 {
        stamp.wrapping_add_signed(-self.offset).saturating_sub(self.origin)
    }
}

/// Sends credits when they are due, by polling the clock, and reads what comes back.
fn pace(socket: &Socket, question: Question, clock: Clock, key: &Key, stop: &AtomicBool) -> io::Result<Vec<Stamps>> {
    prioritise_thread();
    let due = |number: usize| number as u64 * question.interval_ns;
    let mut all: Vec<_> = (0..question.count).map(|number| Stamps { due: due(number), ..Stamps::default() }).collect();
    let (mut inbox, mut outbox) = (Inbox::default(), Outbox::default());
    let (mut next, mut back, mut heard) = (0, 0, clock.now());
    while back < question.count && clock.now() < heard + SILENCE_NS && !stop.load(Ordering::Relaxed) {
        if next < question.count && now_ns() >= clock.origin + due(next) {
            write_credit(next as u64, key, outbox.add(None));
            heard = clock.now();
            all[next].sent = heard;
            outbox.send(socket)?;
            next += 1;
        }
        if inbox.read(socket)? > 0 {
            let taken = clock.now();
            heard = taken;
            for datagram in inbox.datagrams() {
                if let Some(stamps) = number(&datagram, key).and_then(|number| all.get_mut(number)) {
                    stamps.returned = datagram.stamp_ns.map_or(0, |stamp| clock.of_kernel(stamp));
                    stamps.taken = taken;
                    back += 1;
                }
            }
        }
        socket.read_send_stamps(|number, stamp| {
            if let Some(stamps) = all.get_mut(number as usize) {
                stamps.departed = clock.of_kernel(stamp);
            }
        });
    }
    Ok(all)
}

/// Answers credits until the pacer ends.
fn answer(socket: &Socket, question: Question, clock: Clock, key: &Key, ended: &AtomicBool) -> io::Result<Vec<Stamps>> {
    prioritise_thread();
    let mut all = vec![Stamps::default(); question.count];
    let (mut inbox, mut outbox) = (Inbox::default(), Outbox::default());
    while !ended.load(Ordering::Relaxed) {
        if !question.polls {
            socket.wait(NAP_NS);
        }
        inbox.read(socket)?;
        let read = clock.now();
        for datagram in inbox.datagrams() {
            let Some(number) = number(&datagram, key) else { continue };
            let frame = outbox.add(None);
            write_credit(number as u64, key, frame);
            if question.answers {
                frame.resize(FULL, 0);
            }
            let answered = clock.now();
            outbox.send(socket)?;
            let arrived = datagram.stamp_ns.map_or(0, |stamp| clock.of_kernel(stamp));
            if let Some(stamps) = all.get_mut(number) {
                *stamps = Stamps { arrived, read, answered, ..Stamps::default() };
            }
        }
    }
    Ok(all)
}

fn write_credit(number: u64, key: &Key, out: &mut Vec<u8>) {
    let header = Header::Credit(Credit { number, granted_at: Time::ZERO, cumulative: 0 });
    encode(key, &Packet::new(0, Bytes(84), Ecn::NotEct, &header), &header, &[], out);
}

/// The number of a credit, if its code is right.
fn number(datagram: &Received<'_>, key: &Key) -> Option<usize> {
    let mut bytes = datagram.bytes.to_vec();
    match decode(key, &mut bytes).ok()?.header {
        Header::Credit(credit) => Some(credit.number as usize),
        _ => None,
    }
}

/// Gaps between two readings of the clock, ns, of a thread that does nothing else for so long, or until `stop`: what the machine takes
/// away.
#[must_use]
pub fn longest_gaps(nanos: u64, at_least: u64, stop: &AtomicBool) -> Vec<u64> {
    prioritise_thread();
    let end = now_ns() + nanos;
    let (mut gaps, mut before) = (Vec::new(), now_ns());
    while before < end && !stop.load(Ordering::Relaxed) {
        let now = now_ns();
        if now - before >= at_least {
            gaps.push(now - before);
        }
        before = now;
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_a_credit_are_in_order() {
        let question = Question { count: 200, interval_ns: 200_000, polls: false, answers: true };
        let all = measure(question, &AtomicBool::new(false)).expect("loopback has stamps");
        assert_eq!(all.len(), question.count);
        let whole: Vec<_> = all.iter().filter(|stamps| stamps.taken > 0 && stamps.departed > 0).collect();
        assert!(whole.len() >= 190, "{} of 200 came back with all stamps", whole.len());
        for stamps in whole {
            let Stamps { due, sent, departed, arrived, read, answered, returned, taken } = *stamps;
            assert!(due <= sent && read <= answered, "{stamps:?}");
            // The clocks of the kernel's stamps and of the program are aligned to within some tenths of a microsecond.
            let order = [sent, departed, arrived, read, answered, returned, taken];
            assert!(order.windows(2).all(|pair| pair[0] <= pair[1] + 10_000), "{stamps:?}");
        }
    }
}
