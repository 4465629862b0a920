//! Finds the parts of a user's message that are not the user's own words: quotations, code, mails, documents, output.
//!
//! Only a statement in the user's own name may become a demand. Pasted text often cannot be recognised for certain, so
//! every rule here prefers to call text pasted: a missed demand still stands in the conversation, but a promoted order
//! of a stranger would bind the model. Pasted text may contain forged closing marks of a quotation, a fence or a tag;
//! therefore the last closing mark counts, not the first.

use std::sync::OnceLock;

use crate::languages::{List, each};
use crate::words::script::unspaced;
use crate::words::segment::list_item;

static HEADERS: List = List::phrases(each!(pasted.headers));
static FORMAL_GREETINGS: List = List::phrases(each!(pasted.formal_greetings));
static GREETINGS: List = List::phrases(each!(pasted.greetings));
static RULES: List = List::phrases(each!(pasted.rules));
static OWN: List = List::words(each!(pasted.own));
static UNSPACED_OWN: List = List::phrases(each!(pasted.unspaced_own));
static BEFORE_COLON: Stems = Stems::new(List::phrases(each!(pasted.before_colon)));
static BEFORE_TEXT: Stems = Stems::new(List::phrases(each!(pasted.before_text)));

/// A longer message counts as a document after its first paragraph, in bytes.
const DOCUMENT: usize = 1_500;
/// A longer quotation may contain whole sentences, in characters.
const LONG_QUOTE: usize = 60;

/// The parts of one message that other authors wrote.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pasted {
    spans: Vec<(usize, usize)>,
    quotations: Vec<(usize, usize)>,
}

impl Pasted {
    /// Reads a message line by line.
    pub(crate) fn of(text: &str) -> Self {
        let mut out = Self::default();
        out.fences(text);
        out.tags(text);
        out.quotations(text);
        out.lines(text);
        out
    }

    /// Returns `true` if any of `text[start..end]` is pasted. A quotation inside of a sentence does not count: the
    /// sentence is the user's, and its quoted words are not read.
    pub(crate) fn holds(&self, start: usize, end: usize) -> bool {
        let overlaps = |&(from, to): &(usize, usize)| from < end && start < to;
        let inside = |&(from, to): &(usize, usize)| start < from && to <= end;
        self.spans.iter().any(overlaps) || self.quotations.iter().any(|q| overlaps(q) && !inside(q))
    }

    /// Returns `true` if the sentence asks for work on pasted text after it.
    pub(crate) fn follows(&self, text: &str, start: usize, end: usize) -> bool {
        introduces(&text[start..end], &BEFORE_TEXT) && self.spans.iter().any(|span| span.0 >= end)
    }

    fn add(&mut self, from: usize, to: usize) {
        if from < to {
            self.spans.push((from, to));
        }
    }

    /// Marks the text from the first fence of code to the last.
    fn fences(&mut self, text: &str) {
        for mark in ["```", "~~~"] {
            let mut marks = lines(text).filter(|(_, line)| line.trim_start().starts_with(mark));
            let Some((first, _)) = marks.next() else {
                continue;
            };
            let end = marks
                .last()
                .map_or(text.len(), |(at, line)| at + line.len());
            self.add(first, end);
        }
    }

