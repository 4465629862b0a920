//! Learns from a server's refusal for size: the real window, and the server's way to count (E1, B9).

use palimpsest_core::context::View;
use palimpsest_core::request::ModelError;

use crate::error::EngineError;
use crate::event::Event;
use crate::ports::Signal;
use crate::served::Served;

use super::partial::Prior;
use super::send::Answer;
use super::{SendEvent, SendOptions, Session};

/// The number of refusals after which the engine gives up, if the first one said nothing new about the window.
const MOST_REFUSALS: u32 = 2;

impl Session {
    /// Sets the server's present window for the session's model, or `None` if each request sets the window. If it is
    /// smaller than the session's own, budget and requests use it from now on, and the warning `window_smaller` says
    /// so. Returns `true` if this changed anything.
    pub async fn serve_window(&self, window: Option<u32>) -> Result<bool, EngineError> {
        let (asked, now, served) = {
            let head = &self.0.state.borrow().head;
            let served = window
                .filter(|window| *window < head.window)
                .map(|window| Served {
                    model: head.model.clone(),
                    provider: head.provider.clone(),
                    window,
                });
            if served == head.served {
                return Ok(false);
            }
            (head.window, head.effective_window(), served)
        };
        self.refit(Box::new(|head| head.served = served)).await?;
        let after = self.head().effective_window();
        if after < now {
            self.emit(&Event::Warning {
                code: "window_smaller",
                message: format!(
                    "The server's window has {after} tokens, not {asked}: the conversation is kept within {after} from now on. For more, start the server with a larger window."
                ),
            });
        }
        self.emit_budget();
        Ok(after != now)
    }

    /// Sends a request. After a refusal for size it learns the true size and asks again. Only if the window was full by
    /// our own count, and the server said nothing new, does the conversation continue in another session.
    pub(super) async fn ask_within(
        &self,
        options: &SendOptions,
        signal: &Signal,
        on: &dyn Fn(SendEvent),
        prior: Option<&Prior>,
    ) -> Result<Answer, EngineError> {
        // Only a question can continue in another session, not half of a reply.
        let full = prior.is_none() && {
            let context = &self.0.state.borrow().context;
            // Quotes alone do not make a window full, because they leave when there is less room.
            context.tokens().saturating_sub(context.recalled_tokens()) >= context.trigger()
        };
        let (mut refusals, mut learned) = (0, false);
        loop {
            let asked = self.0.state.borrow().context.tokens();
            let (prompt, window) = match self.ask_model(options, signal, on, prior).await {
                Err(EngineError::Model(ModelError::Overflow { prompt, window })) => {
                    (prompt, window)
                }
                other => return other,
            };
            let refused = || EngineError::from(ModelError::Overflow { prompt, window });
            refusals += 1;
            let smaller = match window {
                Some(size) if size < self.head().effective_window() => {
                    // A window too small to be divided teaches nothing.
                    self.serve_window(Some(size)).await.unwrap_or(false)
                }
                _ => false,
            };
            learned |= smaller;
            if full && !learned && (self.rolls_over_early() || self.rolls_over_after(refusals)) {
                return Err(self.go_on_elsewhere().await?);
            }
            if refusals >= MOST_REFUSALS + u32::from(learned) {
                return Err(refused());
            }
            if smaller {
                self.make_fit(options, signal, on).await?;
            }
            let room = self.room_by(asked, prompt, smaller);
            if self.0.state.borrow().context.tokens() > room {
                let before = self.layers();
                let whole = |view: &View| {
                    let is_empty = |id| view.layers.iter().any(|l| l.id == id && l.tokens == 0);
                    let loses = before.iter().any(|l| l.tokens > 0 && is_empty(l.id));
                    if loses { Err(refused()) } else { Ok(()) }
                };
                match self.shrink_to(room, whole).await {
                    Err(EngineError::Refused(_) | EngineError::Model(_)) => {
                        if full && !learned && self.rolls_over_after(MOST_REFUSALS) {
                            return Err(self.go_on_elsewhere().await?);
                        }
                        return Err(refused());
                    }
                    other => other?,
                }
            }
        }
    }

    /// The limit of the window, by our count, that the server will accept. If the server counted `prompt` tokens where
    /// we counted `asked`, the limit shrinks in the same proportion. If the server reports nothing useful, it shrinks
    /// by an eighth.
    fn room_by(&self, asked: u32, prompt: Option<u32>, smaller: bool) -> u32 {
        let limit = self.0.state.borrow().context.setup().shares.limit;
        let room = match prompt.filter(|prompt| *prompt > asked) {
            Some(prompt) => (u64::from(limit) * u64::from(asked) / u64::from(prompt))
                .min(u64::from(limit)) as u32,
            None => limit,
        };
        if room < asked || smaller {
            room
        } else {
            asked - asked / 8
        }
    }

    /// Returns `true` if an overflow leads to a new session at once: for a small model whose conversation was compacted
    /// often.
    fn rolls_over_early(&self) -> bool {
        let state = self.0.state.borrow();
        let rule = &state.head.config.rollover;
        let size = self.0.host.model_size(&state.head.model);
        let small = size.is_some_and(|size| size.nominal() <= 3);
        rule.enabled && small && state.context.view().compactions >= rule.small_model_compactions
    }

    /// Returns `true` if this number of refusals leads to a new session.
    fn rolls_over_after(&self, refusals: u32) -> bool {
        let enabled = self.0.state.borrow().head.config.rollover.enabled;
        refusals >= MOST_REFUSALS && enabled && self.message_count() > 1
    }

    async fn go_on_elsewhere(&self) -> Result<EngineError, EngineError> {
        let next = self.roll_over().await?;
        Ok(EngineError::RolledOver {
            session: next.id().to_owned(),
        })
    }
}
