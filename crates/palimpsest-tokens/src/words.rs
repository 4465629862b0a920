//! Stores the texts of a vocabulary's tokens in one arena and finds the token of a text.

/// Byte strings end to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arena {
    bytes: Vec<u8>,
    /// The start of each text, and the end of the last. Empty if there are no texts.
    bounds: Vec<u32>,
}

impl Arena {
    /// Cuts `bytes` into texts of the given lengths, one after the other. `None` if there are too few bytes.
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

    /// The bytes that were added since the last text ended.
    pub(crate) fn open(&self) -> &[u8] {
        &self.bytes[self.bounds.last().copied().unwrap_or(0) as usize..]
    }

    pub(crate) fn close(&mut self) {
        if self.bounds.is_empty() {
            self.bounds.push(0);
        }
        self.bounds.push(self.bytes.len() as u32);
    }

    /// The text of `id`, or an empty one if there is none.
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

/// Returns up to eight bytes of a text from `at` on as a number, with zeros after the end.
///
/// It does not copy: for a wasm engine a copy of a few bytes costs more than the rest of a look-up.
#[inline]
pub(crate) fn eight_at(text: &[u8], at: usize) -> u64 {
    if let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk) {
        return u64::from_le_bytes(*eight);
    }
    let n = text.len().saturating_sub(at);
    if n == 0 {
        return 0;
    }
    if let Some(eight) = text.last_chunk() {
        return u64::from_le_bytes(*eight) >> (64 - 8 * n);
    }
    let rest = &text[at..];
    match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first))
                | u64::from(u32::from_le_bytes(*last)) << (8 * (n - 4))
        }
        _ => {
            u64::from(rest[0])
                | u64::from(rest[n / 2]) << (8 * (n / 2))
                | u64::from(rest[n - 1]) << (8 * (n - 1))
        }
    }
}

/// Returns `true` if two texts are the same.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len()
        && (0..a.len())
            .step_by(8)
            .all(|at| eight_at(a, at) == eight_at(b, at))
}

/// Mixes a text to 64 bits. It does not resist an adversary: the tables that use it are half empty, which bounds their
/// probes, and a vocabulary comes from the user's own server.
#[inline]
pub(crate) fn hash(text: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut h = (text.len() as u64).wrapping_mul(K);
    let (eights, _) = text.as_chunks::<8>();
    for eight in eights {
        h = (h ^ u64::from_le_bytes(*eight)).wrapping_mul(K);
        h ^= h >> 29;
    }
    h = (h ^ eight_at(text, eights.len() * 8)).wrapping_mul(K);
    h ^ h >> 32
}

/// Finds the id of a text by open addressing over an [`Arena`].
///
/// A slot holds twelve bits of the text's hash and the id, so a look-up hardly ever reads another text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    slots: Vec<u32>,
    mask: usize,
}

const EMPTY: u32 = u32::MAX;
/// The bits of a slot that hold the id. Ids are below [`crate::pairs::MAX_IDS`].
const ID: u32 = (1 << 20) - 1;

impl Index {
    /// Makes room for `n` texts.
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
                other if other & !ID == tag && same(arena.get((other & ID) as usize), text) => {
                    return;
                }
                _ => at = (at + 1) & self.mask,
            }
        }
    }

    /// Returns the id of a text.
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
                slot if slot & !ID == tag && same(arena.get((slot & ID) as usize), text) => {
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

/// The bits of a hash that do not choose the slot.
#[inline]
const fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32 & !ID
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B8: bytes are read the same wherever a text ends, and any byte tells texts apart.
    #[test]
    fn reads_the_ends_of_texts() {
        let text: Vec<u8> = (1..=30).collect();
        for n in 0..=text.len() {
            let text = &text[..n];
            for at in 0..=n {
                let mut eight = [0; 8];
                let end = n.min(at + 8);
                eight[..end - at].copy_from_slice(&text[at..end]);
                assert_eq!(eight_at(text, at), u64::from_le_bytes(eight), "{n} {at}");
            }
            for at in 0..n {
                let mut other = text.to_vec();
                other[at] = 99;
                assert!(!same(text, &other) && same(&other, &other), "{n} {at}");
                assert_ne!(hash(text), hash(&other));
            }
        }
    }
}
