//! Finds sessions that are not wholly readable and saves their readable part (S5).

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

/// The readable part of a session, as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvaged {
    /// The file. Marks stand in the place of lost parts.
    pub text: String,
    /// The faults that were found, each once.
    pub faults: Vec<Fault>,
}

impl Engine {
    /// Lists the sessions that no list can show, because their head is missing or not readable. [`Self::open`] rebuilds
    /// the head from the other rows, [`Self::salvage`] exports the readable part, and [`Self::delete`] and
    /// [`Self::purge`] work on them, too.
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

    /// Exports the readable part of a session as a file, with the faults. It changes nothing and needs no lease, so it
    /// also works on a session that another writer holds.
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
