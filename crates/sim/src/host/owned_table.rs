//! A row for each flow that some hosts own: dense, whatever the numbers of those flows are.

use std::ops::{Index, IndexMut};

use crate::packet::NIL;

/// OwnedTable of some flows, found by the flow.
#[derive(Debug)]
pub struct OwnedTable<T> {
    /// By flow: its place; empty where all flows have a row, each in its own place.
    places: Vec<u32>,
    entries: Vec<T>,
}

impl<T: Copy> OwnedTable<T> {
    /// Such a row for each of so many flows that is `owned`.
    pub fn new(entry: T, flows: u32, owned: impl Fn(u32) -> bool) -> Self {
        let mut owners = 0;
        let place = |flow| {
            let place = if owned(flow) { owners } else { NIL };
            owners += u32::from(place != NIL);
            place
        };
        let places: Vec<_> = (0..flows).map(place).collect();
        Self { places: if owners == flows { Vec::new() } else { places }, entries: vec![entry; owners as usize] }
    }

    fn place(&self, flow: usize) -> usize {
        self.places.get(flow).map_or(flow, |&place| place as usize)
    }

    /// All rows, in the order of their flows.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut()
    }
}

impl<T: Copy> Index<usize> for OwnedTable<T> {
    type Output = T;

    fn index(&self, flow: usize) -> &T {
        &self.entries[self.place(flow)]
    }
}

impl<T: Copy> IndexMut<usize> for OwnedTable<T> {
    fn index_mut(&mut self, flow: usize) -> &mut T {
        let place = self.place(flow);
        &mut self.entries[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_owns_every_third_flow_has_as_many_rows() {
        let mut entries = OwnedTable::new(0, 10, |flow| flow % 3 == 0);
        (0..10).step_by(3).for_each(|flow| entries[flow] = flow);
        assert_eq!(entries.entries, [0, 3, 6, 9]);
        assert!((0..10).step_by(3).all(|flow| entries[flow] == flow));
    }

    #[test]
    fn who_owns_all_needs_no_list_of_places() {
        let mut entries = OwnedTable::new(0, 4, |_| true);
        entries[2] = 7;
        assert_eq!((entries.entries.clone(), entries.places.len()), (vec![0, 0, 7, 0], 0));
    }
}
