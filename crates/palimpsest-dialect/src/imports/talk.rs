//! Whole conversations, put together from what was read.

use serde_json::Value;

use super::Importer;
use super::report::{ImportError, Report};
use super::sink::{Event, Head};

/// One conversation of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// What is known of it.
    pub head: Head,
    /// Every message of every branch, each after the one it follows.
    pub messages: Vec<Value>,
    /// For each message the one it follows; nothing for a first one.
    pub parents: Vec<Option<u32>>,
}

/// Another way that a conversation went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The branch it leaves, counted from 0; nothing if it leaves the one that was shown last.
    pub of: Option<u32>,
    /// How many messages it has in common with that one.
    pub after: u32,
    /// Its own messages.
    pub messages: Vec<u32>,
}

impl Conversation {
    /// The messages of the branch that was shown last, oldest first.
    pub fn shown(&self) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = self.head.tip;
        while let Some(n) = at {
            path.push(n);
            at = self.parents.get(n as usize).copied().flatten();
        }
        path.reverse();
        path
    }

    /// Every other way that it went, each after the one it leaves.
    pub fn branches(&self) -> Vec<Branch> {
        let mut first: Vec<u32> = Vec::new();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.parents.len()];
        for (n, parent) in (0_u32..).zip(&self.parents) {
            match parent {
                Some(parent) => children[*parent as usize].push(n),
                None => first.push(n),
            }
        }
        let mut branches: Vec<Branch> = Vec::new();
        // the ways whose forks were not looked at: which branch, what it has in common, its own messages
        let shown = self.shown();
        let leaves = |of: Option<u32>,
                      after: u32,
                      from: &[u32],
                      but: Option<&u32>,
                      branches: &mut Vec<Branch>| {
            for start in from.iter().filter(|n| Some(*n) != but) {
                let mut messages = vec![*start];
                while let Some(next) = children[messages[messages.len() - 1] as usize].last() {
                    messages.push(*next);
                }
                branches.push(Branch {
                    of,
                    after,
                    messages,
                });
            }
        };
        leaves(None, 0, &first, shown.first(), &mut branches);
        let mut way: (Option<u32>, u32, Vec<u32>) = (None, 0, shown);
        let mut next = 0;
        loop {
            let (of, common, messages) = &way;
            for (i, n) in messages.iter().enumerate() {
                let after = common + i as u32 + 1;
                leaves(
                    *of,
                    after,
                    &children[*n as usize],
                    messages.get(i + 1),
                    &mut branches,
                );
            }
            let Some(branch) = branches.get(next) else {
                return branches;
            };
            way = (Some(next as u32), branch.after, branch.messages.clone());
            next += 1;
        }
    }
}

/// Everything that a file holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// The conversations in which something was said.
    pub conversations: Vec<Conversation>,
    /// What an object of palimpsest's own holds beside conversations. `hasSessions` says whether it is a file of sessions.
    pub beside: Option<Value>,
    /// What became of the file.
    pub report: Report,
    open: Conversation,
}

impl Imported {
    /// Takes what was read next.
    pub fn take(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::Begin => self.open = Conversation::default(),
                Event::Message { parent, message } => {
                    self.open.parents.push(parent);
                    self.open.messages.push(message);
                }
                Event::End(head) => {
                    let open = std::mem::take(&mut self.open);
                    if !open.messages.is_empty() {
                        self.conversations.push(Conversation { head, ..open });
                    }
                }
                Event::Beside(value) => self.beside = Some(value),
            }
        }
    }

    /// Takes the end of the file.
    pub fn finish(mut self, importer: Importer) -> Result<Self, ImportError> {
        let (events, report) = importer.finish()?;
        self.take(events);
        self.report = report;
        Ok(self)
    }
}

/// Reads the text of a file.
pub fn read(text: &str) -> Result<Imported, ImportError> {
    let mut importer = Importer::default();
    let mut file = Imported::default();
    importer.push(text.as_bytes());
    file.take(importer.take());
    file.finish(importer)
}
