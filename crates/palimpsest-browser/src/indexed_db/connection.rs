//! Opens the database and handles later events of the connection.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use palimpsest_engine::ports::StoreError;
use wasm_bindgen::prelude::*;
use web_sys::{Event, IdbDatabase, IdbFactory, IdbOpenDbRequest, IdbVersionChangeEvent};

use super::StorageEvent;
use super::cause::{cause, meaning};
use super::schema::Migration;
use super::torn::begin_new_log;
use crate::global::{exception, global};
use crate::timer::sleep;

/// Some implementations never answer an open request at all.
const LONGEST_OPEN_MS: u32 = 20_000;

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The connection works.
    Open,
    /// It is closed for a newer version in another tab.
    Upgraded,
    /// It is closed because another tab deletes the database.
    Deleted,
    /// The browser closed it. A new connection may work.
    Lost,
}

/// An open database. Dropping it closes it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) database: IdbDatabase,
    /// A newer version made the database.
    pub(super) is_newer: bool,
    state: Rc<Cell<State>>,
    _on_version_change: Closure<dyn FnMut(IdbVersionChangeEvent)>,
    _on_close: Closure<dyn FnMut(Event)>,
}

impl Connection {
    /// Opens the database `name` at the version of `migrations` and runs them if it is older. A newer database opens as
    /// it is.
    pub(super) async fn open(
        name: &str,
        migrations: &'static [Migration],
        blocked_ms: u32,
        on_event: &Rc<dyn Fn(StorageEvent)>,
    ) -> Result<Self, StoreError> {
        let version = migrations.len() as u32;
        let opened = match request(name, Some(version), migrations, blocked_ms, on_event).await {
            Ok(database) => Ok(Self::new(database, false, on_event)),
            Err(StoreError::Newer) => {
                let database = request(name, None, migrations, blocked_ms, on_event).await?;
                // If the database was deleted in between, this made a new one without tables.
                let is_newer = database.version() > f64::from(version);
                if is_newer {
                    Ok(Self::new(database, true, on_event))
                } else {
                    database.close();
                    Err(StoreError::Failed(
                        "the database changed while it was opened".into(),
                    ))
                }
            }
            Err(error) => Err(error),
        };
        if opened.is_ok()
            && let Some(factory) = factory()
        {
            begin_new_log(&factory, name);
        }
        opened
    }

    fn new(database: IdbDatabase, is_newer: bool, on_event: &Rc<dyn Fn(StorageEvent)>) -> Self {
        let state = Rc::new(Cell::new(State::Open));
        let on_version_change = {
            let (state, database, on_event) =
                (Rc::clone(&state), database.clone(), Rc::clone(on_event));
            Closure::new(move |event: IdbVersionChangeEvent| {
                // Running transactions still end; no new one begins.
                database.close();
                let is_deletion = event.new_version().is_none();
                state.set(if is_deletion {
                    State::Deleted
                } else {
                    State::Upgraded
                });
                on_event(if is_deletion {
                    StorageEvent::Deleted
                } else {
                    StorageEvent::Upgraded
                });
            })
        };
        let on_close = {
            let (state, on_event) = (Rc::clone(&state), Rc::clone(on_event));
            Closure::new(move |_: Event| {
                state.set(State::Lost);
                on_event(StorageEvent::Lost);
            })
        };
        database.set_onversionchange(Some(on_version_change.as_ref().unchecked_ref()));
        database.set_onclose(Some(on_close.as_ref().unchecked_ref()));
        Self {
            database,
            is_newer,
            state,
            _on_version_change: on_version_change,
            _on_close: on_close,
        }
    }

    pub(super) fn state(&self) -> State {
        self.state.get()
    }

    /// Marks the connection as lost, so that it is not used again.
    pub(super) fn give_up(&self) {
        if self.state.get() == State::Open {
            self.state.set(State::Lost);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.database.set_onversionchange(None);
        self.database.set_onclose(None);
        self.database.close();
    }
}

type Answer = Result<IdbDatabase, StoreError>;

/// A pending request to open the database. If it is dropped, its result is closed and an upgrade that begins late is
/// undone, because such an upgrade would leave a database without tables.
struct Opening {
    request: IdbOpenDbRequest,
    is_over: Rc<Cell<bool>>,
    _on_success: Closure<dyn FnMut(Event)>,
    _on_error: Closure<dyn FnMut(Event)>,
    _on_blocked: Closure<dyn FnMut(Event)>,
    _on_upgrade: Closure<dyn FnMut(IdbVersionChangeEvent)>,
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.request.set_onblocked(None);
        if self.is_over.get() {
            self.request.set_onsuccess(None);
            self.request.set_onerror(None);
            self.request.set_onupgradeneeded(None);
            return;
        }
        self.request.set_onerror(None);
        let request = self.request.clone();
        let close = Closure::once_into_js(move || {
            if let Ok(database) = request.result() {
                database.unchecked_into::<IdbDatabase>().close();
            }
        });
        self.request.set_onsuccess(Some(close.unchecked_ref()));
        let request = self.request.clone();
        let undo = Closure::once_into_js(move || {
            if let Some(upgrade) = request.transaction() {
                let _ = upgrade.abort();
            }
        });
        self.request.set_onupgradeneeded(Some(undo.unchecked_ref()));
    }
}

