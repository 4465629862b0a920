//! Changes the records, which are never summarised, and the model of a session.

use palimpsest_core::error::CoreError;
use palimpsest_core::goal::Goal;
use palimpsest_core::record::{PinKind, Records};

use crate::config::Config;
use crate::error::EngineError;
use crate::head::Head;
use crate::ports::{Durability, Op, Table};
use crate::rows::{key, seal};
use crate::setup::setup_of;

use super::{Change, PromptParts, Session};

impl Session {
    /// Replaces the system prompt.
    pub async fn set_system(&self, text: &str) -> Result<(), EngineError> {
        self.set_prompt(PromptParts {
            base: Some(text.to_owned()),
            ..PromptParts::default()
        })
        .await
    }

    /// Pins a line: the window keeps it word for word. Returns the number of the pin.
    pub async fn pin(&self, kind: PinKind, text: &str) -> Result<u32, EngineError> {
        let mut id = 0;
        let text = text.to_owned();
        self.edit_records(|records, window, counter| {
            id = records.pin(kind, &text, window, counter)?;
            Ok(())
        })
        .await?;
        Ok(id)
    }

    /// Removes a pin. The line stays in the conversation. A demand that was found is not taken for one again.
    pub async fn unpin(&self, id: u32) -> Result<(), EngineError> {
        self.edit_records(move |records, _, _| {
            if records.unpin(id) {
                Ok(())
            } else {
                Err(CoreError::NotFound { what: "pin", id }.into())
            }
        })
        .await
    }

    /// Makes a pin of a demand that was found in a message, by its number among the pins.
    pub async fn confirm_demand(&self, id: u32) -> Result<(), EngineError> {
        self.edit_records(move |records, window, counter| {
            if records.confirm(id, window, counter)? {
                Ok(())
            } else {
                Err(CoreError::NotFound { what: "demand", id }.into())
            }
        })
        .await
    }

    /// Replaces the goal, or removes it.
    pub async fn set_goal(&self, goal: Option<Goal>) -> Result<(), EngineError> {
        self.edit_records(move |records, window, counter| {
            records.goal = goal;
            records.revision += 1;
            Ok(records.check_room(window, counter)?)
        })
        .await
    }

    pub(super) async fn edit_records(
        &self,
        edit: impl FnOnce(
            &mut Records,
            u32,
            &dyn palimpsest_tokens::TokenCounter,
        ) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let id = self.0.id.clone();
        self.write(
            Durability::Strict,
            |state| {
                let mut records = state.context.records().clone();
                let window = state.head.effective_window();
                edit(&mut records, window, state.context.counter().as_ref())?;
                let mut head = state.head.clone();
                head.strikes = 0;
                let mut ops = Vec::new();
                if records.revision != state.context.records().revision {
                    records.revision = head.records + 1;
                    head.records = records.revision;
                    ops.push(Op::Add {
                        table: Table::Records,
                        key: key(&id, head.records),
                        value: seal(&records)?,
                    });
                }
                Ok((Change { ops, head }, records))
            },
            |state, records| state.context.set_records(records),
        )
        .await?;
        self.emit_budget();
        Ok(())
    }

    /// Changes the model, window or policy. Forms of messages stay; if the window is too full now, the next message
    /// compacts. In a session with a profile, another model also brings the profile's policy for it.
    pub async fn set_model(
        &self,
        model: &str,
        window: u32,
        policy: &str,
        thinking: bool,
    ) -> Result<(), EngineError> {
        let policy = self.policy_with(model, policy).await?;
        let model = model.to_owned();
        self.write(
            Durability::Strict,
            |state| {
                let counter = self.counter_of(&model);
                let mut head = state.head.clone();
                head.model = model;
                head.window = window;
                // The user may have given the server a larger window, too. Its next refusal tells.
                head.served = None;
                head.policy = policy;
                head.thinking = thinking;
                head.strikes = 0;
                let mut setup = setup_of(&head, state.context.counter().as_ref())?;
                setup.tools = state.context.setup().tools;
                Ok((
                    Change {
                        ops: Vec::new(),
                        head,
                    },
                    (setup, counter),
                ))
            },
            |state, (setup, counter)| {
                state.context.set_setup(setup);
                state.context.set_counter(counter);
            },
        )
        .await?;
        self.emit_budget();
        self.settle().await;
        Ok(())
    }

    /// Names the provider of the model, if it has another name by now. What was learned of another provider's window does not
    /// hold for this one.
    pub async fn set_provider(&self, provider: &str) -> Result<(), EngineError> {
        if self.head().provider == provider {
            return Ok(());
        }
        self.refit(Box::new(|head| provider.clone_into(&mut head.provider)))
            .await
    }

    /// Changes the inputs of the window's shares, and the shares with them. Automatic runs are tried again.
    pub(super) async fn refit(
        &self,
        edit: Box<dyn FnOnce(&mut Head) + '_>,
    ) -> Result<(), EngineError> {
        self.write(
            Durability::Strict,
            |state| {
                let mut head = state.head.clone();
                edit(&mut head);
                head.strikes = 0;
                let mut setup = setup_of(&head, state.context.counter().as_ref())?;
                setup.tools = state.context.setup().tools;
                let ops = Vec::new();
                Ok((Change { ops, head }, setup))
            },
            |state, setup| state.context.set_setup(setup),
        )
        .await
    }

    /// Replaces the settings (E3) after checking them. Forms of messages stay as they are.
    pub async fn configure(&self, mut config: Config) -> Result<(), EngineError> {
        config.validate()?;
        self.refit(Box::new(|head| {
            if let Some(policy) = config.policy.take() {
                head.policy = policy;
            }
            head.config = config;
        }))
        .await?;
        self.emit_budget();
        Ok(())
    }

    /// The settings, with the policy's name.
    pub fn config(&self) -> Config {
        let head = self.head();
        Config {
            policy: Some(head.policy),
            ..head.config
        }
    }

    /// Replaces the title `old` by an automatic one, if the session still has `old` and no person has renamed it.
    /// Returns `true` if it did.
    pub async fn propose_title(&self, old: &str, title: &str) -> Result<bool, EngineError> {
        let title = title.trim();
        let stands = |head: &Head| !head.titled && head.title == old;
        if title.is_empty() || !stands(&self.head()) {
            return Ok(false);
        }
        self.edit_head(|head| {
            if stands(head) {
                title.clone_into(&mut head.title);
            }
        })
        .await?;
        Ok(self.head().title == title)
    }

    /// Changes the title.
    pub async fn rename(&self, title: &str) -> Result<(), EngineError> {
        let title = title.trim().to_owned();
        self.edit_head(move |head| {
            head.titled = !title.is_empty();
            head.title = title;
        })
        .await
    }
}
