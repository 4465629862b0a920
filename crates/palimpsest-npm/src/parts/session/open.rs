//! Opening: the engine over the chosen store, and the session in it, made if it is not there.

use palimpsest_text::json::ToJson as _;
use std::rc::Rc;

use palimpsest_browser::{
    HostClock, HostIds, HostStore, HostTimer, IndexedDbStore, OpenOptions, StorageEvent,
    StorageHost, Tabs,
};
use palimpsest_core::error::CoreError;
use palimpsest_core::mode::Mode;
use palimpsest_core::model::ASSUMED_WINDOW;
use palimpsest_core::policy::{Demands, Policy};
use palimpsest_engine::ports::{LanguageModel, Notify, Store, World};
use palimpsest_engine::{Accept, Config, Engine, EngineError, MemoryStore, NewSession, Transfer};
use palimpsest_text::json;
use palimpsest_tokens::Estimator;
use serde::Deserialize;
use serde_json::{Value, json as object};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;

use super::calls::{Live, Open};
use super::client::HostModel;
use super::server::{self, Address};
use crate::border::{crossed, options};
use crate::failure::Failure;
use crate::host::Host;
use crate::session::Session;

/// What a session is opened with.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    /// Which one; a fresh one without.
    id: Option<String>,
    model: String,
    window: Option<u32>,
    /// A preset's name, or the JSON text of a policy.
    policy: Option<String>,
    /// Where found demands stand; comes before what the policy says.
    demands: Option<Demands>,
    store: Kept,
    /// The name of the database in IndexedDB.
    database: Option<String>,
    /// The host asks a client of its own.
    #[serde(default)]
    client: bool,
    /// The server that is asked.
    server: Option<Address>,
    system: Option<String>,
    title: Option<String>,
    thinking: Option<bool>,
    mode: Option<String>,
    settings: Option<Value>,
    #[serde(default)]
    take_over: bool,
    /// The text of an exported session.
    file: Option<String>,
    /// The file's own records and layers are taken, too.
    #[serde(default)]
    trust_file: bool,
    /// Other sessions of the store are quoted, too.
    #[serde(default)]
    other_sessions: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kept {
    Memory,
    IndexedDb,
    Host,
}

/// Nobody else looks at this store.
struct Nobody;

impl Notify for Nobody {
    fn changed(&self, _: &str, _: u32) {}
}

/// Opens a session: options, and what the host offers.
pub(super) async fn open(given: JsValue, host: Host) -> Result<Session, Failure> {
    opened(options(given)?, Rc::new(host)).await
}

async fn opened(mut options: Options, host: Rc<Host>) -> Result<Session, Failure> {
    let config = options
        .settings
        .as_ref()
        .map(|settings| Config::from_json(&settings.to_json()))
        .transpose()
        .map_err(EngineError::from)?;
    let model: Option<Rc<dyn LanguageModel>> = match &options.server {
        Some(address) => Some(server::model(address)?),
        None if options.client => Some(Rc::new(HostModel(Rc::clone(&host)))),
        None => None,
    };
    let file = options.file.as_deref().map(Transfer::read).transpose()?;
    let (engine, _) = engine_over(options.store, options.database.clone(), &host).await?;
    if options.other_sessions {
        engine.recall_others();
    }
    let known = match (file, &options.id) {
        (Some(file), _) => {
            let accept = if options.trust_file {
                Accept::Everything
            } else {
                Accept::Words
            };
            Some(engine.import(file, accept).await?)
        }
        (None, Some(id)) => match engine.open(id, options.take_over).await {
            Ok(session) => {
                session.keep_arrived().await;
                Some(session)
            }
            Err(EngineError::NoSession(_)) => None,
            Err(error) => return Err(error.into()),
        },
        (None, None) => None,
    };
    let session = if let Some(session) = known {
        if let Some(demands) = options.demands {
            let policy = options.policy.as_ref();
            let policy = policy.map_or_else(|| session.head().policy, Clone::clone);
            options.policy = Some(with_demands(&policy, demands)?);
        }
        go_on(&session, &options, config).await?;
        if let Some(server) = &options.server {
            session.set_provider(server.provider()).await?;
        }
        session
    } else {
        let defaults = NewSession::default();
        if let Some(demands) = options.demands {
            let policy = options.policy.as_ref().unwrap_or(&defaults.policy);
            options.policy = Some(with_demands(policy, demands)?);
        }
        if options.window.is_none() {
            emit(&host, &assumed());
        }
        let id = options.id.unwrap_or_else(|| engine.fresh_id());
        let new = NewSession {
            title: options.title.unwrap_or_default(),
            model: options.model,
            window: options.window.unwrap_or(ASSUMED_WINDOW),
            policy: options.policy.unwrap_or(defaults.policy),
            system: options.system.clone().unwrap_or_default(),
            thinking: options.thinking.unwrap_or_default(),
            mode: options.mode.map_or(defaults.mode, Mode::from),
            config: config.unwrap_or_default(),
            provider: options
                .server
                .as_ref()
                .map_or_else(String::new, |server| server.provider().to_owned()),
            ..NewSession::default()
        };
        engine.create_with_id(&id, new).await?
    };
    let open = Rc::new(Open::new(host, engine, session, model, options.server));
    if options.system.is_some() {
        // it was said before anybody listened
        open.session().warn_of_prompt();
    }
    // opening waits for no server, and for no other session
    let asks = Rc::clone(&open);
    spawn_local(async move { asks.heed_server().await });
    let reads = Rc::clone(&open);
    spawn_local(async move {
        // what cannot be read is not quoted
        let _ = reads.engine.read_others().await;
    });
    Ok(Session(Box::new(Live(open))))
}

