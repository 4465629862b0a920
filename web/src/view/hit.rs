//! What a search over all sessions found.

/// One place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The session.
    pub session: String,
    /// Its title.
    pub title: String,
    /// Where in it.
    pub place: Place,
    /// The words around what was looked for: before, it, after.
    pub words: (String, String, String),
}

/// Where something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the title.
    Title,
    /// In the message with this number.
    Message(u32),
    /// In the layer with this number.
    Layer(u32),
}

/// Characters shown on each side of what was found.
const AROUND: usize = 48;

/// The first place in `text` that holds `needle`, whatever the case; `needle` is in lower case.
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

/// Where `needle` (in lower case) stands in `text`, as bytes of `text`.
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

    /// S6: what is looked for is found whatever its case, in any script, with the words around it.
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
