//! Turns the settings of a session into the setup of the core.

use palimpsest_core::context::Setup;
use palimpsest_core::policy::Policy;
use palimpsest_core::shares::{ShareOptions, Shares};
use palimpsest_tokens::{Estimator, Source, TokenCounter};

use crate::config::Config;
use crate::error::EngineError;
use crate::head::Head;

/// Window, thinking and policy as a setup of the core.
pub(crate) fn setup(
    window: u32,
    thinking: bool,
    policy: &str,
    config: &Config,
    counter: &dyn TokenCounter,
) -> Result<Setup, EngineError> {
    config.validate()?;
    let options = ShareOptions {
        reserve: config.reserve.map(|tokens| tokens.min(window / 2)),
        thinking,
        exact: counter.source() == Source::Exact,
    };
    let mut policy = Policy::from_text(policy)?;
    config.shape(&mut policy);
    let mut setup = Setup::new(window, options, policy, 0)?;
    config.shape_setup(&mut setup);
    Ok(setup)
}

/// The setup of a head.
pub(crate) fn setup_of(head: &Head, counter: &dyn TokenCounter) -> Result<Setup, EngineError> {
    setup(
        head.effective_window(),
        head.thinking,
        &head.policy,
        &head.config,
        counter,
    )
}

impl Head {
    /// The shares of the session's window for an estimating counter. `None` if its settings are not readable.
    pub fn shares(&self) -> Option<Shares> {
        let setup = setup_of(self, &Estimator::default());
        setup.ok().map(|setup| setup.shares)
    }
}