/// The engine over a storage, and its world.
pub(crate) async fn engine_over(
    kept: Kept,
    database: Option<String>,
    host: &Rc<Host>,
) -> Result<(Engine, World), Failure> {
    let (store, notify) = store(kept, database, host).await?;
    let world = World {
        clock: Rc::new(HostClock),
        ids: Rc::new(HostIds::new()?),
        timer: Rc::new(HostTimer),
        notify,
    };
    let engine = Engine::start(store, world.clone(), Rc::new(Estimator::default())).await?;
    Ok((engine, world))
}

/// The policy with found demands in that place; as it is if they stand there already.
fn with_demands(policy: &str, demands: Demands) -> Result<String, Failure> {
    let mut rules = Policy::from_text(policy).map_err(EngineError::from)?;
    if rules.demands == demands {
        return Ok(policy.to_owned());
    }
    rules.demands = demands;
    let text = json::value_of(&rules).map(|rules| rules.to_json());
    text.map_err(|e| EngineError::from(CoreError::InvalidPolicy(e.to_string())).into())
}

async fn store(
    kept: Kept,
    database: Option<String>,
    host: &Rc<Host>,
) -> Result<(Rc<dyn Store>, Rc<dyn Notify>), Failure> {
    let nobody = || -> Rc<dyn Notify> { Rc::new(Nobody) };
    Ok(match kept {
        Kept::Memory => (Rc::new(MemoryStore::new()), nobody()),
        Kept::Host => {
            let own: &StorageHost = (**host).unchecked_ref();
            (Rc::new(HostStore::new(own.clone())), nobody())
        }
        Kept::IndexedDb => {
            let to = Rc::clone(host);
            let mut open = OpenOptions {
                on_event: Rc::new(move |event| emit(&to, &storage_event(&event))),
                ..OpenOptions::default()
            };
            if let Some(name) = database {
                open.name = name;
            }
            let tabs: Rc<dyn Notify> = Rc::new(Tabs::new(&open.name));
            (Rc::new(IndexedDbStore::open(open).await?), tabs)
        }
    })
}

fn emit(host: &Host, event: &Value) {
    if let Ok(event) = crossed(event) {
        host.emit(&event);
    }
}

/// What happens to the database from outside, as an event like those of the session.
fn storage_event(event: &StorageEvent) -> Value {
    let what = match event {
        StorageEvent::Blocked => "blocked",
        StorageEvent::Upgraded => "upgraded",
        StorageEvent::Deleted => "deleted",
        StorageEvent::Lost => "lost",
        StorageEvent::Reopened => "reopened",
        StorageEvent::TakenOver { .. } => "taken-over",
        _ => "changed",
    };
    object!({"event": "storage-changed", "what": what})
}

/// The warning that nobody has said how large the model's window is.
fn assumed() -> Value {
    const { assert!(ASSUMED_WINDOW == 4_096) };
    let message = "Nobody said how large the model's window is: 4,096 tokens are assumed. Say it with `window`, no more than the server gives the model.";
    object!({"event": "warning", "code": "window_assumed", "message": message})
}

/// An opened session goes on with what the caller names.
async fn go_on(
    session: &palimpsest_engine::Session,
    options: &Options,
    config: Option<Config>,
) -> Result<(), Failure> {
    let head = session.head();
    let window = options.window.unwrap_or(head.window);
    let policy = options.policy.as_ref().unwrap_or(&head.policy);
    let thinking = options.thinking.unwrap_or(head.thinking);
    if (options.model.as_str(), window, policy, thinking)
        != (
            head.model.as_str(),
            head.window,
            &head.policy,
            head.thinking,
        )
    {
        session
            .set_model(&options.model, window, policy, thinking)
            .await?;
    }
    if let Some(system) = &options.system
        && *system != session.records().system
    {
        session.set_system(system).await?;
    }
    if let Some(config) = config
        && config != head.config
    {
        session.configure(config).await?;
    }
    if let Some(mode) = &options.mode {
        let mode = Mode::from(mode.clone());
        if mode != head.mode {
            session.set_mode(mode).await?;
        }
    }
    if let Some(title) = &options.title
        && *title != head.title
    {
        session.rename(title).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use palimpsest_core::model::ModelProfile;

    /// B1: the package's TypeScript knows the named sizes of the core, since a window is checked before the part is loaded.
    #[test]
    fn named_windows_are_those_of_the_core() {
        let script = include_str!("../../../npm/src/session-options.ts");
        let types = include_str!("../../../npm/src/session.ts");
        let sizes = ModelProfile::new("", None, None).sizes;
        let thousands = sizes.iter().map(|s| (s.nominal / 1_000).to_string());
        let thousands: Vec<String> = thousands.collect();
        assert!(script.contains(&format!("const NAMED = [{}];", thousands.join(", "))));
        let used = sizes[0].ollama_context_size * 1_000 / sizes[0].nominal;
        assert!(script.contains(&format!("const USED = {used};")));
        let names: Vec<String> = sizes.iter().map(|s| format!("\"{}\"", s.name)).collect();
        assert!(types.contains(&format!("WindowName = {};", names.join(" | "))));
    }
}
