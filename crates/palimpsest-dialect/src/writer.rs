//! Which parts share one message of the dialect, and what of the caller's own value stands in it.

use std::borrow::Cow;
use std::cell::Cell;

use palimpsest_text::fence::is_blank;
use palimpsest_text::sorted::{SortedMap, SortedSet};
use serde_json::{Map, Value, json};

use crate::message::{Part, Role, Seq};
use crate::parsed::{Fault, Parsed, ParsedMessage, Place, Slot, SystemLine};
use crate::repair::{Arrangement, Step, interrupted, quoted};
use crate::shape::Dialect;

/// How much of the caller's own may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// Whatever the caller had, right or wrong: it is the host's word.
    Keep,
    /// What the dialect refuses is written anew.
    Repair,
}

/// One part of the list that is to be written.
#[derive(Debug, Clone)]
pub(crate) struct Atom<'a> {
    pub(crate) role: Role,
    pub(crate) part: Cow<'a, Part>,
    /// The value it comes from.
    pub(crate) raw: Option<usize>,
    /// Where in that value it, or what it replaces, stands.
    pub(crate) place: Option<Place>,
    /// Whether it is what stands there.
    pub(crate) verbatim: bool,
    /// Whether it is the system prompt and what goes with it.
    prompt: bool,
}

impl Atom<'_> {
    pub(crate) fn is_at(&self, slot: Slot) -> bool {
        self.place.is_some_and(|p| p.slot == slot)
    }

    /// Whether the caller's value has no usable id.
    pub(crate) fn lacks_id(&self) -> bool {
        self.place.is_some_and(|p| p.fault == Fault::Identity)
    }

    /// Whether it is an element of a content array.
    pub(crate) fn in_blocks(&self) -> bool {
        self.place.is_some_and(|p| matches!(p.slot, Slot::Block(_)))
    }
}

/// The parts of one message of the dialect.
pub(crate) struct Group<'a> {
    /// Who speaks, as the dialect sees it: Anthropic has results said by the user.
    pub(crate) role: Role,
    pub(crate) atoms: Vec<Atom<'a>>,
    /// The value whose unknown fields go along.
    pub(crate) base: Option<usize>,
    /// Whether no user has spoken after it.
    last_turn: bool,
}

impl<'a> Group<'a> {
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Atom<'a>> {
        self.atoms
            .iter()
            .filter(|a| matches!(a.part.as_ref(), Part::ToolCall { .. }))
    }

    /// Everything but calls and results.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &Atom<'a>> {
        self.atoms.iter().filter(|a| {
            !matches!(
                a.part.as_ref(),
                Part::ToolCall { .. } | Part::ToolResult { .. }
            )
        })
    }

    pub(crate) fn has(&self, slot: Slot) -> bool {
        self.atoms.iter().any(|a| a.verbatim && a.is_at(slot))
    }
}

/// A part that is to be written, and where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub part: &'a Part,
    /// Where it comes from.
    pub from: From,
}

/// Where a part that is to be written comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// The system prompt and what was added to it.
    Prompt,
    /// A message that was read, as it was or in a shorter form.
    Message(Seq),
    /// The stand-in for the result of a call that this message makes.
    Repair(Seq),
    /// No message that was read.
    Nowhere,
}

/// The parts of a list that is to be written, each matched with the value that it was read from.
pub(crate) fn of_said<'a>(
    said: impl IntoIterator<Item = Said<'a>>,
    parsed: &Parsed,
) -> Vec<Atom<'a>> {
    let mut taken: SortedMap<u32, Vec<bool>> = SortedMap::new();
    let mut atoms = Vec::new();
    for Said { role, part, from } in said {
        let mut atom = Atom {
            role,
            part: Cow::Borrowed(part),
            raw: None,
            place: None,
            verbatim: false,
            prompt: false,
        };
        match from {
            From::Prompt => {
                if let Part::Text { text } = part
                    && !parsed.system.is_empty()
                    && text.trim_end() == parsed.system_text().trim_end()
                {
                    atoms.extend(prompt(parsed));
                    continue;
                }
                atom.prompt = true;
                atom.raw = parsed.system.first().map(|line| line.raw);
            }
            From::Message(seq) => {
                if let Some(from) = parsed.messages.get(seq as usize) {
                    let taken = taken
                        .entry(seq)
                        .or_insert_with(|| vec![false; from.message.parts.len()]);
                    atom.raw = Some(from.raw);
                    (atom.place, atom.verbatim) = locate(from, part, taken);
                }
            }
            From::Repair(seq) => atom.raw = parsed.raw_of(seq),
            From::Nowhere => {}
        }
        atoms.push(atom);
    }
    atoms
}

