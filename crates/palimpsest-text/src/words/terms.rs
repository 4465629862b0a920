//! Turns the words of a text into hashes for counting and searching: folded, lightly stemmed, in every script.

use super::script::{combining, fold, unspaced};

/// The kind of a term. Callers weigh the kinds differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermKind {
    /// A word of an alphabetic script, folded and stemmed.
    Word,
    /// Two neighbouring characters of a script without spaces (or a lone one).
    Pair,
    /// A whole identifier, path or compound, besides its parts.
    Whole,
    /// A number.
    Number,
}

/// One term of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// Hash of the folded, stemmed form.
    pub hash: u64,
    /// The kind.
    pub kind: TermKind,
    /// Its first letter is a capital.
    pub capital: bool,
}

/// FNV-1a with a final mix, so that the low bits are good enough for a table.
pub fn hash(bytes: &[u8]) -> u64 {
    fnv(bytes.iter().copied())
}

/// Returns the hash of `word` in its folded form. `scratch` is overwritten.
pub fn fold_hash(word: &str, scratch: &mut String) -> u64 {
    if word.is_ascii() {
        return lower_hash(word.as_bytes());
    }
    scratch.clear();
    word.chars().for_each(|c| fold(c, scratch));
    hash(scratch.as_bytes())
}

/// Returns the hash of an ASCII word in its folded form.
pub fn lower_hash(word: &[u8]) -> u64 {
    fnv(word.iter().map(u8::to_ascii_lowercase))
}

fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    let mut h = 0xCBF2_9CE4_8422_2325_u64;
    for b in bytes {
        h = (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3);
    }
    mix(h)
}

/// Spreads a hash over all bits.
pub fn mix(mut h: u64) -> u64 {
    h ^= h >> 32;
    h = h.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    h ^ (h >> 29)
}

/// Calls `f` with every term of `text`, in order.
///
/// Alphabetic words are folded (case, marks) and stemmed; identifiers give their parts and the whole;
/// scripts without spaces give pairs of characters.
pub fn each_term(text: &str, mut f: impl FnMut(Term)) {
    each(text, &mut f);
}

/// Compiled once, for every `f`.
fn each(text: &str, f: &mut dyn FnMut(Term)) {
    let bytes = text.as_bytes();
    let mut buffer = String::with_capacity(32);
    let mut before: Option<char> = None;
    let mut lone = false;
    let mut at = 0;
    let single = |c: Option<char>, lone: bool| {
        c.filter(|_| lone).map(|c| Term {
            hash: pair(c, '\0'),
            kind: TermKind::Pair,
            capital: false,
        })
    };
    while at < text.len() {
        let plain = plain_word(bytes, at);
        let Some(c) = text[at..].chars().next() else {
            break;
        };
        if plain.is_none() && unspaced(c) && c.is_alphanumeric() {
            if let Some(b) = before {
                f(Term {
                    hash: pair(b, c),
                    kind: TermKind::Pair,
                    capital: false,
                });
            }
            lone = before.is_none();
            before = Some(c);
            at += c.len_utf8();
            continue;
        }
        if let Some(term) = single(before, lone) {
            f(term);
        }
        lone = false;
        before = None;
        if let Some(end) = plain {
            buffer.clear();
            buffer.extend(text[at..end].chars().map(|c| c.to_ascii_lowercase()));
            stem_latin(&mut buffer);
            let capital = bytes[at].is_ascii_uppercase();
            f(Term {
                hash: hash(buffer.as_bytes()),
                kind: TermKind::Word,
                capital,
            });
            at = end;
        } else if c.is_alphanumeric() || c == '_' {
            let (end, joined) = run_end(text, at);
            run(&text[at..end], joined, &mut buffer, f);
            at = end;
        } else {
            at += c.len_utf8();
        }
    }
    if let Some(term) = single(before, lone) {
        f(term);
    }
}

/// Returns the end of the ASCII word at `at` if it is simple: letters only, no capital inside, nothing joined to it.
fn plain_word(bytes: &[u8], at: usize) -> Option<usize> {
    if !bytes[at].is_ascii_alphabetic() {
        return None;
    }
    let mut end = at + 1;
    while end < bytes.len() && bytes[end].is_ascii_lowercase() {
        end += 1;
    }
    let Some(&next) = bytes.get(end) else {
        return Some(end);
    };
    let open = match next {
        b' ' | b',' | b'\n' | b'?' | b'!' | b';' | b')' | b'"' => true,
        b'.' | b':' => bytes.get(end + 1).is_none_or(|b| matches!(b, b' ' | b'\n')),
        _ => false,
    };
    open.then_some(end)
}

