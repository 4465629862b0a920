//! The door: sessions are listed, made, opened and deleted here.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use palimpsest_core::budget::Budget;
use palimpsest_core::context::{Context, Setup};
use palimpsest_core::mode::Mode;
use palimpsest_core::policy::Policy;
use palimpsest_core::record::Records;
use palimpsest_core::shares::ShareOptions;
use palimpsest_core::sorted::SortedMap;
use palimpsest_tokens::{Source, TokenCounter};

use crate::blobs;
use crate::config::Config;
use crate::counting::Counting;
use crate::damage::{Found, find_head, mended_key};
use crate::error::EngineError;
use crate::head::{Head, SCHEMA, SessionInfo};
use crate::ports::{
    Durability, Expect, KeyPart, Lease, Op, Query, Store, StoreError, Table, World,
};
use crate::profile;
use crate::rows::{hex, key, seal, session_key, unseal};
use crate::session::{Inner, Session};

/// What a new session starts with.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its title; empty to take it from the first message.
    pub title: String,
    /// The model's name.
    pub model: String,
    /// The window in tokens.
    pub window: u32,
    /// The policy's name.
    pub policy: String,
    /// The system prompt.
    pub system: String,
    /// The model thinks before it answers.
    pub thinking: bool,
    /// Who runs the model, as the host calls it.
    pub provider: String,
    /// What kind of work the conversation is (G4).
    pub mode: Mode,
    /// Settings (E3). A policy named here goes before [`Self::policy`].
    pub config: Config,
    /// The project's profile: its settings and its policy for the model go before [`Self::policy`] and
    /// [`Self::config`] (W4).
    pub profile: Option<String>,
}

impl Default for NewSession {
    fn default() -> Self {
        Self {
            title: String::new(),
            model: String::new(),
            window: 8_192,
            policy: "balanced".into(),
            system: String::new(),
            thinking: false,
            provider: String::new(),
            mode: Mode::default(),
            config: Config::default(),
            profile: None,
        }
    }
}

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

/// What is claimed to write what belongs to no session, and the name under which other tabs hear of such a change.
pub const DEVICE: &str = "device";

