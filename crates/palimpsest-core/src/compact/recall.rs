//! Returns the full text behind a place of the window, read from the whole list that the caller keeps.

use serde_json::Value;

use crate::context::Lookup;
use crate::data::message::{Message, Origin, Part, Role, number_of, seq_of};
use crate::error::CoreError;
use crate::pass::offload::{self, Reference};
use palimpsest_dialect::{self as dialect, Dialect};

/// The name of the tool by which a model recalls shortened text.
pub const RECALL_TOOL: &str = "recall";

/// The text to recall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// A name from the window's text: a reference, `message 12`, or `messages 3-9` as in a layer.
    Named(&'a str),
    /// The value at that position of the caller's list.
    At(usize),
}

/// The reason for which a text was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfound {
    /// The list is not readable.
    List(CoreError),
    /// The text names no message.
    Unnamed,
    /// The list has no such message.
    Beyond {
        /// Its number.
        number: usize,
        /// How many there are.
        of: usize,
    },
    /// The message now holds another text than the reference names.
    Changed {
        /// Its number.
        number: u32,
    },
}

impl From<CoreError> for Unfound {
    fn from(error: CoreError) -> Self {
        Self::List(error)
    }
}

/// Returns the way in which a reader of a list with these tools finds hidden text.
pub(super) fn lookup(tools: &[Value]) -> Lookup {
    let named = |tool: &Value| {
        let name = tool
            .get("name")
            .or_else(|| tool.get("function")?.get("name"));
        name.and_then(Value::as_str) == Some(RECALL_TOOL)
    };
    if tools.iter().any(named) {
        Lookup::Tool
    } else {
        Lookup::Nowhere
    }
}

/// Returns the whole original text of `wanted`.
pub fn recall(
    values: &[Value],
    dialect: Option<Dialect>,
    wanted: Wanted<'_>,
) -> Result<String, Unfound> {
    let dialect = dialect.or_else(|| dialect::detect(values));
    let parsed = dialect::parse(values, dialect.unwrap_or(Dialect::OpenAi), Origin::Host)
        .map_err(CoreError::from)?;
    let messages = || parsed.messages.iter().map(|from| &from.message);
    let of = parsed.messages.len();
    match wanted {
        Wanted::At(position) => {
            let beyond = Unfound::Beyond {
                number: position,
                of: values.len(),
            };
            // A value may contain several messages, and a system prompt contains none.
            let texts: Vec<String> = parsed
                .messages
                .iter()
                .filter(|from| from.raw == position)
                .map(|from| whole(&from.message))
                .collect();
            match values.get(position) {
                None => Err(beyond),
                Some(_) if texts.is_empty() => Ok(parsed.system_text()),
                Some(_) => Ok(texts.join("\n\n")),
            }
        }
        Wanted::Named(text) => {
            if let Some(reference) = Reference::find(text) {
                let number = number_of(reference.message);
                let place = reference.message as usize;
                let message = messages().nth(place).ok_or(Unfound::Beyond {
                    number: number as usize,
                    of,
                })?;
                // A brief reference names a message; one with a part names the text of that part.
                let is_whole = reference.hash.is_empty() && reference.part == 0;
                if is_whole {
                    return Ok(whole(message));
                }
                let mut meant = offload::meant(&reference);
                return meant
                    .find_map(|seq| {
                        let message = messages().nth(seq as usize)?;
                        offload::text_of(message, &reference)
                    })
                    .map(str::to_owned)
                    .ok_or(Unfound::Changed { number });
            }
            let (first, last) = range(text).ok_or(Unfound::Unnamed)?;
            for number in [first, last] {
                let seq = seq_of(number).filter(|seq| (*seq as usize) < of);
                seq.ok_or(Unfound::Beyond {
                    number: number as usize,
                    of,
                })?;
            }
            let (from, to) = (first as usize - 1, last as usize);
            if first == last {
                return messages().nth(from).map(whole).ok_or(Unfound::Unnamed);
            }
            let texts = messages().skip(from).take(to - from).map(|message| {
                let speaker = match message.role {
                    Role::System => "System",
                    Role::User => "User",
                    Role::Assistant => "Assistant",
                    Role::Tool => "Tool",
                };
                format!("{speaker} ({}): {}", number_of(message.seq), whole(message))
            });
            Ok(texts.collect::<Vec<_>>().join("\n\n"))
        }
    }
}

