//! The vocabulary of the open session's model: asked for and parsed in a worker of its own, which ends with it.
//!
//! The worker (`public/tokenizer.js`) runs this same module. It gets `[address, key, model]` and answers with the bytes of a
//! snapshot, or with the code of the reason why there is none. In somebody else's page the worker is the package's
//! (`npm/src/vocabulary-worker.ts`); where the page's rules allow none, the same is done here in slices.

use std::cell::RefCell;

use futures_util::future::{AbortHandle, abortable};
use js_sys::{Array, Function, Object, Promise, Reflect, Uint8Array};
use palimpsest_browser::vocabulary::{SnapshotCache, build, snapshot};
use palimpsest_browser::{FetchTransport, HostTransport, Patience, Transport, TransportHost};
use palimpsest_engine::Engine;
use palimpsest_engine::ports::LocalFuture;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{future_to_promise, spawn_local};
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent, Worker};

use crate::act;
use crate::platform::{guest, resident};
use crate::settings::Server;

/// The one policy the page's rules name: it lets nothing through but the worker's script.
const POLICY: &str = "palimpsest-worker";

thread_local! {
    static JOB: RefCell<Option<Job>> = const { RefCell::new(None) };
    /// The worker's script, where the page is our own.
    static SCRIPT: RefCell<Option<String>> = const { RefCell::new(None) };
    static WORKER_URL: RefCell<Option<JsValue>> = const { RefCell::new(None) };
}

/// Says which script the worker runs.
pub fn work_with(script: String) {
    SCRIPT.set(Some(script));
}

/// A vocabulary that was asked for.
struct Job {
    wanted: (String, String),
    _work: Work,
}

/// The reader of the vocabulary. Dropping it stops the reading.
enum Work {
    /// A worker of our own page's, and what hears it.
    Ours {
        worker: Worker,
        _heard: Closure<dyn FnMut(MessageEvent)>,
    },
    /// The package whose guest we are, or we ourselves in its page.
    Guests(AbortHandle),
    /// We ourselves, over the way to the model in the page.
    InPage(AbortHandle),
}

impl Drop for Work {
    fn drop(&mut self) {
        match self {
            Self::Ours { worker, .. } => worker.terminate(),
            Self::Guests(reading) => {
                reading.abort();
                guest::forget_vocabulary();
            }
            Self::InPage(reading) => reading.abort(),
        }
    }
}

/// Loads the model's vocabulary from the Ollama at `address`, unless it is loaded, on its way, or known to be
/// unavailable. Stops loading that of another model.
pub fn want(engine: &Engine, address: &str, key: &str, model: &str) {
    let wanted = (address.to_owned(), model.to_owned());
    let busy = JOB.with(|job| job.borrow().as_ref().is_some_and(|j| j.wanted == wanted));
    if model.is_empty() || busy {
        return;
    }
    forget();
    let work = if address == Server::InPage.usual_address() {
        Some(in_page(engine, model))
    } else if guest::is_guest() {
        Some(as_guest(engine, address, key, model))
    } else {
        by_worker(engine, address, key, model)
    };
    if let Some(work) = work {
        let job = Job {
            wanted,
            _work: work,
        };
        JOB.with(|known| *known.borrow_mut() = Some(job));
    }
}

/// In our own page: by a worker, if there can be one.
fn by_worker(engine: &Engine, address: &str, key: &str, model: &str) -> Option<Work> {
    let worker = worker()?;
    let engine = engine.clone();
    let parcel: Array = [address, key, model]
        .into_iter()
        .map(JsValue::from)
        .collect();
    let name = model.to_owned();
    let to = worker.clone();
    let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let data = event.data();
        if data.is_null() {
            // It listens now.
            let _ = to.post_message(&parcel);
            return;
        }
        to.terminate();
        spawn_local(told(engine.clone(), name.clone(), data));
    });
    worker.set_onmessage(Some(heard.as_ref().unchecked_ref()));
    Some(Work::Ours {
        worker,
        _heard: heard,
    })
}

/// In somebody else's page: by the package's worker, else here, between other things.
fn as_guest(engine: &Engine, address: &str, key: &str, model: &str) -> Work {
    let engine = engine.clone();
    let [address, key, model] = [address, key, model].map(str::to_owned);
    let (reading, end) = abortable(async move {
        let answer = match guest::vocabulary(&address, &key, &model).await {
            Some(answer) => answer,
            None => brought(guest::transport(), address, key, model.clone()).await,
        };
        told(engine, model, answer).await;
    });
    spawn_local(async move {
        // The stopped reading needs no report.
        let _ = reading.await;
    });
    Work::Guests(end)
}

/// Of the model in the page, between other things: its worker reads the vocabulary from the model's file.
fn in_page(engine: &Engine, model: &str) -> Work {
    let (engine, model) = (engine.clone(), model.to_owned());
    let (reading, end) = abortable(async move {
        if let Ok(host) = resident::host().await {
            let answer = brought(Some(host), String::new(), String::new(), model.clone()).await;
            told(engine, model, answer).await;
        }
    });
    spawn_local(async move {
        // The stopped reading needs no report.
        let _ = reading.await;
    });
    Work::InPage(end)
}

/// Stops the loading, because the user chose another kind of server.
pub fn forget() {
    // out of the cell first: ending it asks the host
    let ended = JOB.with(|job| job.borrow_mut().take());
    drop(ended);
}

