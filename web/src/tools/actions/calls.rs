//! The tool calls of a reply: each is asked about, unless the person has allowed its tool for good.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::oneshot;
use palimpsest_core::tool::definitions_tokens;
use palimpsest_engine::Session;
use palimpsest_engine::ports::LocalFuture;
use palimpsest_engine::session::ToolHandler;
use palimpsest_text::json;
use palimpsest_text::sorted::SortedMap;
use palimpsest_tokens::Estimator;
use serde_json::{Value, json};

use crate::act;
use crate::platform::signal::Signal;
use crate::state::AppState;
use crate::text::{T, fill, number};
use crate::tools::actions::servers::{self, Client};
use crate::tools::data::call::Call;
use crate::tools::data::server::{Offered, ToolServer, name_of, offer};

/// The tools that a message goes with: their definitions, and what answers calls of them.
pub(crate) type Tools = (Vec<Value>, Rc<dyn ToolHandler>);

/// A person's answer to the question whether a call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// This time.
    Once,
    /// From now on, whenever the model calls this tool.
    Always,
    /// It may not.
    No,
}

/// Tools take at most one part in this many of a window: the conversation needs the rest.
const MOST_OF_WINDOW: u32 = 2;

thread_local! {
    /// The calls that wait for a person, or run, in any session.
    static CALLS: Signal<Vec<Call>> = Signal::lasting(Vec::new());
    /// The calls that wait for an answer, by their numbers.
    static ASKED: RefCell<SortedMap<u32, oneshot::Sender<Permission>>> = const { RefCell::new(SortedMap::new()) };
    /// The number of the last call.
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// The calls that wait for a person, or run, in any session.
pub(crate) fn running() -> Signal<Vec<Call>> {
    CALLS.with(|calls| *calls)
}

/// Changes the calls. The page knows how many there are.
fn change(state: AppState, change: impl FnOnce(&mut Vec<Call>)) {
    running().update(change);
    state
        .calls
        .change(running().with_untracked(Vec::len) as u32);
}

/// The tools for the next message of a session. `None` if there are none. A server that does not answer is left out, and the
/// person is told so.
pub(crate) fn offered_tools(session: Session) -> LocalFuture<'static, Option<Tools>> {
    Box::pin(async move {
        let state = AppState::remembered()?;
        let all = servers::known(state);
        let asked: Vec<ToolServer> = all.into_iter().filter(|one| !one.paused).collect();
        let mut tools = Vec::new();
        for (at, server) in asked.iter().enumerate() {
            let client = Client::to(server);
            if client.rests() {
                continue;
            }
            match client.tools().await {
                Ok(found) => {
                    let wanted = found.iter().filter(|t| !server.left_out.contains(&t.name));
                    tools.extend(wanted.map(|tool| (at, tool.clone())));
                }
                Err(why) => act::note(
                    fill(T::ToolsLeftOut, &[name_of(&server.address), &why]),
                    true,
                ),
            }
        }
        let own = session.config().tools;
        let taken = [
            own.recall.as_str(),
            own.search_history.as_str(),
            own.compress_to_checkpoint.as_str(),
            own.activate_skills.as_str(),
            own.deactivate_skills.as_str(),
        ];
        let offered = offer(tools, &taken);
        if offered.is_empty() {
            return None;
        }
        let definitions: Vec<Value> = offered.iter().map(Offered::definition).collect();
        let tokens = definitions_tokens(&definitions, &Estimator::default());
        let window = session.head().effective_window();
        if tokens > window / MOST_OF_WINDOW {
            act::note(
                fill(T::ToolsTooLarge, &[&number(tokens), &number(window)]),
                true,
            );
            return None;
        }
        let handler = Handler {
            state,
            session: session.id().to_owned(),
            servers: asked,
            offered,
        };
        Some((definitions, Rc::new(handler) as _))
    })
}

