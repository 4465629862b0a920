//! Markdown text to [`Node`]s.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{Align, Element, Image, ImageSource, Node, keep, url};

/// Parses `text` into nodes: CommonMark with tables, task lists and strikethrough.
///
/// Raw HTML becomes [`Node::Text`]. Nesting beyond 64 levels is flattened, so that no message can exhaust the stack of
/// code that walks the tree.
pub fn parse(text: &str) -> Vec<Node> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut tree = Tree {
        open: vec![Open {
            kind: Kind::Root,
            children: Vec::new(),
        }],
        columns: Vec::new(),
        column: 0,
        head: false,
    };
    for event in Parser::new_ext(&keep::kept(text, options), options) {
        tree.take(event);
    }
    while tree.open.len() > 1 {
        tree.close();
    }
    tree.open
        .pop()
        .map(|root| root.children)
        .unwrap_or_default()
}

const DEEPEST: usize = 64;

struct Tree {
    open: Vec<Open>,
    columns: Vec<Alignment>,
    column: usize,
    head: bool,
}

struct Open {
    kind: Kind,
    children: Vec<Node>,
}

enum Kind {
    Root,
    Plain(Element),
    Code(String),
    List(Option<u64>),
    Link(String),
    Image(String),
    Cell,
    /// The content goes to the parent: raw HTML blocks, refused links, too deep nesting.
    Through,
}

impl Tree {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(t)
            | Event::Html(t)
            | Event::InlineHtml(t)
            | Event::FootnoteReference(t) => self.text(&t),
            Event::Code(t) | Event::InlineMath(t) | Event::DisplayMath(t) => {
                self.push(Node::InlineCode(t.into_string()));
            }
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak => self.push(Node::Break),
            Event::Rule => self.push(Node::Rule),
            Event::TaskListMarker(done) => self.push(Node::Task(done)),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let kind = match tag {
            Tag::Paragraph => Kind::Plain(Element::Paragraph),
            Tag::Heading { level, .. } => Kind::Plain(Element::Heading(number(level))),
            Tag::BlockQuote(_) => Kind::Plain(Element::Quote),
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                let word = info.split([' ', ',', '{', '\t']).next().unwrap_or_default();
                Kind::Code(word.to_owned())
            }
            Tag::CodeBlock(CodeBlockKind::Indented) => Kind::Code(String::new()),
            Tag::List(start) => Kind::List(start),
            Tag::Item => Kind::Plain(Element::Item),
            Tag::Table(columns) => {
                self.columns = columns;
                Kind::Plain(Element::Table)
            }
            Tag::TableHead => {
                self.head = true;
                self.column = 0;
                Kind::Plain(Element::Row)
            }
            Tag::TableRow => {
                self.head = false;
                self.column = 0;
                Kind::Plain(Element::Row)
            }
            Tag::TableCell => Kind::Cell,
            Tag::Emphasis => Kind::Plain(Element::Emphasis),
            Tag::Strong => Kind::Plain(Element::Strong),
            Tag::Strikethrough => Kind::Plain(Element::Strike),
            Tag::Superscript => Kind::Plain(Element::Superscript),
            Tag::Subscript => Kind::Plain(Element::Subscript),
            Tag::Link { dest_url, .. } => {
                url::safe_link(&dest_url).map_or(Kind::Through, Kind::Link)
            }
            Tag::Image { dest_url, .. } => Kind::Image(dest_url.into_string()),
            Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => Kind::Through,
        };
        let kind = if self.open.len() > DEEPEST {
            Kind::Through
        } else {
            kind
        };
        self.open.push(Open {
            kind,
            children: Vec::new(),
        });
    }

    fn end(&mut self, _end: TagEnd) {
        self.close();
    }

    fn close(&mut self) {
        if self.open.len() < 2 {
            return;
        }
        let Some(Open { kind, children }) = self.open.pop() else {
            return;
        };
        let node = match kind {
            Kind::Root | Kind::Through => {
                for child in children {
                    self.push(child);
                }
                return;
            }
            Kind::Plain(element) => Node::Element(element, children),
            Kind::Code(language) => {
                let mut text = plain(&children);
                if text.ends_with('\n') {
                    text.pop();
                }
                Node::Code { language, text }
            }
            Kind::List(start) => Node::List {
                start,
                items: children,
            },
            Kind::Link(href) => Node::Link { href, children },
            Kind::Image(address) => Node::Image(Image {
                alt: plain(&children),
                source: source(&address),
            }),
            Kind::Cell => {
                let align = match self.columns.get(self.column) {
                    Some(Alignment::Center) => Align::Centre,
                    Some(Alignment::Right) => Align::End,
                    _ => Align::Start,
                };
                self.column += 1;
                Node::Cell {
                    head: self.head,
                    align,
                    children,
                }
            }
        };
        self.push(node);
    }

    fn text(&mut self, text: &str) {
        let Some(open) = self.open.last_mut() else {
            return;
        };
        if let Some(Node::Text(last)) = open.children.last_mut() {
            last.push_str(text);
        } else {
            open.children.push(Node::Text(text.to_owned()));
        }
    }

    fn push(&mut self, node: Node) {
        if let Node::Text(text) = &node {
            return self.text(text);
        }
        if let Some(open) = self.open.last_mut() {
            open.children.push(node);
        }
    }
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

