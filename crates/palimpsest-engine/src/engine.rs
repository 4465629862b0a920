//! The entry point: lists, creates, opens and deletes sessions.

use std::rc::Rc;

use palimpsest_core::budget::Budget;
use palimpsest_core::context::Context;
use palimpsest_core::model::{ModelSize, WindowAsk, WindowError, WindowSize};
use palimpsest_core::record::Records;
use palimpsest_tokens::{TokenCounter, Vocabulary};

use crate::blobs;
use crate::error::EngineError;
use crate::head::{Head, NewSession, SCHEMA, SessionInfo, first_head, head_json, tidied};
use crate::host::Host;
use crate::others::Others;
use crate::ports::{Durability, Expect, Lease, Op, Store, StoreError, Table, World};
use crate::rows::{key, seal, session_key};
use crate::session::{OpenSessions, SearchOthers, Session};
use crate::setup::setup;
use crate::stored::{Found, claim_whole, find_head, is_newer, listed, mended_key};
use crate::temporary;

mod profiles;

pub use crate::host::DEVICE;

/// The result for the large texts of a purged session (O3, O4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Purged {
    /// The number of texts that were deleted because no message names them any more.
    pub released: u32,
    /// A message was not readable, so all large texts stay in the store.
    pub kept: bool,
}

impl Purged {
    /// A warning for the user, if there is one.
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

/// The sessions of one store. Cloning is cheap.
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
    /// Starts the engine. Reads the device's secret or makes one, and reads the calibration of each model. `counter`
    /// counts while a session has no model. If it is exact, it also counts for each model until the model's own
    /// vocabulary is loaded.
    pub async fn start(
        store: Rc<dyn Store>,
        world: World,
        counter: Rc<dyn TokenCounter>,
    ) -> Result<Self, EngineError> {
        let host = Rc::new(Host::start(store, world, counter).await?);
        let open = Rc::new(OpenSessions::new(Rc::clone(&host)));
        Ok(Self { host, open })
    }

    /// Returns a fresh identifier.
    pub fn fresh_id(&self) -> String {
        self.host.fresh_id()
    }

    /// Returns the counter of a model: its vocabulary if that is in memory and live counts do not contradict it,
    /// otherwise an estimate with the model's calibration.
    pub fn counter_for(&self, model: &str) -> Rc<dyn TokenCounter> {
        self.host.counter_for(model)
    }

    /// The model whose vocabulary is in memory.
    pub fn vocabulary_of(&self) -> Option<String> {
        self.host.counting.borrow().held().map(str::to_owned)
    }

    /// Replaces the vocabulary in memory, or drops it for `None`. Open sessions of the models concerned count with it
    /// from now on; [`Session::settle`] recounts their content.
    pub fn set_vocabulary(&self, vocabulary: Option<(&str, Vocabulary)>) {
        self.host.counting.borrow_mut().hold(vocabulary);
        self.open.adopt_counters();
    }

    /// Recounts the content of open sessions that another counter counted, in slices between which other work runs.
    pub async fn settle(&self) {
        for session in self.open.all() {
            session.settle().await;
        }
    }

    /// Notes a provider's statement about a model's size, such as `7.6B`. It takes precedence over the name (G5).
    pub fn know_model(&self, name: &str, parameter_size: &str) {
        self.host.know_model(name, parameter_size);
    }

    /// The size of a model from its provider or its name, or `None` if neither tells.
    pub fn model_size(&self, name: &str) -> Option<ModelSize> {
        self.host.model_size(name)
    }

    /// Returns the window for a model (B1): a named size, a number, or the usual one. `trained` is the window of the
    /// model's training in tokens. Pass the `tokens` of the result to [`NewSession::window`]; they are shown, sent as
    /// `num_ctx`, and the base of all shares.
    pub fn window_for(
        &self,
        model: &str,
        trained: Option<u32>,
        ask: Option<&WindowAsk>,
    ) -> Result<WindowSize, WindowError> {
        self.host.window_for(model, trained, ask)
    }

    /// Lists all sessions that are not deleted: pinned ones first, then the most recently used first.
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>, EngineError> {
        let mut all = self.all_sessions().await?;
        all.retain(|s| s.head.deleted_at.is_none());
        Ok(all)
    }

    /// Lists the deleted sessions that can still be restored.
    pub async fn deleted_sessions(&self) -> Result<Vec<SessionInfo>, EngineError> {
        let mut all = self.all_sessions().await?;
        all.retain(|s| s.head.deleted_at.is_some());
        Ok(all)
    }

    /// Quotes what was said in other sessions of the store before a message that asks for it (R3). Temporary and deleted sessions
    /// are not quoted.
    pub fn recall_others(&self) {
        let mut others = self.open.others.borrow_mut();
        others.get_or_insert_with(|| Rc::new(Others::default()) as Rc<dyn SearchOthers>);
    }

