//! Checks of what this machine offers, and of what is missing.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::{Outcome, control_group, interface, namespaces, privileges};

/// Prints a line for each requirement; true if all are met.
pub fn check() -> Outcome<bool> {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let lacks = privileges::missing();
    let privileged = lacks.is_none();
    let root = format!("root, to load eBPF programs and make network namespaces; {}", lacks.unwrap_or_default());
    let groups = control_group::mounted();
    let mount = groups.as_ref().map(|root| format!(": {}", root.display())).unwrap_or_default();
    let (tun, needs_tun) = tun();
    let things = [
        ("root", privileged, root.as_str()),
        ("kernel", newer_than(&kernel, 6, 6), "Linux 6.6 or later (links for congestion controls and devices)"),
        ("BTF", Path::new("/sys/kernel/btf/vmlinux").exists(), "/sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)"),
        ("cgroup v2", groups.is_ok(), "a mounted cgroup2 file system"),
        ("TUN", tun, needs_tun.as_str()),
        ("ip", runs("ip"), "the program ip (iproute2)"),
        ("tc", runs("tc"), "the program tc (iproute2)"),
    ];
    say!("kernel {}", kernel.trim());
    for (name, there, needed) in things {
        let detail = if name == "cgroup v2" { mount.as_str() } else { "" };
        report(name, there, needed, detail);
    }
    // Only a privileged process can try it.
    let limits = !privileged || limits_rates();
    if privileged {
        report("TBF", limits, "the queueing discipline tbf (CONFIG_NET_SCH_TBF, module sch_tbf)", "");
    }
    Ok(limits && things.iter().all(|(_, there, _)| *there))
}

fn report(name: &str, there: bool, needed: &str, detail: &str) {
    say!("{:<10} {}", name, if there { format!("yes{detail}") } else { format!("no: needs {needed}") });
}

/// True if the device for TAP interfaces can be opened, and what is needed if not.
fn tun() -> (bool, String) {
    const TUN: &str = "/dev/net/tun";
    let opened = OpenOptions::new().read(true).write(true).open(TUN);
    let needed = match &opened {
        Err(error) if Path::new(TUN).exists() => format!("{TUN} to be readable and writable ({error})"),
        _ => format!("{TUN} (CONFIG_TUN, module tun)"),
    };
    (opened.is_ok(), needed)
}

fn newer_than(release: &str, major: u32, minor: u32) -> bool {
    let mut numbers = release.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

fn runs(program: &str) -> bool {
    Command::new(program).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// True if a device of a new network namespace can have a token bucket.
fn limits_rates() -> bool {
    let tried = || -> Outcome<()> {
        namespaces::enter_new()?;
        interface::batch("tc", "qdisc add dev lo root tbf rate 1mbit burst 10000 limit 10000\n")
    };
    thread::spawn(move || tried().is_ok()).join().unwrap_or(false)
}
