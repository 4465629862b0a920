//! The table of merges: which two tokens become which, and in what order.

use crate::parts::Merge;

/// The largest number of symbols. Three numbers have to share a word of 64 bits.
pub(crate) const MAX_IDS: usize = (1 << 20) - 16;
/// The largest number of merges.
pub(crate) const MAX_MERGES: usize = (1 << 24) - 2;

const EMPTY: u64 = u64::MAX;
const VALUE: u64 = (1 << 24) - 1;

/// Merges by the pair that they join.
///
/// A slot is `left << 44 | right << 24 | merge`, so a look-up reads one word of memory, whether it hits or misses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pairs {
    slots: Vec<u64>,
    shift: u32,
    /// The token that each merge makes.
    made: Vec<u32>,
    /// The order of the merges, smallest first, if it is not their number: merges of equal score share a place.
    due: Option<Vec<u32>>,
}

impl Pairs {
    /// Makes room for `n` pairs.
    pub(crate) fn with_capacity(n: usize) -> Self {
        let slots = (n * 8 / 5).next_power_of_two().max(4);
        Self {
            slots: vec![EMPTY; slots],
            shift: 64 - slots.trailing_zeros(),
            made: Vec::with_capacity(n),
            due: None,
        }
    }

    /// Adds the merge that comes next, or that shares its place with the one before. The caller adds no more than there
    /// is room for.
    #[inline]
    pub(crate) fn push(&mut self, merge: &Merge) {
        // Merges that share a place and make the same token are one.
        if !merge.tied || self.made.last() != Some(&merge.made) {
            let number = self.made.len() as u32;
            if merge.tied && number > 0 && self.due.is_none() {
                self.due = Some((0..number).collect());
            }
            if let Some(due) = &mut self.due {
                let last = due.last().copied().filter(|_| merge.tied);
                due.push(last.unwrap_or(number));
            }
            self.made.push(merge.made);
        }
        self.insert(merge.left, merge.right, self.made.len() as u32 - 1);
    }

    /// Gives back unused room.
    pub(crate) fn shrink(&mut self) {
        self.made.shrink_to_fit();
    }

    /// The tokens that merges make. Some appear several times.
    pub(crate) fn all_made(&self) -> &[u32] {
        &self.made
    }

    #[inline]
    fn start(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Adds a pair. The first of equal pairs wins.
    fn insert(&mut self, left: u32, right: u32, merge: u32) {
        let key = u64::from(left) << 20 | u64::from(right);
        let mask = self.slots.len() - 1;
        let mut at = self.start(key);
        while self.slots[at] != EMPTY {
            if self.slots[at] >> 24 == key {
                return;
            }
            at = (at + 1) & mask;
        }
        self.slots[at] = key << 24 | u64::from(merge);
    }

    /// Returns the merge of two tokens, or [`NONE`].
    #[inline]
    pub(crate) fn get(&self, left: u32, right: u32) -> u32 {
        let key = u64::from(left) << 20 | u64::from(right);
        let mask = self.slots.len() - 1;
        let mut at = self.start(key) & mask;
        loop {
            let slot = self.slots[at];
            if slot == EMPTY {
                return NONE;
            }
            if slot >> 24 == key {
                return (slot & VALUE) as u32;
            }
            at = (at + 1) & mask;
        }
    }

    /// Returns the token that a merge makes.
    #[inline]
    pub(crate) fn made(&self, merge: u32) -> u32 {
        self.made[merge as usize]
    }

    #[inline]
    fn due(&self, merge: u32) -> u32 {
        match &self.due {
            None => merge,
            Some(due) => due.get(merge as usize).copied().unwrap_or(NONE),
        }
    }

    pub(crate) fn memory(&self) -> usize {
        self.slots.capacity() * 8
            + self.made.capacity() * 4
            + self.due.as_ref().map_or(0, |due| due.capacity() * 4)
    }
}

/// The value that stands for no merge.
pub(crate) const NONE: u32 = u32::MAX;

/// Working memory for merging, kept between words.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// The symbols of the word, merged in place.
    pub(crate) ids: Vec<u32>,
    /// The merge of the symbol at each place with the next symbol. Its number gives its order.
    merges: Vec<u32>,
    dues: Vec<u32>,
    /// The places of the next and the previous symbol.
    next: Vec<u32>,
    before: Vec<u32>,
    /// The first merge of all blocks at 1, of the two halves at 2 and 3, and so on.
    tree: Vec<u32>,
}

