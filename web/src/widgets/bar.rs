//! The budget bar: the window in the order it is sent, always with its numbers.

use leptos::prelude::AnyView;
use palimpsest_tokens::Source;

use crate::app::data::address::Screen;
use crate::context::data::budget::{Activity, Age, Budget, Kind, Segment, State};
use crate::platform::el::{El, IntoChild, el, live, live_if, nothing};
use crate::platform::icon::icon;
use crate::platform::signal::Shown;
use crate::state::AppState;
use crate::text::{T, css, fill, number, t};
use crate::widgets::words::age_name;

/// The bar of the open session: `big` with legend for the context screen, else the header's form.
pub fn budget(big: bool) -> AnyView {
    let state = AppState::here();
    let there = move || state.budget.with(Option::is_some);
    live_if(there, move || {
        let seen = Shown::of(move || {
            let reply = state.reply.with(|r| r.as_ref().map_or(0, |r| r.tokens));
            let budget = state.budget.get()?.with(state.draft_tokens.get(), reply);
            let now = budget.state(state.activity.get());
            Some((budget, now, reply > 0))
        });
        let part = |draw: fn(&Budget, State, bool) -> AnyView| {
            let seen = seen.clone();
            live(move || {
                seen.with(|seen| match seen {
                    Some((budget, now, _)) => draw(budget, *now, big),
                    None => nothing(),
                })
            })
        };
        let (first, second, third) = (seen.clone(), seen.clone(), seen.clone());
        let line = live(move || {
            first.with(|seen| match seen {
                Some((budget, now, streaming)) => sum(budget, *now, big, *streaming).inside(),
                None => nothing(),
            })
        });
        // the link stays where it is while its line is written anew
        let more = (!big).then(|| {
            el("a")
                .class("more")
                .attr("href", format!("#{}", Screen::Context.name()))
                .child(t(T::Inspect))
        });
        el("div")
            .class(if big { "budget big" } else { "budget" })
            .attr_live("data-state", move || {
                second.with(|seen| seen.as_ref().map(|s| s.1.name().to_owned()))
            })
            .attr_live("data-source", move || {
                let name = |s: &(Budget, State, bool)| source(s.0.source).0.to_owned();
                third.with(|seen| seen.as_ref().map(name))
            })
            .child(el("p").class("sum").child(line).child(more))
            .child(part(|budget, now, big| track(budget, now, big).view()))
            .child(part(|budget, _, _| table(budget).view()))
            .child(big.then(|| part(|budget, _, _| legend(budget).view())))
            .view()
    })
}

/// A sentence about the layer that is being written: by its number if that follows one that people see, else without it.
/// Compactions count on where one was undone, or needed no layer.
pub fn layer_by_number(named: T, plain: T, n: u32) -> String {
    if n == 1
        || AppState::here()
            .layers
            .with_untracked(|all| !all.is_empty())
    {
        fill(named, &[&n.to_string()])
    } else {
        t(plain).to_owned()
    }
}

