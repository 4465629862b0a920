//! Asks a server for the window and the size of a model, before the first message goes out.

use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::Signal;
use palimpsest_ollama::catalog::{self, InstalledModel, same_model};
use palimpsest_ollama::{Dialect, HttpRequest};

use crate::transport::{Transport, whole};

/// The largest list of models that is read, in bytes.
const LIST_BYTES: u32 = 8 << 20;

/// The properties of a model that its server states.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ServedModel {
    /// The window in tokens, if the server was started with one and reports it. It is `None` where each request sets the
    /// window (Ollama).
    pub window: Option<u32>,
    /// Its parameters as the server writes them, such as `7.6B`.
    pub parameter_size: Option<String>,
}

/// Asks a server for one of its models. An error means that the server did not answer.
pub async fn served_model(
    dialect: Dialect,
    transport: &dyn Transport,
    model: &str,
) -> Result<ServedModel, ModelError> {
    let list = answer(transport, catalog::list(dialect)).await?;
    let mut served = list
        .and_then(|body| catalog::read_list(&body).ok())
        .and_then(|models| listed(&models, model))
        .unwrap_or_default();
    if served.window.is_none() && dialect == Dialect::LlamaCpp {
        // Older servers report it only here.
        let props = answer(transport, catalog::props()).await?;
        served.window = props.and_then(|body| catalog::read_props(&body).ok().flatten());
    }
    Ok(served)
}

/// Finds a model in a list. A server with a single model answers with it under any name.
fn listed(models: &[InstalledModel], name: &str) -> Option<ServedModel> {
    let named = models.iter().find(|m| same_model(&m.name, name));
    let only = models.first().filter(|_| models.len() == 1);
    let model = named.or(only)?;
    Some(ServedModel {
        window: model.window,
        parameter_size: model.parameter_size.clone(),
    })
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
