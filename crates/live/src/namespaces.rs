//! Network and mount namespaces.

#![allow(unsafe_code, reason = "unshare")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::Outcome;

/// The network namespace of the calling thread.
pub fn own() -> Outcome<File> {
    Ok(File::open("/proc/thread-self/ns/net")?)
}

/// The number by which `ls -l /proc/PID/ns/net` names a namespace.
pub fn number(namespace: &File) -> Outcome<u64> {
    Ok(namespace.metadata()?.ino())
}

/// Enters a network namespace.
pub fn enter(namespace: &File) -> Outcome<()> {
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|error| format!("a network namespace: {error}").into())
}

/// Moves the calling thread, and threads that it starts later, into a new network namespace without a name, which ends
/// with its last thread.
pub fn enter_new() -> Outcome<()> {
    // SAFETY: only sharing files would be unsafe, and they stay shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(|error| format!("a network namespace: {error}").into())
}

/// Every network namespace of a thread or a mount, each once, the caller's own first.
pub fn all() -> Outcome<Vec<File>> {
    let mut seen = BTreeSet::new();
    let paths = [PathBuf::from("/proc/thread-self/ns/net")].into_iter().chain(of_threads()).chain(mounted());
    Ok(paths
        .filter_map(|path| File::open(path).ok())
        .filter(|file| file.metadata().is_ok_and(|metadata| seen.insert((metadata.dev(), metadata.ino()))))
        .collect())
}

fn of_threads() -> impl Iterator<Item = PathBuf> {
    let numbered = |folder: PathBuf| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()).map(|entry| entry.path())
    };
    numbered("/proc".into()).flat_map(move |process| numbered(process.join("task"))).map(|path| path.join("ns/net"))
}

/// Mounted as by `ip netns add` and container runtimes.
fn mounted() -> impl Iterator<Item = PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let nets = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let paths = nets.filter(|fields| fields.get(3).is_some_and(|root| root.starts_with("net:")));
    paths.map(|fields| fields[4].into()).collect::<Vec<_>>().into_iter()
}

/// Enters the mount namespace of process 1. `ip netns exec` gives a command its own mounts, with which pinned links
/// would end.
pub fn enter_first_mounts() -> Outcome<()> {
    if in_first_mounts() {
        return Ok(());
    }
    let entered = File::open("/proc/1/ns/mnt")
        .and_then(|first| Ok(move_into_link_name_space(first.as_fd(), Some(LinkNameSpaceType::Mount))?));
    entered.map_err(|error| {
        format!(
            "this command has mounts of its own, which end with it, and those of process 1 cannot be entered ({error}): \
             run it outside of `ip netns exec`, or with nsenter --net=/run/netns/NAME"
        )
        .into()
    })
}

/// True if this process has the mounts of process 1, as far as it can tell.
pub fn in_first_mounts() -> bool {
    let same = |first: Option<PathBuf>, own: Option<PathBuf>| first.is_none() || first == own;
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let root =
        |process: &str| Some(root_mount(&fs::read_to_string(format!("/proc/{process}/mountinfo")).ok()?)?.into());
    // Without the right to trace process 1 only its list of mounts can be read.
    match namespace("1") {
        Some(first) => same(Some(first), namespace("self")),
        None => same(root("1"), root("self")),
    }
}

/// The number of the root mount, in which two mount namespaces differ.
fn root_mount(mounts: &str) -> Option<String> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    fields.filter(|fields| fields.get(4) == Some(&"/")).find_map(|fields| Some((*fields.first()?).to_owned()))
}

/// Mounts the control groups of version 2 for this process, if its mounts have none: `ip netns exec` mounts a bare /sys.
pub fn mount_control_groups() -> Outcome<()> {
    // SAFETY: only sharing files would be unsafe, and they stay shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.map_err(|error| format!("a mount namespace: {error}"))?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    mount("shallows", "/sys/fs/cgroup", "cgroup2", MountFlags::empty(), None)
        .map_err(|error| format!("no cgroup version 2 is mounted, and it cannot be: {error}").into())
}
