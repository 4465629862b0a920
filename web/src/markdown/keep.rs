//! Protects text that Markdown would damage: formulas, and backslashes that escape nothing.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// Characters that Markdown has no use for: a backslash before one of them is meant.
const PLAIN: [char; 11] = [',', ';', ':', '=', '@', '%', '/', '?', '\'', '"', '^'];

/// The marks around formulas.
const FORMULAS: [(&str, &str); 3] = [("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$")];

/// Adds backslashes before text that Markdown has to leave alone: `\( … \)`, `\[ … \]` and `$$ … $$` with their
/// content, and backslashes that escape nothing. Code and the addresses of links stay unchanged.
pub(super) fn kept(text: &str, options: Options) -> Cow<'_, str> {
    if !text.contains('\\') && !text.contains("$$") {
        return Cow::Borrowed(text);
    }
    let fixed = fixed(text, options);
    let mut left = fixed.as_slice();
    let mut formulas = Formulas::of(text);
    let mut out = String::with_capacity(text.len() + 16);
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        while let Some((first, more)) = left.split_first()
            && first.place.end <= at
        {
            left = more;
        }
        if let Some(first) = left.first().filter(|first| first.place.contains(&at)) {
            out.push_str(&text[at..first.place.end]);
            at = first.place.end;
        } else if rest.starts_with("\\\\") {
            out.push_str("\\\\");
            at += 2;
        } else if let Some(end) = formulas.end_at(at).filter(|end| is_free(left, &(at..*end))) {
            escape(&text[at..end], &mut out);
            at = end;
        } else if c == '\\' && rest[1..].starts_with(PLAIN) {
            out.push_str("\\\\");
            at += 1;
        } else {
            out.push(c);
            at += c.len_utf8();
        }
    }
    Cow::Owned(out)
}

/// A place in which nothing is escaped.
struct Fixed {
    place: Range<usize>,
    /// For the address of a link: the whole link, which a formula may hold.
    link: Option<Range<usize>>,
}

/// Returns `true` if the formula crosses no code and no link.
fn is_free(fixed: &[Fixed], formula: &Range<usize>) -> bool {
    fixed
        .iter()
        .take_while(|one| one.place.start < formula.end)
        .all(|one| {
            let holds =
                |link: &Range<usize>| formula.start <= link.start && link.end <= formula.end;
            one.link.as_ref().is_some_and(holds)
        })
}

/// The places of code and of the addresses and titles of links, in order, without overlaps.
fn fixed(text: &str, options: Options) -> Vec<Fixed> {
    let mut found = Vec::new();
    // The links around the event, each with the end of its text.
    let mut open: Vec<(Range<usize>, usize)> = Vec::new();
    let events = Parser::new_ext(text, options).into_offset_iter();
    for (_, definition) in events.reference_definitions().iter() {
        found.push(Fixed {
            place: definition.span.clone(),
            link: None,
        });
    }
    for (event, range) in events {
        match event {
            Event::Start(Tag::Link { link_type, .. } | Tag::Image { link_type, .. }) => {
                let shown = match link_type {
                    // The text of the link is the address.
                    LinkType::Autolink | LinkType::Email => usize::MAX,
                    _ => range.start,
                };
                open.push((range, shown));
                continue;
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some((link, shown)) = open.pop() {
                    let start = if shown == usize::MAX {
                        link.start
                    } else {
                        shown
                    };
                    found.push(Fixed {
                        place: start..link.end,
                        link: Some(link),
                    });
                }
            }
            Event::Code(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::Start(Tag::CodeBlock(_)) => found.push(Fixed {
                place: range.clone(),
                link: None,
            }),
            _ => {}
        }
        if let Some((_, shown)) = open.last_mut() {
            *shown = range.end.max(*shown);
        }
    }
    found.retain(|one| !one.place.is_empty());
    found.sort_by_key(|one| one.place.start);
    found
}

/// The formulas of a text, searched from beginning to end. Results are remembered, so a text with many unclosed
/// formulas is not read more often than others.
struct Formulas<'a> {
    text: &'a str,
    /// The end of the last examined paragraph.
    end: usize,
    /// The start of the text after it.
    next: usize,
    /// For each kind of formula, the next end of one in that paragraph: nothing if it was not looked for.
    closes: [Option<usize>; FORMULAS.len()],
}

impl<'a> Formulas<'a> {
    const fn of(text: &'a str) -> Self {
        Self {
            text,
            end: 0,
            next: 0,
            closes: [None; FORMULAS.len()],
        }
    }

    /// The end of the formula that begins at this place. It is in the same paragraph, and `\[words\](address)` is a link
    /// that somebody escaped.
    fn end_at(&mut self, at: usize) -> Option<usize> {
        let rest = &self.text[at..];
        let kind = FORMULAS
            .iter()
            .position(|(open, _)| rest.starts_with(open))?;
        let (open, close) = FORMULAS[kind];
        let inner = at + open.len();
        if at >= self.end {
            self.look(at);
        }
        let closed = match self.closes[kind].filter(|closed| *closed >= inner) {
            Some(known) => known,
            None => self.close(inner, close),
        };
        self.closes[kind] = Some(closed);
        if closed == usize::MAX || self.text[inner..closed].trim().is_empty() {
            return None;
        }
        let end = closed + close.len();
        let is_link = open == "\\[" && self.text[end..].starts_with(['(', '[']);
        (!is_link).then_some(end)
    }

    /// The next end of a formula; behind everything if the paragraph has none.
    fn close(&self, inner: usize, close: &str) -> usize {
        let paragraph = self.text.get(inner..self.end).unwrap_or_default();
        match paragraph.find(close) {
            Some(length) => inner + length,
            // an empty line before the end of a formula is none in it
            None if self.text[self.next..].starts_with(close) && self.next >= inner => self.next,
            None => usize::MAX,
        }
    }

    /// Looks where the paragraph at this place ends.
    fn look(&mut self, at: usize) {
        let lines = self.text[at..].split_inclusive('\n');
        let length: usize = lines
            .take_while(|line| !line.trim().is_empty())
            .map(str::len)
            .sum();
        self.end = at + length;
        self.next = self.text.len() - self.text[self.end..].trim_start().len();
        self.closes = [None; FORMULAS.len()];
    }
}

fn escape(formula: &str, out: &mut String) {
    for c in formula.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
}
