//! The machine's clock, CLOCK_MONOTONIC, which TCP and eBPF use too.

use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{Timespec, clock_gettime};

/// Nanoseconds now.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps until this time.
pub fn sleep_until(nanos: u64) {
    while clock_nanosleep_absolute(ClockId::Monotonic, &span(nanos)) == Err(Errno::INTR) {}
}

/// A number of nanoseconds.
pub fn span(nanos: u64) -> Timespec {
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}
