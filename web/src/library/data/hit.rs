//! The results of a search over all sessions.

use palimpsest_text::sorted::SortedMap;

/// The number of shown places of one session; of the others only the number is shown.
pub const SHOWN: usize = 40;

/// The places to search: titles, messages, layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope(pub [bool; 3]);

impl Default for Scope {
    fn default() -> Self {
        Self([true; 3])
    }
}

/// The results so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    /// The search words in lower case.
    pub needle: String,
    /// By session.
    pub by: SortedMap<String, Found>,
    /// All sessions were looked through.
    pub done: bool,
}

impl Hits {
    /// Sessions and places.
    pub fn totals(&self) -> (u32, u32) {
        let places = self.by.values().map(Found::places).sum();
        (self.by.len() as u32, places)
    }
}

/// The results in one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// In its title.
    pub title: bool,
    /// The places that are shown, messages first, the newest of them first.
    pub hits: Vec<Hit>,
    /// The number of further results.
    pub more: u32,
}

impl Found {
    /// One place more.
    pub fn add(&mut self, place: Place, words: (String, String, String)) {
        if self.hits.len() < SHOWN {
            self.hits.push(Hit { place, words });
        } else {
            self.more += 1;
        }
    }

    /// The number of places, the title among them.
    pub fn places(&self) -> u32 {
        u32::from(self.title) + self.hits.len() as u32 + self.more
    }
}

/// One place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The place.
    pub place: Place,
    /// The words around the result: before it, itself, after it.
    pub words: (String, String, String),
}

/// The place of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the message with this number.
    Message(u32),
    /// In the layer with this number.
    Layer(u32),
}

/// The number of characters shown on each side of a result.
const AROUND: usize = 48;

/// Splits a short text into the parts before `needle`, of it, and after it.
pub fn split<'a>(text: &'a str, needle: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let (start, end) = position(text, needle)?;
    Some((&text[..start], &text[start..end], &text[end..]))
}

/// The first place in `text` with `needle`, in any case; `needle` is in lower case.
pub fn find(text: &str, needle: &str) -> Option<(String, String, String)> {
    let (start, end) = position(text, needle)?;
    let mut from = text[..start]
        .char_indices()
        .rev()
        .nth(AROUND - 1)
        .map_or(0, |(i, _)| i);
    // Begin with a word, not within one.
    if from > 0 {
        from += text[from..start].find(char::is_whitespace).unwrap_or(0);
    }
    let to = text[end..]
        .char_indices()
        .nth(AROUND)
        .map_or(text.len(), |(i, _)| end + i);
    let tidy = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
    let edge = |s: &str, inner: bool| {
        let mut out = tidy(s);
        if inner && !out.is_empty() {
            out.push(' ');
        }
        out
    };
    let mut before = edge(
        &text[from..start],
        text[..start].ends_with(char::is_whitespace),
    );
    if from > 0 {
        before.insert(0, '…');
    }
    let mut after = tidy(&text[end..to]);
    if text[end..].starts_with(char::is_whitespace) && !after.is_empty() {
        after.insert(0, ' ');
    }
    if to < text.len() {
        after.push('…');
    }
    Some((before, text[start..end].to_owned(), after))
}

/// The place of `needle` (in lower case) in `text`, as bytes of `text`.
fn position(text: &str, needle: &str) -> Option<(usize, usize)> {
    if needle.is_empty() {
        return None;
    }
    let first = needle.chars().next()?;
    for (start, c) in text.char_indices() {
        if !c.to_lowercase().eq(std::iter::once(first)) {
            continue;
        }
        let mut wanted = needle.chars();
        let mut rest = text[start..].char_indices();
        let mut end = start;
        let mut whole = true;
        'letters: while wanted.as_str() != "" {
            let Some((at, c)) = rest.next() else {
                whole = false;
                break;
            };
            for lower in c.to_lowercase() {
                if wanted.next() != Some(lower) {
                    whole = false;
                    break 'letters;
                }
            }
            end = start + at + c.len_utf8();
        }
        if whole {
            return Some((start, end));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S6: every place is counted, the title among them, also those that are not shown.
    #[test]
    fn every_place_is_counted() {
        let mut found = Found {
            title: true,
            ..Found::default()
        };
        for n in 0..45 {
            found.add(Place::Message(n), find("a cookie", "cookie").unwrap());
        }
        assert_eq!(
            (found.hits.len(), found.more, found.places()),
            (SHOWN, 5, 46)
        );
        let by = [("a".to_owned(), found), ("b".to_owned(), Found::default())];
        let hits = Hits {
            needle: "cookie".into(),
            by: by.into(),
            done: true,
        };
        assert_eq!(hits.totals(), (2, 46));
        assert_eq!(split("A Cookie!", "cookie"), Some(("A ", "Cookie", "!")));
        assert_eq!(split("Nothing", "cookie"), None);
    }

    /// S6: words are found in any case and script, with the words around them.
    #[test]
    fn words_around_what_is_found() {
        let check = |text: &str, needle: &str, expected: Option<(&str, &str, &str)>| {
            let found = find(text, needle);
            let found = found
                .as_ref()
                .map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str()));
            assert_eq!(found, expected, "{needle:?}");
        };
        check(
            "An httpOnly Cookie, decided.",
            "cookie",
            Some(("An httpOnly ", "Cookie", ", decided.")),
        );
        check(
            "Straße und Äpfel",
            "äpf",
            Some(("Straße und ", "Äpf", "el")),
        );
        check(
            "日本語のテキスト",
            "テキ",
            Some(("日本語の", "テキ", "スト")),
        );
        check("nothing", "cookie", None);
        check("x", "", None);
        let long = format!("{} needle {}", "word ".repeat(40), "tail ".repeat(40));
        let (before, it, after) = find(&long, "needle").unwrap();
        assert!(before.starts_with('…') && before.ends_with("word ") && before.len() < 70);
        assert_eq!(it, "needle");
        assert!(after.starts_with(" tail") && after.ends_with('…'));
    }
}
