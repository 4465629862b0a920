//! Every text of the page, by key and language, and how numbers are written in each.
//!
//! `text/en.rs` defines the keys. A further language is one more file like `text/de.rs`. [`fill`] replaces each `{}` of a
//! text, in order.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// Defines the keys of all texts, and the texts in English: those of the page as it stands first, those that only screens and
/// dialogs show, those about tools, those that come with a conversation, and those about the model server.
macro_rules! texts {
    (
        page { $($name:ident: $text:literal,)* }
        screens { $($later:ident: $told:literal,)* }
        tools { $($tool:ident: $said:literal,)* }
        talk { $($turn:ident: $heard:literal,)* }
        wire { $($case:ident: $seen:literal,)* }
    ) => {
        /// A text of the page.
        #[allow(missing_docs)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum T { $($name,)* $($later,)* $($tool,)* $($turn,)* $($case,)* }

        pub(super) fn page(text: T) -> Option<&'static str> {
            match text {
                $(T::$name => Some($text),)*
                _ => None,
            }
        }

        /// The texts of screens and dialogs in English; nothing for any other.
        pub fn screens(text: T) -> &'static str {
            match text {
                $(T::$later => $told,)*
                _ => "",
            }
        }

        /// The texts about tools in English; nothing for any other.
        pub fn tools(text: T) -> &'static str {
            match text {
                $(T::$tool => $said,)*
                _ => "",
            }
        }

        /// The texts of a conversation that goes on, in English; nothing for any other.
        pub fn talk(text: T) -> &'static str {
            match text {
                $(T::$turn => $heard,)*
                _ => "",
            }
        }

        /// The texts about the model server in English; nothing for any other.
        pub fn wire(text: T) -> &'static str {
            match text {
                $(T::$case => $seen,)*
                _ => "",
            }
        }

        #[cfg(test)]
        pub(super) const KEYS: &[T] = &[$(T::$name,)* $(T::$later,)* $(T::$tool,)* $(T::$turn,)* $(T::$case,)*];

        #[cfg(test)]
        pub(super) const OF_WIRE: &[T] = &[$(T::$case,)*];

        #[cfg(test)]
        pub(super) const OF_TOOLS: &[T] = &[$(T::$tool,)*];

        #[cfg(test)]
        pub(super) const OF_TALK: &[T] = &[$(T::$turn,)*];

        #[cfg(test)]
        pub(super) const OF_SCREENS: &[T] = &[$(T::$later,)*];
    };
}

/// Defines the texts in another language. A key that is missing does not compile.
macro_rules! translation {
    ($language:ident, $($name:ident: $text:literal,)*) => {
        /// The text in this language.
        pub fn $language(text: T) -> &'static str {
            match text { $(T::$name => $text,)* }
        }
    };
}

mod de;
mod en;

pub use de::german;
pub use en::{T, screens, talk, tools, wire};

/// A language of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// German.
    German,
}

impl Language {
    /// Its tag, as in the `lang` attribute.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// The language for a list of preferred tags, best first.
    pub fn preferred(tags: &[String]) -> Self {
        tags.iter()
            .find_map(|tag| match tag.get(..2)?.to_ascii_lowercase().as_str() {
                "en" => Some(Self::English),
                "de" => Some(Self::German),
                _ => None,
            })
            .unwrap_or(Self::English)
    }
}

static CURRENT: AtomicU8 = AtomicU8::new(0);

/// Chooses the language. Views made before keep their texts: the page is mounted anew after it.
pub fn speak(language: Language) {
    CURRENT.store(u8::from(language == Language::German), Ordering::Relaxed);
}

/// The language that is spoken.
pub fn language() -> Language {
    if CURRENT.load(Ordering::Relaxed) == 1 {
        Language::German
    } else {
        Language::English
    }
}

/// Another language than English: its texts are not loaded with the page. Set once, before anything is shown.
static OTHER: OnceLock<fn(T) -> &'static str> = OnceLock::new();

/// Takes another language's texts.
pub fn learn(texts: fn(T) -> &'static str) {
    // seen through, it would be called directly, and be part of the page again
    let _ = OTHER.set(std::hint::black_box(texts));
}

/// Texts by their keys; empty for a key that is none of theirs.
type Texts = fn(T) -> &'static str;

