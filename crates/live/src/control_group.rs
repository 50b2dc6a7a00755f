//! A control group of the run: sockops programs see the sockets of its processes.

#![allow(unsafe_code, reason = "the query of programs is not in libbpf-rs")]

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::{process, ptr};

use libbpf_rs::libbpf_sys;
use rustix::fs::fstatfs;

use crate::lockdir::LockDir;
use crate::{Outcome, namespaces};

/// Prefix of its name, before the process number.
const PREFIX: &str = "shallows-run-";

/// The most programs of one type that a control group may have (`BPF_CGROUP_MAX_PROGS`), for each of its levels.
const MOST_PROGRAMS: usize = 64 * 32;

/// `CGROUP2_SUPER_MAGIC` of linux/magic.h: the type of the file system of version 2.
const CGROUP2_SUPER_MAGIC: i64 = 0x6367_7270;

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

/// Opens the folder of a control group of version 2, to which programs can be attached.
pub fn open(path: &Path) -> Outcome<File> {
    let group = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let is_group = fstatfs(&group).is_ok_and(|system| system.f_type == CGROUP2_SUPER_MAGIC);
    if is_group && path.is_dir() {
        return Ok(group);
    }
    let root = root().ok_or("no cgroup version 2 is mounted")?;
    let what = if is_group { "it is a file of a control group" } else { "it is no control group of version 2" };
    let expected = format!("expected the folder of one, which is below {}", root.display());
    Err(format!("{}: {what}: {expected}", path.display()).into())
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

    /// Numbers of the programs that watch connections (sock_ops) of this group, those attached above it included.
    pub fn watching(&self) -> Outcome<Vec<u32>> {
        let mut programs = vec![0; MOST_PROGRAMS];
        let mut count = MOST_PROGRAMS as u32;
        // SAFETY: libbpf fills at most `count` numbers, and sets it to how many there are.
        let status = unsafe {
            libbpf_sys::bpf_prog_query(
                self.descriptor(),
                libbpf_sys::BPF_CGROUP_SOCK_OPS,
                libbpf_sys::BPF_F_QUERY_EFFECTIVE,
                ptr::null_mut(),
                programs.as_mut_ptr(),
                &raw mut count,
            )
        };
        if status != 0 {
            let error = io::Error::from_raw_os_error(-status);
            return Err(format!("programs above {}: {error}", self.lock.path.display()).into());
        }
        programs.truncate(count as usize);
        Ok(programs)
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
