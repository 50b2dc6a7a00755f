//! Files of an active attachment, all below one directory: links pinned in a separate eBPF file system, and a record of
//! what was attached and of the device's former setting. A reboot clears both.
//!
//! The links identify the device, whatever its name or network namespace is by then. They are pinned before its setting
//! is changed, and removed after it is restored and the record is gone, so that a kill at any time loses nothing.

use std::fs;
use std::path::{Path, PathBuf};

use libbpf_rs::Link;
use libbpf_rs::query::LinkTypeInfo;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde::{Deserialize, Serialize};

use crate::control_group::ControlGroup;
use crate::device::Device;
use crate::lockdir::LockDir;
use crate::{Outcome, clock, namespaces};

const PLACE: &str = "/run/shallows-live";
/// Mount point of the pinned links.
pub const PINS: &str = "/run/shallows-live/links";
const RECORD: &str = "/run/shallows-live/record.json";
const UNFINISHED: &str = "/run/shallows-live/record.unfinished";
/// Created last and removed first: marks a complete attachment.
const COMPLETE: &str = "/run/shallows-live/complete";
/// `gso_max_segs` while packets are stamped: a timestamp belongs to a packet, not to a burst.
pub const STAMPED_SEGMENTS: u32 = 1;
/// The longest time in which the kernel frees an unused link.
const FREED_WITHIN_NS: u64 = 2_000_000_000;
const TICK_NS: u64 = 5_000_000;

/// Record of an attachment.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// Congestion controls and receivers.
    pub names: Vec<String>,
    /// The device before the attachment.
    pub device: Device,
    /// The number of its network namespace.
    pub namespace: u64,
    /// The directory of the control group; `None` for the whole host.
    pub control_group: Option<PathBuf>,
    /// True if packets are stamped, which changes the device's setting.
    pub stamps: bool,
}

impl Record {
    /// Reads the record of an attachment, complete or not; `None` if there is none.
    pub fn read() -> Outcome<Option<Self>> {
        match fs::read(RECORD) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text).map_err(|error| format!("{RECORD}: {error}"))?)),
            Err(_) => Ok(None),
        }
    }

    /// Writes the record atomically.
    pub fn write(&self) -> Outcome<()> {
        fs::write(UNFINISHED, serde_json::to_vec(self)?)?;
        Ok(fs::rename(UNFINISHED, RECORD)?)
    }
}

/// Locks the directory of the attachment until the value is dropped.
pub fn hold() -> Outcome<LockDir> {
    namespaces::enter_first_mounts()?;
    LockDir::make(Path::new(PLACE))?.ok_or_else(|| format!("another command is at work in {PLACE}").into())
}

/// True if there is a complete attachment.
pub fn complete() -> bool {
    Path::new(COMPLETE).exists()
}

/// Marks the attachment as complete.
pub fn completed() -> Outcome<()> {
    Ok(fs::write(COMPLETE, "")?)
}

/// Mounts the file system of the pinned links.
pub fn mount_pins() -> Outcome<()> {
    fs::create_dir_all(PINS)?;
    // Anybody could pin objects in a bpffs of the default mode, 1777, and keep it from being unmounted.
    mount("shallows", PINS, "bpf", MountFlags::empty(), Some(c"mode=0700"))
        .map_err(|error| format!("{PINS}: {error}").into())
}

/// The pinned links with their paths, without the file system's own debugging files.
pub fn links() -> Vec<(PathBuf, Link)> {
    let paths = fs::read_dir(PINS).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = paths.filter(|path| path.extension().is_none_or(|extension| extension != "debug"));
    ours.filter_map(|path| Link::open(&path).ok().map(|link| (path, link))).collect()
}

/// An error if the attachment acts on connections of this control group too: it would change what a run measures.
pub fn refuse_above(group: &ControlGroup) -> Outcome<()> {
    let watching = group.watching()?;
    let ours = links().into_iter().map(|(_, link)| Ok(link.info()?.prog_id)).collect::<Outcome<Vec<_>>>()?;
    if !ours.iter().any(|program| watching.contains(program)) {
        return Ok(());
    }
    let names = Record::read()?.map(|record| record.names.join(", ")).unwrap_or_default();
    Err(format!(
        "{names} is attached to all connections of this host, those of a run too: run `shallows live detach`, or attach \
         it to a control group with --cgroup"
    )
    .into())
}

