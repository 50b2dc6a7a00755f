//! Tables with one entry for each flow: of the flows that are active now, and of the flows that a domain owns.

use std::ops::{Index, IndexMut};

use crate::arch::huge_pages;
use crate::packet::NIL;

/// Table of active flows, stored without gaps.
#[derive(Clone, Debug)]
pub struct FlowTable<T> {
    /// The number of the first flow: those before it have been retired.
    first: u32,
    /// For each flow the index of its entry, or [`NIL`].
    places: Vec<u32>,
    entries: Vec<T>,
    /// For each entry its flow.
    flows: Vec<u32>,
}

impl<T> FlowTable<T> {
    /// Creates an empty table for flows below `flows`.
    pub(crate) fn new(flows: usize) -> Self {
        Self { first: 0, places: vec![NIL; flows], entries: Vec::new(), flows: Vec::new() }
    }

    /// Adds the next flow.
    pub(crate) fn join(&mut self) {
        self.places.push(NIL);
    }

    #[inline]
    pub fn get(&self, flow: u32) -> Option<&T> {
        self.entries.get(*self.places.get(self.index(flow))? as usize)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, flow: u32) -> Option<&mut T> {
        let place = *self.places.get(self.index(flow))?;
        self.entries.get_mut(place as usize)
    }

    /// Adds the entry of a flow that has none.
    pub fn insert(&mut self, flow: u32, entry: T) {
        let index = self.index(flow);
        self.places[index] = self.entries.len() as u32;
        huge_pages::push(&mut self.entries, entry);
        self.flows.push(flow);
    }

    /// Removes the entry of a flow. The last entry moves to its place.
    pub(crate) fn remove(&mut self, flow: u32) -> Option<T> {
        let index = self.index(flow);
        let place = std::mem::replace(self.places.get_mut(index)?, NIL) as usize;
        if place >= self.entries.len() {
            return None;
        }
        self.flows.swap_remove(place);
        if let Some(&moved) = self.flows.get(place) {
            let index = self.index(moved);
            self.places[index] = place as u32;
        }
        Some(self.entries.swap_remove(place))
    }

    /// The index of a flow in `places`; beyond all of them if the flow has been retired.
    #[inline]
    const fn index(&self, flow: u32) -> usize {
        flow.wrapping_sub(self.first) as usize
    }

    /// Retires the flows before `first`, which have no entry.
    pub(crate) fn retire(&mut self, first: u32) {
        self.places.drain(..(first - self.first) as usize);
        self.first = first;
    }

    /// Returns all entries, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = &T> {
        self.entries.iter()
    }

    /// Returns all entries, in no particular order.
    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut()
    }

    /// Returns all flows and their entries, in the order of flows.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (self.first..self.first + self.places.len() as u32).filter_map(|flow| Some((flow, self.get(flow)?)))
    }
}

/// Table with an entry for each flow that a domain owns, stored without gaps.
#[derive(Clone, Debug)]
pub(crate) struct OwnedTable<T> {
    /// The number of the first flow: those before it have been retired.
    first: u32,
    /// For each flow the number of its entry, or [`NIL`]; empty if every flow has an entry.
    places: Vec<u32>,
    /// The number of the first entry.
    first_entry: u32,
    entries: Vec<T>,
}

impl<T: Clone> OwnedTable<T> {
    /// Creates an `entry` for each of `flows` flows that is `owned`.
    pub fn new(entry: T, flows: u32, owned: impl Fn(u32) -> bool) -> Self {
        let mut count = 0;
        let place = |flow| {
            let place = if owned(flow) { count } else { NIL };
            count += u32::from(place != NIL);
            place
        };
        let places: Vec<_> = (0..flows).map(place).collect();
        let places = if count == flows { Vec::new() } else { places };
        Self { first: 0, places, first_entry: 0, entries: vec![entry; count as usize] }
    }

    /// Adds the entry of the next flow, if it is `owned`.
    pub(crate) fn join(&mut self, entry: T, flow: u32, owned: bool) {
        if !self.places.is_empty() || !owned {
            if self.places.is_empty() {
                self.places = (self.first..flow).collect();
            }
            self.places.push(if owned { self.first_entry + self.entries.len() as u32 } else { NIL });
        }
        if owned {
            self.entries.push(entry);
        }
    }

