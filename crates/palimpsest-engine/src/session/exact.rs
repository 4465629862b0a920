//! Shows the exact input of a model, for people who look for the reason of a reply.

use palimpsest_core::message::{Part, Role};
use palimpsest_core::request::{ChatRequest, Purpose, RequestOptions};
use palimpsest_core::window::{Window, WindowMessage};

use crate::error::EngineError;

use super::{SendOptions, Session};

impl Session {
    /// Returns the request that the next round would send: the present window, the tools and the options. It sends
    /// nothing and changes nothing.
    ///
    /// # Errors
    ///
    /// A refusal if the window holds content that must not reach a model (I7).
    pub fn request(&self, options: &SendOptions) -> Result<ChatRequest, EngineError> {
        Ok(self.request_and_window(options)?.0)
    }

    pub(super) fn request_and_window(
        &self,
        options: &SendOptions,
    ) -> Result<(ChatRequest, Window), EngineError> {
        let state = self.0.state.borrow();
        let window = state.context.window();
        window.check_egress(&state.context)?;
        let own = state.head.config.tools.definitions();
        let sampling = options.sampling.or(state.head.config.sampling);
        let room = state.context.setup().shares.reserve;
        let request = ChatRequest {
            model: state.head.model.clone(),
            messages: window.to_request(),
            tools: own
                .into_iter()
                .chain(options.tools.iter().cloned())
                .collect(),
            options: RequestOptions {
                temperature: sampling.temperature,
                top_p: sampling.top_p,
                min_p: sampling.min_p,
                repeat_penalty: sampling.repeat_penalty,
                seed: sampling.seed,
                stop: options.stop.clone(),
                format: options.format.clone(),
                think: options.think,
                ..RequestOptions::new(
                    state.head.effective_window(),
                    options.max_tokens.map_or(room, |most| most.min(room)),
                )
            },
            purpose: Purpose::Chat,
        };
        Ok((request, window))
    }

    /// Returns the system message as a model reads it: prompt, mandates, skills, checks, goal and pins, and the layers
    /// if the policy puts them there. Empty if there is none.
    pub fn system_message(&self) -> String {
        let window = self.window();
        let system = window
            .messages()
            .iter()
            .filter(|m| m.role() == Role::System);
        let parts = system.flat_map(WindowMessage::parts).map(Part::words);
        parts.collect::<Vec<_>>().join("\n")
    }
}