/// The text of the line above the bar.
fn sum(budget: &Budget, now: State, big: bool, streaming: bool) -> El {
    let about = if budget.estimated { "≈ " } else { "" };
    let line = el("p").child(
        el("strong")
            .class("num")
            .child(format!("{about}{}", number(budget.used))),
    );
    if now == State::Unknown {
        return line
            .child(format!(" {} ", t(T::Tokens)))
            .child(el("span").class("sub").child(t(T::WindowUnknown)));
    }
    let line = line
        .child(format!(" {} ", fill(T::OfTokens, &[&number(budget.limit)])))
        .child(
            budget
                .percent()
                .map(|p| el("span").class("pct").child(format!("{p} %"))),
        );
    let line = match now {
        State::Calm if streaming => line.child(el("span").class("sub").child(t(T::UntilCounted))),
        State::Calm | State::Unknown => line,
        State::Near { left } => line.child(
            el("span")
                .class("sub")
                .child(fill(T::NextLayerIn, &[&number(round(left))])),
        ),
        State::Trigger { layer: Some(n) } => {
            let words = layer_by_number(T::AtTriggerWriting, T::AtTriggerWritingOne, n);
            line.child(said("strata", words))
        }
        State::Trigger { layer: None } => line.child(said("strata", t(T::AtTrigger).to_owned())),
        State::Stuck => line.child(said("lock", fill(T::StuckAt, &[&number(budget.floor)]))),
        State::Over { by } => line.child(said("warn", fill(T::OverBy, &[&number(by)]))),
    };
    if big {
        let (_, word) = source(budget.source);
        let line = line.child(el("span").class("sub").child(match budget.source {
            Source::Estimated => fill(word, &[&number(budget.bound)]),
            Source::Exact | Source::Measured => t(word).to_owned(),
        }));
        let sum = [
            budget.window.unwrap_or(0),
            budget.limit,
            budget.reserve,
            budget.margin,
        ]
        .map(number);
        line.child(
            el("span")
                .class("sub")
                .child(fill(T::WindowSum, &[&sum[0], &sum[1], &sum[2], &sum[3]])),
        )
    } else {
        line
    }
}

/// The origin of a number: a name for styles, and the words.
const fn source(source: Source) -> (&'static str, T) {
    match source {
        Source::Exact => ("exact", T::CountedExactly),
        Source::Measured => ("measured", T::CountedByServer),
        Source::Estimated => ("estimated", T::CountedRoughly),
    }
}

fn said(icon_name: &'static str, text: String) -> El {
    el("span").class("state").child(icon(icon_name)).child(text)
}

/// A distance that is itself a guess is not given to the last token.
const fn round(n: u32) -> u32 {
    if n >= 200 { n / 10 * 10 } else { n }
}

fn track(budget: &Budget, now: State, big: bool) -> El {
    let width = budget.width();
    let label = match budget.percent() {
        Some(percent) => fill(
            T::BarLabel,
            &[
                &number(budget.used),
                &number(budget.limit),
                &percent.to_string(),
                &number(budget.trigger),
                &number(budget.floor),
            ],
        ),
        None => fill(T::BarLabelUnknown, &[&number(budget.used)]),
    };
    let bar = el("div")
        .class("bar")
        .var("--w", width)
        .attr("role", "img")
        .attr("aria-label", label)
        .child(segments(&budget.stretches()));
    if now == State::Unknown {
        return bar;
    }
    let tick = |class: &'static str, at: u32, text: T| {
        let words = fill(text, &[&number(at)]);
        let label = Label {
            at,
            letters: words.chars().count(),
            before: matches!(class, "tick floor flip" | "tick trig"),
        };
        let mark = el("span").class(class).var("--at", at);
        (mark.child(el("i").child(words)), label)
    };
    let floor = if budget.ticks_are_close() {
        "tick floor flip"
    } else {
        "tick floor"
    };
    // its words keep clear of those of the trigger, which stand to the left of theirs
    let target = if budget.target > width / 4 {
        "tick target flip"
    } else {
        "tick target"
    };
    let over = matches!(now, State::Over { .. });
    let ticks = [
        Some(tick(floor, budget.floor, T::FloorTick)),
        big.then(|| tick(target, budget.target, T::TargetTick)),
        Some(tick("tick trig", budget.trigger, T::TriggerTick)),
        (big || over).then(|| tick("tick limit", budget.limit, T::LimitTick)),
    ];
    let (marks, labels): (Vec<_>, Vec<_>) = ticks.into_iter().flatten().unzip();
    let bar = bar.children(marks);
    if big {
        bar
    } else {
        bar.child(keys(budget, width, &labels))
    }
}

/// The stretches of a bar.
pub fn segments(list: &[Segment]) -> El {
    el("div").class("track").children(
        list.iter()
            .map(|s| el("span").class(segment_class(s.kind)).var("--t", s.tokens)),
    )
}

