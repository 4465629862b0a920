//! Shortens tool results on arrival, by kind of tool and of content (T2, T3). The original stays in the history.
//!
//! Everything here is a pure function of the text: no model, no store, no clock. A result either becomes clearly
//! shorter or stays unchanged, and is never shortened twice.

mod args;
mod blob;
mod csv;
pub mod cut;
mod diff;
mod file;
mod html;
mod json;
mod log;
mod rules;
mod search;
mod trace;

pub use rules::{CondenseOptions, CondenseRule, Content, Method};

use crate::glob;
use cut::grouped;
use palimpsest_tokens::TokenCounter;
use serde::{Deserialize, Serialize};

/// A tool result to shorten.
#[derive(Debug, Clone, Copy)]
pub struct ToolText<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The result.
    pub text: &'a str,
    /// The call failed.
    pub is_error: bool,
    /// The window in tokens. Errors may take a share of it.
    pub window: u32,
}

/// A shortened text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condensed {
    /// The text to show instead. Its first line says that it was shortened.
    pub text: String,
    /// The method that shortened it.
    pub kind: Kind,
}

/// The method that shortened a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// JSON: items and schema.
    Json,
    /// An API's answer: status and key fields.
    Api,
    /// A log: errors, one of each, counts.
    Log,
    /// A diff: changes without context.
    Diff,
    /// A stack trace: ends and own frames.
    Trace,
    /// Web results: title, address, snippet.
    Search,
    /// Code hits by file.
    Hits,
    /// HTML: its text.
    Html,
    /// Rows: number and sample.
    Table,
    /// A file: ends and outline.
    File,
    /// An error: head and tail.
    Error,
    /// Text with its encoded data taken out.
    Data,
}

impl Kind {
    /// The name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Api => "api",
            Self::Log => "log",
            Self::Diff => "diff",
            Self::Trace => "trace",
            Self::Search => "search",
            Self::Hits => "hits",
            Self::Html => "html",
            Self::Table => "table",
            Self::File => "file",
            Self::Error => "error",
            Self::Data => "data",
        }
    }
}

/// The beginning of every shortened text.
const MARK: &str = "[condensed ";

/// The number of bytes that decide about a text's kind.
const LOOKED_AT: usize = 65_536;

/// The number of bytes that show whether a text is over a floor of some hundred tokens.
const PROBE: usize = 8_192;

/// Returns the shortened form of a tool result, or `None` if it stays: because it is under a floor, is an error that
/// fits, is exempt by a rule, is shortened already, or would not become clearly shorter.
pub fn condense(
    result: ToolText<'_>,
    options: &CondenseOptions,
    counter: &dyn TokenCounter,
) -> Option<Condensed> {
    let text = result.text;
    if options.debug || text.starts_with(MARK) {
        return None;
    }
    if is_under(text, options.floor, counter) {
        return None;
    }
    if result.is_error {
        let room = u64::from(result.window) * u64::from(options.error_percent) / 100;
        return error(text, room as u32, counter);
    }
    let data = blob::condense(text);
    let body = data.as_deref().unwrap_or(text);
    let content = detect(body);
    if matches!(content, Content::Json | Content::Yaml)
        && is_under(text, options.structured_floor, counter)
    {
        return None;
    }
    let method = choose(&options.rules, result.tool, content, body);
    let (short, kind) = apply(method, content, body).or_else(|| {
        data.clone()
            .filter(|_| method != Method::Keep)
            .map(|text| (text, Kind::Data))
    })?;
    let condensed = Condensed {
        text: marked(&short, kind, text),
        kind,
    };
    gains(text, &condensed.text, options.gain_percent, counter).then_some(condensed)
}

/// Returns `true` if a text has fewer tokens than `floor`, without counting megabytes to find out.
fn is_under(text: &str, floor: u32, counter: &dyn TokenCounter) -> bool {
    let most = floor.saturating_sub(1);
    let probe = cut::head(text, PROBE);
    counter.count_until(probe, most).is_some()
        && (probe.len() == text.len() || counter.count_until(text, most).is_some())
}