/// The number of places in a leaf of the tree.
const BLOCK: usize = 32;

/// Words of up to this many symbols are merged by a scan over all of them each time, which is fast for short words.
const SHORT: usize = 48;

impl Room {
    /// Merges `ids` until no pair merges any more.
    pub(crate) fn merge(&mut self, pairs: &Pairs) {
        if self.ids.len() <= SHORT {
            self.merge_short(pairs);
        } else {
            self.merge_long(pairs);
        }
    }

    fn merge_short(&mut self, pairs: &Pairs) {
        let ids = &mut self.ids;
        if ids.len() < 2 {
            return;
        }
        // `merges[i]` is the merge of `ids[i]` and `ids[i + 1]`.
        let merges = &mut self.merges;
        merges.clear();
        merges.extend(ids.windows(2).map(|pair| pairs.get(pair[0], pair[1])));
        loop {
            let (mut best, mut at) = (NONE, 0);
            for (i, merge) in merges.iter().enumerate() {
                let due = if pairs.due.is_none() || *merge == NONE {
                    *merge
                } else {
                    pairs.due(*merge)
                };
                if due < best {
                    (best, at) = (due, i);
                }
            }
            if best == NONE {
                return;
            }
            ids[at] = pairs.made(merges[at]);
            ids.remove(at + 1);
            merges.remove(at);
            if at < merges.len() {
                merges[at] = pairs.get(ids[at], ids[at + 1]);
            }
            if at > 0 {
                merges[at - 1] = pairs.get(ids[at - 1], ids[at]);
            }
        }
    }

    /// Merges with a tree over the first merge in each block of places. A merge then costs little more than a scan of
    /// one block, for a word of any length.
    fn merge_long(&mut self, pairs: &Pairs) {
        let n = self.ids.len();
        self.merges.clear();
        self.merges
            .extend(self.ids.windows(2).map(|pair| pairs.get(pair[0], pair[1])));
        self.merges.push(NONE);
        self.dues.clear();
        self.dues
            .extend(self.merges.iter().map(|merge| pairs.due(*merge)));
        self.next.clear();
        self.next.extend(1..=n as u32);
        self.before.clear();
        self.before.extend((0..n as u32).map(|i| i.wrapping_sub(1)));
        let leaves = n.div_ceil(BLOCK).next_power_of_two();
        self.tree.clear();
        self.tree.resize(2 * leaves, NONE);
        for (first, dues) in self.tree[leaves..].iter_mut().zip(self.dues.chunks(BLOCK)) {
            *first = dues.iter().copied().min().unwrap_or(NONE);
        }
        for i in (1..leaves).rev() {
            self.tree[i] = self.tree[2 * i].min(self.tree[2 * i + 1]);
        }
        while self.tree[1] != NONE {
            let mut i = 1;
            while i < leaves {
                // Of equal merges the leftmost goes first.
                i = 2 * i + usize::from(self.tree[2 * i] > self.tree[2 * i + 1]);
            }
            let start = (i - leaves) * BLOCK;
            let block = &self.dues[start..(start + BLOCK).min(n)];
            let Some(at) = block
                .iter()
                .position(|due| *due == self.tree[1])
                .map(|at| start + at)
            else {
                return;
            };
            let gone = self.next[at] as usize;
            self.ids[at] = pairs.made(self.merges[at]);
            self.ids[gone] = NONE;
            let after = self.next[gone] as usize;
            self.next[at] = after as u32;
            self.set(pairs, gone, NONE);
            let merge = match self.ids.get(after) {
                Some(right) => {
                    self.before[after] = at as u32;
                    pairs.get(self.ids[at], *right)
                }
                None => NONE,
            };
            self.set(pairs, at, merge);
            if gone / BLOCK != at / BLOCK {
                self.refresh(leaves, gone / BLOCK);
            }
            let before = self.before[at] as usize;
            if let Some(left) = self.ids.get(before) {
                let merge = pairs.get(*left, self.ids[at]);
                self.set(pairs, before, merge);
                if before / BLOCK != at / BLOCK {
                    self.refresh(leaves, before / BLOCK);
                }
            }
            self.refresh(leaves, at / BLOCK);
        }
        self.ids.retain(|id| *id != NONE);
        if n > 1 << 16 {
            *self = Self {
                ids: std::mem::take(&mut self.ids),
                ..Self::default()
            };
        }
    }

