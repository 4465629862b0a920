//! Tool servers as the settings keep them, and their tools as a model is offered them.

use palimpsest_text::json;
use palimpsest_text::sorted::SortedSet;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::tools::data::mcp::Tool;

/// The longest name of a tool that model servers take, in characters.
const LONGEST_NAME: usize = 64;

/// A tool server. Its key goes with its address, which never changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolServer {
    /// Its address, with the path.
    pub address: String,
    /// A key, if it wants one.
    pub key: String,
    /// The model is offered none of its tools for now.
    pub paused: bool,
    /// The names of tools that the model is not offered.
    pub left_out: SortedSet<String>,
    /// The names of tools that run without a question to the person.
    pub allowed: SortedSet<String>,
}

impl ToolServer {
    /// The server as it may leave this browser: without its key.
    pub fn share(&mut self) {
        self.key.clear();
    }

    /// Makes a server that a file names fit for use: the key, and what runs without a question, are those that a person
    /// gave `here`. One that is not known here is paused, so that nothing is asked of it before a person wants it.
    pub fn arrive(&mut self, here: &[Self]) {
        let known = here.iter().find(|one| one.address == self.address);
        self.paused = known.is_none_or(|known| known.paused);
        self.key = known.map(|known| known.key.clone()).unwrap_or_default();
        self.allowed = known.map(|known| known.allowed.clone()).unwrap_or_default();
    }
}

/// The servers in a text of the settings. A text that cannot be read holds none.
pub fn read(text: &str) -> Vec<ToolServer> {
    json::read(text).unwrap_or_default()
}

/// The text of these servers for the settings; empty if there are none.
pub fn written(servers: &[ToolServer]) -> String {
    if servers.is_empty() {
        return String::new();
    }
    serde_json::to_string(servers).unwrap_or_default()
}

/// The name of a server for people: its address without the scheme.
pub fn name_of(address: &str) -> &str {
    address.split_once("://").map_or(address, |(_, rest)| rest)
}

/// A tool of a server under the name by which the model calls it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// The name for the model. No other tool of the request has it.
    pub name: String,
    /// The place of its server.
    pub server: usize,
    /// The tool.
    pub tool: Tool,
}

impl Offered {
    /// Its definition, as model servers read it.
    pub fn definition(&self) -> Value {
        json!({
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.tool.description,
                "parameters": self.tool.schema,
            },
        })
    }
}

/// Gives the tools of all servers names that model servers take: letters, digits, `_` and `-`, none of them twice, none of
/// those that are `taken` already.
pub fn offer(tools: impl IntoIterator<Item = (usize, Tool)>, taken: &[&str]) -> Vec<Offered> {
    let mut names: SortedSet<String> = taken.iter().map(|name| (*name).to_owned()).collect();
    let mut all = Vec::new();
    for (server, tool) in tools {
        let plain = |c: char| match c {
            c if c.is_ascii_alphanumeric() => c,
            '_' | '-' => c,
            _ => '_',
        };
        let whole: String = tool.name.chars().map(plain).take(LONGEST_NAME).collect();
        let mut name = whole.clone();
        let mut n = 2;
        while name.is_empty() || names.contains(&name) {
            let ending = format!("_{n}");
            let room = LONGEST_NAME - ending.len();
            name = whole.chars().take(room).chain(ending.chars()).collect();
            n += 1;
        }
        names.insert(name.clone());
        all.push(Offered { name, server, tool });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Tool {
        Tool {
            name: name.to_owned(),
            ..Tool::default()
        }
    }

    #[test]
    fn names_are_fit_for_models() {
        let check = |names: &[&str], expected: &[&str]| {
            let tools = names.iter().map(|name| (0, tool(name)));
            let offered = offer(tools, &["recall"]);
            let found: Vec<&str> = offered.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(found, expected, "{names:?}");
        };
        check(&["echo", "get-sum"], &["echo", "get-sum"]);
        check(
            &["files.read", "files/read", "ü"],
            &["files_read", "files_read_2", "_"],
        );
        check(&["echo", "echo", "echo"], &["echo", "echo_2", "echo_3"]);
        check(&["recall"], &["recall_2"]);
        check(&["", ""], &["_2", "_3"]);
        let long = "x".repeat(70);
        let (cut, second) = ("x".repeat(64), format!("{}_2", "x".repeat(62)));
        check(&[&long, &long], &[&cut, &second]);
    }

    #[test]
    fn a_file_brings_no_permission() {
        let check = |here: &[ToolServer], expected: ToolServer| {
            let mut arrived = ToolServer {
                address: "http://localhost:3001/mcp".to_owned(),
                key: "from the file".to_owned(),
                paused: false,
                left_out: SortedSet::from(["a".to_owned()]),
                allowed: SortedSet::from(["delete".to_owned()]),
            };
            arrived.arrive(here);
            assert_eq!(arrived, expected);
        };
        let unknown = ToolServer {
            address: "http://localhost:3001/mcp".to_owned(),
            paused: true,
            left_out: SortedSet::from(["a".to_owned()]),
            ..ToolServer::default()
        };
        check(&[], unknown.clone());
        let known = ToolServer {
            key: "own".to_owned(),
            paused: false,
            allowed: SortedSet::from(["echo".to_owned()]),
            ..unknown
        };
        check(std::slice::from_ref(&known), known.clone());
    }
}
