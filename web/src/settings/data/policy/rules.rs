//! The rules for tool output as lines of text: `tools [looks] [lines>N] [rows>N] → method`.

use palimpsest_text::condense::CondenseRule;

use super::{choice, word};
use crate::text::{T, fill};

/// The rules, a line each.
pub(super) fn shown(rules: &[CondenseRule]) -> String {
    let line = |rule: &CondenseRule| {
        let mut words = vec![rule.tools.clone()];
        words.extend(rule.content.map(word));
        if rule.above_lines > 0 {
            words.push(format!("lines>{}", rule.above_lines));
        }
        if rule.above_rows > 0 {
            words.push(format!("rows>{}", rule.above_rows));
        }
        words.push("→".to_owned());
        words.push(word(rule.method));
        words.join(" ")
    };
    rules.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Parses the rules of such lines, or returns the error for a person.
pub(super) fn read(text: &str) -> Result<Vec<CondenseRule>, String> {
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| {
            rule(line).map_err(|word| fill(T::EditorRuleWrong, &[&(n + 1).to_string(), &word]))
        })
        .collect()
}

/// One rule, or the word that is none.
fn rule(line: &str) -> Result<CondenseRule, String> {
    let mut words = line
        .split_whitespace()
        .filter(|word| !matches!(*word, "→" | "->"))
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter();
    let tools = words.next().unwrap_or_default();
    let Some(last) = words.next_back() else {
        return Err(tools);
    };
    let mut rule = CondenseRule {
        tools,
        content: None,
        above_lines: 0,
        above_rows: 0,
        method: choice(&last).map_err(|_| last)?,
    };
    for word in words {
        let above = |name: &str| word.strip_prefix(name)?.strip_prefix('>')?.parse().ok();
        if let Some(n) = above("lines") {
            rule.above_lines = n;
        } else if let Some(n) = above("rows") {
            rule.above_rows = n;
        } else {
            rule.content = Some(choice(&word).map_err(|_| word)?);
        }
    }
    Ok(rule)
}

#[cfg(test)]
mod tests {
    use palimpsest_text::condense::{CondenseOptions, Content, Method};

    use super::*;

    /// T2, E4: the usual rules are lines, and the lines are the rules.
    #[test]
    fn rules_are_lines() {
        let usual = CondenseOptions::default().rules;
        let text = shown(&usual);
        assert_eq!(read(&text), Ok(usual.clone()));
        assert_eq!(text.lines().count(), usual.len());
        assert!(text.ends_with("* → content"), "{text}");
        assert!(text.contains(" lines>500 → file") && text.contains(" json → keep"));
        let mine = read("\n  psql*  csv rows>20 lines>3 -> rows\n").unwrap();
        let rule = &mine[0];
        assert_eq!(
            (rule.tools.as_str(), rule.content, rule.method),
            ("psql*", Some(Content::Csv), Method::Rows)
        );
        assert_eq!((rule.above_rows, rule.above_lines), (20, 3));
    }

    /// T2, E4: an error names the line and the word.
    #[test]
    fn mistakes_by_line() {
        let check = |text, expected: &str| {
            assert_eq!(read(text).map(|_| ()), Err(expected.to_owned()), "{text}");
        };
        check("* → shorten", "Line 1: “shorten” is not a known rule.");
        check(
            "* → keep\nls sql → keep",
            "Line 2: “sql” is not a known rule.",
        );
        check(
            "ls lines>many → keep",
            "Line 1: “lines>many” is not a known rule.",
        );
        check("ls", "Line 1: “ls” is not a known rule.");
    }
}