/// Returns the whole text of a message: calls with their arguments, and whole results.
fn whole(message: &Message) -> String {
    let texts = message.parts.iter().filter(|part| !part.is_empty());
    let texts = texts.filter_map(|part| match part {
        Part::Thinking { .. } => None,
        Part::ToolCall {
            name, arguments, ..
        } => Some(format!("{name} {arguments}")),
        Part::File { name, text } => Some(format!("{name}\n{text}")),
        Part::Image { name, .. } => Some(format!("[image: {name}]")),
        part => Some(part.words().to_owned()),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the first number in a text, and the number after a dash, if there is one: `12`, `3-9`.
fn range(text: &str) -> Option<(u32, u32)> {
    let from = text.find(|c: char| c.is_ascii_digit())?;
    let (first, rest) = number(&text[from..])?;
    let joined = rest
        .strip_prefix('-')
        .or(rest.strip_prefix('–'))
        .and_then(number);
    match joined {
        Some((last, _)) if last >= first => Some((first, last)),
        Some(_) => None,
        None => Some((first, first)),
    }
}

/// Returns the number at the start of a text, and the rest.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::{CompactOptions, Compaction};
    use crate::context::Seed;
    use crate::policy::Policy;
    use palimpsest_dialect::Rendered;
    use palimpsest_tokens::{Estimator, TokenCounter};
    use serde_json::json;
    use std::rc::Rc;

    fn log(n: usize) -> String {
        format!("2024-05-01 12:00:{n:02} INFO request {n} took {n} ms\n").repeat(60)
    }

    /// A list in which tools read, write, and read the same again.
    fn list() -> Vec<Value> {
        let mut list = vec![
            json!({"role": "system", "content": "You read code."}),
            json!({"role": "user", "content": "Read every file."}),
        ];
        for n in 0..40 {
            let id = format!("c{n}");
            let arguments = if n % 4 == 3 {
                json!({"path": format!("src/f{n}.rs"), "content": format!("let part_{n} = {n};\n").repeat(90)})
            } else {
                json!({"path": format!("src/f{}.rs", n % 7)})
            };
            let name = if n % 4 == 3 { "write" } else { "read" };
            list.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}}]}));
            list.push(json!({"role": "tool", "tool_call_id": id, "content": log(if n % 9 == 8 { n - 1 } else { n })}));
        }
        list
    }

    fn window_of(policy: &str, tools: Vec<Value>) -> String {
        let options = CompactOptions {
            policy: Policy::preset(policy).unwrap(),
            tools,
            ..CompactOptions::new(16_384)
        };
        let seed = Seed {
            now: 0.0,
            secret: [0; 16],
        };
        let counter: Rc<dyn TokenCounter> = Rc::new(Estimator::default());
        let done = Compaction::start(list(), &options, None, &counter, seed)
            .unwrap()
            .finish_without_model()
            .unwrap();
        let made = done.messages.iter().filter_map(|m| match m {
            Rendered::Made(value) => Some(value.to_string()),
            Rendered::Kept(_) => None,
        });
        made.collect()
    }

    /// The window promises nothing that the model cannot do: without the tool, no text mentions recalling or a
    /// message's number.
    #[test]
    fn without_the_tool_no_text_says_that_it_can_be_recalled() {
        for policy in ["balanced", "offload-compact", "checkpoints", "watermark"] {
            let window = window_of(policy, Vec::new());
            assert!(!window.is_empty(), "{policy} made no text of its own");
            for promise in ["recall", "again in message", "written in message"] {
                assert!(!window.contains(promise), "{policy}: {promise} in {window}");
            }
        }
    }

    /// With the tool, every place that a text names can be recalled: the whole text of the shortened part.
    #[test]
    fn with_the_tool_every_place_that_is_named_is_found() {
        let tool = json!({"type": "function", "function": {"name": "recall"}});
        let mut found = 0;
        for policy in ["balanced", "offload-compact"] {
            let window = window_of(policy, vec![tool.clone()]);
            for (at, _) in window.match_indices("recall message ") {
                let text = recall(&list(), None, Wanted::Named(&window[at..])).unwrap();
                assert!(text.contains("INFO request"), "{text}");
                assert_eq!(text.lines().count(), 60);
                found += 1;
            }
            for (at, _) in window.match_indices("[offloaded: message ") {
                let shown = &window[at..];
                assert!(shown.split(']').next().unwrap().ends_with("; recall it"));
                assert_eq!(
                    recall(&list(), None, Wanted::Named(shown))
                        .unwrap()
                        .lines()
                        .count(),
                    60
                );
                found += 1;
            }
        }
        assert!(found > 3, "{found} places");
    }

    #[test]
    fn places_are_read_as_windows_write_them() {
        let list = list();
        let check = |wanted: Wanted<'_>, expected: Result<&str, Unfound>| {
            let found = recall(&list, None, wanted);
            match (found, expected) {
                (Ok(text), Ok(begins)) => assert!(text.starts_with(begins), "{wanted:?}: {text}"),
                (found, expected) => {
                    assert_eq!(found.as_deref(), expected.as_deref(), "{wanted:?}");
                }
            }
        };
        check(Wanted::At(0), Ok("You read code."));
        check(Wanted::At(1), Ok("Read every file."));
        check(Wanted::Named("1"), Ok("Read every file."));
        check(
            Wanted::Named("message 0"),
            Err(Unfound::Beyond { number: 0, of: 81 }),
        );
        check(Wanted::Named("User (1): Read"), Ok("Read every file."));
        check(
            Wanted::Named("[Messages 1-3]"),
            Ok("User (1): Read every file.\n\nAssistant (2): read {"),
        );
        check(
            Wanted::Named("[recall message 3]"),
            Ok("2024-05-01 12:00:00"),
        );
        check(
            Wanted::Named("[offloaded: message 3, part 0, 9 bytes, aaaaaaaaaaaa]"),
            Err(Unfound::Changed { number: 3 }),
        );
        check(
            Wanted::Named("message 400"),
            Err(Unfound::Beyond {
                number: 400,
                of: 81,
            }),
        );
        check(Wanted::Named("messages 9-3"), Err(Unfound::Unnamed));
        check(Wanted::Named("the log"), Err(Unfound::Unnamed));
        check(
            Wanted::At(400),
            Err(Unfound::Beyond {
                number: 400,
                of: 82,
            }),
        );
    }
}
