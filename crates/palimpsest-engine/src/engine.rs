//! The door: sessions are listed, made, opened and deleted here.

use std::rc::Rc;

use palimpsest_core::budget::Budget;
use palimpsest_core::context::Context;
use palimpsest_core::model::{ModelSize, WindowAsk, WindowError, WindowSize};
use palimpsest_core::record::Records;
use palimpsest_tokens::{TokenCounter, Vocabulary};

use crate::blobs;
use crate::error::EngineError;
use crate::head::{Head, NewSession, SCHEMA, SessionInfo, first_head, head_json};
use crate::host::Host;
use crate::ports::{
    Durability, Expect, KeyPart, Lease, Op, Query, Store, StoreError, Table, World,
};
use crate::rows::{key, seal, session_key};
use crate::session::{OpenSessions, Session};
use crate::setup::setup;
use crate::stored::{Found, claim_whole, find_head, is_newer, mended_key};

mod profiles;

pub use crate::host::DEVICE;

/// What became of the large texts of a session that is gone (O3, O4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Purged {
    /// Texts that went with it: no message names them any more.
    pub released: u32,
    /// Large texts could not be released, because a message could not be read: they stay in the store.
    pub kept: bool,
}

impl Purged {
    /// What the user should know, if anything.
    pub const fn warning(&self) -> Option<&'static str> {
        if self.kept {
            Some(
                "A message could not be read, so nobody knows which large texts belong to it: all of them stay in the store.",
            )
        } else {
            None
        }
    }
}

