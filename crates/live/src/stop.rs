//! Early end of a run: on SIGINT, SIGTERM and SIGHUP, and when the reader of the answer has closed the pipe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::{Outcome, clock};

/// The longest time of an early end before the process is killed.
const PATIENCE_NS: u64 = 5_000_000_000;

/// A flag that is set to request an early end.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Starts to listen.
    pub fn watch() -> Outcome<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&stop.0))?;
        }
        let reader_gone = stop.clone();
        thread::Builder::new().name("reader".into()).stack_size(1 << 17).spawn(move || {
            if wait_for_reader_to_go() {
                reader_gone.0.store(true, Ordering::Relaxed);
                clock::sleep_until(clock::now() + PATIENCE_NS);
                std::process::exit(2);
            }
        })?;
        Ok(stop)
    }

    /// True if the run should end now.
    pub fn wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns when the reader of standard output has closed the pipe, or when it is no pipe.
fn wait_for_reader_to_go() -> bool {
    let output = io::stdout();
    let mut wanted = [PollFd::new(&output, PollFlags::empty())];
    while let Err(rustix::io::Errno::INTR) = poll(&mut wanted, None) {}
    wanted[0].revents().contains(PollFlags::ERR)
}
