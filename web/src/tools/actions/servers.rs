//! Connections to tool servers: what they offer, and calls to them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_util::StreamExt;
use futures_util::lock::Mutex;
use leptos::task::spawn_local;
use palimpsest_browser::{FetchTransport, Patience, beginning};
use palimpsest_core::request::ModelError;
use palimpsest_engine::ports::Signal as Stop;
use palimpsest_text::sorted::SortedMap;
use serde_json::{Value, json};

use crate::act::{change, failed, now, show_all, with_writer};
use crate::platform::signal::Signal;
use crate::settings::data::key::origin_of;
use crate::settings::host_of;
use crate::state::AppState;
use crate::text::{T, fill, t};
use crate::tools::data::mcp::{self, Fault, Reader, Tool};
use crate::tools::data::server::{self, ToolServer};

/// The limits for finding out what a server offers.
const LOOK: Patience = Patience {
    first_byte_ms: 8_000,
    idle_ms: 8_000,
    whole_ms: 20_000,
    bytes: 8 << 20,
};

/// The limits for a call. Some tools work for minutes.
const CALL: Patience = Patience {
    first_byte_ms: 600_000,
    idle_ms: 600_000,
    whole_ms: 3_600_000,
    bytes: 16 << 20,
};

/// Milliseconds for which a server that did not answer is not asked again before a message.
const REST: f64 = 60_000.0;

/// The bytes of a refusal that are read for its reason.
const REASON: usize = 16 << 10;

/// The findings at a tool server.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Findings {
    /// It is asked.
    #[default]
    Asking,
    /// Its tools.
    Tools(Rc<Vec<Tool>>),
    /// The reason why there are none.
    Failed(String),
}

thread_local! {
    static CLIENTS: RefCell<Vec<Rc<Client>>> = const { RefCell::new(Vec::new()) };
    static FOUND: Signal<SortedMap<String, Findings>> = Signal::lasting(SortedMap::new());
}

/// The findings at the servers that were asked, by their addresses.
pub(crate) fn found() -> Signal<SortedMap<String, Findings>> {
    FOUND.with(|found| *found)
}

/// The reason why a server gave no result.
enum Trouble {
    /// There is no way to it.
    Way(ModelError),
    /// It refused with this status, and perhaps with words.
    Status(u16, String),
    /// Its answer is an error, or none.
    Fault(Fault),
}

