//! The thread: messages and cards. For any number of them the page holds the visible ones and some on both sides
//! ([`Rows`]). It follows the end, or keeps the place of a user who reads further up.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use leptos::prelude::{AnyView, on_cleanup};
use send_wrapper::SendWrapper;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::act;
use crate::chat::data::rows::Rows;
use crate::chat::data::thread::Entry;
use crate::chat::view::message::message;
use crate::chat::view::start::start;
use crate::markdown::dom::{Clicked, clicked};
use crate::platform::el::{El, each_in_place, el, live_if, live_on, nothing};
use crate::platform::icon::icon;
use crate::platform::page;
use crate::platform::signal::{Kept, Signal, derived, effect, kept};
use crate::state::AppState;
use crate::text::{T, css, fill, number, t};

/// Pictures until every message in view has its height.
const FRAMES: u32 = 5;

/// Pictures that are waited for a message to be in the page.
const PATIENCE: u32 = 600;

/// The distance from the end at which the thread still follows it, in pixels.
const NEAR: i32 = 80;

/// The thread of the open session.
pub fn thread() -> El {
    let state = AppState::here();
    let strip = Rc::new(Strip {
        state,
        rows: kept(Rows::default()),
        shown: Signal::new(0..0),
        away: Signal::new(false),
        going: Cell::new(None),
        displaced: Cell::new(None),
        thread: kept(None),
        list: kept(None),
        before: kept(None),
        after: kept(None),
    });
    let own = SendWrapper::new(Rc::clone(&strip));
    on_cleanup(move || own.let_go());
    let session = derived(move || state.open.with(|o| o.as_ref().map(|o| o.id.clone())));
    // A session opens at its end.
    let (own, mut open) = (Rc::clone(&strip), None);
    effect(move || {
        session.track();
        let salt = salt(state);
        let keys = state
            .thread
            .with(|all| all.iter().map(|e| e.key() ^ salt).collect());
        own.changed(keys, open.replace(salt) != Some(salt));
    });
    let own = Rc::clone(&strip);
    effect(move || {
        state.reply.track();
        state.reply_text.track();
        state.cards.track();
        own.follow();
    });
    // A place that was looked for gets the focus.
    let own = Rc::clone(&strip);
    effect(move || {
        let seq = state.jump.get();
        if seq > 0 {
            state.jump.set(0);
            let own = Rc::clone(&own);
            // Elements that were opened for it are in place then.
            page::next_frame(move || own.jump(seq));
        }
    });
    let own = Rc::clone(&strip);
    effect(move || {
        let steps = state.steps.get();
        if steps != 0 {
            state.steps.set(0);
        }
        let step = if steps < 0 { Walk::Back } else { Walk::On };
        for _ in 0..steps.unsigned_abs() {
            own.walk(step);
        }
    });
    let (scrolled, latest, away) = (Rc::clone(&strip), Rc::clone(&strip), strip.away);
    el("div")
        .class("thread")
        .attr("role", "log")
        .attr("aria-live", "off")
        .attr("aria-label", t(T::Conversation))
        .attr("tabindex", "0")
        .made(keep_in(&strip.thread))
        .on("scroll", move |_| scrolled.scrolled())
        .on("click", |event| {
            let target = event.target().and_then(|t| t.dyn_into().ok());
            if let Some(Clicked::Copy(text)) = target.as_ref().and_then(clicked) {
                act::copy(text);
            }
        })
        .child(el("h2").class("vh").child(t(T::Conversation)))
        .child(start())
        .child(blank(&strip.before))
        .child(earlier(&strip))
        .child(rows(&strip))
        .child(later(&strip))
        .child(blank(&strip.after))
        .child(live_if(
            move || state.reply.with(Option::is_some),
            act::incoming,
        ))
        .child(live_if(
            move || away.get() && state.thread.with(|all| !all.is_empty()),
            move || {
                let latest = Rc::clone(&latest);
                el("button")
                    .class("btn latest")
                    .attr("type", "button")
                    .child(icon("down"))
                    .child(t(T::JumpToLatest))
                    .click(move || latest.to_end())
                    .view()
            },
        ))
}

/// A number for the open session (FNV-1a). The messages of two sessions have the same numbers: an element belongs to
/// one session.
fn salt(state: AppState) -> u64 {
    state.open.with_untracked(|open| {
        let id = open.as_ref().map_or("", |open| &open.id);
        id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    })
}

