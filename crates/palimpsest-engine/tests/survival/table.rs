//! The figures as Markdown.

use std::fmt::Write as _;

use crate::measure::Share;

/// Rows of figures under names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<(String, Vec<String>)>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, columns: Vec<String>) -> Self {
        Self {
            title: title.into(),
            columns,
            rows: Vec::new(),
        }
    }

    pub(crate) fn markdown(&self) -> String {
        let mut out = format!("\n**{}**\n\n| |", self.title);
        for column in &self.columns {
            write!(out, " {column} |").unwrap();
        }
        out.push_str("\n|---|");
        out.push_str(&"---|".repeat(self.columns.len()));
        for (name, cells) in &self.rows {
            write!(out, "\n| {name} | {} |", cells.join(" | ")).unwrap();
        }
        out.push('\n');
        out
    }
}

/// A share in percent; a dash where there was nothing to measure.
pub(crate) fn percent(share: Share) -> String {
    if share.of > 0.0 {
        format!("{:.0}", share.percent())
    } else {
        "–".into()
    }
}

/// A mean.
pub(crate) fn mean(share: Share, digits: usize) -> String {
    if share.of > 0.0 {
        format!("{:.digits$}", share.hits / share.of)
    } else {
        "–".into()
    }
}

/// Between the marks of a document stands what a run printed.
pub(crate) fn replace(document: &str, name: &str, table: &str) -> String {
    let (open, close) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let start = document.find(&open).expect("the document has the mark") + open.len();
    let end = document
        .find(&close)
        .expect("the document has the end mark");
    format!("{}\n{table}\n{}", &document[..start], &document[end..])
}

#[test]
fn only_what_stands_between_the_marks_is_replaced() {
    let document = "a\n<!-- t -->\nold\n<!-- /t -->\nb\n<!-- u -->\nkept\n<!-- /u -->\n";
    let expected = "a\n<!-- t -->\nnew\n<!-- /t -->\nb\n<!-- u -->\nkept\n<!-- /u -->\n";
    assert_eq!(replace(document, "t", "new"), expected);
    assert_eq!(replace(expected, "t", "new"), expected);
}
