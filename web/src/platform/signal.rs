//! Values that the page follows.
//!
//! Leptos' own signals are generic down to the graph: each type of value brings its own copy of that
//! code, a sixth of the module. Here only the cell is generic; the graph sees one type, a trigger.
//!
//! A signal belongs to the view that is being made when it is made, or to the mount where there is none yet, and goes with
//! it. What still runs then, a reply that comes in for instance, may hold on to a signal that is gone: it reads as empty and
//! takes nothing.

use std::any::Any;
use std::cell::{Cell, Ref, RefCell};
use std::mem;
use std::rc::Rc;

use leptos::prelude::{ArcTrigger, Effect, Notify, Track, on_cleanup, untrack};
use leptos::reactive::graph::Source;
use send_wrapper::SendWrapper;

/// A value that can be read and set from anywhere on the page.
pub struct Signal<T: 'static> {
    slot: &'static Slot<T>,
    /// The number of the present owner of the slot.
    life: u32,
}

/// A place for a signal. Places are used again and never given back, so that a signal is a mere reference.
struct Slot<T> {
    life: Cell<u32>,
    value: RefCell<T>,
    /// The value of a signal that is gone.
    empty: RefCell<T>,
    changed: ArcTrigger,
}

thread_local! {
    /// Slots that no signal lives in.
    static FREE: RefCell<Vec<&'static dyn Any>> = const { RefCell::new(Vec::new()) };
}

/// The operations of a slot of any type.
trait Place {
    /// The signal that lives there is gone.
    fn leave(&'static self);
}

impl<T: Default> Place for Slot<T> {
    fn leave(&'static self) {
        self.life.set(self.life.get().wrapping_add(1));
        self.changed.clear_subscribers();
        // one that is just being read stays where it is, and its slot is not used again
        let Ok(mut value) = self.value.try_borrow_mut() else {
            return;
        };
        let old = mem::take(&mut *value);
        drop(value);
        FREE.with_borrow_mut(|free| free.push(self));
        // The old value may itself hold views and their signals.
        drop(old);
    }
}

fn leave_with_owner(slot: &'static dyn Place) {
    let slot = SendWrapper::new(slot);
    on_cleanup(move || slot.leave());
}

/// A free slot of that type.
fn free<T>() -> Option<&'static Slot<T>> {
    FREE.with_borrow_mut(|free| {
        let at = free.iter().position(|slot| slot.is::<Slot<T>>())?;
        free.swap_remove(at).downcast_ref()
    })
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

impl<T: Default> Signal<T> {
    /// A signal with its first value. It goes with the view that is being made.
    pub fn new(value: T) -> Self {
        let signal = Self::lasting(value);
        leave_with_owner(signal.slot);
        signal
    }

    /// A signal that stays as long as the module.
    // One copy for each type: the page makes dozens of them in one function.
    #[inline(never)]
    pub fn lasting(value: T) -> Self {
        let slot = free().unwrap_or_else(|| {
            Box::leak(Box::new(Slot {
                life: Cell::new(0),
                value: RefCell::default(),
                empty: RefCell::default(),
                changed: ArcTrigger::new(),
            }))
        });
        slot.value.replace(value);
        Self {
            slot,
            life: slot.life.get(),
        }
    }
}

impl<T> Signal<T> {
    /// Returns `true` if its owner is gone.
    pub fn is_gone(self) -> bool {
        self.slot.life.get() != self.life
    }

    fn value(self) -> Ref<'static, T> {
        if self.is_gone() {
            self.slot.empty.borrow()
        } else {
            self.slot.value.borrow()
        }
    }

    /// Follows the value without reading it.
    pub fn track(self) {
        if !self.is_gone() {
            self.slot.changed.track();
        }
    }

    /// Reads the value and follows it. It must not be set meanwhile.
    pub fn with<R>(self, read: impl FnOnce(&T) -> R) -> R {
        self.track();
        self.with_untracked(read)
    }

    /// Reads the value.
    pub fn with_untracked<R>(self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.value())
    }

    /// Sets the value and notifies all followers, even if it is the same.
    pub fn set(self, value: T) {
        if self.is_gone() {
            return;
        }
        // The old value is dropped after the borrow ends.
        let _old = self.slot.value.replace(value);
        self.slot.changed.notify();
    }

    /// Changes the value in place.
    pub fn update(self, edit: impl FnOnce(&mut T)) {
        if self.is_gone() {
            return;
        }
        edit(&mut self.slot.value.borrow_mut());
        self.slot.changed.notify();
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
    /// Sets the value, and notifies followers only if it differs.
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

/// A signal computed by `read` from others. Followers only hear of values that differ.
pub fn derived<T: PartialEq + Default + 'static>(read: impl Fn() -> T + 'static) -> Signal<T> {
    let signal = Signal::new(untrack(&read));
    effect(move || signal.change(read()));
    signal
}

/// A value computed by `read` from signals, for a part of the page that owns it. It ends with its last owner. Followers
/// only hear of values that differ.
pub struct Shown<T: 'static>(Rc<Seen<T>>);

struct Seen<T> {
    value: RefCell<T>,
    changed: ArcTrigger,
}

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
        let shown = Self(Rc::new(Seen { value, changed }));
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

/// A place for data that is not shown: a DOM element, a counter.
pub type Kept<T> = Rc<RefCell<T>>;

/// A [`Kept`] place.
pub fn kept<T>(value: T) -> Kept<T> {
    Rc::new(RefCell::new(value))
}