/// A DOM element that is kept once it is made.
type Place = Kept<Option<HtmlElement>>;

fn keep_in(place: &Place) -> impl FnOnce(Element) + use<> {
    let place = Rc::clone(place);
    move |element| *place.borrow_mut() = element.dyn_into().ok()
}

/// The element in place of rows that are not in the page.
fn blank(place: &Place) -> El {
    el("div")
        .class("blank")
        .attr("aria-hidden", "true")
        .made(keep_in(place))
}

fn rows(strip: &Rc<Strip>) -> El {
    let (state, shown) = (strip.state, strip.shown);
    let entries = move || {
        let salt = salt(state);
        let range = shown.get();
        state.thread.with_untracked(|all| {
            let some = all.get(range).unwrap_or_default().iter();
            some.map(|e| (e.key() ^ salt, e.clone()))
                .collect::<Vec<_>>()
        })
    };
    let keep = keep_in(&strip.list);
    el("div").class("entries").made(move |element| {
        each_in_place(
            element.clone(),
            entries,
            |(key, _)| *key,
            |(_, entry)| match &entry {
                Entry::Message(m) => message(m),
                Entry::Card(number) => act::card(*number),
            },
        );
        keep(element);
    })
}

/// The number of messages above the page's, and the number of them in layers.
fn earlier(strip: &Rc<Strip>) -> AnyView {
    let (state, shown) = (strip.state, strip.shown);
    let covered = move || {
        let above = shown.get().start;
        state.thread.with_untracked(|all| {
            let is_covered = |e: &&Entry| match e {
                Entry::Message(m) => state.layers.with(|l| l.iter().any(|l| l.covers(m.seq))),
                Entry::Card(_) => false,
            };
            let above = &all[..above.min(all.len())];
            above.iter().filter(is_covered).count() as u32
        })
    };
    let strip = Rc::clone(strip);
    live_if(
        move || shown.with(|shown| shown.start > 0),
        move || {
            let strip = Rc::clone(&strip);
            let more = el("button")
                .class("link")
                .attr("type", "button")
                .text_live(move || fill(T::EarlierMessages, &[&number(shown.get().start as u32)]))
                .click(move || strip.more(Rows::earlier, |rows| rows.shown().start == 0));
            let covered = live_on(covered, |n| {
                if *n == 0 {
                    return nothing();
                }
                el("span")
                    .child(fill(T::EarlierCovered, &[&number(*n)]))
                    .view()
            });
            el("div").class("earlier").child(more).child(covered).view()
        },
    )
}

/// The number of messages below the page's.
fn later(strip: &Rc<Strip>) -> AnyView {
    let (state, shown) = (strip.state, strip.shown);
    let below = move || {
        let end = shown.get().end;
        state
            .thread
            .with_untracked(|all| all.len().saturating_sub(end))
    };
    let strip = Rc::clone(strip);
    live_if(
        move || below() > 0,
        move || {
            let strip = Rc::clone(&strip);
            let more = el("button")
                .class("link")
                .attr("type", "button")
                .text_live(move || fill(T::LaterMessages, &[&number(below() as u32)]))
                .click(move || strip.more(Rows::later, |rows| rows.shown().end == rows.len()));
            el("div").class("earlier").child(more).view()
        },
    )
}

/// A step of the focus from message to message.
#[derive(Clone, Copy)]
enum Walk {
    /// To the message before.
    Back,
    /// To the message after.
    On,
}

/// Keeps a message with the focus in view until those around it have their heights.
fn stay(message: HtmlElement, frames: u32) {
    page::next_frame(move || {
        let Some(thread) = page::find(".thread") else {
            return;
        };
        if !message.matches(":focus").unwrap_or_default() {
            return;
        }
        let (top, height) = (thread.scroll_top(), thread.client_height());
        let place = message.offset_top();
        if place < top || place + message.offset_height().min(height) > top + height {
            thread.set_scroll_top(place - height / 4);
        }
        if frames > 1 {
            stay(message, frames - 1);
        }
    });
}

