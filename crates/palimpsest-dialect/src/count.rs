//! Counts the tokens of a list as a prompt.

use palimpsest_tokens::{Count, CountRole, Source, TokenCounter};
use serde_json::Value;

use crate::error::DialectError;
use crate::lists::{detect, parse};
use crate::message::{LOOSE_TOKENS, Origin};
use crate::reasoning::reasoning;
use crate::shape::Dialect;
use crate::verbatim::verbatim_tokens;

/// Returns the tokens of `values` as a prompt, with the reasoning that is sent. The dialect is detected if none is
/// given. Texts may be counted exactly, but the cost of a template is not known from the texts, so it is part of the
/// bound.
///
/// # Errors
///
/// Those of [`parse`].
pub fn count(
    values: &[Value],
    dialect: Option<Dialect>,
    counter: &dyn TokenCounter,
) -> Result<Count, DialectError> {
    let dialect = dialect.unwrap_or_else(|| detect(values).unwrap_or(Dialect::OpenAi));
    let parsed = parse(values, dialect, Origin::Host)?;
    let system = parsed
        .system
        .iter()
        .map(|line| counter.count_message(CountRole::System, &line.text));
    let said = parsed
        .messages
        .iter()
        .map(|from| verbatim_tokens(&from.message, counter));
    let base = counter.overhead().base;
    let reasoned = reasoning(&parsed, values, counter);
    let tokens = system
        .chain(said)
        .chain(reasoned)
        .fold(base, u32::saturating_add);
    let parts = parsed.messages.iter().flat_map(|from| &from.message.parts);
    let loose = parts.filter(|part| part.is_loose()).count() as u32;
    let messages = (parsed.system.len() + parsed.messages.len()) as u32;
    let bound = counter
        .bound(tokens)
        .saturating_add(counter.template_bound(messages))
        .saturating_add(LOOSE_TOKENS.saturating_mul(loose));
    Ok(Count {
        tokens,
        source: if bound == 0 {
            counter.source()
        } else {
            Source::Estimated
        },
        bound,
    })
}