/// Where the part, or what it replaces, stands in the message it is from.
fn locate(from: &ParsedMessage, part: &Part, taken: &mut [bool]) -> (Option<Place>, bool) {
    let parts = &from.message.parts;
    let same = (0..parts.len()).find(|&i| !taken[i] && parts[i] == *part);
    let like = || {
        (0..parts.len()).find(|&i| {
            !taken[i]
                && match (&parts[i], part) {
                    (Part::ToolCall { id: a, .. }, Part::ToolCall { id: b, .. })
                    | (Part::ToolResult { call: a, .. }, Part::ToolResult { call: b, .. }) => {
                        a == b
                    }
                    (Part::Text { text }, Part::Text { .. }) => !is_blank(text),
                    _ => false,
                }
        })
    };
    match same.or_else(like) {
        Some(i) => {
            taken[i] = true;
            (from.places[i], same.is_some() && from.places[i].is_some())
        }
        None => (None, false),
    }
}

/// The system lines that lead the list, as they stand.
fn prompt<'a>(parsed: &Parsed) -> Vec<Atom<'a>> {
    let atom = |line: &SystemLine| Atom {
        role: Role::System,
        part: Cow::Owned(Part::text(line.text.as_str())),
        raw: Some(line.raw),
        place: Some(Place {
            slot: Slot::Content,
            fault: Fault::None,
        }),
        verbatim: true,
        prompt: true,
    };
    parsed.system.iter().map(atom).collect()
}

/// The parts of plain messages.
pub(crate) fn of_messages<'a>(
    messages: impl IntoIterator<Item = (Role, &'a [Part])>,
) -> Vec<Atom<'a>> {
    let parts = messages.into_iter().flat_map(|(role, parts)| {
        let said = parts.iter().filter(|p| !p.is_empty());
        said.map(move |p| (role, p))
    });
    let atom = |(role, part)| Atom {
        role,
        part: Cow::Borrowed(part),
        raw: None,
        place: None,
        verbatim: false,
        prompt: role == Role::System,
    };
    parts.map(atom).collect()
}

/// Everything that was parsed, in an order that every provider takes: each result right after its call, a stand-in
/// for each that is missing, results without a call as quoted text, nothing empty.
pub(crate) fn of_parsed(parsed: &Parsed) -> Vec<Atom<'_>> {
    let messages = &parsed.messages;
    let said = messages.iter().map(|m| &m.message);
    let arrangement = Arrangement::of_parts(said.map(|m| (m.role, m.parts.as_slice())));
    let mut atoms: Vec<Atom<'_>> = prompt(parsed);
    let atom = |role, m: usize, p: usize| Atom {
        role,
        part: Cow::Borrowed(&messages[m].message.parts[p]),
        raw: Some(messages[m].raw),
        place: messages[m].places[p],
        verbatim: messages[m].places[p].is_some(),
        prompt: false,
    };
    let ours = |role, m: usize, part| Atom {
        role,
        part: Cow::Owned(part),
        raw: Some(messages[m].raw),
        place: None,
        verbatim: false,
        prompt: false,
    };
    for (m, ParsedMessage { message, .. }) in messages.iter().enumerate() {
        for step in arrangement.steps(m, message.role, &message.parts) {
            atoms.push(match step {
                Step::Own(p, role) => atom(role, m, p),
                Step::Answer(at) => atom(Role::Tool, at.message, at.part),
                Step::Orphan(p) => match &message.parts[p] {
                    Part::ToolResult { text, error, .. } => {
                        ours(Role::User, m, quoted(text, *error))
                    }
                    _ => atom(Role::User, m, p),
                },
                Step::Missing(p) => match &message.parts[p] {
                    Part::ToolCall { id, name, .. } => ours(Role::Tool, m, interrupted(id, name)),
                    _ => continue,
                },
            });
        }
    }
    atoms
}

