//! A host's network device: a TAP in the calling thread's own namespace.

#![allow(unsafe_code, reason = "system calls")]

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};

use rustix::ioctl::{Opcode, Updater, ioctl};

use crate::Outcome;

/// Name of every device: each is alone in its namespace.
pub const NAME: &str = "shallows0";
/// Fixed address of every device, which makes ARP unnecessary: each pair of hosts is one hop apart.
const ETHERNET_ADDRESS: &str = "02:53:48:4c:57:01";

/// From linux/sockios.h.
const SIOCETHTOOL: Opcode = 0x8946;

/// Creates the device; the file reads and writes frames without blocking.
pub fn tap() -> Outcome<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
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
    pub ecn: bool,
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
    set("ipv6/conf/all/disable_ipv6", "1")?;
    set("ipv4/tcp_ecn", if settings.ecn { "1" } else { "0" })?;
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
    let mut ip = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("ip (iproute2): {error}"))?;
    ip.stdin.take().expect("it is piped").write_all(commands.as_bytes())?;
    let mut message = String::new();
    ip.stderr.take().expect("it is piped").read_to_string(&mut message)?;
    if ip.wait()?.success() { Ok(()) } else { Err(format!("ip: {message}").into()) }
}
