//! System calls: clocks, and sockets that send and receive many datagrams at once.

#![allow(unsafe_code, reason = "sendmmsg, recvmmsg and socket options, which the standard library does not have")]

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr;

/// The most datagrams of one system call.
pub const BATCH: usize = 32;
/// The longest datagram that is read: a jumbo frame.
pub const LONGEST: usize = 9216;
/// Wanted size of socket buffers, bytes: 10,000 datagrams. The kernel grants less to an ordinary user.
const BUFFER: i32 = 8 << 20;
/// Length of the control messages of a datagram.
const CONTROL: usize = 128;

/// The monotonic clock, ns.
#[must_use]
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Processor time of the calling thread, ns.
#[must_use]
pub fn thread_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The clock of the kernel's receive stamps minus the monotonic clock, ns.
#[must_use]
pub fn stamp_offset_ns() -> i64 {
    let before = now_ns();
    let stamps = clock_ns(libc::CLOCK_REALTIME);
    let after = now_ns();
    stamps.cast_signed() - (before + (after - before) / 2).cast_signed()
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec. These clocks always exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Requests a higher priority for the calling thread, and exact wake-ups instead of up to 50 us of slack. The kernel refuses the first
/// to an ordinary user; the record of lateness shows the effect.
pub fn prioritise_thread() {
    // SAFETY: both calls take numbers only. On Linux the priority is that of the thread.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, libc::gettid() as libc::id_t, -20);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}

/// Requests that the calling thread, which sleeps whenever it has nothing to do, runs before all ordinary ones (`SCHED_RR`). Niceness
/// does not do this where the kernel divides the processors among sessions first. A thread that polls must not ask for it: where others
/// wait for a processor, the kernel takes 50 ms of each second from it. Returns the kernel's number of the thread.
pub fn precede_others() -> i32 {
    prioritise_thread();
    schedule(0, libc::SCHED_RR, 1);
    // SAFETY: it returns a number, and needs nothing.
    unsafe { libc::gettid() }
}

/// Gives the thread with this number the priority of ordinary ones.
pub fn give_way(thread: i32) {
    schedule(thread, libc::SCHED_OTHER, 0);
    // SAFETY: the call takes numbers only.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread as libc::id_t, 0) };
}

/// Requests a policy for a thread; zero is the calling one. Refused, the thread stays as it was.
fn schedule(thread: i32, policy: i32, priority: i32) {
    let wanted = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is to a whole structure.
    unsafe { libc::sched_setscheduler(thread, policy, &raw const wanted) };
}

/// Fills `bytes` with random ones of the kernel.
///
/// # Errors
/// If the kernel has none yet.
pub fn random(bytes: &mut [u8]) -> io::Result<()> {
    // SAFETY: the pointer is to that many bytes. Up to 256 bytes come at once.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got == bytes.len() as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A UDP socket that never blocks.
#[derive(Debug)]
pub struct Socket(UdpSocket);

impl Socket {
    /// Binds a socket, whose datagrams come with the kernel's receive stamp and the type of service.
    ///
    /// # Errors
    /// If the address is taken, or is none of this machine's.
    pub fn bind(address: SocketAddrV4) -> io::Result<Self> {
        Self::of(UdpSocket::bind(address)?)
    }

    /// A copy of a bound socket of this process.
    ///
    /// # Errors
    /// If there is no such descriptor.
    pub fn copy_of(descriptor: i32) -> io::Result<Self> {
        // SAFETY: the copy is a new descriptor, which nobody else owns. If it is no socket, the options below are refused.
        unsafe {
            match libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0) {
                -1 => Err(io::Error::last_os_error()),
                copy => Self::of(UdpSocket::from_raw_fd(copy)),
            }
        }
    }

    fn of(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let bound = Self(socket);
        for (force, plain) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)] {
            // An ordinary user may not exceed the limits of the machine.
            if bound.set(libc::SOL_SOCKET, force, BUFFER).is_err() {
                bound.set(libc::SOL_SOCKET, plain, BUFFER)?;
            }
        }
        Ok(bound)
    }

    /// Asks for the kernel's receive stamps and the type of service of each datagram.
    ///
    /// # Errors
    /// If the kernel has neither.
    pub fn ask_for_stamps(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        self.set(libc::IPPROTO_IP, libc::IP_RECVTOS, 1)
    }

    /// Asks for the kernel's stamp of each datagram that leaves, which [`Self::read_send_stamps`] returns.
    ///
    /// # Errors
    /// If the kernel has none.
    pub fn ask_for_send_stamps(&self) -> io::Result<()> {
        let wanted = libc::SOF_TIMESTAMPING_TX_SOFTWARE
            | libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_OPT_ID
            | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, wanted.cast_signed())
    }

    /// Passes the stamps of datagrams that have left to `note`: the number of the datagram since stamps were asked for, and when the
    /// kernel gave it to the device, by the clock of [`stamp_offset_ns`].
    pub fn read_send_stamps(&self, mut note: impl FnMut(u32, u64)) {
        let mut control = [0_u64; CONTROL / 8];
        // SAFETY: zero is valid for a header without a buffer for data; its control buffer is as long as it says, and the kernel fills it.
        while let Some((number, stamp)) = unsafe {
            let mut header: libc::msghdr = zeroed();
            (header.msg_control, header.msg_controllen) = (control.as_mut_ptr().cast(), CONTROL as _);
            let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
            (libc::recvmsg(self.0.as_raw_fd(), &raw mut header, flags) >= 0).then(|| send_stamp(&header))
        } {
            note(number, stamp);
        }
    }

    /// Sets the type of service (DSCP and ECN field) of the datagrams that it sends.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn set_type_of_service(&self, value: u8) -> io::Result<()> {
        self.set(libc::IPPROTO_IP, libc::IP_TOS, value.into())
    }

    /// Restricts the socket to one peer.
    ///
    /// # Errors
    /// If there is no route.
    pub fn connect(&self, to: SocketAddrV4) -> io::Result<()> {
        self.0.connect(to)
    }

    /// Its address.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn address(&self) -> io::Result<SocketAddrV4> {
        match self.0.local_addr()? {
            std::net::SocketAddr::V4(address) => Ok(address),
            std::net::SocketAddr::V6(_) => Err(io::Error::other("bound to IPv4")),
        }
    }

    fn set(&self, level: i32, option: i32, value: i32) -> io::Result<()> {
        let length = size_of::<i32>() as libc::socklen_t;
        // SAFETY: the pointer is to that many bytes.
        let status = unsafe { libc::setsockopt(self.0.as_raw_fd(), level, option, (&raw const value).cast(), length) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits for a datagram, at most this long.
    pub fn wait(&self, nanos: u64) {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let time = libc::timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
        // SAFETY: the pointers are to one pollfd and one timespec. A signal ends the wait early, which does no harm.
        unsafe { libc::ppoll(&raw mut poll, 1, &raw const time, ptr::null()) };
    }
}

/// A datagram that has come.
#[derive(Debug)]
pub struct Received<'a> {
    /// Its payload.
    pub bytes: &'a mut [u8],
    /// Its source.
    pub from: SocketAddrV4,
    /// Its type of service, if the socket asks for it.
    pub type_of_service: u8,
    /// When the kernel received it, by the clock of [`stamp_offset_ns`], if the socket asks for it.
    pub stamp_ns: Option<u64>,
}