/// A small bar beside a text, hidden from assistive technology: the text says it.
pub fn mini(list: &[Segment], width: u32) -> El {
    el("div")
        .class("bar mini")
        .attr("aria-hidden", "true")
        .var("--w", width.max(1))
        .child(segments(list))
}

/// Letters under the stretches that have room for one. None is shown that would stand under the words of a tick.
fn keys(budget: &Budget, width: u32, labels: &[Label]) -> El {
    let mut groups: Vec<(Key, u32)> = Vec::new();
    for stretch in budget.stretches() {
        let key = Key::of(stretch.kind);
        match groups.last_mut() {
            Some((last, tokens)) if *last == key => *tokens += stretch.tokens,
            _ => groups.push((key, stretch.tokens)),
        }
    }
    let mut from = 0;
    let mut list = el("ol").class("keys").attr("aria-hidden", "true");
    for (key, tokens) in groups {
        if f64::from(tokens) > key.room() * f64::from(width) {
            let text = key.text();
            let clear = labels.iter().map(|l| l.clear(from, text, width));
            let clear = clear.collect::<Vec<_>>().join(", ");
            let item = el("li")
                .class(if key == Key::Free { "free" } else { "" })
                .var("--from", from)
                .var("--clear", format!("min({clear})"));
            list = list.child(item.child(text));
        }
        from += tokens;
    }
    list
}

/// The words at a tick.
struct Label {
    at: u32,
    letters: usize,
    /// They stand before the tick.
    before: bool,
}

impl Label {
    /// The distance from a text that begins at `from` to these words, as a CSS length; negative if they would touch.
    /// The width of the bar is not known here, so its shares are percentages, and letters count as wide ones.
    fn clear(&self, from: u32, text: &str, width: u32) -> String {
        const LETTER: f64 = 0.64;
        let ems = |letters: usize| letters as f64 * LETTER + 0.5;
        let way = (f64::from(from) - f64::from(self.at)) * 100.0 / f64::from(width);
        let way = css(way);
        let (own, words) = (ems(text.chars().count() + 1), ems(self.letters));
        // 8 and 9 pixels are between a tick and its words
        if self.before {
            let both = css(words + own);
            format!("max({way}% + 9px, -1*{way}% - 9px - {both}em)")
        } else {
            let (words, own) = (css(words), css(own));
            format!("max({way}% - 8px - {words}em, 8px - {way}% - {own}em)")
        }
    }
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Key {
    System,
    Goal,
    Layers,
    Recalled,
    User,
    Assistant,
    Tool,
    Free,
    Answer,
}

impl Key {
    const fn of(kind: Kind) -> Self {
        match kind {
            Kind::System => Self::System,
            Kind::Goal => Self::Goal,
            Kind::Layer { .. } => Self::Layers,
            Kind::Recalled => Self::Recalled,
            Kind::User => Self::User,
            Kind::Assistant => Self::Assistant,
            Kind::Tool => Self::Tool,
            Kind::Draft | Kind::Reply | Kind::Free => Self::Free,
            Kind::Reserve | Kind::Margin => Self::Answer,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::System => "S",
            Self::Goal => "G",
            Self::Layers => "L",
            Self::Recalled => "Q",
            Self::User => "U",
            Self::Assistant => "A",
            Self::Tool => "T",
            Self::Free => t(T::KindFree),
            Self::Answer => t(T::KindReserve),
        }
    }

