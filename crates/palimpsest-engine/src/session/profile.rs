//! Uses the settings of a project in a session (W4).

use crate::error::EngineError;
use crate::ports::Durability;
use crate::setup::setup_of;

use super::{Change, Session};

impl Session {
    /// Adopts a project's settings, with the policy for this session's model. `None` leaves the profile and keeps the
    /// settings.
    pub async fn use_profile(&self, name: Option<&str>) -> Result<(), EngineError> {
        let Some(name) = name else {
            return self.edit_head(|head| head.profile = None).await;
        };
        let profile = self.0.host.known_profile(name).await?;
        let name = name.to_owned();
        self.write(
            Durability::Strict,
            |state| {
                let mut head = state.head.clone();
                let mut config = profile.settings_for(&head.model);
                head.policy = config.policy.take().unwrap_or_default();
                head.config = config;
                head.profile = Some(name);
                head.strikes = 0;
                let mut setup = setup_of(&head, state.context.counter().as_ref())?;
                setup.tools = state.context.setup().tools;
                let ops = Vec::new();
                Ok((Change { ops, head }, setup))
            },
            |state, setup| state.context.set_setup(setup),
        )
        .await?;
        self.emit_budget();
        Ok(())
    }

    /// Returns the policy for another model: the profile's, if the session still has the policy that the profile gives
    /// its present model, otherwise `policy`.
    pub(crate) async fn policy_with(
        &self,
        model: &str,
        policy: &str,
    ) -> Result<String, EngineError> {
        let head = self.head();
        if let Some(name) = head.profile
            && model != head.model
            && policy == head.policy
            && let Some(profile) = self.0.host.profile(&name).await?
            && profile.policy_for(&head.model) == head.policy
        {
            return Ok(profile.policy_for(model).to_owned());
        }
        Ok(policy.to_owned())
    }
}
