//! Keeps snapshots of vocabularies in a database of their own. Deleting it loses nothing of a conversation.

use futures_channel::oneshot;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{
    IdbDatabase, IdbFactory, IdbObjectStore, IdbRequest, IdbTransaction, IdbTransactionMode,
};

use crate::global::global;

const NAME: &str = "palimpsest-vocabularies";
const SNAPSHOTS: &str = "snapshots";
/// The number of snapshots that are kept, enough for a person who switches between models. Each has 1 to 12 MB.
const KEPT: u32 = 3;

/// Snapshots by the digest of their model. If any operation fails, the cache behaves as if it were empty.
#[derive(Debug)]
pub struct SnapshotCache {
    database: IdbDatabase,
}

impl SnapshotCache {
    /// Opens the cache. `None` if there is no database.
    pub async fn open() -> Option<Self> {
        let factory: IdbFactory = global("indexedDB")?.dyn_into().ok()?;
        let opening = factory.open_with_u32(NAME, 1).ok()?;
        let upgrade = {
            let opening = opening.clone();
            Closure::once(move || {
                if let Ok(database) = opening.result()
                    && let Ok(database) = database.dyn_into::<IdbDatabase>()
                {
                    // If the store cannot be made, its first use fails.
                    let _ = database.create_object_store(SNAPSHOTS);
                }
            })
        };
        opening.set_onupgradeneeded(Some(upgrade.as_ref().unchecked_ref()));
        let database: IdbDatabase = result(&opening).await?.dyn_into().ok()?;
        Some(Self { database })
    }

    /// Returns the snapshot for that digest.
    pub async fn get(&self, digest: &str) -> Option<Vec<u8>> {
        let request = self
            .store(IdbTransactionMode::Readonly)?
            .get(&digest.into())
            .ok()?;
        let bytes: Uint8Array = result(&request).await?.dyn_into().ok()?;
        Some(bytes.to_vec())
    }

    /// The bytes of all snapshots together.
    pub async fn bytes(&self) -> u64 {
        self.sum().await.unwrap_or(0)
    }

    async fn sum(&self) -> Option<u64> {
        let keys = self
            .store(IdbTransactionMode::Readonly)?
            .get_all_keys()
            .ok()?;
        let keys: Array = result(&keys).await?.dyn_into().ok()?;
        let mut sum = 0;
        // One after the other, because each has megabytes.
        for key in keys.iter() {
            let request = self.store(IdbTransactionMode::Readonly)?.get(&key).ok()?;
            let bytes: Uint8Array = result(&request).await?.dyn_into().ok()?;
            sum += u64::from(bytes.length());
        }
        Some(sum)
    }

    /// Stores a snapshot and deletes older ones beyond the limit.
    pub async fn put(&self, digest: &str, bytes: &[u8]) {
        // If there is no room, the next visit asks the server again.
        let _ = self.keep(digest, bytes).await;
    }

    async fn keep(&self, digest: &str, bytes: &[u8]) -> Option<()> {
        let request = self
            .store(IdbTransactionMode::Readonly)?
            .get_all_keys()
            .ok()?;
        let keys: Array = result(&request).await?.dyn_into().ok()?;
        let others: Vec<JsValue> = keys
            .iter()
            .filter(|key| key.as_string().as_deref() != Some(digest))
            .collect();
        let store = self.store(IdbTransactionMode::Readwrite)?;
        let too_many = (others.len() as u32 + 1).saturating_sub(KEPT);
        for key in others.iter().take(too_many as usize) {
            store.delete(key).ok()?;
        }
        store
            .put_with_key(&Uint8Array::from(bytes), &digest.into())
            .ok()?;
        // A worker that ends before the transaction would abort it.
        complete(&store.transaction()).await
    }

    fn store(&self, mode: IdbTransactionMode) -> Option<IdbObjectStore> {
        let transaction = self
            .database
            .transaction_with_str_and_mode(SNAPSHOTS, mode)
            .ok()?;
        transaction.object_store(SNAPSHOTS).ok()
    }
}

impl Drop for SnapshotCache {
    fn drop(&mut self) {
        self.database.close();
    }
}

/// Returns a callback for the first of several events, and a receiver that hears of it.
fn first() -> (Closure<dyn FnMut()>, oneshot::Receiver<()>) {
    let (sender, receiver) = oneshot::channel();
    let mut sender = Some(sender);
    let heard = Closure::<dyn FnMut()>::new(move || {
        if let Some(sender) = sender.take() {
            let _ = sender.send(());
        }
    });
    (heard, receiver)
}

/// Waits for the end of a transaction.
async fn complete(transaction: &IdbTransaction) -> Option<()> {
    let (over, receiver) = first();
    transaction.set_oncomplete(Some(over.as_ref().unchecked_ref()));
    transaction.set_onabort(Some(over.as_ref().unchecked_ref()));
    receiver.await.ok()
}

/// Returns the result of a request, or `None` if it fails.
async fn result(request: &IdbRequest) -> Option<JsValue> {
    let (done, receiver) = first();
    request.set_onsuccess(Some(done.as_ref().unchecked_ref()));
    request.set_onerror(Some(done.as_ref().unchecked_ref()));
    receiver.await.ok()?;
    request.result().ok()
}