    /// Marks the text from a tag to the last one that closes it, or to the end.
    fn tags(&mut self, text: &str) {
        let mut from = 0;
        while let Some(at) = text[from..].find('<').map(|at| from + at) {
            from = at + 1;
            let name: String = text[from..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '|' | ':'))
                .collect();
            let rest = &text[from + name.len()..];
            let opens = !name.is_empty() && rest.starts_with(['>', ' ', '\n', '/']);
            if !opens || !rest.contains('>') {
                continue;
            }
            let closing = format!("</{name}");
            let end = text[from..].rfind(&closing).map(|end| from + end);
            let is_block = text[..at].trim_end_matches([' ', '\t']).ends_with('\n')
                || text[..at].trim().is_empty();
            if end.is_none() && !is_block {
                continue;
            }
            let end = end.map_or(text.len(), |end| end + closing.len() + 1);
            let end = end.min(text.len());
            self.add(at, end);
            from = end;
            while !text.is_char_boundary(from) {
                from += 1;
            }
        }
    }

    /// Marks quotations that may contain sentences. If one does, everything between the first mark and the last one
    /// counts as quoted.
    fn quotations(&mut self, text: &str) {
        const PAIRS: [(char, &[char]); 7] = [
            ('"', &['"']),
            ('“', &['”', '“']),
            ('„', &['“', '”']),
            ('«', &['»']),
            ('»', &['«']),
            ('「', &['」']),
            ('『', &['』']),
        ];
        for (open, close) in PAIRS {
            let Some(first) = opening(text, open) else {
                continue;
            };
            let mut is_long = false;
            let mut at = first;
            let mut last = first;
            loop {
                let inside = at + open.len_utf8();
                let Some(end) = text[inside..].find(close).map(|end| inside + end) else {
                    // A quotation without a closing mark reaches to the end.
                    last = text.len();
                    is_long = true;
                    break;
                };
                is_long |= has_sentences(&text[inside..end]);
                let closing = text[end..].chars().next().map_or(1, char::len_utf8);
                last = last.max(end + closing);
                match opening(&text[last..], open) {
                    Some(next) => at = last + next,
                    None => break,
                }
            }
            if is_long {
                let final_mark = text.rfind(close).unwrap_or(last);
                self.quotations.push((first, last.max(final_mark + 1)));
            }
        }
    }

    fn lines(&mut self, text: &str) {
        let mut said = 0;
        let mut quote = false;
        let mut headers: Option<usize> = None;
        let mut speakers: Option<usize> = None;
        // A line before it asked for work on a text.
        let mut announced = false;
        let mut blank = false;
        for (at, line) in lines(text) {
            let body = line.trim();
            if body.is_empty() {
                quote = false;
                blank = true;
                continue;
            }
            let document = said > 0 && blank && text.len() > DOCUMENT;
            blank = false;
            if announced || document || starts_pasted(body, said) {
                return self.add(at, text.len());
            }
            said += 1;
            // A quoted paragraph continues without its mark.
            quote |= body.starts_with('>');
            let indented = line.starts_with("    ") || line.starts_with('\t');
            if quote || indented && !list_item(body) {
                self.add(at, at + line.len());
                continue;
            }
            if header(body) {
                if let Some(first) = headers {
                    return self.add(first, text.len());
                }
                headers = Some(at);
            }
            if speaker(body) {
                if let Some(first) = speakers {
                    return self.add(first, text.len());
                }
                speakers = Some(at);
            }
            if let Some(colon) = body.find([':', '：']) {
                let from = at + (line.len() - line.trim_start().len()) + colon;
                let (head, rest) = (
                    &body[..colon],
                    body[colon..].trim_start_matches([':', '：']),
                );
                if rest.trim().is_empty() && !own_heading(head)
                    || !rest.starts_with("//") && introduces(last_sentence(head), &BEFORE_COLON)
                {
                    return self.add(from, text.len());
                }
            }
            announced = introduces(body, &BEFORE_TEXT);
        }
    }
}

/// The lines with their places, without line ends.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let from = at;
        at += line.len();
        (from, line.trim_end_matches(['\n', '\r']))
    })
}

/// Returns the first mark that can open a quotation. A mark after a digit means inches.
fn opening(text: &str, mark: char) -> Option<usize> {
    let inches = |at: usize| mark == '"' && text[..at].ends_with(|c: char| c.is_ascii_digit());
    // « and » open in some languages and close in others; after a word they close.
    let closes = |at: usize| {
        matches!(mark, '»' | '«' | '“')
            && text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '!' | '?'))
    };
    let mut marks = text.match_indices(mark).map(|(at, _)| at);
    marks.find(|&at| !inches(at) && !closes(at))
}

/// Returns `true` if a quotation may contain a sentence of its own.
fn has_sentences(quoted: &str) -> bool {
    let trimmed = quoted.trim_end();
    let inner = trimmed.trim_end_matches(['.', '!', '?', '。', '！', '？']);
    inner.contains('\n')
        || inner.contains(". ")
        || inner.contains("! ")
        || inner.contains("? ")
        || inner.contains(['。', '！', '？'])
        || quoted.chars().count() > LONG_QUOTE
}

/// The last sentence before a colon.
fn last_sentence(head: &str) -> &str {
    head.rsplit(['.', '!', '?', '。', '！', '？'])
        .next()
        .unwrap_or(head)
}

