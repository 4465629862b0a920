//! A session whose head cannot be read, or is gone: it is found by its other rows, and gets a head that they tell (S5).

use palimpsest_core::message::Role;
use palimpsest_core::sorted::SortedSet;

use crate::audit::{Audit, Depth, Fault};
use crate::config::Config;
use crate::engine::{Engine, NewSession, first_head, head_json, setup};
use crate::error::EngineError;
use crate::head::{Head, title_of};
use crate::ports::{Durability, Key, KeyPart, Lease, Op, Query, Store, StoreError, Table};
use crate::rows::{seal, session_key, unseal};
use crate::session::{Session, Snapshot, rebuilt_parts};
use crate::transfer::Format;

/// The largest window that a head which is made anew gets, in tokens.
const LARGEST_WINDOW: u32 = 1 << 20;

/// A session's head, and whether it stood there so.
pub(crate) enum Found {
    /// As it was written.
    Whole(Head),
    /// Told by the other rows; with the text that stood there, if one did.
    Rebuilt(Head, Option<String>),
}

/// What can be read of a session, as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvaged {
    /// The file. What is lost is marked in its place.
    pub text: String,
    /// What could not be read, each once.
    pub faults: Vec<Fault>,
}

/// The key of the row that says that a session's head was made anew. It holds what stood there.
pub(crate) fn mended_key(id: &str) -> Key {
    vec!["damaged".into(), id.into()]
}

/// Whether the head of a session was made anew once.
pub(crate) async fn was_mended(store: &dyn Store, id: &str) -> Result<bool, StoreError> {
    let query = Query::Get {
        table: Table::Meta,
        key: mended_key(id),
    };
    Ok(!store.read(query).await?.is_empty())
}

/// The identifiers of all sessions: of those with a head, and of those that only have other rows.
pub(crate) async fn stored_ids(store: &dyn Store) -> Result<Vec<String>, StoreError> {
    let mut ids = SortedSet::default();
    // a session has its first records from its first write on
    for table in [Table::Heads, Table::Records] {
        for row in store.read(Query::all(table, Vec::new())).await? {
            if let Some(KeyPart::Text(id)) = row.key.first() {
                ids.insert(id.clone());
            }
        }
    }
    Ok(ids.iter().cloned().collect())
}

/// The head of a session as it stands, or as its other rows tell it.
pub(crate) async fn find_head(engine: &Engine, id: &str) -> Result<Found, EngineError> {
    let query = Query::Get {
        table: Table::Heads,
        key: session_key(id),
    };
    let stood = engine.store.read(query).await?.pop().map(|row| row.value);
    if let Some(text) = &stood
        && let Ok(head) = palimpsest_text::json::read(text)
    {
        return Ok(Found::Whole(head));
    }
    if stood.is_none() {
        let mut any = false;
        for table in [Table::Records, Table::Messages] {
            any |= last_number(engine.store.as_ref(), table, id)
                .await?
                .is_some();
        }
        if !any {
            return Err(EngineError::NoSession(id.to_owned()));
        }
    }
    Ok(Found::Rebuilt(rebuilt(engine, id).await?, stood))
}

/// The highest number of a session's rows in a table.
pub(crate) async fn last_number(
    store: &dyn Store,
    table: Table,
    id: &str,
) -> Result<Option<u32>, StoreError> {
    let query = Query::Range {
        table,
        prefix: session_key(id),
        from: None,
        to: None,
        reverse: true,
        limit: 1,
    };
    let rows = store.read(query).await?;
    Ok(rows.first().and_then(|row| match row.key.get(1) {
        Some(KeyPart::Number(n)) => Some(*n),
        _ => None,
    }))
}

