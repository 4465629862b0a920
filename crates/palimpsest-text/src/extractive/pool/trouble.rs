//! The lines of tool results that report trouble.

use crate::extractive::Emphasis;
use crate::words::terms::{TermKind, each_term, mix};

/// Returns the worth of a tool's line that reports trouble.
pub(super) fn alarm(body: &str, emphasis: Emphasis) -> Option<f32> {
    #[rustfmt::skip]
    const WORDS: [&str; 22] = [
        "error", "fail", "fatal", "panic", "exception", "traceback", "denied", "refused",
        "not found", "undefined", "cannot", "timed out", "timeout", "warning", "assert", "abort",
        "segfault", "unreachable", "invalid", "missing", "conflict", "killed",
    ];
    let head: String = body
        .chars()
        .take(200)
        .flat_map(char::to_lowercase)
        .collect();
    // "0 errors", "no error" are good news.
    let bad = WORDS.iter().find(|w| head.contains(**w))?;
    if [
        "0 error",
        "no error",
        "0 fail",
        "0 warning",
        "without error",
        "errors: 0",
        "failed: 0",
        "\"error\":null",
        "\"error\": null",
    ]
    .iter()
    .any(|g| head.contains(g))
    {
        return None;
    }
    let worth = if *bad == "warning" { 20.0 } else { 45.0 };
    Some(if emphasis == Emphasis::Debugger {
        worth * 2.0
    } else {
        worth
    })
}

/// Returns `true` if a line of a result is source code, which mentions trouble without reporting it.
pub(super) fn is_code(body: &str) -> bool {
    let body = body.trim();
    body.ends_with([';', '{', '}', '(', ',', '=', '[', '>'])
        || [
            "//", "/*", "* ", "# ", "- ", "case ", "if ", "throw ", "import ", "export ",
            "return ", "def ", "fn ",
        ]
        .iter()
        .any(|start| body.starts_with(start))
}

/// Returns the hash of the line without its numbers.
pub(super) fn template(body: &str) -> u64 {
    let mut h = 0u64;
    each_term(body, |t| {
        if t.kind == TermKind::Word {
            h = mix(h ^ t.hash.rotate_left(13));
        }
    });
    h
}