/// Shortens the long values in the arguments of a tool call. The result is a JSON object with the same keys. Returns
/// `None` if the arguments stay.
pub fn condense_arguments(arguments: &str) -> Option<String> {
    args::shrink_arguments(arguments)
}

/// Recognises the kind of a text.
pub fn detect(text: &str) -> Content {
    if json::looks_like(text) {
        return Content::Json;
    }
    // The first lines decide about the other kinds; megabytes in one line are not read for that.
    let text = cut::head(text, LOOKED_AT);
    if diff::looks_like(text) {
        Content::Diff
    } else if html::looks_like(text) {
        Content::Html
    } else if search::looks_like_hits(text) {
        Content::Hits
    } else if log::looks_like(text) {
        Content::Log
    } else if trace::looks_like(text) {
        Content::Trace
    } else if csv::looks_like(text) {
        Content::Csv
    } else if is_yaml(text) {
        Content::Yaml
    } else {
        Content::Text
    }
}

/// Returns the method of the first rule that matches. Without one the text is kept.
fn choose(rules: &[CondenseRule], tool: &str, content: Content, text: &str) -> Method {
    let tool = tool.to_lowercase();
    let fits = |rule: &&CondenseRule| {
        rule.content.is_none_or(|wanted| wanted == content)
            && glob::matches(&rule.tools, &tool)
            && (rule.above_lines == 0 || text.lines().nth(rule.above_lines as usize).is_some())
            && (rule.above_rows == 0 || has_rows(text, content, rule.above_rows as usize))
    };
    rules
        .iter()
        .find(fits)
        .map_or(Method::Keep, |rule| rule.method)
}

/// Returns `true` if there are more rows than `above`: items of JSON, otherwise lines under a heading.
fn has_rows(text: &str, content: Content, above: usize) -> bool {
    match content {
        Content::Json => json::most_items(text).is_some_and(|items| items > above),
        _ => text.lines().nth(above + 1).is_some(),
    }
}

fn apply(method: Method, content: Content, text: &str) -> Option<(String, Kind)> {
    let with = |short: Option<String>, kind| short.map(|text| (text, kind));
    match (method, content) {
        (Method::Keep, _) => None,
        (Method::Search, _) => {
            with(search::web(text), Kind::Search).or_else(|| apply(Method::Content, content, text))
        }
        (Method::File, _) => with(file::condense(text), Kind::File),
        (Method::Rows, Content::Json) => {
            let rows = json::most_items(text).unwrap_or(0);
            let short = json::condense(text, json::JsonLimits::RESULT)?;
            Some((format!("{} rows\n{short}", grouped(rows)), Kind::Table))
        }
        (Method::Rows, _) => {
            with(csv::condense(text), Kind::Table).or_else(|| apply(Method::Content, content, text))
        }
        (Method::Api, Content::Json) => {
            with(json::condense(text, json::JsonLimits::API), Kind::Api)
        }
        (Method::Api | Method::Content, _) => match content {
            Content::Json => with(json::condense(text, json::JsonLimits::RESULT), Kind::Json),
            Content::Diff => with(diff::condense(text), Kind::Diff),
            Content::Html => with(html::to_text(text), Kind::Html),
            Content::Log => with(log::condense(text), Kind::Log),
            Content::Trace => with(trace::condense(text), Kind::Trace),
            Content::Hits => with(search::hits(text), Kind::Hits),
            Content::Csv => with(csv::condense(text), Kind::Table),
            Content::Yaml | Content::Text => None,
        },
    }
}

