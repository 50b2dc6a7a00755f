//! Hosts: each has a network namespace, a device that the emulated network reads and writes, and the sockets of its
//! flows.

#![allow(unsafe_code, reason = "socket options that rustix does not have")]

use std::fs::File;
use std::io;
use std::mem::size_of_val;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

use libbpf_rs::Link;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use shallows_live::switch::address;

use crate::interface::{self, Settings};
use crate::programs::Loaded;
use crate::{Outcome, namespaces};

/// Ports of the two ends of flow 0; those of other flows follow.
const FIRST_SENDER: u16 = 10_000;
const FIRST_RECEIVER: u16 = 30_000;
/// Index of the device of host 0; those of other hosts follow. Programs tell hosts by it, whatever their namespace.
const FIRST_DEVICE: u32 = 1000;

/// A running host.
pub struct Host {
    /// The device: frames that the host sends are read, frames for it are written.
    pub device: File,
    /// The namespace, which ends with the host.
    _namespace: File,
    _seen: Vec<Vec<Link>>,
}

impl Host {
    /// Creates the host with this number and leaves the calling thread in its namespace.
    pub fn create(number: u32, settings: &Settings, loaded: &[Loaded]) -> Outcome<Self> {
        namespaces::enter_new()?;
        let index = FIRST_DEVICE + number;
        let device = interface::tap(index as i32)?;
        interface::configure(settings)?;
        if let Some(rate) = settings.charged {
            loaded.iter().try_for_each(|program| program.set_link(index, rate))?;
        }
        let seen = loaded.iter().map(|program| program.see(index as i32)).collect::<Outcome<_>>()?;
        Ok(Self { device, _namespace: namespaces::own()?, _seen: seen })
    }
}

/// The listening receiver of a flow.
pub fn listen(flow: u32, congestion_control: &str) -> Outcome<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, receiver_port(flow)))?;
    prepare(&listener, congestion_control)?;
    Ok(listener)
}

/// The unconnected sender of a flow.
pub fn sender(flow: u32, congestion_control: &str, stops: bool) -> Outcome<TcpStream> {
    let socket = net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    prepare(&socket, congestion_control)?;
    if stops {
        // Data already written when the flow stops is still sent: 16 ms at 500 Mbps.
        set(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &1_000_000_i32)?;
    }
    net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, sender_port(flow)))?;
    Ok(socket.into())
}

/// Sets the congestion control of a socket, and a reset on close: otherwise the kernel would keep the unsent data of a
/// killed run, with its namespace and programs, for a minute. Accepted connections inherit both.
fn prepare(socket: impl AsFd, congestion_control: &str) -> Outcome<()> {
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    set_congestion_control(&socket, congestion_control)
}

/// Sets the congestion control of a socket.
pub fn set_congestion_control(socket: impl AsFd, name: &str) -> Outcome<()> {
    sockopt::set_tcp_congestion(&socket, name).map_err(|error| format!("congestion control {name}: {error}").into())
}

/// The congestion control of a socket.
pub fn congestion_control(socket: impl AsFd) -> Outcome<String> {
    Ok(sockopt::tcp_congestion(&socket)?)
}

/// Lets an application sleep until there are this many bytes to read. Waking up for every packet would take the
/// processor from the network.
pub fn read_in_chunks(stream: &TcpStream, bytes: i32) -> Outcome<()> {
    set(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, &bytes)
}

/// Limits the rate of a sender.
pub fn pace(stream: &TcpStream, bits_per_s: u64) -> Outcome<()> {
    set(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &(bits_per_s / 8))
}

/// Connects a flow.
pub fn connect(stream: &TcpStream, flow: u32, to: u32) -> Outcome<()> {
    Ok(net::connect(stream, &SocketAddrV4::new(address(to).into(), receiver_port(flow)))?)
}

/// The port of a flow's receiver.
pub fn receiver_port(flow: u32) -> u16 {
    FIRST_RECEIVER + flow as u16
}

/// The port of a flow's sender.
pub fn sender_port(flow: u32) -> u16 {
    FIRST_SENDER + flow as u16
}

/// The flow that a sender's port belongs to.
pub fn flow_of(port: u32) -> u32 {
    port.wrapping_sub(u32::from(FIRST_SENDER))
}

fn set<T>(socket: RawFd, level: i32, option: i32, value: &T) -> Outcome<()> {
    let length = size_of_val(value) as libc::socklen_t;
    // SAFETY: the pointer is to that many bytes.
    match unsafe { libc::setsockopt(socket, level, option, (&raw const *value).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().into()),
    }
}

/// Kernel statistics of a connection (`struct tcp_info`).
#[derive(Clone, Copy, Debug)]
pub struct Info([u8; 256]);

impl Info {
    /// The statistics of this socket.
    pub fn of(socket: RawFd) -> Self {
        let mut info = [0; 256];
        let mut length = size_of_val(&info) as libc::socklen_t;
        // SAFETY: the pointers are to that many bytes and to their number; a closed socket leaves zeros.
        unsafe {
            libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut length);
        }
        Self(info)
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    /// True if both ends agreed on ECN (`TCPI_OPT_ECN`).
    pub fn ecn(&self) -> bool {
        self.0[5] & 8 != 0
    }

    /// `tcpi_rtt`.
    pub fn rtt_us(&self) -> u32 {
        self.word(68)
    }

    /// `tcpi_snd_cwnd`.
    pub fn window(&self) -> u32 {
        self.word(80)
    }

    /// `tcpi_total_retrans`.
    pub fn retransmits(&self) -> u32 {
        self.word(100)
    }

    /// `tcpi_total_rto`, in Linux 6.7 and later.
    pub fn timeouts(&self) -> u32 {
        u16::from_ne_bytes([self.0[240], self.0[241]]).into()
    }
}

/// `struct sample` of bpf/kernel.h: the sample of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub time_ns: u64,
    /// In 65536ths of a packet.
    pub window: u64,
    /// Port of the sender.
    pub port: u32,
    /// In 2^20ths.
    pub alpha: u32,
    pub queueing_ns: u32,
    pub base_rtt_ns: u32,
    pub rtt_ns: u32,
    pub one_way_ns: u32,
    pub rtt_us: u32,
}

impl Sample {
    /// Reads a sample from the ring buffer.
    pub fn read(bytes: &[u8]) -> Self {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Self {
            time_ns: long(0),
            window: long(8),
            port: word(16),
            alpha: word(20),
            queueing_ns: word(24),
            base_rtt_ns: word(28),
            rtt_ns: word(32),
            one_way_ns: word(36),
            rtt_us: word(40),
        }
    }
}
