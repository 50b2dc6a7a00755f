//! Lists of numbers, stored one behind the other.

/// Lists of numbers, by number.
#[derive(Clone, Debug)]
pub struct Lists {
    /// By list: its beginning; and the end of the last one.
    offsets: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Builds `count` lists from pairs of a list and an item, in this order.
    pub(crate) fn new(count: u32, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut offsets = vec![0; count as usize + 1];
        pairs.clone().for_each(|(list, _)| offsets[list as usize + 1] += 1);
        for list in 1..offsets.len() {
            offsets[list] += offsets[list - 1];
        }
        let mut next = offsets.clone();
        let mut items = vec![0; offsets[count as usize] as usize];
        for (list, item) in pairs {
            items[next[list as usize] as usize] = item;
            next[list as usize] += 1;
        }
        Self { offsets, items }
    }

    /// Adds an empty list.
    pub(crate) fn add_empty(&mut self) {
        self.offsets.push(self.items.len() as u32);
    }

    /// The items of a list.
    pub fn of(&self, list: u32) -> &[u32] {
        &self.items[self.offsets[list as usize] as usize..self.offsets[list as usize + 1] as usize]
    }

    /// The number of lists.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }
}
