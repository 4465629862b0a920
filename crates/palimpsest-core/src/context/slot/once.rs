//! Drops lines of a layer that are quoted in the user's own words.

use std::borrow::Cow;

use palimpsest_text::extractive::undated;
use palimpsest_text::words::segment::sentences;

/// A shorter line could come from anybody, so it is dropped only with the quoted message that it comes from.
const TELLING: usize = 12;

/// The user's own words beside the layers, each with its message.
pub(crate) struct Said {
    words: Vec<(u32, String)>,
    /// All of them, one in each line: looked through at once.
    whole: String,
}

impl Said {
    pub(crate) fn new<'a>(words: impl Iterator<Item = (u32, &'a str)>) -> Self {
        let words: Vec<(u32, String)> = words.map(|(seq, text)| (seq, one_line(text))).collect();
        let lines: Vec<&str> = words.iter().map(|(_, text)| text.as_str()).collect();
        let whole = lines.join("\n");
        Self { words, whole }
    }

    /// Returns the lines of a layer without the sentences that are quoted already.
    pub(crate) fn beside<'a>(&self, body: &'a str) -> Cow<'a, str> {
        if self.words.is_empty() {
            return Cow::Borrowed(body);
        }
        let mut from = None;
        let mut is_code = false;
        let mut dropped = false;
        let mut kept: Vec<Cow<'_, str>> = Vec::new();
        // The label of a dropped line, for the next line of the same speaker.
        let mut orphaned = "";
        // The heading of a day above lines of which none is kept yet.
        let mut above = None;
        for line in body.lines() {
            is_code ^= line.trim_start().starts_with("```");
            if !is_code && line.starts_with('[') && line.ends_with(']') {
                dropped |= above.replace(line).is_some();
                continue;
            }
            let (label, words) = labelled(line);
            if let Some(label) = &label {
                from = match label {
                    Label::User(seq) => Some(*seq),
                    Label::Other => None,
                };
                orphaned = "";
            }
            let rest = if is_code {
                Cow::Borrowed(words)
            } else if self.holds(None, line) {
                Cow::Borrowed("")
            } else {
                self.rest(from, words)
            };
            let prefix = &line[..line.len() - words.len()];
            if rest.is_empty() && !words.is_empty() {
                dropped = true;
                if label.is_some() && !line.starts_with("* ") {
                    orphaned = prefix;
                }
                continue;
            }
            kept.extend(above.take().map(Cow::Borrowed));
            if orphaned.is_empty() && matches!(rest, Cow::Borrowed(_)) {
                kept.push(Cow::Borrowed(line));
            } else {
                dropped |= matches!(rest, Cow::Owned(_));
                kept.push(Cow::Owned(format!("{orphaned}{prefix}{rest}")));
                orphaned = "";
            }
        }
        if dropped || above.is_some() {
            Cow::Owned(kept.join("\n"))
        } else {
            Cow::Borrowed(body)
        }
    }

    /// Returns the sentences of a line that are not quoted.
    fn rest<'a>(&self, from: Option<u32>, words: &'a str) -> Cow<'a, str> {
        if self.holds(from, words) {
            return Cow::Borrowed("");
        }
        let mut units = Vec::new();
        sentences(words, 0, words.len(), &mut units);
        let said: Vec<&str> = units.iter().map(|u| &words[u.start..u.end]).collect();
        let other: Vec<&str> = said
            .iter()
            .copied()
            .filter(|sentence| !self.holds(from, sentence))
            .collect();
        if other.len() == said.len() {
            Cow::Borrowed(words)
        } else {
            Cow::Owned(other.join(" "))
        }
    }

    /// Returns `true` if a quote contains the line. `from` is the user's message of the line, if the line names it.
    fn holds(&self, from: Option<u32>, line: &str) -> bool {
        // The quoted words do not have the dates that a layer adds.
        let line = one_line(&undated(line));
        if line.is_empty() {
            return false;
        }
        if line.chars().count() >= TELLING {
            return self.whole.contains(&line);
        }
        let mut its = self.words.iter().filter(|(seq, _)| from == Some(*seq));
        its.any(|(_, said)| said.contains(&line))
    }
}

/// The label at the start of a line of a layer.
enum Label {
    /// `U12:`, the number of a message of the user's, in layers of an earlier version.
    User(u32),
    /// A name, or `* ` before a fact.
    Other,
}

/// The largest number of words in a name.
const NAME: usize = 3;

/// Splits `Name: words` or `* fact` into the label, if there is one, and the words.
fn labelled(line: &str) -> (Option<Label>, &str) {
    if let Some(fact) = line.strip_prefix("* ") {
        return (Some(Label::Other), fact);
    }
    let Some((label, words)) = line.split_once(": ") else {
        return (None, line);
    };
    if let Some(Ok(seq)) = label.strip_prefix('U').map(str::parse) {
        return (Some(Label::User(seq)), words);
    }
    let is_name = label.starts_with(char::is_alphabetic)
        && !label.contains(['.', '!', '?', ','])
        && label.split_whitespace().count() <= NAME;
    if is_name {
        (Some(Label::Other), words)
    } else {
        (None, line)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::Said;

    /// P3: a line in the user's own words is dropped with its label, and lines without a quote stay.
    #[test]
    fn quoted_lines_go() {
        let said = Said::new([(0, "My dog is called Biscuit.\nHe likes walks. Yes.")].into_iter());
        let check = |body: &str, expected: &str| assert_eq!(said.beside(body), expected);
        check(
            "User: My dog is called Biscuit.\nAssistant: A fine name.\n* He likes walks.",
            "Assistant: A fine name.",
        );
        check(
            "User: My dog is called Biscuit. He barks.",
            "User: He barks.",
        );
        check(
            "User: My dog is called Biscuit.\nHe barks.",
            "User: He barks.",
        );
        check(
            "[8 May 2023]\nUser: He likes walks.\n[9 May 2023]\nAnn: He barks.",
            "[9 May 2023]\nAnn: He barks.",
        );
        check(
            "User: My dog (8 May 2023) is called Biscuit. He barks.",
            "User: He barks.",
        );
        check(
            "Assistant: Yes.\nUser: My cat is called Biscuit.",
            "Assistant: Yes.\nUser: My cat is called Biscuit.",
        );
        check("U0: My dog is called Biscuit.\nYes.\nA1: No.", "A1: No.");
        check(
            "```\nHe likes walks. Yes.\n```",
            "```\nHe likes walks. Yes.\n```",
        );
    }
}
