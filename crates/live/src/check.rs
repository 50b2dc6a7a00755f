//! Checks of what this machine offers, and of what is missing.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Outcome, control_group};

/// Prints a line for each requirement; true if all are met.
pub fn check() -> Outcome<bool> {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let things = [
        ("root", root(), "loading eBPF programs and making network namespaces: run as root"),
        ("kernel", newer_than(&kernel, 6, 6), "Linux 6.6 or later (links for congestion controls and devices)"),
        ("BTF", Path::new("/sys/kernel/btf/vmlinux").exists(), "/sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)"),
        ("cgroup v2", control_group::root().is_some(), "a mounted cgroup2 file system"),
        ("TUN", OpenOptions::new().read(true).write(true).open("/dev/net/tun").is_ok(), "/dev/net/tun (CONFIG_TUN)"),
        ("ip", runs("ip", "-V"), "the program ip (iproute2)"),
    ];
    println!("kernel {}", kernel.trim());
    for (name, there, needed) in things {
        println!("{:<10} {}", name, if there { "yes".to_owned() } else { format!("no: needs {needed}") });
    }
    Ok(things.iter().all(|(_, there, _)| *there))
}

/// True for root.
pub fn root() -> bool {
    rustix::process::geteuid().is_root()
}

fn newer_than(release: &str, major: u32, minor: u32) -> bool {
    let mut numbers = release.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

fn runs(program: &str, argument: &str) -> bool {
    Command::new(program).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}
