//! The engine: hosts, the fabric between them, and the loop that executes their events.
//!
//! There are two kinds of events: a packet arrives at the end of a link or a port becomes idle ([`crate::queue::event_queue`]), and a
//! timer expires ([`crate::queue::timers`]). At the same picosecond timers come first. The order is total and depends on the scenario
//! alone. [`Domain::run`] pops the next event, advances the time, and dispatches the event to the fabric or to a host, which push
//! what follows from it. A domain knows nothing of threads; a network may be divided into several domains ([`crate::parallel`]).

use std::sync::Arc;

use shallows_cc::units::Time;

use crate::engine::prefetch::Lookahead;
use crate::fabric::ownership::Ownership;
use crate::fabric::route::Routes;
use crate::fabric::{Delivery, Fabric};
use crate::host::hosts::Hosts;
use crate::observe::Observer;
use crate::queue::timers::Timer;
use crate::spec::fault::{Change, Fault};
use crate::spec::network::Network;
use crate::spec::setting::SenderSetting;

/// A domain: a part of the network, or all of it. Its alignment is two cache lines, because processors fetch pairs of them, and another
/// thread may work on the domain beside it.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub(crate) struct Domain<O> {
    pub fabric: Fabric<O>,
    pub hosts: Hosts,
    lookahead: Lookahead,
    network: Arc<Network>,
    /// Events so far, stale wake-ups included.
    events: u64,
    stale_wakes: u64,
}

/// The next event at an instant, in the order of simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Next {
    /// A timer.
    Timer(Timer),
    /// An event of the queue, with its rank ([`crate::queue::event_queue::EventQueue::tie_rank`]).
    Event(u32),
}

impl<O: Observer> Domain<O> {
    /// An idle domain at time zero.
    pub(crate) fn new(
        network: &Arc<Network>,
        routes: &Arc<Routes>,
        ownership: Ownership,
        observer: O,
    ) -> Result<Self, String> {
        let lookahead = Lookahead::new(network, &ownership);
        let fabric = Fabric::new(Arc::clone(network), Arc::clone(routes), &ownership, lookahead.depth(), observer)?;
        Ok(Self {
            fabric,
            hosts: Hosts::new(Arc::clone(network), routes, ownership),
            lookahead,
            network: Arc::clone(network),
            events: 0,
            stale_wakes: 0,
        })
    }

    /// Replaces the references to the request and the routes.
    pub(crate) fn set_network(&mut self, network: &Arc<Network>, routes: &Arc<Routes>) {
        self.network = Arc::clone(network);
        self.fabric.set_network(network, routes);
        self.hosts.set_network(network);
    }

    /// Adds the next flow.
    pub(crate) fn join(&mut self, flow: u32) {
        self.fabric.join(flow);
        self.hosts.join(&self.fabric, flow);
    }

    /// Uses new routes, for packets that leave their hosts from now on.
    pub fn reroute(&mut self, routes: &Arc<Routes>) {
        self.fabric.routes = Arc::clone(routes);
        self.hosts.reroute(&mut self.fabric);
    }

    /// Applies a fault to a link, and sends what waited for it.
    pub(crate) fn change(&mut self, fault: Fault) {
        self.fabric.change(fault);
        let node = self.fabric.ports[fault.link as usize].from;
        if node < self.network.hosts && matches!(fault.change, Change::Down | Change::Up) {
            self.hosts.report_ports(&mut self.fabric, node);
        }
        if let Change::Turn { class, quantum } = fault.change
            && node < self.network.hosts
        {
            self.hosts.nics.set_quantum(node, fault.link, (class, quantum));
        }
        self.transmit_behind(fault.link);
    }

    /// Gives the sender of a flow a window and a pace, if it has started.
    pub(crate) fn adopt(&mut self, setting: SenderSetting) {
        self.hosts.adopt(&mut self.fabric, setting);
    }