/// The rows with their elements.
struct Strip {
    state: AppState,
    rows: Kept<Rows>,
    /// The rows in the page.
    shown: Signal<Range<usize>>,
    /// Somebody reads further up.
    away: Signal<bool>,
    /// The row that was looked for, until it is reached.
    going: Cell<Option<u64>>,
    /// The row that was seen before other rows came into the page, and how far below the thread's upper edge it began. It
    /// is not back in its place yet.
    displaced: Cell<Option<(u64, i32)>>,
    thread: Place,
    list: Place,
    before: Place,
    after: Place,
}

impl Strip {
    /// The thread has changed, or is another one.
    fn changed(self: &Rc<Self>, keys: Vec<u64>, other: bool) {
        if other {
            self.away.set(false);
            self.going.set(None);
        }
        let at_end = !self.away.get_untracked();
        self.redraw(None, move |rows| {
            if other {
                rows.open(keys);
            } else {
                rows.change(keys, at_end);
            }
        });
        self.follow();
    }

    /// Moves the focus to the next or the previous message, from the focused one or else from the visible ones. A message
    /// whose row is not in the page yet is looked for, as [`jump`](Self::jump) does; a step that is made meanwhile goes on
    /// from there.
    fn walk(self: &Rc<Self>, step: Walk) {
        if let Some(going) = self.going.get() {
            let row = self.rows.borrow().position(going);
            if let Some(row) = row {
                self.walk_from(row, step);
            }
            return;
        }
        self.put_back();
        let messages = page::all::<HtmlElement>(".thread .msg");
        let focus = page::active();
        let here = messages
            .iter()
            .position(|m| focus.as_ref().is_some_and(|f| m.contains(Some(f))));
        let next = match (here, step) {
            (Some(here), Walk::Back) => here.checked_sub(1),
            (Some(here), Walk::On) => Some(here + 1),
            (None, _) => {
                let thread = self.thread.borrow();
                let end = thread
                    .as_ref()
                    .map_or(0, |t| t.scroll_top() + t.client_height());
                let above = messages.iter().filter(|m| m.offset_top() < end).count();
                Some(above.saturating_sub(1))
            }
        };
        if let Some(message) = next.and_then(|next| messages.get(next)) {
            let _ = message.focus();
            stay(message.clone(), FRAMES);
            // The browser tells of the scrolling only with the next picture.
            self.scrolled();
        } else if let Some(key) = self.focus() {
            let row = self.rows.borrow().position(key);
            if let Some(row) = row {
                self.walk_from(row, step);
            }
        }
    }

    /// Looks for the message before or after a row.
    fn walk_from(self: &Rc<Self>, row: usize, step: Walk) {
        let seq = |entry: &Entry| match entry {
            Entry::Message(m) => Some(m.seq),
            Entry::Card(_) => None,
        };
        let next = self.state.thread.with_untracked(|all| match step {
            Walk::Back => all.iter().take(row).rev().find_map(seq),
            Walk::On => all.iter().skip(row + 1).find_map(seq),
        });
        if let Some(seq) = next {
            self.jump(seq);
        }
    }

    /// Puts other rows into the page. The visible ones and the focus in the thread stay in place. If none of them stays
    /// in the page, the row `first` becomes the first visible one.
    fn redraw(self: &Rc<Self>, first: Option<usize>, change: impl FnOnce(&mut Rows)) {
        let is_back = self.put_back();
        self.measure();
        // What is seen before the row is back is not what somebody looks at.
        let anchor = if is_back {
            self.anchor()
        } else {
            self.displaced.get()
        };
        let focus = self.focus();
        change(&mut self.rows.borrow_mut());
        let (shown, (before, after), left, anchor) = {
            let rows = self.rows.borrow();
            let left = focus.is_some_and(|key| rows.shown_at(key).is_none());
            let anchor = anchor
                .filter(|(key, _)| rows.shown_at(*key).is_some())
                .or_else(|| Some((rows.key(first?)?, 0)));
            (rows.shown(), rows.blanks(), left, anchor)
        };
        if left && let Some(thread) = self.thread.borrow().as_ref() {
            let _ = thread.focus();
        }
        for (place, height) in [(&self.before, before), (&self.after, after)] {
            if let Some(blank) = place.borrow().as_ref() {
                let _ = blank
                    .style()
                    .set_property("block-size", &format!("{}px", css(height)));
            }
        }
        self.shown.set(shown);
        self.displaced.set(anchor);
        if anchor.is_some() {
            let own = Rc::clone(self);
            // The browser's own scroll anchoring is done here, once.
            self.keep_place("none");
            page::next_frame(move || {
                own.put_back();
                own.displaced.set(None);
                own.keep_place("auto");
            });
        }
    }

