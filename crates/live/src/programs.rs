//! The eBPF programs: loading, parameters and attachment.

#![allow(unsafe_code, reason = "tcx is not in libbpf-rs")]

use std::ptr::{self, NonNull};

use libbpf_rs::libbpf_sys;
use libbpf_rs::{AsRawLibbpf, Link, Map, MapCore, MapFlags, MapType, Object, ObjectBuilder, ProgramMut};
use shallows_cc::catalog;
use shallows_cc::parameter::Values;
use shallows_cc::receiver;
use shallows_cc::units::Rate;
use shallows_live::params;
use shallows_sim::{ControlSpec, ReceiverSpec, values};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Outcome;

/// Length of `name` in `struct tcp_congestion_ops` (`TCP_CA_NAME_MAX`), with the NUL that ends it.
const NAME_LENGTH: usize = 16;

/// Fields of `struct settings` in bpf/kernel.h before the algorithm's own parameters.
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
struct Settings {
    name: [u8; NAME_LENGTH],
    sample_ns: u64,
    seed: u64,
    select: u64,
}

/// An algorithm or a receiver that the kernel does not have.
struct Row {
    name: &'static str,
    object: &'static [u8],
    params: fn(&Values) -> Result<Vec<u8>, String>,
}

macro_rules! row {
    ($name:literal, $core:ident) => {
        Row {
            name: $name,
            object: include_bytes!(concat!(env!("OUT_DIR"), "/", stringify!($core), ".bpf.o")),
            params: |values| Ok(params::$core(values)?.as_bytes().to_vec()),
        }
    };
}

static RECEIVERS: &[Row] = &[row!("inigo", inigo_receiver)];

static ROWS: &[Row] = &[row!("dctcp", dctcp), row!("dx", dx), row!("inigo", inigo)];

/// A program that makes chosen connections ask for ECN.
static ASKS_FOR_ECN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ecn.bpf.o"));

/// Algorithms of the kernel's own.
pub const KERNELS_OWN: [&str; 3] = ["reno", "cubic", "bbr"];

/// Programs that see packets at a device, and the map of those that stamp them.
const SEE_PACKETS: [&str; 2] = ["leave", "arrive"];
const STAMPS: &str = "stamps";
/// The map of the links of hosts, by the index of the device.
const LINKS: &str = "links";

/// `struct link` of bpf/stamped.h.
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
struct OwnLink {
    free_ns: u64,
    ps_per_byte: u64,
    lock: u32,
    unused: u32,
}

/// The kernel's name of an attached algorithm.
pub fn attached_name(name: &str) -> String {
    format!("shallows_{name}")
}

/// The kernel's name of an algorithm of a run, its own or ours.
///
/// A name of ours exists once in a kernel, for all namespaces. So it has the number of this process and that of the
/// algorithm in the run, in base 36: at most 5 digits (2^22 processes) and 1 (a run has 4 algorithms of ours with a few
/// parameters each).
pub fn name_in_run(name: &str, number: usize) -> Outcome<String> {
    if ROWS.iter().any(|row| row.name == name) {
        let unique = format!("sh_{name}_{}{}", base_36(std::process::id()), base_36(number as u32));
        return match unique.len() < NAME_LENGTH {
            true => Ok(unique),
            false => {
                Err(format!("cc: expected at most 36 algorithms in a run of the kernel world, not {}", number + 1)
                    .into())
            }
        };
    }
    if KERNELS_OWN.contains(&name) {
        return Ok(name.to_owned());
    }
    let ours: Vec<_> = ROWS.iter().map(|row| row.name).collect();
    Err(format!("cc.name = {name:?}: this world has {}, reno, cubic and bbr", ours.join(", ")).into())
}

/// True if packets of the algorithm are ECN-capable, or its receiver marks them.
pub fn ecn_capable(control: &ControlSpec) -> Outcome<bool> {
    let sender = match catalog::find(&control.name) {
        Some(row) => row.ecn_capable(&values(row.name, row.parameters, &control.parameters)?),
        None => false,
    };
    Ok(sender || control.receiver.as_ref().is_some_and(|receiver| receiver.parameters.get("mark") == Some(&1.0)))
}

fn base_36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).expect("a digit"));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// A loaded algorithm, active while this value lives.
pub struct Loaded {
    links: Vec<Link>,
    pub object: Object,
}

