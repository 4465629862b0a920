//! Loads code when it is needed.
//!
//! The build splits the page's module (`wasm-split`): code that only a part's table reaches goes into a module of its
//! own. A [`Door`] leads to it. Calls before the part is loaded wait and then run in order; later calls run at once. In
//! a build in one piece every part is present from the start.

use std::cell::{Cell, RefCell};
use std::task::{Context, Poll, Waker};

use leptos::prelude::{AnyView, untrack};
use palimpsest_engine::ports::LocalFuture;
use wasm_bindgen_futures::spawn_local;
use wasm_split_helpers::SplitLoaderError;

use crate::act;
use crate::platform::el::{live, nothing};
use crate::platform::signal::Signal;
use crate::text::{T, t};

/// A part that is on its way.
pub type Coming<P> = LocalFuture<'static, Result<&'static P, SplitLoaderError>>;

/// A call that waits for a part.
pub type Wish<P> = Box<dyn FnOnce(&'static P)>;

/// The way into a part, whose functions are in a table `P`.
pub struct Door<P: 'static> {
    part: Signal<Option<&'static P>>,
    asked: Cell<bool>,
    waiting: RefCell<Vec<Wish<P>>>,
    come: fn() -> Coming<P>,
}

impl<P> Door<P> {
    /// A closed one. It stays as long as the page.
    pub fn new(come: fn() -> Coming<P>) -> &'static Self {
        Box::leak(Box::new(Self {
            part: Signal::lasting(None),
            asked: Cell::new(false),
            waiting: RefCell::default(),
            come,
        }))
    }

    /// The part, if it is there.
    pub fn open(&'static self) -> Option<&'static P> {
        self.load();
        self.part.get_untracked()
    }

    /// Does something with the part, now or when it is there.
    pub fn with(&'static self, then: Wish<P>) {
        match self.open() {
            Some(part) => then(part),
            None => self.waiting.borrow_mut().push(then),
        }
    }

    /// Waits for the part. `None` if it cannot be loaded; the person was told so.
    pub async fn wait(&'static self) -> Option<&'static P> {
        if let Some(part) = self.open() {
            return Some(part);
        }
        let (tell, told) = futures_channel::oneshot::channel();
        self.waiting.borrow_mut().push(Box::new(move |part| {
            let _ = tell.send(part);
        }));
        told.await.ok()
    }

    /// Does something once it is decided whether the part is there; at once where it is.
    pub fn then(&'static self, then: impl FnOnce(Option<&'static P>) + 'static) {
        match self.open() {
            Some(part) => then(Some(part)),
            None => spawn_local(async move { then(self.wait().await) }),
        }
    }

    /// A view that the part makes.
    pub fn view(&'static self, make: impl Fn(&'static P) -> AnyView + 'static) -> AnyView {
        self.load();
        live(move || match self.part.get() {
            // Reads inside of the view do not rebuild it.
            Some(part) => untrack(|| make(part)),
            None => nothing(),
        })
    }

    /// Has the part loaded, unless it is there or on its way.
    pub fn load(&'static self) {
        if self.asked.replace(true) {
            return;
        }
        let mut coming = (self.come)();
        // one that is in the module already is there when it is looked at again
        for _ in 0..2 {
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(came) = coming.as_mut().poll(&mut context) {
                return self.came(came);
            }
        }
        spawn_local(async move { self.came(coming.await) });
    }

    fn came(&self, came: Result<&'static P, SplitLoaderError>) {
        let waiting = self.waiting.take();
        if let Ok(part) = came {
            self.part.set(Some(part));
            for then in waiting {
                then(part);
            }
        } else {
            // The next call tries again.
            self.asked.set(false);
            act::note(t(T::PartMissing).to_owned(), true);
        }
    }
}

/// A part: its table, the door to it, and a function for each of its functions. Texts that only it shows are learned as it comes.
macro_rules! part {
    ($(#[$about:meta])* $part:ident: $table:ident {
        $(learns $texts:path;)?
        $( $(#[$doc:meta])* fn $name:ident($($given:ident: $type:ty),* $(,)?) = $to:path; )*
        $(answer { $( $(#[$answer_doc:meta])* fn $answer:ident($($asked:ident: $asked_type:ty),* $(,)?) -> $is:ty = $from:path; )* })?
        $(view { $( $(#[$view_doc:meta])* fn $view:ident($($seen:ident: $seen_type:ty),* $(,)?) = $made:path; )* })?
    }) => {
        $(#[$about])*
        #[derive(Debug)]
        pub(crate) struct $table {
            $( $name: fn($($type),*), )*
            $($( $answer: fn($($asked_type),*) -> $is, )*)?
            $($( $view: fn($($seen_type),*) -> AnyView, )*)?
        }

        $(#[$about])*
        pub(crate) fn $part() -> &'static Door<$table> {
            #[::wasm_split_helpers::wasm_split($part, fallible)]
            fn $part() -> Result<&'static $table, ::wasm_split_helpers::SplitLoaderError> {
                $( $crate::text::learn_later($texts); )?
                static TABLE: $table = $table { $( $name: $to, )* $($( $answer: $from, )*)? $($( $view: $made, )*)? };
                Ok(&TABLE)
            }
            thread_local! {
                static DOOR: &'static Door<$table> = Door::new(|| Box::pin($part()));
            }
            DOOR.with(|door| *door)
        }

        $(
            $(#[$doc])*
            pub(crate) fn $name($($given: $type),*) {
                $part().with(Box::new(move |part| (part.$name)($($given),*)));
            }
        )*
        $($(
            $(#[$answer_doc])*
            pub(crate) fn $answer($($asked: $asked_type),*) -> Option<$is> {
                $part().open().map(|part| (part.$answer)($($asked),*))
            }
        )*)?
        $($(
            $(#[$view_doc])*
            pub(crate) fn $view($($seen: $seen_type),*) -> AnyView {
                $part().view(move |part| (part.$view)($($seen.clone()),*))
            }
        )*)?
    };
}
pub(crate) use part;