    /// Quotes nothing of other sessions any more.
    pub fn forget_others(&self) {
        *self.open.others.borrow_mut() = None;
    }

    /// Reads the other sessions before the first message asks for them, so that it need not wait.
    pub async fn read_others(&self) -> Result<(), EngineError> {
        let others = self.open.others.borrow().clone();
        match others {
            Some(others) => others.read(&self.host).await,
            None => Ok(()),
        }
    }

    async fn all_sessions(&self) -> Result<Vec<SessionInfo>, EngineError> {
        let mut all = listed(&self.host).await?;
        palimpsest_text::order::sort_by(&mut all, |a, b| {
            (b.head.pinned, b.head.updated)
                .partial_cmp(&(a.head.pinned, a.head.updated))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        Ok(all)
    }

    /// Creates a session and opens it.
    pub async fn create(&self, new: NewSession) -> Result<Session, EngineError> {
        let id = self.fresh_id();
        self.create_with_id(&id, new).await
    }

    /// Creates a temporary session and opens it. The store has to be [`WithTemporary`](crate::WithTemporary), or the session is
    /// stored as any other.
    pub async fn create_temporary(&self, new: NewSession) -> Result<Session, EngineError> {
        let id = temporary::named(&self.fresh_id());
        self.create_with_id(&id, new).await
    }

    /// Creates a session under an identifier of the host's.
    pub async fn create_with_id(&self, id: &str, new: NewSession) -> Result<Session, EngineError> {
        let session = self.draft(id, new).await?;
        session.edit_head(|_| {}).await?;
        self.open.remember(&session);
        Ok(session)
    }

    /// Returns the budget with which such a session would begin. It stores nothing.
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

    /// Applies the profile and the policy that the settings of a new session name.
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

    /// Makes a session that is not stored yet. Its first write creates it in one transaction, and fails if the
    /// identifier is taken.
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

    /// Opens a session in the state in which it was left. `take_over` reads it again even if it is open here, because
    /// another writer may have changed it.
    pub async fn open(&self, id: &str, take_over: bool) -> Result<Session, EngineError> {
        Session::open(&self.open, id, take_over).await
    }

    /// Opens a session that another writer holds, for reading. Read it again when it changes. Every write is refused as
    /// superseded.
    pub async fn follow(&self, id: &str) -> Result<Session, EngineError> {
        Session::follow(&self.open, id).await
    }

    /// Changes the title of a session.
    pub async fn rename(&self, id: &str, title: &str) -> Result<(), EngineError> {
        let title = title.trim().to_owned();
        self.edit_head(id, move |head| {
            head.titled = !title.is_empty();
            head.title = title;
        })
        .await
    }

    /// Gives a session these tags instead of those that it has. See [`tidied`] for what becomes of them.
    pub async fn tag_session(&self, id: &str, tags: &[String]) -> Result<(), EngineError> {
        let tags = tidied(tags.iter().map(String::as_str))?;
        self.edit_head(id, move |head| head.tags = tags).await
    }

    /// Moves a session to the top of the list, or back.
    pub async fn pin_session(&self, id: &str, pinned: bool) -> Result<(), EngineError> {
        self.edit_head(id, move |head| head.pinned = pinned).await
    }

    /// Hides a session. [`Self::undelete`] restores it until [`Self::purge`] removes it.
    pub async fn delete(&self, id: &str) -> Result<(), EngineError> {
        let now = self.host.world.clock.now();
        self.edit_head(id, move |head| head.deleted_at = Some(now))
            .await
    }

    /// Restores a deleted session.
    pub async fn undelete(&self, id: &str) -> Result<(), EngineError> {
        self.edit_head(id, |head| head.deleted_at = None).await
    }

    /// Changes the head of a session. It reads other rows only if it has to rebuild the head.
    async fn edit_head(&self, id: &str, edit: impl FnOnce(&mut Head)) -> Result<(), EngineError> {
        if let Some(session) = self.open.get(id) {
            return session.edit_head(edit).await;
        }
        // A claim writes, too, so a session of a newer version is not even claimed (S5).
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

    /// Removes every row of a session for good: the only deletion there is (I1). Its large texts go with it, unless a
    /// message of another session names them (O4). If a message is not readable, nothing says which texts it names:
    /// then all of them stay, and the result says so (O3).
    pub async fn purge(&self, id: &str) -> Result<Purged, EngineError> {
        self.open.forget(id);
        let lease = self.host.store.claim(id, true).await?;
        self.purge_with(id, lease).await
    }

    /// Purges a session with an existing lease. Refused as superseded if another writer took the session over.
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
        // A store may keep large texts by session; this one no longer exists.
        drop(lease);
        let released = blobs::release(self.host.store.as_ref()).await?;
        Ok(Purged {
            released: released.unwrap_or(0),
            kept: named.is_none() || released.is_none(),
        })
    }
}