/// The end of a run of letters, digits, `_`, and joiners between two of them; and whether a joiner
/// other than an apostrophe is inside.
fn run_end(text: &str, start: usize) -> (usize, bool) {
    let word = |c: char| c.is_alphanumeric() && !unspaced(c);
    let mut joined = false;
    let mut at = start;
    while let Some(c) = text[at..].chars().next() {
        if word(c) || c == '_' || combining(c) {
            at += c.len_utf8();
            continue;
        }
        if !matches!(c, '.' | '-' | '/' | ':' | '\'' | '’' | '@' | '\\' | '+') {
            break;
        }
        let mut after = at + c.len_utf8();
        if c == ':' && text[after..].starts_with(':') {
            after += 1;
        }
        if !text[after..].chars().next().is_some_and(word) {
            break;
        }
        joined |= !matches!(c, '\'' | '’');
        at = after;
    }
    (at, joined)
}

fn pair(a: char, b: char) -> u64 {
    mix((u64::from(a as u32) << 32) | u64::from(b as u32) | 0x8000_0000_0000_0000)
}

fn run(text: &str, joined: bool, buffer: &mut String, f: &mut dyn FnMut(Term)) {
    if text.is_empty() {
        return;
    }
    let mut parts = 0;
    let mut hump = false;
    // Parts: between separators, and at camel humps and digit borders inside identifiers.
    let mut from = 0;
    let mut before: Option<char> = None;
    let numeric = text.starts_with(|c: char| c.is_ascii_digit())
        && !text.contains(|c: char| c.is_alphabetic());
    if numeric {
        buffer.clear();
        buffer.extend(text.chars().filter(|&c| c != '_'));
        f(Term {
            hash: hash(buffer.as_bytes()),
            kind: TermKind::Number,
            capital: false,
        });
        return;
    }
    let mut it = text.char_indices().peekable();
    while let Some((at, c)) = it.next() {
        let separator = matches!(c, '_' | '.' | '-' | '/' | ':' | '@' | '\\' | '+');
        let mut border = separator;
        if let Some(b) = before
            && !separator
        {
            let up = b.is_lowercase() && c.is_uppercase();
            let last_of_acronym = b.is_uppercase()
                && c.is_uppercase()
                && it.peek().is_some_and(|&(_, n)| n.is_lowercase())
                && at > from;
            if up || last_of_acronym {
                border = true;
                hump = true;
            }
        }
        if border {
            parts += usize::from(part(&text[from..at], buffer, f));
            from = if separator { at + c.len_utf8() } else { at };
        }
        before = if separator { None } else { Some(c) };
    }
    parts += usize::from(part(&text[from..], buffer, f));
    if parts > 1 && (joined || hump || text.contains('_')) {
        buffer.clear();
        buffer.push('\u{1}');
        for c in text.chars() {
            fold(c, buffer);
        }
        f(Term {
            hash: hash(buffer.as_bytes()),
            kind: TermKind::Whole,
            capital: false,
        });
    }
}

fn part(text: &str, buffer: &mut String, f: &mut dyn FnMut(Term)) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    buffer.clear();
    let mut apostrophe = None;
    for c in text.chars() {
        if matches!(c, '\'' | '’') {
            apostrophe = Some(buffer.len());
            continue;
        }
        fold(c, buffer);
    }
    if let Some(at) = apostrophe {
        let tail = &buffer[at..];
        if tail == "s" {
            buffer.truncate(at);
        } else if at <= 2
            && buffer.len() - at > 1
            && matches!(
                &buffer[..at],
                "l" | "d" | "n" | "j" | "m" | "t" | "s" | "c" | "qu"
            )
        {
            buffer.drain(..at);
        }
    }
    if buffer.is_empty() {
        return false;
    }
    let kind = if buffer.bytes().all(|b| b.is_ascii_digit()) {
        TermKind::Number
    } else {
        TermKind::Word
    };
    stem(buffer);
    f(Term {
        hash: hash(buffer.as_bytes()),
        kind,
        capital: first.is_uppercase(),
    });
    true
}

/// Cuts the commonest endings, so that "painting", "painted" and "paints" agree. In an unknown language this does no
/// harm, because both sides are cut alike.
fn stem(word: &mut String) {
    if word.is_ascii() {
        stem_latin(word);
    } else if word.chars().all(|c| ('а'..='я').contains(&c)) {
        stem_cyrillic(word);
    }
}

