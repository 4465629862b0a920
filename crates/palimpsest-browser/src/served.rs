//! The window that a server has for a model, asked before anything is sent.

use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::Signal;
use palimpsest_ollama::catalog::{self, InstalledModel, same_model};
use palimpsest_ollama::{Dialect, HttpRequest};

use crate::transport::{Transport, whole};

/// The largest list of models that is read, in bytes.
const LIST_BYTES: u32 = 8 << 20;

/// The window of `model` in tokens, where the server was started with one and says so; `None` where it makes room for
/// what it is asked (Ollama), or does not say. An error means that the server could not be asked now.
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
    // older servers say it here only
    let props = answer(transport, catalog::props()).await?;
    Ok(props.and_then(|body| catalog::read_props(&body).ok().flatten()))
}

/// The window of a model in a list. A server with one model answers with it, whatever name it is asked by.
fn window_of(models: &[InstalledModel], name: &str) -> Option<u32> {
    let named = models.iter().find(|m| same_model(&m.name, name));
    let only = models.first().filter(|_| models.len() == 1);
    named.or(only)?.window
}

/// The body of an answer; nothing if the server does not know the question.
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