/// The messages that were read from the values which the atoms come from. The others are not written, so that a window of a
/// long list costs what it shows.
fn messages_of<'r>(atoms: &[Atom<'_>], parsed: &'r Parsed) -> Vec<&'r ParsedMessage> {
    let all = &parsed.messages;
    if parsed.is_gathered {
        return all.iter().collect();
    }
    let raws: SortedSet<usize> = atoms.iter().filter_map(|atom| atom.raw).collect();
    let of_raw = |raw: &usize| {
        let raw = *raw;
        let first = all.partition_point(|m| m.raw < raw);
        all[first..].iter().take_while(move |m| m.raw == raw)
    };
    raws.iter().flat_map(of_raw).collect()
}

/// What must be there for a value to stand as it is.
#[derive(Default)]
struct Expected {
    /// Its parts, in the order they were read; `true` for results.
    slots: Vec<(Slot, bool)>,
    /// Whether it holds a block of empty text, which Anthropic refuses.
    empty_block: bool,
}

/// What the writers of all dialects need to know.
pub(crate) struct Writer<'r> {
    raw: &'r [Value],
    dialect: Dialect,
    care: Care,
    expected: SortedMap<usize, Expected>,
    /// The tool that each call asks for.
    names: SortedMap<String, String>,
    /// Calls made in the field `function_call`.
    old_calls: SortedSet<String>,
    made: Cell<u32>,
    has_prompt: bool,
    broken: &'r SortedSet<usize>,
    /// Where reasoning stands that is written, by value.
    reasoning: SortedMap<usize, Vec<usize>>,
    /// Values of which reasoning is left out.
    silent: SortedSet<usize>,
    /// Items of reasoning, by the value that they stand before.
    thoughts: SortedMap<usize, Vec<usize>>,
    /// The identifiers of calls that Gemini's caller gave.
    ids: SortedSet<String>,
}

