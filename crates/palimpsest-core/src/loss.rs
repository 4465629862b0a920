//! Measures the content that left the window between two states: the single definition behind the figures of every
//! report.
//!
//! It compares the content of the two windows: messages in their shown form, with the reasoning that is sent with them,
//! layers, quotes, demands, records. Content that both hold unchanged is skipped. The facts of all other content are
//! searched in the whole new window. A fact that is missing there is *recallable* if its message still stands in its
//! place in a shorter form that says so (a reference, a condensed text, an excerpt). Otherwise it is *dropped*.

use std::borrow::Cow;
use std::rc::Rc;

use crate::context::Context;
use crate::context::shrink::{is_wordless, ordered, standing};
use crate::data::layer::{Layer, LayerId};
use crate::data::message::{Message, Part, Role, Seq};
use crate::data::rendition::{ReducedKind, Rendition, escape_fences};
use crate::pass::{PassKind, Shed, parts_now};
use palimpsest_text::retention::{Audit, Checked, Collector, Facts, Known, Speaker};

/// The number of dropped facts that a report names. The report also gives their total number.
pub const MOST_NAMED: usize = 64;

/// The content that left a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loss {
    /// The fate of the facts.
    pub facts: Facts,
    /// Dropped facts, the most important class first; at most [`MOST_NAMED`].
    pub dropped: Vec<String>,
    /// Some content left without a trace: facts were dropped or words are gone, and neither a shorter form of them nor
    /// a layer with text is in their place.
    pub lossy: bool,
    /// The user's messages that were verbatim before and have neither their words nor an excerpt in the window now.
    pub summarised: Vec<Seq>,
    /// The user's messages that were verbatim before and are an excerpt now.
    pub shortened: Vec<Seq>,
}

/// Compares `after` with the window from which it was made. Sets the retention of layers that have another text in
/// `after`; `newest` was measured when it was written. Adds each fact to the pass that took it. `known` holds earlier
/// readings of the messages.
pub fn settle(
    before: &Context,
    after: &mut Context,
    newest: Option<LayerId>,
    passes: &mut [Shed],
    known: &Known,
) -> Loss {
    let mut gone = Gone::default();
    messages(before, after, &mut gone);
    layers(before, after, &mut gone);
    beside(before, after, &mut gone);
    let (summarised, shortened) = reworded(before, after);
    let mut loss = Loss {
        lossy: gone.traceless,
        summarised,
        shortened,
        ..Loss::default()
    };
    let changed = |layer: &Rc<Layer>| is_other(layer, before) && Some(layer.id) != newest;
    let measured: Vec<usize> = (0..after.view.layers.len())
        .filter(|&n| {
            let layer = &after.view.layers[n];
            !layer.notes.is_empty() && changed(layer)
        })
        .collect();
    if gone.texts.is_empty() && measured.is_empty() {
        return loss;
    }
    let window = words(after);
    // Text to which a mark leads comes first: a fact in it is not dropped.
    palimpsest_text::order::sort_by_key(&mut gone.texts, |text| !text.recallable);
    let mut facts = Collector::default();
    let mut marked = 0;
    let mut takers = Vec::new();
    for text in &gone.texts {
        facts.add_known(known, text.speaker, &without_marks(&text.words));
        takers.resize(facts.audit.facts.len(), taker(passes, text.by));
        if text.recallable {
            marked = facts.audit.facts.len();
        }
    }
    let mut all = facts.audit.facts;
    let rest = Audit {
        facts: all.split_off(marked),
    };
    let marked_facts = Audit { facts: all };
    let recallable = marked_facts.check(&window);
    let dropped = rest.check(&window);
    loss.facts = Facts {
        touched: (marked_facts.facts.len() + rest.facts.len()) as u32,
        kept: recallable.found + dropped.found,
        recallable: recallable.missing.len() as u32,
        dropped: dropped.missing.len() as u32,
    };
    tell(passes, &takers[..marked], &marked_facts, &recallable, true);
    tell(passes, &takers[marked..], &rest, &dropped, false);
    loss.lossy |= loss.facts.dropped > 0;
    loss.dropped = ordered(&dropped.missing)
        .take(MOST_NAMED)
        .map(|fact| fact.text.clone())
        .collect();
    for n in measured {
        measure(after, n, &window);
    }
    loss
}

