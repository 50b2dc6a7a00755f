//! The machine's clock: CLOCK_MONOTONIC, which TCP and eBPF go by too.

#![allow(unsafe_code, reason = "system calls")]

/// Nanoseconds now.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a whole timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Waits until that time.
pub fn sleep_until(nanos: u64) {
    let time = libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the pointer is to a whole timespec; what remains of an interrupted sleep is not asked for.
    while unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const time, std::ptr::null_mut())
    } == libc::EINTR
    {}
}

/// Asks for this process, and the threads it starts later, to go before ordinary ones: an application that waits for
/// a processor while it holds its socket keeps acknowledgements waiting too. Where the kernel shares processors among
/// sessions first (autogroup), niceness counts only within one: so it gets its own, which goes before the others.
pub fn hurry() {
    // SAFETY: no pointers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    // SAFETY: as above. Where this fails, the session is someone else's, and stays as it is.
    if unsafe { libc::setsid() } > 0 {
        let _ = std::fs::write("/proc/self/autogroup", "-20");
    }
}
