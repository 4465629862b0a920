//! Shortens search results: web results to title, address and snippet, code hits by file.

use super::cut;
use serde_json::Value;
use std::fmt::Write;

/// The longest snippet, in bytes.
const SNIPPET: usize = 240;
/// The number of web results that are shown.
const RESULTS: usize = 20;
/// The number of hits per file, of files with hits, and of files that are only named.
const HITS: usize = 5;
const FILES: usize = 60;
const NAMED: usize = 240;
/// The longest line of a hit, in bytes.
const LINE: usize = 200;

struct Found {
    title: String,
    url: String,
    snippet: String,
}

/// Returns web results as a numbered list of title, address and snippet. `None` if there are none.
pub(super) fn web(text: &str) -> Option<String> {
    let found = match crate::json::parse(text) {
        Ok(json) => from_json(&json, 0)?,
        Err(_) => from_text(text),
    };
    if found.is_empty() {
        return None;
    }
    let mut out = String::new();
    for (i, result) in found.iter().take(RESULTS).enumerate() {
        _ = writeln!(
            out,
            "{}. {}\n   {}",
            i + 1,
            cut::line(&result.title, 160),
            result.url
        );
        if !result.snippet.trim().is_empty() {
            _ = writeln!(out, "   {}", cut::line(&result.snippet, SNIPPET));
        }
    }
    if found.len() > RESULTS {
        _ = writeln!(out, "… {} more results", found.len() - RESULTS);
    }
    Some(out)
}

/// Finds the first array of objects with an address.
fn from_json(value: &Value, depth: usize) -> Option<Vec<Found>> {
    if depth > 6 {
        return None;
    }
    let field = |item: &Value, names: &[&str]| -> Option<String> {
        names
            .iter()
            .find_map(|name| item.get(name)?.as_str())
            .map(str::to_owned)
    };
    match value {
        Value::Array(items) => {
            let found: Vec<Found> = items
                .iter()
                .filter_map(|item| {
                    let url = field(item, &["url", "link", "href"])?;
                    let title = field(item, &["title", "name", "heading"]);
                    let snippet = field(
                        item,
                        &[
                            "snippet",
                            "description",
                            "summary",
                            "abstract",
                            "content",
                            "text",
                            "body",
                        ],
                    );
                    Some(Found {
                        title: title.unwrap_or_else(|| url.clone()),
                        url,
                        snippet: snippet.unwrap_or_default(),
                    })
                })
                .collect();
            if found.is_empty() {
                items.iter().find_map(|item| from_json(item, depth + 1))
            } else {
                Some(found)
            }
        }
        Value::Object(fields) => fields
            .values()
            .find_map(|value| from_json(value, depth + 1)),
        _ => None,
    }
}

/// Finds results in text: blocks that begin with a number, a title or an empty line, and contain an address.
fn from_text(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    let mut has_url = false;
    for line in text.lines() {
        if begins_result(line) || (line.trim().is_empty() && has_url) {
            found.extend(read_block(&block));
            block.clear();
            has_url = false;
        }
        if !line.trim().is_empty() {
            has_url |= url(line).is_some();
            block.push(line);
        }
    }
    found.extend(read_block(&block));
    found
}

fn begins_result(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && digits < 4 && line[digits..].starts_with(['.', ')']))
        || line.to_ascii_lowercase().starts_with("title:")
        || line.starts_with("## ")
        || line.starts_with("- [")
        || line.starts_with('[')
        || line.starts_with("---")
}

fn read_block(block: &[&str]) -> Option<Found> {
    let at = block.iter().position(|line| url(line).is_some())?;
    let address = url(block[at])?;
    let label = |line: &str| -> String {
        let line = line
            .trim()
            .trim_start_matches(|c: char| c.is_ascii_digit() || ".)-#*[ ".contains(c));
        let line = match line.split_once(':') {
            Some((name, rest))
                if name.len() <= 12
                    && name.bytes().all(|b| b.is_ascii_alphabetic())
                    && !rest.starts_with("//") =>
            {
                rest
            }
            _ => line,
        };
        line.replace(address, "")
            .replace("]()", "")
            .replace("()", "")
            .trim_matches(['*', ' ', '<', '>', ']', '-', '|'])
            .to_owned()
    };
    let mut words: Vec<String> = block
        .iter()
        .map(|line| label(line))
        .filter(|line| !line.is_empty())
        .collect();
    if words.is_empty() {
        return None;
    }
    let title = words.remove(0);
    Some(Found {
        title,
        url: address.to_owned(),
        snippet: words.join(" "),
    })
}

/// Returns the first web address of a line.
fn url(line: &str) -> Option<&str> {
    let at = line.find("https://").or_else(|| line.find("http://"))?;
    let rest = &line[at..];
    let end = rest
        .find(|c: char| c.is_whitespace() || "<>\"'`|]".contains(c))
        .unwrap_or(rest.len());
    let found = rest[..end].trim_end_matches(['.', ',', ';']);
    // A closing bracket belongs to the address only if the address contains the opening one.
    let found = if found.contains('(') {
        found
    } else {
        found.trim_end_matches(')')
    };
    (found.len() > 8).then_some(found)
}

/// Returns `true` if most lines are hits of a code search: `path:line:text`.
pub(super) fn looks_like_hits(text: &str) -> bool {
    let lines = text
        .lines()
        .filter(|l| !l.trim().is_empty() && *l != "--")
        .take(60);
    let (mut all, mut hits) = (0, 0);
    for line in lines {
        all += 1;
        hits += usize::from(hit(line).is_some());
    }
    all >= 8 && hits * 10 >= all * 8
}

