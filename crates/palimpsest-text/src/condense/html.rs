//! Turns HTML into the text that a reader would see, with links and structure.

use super::cut;
use std::borrow::Cow;

/// Elements whose content a reader does not see.
const UNREAD: [&str; 8] = [
    "script", "style", "svg", "noscript", "template", "head", "iframe", "canvas",
];

/// Elements that begin a line.
const BLOCKS: [&str; 33] = [
    "p",
    "div",
    "br",
    "li",
    "ul",
    "ol",
    "tr",
    "table",
    "section",
    "article",
    "header",
    "footer",
    "main",
    "nav",
    "aside",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "pre",
    "blockquote",
    "dl",
    "dt",
    "dd",
    "form",
    "hr",
    "figure",
    "title",
    "option",
    "details",
    "summary",
];

/// Returns `true` if the text is an HTML document or a piece of one.
pub(super) fn looks_like(text: &str) -> bool {
    let start = cut::head(text.trim_start(), 2_000).to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        return true;
    }
    let tags = [
        "<div", "<p>", "<p ", "<span", "<a href", "<table", "<li", "<body", "<script", "<h1",
        "<h2", "<td",
    ];
    start.starts_with('<') && tags.iter().filter(|tag| start.contains(*tag)).count() >= 2
}

/// Returns the text of a document: with marks for headings, separate list items and cells, and addresses of links.
/// `None` if it has no text.
pub(super) fn to_text(html: &str) -> Option<String> {
    let mut page = Page::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        page.text(&rest[..at]);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let named = rest[1..]
            .trim_start_matches('/')
            .starts_with(|c: char| c.is_ascii_alphabetic() || c == '!' || c == '?');
        if !named {
            page.text("<");
            rest = &rest[1..];
            continue;
        }
        let Some(end) = tag_end(rest) else {
            // A tag that begins here cannot end here.
            let chunk = cut::head(rest, LONGEST_TAG).len().max(1);
            page.text(&rest[..chunk]);
            rest = &rest[chunk..];
            continue;
        };
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        let closing = tag.starts_with('/');
        let mut name = [0; LONGEST_NAME];
        let name = element(tag, &mut name);
        if !closing && !tag.ends_with('/') && UNREAD.contains(&name) {
            rest = skip_element(rest, name);
            continue;
        }
        page.tag(name, tag, closing);
    }
    page.text(rest);
    page.finish()
}

/// Elements with longer names do not matter here.
const LONGEST_NAME: usize = 12;

/// Returns the name in a tag, in lower case.
fn element<'b>(tag: &str, name: &'b mut [u8; LONGEST_NAME]) -> &'b str {
    let tag = tag.trim_start_matches('/').bytes();
    let mut length = 0;
    for byte in tag.take_while(u8::is_ascii_alphanumeric) {
        if length == LONGEST_NAME {
            return "";
        }
        name[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    std::str::from_utf8(&name[..length]).unwrap_or_default()
}

#[derive(Default)]
struct Page {
    out: String,
    /// The address of the open link, and the start of its text.
    link: Option<(String, usize)>,
    /// A space belongs before the next word.
    space: bool,
    pre: u32,
}

impl Page {
    fn text(&mut self, text: &str) {
        let text = decode(text);
        if self.pre > 0 {
            self.out.push_str(&text);
            return;
        }
        let mut words = text.split_whitespace().peekable();
        self.space |= text.starts_with(char::is_whitespace);
        while let Some(word) = words.next() {
            if self.space && !self.out.ends_with(['\n', ' ']) && !self.out.is_empty() {
                self.out.push(' ');
            }
            self.out.push_str(word);
            self.space = words.peek().is_some() || text.ends_with(char::is_whitespace);
        }
    }

    fn tag(&mut self, name: &str, tag: &str, closing: bool) {
        match (name, closing) {
            ("a", false) => {
                self.link = attribute(tag, "href").map(|href| (href, self.out.len()));
            }
            ("a", true) => {
                if let Some((href, start)) = self.link.take()
                    && start <= self.out.len()
                    && !self.out[start..].trim().is_empty()
                    && (href.starts_with("http") || href.starts_with('/'))
                    && href.len() <= 300
                {
                    self.out.push_str(" (");
                    self.out.push_str(&href);
                    self.out.push(')');
                }
            }
            ("img", _) => {
                if let Some(alt) = attribute(tag, "alt").filter(|alt| !alt.trim().is_empty()) {
                    self.text(&format!(" [image: {alt}] "));
                }
            }
            ("td" | "th", true) => self.out.push_str(" | "),
            ("pre", closing) => {
                self.line();
                self.pre = if closing {
                    self.pre.saturating_sub(1)
                } else {
                    self.pre + 1
                };
            }
            (name, closing) if BLOCKS.contains(&name) => {
                self.line();
                if !closing {
                    self.out.push_str(match name {
                        "li" => "- ",
                        "h1" | "title" => "# ",
                        "h2" => "## ",
                        "h3" | "h4" | "h5" | "h6" => "### ",
                        _ => "",
                    });
                }
            }
            _ => {}
        }
    }

    fn line(&mut self) {
        self.space = false;
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    /// Drops lines that hold nothing but marks.
    fn finish(self) -> Option<String> {
        let said = |line: &&str| line.contains(|c: char| c.is_alphanumeric());
        let lines: Vec<&str> = self.out.lines().map(str::trim_end).filter(said).collect();
        (!lines.is_empty()).then(|| lines.join("\n") + "\n")
    }
}

/// The longest tag in bytes. Encoded pictures are removed before.
const LONGEST_TAG: usize = 65_536;

/// Returns the end of the tag that begins `text`. A `>` inside of closed quotes does not end it.
fn tag_end(text: &str) -> Option<usize> {
    let text = cut::head(text, LONGEST_TAG);
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(q), b) if b == q => quote = None,
            _ => {}
        }
    }
    text.find('>')
}

