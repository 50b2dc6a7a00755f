//! What only shows when all switches are looked at together: pauses on which the two ends of a link disagree, and ports that
//! wait for each other for ever.

use shallows_cc::units::Bytes;

use crate::domains::Domains;
use crate::observe::Observer;
use crate::packet::PacketKind;

/// Links whose two ends disagree about whether they are paused, now that every pause and resume on its way has been
/// heard, and what the port thinks: the last one there is, or else the state of the port, is what the switch wants.
pub fn disagreements<O: Observer>(all: &Domains<O>) -> impl Iterator<Item = (u32, bool)> {
    let links = if all.pauses() { all.links() } else { 0 };
    let both = (0..links).map(|link| (link, all.port(link).is_paused(), all.is_pausing(link)));
    // Frames are looked for only where it matters: mostly both ends agree that nothing is paused.
    let apart =
        both.filter(|&(link, paused, pausing)| (paused || pausing) && all.last_word(link).unwrap_or(paused) != pausing);
    apart.map(|(link, paused, _)| (link, paused))
}

/// The ports of a circle in which each waits for the next and none can ever go on; empty if there is
/// none.
///
/// A paused port stays so while more than its threshold lies in ports that stay so.
pub fn deadlock<O: Observer>(all: &Domains<O>) -> Vec<u32> {
    if !all.pauses() {
        return Vec::new();
    }
    let paused = |&port: &u32| all.port(port).is_paused() && all.is_pausing(port);
    let mut stuck: Vec<u32> = (0..all.links()).filter(paused).collect();
    loop {
        let behind = behind(all, &stuck);
        let stays = |port: &u32| {
            let held = behind.iter().filter(|(from, ..)| from == port).map(|(.., length)| *length).sum::<Bytes>();
            held > all.resumes_at(*port)
        };
        let still: Vec<u32> = stuck.iter().copied().filter(stays).collect();
        if still.len() == stuck.len() {
            return circle(&stuck, &behind);
        }
        stuck = still;
    }
}

/// For each port of `stuck`: which links' data waits in it, and how much.
fn behind<O: Observer>(all: &Domains<O>, stuck: &[u32]) -> Vec<(u32, u32, Bytes)> {
    let waiting = |&port: &u32| {
        let data = all.waiting(port).filter(|w| w.kind == PacketKind::Data);
        data.map(move |w| (w.from, port, w.length))
    };
    stuck.iter().flat_map(waiting).collect()
}

/// Follows who waits for whom until somebody comes up twice.
fn circle(stuck: &[u32], behind: &[(u32, u32, Bytes)]) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut at = stuck.first().copied();
    while let Some(port) = at {
        if let Some(begin) = seen.iter().position(|&p| p == port) {
            return seen.split_off(begin);
        }
        seen.push(port);
        at = behind.iter().filter(|(from, ..)| *from == port).map(|(_, waits_for, _)| *waits_for).min();
    }
    Vec::new()
}
