//! Snapshots of vocabularies in a database of their own: deleting it loses nothing that was said.

use futures_channel::oneshot;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{
    IdbDatabase, IdbFactory, IdbObjectStore, IdbRequest, IdbTransaction, IdbTransactionMode,
};

use crate::global::global;

const NAME: &str = "palimpsest-vocabularies";
const SNAPSHOTS: &str = "snapshots";
/// As many as a person may go back and forth between; each has 1 to 12 MB.
const KEPT: u32 = 3;

/// Snapshots by the digest of their model. Everything it cannot do is as if nothing were kept.
#[derive(Debug)]
pub struct SnapshotCache {
    database: IdbDatabase,
}

impl SnapshotCache {
    /// Opens it. `None` where there is no database.
    pub async fn open() -> Option<Self> {
        let factory: IdbFactory = global("indexedDB")?.dyn_into().ok()?;
        let opening = factory.open_with_u32(NAME, 1).ok()?;
        let upgrade = {
            let opening = opening.clone();
            Closure::once(move || {
                if let Ok(database) = opening.result()
                    && let Ok(database) = database.dyn_into::<IdbDatabase>()
                {
                    // A store that cannot be made shows when it is used.
                    let _ = database.create_object_store(SNAPSHOTS);
                }
            })
        };
        opening.set_onupgradeneeded(Some(upgrade.as_ref().unchecked_ref()));
        let database: IdbDatabase = result(&opening).await?.dyn_into().ok()?;
        Some(Self { database })
    }

    /// The snapshot of that digest.
    pub async fn get(&self, digest: &str) -> Option<Vec<u8>> {
        let request = self
            .store(IdbTransactionMode::Readonly)?
            .get(&digest.into())
            .ok()?;
        let bytes: Uint8Array = result(&request).await?.dyn_into().ok()?;
        Some(bytes.to_vec())
    }

    /// Bytes of all snapshots.
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
        // one after the other: each has megabytes
        for key in keys.iter() {
            let request = self.store(IdbTransactionMode::Readonly)?.get(&key).ok()?;
            let bytes: Uint8Array = result(&request).await?.dyn_into().ok()?;
            sum += u64::from(bytes.length());
        }
        Some(sum)
    }

    /// Keeps a snapshot, and forgets others so that there are not too many.
    pub async fn put(&self, digest: &str, bytes: &[u8]) {
        // Without room it is asked for again next time.
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
        // A worker that ends before the transaction does would take it along.
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

/// A callback for the first of several events, and the news of it.
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

/// Waits until a transaction is over.
async fn complete(transaction: &IdbTransaction) -> Option<()> {
    let (over, receiver) = first();
    transaction.set_oncomplete(Some(over.as_ref().unchecked_ref()));
    transaction.set_onabort(Some(over.as_ref().unchecked_ref()));
    receiver.await.ok()
}

/// What a request comes to; `None` if it fails.
async fn result(request: &IdbRequest) -> Option<JsValue> {
    let (done, receiver) = first();
    request.set_onsuccess(Some(done.as_ref().unchecked_ref()));
    request.set_onerror(Some(done.as_ref().unchecked_ref()));
    receiver.await.ok()?;
    request.result().ok()
}