/// The sessions of one store. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) host: Rc<Host>,
    pub(crate) open: Rc<OpenSessions>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Engine {
    /// Reads the device's secret, or makes one, and what was learned about each model's counts. `counter` counts while a
    /// session has no model, and always, until its model has its own vocabulary, if it is exact.
    pub async fn start(
        store: Rc<dyn Store>,
        world: World,
        counter: Rc<dyn TokenCounter>,
    ) -> Result<Self, EngineError> {
        let host = Rc::new(Host::start(store, world, counter).await?);
        let open = Rc::new(OpenSessions::new(Rc::clone(&host)));
        Ok(Self { host, open })
    }

    /// A fresh identifier.
    pub fn fresh_id(&self) -> String {
        self.host.fresh_id()
    }

    /// What counts for a model: its vocabulary if it is the one that is held and live counts do not contradict it, else an
    /// estimate with what was learned about the model.
    pub fn counter_for(&self, model: &str) -> Rc<dyn TokenCounter> {
        self.host.counter_for(model)
    }

    /// The model whose vocabulary is held.
    pub fn vocabulary_of(&self) -> Option<String> {
        self.host.counting.borrow().held().map(str::to_owned)
    }

    /// Holds a model's vocabulary instead of the one before, or none. Open sessions of the models concerned count with it
    /// from now on; [`Session::settle`] goes over what they hold.
    pub fn set_vocabulary(&self, vocabulary: Option<(&str, Vocabulary)>) {
        self.host.counting.borrow_mut().hold(vocabulary);
        self.open.adopt_counters();
    }

    /// Goes over what open sessions hold that another counter counted, in slices between which others run.
    pub async fn settle(&self) {
        for session in self.open.all() {
            session.settle().await;
        }
    }

    /// What a provider says about a model's size, such as `7.6B`: it goes before what the name says (G5).
    pub fn know_model(&self, name: &str, parameter_size: &str) {
        self.host.know_model(name, parameter_size);
    }

    /// The size of a model as its provider or its name says it; `None` if neither does.
    pub fn model_size(&self, name: &str) -> Option<ModelSize> {
        self.host.model_size(name)
    }

    /// The window to run a model with (B1): a named size, a number, or what is usual for it. `trained` is the context
    /// it was made for. Its `tokens` are what [`NewSession::window`] takes: shown, sent as `num_ctx` and divided by.
    pub fn window_for(
        &self,
        model: &str,
        trained: Option<u32>,
        ask: Option<&WindowAsk>,
    ) -> Result<WindowSize, WindowError> {
        self.host.window_for(model, trained, ask)
    }

    /// All sessions that are not deleted: pinned ones first, then the last used first.
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>, EngineError> {
        let mut all = self.all_sessions().await?;
        all.retain(|s| s.head.deleted_at.is_none());
        Ok(all)
    }

    /// Deleted sessions that can still be brought back.
    pub async fn deleted_sessions(&self) -> Result<Vec<SessionInfo>, EngineError> {
        let mut all = self.all_sessions().await?;
        all.retain(|s| s.head.deleted_at.is_some());
        Ok(all)
    }

    async fn all_sessions(&self) -> Result<Vec<SessionInfo>, EngineError> {
        let rows = self
            .host
            .store
            .read(Query::all(Table::Heads, Vec::new()))
            .await?;
        let mut all: Vec<SessionInfo> = rows
            .iter()
            .filter_map(|row| {
                let id = match row.key.first() {
                    Some(KeyPart::Text(id)) => id.clone(),
                    _ => return None,
                };
                // those whose head is damaged are told of by `damaged_sessions`
                palimpsest_text::json::read(&row.value)
                    .ok()
                    .map(|head| SessionInfo { id, head })
            })
            .collect();
        palimpsest_text::order::sort_by(&mut all, |a, b| {
            (b.head.pinned, b.head.updated)
                .partial_cmp(&(a.head.pinned, a.head.updated))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        Ok(all)
    }

    /// Makes a session and opens it.
    pub async fn create(&self, new: NewSession) -> Result<Session, EngineError> {
        let id = self.fresh_id();
        self.create_with_id(&id, new).await
    }

    /// As [`Self::create`], with an identifier of the host's.
    pub async fn create_with_id(&self, id: &str, new: NewSession) -> Result<Session, EngineError> {
        let session = self.draft(id, new).await?;
        session.edit_head(|_| {}).await?;
        self.open.remember(&session);
        Ok(session)
    }

    /// The budget that such a session would begin with. Nothing is stored.
    pub async fn budget_of(&self, mut new: NewSession) -> Result<Budget, EngineError> {
        self.settle_new(&mut new).await?;
        let counter = self.host.counter_for(&new.model);
        let setup = setup(
            new.window,
            new.thinking,
            &new.policy,
            &new.config,
            counter.as_ref(),
        )?;
        Ok(Context::new(setup, Records::with_system(new.system), counter).budget())
    }

    /// Takes in the profile and the policy that the settings of a new session name.
    async fn settle_new(&self, new: &mut NewSession) -> Result<(), EngineError> {
        if let Some(policy) = new.config.policy.take() {
            new.policy = policy;
        }
        if let Some(name) = &new.profile {
            let profile = self.host.known_profile(name).await?;
            profile.apply(&new.model, &mut new.policy, &mut new.config)?;
        }
        Ok(())
    }

    /// A session that is in no store yet: its first write makes it, in one transaction with what that writes. Refused
    /// there if the identifier is taken.
    pub(crate) async fn draft(
        &self,
        id: &str,
        mut new: NewSession,
    ) -> Result<Session, EngineError> {
        self.settle_new(&mut new).await?;
        let counter = self.host.counter_for(&new.model);
        let setup = setup(
            new.window,
            new.thinking,
            &new.policy,
            &new.config,
            counter.as_ref(),
        )?;
        let records = Records {
            revision: 1,
            ..Records::with_system(std::mem::take(&mut new.system))
        };
        records.check_room(new.window, counter.as_ref())?;
        let lease = self.host.store.claim(id, false).await?;
        let head = first_head(new, lease.epoch, self.host.world.clock.now());
        let first = vec![Op::Add {
            table: Table::Records,
            key: key(id, 1),
            value: seal(&records)?,
        }];
        Ok(Session::begin(
            &self.open, id, lease, head, setup, records, first,
        ))
    }

    /// Opens a session: from its head, as it was left. `take_over` reads it anew even if it is open here:
    /// another writer may have been at it.
    pub async fn open(&self, id: &str, take_over: bool) -> Result<Session, EngineError> {
        Session::open(&self.open, id, take_over).await
    }

    /// A session that another writer holds, as it stands now: to be read along, and read again when it
    /// changes. Whatever would be written is refused as superseded.
    pub async fn follow(&self, id: &str) -> Result<Session, EngineError> {
        Session::follow(&self.open, id).await
    }

    /// Another title.
    pub async fn rename(&self, id: &str, title: &str) -> Result<(), EngineError> {
        let title = title.trim().to_owned();
        self.edit_head(id, move |head| {
            head.titled = !title.is_empty();
            head.title = title;
        })
        .await
    }

    /// Puts a session first in the list, or back.
    pub async fn pin_session(&self, id: &str, pinned: bool) -> Result<(), EngineError> {
        self.edit_head(id, move |head| head.pinned = pinned).await
    }

    /// Hides a session. [`Self::undelete`] brings it back; [`Self::purge`] does not.
    pub async fn delete(&self, id: &str) -> Result<(), EngineError> {
        let now = self.host.world.clock.now();
        self.edit_head(id, move |head| head.deleted_at = Some(now))
            .await
    }

    /// Brings a deleted session back.
    pub async fn undelete(&self, id: &str) -> Result<(), EngineError> {
        self.edit_head(id, |head| head.deleted_at = None).await
    }

    /// Changes the head of a session. Nothing else of it is read, unless it has to tell what the head was.
    async fn edit_head(&self, id: &str, edit: impl FnOnce(&mut Head)) -> Result<(), EngineError> {
        if let Some(session) = self.open.get(id) {
            return session.edit_head(edit).await;
        }
        // a claim writes, too: what a newer version has written is not even claimed (S5)
        if is_newer(self.host.store.as_ref(), id).await? {
            return Err(StoreError::Newer.into());
        }
        let lease = claim_whole(&self.host, id, false).await?;
        let Found::Whole(mut head) = find_head(&self.host, id).await? else {
            return Err(StoreError::Superseded.into());
        };
        if head.schema > SCHEMA {
            return Err(StoreError::Newer.into());
        }
        let expect = Expect {
            version: Some(head.version),
        };
        head.version += 1;
        head.updated = self.host.world.clock.now();
        edit(&mut head);
        let op = Op::Put {
            table: Table::Heads,
            key: session_key(id),
            value: head_json(&head)?,
        };
        self.host
            .store
            .apply(&lease, Some(expect), vec![op], Durability::Strict)
            .await?;
        self.host.world.notify.changed(id, head.version);
        Ok(())
    }

    /// Removes every row of a session for good: the one deletion there is (I1). Its large texts go with it,
    /// unless a message of another session names them by then (O4). Where a message cannot be read nobody knows which texts it
    /// names: then all of them stay, and the result says so (O3).
    pub async fn purge(&self, id: &str) -> Result<Purged, EngineError> {
        self.open.forget(id);
        let lease = self.host.store.claim(id, true).await?;
        self.purge_with(id, lease).await
    }

    /// As [`Self::purge`], by who has the right to write the session. Refused as superseded if somebody took it over.
    pub(crate) async fn purge_with(&self, id: &str, lease: Lease) -> Result<Purged, EngineError> {
        let named = blobs::named_by(self.host.store.as_ref(), id).await?;
        let own = [
            Table::Messages,
            Table::Revisions,
            Table::Renditions,
            Table::Layers,
            Table::Notes,
            Table::Records,
            Table::Snapshots,
            Table::Partials,
            Table::Jobs,
            Table::Log,
            Table::Heads,
        ];
        let ops = own
            .map(|table| Op::DeletePrefix {
                table,
                prefix: session_key(id),
            })
            .to_vec();
        let loose = match &named {
            Some(named) => blobs::loosening(id, named)?,
            None => None,
        };
        let mended = Op::Delete {
            table: Table::Meta,
            key: mended_key(id),
        };
        let ops = ops.into_iter().chain(loose).chain([mended]).collect();
        self.host
            .store
            .apply(&lease, None, ops, Durability::Strict)
            .await?;
        // a store may keep large texts by session: given back, this one is gone
        drop(lease);
        let released = blobs::release(self.host.store.as_ref()).await?;
        Ok(Purged {
            released: released.unwrap_or(0),
            kept: named.is_none() || released.is_none(),
        })
    }
}
