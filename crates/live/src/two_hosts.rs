//! A quick test: two hosts joined by a cable (a veth pair), iperf3 between them, and timestamps and kernel statistics
//! of the same acknowledgements. No network is emulated, so the result does not depend on punctuality.

#![allow(unsafe_code, reason = "what a child does before it runs iperf3")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use libbpf_rs::{Link, RingBuffer, RingBufferBuilder};
use rustix::process::{Signal, set_parent_process_death_signal};
use shallows_cc::units::Bytes;
use shallows_contract::live::Cable;
use shallows_live::switch::address;

use crate::answer::{TwoHosts, Varies};
use crate::control_group::ControlGroup;
use crate::device::Device;
use crate::host;
use crate::interface::{self, Settings};
use crate::programs::{self, Loaded, Purpose};
use crate::stop::Stop;
use crate::traffic::{Beginning, Flow};
use crate::{Outcome, active, clock, namespaces, priority};

/// Time between two polls of the samples.
const TICK_NS: u64 = 5_000_000;
/// Address of iperf3 in the format of /proc/net/tcp.
const IPERF3_PORT: &str = ":1451 ";

/// Samples of the flows; `None` for an algorithm of the kernel's own.
type Samples<'a> = Option<RingBuffer<'a>>;

/// Runs the test.
pub fn run(cable: &Cable) -> Outcome<TwoHosts> {
    let stop = Stop::watch()?;
    priority::set_priority();
    let group = ControlGroup::enter()?;
    active::refuse_above(&group)?;
    let name = programs::name_in_run(&cable.control.name, 0)?;
    let mut loaded = programs::load(&cable.control, &name, Purpose { sample_ns: 1, seed: 1, select: true })?;
    if let Some(program) = &mut loaded {
        program.watch(group.descriptor())?;
    }
    let (hosts, _links) = join(cable, loaded.as_ref())?;
    let acks = RefCell::new(BTreeMap::new());
    let samples = watch(loaded.as_ref(), &acks)?;
    let traffic = if cable.iperf3 { iperf3 } else { own }(cable, &name, &hosts, &samples, &stop);
    let (goodput_bps, retransmits) = traffic?;
    drop(samples);
    let mut checksum_errors = 0;
    for host in &hosts {
        namespaces::enter(host)?;
        checksum_errors += errors()?;
    }
    // The data connection is the one with the most acknowledgements.
    let acks = acks.into_inner().into_values().max_by_key(Acks::len).unwrap_or_default();
    Ok(TwoHosts {
        traffic: if cable.iperf3 { "iperf3" } else { "own" },
        congestion_control: cable.control.name.clone(),
        goodput_bps,
        retransmits,
        checksum_errors,
        one_way_delay: acks.one_way(),
        kernel_rtt: acks.kernel_rtt(),
    })
}

/// Two namespaces and the cable between them. Both ends have the same name.
fn join(cable: &Cable, loaded: Option<&Loaded>) -> Outcome<([File; 2], Vec<Link>)> {
    namespaces::enter_new()?;
    let left = namespaces::own()?;
    namespaces::enter_new()?;
    let right = namespaces::own()?;
    interface::cable(&left)?;
    let hosts = [left, right];
    let mut links = Vec::new();
    for (number, host) in (0..).zip(&hosts) {
        namespaces::enter(host)?;
        interface::checksums_in_software()?;
        interface::configure(&Settings {
            address: address(number),
            mtu: 1500,
            initial_window: 10,
            quick_acks: false,
            rto_min_us: 200_000,
            ecn: programs::ecn_capable(&cable.control)?,
            charged: None,
        })?;
        if let Some(program) = loaded {
            links.extend(program.see(Device::named(interface::NAME)?.index as i32)?);
        }
    }
    Ok((hosts, links))
}

/// For one connection: one-way delay by timestamps and round trip by the kernel, in nanoseconds, where both exist.
#[derive(Debug, Default)]
struct Acks(Vec<(u32, u32)>);

impl Acks {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn one_way(&self) -> Option<Varies> {
        let (first, _) = *self.0.first()?;
        // Modulo 2^32 ns: only differences matter.
        Varies::of(self.0.iter().map(|(delay, _)| f64::from(delay.wrapping_sub(first).cast_signed()) / 1e3).collect())
    }

    fn kernel_rtt(&self) -> Option<Varies> {
        Varies::of(self.0.iter().map(|(_, rtt_us)| f64::from(*rtt_us)).collect())
    }
}

