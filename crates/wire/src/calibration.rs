//! The number of datagrams that this machine carries per second between two threads, which bounds the load of a run.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use shallows_cc::port::Ecn;
use shallows_cc::units::Bytes;
use shallows_sim::{Header, Packet, TcpAck};

use crate::emulation::pair;
use crate::header::{decode, encode};
use crate::mac::Key;
use crate::sys::{BATCH, Inbox, Outbox, Socket, now_ns, precede_others};

/// Datagrams in flight: some batches, less than a socket's buffer of an ordinary user.
const IN_FLIGHT: usize = 3 * BATCH;
/// The longest wait for a datagram.
const WAIT_NS: u64 = 1_000_000;

/// Sends datagrams back and forth for so long, or until `stop`. Returns how many each thread has both received and sent per second.
///
/// # Errors
/// If there are no sockets.
pub fn datagrams_per_s(nanos: u64, stop: &AtomicBool) -> io::Result<f64> {
    let [one, other] = pair()?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let echo = scope.spawn(|| bounce(&other, 0, || over.load(Ordering::Relaxed)));
        let first = scope.spawn(|| {
            let (begun, end) = (now_ns(), now_ns() + nanos);
            let count = bounce(&one, IN_FLIGHT, || now_ns() >= end || stop.load(Ordering::Relaxed));
            over.store(true, Ordering::Relaxed);
            Ok(count? as f64 / ((now_ns() - begun) as f64 / 1e9))
        });
        let per_s = first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        echo.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        per_s
    })
}

/// Sends the first datagrams, and then one for each that comes, at the priority of a run. Returns how many have come.
fn bounce(socket: &Socket, first: usize, ended: impl Fn() -> bool) -> io::Result<u64> {
    precede_others();
    let (key, header) = (Key::new(&[7; 16]), Header::TcpAck(TcpAck::default()));
    let packet = Packet::new(0, Bytes(64), Ecn::NotEct, &header);
    let (mut inbox, mut outbox, mut count) = (Inbox::default(), Outbox::default(), 0);
    (0..first).for_each(|_| encode(&key, &packet, &header, &[], outbox.add(None)));
    outbox.send(socket)?;
    while !ended() {
        socket.wait(WAIT_NS);
        inbox.read(socket)?;
        for datagram in inbox.datagrams() {
            if let Ok(datagram) = decode(&key, datagram.bytes) {
                count += 1;
                encode(&key, &datagram.packet, &datagram.header, &[], outbox.add(None));
            }
        }
        outbox.send(socket)?;
    }
    Ok(count)
}
