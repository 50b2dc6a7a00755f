//! The network thread: reads frames from hosts, passes them to the emulated switch, and writes due frames.
//!
//! It sleeps until shortly before a frame is due and then polls. Its lateness is part of the result.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_live::lateness::Lateness;
use shallows_live::stamps::Stamps;
use shallows_live::switch::{Delivery, LONGEST_FRAME, Switch};
use shallows_sim::{PortReport, QueueTable};

use crate::{Outcome, clock, priority};

/// Waits shorter than this are spent polling.
const AWAKE_NS: u64 = 30_000;
/// The longest sleep, so that a stop is noticed.
const NAP_NS: u64 = 1_000_000;
/// The most frames delivered to hosts between two polls.
const TOGETHER: usize = 8;
/// The most frames read from a device in one poll.
const BATCH: usize = 32;
/// A host's own link takes the next frame when its backlog is shorter than this: time for this thread to be late.
const BACKLOG_US: u64 = 50;

/// Times of a run, on the machine's clock, which the thread learns during the run.
#[derive(Debug)]
pub struct Times {
    /// Start of the statistics.
    pub warm_ns: AtomicU64,
    /// First sample of the queues.
    pub begin_ns: AtomicU64,
    /// End of the run.
    pub end: AtomicBool,
}

impl Default for Times {
    fn default() -> Self {
        let never = || AtomicU64::new(u64::MAX);
        Self { warm_ns: never(), begin_ns: never(), end: AtomicBool::new(false) }
    }
}

/// Settings of the thread, and what it samples.
#[derive(Clone, Debug)]
pub struct Options {
    /// Sampled ports.
    pub ports: Vec<u32>,
    /// Sampling interval; 0 is none.
    pub interval_ns: u64,
    /// True to request [`priority::deadline`].
    pub real_time: bool,
    /// For every host its own link, as a port and its rate, if the host waits for it.
    pub own_links: Vec<Option<(u32, Rate)>>,
}

/// Report of the network.
#[derive(Debug)]
pub struct Report {
    pub ports: Vec<PortReport>,
    pub queues: QueueTable,
    pub lateness: Lateness,
    pub stamps: Stamps,
    pub delivered: u64,
    pub unroutable: u64,
    /// Frames that a host's device did not accept.
    pub refused: u64,
    pub in_flight: u64,
    pub measured: Time,
    /// Propagation of the longest flow, in both directions.
    pub round_trip: Time,
    /// The ideal completion time of every flow, in picoseconds.
    pub ideal: Vec<u64>,
    /// The ports on the paths of each flow's packets and acknowledgements.
    pub ways: Vec<Vec<u32>>,
}

/// A frame that is due at its host.
struct Due {
    host: u32,
    frame: Vec<u8>,
    sent: Time,
    time: Time,
}

struct Wire {
    switch: Switch,
    devices: Vec<File>,
    ready: Ready,
    /// Hosts with frames that were not read yet.
    unread: Vec<bool>,
    /// For every host, its own link and the backlog up to which it takes frames.
    own_links: Vec<Option<(u32, Bytes)>>,
    due: VecDeque<Due>,
    spare: Vec<Vec<u8>>,
    origin_ns: u64,
    looked_ns: u64,
    warm: Option<u64>,
    lateness: Lateness,
    stamps: Stamps,
    delivered: u64,
    refused: u64,
    queues: QueueTable,
    sampled_ns: u64,
}

/// Runs the network until `times.end`. `devices` belong to the hosts, in order.
pub fn run(
    switch: Switch,
    devices: Vec<File>,
    stamps: Stamps,
    times: &Arc<Times>,
    options: &Options,
) -> Outcome<Report> {
    let now = clock::now();
    let mut wire = Wire {
        switch,
        ready: Ready::new(&devices)?,
        unread: vec![false; devices.len()],
        own_links: options.own_links.iter().map(|link| link.map(backlog)).collect(),
        devices,
        due: VecDeque::new(),
        spare: Vec::new(),
        origin_ns: now,
        looked_ns: now,
        warm: None,
        lateness: Lateness::default(),
        stamps,
        delivered: 0,
        refused: 0,
        queues: QueueTable { time: Vec::new(), bytes: vec![Vec::new(); options.ports.len()] },
        sampled_ns: 0,
    };
    if options.real_time {
        priority::deadline();
    }
    while !times.end.load(Ordering::Relaxed) {
        wire.turn(times, options);
        wire.wait();
    }
    Ok(wire.report())
}

/// An own link with the backlog up to which it takes frames.
fn backlog((port, rate): (u32, Rate)) -> (u32, Bytes) {
    (port, Bytes(rate.0 / 8 * BACKLOG_US / 1_000_000))
}

impl Wire {
    fn time(&self, nanos: u64) -> Time {
        Time::from_nanos(nanos - self.origin_ns)
    }

    fn turn(&mut self, times: &Times, options: &Options) {
        let now = clock::now();
        let warm_ns = times.warm_ns.load(Ordering::Relaxed);
        if self.warm.is_none() && now >= warm_ns {
            self.advance(warm_ns);
            self.switch.end_warmup(self.time(warm_ns));
            self.lateness = Lateness::default();
            self.stamps.restart();
            self.warm = Some(warm_ns);
        }
        self.advance(now);
        self.collect(now);
        self.deliver();
        self.sample(now, times.begin_ns.load(Ordering::Relaxed), options);
    }

