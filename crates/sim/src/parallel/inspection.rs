//! The state of links, whatever domains own their ends: for snapshots, the search for deadlocks and the packet limit.

use shallows_cc::units::Bytes;

use crate::engine::domain::Domain;
use crate::observe::Observer;
use crate::packet::header::Header;
use crate::packet::{Packet, PacketKind};
use crate::parallel::network::ParallelNetwork;
use crate::port::Port;
use crate::port::admission::Departure;

impl<O: Observer> ParallelNetwork<O> {
    /// The number of links.
    pub(crate) fn links(&self) -> u32 {
        self.network.ports.len() as u32
    }

    /// Whether switches send PFC pauses.
    pub fn pauses(&self) -> bool {
        self.network.pauses()
    }

    /// The traffic classes that switches pause.
    pub(crate) fn pause_classes(&self) -> impl Iterator<Item = u8> {
        (0..).zip(&self.network.classes).filter(|(_, class)| class.pause.is_some()).map(|(class, _)| class)
    }

    /// Whether a watchdog ends long pauses of a traffic class.
    pub fn has_watchdog(&self, class: u8) -> bool {
        self.network.classes[usize::from(class)].pause.is_some_and(|pause| pause.watchdog.is_some())
    }

    /// Whether the port of a link is a NIC.
    pub(crate) fn is_nic(&self, link: u32) -> bool {
        self.network.ports[link as usize].from < self.network.hosts
    }

    /// The port of a link.
    pub fn port(&self, link: u32) -> &Port {
        &self.domains[self.up(link)].fabric.ports[link as usize]
    }

    /// The frames queued at a port with classes.
    pub(crate) fn waiting(&self, link: u32) -> impl Iterator<Item = Departure> {
        let fabric = &self.domains[self.up(link)].fabric;
        fabric.ports[link as usize].waiting(&fabric.packets)
    }

    /// Whether the switch at the end of a link pauses a class of it.
    pub fn is_pausing(&self, link: u32, class: u8) -> bool {
        self.domains[self.down(link)].fabric.switches.as_ref().is_some_and(|switches| switches.is_pausing(link, class))
    }

    /// The number of bytes of a class from a link down to which its switch resumes it.
    pub(crate) fn resumes_at(&self, link: u32, class: u8) -> Bytes {
        let switches = self.domains[self.down(link)].fabric.switches.as_ref();
        switches.map_or(Bytes::ZERO, |switches| switches.resumes_at(self.network.ports[link as usize].to, class))
    }

    /// Whether the last PFC frame of a class in flight to the port of a link is a pause; `None` if there is no such frame. The switch
    /// sends it over the reverse link.
    pub fn last_pause_frame(&self, link: u32, class: u8) -> Option<bool> {
        let switches = self.domains[self.down(link)].fabric.switches.as_ref()?;
        let frames = self
            .in_flight(switches.reverse(link))
            .filter(|(packet, _)| packet.flags.for_neighbour() && packet.flags.class() == class);
        frames.last().map(|(packet, _)| packet.flags.is(PacketKind::Pause))
    }

    /// Every packet in flight over a link, in order. A packet sent to another domain is on a list at the other end.
    pub(crate) fn in_flight(&self, link: u32) -> impl Iterator<Item = (&Packet, &Header)> {
        let on_lists = self.domains.iter().flat_map(move |Domain { fabric, .. }| {
            let port = &fabric.ports[link as usize];
            let places = port.late().chain(port.link.places(&fabric.packets));
            places.map(|at| (&fabric.packets[at], fabric.packets.header(at)))
        });
        let mut sent: Vec<_> = on_lists.collect();
        sent.sort_by_key(|(packet, _)| packet.arrives);
        let up = &self.domains[self.up(link)].fabric;
        let in_classes = up.ports[link as usize].in_classes();
        sent.into_iter().chain(in_classes.map(|at| (&up.packets[at], up.packets.header(at))))
    }
}