/// Collects acknowledgements by sender port.
fn watch<'a>(loaded: Option<&'a Loaded>, acks: &'a RefCell<BTreeMap<u32, Acks>>) -> Outcome<Samples<'a>> {
    let Some(map) = loaded.and_then(Loaded::samples) else { return Ok(None) };
    let mut builder = RingBufferBuilder::new();
    builder.add(&map, move |bytes: &[u8]| {
        let sample = host::Sample::read(bytes);
        if sample.one_way_ns > 0 && sample.rtt_us > 0 {
            acks.borrow_mut().entry(sample.port).or_default().0.push((sample.one_way_ns, sample.rtt_us));
        }
        0
    })?;
    Ok(Some(builder.build()?))
}

fn own(cable: &Cable, name: &str, hosts: &[File; 2], samples: &Samples<'_>, stop: &Stop) -> Outcome<(f64, u64)> {
    namespaces::enter(&hosts[0])?;
    let listener = host::listen(0, name)?;
    namespaces::enter(&hosts[1])?;
    let sender = host::sender(0, name, false)?;
    if cable.rate_bps > 0 {
        host::pace(&sender, cable.rate_bps)?;
    }
    host::connect(&sender, 0, 0)?;
    let flow = Flow::new(sender, listener.accept()?.0, Bytes::MAX, name);
    let begin = clock::now();
    let end = begin + (cable.seconds * 1e9) as u64;
    flow.start(Beginning::At(begin), end, Vec::new())?;
    while clock::now() < end && !stop.wanted() {
        clock::sleep_until(clock::now() + TICK_NS);
        samples.as_ref().map_or(Ok(()), RingBuffer::consume)?;
    }
    let outcome = (flow.received() as f64 * 8.0 / cable.seconds, flow.info().retransmits().into());
    flow.stop();
    Ok(outcome)
}

fn iperf3(cable: &Cable, name: &str, hosts: &[File; 2], samples: &Samples<'_>, stop: &Stop) -> Outcome<(f64, u64)> {
    namespaces::enter(&hosts[0])?;
    let mut server = start(&["-s", "-1"])?;
    while !fs::read_to_string("/proc/thread-self/net/tcp6")?.contains(IPERF3_PORT) {
        if stop.wanted() {
            return Err("ended early".into());
        }
        if let Some(status) = server.try_wait()? {
            return Err(format!("iperf3 -s ended: {status}").into());
        }
        clock::sleep_until(clock::now() + TICK_NS);
    }
    namespaces::enter(&hosts[1])?;
    let [a, b, c, d] = address(0);
    let (to, seconds, rate) = (format!("{a}.{b}.{c}.{d}"), cable.seconds.to_string(), cable.rate_bps.to_string());
    let mut words = vec!["-c", &to, "-t", &seconds, "-J", "-C", name];
    if cable.rate_bps > 0 {
        words.extend(["--fq-rate", &rate]);
    }
    let mut client = start(&words)?;
    while client.try_wait()?.is_none() {
        if stop.wanted() {
            return Err("ended early".into());
        }
        clock::sleep_until(clock::now() + TICK_NS);
        samples.as_ref().map_or(Ok(()), RingBuffer::consume)?;
    }
    let mut said = String::new();
    client.stdout.take().ok_or("iperf3 says nothing")?.read_to_string(&mut said)?;
    server.wait()?;
    read_report(&said)
}

/// Starts iperf3 in the calling thread's namespace; it is killed when this process ends.
fn start(words: &[&str]) -> Outcome<Child> {
    let mut command = Command::new("iperf3");
    // No intermediate reports, so that the pipe does not fill up.
    command.args(words).args(["-i", "0"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // SAFETY: between fork and exec only a system call is made.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
    command.spawn().map_err(|error| format!("iperf3: {error}").into())
}

fn read_report(said: &str) -> Outcome<(f64, u64)> {
    let report: serde_json::Value = serde_json::from_str(said)?;
    if let Some(error) = report["error"].as_str() {
        return Err(format!("iperf3: {error}").into());
    }
    let goodput = report["end"]["sum_received"]["bits_per_second"].as_f64();
    let retransmits = report["end"]["sum_sent"]["retransmits"].as_u64();
    goodput.zip(retransmits).ok_or_else(|| "iperf3's report has no sums".into())
}

/// TCP segments that the calling thread's namespace dropped for their checksum.
fn errors() -> Outcome<u64> {
    let text = fs::read_to_string("/proc/thread-self/net/snmp")?;
    let mut rows = text.lines().filter(|line| line.starts_with("Tcp:")).map(str::split_whitespace);
    let (names, values) = rows.next().zip(rows.next()).ok_or("no TCP counters")?;
    let (_, value) = names.zip(values).find(|(name, _)| *name == "InCsumErrors").ok_or("no InCsumErrors")?;
    Ok(value.parse()?)
}
