//! Decides which rows of a long thread are in the page: the visible ones, and some on both sides. Two blanks take the
//! place of the others. They are as high as their rows were when last in the page, or as rows are on average.

use std::ops::Range;

use palimpsest_core::sorted::SortedMap;

/// Rows that a thread begins with, at its end, and that one click brings.
pub const PAGE: usize = 60;

/// The most rows on each side of those that are seen.
const MOST: usize = 60;

/// The fewest.
const LEAST: usize = 20;

/// Height of a row while none was measured, in pixels.
const GUESS: f64 = 160.0;

/// The rows of a thread, by keys that stay while a row stays.
#[derive(Debug, Default)]
pub struct Rows {
    keys: Vec<u64>,
    /// Heights in pixels of the rows that were in the page.
    heights: SortedMap<u64, f64>,
    /// Their sum.
    sum: f64,
    shown: Range<usize>,
}

impl Rows {
    /// Another thread, which opens at its end.
    pub fn open(&mut self, keys: Vec<u64>) {
        *self = Self {
            keys,
            ..Self::default()
        };
        self.end();
    }

    /// Applies a change of the same thread. A user at its end stays there; otherwise the rows in the page stay.
    pub fn change(&mut self, keys: Vec<u64>, at_end: bool) {
        let before = std::mem::replace(&mut self.keys, keys);
        let old = self.shown.clone();
        if at_end || old.is_empty() {
            return self.end();
        }
        // the first row in the page that is still there says how far all have moved
        let moved = old.clone().find_map(|i| {
            let key = before.get(i)?;
            let now = self.keys.iter().position(|k| k == key)?;
            Some((i, now))
        });
        let start = moved.map_or(old.start, |(i, now)| (now + old.start).saturating_sub(i));
        let end = if old.end == before.len() {
            self.keys.len()
        } else {
            start + old.len()
        };
        self.show(start..end);
        if self.shown.is_empty() {
            self.end();
        }
    }

    /// The rows in the page, as places in the thread.
    pub fn shown(&self) -> Range<usize> {
        self.shown.clone()
    }

    /// The key of a row's element.
    pub fn key(&self, row: usize) -> Option<u64> {
        self.keys.get(row).copied()
    }

    /// The row with that key.
    pub fn position(&self, key: u64) -> Option<usize> {
        self.keys.iter().position(|k| *k == key)
    }