    fn place(&self, flow: usize) -> usize {
        let number = self.places.get(flow - self.first as usize).map_or(flow, |&place| place as usize);
        number - self.first_entry as usize
    }

    /// Retires the flows before `first`.
    pub(crate) fn retire(&mut self, first: u32) {
        let count = (first - self.first) as usize;
        let entries = if self.places.is_empty() {
            count
        } else {
            self.places.drain(..count).filter(|&place| place != NIL).count()
        };
        self.entries.drain(..entries);
        self.first = first;
        // Without flows the table begins anew, as one in which every flow has an entry.
        self.first_entry = if self.places.is_empty() { first } else { self.first_entry + entries as u32 };
    }

    /// Returns all entries, in the order of flows.
    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut()
    }
}

impl<T: Clone> Index<usize> for OwnedTable<T> {
    type Output = T;

    fn index(&self, flow: usize) -> &T {
        &self.entries[self.place(flow)]
    }
}

impl<T: Clone> IndexMut<usize> for OwnedTable<T> {
    fn index_mut(&mut self, flow: usize) -> &mut T {
        let place = self.place(flow);
        &mut self.entries[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_active_flows_leave_no_gaps() {
        let mut table = FlowTable::new(9);
        table.insert(4, "four");
        table.insert(7, "seven");
        assert_eq!(table.remove(4), Some("four"));
        assert_eq!(table.get(4), None);
        assert_eq!(table.remove(4), None);
        assert_eq!(table.get_mut(7), Some(&mut "seven"));
        table.insert(2, "two");
        assert_eq!(table.entries.len(), 2);
        assert_eq!(table.iter().collect::<Vec<_>>(), [(2, &"two"), (7, &"seven")]);
    }

    #[test]
    fn a_table_of_every_third_flow_has_as_many_entries() {
        let mut table = OwnedTable::new(0, 10, |flow| flow % 3 == 0);
        (0..10).step_by(3).for_each(|flow| table[flow] = flow);
        assert_eq!(table.entries, [0, 3, 6, 9]);
        assert!((0..10).step_by(3).all(|flow| table[flow] == flow));
    }

    #[test]
    fn flows_that_join_may_have_entries_or_not() {
        let join = |owned: &[bool]| {
            let mut table = OwnedTable::new(9, 1, |_| true);
            (1..).zip(owned).for_each(|(flow, &owned)| table.join(flow, flow, owned));
            (table.entries, table.places)
        };
        assert_eq!(join(&[true, true]), (vec![9, 1, 2], vec![]));
        assert_eq!(join(&[true, false, true]), (vec![9, 1, 3], vec![0, 1, NIL, 2]));
        let mut empty = OwnedTable::new(0, 0, |_| true);
        empty.join(7, 0, false);
        empty.join(8, 1, true);
        assert_eq!((empty[1], empty.places), (8, vec![NIL, 0]));
    }

    /// Flows 0 and 2 to 4 are owned, then 1 and 3 of four more, after all others have been retired.
    #[test]
    fn flows_that_retire_take_their_entries_along() {
        let mut table = OwnedTable::new(0, 1, |_| true);
        (1..5).for_each(|flow| table.join(flow, flow, flow > 1));
        table.retire(3);
        assert_eq!((table[3], table[4], table.entries.len()), (3, 4, 2));
        table.join(5, 5, true);
        assert_eq!((table[5], table.entries.len()), (5, 3));
        table.retire(6);
        (6..10).for_each(|flow| table.join(flow, flow, flow % 2 == 1));
        assert_eq!((table[7], table[9], table.entries.len()), (7, 9, 2));
        let mut active = FlowTable::new(9);
        active.insert(7, "seven");
        active.retire(5);
        assert_eq!(active.remove(4), None);
        assert_eq!((active.get(4), active.get(7), active.places.len()), (None, Some(&"seven"), 4));
        assert_eq!(active.iter().collect::<Vec<_>>(), [(7, &"seven")]);
    }

    #[test]
    fn a_table_of_all_flows_needs_no_indices() {
        let mut table = OwnedTable::new(0, 4, |_| true);
        table[2] = 7;
        assert_eq!((table.entries.clone(), table.places.len()), (vec![0, 0, 7, 0], 0));
    }
}