async fn request(
    name: &str,
    version: Option<u32>,
    migrations: &'static [Migration],
    blocked_ms: u32,
    on_event: &Rc<dyn Fn(StorageEvent)>,
) -> Answer {
    let factory =
        factory().ok_or_else(|| StoreError::Unavailable("there is no IndexedDB".into()))?;
    let request = match version {
        Some(version) => factory.open_with_u32(name, version),
        None => factory.open(name),
    };
    let request = request.map_err(|thrown| refused(&thrown))?;

    let (sender, mut answer) = oneshot::channel::<Answer>();
    let sender = Rc::new(RefCell::new(Some(sender)));
    let is_over = Rc::new(Cell::new(false));
    let tell = {
        let is_over = Rc::clone(&is_over);
        move |answer: Answer| {
            is_over.set(true);
            if let Some(sender) = sender.take() {
                let _ = sender.send(answer);
            }
        }
    };
    // The reason for which a migration failed. The request itself only says that it was aborted.
    let failed = Rc::new(RefCell::new(None::<StoreError>));
    let (blocked_sender, blocked) = oneshot::channel::<()>();

    let on_success = {
        let (request, tell) = (request.clone(), tell.clone());
        Closure::new(move |_: Event| {
            tell(match request.result() {
                Ok(database) => Ok(database.unchecked_into()),
                Err(thrown) => Err(cause(&thrown)),
            });
        })
    };
    let on_error = {
        let (request, failed) = (request.clone(), Rc::clone(&failed));
        Closure::new(move |event: Event| {
            // Firefox would report it to the console, too.
            event.prevent_default();
            let error = request.error().ok().flatten();
            let error = failed.take().unwrap_or_else(|| {
                error.map_or_else(
                    || meaning("UnknownError", ""),
                    |error| refused(&error.into()),
                )
            });
            tell(Err(error));
        })
    };
    let on_upgrade = {
        let (request, failed) = (request.clone(), Rc::clone(&failed));
        Closure::new(move |event: IdbVersionChangeEvent| {
            let Some(upgrade) = request.transaction() else {
                return;
            };
            let from = event.old_version() as usize;
            let step = || -> Result<(), JsValue> {
                let database: IdbDatabase = request.result()?.unchecked_into();
                migrations
                    .iter()
                    .skip(from)
                    .try_for_each(|migrate| migrate(&database, &upgrade))
            };
            if let Err(thrown) = step() {
                let (name, message) = exception(&thrown);
                failed.replace(Some(StoreError::Failed(format!(
                    "migrating from version {from}: {name}: {message}"
                ))));
                let _ = upgrade.abort();
            }
        })
    };
    let on_blocked = {
        let on_event = Rc::clone(on_event);
        let mut sender = Some(blocked_sender);
        Closure::new(move |_: Event| {
            on_event(StorageEvent::Blocked);
            if let Some(sender) = sender.take() {
                let _ = sender.send(());
            }
        })
    };
    request.set_onsuccess(Some(on_success.as_ref().unchecked_ref()));
    request.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    request.set_onupgradeneeded(Some(on_upgrade.as_ref().unchecked_ref()));
    request.set_onblocked(Some(on_blocked.as_ref().unchecked_ref()));
    let _opening = Opening {
        request,
        is_over,
        _on_success: on_success,
        _on_error: on_error,
        _on_blocked: on_blocked,
        _on_upgrade: on_upgrade,
    };

    let patience = async {
        let blocked = async {
            match blocked.await {
                Ok(()) => sleep(blocked_ms).await,
                Err(_) => std::future::pending().await,
            }
        };
        match select(Box::pin(blocked), sleep(LONGEST_OPEN_MS)).await {
            Either::Left(_) => {
                "an older version is open in another tab; close that tab and try again"
            }
            Either::Right(_) => "the browser does not open the database",
        }
    };
    match select(&mut answer, Box::pin(patience)).await {
        Either::Left((Ok(answer), _)) => answer,
        Either::Left((Err(_), _)) => {
            Err(StoreError::Failed("the request to open went away".into()))
        }
        Either::Right((why, _)) => Err(StoreError::Failed(why.into())),
    }
}

fn factory() -> Option<IdbFactory> {
    global("indexedDB").map(JsCast::unchecked_into)
}

/// Translates an exception on opening. All but a few mean that there is no storage here.
fn refused(thrown: &JsValue) -> StoreError {
    let (name, message) = exception(thrown);
    match meaning(&name, &message) {
        StoreError::Failed(why)
            if matches!(
                name.as_str(),
                "InvalidStateError" | "UnknownError" | "TypeError"
            ) =>
        {
            StoreError::Unavailable(why)
        }
        other => other,
    }
}
