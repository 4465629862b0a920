//! How many tokens words had that were counted lately.

/// Words of up to this many bytes are kept in the small cache.
pub(crate) const SMALL: usize = 15;
/// And up to this many in the large one.
pub(crate) const LARGE: usize = 31;

const SMALL_BITS: u32 = 16;
const LARGE_BITS: u32 = 12;

/// Two direct-mapped tables of whole words: a hit is never another word's count.
///
/// An entry is the word's bytes, zeros, and in the last byte its length and count. Sixteen bytes are two numbers of eight: wasm
/// has no larger ones, and calls a function for each shift of what has.
#[derive(Debug)]
pub(crate) struct Cache {
    small: Vec<[u64; 2]>,
    /// As `small`, for pieces of words, where those are not what whole words of the same bytes are.
    pieces: Vec<[u64; 2]>,
    large: Vec<[u128; 2]>,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            small: vec![[0; 2]; 1 << SMALL_BITS],
            pieces: Vec::new(),
            large: vec![[0; 2]; 1 << LARGE_BITS],
        }
    }
}

const K: u64 = 0x9e37_79b9_7f4a_7c15;

const K2: u64 = 0xc2b2_ae3d_27d4_eb4f;
/// Where the last byte of an entry has the count.
const COUNT: u64 = 15 << 56;

/// What of eight bytes belongs to a word of so many.
const MASKS: [u64; 9] = {
    let mut masks = [u64::MAX; 9];
    let mut n = 0;
    while n < 8 {
        masks[n] = (1 << (n * 8)) - 1;
        n += 1;
    }
    masks
};

/// A word as numbers: at most 15 bytes, and its length in the last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SmallKey([u64; 2]);

impl SmallKey {
    /// The word at `start..end` of `bytes`.
    #[inline]
    pub(crate) fn new(bytes: &[u8], start: usize, end: usize) -> Self {
        let n = end - start;
        let [low, high] = if let Some(sixteen) = bytes.get(start..start + 16) {
            let (halves, _) = sixteen.as_chunks::<8>();
            [
                u64::from_le_bytes(halves[0]) & MASKS[n.min(8)],
                u64::from_le_bytes(halves[1]) & MASKS[n.saturating_sub(8).min(8)],
            ]
        } else {
            let mut sixteen = [0; 16];
            sixteen[..n].copy_from_slice(&bytes[start..end]);
            let (halves, _) = sixteen.as_chunks::<8>();
            [u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1])]
        };
        Self([low, high | (n as u64) << 60])
    }

    #[inline]
    fn slot(self) -> usize {
        let [low, high] = self.0;
        let h = low.wrapping_mul(K) ^ high.wrapping_mul(K2);
        (h >> (64 - SMALL_BITS)) as usize
    }
}

impl Cache {
    /// The count of a word, if it is there.
    #[inline]
    pub(crate) fn small(&self, key: SmallKey) -> Option<u32> {
        count(self.small[key.slot()], key)
    }

    #[inline]
    pub(crate) fn keep_small(&mut self, key: SmallKey, count: u32) {
        if count < 16 {
            self.small[key.slot()] = [key.0[0], key.0[1] | u64::from(count) << 56];
        }
    }

    /// The count of a piece of a word, if it is there.
    #[inline]
    pub(crate) fn piece(&self, key: SmallKey) -> Option<u32> {
        count(*self.pieces.get(key.slot())?, key)
    }

    #[inline]
    pub(crate) fn keep_piece(&mut self, key: SmallKey, count: u32) {
        if self.pieces.is_empty() {
            self.pieces = vec![[0; 2]; 1 << SMALL_BITS];
        }
        if count < 16 {
            self.pieces[key.slot()] = [key.0[0], key.0[1] | u64::from(count) << 56];
        }
    }

    /// The count of a word of 16 to 31 bytes, if it is there, and its key.
    #[inline]
    pub(crate) fn large(&self, word: &[u8]) -> (LargeKey, Option<u32>) {
        let mut bytes = [0; 32];
        bytes[..word.len()].copy_from_slice(word);
        bytes[31] = ((word.len() - 16) as u8) << 4;
        let (halves, _) = bytes.as_chunks::<16>();
        let key = [
            u128::from_le_bytes(halves[0]),
            u128::from_le_bytes(halves[1]),
        ];
        let fold = key[0] ^ key[1].rotate_left(41);
        let h = (fold as u64).wrapping_mul(K) ^ ((fold >> 64) as u64).wrapping_mul(K2);
        let slot = (h.wrapping_mul(K) >> (64 - LARGE_BITS)) as usize;
        let entry = self.large[slot];
        let count = (entry[1] >> 120) as u32 & 15;
        // Length 16 is written as 0, so an empty entry must not count as a word of sixteen zeros: no word counts 0.
        let hit = entry[0] == key[0] && (entry[1] ^ key[1]) & !(15 << 120) == 0 && count > 0;
        (LargeKey { key, slot }, hit.then_some(count))
    }

    pub(crate) fn keep_large(&mut self, LargeKey { key, slot }: LargeKey, count: u32) {
        if count < 16 {
            self.large[slot] = [key[0], key[1] | u128::from(count) << 120];
        }
    }

    pub(crate) fn memory(&self) -> usize {
        (self.small.len() + self.pieces.len()) * 16 + self.large.len() * 32
    }
}

/// Bits 56 to 59 of an entry's second half are the count, the others the word's.
#[inline]
fn count(entry: [u64; 2], key: SmallKey) -> Option<u32> {
    let same = entry[0] == key.0[0] && (entry[1] ^ key.0[1]) & !COUNT == 0;
    same.then_some((entry[1] >> 56) as u32 & 15)
}

/// Where a word of 16 to 31 bytes belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LargeKey {
    key: [u128; 2],
    slot: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B8: a word finds its own count and no other's.
    #[test]
    fn a_hit_is_the_same_word() {
        let mut cache = Cache::default();
        let text = "hello hellp hello\0 0123456789abcdefghijklmnopqrstuvwxyz".as_bytes();
        cache.keep_small(SmallKey::new(text, 0, 5), 3);
        assert_eq!(cache.small(SmallKey::new(text, 0, 5)), Some(3));
        assert_eq!(cache.small(SmallKey::new(text, 12, 17)), Some(3));
        assert_eq!(cache.small(SmallKey::new(text, 6, 11)), None);
        assert_eq!(
            cache.small(SmallKey::new(text, 12, 18)),
            None,
            "a zero byte is part of a word"
        );
        assert_eq!(
            cache.small(SmallKey::new("hello".as_bytes(), 0, 5)),
            Some(3),
            "at the end of a text"
        );
        let word = &text[19..40];
        let (key, none) = cache.large(word);
        assert_eq!(none, None);
        cache.keep_large(key, 7);
        assert_eq!(cache.large(word).1, Some(7));
        assert_eq!(cache.large(&text[19..41]).1, None);
        assert_eq!(cache.large(&[0; 16]).1, None);
    }
}