/// Returns the text after the end tag of `name`.
fn skip_element<'a>(rest: &'a str, name: &str) -> &'a str {
    let mut from = 0;
    while let Some(at) = rest[from..].find("</") {
        let tag = from + at + 2;
        let is_it = rest.as_bytes().get(tag..tag + name.len());
        if is_it.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes())) {
            return rest[tag..]
                .find('>')
                .map_or("", |end| &rest[tag + end + 1..]);
        }
        from = tag;
    }
    ""
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let lower = tag.to_ascii_lowercase();
    let at = lower.match_indices(name).find_map(|(at, _)| {
        let before = lower[..at].ends_with(|c: char| c.is_ascii_whitespace());
        let after = lower[at + name.len()..].trim_start().starts_with('=');
        (before && after).then_some(at + name.len())
    })?;
    let value = tag[at..].trim_start().strip_prefix('=')?.trim_start();
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next()?,
        _ => value
            .split(|c: char| c.is_whitespace() || c == '>')
            .next()?,
    };
    Some(decode(value).into_owned())
}

/// Resolves character references, of which it knows the common names.
fn decode(text: &str) -> Cow<'_, str> {
    const NAMES: [(&str, char); 20] = [
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("nbsp", ' '),
        ("ndash", '–'),
        ("mdash", '—'),
        ("hellip", '…'),
        ("copy", '©'),
        ("reg", '®'),
        ("trade", '™'),
        ("lsquo", '‘'),
        ("rsquo", '’'),
        ("ldquo", '“'),
        ("rdquo", '”'),
        ("laquo", '«'),
        ("raquo", '»'),
        ("bull", '•'),
        ("middot", '·'),
    ];
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let name = cut::head(&rest[1..], 10)
            .split_once(';')
            .map(|(name, _)| name);
        let char = name.and_then(|name| match name.strip_prefix('#') {
            Some(number) => {
                let hex = number
                    .strip_prefix(['x', 'X'])
                    .map(|hex| u32::from_str_radix(hex, 16));
                char::from_u32(hex.unwrap_or_else(|| number.parse()).ok()?)
            }
            None => NAMES
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, c)| *c),
        });
        if let (Some(c), Some(name)) = (char, name) {
            out.push(c);
            rest = &rest[name.len() + 2..];
        } else {
            out.push('&');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(html: &str, expected: &str) {
        assert_eq!(to_text(html).as_deref().unwrap_or("").trim_end(), expected);
    }

    /// T3: structure, links, cells, entities; no scripts, styles or comments.
    #[test]
    fn page() {
        check(
            "<!DOCTYPE html><html><head><title>T</title><style>p{}</style></head><body>
             <script>if (a < b) { alert('</p>') }</script><!-- <p>no</p> -->
             <h1>Big &amp; small</h1><p>One <b>two</b>, <a href=\"https://x.org/a?b=1\">three</a>.</p>
             <ul><li>a<li>b</ul><table><tr><td>1</td><td>2</td></tr></table>
             <img src=x alt='a cat'><pre>  x\n    y</pre></body>",
            "# Big & small\nOne two, three (https://x.org/a?b=1).\n- a\n- b\n1 | 2 |\n[image: a cat]\n  x\n    y",
        );
    }

    /// T3: pieces, broken tags, numbers as entities.
    #[test]
    fn broken() {
        check("a < b and c > d", "a < b and c > d");
        check("<div><p>x</div", "x</div");
        check("<a href=\"x>text</a>", "text");
        check("caf&#233; &#x1F600; &nope; &", "café 😀 &nope; &");
        check("<script>never ends", "");
    }

    /// T3: HTML is recognised, and other markup is not.
    #[test]
    fn detection() {
        assert!(looks_like("  <!doctype HTML><p>"));
        assert!(looks_like("<div class=x><span>a</span>"));
        assert!(!looks_like("<xml><a/></xml>"));
        assert!(!looks_like("fn a<T>(x: Vec<T>) {}"));
    }

    proptest! {
        /// I10: any text is accepted.
        #[test]
        fn any_text(html in "(<|>|/|\"|'|&|#|;|=|<a href=|<script|</script>|<!--|\\PC){0,60}") {
            _ = to_text(&html);
        }
    }
}
