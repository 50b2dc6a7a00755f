//! Who goes first on a busy machine.

#![allow(unsafe_code, reason = "scheduling policies")]

use std::num::NonZeroU64;

use rustix::process::{setpriority_process, setsid};
use rustix::thread::set_current_timer_slack;

/// Asks for this process, and the threads it starts later, to go before ordinary ones, and to be woken when they asked
/// for it rather than up to 50 us later. An application that waits for a processor while it holds its socket keeps
/// acknowledgements waiting too. Where the kernel shares processors among sessions first (autogroup), niceness counts
/// only within one: so it gets its own, which goes before the others. What is refused stays as it was, and the record of
/// lateness shows what that did.
pub fn set_priority() {
    let _ = setpriority_process(None, -20);
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    // Where this fails, the session is someone else's, and stays as it is.
    if setsid().is_ok() {
        let _ = std::fs::write("/proc/self/autogroup", "-20");
    }
}

/// Asks the kernel to run the calling thread before all others, 95 of every 100 us (SCHED_DEADLINE). On a machine that is
/// busy it helps; on one with a processor to spare it costs pauses of a tick, in which the kernel settles accounts.
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
