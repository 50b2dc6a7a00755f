//! A control group of our own: sockops programs see the sockets of its processes.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process;

use crate::Outcome;
use crate::held::Held;

/// What ours are called, before the number of their process.
const PREFIX: &str = "shallows-run-";

/// A control group with this process in it; it goes back and the group goes when this is dropped.
#[derive(Debug)]
pub struct ControlGroup {
    held: Held,
    came_from: PathBuf,
}

/// Where the hierarchy of version 2 is mounted.
pub fn root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let fields = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    mounts.lines().map(fields).find(|f| f.get(2).is_some_and(|kind| kind == "cgroup2")).map(|f| f[1].clone().into())
}

impl ControlGroup {
    /// Makes one and moves this process into it.
    pub fn enter() -> Outcome<Self> {
        let root = root().ok_or("no cgroup version 2 is mounted")?;
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let way = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or("");
        let path = root.join(format!("{PREFIX}{}", process::id()));
        let held = Held::make(&path)?.ok_or_else(|| format!("{} is in use", path.display()))?;
        let group = Self { held, came_from: root.join(way) };
        move_to(&group.held.path)?;
        Ok(group)
    }

    /// For attaching programs.
    pub fn descriptor(&self) -> i32 {
        self.held.file.as_raw_fd()
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _ = move_to(&self.came_from);
        let _ = fs::remove_dir(&self.held.path);
    }
}

fn move_to(group: &Path) -> Outcome<()> {
    fs::write(group.join("cgroup.procs"), process::id().to_string())
        .map_err(|error| format!("{}: {error}", group.display()).into())
}

/// Removes those of killed runs; a process that a run had started may be a moment in ending.
pub fn sweep() -> Outcome<()> {
    let Some(root) = root() else { return Ok(()) };
    let Ok(entries) = fs::read_dir(root) else { return Ok(()) };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && Held::abandoned(&entry.path())?.is_some() {
            let _ = fs::remove_dir(entry.path());
        }
    }
    Ok(())
}
