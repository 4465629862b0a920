//! Formulas in LaTeX as MathML, which browsers draw by themselves.
//!
//! ```text
//! source ──pulldown-latex──► MathML text ──[read]──► [`MathNode`] tree ──[set] (in the browser)──► DOM nodes
//! ```
//!
//! Only names and attributes from the lists here reach the page. A formula that cannot be read stays as its source.

use pulldown_latex::config::{DisplayMode, RenderConfig};
use pulldown_latex::{Event, Parser, ParserError, Storage, push_mathml};

/// The longest formula that is set, in bytes.
const LONGEST: usize = 8_192;
/// The most pieces of a formula.
const MOST: usize = 10_000;
/// The deepest nesting of its elements.
const DEEPEST: usize = 100;
/// The deepest nesting of a source: the reader of LaTeX calls itself for each level, and the stack of a page is small.
const DEEPEST_SOURCE: usize = 40;
/// The most commands of a source: each may be the argument of the one before, and takes a kilobyte of the stack then.
const MOST_COMMANDS: usize = 150;
/// Commands that define others, which may call themselves without an end; and one whose reader fails at letters beyond ASCII.
const REFUSED: [&str; 10] = [
    "char",
    "def",
    "edef",
    "gdef",
    "xdef",
    "let",
    "futurelet",
    "newcommand",
    "renewcommand",
    "providecommand",
];
/// The elements of MathML that reach the page.
const NAMES: [&str; 27] = [
    "math",
    "menclose",
    "merror",
    "mfrac",
    "mi",
    "mmultiscripts",
    "mn",
    "mo",
    "mover",
    "mpadded",
    "mphantom",
    "mprescripts",
    "mroot",
    "mrow",
    "ms",
    "mspace",
    "msqrt",
    "mstyle",
    "msub",
    "msubsup",
    "msup",
    "mtable",
    "mtd",
    "mtext",
    "mtr",
    "munder",
    "munderover",
];
/// Their attributes.
const ATTRIBUTES: [&str; 21] = [
    "accent",
    "accentunder",
    "class",
    "columnspan",
    "depth",
    "display",
    "displaystyle",
    "fence",
    "form",
    "height",
    "largeop",
    "linethickness",
    "lspace",
    "mathvariant",
    "maxsize",
    "minsize",
    "movablelimits",
    "rspace",
    "scriptlevel",
    "stretchy",
    "width",
];

/// A piece of a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MathNode {
    /// Text.
    Text(String),
    /// An element.
    Element {
        /// Its name.
        name: &'static str,
        /// Its attributes.
        attributes: Vec<(&'static str, String)>,
        /// Its content.
        parts: Vec<Self>,
    },
}

/// Reads a formula. `None` if it is no LaTeX that can be set.
pub fn formula(source: &str, is_block: bool) -> Option<MathNode> {
    if source.len() > LONGEST || is_refused(source) {
        return None;
    }
    let storage = Storage::new();
    let mut events: Vec<Result<Event<'_>, ParserError>> = Vec::new();
    for event in Parser::new(source, &storage) {
        if events.len() == MOST {
            return None;
        }
        events.push(Ok(event.ok()?));
    }
    let config = RenderConfig {
        display_mode: if is_block {
            DisplayMode::Block
        } else {
            DisplayMode::Inline
        },
        ..RenderConfig::default()
    };
    let mut text = String::new();
    push_mathml(&mut text, events.into_iter(), config).ok()?;
    read(&text)
}

/// Returns `true` if the source nests deeply or has a command that is refused.
fn is_refused(source: &str) -> bool {
    // groups; pairs of \left and \right, and environments; each command may be an argument of the one before
    let (mut groups, mut pairs, mut commands) = (0_usize, 0_usize, 0_usize);
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                let end = rest.find(|c: char| !c.is_ascii_alphabetic());
                let end = end.unwrap_or(rest.len());
                let command = &rest[..end];
                let sign = rest.chars().next().map_or(0, char::len_utf8);
                rest = &rest[end.max(sign)..];
                commands += 1;
                match command {
                    "left" | "begin" => pairs += 1,
                    "right" | "end" => pairs = pairs.saturating_sub(1),
                    command if REFUSED.contains(&command) => return true,
                    _ => {}
                }
            }
            '{' => groups += 1,
            '}' => groups = groups.saturating_sub(1),
            _ => {}
        }
        if groups + pairs > DEEPEST_SOURCE || commands > MOST_COMMANDS {
            return true;
        }
    }
    false
}

