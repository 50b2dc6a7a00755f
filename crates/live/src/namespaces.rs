//! Network and mount namespaces.

#![allow(unsafe_code, reason = "unshare")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

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
    let first = File::open("/proc/1/ns/mnt")?;
    move_into_link_name_space(first.as_fd(), Some(LinkNameSpaceType::Mount))
        .map_err(|error| format!("the mounts of process 1: {error}").into())
}

/// True if this process has the mounts of process 1, as far as it can tell.
pub fn in_first_mounts() -> bool {
    let Ok(first) = fs::read_link("/proc/1/ns/mnt") else { return true };
    fs::read_link("/proc/self/ns/mnt").is_ok_and(|own| own == first)
}