    /// Advances the emulated network to this time.
    fn advance(&mut self, now_ns: u64) {
        let now = self.time(now_ns);
        self.switch.advance(now, |Delivery { host, bytes, sent, due }| {
            let frame = std::mem::replace(bytes, self.spare.pop().unwrap_or_default());
            self.due.push_back(Due { host, frame, sent, time: due });
        });
    }

    /// Delivers a frame to its host, whose kernel processes it within the call and may answer at once. If the thread is
    /// late, it delivers several frames before the next poll.
    fn deliver(&mut self) {
        for _ in 0..(1 + self.due.len() / 2).min(TOGETHER) {
            let Some(Due { host, frame, sent, time }) = self.due.pop_front() else { return };
            let now_ns = clock::now();
            let late = (now_ns - self.origin_ns).saturating_sub(time.0 / 1000);
            self.lateness.deliveries.record(late);
            self.stamps.delivered(now_ns, &frame, (time - sent).0 / 1000);
            match self.devices[host as usize].write(&frame) {
                Ok(_) => self.delivered += 1,
                Err(_) => self.refused += 1,
            }
            self.spare.push(frame);
        }
    }

    /// Reads all frames that hosts have sent since the last poll. A frame counts as sent when it is read: with an
    /// earlier time, it would arrive too early whenever this thread was delayed.
    fn collect(&mut self, now_ns: u64) {
        let gap = now_ns - self.looked_ns;
        self.looked_ns = now_ns;
        let mut frame = [0; LONGEST_FRAME];
        self.notice(0);
        let mut read = false;
        for host in 0..self.devices.len() {
            for _ in 0..BATCH {
                if !self.unread[host] || !self.takes(host) {
                    break;
                }
                let Ok(length) = self.devices[host].read(&mut frame) else {
                    self.unread[host] = false;
                    break;
                };
                let (now_ns, frame) = (clock::now(), &frame[..length]);
                self.stamps.left(now_ns, frame);
                self.switch.send(Time::from_nanos(now_ns - self.origin_ns), host as u32, frame);
                read = true;
            }
        }
        if !read {
            return;
        }
        self.lateness.looks.record(gap);
        self.lateness.longest_gap = self.lateness.longest_gap.max(gap);
        if gap > NAP_NS {
            self.lateness.stalled += gap;
        }
    }

    /// Marks the hosts that have sent, after a wait of at most this long.
    fn notice(&mut self, nanos: u64) {
        for &host in self.ready.wait(nanos) {
            self.unread[host as usize] = true;
        }
    }

    /// True if the own link of a host takes another frame. A NIC takes it when it has sent the ones before.
    fn takes(&self, host: usize) -> bool {
        let Some((port, most)) = self.own_links[host] else { return true };
        self.switch.queue(port, self.time(clock::now())) <= most
    }

    fn sample(&mut self, now_ns: u64, begin_ns: u64, options: &Options) {
        let Options { ports, interval_ns, .. } = options;
        if *interval_ns == 0 || now_ns < begin_ns || now_ns - self.sampled_ns < *interval_ns {
            return;
        }
        self.sampled_ns = now_ns - (now_ns - begin_ns) % interval_ns;
        self.queues.time.push((now_ns - begin_ns) * 1000);
        let now = self.time(now_ns);
        for (&port, column) in ports.iter().zip(&mut self.queues.bytes) {
            column.push(self.switch.queue(port, now).0 as u32);
        }
    }

    /// Waits until a host sends, or shortly before a frame is due.
    fn wait(&mut self) {
        // An own link takes the next unread frame within a transmission time.
        if !self.due.is_empty() || self.unread.contains(&true) {
            return;
        }
        let due = self.switch.next().map_or(u64::MAX, |time| self.origin_ns + time.0 / 1000);
        let nap = due.saturating_sub(clock::now()).saturating_sub(AWAKE_NS).min(NAP_NS);
        if nap == 0 {
            return;
        }
        self.notice(nap);
        // A frame wakes the thread, so none was missed during the sleep.
        self.looked_ns = clock::now();
    }

    fn report(mut self) -> Report {
        let now_ns = clock::now();
        self.advance(now_ns);
        let now = self.time(now_ns);
        let measured = now - self.time(self.warm.unwrap_or(now_ns));
        Report {
            ports: self.switch.report(now, measured),
            queues: self.queues,
            lateness: self.lateness,
            stamps: self.stamps,
            delivered: self.delivered,
            unroutable: self.switch.unroutable,
            refused: self.refused,
            in_flight: self.switch.in_flight(),
            measured,
            round_trip: Time::ZERO,
            ideal: Vec::new(),
            ways: Vec::new(),
        }
    }
}

/// Polls all devices with one system call. It tells of new frames, not of those that were left.
struct Ready {
    file: OwnedFd,
    events: Vec<Event>,
    hosts: Vec<u32>,
}

impl Ready {
    fn new(devices: &[File]) -> Outcome<Self> {
        let file = epoll::create(CreateFlags::CLOEXEC)?;
        for (device, host) in devices.iter().zip(0..) {
            epoll::add(&file, device, EventData::new_u64(host), EventFlags::IN | EventFlags::ET)?;
        }
        Ok(Self { file, events: Vec::with_capacity(devices.len()), hosts: Vec::new() })
    }

    /// The hosts that have sent, after a wait of at most this long.
    fn wait(&mut self, nanos: u64) -> &[u32] {
        self.events.clear();
        // An interrupted poll has seen nothing; the next one will.
        let _ = epoll::wait(&self.file, rustix::buffer::spare_capacity(&mut self.events), Some(&clock::span(nanos)));
        self.hosts.clear();
        self.hosts.extend(self.events.iter().map(|event| event.data.u64() as u32));
        &self.hosts
    }
}