/// An element whose end has not come yet.
struct Open {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    parts: Vec<MathNode>,
}

/// Reads MathML as it is written for a formula: elements, attributes in quotes, text with a few entities.
fn read(text: &str) -> Option<MathNode> {
    let mut open: Vec<Open> = Vec::new();
    let mut rest = text;
    loop {
        let tag = tag_in(rest)?;
        if tag > 0 {
            let parts = &mut open.last_mut()?.parts;
            parts.push(MathNode::Text(plain(&rest[..tag])));
        }
        let end = tag + rest[tag..].find('>')?;
        let inside = &rest[tag + 1..end];
        rest = &rest[end + 1..];
        let is_end = inside.starts_with('/');
        let (inside, is_empty) = match inside.strip_suffix('/') {
            Some(inside) => (inside, true),
            None => (inside, false),
        };
        if !is_end {
            let length = inside.find(' ').unwrap_or(inside.len());
            let name = known(&inside[..length])?;
            if open.len() == DEEPEST {
                return None;
            }
            open.push(Open {
                name,
                attributes: attributes(&inside[length..]),
                parts: Vec::new(),
            });
        }
        if is_end || is_empty {
            let done = open.pop()?;
            let element = MathNode::Element {
                name: done.name,
                attributes: done.attributes,
                parts: done.parts,
            };
            match open.last_mut() {
                Some(around) => around.parts.push(element),
                None => return Some(element),
            }
        }
    }
}

/// The beginning of the next tag. A sign of comparison is written as it is.
fn tag_in(text: &str) -> Option<usize> {
    let mut signs = text.match_indices('<').map(|(at, _)| at);
    signs.find(|at| text[at + 1..].starts_with(|c: char| c == '/' || c.is_ascii_alphabetic()))
}

fn known(name: &str) -> Option<&'static str> {
    NAMES.iter().copied().find(|known| *known == name)
}

/// The attributes of an element. Others than those of the list are left out, styles among them.
fn attributes(text: &str) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once("=\"") {
        let Some((value, after)) = after.split_once('"') else {
            break;
        };
        rest = after;
        let name = name.trim();
        if let Some(name) = ATTRIBUTES.iter().find(|known| **known == name) {
            found.push((*name, plain(value)));
        }
    }
    found
}

fn plain(text: &str) -> String {
    let text = text.replace("&nbsp;", "\u{a0}").replace("&lt;", "<");
    text.replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(target_arch = "wasm32")]
mod page {
    use wasm_bindgen::JsCast;
    use web_sys::{Document, Element, Node};

    use super::{MathNode, formula};
    use crate::markdown::dom::FORMULA;

    const MATHML: &str = "http://www.w3.org/1998/Math/MathML";

    /// Sets the formulas inside of `message`. Each keeps its source as its title.
    pub fn set(message: Element) {
        let Ok(all) = message.query_selector_all(FORMULA) else {
            return;
        };
        for at in 0..all.length() {
            let span = all
                .item(at)
                .and_then(|node| node.dyn_into::<Element>().ok());
            if let Some(span) = span {
                one(&span);
            }
        }
    }

    fn one(span: &Element) {
        let is_block = span.get_attribute("data-formula").as_deref() == Some("block");
        let source = span.get_attribute("title").unwrap_or_default();
        let _ = span.remove_attribute("data-formula");
        let made = span
            .owner_document()
            .zip(formula(&source, is_block))
            .and_then(|(document, part)| node(&document, &part));
        let Some(math) = made else { return };
        span.set_text_content(None);
        let _ = span.append_child(&math);
        if is_block {
            // a long one scrolls in its own box
            let _ = span.set_attribute("tabindex", "0");
            span.set_class_name("formula block");
        }
    }

    fn node(document: &Document, part: &MathNode) -> Option<Node> {
        let MathNode::Element {
            name,
            attributes,
            parts,
        } = part
        else {
            let MathNode::Text(text) = part else {
                return None;
            };
            return Some(document.create_text_node(text).into());
        };
        let element = document.create_element_ns(Some(MATHML), name).ok()?;
        for (name, value) in attributes {
            let _ = element.set_attribute(name, value);
        }
        for part in parts {
            let _ = element.append_child(&node(document, part)?);
        }
        Some(element.into())
    }
}