impl<'r> Writer<'r> {
    pub(crate) fn new(
        atoms: &[Atom<'_>],
        raw: &'r [Value],
        parsed: &'r Parsed,
        care: Care,
    ) -> Self {
        let mut expected: SortedMap<usize, Expected> = SortedMap::new();
        for line in &parsed.system {
            expected
                .entry(line.raw)
                .or_default()
                .slots
                .push((Slot::Content, false));
        }
        let messages = messages_of(atoms, parsed);
        for from in &messages {
            let expected = expected.entry(from.raw).or_default();
            for (part, place) in from.message.parts.iter().zip(&from.places) {
                match place {
                    Some(place) if !part.is_empty() => {
                        expected
                            .slots
                            .push((place.slot, matches!(part, Part::ToolResult { .. })));
                    }
                    Some(Place {
                        slot: Slot::Block(_),
                        ..
                    }) => {
                        expected.empty_block |= matches!(part, Part::Text { .. });
                    }
                    _ => {}
                }
            }
        }
        let mut reasoning: SortedMap<usize, Vec<usize>> = SortedMap::new();
        let mut thoughts: SortedMap<usize, Vec<usize>> = SortedMap::new();
        let mut silent = SortedSet::new();
        for from in messages.iter().filter(|m| m.reasons()) {
            if parsed.silent.contains(&from.message.seq) {
                silent.insert(from.raw);
                continue;
            }
            for (part, place) in from.message.parts.iter().zip(&from.places) {
                match (part, place.map(|p| p.slot)) {
                    (Part::Thinking { .. }, Some(Slot::Block(i))) => {
                        reasoning.entry(from.raw).or_default().push(i);
                    }
                    (Part::Thinking { .. }, Some(Slot::Item(i))) => {
                        thoughts.entry(from.raw).or_default().push(i);
                    }
                    _ => {}
                }
            }
        }
        let mut names = SortedMap::new();
        let mut old_calls = SortedSet::new();
        for atom in atoms {
            if let Part::ToolCall { id, name, .. } = atom.part.as_ref() {
                names.insert(id.clone(), name.clone());
                if atom.is_at(Slot::FunctionCall) {
                    old_calls.insert(id.clone());
                }
            }
        }
        Self {
            raw,
            dialect: parsed.dialect,
            care,
            expected,
            names,
            old_calls,
            made: Cell::new(0),
            has_prompt: !parsed.system.is_empty(),
            broken: &parsed.broken,
            reasoning,
            silent,
            thoughts,
            ids: given_ids(raw, parsed.dialect),
        }
    }

    /// Who says it, as the dialect sees it.
    fn voice(&self, atom: &Atom<'_>) -> Role {
        match (self.dialect, atom.role) {
            // where the caller's own list has system lines, they stay
            (Dialect::Anthropic, Role::System)
                if atom.prompt && self.has_prompt && self.care == Care::Keep =>
            {
                Role::System
            }
            (dialect, Role::System | Role::Tool) if dialect.takes_turns() => Role::User,
            (Dialect::AiSdkUi, Role::Tool) => Role::Assistant,
            (_, role) => role,
        }
    }

    fn joins(&self, last: &Atom<'_>, atom: &Atom<'_>) -> bool {
        let voice = self.voice(last);
        voice == self.voice(atom)
            && match (voice, self.dialect) {
                (Role::User, _) => true,
                (Role::Assistant, dialect) if dialect.takes_turns() => true,
                (Role::Tool, Dialect::OpenAi | Dialect::Ollama | Dialect::Responses) => false,
                // each call is an item
                (Role::Assistant, Dialect::Responses) => {
                    let is_call = |a: &Atom<'_>| matches!(a.part.as_ref(), Part::ToolCall { .. });
                    last.raw == atom.raw && !is_call(last) && !is_call(atom)
                }
                _ => last.raw == atom.raw,
            }
    }

    pub(crate) fn join<'a>(&self, atoms: Vec<Atom<'a>>) -> Vec<Group<'a>> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        for atom in atoms {
            match groups.last_mut() {
                Some(group)
                    if group
                        .atoms
                        .last()
                        .is_some_and(|last| self.joins(last, &atom)) =>
                {
                    group.atoms.push(atom);
                }
                _ => groups.push(Group {
                    role: self.voice(&atom),
                    atoms: vec![atom],
                    base: None,
                    last_turn: true,
                }),
            }
        }
        let mut used = SortedSet::new();
        for group in &mut groups {
            let own = |a: &&Atom<'_>| {
                a.raw
                    .is_some_and(|r| self.role_of(r) == Some(group.role) && !used.contains(&r))
            };
            let verbatim = group.atoms.iter().filter(own).find(|a| a.verbatim);
            group.base = verbatim
                .or_else(|| group.atoms.iter().find(own))
                .and_then(|a| a.raw);
            used.extend(group.base);
        }
        let spoken = |g: &Group<'_>| {
            g.role == Role::User
                && g.atoms
                    .iter()
                    .any(|a| !matches!(a.part.as_ref(), Part::ToolResult { .. }))
        };
        if let Some(last) = groups.iter().rposition(spoken) {
            for group in &mut groups[..last] {
                group.last_turn = false;
            }
        }
        groups
    }

    fn role_of(&self, raw: usize) -> Option<Role> {
        self.dialect.role_of(self.raw.get(raw)?.as_object()?)
    }

    /// The caller's value that says exactly this.
    pub(crate) fn whole(&self, group: &Group<'_>) -> Option<usize> {
        let index = group.base?;
        let expected = self.expected.get(&index)?;
        // reasoning in an item of its own is left out without it
        let is_silent = self.dialect != Dialect::Responses && self.silent.contains(&index);
        if self.broken.contains(&index) || is_silent {
            return None;
        }
        if group
            .atoms
            .iter()
            .any(|a| a.raw != Some(index) || !self.stands(a))
        {
            return None;
        }
        let slots = group.atoms.iter().filter_map(|a| {
            Some((
                a.place?.slot,
                matches!(a.part.as_ref(), Part::ToolResult { .. }),
            ))
        });
        let mut slots: Vec<(Slot, bool)> = slots.collect();
        let mut wanted = expected.slots.clone();
        if self.dialect.takes_turns() {
            if self.care == Care::Repair && expected.empty_block {
                return None;
            }
            // results may stand in any order, but before everything else
            for list in [&mut slots, &mut wanted] {
                let results = list.iter().take_while(|(_, result)| *result).count();
                palimpsest_text::order::sort(&mut list[..results]);
            }
            let last_result = wanted.iter().filter(|(_, r)| *r).map(|(s, _)| *s).max();
            let first_other = wanted.iter().filter(|(_, r)| !*r).map(|(s, _)| *s).min();
            if let (Some(result), Some(other)) = (last_result, first_other)
                && result > other
            {
                return None;
            }
        }
        (slots == wanted).then_some(index)
    }

    /// Whether the caller's value for it may stand.
    fn stands(&self, atom: &Atom<'_>) -> bool {
        atom.verbatim
            && match atom.place.map(|p| p.fault) {
                Some(Fault::None) => true,
                Some(Fault::Minor) => self.care == Care::Keep,
                Some(Fault::Identity) | None => false,
            }
    }

    /// The caller's value at the part's place.
    fn at_place(&self, atom: &Atom<'_>) -> Option<&'r Value> {
        let message = self.raw.get(atom.raw?)?;
        match atom.place?.slot {
            Slot::Block(i) | Slot::ResultOf(i) => message.get(self.dialect.blocks())?.get(i),
            Slot::Call(i) => message.get("tool_calls")?.get(i),
            Slot::Content
            | Slot::FunctionCall
            | Slot::Image(_)
            | Slot::Field(_)
            | Slot::Item(_) => None,
        }
    }

    /// The caller's own value for the part, if it may stand.
    pub(crate) fn own(&self, atom: &Atom<'_>) -> Option<&'r Value> {
        if self.stands(atom) {
            self.at_place(atom)
        } else {
            None
        }
    }

    /// The same, if it is an element of the content's array.
    pub(crate) fn own_block(&self, atom: &Atom<'_>) -> Option<&'r Value> {
        if atom.in_blocks() {
            self.own(atom)
        } else {
            None
        }
    }

    /// The caller's value that the part replaces: its unknown fields go along.
    pub(crate) fn replaced(&self, atom: &Atom<'_>) -> Option<&'r Map<String, Value>> {
        self.at_place(atom)?.as_object()
    }

    /// Whether the words are the caller's, though something around them may not be.
    #[allow(
        clippy::unused_self,
        reason = "reads as the other questions to the writer"
    )]
    pub(crate) fn verbatim(&self, atom: &Atom<'_>) -> bool {
        atom.verbatim
    }

    /// The fields of the message the group continues, or a new message of that role.
    pub(crate) fn base(&self, group: &Group<'_>, role: &str) -> Map<String, Value> {
        let mut own = group
            .base
            .and_then(|index| self.raw.get(index)?.as_object())
            .cloned();
        if let Some(own) = &mut own
            && group.base.is_some_and(|index| self.broken.contains(&index))
        {
            for field in ["content", "parts", "tool_calls", "function_call", "images"] {
                own.shift_remove(field);
            }
        }
        own.unwrap_or_else(|| Map::from_iter([("role".to_owned(), Value::from(role))]))
    }

    /// Where the reasoning of the group's message stands that is written with it. Anthropic wants that of the last turn back with
    /// its signature, and drops that of earlier turns.
    fn reasoning(&self, group: &Group<'_>) -> &[usize] {
        let is_read = self.dialect != Dialect::Anthropic || group.last_turn;
        let base = group
            .base
            .filter(|_| is_read && group.role == Role::Assistant);
        base.and_then(|index| self.reasoning.get(&index))
            .map_or(&[][..], Vec::as_slice)
    }

    /// Whether reasoning is written between the blocks of the group's message.
    pub(crate) fn reasons(&self, group: &Group<'_>) -> bool {
        !self.reasoning(group).is_empty()
    }

    /// Whether reasoning of the group's message is left out.
    pub(crate) fn is_silent(&self, group: &Group<'_>) -> bool {
        group.base.is_some_and(|index| self.silent.contains(&index))
    }

    /// The blocks of a message: the caller's own or as `write` makes them, with the message's reasoning where it stood among
    /// them. Reasoning after which nothing stands any more is left out: no provider takes it at the end.
    pub(crate) fn with_reasoning<'g, 'a: 'g>(
        &self,
        group: &Group<'_>,
        atoms: impl Iterator<Item = &'g Atom<'a>>,
        write: fn(&Atom<'_>, &Self) -> Value,
    ) -> Vec<Value> {
        let mut reasoning = self.reasoning(group).iter().copied().peekable();
        let own = group
            .base
            .and_then(|index| self.raw.get(index)?.get(self.dialect.blocks()));
        let mut blocks = Vec::new();
        for atom in atoms {
            let until = match atom.place.map(|p| p.slot) {
                Some(Slot::Block(i)) if atom.raw == group.base => i,
                // what is new stands behind the reasoning that leads the message
                _ => (0..)
                    .zip(self.reasoning(group))
                    .take_while(|(n, i)| n == *i)
                    .count(),
            };
            while let Some(i) = reasoning.next_if(|i| *i < until) {
                blocks.extend(own.and_then(|own| own.get(i)).cloned());
            }
            blocks.push(match self.own_block(atom) {
                Some(own) => own.clone(),
                None => write(atom, self),
            });
        }
        blocks
    }

    /// Parts of a message of the user interface that are no parts of ours, with their positions: what no model reads, and
    /// reasoning.
    pub(crate) fn decor(&self, group: &Group<'_>) -> Vec<(usize, &'r Value)> {
        let parts = group
            .base
            .and_then(|index| self.raw.get(index)?.get("parts")?.as_array());
        let reasoning = self.reasoning(group);
        let decor = |at: usize, part: &Value| {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            matches!(kind, "step-start" | "source-url" | "source-document")
                || kind.starts_with("data-")
                || reasoning.contains(&at)
        };
        parts
            .into_iter()
            .flatten()
            .enumerate()
            .filter(|(at, part)| decor(*at, part))
            .collect()
    }

    /// The items of reasoning that stand before the group's, unless they are left out.
    pub(crate) fn thoughts(&self, group: &Group<'_>) -> impl Iterator<Item = usize> {
        let base = group.base.filter(|index| !self.silent.contains(index));
        let thoughts = base.and_then(|index| self.thoughts.get(&index));
        thoughts.cloned().unwrap_or_default().into_iter()
    }

    /// Returns `true` if a message of nothing but text has no blocks.
    pub(crate) fn has_plain_texts(&self) -> bool {
        self.dialect == Dialect::Anthropic
    }

    /// Returns `true` for an identifier that the caller gave. The others are made of a position.
    pub(crate) fn is_callers_id(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// The tool that the call asks for.
    pub(crate) fn tool_of(&self, call: &str) -> Option<&str> {
        self.names.get(call).map(String::as_str)
    }

    /// Whether the call was made in the field `function_call`.
    pub(crate) fn is_function_call(&self, call: &str) -> bool {
        self.old_calls.contains(call)
    }

    /// An id for a message of ours, the same for the same list.
    pub(crate) fn message_id(&self) -> String {
        loop {
            let id = format!("palimpsest-{}", self.made.replace(self.made.get() + 1));
            if !self
                .raw
                .iter()
                .any(|m| m.get("id").and_then(Value::as_str) == Some(&id))
            {
                return id;
            }
        }
    }
}

/// The identifiers of calls in Gemini's parts, which need none.
fn given_ids(raw: &[Value], dialect: Dialect) -> SortedSet<String> {
    if dialect != Dialect::Gemini {
        return SortedSet::new();
    }
    let parts = raw
        .iter()
        .filter_map(|message| message.get("parts")?.as_array());
    let ids = parts.flatten().filter_map(|part| {
        let call = [
            "functionCall",
            "function_call",
            "functionResponse",
            "function_response",
        ];
        let call = call.iter().find_map(|key| part.get(*key));
        Some(call?.get("id")?.as_str()?.to_owned())
    });
    ids.collect()
}

/// Arguments as an object.
pub(crate) fn object(arguments: &str) -> Value {
    match palimpsest_text::json::parse(arguments) {
        Ok(object @ Value::Object(_)) => object,
        Ok(Value::Null) => json!({}),
        Ok(other) => json!({ "value": other }),
        Err(_) if arguments.trim().is_empty() => json!({}),
        Err(_) => json!({ "text": arguments }),
    }
}
