//! Checks of PFC over the whole network: links whose ends disagree about a pause, and deadlocks.

use std::collections::BTreeMap;

use shallows_cc::units::Bytes;

use crate::observe::Observer;
use crate::packet::PacketKind;
use crate::parallel::network::ParallelNetwork;
use crate::port::admission::Departure;

/// Links whose two ends disagree about a pause of a class, and whether the port is paused. The last PFC frame in flight, or the state of the port if
/// there is none, must be what the switch wants.
pub(crate) fn pause_mismatches<O: Observer>(all: &ParallelNetwork<O>) -> impl Iterator<Item = (u32, bool)> {
    let links = if all.pauses() { all.links() } else { 0 };
    let both = (0..links).flat_map(|link| all.pause_classes().map(move |class| (link, class)));
    let both = both.map(|(link, class)| ((link, class), all.port(link).is_paused(class), all.is_pausing(link, class)));
    let mismatches = both
        .filter(|&((link, class), paused, pausing)| disagree(paused, pausing, || all.last_pause_frame(link, class)));
    mismatches.map(|((link, _), paused, _)| (link, paused))
}

/// Whether the ends of a link disagree. Frames are searched only where it matters: mostly both ends agree that nothing is paused.
fn disagree(paused: bool, pausing: bool, last_frame: impl FnOnce() -> Option<bool>) -> bool {
    (paused || pausing) && last_frame().unwrap_or(paused) != pausing
}

/// The ports of a deadlock: a cycle in which each port waits for the next one for ever; empty if there is none. A watchdog ends it.
///
/// A paused port stays paused while more bytes than its resume threshold are queued at ports that stay paused.
pub fn search<O: Observer>(all: &ParallelNetwork<O>) -> Vec<u32> {
    if !all.pauses() {
        return Vec::new();
    }
    let paused = |&(port, class): &Stuck| all.port(port).is_paused(class) && all.is_pausing(port, class);
    let endless = || all.pause_classes().filter(|&class| !all.has_watchdog(class));
    let every = (0..all.links()).flat_map(|port| endless().map(move |class| (port, class)));
    let mut stuck: Vec<Stuck> = every.filter(paused).collect();
    let mut behind = behind(all, &stuck);
    loop {
        let mut held = BTreeMap::new();
        behind.iter().for_each(|(&(from, _), &length)| *held.entry(from).or_insert(Bytes::ZERO) += length);
        let before = stuck.len();
        stuck.retain(|one| held.get(one).is_some_and(|&held| held > all.resumes_at(one.0, one.1)));
        if stuck.len() == before {
            return cycle(&stuck, &behind);
        }
        behind.retain(|(_, port), _| stuck.binary_search(port).is_ok());
    }
}

/// A port, and the traffic class that is paused there.
type Stuck = (u32, u8);

/// By link and port of `stuck`: how much data of the class from the link is queued at the port. Data at a NIC came over no link, so no port waits for it,
/// and there may be millions of packets.
fn behind<O: Observer>(all: &ParallelNetwork<O>, stuck: &[Stuck]) -> BTreeMap<(Stuck, Stuck), Bytes> {
    let mut behind = BTreeMap::new();
    for &(port, class) in stuck.iter().filter(|&&(port, _)| !all.is_nic(port)) {
        let of_class = |waiting: &Departure| waiting.kind == PacketKind::Data && waiting.class == class;
        for data in all.waiting(port).filter(of_class) {
            *behind.entry(((data.from, class), (port, class))).or_insert(Bytes::ZERO) += data.length;
        }
    }
    behind
}

/// Follows the waiting ports until one repeats.
fn cycle(stuck: &[Stuck], behind: &BTreeMap<(Stuck, Stuck), Bytes>) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut at = stuck.first().copied();
    while let Some(port) = at {
        if let Some(begin) = seen.iter().position(|&p| p == port) {
            return seen.split_off(begin).into_iter().map(|(port, _)| port).collect();
        }
        seen.push(port);
        at = behind.range((port, (0, 0))..=(port, (u32::MAX, u8::MAX))).next().map(|(&(_, waits_for), _)| waits_for);
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pause or a resume in flight settles it. Without one the port must be in the state that the switch wants.
    #[test]
    fn the_ends_of_a_link_agree_once_the_last_frame_has_arrived() {
        let (paused, running) = (true, false);
        let (pause, resume) = (Some(true), Some(false));
        let agreed = [(paused, true, None), (running, true, pause), (paused, false, resume), (running, false, None)];
        let disagreed = [(paused, false, None), (running, true, None), (paused, true, resume), (paused, false, pause)];
        assert!(agreed.iter().all(|&(port, switch, frame)| !disagree(port, switch, || frame)));
        assert!(disagreed.iter().all(|&(port, switch, frame)| disagree(port, switch, || frame)));
    }
}
