//! Trees of messages whose nodes name their parents, in whatever order the file has them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::sink::{After, Sink};

/// One node of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'v> {
    pub(super) id: &'v str,
    pub(super) parent: Option<&'v str>,
    pub(super) value: &'v Value,
}

impl<'v> Node<'v> {
    /// What its message follows.
    pub(super) fn after(&self) -> After<'v> {
        self.parent.map_or(After::Nothing, After::Named)
    }
}

/// Reads every node after its parent, branch by branch in the order of the file, and ends with the branch of the node `shown`,
/// or of the last node of the file. A circle of parents is opened at the end of the branch that was shown.
pub(super) fn walk<'v>(
    sink: &mut Sink,
    nodes: &[Node<'v>],
    shown: Option<&str>,
    read: &mut dyn FnMut(&mut Sink, &Node<'v>),
) {
    let by_id: BTreeMap<&str, &Node<'v>> = nodes.iter().map(|node| (node.id, node)).collect();
    let mut children: BTreeMap<&str, Vec<&Node<'v>>> = BTreeMap::new();
    let mut roots = Vec::new();
    for node in nodes {
        match node.parent.filter(|parent| by_id.contains_key(parent)) {
            Some(parent) => children.entry(parent).or_default().push(node),
            None => roots.push(node),
        }
    }
    let shown = shown
        .filter(|id| by_id.contains_key(id))
        .or_else(|| Some(nodes.last()?.id));
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    visit(roots, &children, &mut seen, &mut |node| read(sink, node));
    // nodes that no first message leads to
    for node in shown
        .iter()
        .filter_map(|id| by_id.get(id).copied())
        .chain(nodes)
    {
        if seen.contains(node.id) {
            continue;
        }
        let mut way = BTreeSet::from([node.id]);
        let mut root = node;
        while let Some(parent) = root.parent.and_then(|id| by_id.get(id))
            && way.insert(parent.id)
        {
            root = parent;
        }
        visit(vec![root], &children, &mut seen, &mut |node| {
            read(sink, node);
        });
    }
    if let Some(shown) = shown {
        sink.shown(shown);
    }
}

fn visit<'n, 'v>(
    roots: Vec<&'n Node<'v>>,
    children: &BTreeMap<&str, Vec<&'n Node<'v>>>,
    seen: &mut BTreeSet<&'v str>,
    read: &mut dyn FnMut(&'n Node<'v>),
) {
    let mut next: Vec<&Node<'v>> = roots.into_iter().rev().collect();
    while let Some(node) = next.pop() {
        if seen.insert(node.id) {
            read(node);
            next.extend(children.get(node.id).into_iter().flatten().rev());
        }
    }
}
