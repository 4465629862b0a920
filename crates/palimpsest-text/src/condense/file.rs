//! Shortens long files that a tool read: both ends whole, and an outline with line numbers between them.

use super::cut;
use std::fmt::Write;

/// The number of lines that are shown whole at the beginning and the end.
const HEAD: usize = 40;
const TAIL: usize = 20;

/// The number of lines of the outline.
const OUTLINE: usize = 120;

/// The longest line that is shown whole, and the longest line of the outline, in bytes.
const LINE: usize = 400;
const ENTRY: usize = 120;

/// Summarises the file by line ranges. `None` if the ends are nearly all of it.
pub(super) fn condense(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= HEAD + TAIL + 20 {
        return None;
    }
    // The tool may have read a part of a file, with the file's line numbers.
    let first = number(lines[0]);
    let numbered = first.is_some() && lines.iter().take(20).all(|line| number(line).is_some());
    let line_number = |i: usize| match first {
        Some(first) if numbered => first + i,
        _ => i + 1,
    };
    let inner = HEAD..lines.len() - TAIL;
    let entries: Vec<usize> = inner
        .clone()
        .filter(|&i| defines(code(lines[i], numbered)))
        .collect();
    // If there are too many entries, they are thinned out evenly.
    let step = entries.len().div_ceil(OUTLINE).max(1);

    let mut out = format!("Lines {} to {}:\n", line_number(0), line_number(HEAD - 1));
    for line in &lines[..HEAD] {
        write_line(&mut out, line);
    }
    let (from, to) = (line_number(inner.start), line_number(inner.end - 1));
    if entries.is_empty() {
        _ = writeln!(out, "… lines {from} to {to} are left out");
    } else {
        _ = writeln!(out, "… of lines {from} to {to} only what they define:");
        for &i in entries.iter().step_by(step) {
            let text = cut::line(code(lines[i], numbered), ENTRY);
            _ = writeln!(out, "{}: {text}", line_number(i));
        }
        if step > 1 {
            _ = writeln!(out, "(1 of {step} definitions)");
        }
    }
    _ = writeln!(
        out,
        "… lines {} to {}:",
        to + 1,
        line_number(lines.len() - 1)
    );
    for line in &lines[lines.len() - TAIL..] {
        write_line(&mut out, line);
    }
    Some(out)
}

fn write_line(out: &mut String, line: &str) {
    let head = cut::head(line, LINE);
    out.push_str(head);
    out.push_str(if head.len() < line.len() {
        "…\n"
    } else {
        "\n"
    });
}

/// The line number that a tool put before a line: `   12\t`, `12→`, `12|`, `12: `.
fn number(line: &str) -> Option<usize> {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    (rest.starts_with(['\t', '→', '|', ':']) && digits <= 9)
        .then(|| line[..digits].parse().ok())
        .flatten()
}

/// A line without its number.
fn code(line: &str, numbered: bool) -> &str {
    if !numbered {
        return line;
    }
    let rest = line
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix(['\t', '→', '|', ':']).unwrap_or(rest)
}

/// Returns `true` if a line starts something that a reader would look for: a definition, a heading, a section.
fn defines(line: &str) -> bool {
    const WORDS: [&str; 32] = [
        "fn ",
        "pub ",
        "impl ",
        "struct ",
        "enum ",
        "trait ",
        "mod ",
        "macro_rules!",
        "class ",
        "def ",
        "async def ",
        "async fn ",
        "function ",
        "export ",
        "interface ",
        "type ",
        "const ",
        "func ",
        "package ",
        "namespace ",
        "public ",
        "private ",
        "protected ",
        "static ",
        "abstract ",
        "module ",
        "sub ",
        "CREATE ",
        "create ",
        "template ",
        "typedef ",
        "[",
    ];
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    if indent > 8 || trimmed.len() < 3 {
        return false;
    }
    if trimmed.starts_with('#') {
        // Headings, but not comments of shells and Python.
        return indent == 0 && (trimmed.starts_with("# ") || trimmed.starts_with("##"));
    }
    let constant = ["const ", "type ", "["]
        .iter()
        .any(|word| trimmed.starts_with(word));
    WORDS.iter().any(|word| trimmed.starts_with(word)) && (indent == 0 || !constant)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T2: a file over 500 lines becomes its ends and an outline by line.
    #[test]
    fn outline() {
        let text: String = (1..=600).fold(String::new(), |t, i| match i % 100 {
            50 => t + &format!("pub fn number_{i}() {{\n"),
            _ => t + &format!("    let x = {i};\n"),
        });
        let short = condense(&text).unwrap();
        assert!(
            short.starts_with("Lines 1 to 40:\n    let x = 1;\n"),
            "{short}"
        );
        assert!(
            short.contains(
                "… of lines 41 to 580 only what they define:\n50: pub fn number_50() {\n150: pub"
            ),
            "{short}"
        );
        assert!(short.contains("… lines 581 to 600:\n"), "{short}");
        assert!(short.ends_with("    let x = 600;\n"), "{short}");
    }

    /// T2: the outline uses the line numbers of the tool, also in the middle of a file.
    #[test]
    fn numbered() {
        let text: String = (300..700).fold(String::new(), |t, i| match i {
            400 => t + &format!("{i:6}\tclass Store:\n"),
            _ => t + &format!("{i:6}\t    x = {i}\n"),
        });
        let short = condense(&text).unwrap();
        assert!(short.starts_with("Lines 300 to 339:\n   300\t"), "{short}");
        assert!(short.contains("\n400: class Store:\n"), "{short}");
    }

    /// T2: for prose without definitions the result names the missing lines; short files stay.
    #[test]
    fn others() {
        let prose = "just some words here\n".repeat(200);
        assert!(
            condense(&prose)
                .unwrap()
                .contains("… lines 41 to 180 are left out\n")
        );
        assert_eq!(condense(&"x\n".repeat(80)), None);
    }
}
