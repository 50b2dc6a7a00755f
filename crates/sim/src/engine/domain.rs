//! What one thread owns: hosts and the fabric between them, with their packets, timers and event queue.
//!
//! Two kinds of things happen: a packet arrives at the end of a link or a port becomes free ([`crate::queue::event_queue`]), and a
//! timer runs out ([`crate::queue::timers`]), which goes first at the same picosecond. The order is total: it depends on the
//! scenario alone.

use std::sync::Arc;

use shallows_cc::units::Time;

use crate::engine::prefetch::{prefetch_depth, prefetch_next};
use crate::fabric::ownership::Ownership;
use crate::fabric::route::Routes;
use crate::fabric::{Delivery, Fabric};
use crate::host::hosts::Hosts;
use crate::observe::Observer;
use crate::queue::timers::Timer;
use crate::spec::fault::Fault;
use crate::spec::network::Network;

/// A part of the network in motion, or all of it. In cache lines of its own, two of them because processors fetch pairs: another
/// thread has the one beside it.
#[derive(Debug)]
#[repr(align(128))]
pub struct Domain<O> {
    pub fabric: Fabric<O>,
    pub hosts: Hosts,
    network: Arc<Network>,
    /// What has happened so far,
    events: u64,
    /// and how much of it was passed over.
    stale_wakes: u64,
}

/// What happens next at some instant, in the order in which it goes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Next {
    /// A timer runs out.
    Timer(Timer),
    /// The event of this place.
    Event(u32),
}

impl<O: Observer> Domain<O> {
    /// Everything at rest, at time zero.
    pub fn new(
        network: &Arc<Network>,
        routes: &Arc<Routes>,
        ownership: Ownership,
        observer: O,
    ) -> Result<Self, String> {
        let depth = prefetch_depth(network, &ownership);
        let fabric = Fabric::new(Arc::clone(network), Arc::clone(routes), &ownership, depth, observer)?;
        Ok(Self {
            fabric,
            hosts: Hosts::new(Arc::clone(network), |host| routes.nic(host), ownership),
            network: Arc::clone(network),
            events: 0,
            stale_wakes: 0,
        })
    }

    /// Packets that leave their hosts from now on go round links that are down.
    pub fn reroute(&mut self, routes: &Arc<Routes>) {
        self.fabric.routes = Arc::clone(routes);
        self.hosts.reroute(routes);
    }

    /// Something happens to a link: what waited for it may go on.
    pub fn change(&mut self, fault: Fault) {
        self.fabric.change(fault);
        self.serve_behind(fault.link);
    }

    /// When something happens next; [`Time::MAX`] if nothing does.
    pub fn next(&self) -> Time {
        self.fabric.events.peek().map_or(Time::MAX, |(at, _)| at).min(self.hosts.nics.timers.next())
    }

    /// How much has happened that was not passed over and does not also happen elsewhere.
    pub fn processed(&self) -> u64 {
        self.events - self.stale_wakes - self.hosts.remote_stops
    }

    /// What happens next, if it happens `at` this time.
    pub fn next_at(&self, at: Time) -> Option<Next> {
        if self.next() != at {
            return None;
        }
        let timer = self.hosts.nics.timers.peek().filter(|timer| timer.at == at);
        Some(timer.map_or_else(|| Next::Event(self.fabric.events.tie_rank()), Next::Timer))
    }

    /// Lets everything happen that is due before `limit`, whatever the driver may have to look at.
    pub fn run_until(&mut self, limit: Time) {
        while self.next() < limit {
            self.fabric.interrupt = false;
            self.run(limit, u64::MAX);
        }
        self.fabric.interrupt = false;
    }

    /// Lets everything happen that is due before `limit`, or that many events; stops at once where the driver has to
    /// look: a link has been paused, or the last flow of those to wait for has finished. How many happened.
    ///
    /// # Panics
    /// If an invariant is broken, such as time running backwards.
    #[inline]
    pub fn run(&mut self, limit: Time, events: u64) -> u64 {
        let mut left = events;
        while left > 0 && !self.fabric.interrupt {
            let timer = self.hosts.nics.timers.next();
            match self.fabric.events.pop_before(timer.min(limit)) {
                Some((at, entity, others)) => {
                    self.go_on(at);
                    if others {
                        prefetch_next(&self.fabric, &self.hosts);
                    }
                    self.on_event(entity);
                    self.fabric.events.finish();
                }
                _ if timer < limit => {
                    self.go_on(timer);
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
    fn go_on(&mut self, at: Time) {
        assert!(at >= self.fabric.now, "time runs backwards");
        self.fabric.now = at;
    }

    #[inline]
    fn on_event(&mut self, entity: u32) {
        let links = self.fabric.ports.len();
        if (entity as usize) < links {
            return self.on_arrival(entity);
        }
        let host = entity - links as u32;
        if host < self.network.hosts {
            return self.hosts.on_free_port(&mut self.fabric, host);
        }
        let port = host - self.network.hosts;
        if self.fabric.wake_port(port) {
            self.serve_behind(port);
        } else {
            self.stale_wakes += 1;
        }
    }

    #[inline]
    fn on_arrival(&mut self, link: u32) {
        match self.fabric.arrive(link) {
            Delivery::Forwarded => {}
            Delivery::AtHost(at) => self.hosts.receive(&mut self.fabric, at),
            Delivery::Resumed(port) => self.serve_behind(port),
        }
    }

    /// The flows of the host behind a port, if it is one's NIC.
    fn serve_behind(&mut self, port: u32) {
        let node = self.fabric.ports[port as usize].from;
        if node < self.network.hosts {
            self.hosts.transmit(&mut self.fabric, node);
        }
    }
}
