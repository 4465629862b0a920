//! The resources that the engine and its sessions share: the store, the host's world, the counters and the sizes of
//! models.

use std::cell::RefCell;
use std::rc::Rc;

use palimpsest_core::context::View;
use palimpsest_core::message::Role;
use palimpsest_core::model::{
    ModelProfile, ModelSize, WarningCheck, WindowAsk, WindowError, WindowSize, check_warning,
    resolve_window,
};
use palimpsest_tokens::{Count, TokenCounter};

use crate::config::ConfigError;
use crate::counting::Counting;
use crate::error::EngineError;
use crate::event::Event;
use crate::glance::measured;
use crate::head::Head;
use crate::ports::{Durability, KeyPart, Op, Query, Store, Table, World};
use crate::profile::{Profile, row_key};
use crate::rows::{hex, seal, unseal};

/// The name that is claimed for writes that belong to no session. Other tabs hear of such changes under the same name.
pub const DEVICE: &str = "device";

/// The shared resources.
pub(crate) struct Host {
    pub(crate) store: Rc<dyn Store>,
    pub(crate) world: World,
    pub(crate) counting: RefCell<Counting>,
    /// The names of models, and their sizes as providers state them.
    sizes: RefCell<Vec<(String, String)>>,
    secret: [u8; 16],
}

impl Host {
    /// Reads the device's secret or makes one, and reads the calibration of each model. `counter` counts while a
    /// session has no model. If it is exact, it also counts for each model until the model's own vocabulary is loaded.
    pub(crate) async fn start(
        store: Rc<dyn Store>,
        world: World,
        counter: Rc<dyn TokenCounter>,
    ) -> Result<Self, EngineError> {
        let name = vec!["secret".into()];
        let rows = store
            .read(Query::Get {
                table: Table::Meta,
                key: name.clone(),
            })
            .await?;
        let secret = if let Some(row) = rows.first() {
            unseal::<[u8; 16]>("the device's secret", &row.value)?
        } else {
            let secret = world.ids.random();
            let lease = store.claim(DEVICE, true).await?;
            let op = Op::Put {
                table: Table::Meta,
                key: name,
                value: seal(&secret)?,
            };
            store
                .apply(&lease, None, vec![op], Durability::Strict)
                .await?;
            secret
        };
        let counting = Counting::load(store.as_ref(), counter).await?;
        Ok(Self {
            store,
            world,
            counting,
            sizes: RefCell::default(),
            secret,
        })
    }

    /// The device's secret, for nonces.
    pub(crate) const fn secret(&self) -> [u8; 16] {
        self.secret
    }

    /// Returns a fresh identifier.
    pub(crate) fn fresh_id(&self) -> String {
        hex(&self.world.ids.random())
    }

    /// Returns the counter of a model. See [`Counting::counter`].
    pub(crate) fn counter_for(&self, model: &str) -> Rc<dyn TokenCounter> {
        self.counting.borrow().counter(model)
    }

    /// Counts the tokens of texts that go to a model, template included, with its present counter.
    pub(crate) fn prompt_of(&self, model: &str, texts: &[(Role, &str)]) -> Count {
        let counter = self.counter_for(model);
        let tokens = texts
            .iter()
            .map(|(role, text)| counter.count_message((*role).into(), text))
            .fold(counter.overhead().base, u32::saturating_add);
        Count {
            tokens,
            source: counter.source(),
            bound: counter
                .bound(tokens)
                .saturating_add(counter.template_bound(texts.len() as u32)),
        }
    }

    /// Notes a provider's statement about a model's size, such as `7.6B`. It takes precedence over the name (G5).
    pub(crate) fn know_model(&self, name: &str, parameter_size: &str) {
        let mut known = self.sizes.borrow_mut();
        match known.iter_mut().find(|(known, _)| known == name) {
            Some((_, size)) => parameter_size.clone_into(size),
            None => known.push((name.to_owned(), parameter_size.to_owned())),
        }
    }

    /// The size of a model from its provider or its name, or `None` if neither tells.
    pub(crate) fn model_size(&self, name: &str) -> Option<ModelSize> {
        ModelSize::detect(stated(&self.sizes.borrow(), name), name)
    }

    /// Returns the window for a model (B1): a named size, a number, or the usual one. `trained` is the window of the
    /// model's training in tokens. Pass the `tokens` of the result to [`crate::NewSession::window`].
    pub(crate) fn window_for(
        &self,
        model: &str,
        trained: Option<u32>,
        ask: Option<&WindowAsk>,
    ) -> Result<WindowSize, WindowError> {
        let known = self.sizes.borrow();
        let profile =
            (!model.is_empty()).then(|| ModelProfile::new(model, stated(&known, model), trained));
        resolve_window(profile.as_ref(), ask)
    }

    /// Returns the warning that is due after a compaction, once per crossing, and notes in the head that it was given.
    pub(crate) fn often_compacted(&self, head: &mut Head, view: &View) -> Option<Event> {
        let (warning, warned) = check_warning(WarningCheck {
            model: &head.model,
            size: self.model_size(&head.model),
            compactions: view.compactions,
            retention: measured(view),
            warned: head.warned,
        });
        head.warned = warned;
        warning.map(|w| Event::Warning {
            code: "compacted_often",
            message: format!("{} {}", w.message, w.recommendations.join(" ")),
        })
    }

    /// Returns the profile of that name.
    pub(crate) async fn profile(&self, name: &str) -> Result<Option<Profile>, EngineError> {
        let query = Query::Get {
            table: Table::Meta,
            key: row_key(name),
        };
        let rows = self.store.read(query).await?;
        let row = rows.first();
        Ok(row.map(|r| unseal("a profile", &r.value)).transpose()?)
    }

    /// The names of all profiles, sorted.
    pub(crate) async fn profiles(&self) -> Result<Vec<String>, EngineError> {
        let all = Query::all(Table::Meta, vec!["profile".into()]);
        let rows = self.store.read(all).await?;
        let names = rows.iter().filter_map(|r| match r.key.get(1) {
            Some(KeyPart::Text(name)) => Some(name.clone()),
            _ => None,
        });
        Ok(names.collect())
    }

    /// Returns the profile of that name, or an error if there is none.
    pub(crate) async fn known_profile(&self, name: &str) -> Result<Profile, EngineError> {
        match self.profile(name).await? {
            Some(profile) => Ok(profile),
            None => Err(ConfigError::UnknownProfile {
                name: name.to_owned(),
                known: self.profiles().await?.join(", "),
            }
            .into()),
        }
    }
}

/// The size of a model, if its provider has stated one.
fn stated<'a>(sizes: &'a [(String, String)], model: &str) -> Option<&'a str> {
    let found = sizes.iter().find(|(name, _)| name == model);
    found.map(|(_, size)| size.as_str())
}
