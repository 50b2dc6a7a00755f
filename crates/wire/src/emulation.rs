//! A run of the wire world on one machine: all hosts in one thread, all switches in another, and UDP over loopback between them.
//!
//! Each thread owns a domain. One turn of its loop reads the datagrams that have come, gives each to the domain, advances the domain
//! to the present, sends what leaves it, and waits for a datagram or the next event. A packet leaves with its planned arrival, and the
//! delay of its link hides how long that took; a packet that comes later is late, and too much lateness rejects the run.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::thread;

use shallows_cc::units::Time;
use shallows_contract::lateness::Lateness;
use shallows_sim::{Answer, Network, RealTimeDomain};

use crate::check::{Rejections, check, check_algorithms};
use crate::header::{MAX_RECORDS, decode, encode};
use crate::mac::Key;
use crate::sys::{Inbox, Outbox, Socket, give_way, now_ns, precede_others, random, thread_ns};

/// Time from the start of the threads to that of the run.
const PAUSE_NS: u64 = 10_000_000;
/// The longest wait, so that a stop is noticed.
const NAP_NS: u64 = 1_000_000;
/// Waits shorter than this are spent polling, because a wake-up takes 30 us. More would take the processor from the other thread
/// where there are two.
const AWAKE_NS: u64 = 10_000;
/// The longest time for which events wait to be executed together.
const MAX_LINGER_NS: u64 = 100_000;
/// Time from the request to stop a run to its end, which no domain has reached by then.
const STOP_AHEAD_NS: u64 = 20_000_000;
/// How long a thread waits at the end for the last datagrams of the other.
const DRAIN_NS: u64 = 200_000_000;

/// What the caller of a run and its threads tell each other.
#[derive(Debug, Default)]
pub struct Progress {
    /// Set by the caller to end the run early.
    pub stop: AtomicBool,
    /// Simulated time, ps.
    pub now_ps: AtomicU64,
    /// Packets received over one link.
    pub hops: AtomicU64,
    /// Limited flows that have finished.
    pub finished: AtomicU64,
    /// The kernel's numbers of the threads that precede others; 0: none.
    preceding: [AtomicI32; 2],
}

impl Progress {
    /// Takes its priority from each thread: it goes on without an end in sight, and others must be able to stop it.
    pub fn step_back(&self) {
        let threads = self.preceding.iter().map(|thread| thread.load(Ordering::Acquire));
        threads.filter(|&thread| thread != 0).for_each(give_way);
    }
}

/// A run that has ended.
#[derive(Debug)]
pub struct Outcome {
    /// The answer of the packet world for what has happened.
    pub answer: Answer,
    /// Lateness of packets at both domains.
    pub lateness: Lateness,
    /// Datagrams that have been sent.
    pub datagrams: u64,
    /// Datagrams that the kernel has dropped, or that one end has rejected.
    pub lost: u64,
    /// Processor time of the hosts' thread and of the switches', ns.
    pub processor_ns: [u64; 2],
}