/// A head that the other rows tell: the newest message is the last one, the newest numbers are in force. What only a
/// head says (settings, policy, window) begins anew; the window is one in which all that is shown has room.
async fn rebuilt(engine: &Engine, id: &str) -> Result<Head, EngineError> {
    let store = engine.store.as_ref();
    let snapshots = store
        .read(Query::all(Table::Snapshots, session_key(id)))
        .await?;
    let newest = snapshots
        .iter()
        .rev()
        .find_map(|row| unseal::<Snapshot>("a snapshot", &row.value).ok());
    let new = NewSession {
        model: newest
            .as_ref()
            .map_or_else(String::new, |s| s.model.clone()),
        mode: newest.map(|s| s.mode).unwrap_or_default(),
        ..NewSession::default()
    };
    let mut head = first_head(new, 0, engine.world.clock.now());
    let tip = last_number(store, Table::Messages, id).await?;
    head.tip = tip;
    head.last_seq = tip;
    head.revision = last_number(store, Table::Revisions, id).await?.unwrap_or(0);
    head.last_revision = head.revision;
    head.records = last_number(store, Table::Records, id).await?.unwrap_or(1);
    head.snapshots = last_number(store, Table::Snapshots, id).await?.unwrap_or(0);
    let context = rebuilt_parts(engine, id, &head).await?;
    let said = context.entries();
    head.messages = said.len() as u32;
    if let Some(first) = said.first() {
        head.created = first.message.at;
    }
    if let Some(last) = said.last() {
        head.updated = last.message.at;
    }
    let question = said.iter().find(|e| e.message.role == Role::User);
    head.title = question.map_or_else(String::new, |e| title_of(&e.message.words()));
    let counter = engine.counter_for(&head.model);
    while head.window < LARGEST_WINDOW {
        let config = Config::default();
        let setup = setup(head.window, false, &head.policy, &config, counter.as_ref())?;
        if context.tokens() <= setup.shares.limit {
            break;
        }
        head.window *= 2;
    }
    head.shows(&context);
    Ok(head)
}

impl Engine {
    /// Sessions that no list can show, because their head cannot be read or is gone. [`Self::open`] makes it anew from
    /// their other rows, [`Self::salvage`] gives what can be read, [`Self::delete`] and [`Self::purge`] work on them.
    pub async fn damaged_sessions(&self) -> Result<Vec<String>, EngineError> {
        let mut damaged = stored_ids(self.store.as_ref()).await?;
        let heads = self
            .store
            .read(Query::all(Table::Heads, Vec::new()))
            .await?;
        for row in heads {
            if palimpsest_text::json::read::<Head>(&row.value).is_ok() {
                damaged.retain(|id| row.key != session_key(id));
            }
        }
        Ok(damaged)
    }

    /// What can be read of a session, as a file, with what could not. Changes nothing and needs no lease: also a session
    /// that is written elsewhere can be saved.
    pub async fn salvage(&self, id: &str, format: Format) -> Result<Salvaged, EngineError> {
        let session = Session::follow(self, id).await?;
        let text = session.export(format).await?;
        let Audit { mut faults, .. } = self.audit(id, Depth::Texts).await?;
        for loss in session.losses() {
            if !faults.contains(&loss) {
                faults.push(loss);
            }
        }
        Ok(Salvaged { text, faults })
    }

    /// The right to write a session. A head that cannot be read is made anew first; what stood there is kept beside it.
    pub(crate) async fn claim_whole(
        &self,
        id: &str,
        take_over: bool,
    ) -> Result<Lease, EngineError> {
        let store = self.store.as_ref();
        let (head, stood) = match find_head(self, id).await? {
            Found::Whole(_) => return Ok(store.claim(id, take_over).await?),
            Found::Rebuilt(head, stood) => (head, stood),
        };
        let lease = match store.claim(id, take_over).await {
            // nobody holds it: a damaged head is given to who takes it over
            Err(StoreError::Corrupt(_)) => store.claim(id, true).await?,
            claimed => claimed?,
        };
        let head = Head {
            epoch: lease.epoch,
            version: 1,
            ..head
        };
        let ops = vec![
            Op::Put {
                table: Table::Meta,
                key: mended_key(id),
                value: seal(&stood)?,
            },
            Op::Put {
                table: Table::Heads,
                key: session_key(id),
                value: head_json(&head)?,
            },
        ];
        store.apply(&lease, None, ops, Durability::Strict).await?;
        Ok(lease)
    }
}
