//! In a real browser: the small ports, the settings, and requests.

use std::cell::RefCell;
use std::rc::Rc;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use js_sys::Function;
use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::{
    Abort, Clock, Durability, Ids, Notify, Op, Query, Signal, Store, StoreError, Table,
};
use palimpsest_engine::testing::contract;
use palimpsest_ollama::doctor::{Case, Os};
use palimpsest_ollama::{Dialect, HttpRequest};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;
use wasm_bindgen_test::*;
use web_sys::BroadcastChannel;

use crate::timer::sleep;
use crate::{
    Changed, FetchTransport, HeadNote, HostClock, HostIds, HostStore, HostTransport,
    LocalStorageStore, Patience, StorageHost, Tabs, Transport, TransportHost, beginning, examine,
    examine_over, settings, whole, world,
};

// ---------------------------------------------------------------------------------------------------
// Time, identifiers, tabs

/// Sleep takes about the requested time, even for more than a host can count.
#[wasm_bindgen_test]
async fn sleep_takes_its_time() {
    let begun = HostClock.now();
    sleep(60).await;
    let slept = HostClock.now() - begun;
    assert!((55.0..2_000.0).contains(&slept), "{slept}");
    assert!(matches!(
        select(sleep(u32::MAX), sleep(30)).await,
        Either::Right(_)
    ));
}

#[wasm_bindgen_test]
fn identifiers_differ() {
    let ids = HostIds::new().unwrap();
    assert_ne!(ids.random(), ids.random());
    let world = world(&Tabs::new("w")).unwrap();
    assert!(world.clock.now() > 1.7e12);
}

/// Another tab hears of a change, no tab hears itself, and no other message on the channel counts as a change.
#[wasm_bindgen_test]
async fn tabs_hear_of_changes() {
    let name = format!("tabs-{}", HostClock.now());
    let (here, there) = (Tabs::new(&name), Tabs::new(&name));
    let heard = Rc::new(RefCell::new(Vec::new()));
    let listen = |tabs: &Tabs, who: &'static str| {
        let heard = Rc::clone(&heard);
        tabs.listen(move |change| heard.borrow_mut().push((who, change)))
    };
    let at_home = listen(&here, "here");
    let abroad = listen(&there, "there");
    let raw = BroadcastChannel::new(&format!("{name}:changes")).unwrap();
    raw.post_message(&"{\"session\":1}".into()).unwrap();
    raw.post_message(&JsValue::from(7)).unwrap();
    raw.post_message(&format!("{{\"session\":\"{}\",\"version\":1}}", "x".repeat(3_000)).into())
        .unwrap();
    here.changed("s", 7);
    sleep(100).await;
    let change = |version| Changed {
        session: "s".into(),
        version,
    };
    assert_eq!(*heard.borrow(), [("there", change(7))]);
    drop(abroad);
    here.changed("s", 8);
    there.changed("s", 9);
    sleep(100).await;
    assert_eq!(*heard.borrow(), [("there", change(7)), ("here", change(9))]);
    drop(at_home);
    raw.close();
}

// ---------------------------------------------------------------------------------------------------
// localStorage

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Settings {
    model: String,
    window: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: "m".into(),
            window: 8192,
        }
    }
}

fn item(name: &str, value: Option<&str>) -> Option<String> {
    let code = "const [n, v] = [name, value]; if (v !== undefined) localStorage.setItem(n, v); return localStorage.getItem(n);";
    let function = Function::new_with_args("name, value", code);
    let value = value.map_or(JsValue::UNDEFINED, JsValue::from_str);
    function
        .call2(&JsValue::NULL, &name.into(), &value)
        .unwrap()
        .as_string()
}

/// S5, F 90: settings come back; damaged ones are defaults, with the old text kept aside.
#[wasm_bindgen_test]
fn settings_are_kept() {
    let name = "test:settings";
    settings::forget(name);
    assert_eq!(
        settings::load::<Settings>(name).settings,
        Settings::default()
    );
    let mine = Settings {
        model: "ü".into(),
        window: 4096,
    };
    settings::save(name, &mine).unwrap();
    let loaded = settings::load::<Settings>(name);
    assert_eq!((loaded.settings, loaded.dropped.len()), (mine, 0));
    assert_eq!(item(&format!("{name}.old"), None), None);
    let damaged = r#"{"model":"a","window":"wide"}"#;
    item(name, Some(damaged));
    let loaded = settings::load::<Settings>(name);
    assert_eq!(
        loaded.settings,
        Settings {
            model: "a".into(),
            window: 8192
        }
    );
    assert_eq!(loaded.dropped, ["window"]);
    assert_eq!(item(&format!("{name}.old"), None).as_deref(), Some(damaged));
    settings::forget(name);
    assert_eq!(item(name, None), None);
}