/// Shortens an error that is longer than its room: keeps its trace without the inner frames, or its head and tail.
fn error(text: &str, room: u32, counter: &dyn TokenCounter) -> Option<Condensed> {
    if counter.count_until(text, room).is_some() {
        return None;
    }
    if let Some(short) = trace::condense(text) {
        let short = marked(&short, Kind::Trace, text);
        if counter.count_until(&short, room).is_some() {
            return Some(Condensed {
                text: short,
                kind: Kind::Trace,
            });
        }
    }
    // Three bytes are a token or more almost everywhere. The loop tries less until it fits.
    let mut bytes = (room as usize * 3).min(text.len() * 9 / 10);
    while bytes > 0 {
        let (head, tail) = (
            cut::head(text, bytes * 3 / 5),
            cut::tail(text, bytes * 2 / 5),
        );
        let missing = text.len() - head.len() - tail.len();
        let body = format!("{head}\n… {} bytes …\n{tail}", grouped(missing));
        let short = marked(&body, Kind::Error, text);
        if short.len() < text.len() && counter.count_until(&short, room).is_some() {
            return Some(Condensed {
                text: short,
                kind: Kind::Error,
            });
        }
        bytes = bytes * 3 / 4;
    }
    None
}

/// Puts a line with the kind above the short form.
fn marked(short: &str, kind: Kind, original: &str) -> String {
    let lines = match original.lines().count() {
        1 => "1 line".to_owned(),
        n => format!("{} lines", grouped(n)),
    };
    let short = short.trim_end();
    format!(
        "{MARK}{}: {lines}, {} bytes]\n{short}",
        kind.name(),
        grouped(original.len())
    )
}

/// Returns `true` if the short form has at most `percent` of the original's tokens.
fn gains(original: &str, short: &str, percent: u32, counter: &dyn TokenCounter) -> bool {
    if short.len() >= original.len() {
        return false;
    }
    // A quarter of the bytes never has more tokens than that share, and counting megabytes would be the slowest part.
    if original.len() > 16_384 && short.len() < original.len() / 4 {
        return true;
    }
    let most = u64::from(counter.count(original)) * u64::from(percent) / 100;
    counter.count_until(short, most as u32).is_some()
}

/// Returns `true` if most lines look like YAML: `key: value`, `- item`.
fn is_yaml(text: &str) -> bool {
    let lines = text.lines().filter(|l| !l.trim().is_empty()).take(40);
    let (mut all, mut yaml) = (0, 0);
    for line in lines {
        all += 1;
        let line = line.trim_start();
        let key = line.strip_prefix("- ").unwrap_or(line).split_once(':');
        let keyed = key.is_some_and(|(key, value)| {
            let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '"');
            !key.is_empty() && key.chars().all(word) && (value.is_empty() || value.starts_with(' '))
        });
        yaml +=
            usize::from(keyed || line == "---" || line.starts_with("- ") || line.starts_with('#'));
    }
    all >= 2 && yaml * 10 >= all * 9
}

#[cfg(test)]
mod tests {
    use super::*;
    use palimpsest_tokens::Estimator;
    use proptest::prelude::*;
    use serde_json::json;

    fn run(tool: &str, text: &str, is_error: bool) -> Option<Condensed> {
        let result = ToolText {
            tool,
            text,
            is_error,
            window: 8_192,
        };
        condense(result, &CondenseOptions::default(), &Estimator::default())
    }

    fn check(tool: &str, text: &str, expected: Option<Kind>) {
        let found = run(tool, text, false);
        assert_eq!(
            found.as_ref().map(|c| c.kind),
            expected,
            "{tool}: {found:?}"
        );
        if let Some(found) = found {
            let counter = Estimator::default();
            assert!(
                counter.count(&found.text) < counter.count(text),
                "{found:?}"
            );
            assert_eq!(run(tool, &found.text, false), None, "never twice");
        }
    }

    fn rows(n: usize) -> String {
        let rows: Vec<_> = (0..n)
            .map(|i| json!({"id": i, "name": format!("name {i}"), "city": "Rome"}))
            .collect();
        json!(rows).to_string()
    }

    fn code(lines: usize) -> String {
        (0..lines).fold(String::new(), |t, i| {
            t + &format!("let value_{i} = compute({i});\n")
        })
    }

    fn log() -> String {
        (0..400).fold(String::new(), |t, i| {
            t + &format!("2026-01-02 10:00:00 INFO served request {i}\n")
        })
    }

