//! Protects text that Markdown would damage: formulas, and backslashes that escape nothing.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// Characters that Markdown has no use for: a backslash before one of them is meant.
const PLAIN: [char; 11] = [',', ';', ':', '=', '@', '%', '/', '?', '\'', '"', '^'];

/// The marks around formulas, and whether a formula between them stands in a line of its own.
const FORMULAS: [(&str, &str, bool); 4] = [
    ("\\(", "\\)", false),
    ("\\[", "\\]", true),
    ("$$", "$$", true),
    ("$", "$", false),
];
/// The longest formula between single dollar signs, in bytes.
const LONGEST_BETWEEN_DOLLARS: usize = 200;

/// Adds backslashes before text that Markdown has to leave alone: `\( … \)`, `\[ … \]`, `$$ … $$` and `$ … $` with their
/// content, and backslashes that escape nothing. Code and the addresses of links stay unchanged.
pub(super) fn kept(text: &str, options: Options) -> Cow<'_, str> {
    if !text.contains(['\\', '$']) {
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
        } else if let Some(formula) = formulas.at(at).filter(|f| is_free(left, &f.place)) {
            escape(&text[at..formula.place.end], &mut out);
            at = formula.place.end;
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

/// A formula in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formula {
    /// Its place, with its marks.
    pub place: Range<usize>,
    /// The place of its source.
    pub inner: Range<usize>,
    /// It stands in a line of its own.
    pub is_block: bool,
}

/// The formulas of a text that Markdown has been read from, in order.
pub fn formulas(text: &str) -> Vec<Formula> {
    if !text.contains(['\\', '$']) {
        return Vec::new();
    }
    let (mut found, mut all, mut at) = (Vec::new(), Formulas::of(text), 0);
    while let Some(next) = text[at..].find(['\\', '$']) {
        at += next;
        match all.at(at) {
            Some(formula) => {
                at = formula.place.end;
                found.push(formula);
            }
            None => at += 1,
        }
    }
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

    /// The formula that begins at this place. It ends in the same paragraph, and `\[words\](address)` is a link that somebody
    /// escaped.
    fn at(&mut self, at: usize) -> Option<Formula> {
        let rest = &self.text[at..];
        let kind = FORMULAS
            .iter()
            .position(|(open, ..)| rest.starts_with(open))?;
        let (open, close, is_block) = FORMULAS[kind];
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
        let is_sure = open != "$" || self.is_between_dollars(at, inner..closed);
        (!is_link && is_sure).then_some(Formula {
            place: at..end,
            inner: inner..closed,
            is_block,
        })
    }

    /// Returns `true` if the text between two dollar signs is a formula, and not what stands between two prices or two
    /// variables of a shell.
    fn is_between_dollars(&self, at: usize, inner: Range<usize>) -> bool {
        let source = &self.text[inner.clone()];
        let before = self.text[..at].chars().next_back();
        let after = self.text[inner.end + 1..].chars().next();
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '$');
        let signs: &[char] = if source.starts_with(|c: char| c.is_ascii_digit()) {
            &['\\', '^']
        } else {
            &['\\', '^', '_', '=']
        };
        let is_letter = source.len() == 1 && source.starts_with(|c: char| c.is_ascii_alphabetic());
        source.len() <= LONGEST_BETWEEN_DOLLARS
            && source.trim().len() == source.len()
            && !source.contains('\n')
            && !is_word(before)
            && !is_word(after)
            && (is_letter || source.contains(signs))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Formulas are found; prices, variables of a shell and links that somebody escaped are none.
    #[test]
    fn formulas_and_what_is_none() {
        let check = |text: &str, expected: &[(&str, bool)]| {
            let found = formulas(text);
            let found: Vec<_> = found
                .iter()
                .map(|f| (&text[f.inner.clone()], f.is_block))
                .collect();
            assert_eq!(found, expected, "{text}");
        };
        check(r"So \(x^2\) and \[y\].", &[("x^2", false), ("y", true)]);
        check(
            "Then $$a$$, $b_1$ and $n$.",
            &[("a", true), ("b_1", false), ("n", false)],
        );
        check(
            r"The set $\{1, 2\}$ has $2^n$ subsets.",
            &[(r"\{1, 2\}", false), ("2^n", false)],
        );
        check("It costs $5 and $10, or $5=$6.", &[]);
        check("From $5_000 to $6_000.", &[]);
        check("Set $HOME and $PATH, or $FOO_BAR/$BAZ.", &[]);
        check("US$5 a_b$", &[]);
        check("$ x^2 $ and $x^2", &[]);
        check("a $x^2\ny^2$ b", &[]);
        check(r"\[words\](address)", &[]);
        check("$", &[]);
        check("$$", &[]);
        check("$$$", &[]);
        check("é$x^2$", &[]);
        check("$é^2$", &[("é^2", false)]);
    }
}