/// Buffers for datagrams that come.
#[derive(Debug)]
pub struct Inbox {
    buffers: Vec<u8>,
    controls: Vec<[u64; CONTROL / 8]>,
    got: Vec<(usize, SocketAddrV4, u8, Option<u64>)>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { buffers: vec![0; BATCH * LONGEST], controls: vec![[0; CONTROL / 8]; BATCH], got: Vec::new() }
    }
}

impl Inbox {
    /// Reads the datagrams that have come, at most [`BATCH`], and returns how many. Datagrams that are too long are cut.
    ///
    /// # Errors
    /// If the socket has an error other than those that pass.
    pub fn read(&mut self, socket: &Socket) -> io::Result<usize> {
        self.got.clear();
        // SAFETY: these structures consist of numbers and pointers, for which zero is valid. The pointers below stay valid during the
        // call, because nothing else uses the buffers meanwhile, and each is to as many bytes as it says.
        let count = unsafe {
            let mut sources: [libc::sockaddr_in; BATCH] = zeroed();
            let mut parts: [libc::iovec; BATCH] = zeroed();
            let mut messages: [libc::mmsghdr; BATCH] = zeroed();
            for (at, buffer) in self.buffers.chunks_exact_mut(LONGEST).enumerate() {
                parts[at] = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: LONGEST };
                let header = &mut messages[at].msg_hdr;
                header.msg_name = (&raw mut sources[at]).cast();
                header.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
                (header.msg_iov, header.msg_iovlen) = (&raw mut parts[at], 1);
                (header.msg_control, header.msg_controllen) = (self.controls[at].as_mut_ptr().cast(), CONTROL as _);
            }
            let (fd, none) = (socket.0.as_raw_fd(), ptr::null_mut());
            let count = libc::recvmmsg(fd, messages.as_mut_ptr(), BATCH as u32, libc::MSG_DONTWAIT as _, none);
            for (message, source) in messages.iter().zip(&sources).take(count.max(0) as usize) {
                let from = SocketAddrV4::new(
                    Ipv4Addr::from(u32::from_be(source.sin_addr.s_addr)),
                    u16::from_be(source.sin_port),
                );
                let (type_of_service, stamp_ns) = controls(&message.msg_hdr);
                self.got.push((message.msg_len as usize, from, type_of_service, stamp_ns));
            }
            count
        };
        if count < 0 { passing(io::Error::last_os_error()) } else { Ok(count as usize) }
    }

    /// The datagrams of the last [`Self::read`].
    pub fn datagrams(&mut self) -> impl Iterator<Item = Received<'_>> {
        self.buffers.chunks_exact_mut(LONGEST).zip(&self.got).map(
            |(buffer, &(length, from, type_of_service, stamp_ns))| Received {
                bytes: &mut buffer[..length],
                from,
                type_of_service,
                stamp_ns,
            },
        )
    }
}

