//! Applications of the hosts: a writing and a reading thread for each flow.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;

use shallows_cc::units::Bytes;

use crate::host::{self, Info};
use crate::{Outcome, clock};

const NEVER: u64 = u64::MAX;
/// Read size of a flow without an end.
const CHUNK: i32 = 1 << 16;

/// The start of a flow.
#[derive(Debug)]
pub enum Beginning {
    /// At a time.
    At(u64),
    /// A time after the end of another flow.
    After(Receiver<u64>, u64),
}

impl Beginning {
    /// Waits until the start is known; `None` if the other flow never ends.
    fn time_ns(self) -> Option<u64> {
        match self {
            Self::At(time_ns) => Some(time_ns),
            Self::After(end, pause_ns) => end.recv().ok().map(|end_ns| end_ns + pause_ns),
        }
    }
}

/// A connected flow.
#[derive(Debug)]
pub struct Flow {
    sender: TcpStream,
    receiver: TcpStream,
    /// Payload; [`Bytes::MAX`] is unlimited.
    bytes: Bytes,
    congestion_control: String,
    received: Arc<AtomicU64>,
    by_stop: Arc<AtomicU64>,
    started_ns: Arc<AtomicU64>,
    finished_ns: Arc<AtomicU64>,
}

impl Flow {
    /// Creates a flow between two connected sockets that have this congestion control.
    pub fn new(sender: TcpStream, receiver: TcpStream, bytes: Bytes, congestion_control: &str) -> Self {
        let never = || Arc::new(AtomicU64::new(NEVER));
        let (received, by_stop) = (Arc::default(), Arc::default());
        let congestion_control = congestion_control.to_owned();
        Self {
            sender,
            receiver,
            bytes,
            congestion_control,
            received,
            by_stop,
            started_ns: never(),
            finished_ns: never(),
        }
    }

    /// Starts the flow, stops writing at `stop_ns`, and notifies its dependents at the end.
    pub fn start(&self, beginning: Beginning, stop_ns: u64, waiting: Vec<Sender<u64>>) -> Outcome<()> {
        if self.bytes == Bytes::MAX {
            host::read_in_chunks(&self.receiver, CHUNK)?;
        }
        let (mut sender, mut receiver) = (self.sender.try_clone()?, self.receiver.try_clone()?);
        let (bytes, received, by_stop) = (self.bytes, Arc::clone(&self.received), Arc::clone(&self.by_stop));
        let (started, finished) = (Arc::clone(&self.started_ns), Arc::clone(&self.finished_ns));
        thread::Builder::new().name("write".into()).stack_size(1 << 18).spawn(move || {
            let Some(start_ns) = beginning.time_ns() else { return };
            started.store(start_ns, Ordering::Relaxed);
            clock::sleep_until(start_ns);
            write_all(&mut sender, bytes.0, stop_ns);
            let _ = sender.shutdown(Shutdown::Write);
        })?;
        thread::Builder::new().name("read".into()).stack_size(1 << 19).spawn(move || {
            let mut buffer = vec![0; 1 << 18];
            let mut total = 0;
            while let Ok(length @ 1..) = receiver.read(&mut buffer) {
                total += length as u64;
                received.store(total, Ordering::Relaxed);
                let now = clock::now();
                if now <= stop_ns {
                    by_stop.store(total, Ordering::Relaxed);
                }
                if total == bytes.0 {
                    finished.store(now, Ordering::Relaxed);
                    for follower in &waiting {
                        let _ = follower.send(now);
                    }
                }
            }
        })?;
        Ok(())
    }

    /// Sends some data before the start, which nobody reads.
    pub fn trickle(&self, bytes: &[u8]) -> Outcome<()> {
        Ok((&self.sender).write_all(bytes)?)
    }

    /// Payload bytes that the receiver has read.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Of these, the bytes received before the flow's stop.
    pub fn received_by_stop(&self) -> u64 {
        self.by_stop.load(Ordering::Relaxed)
    }

    /// The start time, once it is known.
    pub fn started_ns(&self) -> Option<u64> {
        Some(self.started_ns.load(Ordering::Relaxed)).filter(|&time| time != NEVER)
    }

    /// The time when the receiver had every byte.
    pub fn finished_ns(&self) -> Option<u64> {
        Some(self.finished_ns.load(Ordering::Relaxed)).filter(|&time| time != NEVER)
    }

    /// True if the flow has no end.
    pub fn endless(&self) -> bool {
        self.bytes == Bytes::MAX
    }

    /// True if the flow has an end and has finished.
    pub fn done(&self) -> bool {
        self.bytes == Bytes::MAX || self.finished_ns().is_some()
    }

    /// Statistics of the sender's kernel.
    pub fn info(&self) -> Info {
        Info::of(self.sender.as_raw_fd())
    }

    /// An error if anything on this host has given the sender another congestion control since it connected.
    pub fn has_its_congestion_control(&self) -> Outcome<()> {
        let now = host::congestion_control(&self.sender)?;
        if now == self.congestion_control {
            return Ok(());
        }
        Err(format!(
            "a flow changed from {} to {now} during the run: a program of this host sets the congestion control of \
             connections; `bpftool cgroup tree` lists such programs (sock_ops)",
            self.congestion_control
        )
        .into())
    }

    /// Ends the flow now.
    pub fn stop(&self) {
        let _ = self.sender.shutdown(Shutdown::Both);
        let _ = self.receiver.shutdown(Shutdown::Both);
    }
}

fn write_all(sender: &mut TcpStream, mut left: u64, stop_ns: u64) {
    let chunk = [0; 1 << 14];
    while left > 0 && clock::now() < stop_ns {
        let length = left.min(chunk.len() as u64) as usize;
        match sender.write(&chunk[..length]) {
            Ok(written @ 1..) => left -= written as u64,
            _ => return,
        }
    }
}
