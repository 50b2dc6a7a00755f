//! Scheduling priority on a busy machine.

#![allow(unsafe_code, reason = "scheduling policies")]

use std::num::NonZeroU64;

use rustix::process::{setpriority_process, setsid};
use rustix::thread::set_current_timer_slack;

/// Requests a higher priority than that of ordinary processes, for this process and its later threads, and exact
/// wakeups instead of up to 50 us of slack. An application that waits for a processor while it holds its socket also
/// delays acknowledgements. If the kernel divides processors among sessions first (autogroup), niceness counts only
/// within a session: the process gets a session of its own, which precedes others. Refused requests are ignored; the
/// record of lateness shows their effect.
pub fn set_priority() {
    let _ = setpriority_process(None, -20);
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    // On failure the session belongs to another process, and is not changed.
    if setsid().is_ok() {
        let _ = std::fs::write("/proc/self/autogroup", "-20");
    }
}

/// Requests that the calling thread runs before all others for 95 of every 100 us (SCHED_DEADLINE). This helps on a
/// busy machine; on an idle one it causes pauses of a tick, in which the kernel updates its accounts.
pub fn deadline() {
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_DEADLINE as u32,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: 95_000,
        deadline: 100_000,
        period: 100_000,
    };
    // SAFETY: the structure says how long it is. Refused, the thread stays as it was.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}
