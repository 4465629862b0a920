//! A cache of the token counts of recently counted words.

use crate::words::{eight_at, hash};

/// The small cache keeps words of up to this many bytes.
pub(crate) const SMALL: usize = 15;
/// The large cache keeps words of up to this many bytes.
pub(crate) const LARGE: usize = 31;

/// The cache for lines of signs keeps words of up to this many bytes.
pub(crate) const LONG: usize = 120;

/// The small cache has two to the power of this many pairs of entries.
const SMALL_BITS: u32 = 15;
const LARGE_BITS: u32 = 12;
const LONG_BITS: u32 = 9;

/// Tables of whole words. A hit is never the count of another word.
///
/// A small entry holds the bytes of the word, zeros, and its length and count in the last byte: two numbers of eight
/// bytes, because wasm has no larger ones. Two entries share a place, the newer one first, so that two frequent words
/// do not push each other out.
#[derive(Debug)]
pub(crate) struct Cache {
    small: Vec<[Entry; 2]>,
    /// The same as `small`, for pieces of words in families where a piece and a whole word of the same bytes have
    /// different counts.
    pieces: Vec<[Entry; 2]>,
    large: Vec<[u64; 4]>,
    /// The same as `large`, for pieces of words.
    large_pieces: Vec<[u64; 4]>,
    long: Vec<Long>,
}

type Entry = [u64; 2];

#[derive(Debug, Clone, Copy)]
struct Long {
    word: [u8; LONG],
    len: u32,
    count: u32,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            small: vec![[[0; 2]; 2]; 1 << SMALL_BITS],
            pieces: Vec::new(),
            large: vec![[0; 4]; 1 << LARGE_BITS],
            large_pieces: Vec::new(),
            long: Vec::new(),
        }
    }
}

const K: u64 = 0x9e37_79b9_7f4a_7c15;

const K2: u64 = 0xc2b2_ae3d_27d4_eb4f;
/// The bits of an entry's last eight bytes that hold the count.
const COUNT: u64 = 15 << 56;

/// The masks that keep the first `n` of eight bytes.
const MASKS: [u64; 9] = {
    let mut masks = [u64::MAX; 9];
    let mut n = 0;
    while n < 8 {
        masks[n] = (1 << (n * 8)) - 1;
        n += 1;
    }
    masks
};

/// A word as two numbers: at most 15 bytes, and its length in the last one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SmallKey(Entry);

impl SmallKey {
    /// The key of the word at `start..end` of `bytes`.
    #[expect(
        clippy::inline_always,
        reason = "called for every word; left to itself the compiler makes it a call, a tenth of the time"
    )]
    #[inline(always)]
    pub(crate) fn new(bytes: &[u8], start: usize, end: usize) -> Self {
        let n = end - start;
        let [low, high] = if let Some(sixteen) = bytes.get(start..start + 16) {
            let (halves, _) = sixteen.as_chunks::<8>();
            [
                u64::from_le_bytes(halves[0]) & MASKS[n.min(8)],
                u64::from_le_bytes(halves[1]) & MASKS[n.saturating_sub(8).min(8)],
            ]
        } else {
            let word = &bytes[start..end];
            [eight_at(word, 0), eight_at(word, 8)]
        };
        Self([low, high | (n as u64) << 60])
    }

    #[inline]
    fn slot(self) -> usize {
        let [low, high] = self.0;
        let h = low.wrapping_mul(K) ^ high.wrapping_mul(K2);
        (h >> (64 - SMALL_BITS)) as usize
    }

    /// Returns the count in an entry if the entry is for this word, otherwise 0. The code does not branch: a processor
    /// cannot foresee which of two entries holds a word, and a wrong guess costs more than reading both.
    #[inline]
    fn count_in(self, entry: Entry) -> u64 {
        let differs = (entry[0] ^ self.0[0]) | (entry[1] ^ self.0[1]) & !COUNT;
        (entry[1] >> 56 & 15) & u64::from(differs == 0).wrapping_neg()
    }

    #[inline]
    fn find(self, table: &[[Entry; 2]]) -> Option<u32> {
        let pair = table.get(self.slot())?;
        // Every word counts at least 1, so 0 means a miss.
        let count = self.count_in(pair[0]) | self.count_in(pair[1]);
        (count != 0).then_some(count as u32)
    }

    #[inline]
    fn keep(self, table: &mut [[Entry; 2]], count: u32) {
        let [low, high] = self.0;
        if count < 16
            && let Some(pair) = table.get_mut(self.slot())
        {
            *pair = [[low, high | u64::from(count) << 56], pair[0]];
        }
    }
}

impl Cache {
    /// Returns the count of a word, if the cache holds it.
    #[inline]
    pub(crate) fn small(&self, key: SmallKey) -> Option<u32> {
        key.find(&self.small)
    }

    #[inline]
    pub(crate) fn keep_small(&mut self, key: SmallKey, count: u32) {
        key.keep(&mut self.small, count);
    }

    /// Returns the count of a piece of a word, if the cache holds it.
    #[inline]
    pub(crate) fn piece(&self, key: SmallKey) -> Option<u32> {
        key.find(&self.pieces)
    }

