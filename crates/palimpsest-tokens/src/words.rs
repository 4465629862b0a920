//! The texts of a vocabulary's tokens in one arena, and the way from a text to its token.

/// Byte strings end to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arena {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Arena {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Adds to a text that [`Self::close`] will end.
    pub(crate) fn extend(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
    }

    /// What was added since the last text ended.
    pub(crate) fn open(&self) -> &[u8] {
        &self.bytes[self.ends.last().copied().unwrap_or(0) as usize..]
    }

    pub(crate) fn close(&mut self) {
        self.ends.push(self.bytes.len() as u32);
    }

    /// The text of `id`; nothing if there is none.
    #[inline]
    pub(crate) fn get(&self, id: usize) -> &[u8] {
        let start = if id == 0 {
            0
        } else {
            self.ends.get(id - 1).copied().unwrap_or(0)
        };
        let end = self.ends.get(id).copied().unwrap_or(start);
        self.bytes.get(start as usize..end as usize).unwrap_or(&[])
    }

    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * 4
    }
}

/// Mixes a text to 64 bits. Not for adversaries: tables that use it bound their probes by being half empty, and a
/// vocabulary comes from the user's own server.
#[inline]
pub(crate) fn hash(text: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut h = (text.len() as u64).wrapping_mul(K);
    let (eights, rest) = text.as_chunks::<8>();
    for eight in eights {
        h = (h ^ u64::from_le_bytes(*eight)).wrapping_mul(K);
        h ^= h >> 29;
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    h = (h ^ u64::from_le_bytes(last)).wrapping_mul(K);
    h ^ h >> 32
}

/// From text to id: open addressing over an [`Arena`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    slots: Vec<u32>,
    mask: usize,
}

const EMPTY: u32 = u32::MAX;

impl Index {
    /// Room for `n` texts.
    pub(crate) fn with_capacity(n: usize) -> Self {
        let slots = (n * 3 / 2 + 1).next_power_of_two().max(4);
        Self {
            slots: vec![EMPTY; slots],
            mask: slots - 1,
        }
    }

    /// Adds the text of `id`. The first of equal texts wins.
    pub(crate) fn insert(&mut self, arena: &Arena, id: u32) {
        let text = arena.get(id as usize);
        let mut at = hash(text) as usize & self.mask;
        loop {
            match self.slots[at] {
                EMPTY => {
                    self.slots[at] = id;
                    return;
                }
                other if arena.get(other as usize) == text => return,
                _ => at = (at + 1) & self.mask,
            }
        }
    }

    /// The id of a text.
    #[inline]
    pub(crate) fn get(&self, arena: &Arena, text: &[u8]) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mut at = hash(text) as usize & self.mask;
        loop {
            match self.slots[at] {
                EMPTY => return None,
                id if arena.get(id as usize) == text => return Some(id),
                _ => at = (at + 1) & self.mask,
            }
        }
    }

    pub(crate) fn memory(&self) -> usize {
        self.slots.capacity() * 4
    }
}
