//! The link in the other direction of each link.

use std::collections::BTreeMap;

use crate::packet::NIL;
use crate::spec::ports::PortSpec;

/// The reverse link of each link, [`NIL`] if it has none. Parallel links pair up in their order.
pub(super) fn reverse_links(ports: &[PortSpec]) -> Vec<u32> {
    let mut links: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
    let mut places = Vec::with_capacity(ports.len());
    for (port, at) in ports.iter().zip(0..) {
        let parallel = links.entry((port.from, port.to)).or_default();
        places.push(parallel.len());
        parallel.push(at);
    }
    let reverse = |(port, &place): (&PortSpec, &usize)| links.get(&(port.to, port.from))?.get(place).copied();
    ports.iter().zip(&places).map(|port| reverse(port).unwrap_or(NIL)).collect()
}

#[cfg(test)]
mod tests {
    use shallows_cc::units::{Bytes, Rate, Time};

    use super::*;

    #[test]
    fn parallel_links_pair_up_in_their_order() {
        let (rate, delay) = (Rate::from_gbps(10), Time::ZERO);
        let link = |(from, to)| PortSpec { from, to, rate, delay, buffer: Bytes::MAX, marking: None, discipline: None };
        let links = [(0, 1), (1, 0), (2, 0), (0, 1), (1, 0), (0, 1)].map(link);
        assert_eq!(reverse_links(&links), [1, 0, NIL, 4, 3, NIL]);
    }
}
