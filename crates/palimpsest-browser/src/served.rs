//! Asks a server for the window of a model, before the first message goes out.

use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::Signal;
use palimpsest_ollama::catalog::{self, InstalledModel, same_model};
use palimpsest_ollama::{Dialect, HttpRequest};

use crate::transport::{Transport, whole};

/// The largest list of models that is read, in bytes.
const LIST_BYTES: u32 = 8 << 20;

/// Returns the window of `model` in tokens if the server was started with one and reports it. Returns `None` if each
/// request sets the window (Ollama) or the server does not report it. An error means that the server did not answer.
pub async fn served_window(
    dialect: Dialect,
    transport: &dyn Transport,
    model: &str,
) -> Result<Option<u32>, ModelError> {
    if dialect == Dialect::Ollama {
        return Ok(None);
    }
    let list = answer(transport, catalog::list(dialect)).await?;
    let listed = list
        .and_then(|body| catalog::read_list(&body).ok())
        .and_then(|models| window_of(&models, model));
    if listed.is_some() || dialect != Dialect::LlamaCpp {
        return Ok(listed);
    }
    // Older servers report it only here.
    let props = answer(transport, catalog::props()).await?;
    Ok(props.and_then(|body| catalog::read_props(&body).ok().flatten()))
}

/// Finds the window of a model in a list. A server with a single model answers with it under any name.
fn window_of(models: &[InstalledModel], name: &str) -> Option<u32> {
    let named = models.iter().find(|m| same_model(&m.name, name));
    let only = models.first().filter(|_| models.len() == 1);
    named.or(only)?.window
}

/// Reads the body of an answer; it is empty if the server does not know the request.
async fn answer(
    transport: &dyn Transport,
    request: HttpRequest,
) -> Result<Option<Vec<u8>>, ModelError> {
    let answer = transport.send(request, Signal::never()).await?;
    if answer.status != 200 {
        return Ok(None);
    }
    Ok(Some(whole(answer.body, LIST_BYTES).await?))
}
