//! Sessions that cannot be read whole: they are found, and what can be read of them is saved (S5).

use crate::audit::{Audit, Depth};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::fault::Fault;
use crate::head::Head;
use crate::ports::{Query, Table};
use crate::rows::session_key;
use crate::session::Session;
use crate::stored::stored_ids;
use crate::transfer::Format;

/// What can be read of a session, as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvaged {
    /// The file. What is lost is marked in its place.
    pub text: String,
    /// What could not be read, each once.
    pub faults: Vec<Fault>,
}

impl Engine {
    /// Sessions that no list can show, because their head cannot be read or is gone. [`Self::open`] makes it anew from
    /// their other rows, [`Self::salvage`] gives what can be read, [`Self::delete`] and [`Self::purge`] work on them.
    pub async fn damaged_sessions(&self) -> Result<Vec<String>, EngineError> {
        let mut damaged = stored_ids(self.host.store.as_ref()).await?;
        let heads = self
            .host
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
        let session = Session::follow(&self.open, id).await?;
        let text = session.export(format).await?;
        let Audit { mut faults, .. } = self.audit(id, Depth::Texts).await?;
        for loss in session.losses() {
            if !faults.contains(&loss) {
                faults.push(loss);
            }
        }
        Ok(Salvaged { text, faults })
    }
}