    #[inline]
    pub(crate) fn keep_piece(&mut self, key: SmallKey, count: u32) {
        if self.pieces.is_empty() {
            self.pieces = vec![[[0; 2]; 2]; 1 << SMALL_BITS];
        }
        key.keep(&mut self.pieces, count);
    }

    /// Returns the count of a word of 16 to 31 bytes, if the cache holds it.
    #[inline]
    pub(crate) fn large(&self, key: &LargeKey) -> Option<u32> {
        key.find(&self.large)
    }

    pub(crate) fn keep_large(&mut self, key: &LargeKey, count: u32) {
        key.keep(&mut self.large, count);
    }

    /// Returns the count of a piece of 16 to 31 bytes, if the cache holds it.
    #[inline]
    pub(crate) fn large_piece(&self, key: &LargeKey) -> Option<u32> {
        key.find(&self.large_pieces)
    }

    pub(crate) fn keep_large_piece(&mut self, key: &LargeKey, count: u32) {
        if self.large_pieces.is_empty() {
            self.large_pieces = vec![[0; 4]; 1 << LARGE_BITS];
        }
        key.keep(&mut self.large_pieces, count);
    }

    /// Returns the count of a word of 32 to [`LONG`] bytes, if the cache holds it.
    pub(crate) fn long(&self, word: &[u8]) -> Option<u32> {
        let entry = self.long.get(long_slot(word))?;
        (entry.word.get(..entry.len as usize) == Some(word)).then_some(entry.count)
    }

    pub(crate) fn keep_long(&mut self, word: &[u8], count: u32) {
        if self.long.is_empty() {
            let empty = Long {
                word: [0; LONG],
                len: 0,
                count: 0,
            };
            self.long = vec![empty; 1 << LONG_BITS];
        }
        if let Some(entry) = self.long.get_mut(long_slot(word))
            && let Some(room) = entry.word.get_mut(..word.len())
        {
            room.copy_from_slice(word);
            (entry.len, entry.count) = (word.len() as u32, count);
        }
    }

    pub(crate) fn memory(&self) -> usize {
        (self.small.len() + self.pieces.len()) * size_of::<[Entry; 2]>()
            + (self.large.len() + self.large_pieces.len()) * 32
            + self.long.len() * size_of::<Long>()
    }
}

fn long_slot(word: &[u8]) -> usize {
    (hash(word).wrapping_mul(K) >> (64 - LONG_BITS)) as usize
}

/// A word of 16 to 31 bytes as four numbers. The high half of the last byte holds its length minus 16.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LargeKey([u64; 4]);

impl LargeKey {
    #[inline]
    pub(crate) fn new(word: &[u8]) -> Self {
        let mut key = [0, 8, 16, 24].map(|at| eight_at(word, at));
        key[3] |= (word.len() as u64 - 16) << 60;
        Self(key)
    }

    #[inline]
    fn slot(&self) -> usize {
        let [first, second, third, last] = self.0;
        let mix = first.wrapping_mul(K) ^ second.wrapping_mul(K2);
        let mix = (mix ^ mix >> 32 ^ third).wrapping_mul(K) ^ last.wrapping_mul(K2);
        (mix >> (64 - LARGE_BITS)) as usize
    }

    #[inline]
    fn find(&self, table: &[[u64; 4]]) -> Option<u32> {
        let entry = table.get(self.slot())?;
        let count = (entry[3] >> 56) as u32 & 15;
        // Length 16 is stored as 0, so an empty entry looks like a word of sixteen zeros. No word counts 0, which tells
        // them apart.
        let hit = entry[..3] == self.0[..3] && (entry[3] ^ self.0[3]) & !COUNT == 0 && count > 0;
        hit.then_some(count)
    }

    fn keep(&self, table: &mut [[u64; 4]], count: u32) {
        if count < 16
            && let Some(entry) = table.get_mut(self.slot())
        {
            *entry = self.0;
            entry[3] |= u64::from(count) << 56;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B8: a word finds its own count and no other.
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
        let word = LargeKey::new(&text[19..40]);
        assert_eq!(cache.large(&word), None);
        cache.keep_large(&word, 7);
        assert_eq!(cache.large(&word), Some(7));
        assert_eq!(cache.large_piece(&word), None);
        assert_eq!(cache.large(&LargeKey::new(&text[19..41])), None);
        assert_eq!(cache.large(&LargeKey::new(&[0; 16])), None);
        let line = [b'='; 80];
        assert_eq!(cache.long(&line), None);
        cache.keep_long(&line, 300);
        assert_eq!(cache.long(&line), Some(300));
        assert_eq!(cache.long(&line[1..]), None);
    }

    /// B8: the cache holds two words at one place, and of three the last two.
    #[test]
    fn two_words_share_a_place() {
        let texts: Vec<String> = (0..200_000).map(|i| format!("w{i}")).collect();
        let key = |text: &str| SmallKey::new(text.as_bytes(), 0, text.len());
        let place = key(&texts[0]).slot();
        let same: Vec<&String> = texts.iter().filter(|t| key(t).slot() == place).collect();
        let mut cache = Cache::default();
        for (i, text) in same.iter().take(3).enumerate() {
            cache.keep_small(key(text), i as u32 + 1);
        }
        let found: Vec<_> = same
            .iter()
            .take(3)
            .map(|text| cache.small(key(text)))
            .collect();
        assert_eq!(found, [None, Some(2), Some(3)]);
    }
}