    /// The row with that key, if it is in the page.
    pub fn shown_at(&self, key: u64) -> Option<usize> {
        self.shown
            .clone()
            .find(|row| self.keys.get(*row) == Some(&key))
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// To the end. Rows above that are in the page may stay there, up to a limit.
    pub fn end(&mut self) {
        let len = self.keys.len();
        let usual = len.saturating_sub(PAGE);
        let near = self.shown.end + PAGE >= len && self.shown.start + 2 * PAGE >= len;
        let start = if near && !self.shown.is_empty() {
            self.shown.start.min(usual)
        } else {
            usual
        };
        self.show(start..len);
    }

    /// The rows that are seen, with rows for about `room` pixels on each side.
    pub fn room_for(&self, seen: Range<usize>, room: f64) -> Range<usize> {
        let len = self.keys.len();
        let seen = seen.start.min(len)..seen.end.min(len);
        let (mut start, mut left) = (seen.start, room);
        while start > 0 && seen.start - start < MOST && (left > 0.0 || seen.start - start < LEAST) {
            start -= 1;
            left -= self.height(start);
        }
        let (mut end, mut left) = (seen.end, room);
        while end < len && end - seen.end < MOST && (left > 0.0 || end - seen.end < LEAST) {
            left -= self.height(end);
            end += 1;
        }
        start..end
    }

    /// To these rows.
    pub fn show(&mut self, shown: Range<usize>) {
        let end = shown.end.min(self.keys.len());
        self.shown = shown.start.min(end)..end;
    }

    /// A row, with a page of rows around it.
    pub fn around(&mut self, row: usize) {
        let start = row.saturating_sub(PAGE / 2);
        self.show(start..start + PAGE);
    }

    /// More rows above those in the page; as many below them go.
    pub fn earlier(&mut self) {
        let start = self.shown.start.saturating_sub(PAGE);
        self.show(start..self.shown.end.min(start + 2 * PAGE));
    }

    /// More rows below; as many above go.
    pub fn later(&mut self) {
        let end = (self.shown.end + PAGE).min(self.keys.len());
        self.show(self.shown.start.max(end.saturating_sub(2 * PAGE))..end);
    }

    /// A row in the page is that high.
    pub fn measured(&mut self, row: usize, height: f64) {
        if let Some(key) = self.keys.get(row)
            && height > 0.0
        {
            let old = self.heights.insert(*key, height);
            self.sum += height - old.unwrap_or_default();
        }
    }

    /// The height of a row: its last one, or the average.
    fn height(&self, row: usize) -> f64 {
        let known = self.keys.get(row).and_then(|key| self.heights.get(key));
        known.copied().unwrap_or_else(|| self.average())
    }

    fn average(&self) -> f64 {
        match self.heights.len() {
            0 => GUESS,
            n => self.sum / n as f64,
        }
    }

    /// The blanks above and below the rows in the page, in pixels.
    pub fn blanks(&self) -> (f64, f64) {
        (
            self.between(0..self.shown.start),
            self.between(self.shown.end..self.keys.len()),
        )
    }

    fn between(&self, rows: Range<usize>) -> f64 {
        rows.map(|row| self.height(row)).sum()
    }

    /// The row so many pixels below the beginning of the row `from`.
    pub fn at(&self, from: usize, pixels: f64) -> usize {
        let (mut row, mut left) = (from, pixels);
        while row + 1 < self.keys.len() {
            left -= self.height(row);
            if left < 0.0 {
                break;
            }
            row += 1;
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(n: u64) -> Rows {
        let mut rows = Rows::default();
        rows.open((0..n).collect());
        rows
    }

    fn look(rows: &mut Rows, seen: Range<usize>, room: f64) {
        let shown = rows.room_for(seen, room);
        rows.show(shown);
    }

    /// F93: a thread opens at its end, and however long it is, the page holds a bounded number of rows.
    #[test]
    fn the_page_holds_a_bounded_number_of_rows() {
        assert_eq!(thread(20).shown(), 0..20);
        let mut rows = thread(20_000);
        assert_eq!(rows.shown(), 19_940..20_000);
        for seen in [0, 5, 300, 9_999, 19_990, 30_000] {
            look(&mut rows, seen..seen + 8, 3_000.0);
            assert!(rows.shown().len() <= 8 + 2 * MOST, "{seen}");
        }
        for _ in 0..400 {
            rows.earlier();
            assert!(rows.shown().len() <= 2 * PAGE);
        }
        assert_eq!(rows.shown(), 0..2 * PAGE);
        for _ in 0..400 {
            rows.later();
        }
        assert_eq!(rows.shown(), 20_000 - 2 * PAGE..20_000);
        rows.around(7);
        assert_eq!(rows.shown(), 0..PAGE);
        rows.around(12_345);
        assert_eq!(rows.shown(), 12_315..12_375);
    }

    /// The page holds enough rows on both sides of the visible ones to fill the room.
    #[test]
    fn what_is_seen_has_room_around_it() {
        let mut rows = thread(1_000);
        look(&mut rows, 500..505, 4_800.0);
        assert_eq!(
            rows.shown(),
            470..535,
            "thirty rows of 160 pixels on each side"
        );
        look(&mut rows, 0..5, 4_800.0);
        assert_eq!(rows.shown(), 0..35);
        look(&mut rows, 500..505, 0.0);
        assert_eq!(rows.shown(), 480..525);
    }

    /// Measured heights make the blanks; rows that were never in the page are as high as the others on average.
    #[test]
    fn blanks_are_as_high_as_their_rows() {
        let mut rows = thread(100);
        rows.around(50);
        assert_eq!(rows.shown(), 20..80);
        assert_eq!(rows.blanks(), (20.0 * 160.0, 20.0 * 160.0));
        for row in 20..80 {
            rows.measured(row, if row < 50 { 100.0 } else { 300.0 });
        }
        assert_eq!(rows.blanks(), (20.0 * 200.0, 20.0 * 200.0));
        rows.measured(79, 900.0);
        rows.measured(79, 300.0);
        look(&mut rows, 70..71, 0.0);
        assert_eq!(rows.shown(), 50..91);
        assert_eq!(rows.blanks(), (20.0 * 200.0 + 30.0 * 100.0, 9.0 * 200.0));
        assert_eq!(
            (rows.at(20, 0.0), rows.at(20, 99.0), rows.at(20, 250.0)),
            (20, 20, 22)
        );
        assert_eq!(rows.at(0, 1e9), 99);
    }

    /// At the end a new row is in the page; further up the rows in the page stay, whether rows come before or after
    /// them.
    #[test]
    fn a_thread_that_grows() {
        let mut rows = thread(200);
        rows.change((0..201).collect(), true);
        assert_eq!(rows.shown(), 140..201);
        rows.change((0..300).collect(), true);
        assert_eq!(rows.shown(), 240..300);
        rows.around(100);
        rows.change((0..301).collect(), false);
        assert_eq!(rows.shown(), 70..130);
        // a card between rows above, and the first row in the page has another form
        let with_card: Vec<u64> = (0..50)
            .chain([9_000])
            .chain(50..70)
            .chain([9_070])
            .chain(71..301)
            .collect();
        rows.change(with_card, false);
        assert_eq!(rows.shown(), 71..131);
        assert_eq!((rows.shown_at(9_070), rows.shown_at(3)), (Some(71), None));
        rows.change((0..10).collect(), false);
        assert_eq!(rows.shown(), 0..10, "a page without rows goes to the end");
    }
}