/// Number of a link.
pub fn number(link: &Link) -> Outcome<u32> {
    Ok(link.info()?.id)
}

/// Place of the device of an attachment.
pub enum Whereabouts {
    /// In the network namespace of the calling thread.
    Here(Device),
    /// It no longer exists.
    Gone,
    /// In a network namespace that no process is in.
    Hidden { index: u32 },
    /// No link is attached to a device.
    Unknown,
}

/// Finds the device that the pinned links are attached to, and leaves the calling thread in its network namespace.
pub fn find_device() -> Outcome<Whereabouts> {
    for (_, link) in links() {
        let info = link.info()?;
        if let LinkTypeInfo::Tcx(tcx) = info.info {
            return Ok(match tcx.ifindex {
                0 => Whereabouts::Gone,
                index => Device::with_link(index, info.id)?.map_or(Whereabouts::Hidden { index }, Whereabouts::Here),
            });
        }
    }
    Ok(Whereabouts::Unknown)
}

/// Restores the former setting of the device, unless it has been changed since.
pub fn restore() -> Outcome<()> {
    let Some(Record { device: former, stamps: true, namespace, .. }) = Record::read()? else { return Ok(()) };
    match find_device()? {
        Whereabouts::Here(mut device) if device.segments == STAMPED_SEGMENTS => device.set_segments(former.segments),
        Whereabouts::Here(_) | Whereabouts::Gone => Ok(()),
        Whereabouts::Unknown => Err(format!("{}; no remaining link identifies the device", left(&former)).into()),
        Whereabouts::Hidden { index } => Err(format!(
            "{}; its index is {index} now, in a network namespace that no process here is in ({namespace} when it was \
             attached). Nothing was taken off: detach from a process in that namespace, or give the device up with \
             --force",
            left(&former)
        )
        .into()),
    }
}

/// Describes a device whose setting is not restored.
pub fn left(former: &Device) -> String {
    let Device { name, index, segments } = former;
    format!(
        "gso_max_segs of {name} (index {index} when it was attached) is {STAMPED_SEGMENTS} still, and was {segments}"
    )
}

/// Removes everything except the device's setting; returns the number of links. The caller must hold the lock.
pub fn remove() -> Outcome<usize> {
    // The record is removed before the links, because without them it does not identify the device.
    for file in [COMPLETE, RECORD, UNFINISHED] {
        remove_if_there(Path::new(file))?;
    }
    let pinned = links();
    let numbers = pinned.iter().map(|(_, link)| number(link)).collect::<Outcome<Vec<_>>>()?;
    for (path, link) in pinned {
        fs::remove_file(path)?;
        drop(link);
    }
    // On failure nothing was mounted.
    let _ = unmount(PINS, UnmountFlags::DETACH);
    for folder in [PINS, PLACE] {
        remove_if_there(Path::new(folder))?;
    }
    wait_until_freed(&numbers)?;
    Ok(numbers.len())
}

fn remove_if_there(path: &Path) -> Outcome<()> {
    let outcome = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
    match outcome {
        Err(error) if path.exists() => Err(format!("{}: {error}", path.display()).into()),
        _ => Ok(()),
    }
}

fn wait_until_freed(numbers: &[u32]) -> Outcome<()> {
    let end = clock::now() + FREED_WITHIN_NS;
    loop {
        let alive: Vec<_> = libbpf_rs::query::LinkInfoIter::default().map(|info| info.id).collect();
        let Some(number) = numbers.iter().find(|number| alive.contains(number)) else { return Ok(()) };
        if clock::now() > end {
            return Err(format!("link {number} is still active: a process has it open").into());
        }
        clock::sleep_until(clock::now() + TICK_NS);
    }
}

/// Removes the incomplete attachment of a killed command.
pub fn sweep() -> Outcome<()> {
    if !namespaces::in_first_mounts() || complete() {
        return Ok(());
    }
    let Some(_place) = LockDir::abandoned(Path::new(PLACE))? else { return Ok(()) };
    // Another command may have completed it before the lock was taken.
    if !complete() {
        let home = namespaces::own()?;
        let restored = restore();
        namespaces::enter(&home)?;
        restored?;
        remove()?;
    }
    Ok(())
}