/// Type of service and receive stamp of a datagram.
///
/// # Safety
/// The header must be one that the kernel has filled, with its control buffer.
unsafe fn controls(header: &libc::msghdr) -> (u8, Option<u64>) {
    let (mut type_of_service, mut stamp) = (0, None);
    // SAFETY: the kernel has written well-formed control messages; data may be unaligned.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while let Some(message) = control.as_ref() {
            let data = libc::CMSG_DATA(control);
            match (message.cmsg_level, message.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => type_of_service = data.read(),
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => stamp = Some(nanos(data)),
                _ => {}
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    (type_of_service, stamp)
}

/// Number and stamp of a datagram that has left.
///
/// # Safety
/// See [`controls`].
unsafe fn send_stamp(header: &libc::msghdr) -> (u32, u64) {
    let (mut number, mut stamp) = (0, 0);
    // SAFETY: as in `controls`. Of the three times the first is that of the software.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while let Some(message) = control.as_ref() {
            let data = libc::CMSG_DATA(control);
            match (message.cmsg_level, message.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => stamp = nanos(data),
                (libc::IPPROTO_IP, libc::IP_RECVERR) => {
                    number = data.cast::<libc::sock_extended_err>().read_unaligned().ee_data;
                }
                _ => {}
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    (number, stamp)
}

/// The time at the beginning of a control message, ns.
///
/// # Safety
/// The pointer must be to a timespec, which may be unaligned.
unsafe fn nanos(data: *const u8) -> u64 {
    // SAFETY: the caller's.
    let time = unsafe { data.cast::<libc::timespec>().read_unaligned() };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Datagrams that wait to be sent.
#[derive(Debug, Default)]
pub struct Outbox {
    buffers: Vec<Vec<u8>>,
    destinations: Vec<Option<SocketAddrV4>>,
    count: usize,
}

impl Outbox {
    /// The empty buffer of one more datagram; without a destination it goes to the peer to which its socket is connected.
    pub fn add(&mut self, to: Option<SocketAddrV4>) -> &mut Vec<u8> {
        if self.count == self.buffers.len() {
            self.buffers.push(Vec::with_capacity(2048));
            self.destinations.push(None);
        }
        self.destinations[self.count] = to;
        self.count += 1;
        let buffer = &mut self.buffers[self.count - 1];
        buffer.clear();
        buffer
    }

    /// Sends all datagrams, and returns how many the kernel has taken. It takes all but those for which it has no memory.
    ///
    /// # Errors
    /// If the socket has an error other than those that pass.
    pub fn send(&mut self, socket: &Socket) -> io::Result<usize> {
        self.send_all(socket, Err)
    }

    /// The same, but drops each datagram that the kernel refuses to send: on a real network a route or a firewall may do so for a while.
    /// The second number is that of datagrams dropped.
    pub fn send_or_drop(&mut self, socket: &Socket) -> (usize, u64) {
        let mut dropped = 0;
        let sent = self.send_all(socket, |_| {
            dropped += 1;
            Ok(1)
        });
        (sent.unwrap_or(0) - dropped as usize, dropped)
    }

    /// Sends all datagrams; `refused` says how many the kernel is to skip after an error.
    fn send_all(
        &mut self,
        socket: &Socket,
        mut refused: impl FnMut(io::Error) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let (mut sent, mut refusals) = (0, 0);
        while sent < self.count {
            let end = self.count.min(sent + BATCH);
            let batch = send_batch(socket, &self.buffers[sent..end], &self.destinations[sent..end]);
            match batch.or_else(&mut refused) {
                Ok(0) if refusals < 1000 => {
                    refusals += 1;
                    std::thread::yield_now();
                }
                Ok(0) => break,
                Ok(taken) => (sent, refusals) = (sent + taken, 0),
                Err(error) => {
                    self.count = 0;
                    return Err(error);
                }
            }
        }
        self.count = 0;
        Ok(sent)
    }
}

fn send_batch(socket: &Socket, buffers: &[Vec<u8>], destinations: &[Option<SocketAddrV4>]) -> io::Result<usize> {
    // SAFETY: as in `Inbox::read`; the kernel only reads the buffers.
    let count = unsafe {
        let mut targets: [libc::sockaddr_in; BATCH] = zeroed();
        let mut parts: [libc::iovec; BATCH] = zeroed();
        let mut messages: [libc::mmsghdr; BATCH] = zeroed();
        for (at, (buffer, to)) in buffers.iter().zip(destinations).enumerate() {
            parts[at] = libc::iovec { iov_base: buffer.as_ptr().cast_mut().cast(), iov_len: buffer.len() };
            let header = &mut messages[at].msg_hdr;
            if let Some(to) = to {
                targets[at].sin_family = libc::AF_INET as libc::sa_family_t;
                targets[at].sin_port = to.port().to_be();
                targets[at].sin_addr.s_addr = u32::from(*to.ip()).to_be();
                header.msg_name = (&raw mut targets[at]).cast();
                header.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
            }
            (header.msg_iov, header.msg_iovlen) = (&raw mut parts[at], 1);
        }
        let fd = socket.0.as_raw_fd();
        libc::sendmmsg(fd, messages.as_mut_ptr(), buffers.len() as u32, libc::MSG_DONTWAIT as _)
    };
    if count < 0 { passing(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// Errors that pass: nothing to read, no memory to send, a signal, and what an earlier datagram has caused at its destination.
fn passing(error: io::Error) -> io::Result<usize> {
    let passes = [libc::EAGAIN, libc::ENOBUFS, libc::EINTR, libc::ECONNREFUSED];
    if error.raw_os_error().is_some_and(|code| passes.contains(&code)) { Ok(0) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_that_the_kernel_refuses_is_dropped_and_the_others_arrive() {
        let bind = || Socket::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("loopback is there");
        let (from, to) = (bind(), bind());
        let target = to.address().expect("it is bound");
        // Port 0 is no destination (EINVAL), and a broadcast address needs an option (EACCES).
        let refused = [SocketAddrV4::new(*target.ip(), 0), SocketAddrV4::new(Ipv4Addr::BROADCAST, 7)];
        let fill = |outbox: &mut Outbox| {
            for to in [target, refused[0], target, refused[1], refused[1], target] {
                outbox.add(Some(to)).extend([1; 3]);
            }
        };
        let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
        fill(&mut outbox);
        assert_eq!(outbox.send_or_drop(&from), (3, 3));
        to.wait(1_000_000_000);
        assert_eq!(inbox.read(&to).expect("no error"), 3);
        fill(&mut outbox);
        assert!(outbox.send(&from).is_err());
    }

    #[test]
    fn datagrams_come_with_their_source_type_of_service_and_stamp() {
        let bind = || Socket::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("loopback is there");
        let (from, to) = (bind(), bind());
        to.ask_for_stamps().expect("Linux has stamps");
        from.set_type_of_service(46 << 2 | 2).expect("any value is lawful");
        let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
        let target = to.address().expect("it is bound");
        (0..40).for_each(|number: u8| outbox.add(Some(target)).extend([number; 3]));
        assert_eq!(outbox.send(&from).expect("loopback takes them"), 40);
        to.wait(1_000_000_000);
        let mut numbers = Vec::new();
        while inbox.read(&to).expect("no error") > 0 {
            for Received { bytes, from: source, type_of_service, stamp_ns } in inbox.datagrams() {
                assert_eq!((bytes.len(), source), (3, from.address().expect("it is bound")));
                assert_eq!(type_of_service, 46 << 2 | 2);
                let stamp = stamp_ns.expect("a stamp").cast_signed() - stamp_offset_ns();
                // The clocks may be set while the test runs, but not by an hour.
                assert!((stamp - now_ns().cast_signed()).abs() < 3_600_000_000_000);
                numbers.push(bytes[0]);
            }
        }
        assert_eq!(numbers, (0..40).collect::<Vec<u8>>());
    }
}