/// The purpose of loading a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Purpose {
    /// Interval between samples of a flow; 0 is never.
    pub sample_ns: u64,
    pub seed: u64,
    /// True if new connections get the algorithm by default.
    pub select: bool,
}

/// Changes that attaching an algorithm or a receiver would make.
#[derive(Clone, Debug)]
pub struct Plan {
    pub name: String,
    /// True for a congestion control.
    pub control: bool,
    /// True if it sees packets at the device.
    pub packets: bool,
    /// True if it stamps packets.
    pub stamps: bool,
}

/// The changes of an algorithm. An error for one that needs no program, or has none.
pub fn plan(control: &ControlSpec) -> Outcome<Plan> {
    let name = &control.name;
    let Some(row) = ROWS.iter().find(|row| row.name == *name) else {
        let ours = ROWS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
        return Err(match KERNELS_OWN.contains(&name.as_str()) {
            true => format!("{name} is the kernel's own: write sysctl net.ipv4.tcp_congestion_control={name}"),
            false => format!("{name} has no program for Linux: expected {ours}"),
        }
        .into());
    };
    let name = attached_name(row.name);
    let plan = row.plan(&name, &row.values(control)?)?;
    Ok(Plan { name, control: true, ..plan })
}

/// The changes of a receiver.
pub fn plan_receiver(receiver: &ReceiverSpec) -> Outcome<Plan> {
    let row = receiver_row(receiver)?;
    let plan = row.plan("", &receiver_values(row, receiver)?)?;
    Ok(Plan { name: format!("{}-receiver", receiver.kind), ..plan })
}

/// Loads an algorithm and registers it under this name; `None` for one of the kernel's own.
pub fn load(control: &ControlSpec, name: &str, purpose: Purpose) -> Outcome<Option<Loaded>> {
    let Some(row) = ROWS.iter().find(|row| row.name == control.name) else { return Ok(None) };
    Ok(Some(row.load(name, &row.values(control)?, purpose)?))
}

/// Loads a program that makes connections ask for ECN, once [`Loaded::choose`] has named their local ports.
pub fn load_ecn() -> Outcome<Loaded> {
    let object = ObjectBuilder::default().open_memory(ASKS_FOR_ECN)?.load()?;
    Ok(Loaded { links: Vec::new(), object })
}

/// Loads a receiver.
pub fn load_receiver(receiver: &ReceiverSpec, purpose: Purpose) -> Outcome<Loaded> {
    let row = receiver_row(receiver)?;
    row.load("", &receiver_values(row, receiver)?, purpose)
}

fn receiver_values(row: &Row, receiver: &ReceiverSpec) -> Outcome<Values> {
    let known = receiver::SUBSTITUTES.iter().find(|known| known.name == row.name).ok_or("a receiver of the table")?;
    Ok(values(row.name, known.parameters, &receiver.parameters)?)
}

fn receiver_row(receiver: &ReceiverSpec) -> Outcome<&'static Row> {
    let unknown = || format!("receiver = {:?}: this world has inigo", receiver.kind);
    Ok(RECEIVERS.iter().find(|row| row.name == receiver.kind).ok_or_else(unknown)?)
}

impl Row {
    /// The values of the parameters of an algorithm.
    fn values(&self, control: &ControlSpec) -> Outcome<Values> {
        let catalogued = catalog::find(self.name).ok_or("an algorithm of the catalog")?;
        Ok(values(self.name, catalogued.parameters, &control.parameters)?)
    }

    /// The changes, without a name, from programs that the kernel has accepted with these values: it refuses what [`Self::load`] does.
    fn plan(&self, name: &str, values: &Values) -> Outcome<Plan> {
        let object = self.prepare(name, values, Purpose { select: true, ..Purpose::default() })?;
        let packets = object.progs().any(|program| SEE_PACKETS.iter().any(|seen| program.name() == *seen));
        let stamps = object.maps().any(|map| map.name() == STAMPS);
        Ok(Plan { name: String::new(), control: false, packets, stamps })
    }

