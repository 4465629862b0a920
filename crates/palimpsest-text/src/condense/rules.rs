//! Rules that decide about the shortening of tool results. They are data, and the first match counts.

use serde::{Deserialize, Serialize};

/// The kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Content {
    /// A JSON value or JSON Lines.
    Json,
    /// A unified diff.
    Diff,
    /// HTML.
    Html,
    /// A log.
    Log,
    /// Text with a long stack trace.
    Trace,
    /// Hits of a code search: `path:line:text`.
    Hits,
    /// CSV, TSV or a framed table.
    Csv,
    /// YAML.
    Yaml,
    /// Anything else.
    Text,
}

/// The method that shortens a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Method {
    /// Keep the text.
    Keep,
    /// Web results as title, address, snippet.
    Search,
    /// A file as its ends and an outline by line.
    File,
    /// Rows of a database as their number and a sample.
    Rows,
    /// An API's answer as status and key fields.
    Api,
    /// By the kind of the text: JSON as sample and schema, a log folded, and so on.
    Content,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CondenseRule {
    /// A pattern for the names of tools ([`crate::glob`]), compared in lower case.
    pub tools: String,
    /// The kind of text; any kind if not set.
    #[serde(default)]
    pub content: Option<Content>,
    /// The text must have more lines than this.
    #[serde(default)]
    pub above_lines: u32,
    /// The text must have more rows (items of a JSON array, lines of a table) than this.
    #[serde(default)]
    pub above_rows: u32,
    /// The method for a match.
    pub method: Method,
}

/// The rules, and the floors under which texts stay (T2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CondenseOptions {
    /// Debug mode: keep everything unchanged.
    pub debug: bool,
    /// Results with fewer tokens stay.
    pub floor: u32,
    /// JSON and YAML with fewer tokens stay.
    pub structured_floor: u32,
    /// Errors up to this share of the window stay; longer ones keep head and tail. In percent.
    pub error_percent: u32,
    /// A shortened text has at most this share of the original, in percent.
    pub gain_percent: u32,
    /// The rules.
    pub rules: Vec<CondenseRule>,
}

impl Default for CondenseOptions {
    fn default() -> Self {
        Self {
            debug: false,
            floor: 200,
            structured_floor: 500,
            error_percent: 15,
            gain_percent: 90,
            rules: default_rules(),
        }
    }
}

/// Seed 5's table, then a choice by the kind of the text.
fn default_rules() -> Vec<CondenseRule> {
    const WEB: &str = "{*web_search*,*web-search*,*websearch*,search_web*,search,*google*,*bing*,*duckduckgo*,*brave_*,*tavily*}";
    const PAGE: &str = "{*url*,*web_page*,*webpage*,*browse*,*fetch*,*http*,*api*,*request*,curl*}";
    const FILE: &str = "{read*,view*,cat,open,open_file*,get_file*,*read_file*,*readfile*,*file_read*,*str_replace*editor*}";
    const DATABASE: &str = "{*sql*,*database*,db_*,*_db,*query*}";
    let rule = |tools: &str, content, above_lines, above_rows, method| CondenseRule {
        tools: tools.to_owned(),
        content,
        above_lines,
        above_rows,
        method,
    };
    vec![
        rule(WEB, None, 0, 0, Method::Search),
        rule(PAGE, Some(Content::Json), 0, 0, Method::Api),
        rule(PAGE, None, 0, 0, Method::Content),
        rule(FILE, None, 500, 0, Method::File),
        rule(FILE, None, 0, 0, Method::Keep),
        rule(DATABASE, None, 0, 100, Method::Rows),
        rule(DATABASE, Some(Content::Json), 0, 0, Method::Keep),
        rule(DATABASE, Some(Content::Csv), 0, 0, Method::Keep),
        rule("*", None, 0, 0, Method::Content),
    ]
}
