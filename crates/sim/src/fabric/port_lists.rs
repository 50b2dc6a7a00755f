//! Lists of ports, of which equal ones are stored once.

use std::collections::BTreeMap;
use std::ops::Deref;

use crate::port::link;

/// Lists of ports, one behind the other. Flows between the same hosts share a list, and a flow that returns to a former path finds it.
#[derive(Clone, Debug, Default)]
pub(super) struct PortLists {
    ports: Vec<u32>,
    /// By hash: the beginning of a list. Of two lists with the same hash, one is stored again.
    known: BTreeMap<u64, u32>,
}

impl PortLists {
    /// Returns the beginning of a list, which is stored unless it is known. What follows a known list may differ.
    pub fn add(&mut self, list: &[u32]) -> u32 {
        let hash = list.iter().fold(list.len() as u64, |hash, &port| link::hash(hash, u64::from(port)));
        let end = self.ports.len() as u32;
        let begin = *self.known.entry(hash).or_insert(end);
        if begin < end && self.ports[begin as usize..].starts_with(list) {
            return begin;
        }
        self.ports.extend_from_slice(list);
        end
    }

    /// Frees the memory by which known lists are found. A list that is added later is stored again, once.
    pub fn forget(&mut self) {
        self.known = BTreeMap::new();
    }
}

/// All ports of all lists.
impl Deref for PortLists {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.ports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lists_are_stored_once() {
        let mut lists = PortLists::default();
        assert_eq!([[3, 4], [4, 5], [3, 4], [4, 5]].map(|list| lists.add(&list)), [0, 2, 0, 2]);
        assert_eq!(lists[..], [3, 4, 4, 5]);
        lists.forget();
        assert_eq!([[3, 4], [3, 4]].map(|list| lists.add(&list)), [4, 4]);
    }
}