    /// T2: a file of more than 500 lines is summarised, one of 500 stays.
    #[test]
    fn file_reads() {
        check("read_file", &code(501), Some(Kind::File));
        check("read_file", &code(500), None);
        check("Read", &code(700), Some(Kind::File));
        check("read_file", &log(), None);
    }

    /// T2: more than 100 rows of a database become their number and a sample; 100 stay.
    #[test]
    fn databases() {
        check("database_query", &rows(101), Some(Kind::Table));
        check("database_query", &rows(100), None);
        let short = run("run_sql", &rows(1_000), false).unwrap().text;
        assert!(short.contains("\n1,000 rows\n[{\"id\":0,"), "{short}");
        let table = |n| {
            (0..n).fold("id,name,city\n".to_owned(), |t, i| {
                t + &format!("{i},name {i} of many,Rome\n")
            })
        };
        check("run_sql", &table(101), Some(Kind::Table));
        check("run_sql", &table(99), None);
    }

    /// T2: an API's answer keeps its status and key fields, and web results keep their address.
    #[test]
    fn apis_and_searches() {
        let answer = json!({"status": "ok", "headers": {"a": {"b": {"c": "x".repeat(900)}}}, "items": (0..500).collect::<Vec<_>>()});
        let short = run("http_request", &answer.to_string(), false).unwrap();
        assert_eq!(short.kind, Kind::Api);
        assert!(short.text.contains("{\"status\":\"ok\","), "{}", short.text);
        let results = json!({"results": (0..9).map(|i| json!({
            "title": format!("Title {i}"), "url": format!("https://x.org/{i}"), "content": "word ".repeat(400),
        })).collect::<Vec<_>>()});
        let short = run("web_search", &results.to_string(), false).unwrap();
        assert_eq!(short.kind, Kind::Search);
        assert!((0..9).all(|i| short.text.contains(&format!("https://x.org/{i}"))));
    }

    /// T3: the content decides, whatever the tool.
    #[test]
    fn by_content() {
        check("bash", &rows(200), Some(Kind::Json));
        check("bash", &log(), Some(Kind::Log));
        let frames: String = (0..60).fold("E: x\n".to_owned(), |t, i| {
            t + &format!("    at f (/node_modules/a.js:{i})\n")
        });
        check("bash", &frames, Some(Kind::Trace));
        let hits: String = (0..300).fold(String::new(), |t, i| {
            t + &format!("src/a.rs:{i}: let x = {i};\n")
        });
        check("grep", &hits, Some(Kind::Hits));
        let context = " unchanged line of code\n".repeat(60);
        check(
            "bash",
            &format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n{context}-old\n+new\n{context}"),
            Some(Kind::Diff),
        );
        let page = format!(
            "<html><head><style>{}</style></head><p>Hello</p>",
            "p{color:red}".repeat(300)
        );
        check("bash", &page, Some(Kind::Html));
        check(
            "bash",
            &format!(
                "see data:image/png;base64,{} end",
                "aB3dE6gH9jK2mN5p".repeat(200)
            ),
            Some(Kind::Data),
        );
        check("bash", &"Some words that say something. ".repeat(200), None);
    }

    /// T2: floors protect small results, small JSON and YAML, and everything under debug.
    #[test]
    fn floors() {
        let counter = Estimator::default();
        let small = rows(20);
        assert!(
            (200..500).contains(&counter.count(&small)),
            "{}",
            counter.count(&small)
        );
        check("bash", &small, None);
        check("bash", &log()[..400], None);
        let debug = CondenseOptions {
            debug: true,
            ..CondenseOptions::default()
        };
        let text = log();
        let result = ToolText {
            tool: "bash",
            text: &text,
            is_error: false,
            window: 8_192,
        };
        assert_eq!(condense(result, &debug, &counter), None);
        let yaml = "name: palimpsest\nversion: 1\nitems:\n- a: 1\n- b: 2\n";
        assert_eq!(detect(yaml), Content::Yaml);
    }

