//! What only shows when all switches are looked at together: pauses on which the two ends of a link disagree, and ports that
//! wait for each other for ever.

use std::collections::BTreeMap;

use shallows_cc::units::Bytes;

use crate::observe::Observer;
use crate::packet::PacketKind;
use crate::parallel::network::ParallelNetwork;

/// Links whose two ends disagree about whether they are paused, now that every pause and resume on its way has been
/// heard, and what the port thinks: the last one there is, or else the state of the port, is what the switch wants.
pub fn pause_mismatches<O: Observer>(all: &ParallelNetwork<O>) -> impl Iterator<Item = (u32, bool)> {
    let links = if all.pauses() { all.links() } else { 0 };
    let both = (0..links).map(|link| (link, all.port(link).is_paused(), all.is_pausing(link)));
    // Frames are looked for only where it matters: mostly both ends agree that nothing is paused.
    let apart = both.filter(|&(link, paused, pausing)| {
        (paused || pausing) && all.last_pause_frame(link).unwrap_or(paused) != pausing
    });
    apart.map(|(link, paused, _)| (link, paused))
}

/// The ports of a cycle in which each waits for the next and none can ever go on; empty if there is
/// none.
///
/// A paused port stays so while more than its threshold lies in ports that stay so.
pub fn deadlock<O: Observer>(all: &ParallelNetwork<O>) -> Vec<u32> {
    if !all.pauses() {
        return Vec::new();
    }
    let paused = |&port: &u32| all.port(port).is_paused() && all.is_pausing(port);
    let mut stuck: Vec<u32> = (0..all.links()).filter(paused).collect();
    let mut behind = behind(all, &stuck);
    loop {
        let mut held = BTreeMap::new();
        behind.iter().for_each(|(&(from, _), &length)| *held.entry(from).or_insert(Bytes::ZERO) += length);
        let before = stuck.len();
        stuck.retain(|port| held.get(port).is_some_and(|&held| held > all.resumes_at(*port)));
        if stuck.len() == before {
            return cycle(&stuck, &behind);
        }
        behind.retain(|(_, port), _| stuck.binary_search(port).is_ok());
    }
}

/// Which links' data waits in each port of `stuck`, and how much. What waits in a NIC came over no link: nobody waits for it,
/// and it may be millions of packets.
fn behind<O: Observer>(all: &ParallelNetwork<O>, stuck: &[u32]) -> BTreeMap<(u32, u32), Bytes> {
    let mut behind = BTreeMap::new();
    for &port in stuck.iter().filter(|&&port| !all.is_nic(port)) {
        for data in all.waiting(port).filter(|waiting| waiting.kind == PacketKind::Data) {
            *behind.entry((data.from, port)).or_insert(Bytes::ZERO) += data.length;
        }
    }
    behind
}

/// Follows who waits for whom until somebody comes up twice.
fn cycle(stuck: &[u32], behind: &BTreeMap<(u32, u32), Bytes>) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut at = stuck.first().copied();
    while let Some(port) = at {
        if let Some(begin) = seen.iter().position(|&p| p == port) {
            return seen.split_off(begin);
        }
        seen.push(port);
        at = behind.range((port, 0)..=(port, u32::MAX)).next().map(|(&(_, waits_for), _)| waits_for);
    }
    Vec::new()
}
