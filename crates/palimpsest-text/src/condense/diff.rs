//! Shortens diffs: keeps changed lines, counts context and generated files.

use std::fmt::Write;

/// The number of changed lines that are shown from the beginning and the end of a file's diff.
const HEAD: usize = 120;
const TAIL: usize = 40;
/// The number of context lines beside a change.
const CONTEXT: usize = 1;

/// Files whose diff nobody reads.
const GENERATED: [&str; 12] = [
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "Cargo.lock",
    "poetry.lock",
    "composer.lock",
    "Gemfile.lock",
    "go.sum",
    ".min.js",
    ".min.css",
    ".map",
    ".snap",
];

/// Returns `true` if the text is a unified diff.
pub(super) fn looks_like(text: &str) -> bool {
    let mut hunks = 0;
    let mut files = 0;
    for line in text.lines().take(400) {
        hunks += usize::from(line.starts_with("@@ -"));
        files += usize::from(line.starts_with("+++ ") || line.starts_with("diff --git "));
    }
    hunks > 0 && files > 0
}

/// Returns the diff with less context. `None` if it has nothing to leave out.
pub(super) fn condense(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut left_out = 0;
    let mut file: Vec<&str> = Vec::new();
    let mut head = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let git = line.starts_with("diff --git ");
        // A removed line can begin like that, too.
        let plain = line.starts_with("--- ") && lines.peek().is_some_and(|l| l.starts_with("+++ "));
        if git || (plain && !head) {
            left_out += write_file(&mut out, &file);
            file.clear();
            head = true;
        }
        head &= !line.starts_with("@@ ");
        file.push(line);
    }
    left_out += write_file(&mut out, &file);
    (left_out > 0).then_some(out)
}

/// Writes one file of the diff. Returns the number of lines that it left out.
fn write_file(out: &mut String, lines: &[&str]) -> usize {
    let body = lines
        .iter()
        .position(|l| l.starts_with("@@ "))
        .unwrap_or(lines.len());
    let (head, body) = lines.split_at(body);
    let mut left_out = 0;
    for line in head {
        if line.starts_with("index ") || line.starts_with("similarity index") {
            left_out += 1;
        } else {
            _ = writeln!(out, "{line}");
        }
    }
    let is_change = |line: &str| line.starts_with(['+', '-']);
    let changes = body.iter().filter(|l| is_change(l)).count();
    let added = body.iter().filter(|l| l.starts_with('+')).count();
    let generated = head.iter().any(|line| {
        let path = line.split('\t').next().unwrap_or(line);
        (line.starts_with("+++ ") || line.starts_with("diff "))
            && GENERATED.iter().any(|g| path.ends_with(g))
    });
    if generated && changes > 6 {
        _ = writeln!(
            out,
            "… generated: {added} lines added, {} removed",
            changes - added
        );
        return left_out + body.len();
    }
    let mut seen = 0;
    let mut gap = (0, 0);
    for (i, line) in body.iter().enumerate() {
        let near = (i.saturating_sub(CONTEXT)..=i + CONTEXT)
            .any(|j| body.get(j).is_some_and(|l| is_change(l)));
        seen += usize::from(is_change(line));
        let inner = changes > HEAD + TAIL + 10 && seen > HEAD && seen <= changes - TAIL;
        if (near || line.starts_with("@@ ")) && !inner {
            write_gap(out, &mut gap);
            _ = writeln!(out, "{line}");
        } else {
            left_out += 1;
            gap.0 += 1;
            gap.1 += usize::from(is_change(line));
        }
    }
    write_gap(out, &mut gap);
    left_out
}

/// Writes a line for missing changes. Missing context needs none, because the hunk's numbers show it.
fn write_gap(out: &mut String, gap: &mut (usize, usize)) {
    if gap.1 > 0 {
        _ = writeln!(out, "… {} lines, {} of them changed", gap.0, gap.1);
    }
    *gap = (0, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T3: changed lines and one line around them stay.
    #[test]
    fn context() {
        let diff = "diff --git a/x.rs b/x.rs
index 1..2 100644
--- a/x.rs
+++ b/x.rs
@@ -1,9 +1,9 @@ fn main
 a
 b
 c
-old
+new
 d
 e
 f
";
        assert!(looks_like(diff));
        assert_eq!(
            condense(diff).unwrap(),
            "diff --git a/x.rs b/x.rs
--- a/x.rs
+++ b/x.rs
@@ -1,9 +1,9 @@ fn main
 c
-old
+new
 d
"
        );
    }

    /// T3: generated files are counted, long ones keep both ends.
    #[test]
    fn long_files() {
        let lines: String = (0..500).fold(String::new(), |t, i| t + &format!("+line {i}\n"));
        let diff = format!(
            "--- a/Cargo.lock\n+++ b/Cargo.lock\n@@ -1 +1,500 @@\n{lines}--- a/b.rs\n+++ b/b.rs\n@@ -1 +1,500 @@\n{lines}"
        );
        let short = condense(&diff).unwrap();
        assert!(
            short.contains("+++ b/Cargo.lock\n… generated: 500 lines added, 0 removed\n"),
            "{short}"
        );
        assert!(
            short.contains("+line 119\n… 340 lines, 340 of them changed\n+line 460\n"),
            "{short}"
        );
    }

    /// T3: text that is not a diff, or has nothing to spare, stays.
    #[test]
    fn unchanged() {
        assert!(!looks_like("- a list\n+ of things\n"));
        assert_eq!(condense("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"), None);
    }
}