/// The one of these passes that took content like `by` does: a pass of its kind, otherwise the emergency, otherwise the
/// earlier calls.
fn taker(passes: &[Shed], by: PassKind) -> Option<usize> {
    let place = |kind| passes.iter().position(|shed| shed.pass == kind);
    let covers = [PassKind::Summarize, PassKind::Truncate];
    let like = covers.iter().filter(|_| covers.contains(&by));
    place(by)
        .or_else(|| like.copied().find_map(place))
        .or_else(|| place(PassKind::Emergency))
        .or_else(|| place(PassKind::Earlier))
        .or_else(|| passes.len().checked_sub(1))
}

/// Adds facts to the figures of the passes that took them.
fn tell(
    passes: &mut [Shed],
    takers: &[Option<usize>],
    audit: &Audit,
    checked: &Checked,
    recallable: bool,
) {
    let mut missing = checked.missing.iter().peekable();
    for (fact, taker) in audit.facts.iter().zip(takers) {
        let is_missing = missing.next_if(|m| *m == fact).is_some();
        let Some(shed) = taker.and_then(|n| passes.get_mut(n)) else {
            continue;
        };
        let facts = &mut shed.facts;
        facts.touched += 1;
        match (is_missing, recallable) {
            (false, _) => facts.kept += 1,
            (true, true) => facts.recallable += 1,
            (true, false) => facts.dropped += 1,
        }
    }
}

/// The number of messages and layers that `after` shows in another form than `before`, or not at all.
pub fn changed(before: &Context, after: &Context) -> u32 {
    let messages = before.shown.iter().filter(|&&i| {
        let seq = before.entries[i].message.seq;
        !alike(before, after, seq)
    });
    let layers = before.view.layers.iter().filter(|l| is_other(l, after));
    (messages.count() + layers.count()) as u32
}

/// Returns `true` if both views show the message in the same form.
pub(crate) fn alike(before: &Context, after: &Context, seq: Seq) -> bool {
    match (before.view.rendition(seq), after.view.rendition(seq)) {
        (Rendition::Verbatim, Rendition::Verbatim) => true,
        (Rendition::Reduced(a), Rendition::Reduced(b)) => std::ptr::eq(a, b) || a.parts == b.parts,
        _ => false,
    }
}

/// The content of the old window that the new one lacks.
#[derive(Default)]
struct Gone<'a> {
    texts: Vec<Text<'a>>,
    /// Some content left, and nothing is in its place.
    traceless: bool,
}

struct Text<'a> {
    speaker: Speaker,
    words: Cow<'a, str>,
    recallable: bool,
    /// The pass that makes such a change.
    by: PassKind,
}

impl<'a> Gone<'a> {
    fn add(&mut self, speaker: Speaker, words: impl Into<Cow<'a, str>>, by: PassKind) {
        self.texts.push(Text {
            speaker,
            words: words.into(),
            recallable: false,
            by,
        });
    }
}

fn messages<'a>(before: &'a Context, after: &Context, gone: &mut Gone<'a>) {
    for &i in &before.shown {
        let message = &before.entries[i].message;
        let told = covering(after, message.seq).is_some_and(|layer| layer.tokens > 0);
        if before.reasoning_of(i) > 0 && after.reasoning_of(i) == 0 {
            reasoning(message, gone);
            gone.traceless |= !told;
        }
        if alike(before, after, message.seq) {
            continue;
        }
        let Some(was) = parts_now(before, i) else {
            continue;
        };
        let now = parts_now(after, i).unwrap_or_default();
        let mut quotes = after.view.quotes.iter();
        let quote = quotes.find(|q| q.seq == message.seq);
        let stays = |part: &Part| {
            now.contains(part) || quote.is_some_and(|q| q.text == part.words().trim())
        };
        for part in was.iter().filter(|part| !stays(part)) {
            // A shorter form of a tool block has its id; other parts keep their order.
            let stands = now.iter().any(|n| is_form_of(n, part));
            gone.traceless |= !stands && !told;
            let speaker = match part {
                Part::ToolResult { .. } => Speaker::Tool,
                _ => Speaker::from(message.role),
            };
            let (by, says_so) = match after.view.rendition(message.seq) {
                Rendition::Covered(_) => (PassKind::Summarize, false),
                Rendition::Verbatim => (PassKind::Emergency, false),
                Rendition::Reduced(form) => match form.kind {
                    ReducedKind::Stripped => (PassKind::Strip, false),
                    ReducedKind::Condensed => (PassKind::Condense, true),
                    ReducedKind::Offloaded => (PassKind::Offload, true),
                    ReducedKind::Excerpt => (PassKind::Emergency, true),
                },
            };
            gone.texts.push(Text {
                speaker,
                words: words_of(part).into_owned().into(),
                recallable: stands && says_so,
                by,
            });
        }
    }
}