/// The texts in English that come with the parts that show them: those of screens and dialogs, those about tools, those of
/// a conversation that goes on, those about the model server.
static LATER: [OnceLock<Texts>; 4] = [const { OnceLock::new() }; 4];

/// Takes the texts of a part.
pub fn learn_later(texts: Texts) {
    let texts = std::hint::black_box(texts);
    for place in &LATER {
        if place.set(texts).is_ok() {
            break;
        }
    }
}

fn english(text: T) -> &'static str {
    en::page(text).unwrap_or_else(|| {
        // natively there are no parts
        #[cfg(not(target_arch = "wasm32"))]
        if LATER[3].get().is_none() {
            learn_later(screens);
            learn_later(tools);
            learn_later(talk);
            learn_later(wire);
        }
        let told = LATER.iter().filter_map(OnceLock::get);
        let told = told.map(|texts| texts(text)).find(|told| !told.is_empty());
        debug_assert!(told.is_some(), "{text:?} is shown before it was learned");
        told.unwrap_or_default()
    })
}

/// The text in the present language, or in English while that was not learned.
pub fn t(text: T) -> &'static str {
    match OTHER.get() {
        Some(other) if language() == Language::German => other(text),
        _ => english(text),
    }
}

/// `text` with its `{}` replaced, in order.
pub fn fill(text: T, values: &[&str]) -> String {
    let mut out = String::new();
    let mut values = values.iter();
    let mut pieces = t(text).split("{}");
    debug_assert!(
        t(text).matches("{}").count() <= values.len(),
        "a gap stays open in {:?}",
        t(text)
    );
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        out.push_str(values.next().copied().unwrap_or_default());
        out.push_str(piece);
    }
    out
}

/// `one` or `many`, by `n`, with `n` filled in as the first value.
pub fn count(one: T, many: T, n: u32) -> String {
    fill(if n == 1 { one } else { many }, &[&number(n)])
}

/// A number with its thousands set apart.
pub fn number(n: u32) -> String {
    let digits = n.to_string();
    let mark = if language() == Language::German {
        '.'
    } else {
        ','
    };
    let mut out = String::with_capacity(digits.len() + 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(mark);
        }
        out.push(digit);
    }
    out
}

/// One digit after the point, or after the comma.
pub fn decimal(x: f64) -> String {
    let tenths = (x.max(0.0) * 10.0).round();
    let whole = (tenths / 10.0).floor();
    let mark = if language() == Language::German {
        ','
    } else {
        '.'
    };
    format!(
        "{}{mark}{}",
        number(whole as u32),
        (tenths - whole * 10.0) as u32
    )
}

/// Seconds of a number of milliseconds: `3.8 s`.
pub fn seconds(milliseconds: f64) -> String {
    if milliseconds < 100.0 {
        format!("{} ms", milliseconds.max(0.0).round() as u32)
    } else {
        format!("{} s", decimal(milliseconds / 1000.0))
    }
}