/// S5: a full localStorage is an error, and the old settings stay.
#[wasm_bindgen_test]
fn full_settings_are_a_quota_error() {
    let name = "test:full";
    settings::save(name, &Settings::default()).unwrap();
    let huge = Settings {
        model: "x".repeat(12 << 20),
        window: 1,
    };
    assert_eq!(
        settings::save(name, &huge).unwrap_err().code(),
        "storage_quota"
    );
    assert_eq!(
        settings::load::<Settings>(name).settings,
        Settings::default()
    );
    settings::forget(name);
}

/// F 84: the note outlives the database.
#[wasm_bindgen_test]
fn the_head_note_is_kept() {
    let name = format!("note-{}", HostClock.now());
    assert_eq!(HeadNote::load(&name), None);
    let note = HeadNote {
        sessions: 2,
        last_seq: 9,
    };
    note.save(&name);
    assert_eq!(HeadNote::load(&name), Some(note));
    item(&format!("{name}:stored"), Some("{"));
    assert_eq!(HeadNote::load(&name), None);
}

// ---------------------------------------------------------------------------------------------------
// Small sessions in localStorage

fn put(n: u32, text: &str) -> Vec<Op> {
    vec![Op::Put {
        table: Table::Messages,
        key: vec!["s".into(), n.into()],
        value: format!("\"{text}\""),
    }]
}

async fn texts(store: &LocalStorageStore) -> Vec<String> {
    let rows = store
        .read(Query::all(Table::Messages, vec![]))
        .await
        .unwrap();
    rows.into_iter().map(|row| row.value).collect()
}

/// S5: the fallback keeps the contract, too.
#[wasm_bindgen_test]
async fn local_storage_keeps_the_contract() {
    let name = format!("local-{}", HostClock.now());
    let report = contract::run_all(async || {
        LocalStorageStore::erase(&name);
        LocalStorageStore::open(&name).unwrap()
    })
    .await;
    LocalStorageStore::erase(&name);
    assert!(report.is_ok(), "{report}");
    assert_eq!(report.passed.len(), 24);
}

/// S5: the next visit and other tabs see strict writes, and a tab whose session was taken over cannot write.
#[wasm_bindgen_test]
async fn local_storage_is_shared_and_kept() {
    let name = format!("local-{}", HostClock.now());
    let (a, b) = (
        LocalStorageStore::open(&name).unwrap(),
        LocalStorageStore::open(&name).unwrap(),
    );
    let a_lease = a.claim("s", false).await.unwrap();
    a.apply(&a_lease, None, put(1, "a"), Durability::Strict)
        .await
        .unwrap();
    assert_eq!(texts(&b).await, ["\"a\""]);
    let b_lease = b.claim("s", true).await.unwrap();
    assert_eq!(b_lease.epoch, 2);
    let late = a
        .apply(&a_lease, None, put(1, "late"), Durability::Strict)
        .await;
    assert_eq!(late, Err(StoreError::Superseded));
    b.apply(&b_lease, None, put(2, "relaxed"), Durability::Relaxed)
        .await
        .unwrap();
    assert_eq!(
        texts(&LocalStorageStore::open(&name).unwrap()).await.len(),
        1
    );
    b.apply(&b_lease, None, put(3, "strict"), Durability::Strict)
        .await
        .unwrap();
    let later = LocalStorageStore::open(&name).unwrap();
    assert_eq!(texts(&later).await, ["\"a\"", "\"relaxed\"", "\"strict\""]);
    LocalStorageStore::erase(&name);
}

/// F 83: rows that do not fit are refused as a whole, and the old rows stay. S5: damaged text is kept aside.
#[wasm_bindgen_test]
async fn full_local_storage_takes_nothing_with_it() {
    let name = format!("local-{}", HostClock.now());
    let store = LocalStorageStore::open(&name).unwrap();
    let lease = store.claim("s", false).await.unwrap();
    store
        .apply(&lease, None, put(1, "a"), Durability::Strict)
        .await
        .unwrap();
    let huge = store
        .apply(
            &lease,
            None,
            put(2, &"x".repeat(12 << 20)),
            Durability::Strict,
        )
        .await;
    assert_eq!(huge, Err(StoreError::Quota));
    assert_eq!(texts(&store).await, ["\"a\""]);
    store
        .apply(&lease, None, put(2, "b"), Durability::Strict)
        .await
        .unwrap();
    assert_eq!(
        texts(&LocalStorageStore::open(&name).unwrap()).await.len(),
        2
    );
    item(&format!("{name}:rows"), Some("[[\"messages\""));
    assert!(
        texts(&LocalStorageStore::open(&name).unwrap())
            .await
            .is_empty()
    );
    assert_eq!(
        item(&format!("{name}:rows.old"), None).as_deref(),
        Some("[[\"messages\"")
    );
    LocalStorageStore::erase(&name);
}

