//! An algorithm on a real host: attach it for new connections, show its status, and detach it.
//!
//! Detaching removes the pinned links ([`crate::active`]): the kernel then drops programs, maps and the name. The
//! host's default congestion control never changes, and existing connections keep theirs.

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use shallows_contract::live::Attachment;

use crate::active::{self, PINS, Record, STAMPED_SEGMENTS, Whereabouts};
use crate::device::Device;
use crate::programs::{self, Loaded, Plan, Purpose};
use crate::{Outcome, control_group, namespaces};

/// Attaches an algorithm.
pub fn attach(asked: &Attachment) -> Outcome<bool> {
    if asked.control.is_none() && asked.receiver.is_none() {
        return Err("nothing to attach: name an algorithm, a receiver or both".into());
    }
    if asked.control_group.is_none() && asked.host != Some(true) {
        return Err("whose connections? Name a control group, or ask for the whole host".into());
    }
    let device = Device::named(&asked.interface)?;
    let plans = plans(asked)?;
    let place = active::hold()?;
    if active::complete() {
        return Err(format!("something is attached already ({PINS}): detach it first").into());
    }
    let root = control_group::root().ok_or("no cgroup version 2 is mounted")?;
    let path = asked.control_group.as_ref().map_or(root, PathBuf::from);
    let group = control_group::open(&path)?;
    let record = Record {
        names: plans.iter().map(|plan| plan.name.clone()).collect(),
        namespace: namespaces::number(&namespaces::own()?)?,
        control_group: asked.control_group.as_ref().map(PathBuf::from),
        stamps: plans.iter().any(|plan| plan.stamps),
        device,
    };
    if asked.dry_run == Some(true) {
        describe(&record, &plans);
        active::remove()?;
        return Ok(true);
    }
    let outcome = pin(asked, &record, group.as_raw_fd());
    if outcome.is_err() {
        active::restore()?;
        active::remove()?;
    }
    drop(place);
    outcome
}

fn plans(asked: &Attachment) -> Outcome<Vec<Plan>> {
    let mut plans = Vec::new();
    if let Some(control) = &asked.control {
        plans.push(programs::plan(control)?);
    }
    if let Some(receiver) = &asked.receiver {
        plans.push(programs::plan_receiver(receiver)?);
    }
    Ok(plans)
}

fn describe(record: &Record, plans: &[Plan]) {
    let Record { device, .. } = record;
    say!("nothing is changed; attaching would");
    for Plan { name, packets, control, .. } in plans {
        if *control {
            say!("  make a congestion control {name} known to the kernel");
        }
        say!("  give {name} to new connections of {}", whose(record));
        if *packets {
            say!("  attach two programs of {name} to {} (index {}), at tcx", device.name, device.index);
        }
    }
    if record.stamps {
        let Device { name, segments, .. } = device;
        say!("  set gso_max_segs of {name} from {segments} to {STAMPED_SEGMENTS}, until detached");
        say!("  add 16 bytes of TCP option to every segment of connections that stamp");
    }
    say!("  write it down below {}", Path::new(PINS).parent().unwrap_or(Path::new("/")).display());
}

fn whose(record: &Record) -> String {
    match &record.control_group {
        Some(path) => format!("the control group {}", path.display()),
        None => "the whole host".to_owned(),
    }
}

fn pin(asked: &Attachment, record: &Record, group: i32) -> Outcome<bool> {
    let purpose = Purpose { select: true, ..Purpose::default() };
    let mut all: Vec<Loaded> = Vec::new();
    if let Some(control) = &asked.control {
        all.extend(programs::load(control, &programs::attached_name(&control.name), purpose)?);
    }
    if let Some(receiver) = &asked.receiver {
        all.push(programs::load_receiver(receiver, purpose)?);
    }
    active::mount_pins()?;
    for (loaded, name) in all.iter().zip(&record.names) {
        for (at, mut link) in loaded.see(record.device.index as i32)?.into_iter().enumerate() {
            link.pin(Path::new(PINS).join(format!("{name}-packets-{at}")))?;
        }
    }
    record.write()?;
    if record.stamps {
        record.device.clone().set_segments(STAMPED_SEGMENTS)?;
    }
    for (mut loaded, name) in all.into_iter().zip(&record.names) {
        loaded.watch(group)?;
        for (at, mut link) in loaded.into_links().into_iter().enumerate() {
            link.pin(Path::new(PINS).join(format!("{name}-{at}")))?;
        }
        say!("{name} is in force for new connections of {}; `shallows live detach` takes it off", whose(record));
    }
    active::completed()?;
    Ok(true)
}

/// Detaches the active algorithm. If the device cannot be found, it fails without a change, unless `force` is set.
pub fn detach(give_up_device: bool) -> Outcome<bool> {
    let _place = active::hold()?;
    let record = Record::read()?;
    let lost = match active::restore() {
        Err(error) if !give_up_device => return Err(error),
        outcome => outcome.is_err(),
    };
    match active::remove()? {
        0 => say!("nothing is attached"),
        links => say!("{links} links removed; connections that run keep their congestion control until they end"),
    }
    match record.filter(|_| lost) {
        Some(record) => Err(format!("{}: set it by hand", active::left(&record.device)).into()),
        None => Ok(true),
    }
}

/// Prints what is attached.
pub fn status() -> Outcome<bool> {
    namespaces::enter_first_mounts()?;
    let Some(record) = Record::read()?.filter(|_| active::complete()) else {
        say!("nothing is attached");
        return Ok(true);
    };
    say!("in force    {}", record.names.join(", "));
    say!("for         new connections of {}", whose(&record));
    say!("links       {} below {PINS}", active::links().len());
    let Device { name, index, segments } = &record.device;
    let was = format!("{name} (index {index}, network namespace {})", record.namespace);
    match active::find_device()? {
        Whereabouts::Here(now) => {
            let namespace = namespaces::number(&namespaces::own()?)?;
            say!("device      {} (index {}, network namespace {namespace})", now.name, now.index);
            if (&now.name, now.index, namespace) != (name, *index, record.namespace) {
                say!("attached as {was}");
            }
            let former = if record.stamps { format!(", before it was {segments}") } else { String::new() };
            say!("segments    gso_max_segs {}{former}", now.segments);
        }
        Whereabouts::Gone => say!("device      gone; it was {was}"),
        Whereabouts::Hidden { index } => {
            say!("device      index {index} in a network namespace that no process is in; it was {was}");
        }
        Whereabouts::Unknown => say!("device      {was}, which no program sees the packets of"),
    }
    Ok(true)
}