/// A number as CSS reads it, with two decimals. The standard library's way to write one is 5 KB of the page.
pub fn css(x: f64) -> String {
    let hundredths = (x.abs() * 100.0).round() as u64;
    let sign = if x < 0.0 && hundredths > 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Bytes in the unit people read.
pub fn bytes(n: f64) -> String {
    let (value, unit) = if n < 1e6 {
        (n / 1e3, "KB")
    } else if n < 1e9 {
        (n / 1e6, "MB")
    } else {
        (n / 1e9, "GB")
    };
    if value < 10.0 && unit != "KB" {
        format!("{} {unit}", decimal(value))
    } else {
        format!("{} {unit}", number(value.round() as u32))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::en::{KEYS, OF_SCREENS, OF_TALK, OF_TOOLS, OF_WIRE};
    use super::*;

    #[test]
    fn numbers_in_css() {
        let check = |x: f64, expected: &str| assert_eq!(css(x), expected);
        check(0.0, "0.00");
        check(-0.001, "0.00");
        check(12.345, "12.35");
        check(-3.5, "-3.50");
        check(100.0, "100.00");
        check(2_000_000.126, "2000000.13");
    }

    /// Every text has the same number of gaps in both languages, appears once, and uses the table's words (compaction,
    /// never compression) and no exclamation marks.
    #[test]
    fn the_table_is_consistent() {
        let mut names = BTreeSet::new();
        for name in KEYS {
            let (en, de) = (english(*name), german(*name));
            assert!(names.insert(format!("{name:?}")));
            assert_eq!(
                en.matches("{}").count(),
                de.matches("{}").count(),
                "{name:?}"
            );
            assert!(!en.is_empty() && !de.is_empty(), "{name:?}");
            for text in [en, de] {
                assert!(!text.contains('!'), "{name:?}");
                assert!(
                    !text.to_lowercase().contains("compress")
                        && !text.to_lowercase().contains("kompr"),
                    "{name:?}"
                );
            }
        }
        assert!(names.len() > 100);
    }

    /// The sources of the page, without their tests.
    fn sources(folder: &std::path::Path, all: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, all);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
                all.push((path.display().to_string(), code.to_owned()));
            }
        }
    }

    /// The files that say a text.
    fn said_in(name: T, all: &[(String, String)]) -> Vec<&str> {
        let key = format!("T::{name:?}");
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let says = |code: &str| {
            let mut places = code.match_indices(&key);
            places.any(|(at, _)| !code[at + key.len()..].starts_with(is_word))
        };
        let said = all.iter().filter(|(_, code)| says(code));
        said.map(|(path, _)| path.as_str()).collect()
    }

    /// The files whose code comes with the part `desk` alone, as names under `src`.
    const DESK: [&str; 41] = [
        "app/view/dialog.rs",
        "chat/actions/removal.rs",
        "chat/view/edit.rs",
        "context/actions/layers.rs",
        "context/actions/records.rs",
        "context/actions/snapshots.rs",
        "context/view/context.rs",
        "context/view/dialogs.rs",
        "context/view/goal.rs",
        "context/view/layers.rs",
        "context/view/pin.rs",
        "context/view/snapshots.rs",
        "library/actions/import.rs",
        "library/actions/library.rs",
        "library/actions/temporary.rs",
        "library/actions/trash.rs",
        "library/view/dialogs.rs",
        "library/view/library.rs",
        "library/view/row.rs",
        "library/view/save.rs",
        "library/view/storage.rs",
        "library/view/trash.rs",
        "log/view/figures.rs",
        "settings/actions/pull.rs",
        "settings/data/policy.rs",
        "settings/data/policy/rest.rs",
        "settings/data/policy/rules.rs",
        "settings/data/profile.rs",
        "settings/view/budgeting.rs",
        "settings/view/connection.rs",
        "settings/view/dialogs.rs",
        "settings/view/models.rs",
        "settings/view/parameters.rs",
        "settings/view/policy.rs",
        "settings/view/profiles.rs",
        "settings/view/prompts.rs",
        "settings/view/settings.rs",
        "settings/view/skills.rs",
        "settings/view/system.rs",
        "widgets/dialog.rs",
        "widgets/policies.rs",
    ];

    /// Texts that those files show without the part: they come with the page.
    const SHOWN_BEFORE: [T; 3] = [T::AddModelFile, T::SnapshotAutomatic, T::BeforeLayer];

    /// A text that comes with the screens is said by nobody else, or the page would have nothing to show in its place.
    #[test]
    fn texts_of_screens_are_said_by_screens() {
        let mut all = Vec::new();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        sources(&root, &mut all);
        let desk = |path: &str| {
            DESK.iter()
                .any(|file| path.ends_with(&format!("/src/{file}")))
        };
        for name in OF_SCREENS {
            assert!(!SHOWN_BEFORE.contains(name), "{name:?}");
            let others = said_in(*name, &all).into_iter().filter(|path| !desk(path));
            let others: Vec<&str> = others.collect();
            assert!(others.is_empty(), "{name:?} is said in {others:?}");
        }
        assert!(OF_SCREENS.len() > 400);
    }

    /// Texts of these parts come with the part that has all of the code which says them, so no other code says one.
    #[test]
    fn texts_of_parts_are_said_there() {
        let mut all = Vec::new();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        sources(&root, &mut all);
        let check = |texts: &[T], places: &[&str]| {
            for name in texts {
                let said = said_in(*name, &all);
                assert!(!said.is_empty(), "{name:?} is not said");
                let there = |path: &&str| places.iter().any(|place| path.contains(place));
                assert!(said.iter().all(there), "{name:?} is said in {said:?}");
            }
        };
        check(OF_TOOLS, &["/src/tools/"]);
        let talk = ["/context/view/card.rs", "/chat/actions/attachments.rs"];
        check(OF_TALK, &talk);
        check(OF_WIRE, &["/settings/data/doctor.rs"]);
        assert!(OF_TALK.len() > 40);
    }

    /// The arguments of the call whose opening bracket stands at the beginning of `code`, and of lists as one.
    fn arguments(code: &str) -> Vec<String> {
        let (mut depth, mut quoted, mut escaped) = (0, false, false);
        let mut all = vec![String::new()];
        for c in code.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = quoted,
                '"' => quoted = !quoted,
                '(' | '[' | '{' if !quoted => depth += 1,
                ')' | ']' | '}' if !quoted => depth -= 1,
                ',' if !quoted && depth == 1 => {
                    all.push(String::new());
                    continue;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
            all.last_mut().unwrap().push(c);
        }
        if let Some(first) = all.first_mut().filter(|first| !first.is_empty()) {
            first.remove(0);
        }
        let all = all.iter().map(|a| a.trim().to_owned());
        all.filter(|a| !a.is_empty()).collect()
    }

    /// No sentence reaches a page with an open gap, in either language: every place that says a text gives it as many values
    /// as it has gaps.
    #[test]
    fn every_gap_is_filled_where_a_text_is_said() {
        let mut all = Vec::new();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        sources(&root, &mut all);
        let texts: std::collections::BTreeMap<String, (usize, usize)> = KEYS
            .iter()
            .map(|name| {
                let gaps = [english(*name), german(*name)].map(|text| text.matches("{}").count());
                let gaps = (gaps[0], gaps[1]);
                (format!("T::{name:?}"), gaps)
            })
            .collect();
        let mut said = 0;
        for (path, code) in &all {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            for call in ["fill(", "t(", "count("] {
                for (at, _) in code.match_indices(call) {
                    if code[..at].ends_with(|c| is_word(c) || c == '.' || c == '!') {
                        continue;
                    }
                    let given = arguments(&code[at + call.len() - 1..]);
                    let Some((en, de)) = given.first().and_then(|name| texts.get(name)) else {
                        continue;
                    };
                    let values = match call {
                        "t(" => 0,
                        "count(" => 1,
                        _ => match given[1].strip_prefix('&') {
                            Some(list) if list.starts_with('[') => arguments(list).len(),
                            // a list made elsewhere: `fill` itself looks at its length
                            _ => continue,
                        },
                    };
                    let fits = |gaps: usize| gaps == values || call == "count(" && gaps < values;
                    assert!(
                        fits(*en) && fits(*de),
                        "{path}: {} has {en} gaps and is given {values} values",
                        given[0]
                    );
                    said += 1;
                }
            }
        }
        assert!(said > 500, "{said}");
    }

    #[test]
    fn numbers_are_set_as_the_language_does() {
        let check = |n, en: &str| assert_eq!(number(n), en);
        check(0, "0");
        check(999, "999");
        check(1000, "1,000");
        check(1_048_576, "1,048,576");
        assert_eq!(decimal(31.24), "31.2");
        assert_eq!(decimal(9.96), "10.0");
        assert_eq!(seconds(3840.0), "3.8 s");
        assert_eq!(seconds(41.6), "42 ms");
        assert_eq!(bytes(412_000.0), "412 KB");
        assert_eq!(bytes(38_400_000.0), "38 MB");
        assert_eq!(bytes(4_200_000.0), "4.2 MB");
        assert_eq!(
            fill(T::CardPair, &["6,204", "3,665"]),
            "The window before: 6,204 tokens. After: 3,665."
        );
        assert_eq!(count(T::SessionsOne, T::SessionsMany, 1), "1 session");
        assert_eq!(count(T::SessionsOne, T::SessionsMany, 7), "7 sessions");
    }

    #[test]
    fn the_first_language_we_have_is_taken() {
        let tags = |list: &[&str]| {
            Language::preferred(&list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(tags(&["fr", "de-CH", "en"]), Language::German);
        assert_eq!(tags(&["en-GB", "de"]), Language::English);
        assert_eq!(tags(&["ja"]), Language::English);
        assert_eq!(tags(&["é"]), Language::English);
    }
}
