//! Shortens stack traces: keeps messages, and counts frames between the ends and outside of the user's own code.

use std::fmt::Write;

/// The number of frames shown from the beginning and the end of a run, and of own frames between them.
const HEAD: usize = 4;
const TAIL: usize = 3;
const OWN: usize = 4;

/// Paths of code that is not the user's own.
const LIBRARIES: [&str; 16] = [
    "node_modules",
    "node:",
    "internal/",
    "site-packages",
    "dist-packages",
    "/usr/lib",
    "<frozen",
    "/rustc/",
    ".cargo/registry",
    "/go/pkg/mod",
    "/usr/local/go",
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "org.springframework",
];

struct Frame<'a> {
    lines: Vec<&'a str>,
    own: bool,
}

/// Returns `true` if the text has a run of frames long enough to shorten.
pub(super) fn looks_like(text: &str) -> bool {
    let mut frames = 0;
    for line in text.lines().take(2_000) {
        frames += usize::from(begins_frame(line));
        if frames > HEAD + TAIL + OWN {
            return true;
        }
    }
    false
}

/// Shortens the long runs of frames of a text. `None` if there are none.
pub(super) fn condense(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut run: Vec<Frame<'_>> = Vec::new();
    let mut shortened = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let go = lines
            .peek()
            .is_some_and(|next| next.starts_with('\t') && next.contains(".go:"));
        if begins_frame(line) || (go && line.ends_with(')')) {
            run.push(Frame {
                lines: vec![line],
                own: is_own(line),
            });
        } else if let Some(frame) = run.last_mut()
            && line.starts_with([' ', '\t'])
            && frame.lines.len() < 4
        {
            frame.own &= is_own(line);
            frame.lines.push(line);
        } else {
            shortened |= write_run(&mut out, &mut run);
            out.push_str(line);
            out.push('\n');
        }
    }
    shortened |= write_run(&mut out, &mut run);
    shortened.then_some(out)
}

/// Writes a run of frames and empties it. Returns `true` if it left out frames.
fn write_run(out: &mut String, run: &mut Vec<Frame<'_>>) -> bool {
    let n = run.len();
    let long = n > HEAD + TAIL + 1;
    let (mut own, mut missing, mut libraries) = (0, 0, 0);
    for (i, frame) in run.iter().enumerate() {
        let inner = long && (HEAD..n - TAIL).contains(&i);
        let repeated = i > 0 && frame.lines == run[i - 1].lines;
        if inner && (repeated || !frame.own || own == OWN) {
            missing += 1;
            libraries += usize::from(!frame.own);
            continue;
        }
        own += usize::from(inner);
        write_gap(out, &mut missing, &mut libraries);
        for line in &frame.lines {
            out.push_str(line);
            out.push('\n');
        }
    }
    write_gap(out, &mut missing, &mut libraries);
    let shortened = long && n > HEAD + TAIL + own;
    run.clear();
    shortened
}

fn write_gap(out: &mut String, missing: &mut usize, libraries: &mut usize) {
    if *missing > 0 {
        _ = match *libraries {
            0 => writeln!(out, "    … {missing} frames"),
            inside => writeln!(out, "    … {missing} frames, {inside} in libraries"),
        };
    }
    (*missing, *libraries) = (0, 0);
}

fn begins_frame(line: &str) -> bool {
    let trimmed = line.trim_start();
    let indented = trimmed.len() < line.len();
    if trimmed.starts_with("at ") {
        // Rust writes the place of a numbered frame on a line of its own.
        return indented
            && (trimmed.contains('(') || trimmed.contains(':'))
            && !line.starts_with("             at ");
    }
    if trimmed.starts_with("File \"") {
        return trimmed.contains(", line ");
    }
    if trimmed.starts_with("from ") {
        return indented && trimmed.contains(":in ");
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    if let Some(rest) = trimmed.strip_prefix('#') {
        let n = digits(rest);
        return n > 0 && rest[n..].starts_with(' ') && rest.contains(['(', '/']);
    }
    let n = digits(trimmed);
    indented && n > 0 && trimmed[n..].starts_with(": ") && trimmed.contains("::")
}

fn is_own(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("at ").unwrap_or(line);
    !LIBRARIES
        .iter()
        .any(|library| match library.strip_suffix('.') {
            // Packages of Java stand at the beginning.
            Some(_) => line.starts_with(library),
            None => line.contains(library),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(
            condense(text).unwrap_or_default().trim_end(),
            expected.trim_end()
        );
    }

    /// T3: JavaScript: message, the ends and own frames stay.
    #[test]
    fn javascript() {
        let frame = |text: String, i| {
            let file = match i {
                0 | 9 => "/app/src/own.js",
                _ => "/app/node_modules/lib/index.js",
            };
            text + &format!("    at f{i} ({file}:{i}:1)\n")
        };
        let mut text = (0..20).fold("TypeError: x is undefined\n".to_owned(), frame);
        text += "done\n";
        assert!(looks_like(&text));
        check(
            &text,
            "TypeError: x is undefined
    at f0 (/app/src/own.js:0:1)
    at f1 (/app/node_modules/lib/index.js:1:1)
    at f2 (/app/node_modules/lib/index.js:2:1)
    at f3 (/app/node_modules/lib/index.js:3:1)
    … 5 frames, 5 in libraries
    at f9 (/app/src/own.js:9:1)
    … 7 frames, 7 in libraries
    at f17 (/app/node_modules/lib/index.js:17:1)
    at f18 (/app/node_modules/lib/index.js:18:1)
    at f19 (/app/node_modules/lib/index.js:19:1)
done",
        );
    }

    /// T3: Python: a frame is two lines; recursion is folded; the exception stays.
    #[test]
    fn python() {
        let frame = "  File \"/app/a.py\", line 3, in f\n    return f(n - 1)\n";
        let text = format!(
            "Traceback (most recent call last):\n{}RecursionError: too deep\n",
            frame.repeat(50)
        );
        let short = condense(&text).unwrap();
        assert!(
            short.starts_with("Traceback (most recent call last):\n  File"),
            "{short}"
        );
        assert!(short.contains("    … 43 frames\n"), "{short}");
        assert!(
            short.ends_with("    return f(n - 1)\nRecursionError: too deep\n"),
            "{short}"
        );
    }

    /// T3: Rust and Java frames are recognised.
    #[test]
    fn others() {
        let rust = (0..30).fold("stack backtrace:\n".to_owned(), |t, i| {
            t + &format!("  {i:2}: std::rt::f\n             at /rustc/abc/lib.rs:{i}:5\n")
        });
        assert!(
            condense(&rust)
                .unwrap()
                .contains("… 23 frames, 23 in libraries")
        );
        let java = (0..30).fold("java.lang.Error: x\n".to_owned(), |t, i| {
            t + &format!("\tat java.util.List.get(List.java:{i})\n")
        });
        assert!(
            condense(&java)
                .unwrap()
                .starts_with("java.lang.Error: x\n\tat java.util")
        );
    }

    /// T3: short traces and other text stay.
    #[test]
    fn unchanged() {
        assert_eq!(condense("Error\n    at a (b:1)\n    at c (d:2)\n"), None);
        assert_eq!(condense("plain text\nat home\n"), None);
        assert!(!looks_like(&"1: one\n2: two\n".repeat(20)));
    }
}