fn source(address: &str) -> ImageSource {
    if let Some(data) = url::inline_image(address) {
        return ImageSource::Inline(data);
    }
    match url::safe_link(address).and_then(|href| url::host(&href).map(|host| (href, host))) {
        Some((href, host)) => ImageSource::Remote { href, host },
        None => ImageSource::Refused,
    }
}

/// The text of some nodes without their form.
fn plain(nodes: &[Node]) -> String {
    let mut out = String::new();
    for node in nodes {
        match node {
            Node::Text(text) | Node::InlineCode(text) | Node::Code { text, .. } => {
                out.push_str(text);
            }
            Node::Element(_, children)
            | Node::Link { children, .. }
            | Node::Cell { children, .. } => out.push_str(&plain(children)),
            Node::List { items, .. } => out.push_str(&plain(items)),
            Node::Image(image) => out.push_str(&image.alt),
            Node::Break => out.push('\n'),
            Node::Task(_) | Node::Rule => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(t: &str) -> Node {
        Node::Text(t.to_owned())
    }

    fn paragraph(children: Vec<Node>) -> Node {
        Node::Element(Element::Paragraph, children)
    }

    fn check(source: &str, expected: Vec<Node>) {
        assert_eq!(parse(source), expected, "{source:?}");
    }

    /// F24: formulas, and backslashes that escape nothing, appear as written; code and Markdown's escapes are
    /// unaffected.
    #[test]
    fn what_markdown_does_not_know_stays() {
        let same = |source: &str| check(source, vec![paragraph(vec![text(source)])]);
        same(r"The integral \( \int x^2\,dx = a_1 * b * c_2 \) is known.");
        same(r"\[ \frac{1}{2} \, [x] _y_ \]");
        same("$$ a_i\\,b_i * c * d $$");
        same("\\[\nx\n= y - z\n\\]");
        same(r"x^2\,dx and {a\;b");
        check(
            r"\*no\* \[no\](x)",
            vec![paragraph(vec![text("*no* [no](x)")])],
        );
        check(
            r"`\(x\,y\)`",
            vec![paragraph(vec![Node::InlineCode(r"\(x\,y\)".into())])],
        );
        same("costs $5 and $6, it's 3:2");
    }

    /// F24: an address keeps its escaped brackets, and a formula that looks like a link is still one.
    #[test]
    fn addresses_are_no_formulas() {
        let link = |source: &str, href: &str, shown: &str| {
            let children = vec![text(shown)];
            let href = href.to_owned();
            check(source, vec![paragraph(vec![Node::Link { href, children }])]);
        };
        let wiki = "https://en.wikipedia.org/wiki/Foo_(bar)";
        link(
            r"[Foo](https://en.wikipedia.org/wiki/Foo_\(bar\))",
            wiki,
            "Foo",
        );
        link(
            r#"[Foo](https://en.wikipedia.org/wiki/Foo_\(bar\) "a \(title\)")"#,
            wiki,
            "Foo",
        );
        link(
            "[Foo][1]\n\n[1]: https://en.wikipedia.org/wiki/Foo_\\(bar\\)",
            wiki,
            "Foo",
        );
        link(
            r"[see \(x_1*y*\)](https://a.example/)",
            "https://a.example/",
            r"see \(x_1*y*\)",
        );
        let same = |source: &str| check(source, vec![paragraph(vec![text(source)])]);
        same(r"\( f[x](t) \)");
        same(r"\(a\) \(b_1 * c * d\)");
        check(
            "\\(a\n\nb\\)",
            vec![paragraph(vec![text("(a")]), paragraph(vec![text("b)")])],
        );
    }

    /// Formulas that never end, and those that are none, are read once.
    #[test]
    fn formulas_without_an_end_cost_no_more() {
        for source in [
            r"\(".repeat(60_000),
            format!("{}\n\n\\)", r"\( a ".repeat(60_000)),
            format!("{}\\)", "\\( a\n\n".repeat(30_000)),
            format!(r"{}\](x)", r"\[".repeat(60_000)),
            format!("{}$$", r"\( a `b` ".repeat(20_000)),
        ] {
            assert!(!parse(&source).is_empty());
        }
    }

    #[test]
    fn html_is_text() {
        check(
            "a <b onclick=x>c</b>",
            vec![paragraph(vec![text("a <b onclick=x>c</b>")])],
        );
        check(
            "<script>alert(1)</script>\n",
            vec![text("<script>alert(1)</script>\n")],
        );
        check(
            "<img src=x onerror=alert(1)>\n\nafter",
            vec![
                text("<img src=x onerror=alert(1)>\n"),
                paragraph(vec![text("after")]),
            ],
        );
        check("&lt;b&gt; &amp;", vec![paragraph(vec![text("<b> &")])]);
    }

    #[test]
    fn links_keep_their_words_when_the_address_is_refused() {
        check(
            "[site](https://example.org) and [trap](javascript:alert(1))",
            vec![paragraph(vec![
                Node::Link {
                    href: "https://example.org".into(),
                    children: vec![text("site")],
                },
                text(" and trap"),
            ])],
        );
        check(
            "<https://example.org/x>",
            vec![paragraph(vec![Node::Link {
                href: "https://example.org/x".into(),
                children: vec![text("https://example.org/x")],
            }])],
        );
        check("[a](java&#10;script:x)", vec![paragraph(vec![text("a")])]);
    }

    #[test]
    fn pictures_are_named_not_loaded() {
        check(
            "![a chart](https://u@img.example:8080/p.png)",
            vec![paragraph(vec![Node::Image(Image {
                alt: "a chart".into(),
                source: ImageSource::Remote {
                    href: "https://u@img.example:8080/p.png".into(),
                    host: "img.example:8080".into(),
                },
            })])],
        );
        check(
            "![x](javascript:y)",
            vec![paragraph(vec![Node::Image(Image {
                alt: "x".into(),
                source: ImageSource::Refused,
            })])],
        );
    }

    #[test]
    fn code_blocks_keep_every_space() {
        check(
            "```rust ignore\nfn a() {\n    1\n}\n```",
            vec![Node::Code {
                language: "rust".into(),
                text: "fn a() {\n    1\n}".into(),
            }],
        );
        check(
            "```\nopen",
            vec![Node::Code {
                language: String::new(),
                text: "open".into(),
            }],
        );
        check(
            "`a <b>`",
            vec![paragraph(vec![Node::InlineCode("a <b>".into())])],
        );
    }

    #[test]
    fn lists_tables_and_tasks() {
        check(
            "3. a\n4. b",
            vec![Node::List {
                start: Some(3),
                items: vec![
                    Node::Element(Element::Item, vec![text("a")]),
                    Node::Element(Element::Item, vec![text("b")]),
                ],
            }],
        );
        check(
            "- [x] done\n- [ ] open",
            vec![Node::List {
                start: None,
                items: vec![
                    Node::Element(Element::Item, vec![Node::Task(true), text("done")]),
                    Node::Element(Element::Item, vec![Node::Task(false), text("open")]),
                ],
            }],
        );
        let cell = |head, align, t: &str| Node::Cell {
            head,
            align,
            children: vec![text(t)],
        };
        check(
            "|a|b|\n|:-|-:|\n|1|2|",
            vec![Node::Element(
                Element::Table,
                vec![
                    Node::Element(
                        Element::Row,
                        vec![cell(true, Align::Start, "a"), cell(true, Align::End, "b")],
                    ),
                    Node::Element(
                        Element::Row,
                        vec![cell(false, Align::Start, "1"), cell(false, Align::End, "2")],
                    ),
                ],
            )],
        );
    }

    #[test]
    fn depth_is_bounded() {
        fn depth(nodes: &[Node]) -> usize {
            nodes
                .iter()
                .map(|n| match n {
                    Node::Element(_, c)
                    | Node::Link { children: c, .. }
                    | Node::Cell { children: c, .. } => 1 + depth(c),
                    Node::List { items, .. } => 1 + depth(items),
                    _ => 1,
                })
                .max()
                .unwrap_or(0)
        }
        let deep = depth(&parse(&format!("{}x", "> ".repeat(2000))));
        assert!((60..=66).contains(&deep), "{deep}");
    }
}