    #[inline]
    fn set(&mut self, pairs: &Pairs, at: usize, merge: u32) {
        self.merges[at] = merge;
        self.dues[at] = pairs.due(merge);
    }

    /// Updates the tree for one block.
    #[inline]
    fn refresh(&mut self, leaves: usize, block: usize) {
        let start = block * BLOCK;
        let end = (start + BLOCK).min(self.dues.len());
        let mut first = self.dues[start..end].iter().copied().min().unwrap_or(NONE);
        let mut i = leaves + block;
        while self.tree[i] != first {
            self.tree[i] = first;
            if i == 1 {
                return;
            }
            first = first.min(self.tree[i ^ 1]);
            i /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes merges of the letters a to d (ids 0 to 3), each `(left, right, made)`, in order.
    fn pairs(merges: &[(u32, u32, u32)]) -> Pairs {
        let mut pairs = Pairs::with_capacity(merges.len());
        for (left, right, made) in merges.iter().copied() {
            pairs.push(&Merge {
                left,
                right,
                made,
                tied: false,
            });
        }
        pairs
    }

    fn merged(pairs: &Pairs, ids: &[u32]) -> Vec<u32> {
        let mut room = Room {
            ids: ids.to_vec(),
            ..Room::default()
        };
        room.merge(pairs);
        room.ids
    }

    /// B8: the first merge in the order goes first, and of equal ones the leftmost.
    #[test]
    fn merges_in_order() {
        let pairs = pairs(&[(1, 2, 10), (0, 1, 11), (0, 0, 12), (12, 12, 13)]);
        assert_eq!(merged(&pairs, &[0, 1, 2]), [0, 10]);
        assert_eq!(merged(&pairs, &[0, 1, 3]), [11, 3]);
        assert_eq!(merged(&pairs, &[0, 0, 0]), [12, 0]);
        assert_eq!(merged(&pairs, &[0, 0, 0, 0, 0]), [13, 0]);
        assert_eq!(merged(&pairs, &[]), [0_u32; 0]);
    }

    /// B8: long words merge like short ones.
    #[test]
    fn the_tree_agrees_with_looking_over_all() {
        let merges: Vec<_> = (0..60_u32)
            .map(|i| (i * 7 % 20, i * 11 % 23, 4 + i % 19))
            .collect();
        let pairs = pairs(&merges);
        let mut seed = 1_u64;
        for n in [2, 3, 10, 40, 300, 1000] {
            let ids: Vec<u32> = (0..n)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 40) as u32 % 4
                })
                .collect();
            let (mut short, mut long) = (
                Room {
                    ids: ids.clone(),
                    ..Room::default()
                },
                Room {
                    ids,
                    ..Room::default()
                },
            );
            short.merge_short(&pairs);
            long.merge_long(&pairs);
            assert_eq!(short.ids, long.ids);
            assert!(short.ids.len() < n || n < 4);
        }
    }
}
