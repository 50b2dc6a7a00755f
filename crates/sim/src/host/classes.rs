//! Service of NICs with several traffic classes: flows are served by class ([`super::run_queue`]), if the port accepts data of the class.

use shallows_cc::units::Time;

use crate::fabric::Fabric;
use crate::host::nics::{Nic, Nics};
use crate::host::transport::{FlowSender, Readiness};
use crate::observe::Observer;
use crate::packet::{Flags, PacketKind};

// Out of line, so that hosts with one class do not carry it.
impl Nics {
    /// Does what [`Self::next`] does, where there are several traffic classes.
    #[cold]
    #[inline(never)]
    pub(super) fn next_of_classes<O: Observer>(&mut self, fabric: &mut Fabric<O>, nic: u32) -> Option<u32> {
        let waiting = self.nics[nic as usize].ready.waiting_classes();
        if waiting == 0 || !self.accepts(fabric, nic, waiting) {
            return None;
        }
        let fifo = self.fifo;
        let Nic { port, ready, .. } = &mut self.nics[nic as usize];
        let port = &fabric.ports[*port as usize];
        ready.pop_of_classes(fabric.network.mtu, |class| fifo || port.can_send(fabric.now, data_of(class)))
    }

    /// Does what [`Self::pass_on`] does, and counts the packet for the turns of its traffic class.
    #[cold]
    #[inline(never)]
    pub(super) fn pass_on_classed<O: Observer>(
        &mut self,
        fabric: &mut Fabric<O>,
        sender: &mut FlowSender,
        at: u32,
        next: Option<Readiness>,
    ) {
        let (nic, length) = (sender.endpoint.nic, fabric.packets[at].bytes());
        self.pass_on(fabric, sender, at, next);
        self.nics[nic as usize].ready.charge(sender.class, length);
    }

    /// Returns when a port with classes accepts data of one of these traffic classes; [`Time::MAX`] if that is not known.
    #[inline(never)]
    pub(super) fn free_at<O: Observer>(fabric: &mut Fabric<O>, port: u32, classes: u8) -> Time {
        if fabric.ports[port as usize].is_due(fabric.now) {
            fabric.dispatch(port);
        }
        let nic = &fabric.ports[port as usize];
        let busy_until = nic.busy_until();
        let wants = |class: &u8| classes >> class & 1 > 0;
        if busy_until > fabric.now || (0..8).filter(wants).any(|class| nic.can_send(fabric.now, data_of(class))) {
            return busy_until;
        }
        nic.idle_until(fabric.now).unwrap_or(Time::MAX)
    }
}

/// Flags of data of a traffic class.
#[inline]
const fn data_of(class: u8) -> Flags {
    Flags::of(PacketKind::Data).with_class(class)
}