/// Runs a network to its end, or until a stop is requested.
///
/// # Errors
/// A sentence about an invalid network, or one that this world does not support, or about sockets.
///
/// # Panics
/// If an invariant of the simulator is broken.
pub fn run(network: Network, progress: &Progress) -> Result<Outcome, String> {
    check_algorithms(&network)?;
    if network.nodes as usize > MAX_RECORDS && network.controls.iter().any(|control| control.asks_for_records()) {
        let hops = longest_path(&network)?;
        if hops > MAX_RECORDS {
            return Err(format!(
                "topology: a path of {hops} hops, but a datagram has room for {MAX_RECORDS} INT records"
            ));
        }
    }
    let of: Vec<_> = (0..network.nodes).map(|node| u32::from(node >= network.hosts)).collect();
    let parts = RealTimeDomain::divide(network, &of)?;
    let [hosts, switches] =
        <[_; 2]>::try_from(parts).map_err(|_| "topology: expected hosts and switches".to_owned())?;
    let sockets = pair().map_err(|error| format!("sockets: {error}"))?;
    let mut bytes = [0; 16];
    random(&mut bytes).map_err(|error| format!("random numbers: {error}"))?;
    let shared = Shared {
        key: Key::new(&bytes),
        origin_ns: now_ns() + PAUSE_NS,
        end_ps: AtomicU64::new(u64::MAX),
        sent: Default::default(),
        done: Default::default(),
        progress,
    };
    let [one, other] = sockets;
    let sides = thread::scope(|scope| {
        let threads = [(0, hosts, one), (1, switches, other)].map(|(number, domain, socket)| {
            let side = Side::new(number, domain, socket, &shared);
            scope.spawn(move || side.run())
        });
        threads.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let mut lateness = Lateness::default();
    let (mut parts, mut processor_ns, mut taken) = (Vec::new(), [0; 2], 0);
    for side in sides {
        let Side { domain, number, record, received, processor, .. } =
            side.map_err(|error| format!("sockets: {error}"))?;
        parts.push(domain);
        processor_ns[number] = processor;
        taken += received;
        lateness.merge(&record);
    }
    let datagrams: u64 = shared.sent.iter().map(|sent| sent.load(Ordering::Acquire)).sum();
    let answer = RealTimeDomain::finish(parts);
    Ok(Outcome { answer, lateness, datagrams, lost: datagrams - taken, processor_ns })
}

/// The most ports on the path of a flow.
fn longest_path(network: &Network) -> Result<usize, String> {
    let flows: Vec<_> = (0..network.flows.len() as u32).collect();
    let paths = shallows_sim::paths(network, &flows)?;
    Ok(paths.iter().flatten().map(|path| path.ports.len()).max().unwrap_or(0))
}

/// Two sockets on loopback, each of which takes datagrams of the other only.
pub(crate) fn pair() -> io::Result<[Socket; 2]> {
    let loopback = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let sockets = [Socket::bind(loopback)?, Socket::bind(loopback)?];
    sockets[0].connect(sockets[1].address()?)?;
    sockets[1].connect(sockets[0].address()?)?;
    Ok(sockets)
}

/// What both threads know.
struct Shared<'a> {
    key: Key,
    /// Time zero of the run on the monotonic clock.
    origin_ns: u64,
    /// When the run ends early, ps.
    end_ps: AtomicU64,
    /// By side: datagrams sent, and whether it sends no more.
    sent: [AtomicU64; 2],
    done: [AtomicBool; 2],
    progress: &'a Progress,
}

/// One thread.
struct Side<'a> {
    number: usize,
    domain: RealTimeDomain,
    socket: Socket,
    inbox: Inbox,
    outbox: Outbox,
    shared: &'a Shared<'a>,
    /// How long events wait to be executed together.
    linger_ns: u64,
    ends: bool,
    record: Lateness,
    rejections: Rejections,
    received: u64,
    /// When the last turn began.
    turned_ns: u64,
    processor: u64,
}

impl<'a> Side<'a> {
    fn new(number: usize, domain: RealTimeDomain, socket: Socket, shared: &'a Shared<'a>) -> Self {
        Self {
            number,
            // Of the delay that hides the time of a datagram a quarter is spent on waiting for more of them.
            linger_ns: (domain.lookahead().0 / 4000).min(MAX_LINGER_NS),
            domain,
            socket,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            shared,
            ends: false,
            record: Lateness::default(),
            rejections: Rejections::default(),
            received: 0,
            turned_ns: shared.origin_ns,
            processor: 0,
        }
    }

    fn run(mut self) -> io::Result<Self> {
        let preceding = &self.shared.progress.preceding[self.number];
        preceding.store(precede_others(), Ordering::Release);
        let began = thread_ns();
        while !self.domain.is_over() {
            self.turn()?;
            self.wait();
        }
        self.shared.done[self.number].store(true, Ordering::Release);
        self.drain()?;
        preceding.store(0, Ordering::Release);
        self.processor = thread_ns() - began;
        Ok(self)
    }

