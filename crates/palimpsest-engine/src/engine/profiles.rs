//! Profiles: saving, applying to the sessions that use them, removing (W4).

use crate::error::EngineError;
use crate::ports::{Durability, Op, Table};
use crate::profile::{Profile, row_key, wrong};
use crate::rows::seal;

use super::{DEVICE, Engine};

impl Engine {
    /// Saves a profile under a name. Sessions that use it adopt it at once, except those that another writer holds,
    /// which adopt it when their host tells them. Returns the number of sessions that use it and the ones among them
    /// that another writer holds.
    pub async fn save_profile(
        &self,
        name: &str,
        profile: &Profile,
    ) -> Result<(u32, u32), EngineError> {
        profile.validate()?;
        if name.trim().is_empty() {
            return Err(wrong("profile", &"it has a name"));
        }
        let lease = self.host.store.claim(DEVICE, true).await?;
        let op = Op::Put {
            table: Table::Meta,
            key: row_key(name),
            value: seal(profile)?,
        };
        self.host
            .store
            .apply(&lease, None, vec![op], Durability::Strict)
            .await?;
        self.host.world.notify.changed(DEVICE, 0);
        let (mut done, mut held) = (0, 0);
        for info in self.sessions().await? {
            if info.head.profile.as_deref() != Some(name) {
                continue;
            }
            let taken = match self.open(&info.id, false).await {
                Ok(session) => session.use_profile(Some(name)).await,
                Err(error) => Err(error),
            };
            match taken {
                Ok(()) => done += 1,
                Err(EngineError::Store(_)) => held += 1,
                Err(error) => return Err(error),
            }
        }
        Ok((done, held))
    }

    /// Returns the profile of that name.
    pub async fn profile(&self, name: &str) -> Result<Option<Profile>, EngineError> {
        self.host.profile(name).await
    }

    /// The names of all profiles, sorted.
    pub async fn profiles(&self) -> Result<Vec<String>, EngineError> {
        self.host.profiles().await
    }

    /// Removes a profile. Sessions that used it keep their settings.
    pub async fn remove_profile(&self, name: &str) -> Result<(), EngineError> {
        let lease = self.host.store.claim(DEVICE, true).await?;
        let op = Op::DeletePrefix {
            table: Table::Meta,
            prefix: row_key(name),
        };
        self.host
            .store
            .apply(&lease, None, vec![op], Durability::Strict)
            .await?;
        self.host.world.notify.changed(DEVICE, 0);
        Ok(())
    }
}
