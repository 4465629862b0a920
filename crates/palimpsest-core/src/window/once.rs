//! What stands in the user's own words is not said a second time in a layer.

use std::borrow::Cow;

/// Shorter lines could be anybody's: a line that short goes only with the quoted message it is from.
const TELLING: usize = 12;

/// The user's own words that stand beside the layers, each with its message.
pub(crate) struct Said {
    words: Vec<(u32, String)>,
}

impl Said {
    pub(crate) fn new<'a>(words: impl Iterator<Item = (u32, &'a str)>) -> Self {
        Self {
            words: words.map(|(seq, text)| (seq, one_line(text))).collect(),
        }
    }

    /// The lines of a layer that say something else.
    pub(crate) fn beside<'a>(&self, body: &'a str) -> Cow<'a, str> {
        if self.words.is_empty() {
            return Cow::Borrowed(body);
        }
        let mut from = None;
        let mut is_code = false;
        let mut dropped = false;
        let mut kept: Vec<Cow<'_, str>> = Vec::new();
        // the label of a line that went, for the next line of the same message
        let mut orphaned = "";
        for line in body.lines() {
            is_code ^= line.trim_start().starts_with("```");
            let (label, words) = labelled(line);
            if let Some(label) = &label {
                from = match label {
                    Label::User(seq) => Some(*seq),
                    Label::Other => None,
                };
                orphaned = "";
            }
            if !is_code && self.holds(from, words) {
                dropped = true;
                if label.is_some() && !line.starts_with("* ") {
                    orphaned = &line[..line.len() - words.len()];
                }
            } else if orphaned.is_empty() || label.is_some() {
                kept.push(Cow::Borrowed(line));
            } else {
                kept.push(Cow::Owned(format!("{orphaned}{line}")));
                orphaned = "";
            }
        }
        if dropped {
            Cow::Owned(kept.join("\n"))
        } else {
            Cow::Borrowed(body)
        }
    }

    /// `from` is the user's message that the line is from, if it says so.
    fn holds(&self, from: Option<u32>, line: &str) -> bool {
        let line = one_line(line);
        if line.is_empty() {
            return false;
        }
        let is_telling = line.chars().count() >= TELLING;
        let holds = |(seq, said): &(u32, String)| {
            (is_telling || from == Some(*seq)) && said.contains(&line)
        };
        self.words.iter().any(holds)
    }
}

/// The label at the start of a line of a layer.
enum Label {
    /// `U12:`, the number of a message of the user's.
    User(u32),
    /// `A3:`, `T4:` or `* `, a reply, a result or a fact.
    Other,
}

/// Splits `U12: words`, `A3: words` or `* fact` into the label, if there is one, and the words.
fn labelled(line: &str) -> (Option<Label>, &str) {
    if let Some(fact) = line.strip_prefix("* ") {
        return (Some(Label::Other), fact);
    }
    let Some((label, words)) = line.split_once(": ") else {
        return (None, line);
    };
    let (who, place) = label.split_at(label.chars().next().map_or(0, char::len_utf8));
    match (who, place.parse()) {
        ("U", Ok(seq)) => (Some(Label::User(seq)), words),
        ("A" | "T", Ok(_)) => (Some(Label::Other), words),
        _ => (None, line),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::Said;

    /// P3: a line that stands in the user's own words goes, with its label; what nobody quoted stays.
    #[test]
    fn quoted_lines_go() {
        let said = Said::new([(0, "My dog is called Biscuit.\nHe likes walks. Yes.")].into_iter());
        let check = |body: &str, expected: &str| assert_eq!(said.beside(body), expected);
        check(
            "U0: My dog is called Biscuit.\nYes.\nA1: A fine name.\n* He likes walks.",
            "A1: A fine name.",
        );
        check("U0: My dog is called Biscuit.\nHe barks.", "U0: He barks.");
        check(
            "A1: Yes.\nU2: My cat is called Biscuit.",
            "A1: Yes.\nU2: My cat is called Biscuit.",
        );
        check(
            "```\nHe likes walks. Yes.\n```",
            "```\nHe likes walks. Yes.\n```",
        );
    }
}
