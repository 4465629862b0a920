//! Which tool results are shortened and how: data, read from the top, the first rule that fits.

use serde::{Deserialize, Serialize};

/// What a text looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// How a text is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Not at all.
    Keep,
    /// Web results as title, address, snippet.
    Search,
    /// A file as its ends and an outline by line.
    File,
    /// Rows of a database as their number and a sample.
    Rows,
    /// An API's answer as status and key fields.
    Api,
    /// By what it looks like: JSON as sample and schema, a log folded, and so on.
    Content,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CondenseRule {
    /// Names of tools it is for, as a pattern ([`crate::glob`]); names are compared in lower case.
    pub tools: String,
    /// What the text must look like; anything if not set.
    #[serde(default)]
    pub content: Option<Content>,
    /// Lines the text must have more of.
    #[serde(default)]
    pub above_lines: u32,
    /// Rows (items of a JSON array, lines of a table) the text must have more of.
    #[serde(default)]
    pub above_rows: u32,
    /// What is done then.
    pub method: Method,
}

/// The rules and the floors under which nothing is touched (T2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct CondenseOptions {
    /// The user wants everything as it is.
    pub debug: bool,
    /// Results of fewer tokens stay.
    pub floor: u32,
    /// JSON and YAML of fewer tokens stay.
    pub structured_floor: u32,
    /// Errors up to this share of the window stay, longer ones keep head and tail, in percent.
    pub error_percent: u32,
    /// A shortened text must be at most this share of the original, in percent.
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

/// Seed 5's table, then everything else by what it looks like.
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