/// A person answers the question about a call.
pub(crate) fn decide_call(id: u32, permission: Permission) {
    if let Some(asked) = ASKED.with_borrow_mut(|all| all.remove(&id)) {
        let _ = asked.send(permission);
    }
}

/// Answers the calls of the replies in a session.
struct Handler {
    state: AppState,
    session: String,
    servers: Vec<ToolServer>,
    offered: Vec<Offered>,
}

impl ToolHandler for Handler {
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
    ) -> LocalFuture<'a, Result<String, String>> {
        Box::pin(self.answer(name, arguments))
    }
}

impl Handler {
    async fn answer(&self, name: &str, arguments: &str) -> Result<String, String> {
        let Some(called) = self.offered.iter().find(|one| one.name == name) else {
            return Err(format!("There is no tool called {name}."));
        };
        let given = match arguments.trim() {
            "" => json!({}),
            text => json::parse(text).map_err(|e| format!("The arguments are not JSON: {e}"))?,
        };
        let server = &self.servers[called.server];
        let tool = called.tool.name.clone();
        let pending = Pending::of(self, server, &tool, &given);
        if !self.is_allowed(server, &tool) {
            match pending.ask(&tool).await {
                Permission::Once => {}
                Permission::Always => {
                    servers::allow_tool(server.address.clone(), tool.clone(), true);
                }
                Permission::No => return Err("The person did not allow this call.".to_owned()),
            }
            pending.runs();
        }
        Client::to(server).call(&tool, &given).await
    }

    /// Returns `true` if the person has allowed the tool for good, as the settings stand now.
    fn is_allowed(&self, server: &ToolServer, tool: &str) -> bool {
        let all = servers::known(self.state);
        let now = all.iter().find(|one| one.address == server.address);
        now.is_some_and(|now| now.allowed.contains(tool))
    }
}

/// A call on the page, until it has its result or its reply is stopped.
struct Pending {
    state: AppState,
    session: String,
    id: u32,
}

impl Pending {
    fn of(handler: &Handler, server: &ToolServer, tool: &str, given: &Value) -> Self {
        let id = LAST.get() + 1;
        LAST.set(id);
        let call = Call {
            id,
            session: handler.session.clone(),
            tool: tool.to_owned(),
            server: name_of(&server.address).to_owned(),
            arguments: serde_json::to_string_pretty(given).unwrap_or_default(),
            asks: false,
        };
        change(handler.state, |all| all.push(call));
        Self {
            state: handler.state,
            session: handler.session.clone(),
            id,
        }
    }

    fn edit(&self, edit: impl FnOnce(&mut Call)) {
        running().update(|all| {
            if let Some(call) = all.iter_mut().find(|call| call.id == self.id) {
                edit(call);
            }
        });
    }

    /// Asks the person.
    async fn ask(&self, tool: &str) -> Permission {
        let (answer, answered) = oneshot::channel();
        ASKED.with_borrow_mut(|all| all.insert(self.id, answer));
        self.edit(|call| call.asks = true);
        self.state.say(fill(T::ToolAsks, &[tool]));
        self.tell_elsewhere(tool);
        answered.await.unwrap_or(Permission::No)
    }

    /// Tells a person who looks at another session that one waits.
    fn tell_elsewhere(&self, tool: &str) {
        let open = self
            .state
            .open
            .with_untracked(|open| open.as_ref().map(|open| open.id.clone()));
        if open.as_deref() == Some(self.session.as_str()) {
            return;
        }
        let title = self.state.sessions.with_untracked(|all| {
            let own = all.iter().find(|one| one.id == self.session);
            own.map(|one| one.title.clone()).unwrap_or_default()
        });
        act::note(fill(T::ToolAsksElsewhere, &[&title, tool]), false);
    }

    fn runs(&self) {
        self.edit(|call| call.asks = false);
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        ASKED.with_borrow_mut(|all| all.remove(&self.id));
        change(self.state, |all| all.retain(|call| call.id != self.id));
    }
}