    /// T2: an error is whole up to 15 % of the window, and keeps head and tail beyond it.
    #[test]
    fn errors() {
        let counter = Estimator::default();
        let room = 8_192 * 15 / 100;
        let line = "something went wrong in this place\n";
        let mut text = String::new();
        while counter.count(&(text.clone() + line)) <= room {
            text += line;
        }
        assert_eq!(run("bash", &text, true), None);
        text = format!("FIRST\n{text}{text}LAST");
        let short = run("bash", &text, true).unwrap();
        assert_eq!(short.kind, Kind::Error);
        assert!(counter.count(&short.text) <= room && counter.count(&short.text) > room / 2);
        assert!(
            short.text.contains("]\nFIRST\n") && short.text.ends_with("LAST"),
            "{}",
            short.text
        );
        let log = log();
        let whole = run("bash", &log[..2_000], true);
        assert_eq!(whole, None, "an error is no log");
    }

    /// T2: rules are data: the first match decides, and without one the text is kept.
    #[test]
    fn rules_are_data() {
        let rules = r#"{"rules":[
            {"tools":"secret_*","method":"keep"},
            {"tools":"*","content":"log","aboveLines":300,"method":"content"}
        ]}"#;
        let options: CondenseOptions = serde_json::from_str(rules).unwrap();
        let kind = |tool, text: &str| {
            let result = ToolText {
                tool,
                text,
                is_error: false,
                window: 8_192,
            };
            condense(result, &options, &Estimator::default()).map(|c| c.kind)
        };
        assert_eq!(kind("secret_log", &log()), None);
        assert_eq!(kind("other_log", &log()), Some(Kind::Log));
        let log = log();
        let half = log.lines().take(300).collect::<Vec<_>>().join("\n");
        assert_eq!(kind("other_log", &half), None);
        assert_eq!(kind("other", &rows(500)), None);
        assert!(serde_json::from_str::<CondenseOptions>(r#"{"rulez":[]}"#).is_err());
    }

    fn any_output() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            "\\PC{0,60}",
            "(2026-01-02 )?10:00:0[0-9] (INFO|ERROR|WARN|DEBUG) [a-z ]{0,40}[0-9]{0,4}",
            "[a-z/]{1,12}\\.rs:[0-9]{1,3}:[a-z ]{0,30}",
            "    at [a-z]{1,8} \\(/(app|node_modules)/[a-z]{1,4}\\.js:[0-9]{1,3}\\)",
            "[+ @-]{1,3}[a-z ]{0,20}",
            "[a-z]{1,5},[0-9]{1,4},\"?[a-z]{0,5}\"?",
            "</?(p|div|a href=\"x\"|script|td|pre)>[a-z &;]{0,20}",
            "[\\[{]?\"[a-z]{1,4}\": ?[0-9]{1,3}[\\]},]?",
            "https?://[a-z]{1,8}\\.org/[a-z]{0,8} [a-z ]{0,20}",
        ];
        (proptest::collection::vec(line, 1..12), 1usize..60)
            .prop_map(|(lines, times)| (lines.join("\n") + "\n").repeat(times))
    }

    proptest! {
        /// T3, I10: any text of any tool becomes shorter in tokens or stays unchanged, and is never shortened twice.
        #[test]
        fn shorter_or_untouched(
            text in any_output(),
            tool in "(bash|read_file|web_search|sql_query|http_get|grep)",
            is_error in any::<bool>(),
        ) {
            let counter = Estimator::default();
            if let Some(short) = run(&tool, &text, is_error) {
                prop_assert!(counter.count(&short.text) < counter.count(&text));
                prop_assert_eq!(run(&tool, &short.text, false), None);
            }
        }

        /// T3, I10: every method by itself works on every text.
        #[test]
        fn every_method(text in any_output()) {
            for limits in [json::JsonLimits::RESULT, json::JsonLimits::API] {
                _ = json::condense(&text, limits);
            }
            for method in [log::condense, diff::condense, trace::condense, html::to_text, csv::condense,
                file::condense, search::web, search::hits, blob::condense, args::shrink_arguments] {
                _ = method(&text);
            }
        }
    }
}
