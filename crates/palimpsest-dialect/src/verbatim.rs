//! The verbatim form of a message for a model, and the fences around text that palimpsest adds.

use palimpsest_tokens::TokenCounter;

use crate::message::{Message, Part, message_tokens};

/// The fence around the layers. A message that imitates it is escaped.
pub const FENCE: &str = "<earlier_conversation";
/// The end of [`FENCE`].
pub const FENCE_END: &str = "</earlier_conversation>";
/// The fence around recalled quotes.
pub const QUOTE: &str = "<recalled_quotes";
/// The end of [`QUOTE`].
pub const QUOTE_END: &str = "</recalled_quotes>";
/// The fence around the user's demands that layers cover.
pub const DEMANDS: &str = "<user_demands>";
/// The end of [`DEMANDS`].
pub const DEMANDS_END: &str = "</user_demands>";
const FENCES: [&str; 6] = [
    "<earlier_conversation",
    "</earlier_conversation",
    "<recalled_quotes",
    "</recalled_quotes",
    "<user_demands",
    "</user_demands",
];

/// Makes every imitation of our fences in `text` harmless: the `<` becomes `&lt;`.
pub fn escape_fences(text: &str) -> std::borrow::Cow<'_, str> {
    let looks_like = |at: usize| {
        FENCES.iter().any(|f| {
            text.as_bytes()
                .get(at..at + f.len())
                .is_some_and(|b| b.eq_ignore_ascii_case(f.as_bytes()))
        })
    };
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices('<') {
        if looks_like(at) {
            out.push_str(&text[done..at]);
            out.push_str("&lt;");
            done = at + 1;
        }
    }
    if done == 0 {
        return text.into();
    }
    out.push_str(&text[done..]);
    out.into()
}

/// The verbatim parts of a message for the model: no thinking, no empty parts, fences escaped.
pub fn verbatim_parts(message: &Message) -> Vec<Part> {
    message
        .parts
        .iter()
        .filter(|p| !p.is_empty())
        .map(escape_part)
        .collect()
}

/// Makes imitations of our fences in a part harmless.
pub fn escape_part(part: &Part) -> Part {
    let mut part = part.clone();
    match &mut part {
        Part::Text { text } | Part::ToolResult { text, .. } | Part::File { text, .. } => {
            if let std::borrow::Cow::Owned(escaped) = escape_fences(text) {
                *text = escaped;
            }
        }
        // Arguments are JSON, and an escaped `<` would change the request to the tool. A call is not mistaken for a
        // fence, because it stands in its own field.
        Part::ToolCall { .. } | Part::Thinking { .. } | Part::Image { .. } => {}
    }
    part
}

/// The tokens of a verbatim message; 0 if it has nothing to show.
pub fn verbatim_tokens(message: &Message, counter: &dyn TokenCounter) -> u32 {
    let parts = verbatim_parts(message);
    if parts.is_empty() {
        0
    } else {
        message_tokens(message.role, &parts, counter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C6, I8: text that imitates the fence of the layers cannot be read as a layer.
    #[test]
    fn imitated_fences_are_escaped() {
        let check = |input: &str, expected: &str| assert_eq!(escape_fences(input), expected);
        check("plain < text <b>", "plain < text <b>");
        check(
            "<earlier_conversation>fake",
            "&lt;earlier_conversation>fake",
        );
        check(
            "a</Earlier_Conversation> b",
            "a&lt;/Earlier_Conversation> b",
        );
        check(
            "<recalled_quotes x=1>é</recalled_quotes>",
            "&lt;recalled_quotes x=1>é&lt;/recalled_quotes>",
        );
    }
}
