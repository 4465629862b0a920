//! The sentences of a message that can be pinned one by one.

use palimpsest_text::words::segment::{UnitKind, prose};

/// A longer piece is code or a table: nobody pins it, and the model would read it in every request.
const LONGEST: usize = 1_000;

/// The sentences, list items and short blocks of a text, each of them once and without the signs of Markdown that begin a line.
pub fn sentences(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for unit in prose(text) {
        let said = &text[unit.start..unit.end];
        let said = match unit.kind {
            UnitKind::Item => without_bullet(said),
            UnitKind::Heading => said.trim_start_matches('#').trim(),
            UnitKind::Quote => said.trim_start_matches(['>', ' ']).trim(),
            UnitKind::Sentence | UnitKind::Code | UnitKind::Line => said.trim(),
        };
        let is_said = said.chars().any(char::is_alphanumeric);
        if is_said && said.len() <= LONGEST && !all.iter().any(|one| one == said) {
            all.push(said.to_owned());
        }
    }
    all
}

/// A list item without its bullet or number.
fn without_bullet(item: &str) -> &str {
    let item = item.trim();
    let digits = item.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = if digits.len() < item.len() {
        digits.strip_prefix(['.', ')'])
    } else {
        item.strip_prefix(['-', '*', '+', '•'])
    };
    rest.filter(|rest| rest.starts_with(' '))
        .map_or(item, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(sentences(text), expected, "{text}");
    }

    #[test]
    fn sentences_stand_alone() {
        check("Only one.", &["Only one."]);
        check(
            "I fly on the 14th. Never book a window seat! Dr. Meyer knows.",
            &[
                "I fly on the 14th.",
                "Never book a window seat!",
                "Dr. Meyer knows.",
            ],
        );
        check(
            "Ich fliege am 14. März. Immer.",
            &["Ich fliege am 14. März.", "Immer."],
        );
    }

    #[test]
    fn signs_of_markdown_are_left_out() {
        check(
            "# Plan\n\n- buy rye\n- bake at 220\n\n1. rest\n2) eat\n\n> as she said",
            &[
                "Plan",
                "buy rye",
                "bake at 220",
                "rest",
                "eat",
                "as she said",
            ],
        );
        check("**Never** fly.", &["**Never** fly."]);
    }

    #[test]
    fn nothing_is_offered_twice_or_at_length() {
        check("Yes. No. Yes.", &["Yes.", "No."]);
        check("…\n\n---\n\nDone.", &["Done."]);
        check(
            &format!("```\n{}\n```\n\nThat is it.", "x = 1\n".repeat(300)),
            &["That is it."],
        );
        check("", &[]);
    }
}
