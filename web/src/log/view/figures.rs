//! Two plain pages of figures: the session's log with what each tool takes, and a replay under several policies.

use leptos::prelude::AnyView;
use palimpsest_core::analytics::ToolFigures;
use palimpsest_core::pass::PassKind;
use palimpsest_core::replay::{Point, PolicyReplay};
use palimpsest_engine::session::{LogAction, LogEntry};
use palimpsest_text::retention::FactClass;
use web_sys::HtmlInputElement;

use crate::act;
use crate::log::data::turns::turns;
use crate::platform::el::{El, IntoChild, el, live, nothing};
use crate::platform::icon::icon;
use crate::platform::page;
use crate::platform::signal::Signal;
use crate::settings::WINDOWS;
use crate::state::{AppState, Figures, Replayed};
use crate::text::{T, css, decimal, fill, language, number, t};
use crate::widgets::field::{self, selected};
use crate::widgets::policies::{POLICIES, policy_name};
use crate::widgets::words::pass_name;

/// Columns of the drawing of a window over time.
const COLUMNS: usize = 96;

/// Turns in the drawing of the log.
const TURNS: usize = 80;

fn head(state: AppState, id: &'static str, name: T, acts: El) -> El {
    let title = move || {
        state
            .open
            .with(|o| o.as_ref().map(|o| o.title.clone()))
            .unwrap_or_default()
    };
    el("header").class("head wide").child(
        el("div")
            .class("title")
            .child(el("h1").attr("id", id).child(t(name)))
            .child(el("p").class("of").attr("dir", "auto").text_live(title))
            .child(acts),
    )
}

fn button(id: &'static str, name: T, then: fn()) -> El {
    field::button(name, then).attr("id", id)
}

fn to(address: &'static str, name: T) -> El {
    el("a").class("btn").attr("href", address).child(t(name))
}

fn column(name: T) -> El {
    el("th").attr("scope", "col").child(t(name))
}

fn cell(text: String) -> El {
    el("td").child(text)
}

/// Tokens and what share of the window that is.
fn tokens(n: u32, window: u32) -> String {
    format!("{} ({} %)", number(n), percent(n, window))
}

fn percent(part: u32, whole: u32) -> String {
    if whole == 0 {
        return "–".into();
    }
    decimal(f64::from(part) * 100.0 / f64::from(whole))
}

// ── the log ─────────────────────────────────────────────────────────────────────────────────────

/// The session's log.
pub fn log() -> AnyView {
    let state = AppState::here();
    act::load_log();
    let acts = el("p")
        .class("acts end")
        .child(to("#replay", T::Replay))
        .child(button("save-log", T::LogSave, act::save_log))
        .child(button("save-request", T::RequestSave, act::save_request))
        .child(button("save-system", T::SystemSave, act::save_system));
    el("section")
        .class("screen figures-page")
        .attr("id", "s-log")
        .attr("aria-labelledby", "h-log")
        .child(head(state, "h-log", T::Log, acts))
        .child(live(move || {
            state.figures.with(|figures| {
                let Some(figures) = figures else {
                    return el("p").class("empty sub").child(t(T::Loading)).view();
                };
                el("div")
                    .class("sheets")
                    .child(entries(figures))
                    .child(by_turn(state))
                    .child(tools(figures))
                    .view()
            })
        }))
        .into_child()
}

fn entries(figures: &Figures) -> El {
    let sheet = el("section")
        .attr("aria-labelledby", "h-entries")
        .child(el("h2").attr("id", "h-entries").child(t(T::LogEntries)));
    if figures.log.is_empty() {
        return sheet.child(el("p").class("sub").child(t(T::LogEmpty)));
    }
    let names = [
        T::LogTime,
        T::LogAction,
        T::LogMessages,
        T::LogBefore,
        T::LogAfter,
        T::LogSaved,
        T::LogReread,
    ];
    sheet.child(
        el("div").class("scroll").attr("tabindex", "0").child(
            el("table")
                .class("sheet")
                .attr("id", "log")
                .child(el("thead").child(el("tr").children(names.map(column))))
                .child(el("tbody").children(figures.log.iter().rev().flat_map(entry))),
        ),
    )
}