impl From<ModelError> for Trouble {
    fn from(error: ModelError) -> Self {
        Self::Way(error)
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Trouble {
    fn sentence(&self, address: &str) -> String {
        match self {
            Self::Way(ModelError::Unreachable { .. }) => {
                let here = ["localhost", "127.0.0.1"].contains(&host_of(address));
                let text = if here {
                    T::ToolsUnreachable
                } else {
                    T::ToolsElsewhere
                };
                fill(text, &[address])
            }
            Self::Way(error) => error.to_string(),
            Self::Status(401 | 403, _) => t(T::ToolsKeyRefused).to_owned(),
            Self::Status(_, words) | Self::Fault(Fault::Told(words)) if !words.is_empty() => {
                words.clone()
            }
            Self::Status(404 | 405, _) | Self::Fault(_) => fill(T::ToolsNotThere, &[address]),
            Self::Status(status, _) => fill(T::ToolsStatus, &[&status.to_string()]),
        }
    }

    /// Returns `true` if the server may have forgotten the connection. Then it ran nothing.
    const fn is_forgotten(&self) -> bool {
        matches!(self, Self::Status(400 | 404, _))
    }
}

/// The connection to a tool server.
pub(crate) struct Client {
    address: String,
    key: String,
    /// The server's name for this connection.
    session: RefCell<Option<String>>,
    /// The version of the protocol that it speaks, once it was greeted.
    version: RefCell<Option<String>>,
    /// The number of the last request.
    last: Cell<u32>,
    tools: RefCell<Option<Rc<Vec<Tool>>>>,
    failed_at: Cell<Option<f64>>,
    /// One greets the server at a time.
    turn: Mutex<()>,
}

impl Client {
    /// The connection to that server, which is made when it is needed.
    pub(crate) fn to(server: &ToolServer) -> Rc<Self> {
        CLIENTS.with_borrow_mut(|all| {
            let same = |one: &&Rc<Self>| one.address == server.address && one.key == server.key;
            if let Some(known) = all.iter().find(same) {
                return Rc::clone(known);
            }
            let new = Rc::new(Self {
                address: server.address.clone(),
                key: server.key.clone(),
                session: RefCell::default(),
                version: RefCell::default(),
                last: Cell::default(),
                tools: RefCell::default(),
                failed_at: Cell::default(),
                turn: Mutex::default(),
            });
            all.retain(|one| one.address != server.address);
            all.push(Rc::clone(&new));
            new
        })
    }

    /// The server's tools, as they were found; it is asked if it was not.
    pub(crate) async fn tools(&self) -> Result<Rc<Vec<Tool>>, String> {
        let _turn = self.turn.lock().await;
        if let Some(tools) = self.tools.borrow().clone() {
            return Ok(tools);
        }
        self.tell(Findings::Asking);
        let found = self.connect().await.map(Rc::new);
        let found = found.map_err(|trouble| trouble.sentence(&self.address));
        self.failed_at.set(found.is_err().then(now));
        self.tools.replace(found.as_ref().ok().cloned());
        self.tell(match found.clone() {
            Ok(tools) => Findings::Tools(tools),
            Err(why) => Findings::Failed(why),
        });
        found
    }

    /// Returns `true` for a while after it did not answer.
    pub(crate) fn rests(&self) -> bool {
        self.failed_at.get().is_some_and(|at| now() < at + REST)
    }

    fn tell(&self, what: Findings) {
        found().update(|all| {
            all.insert(self.address.clone(), what);
        });
    }

    /// Greets the server and reads the list of its tools.
    async fn connect(&self) -> Result<Vec<Tool>, Trouble> {
        self.greet().await?;
        let (mut all, mut place) = (Vec::new(), None);
        for _ in 0..mcp::MOST_PAGES {
            let parameters = match place {
                Some(place) => json!({ "cursor": place }),
                None => json!({}),
            };
            let (tools, next) = mcp::tools(&self.ask("tools/list", parameters, LOOK).await?);
            all.extend(tools);
            place = next;
            if place.is_none() {
                break;
            }
        }
        Ok(all)
    }

    async fn greet(&self) -> Result<(), Trouble> {
        self.session.replace(None);
        self.version.replace(None);
        let hello = self.ask("initialize", mcp::greeting(), LOOK).await?;
        self.version.replace(Some(mcp::version(&hello).to_owned()));
        let ready = mcp::notice("notifications/initialized", json!({}));
        self.post(ready, LOOK).await?;
        Ok(())
    }

    /// Calls a tool. `Err` is for the model to read.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> Result<String, String> {
        let parameters = json!({ "name": tool, "arguments": arguments });
        let mut result = self.ask("tools/call", parameters.clone(), CALL).await;
        // a server that was started anew knows nothing of this connection
        let is_forgotten = result.as_ref().is_err_and(Trouble::is_forgotten);
        if is_forgotten && self.session.borrow().is_some() && self.greet().await.is_ok() {
            result = self.ask("tools/call", parameters, CALL).await;
        }
        match result {
            Ok(result) => mcp::words(&result),
            Err(trouble) => Err(trouble.sentence(&self.address)),
        }
    }

    /// Sends a request and waits for its result. Who stops waiting tells the server so.
    async fn ask(
        &self,
        method: &str,
        parameters: Value,
        patience: Patience,
    ) -> Result<Value, Trouble> {
        let id = self.last.get() + 1;
        self.last.set(id);
        let waits = Waits::of(self, id, method == "tools/call");
        let request = mcp::request(id, method, parameters);
        let result = self.answer(id, request, patience).await;
        waits.over();
        result
    }

    async fn answer(&self, id: u32, request: String, patience: Patience) -> Result<Value, Trouble> {
        let (mut answer, headers) = self.post(request, patience).await?;
        let header = |name: &str| headers.get(name).ok().flatten();
        if !(200..300).contains(&answer.status) {
            let mut reader = Reader::new(id, "");
            let _ = reader.push(&beginning(answer.body, REASON).await?);
            let words = match reader.end() {
                Err(Fault::Told(words)) => words,
                _ => String::new(),
            };
            return Err(Trouble::Status(answer.status, words));
        }
        if let Some(session) = header("mcp-session-id") {
            self.session.replace(Some(session));
        }
        let mut reader = Reader::new(id, &header("content-type").unwrap_or_default());
        while let Some(piece) = answer.body.next().await {
            if let Some(result) = reader.push(&piece?)? {
                return Ok(result);
            }
        }
        Ok(reader.end()?)
    }

    async fn post(
        &self,
        message: String,
        patience: Patience,
    ) -> Result<(palimpsest_browser::Answer, web_sys::Headers), Trouble> {
        let way = FetchTransport::new(&self.address)?
            .with_key(&self.key)
            .with_patience(patience);
        let (session, version) = (self.session.borrow().clone(), self.version.borrow().clone());
        let mut besides = vec![("accept", "application/json, text/event-stream")];
        besides.extend(session.as_deref().map(|it| ("mcp-session-id", it)));
        besides.extend(version.as_deref().map(|it| ("mcp-protocol-version", it)));
        Ok(way.post(message, &besides, Stop::never()).await?)
    }
}

/// Somebody waits for a call. Where the wait ends before the result is there, the server is told.
struct Waits<'a> {
    client: &'a Client,
    id: u32,
    told: bool,
}

