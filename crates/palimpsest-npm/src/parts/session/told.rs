//! What callers tell sessions, and what they are told, where several functions share it.

use palimpsest_core::dialect::{self, Dialect, Parsed};
use palimpsest_core::message::Origin;
use palimpsest_engine::session::NewMessage;
use palimpsest_engine::{Fault, Format};
use serde_json::{Value, json};

use crate::border;
use crate::failure::Failure;

/// The dialect of that name; what a list looks like where none is named.
pub(crate) fn dialect(name: Option<&str>, values: &[Value]) -> Result<Dialect, Failure> {
    Ok(match name {
        Some(name) => Dialect::named(name)?,
        None => dialect::detect(values).unwrap_or(Dialect::OpenAi),
    })
}

/// A caller's messages: their system lines and the rest, ready to be said. One that stands twice under its id is one.
pub(crate) fn messages(
    json: &str,
    name: Option<&str>,
) -> Result<(String, Vec<NewMessage>), Failure> {
    let values = dialect::said_once(border::messages(json)?);
    let parsed: Parsed = dialect::parse(&values, dialect(name, &values)?, Origin::Host)?;
    let system = parsed.system_text();
    let said = parsed.messages.into_iter().map(|from| NewMessage {
        role: from.message.role,
        origin: from.message.origin,
        parts: from.message.parts,
        at: from.message.at,
        ended: None,
    });
    Ok((system, said.collect()))
}

/// What could not be read, as a caller sees it.
pub(crate) fn losses(faults: &[Fault]) -> Vec<Value> {
    let row = |fault: &Fault| match fault {
        Fault::Damaged { table, n } => json!({"what": "damaged", "table": table.name(), "n": n}),
        Fault::Missing { table, n } => json!({"what": "missing", "table": table.name(), "n": n}),
        Fault::Gap { from, .. } => json!({"what": "missing", "table": "messages", "n": from}),
        Fault::Text { seq } => json!({"what": "text", "table": "blobs", "n": seq}),
        Fault::Head => json!({"what": "head", "table": "heads"}),
        _ => json!({"what": "other"}),
    };
    let told = |fault: &Fault| {
        let mut row = row(fault);
        row["message"] = fault.to_string().into();
        row
    };
    faults.iter().map(told).collect()
}

/// The format of that name.
pub(crate) fn format_named(name: &str) -> Result<Format, Failure> {
    match name {
        "jsonl" => Ok(Format::JsonLines),
        "markdown" => Ok(Format::Markdown),
        "json" => Ok(Format::SessionJson),
        _ => {
            let why = format!("There is no format \"{name}\": jsonl, markdown or json.");
            Err(Failure::new("invalid_options", why))
        }
    }
}

#[cfg(test)]
mod tests {
    use palimpsest_core::message::{Part, Role};

    use super::*;

    /// I3: messages of any dialect become what was said; system lines before them are the system prompt.
    #[test]
    fn any_dialect_is_read() {
        let check = |json: &str, name: Option<&str>, expected: (&str, &[Role])| {
            let (system, said) = messages(json, name).unwrap();
            let roles: Vec<Role> = said.iter().map(|m| m.role).collect();
            assert_eq!((system.as_str(), roles.as_slice()), expected, "{json}");
        };
        check(
            r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}]"#,
            None,
            ("Be brief.", &[Role::User]),
        );
        check(
            r#"[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{}}]},
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"text"}]}]"#,
            Some("anthropic"),
            ("", &[Role::Assistant, Role::Tool]),
        );
        let (_, said) = messages(r#"[{"role":"user","content":"Hello"}]"#, None).unwrap();
        assert_eq!(said[0].parts, [Part::text("Hello")]);
        let twice = r#"{"id":"a","role":"user","content":"Hello"}"#;
        let other = r#"{"id":"a","role":"user","content":"Hello again"}"#;
        let (_, said) = messages(&format!("[{twice},{twice},{other}]"), None).unwrap();
        assert_eq!(said.len(), 2);
        assert_eq!(messages("7", None).unwrap_err().code(), "bad_input");
        assert_eq!(
            messages("[]", Some("klingon")).unwrap_err().code(),
            "bad_input"
        );
    }
}
