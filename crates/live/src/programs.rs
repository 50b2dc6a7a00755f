//! The eBPF programs: loading, parameters, where they are attached.

#![allow(unsafe_code, reason = "tcx is not in libbpf-rs")]

use std::collections::BTreeMap;
use std::ptr::{self, NonNull};

use libbpf_rs::libbpf_sys;
use libbpf_rs::{AsRawLibbpf, Link, Map, MapCore, MapFlags, MapType, Object, ObjectBuilder, ProgramMut};
use shallows_cc::catalog;
use shallows_cc::integer::{dctcp, dx, inigo, inigo_receiver};
use shallows_cc::parameter::{Parameter, Values};
use shallows_cc::receiver;

use crate::Outcome;
use crate::request::{Control, Receiver};

/// `struct settings` of bpf/kernel.h.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Settings {
    sample_ns: u64,
    seed: u64,
    select: u64,
    params: [u64; 4],
}

impl Settings {
    fn bytes(&self) -> Vec<u8> {
        [&[self.sample_ns, self.seed, self.select][..], &self.params]
            .concat()
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect()
    }
}

/// One algorithm, or one receiver, that the kernel does not have.
struct Row {
    name: &'static str,
    object: &'static [u8],
    params: fn(&Values) -> Result<[u64; 4], String>,
}

macro_rules! object {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o"))
    };
}

static RECEIVERS: &[Row] = &[Row {
    name: "inigo",
    object: object!("inigo_receiver"),
    params: |values| {
        let p = inigo_receiver::Params::new(values)?;
        Ok([two(p.threshold, p.g), two(p.sub_window, p.initial), two(p.tick_us, p.mark.into()), 0])
    },
}];

static ROWS: &[Row] = &[
    Row {
        name: "dctcp",
        object: object!("dctcp"),
        params: |values| {
            let params = dctcp::Params::new(values);
            Ok([params.g.into(), params.alpha.into(), params.min_window, 0])
        },
    },
    Row {
        name: "dx",
        object: object!("dx"),
        params: |values| Ok([dx::Params::new(values).headroom_ns.into(), 0, 0, 0]),
    },
    Row {
        name: "inigo",
        object: object!("inigo"),
        params: |values| {
            let p = inigo::Params::new(values)?;
            let slow_start = two(p.samples, p.dilation.into());
            Ok([two(p.threshold, p.g), two(p.alpha, p.least_alpha), two(p.sub_window, p.increase), slow_start])
        },
    },
];

fn two(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// What the kernel calls an algorithm: its own, or ours.
pub fn kernel_name(name: &str) -> Outcome<String> {
    if ROWS.iter().any(|row| row.name == name) {
        return Ok(format!("shallows_{name}"));
    }
    if ["reno", "cubic", "bbr"].contains(&name) {
        return Ok(name.to_owned());
    }
    let ours: Vec<_> = ROWS.iter().map(|row| row.name).collect();
    Err(format!("cc.name = {name:?}: this world has {}, reno, cubic and bbr", ours.join(", ")).into())
}

/// Whether the packets of an algorithm ask to be marked, or its receiver marks them.
pub fn ecn_capable(control: &Control) -> Outcome<bool> {
    let sender = match catalog::find(&control.name) {
        Some(row) => row.ecn_capable(&values(row.parameters, &control.parameters)?),
        None => false,
    };
    Ok(sender || control.receiver.as_ref().is_some_and(|receiver| receiver.parameters.get("mark") == Some(&1.0)))
}

fn values(parameters: &'static [Parameter], told: &BTreeMap<String, f64>) -> Outcome<Values> {
    let mut values = Values::defaults(parameters);
    for (name, &value) in told {
        values.set(name, value)?;
    }
    Ok(values)
}

/// A loaded algorithm, in force while this lives.
pub struct Loaded {
    links: Vec<Link>,
    pub object: Object,
}

/// What a program is loaded for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Purpose {
    /// A flow gives a sample every so often; 0 is never.
    pub sample_ns: u64,
    pub seed: u64,
    /// Whether new connections are given the algorithm without having asked.
    pub select: bool,
}

/// Loads an algorithm and makes it known; nothing where the kernel has it.
pub fn load(control: &Control, purpose: Purpose) -> Outcome<Option<Loaded>> {
    let Some(row) = ROWS.iter().find(|row| row.name == control.name) else { return Ok(None) };
    let catalogued = catalog::find(row.name).ok_or("an algorithm of the catalog")?;
    Ok(Some(row.load(&values(catalogued.parameters, &control.parameters)?, purpose)?))
}

/// Loads a receiver.
pub fn load_receiver(receiver: &Receiver, purpose: Purpose) -> Outcome<Loaded> {
    let unknown = || format!("receiver = {:?}: this world has inigo", receiver.kind);
    let row = RECEIVERS.iter().find(|row| row.name == receiver.kind).ok_or_else(unknown)?;
    let known = receiver::SUBSTITUTES.iter().find(|known| known.name == row.name).ok_or("a receiver of the table")?;
    row.load(&values(known.parameters, &receiver.parameters)?, purpose)
}

impl Row {
    fn load(&self, values: &Values, purpose: Purpose) -> Outcome<Loaded> {
        let Purpose { sample_ns, seed, select } = purpose;
        let settings = Settings { sample_ns, seed, select: select.into(), params: (self.params)(values)? };
        let mut open = ObjectBuilder::default().open_memory(self.object)?;
        for mut map in open.maps_mut() {
            if map.name().to_string_lossy().ends_with(".rodata") {
                let told = settings.bytes();
                map.initial_value_mut().ok_or("settings")?[..told.len()].copy_from_slice(&told);
            }
        }
        let mut object = open.load()?;
        let mut links = Vec::new();
        for mut map in object.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
            links.push(map.attach_struct_ops()?);
        }
        Ok(Loaded { links, object })
    }
}

impl Loaded {
    /// Attaches what watches connections to a control group.
    pub fn watch(&mut self, control_group: i32) -> Outcome<()> {
        for program in self.object.progs_mut().filter(|program| program.name() == "connections") {
            self.links.push(program.attach_cgroup(control_group)?);
        }
        Ok(())
    }

    /// What keeps it in force: without the process, once they are pinned.
    pub fn into_links(self) -> Vec<Link> {
        self.links
    }

    /// Limits a receiver to connections of this local port, and those of other calls.
    pub fn choose(&self, port: u16) -> Outcome<()> {
        let map = self.object.maps().find(|map| map.name() == "ports").ok_or("a receiver's map")?;
        Ok(map.update(&u32::from(port).to_ne_bytes(), &[0; 4], MapFlags::ANY)?)
    }

    /// Where its flows tell of their acknowledgements.
    pub fn samples(&self) -> Option<Map<'_>> {
        self.object.maps().find(|map| map.name() == "samples")
    }

    /// Whether it stamps packets.
    pub fn stamps(&self) -> bool {
        self.object.maps().any(|map| map.name() == "stamps")
    }

    /// Attaches what sees packets to a device of the calling thread's namespace.
    pub fn see(&self, interface: i32) -> Outcome<Vec<Link>> {
        let mut links = Vec::new();
        for program in self.object.progs_mut().filter(|p| p.name() == "leave" || p.name() == "arrive") {
            links.push(attach_tcx(&program, interface)?);
        }
        Ok(links)
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