    /// The present of the run; zero before its start.
    fn now(&self) -> Time {
        Time::from_nanos(now_ns().saturating_sub(self.shared.origin_ns))
    }

    fn turn(&mut self) -> io::Result<()> {
        self.hear();
        let work = self.read()?;
        let now = self.now();
        self.domain.advance(now);
        let Self { domain, outbox, shared, .. } = self;
        let mut count = 0;
        domain.depart(|_, transit| {
            encode(&shared.key, &transit.packet, &transit.header, &transit.int_stack, outbox.add(None));
            count += 1;
        });
        // The other side may receive a datagram before the call returns.
        self.shared.sent[self.number].fetch_add(count, Ordering::AcqRel);
        self.outbox.send(&self.socket)?;
        self.note_gap(work || count > 0);
        Ok(())
    }

    /// Notices a stop, and tells the caller of the progress.
    fn hear(&mut self) {
        let Shared { end_ps, progress, .. } = self.shared;
        if self.number == 0 {
            let (hops, finished) = self.domain.progress();
            progress.now_ps.store(self.domain.now().0, Ordering::Relaxed);
            progress.hops.store(hops, Ordering::Relaxed);
            progress.finished.store(finished, Ordering::Relaxed);
            if progress.stop.load(Ordering::Relaxed) && end_ps.load(Ordering::Relaxed) == u64::MAX {
                end_ps.store((self.now() + Time::from_nanos(STOP_AHEAD_NS)).0, Ordering::Release);
            }
        }
        let end = end_ps.load(Ordering::Acquire);
        if end < u64::MAX && !self.ends {
            self.ends = true;
            self.domain.end_at(Time(end));
        }
    }

    /// Reads all datagrams that have come, and returns whether there were any.
    fn read(&mut self) -> io::Result<bool> {
        let mut any = false;
        loop {
            let count = self.inbox.read(&self.socket)?;
            any |= count > 0;
            let now = self.now();
            let Self { inbox, domain, shared, record, rejections, received, .. } = self;
            for datagram in inbox.datagrams() {
                match decode(&shared.key, datagram.bytes).and_then(|datagram| check(datagram, now, domain)) {
                    Ok(transit) => {
                        *received += 1;
                        record.deliveries.record(domain.arrive(transit).0 / 1000);
                    }
                    Err(why) => rejections.count(why),
                }
            }
            if count < crate::sys::BATCH {
                return Ok(any);
            }
        }
    }

    /// Records the time since the last turn, if there was work to do.
    fn note_gap(&mut self, work: bool) {
        let now = now_ns();
        let gap = now.saturating_sub(self.turned_ns);
        self.turned_ns = now;
        if work && now > self.shared.origin_ns {
            self.record.longest_gap = self.record.longest_gap.max(gap);
            // A nap may last that long, and a wake-up take some time.
            if gap > 2 * NAP_NS {
                self.record.stalled += gap;
            }
        }
    }

    /// Waits for a datagram, or until shortly before the next events.
    fn wait(&mut self) {
        let next_ns = (self.domain.next().0 / 1000).saturating_add(self.shared.origin_ns);
        let wait = next_ns.saturating_add(self.linger_ns).saturating_sub(now_ns()).min(NAP_NS);
        if wait > AWAKE_NS {
            self.socket.wait(wait - AWAKE_NS);
        }
    }

    /// Takes the last datagrams of the other side, so that both domains together account for every packet.
    fn drain(&mut self) -> io::Result<()> {
        let (other, deadline) = (1 - self.number, now_ns() + DRAIN_NS);
        while now_ns() < deadline {
            self.read()?;
            let sent = self.shared.sent[other].load(Ordering::Acquire);
            if self.shared.done[other].load(Ordering::Acquire) && self.received + self.rejections.total() >= sent {
                break;
            }
            self.socket.wait(NAP_NS);
        }
        Ok(())
    }
}