// ---------------------------------------------------------------------------------------------------
// Requests

/// A `fetch` that answers with this code. `seen` collects the arguments of its calls.
struct FakeFetch(Function);

impl FakeFetch {
    fn new(answer: &str) -> Self {
        let code = format!(
            "const real = globalThis.fetch; globalThis.seen = [];
             globalThis.fetch = async (url, init) => {{
               seen.push({{ url, ...init, headers: [...(init.headers ?? [])], aborted: () => init.signal?.aborted }});
               {answer} }};
             return () => {{ globalThis.fetch = real; }};"
        );
        Self(
            Function::new_no_args(&code)
                .call0(&JsValue::NULL)
                .unwrap()
                .unchecked_into(),
        )
    }

    fn seen(expression: &str) -> String {
        let value =
            Function::new_no_args(&format!("return String({expression})")).call0(&JsValue::NULL);
        value.unwrap().as_string().unwrap()
    }
}

impl Drop for FakeFetch {
    fn drop(&mut self) {
        self.0.call0(&JsValue::NULL).unwrap();
    }
}

fn server() -> FetchTransport {
    let patience = Patience {
        first_byte_ms: 500,
        idle_ms: 500,
        whole_ms: 2_000,
        bytes: 1_000,
    };
    FetchTransport::new("http://127.0.0.1:9/")
        .unwrap()
        .with_patience(patience)
}

