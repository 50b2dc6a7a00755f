//! An algorithm on a real host: put in force for new connections, and taken off again.
//!
//! What is in force is pinned in an eBPF file system of our own, beside it the device's former setting; a reboot clears
//! both. Taking it off is unmounting: the kernel then drops links, programs, maps and the name. The host's default
//! congestion control stays what it is throughout, and connections that run keep theirs.
//!
//! Killed halfway, either leaves a place without [`COMPLETE`] whose lock nobody has; every command starts by clearing that.

#![allow(unsafe_code, reason = "system calls")]

use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::{io, ptr};

use crate::held::Held;
use crate::interface;
use crate::programs::{self, Purpose};
use crate::request::Attachment;
use crate::{Outcome, control_group};

/// All that an attachment leaves in the file system.
const PLACE: &str = "/run/shallows-live";
/// Where links are pinned.
const PINS: &str = "/run/shallows-live/links";
/// Where the former settings of devices are written down.
const FORMER: &str = "/run/shallows-live/former";
/// Made last and removed first: with it an attachment is whole.
const COMPLETE: &str = "/run/shallows-live/complete";
/// A stamp belongs to a packet, not to a burst: segments a buffer, while stamps are taken.
const SEGMENTS: &str = "gso_max_segs";

/// Puts an algorithm in force.
pub fn attach(told: &Attachment) -> Outcome<bool> {
    if told.control.is_none() && told.receiver.is_none() {
        return Err("nothing to attach: name an algorithm, a receiver or both".into());
    }
    let number = interface::index(&told.interface);
    if number == 0 {
        return Err(format!("no network device {:?} here", told.interface).into());
    }
    let group = match &told.control_group {
        Some(path) => PathBuf::from(path),
        None => control_group::root().ok_or("no cgroup version 2 is mounted")?,
    };
    let group = File::open(&group).map_err(|error| format!("{}: {error}", group.display()))?;
    let _place = hold()?;
    if Path::new(COMPLETE).exists() {
        return Err(format!("something is attached already ({PINS}): detach it first").into());
    }
    let outcome = pin(told, number, group.as_raw_fd());
    if outcome.is_err() {
        clear()?;
    }
    outcome
}

fn hold() -> Outcome<Held> {
    Held::make(Path::new(PLACE))?.ok_or_else(|| format!("another command is at work in {PLACE}").into())
}

fn pin(told: &Attachment, number: i32, group: i32) -> Outcome<bool> {
    let purpose = Purpose { select: true, ..Purpose::default() };
    let mut all = Vec::new();
    if let Some(control) = &told.control {
        let own = || format!("{} is the kernel's own: use sysctl", control.name);
        all.push((control.name.clone(), programs::load(control, purpose)?.ok_or_else(own)?));
    }
    if let Some(receiver) = &told.receiver {
        all.push((format!("{}-receiver", receiver.kind), programs::load_receiver(receiver, purpose)?));
    }
    mount_pins()?;
    if all.iter().any(|(_, loaded)| loaded.stamps()) {
        remember(&told.interface)?;
        interface::ip(&format!("link set dev {} {SEGMENTS} 1\n", told.interface))?;
    }
    for (name, mut loaded) in all {
        let seen = loaded.see(number)?;
        loaded.watch(group)?;
        for (at, mut link) in loaded.into_links().into_iter().chain(seen).enumerate() {
            link.pin(Path::new(PINS).join(format!("{name}-{at}")))?;
        }
        println!("{name} is in force for new connections; `shallows live detach` takes it off");
    }
    fs::write(COMPLETE, "")?;
    Ok(true)
}

/// Writes a device's setting down before it is changed.
fn remember(interface: &str) -> Outcome<()> {
    let former = interface::detail(interface, SEGMENTS)?;
    fs::create_dir_all(FORMER)?;
    Ok(fs::write(Path::new(FORMER).join(interface), former)?)
}

/// Takes off whatever is in force.
pub fn detach() -> Outcome<bool> {
    let _place = hold()?;
    let pins = clear()?;
    println!("{pins} links removed; connections that run keep their congestion control until they end");
    Ok(true)
}

/// Clears what a killed command has left halfway.
pub fn sweep() -> Outcome<()> {
    if Path::new(COMPLETE).exists() {
        return Ok(());
    }
    let Some(_place) = Held::abandoned(Path::new(PLACE))? else { return Ok(()) };
    // It may have been completed before it was ours.
    if !Path::new(COMPLETE).exists() {
        clear()?;
    }
    Ok(())
}

/// Removes everything; how many links there were. For whoever has the place.
fn clear() -> Outcome<usize> {
    if Path::new(COMPLETE).exists() {
        fs::remove_file(COMPLETE)?;
    }
    let pins = remove_pins()?;
    restore()?;
    fs::remove_dir(PLACE)?;
    Ok(pins)
}

fn mount_pins() -> Outcome<()> {
    fs::create_dir_all(PINS)?;
    // SAFETY: the strings end with zeros.
    let mounted = unsafe { libc::mount(c"shallows".as_ptr(), path(PINS).as_ptr(), c"bpf".as_ptr(), 0, ptr::null()) };
    if mounted == 0 { Ok(()) } else { Err(format!("{PINS}: {}", io::Error::last_os_error()).into()) }
}

fn remove_pins() -> Outcome<usize> {
    let Ok(entries) = fs::read_dir(PINS) else { return Ok(0) };
    let count = entries.count();
    // SAFETY: the string ends with a zero. Where it fails nothing was mounted.
    unsafe { libc::umount2(path(PINS).as_ptr(), libc::MNT_DETACH) };
    fs::remove_dir(PINS)?;
    Ok(count)
}

fn path(text: &str) -> CString {
    CString::new(text).expect("no zero in it")
}

fn restore() -> Outcome<()> {
    let Ok(entries) = fs::read_dir(FORMER) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A device that has gone needs nothing.
        if interface::index(&name) != 0 {
            interface::ip(&format!("link set dev {name} {SEGMENTS} {}\n", fs::read_to_string(&path)?))?;
        }
        fs::remove_file(&path)?;
    }
    Ok(fs::remove_dir(FORMER)?)
}