/// A change of the window: its figures, and below them what the passes did.
fn entry(entry: &LogEntry) -> [El; 2] {
    let action = match entry.action {
        LogAction::ByHand => T::LogByHand,
        LogAction::Emergency => T::LogEmergency,
        LogAction::Compacted => T::LogCompacted,
        LogAction::Edited => T::LogEdited,
        LogAction::Remade => T::LogRemade,
    };
    let (before, after) = entry.tokens;
    let row = el("tr")
        .child(el("th").attr("scope", "row").child(format!(
            "{} {}",
            page::day(entry.at, language()),
            page::clock(entry.at)
        )))
        .child(cell(t(action).to_owned()))
        .child(cell(format!(
            "{} → {}",
            number(entry.messages.0),
            number(entry.messages.1)
        )))
        .child(cell(tokens(before, entry.window)))
        .child(cell(tokens(after, entry.window)))
        .child(cell(tokens(entry.saved(), before)))
        .child(cell(number(entry.reread)));
    let passes = entry
        .passes
        .iter()
        .map(|s| format!("{} {}", t(pass_name(s.pass)), number(s.tokens)));
    let notes: Vec<String> = passes.chain(entry.adjustments.iter().cloned()).collect();
    let more = el("tr")
        .class("more")
        .child(el("td").attr("colspan", "7").child(notes.join(" · ")));
    [row, more]
}

/// Tokens by turn as a drawing, and as the table that says the same.
fn by_turn(state: AppState) -> El {
    let all = state
        .thread
        .with_untracked(|thread| state.cards.with_untracked(|cards| turns(thread, cards)));
    let sheet = el("section")
        .attr("aria-labelledby", "h-turns")
        .child(el("h2").attr("id", "h-turns").child(t(T::Turns)));
    if all.is_empty() {
        return sheet.child(el("p").class("sub").child(t(T::NothingSaid)));
    }
    let shown = &all[all.len().saturating_sub(TURNS)..];
    let most = shown
        .iter()
        .map(|turn| turn.said.saturating_add(turn.answered));
    let most = most.max().unwrap_or(1).max(1);
    let height = |tokens: u32| format!("{}%", css(f64::from(tokens) * 100.0 / f64::from(most)));
    let columns = shown.iter().map(|turn| {
        let part = |class: &'static str, tokens: u32| {
            el("i").class(class).var("block-size", height(tokens))
        };
        let marks = turn
            .compactions
            .iter()
            .map(|(n, ..)| el("b").child(n.to_string()));
        el("li")
            .child(part("s-assistant", turn.answered))
            .child(part("s-user", turn.said))
            .children(marks)
    });
    let names = [
        T::TurnFirst,
        T::KindUser,
        T::KindAssistant,
        T::TurnCompactions,
    ];
    let rows = shown.iter().map(|turn| {
        let compactions: Vec<String> = turn
            .compactions
            .iter()
            .map(|(n, before, after)| format!("{n}: {} → {}", number(*before), number(*after)))
            .collect();
        el("tr")
            .child(el("th").attr("scope", "row").child(turn.first.to_string()))
            .child(cell(number(turn.said)))
            .child(cell(number(turn.answered)))
            .child(cell(compactions.join(", ")))
    });
    let table = el("table")
        .class("sheet")
        .attr("id", "turns")
        .child(el("caption").class("vh").child(t(T::Turns)))
        .child(el("thead").child(el("tr").children(names.map(column))))
        .child(el("tbody").children(rows));
    let legend = |class: &'static str, name: T| {
        el("li")
            .child(el("span").class(class))
            .child(el("span").child(t(name)))
    };
    sheet
        .child(
            el("ul")
                .class("legend")
                .child(legend("sw s-user", T::KindUser))
                .child(legend("sw s-assistant", T::KindAssistant))
                .child(
                    el("li")
                        .child(el("b").child("1"))
                        .child(el("span").child(t(T::TimelineEntry))),
                ),
        )
        .child(el("p").class("sub").child(fill(
            T::TurnsScale,
            &[
                &number(shown.len() as u32),
                &number(all.len() as u32),
                &number(most),
            ],
        )))
        .child(
            el("ol")
                .class("turns")
                .attr("aria-hidden", "true")
                .children(columns),
        )
        .child(
            el("details")
                .child(el("summary").child(icon("chev")).child(t(T::AsTable)))
                .child(el("div").class("scroll").attr("tabindex", "0").child(table)),
        )
}

fn tools(figures: &Figures) -> El {
    let names = [
        T::Tool,
        T::ToolBlocks,
        T::ToolRemoved,
        T::ToolSaid,
        T::ToolShown,
        T::LogSaved,
    ];
    let line = |name: String, f: &ToolFigures| {
        el("tr")
            .child(el("th").attr("scope", "row").child(name))
            .child(cell(number(f.blocks)))
            .child(cell(number(f.removed)))
            .child(cell(number(f.said)))
            .child(cell(number(f.shown)))
            .child(cell(tokens(f.saved(), f.said)))
    };
    let analytics = &figures.analytics;
    let sheet = el("section")
        .attr("aria-labelledby", "h-tools")
        .child(el("h2").attr("id", "h-tools").child(t(T::ToolFigures)));
    if analytics.tools.is_empty() {
        return sheet.child(el("p").class("sub").child(t(T::ToolNone)));
    }
    let rows = analytics.tools.iter().map(|f| {
        let name = if f.tool.is_empty() { "–" } else { &f.tool };
        line(name.to_owned(), f)
    });
    sheet.child(
        el("div").class("scroll").attr("tabindex", "0").child(
            el("table")
                .class("sheet")
                .attr("id", "tool-figures")
                .child(el("thead").child(el("tr").children(names.map(column))))
                .child(el("tbody").children(rows))
                .child(el("tfoot").child(line(t(T::Total).to_owned(), &analytics.total))),
        ),
    )
}

