//! A request to a model as a client in JavaScript reads it, and back.

use palimpsest_core::dialect::{self, Dialect};
use palimpsest_core::message::{Origin, Role};
use palimpsest_core::request::{ChatRequest, Purpose, RequestMessage, RequestOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;

/// What a client is asked. The messages are OpenAI's, which every provider's library reads.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Asked {
    model: String,
    messages: Vec<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    /// The window, in tokens.
    window: u32,
    /// Most tokens of the answer.
    max_tokens: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_p: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat_penalty: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stop: Vec<String>,
    /// A JSON schema, or the text `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    think: Option<bool>,
    purpose: Purpose,
}

impl From<ChatRequest> for Asked {
    fn from(request: ChatRequest) -> Self {
        Self {
            messages: dialect::to_values(
                request.messages.iter().map(RequestMessage::said),
                Dialect::OpenAi,
            ),
            model: request.model,
            tools: request.tools,
            window: request.options.num_ctx,
            max_tokens: request.options.num_predict,
            temperature: request.options.temperature,
            top_p: request.options.top_p,
            min_p: request.options.min_p,
            repeat_penalty: request.options.repeat_penalty,
            seed: request.options.seed,
            stop: request.options.stop,
            format: request.options.format,
            think: request.options.think,
            purpose: request.purpose,
        }
    }
}

impl Asked {
    /// The request for a server.
    pub(crate) fn request(self) -> Result<ChatRequest, Failure> {
        let parsed = dialect::parse(&self.messages, Dialect::OpenAi, Origin::Host)?;
        let system = parsed
            .system
            .iter()
            .map(|line| RequestMessage::text(Role::System, &line.text));
        let rest = parsed.messages.iter().map(|from| RequestMessage {
            role: from.message.role,
            parts: from.message.parts.clone(),
        });
        Ok(ChatRequest {
            messages: system.chain(rest).collect(),
            model: self.model,
            tools: self.tools,
            options: RequestOptions {
                temperature: self.temperature,
                top_p: self.top_p,
                min_p: self.min_p,
                repeat_penalty: self.repeat_penalty,
                seed: self.seed,
                stop: self.stop,
                format: self.format,
                think: self.think,
                ..RequestOptions::new(self.window, self.max_tokens)
            },
            purpose: self.purpose,
        })
    }
}

#[cfg(test)]
mod tests {
    use palimpsest_core::message::Part;
    use serde_json::json;

    use super::*;

    /// P7, B9: a client gets what a server gets: messages, window, the most it may write, and what it is asked for; and
    /// what it gets can be given to a server as it is.
    #[test]
    fn a_request_survives_the_way_to_a_client_and_back() {
        let request = ChatRequest {
            model: "m".into(),
            messages: vec![
                RequestMessage::text(Role::System, "Be brief."),
                RequestMessage::text(Role::User, "Which time is it?"),
                RequestMessage {
                    role: Role::Assistant,
                    parts: vec![Part::ToolCall {
                        id: "a".into(),
                        name: "clock".into(),
                        arguments: "{}".into(),
                    }],
                },
                RequestMessage {
                    role: Role::Tool,
                    parts: vec![Part::ToolResult {
                        call: "a".into(),
                        name: Some("clock".into()),
                        text: "noon".into(),
                        error: false,
                    }],
                },
            ],
            tools: vec![json!({"type": "function"})],
            options: RequestOptions {
                think: Some(false),
                min_p: Some(0.05),
                repeat_penalty: Some(1.1),
                stop: vec!["END".into()],
                format: Some(json!({"type": "object"})),
                ..RequestOptions::new(4096, 300)
            },
            purpose: Purpose::Summary,
        };
        let asked = serde_json::to_value(Asked::from(request.clone())).unwrap();
        assert_eq!(
            (
                &asked["window"],
                &asked["maxTokens"],
                &asked["purpose"],
                &asked["think"]
            ),
            (&json!(4096), &json!(300), &json!("summary"), &json!(false))
        );
        assert_eq!(asked["messages"][1]["content"], "Which time is it?");
        assert_eq!(asked["messages"][3]["tool_call_id"], "a");
        let back: Asked = serde_json::from_value(asked).unwrap();
        let back = back.request().unwrap();
        assert_eq!(back.options, request.options);
        let roles = |r: &ChatRequest| r.messages.iter().map(|m| m.role).collect::<Vec<_>>();
        assert_eq!(roles(&back), roles(&request));
        assert_eq!(back.messages[2], request.messages[2]);
    }
}
