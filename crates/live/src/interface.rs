//! A host's network device: a TAP in the calling thread's own namespace.

#![allow(unsafe_code, reason = "system calls")]

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};

use rustix::ioctl::{Opcode, Setter, Updater, ioctl};
use shallows_cc::units::Rate;

use crate::Outcome;

/// Name of every device: each is alone in its namespace.
pub const NAME: &str = "shallows0";
/// Fixed address of every device, which makes ARP unnecessary: each pair of hosts is one hop apart.
const ETHERNET_ADDRESS: &str = "02:53:48:4c:57:01";

/// From linux/sockios.h.
const SIOCETHTOOL: Opcode = 0x8946;

/// Creates the device with this index; the file reads and writes frames without blocking.
pub fn tap(index: i32) -> Outcome<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // SAFETY: TUNSETIFINDEX reads an integer.
    unsafe { ioctl(&file, Setter::<{ libc::TUNSETIFINDEX as Opcode }, _>::new(index)) }
        .map_err(|error| format!("the index of a TAP device: {error}"))?;
    let mut request = named();
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF takes an ifreq, and writes the device's name into it.
    unsafe { ioctl(&file, Updater::<{ libc::TUNSETIFF as Opcode }, _>::new(&mut request)) }
        .map_err(|error| format!("a TAP device: {error}"))?;
    Ok(file)
}

/// A kernel request for the device with this name.
fn named() -> libc::ifreq {
    // SAFETY: an ifreq is plain data, for which zeros are lawful.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, &from) in request.ifr_name.iter_mut().zip(NAME.as_bytes()) {
        *to = from as libc::c_char;
    }
    request
}

/// Creates a cable from the calling thread's namespace to this one; both ends are called [`NAME`].
pub fn cable(to: &File) -> Outcome<()> {
    let to = format!("/proc/{}/fd/{}", std::process::id(), to.as_raw_fd());
    ip(&format!("link add {NAME} type veth peer name {NAME} netns {to}\n"))
}

/// Enables checksums of the calling thread's device, which a veth cable would skip.
pub fn checksums_in_software() -> Outcome<()> {
    /// `struct ethtool_value`.
    #[repr(C)]
    struct Value {
        command: u32,
        value: u32,
    }
    const SET_TRANSMIT_CHECKSUMS: u32 = 0x17;
    let mut value = Value { command: SET_TRANSMIT_CHECKSUMS, value: 0 };
    let mut request = named();
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: SIOCETHTOOL takes an ifreq that points to a structure of ethtool.
    unsafe { ioctl(&socket, Updater::<SIOCETHTOOL, _>::new(&mut request)) }
        .map_err(|error| format!("checksums of {NAME}: {error}"))?;
    Ok(())
}

/// Network settings of a host.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub address: [u8; 4],
    pub mtu: u64,
    pub initial_window: u64,
    pub quick_acks: bool,
    pub rto_min_us: u64,
    /// True if all connections of the host ask for ECN; otherwise those whose congestion control or program does.
    pub ecn: bool,
    /// The rate of the host's own link, if packets that wait for it are charged to their sockets.
    pub charged: Option<Rate>,
}

/// Length of an Ethernet header, which is not part of an emulated frame.
const ETHERNET: u64 = 14;
/// The time for which a device may send late packets faster than its rate: a timer of the kernel is late by tens of
/// microseconds.
const CATCH_UP_US: u64 = 100;
/// Limit of the queue in front of a device. Nothing reaches it, because TCP bounds what each socket has in the queue.
const QUEUE_MOST: u64 = 1 << 30;

/// Releases packets at the rate of the host's own link, so that they stay charged to their sockets while they wait. TCP
/// then leaves the others in the socket (TCP small queues), as it does in front of a real NIC. A TAP device takes every
/// packet at once and releases it from its socket.
fn charge_to_sockets(rate: Rate, mtu: u64) -> Outcome<()> {
    let frame = mtu + ETHERNET;
    // The kernel counts Ethernet headers. A little slower than the link, so that the packets that pile up in the device
    // while the network's thread is late can leave it.
    let bits = u128::from(rate.0) * u128::from(frame) / u128::from(mtu) * 199 / 200;
    let burst = (rate.0 / 8 * CATCH_UP_US / 1_000_000).max(2 * frame);
    batch("tc", &format!("qdisc add dev {NAME} root tbf rate {bits}bit burst {burst} limit {QUEUE_MOST}\n"))
}

/// Configures the device and the namespace. There are no offloads and one segment per buffer, so that the network sees
/// what TCP sends, and a timestamp belongs to one packet.
pub fn configure(settings: &Settings) -> Outcome<()> {
    let Settings { address: [a, b, c, d], mtu, initial_window, .. } = *settings;
    let quick = if settings.quick_acks { "quickack 1" } else { "" };
    ip(&format!(
        "link set dev {NAME} address {ETHERNET_ADDRESS} mtu {mtu} txqueuelen 4000 gso_max_segs 1 arp off up\n\
         link set dev lo up\n\
         addr add {a}.{b}.{c}.{d}/32 dev {NAME}\n\
         route add 10.77.0.0/16 dev {NAME} initcwnd {initial_window} {quick}\n"
    ))?;
    if let Some(rate) = settings.charged {
        charge_to_sockets(rate, mtu)?;
    }
    set("ipv6/conf/all/disable_ipv6", "1")?;
    set("ipv4/tcp_ecn", if settings.ecn { "1" } else { "2" })?;
    set("ipv4/tcp_no_metrics_save", "1")?;
    set("ipv4/tcp_slow_start_after_idle", "0")?;
    set("ipv4/tcp_rmem", "4096 4194304 33554432")?;
    set("ipv4/tcp_wmem", "4096 4194304 33554432")?;
    // Connections end with their process: otherwise they would keep their congestion control and its programs.
    set("ipv4/tcp_orphan_retries", "1")?;
    set("ipv4/tcp_fin_timeout", "1")?;
    // Linux 6.11 and later; earlier versions keep 200 ms.
    let _ = set("ipv4/tcp_rto_min_us", &settings.rto_min_us.max(1000).to_string());
    Ok(())
}

/// Writes a sysctl of the calling thread's namespace.
fn set(name: &str, value: &str) -> Outcome<()> {
    fs::write(format!("/proc/sys/net/{name}"), value).map_err(|error| format!("sysctl {name}: {error}").into())
}

/// Runs commands of `ip`.
pub fn ip(commands: &str) -> Outcome<()> {
    batch("ip", commands)
}

/// Runs commands of a program of iproute2.
pub fn batch(program: &str, commands: &str) -> Outcome<()> {
    let mut child = Command::new(program)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program} (iproute2): {error}"))?;
    child.stdin.take().expect("it is piped").write_all(commands.as_bytes())?;
    let mut message = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut message)?;
    if child.wait()?.success() { Ok(()) } else { Err(format!("{program}: {}", message.trim()).into()) }
}