    /// The share of the width below which the letter would not fit.
    const fn room(self) -> f64 {
        match self {
            Self::Free => 0.09,
            Self::Answer => 0.08,
            _ => 0.02,
        }
    }
}

fn table(budget: &Budget) -> El {
    let rows = budget.stretches().into_iter().map(|s| {
        el("tr")
            .child(el("th").attr("scope", "row").child(kind_name(s.kind)))
            .child(el("td").child(number(s.tokens)))
    });
    // in a box, since Firefox shows the caption of a table that is hidden itself
    el("div").class("vh").child(
        el("table")
            .child(el("caption").child(t(T::BarTable)))
            .child(el("tbody").children(rows)),
    )
}

fn legend(budget: &Budget) -> El {
    el("ul")
        .class("legend")
        .children(budget.stretches().into_iter().map(|s| {
            let about = if matches!(s.kind, Kind::Draft | Kind::Reply) {
                "≈ "
            } else {
                ""
            };
            el("li")
                .child(el("span").class(swatch_class(s.kind)))
                .child(letter(s.kind).map(|l| el("b").child(l)))
                .child(el("span").child(kind_name(s.kind)))
                .child(el("i").child(format!("{about}{}", number(s.tokens))))
        }))
}

fn letter(kind: Kind) -> Option<String> {
    Some(match kind {
        Kind::System => "S".into(),
        Kind::Goal => "G".into(),
        Kind::Layer { number, .. } => format!("L{number}"),
        Kind::Recalled => "Q".into(),
        Kind::User => "U".into(),
        Kind::Assistant | Kind::Reply => "A".into(),
        Kind::Tool => "T".into(),
        Kind::Draft => "D".into(),
        Kind::Reserve => "R".into(),
        Kind::Margin => "M".into(),
        Kind::Free => return None,
    })
}

fn kind_name(kind: Kind) -> String {
    match kind {
        Kind::System => t(T::KindSystem).into(),
        Kind::Goal => t(T::KindGoal).into(),
        Kind::Layer { age, .. } => age_name(age).into(),
        Kind::Recalled => t(T::KindRecalled).into(),
        Kind::User => t(T::KindUser).into(),
        Kind::Assistant => t(T::KindAssistant).into(),
        Kind::Tool => t(T::KindTool).into(),
        Kind::Draft => t(T::KindDraft).into(),
        Kind::Reply => t(T::KindReply).into(),
        Kind::Free => t(T::KindFree).into(),
        Kind::Reserve => t(T::KindReserve).into(),
        Kind::Margin => t(T::KindMargin).into(),
    }
}

macro_rules! classes {
    ($name:ident, $prefix:literal) => {
        const fn $name(kind: Kind) -> &'static str {
            match kind {
                Kind::System => concat!($prefix, " s-system"),
                Kind::Goal => concat!($prefix, " s-goal"),
                Kind::Layer {
                    age: Age::Fresh, ..
                } => concat!($prefix, " s-l1"),
                Kind::Layer { age: Age::Aged, .. } => concat!($prefix, " s-l2"),
                Kind::Layer { age: Age::Old, .. } => concat!($prefix, " s-l3"),
                Kind::Layer {
                    age: Age::Ancient, ..
                } => concat!($prefix, " s-l4"),
                Kind::Recalled => concat!($prefix, " s-recalled"),
                Kind::User => concat!($prefix, " s-user"),
                Kind::Assistant => concat!($prefix, " s-assistant"),
                Kind::Tool => concat!($prefix, " s-tool"),
                Kind::Draft => concat!($prefix, " s-draft"),
                Kind::Reply => concat!($prefix, " s-reply"),
                Kind::Free => concat!($prefix, " s-free"),
                Kind::Reserve => concat!($prefix, " s-reserve"),
                Kind::Margin => concat!($prefix, " s-margin"),
            }
        }
    };
}

classes!(segment_class, "seg");
classes!(swatch_class, "sw");

/// The class of a layer's band.
pub const fn band_class(age: Age) -> &'static str {
    match age {
        Age::Fresh => "band s-l1",
        Age::Aged => "band s-l2",
        Age::Old => "band s-l3",
        Age::Ancient => "band s-l4",
    }
}

/// A bar on its own, for a window that is not the session's.
pub fn preview(budget: &Budget) -> AnyView {
    let now = budget.state(Activity::Quiet);
    el("div")
        .class("budget")
        .attr("data-state", now.name())
        .child(track(budget, now, false))
        .into_child()
}
