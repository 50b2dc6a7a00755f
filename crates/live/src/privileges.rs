//! Privileges of this process: what it lacks, and what to do about it.

use std::fs;

use crate::Outcome;

/// Capabilities that the program needs, by number (linux/capability.h).
const NEEDED: [(u32, &str); 6] = [
    (1, "CAP_DAC_OVERRIDE"),
    (12, "CAP_NET_ADMIN"),
    (18, "CAP_SYS_CHROOT"),
    (21, "CAP_SYS_ADMIN"),
    (38, "CAP_PERFMON"),
    (39, "CAP_BPF"),
];
/// The user namespace that a machine starts with has every user.
const EVERY_USER: [&str; 3] = ["0", "0", "4294967295"];

/// What this process lacks; `None` if it may load programs and create namespaces.
pub fn missing() -> Option<String> {
    let uid = rustix::process::geteuid();
    if !uid.is_root() {
        return Some(format!("user {uid} may not: run the command as root, for example with sudo"));
    }
    let lacking: Vec<_> =
        NEEDED.iter().filter(|(number, _)| effective() >> number & 1 == 0).map(|(_, name)| *name).collect();
    if !lacking.is_empty() {
        let lacking = lacking.join(", ");
        return Some(format!("root lacks {lacking} here: add them to the container, or run the command outside"));
    }
    let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    (!users.split_whitespace().eq(EVERY_USER))
        .then(|| "root of a user namespace may not load eBPF programs: run the command outside of it".to_owned())
}

/// An error if this process lacks something.
pub fn require() -> Outcome<()> {
    match missing() {
        Some(lacks) => Err(format!("loading eBPF programs and making network namespaces need root: {lacks}").into()),
        None => Ok(()),
    }
}

/// The effective capabilities.
fn effective() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}