#[cfg(target_arch = "wasm32")]
pub use page::set;

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula as MathML without the attributes.
    fn shown(part: &MathNode) -> String {
        match part {
            MathNode::Text(text) => text.clone(),
            MathNode::Element { name, parts, .. } => {
                let inside: String = parts.iter().map(shown).collect();
                format!("<{name}>{inside}</{name}>")
            }
        }
    }

    fn check(source: &str, expected: &str) {
        let made = formula(source, false).map(|part| shown(&part));
        assert_eq!(made.as_deref(), Some(expected), "{source}");
    }

    #[test]
    fn formulas_become_mathml() {
        check("x^2", "<math><msup><mi>x</mi><mn>2</mn></msup></math>");
        check(
            r"\frac{a}{b}",
            "<math><mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac></math>",
        );
        check("a<b", "<math><mi>a</mi><mo><</mo><mi>b</mi></math>");
        check(r"\text{a < b & c}", "<math><mtext>a < b & c</mtext></math>");
    }

    /// Formulas that models often write are set: sums, roots, matrices, cases, aligned lines, Greek letters.
    #[test]
    fn common_formulas_are_set() {
        for source in [
            r"\sum_{i=1}^{n} i = \frac{n(n+1)}{2}",
            r"\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}",
            r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
            r"f(x) = \begin{cases} 1 & \text{if } x > 0 \\ 0 & \text{otherwise} \end{cases}",
            r"\begin{aligned} a &= b + c \\ &= d \end{aligned}",
            r"\lim_{x \to 0} \frac{\sin x}{x} = 1",
            r"\sqrt[3]{x} \neq \left( \frac{1}{2} \right)",
            r"\mathbb{R}^n \subseteq \mathcal{H}, \quad \vec{v} \cdot \hat{n}",
            r"\overline{x} = \underbrace{a + b}_{c}",
            r"P(A \mid B) = \frac{P(B \mid A)\,P(A)}{P(B)}",
        ] {
            assert!(formula(source, true).is_some(), "{source}");
        }
    }

    /// A source that is no formula, defines commands, or is too large or too deep stays as it was written.
    #[test]
    fn the_rest_stays_source() {
        let check = |source: &str| assert_eq!(formula(source, false), None, "{source:.60}");
        check(r"\frac{a");
        check(r"\nosuchcommand");
        check(r"\def\a{\a\a}\a");
        check(r"\newcommand{\a}{\a\a}\a");
        check(&"x".repeat(LONGEST + 1));
        check(&format!("{}x{}", "{".repeat(4_000), "}".repeat(4_000)));
        check(&format!("{}x", r"\sqrt".repeat(1_600)));
        check(&format!("{}x", r"\frac^".repeat(1_300)));
        check(&format!("{}x", r"\left(".repeat(1_300)));
        check(&format!("{}x", r"\begin{matrix}".repeat(500)));
        check(r"\charé");
    }

    /// Nothing but the names and attributes of the lists comes out, whatever goes in.
    #[test]
    fn no_styles_and_no_links() {
        let Some(made) = formula(r"\color{red}{x} \href{javascript:alert(1)}{y}", false) else {
            return;
        };
        let text = format!("{made:?}");
        assert!(!text.contains("style") && !text.contains("href"), "{text}");
    }

    /// Any text is read without a panic and in bounded time.
    #[test]
    fn any_text_is_read() {
        let pieces = [
            "\\",
            "{",
            "}",
            "^",
            "_",
            "&",
            "\\\\",
            "x",
            "\\frac",
            "\\begin{matrix}",
            "\\end{matrix}",
            "\\left(",
            "\\right)",
            "$",
            "<",
            "é",
            "\\sqrt[",
            "]",
            "%",
            "#",
            "\\text{",
            " ",
            "\n",
            "'",
            "\\not",
            "\\color{red}",
            "\\hline",
        ];
        let mut state = 7_u32;
        for _ in 0..3_000 {
            let mut source = String::new();
            for _ in 0..12 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                source.push_str(pieces[(state >> 16) as usize % pieces.len()]);
            }
            let _ = formula(&source, state.is_multiple_of(2));
        }
    }
}