impl<'a> Waits<'a> {
    const fn of(client: &'a Client, id: u32, is_call: bool) -> Self {
        Self {
            client,
            id,
            told: !is_call,
        }
    }

    fn over(mut self) {
        self.told = true;
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        if self.told {
            return;
        }
        let server = ToolServer {
            address: self.client.address.clone(),
            key: self.client.key.clone(),
            ..ToolServer::default()
        };
        let gone = json!({ "requestId": self.id, "reason": "The person stopped the reply." });
        spawn_local(async move {
            let gone = mcp::notice("notifications/cancelled", gone);
            let _ = Client::to(&server).post(gone, LOOK).await;
        });
    }
}

/// The tool servers of the settings.
pub(crate) fn known(state: AppState) -> Vec<ToolServer> {
    state
        .settings
        .with_untracked(|s| server::read(&s.tool_servers))
}

fn edit_all(edit: impl FnOnce(&mut Vec<ToolServer>)) {
    change(|s| {
        let mut all = server::read(&s.tool_servers);
        edit(&mut all);
        s.tool_servers = server::written(&all);
    });
}

fn edit(address: &str, edit: impl FnOnce(&mut ToolServer)) {
    edit_all(|all| {
        if let Some(server) = all.iter_mut().find(|one| one.address == address) {
            edit(server);
        }
    });
}

/// Forgets the connection to a server, and the findings there.
fn forget(address: &str) {
    CLIENTS.with_borrow_mut(|all| all.retain(|one| one.address != address));
    found().update(|all| {
        all.remove(address);
    });
}

/// Adds a tool server and asks what it offers. One that is known gets the key, and keeps what a person chose of its tools.
pub(crate) fn add_tool_server(address: String, key: String) {
    let address = address.trim().to_owned();
    if origin_of(&address).is_none() {
        let why = fill(T::ToolsNoAddress, &[&address]);
        found().update(|all| {
            all.insert(String::new(), Findings::Failed(why));
        });
        return;
    }
    found().update(|all| {
        all.remove("");
    });
    forget(&address);
    edit_all(|all| {
        let known = all.iter().position(|one| one.address == address);
        let mut server = known.map(|at| all.remove(at)).unwrap_or_default();
        server.address = address;
        key.trim().clone_into(&mut server.key);
        server.paused = false;
        all.push(server);
    });
    look_at_tools();
}

/// Forgets a tool server.
pub(crate) fn drop_tool_server(address: String) {
    forget(&address);
    edit_all(|all| all.retain(|one| one.address != address));
}

/// Offers the tools of a server no longer, or again.
pub(crate) fn pause_tool_server(address: String, paused: bool) {
    edit(&address, |server| server.paused = paused);
    look_at_tools();
}

/// Asks a server again what it offers.
pub(crate) fn ask_tool_server(address: String) {
    forget(&address);
    look_at_tools();
}

/// Offers a tool, or leaves it out.
pub(crate) fn offer_tool(address: String, tool: String, on: bool) {
    edit(&address, |server| {
        if on {
            server.left_out.remove(&tool);
        } else {
            server.left_out.insert(tool);
        }
    });
}

/// Lets a tool run without a question, or asks before each call.
pub(crate) fn allow_tool(address: String, tool: String, on: bool) {
    edit(&address, |server| {
        if on {
            server.allowed.insert(tool);
        } else {
            server.allowed.remove(&tool);
        }
    });
}

/// Asks every server that is not paused what it offers, unless that is known.
pub(crate) fn look_at_tools() {
    let Some(state) = AppState::remembered() else {
        return;
    };
    for server in known(state) {
        let known = found().with_untracked(|all| all.contains_key(&server.address));
        if !server.paused && !known {
            spawn_local(async move {
                let _ = Client::to(&server).tools().await;
            });
        }
    }
}

/// Lets the model look up what was said, in the open session and in new ones, or no longer.
pub(crate) fn offer_own_tools(on: bool) {
    change(|s| s.own_tools = on);
    with_writer(move |back, session| async move {
        let mut config = session.config();
        config.tools.enabled = on;
        if let Err(error) = session.configure(config).await {
            failed(&back, &error);
        }
        show_all(&back).await;
    });
}
