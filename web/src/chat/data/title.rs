//! Makes a title from the first exchange: the question to the model, and the usable part of its answer.

/// Letters of each side that the model reads.
const READ: usize = 800;

/// The longest title, in letters.
const LONGEST: usize = 60;

/// More words than this are no title but an answer.
const WORDS: usize = 12;

/// The question for a title of a conversation that begins so.
pub fn question(user: &str, reply: &str) -> String {
    let head = |text: &str| text.chars().take(READ).collect::<String>();
    format!(
        "Give the conversation below a title of two to six words, in the language it is written in. Answer with the title alone: no quotation marks, no full stop, no explanation.\n\n<user>\n{}\n</user>\n\n<assistant>\n{}\n</assistant>\n\nThe title:",
        head(user),
        head(reply)
    )
}

/// The title in a model's answer; `None` if there is none. What models wrap around it goes: thinking, quotation marks,
/// marks of Markdown, "Title:".
pub fn title_in(answer: &str) -> Option<String> {
    let said = answer
        .rsplit_once("</think>")
        .map_or(answer, |(_, said)| said);
    if said.contains("<think>") {
        // it was cut off while it thought
        return None;
    }
    let line = said.lines().map(bare).find(|line| !line.is_empty())?;
    let lower = line.to_lowercase();
    let line = ["the title:", "title:", "titel:"]
        .iter()
        .find_map(|label| lower.starts_with(label).then(|| line.get(label.len()..)))
        .flatten()
        .map_or(line.clone(), bare);
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.is_empty() || words.len() > WORDS {
        return None;
    }
    let title = words.join(" ");
    (title.chars().count() <= LONGEST).then_some(title)
}

/// A line without what surrounds a title, and without letters that are not seen.
fn bare(line: &str) -> String {
    let seen: String = line.chars().filter(|c| !is_unseen(*c)).collect();
    let around = |c: char| c.is_whitespace() || "#*_`>\"'“”„‟‘’«»‹›".contains(c);
    let line = seen.trim_matches(around);
    // one full stop, not the end of "…" or "etc."
    line.strip_suffix('.')
        .filter(|rest| !rest.contains('.'))
        .unwrap_or(line)
        .trim_matches(around)
        .to_owned()
}

/// Control characters, and those that turn the direction of text around.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_in_an_answer() {
        let check = |answer: &str, expected: Option<&str>| {
            assert_eq!(title_in(answer).as_deref(), expected, "{answer:?}");
        };
        check("Rye bread at home", Some("Rye bread at home"));
        check(
            "\n\n**\"Rye bread at home.\"**\n",
            Some("Rye bread at home"),
        );
        check("Title: „Brot für die Woche“", Some("Brot für die Woche"));
        check(
            "<think>They bake.\nRye?</think>\n\n# Rye bread",
            Some("Rye bread"),
        );
        check("<think>They bake and", None);
        check("Node.js, React etc.", Some("Node.js, React etc."));
        check("ライ麦パン", Some("ライ麦パン"));
        check("a\u{202e}b\tc", Some("abc"));
        check("", None);
        check("***", None);
        check("Title:", None);
        check(
            "Sure! Here is a title for the conversation that you have asked me about today",
            None,
        );
        check(&"x".repeat(61), None);
    }

    /// The question stays short for any length of the first exchange.
    #[test]
    fn the_question_is_short() {
        let long = question(&"ä".repeat(90_000), &"b".repeat(90_000));
        assert_eq!(long.matches('ä').count(), 800);
        assert!(long.chars().count() < 2_000);
        assert!(question("Which bread?", "Rye.").contains("<assistant>\nRye.\n</assistant>"));
    }
}
