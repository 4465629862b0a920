//! Markdown from a model, made safe by construction.
//!
//! ```text
//! text ──pulldown-cmark──► events ──[parse]──► [`Node`] tree ──[dom] (in the browser)──► DOM nodes
//! ```
//!
//! No HTML text is ever produced: raw HTML in the source becomes visible text, addresses pass
//! [`url::safe_link`], pictures become chips that load nothing until asked. So nothing has to be
//! sanitised, and the page can forbid `innerHTML` altogether.

pub mod bidi;
#[cfg(target_arch = "wasm32")]
pub mod dom;
pub mod highlight;
mod keep;
pub mod math;
mod parse;
mod stream;
pub mod url;

pub use keep::{Formula, formulas};
pub use parse::parse;
pub use stream::Splitter;

/// One node of a rendered message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// Literal text.
    Text(String),
    /// A plain element without attributes.
    Element(Element, Vec<Node>),
    /// A link whose address passed [`url::safe_link`].
    Link {
        /// `http`, `https` or `mailto`, nothing else.
        href: String,
        /// The content.
        children: Vec<Node>,
    },
    /// A picture that is not loaded unless the person asks.
    Image(Image),
    /// A fenced or indented code block.
    Code {
        /// First word after the fence, or empty.
        language: String,
        /// The code, without the last line break.
        text: String,
    },
    /// `` `code` `` inside a line.
    InlineCode(String),
    /// An ordered list when `start` is given.
    List {
        /// The first number.
        start: Option<u64>,
        /// The items.
        items: Vec<Node>,
    },
    /// The box of a task list item, ticked or not.
    Task(bool),
    /// A table cell.
    Cell {
        /// In the head row.
        head: bool,
        /// The alignment of its column.
        align: Align,
        /// The content.
        children: Vec<Node>,
    },
    /// A thematic break.
    Rule,
    /// A hard line break.
    Break,
}

/// The elements that carry no attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// A paragraph.
    Paragraph,
    /// A heading; the number is the one in the source, 1 to 6.
    Heading(u8),
    /// A quotation.
    Quote,
    /// A list item.
    Item,
    /// Emphasis.
    Emphasis,
    /// Strong emphasis.
    Strong,
    /// Struck out.
    Strike,
    /// A table.
    Table,
    /// A table row.
    Row,
    /// Superscript.
    Superscript,
    /// Subscript.
    Subscript,
}

/// The alignment of a table column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// As the page is written.
    Start,
    /// Centred.
    Centre,
    /// To the far side: numbers.
    End,
}

/// A picture in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The text in its place.
    pub alt: String,
    /// The source.
    pub source: ImageSource,
}

/// The source of a picture, which decides the effect of a click.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// On another server: a click opens it in a tab of its own; the host is shown whole.
    Remote {
        /// The address, `http` or `https`.
        href: String,
        /// Its host, with the port.
        host: String,
    },
    /// Inside the message: a click shows it in place.
    Inline(String),
    /// Anything else is only named.
    Refused,
}