// ── the replay ──────────────────────────────────────────────────────────────────────────────────

/// The open session under several policies.
pub fn replay() -> AnyView {
    let state = AppState::here();
    let window = Signal::new(
        state
            .open
            .with_untracked(|o| o.as_ref().map_or(8_192, |o| o.window)),
    );
    let acts = el("p").class("acts end").child(to("#log", T::Log));
    el("section")
        .class("screen figures-page")
        .attr("id", "s-replay")
        .attr("aria-labelledby", "h-replay")
        .child(head(state, "h-replay", T::Replay, acts))
        .child(
            el("div")
                .class("sheets")
                .child(form(state, window))
                .child(live(move || {
                    state
                        .replayed
                        .with(|r| r.as_ref().map_or_else(nothing, result))
                })),
        )
        .into_child()
}

/// Which policies, in which window.
fn form(state: AppState, window: Signal<u32>) -> El {
    let own = state
        .open
        .with_untracked(|o| o.as_ref().map(|o| o.policy.clone()))
        .unwrap_or_default();
    let now = window.get_untracked();
    let mut sizes: Vec<u32> = WINDOWS.to_vec();
    if !sizes.contains(&now) {
        sizes.push(now);
        sizes.sort_unstable();
    }
    let sizes = sizes.into_iter().map(move |n| {
        el("option")
            .attr("value", n.to_string())
            .flag("selected", n == now)
            .child(number(n))
    });
    let box_of = |name: String, title: String| {
        el("label")
            .class("tick-box")
            .child(
                el("input")
                    .attr("type", "checkbox")
                    .attr("name", "replayed")
                    .attr("value", name)
                    .flag("checked", true),
            )
            .child(title)
    };
    let named = POLICIES.iter().any(|(name, ..)| *name == own);
    let custom = (!named && !own.is_empty()).then(|| box_of(own, t(T::PolicyOwn).to_owned()));
    el("form")
        .class("replay-form")
        .on("submit", move |event| {
            event.prevent_default();
            let chosen = chosen();
            if !chosen.is_empty() {
                act::replay(chosen, window.get_untracked());
            }
        })
        .child(el("p").class("sub").child(t(T::ReplayHelp)))
        .child(
            el("fieldset")
                .class("choice")
                .child(el("legend").child(t(T::Policies)))
                .children(
                    POLICIES.map(|(name, title, _)| box_of(name.to_owned(), t(title).to_owned())),
                )
                .child(custom),
        )
        .child(
            el("p")
                .class("acts")
                .child(
                    el("label").child(t(T::Window)).child(" ").child(
                        el("select")
                            .attr("id", "replay-window")
                            .on("change", move |event| {
                                if let Some(n) = selected(&event).and_then(|v| v.parse().ok()) {
                                    window.set(n);
                                }
                            })
                            .children(sizes),
                    ),
                )
                .child(
                    el("button")
                        .class("btn solid")
                        .attr("type", "submit")
                        .attr("id", "replay-run")
                        .child(t(T::ReplayRun)),
                ),
        )
}

/// The values of the boxes that are ticked.
fn chosen() -> Vec<String> {
    page::all::<HtmlInputElement>("[name=replayed]")
        .into_iter()
        .filter(HtmlInputElement::checked)
        .map(|input| input.value())
        .collect()
}

/// A figure of one policy.
type Figure = fn(&PolicyReplay) -> String;

const FIGURES: [(T, Figure); 9] = [
    (T::ReplayPeak, |p| number(p.peak)),
    (T::ReplayLast, |p| number(p.last)),
    (T::ReplaySent, |p| large(p.sent)),
    (T::LogReread, |p| large(p.reread)),
    (T::Timeline, |p| number(p.compactions)),
    (T::ReplayRefused, |p| number(p.refused)),
    (T::ReplayEmergencies, |p| number(p.emergencies)),
    (T::ReplayCalls, |p| number(p.model_calls)),
    (T::ReplayArrival, |p| number(p.on_arrival)),
];

fn large(n: u64) -> String {
    number(u32::try_from(n).unwrap_or(u32::MAX))
}