/// Returns `true` if neither this line nor the text after it can be the user's words.
fn starts_pasted(body: &str, said: usize) -> bool {
    let divider = body.chars().count() >= 3
        && body
            .chars()
            .all(|c| matches!(c, '-' | '=' | '*' | '_' | '~' | '#' | '+' | ' '));
    let banner = [
        "-----", "=====", "[INST", "[SYSTEM", "[system", "<|", "[Tool", "[tool", "###",
    ]
    .iter()
    .any(|start| body.starts_with(start));
    let heading = body.starts_with('#') && !own_heading(body.trim_start_matches('#'));
    let lower = body.to_lowercase();
    let starts = |words: &List| words.all().iter().any(|w| lower.starts_with(w));
    let speaker = [
        "system",
        "user",
        "assistant",
        "human",
        "ai",
        "tool",
        "developer",
    ]
    .iter()
    .any(|r| {
        lower
            .strip_prefix(r)
            .is_some_and(|rest| rest.trim_start().starts_with([':', '：']))
    });
    let letter = starts(&FORMAL_GREETINGS)
        || said > 0
            && starts(&GREETINGS)
            && body.ends_with([',', '，', '!', '！', ':', '：', '、']);
    // The mark of an attachment or of a source.
    let address =
        (lower.starts_with("http://") || lower.starts_with("https://")) && !body.contains(' ');
    let prompt = body.starts_with("$ ") || body.starts_with(">>> ");
    divider || banner || heading || speaker || letter || address || prompt
}

/// `From: …`, `Betreff: …`.
fn header(body: &str) -> bool {
    let Some((head, _)) = body.split_once([':', '：']) else {
        return false;
    };
    let head = head.trim().to_lowercase();
    HEADERS.has(&head)
}

/// `Ada: …`, a line of a conversation.
fn speaker(body: &str) -> bool {
    let Some((head, rest)) = body.split_once([':', '：']) else {
        return false;
    };
    let words = head.split_whitespace().count();
    let named = head
        .chars()
        .next()
        .is_some_and(|c| c.is_uppercase() || unspaced(c));
    named
        && (1..=3).contains(&words)
        && head.chars().count() <= 24
        && !rest.trim().is_empty()
        && !own_heading(head)
}

/// Returns `true` for "My rules" or "Rules", a heading above the user's own rules, but not for "the rules of the
/// house".
fn own_heading(head: &str) -> bool {
    let lower = last_sentence(head).trim().to_lowercase();
    let ruled = RULES.all().iter().any(|w| lower.contains(w));
    let mine = lower
        .split(|c: char| !c.is_alphanumeric())
        .any(|w| OWN.has(w))
        || UNSPACED_OWN.all().iter().any(|w| lower.contains(w));
    let short = lower.split_whitespace().count() <= 3 && lower.chars().count() <= 32;
    ruled && (mine || short) && !introduces(&lower, &BEFORE_TEXT)
}

/// Returns `true` if a word of the line begins with one of the stems. In a script without spaces a stem may stand
/// anywhere.
fn introduces(line: &str, stems: &Stems) -> bool {
    let lower = line.to_lowercase();
    let mut in_word = false;
    lower.char_indices().any(|(at, c)| {
        let may_begin = !in_word || unspaced(c);
        in_word = c.is_alphanumeric();
        may_begin && stems.begin(&lower[at..])
    })
}

/// The stems of a list, sorted.
struct Stems {
    list: List,
    sorted: OnceLock<Vec<&'static str>>,
}

impl Stems {
    const fn new(list: List) -> Self {
        Self {
            list,
            sorted: OnceLock::new(),
        }
    }

    /// Returns `true` if the text begins with one of the stems.
    fn begin(&self, text: &str) -> bool {
        let sorted = self.sorted.get_or_init(|| {
            let mut all = self.list.all().to_vec();
            crate::order::sort(&mut all);
            all
        });
        let Some(first) = text.as_bytes().first() else {
            return false;
        };
        let from = sorted.partition_point(|stem| stem.as_bytes().first() < Some(first));
        let same = sorted[from..].iter();
        same.take_while(|stem| stem.as_bytes().first() == Some(first))
            .any(|stem| text.starts_with(stem))
    }
}
