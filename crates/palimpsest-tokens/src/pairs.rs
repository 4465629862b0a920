//! Which two tokens merge into which, and when.

/// No more symbols than this: three numbers share a word of 64 bits.
pub(crate) const MAX_IDS: usize = (1 << 20) - 16;
/// No more merges than this.
pub(crate) const MAX_MERGES: usize = (1 << 24) - 2;

const EMPTY: u64 = u64::MAX;
const VALUE: u64 = (1 << 24) - 1;

/// Merges by the pair they join.
///
/// A slot is `left << 44 | right << 24 | merge`, so that a look-up reads one word of memory, hit or miss.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pairs {
    slots: Vec<u64>,
    shift: u32,
    /// The token each merge makes.
    made: Vec<u32>,
    /// When a merge is due, smallest first, where that is not its number: equal scores are due at the same time.
    due: Option<Vec<u32>>,
}

impl Pairs {
    /// Room for `n` pairs that make the tokens `made`; `due` is only needed if several merges are due at once.
    pub(crate) fn new(n: usize, made: Vec<u32>, due: Option<Vec<u32>>) -> Self {
        let slots = (n * 8 / 5).next_power_of_two().max(4);
        Self {
            slots: vec![EMPTY; slots],
            shift: 64 - slots.trailing_zeros(),
            made,
            due,
        }
    }

    #[inline]
    fn start(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Adds a pair. The first of equal pairs wins.
    pub(crate) fn insert(&mut self, left: u32, right: u32, merge: u32) {
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

    /// The merge of two tokens, or [`NONE`].
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

    /// The token a merge makes.
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

/// No merge.
pub(crate) const NONE: u32 = u32::MAX;

/// Room that merging works in, kept between words.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// The symbols of the word, merged in place.
    pub(crate) ids: Vec<u32>,
    merges: Vec<u32>,
    next: Vec<u32>,
    before: Vec<u32>,
    heap: std::collections::BinaryHeap<std::cmp::Reverse<u64>>,
}

/// Words of up to this many symbols are merged by looking over all of them each time, which is quick because short.
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
        // merges[i] is that of ids[i] and ids[i + 1]
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

    /// By a heap of (due, place): n log n for any word.
    fn merge_long(&mut self, pairs: &Pairs) {
        let n = self.ids.len() as u32;
        let (ids, merges, next, before, heap) = (
            &mut self.ids,
            &mut self.merges,
            &mut self.next,
            &mut self.before,
            &mut self.heap,
        );
        merges.clear();
        merges.extend(ids.windows(2).map(|pair| pairs.get(pair[0], pair[1])));
        merges.push(NONE);
        next.clear();
        next.extend(1..=n);
        before.clear();
        before.extend((0..n).map(|i| i.wrapping_sub(1)));
        heap.clear();
        let entry = |merge: u32, at: u32| {
            std::cmp::Reverse(u64::from(pairs.due(merge)) << 32 | u64::from(at))
        };
        heap.extend(
            merges
                .iter()
                .enumerate()
                .filter(|(_, m)| **m != NONE)
                .map(|(at, m)| entry(*m, at as u32)),
        );
        while let Some(std::cmp::Reverse(top)) = heap.pop() {
            let at = top as u32 as usize;
            let merge = merges[at];
            // An entry whose pair has changed since is void; the pair's new entry is in the heap.
            if merge == NONE || u64::from(pairs.due(merge)) != top >> 32 {
                continue;
            }
            let gone = next[at] as usize;
            ids[at] = pairs.made(merge);
            ids[gone] = NONE;
            merges[gone] = NONE;
            let after = next[gone];
            next[at] = after;
            merges[at] = NONE;
            if after < n {
                before[after as usize] = at as u32;
                merges[at] = pairs.get(ids[at], ids[after as usize]);
                if merges[at] != NONE {
                    heap.push(entry(merges[at], at as u32));
                }
            }
            if let Some(merge) = merges.get_mut(before[at] as usize) {
                *merge = pairs.get(ids[before[at] as usize], ids[at]);
                if *merge != NONE {
                    heap.push(entry(*merge, before[at]));
                }
            }
        }
        ids.retain(|id| *id != NONE);
        if n > 1 << 16 {
            *heap = std::collections::BinaryHeap::new();
            *merges = Vec::new();
            *next = Vec::new();
            *before = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Merges of the letters a to d (ids 0 to 3): each `(left, right, made)` in the order they are due.
    fn pairs(merges: &[(u32, u32, u32)]) -> Pairs {
        let mut pairs = Pairs::new(merges.len(), merges.iter().map(|m| m.2).collect(), None);
        for (i, (left, right, _)) in merges.iter().enumerate() {
            pairs.insert(*left, *right, i as u32);
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

    /// B8: the merge that is due first goes first, and the leftmost of equals.
    #[test]
    fn merges_in_order() {
        let pairs = pairs(&[(1, 2, 10), (0, 1, 11), (0, 0, 12), (12, 12, 13)]);
        assert_eq!(merged(&pairs, &[0, 1, 2]), [0, 10]);
        assert_eq!(merged(&pairs, &[0, 1, 3]), [11, 3]);
        assert_eq!(merged(&pairs, &[0, 0, 0]), [12, 0]);
        assert_eq!(merged(&pairs, &[0, 0, 0, 0, 0]), [13, 0]);
        assert_eq!(merged(&pairs, &[]), []);
    }

    /// B8: long words merge as short ones do.
    #[test]
    fn the_heap_agrees_with_looking_over_all() {
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