/// The sessions of one store. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) store: Rc<dyn Store>,
    pub(crate) world: World,
    pub(crate) counting: Rc<RefCell<Counting>>,
    /// What providers say about the sizes of their models.
    pub(crate) sizes: Rc<RefCell<SortedMap<String, String>>>,
    secret: [u8; 16],
    pub(crate) open: Rc<RefCell<SortedMap<String, Weak<Inner>>>>,
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
            counting: Rc::new(counting),
            sizes: Rc::default(),
            secret,
            open: Rc::default(),
        })
    }

    /// The device's secret, for nonces.
    pub(crate) const fn secret(&self) -> [u8; 16] {
        self.secret
    }

    /// The sessions that are open now.
    pub(crate) fn open_sessions(&self) -> Vec<Session> {
        let open = self.open.borrow();
        open.values()
            .filter_map(Weak::upgrade)
            .map(Session::from_inner)
            .collect()
    }

    /// A fresh identifier.
    pub fn fresh_id(&self) -> String {
        hex(&self.world.ids.random())
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
        self.remember(id, &session);
        Ok(session)
    }

    /// The budget that such a session would begin with. Nothing is stored.
    pub async fn budget_of(&self, mut new: NewSession) -> Result<Budget, EngineError> {
        self.settle_new(&mut new).await?;
        let counter = self.counter_for(&new.model);
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
            let profile = self.known_profile(name).await?;
            profile::apply(&profile, &new.model, &mut new.policy, &mut new.config)?;
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
        let counter = self.counter_for(&new.model);
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
        let lease = self.store.claim(id, false).await?;
        let head = first_head(new, lease.epoch, self.world.clock.now());
        let first = vec![Op::Add {
            table: Table::Records,
            key: key(id, 1),
            value: seal(&records)?,
        }];
        Ok(Session::begin(self, id, lease, head, setup, records, first))
    }

    /// Opens a session: from its head, as it was left. `take_over` reads it anew even if it is open here:
    /// another writer may have been at it.
    pub async fn open(&self, id: &str, take_over: bool) -> Result<Session, EngineError> {
        let there = self.open.borrow().get(id).and_then(Weak::upgrade);
        if let Some(inner) = there.filter(|_| !take_over) {
            return Ok(Session::from_inner(inner));
        }
        let session = Session::load(self, id, take_over).await?;
        self.remember(id, &session);
        Ok(session)
    }

    /// A session that another writer holds, as it stands now: to be read along, and read again when it
    /// changes. Whatever would be written is refused as superseded.
    pub async fn follow(&self, id: &str) -> Result<Session, EngineError> {
        Session::follow(self, id).await
    }

    pub(crate) fn remember(&self, id: &str, session: &Session) {
        let mut open = self.open.borrow_mut();
        open.retain(|_, inner| inner.strong_count() > 0);
        open.insert(id.to_owned(), session.downgrade());
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
        let now = self.world.clock.now();
        self.edit_head(id, move |head| head.deleted_at = Some(now))
            .await
    }

    /// Brings a deleted session back.
    pub async fn undelete(&self, id: &str) -> Result<(), EngineError> {
        self.edit_head(id, |head| head.deleted_at = None).await
    }

    /// Changes the head of a session. Nothing else of it is read, unless it has to tell what the head was.
    async fn edit_head(&self, id: &str, edit: impl FnOnce(&mut Head)) -> Result<(), EngineError> {
        let there = self.open.borrow().get(id).and_then(Weak::upgrade);
        if let Some(inner) = there {
            return Session::from_inner(inner).edit_head(edit).await;
        }
        // a claim writes, too: what a newer version has written is not even claimed (S5)
        if self.is_newer(id).await? {
            return Err(StoreError::Newer.into());
        }
        let lease = self.claim_whole(id, false).await?;
        let Found::Whole(mut head) = find_head(self, id).await? else {
            return Err(StoreError::Superseded.into());
        };
        if head.schema > SCHEMA {
            return Err(StoreError::Newer.into());
        }
        let expect = Expect {
            version: Some(head.version),
        };
        head.version += 1;
        head.updated = self.world.clock.now();
        edit(&mut head);
        let op = Op::Put {
            table: Table::Heads,
            key: session_key(id),
            value: head_json(&head)?,
        };
        self.store
            .apply(&lease, Some(expect), vec![op], Durability::Strict)
            .await?;
        self.world.notify.changed(id, head.version);
        Ok(())
    }

    /// Whether a newer version of this software has written the session's head.
    pub(crate) async fn is_newer(&self, id: &str) -> Result<bool, StoreError> {
        #[derive(serde::Deserialize)]
        struct Version {
            schema: u32,
        }
        let head = Query::Get {
            table: Table::Heads,
            key: session_key(id),
        };
        let rows = self.store.read(head).await?;
        // a head that cannot be read says nothing
        Ok(rows.first().is_some_and(|row| {
            palimpsest_text::json::read(&row.value).is_ok_and(|v: Version| v.schema > SCHEMA)
        }))
    }

    /// Removes every row of a session for good: the one deletion there is (I1). Its large texts go with it,
    /// unless a message of another session names them by then (O4). Where a message cannot be read nobody knows which texts it
    /// names: then all of them stay, and the result says so (O3).
    pub async fn purge(&self, id: &str) -> Result<Purged, EngineError> {
        self.open.borrow_mut().remove(id);
        let lease = self.store.claim(id, true).await?;
        self.purge_with(id, lease).await
    }

    /// As [`Self::purge`], by who has the right to write the session. Refused as superseded if somebody took it over.
    pub(crate) async fn purge_with(&self, id: &str, lease: Lease) -> Result<Purged, EngineError> {
        let named = blobs::named_by(self.store.as_ref(), id).await?;
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
        self.store
            .apply(&lease, None, ops, Durability::Strict)
            .await?;
        // a store may keep large texts by session: given back, this one is gone
        drop(lease);
        let released = blobs::release(self.store.as_ref()).await?;
        Ok(Purged {
            released: released.unwrap_or(0),
            kept: named.is_none() || released.is_none(),
        })
    }
}

/// The head of a session that begins.
pub(crate) fn first_head(new: NewSession, epoch: u32, now: f64) -> Head {
    Head {
        epoch,
        version: 0,
        schema: SCHEMA,
        revision: 0,
        last_revision: 0,
        tip: None,
        last_seq: None,
        messages: 0,
        tokens: 0,
        records: 1,
        titled: !new.title.is_empty(),
        title: new.title,
        model: new.model,
        window: new.window,
        policy: new.policy,
        thinking: new.thinking,
        created: now,
        updated: now,
        deleted_at: None,
        pinned: false,
        strikes: 0,
        snapshots: 0,
        warned: false,
        provider: new.provider,
        mode: new.mode,
        config: new.config,
        profile: new.profile,
        continues: None,
        served: None,
        glance: None,
    }
}

/// Window, thinking and policy of a head as the core wants them.
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
    config.shape_shares(&mut setup.shares);
    Ok(setup)
}

/// As [`setup`], of a head.
pub(crate) fn setup_of(head: &Head, counter: &dyn TokenCounter) -> Result<Setup, EngineError> {
    setup(
        head.effective_window(),
        head.thinking,
        &head.policy,
        &head.config,
        counter,
    )
}

pub(crate) fn head_json(head: &Head) -> Result<String, StoreError> {
    serde_json::to_string(head).map_err(|e| StoreError::Failed(e.to_string()))
}
