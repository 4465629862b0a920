//! The texts of a vocabulary's tokens in one arena, and the way from a text to its token.

/// Byte strings end to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arena {
    bytes: Vec<u8>,
    /// Where each text starts, and the end of the last; nothing if there are none.
    bounds: Vec<u32>,
}

impl Arena {
    /// The texts of `lengths` in `bytes`, one after the other. `None` if there are fewer bytes than that.
    pub(crate) fn cut(bytes: &[u8], lengths: &[u32]) -> Option<Self> {
        let mut end = 0_u32;
        let mut bounds = Vec::with_capacity(lengths.len() + 1);
        bounds.push(0);
        for n in lengths {
            end = end.checked_add(*n)?;
            bounds.push(end);
        }
        Some(Self {
            bytes: bytes.get(..end as usize)?.to_vec(),
            bounds,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.bounds.len().saturating_sub(1)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn push(&mut self, text: &[u8]) {
        self.extend(text);
        self.close();
    }

    /// Adds to a text that [`Self::close`] will end.
    pub(crate) fn extend(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
    }

    /// What was added since the last text ended.
    pub(crate) fn open(&self) -> &[u8] {
        &self.bytes[self.bounds.last().copied().unwrap_or(0) as usize..]
    }

    pub(crate) fn close(&mut self) {
        if self.bounds.is_empty() {
            self.bounds.push(0);
        }
        self.bounds.push(self.bytes.len() as u32);
    }

    /// The text of `id`; nothing if there is none.
    #[inline]
    pub(crate) fn get(&self, id: usize) -> &[u8] {
        match self.bounds.get(id..).and_then(<[u32]>::first_chunk) {
            Some([start, end]) => self
                .bytes
                .get(*start as usize..*end as usize)
                .unwrap_or(&[]),
            None => &[],
        }
    }

    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity() + self.bounds.capacity() * 4
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
///
/// A slot is twelve bits of the text's hash and the id, so that other texts are hardly ever looked at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    slots: Vec<u32>,
    mask: usize,
}

const EMPTY: u32 = u32::MAX;
/// Bits of a slot that are the id: ids are below [`crate::pairs::MAX_IDS`].
const ID: u32 = (1 << 20) - 1;

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
        let hash = hash(text);
        let tag = tag(hash);
        let mut at = hash as usize & self.mask;
        loop {
            match self.slots[at] {
                EMPTY => {
                    self.slots[at] = tag | id & ID;
                    return;
                }
                other if other & !ID == tag && arena.get((other & ID) as usize) == text => return,
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
        let hash = hash(text);
        let tag = tag(hash);
        let mut at = hash as usize & self.mask;
        loop {
            match self.slots[at] {
                EMPTY => return None,
                slot if slot & !ID == tag && arena.get((slot & ID) as usize) == text => {
                    return Some(slot & ID);
                }
                _ => at = (at + 1) & self.mask,
            }
        }
    }

    pub(crate) fn memory(&self) -> usize {
        self.slots.capacity() * 4
    }
}

/// Bits of a hash that do not choose the slot.
#[inline]
const fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32 & !ID
}