    fn load(&self, name: &str, values: &Values, purpose: Purpose) -> Outcome<Loaded> {
        let mut object = self.prepare(name, values, purpose)?;
        let mut links = Vec::new();
        for mut map in object.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
            links.push(map.attach_struct_ops().map_err(|error| taken(name, &error))?);
        }
        Ok(Loaded { links, object })
    }

    /// The programs in the kernel, with these values, not attached to anything.
    fn prepare(&self, name: &str, values: &Values, purpose: Purpose) -> Outcome<Object> {
        let Purpose { sample_ns, seed, select } = purpose;
        let mut padded = [0; NAME_LENGTH];
        padded[..name.len()].copy_from_slice(name.as_bytes());
        let settings = Settings { name: padded, sample_ns, seed, select: select.into() };
        let constants = [settings.as_bytes(), &(self.params)(values)?].concat();
        let mut open = ObjectBuilder::default().open_memory(self.object)?;
        for mut map in open.maps_mut() {
            if map.name().to_string_lossy().ends_with(".rodata") {
                map.initial_value_mut().ok_or("settings")?[..constants.len()].copy_from_slice(&constants);
            } else if map.map_type() == MapType::StructOps {
                rename(map.initial_value_mut().ok_or("operations")?, &attached_name(self.name), &padded)?;
            }
        }
        Ok(open.load()?)
    }
}

impl Loaded {
    /// Attaches the programs that watch connections to a control group.
    pub fn watch(&mut self, control_group: i32) -> Outcome<()> {
        for program in self.object.progs_mut().filter(|program| program.name() == "connections") {
            self.links.push(program.attach_cgroup(control_group)?);
        }
        Ok(())
    }

    /// The links that keep it active, without the process once they are pinned.
    pub fn into_links(self) -> Vec<Link> {
        self.links
    }

    /// Adds the connections with this local port to those of a receiver, or to those that ask for ECN.
    pub fn choose(&self, port: u16) -> Outcome<()> {
        let map = self.object.maps().find(|map| map.name() == "ports").ok_or("a map of ports")?;
        Ok(map.update(&u32::from(port).to_ne_bytes(), &[0; 4], MapFlags::ANY)?)
    }

    /// Gives the programs that stamp packets the rate of the link behind a device.
    pub fn set_link(&self, interface: u32, rate: Rate) -> Outcome<()> {
        let Some(map) = self.object.maps().find(|map| map.name() == LINKS) else { return Ok(()) };
        let link = OwnLink { ps_per_byte: 8_000_000_000_000 / rate.0.max(1), ..OwnLink::default() };
        Ok(map.update(&interface.to_ne_bytes(), link.as_bytes(), MapFlags::ANY)?)
    }

    /// The ring buffer of acknowledgement samples.
    pub fn samples(&self) -> Option<Map<'_>> {
        self.object.maps().find(|map| map.name() == "samples")
    }

    /// Attaches the programs that see packets to a device of the calling thread's namespace.
    pub fn see(&self, interface: i32) -> Outcome<Vec<Link>> {
        let mut links = Vec::new();
        for program in self.object.progs_mut().filter(|p| SEE_PACKETS.iter().any(|seen| p.name() == *seen)) {
            links.push(attach_tcx(&program, interface)?);
        }
        Ok(links)
    }
}

/// Replaces the name that `struct tcp_congestion_ops` was compiled with.
fn rename(operations: &mut [u8], compiled: &str, name: &[u8; NAME_LENGTH]) -> Outcome<()> {
    let mut windows = operations.windows(compiled.len());
    let at = windows.position(|window| window == compiled.as_bytes()).ok_or("a name of the operations")?;
    operations[at..at + NAME_LENGTH].copy_from_slice(name);
    Ok(())
}

/// The error of a congestion control that the kernel did not register.
fn taken(name: &str, error: &libbpf_rs::Error) -> String {
    match error.kind() {
        libbpf_rs::ErrorKind::AlreadyExists => format!(
            "{name} is known to this kernel already: another container of this machine has attached it, or a connection \
             still uses it; run `shallows live detach` there, and see `ss -ti` and `bpftool struct_ops show`"
        ),
        _ => format!("{name}: {error}"),
    }
}

fn attach_tcx(program: &ProgramMut<'_>, interface: i32) -> Outcome<Link> {
    // SAFETY: the program is loaded; libbpf reads it and the device's number, and gives a link or null.
    let link =
        unsafe { libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), interface, ptr::null()) };
    let error = std::io::Error::last_os_error();
    let link = NonNull::new(link).ok_or_else(|| format!("tcx on device {interface}: {error}"))?;
    // SAFETY: libbpf has just made it, and nobody else has it.
    Ok(unsafe { Link::from_ptr(link) })
}
