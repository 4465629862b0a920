//! Loads the vocabulary of the user's own model from their Ollama, or from the cache.
//!
//! A worker calls [`snapshot`], so that the page never holds the megabytes of JSON in the answer to `/api/show`. The
//! worker posts a small snapshot to the page, where [`build`] makes the tables in slices. If there is no worker, the
//! page calls both; [`snapshot`] reads in slices, too. This code loads nothing from any other server.

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
/// The most work in bytes between two looks at the clock. It takes a millisecond or two.
const STEP: usize = 96 * 1024;
/// The milliseconds after which other work gets a turn. With one more step this stays below a frame of 16.
const SLICE_MS: f64 = 8.0;

/// The reason for which there is no vocabulary. The estimate stays in use.
#[derive(Debug, Clone, PartialEq)]
pub enum NoVocabulary {
    /// The server did not answer. A later attempt may work.
    Server(ModelError),
    /// The model has no tokenizer, or one that is not implemented. A later attempt will not work.
    Tokenizer(Error),
}

impl NoVocabulary {
    /// A stable code.
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

/// Returns the snapshot of a model's vocabulary: from the cache, by the digest that the server names, or from the
/// model's description, which it parses in slices while it arrives. Dropping the future stops it.
pub async fn snapshot(
    transport: &dyn Transport,
    model: &str,
    cache: Option<&SnapshotCache>,
) -> Result<Vec<u8>, NoVocabulary> {
    let digest = digest(transport, model).await?;
    if let (Some(cache), Some(digest)) = (cache, &digest)
        && let Some(bytes) = cache.get(digest).await
        // A snapshot of an older version of the program is made again.
        && Loader::from_snapshot(&bytes).is_ok()
    {
        return Ok(bytes);
    }
    let answer = transport
        .send(catalog::show(model), Signal::never())
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

/// Builds a vocabulary from its snapshot, in slices.
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

/// Gives other work a turn now and then.
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
