//! Servers whose window is smaller than the session believes.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::cell::RefCell;
use std::rc::Rc;

use futures_executor::block_on;
use futures_util::{StreamExt, stream};
use palimpsest_core::message::Part;
use palimpsest_core::request::{ChatRequest, Delta, FinishReason, ModelError, Purpose};
use palimpsest_engine::ports::{DeltaStream, LanguageModel, Signal};
use palimpsest_engine::session::{CompactOptions, NewMessage, SendOptions};
use palimpsest_engine::testing::world::world;
use palimpsest_engine::{Engine, Event, MemoryStore, NewSession, Session};
use palimpsest_tokens::{Estimator, TokenCounter};

use super::scene::{silent, talk};

/// A server with a window of its own: it refuses what does not fit into it, with both sizes.
struct Fixed {
    window: u32,
    /// What it counts for 100 tokens of the estimator.
    percent: u32,
    /// Chat requests: tokens by its count, and whether it answered.
    asked: RefCell<Vec<(u32, bool)>>,
}

impl Fixed {
    fn new(window: u32, percent: u32) -> Rc<Self> {
        Rc::new(Self {
            window,
            percent,
            asked: RefCell::default(),
        })
    }
}

impl LanguageModel for Fixed {
    fn complete(&self, request: ChatRequest, _: Signal) -> DeltaStream<'_> {
        let counter = Estimator::default();
        let parts = request.messages.iter().flat_map(|m| m.parts.iter());
        let tokens: u32 = parts.map(|p| counter.count(p.words()) + 4).sum();
        let tokens = tokens * self.percent / 100;
        let fits = tokens < self.window;
        if request.purpose == Purpose::Chat {
            self.asked.borrow_mut().push((tokens, fits));
        }
        let deltas = if fits {
            let reason = FinishReason::Stop;
            vec![Ok(Delta::text("Here.")), Ok(Delta::Done { reason })]
        } else {
            vec![Err(ModelError::Overflow {
                prompt: Some(tokens),
                window: Some(self.window),
            })]
        };
        stream::iter(deltas).boxed_local()
    }
}

async fn session(engine: &Engine, window: u32) -> Session {
    let new = NewSession {
        window,
        model: "m".into(),
        ..NewSession::default()
    };
    engine.create(new).await.unwrap()
}

fn options(model: &Rc<Fixed>) -> SendOptions {
    SendOptions::new(Rc::clone(model) as Rc<dyn LanguageModel>)
}

/// F20: a session that believes in 8,192 or 16,384 tokens meets a server that has 4,096 and says so when it refuses: one
/// sentence, the answer at the true size in the same session, no layer emptied, and the size is known from then on, also after
/// opening the session again.
#[test]
fn a_refusal_that_names_the_size_is_learned_from() {
    for (believed, turns, percent) in [(8_192, 55, 100), (16_384, 60, 130), (16_384, 110, 115)] {
        block_on(async {
            let store = Rc::new(MemoryStore::new());
            let start = || Engine::start(store.clone(), world(), Rc::new(Estimator::default()));
            let engine = start().await.unwrap();
            let s = session(&engine, believed).await;
            let id = s.id().to_owned();
            talk(&s, 30).await;
            let manual = CompactOptions {
                manual: true,
                ..CompactOptions::default()
            };
            s.compact(manual, Signal::never()).await.unwrap();
            talk(&s, turns).await;
            let events: Rc<RefCell<Vec<Event>>> = Rc::default();
            let all = Rc::clone(&events);
            s.on(move |event| all.borrow_mut().push(event.clone()));
            let model = Fixed::new(4_096, percent);
            let reply = s
                .send(
                    NewMessage::user("And now?"),
                    &options(&model),
                    Signal::never(),
                    &silent,
                )
                .await
                .unwrap();
            assert_eq!(s.history(None, 1)[0].message.seq, reply.seq);
            let asked = model.asked.borrow().clone();
            assert!(asked.len() >= 2 && asked.last().unwrap().1, "{asked:?}");
            assert!(
                asked.last().unwrap().0 > 1_000,
                "what fits is kept: {asked:?}"
            );
            let told = events
                .borrow()
                .iter()
                .filter(|e| matches!(e, Event::Warning { code: "window_smaller", message } if message.contains("4096")))
                .count();
            assert_eq!(told, 1, "one sentence");
            assert!(
                !events
                    .borrow()
                    .iter()
                    .any(|e| matches!(e, Event::RolloverComplete { .. }))
            );
            assert!(!s.layers().is_empty() && s.layers().iter().all(|l| l.tokens > 0));
            assert!(s.budget().limit < 4_096);
            assert_eq!(s.head().window, believed, "the choice stays");
            assert_eq!(s.request(&options(&model)).unwrap().options.num_ctx, 4_096);
            drop((s, engine));
            let s = start().await.unwrap().open(&id, true).await.unwrap();
            assert!(s.budget().limit < 4_096, "known after opening again");
            s.set_model("m", believed, "balanced", false).await.unwrap();
            assert!(s.budget().limit > 4_096, "chosen anew, believed anew");
        });
    }
}