/// A request carries no cookies and no referrer, follows no redirects, and adds only the key.
#[wasm_bindgen_test]
async fn a_request_carries_only_what_it_must() {
    let fake = FakeFetch::new(
        "return new Response('ok', { status: 201, headers: { 'retry-after': '3' } });",
    );
    let request = HttpRequest::post("/api/chat", &serde_json::json!({ "a": "ü" }));
    let answer = server()
        .with_key(" k ")
        .send(request, Signal::never())
        .await
        .unwrap();
    assert_eq!(
        (answer.status, answer.retry_after.as_deref()),
        (201, Some("3"))
    );
    assert_eq!(whole(answer.body, 10).await.unwrap(), b"ok");
    let check = |expression: &str, expected: &str| {
        assert_eq!(FakeFetch::seen(expression), expected, "{expression}");
    };
    check("seen[0].url", "http://127.0.0.1:9/api/chat");
    check("seen[0].method", "POST");
    check("new TextDecoder().decode(seen[0].body)", r#"{"a":"ü"}"#);
    check("seen[0].credentials", "omit");
    check("seen[0].redirect", "error");
    check("seen[0].cache", "no-store");
    check("seen[0].referrerPolicy", "no-referrer");
    check(
        "seen[0].headers.join(';')",
        "authorization,Bearer k;content-type,application/json",
    );
    drop(fake);
    let _fake = FakeFetch::new("return new Response(null, { status: 204 });");
    let answer = server()
        .with_key("")
        .send(HttpRequest::get("/api/tags"), Signal::never())
        .await
        .unwrap();
    assert_eq!(whole(answer.body, 10).await.unwrap(), b"");
    check("seen[0].headers.length", "0");
    check("seen[0].body", "undefined");
}

/// Answers whose body comes in `count` pieces, one every `ms` milliseconds.
fn dripping(piece: &str, ms: u32, count: u32) -> FakeFetch {
    FakeFetch::new(&format!(
        "const bytes = new TextEncoder().encode('{piece}'); let n = 0;
         return new Response(new ReadableStream({{ async pull(c) {{
           if (n++ >= {count}) return c.close();
           await new Promise(r => setTimeout(r, {ms})); c.enqueue(bytes); }} }}));"
    ))
}

async fn read(transport: &FetchTransport, signal: Signal) -> Result<usize, ModelError> {
    let mut body = transport.send(HttpRequest::get("/"), signal).await?.body;
    let mut received = 0;
    while let Some(piece) = body.next().await {
        received += piece?.len();
    }
    Ok(received)
}

/// F 75: the transport gives up on a server that is silent, slow without end, or sends without end, and closes the
/// connection.
#[wasm_bindgen_test]
async fn patience_has_an_end() {
    let closed = || FakeFetch::seen("seen[0].aborted()");
    {
        let _fake = dripping("0123456789", 5, 20);
        assert_eq!(read(&server(), Signal::never()).await, Ok(200));
    }
    {
        let _fake = FakeFetch::new("return new Promise(() => {});");
        assert_eq!(
            read(&server(), Signal::never()).await,
            Err(ModelError::TimedOut { seconds: 1 })
        );
        assert_eq!(closed(), "true");
    }
    {
        let _fake = dripping("x", 60_000, 1);
        assert_eq!(
            read(&server(), Signal::never()).await,
            Err(ModelError::TimedOut { seconds: 1 })
        );
        assert_eq!(closed(), "true");
    }
    {
        // The head comes before the prompt is read, with a first piece that says nothing.
        let patience = Patience {
            first_byte_ms: 1_500,
            idle_ms: 300,
            whole_ms: 10_000,
            bytes: 1_000,
        };
        let slow = server().with_patience(patience);
        let _fake = dripping("x", 700, 2);
        assert_eq!(read(&slow, Signal::never()).await, Ok(2));
        let _fake = dripping("x", 700, 9);
        assert_eq!(
            read(&slow, Signal::never()).await,
            Err(ModelError::TimedOut { seconds: 1 })
        );
    }
    {
        // The body is never silent for long and never done.
        let _fake = dripping("x", 50, 10_000);
        let begun = HostClock.now();
        assert_eq!(
            read(&server(), Signal::never()).await,
            Err(ModelError::TimedOut { seconds: 2 })
        );
        assert!(HostClock.now() - begun > 1_800.0);
        assert_eq!(closed(), "true");
    }
    {
        let _fake = dripping(&"0123456789".repeat(20), 0, 1_000);
        let too_long = ModelError::TooLong {
            what: "the answer".into(),
            limit: 1_000,
        };
        assert_eq!(read(&server(), Signal::never()).await, Err(too_long));
        assert_eq!(closed(), "true");
    }
}

/// P1: a request can be cancelled before, during the wait and during the answer, and dropping the answer stops the
/// server's work.
#[wasm_bindgen_test]
async fn a_request_can_be_cancelled() {
    let closed = || FakeFetch::seen("seen.map(s => s.aborted()).join()");
    let after = async |ms: u32, abort: &Abort| {
        sleep(ms).await;
        abort.abort();
    };
    {
        let _fake = dripping("x", 10, 50);
        let abort = Abort::new();
        abort.abort();
        assert_eq!(
            read(&server(), abort.signal()).await,
            Err(ModelError::Aborted)
        );
        assert_eq!(closed(), "", "nothing was asked");
        let abort = Abort::new();
        let (got, ()) = futures_util::join!(
            async { read(&server(), abort.signal()).await },
            after(45, &abort)
        );
        assert_eq!((got, closed().as_str()), (Err(ModelError::Aborted), "true"));
    }
    {
        let _fake = FakeFetch::new("return new Promise(() => {});");
        let abort = Abort::new();
        let (got, ()) = futures_util::join!(
            async { read(&server(), abort.signal()).await },
            after(30, &abort)
        );
        assert_eq!((got, closed().as_str()), (Err(ModelError::Aborted), "true"));
    }
    let _fake = dripping("x", 10, 50);
    let mut answer = server()
        .send(HttpRequest::get("/"), Signal::never())
        .await
        .unwrap();
    assert_eq!(answer.body.next().await, Some(Ok(b"x".to_vec())));
    assert_eq!(closed(), "false");
    drop(answer);
    assert_eq!(closed(), "true");
}

/// F 80: requests that a browser refuses, and texts that are not addresses, give an error.
#[wasm_bindgen_test]
async fn what_cannot_be_reached_is_said() {
    // No server listens on port 9, and browsers refuse it anyway.
    let got = server().send(HttpRequest::get("/"), Signal::never()).await;
    assert_eq!(got.unwrap_err().code(), "unreachable");
    // The page that runs this test comes from a real server.
    let origin = FakeFetch::seen("location.origin");
    let real = FetchTransport::new(&origin).unwrap();
    let answer = real
        .send(HttpRequest::get("/"), Signal::never())
        .await
        .unwrap();
    assert_eq!(answer.status, 200);
    let page = beginning(answer.body, 9).await.unwrap();
    assert_eq!(
        String::from_utf8_lossy(&page).to_ascii_lowercase(),
        "<!doctype"
    );
    for address in [
        "localhost:11434",
        "",
        "ftp://x",
        "javascript:alert(1)",
        "/api",
    ] {
        assert_eq!(
            FetchTransport::new(address).unwrap_err().code(),
            "bad_request",
            "{address}"
        );
    }
    let key = server()
        .with_key("a\nb")
        .send(HttpRequest::get("/"), Signal::never())
        .await;
    assert_eq!(key.unwrap_err().code(), "bad_request");
}

// ---------------------------------------------------------------------------------------------------
// The connection doctor

async fn findings(answer: &str, server: &str) -> (Vec<&'static str>, String) {
    let _fake = FakeFetch::new(answer);
    let case = Case {
        server: server.into(),
        dialect: Dialect::Ollama,
        origin: Some("http://localhost:8080".into()),
        os: Os::Linux,
        model: Some("m".into()),
        window: None,
        trial: None,
    };
    let told = RefCell::new(0);
    let all = examine(case, "", Signal::never(), |_| *told.borrow_mut() += 1).await;
    assert_eq!(
        told.into_inner(),
        all.len(),
        "each finding is told once, as it comes"
    );
    let modes =
        FakeFetch::seen("seen.map(s => `${s.mode ?? 'cors'} ${new URL(s.url).pathname}`).join()");
    (all.iter().map(|finding| finding.code).collect(), modes)
}

/// F 80: the doctor's probes are done, and their results reach it.
#[wasm_bindgen_test]
async fn the_doctors_probes_are_done() {
    let healthy = "if (init.mode === 'no-cors') return new Response('');
        if (url.endsWith('/api/version')) return Response.json({ version: '0.33.0' });
        if (url.endsWith('/api/tags')) return Response.json({ models: [{ name: 'm:latest' }] });
        return Response.json({ models: [] });";
    let (codes, asked) = findings(healthy, "http://localhost:11434").await;
    assert!(
        codes.starts_with(&["server_up", "page_allowed"]),
        "{codes:?}"
    );
    assert!(
        asked.starts_with("no-cors /,cors /api/version,cors /api/tags"),
        "{asked}"
    );
    // The server runs, but this page may not read its answers.
    let refused = "if (init.mode === 'no-cors') return new Response(''); throw new TypeError('Failed to fetch');";
    assert_eq!(
        findings(refused, "http://localhost:11434").await.0,
        ["cors_refused"]
    );
    let nobody = "throw new TypeError('Failed to fetch');";
    assert_eq!(findings(nobody, "http://localhost:11434").await.0, ["down"]);
    assert_eq!(findings(nobody, "localhost").await.0, ["bad_address"]);
}

// ---------------------------------------------------------------------------------------------------
// What a host brings itself: storage, a transport, a place for settings

#[wasm_bindgen(module = "/testing/storage.js")]
extern "C" {
    #[wasm_bindgen(js_name = memoryStorage)]
    fn memory_storage() -> JsValue;
}

// The parts of the package's `session-host.ts` and `mount-host.ts` that these tests need.
#[wasm_bindgen(inline_js = r#"
export function host_of(storage) {
  return {
    async store(call, given) {
      try {
        return JSON.stringify({ Ok: (await storage[call](JSON.parse(given))) ?? null });
      } catch ({ code, message }) {
        return JSON.stringify({ Err: { code, message } });
      }
    },
  };
}
export const told = [];
export function transport_of(pieces) {
  return {
    request(method, path, body) {
      told.push(`${method} ${path} ${body.length}`);
      const answers = path === "/api/version" ? [new TextEncoder().encode('{"version":"0.33.0"}')]
        : path === "/api/tags" ? [new TextEncoder().encode('{"models":[{"name":"m:latest"}]}')]
        : path === "/api/ps" ? [new TextEncoder().encode('{"models":[]}')]
        : pieces === "never" ? undefined
        : [new TextEncoder().encode("Good "), new TextEncoder().encode("day"), '{"Err":{"kind":"truncated"}}'];
      let at = 0;
      return {
        async head() { return pieces === "refused" ? '{"Err":{"kind":"forbidden"}}' : '{"Ok":{"status":200}}'; },
        next() { return answers ? Promise.resolve(answers[at++]) : new Promise(() => {}); },
        stop() { told.push(`stop ${path}`); },
      };
    },
  };
}
export function all_told() { return told.splice(0).join(); }
"#)]
extern "C" {
    fn host_of(storage: JsValue) -> StorageHost;
    fn transport_of(pieces: &str) -> TransportHost;
    fn all_told() -> String;
}

/// S5, I1, I6: a storage in JavaScript keeps the contract of every store.
#[wasm_bindgen_test]
async fn the_contract_holds_for_a_storage_in_javascript() {
    let report = contract::run_all(async || HostStore::new(host_of(memory_storage()))).await;
    assert!(report.is_ok(), "{report}");
    assert_eq!(report.passed.len(), 24);
}

/// I10, P7: a host's transport delivers an answer in pieces with its error last, an abort ends the waiting, and the
/// host hears of the end. The doctor uses the same transport and makes no request of the page's own.
#[wasm_bindgen_test]
async fn a_hosts_transport_carries_requests() {
    let post = || HttpRequest {
        method: "POST",
        path: "/api/chat".into(),
        body: b"{\"a\":1}".to_vec(),
    };
    let transport = HostTransport::new(transport_of("some"));
    let mut answer = transport.send(post(), Signal::never()).await.unwrap();
    assert_eq!(answer.status, 200);
    let first = answer.body.next().await.unwrap().unwrap();
    let second = answer.body.next().await.unwrap().unwrap();
    assert_eq!([first, second].concat(), b"Good day");
    assert_eq!(
        answer.body.next().await.unwrap().unwrap_err().code(),
        "truncated"
    );
    assert!(answer.body.next().await.is_none());
    drop(answer);
    assert_eq!(all_told(), "POST /api/chat 7,stop /api/chat");

    let refused = HostTransport::new(transport_of("refused"));
    let error = refused.send(post(), Signal::never()).await.unwrap_err();
    assert_eq!(error.code(), "forbidden");

    let abort = Abort::new();
    let slow = HostTransport::new(transport_of("never"));
    let mut answer = slow.send(post(), abort.signal()).await.unwrap();
    abort.abort();
    assert_eq!(
        answer.body.next().await.unwrap().unwrap_err().code(),
        "aborted"
    );
    drop(answer);
    all_told();

    let case = Case {
        server: "http://localhost:11434".into(),
        dialect: Dialect::Ollama,
        origin: None,
        os: Os::Linux,
        model: Some("m".into()),
        window: None,
        trial: None,
    };
    let found = examine_over(case, &transport, Signal::never(), |_| {}).await;
    let codes: Vec<_> = found.iter().map(|finding| finding.code).collect();
    assert!(
        codes.contains(&"server_up") && !codes.contains(&"down"),
        "{codes:?}"
    );
    assert!(
        all_told().starts_with("GET /api/version 0,stop /api/version,GET /api/tags 0"),
        "the doctor asks over the same way"
    );
}

struct Shelf(RefCell<std::collections::BTreeMap<String, String>>);

impl settings::Entries for Shelf {
    fn get(&self, name: &str) -> Option<String> {
        self.0.borrow().get(name).cloned()
    }

    fn set(&self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => self.0.borrow_mut().insert(name.into(), text.into()),
            None => self.0.borrow_mut().remove(name),
        };
    }
}

/// S5: if a host keeps the settings, none of them are written to localStorage or read from it.
#[wasm_bindgen_test]
fn settings_are_kept_where_the_host_says() {
    settings::save("elsewhere", &7u32).unwrap();
    let shelf = Rc::new(Shelf(RefCell::default()));
    settings::keep_in(Some(Rc::<Shelf>::clone(&shelf)));
    assert_eq!(settings::load::<u32>("elsewhere").settings, 0);
    settings::save("elsewhere", &8u32).unwrap();
    assert_eq!(settings::load::<u32>("elsewhere").settings, 8);
    HeadNote::default().save("elsewhere");
    assert_eq!(HeadNote::load("elsewhere"), None);
    assert_eq!(
        LocalStorageStore::open("elsewhere").unwrap_err().code(),
        "storage_unavailable"
    );
    assert_eq!(
        shelf.0.borrow().iter().collect::<Vec<_>>(),
        [(&"elsewhere".to_owned(), &"8".to_owned())]
    );
    settings::forget("elsewhere");
    settings::keep_in(None);
    assert!(shelf.0.borrow().is_empty());
    assert_eq!(settings::load::<u32>("elsewhere").settings, 7);
    settings::forget("elsewhere");
}