fn reasoning<'a>(message: &'a Message, gone: &mut Gone<'a>) {
    for part in &message.parts {
        if let Part::Thinking { text } = part {
            gone.add(Speaker::Assistant, text.as_str(), PassKind::Reasoning);
        }
    }
}

/// Returns `true` if `now` is in the place of `was`.
fn is_form_of(now: &Part, was: &Part) -> bool {
    match (now, was) {
        (Part::ToolCall { id: a, .. }, Part::ToolCall { id: b, .. })
        | (Part::ToolResult { call: a, .. }, Part::ToolResult { call: b, .. })
        | (Part::File { name: a, .. }, Part::File { name: b, .. }) => a == b,
        (Part::Text { .. }, Part::Text { .. } | Part::Image { .. }) => true,
        _ => false,
    }
}

/// The layer that covers a message.
fn covering(context: &Context, seq: Seq) -> Option<&Layer> {
    let mut layers = context.view.layers.iter();
    layers.find(|l| l.covers(seq)).map(Rc::as_ref)
}

/// Returns `true` if the other window has no layer with this text.
fn is_other(layer: &Rc<Layer>, context: &Context) -> bool {
    !context
        .view
        .layers
        .iter()
        .any(|l| Rc::ptr_eq(l, layer) || (l.summary == layer.summary && l.ledger == layer.ledger))
}

/// Compares the lines of layers whose text has changed.
fn layers<'a>(before: &'a Context, after: &Context, gone: &mut Gone<'a>) {
    let others = || before.view.layers.iter().filter(|l| is_other(l, after));
    if others().next().is_none() {
        return;
    }
    let stood = before.slot.as_ref().map_or("", |slot| slot.text.as_str());
    let lines = |layer: &'a Layer| {
        let ledger = layer.ledger.iter().map(String::as_str);
        layer.summary.lines().chain(ledger).map(str::trim)
    };
    let mut now: Vec<&str> = after
        .view
        .layers
        .iter()
        .flat_map(|l| {
            l.summary
                .lines()
                .chain(l.ledger.iter().map(String::as_str))
                .map(str::trim)
        })
        .collect();
    palimpsest_text::order::sort(&mut now);
    for layer in others().filter(|l| l.tokens > 0) {
        let stands = after.view.layers.iter().any(|l| {
            let first = layer.covers.first();
            l.tokens > 0 && first.is_none_or(|span| l.covers(span.from))
        });
        gone.traceless |= !stands;
        if is_wordless(layer) {
            continue;
        }
        let left: Vec<&str> = lines(layer)
            .filter(|line| !line.is_empty() && now.binary_search(line).is_err())
            // A line that only repeats a quote is not in the window.
            .filter(|line| stood.contains(escape_fences(line).as_ref()))
            .map(said)
            .collect();
        if !left.is_empty() {
            gone.add(Speaker::Assistant, left.join("\n"), PassKind::Fade);
        }
    }
}

/// Removes the role label from a line of a summary.
fn said(line: &str) -> &str {
    let line = line.trim_start_matches("* ");
    ["User: ", "Assistant: ", "Tool: "]
        .iter()
        .find_map(|label| line.strip_prefix(label))
        .unwrap_or(line)
}

/// Compares quotes, demands, recalled passages and lines of the records.
fn beside<'a>(before: &'a Context, after: &Context, gone: &mut Gone<'a>) {
    for quote in &before.view.quotes {
        let stands = after.view.quotes.iter().any(|q| q == quote);
        if !stands {
            gone.add(Speaker::User, quote.text.as_str(), PassKind::Summarize);
        }
    }
    let now = after.demands();
    for demand in before.demands() {
        if !now.iter().any(|d| d.text == demand.text) {
            gone.add(Speaker::User, demand.text.as_str(), PassKind::Emergency);
        }
    }
    let recalled = |context: &'a Context| context.recalled_now();
    if let Some(was) = recalled(before)
        && after.recalled_now().is_none()
    {
        let own = was.quotes.iter().map(|quote| &quote.text);
        let others = was.elsewhere.iter().map(|one| &one.quote.text);
        for text in own.chain(others) {
            gone.add(Speaker::Assistant, text.as_str(), PassKind::Recall);
        }
    }
    if before.rendered.text != after.rendered.text {
        let lines = before.rendered.text.lines();
        for line in lines.filter(|line| !after.rendered.text.contains(*line)) {
            gone.add(Speaker::User, line, PassKind::Emergency);
        }
    }
}

