//! What a host knows of the ports of its peers ([`crate::host::port_status`]).

use std::collections::BTreeMap;

use shallows_cc::units::Time;

/// Ports of peers that are down: by host and peer, when the newest report left the peer, and a bit for each port.
#[derive(Clone, Debug, Default)]
pub struct PeerPorts(BTreeMap<(u32, u32), (Time, u64)>);

impl PeerPorts {
    /// Returns whether a host knows that port `number` of its peer is down.
    #[inline]
    pub(crate) fn is_down(&self, host: u32, peer: u32, number: u32) -> bool {
        !self.0.is_empty()
            && self.0.get(&(host, peer)).is_some_and(|&(_, down)| number < u64::BITS && down >> number & 1 > 0)
    }

    /// Keeps the report of a peer, unless a newer one is known.
    pub fn on_report(&mut self, host: u32, peer: u32, (sent, down): (Time, u64)) {
        let known = self.0.entry((host, peer)).or_default();
        // Reports take several paths, and an older one may arrive later.
        *known = (*known).max((sent, down));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_was_overtaken_changes_nothing() {
        let mut ports = PeerPorts::default();
        let (early, late) = (Time::from_micros(1), Time::from_micros(2));
        ports.on_report(3, 4, (late, 0b10));
        ports.on_report(3, 4, (early, 0b01));
        assert_eq!([0, 1, 2].map(|number| ports.is_down(3, 4, number)), [false, true, false]);
        assert!(!ports.is_down(4, 3, 1), "another host");
        ports.on_report(3, 4, (Time::from_micros(3), 0));
        assert!(!ports.is_down(3, 4, 1));
    }
}