/// Handles the answer: the bytes of a snapshot, or the code of a reason.
async fn told(engine: Engine, model: String, answer: JsValue) {
    if let Some(bytes) = answer.dyn_ref::<Uint8Array>() {
        take(engine, model, bytes.to_vec()).await;
    } else if answer
        .as_string()
        .is_some_and(|code| !code.starts_with("tokenizer_"))
    {
        // The server did not answer: it may be asked again.
        JOB.with(|job| {
            if let Some(job) = job.borrow_mut().as_mut() {
                job.wanted.0.clear();
            }
        });
    }
}

/// Counts with a vocabulary from then on, once the part that can is there.
async fn take(engine: Engine, model: String, bytes: Vec<u8>) {
    act::reader().wait().await;
    if let Some(taken) = act::count_with(engine, model, bytes) {
        taken.await;
    }
}

/// Builds the tables in slices and counts with them from then on.
pub fn count_with(engine: Engine, model: String, bytes: Vec<u8>) -> LocalFuture<'static, ()> {
    Box::pin(async move {
        let Ok(vocabulary) = build(&bytes).await else {
            return;
        };
        drop(bytes);
        let current = JOB.with(|job| job.borrow().as_ref().is_some_and(|j| j.wanted.1 == model));
        if current {
            engine.set_vocabulary(Some((&model, vocabulary)));
            engine.settle().await;
        }
    })
}

/// A worker with our script, or none where the host has no workers or its rules do not name our policy.
fn worker() -> Option<Worker> {
    let url = WORKER_URL.with(|known| {
        let mut known = known.borrow_mut();
        if known.is_none() {
            *known = trusted();
        }
        known.clone()
    })?;
    let global = js_sys::global();
    let class: Function = Reflect::get(&global, &"Worker".into())
        .ok()?
        .dyn_into()
        .ok()?;
    let options = Object::new();
    Reflect::set(&options, &"type".into(), &"module".into()).ok()?;
    Reflect::construct(&class, &Array::of2(&url, &options))
        .ok()?
        .dyn_into()
        .ok()
}

/// The script's address in the form that pages with Trusted Types want.
fn trusted() -> Option<JsValue> {
    let script = JsValue::from(SCRIPT.with_borrow(Clone::clone)?);
    let types = Reflect::get(&js_sys::global(), &"trustedTypes".into()).ok()?;
    if types.is_undefined() {
        return Some(script);
    }
    let allowed = script.clone();
    let only = Closure::<dyn Fn(JsValue) -> JsValue>::new(move |asked: JsValue| {
        if asked == allowed {
            asked
        } else {
            JsValue::NULL
        }
    });
    let rules = Object::new();
    Reflect::set(&rules, &"createScriptURL".into(), only.as_ref()).ok()?;
    let call = |object: &JsValue, name: &str, arguments: &Array| {
        let function: Function = Reflect::get(object, &name.into()).ok()?.dyn_into().ok()?;
        Reflect::apply(&function, object, arguments).ok()
    };
    let policy = call(&types, "createPolicy", &Array::of2(&POLICY.into(), &rules))?;
    call(&policy, "createScriptURL", &Array::of1(&script))
}

/// In a worker: waits for a model's name and answers with its vocabulary. `false` in a page.
#[wasm_bindgen]
pub fn serve() -> bool {
    let Ok(scope) = js_sys::global().dyn_into::<DedicatedWorkerGlobalScope>() else {
        return false;
    };
    let own = scope.clone();
    let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let Ok(parcel) = event.data().dyn_into::<Array>() else {
            return;
        };
        let text = |at| parcel.get(at).as_string().unwrap_or_default();
        let (address, key, model) = (text(0), text(1), text(2));
        let scope = own.clone();
        spawn_local(async move {
            let answer = brought(None, address, key, model).await;
            let _ = scope.post_message(&answer);
        });
    });
    scope.set_onmessage(Some(heard.as_ref().unchecked_ref()));
    heard.forget();
    let _ = scope.post_message(&JsValue::NULL);
    true
}

/// In a worker of the package's: a model's vocabulary as [`bring`] gives it, over the host's way to the server if it has one.
#[wasm_bindgen]
pub fn vocabulary(
    host: Option<TransportHost>,
    address: String,
    key: String,
    model: String,
) -> Promise {
    future_to_promise(async move {
        let host = host.map(HostTransport::new);
        Ok(brought(host, address, key, model).await)
    })
}

/// The same once the part that can is there.
async fn brought(
    host: Option<HostTransport>,
    address: String,
    key: String,
    model: String,
) -> JsValue {
    act::reader().wait().await;
    match act::bring(host, address, key, model) {
        Some(brought) => brought.await,
        None => JsValue::from("part_missing"),
    }
}

/// The bytes of a snapshot, or the code of the reason why there is none.
pub fn bring(
    host: Option<HostTransport>,
    address: String,
    key: String,
    model: String,
) -> LocalFuture<'static, JsValue> {
    Box::pin(async move {
        match fetch(host, &address, &key, &model).await {
            Ok(bytes) => Uint8Array::from(bytes.as_slice()).into(),
            Err(code) => JsValue::from(code),
        }
    })
}

async fn fetch(
    host: Option<HostTransport>,
    address: &str,
    key: &str,
    model: &str,
) -> Result<Vec<u8>, &'static str> {
    let way: Box<dyn Transport> = match host {
        Some(host) => Box::new(host),
        None => Box::new(
            FetchTransport::new(address)
                .map_err(|error| error.code())?
                .with_key(key)
                .with_patience(Patience::SERVER),
        ),
    };
    let cache = SnapshotCache::open().await;
    snapshot(&*way, model, cache.as_ref())
        .await
        .map_err(|error| error.code())
}