/// Groups the hits of a code search by file: shows the first few of each file and counts the others.
pub(super) fn hits(text: &str) -> Option<String> {
    let mut files: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    let mut other = 0;
    for line in text.lines() {
        let Some((path, number, words)) = hit(line) else {
            other += usize::from(!line.trim().is_empty() && line != "--");
            continue;
        };
        // A search goes through its files one by one.
        match files.last_mut() {
            Some((last, hits)) if *last == path => hits.push((number, words)),
            _ => files.push((path, vec![(number, words)])),
        }
    }
    let all: usize = files.iter().map(|(_, hits)| hits.len()).sum();
    if all == 0 {
        return None;
    }
    let mut out = format!(
        "{} hits in {} files\n",
        cut::grouped(all),
        cut::grouped(files.len())
    );
    for (path, hits) in files.iter().take(FILES) {
        _ = writeln!(out, "{path}");
        for (number, words) in hits.iter().take(HITS) {
            let colon = if number.is_empty() { "" } else { ": " };
            _ = writeln!(out, "  {number}{colon}{}", cut::line(words, LINE));
        }
        if hits.len() > HITS {
            _ = writeln!(out, "  … {} more", hits.len() - HITS);
        }
    }
    for chunk in files
        .get(FILES..)
        .unwrap_or_default()
        .chunks(8)
        .take(NAMED / 8)
    {
        let names: Vec<String> = chunk
            .iter()
            .map(|(path, hits)| format!("{path} ({})", hits.len()))
            .collect();
        _ = writeln!(out, "… {}", names.join(", "));
    }
    if files.len() > FILES + NAMED {
        _ = writeln!(
            out,
            "… {} more files",
            cut::grouped(files.len() - FILES - NAMED)
        );
    }
    if other > 0 {
        _ = writeln!(out, "… {other} other lines");
    }
    Some(out)
}

/// `path:12:text`, `path-12-text` for a line around a hit, or `path:text` without a number.
fn hit(line: &str) -> Option<(&str, &str, &str)> {
    if line.starts_with([' ', '\t']) {
        return None;
    }
    let is_path = |path: &str| path.contains(['/', '.', '\\']) && !path.contains([' ', '"', '(']);
    let numbered = [':', '-'].into_iter().find_map(|separator| {
        line.match_indices(separator).take(8).find_map(|(at, _)| {
            let (path, rest) = (&line[..at], &line[at + 1..]);
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let words = rest[digits..].strip_prefix(separator)?;
            (digits > 0 && digits < 8 && is_path(path)).then(|| (path, &rest[..digits], words))
        })
    });
    numbered.or_else(|| {
        let (path, words) = line.split_once(':')?;
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        (is_path(path) && path.len() > file.len() && file.contains('.'))
            .then_some((path, "", words))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// T2: web search as JSON: title, snippet, address and nothing else.
    #[test]
    fn web_json() {
        let page = "<html>".repeat(500);
        let text = json!({"query": "x", "response": {"results": [
            {"title": "One", "url": "https://a.org/1", "content": "First  words", "raw_content": page, "score": 0.9},
            {"title": "Two", "link": "https://b.org", "snippet": "s".repeat(1_000)},
        ]}})
        .to_string();
        let short = web(&text).unwrap();
        assert_eq!(
            short,
            format!(
                "1. One\n   https://a.org/1\n   First words\n2. Two\n   https://b.org\n   {}…\n",
                "s".repeat(240)
            )
        );
    }

    /// T2: web search as text in the forms tools use.
    #[test]
    fn web_text() {
        let check =
            |text: &str, expected: &str| assert_eq!(web(text).as_deref(), Some(expected), "{text}");
        check(
            "Title: One\nURL: https://a.org/1\nSnippet: First words\n\nTitle: Two\nURL: https://b.org/x_(y)\nSnippet: Second\nmore\n",
            "1. One\n   https://a.org/1\n   First words\n2. Two\n   https://b.org/x_(y)\n   Second more\n",
        );
        check(
            "Results:\n1. **One** - https://a.org/1\n   First words\n2. [Two](https://b.org)\n   Second\n",
            "1. One\n   https://a.org/1\n   First words\n2. Two\n   https://b.org\n   Second\n",
        );
        assert_eq!(web("no addresses here"), None);
        assert_eq!(web("{\"a\": 1}"), None);
    }

    /// T3: code hits by file, the rest counted.
    #[test]
    fn code_hits() {
        let hit = |text: String, i| text + &format!("src/a.rs:{i}:    let x = {i};\n");
        let mut text = (1..=9).fold(String::new(), hit);
        text += "src/b-c.rs-7-context\nsrc/b-c.rs:8:hit: here\n--\n";
        assert!(looks_like_hits(&text));
        assert_eq!(
            hits(&text).unwrap(),
            "11 hits in 2 files\nsrc/a.rs\n  1: let x = 1;\n  2: let x = 2;\n  3: let x = 3;\n  4: let x = 4;\n\
             \x20 5: let x = 5;\n  … 4 more\nsrc/b-c.rs\n  7: context\n  8: hit: here\n"
        );
        let bare =
            "./src/a.ts:import x;\n./src/a.ts:import y;\n".repeat(4) + "./src/b.ts:export z;\n";
        assert!(looks_like_hits(&bare));
        assert!(
            hits(&bare)
                .unwrap()
                .ends_with("  … 3 more\n./src/b.ts\n  export z;\n")
        );
        assert!(!looks_like_hits(
            &"see https://x.org/a.html for more\n".repeat(20)
        ));
        assert!(!looks_like_hits(&"10:20:30 INFO started\n".repeat(20)));
        assert!(!looks_like_hits(&"key: value\n".repeat(20)));
    }
}
