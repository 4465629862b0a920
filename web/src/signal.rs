//! Values that the page follows.
//!
//! Leptos' own signals are generic down to the graph: each type of value brings its own copy of that
//! code, a sixth of the module. Here only the cell is generic; the graph sees one type, a trigger.
//!
//! A signal lives as long as the page. They are made once for the page, or once for a view of which
//! there is one; never for each message of a thread.

use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::{ArcTrigger, Effect, Notify, Track, untrack};

/// A value that can be read and set from anywhere on the page.
pub struct Signal<T: 'static>(&'static Slot<T>);

struct Slot<T> {
    value: RefCell<T>,
    changed: ArcTrigger,
}

impl<T> Clone for Signal<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Signal<T> {}

impl<T: Default> Default for Signal<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Signal<T> {
    /// A signal with its first value.
    pub fn new(value: T) -> Self {
        let value = RefCell::new(value);
        let changed = ArcTrigger::new();
        Self(Box::leak(Box::new(Slot { value, changed })))
    }

    /// Follows the value without reading it.
    pub fn track(self) {
        self.0.changed.track();
    }

    /// Reads the value and follows it. It must not be set meanwhile.
    pub fn with<R>(self, read: impl FnOnce(&T) -> R) -> R {
        self.track();
        self.with_untracked(read)
    }

    /// Reads the value.
    pub fn with_untracked<R>(self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.0.value.borrow())
    }

    /// Sets the value. Who follows it hears of it, whether it differs or not.
    pub fn set(self, value: T) {
        // what was there is dropped after the borrow ends
        let _old = self.0.value.replace(value);
        self.0.changed.notify();
    }

    /// Changes the value in place.
    pub fn update(self, edit: impl FnOnce(&mut T)) {
        edit(&mut self.0.value.borrow_mut());
        self.0.changed.notify();
    }
}

impl<T: Clone> Signal<T> {
    /// A copy of the value, which is followed.
    pub fn get(self) -> T {
        self.with(T::clone)
    }

    /// A copy of the value.
    pub fn get_untracked(self) -> T {
        self.with_untracked(T::clone)
    }
}

impl<T: PartialEq> Signal<T> {
    /// Sets the value; who follows it hears of it only if it differs.
    pub fn change(self, value: T) {
        if self.with_untracked(|old| *old != value) {
            self.set(value);
        }
    }
}

/// Runs `act` soon, and again whenever a signal that it read has changed; until the view it belongs to
/// is gone.
pub fn effect(act: impl FnMut() + 'static) {
    again(Box::new(act));
}

/// Apart from [`effect`]: a closure in a generic function is a type for each of its types, and Leptos' code with it.
fn again(mut act: Box<dyn FnMut()>) {
    Effect::new(move |_: Option<()>| act());
}

/// What `read` makes of other signals. Who follows it hears only of values that differ.
pub fn derived<T: PartialEq + 'static>(read: impl Fn() -> T + 'static) -> Signal<T> {
    let signal = Signal::new(untrack(&read));
    effect(move || signal.change(read()));
    signal
}

/// What `read` makes of signals, for a part of the page of which there may be many: it goes when the part goes, where a
/// [`Signal`] stays as long as the page. Who follows it hears only of values that differ.
pub struct Shown<T: 'static>(Rc<Slot<T>>);

impl<T> Clone for Shown<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T: PartialEq> Shown<T> {
    /// Made inside the part that it belongs to.
    pub fn of(read: impl Fn() -> T + 'static) -> Self {
        let value = RefCell::new(untrack(&read));
        let changed = ArcTrigger::new();
        let shown = Self(Rc::new(Slot { value, changed }));
        let kept = shown.clone();
        effect(move || {
            let now = read();
            if *kept.0.value.borrow() != now {
                let _old = kept.0.value.replace(now);
                kept.0.changed.notify();
            }
        });
        shown
    }

    /// Reads the value and follows it.
    pub fn with<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        self.0.changed.track();
        read(&self.0.value.borrow())
    }
}

/// A place for something that is no part of what is shown: a DOM element, a counter.
pub type Kept<T> = Rc<RefCell<T>>;

/// A [`Kept`] place.
pub fn kept<T>(value: T) -> Kept<T> {
    Rc::new(RefCell::new(value))
}