/// The user's messages that were verbatim before and are not now: those without their words anywhere, and those with an
/// excerpt in their place.
fn reworded(before: &Context, after: &Context) -> (Vec<Seq>, Vec<Seq>) {
    let shown = before.shown.iter().map(|&i| &before.entries[i].message);
    let shown = shown.filter(|m| {
        m.role == Role::User
            && matches!(before.view.rendition(m.seq), Rendition::Verbatim)
            && !matches!(after.view.rendition(m.seq), Rendition::Verbatim)
    });
    let quoted = before.view.quotes.iter().filter(|q| before.says_whole(q));
    let stood = quoted.map(|q| (q.seq, q.text.trim().to_owned()));
    let stood: Vec<(Seq, String)> = stood
        .chain(shown.map(|m| (m.seq, m.words().trim().to_owned())))
        .filter(|(seq, text)| !text.is_empty() && !after.view.quotes.iter().any(|q| q.seq == *seq))
        .collect();
    let (mut gone, mut cut) = (Vec::new(), Vec::new());
    if stood.is_empty() {
        return (gone, cut);
    }
    let mut said = standing(after);
    for quote in &after.view.quotes {
        said.insert(quote.text.trim().to_owned());
    }
    // A layer may contain a whole message.
    let slot = after.slot.as_ref().map_or("", |slot| slot.text.as_str());
    for (seq, text) in stood.iter().filter(|(_, text)| !said.contains(text)) {
        if slot.contains(text.as_str()) {
            continue;
        }
        match after.view.rendition(*seq) {
            Rendition::Reduced(form) if form.tokens > 0 => cut.push(*seq),
            _ => gone.push(*seq),
        }
    }
    palimpsest_text::order::sort(&mut gone);
    palimpsest_text::order::sort(&mut cut);
    (gone, cut)
}

/// Searches the facts of a layer's notes in the window.
fn measure(context: &mut Context, at: usize, window: &str) {
    let layer = &context.view.layers[at];
    let notes = layer.notes.iter().filter_map(|id| context.view.note(*id));
    let audit = Audit {
        facts: notes.flat_map(|n| n.facts.iter().cloned()).collect(),
    };
    let checked = audit.check(window);
    let mut measured = (**layer).clone();
    measured.retention = checked.retention();
    for fact in checked.missing {
        if !measured.dropped.contains(&fact.text) {
            measured.dropped.push(fact.text);
        }
    }
    context.view.layers[at] = Rc::new(measured);
}

/// The words of a part, with the names of tools and files.
fn words_of(part: &Part) -> Cow<'_, str> {
    match part {
        Part::ToolCall {
            name, arguments, ..
        } => format!("{name} {arguments}").into(),
        Part::File { name, text } => format!("{name}\n{text}").into(),
        Part::Image { name, .. } => name.as_str().into(),
        part => part.words().into(),
    }
}

/// All words of a window.
fn words(context: &Context) -> String {
    let mut out = String::new();
    for message in context.window().messages() {
        for part in message.parts() {
            out.push_str(&words_of(part));
            out.push('\n');
        }
    }
    out
}

/// The beginnings of the marks that passes leave. Their text was never part of the conversation.
const MARKS: [&str; 7] = [
    "[condensed ",
    "[offloaded: message ",
    "[recall message ",
    "[outdated: ",
    "[the same output came again ",
    "[shortened, not to be copied",
    "[… ",
];

/// The end of the mark for a value of a call's arguments; the mark begins with a number.
const NOT_SHOWN: &str = " bytes not shown";

/// The text without the marks of passes.
fn without_marks(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices('[') {
        let Some(end) = text[at..].find(']').map(|end| at + end) else {
            break;
        };
        let is_mark = MARKS.iter().any(|mark| text[at..].starts_with(mark))
            || text[at..end].ends_with(NOT_SHOWN);
        if at >= done && is_mark {
            out.push_str(&text[done..at]);
            done = end + 1;
        }
    }
    if done == 0 {
        return text.into();
    }
    out.push_str(&text[done..]);
    out.into()
}
