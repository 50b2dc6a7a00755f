//! What an attachment leaves behind, all below one directory: links pinned in an eBPF file system of our own, and a record
//! of what was attached and of the device's former setting. A reboot clears both.
//!
//! The links tell the device, whatever its name or network namespace is by then. They are pinned before its setting is
//! changed and removed after it is back and the record gone: killed anywhere in between, nothing is lost.

use std::fs;
use std::path::{Path, PathBuf};

use libbpf_rs::Link;
use libbpf_rs::query::LinkTypeInfo;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::held::Held;
use crate::{Outcome, clock, namespaces};

const PLACE: &str = "/run/shallows-live";
/// Where links are pinned.
pub const PINS: &str = "/run/shallows-live/links";
const RECORD: &str = "/run/shallows-live/record.json";
const UNFINISHED: &str = "/run/shallows-live/record.unfinished";
/// Made last and removed first: with it an attachment is whole.
const COMPLETE: &str = "/run/shallows-live/complete";
/// A stamp belongs to a packet, not to a burst: `gso_max_segs` while stamps are taken.
pub const STAMPED_SEGMENTS: u32 = 1;
/// How long the kernel may take to free a link that nobody has any more.
const FREED_WITHIN_NS: u64 = 2_000_000_000;
const TICK_NS: u64 = 5_000_000;

/// What was attached, and to what.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// Congestion controls and receivers.
    pub names: Vec<String>,
    /// As it was before.
    pub device: Device,
    /// The number of its network namespace.
    pub namespace: u64,
    /// The directory of the control group whose sockets are meant; absent: the whole host's.
    pub control_group: Option<PathBuf>,
    /// Whether packets are stamped, so that the device's setting was changed.
    pub stamps: bool,
}

impl Record {
    /// Of what is in force, or half in force; nothing where nothing is.
    pub fn read() -> Outcome<Option<Self>> {
        match fs::read(RECORD) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text).map_err(|error| format!("{RECORD}: {error}"))?)),
            Err(_) => Ok(None),
        }
    }

    /// Whole or not at all.
    pub fn write(&self) -> Outcome<()> {
        fs::write(UNFINISHED, serde_json::to_vec(self)?)?;
        Ok(fs::rename(UNFINISHED, RECORD)?)
    }
}

/// Takes the place where attachments are written down, until it is dropped.
pub fn hold() -> Outcome<Held> {
    namespaces::enter_first_mounts()?;
    Held::make(Path::new(PLACE))?.ok_or_else(|| format!("another command is at work in {PLACE}").into())
}

/// Whether something is attached, as a whole.
pub fn complete() -> bool {
    Path::new(COMPLETE).exists()
}

/// From now on it is whole.
pub fn completed() -> Outcome<()> {
    Ok(fs::write(COMPLETE, "")?)
}

/// Mounts what links are pinned in.
pub fn mount_pins() -> Outcome<()> {
    fs::create_dir_all(PINS)?;
    mount("shallows", PINS, "bpf", MountFlags::empty(), None).map_err(|error| format!("{PINS}: {error}").into())
}

/// The links that are pinned, with their paths. The file system has files of its own beside them, for debugging.
pub fn links() -> Vec<(PathBuf, Link)> {
    let paths = fs::read_dir(PINS).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = paths.filter(|path| path.extension().is_none_or(|extension| extension != "debug"));
    ours.filter_map(|path| Link::open(&path).ok().map(|link| (path, link))).collect()
}

/// Number of a link.
pub fn number(link: &Link) -> Outcome<u32> {
    Ok(link.info()?.id)
}

/// Where the device of an attachment is.
pub enum Whereabouts {
    /// In the network namespace that the calling thread now is in.
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

/// Gives the device its former setting back, unless it has been given another since.
pub fn restore() -> Outcome<()> {
    let Some(Record { device: former, stamps: true, namespace, .. }) = Record::read()? else { return Ok(()) };
    match find_device()? {
        Whereabouts::Here(mut device) if device.segments == STAMPED_SEGMENTS => device.set_segments(former.segments),
        Whereabouts::Here(_) | Whereabouts::Gone => Ok(()),
        Whereabouts::Unknown => Err(format!("{}; no link is left that tells where it is", left(&former)).into()),
        Whereabouts::Hidden { index } => Err(format!(
            "{}; its index is {index} now, in a network namespace that no process here is in ({namespace} when it was \
             attached). Nothing was taken off: detach from a process in that namespace, or give the device up with \
             --force",
            left(&former)
        )
        .into()),
    }
}

/// What remains of a device whose setting is not brought back.
pub fn left(former: &Device) -> String {
    let Device { name, index, segments } = former;
    format!(
        "gso_max_segs of {name} (index {index} when it was attached) is {STAMPED_SEGMENTS} still, and was {segments}"
    )
}

/// Removes everything but the device's setting; how many links there were. For whoever has the place.
pub fn remove() -> Outcome<usize> {
    // The record goes before the links: without them it could not tell where the device is.
    for file in [COMPLETE, RECORD, UNFINISHED] {
        remove_if_there(Path::new(file))?;
    }
    let pinned = links();
    let numbers = pinned.iter().map(|(_, link)| number(link)).collect::<Outcome<Vec<_>>>()?;
    for (path, link) in pinned {
        fs::remove_file(path)?;
        drop(link);
    }
    // Where it fails nothing was mounted.
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
            return Err(format!("link {number} is still in force: some process has it open").into());
        }
        clock::sleep_until(clock::now() + TICK_NS);
    }
}

/// Clears what a killed command has left halfway.
pub fn sweep() -> Outcome<()> {
    if !namespaces::in_first_mounts() || complete() {
        return Ok(());
    }
    let Some(_place) = Held::abandoned(Path::new(PLACE))? else { return Ok(()) };
    // It may have been completed before it was ours.
    if !complete() {
        let home = namespaces::own()?;
        let restored = restore();
        namespaces::enter(&home)?;
        restored?;
        remove()?;
    }
    Ok(())
}
