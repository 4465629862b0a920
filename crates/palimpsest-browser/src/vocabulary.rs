//! The vocabulary of the model a person really runs: from their own Ollama, or from what was kept of it.
//!
//! A worker calls [`snapshot`]: the answer to `/api/show` is megabytes of JSON that the page never sees. What it posts to the
//! page is small, and [`build`] makes the tables there in slices. Where no worker is to be had the page calls both: what is read
//! is read in slices, too. Nothing is loaded from anywhere else.

mod cache;

use futures_util::StreamExt;
use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::{Clock, Signal};
use palimpsest_ollama::Dialect;
use palimpsest_ollama::catalog::{self, same_model};
use palimpsest_tokens::{Error, Loader, Progress, Vocabulary};

use crate::clock::HostClock;
use crate::timer::sleep;
use crate::transport::{Transport, whole};

pub use cache::SnapshotCache;

/// The largest list of models that is read, in bytes.
const LIST_BYTES: u32 = 8 << 20;
/// The most work between two looks at the clock, in bytes. A millisecond or two.
const STEP: usize = 96 * 1024;
/// Milliseconds after which others may run. With one more step this stays below a frame of 16.
const SLICE_MS: f64 = 8.0;

/// Why there is no vocabulary: the estimate goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum NoVocabulary {
    /// The server could not be asked. It may work later.
    Server(ModelError),
    /// The model has none, or one that is not implemented. It will not work later.
    Tokenizer(Error),
}

impl NoVocabulary {
    /// A stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Server(error) => error.code(),
            Self::Tokenizer(error) => error.code(),
        }
    }
}

impl From<ModelError> for NoVocabulary {
    fn from(error: ModelError) -> Self {
        Self::Server(error)
    }
}

impl From<Error> for NoVocabulary {
    fn from(error: Error) -> Self {
        Self::Tokenizer(error)
    }
}

/// The snapshot of a model's vocabulary: from the cache by the digest that the server names, else from its description,
/// parsed in slices as it arrives. Dropping the future stops it.
pub async fn snapshot(
    transport: &dyn Transport,
    model: &str,
    cache: Option<&SnapshotCache>,
) -> Result<Vec<u8>, NoVocabulary> {
    let digest = digest(transport, model).await?;
    if let (Some(cache), Some(digest)) = (cache, &digest)
        && let Some(bytes) = cache.get(digest).await
        // What an older version of the program wrote is made again.
        && Loader::from_snapshot(&bytes).is_ok()
    {
        return Ok(bytes);
    }
    let answer = transport
        .send(catalog::show(model, true), Signal::never())
        .await?;
    if answer.status != 200 {
        return Err(NoVocabulary::Server(ModelError::ServerFailed {
            message: format!("status {}", answer.status),
        }));
    }
    let mut body = answer.body;
    let mut loader = Loader::new();
    let mut pace = Pace::new();
    loop {
        match loader.step(STEP)? {
            Progress::Hungry => match body.next().await {
                Some(chunk) => loader.push(&chunk?),
                None => loader.end(),
            },
            Progress::Working => pace.rest().await,
            Progress::Ready => break,
        }
    }
    let bytes = loader.finish()?.to_bytes().ok_or(Error::Absent)?;
    if let (Some(cache), Some(digest)) = (cache, &digest) {
        cache.put(digest, &bytes).await;
    }
    Ok(bytes)
}

/// A vocabulary from its snapshot, its tables built in slices.
pub async fn build(snapshot: &[u8]) -> Result<Vocabulary, Error> {
    let mut loader = Loader::from_snapshot(snapshot)?;
    let mut pace = Pace::new();
    while loader.step(STEP)? != Progress::Ready {
        pace.rest().await;
    }
    Ok(loader.finish()?.without_snapshot())
}

async fn digest(transport: &dyn Transport, model: &str) -> Result<Option<String>, ModelError> {
    let answer = transport
        .send(catalog::list(Dialect::Ollama), Signal::never())
        .await?;
    if answer.status != 200 {
        return Ok(None);
    }
    let list = catalog::read_list(&whole(answer.body, LIST_BYTES).await?)?;
    Ok(list
        .into_iter()
        .find(|m| same_model(&m.name, model))
        .map(|m| m.digest)
        .filter(|digest| !digest.is_empty()))
}

/// Lets others run now and then.
struct Pace {
    since: f64,
}

impl Pace {
    fn new() -> Self {
        Self {
            since: HostClock.now(),
        }
    }

    async fn rest(&mut self) {
        let now = HostClock.now();
        // A clock that was set back counts as a rest, too.
        if now - self.since >= SLICE_MS || now < self.since {
            sleep(0).await;
            self.since = HostClock.now();
        }
    }
}