/// Returns the base form of an irregular English word.
fn irregular(word: &str) -> Option<&'static str> {
    Some(match word {
        "went" | "gone" => "go",
        "bought" => "buy",
        "brought" => "bring",
        "thought" => "think",
        "taught" => "teach",
        "caught" => "catch",
        "took" | "taken" => "take",
        "made" => "make",
        "saw" | "seen" => "see",
        "came" => "come",
        "gave" | "given" => "give",
        "got" | "gotten" => "get",
        "knew" | "known" => "know",
        "grew" | "grown" => "grow",
        "wrote" | "written" => "write",
        "ran" => "run",
        "began" | "begun" => "begin",
        "broke" | "broken" => "break",
        "chose" | "chosen" => "choose",
        "drove" | "driven" => "drive",
        "ate" | "eaten" => "eat",
        "fell" | "fallen" => "fall",
        "felt" => "feel",
        "found" => "find",
        "held" => "hold",
        "kept" => "keep",
        "left" => "leave",
        "lost" => "lose",
        "met" => "meet",
        "paid" => "pay",
        "read" => "read",
        "rode" | "ridden" => "ride",
        "sang" | "sung" => "sing",
        "sent" => "send",
        "sold" => "sell",
        "spent" => "spend",
        "spoke" | "spoken" => "speak",
        "stood" => "stand",
        "swam" | "swum" => "swim",
        "told" => "tell",
        "won" => "win",
        "wore" | "worn" => "wear",
        "built" => "build",
        "drew" | "drawn" => "draw",
        "flew" | "flown" => "fly",
        "threw" | "thrown" => "throw",
        "became" => "become",
        "children" => "child",
        "people" => "person",
        "kids" => "kid",
        "men" => "man",
        "women" => "woman",
        "mice" => "mouse",
        "feet" => "foot",
        "wives" => "wife",
        "lives" => "life",
        _ => return None,
    })
}

fn stem_latin(word: &mut String) {
    if word.len() <= 8
        && let Some(base) = irregular(word)
    {
        word.clear();
        word.push_str(base);
    }
    let n = word.len();
    if n < 4 || word.bytes().any(|b| b.is_ascii_digit()) {
        return;
    }
    if word.ends_with("ies") && n > 4 {
        word.truncate(n - 3);
        word.push('y');
    } else if word.ends_with("sses")
        || ["ches", "shes", "xes", "zes"]
            .iter()
            .any(|e| word.ends_with(e))
    {
        word.truncate(n - 2);
    } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|e| word.ends_with(e)) {
        word.truncate(n - 1);
    }
    let vowel = |s: &str| {
        s.bytes()
            .any(|b| matches!(b, b'a' | b'e' | b'i' | b'o' | b'u' | b'y'))
    };
    for ending in ["ing", "ed", "ly"] {
        let Some(rest) = word.strip_suffix(ending) else {
            continue;
        };
        if rest.len() >= 3 && vowel(rest) {
            let keep = rest.len();
            word.truncate(keep);
            let b = word.as_bytes();
            if ending != "ly"
                && keep > 3
                && b[keep - 1] == b[keep - 2]
                && !matches!(b[keep - 1], b'l' | b's' | b'z')
            {
                word.truncate(keep - 1);
            }
        }
        break;
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    if word.len() > 3 && word.ends_with('y') {
        word.pop();
        word.push('i');
    }
}

fn stem_cyrillic(word: &mut String) {
    #[rustfmt::skip]
    const ENDINGS: [&str; 40] = [
        "иями", "ями", "ами", "ией", "иям", "иях", "ого", "его", "ому", "ему", "ыми", "ими", "ешь",
        "ете", "ить", "ать", "ять", "еть", "ах", "ях", "ам", "ям", "ой", "ей", "ый", "ий", "ая",
        "яя", "ое", "ее", "ые", "ие", "ов", "ев", "ую", "юю", "ом", "ем", "ит", "ал",
    ];
    let chars = word.chars().count();
    if chars < 5 {
        return;
    }
    for e in ENDINGS {
        if word.ends_with(e) && chars - e.chars().count() >= 3 {
            word.truncate(word.len() - e.len());
            return;
        }
    }
    if word.ends_with(['а', 'я', 'ы', 'и', 'у', 'ю', 'е', 'о', 'ь', 'й']) {
        word.pop();
    }
}