    /// Scrolls so that the row that was seen before a change is where it was. Returns `false` as long as its element is not
    /// in the page yet.
    fn put_back(&self) -> bool {
        let Some((key, at)) = self.displaced.get() else {
            return true;
        };
        let Some(now) = self.top_of(key) else {
            return false;
        };
        self.displaced.set(None);
        if now != at
            && let Some(thread) = self.thread.borrow().as_ref()
        {
            thread.set_scroll_top(thread.scroll_top() + now - at);
        }
        true
    }

    /// Switches the browser's scroll anchoring.
    fn keep_place(&self, how: &str) {
        if let Some(thread) = self.thread.borrow().as_ref() {
            let _ = thread.style().set_property("overflow-anchor", how);
        }
    }

    /// The elements of the rows, once they are those that are meant to be there.
    fn elements(&self) -> Vec<HtmlElement> {
        let mut all = Vec::new();
        let mut next = self
            .list
            .borrow()
            .as_ref()
            .and_then(|l| l.first_element_child());
        while let Some(element) = next {
            next = element.next_element_sibling();
            all.extend(element.dyn_into::<HtmlElement>().ok());
        }
        if all.len() != self.rows.borrow().shown().len() {
            all.clear();
        }
        all
    }

    /// Remembers how high the rows in the page are.
    fn measure(&self) {
        let elements = self.elements();
        let end = match self.list.borrow().as_ref() {
            Some(list) if list.offset_height() > 0 => list.offset_top() + list.offset_height(),
            _ => return,
        };
        let tops: Vec<i32> = elements.iter().map(HtmlElement::offset_top).collect();
        let mut rows = self.rows.borrow_mut();
        let start = rows.shown().start;
        for (i, top) in tops.iter().enumerate() {
            let below = tops.get(i + 1).copied().unwrap_or(end);
            rows.measured(start + i, f64::from(below - top));
        }
    }

    /// The first row that is seen, and how far below the thread's upper edge it begins.
    fn anchor(&self) -> Option<(u64, i32)> {
        let top = self.thread.borrow().as_ref()?.scroll_top();
        let elements = self.elements();
        let at = elements
            .iter()
            .position(|e| e.offset_top() + e.offset_height() > top)?;
        let rows = self.rows.borrow();
        Some((
            rows.key(rows.shown().start + at)?,
            elements[at].offset_top() - top,
        ))
    }

    /// The distance of a row from the upper edge of the thread.
    fn top_of(&self, key: u64) -> Option<i32> {
        let top = self.element(key)?.offset_top();
        Some(top - self.thread.borrow().as_ref()?.scroll_top())
    }

    fn element(&self, key: u64) -> Option<HtmlElement> {
        let at = {
            let rows = self.rows.borrow();
            rows.shown_at(key)? - rows.shown().start
        };
        self.elements().into_iter().nth(at)
    }

    /// The row that the focus is in.
    fn focus(&self) -> Option<u64> {
        let focus = page::active()?;
        let at = self
            .elements()
            .iter()
            .position(|e| e.contains(Some(&focus)))?;
        let rows = self.rows.borrow();
        rows.key(rows.shown().start + at)
    }

    /// The thread was scrolled: rows come in before they are seen.
    fn scrolled(self: &Rc<Self>) {
        // the place that is still seen is left for another
        if self.going.get().is_some() {
            return;
        }
        if !self.put_back() {
            return;
        }
        let Some((shown, first)) = self.wanted() else {
            return;
        };
        self.redraw(Some(first), |rows| rows.show(shown));
    }