fn result(replayed: &Replayed) -> AnyView {
    let report = &replayed.report;
    let played = &report.policies;
    let progress = if replayed.done {
        fill(
            T::ReplayOf,
            &[
                &number(report.messages),
                &number(report.said),
                &number(replayed.window),
            ],
        )
    } else {
        fill(
            T::ReplayGoesOn,
            &[&number(played.len() as u32 + 1), &number(replayed.of)],
        )
    };
    let failed = (!replayed.failed.is_empty()).then(|| {
        el("p")
            .class("badc")
            .attr("role", "alert")
            .child(replayed.failed.clone())
    });
    let line = |name: String, cells: Vec<El>| {
        el("tr")
            .child(el("th").attr("scope", "row").child(name))
            .children(cells)
    };
    let part = |name: T| {
        el("tr").class("part").child(
            el("th")
                .attr("scope", "rowgroup")
                .attr("colspan", (played.len() + 1).to_string())
                .child(t(name)),
        )
    };
    let names = played.iter().map(|p| {
        el("th")
            .attr("scope", "col")
            .attr("data-policy", p.policy.clone())
            .child(policy_name(&p.policy))
    });
    let over_time = played
        .iter()
        .map(|p| el("td").child(spark(&p.tokens, replayed.window)));
    let mut body = el("tbody").child(line(t(T::ReplayOverTime).to_owned(), over_time.collect()));
    for (name, figure) in FIGURES {
        let cells = played.iter().map(|p| cell(figure(p)));
        body = body.child(line(t(name).to_owned(), cells.collect()));
    }
    body = body.child(part(T::ReplayPasses));
    for kind in PASSES {
        let shed = |p: &PolicyReplay| p.passes.iter().find(|s| s.pass == kind).map(|s| s.tokens);
        if played.iter().all(|p| shed(p).is_none()) {
            continue;
        }
        let cells = played
            .iter()
            .map(|p| cell(shed(p).map_or_else(|| "–".to_owned(), number)));
        body = body.child(line(t(pass_name(kind)).to_owned(), cells.collect()));
    }
    body = body.child(part(T::ReplayFacts));
    let classes = played.first().map_or(&[][..], |p| p.retention.as_slice());
    for class in classes {
        let cells = played.iter().map(|p| {
            let left = p.retention.iter().find(|c| c.class == class.class);
            cell(left.map_or_else(String::new, |c| {
                let recallable = match c.recallable {
                    0 => String::new(),
                    n => format!(" + {}", number(n)),
                };
                format!("{}{recallable} / {}", number(c.shown), number(c.said))
            }))
        });
        body = body.child(line(t(class_name(class.class)).to_owned(), cells.collect()));
    }
    el("section")
        .attr("aria-live", "polite")
        .child(
            el("p")
                .class("sub")
                .attr("id", "replay-state")
                .child(progress),
        )
        .child(failed)
        .child(
            el("div").class("scroll").attr("tabindex", "0").child(
                el("table")
                    .class("sheet")
                    .attr("id", "replayed")
                    .flag("data-done", replayed.done)
                    .child(el("thead").child(el("tr").child(el("td").child("")).children(names)))
                    .child(body),
            ),
        )
        .view()
}

/// The window over time: a column for each stretch, as high as its fullest moment. The figures beside it say the same.
fn spark(points: &[Point], window: u32) -> El {
    let columns = points.len().min(COLUMNS);
    let heights = (0..columns).map(|i| {
        let stretch = &points[i * points.len() / columns..(i + 1) * points.len() / columns];
        let most = stretch.iter().map(|p| p.before).max().unwrap_or(0);
        u64::from(most) * 100 / u64::from(window.max(1))
    });
    el("div")
        .class("spark")
        .attr("aria-hidden", "true")
        .children(heights.map(|h| el("i").var("--p", format!("{}%", h.min(100)))))
}

const PASSES: [PassKind; 8] = [
    PassKind::Condense,
    PassKind::Dedupe,
    PassKind::Strip,
    PassKind::Offload,
    PassKind::Summarize,
    PassKind::Truncate,
    PassKind::Fade,
    PassKind::Emergency,
];

const fn class_name(class: FactClass) -> T {
    match class {
        FactClass::Constraint => T::FactConstraint,
        FactClass::Negation => T::FactNegation,
        FactClass::Decision => T::FactDecision,
        FactClass::Path => T::FactPath,
        FactClass::Url => T::FactUrl,
        FactClass::Identifier => T::FactIdentifier,
        FactClass::Number => T::FactNumber,
        FactClass::Date => T::FactDate,
        FactClass::Quoted => T::FactQuoted,
        FactClass::Preference => T::FactPreference,
    }
}