    /// The time of the next event; [`Time::MAX`] if there is none.
    pub fn next_time(&self) -> Time {
        self.fabric.events.peek().map_or(Time::MAX, |(at, _)| at).min(self.hosts.nics.timers.next())
    }

    /// The number of events so far, without stale wake-ups and those that another domain counts as well.
    pub(crate) fn processed(&self) -> u64 {
        self.events - self.stale_wakes - self.hosts.remote_stops
    }

    /// The next event, if its time is `at`.
    pub fn next_at(&self, at: Time) -> Option<Next> {
        if self.next_time() != at {
            return None;
        }
        let timer = self.hosts.nics.timers.peek().filter(|timer| timer.at == at);
        Some(timer.map_or_else(|| Next::Event(self.fabric.events.tie_rank()), Next::Timer))
    }

    /// Executes all events before `limit`, and ignores interrupts.
    pub(crate) fn run_until(&mut self, limit: Time) {
        while self.next_time() < limit {
            self.fabric.interrupt = false;
            self.run(limit, u64::MAX);
        }
        self.fabric.interrupt = false;
    }

    /// Executes the events before `limit`, at most `events` of them, and returns how many. Stops at an interrupt: a link was paused, or
    /// the last flow of a run that ends with its flows has finished.
    ///
    /// # Panics
    /// If an invariant is broken, such as time running backwards.
    #[inline]
    pub fn run(&mut self, limit: Time, events: u64) -> u64 {
        let mut left = events;
        self.fabric.events.set_lookahead(self.lookahead.pays(self.fabric.packets.live()));
        while left > 0 && !self.fabric.interrupt {
            let timer = self.hosts.nics.timers.next();
            match self.fabric.events.pop_before(timer.min(limit)) {
                Some((at, entity, known)) => {
                    if known {
                        self.lookahead.advance(&mut self.fabric, &self.hosts);
                    }
                    self.dispatch(at, entity);
                    self.fabric.events.finish();
                }
                _ if timer < limit => {
                    self.advance_to(timer);
                    if let Some(timer) = self.hosts.nics.timers.pop() {
                        self.hosts.on_timer(&mut self.fabric, timer);
                        self.hosts.nics.timers.finish();
                    }
                }
                _ => break,
            }
            left -= 1;
        }
        self.events += events - left;
        events - left
    }

    #[inline]
    fn advance_to(&mut self, at: Time) {
        assert!(at >= self.fabric.now, "time runs backwards");
        self.fabric.now = at;
    }

    /// Executes an event of a link, a host or a port with classes, whose numbers follow each other.
    #[inline]
    fn dispatch(&mut self, at: Time, entity: u32) {
        let before = self.fabric.now;
        self.advance_to(at);
        let links = self.fabric.ports.len();
        if (entity as usize) < links {
            return self.on_arrival(entity);
        }
        let nic = entity - links as u32;
        if nic < self.hosts.nics.count() {
            return self.hosts.on_port_free(&mut self.fabric, nic);
        }
        let port = nic - self.hosts.nics.count();
        if self.fabric.wake_port(port) {
            self.transmit_behind(port);
        } else {
            // A stale wake-up leaves no trace, not even in the time at which the run ends.
            self.fabric.now = before;
            self.stale_wakes += 1;
        }
    }

    #[inline]
    fn on_arrival(&mut self, link: u32) {
        match self.fabric.arrive(link) {
            Delivery::Forwarded => {}
            Delivery::AtHost(at) => self.hosts.receive(&mut self.fabric, at),
            Delivery::Resumed(port) => self.transmit_behind(port),
        }
    }

    /// Lets the host behind a port send, if the port is its NIC.
    #[inline(always)]
    fn transmit_behind(&mut self, port: u32) {
        let node = self.fabric.ports[port as usize].from;
        if node < self.network.hosts {
            self.hosts.transmit_through(&mut self.fabric, node, port);
        }
    }
}