/// F20: a server that refuses what we count as far below the trigger never gets the session rolled over or a layer emptied:
/// its refusal is the answer.
#[test]
fn a_refusal_below_the_trigger_changes_no_session() {
    block_on(async {
        let engine = Engine::start(
            Rc::new(MemoryStore::new()),
            world(),
            Rc::new(Estimator::default()),
        )
        .await
        .unwrap();
        let s = session(&engine, 8_192).await;
        talk(&s, 30).await;
        let manual = CompactOptions {
            manual: true,
            ..CompactOptions::default()
        };
        s.compact(manual, Signal::never()).await.unwrap();
        talk(&s, 4).await;
        assert!(s.budget().used.tokens < s.budget().trigger);
        // it takes nothing at all, whatever it says its window is
        let model = Fixed::new(8_192, 20_000);
        let error = s
            .send(
                NewMessage::user("And now?"),
                &options(&model),
                Signal::never(),
                &silent,
            )
            .await
            .unwrap_err();
        assert_eq!(error.code(), "overflow");
        assert!(s.layers().iter().all(|l| l.tokens > 0));
        assert_eq!(
            engine.sessions().await.unwrap().len(),
            1,
            "no other session"
        );
        assert_eq!(
            Part::words(&s.history(None, 1)[0].message.parts[0]),
            "And now?"
        );
    });
}

/// F20: what the server says about its window before anything is sent counts as well, and a larger one is believed again.
#[test]
fn what_the_server_says_is_the_limit() {
    block_on(async {
        let engine = Engine::start(
            Rc::new(MemoryStore::new()),
            world(),
            Rc::new(Estimator::default()),
        )
        .await
        .unwrap();
        let s = session(&engine, 8_192).await;
        let limit = s.budget().limit;
        assert!(s.serve_window(Some(4_096)).await.unwrap());
        assert!(!s.serve_window(Some(4_096)).await.unwrap(), "said once");
        assert!(s.budget().limit < 4_096);
        assert!(s.serve_window(Some(32_768)).await.unwrap());
        assert_eq!(s.budget().limit, limit);
        assert!(s.serve_window(Some(10)).await.is_err());
        assert_eq!(s.budget().limit, limit, "nothing can be divided into ten");

        // what one server has is not what another has
        s.set_provider("openai").await.unwrap();
        assert!(s.serve_window(Some(4_096)).await.unwrap());
        s.set_provider("openai").await.unwrap();
        assert!(s.budget().limit < 4_096);
        s.set_provider("ollama").await.unwrap();
        assert_eq!(
            (s.budget().limit, s.head().provider),
            (limit, "ollama".into())
        );
    });
}
