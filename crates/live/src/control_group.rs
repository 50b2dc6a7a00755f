//! A control group of the run: sockops programs see the sockets of its processes.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process;

use crate::lockdir::LockDir;
use crate::{Outcome, namespaces};

/// Prefix of its name, before the process number.
const PREFIX: &str = "shallows-run-";

/// A control group that contains this process. Dropping it moves the process back and removes the group.
#[derive(Debug)]
pub struct ControlGroup {
    lock: LockDir,
    came_from: PathBuf,
}

/// Mounts the hierarchy of version 2 if this process has none.
pub fn mounted() -> Outcome<PathBuf> {
    if root().is_none() {
        namespaces::mount_control_groups()?;
    }
    root().ok_or_else(|| "no cgroup version 2 is mounted".into())
}

/// Mount point of the hierarchy of version 2.
pub fn root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let fields = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    mounts.lines().map(fields).find(|f| f.get(2).is_some_and(|kind| kind == "cgroup2")).map(|f| f[1].clone().into())
}

impl ControlGroup {
    /// Creates a group and moves this process into it.
    pub fn enter() -> Outcome<Self> {
        let root = mounted()?;
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let way = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or("");
        let path = root.join(format!("{PREFIX}{}", process::id()));
        let lock = LockDir::make(&path)?.ok_or_else(|| format!("{} is in use", path.display()))?;
        let group = Self { lock, came_from: root.join(way) };
        move_to(&group.lock.path)?;
        Ok(group)
    }

    /// File descriptor for attaching programs.
    pub fn descriptor(&self) -> i32 {
        self.lock.file.as_raw_fd()
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _ = move_to(&self.came_from);
        let _ = fs::remove_dir(&self.lock.path);
    }
}

fn move_to(group: &Path) -> Outcome<()> {
    fs::write(group.join("cgroup.procs"), process::id().to_string())
        .map_err(|error| format!("{}: {error}", group.display()).into())
}

/// Removes groups of killed runs, whose processes may need a moment to end.
pub fn sweep() -> Outcome<()> {
    let Some(root) = root() else { return Ok(()) };
    let Ok(entries) = fs::read_dir(root) else { return Ok(()) };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && LockDir::abandoned(&entry.path())?.is_some() {
            let _ = fs::remove_dir(entry.path());
        }
    }
    Ok(())
}
