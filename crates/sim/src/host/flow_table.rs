//! The halves of flows that live at hosts: found by the flow, densely kept.

use crate::arch::huge_pages;
use crate::packet::NIL;

/// One half, sending or receiving, of every flow that has it now.
#[derive(Debug)]
pub struct FlowTable<T> {
    /// By flow: its place, while it lives.
    places: Vec<u32>,
    entries: Vec<T>,
    /// By place: the flow.
    flows: Vec<u32>,
}

impl<T> FlowTable<T> {
    /// None yet, of so many flows.
    pub fn new(flows: usize) -> Self {
        Self { places: vec![NIL; flows], entries: Vec::new(), flows: Vec::new() }
    }

    /// That of a flow, if it lives.
    #[inline]
    pub fn get(&self, flow: u32) -> Option<&T> {
        self.entries.get(self.places[flow as usize] as usize)
    }

    /// That of a flow, if it lives.
    #[inline]
    pub fn get_mut(&mut self, flow: u32) -> Option<&mut T> {
        self.entries.get_mut(self.places[flow as usize] as usize)
    }

    /// The half of a flow that has none.
    pub fn insert(&mut self, flow: u32, half: T) {
        self.places[flow as usize] = self.entries.len() as u32;
        huge_pages::push(&mut self.entries, half);
        self.flows.push(flow);
    }

    /// Takes it out; the last one moves to its place.
    pub fn remove(&mut self, flow: u32) -> Option<T> {
        let place = std::mem::replace(&mut self.places[flow as usize], NIL) as usize;
        if place >= self.entries.len() {
            return None;
        }
        self.flows.swap_remove(place);
        if let Some(&moved) = self.flows.get(place) {
            self.places[moved as usize] = place as u32;
        }
        Some(self.entries.swap_remove(place))
    }

    /// All that live, in no order.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.entries.iter()
    }

    /// The same, to change them.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut()
    }

    /// All that live, by flow.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..self.places.len() as u32).filter_map(|flow| Some((flow, self.get(flow)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_is_found_by_its_flow_and_leaves_no_hole() {
        let mut entries = FlowTable::new(9);
        entries.insert(4, "four");
        entries.insert(7, "seven");
        assert_eq!(entries.remove(4), Some("four"));
        assert_eq!(entries.get(4), None);
        assert_eq!(entries.remove(4), None);
        assert_eq!(entries.get_mut(7), Some(&mut "seven"));
        entries.insert(2, "two");
        assert_eq!(entries.entries.len(), 2);
        assert_eq!(entries.iter().collect::<Vec<_>>(), [(2, &"two"), (7, &"seven")]);
    }
}
