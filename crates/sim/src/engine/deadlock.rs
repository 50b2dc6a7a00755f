//! Checks of PFC over the whole network: links whose ends disagree about a pause, and deadlocks.

use std::collections::BTreeMap;

use shallows_cc::units::Bytes;

use crate::observe::Observer;
use crate::packet::PacketKind;
use crate::parallel::network::ParallelNetwork;

/// Links whose two ends disagree about a pause, and whether the port is paused. The last PFC frame in flight, or the state of the port if
/// there is none, must be what the switch wants.
pub fn pause_mismatches<O: Observer>(all: &ParallelNetwork<O>) -> impl Iterator<Item = (u32, bool)> {
    let links = if all.pauses() { all.links() } else { 0 };
    let both = (0..links).map(|link| (link, all.port(link).is_paused(), all.is_pausing(link)));
    // Frames are searched only where it matters: mostly both ends agree that nothing is paused.
    let mismatches = both.filter(|&(link, paused, pausing)| {
        (paused || pausing) && all.last_pause_frame(link).unwrap_or(paused) != pausing
    });
    mismatches.map(|(link, paused, _)| (link, paused))
}

/// The ports of a deadlock: a cycle in which each port waits for the next one for ever; empty if there is none.
///
/// A paused port stays paused while more bytes than its resume threshold are queued at ports that stay paused.
pub fn search<O: Observer>(all: &ParallelNetwork<O>) -> Vec<u32> {
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

/// By link and port of `stuck`: how much data from the link is queued at the port. Data at a NIC came over no link, so no port waits for it,
/// and there may be millions of packets.
fn behind<O: Observer>(all: &ParallelNetwork<O>, stuck: &[u32]) -> BTreeMap<(u32, u32), Bytes> {
    let mut behind = BTreeMap::new();
    for &port in stuck.iter().filter(|&&port| !all.is_nic(port)) {
        for data in all.waiting(port).filter(|waiting| waiting.kind == PacketKind::Data) {
            *behind.entry((data.from, port)).or_insert(Bytes::ZERO) += data.length;
        }
    }
    behind
}

/// Follows the waiting ports until one repeats.
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
