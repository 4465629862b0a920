//! Saying something and hearing the reply.

use std::rc::Rc;

use js_sys::{Function, Promise};
use palimpsest_browser::outline::End;
use palimpsest_core::message::{Part, Role};
use palimpsest_engine::config::Sampling;
use palimpsest_engine::ports::{LocalFuture, Signal};
use palimpsest_engine::session::{NewMessage, SendEvent, SendOptions, Summariser, ToolHandler};
use palimpsest_engine::{EngineError, Session as Engaged};
use serde::Deserialize;
use serde_json::{Value, json};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

use super::calls::{Live, Open};
use super::told::messages;
use crate::border::{options, promise, told};
use crate::failure::Failure;
use crate::host::Host;
use crate::stop::Stop;

/// How to send.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Sending {
    #[serde(default)]
    tools: Vec<Value>,
    /// The host runs tools.
    #[serde(default)]
    handled: bool,
    temperature: Option<f32>,
    top_p: Option<f32>,
    min_p: Option<f32>,
    repeat_penalty: Option<f32>,
    seed: Option<u32>,
    max_tokens: Option<u32>,
    #[serde(default)]
    stop: Vec<String>,
    format: Option<Value>,
    think: Option<bool>,
}

/// The host's tools.
struct HostTools(Rc<Host>);

impl ToolHandler for HostTools {
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
    ) -> LocalFuture<'a, Result<String, String>> {
        let answer = self.0.tool(name, arguments);
        Box::pin(async move {
            let answer = JsFuture::from(answer)
                .await
                .ok()
                .and_then(|a| a.as_string());
            let read = answer.and_then(|answer| palimpsest_text::json::read(&answer).ok());
            read.unwrap_or_else(|| Err("The tool gave no answer.".into()))
        })
    }
}

/// What is to be answered.
pub(super) enum What {
    /// This, which is said first.
    Says(NewMessage),
    /// What stands at the end.
    Waits,
    /// The reply at the end is gone on with.
    BrokeOff,
}

impl Live {
    /// Says something, in a dialect, and hears the reply: `on` gets each step, the promise the reply.
    pub(super) fn says(
        &self,
        given: &str,
        named: Option<&str>,
        how: JsValue,
        stop: &Stop,
        on: Function,
    ) -> Result<Promise, Failure> {
        let message = one_of_the_users(messages(given, named)?)?;
        self.ask(What::Says(message), how, stop, on)
    }

    /// Has the model answer.
    pub(super) fn ask(
        &self,
        what: What,
        how: JsValue,
        stop: &Stop,
        on: Function,
    ) -> Result<Promise, Failure> {
        let open = Rc::clone(&self.0);
        let how: Sending = options(how)?;
        let model = open.model.clone().ok_or_else(|| {
            Failure::new(
                "no_model",
                "There is nobody to answer: give openSession() an `llm`, such as ollama().",
            )
        })?;
        let handler: Option<Rc<dyn ToolHandler>> = if how.handled {
            Some(Rc::new(HostTools(Rc::clone(&open.host))))
        } else {
            None
        };
        let options = SendOptions {
            model,
            tools: how.tools,
            handler,
            sampling: Sampling {
                temperature: how.temperature,
                top_p: how.top_p,
                min_p: how.min_p,
                repeat_penalty: how.repeat_penalty,
                seed: how.seed,
            },
            max_tokens: how.max_tokens,
            stop: how.stop,
            format: how.format,
            think: how.think,
            summariser: Summariser::Same,
        };
        let signal = stop.signal();
        Ok(promise(async move {
            said(&open, what, &options, signal, &on).await
        }))
    }
}

async fn said(
    open: &Open,
    what: What,
    options: &SendOptions,
    signal: Signal,
    on: &Function,
) -> Result<JsValue, Failure> {
    let tell = |event: SendEvent| {
        // the wrapper's own function: it only takes the step in
        if let Ok(step) = told(&step(&event)) {
            let _ = on.call1(&JsValue::NULL, &step);
        }
    };
    open.heed_server().await;
    let mut session = open.session();
    let mut reply = match what {
        What::Says(message) => session.send(message, options, signal.clone(), &tell).await,
        What::Waits => session.reply(options, signal.clone(), &tell).await,
        What::BrokeOff => session.continue_reply(options, signal.clone(), &tell).await,
    };
    if let Err(EngineError::RolledOver { session: next }) = &reply {
        session = open.go_on_in(next).await?;
        reply = session.reply(options, signal, &tell).await;
    }
    let reply = reply?;
    told(&json!({
        "seq": reply.seq, "text": words(&session, reply.seq), "usage": reply.usage, "reason": reply.reason,
        "stopped": reply.stopped, "ended": reply.ended.map(End::from), "session": session.id(),
    }))
}

/// The text of a stored message, without thinking and calls.
fn words(session: &Engaged, seq: u32) -> String {
    let items = session.history(Some(seq + 1), 1);
    let parts = items.iter().flat_map(|item| &item.message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn one_of_the_users((system, said): (String, Vec<NewMessage>)) -> Result<NewMessage, Failure> {
    match <[NewMessage; 1]>::try_from(said) {
        Ok([message]) if message.role == Role::User && system.is_empty() => Ok(message),
        _ => Err(Failure::new(
            "bad_input",
            "send() takes one message of the user's. Others are stored with append().",
        )),
    }
}

fn step(event: &SendEvent) -> Value {
    match event {
        SendEvent::Stored(seq) => json!({"type": "stored", "seq": seq}),
        SendEvent::Delta(delta) => json!(delta),
        SendEvent::Waiting => json!({"type": "waiting"}),
        SendEvent::Tool(name) => json!({"type": "tool", "name": name}),
    }
}

#[cfg(test)]
mod tests {
    use palimpsest_core::request::{Delta, FinishReason};

    use super::*;

    /// E2: every step has a type.
    #[test]
    fn steps_have_types() {
        let check = |event: SendEvent, expected: Value| assert_eq!(step(&event), expected);
        check(SendEvent::Stored(4), json!({"type": "stored", "seq": 4}));
        check(
            SendEvent::Delta(Delta::text("a")),
            json!({"type": "text", "text": "a"}),
        );
        check(
            SendEvent::Delta(Delta::Done {
                reason: FinishReason::ToolCalls,
            }),
            json!({"type": "done", "reason": "tool_calls"}),
        );
        check(SendEvent::Waiting, json!({"type": "waiting"}));
    }

    /// I8: what is sent is the user's one message; a list that says more is refused, and nothing is stored.
    #[test]
    fn only_the_users_words_are_sent() {
        let check = |json: &str, expected: Result<Role, &str>| {
            let got = one_of_the_users(messages(json, None).unwrap());
            assert_eq!(
                got.map(|m| m.role).map_err(|e| e.code()),
                expected,
                "{json}"
            );
        };
        check(r#"[{"role":"user","content":"Hi"}]"#, Ok(Role::User));
        check("[]", Err("bad_input"));
        check(r#"[{"role":"assistant","content":"Hi"}]"#, Err("bad_input"));
        check(
            r#"[{"role":"system","content":"x"},{"role":"user","content":"Hi"}]"#,
            Err("bad_input"),
        );
    }
}