    /// The rows that should be in the page, if they are not those that are, and the first that is seen. Sees on the way
    /// whether the end is in view.
    fn wanted(&self) -> Option<(Range<usize>, usize)> {
        let (thread, list) = (self.thread.borrow(), self.list.borrow());
        let (thread, list) = (thread.as_ref()?, list.as_ref()?);
        let (top, height) = (thread.scroll_top(), thread.client_height());
        if height == 0 {
            return None;
        }
        self.away
            .change(thread.scroll_height() - top - height > NEAR);
        let rows = self.rows.borrow();
        let shown = rows.shown();
        let (first, last) = (list.offset_top(), list.offset_top() + list.offset_height());
        let near = height * 3 / 2;
        let above = shown.start > 0 && top - first < near;
        let below = shown.end < rows.len() && last - (top + height) < near;
        if !above && !below {
            return None;
        }
        let elements = self.elements();
        let at = |y: i32| {
            if y < first {
                let (before, _) = rows.blanks();
                rows.at(0, before - f64::from(first - y))
            } else if y >= last {
                rows.at(shown.end, f64::from(y - last))
            } else {
                let above = |e: &&HtmlElement| e.offset_top() + e.offset_height() <= y;
                shown.start + elements.iter().take_while(above).count()
            }
        };
        let seen = at(top)..at(top + height) + 1;
        let first = seen.start;
        let wanted = rows.room_for(seen, f64::from(height * 3));
        (wanted != shown).then_some((wanted, first))
    }

    /// Lets go of the elements, whose listeners hold this: nothing would free either otherwise.
    fn let_go(&self) {
        for place in [&self.thread, &self.list, &self.before, &self.after] {
            *place.borrow_mut() = None;
        }
    }

    /// The thread shows a message, which gets the focus.
    fn jump(self: &Rc<Self>, seq: u32) {
        let holds = |e: &Entry| matches!(e, Entry::Message(m) if (m.seq..=m.last).contains(&seq));
        let row = self
            .state
            .thread
            .with_untracked(|all| all.iter().position(holds));
        let key = row.and_then(|row| self.rows.borrow().key(row));
        let (Some(row), Some(key)) = (row, key) else {
            return;
        };
        self.away.set(true);
        self.going.set(Some(key));
        if !self.rows.borrow().shown().contains(&row) {
            self.redraw(None, |rows| rows.around(row));
        }
        Rc::clone(self).go_to(key, FRAMES, PATIENCE);
    }

    /// Goes to a row with each of the next pictures, as [`settle`](Self::settle) does; then it gets the focus. Its element may
    /// be a while in coming, and the screen with the thread may not be shown yet.
    fn go_to(self: Rc<Self>, key: u64, frames: u32, pictures: u32) {
        page::next_frame(move || {
            // another one is looked for now
            if self.going.get() != Some(key) {
                return;
            }
            let place = self.element(key).zip(self.thread.borrow().clone());
            match place.filter(|(_, thread)| thread.client_height() > 0) {
                Some((element, thread)) => {
                    thread.set_scroll_top(element.offset_top() - thread.client_height() / 4);
                    if frames > 1 {
                        return self.go_to(key, frames - 1, pictures);
                    }
                    let _ = element.focus();
                }
                None if pictures > 0 => return self.go_to(key, frames, pictures - 1),
                None => {}
            }
            self.going.set(None);
            self.scrolled();
        });
    }

    /// A page of rows more, because somebody asked. The button stays under the focus as long as there is one.
    fn more(self: &Rc<Self>, turn: fn(&mut Rows), whole: fn(&Rows) -> bool) {
        self.away.set(true);
        self.redraw(None, turn);
        if whole(&self.rows.borrow())
            && let Some(thread) = self.thread.borrow().as_ref()
        {
            let _ = thread.focus();
        }
    }

    /// Back to the end.
    fn to_end(self: &Rc<Self>) {
        self.away.set(false);
        self.redraw(None, Rows::end);
        if let Some(thread) = self.thread.borrow().as_ref() {
            let _ = thread.focus();
        }
        self.follow();
    }

    /// Goes to the end unless somebody reads further up; and once more when the messages there have been laid out.
    fn follow(self: &Rc<Self>) {
        if !self.away.get_untracked() {
            Rc::clone(self).settle(FRAMES);
        }
    }

    /// Goes to the end with each of the next pictures: a message's height is only known once it is in view.
    fn settle(self: Rc<Self>, frames: u32) {
        page::next_frame(move || {
            if let Some(thread) = self.thread.borrow().as_ref() {
                thread.set_scroll_top(thread.scroll_height());
            }
            if frames > 1 {
                Rc::clone(&self).settle(frames - 1);
            }
        });
    }
}
